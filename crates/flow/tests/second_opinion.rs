//! A second opinion on sharing over time: random cases by the crate and by a naive model, which finds all shares anew at every instant.
//!
//! More cases: `CASES=100000 SEED=1 cargo test --profile checked -p netloom-flow --test second_opinion`; with `NETLOOM_LONG=1` a million,
//! or as many as ten minutes allow.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[path = "second_opinion/cases.rs"]
mod cases;
#[path = "second_opinion/faults.rs"]
mod faults;
#[path = "second_opinion/naive.rs"]
mod naive;
#[path = "second_opinion/precise.rs"]
mod precise;

use cases::{Case, Message, Path};
use faults::FAULTS;
use flow::{
    fine_time::FineTime,
    sharing::{LinkChange, Over, Sharing},
};
use naive::{Outcome, Seen};
use std::time::{Duration, Instant};

/// How far two times in picoseconds may be apart: a part in 10^10, or this.
const CLOSE_PS: f64 = 0.1;
const CLOSE: f64 = 1e-10;

/// The crate's links and routes of a case, with the changes to come.
fn sharing(case: &Case) -> (Sharing, Vec<u32>) {
    let mut sharing = Sharing::new(case.rules.clone(), 0);
    for link in &case.links {
        sharing.link(link.bandwidth, link.latency, link.policy);
    }
    let change = |&(at, link, what)| LinkChange { at: FineTime::at(at), link, what, every: None };
    sharing.schedule(case.changes.iter().map(change).collect());
    let route = |path: &Path| {
        let links = |parts: &[(u32, f64)]| parts.iter().map(|p| p.0).collect::<Vec<u32>>();
        if path.divided {
            sharing.divided(&path.links, &path.back, path.between)
        } else {
            sharing.route(links(&path.links), &links(&path.back), path.between)
        }
    };
    let routes = case.paths.iter().map(route).collect();
    (sharing, routes)
}

/// What is left of flows at an instant and half of that later, at the rates of now.
fn seen(sharing: &Sharing, at: FineTime) -> Vec<Seen> {
    let mut all: Vec<Seen> = Vec::new();
    for (tag, left) in sharing.left(at) {
        // A span in which no flow ends is found by halving.
        let mut span = 1e3;
        let then = |span: f64| sharing.left(at.after(span)).find(|l| l.0 == tag).unwrap().1;
        while span > 1e-12 && then(span) < left / 2.0 {
            span /= 2.0;
        }
        let (rate, message) = ((left - then(span)) / span, tag as usize);
        all.push(Seen { message, left, rate });
    }
    all.sort_by_key(|s| s.message);
    all
}

/// The same case by the crate.
fn ours(case: &Case) -> Outcome {
    let (mut sharing, routes) = sharing(case);
    let mut flows: Vec<Option<u32>> = vec![None; case.messages.len()];
    let (mut over, mut out): (Vec<Over>, _) = (Vec::new(), Outcome::default());
    let messages = case.messages.iter().map(|m| m.at);
    let mut times: Vec<u64> =
        messages.chain(case.detours.iter().map(|d| d.at)).chain(case.looks.iter().copied()).collect();
    times.sort_unstable();
    times.dedup();
    for time in times {
        let at = FineTime::at(time);
        while sharing.next().is_some_and(|next| next <= at) && sharing.step(u64::MAX, &mut over) {}
        for (n, m) in case.messages.iter().enumerate().filter(|m| m.1.at == time) {
            flows[n] = Some(sharing.begin(at, routes[m.path], m.bytes, m.rate, n as u32));
        }
        for detour in case.detours.iter().filter(|d| d.at == time) {
            let is_over = over.iter().any(|o| o.tag as usize == detour.message);
            if let Some(flow) = flows[detour.message].filter(|_| !is_over) {
                sharing.divert(at, flow, case.messages[detour.message].bytes, routes[detour.path]);
                sharing.refresh(at);
            }
        }
        if case.looks.contains(&time) {
            while sharing.next().is_some_and(|next| next <= at) && sharing.step(u64::MAX, &mut over) {}
            out.seen.push(seen(&sharing, at));
        }
    }
    while sharing.step(u64::MAX, &mut over) {}
    out.ends = over.iter().map(|o| (o.tag as usize, o.at.exact_ps())).collect();
    out.used = sharing.finish(sharing.now()).to_vec();
    out
}

fn close(a: f64, b: f64, absolute: f64) -> bool {
    (a - b).abs() <= (CLOSE * a.abs().max(b.abs())).max(absolute)
}

