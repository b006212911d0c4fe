//! Flows with rates of their own: pools change no end, and make thousands of them cheap.

use super::{FineTime, LinkChange, Over, Policy, Sharing, link_change::Change};
use crate::rules::Rules;
use base::{
    rng::{Purpose, Stream},
    time::Ps,
};

/// A flow: start in seconds, pair of links, bytes, rate.
type Flow = (f64, (u32, u32), u64, Option<f64>);

/// Random flows over pairs of links; three of four have a rate of their own, from far below to far above a fair share.
fn flows(random: &mut Stream, count: u64, links: u64, span: f64) -> Vec<Flow> {
    let unit = |random: &mut Stream| random.below(1_000_003) as f64 / 1_000_003.0;
    let mut all: Vec<Flow> = (0..count)
        .map(|_| {
            let from = random.below(links) as u32;
            let to = (links + random.below(links)) as u32;
            let rate = 1e9 * 10f64.powf(-4.0 * unit(random));
            let rate = (random.below(4) > 0).then_some(rate);
            (span * unit(random), (from, to), 1 + random.below(1_000_000), rate)
        })
        .collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all
}

/// When each ends, and what the solver looked at. `apart`: each has a route of its own, so that nobody shares a bundle.
fn ends(flows: &[Flow], rules: Rules, links: u32, accuracy: f64, apart: bool) -> (Vec<f64>, u64) {
    let mut sharing = Sharing::new(rules, 0);
    sharing.set_accuracy(accuracy);
    sharing.keep_audit();
    for _ in 0..2 * links {
        sharing.link(1e9, 1e-6, Policy::Shared);
    }
    let (mut over, mut ends) = (Vec::new(), vec![0.0; flows.len()]);
    let mut routes = std::collections::BTreeMap::new();
    let mut collect =
        |over: &mut Vec<Over>| over.drain(..).for_each(|o| ends[o.tag as usize] = o.at.exact_ps());
    for (tag, &(start, pair, bytes, rate)) in (0u32..).zip(flows) {
        let at = FineTime::at(0).after(start);
        while sharing.next().is_some_and(|next| next < at) && sharing.step(Ps::MAX, &mut over) {
            collect(&mut over);
        }
        let mut new = || sharing.route(vec![pair.0, pair.1], &[pair.1, pair.0], 0.0);
        let route = if apart { new() } else { *routes.entry(pair).or_insert_with(new) };
        sharing.begin(at, route, bytes, rate, tag);
    }
    while sharing.active() > 0 && sharing.step(Ps::MAX, &mut over) {
        collect(&mut over);
    }
    assert_eq!((sharing.active(), sharing.faults()), (0, Vec::new()));
    (ends, sharing.visits())
}

/// Each flow by itself is the naive second way: the same ends, to what a clock of a pool rounds.
#[test]
fn pools_change_no_end() {
    let presets = [Rules::plain(), Rules::cm02(), Rules::lv08(), Rules::smpi()];
    for seed in 0..40 {
        let mut random = Stream::new(seed, Purpose::Test, 33);
        let links = 1 + random.below(4);
        let count = 20 + random.below(200);
        let span = [0.0, 1e-3, 1e-1][random.below(3) as usize];
        let flows = flows(&mut random, count, links, span);
        let rules = presets[seed as usize % presets.len()].clone();
        let (pooled, _) = ends(&flows, rules.clone(), links as u32, 0.0, false);
        let (apart, _) = ends(&flows, rules, links as u32, 0.0, true);
        for ((a, b), flow) in pooled.iter().zip(&apart).zip(&flows) {
            assert!((a - b).abs() <= b * 1e-10, "seed {seed}: {flow:?} ends at {a}, by itself at {b}");
        }
    }
}

