//! Predicts the memory of a run.

mod under_way;

use crate::{
    by_load, config,
    context::FlowSetup,
    network::{MAX_KEPT, division},
    observe::SeriesWindow,
    walk::{Routed, WHOLE, walk},
};
use base::{
    index::TerminalId,
    rng::{Purpose, Stream},
    time::Ps,
};
use model::{
    entry::Known,
    memory::{Prediction, written},
    setup::{JobSetup, Until},
};
use ranks::memory::{
    self,
    open::{self, Open},
    sent::{Cut, sent},
};
use under_way::UnderWay;
use workload::registry::Work;

/// Predicts the memory of a run of flows: routes of all pairs that are used, flows, ranks. How many flows there are at a time follows from what programs post before they wait
/// ([`ranks::memory::open`]), and of open traffic from its first messages (`under_way`). Elsewhere a hundred for each rank are taken, or the model's bound; fewer where there are fewer messages; where
/// terminals offer more than their links carry, those that pile up by the end are added. Of those that are divided over paths, whose memory grows with the width of their routes, ten for each rank
/// are taken at most: where more are under way links cannot keep up.
#[must_use]
pub fn predict(setup: &FlowSetup) -> Prediction {
    let links = setup.fabric.ports().len() as u64 + u64::from(setup.fabric.terminals());
    let (Until::Time(until) | Until::WorkloadDone { limit: until }) = setup.until;
    let known = under_way::under_way(setup);
    let open = open::of_jobs(&setup.jobs, Cut::WHOLE);
    let used = used(&setup.jobs, &open, until);
    let Rows { ranks, pairs, sharing, parts: rows_of_network } =
        rows(links, &used, setup.config.max_flows, known);
    let mut parts = memory::parts(&setup.jobs, memory::Kept::Rows, &|job| open[job].operations);
    let operations = memory::sent::recorded(&setup.jobs, setup.measure.operations);
    let rows = memory::sent::listed(&setup.jobs, until, &setup.measure);
    parts.extend(
        [("tables of operations", operations), ("rows of tables", rows)].into_iter().filter(|p| p.1 > 0),
    );
    parts.extend(rows_of_network);
    parts.extend((setup.measure.window > 0).then(|| ("series", series(setup, links, pairs, until))));
    let piled = if known.is_none() { piled(setup, until) } else { 0 };
    parts.extend(Some(("flows that pile up", piled.saturating_mul(FLOW))).filter(|p| p.1 > 0));
    if let Some(width) = width(setup) {
        // Messages of a pair share its route, and count once in the solver, unless loads divide each, or its route is not kept.
        let oblivious = setup.routing.as_ref().is_some_and(|routing| routing.facts().oblivious);
        let is_kept = oblivious && setup.change.is_none() && pairs <= width.kept();
        let at_a_time = sharing.min(ranks.saturating_mul(10));
        parts.push(("divided routes", width.routes(pairs, at_a_time)));
        parts.push(("divided flows", width.flows(if is_kept { at_a_time.min(pairs) } else { at_a_time })));
    }
    parts.sort_by_key(|p| std::cmp::Reverse(p.1));
    Prediction { bytes: parts.iter().fold(0, |sum, p| sum.saturating_add(p.1)), parts }
}

