//! A second, naive implementation of the protocols, straight from the rules. It shares nothing with the crate but the parameters that
//! a user gives. Random settings must agree in the mean time of a message and in the mean number of packets, within their standard
//! errors; where nothing is random, exactly.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod naive;

use base::rate::Bandwidth;
use naive::{Fault, Naive, Random, Time};
use resilience::{Constants, Estimates, Occupancy, Parameters, Point, Protocol, Timeout, path::Path, sample};

/// Mean and standard error.
fn mean(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let n = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / n;
    let spread = values.map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0).max(1.0);
    (mean, (spread / n).sqrt())
}

struct Case {
    p: Parameters,
    hops: usize,
    packets: u64,
}

fn draw(random: &mut Random) -> Case {
    let protocol = Protocol::ALL[random.below(4) as usize];
    let losses = [0.0, 0.001, 0.01, 0.03, 0.1];
    let p = Parameters {
        occupancy: if random.below(2) == 0 { Occupancy::Hop } else { Occupancy::Wire },
        timeout: if random.below(2) == 0 { Timeout::Window } else { Timeout::Packet },
        loss: losses[random.below(5) as usize],
        tamper: [0.0, 0.0, 0.02][random.below(3) as usize],
        window: [1, 2, 3, 5, 5, 8, 16][random.below(7) as usize],
        constants: Constants::Table2,
        bandwidth: Bandwidth::new(9_375_000_000, 1).unwrap(),
        ..Parameters::table2(protocol)
    };
    Case { p, hops: 1 + random.below(8) as usize, packets: 1 + random.below(24) }
}

/// How far the two are apart, in standard errors: the worse of time and packets.
fn apart(case: &Case, samples: u64, seed: u64, fault: Fault) -> (f64, String) {
    let path = Path::uniform(case.hops as u32, case.p.loss, case.p.tamper).unwrap();
    let point = Point { parameters: &case.p, path: &path, packets: case.packets, seed };
    let theirs: Estimates = sample(&point, samples, 1).unwrap();
    let unit = case.p.delays().unwrap().scale as f64 * 500.0;
    let own: Vec<(Time, u64)> = (0..samples)
        .map(|i| Naive::new(&case.p, case.hops, case.packets, (seed << 32 | i << 1) + 1, fault).message())
        .collect();
    let time = mean(own.iter().map(|(t, _)| *t as f64));
    let sent = mean(own.iter().map(|(_, s)| *s as f64));
    let one = |(mean, error): (f64, f64), other: (f64, f64)| {
        let error = error.hypot(other.1).max(1e-9 * mean);
        (mean - other.0).abs() / error
    };
    let of = |m: &resilience::Moments, unit: f64| (m.mean() / unit, m.standard_error() / unit);
    let (a, b) = (of(&theirs.time, unit), of(&theirs.sent, 1.0));
    let text = format!(
        "{:?} {} hops, {} packets: time {time:?} {a:?}, sent {sent:?} {b:?}",
        case.p, case.hops, case.packets
    );
    (one(time, a).max(one(sent, b)), text)
}

/// Standard errors by which two means are apart by chance once in a hundred thousand.
const APART: f64 = 4.5;

/// Settings that are apart, by their number. Among many some are so by chance: each is looked at again with sixteen times the samples, none of which it had.
fn differing(cases: std::ops::Range<u64>, samples: u64, fault: Fault) -> impl Iterator<Item = String> {
    cases.filter_map(move |number| {
        let case = draw(&mut Random(0x9e37_79b9_7f4a_7c15u64.wrapping_mul(number + 1)));
        let (z, _) = apart(&case, samples, 2 * number + 1, fault);
        let (again, text) =
            if z > APART { apart(&case, 16 * samples, 2 * number + 2, fault) } else { (z, String::new()) };
        (again > APART).then(|| format!("setting {number}: {z:.1}, then {again:.1} {text}"))
    })
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |n| n.parse().unwrap())
}

/// A thousand settings, two hundred of them with more samples. More: `CASES=100000 SEED=1 cargo test --release -p netloom-resilience two`; with
/// NETLOOM_LONG=1 more samples of each, in minutes.
#[test]
fn two_implementations_agree() {
    let long = std::env::var_os("NETLOOM_LONG").is_some();
    let (first, cases) = (number("SEED", 0) << 24, number("CASES", if long { 30_000 } else { 1_000 }));
    let well = first + cases.min(if long { 3_000 } else { 200 });
    let (more, less) = if long { (2_000, 100) } else { (150, 20) };
    let known = differing(first..well, more, Fault::None);
    let all: Vec<String> = known.chain(differing(well..first + cases, less, Fault::None)).collect();
    assert!(all.is_empty(), "{} differ:\n{}", all.len(), all.join("\n"));
}

#[test]
fn planted_faults_are_found() {
    use Fault::{
        EarlyTimer, FreeLinks, FreeNodes, NoGate, NoRecoding, OneMore, SafeAcks, TakesTampered, Unpaced,
    };
    let all =
        [SafeAcks, FreeLinks, FreeNodes, EarlyTimer, NoGate, NoRecoding, TakesTampered, OneMore, Unpaced];
    for fault in all {
        let found = differing(0..100, 120, fault).next();
        assert!(found.is_some(), "{fault:?} was not found");
    }
}