/// Who may take little never takes more, also while shares are found late.
#[test]
fn nobody_exceeds_its_rate() {
    for seed in 0..20 {
        let mut random = Stream::new(seed, Purpose::Test, 34);
        let flows = flows(&mut random, 150, 2, 1e-3);
        let (ends, _) = ends(&flows, Rules::plain(), 2, 0.2, false);
        for (end, &(start, _, bytes, rate)) in ends.iter().zip(&flows) {
            let least = start + 2e-6 + bytes as f64 / rate.unwrap_or(1e9).min(1e9);
            assert!(end * 1e-12 >= least * (1.0 - 1e-9), "seed {seed}: {end} ps, {least} s at the least");
        }
    }
}

/// Twice as many flows, all at rates of their own, cost the solver little more than twice as much.
#[test]
fn rates_of_their_own_cost_no_square() {
    let visits = |count: u64| {
        let mut random = Stream::new(1, Purpose::Test, 35);
        let flows = flows(&mut random, count, 8, 1e-3);
        ends(&flows, Rules::plain(), 8, 0.0, false).1
    };
    let (few, many) = (visits(1500), visits(3000));
    assert!(many < 3 * few, "{few} and {many}");
}

/// When the last message ends, in picoseconds.
fn last_end(sharing: &mut Sharing) -> f64 {
    let mut over = Vec::new();
    while sharing.step(Ps::MAX, &mut over) {}
    over.last().map_or(0.0, |o| o.at.exact_ps())
}

/// A flow that leaves a pool for the same route is back there once.
#[test]
fn who_comes_back_to_a_pool_is_in_it_once() {
    let mut s = Sharing::new(Rules::plain(), 0);
    s.keep_audit();
    s.link(1e9, 1e-6, Policy::Shared);
    let route = s.route(vec![0], &[], 0.0);
    for tag in 0..2 {
        s.begin(FineTime::at(0), route, 1_000_000, None, tag);
    }
    let mut over = Vec::new();
    while s.step(10_000_000, &mut over) {}
    let flow = s.begin(FineTime::at(10_000_000), route, 10_000_000, Some(6e8), 2);
    s.begin(FineTime::at(10_000_000), route, 10_000_000, Some(5.5e8), 3);
    while s.step(101_000_000, &mut over) {}
    s.divert(FineTime::at(101_000_000), flow, 10_000_000, route);
    s.refresh(FineTime::at(101_000_000));
    // Beside one like it, which got a third of the link for the microsecond in which it waited; that much is left at the end, for its own rate.
    let end = last_end(&mut s);
    let whole = 102.0 + (1e6 - 27_500.0 - 1000.0 / 3.0) / 250.0 + 9_005_000.0 / 500.0;
    assert!((end - (whole + 1000.0 / 3.0 / 600.0) * 1e6).abs() < 1.0, "{end} {whole}");
    assert_eq!(s.faults(), [""; 0]);
}

/// While a window gives less than the rate of a flow it is as all others of the route; when the latency becomes less its rate counts.
#[test]
fn a_rate_counts_when_a_window_opens() {
    let mut s = Sharing::new(Rules { window: Some(2000.0), ..Rules::plain() }, 0);
    s.keep_audit();
    s.link(3e9, 2e-6, Policy::Shared);
    let (at, what) = (FineTime::at(20_000_000), Change::Latency(5e-7));
    s.schedule(vec![LinkChange { at, link: 0, what, every: None }]);
    let route = s.route(vec![0], &[], 0.0);
    for tag in 0..7 {
        s.begin(FineTime::at(0), route, 1_000_000, None, tag);
    }
    let mut over = Vec::new();
    while s.step(10_000_000, &mut over) {}
    s.begin(FineTime::at(10_000_000), route, 10_000_000, Some(6e8), 7);
    // A seventh of the link for 10 us, then an eighth; what is left at its own rate.
    let each = 1e6 - 30_000.0 / 7.0;
    let end = last_end(&mut s);
    assert!((end - (12.0 + each / 375.0 + (10e6 - each) / 600.0) * 1e6).abs() < 1.0, "{end}");
    assert_eq!(s.faults(), [""; 0]);
}