/// Bytes of the series: what each link carried in each window, then columns of that.
fn series(setup: &FlowSetup, links: u64, pairs: u64, until: Ps) -> u64 {
    /// A link and its bytes, in a list that doubles as it grows; its row of the table: time, quantity, link, value.
    const LINK: u64 = 2 * size_of::<(u32, f64)>() as u64 + ROW;
    const ROW: u64 = 8 + 4 + 8 + 8;
    /// A message among others is taken to be under way for so many times as long as one alone.
    const SLOW: f64 = 4.0;
    // Counts of a window are three rows; its list of links has a place.
    let own = 3 * ROW + size_of::<SeriesWindow>() as u64 + 32;
    let (window, jobs) = (setup.measure.window, &setup.jobs);
    // Links of a platform differ: there the time on them is left out.
    let rate = setup.links.first().map_or(f64::INFINITY, |link| link.bandwidth.bytes_per_s());
    let windows = memory::ends::windows(jobs, setup.until, window, rate);
    let longest = longest(setup).unwrap_or(links);
    let busy = windows.saturating_mul(links.min(pairs.saturating_mul(longest)));
    let known: Option<Vec<_>> = jobs.iter().map(|job| sent(job, until, Cut::WHOLE, &|_, _| true)).collect();
    let busy = known.map_or(busy, |sent| {
        let in_windows = |bytes: f64| 2.0 + SLOW * bytes / rate * 1e12 / window as f64;
        let each =
            sent.iter().map(|s| s.messages as f64 * in_windows(s.bytes as f64 / s.messages.max(1) as f64));
        busy.min((each.sum::<f64>() * longest as f64) as u64)
    });
    busy.saturating_mul(LINK).saturating_add(windows.saturating_mul(own)).saturating_add(written(busy))
}

/// Links of the longest of some paths between nodes of jobs; `None` without a routing.
fn longest(setup: &FlowSetup) -> Option<u64> {
    let routed = Routed { fabric: &setup.fabric, routing: &**setup.routing.as_ref()? };
    let of = |(from, to): (TerminalId, TerminalId)| {
        let asked = from != to && !setup.fabric.is_cut_off(from) && !setup.fabric.is_cut_off(to);
        let stream = Stream::new(setup.seed, Purpose::Route, 0);
        let path = asked.then(|| walk(routed, from, to, stream, None)).flatten();
        path.map_or(0, |(path, _)| u64::from(path.routers) + 1)
    };
    let walked = setup.jobs.iter().flat_map(some_ends).map(of).max().unwrap_or(0);
    Some(width(setup).map_or(0, |width| width.there).max(2 * walked))
}

/// Some pairs of a job's nodes.
fn some_ends(job: &JobSetup) -> Vec<(TerminalId, TerminalId)> {
    let ranks = &job.placement;
    let (Some(&first), Some(&last)) = (ranks.first(), ranks.last()) else { return Vec::new() };
    let middle = ranks[ranks.len() / 2];
    vec![(first, last), (middle, first), (last, middle)]
}

/// What is certain before the network is built.
#[must_use]
pub fn least(known: &Known<'_>) -> u64 {
    let links = known.sizes.ports.saturating_add(known.sizes.terminals);
    let most = known.values.int(config::MAX_FLOWS);
    let (Until::Time(until) | Until::WorkloadDone { limit: until }) = known.until.unwrap_or(Until::Time(0));
    // Of few ranks it is found on the network how many messages are under way.
    let under_way =
        if under_way::are_many(known.jobs) { None } else { Some(UnderWay { all: 0, sharing: 0 }) };
    let used = used(known.jobs, &open::of_jobs(known.jobs, Cut::WHOLE), until);
    let rows = rows(links, &used, most, under_way).parts.into_iter().map(|p| p.1);
    rows.fold(memory::least(known.jobs), u64::saturating_add)
}

/// Bytes of a flow, its message, and its place in a bundle.
const FLOW: u64 = 512;

/// Flows of open traffic that are under way in the end because terminals send more than their links carry. What piles up behind links between routers is not
/// foreseen: that hangs on where routes meet.
fn piled(setup: &FlowSetup, until: Ps) -> u64 {
    let Some(rate) = setup.links.first().map(|link| link.bandwidth.bytes_per_s()) else { return 0 };
    let of_one = |job: &JobSetup| {
        let offered = job.work.traffic().and_then(|t| t.offered_bytes_per_s())?;
        let share = job.placement.len() as f64 / job.nodes().max(1) as f64;
        let left = left_over(offered * share / rate);
        // Messages are read for it, and mostly none is left.
        let messages = if left > 0.0 { sent(job, until, Cut::WHOLE, &|_, _| false)?.messages } else { 0 };
        Some((messages as f64 * left).ceil() as u64)
    };
    let all: u64 = setup.jobs.iter().filter_map(of_one).fold(0, u64::saturating_add);
    all.min(setup.config.max_flows)
}

