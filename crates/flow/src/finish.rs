//! From measurements to the summary.

use super::{
    context::{Context, FlowSetup},
    domain::FlowDomain,
    ended::{Ended, LinkUse},
    fine_time::FineTime,
    judged::judge,
    observe::Observer,
    tables,
};
use base::{index::LinkId, time::Ps};
use model::{
    energy::{self, Consumed, Use},
    setup::Until,
    throughput::throughput,
};
use ranks::{critical, programs};
use results::{
    slow_down,
    summary::{Counts, HopLatency, Job, LinkClass, Links, Summary, Verdict},
    table::Table,
};

/// What the links of a platform are called together.
pub const PLATFORM_LINKS: &str = "link";

/// Makes the summary and the tables.
#[must_use]
pub fn finish(setup: &FlowSetup, cx: &Context, mut ended: Ended) -> (Summary, Vec<Table>) {
    let done = matches!(setup.until, Until::WorkloadDone { .. });
    let simulated = simulated(cx, &ended);
    let uses = uses(cx, &mut ended.domain, simulated);
    let o = &ended.observer;
    let mut fingerprint = o.fingerprint;
    for (terminal, &sent) in ended.domain.sent().iter().enumerate() {
        fingerprint.add(1 << 62, terminal as u64, u64::from(sent), 0);
    }
    fingerprint.add(1 << 61, ended.domain.sharing.active(), 0, 0);
    let mut summary = Summary::new(fingerprint, Verdict::ok(), serde_json::Value::Null);
    summary.simulated_ps = simulated;
    let (begun, delivered) = o.jobs.iter().fold((0, 0), |(b, d), j| (b + j.begun, d + j.delivered));
    summary.messages = Some(Counts { injected: begun, delivered, in_flight: begun - delivered });
    summary.bytes_delivered = o.bytes.0;
    summary.message_latency_ps = o.latency.latency();
    let names = || setup.jobs.iter().map(|job| job.name.as_str());
    summary.slow_down = o.slow_down.as_ref().and_then(|sums| sums.block(names()));
    // A platform has links, not routers.
    let by_hops = if cx.platform().is_some() { &[][..] } else { &o.by_hops };
    let rows = by_hops.iter().enumerate();
    summary.latency_by_hops = rows.filter_map(|(h, m)| m.by_hops(h as u32)).collect::<Vec<HopLatency>>();
    let count: u64 = by_hops.iter().map(|m| m.count).sum();
    let total: u64 = by_hops.iter().enumerate().map(|(h, m)| h as u64 * m.count).sum();
    summary.hops_mean = (count > 0).then(|| total as f64 / count as f64);
    let rate = setup.links.first().map(|l| l.bandwidth.bytes_per_s());
    let received = ended.domain.received(simulated, o.whole);
    summary.throughput =
        rate.and_then(|r| throughput(&setup.jobs, r, 1, received, &(setup.warmup..simulated)));
    summary.verdict = judge(setup, cx, &ended, simulated, summary.throughput);
    let over = programs::stuck(&cx.roster, ended.host.standing()).is_done();
    summary.jobs = jobs(setup, o, done, ended.dry, over);
    summary.nodes = o.tally.nodes(&cx.roster);
    summary.links = links(cx, &uses);
    let causes = o.tally.causes(&cx.roster, cx.rank.cells(), over);
    critical::add(&mut summary.jobs, causes.as_ref());
    let mut tables = tables::all(setup, cx, &ended, causes.as_ref(), &uses);
    tables.extend(summary.slow_down.as_ref().map(slow_down::table));
    if let Some(asked) = &setup.energy {
        // A platform's one router is none: it holds the hosts together.
        let routers = if cx.platform().is_some() { 0 } else { cx.fabric.routers() };
        let parts = (u64::from(routers), u64::from(cx.fabric.terminals()));
        let delivered = (delivered, o.bytes.0);
        let uses = energy_uses(cx, &uses, if asked.start_asleep { simulated } else { 0 });
        let block = asked.block(&Consumed { time: simulated, parts, uses: &uses, delivered });
        tables.push(energy::table(&block));
        summary.energy = Some(block);
    }
    (summary, tables)
}