/// Messages whose ends come in the same order by the rules: those that are equal in all things, and those without bytes on a route.
/// Rates of their own on a route and detours put equal messages into several bundles, whose order is free.
fn ordered(case: &Case, ends: &[(usize, f64)]) -> Vec<Vec<usize>> {
    let first = |n: usize| {
        let other = &case.messages[n];
        let is_same = |m: &Message| m == other || m.bytes + other.bytes == 0 && m.path == other.path;
        case.messages.iter().position(is_same).unwrap()
    };
    let moved = |n: usize| case.detours.iter().any(|detour| detour.message == n);
    let rates = |n: usize| case.messages.iter().any(|m| m.path == case.messages[n].path && m.rate.is_some());
    let mut classes = vec![Vec::new(); case.messages.len()];
    let compared = ends.iter().map(|end| end.0).filter(|&n| !moved(n) && !rates(n));
    compared.for_each(|n| classes[first(n)].push(n));
    classes
}

/// Where two outcomes part.
fn difference(case: &Case, ours: &Outcome, naive: &Outcome) -> Option<String> {
    let times = |outcome: &Outcome| {
        let mut times = vec![None; case.messages.len()];
        outcome.ends.iter().for_each(|end| times[end.0] = Some(end.1));
        times
    };
    let rate = |n: usize| {
        let links = case.paths[case.messages[n].path].links.iter();
        links.map(|l| case.links[l.0 as usize].bandwidth).fold(1e9, f64::max)
    };
    let mut ends: Vec<_> = times(ours).into_iter().zip(times(naive)).enumerate().collect();
    ends.sort_by(|a, b| a.1.1.unwrap_or(f64::INFINITY).total_cmp(&b.1.1.unwrap_or(f64::INFINITY)));
    for (n, times) in ends {
        if times.0.is_some() != times.1.is_some()
            || times.0.zip(times.1).is_some_and(|(a, b)| !close(a, b, CLOSE_PS))
        {
            return Some(format!("message {n} ends at {:?} ps, by the rules {:?}", times.0, times.1));
        }
    }
    let near = |look: u64| naive.instants.iter().any(|&at| close(at, look as f64, CLOSE_PS));
    for ((&look, a), b) in case.looks.iter().zip(&ours.seen).zip(&naive.seen).filter(|l| !near(*l.0.0)) {
        let same = |a: &Seen, b: &Seen| {
            let bytes = case.messages[a.message].bytes as f64 * 1e-9 + rate(a.message) * CLOSE_PS * 1e-12;
            // Too little may be left for a rate to be read.
            let rates = a.left < 100.0 || close(a.rate, b.rate, 1e-5);
            a.message == b.message && close(a.left, b.left, bytes) && rates
        };
        if a.len() != b.len() || !a.iter().zip(b).all(|(a, b)| same(a, b)) {
            return Some(format!("at {look} ps: {a:#?}, by the rules {b:#?}"));
        }
    }
    let total: f64 = case.messages.iter().map(|m| m.bytes as f64).sum();
    for (link, (&a, &b)) in ours.used.iter().zip(&naive.used).enumerate() {
        if !close(a, b, 1e-8 * total) {
            return Some(format!("link {link} is used for {a} B, by the rules {b}"));
        }
    }
    let (a, b) = (ordered(case, &ours.ends), ordered(case, &naive.ends));
    (a != b).then(|| format!("messages end in the order {a:?}, by the rules {b:?}"))
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|n| n.parse().unwrap())
}

/// Says which case it was, if the crate stops in it.
struct Named<'a>(u64, &'a Case);

impl Drop for Named<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("case {}: {:#?}", self.0, self.1);
        }
    }
}

/// The crate does what the rules say, and each planted fault is shown by some case.
#[test]
fn sharing_does_what_the_rules_say() {
    let long = std::env::var_os("NETLOOM_LONG").is_some();
    let cases = number("CASES").unwrap_or(if long { 1_000_000 } else { 6_000 });
    let (first, begun) = (number("SEED").unwrap_or(0), Instant::now());
    let mut missed = FAULTS.to_vec();
    for seed in first..first + cases {
        if long && begun.elapsed() > Duration::from_secs(590) {
            break;
        }
        let case = cases::draw(seed);
        let _named = Named(seed, &case);
        let (ours, naive) = (ours(&case), naive::run(&case, None));
        if let Some(difference) = difference(&case, &ours, &naive) {
            panic!("case {seed}: {difference}");
        }
        missed.retain(|&fault| difference(&case, &ours, &naive::run(&case, Some(fault))).is_none());
    }
    assert!(cases < 3_000 || missed.is_empty(), "no case shows {missed:?}");
}