/// Share of messages that an overloaded link never completes, if all that are under way share it: all have a part, few all they need. With `load`
/// times what it carries it is the positive solution of f = 1 - exp(-f load) (Jean-Marie and Robert, *On the transient behavior of the processor sharing
/// queue*, 1994, for equal sizes), which is more than the excess, 1 - 1 / load.
fn left_over(load: f64) -> f64 {
    if load <= 1.0 {
        return 0.0;
    }
    let mut share = 1.0;
    // The error falls by load exp(-f load) < 1 in each step; near 1 it stays above the solution, as a prediction may.
    for _ in 0..100 {
        share = 1.0 - f64::exp(-share * load);
    }
    debug_assert!((0.0..=1.0).contains(&share), "it is a share");
    share
}

/// What a network has rows of.
struct Rows {
    ranks: u64,
    /// Pairs of ranks that send to each other.
    pairs: u64,
    /// Messages that share links at a time.
    sharing: u64,
    parts: [(&'static str, u64); 3],
}

/// Rows of so many links and of what jobs use, of which `most` flows at a time; of open traffic those that are known, if they are.
fn rows(links: u64, used: &Used, most: u64, known: Option<UnderWay>) -> Rows {
    /// A route with its links, and what is known of its pair.
    const ROUTE: u64 = 384;
    /// Messages of a pair that share alike: their place on each link and in the solver, with that of the first of them.
    const BUNDLE: u64 = 384;
    let known = known.unwrap_or(UnderWay { all: used.guessed, sharing: used.guessed });
    let at_a_time = |of_traffic: u64| most.min(used.flows.saturating_add(of_traffic.min(used.messages)));
    let (flows, sharing) = (at_a_time(known.all), at_a_time(known.sharing));
    let parts = [
        ("links", links.saturating_mul(256)),
        ("routes", used.pairs.saturating_mul(ROUTE)),
        ("flows", flows.saturating_mul(FLOW).saturating_add(sharing.min(used.pairs).saturating_mul(BUNDLE))),
    ];
    Rows { ranks: used.ranks, pairs: used.pairs, sharing, parts }
}

/// What jobs use.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    ranks: u64,
    /// Pairs of ranks that send to each other.
    pairs: u64,
    /// Messages of programs under way at a time.
    flows: u64,
    /// Those of traffic, where nothing is known of them.
    guessed: u64,
    /// All messages of traffic.
    messages: u64,
}

/// What jobs use until then, whose programs have so much open.
fn used(jobs: &[JobSetup], open: &[Open], until: Ps) -> Used {
    debug_assert_eq!(jobs.len(), open.len(), "each job has its own");
    jobs.iter().zip(open).map(|(job, open)| of_job(job, open, until)).fold(Used::default(), |all, job| Used {
        ranks: all.ranks + job.ranks,
        pairs: all.pairs.saturating_add(job.pairs),
        flows: all.flows.saturating_add(job.flows),
        guessed: all.guessed.saturating_add(job.guessed),
        messages: all.messages.saturating_add(job.messages),
    })
}

/// What a job uses until then.
fn of_job(job: &JobSetup, open: &Open, until: Ps) -> Used {
    let ranks = job.placement.len() as u64;
    let known = sent(job, until, Cut::WHOLE, &|_, _| false);
    let all_pairs = ranks.saturating_mul(ranks);
    match (&job.work, known) {
        (Work::Program(_), known) => {
            // A grant goes the other way round.
            let read = open.pairs.saturating_mul(2);
            let pairs = known.map_or(read, |sent| sent.pairs).min(all_pairs);
            Used { ranks, pairs, flows: open.messages, ..Used::default() }
        }
        (Work::Traffic(_), Some(sent)) => {
            let guessed = sent.messages.min(ranks.saturating_mul(100).saturating_add(sent.at_once));
            Used { ranks, pairs: sent.pairs.min(all_pairs), guessed, messages: sent.messages, flows: 0 }
        }
        (Work::Traffic(_), None) => {
            let (pairs, guessed) = (ranks.saturating_mul(256).min(all_pairs), ranks.saturating_mul(100));
            Used { ranks, pairs, guessed, messages: u64::MAX, flows: 0 }
        }
    }
}

/// How wide divided routes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Width {
    /// Links of the way there.
    there: u64,
    /// Links of both ways, which overlap or not.
    both: u64,
}