/// Virtual time that was simulated: until the last thing that happened, or until the run was ended.
fn simulated(cx: &Context, ended: &Ended) -> Ps {
    let domain = &ended.domain;
    // Where all waits without end, or there were too many flows, shares are as they were found last.
    let stood = domain.sharing.now().rounded();
    debug_assert!(stood <= cx.end, "nothing happens after the end");
    match (cx.open && !domain.overflow, ended.dry || domain.overflow) {
        (true, _) => cx.end,
        (false, true) if domain.sharing.active() > 0 => ended.observer.last.max(stood),
        (false, false) if domain.is_cut_short() => cx.end,
        (false, _) => ended.observer.last,
    }
}

/// What the links of each class carried, for their energy. Directions that share a bandwidth have half of what they used together. Links that carry
/// nothing sleep for so long.
fn energy_uses(cx: &Context, uses: &[LinkUse], asleep: Ps) -> Vec<Use> {
    let named = |class: &&str| Use { class: (*class).to_owned(), ..Use::default() };
    let names = if cx.platform().is_some() { &[PLATFORM_LINKS][..] } else { cx.fabric.classes() };
    let mut classes: Vec<Use> = names.iter().map(named).collect();
    let share = if cx.config.half_duplex { 0.5 } else { 1.0 };
    for link in uses {
        let used = &mut classes[link.class.map_or(0, usize::from)];
        used.add(link.bytes * 8.0 * share, if link.bytes == 0.0 { asleep } else { 0 });
    }
    classes
}

/// Use of all links.
fn uses(cx: &Context, domain: &mut FlowDomain, simulated: Ps) -> Vec<LinkUse> {
    let used = domain.sharing.finish(FineTime::at(simulated)).to_vec();
    let count = match cx.platform() {
        Some(platform) => platform.links.len() as u32,
        None => cx.fabric.links(),
    };
    let span = simulated as f64 * 1e-12;
    let plugged = |link: &u32| cx.platform().is_some() || !cx.fabric.is_unplugged(LinkId::new(*link));
    (0..count)
        .filter(plugged)
        .map(|link| {
            let shared = domain.shared(link);
            let bytes = used[shared as usize];
            let most = domain.sharing.bandwidth(shared) * span;
            let class = cx.fabric.class_of_link(LinkId::new(link));
            LinkUse {
                link,
                class: cx.platform().is_none().then_some(class),
                bytes,
                utilisation: if most > 0.0 { bytes / most } else { 0.0 },
            }
        })
        .collect()
}

/// Programs have a makespan once they are `over`, whatever traffic still does.
fn jobs(setup: &FlowSetup, o: &Observer, closed: bool, dry: bool, over: bool) -> Vec<Job> {
    let each = setup.jobs.iter().zip(&o.jobs);
    each.map(|(job, sums)| {
        let program = job.work.program().is_some();
        let makespan = sums.last.saturating_sub(job.start);
        let (injected, delivered) = (sums.begun, sums.delivered);
        Job {
            name: job.name.clone(),
            ranks: job.placement.len() as u32,
            messages: Some(Counts { injected, delivered, in_flight: injected - delivered }),
            makespan_ps: ((closed || program) && dry || program && over).then_some(makespan),
            compute_fraction: (program && makespan > 0)
                .then(|| sums.busy as f64 / (makespan as f64 * job.placement.len() as f64)),
            critical_path: None,
        }
    })
    .collect()
}

fn links(cx: &Context, uses: &[LinkUse]) -> Option<Links> {
    if uses.is_empty() {
        return None;
    }
    let names: Vec<&str> =
        if cx.platform().is_some() { vec![PLATFORM_LINKS] } else { cx.fabric.classes().to_vec() };
    /// Utilisations of a class's links.
    #[derive(Clone, Default)]
    struct Class {
        links: u64,
        sum: f64,
        max: f64,
    }
    let mut classes = vec![Class::default(); names.len()];
    for u in uses {
        let row = &mut classes[u.class.map_or(0, usize::from)];
        row.links += 1;
        row.sum += u.utilisation;
        row.max = row.max.max(u.utilisation);
    }
    let rows = names.iter().zip(&classes).filter(|(_, row)| row.links > 0);
    let classes: Vec<LinkClass> = rows
        .map(|(name, &Class { links, sum, max })| LinkClass {
            class: (*name).to_owned(),
            links,
            mean_utilisation: sum / links as f64,
            max_utilisation: max,
        })
        .collect();
    let sum: f64 = uses.iter().map(|u| u.utilisation).sum();
    Some(Links {
        mean_utilisation: sum / uses.len() as f64,
        max_utilisation: uses.iter().map(|u| u.utilisation).fold(0.0, f64::max),
        classes,
    })
}