impl Width {
    /// Routes that are kept at most.
    fn kept(self) -> u64 {
        MAX_KEPT as u64 / self.there
    }

    /// Routes of so many pairs, and those that are not kept, of flows under way.
    fn routes(self, pairs: u64, flows: u64) -> u64 {
        // A link and its part on the way there; a link and its use, also of the way back.
        let each = self.there * (4 + 8) + self.both * 16;
        let kept = pairs.min(self.kept());
        kept.saturating_add(flows.min(pairs - kept)).saturating_mul(each)
    }

    /// What the solver has of so many flows: blocks of 2^n links and uses, and lists of members, which double as they grow.
    fn flows(self, flows: u64) -> u64 {
        flows.saturating_mul(self.both.next_power_of_two() * 24 + self.both * 32)
    }
}

/// The widest of a few routes of the jobs, if they are divided.
fn width(setup: &FlowSetup) -> Option<Width> {
    let networks = [
        setup.routing.as_ref().map(|routing| (&setup.fabric, routing)),
        setup.change.as_ref().map(|change| (&change.fabric, &change.routing)),
    ];
    let stream = Stream::new(setup.seed, Purpose::Route, 0);
    let most = setup.config.max_links;
    let mut widest = None;
    if !setup.config.divided {
        return None;
    }
    for (fabric, routing) in networks.into_iter().flatten() {
        let wide = |packets: u32, (from, to): (TerminalId, TerminalId)| {
            let asked = from != to && !fabric.is_cut_off(from) && !fabric.is_cut_off(to);
            let routed = Routed { fabric, routing: &**routing };
            asked.then(|| links(routed, from, to, &|n| stream.owned_by(n << 24), most, packets)).flatten()
        };
        for job in &setup.jobs {
            let largest = job.message.or_else(|| job.work.traffic()?.largest());
            let packets = largest.map_or(WHOLE, by_load::packets);
            widest = widest.max(some_ends(job).into_iter().filter_map(|ends| wide(packets, ends)).max());
        }
    }
    let back = setup.config.rules.cross > 0.0;
    widest.map(|there| Width { there, both: if back { 2 * there } else { there } })
}

/// Links of a message, if it is divided. Where it is by load each of so many packets is asked, and no two meet.
fn links(
    routed: Routed<'_>,
    source: TerminalId,
    destination: TerminalId,
    random: &dyn Fn(u64) -> Stream,
    most: u64,
    packets: u32,
) -> Option<u64> {
    if routed.routing.facts().oblivious {
        return division(routed, source, destination, random, most)
            .ok()
            .map(|found| found.links.len() as u64);
    }
    let (path, fixed) = walk(routed, source, destination, random(0), None)?;
    let between = u64::from(path.routers.saturating_sub(1));
    (!fixed && packets > 1).then(|| most.min(2 + 2 * between * u64::from(packets)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        config::FlowConfig,
        context::context,
        fine_time::FineTime,
        network::{Message, Network, Pair},
        rules::Rules,
        sharing::Sharing,
    };
    use model::samples::{int, link, routing, topology};
    use std::sync::Arc;
    use workload::{
        program::list::{List, Rank, send},
        registry::Work,
    };

    fn setup(algorithm: &str, rules: Rules) -> FlowSetup {
        let sizes = [
            ("groups", 9),
            ("routers_per_group", 4),
            ("terminals_per_router", 2),
            ("global_ports_per_router", 2),
        ];
        let fabric = topology("dragonfly", &sizes.map(|(name, n)| (name, int(n))));
        // Ten messages of each to others.
        let hosts = fabric.terminals();
        let rank = |source: u32| {
            let mut rank = Rank::default();
            (1..=10).for_each(|step| _ = rank.push(send((source + 7 * step) % hosts, 1 << 20, 0)));
            rank
        };
        let (routing, work) = (
            routing(&fabric, algorithm, &[]),
            Work::Program(Arc::new(List::new((0..hosts).map(rank).collect()))),
        );
        let setup = crate::samples::setup(&fabric, Some(routing), work, FlowConfig::new(rules));
        let links = vec![link(1_000_000_000, 1000, 2, 1024); fabric.classes().len()];
        FlowSetup { links, until: Until::Time(1_000_000_000), ..setup }
    }

    fn predicted(setup: &FlowSetup, part: &str) -> u64 {
        predict(setup).parts.iter().find(|p| p.0 == part).map_or(0, |p| p.1)
    }

    /// Ten messages of each rank at once, each of another pair: what is kept of their routes, and of them in the solver.
    #[test]
    fn no_less_is_predicted_than_is_kept_of_divided_messages() {
        for rules in [Rules::plain(), Rules::cm02()] {
            let setup = setup("valiant", rules);
            let cx = context(&setup).expect("a setup that can be run");
            let mut sharing = Sharing::new(cx.config.rules.clone(), 0);
            let mut network = Network::new(&cx, &mut sharing);
            let hosts = setup.fabric.terminals();
            let mut begun = 0;
            for (source, step) in (0..hosts).flat_map(|source| (1..=10).map(move |step| (source, step))) {
                let (source, destination) =
                    (TerminalId::new(source), TerminalId::new((source + 7 * step) % hosts));
                let row = network.pair(source, destination);
                let pair = Pair { source, destination, row };
                let route = network
                    .route(&cx, &mut sharing, pair, Message { identity: begun, packets: 32 })
                    .expect("there is a way");
                sharing.begin(FineTime::at(0), route, 1 << 20, None, begun as u32);
                begun += 1;
            }
            assert!(network.evenly && network.wide == 0);
            let mut over = Vec::new();
            while sharing.next().is_some_and(|at| at.rounded() < 1_000_000) {
                assert!(sharing.step(1_000_000, &mut over));
            }
            assert_eq!(sharing.active(), begun);
            let (routes, solver) = sharing.wide_bytes();
            let (routes_said, flows_said) =
                (predicted(&setup, "divided routes"), predicted(&setup, "divided flows"));
            assert!(routes_said >= routes, "{routes_said} said, {routes} kept of routes");
            assert!(flows_said >= solver, "{flows_said} said, {solver} kept of flows");
            assert!(flows_said < 4 * solver, "{flows_said} said, {solver} kept of flows: far too much");
        }
    }

    #[test]
    fn what_takes_one_path_is_not_predicted_to_be_wide() {
        assert_eq!(width(&setup("minimal", Rules::plain())), None);
        let mut valiant = setup("valiant", Rules::plain());
        assert!(width(&valiant).is_some_and(|w| w.there > 50 && w.both == w.there));
        valiant.config.max_links = 50;
        assert_eq!(width(&valiant), None);
        valiant.config.max_links = 4096;
        valiant.config.divided = false;
        assert_eq!(width(&valiant), None);
    }

    /// f = 1 - exp(-f load), and no less than the excess.
    #[test]
    fn what_is_left_over_of_an_overload_solves_its_equation() {
        assert!(left_over(0.5).abs() < 1e-12 && left_over(1.0).abs() < 1e-12);
        for load in [1.05, 1.2, 2.0, 5.0, 100.0] {
            let share = left_over(load);
            assert!((share - 1.0 + f64::exp(-share * load)).abs() < 0.01, "{load}: {share}");
            assert!(share > 1.0 - 1.0 / load, "{load}: {share}");
        }
    }

    #[test]
    fn routes_beyond_those_that_are_kept_go_with_their_flows() {
        let width = Width { there: 3000, both: 3000 };
        let each = 3000 * 28;
        assert_eq!(width.routes(100, 5), 100 * each);
        assert_eq!(width.routes(1 << 40, 5), (MAX_KEPT as u64 / 3000 + 5) * each);
    }
}
