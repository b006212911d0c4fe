//! What holds for any experiment: nothing is lost or twice, nobody is faster than light, the parts make the whole, and
//! the number of partitions does not matter.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use crate::common::{Sketch, long, sketch};
use base::time::Ps;
use model::setup::{Scheduling, Until};
use packet::{Setup, simulate};
use packet::{config::Architecture, router::registry::named};
use proptest::{
    prelude::*,
    test_runner::{Config, RngAlgorithm, RngSeed, TestCaseError},
};
use results::{
    summary::{State, Summary},
    table::{Column, Table},
};

fn config(cases: u32) -> Config {
    Config {
        cases,
        rng_algorithm: RngAlgorithm::ChaCha,
        rng_seed: RngSeed::Fixed(10),
        failure_persistence: None,
        max_shrink_iters: 400,
        ..Config::default()
    }
}

fn router() -> impl Strategy<Value = Architecture> {
    prop_oneof![2 => Just(named("window")), 1 => Just(named("input-queued")), 1 => Just(named("output-queued"))]
}

fn run(setup: &Setup, partitions: u32) -> Result<(Summary, Vec<Table>), TestCaseError> {
    let mut setup = setup.clone();
    setup.scheduling = Scheduling::Sequential { partitions };
    match simulate(&setup, &mut |_| true) {
        Ok(done) => Ok((done.summary.without_performance(), done.tables)),
        Err(failure) => Err(TestCaseError::fail(format!("{failure} in {partitions} partitions"))),
    }
}

/// One answer for 1, 2 and 4 partitions.
fn run_all(setup: &Setup) -> Result<(Summary, Vec<Table>), TestCaseError> {
    let (one, tables) = run(setup, 1)?;
    for partitions in [2, 4] {
        let (many, others) = run(setup, partitions)?;
        prop_assert_eq!(&many.fingerprint, &one.fingerprint, "{} partitions", partitions);
        prop_assert_eq!(many.to_json(), one.to_json(), "{} partitions", partitions);
        prop_assert!(others == tables, "tables differ in {} partitions", partitions);
    }
    Ok((one, tables))
}

fn column<'a>(tables: &'a [Table], table: &str, column: &str) -> &'a Column {
    let table = tables.iter().find(|t| t.name() == table).expect("the table was asked for");
    table.column(column).expect("the column is there")
}

fn u64s(tables: &[Table], table: &str, name: &str) -> Vec<u64> {
    match column(tables, table, name) {
        Column::U64(v) => v.clone(),
        Column::U32(v) => v.iter().map(|&x| u64::from(x)).collect(),
        _ => panic!("{name} is no integer"),
    }
}

/// No packet that visits `hops` routers and has `bytes` can be faster.
fn least(setup: &Setup, hops: u64, bytes: u64) -> Ps {
    let time = |class: usize, bytes: u64| {
        let span = setup.links[class].bandwidth.time(bytes).expect("a short time");
        span.whole
    };
    let chunk = u64::from(setup.packet.chunk);
    let one = bytes.clamp(1, chunk);
    let chunks = bytes.div_ceil(chunk).max(1);
    let between = (0..setup.links.len()).skip(usize::from(setup.links.len() > 1));
    let hop = between.map(|c| time(c, one) + setup.links[c].latency).min().unwrap_or(0);
    let ends = 2 * (time(0, one) + setup.links[0].latency);
    ends + hops * setup.packet.router_delay
        + (hops - 1) * hop
        + (chunks - 1) * time(0, chunk).saturating_sub(1)
}

fn sane(setup: &Setup, (summary, tables): &(Summary, Vec<Table>)) -> Result<(), TestCaseError> {
    let (packets, messages) = (summary.packets.unwrap(), summary.messages.unwrap());
    prop_assert_eq!(packets.injected, packets.delivered + packets.in_flight);
    prop_assert_eq!(messages.injected, messages.delivered + messages.in_flight);
    prop_assert_ne!(summary.verdict.state, State::Deadlock);
    let [hops, bytes, latency] = ["hops", "bytes", "latency_ps"].map(|c| u64s(tables, "packets", c));
    for ((&h, &b), &l) in hops.iter().zip(&bytes).zip(&latency) {
        prop_assert!(h > 0, "a packet visited no router");
        prop_assert!(l >= least(setup, h, b), "{} B over {} routers in {} ps", b, h, l);
    }
    if let (Some(l), Some(parts)) = (&summary.latency_ps, &summary.latency_parts_ps) {
        let sum: f64 = parts.to_array().iter().sum();
        prop_assert!((sum - l.mean).abs() <= 1.0 + 1e-9 * l.mean, "{:?} against {}", parts, l.mean);
        prop_assert!(parts.to_array().iter().all(|&p| p >= 0.0), "{:?}", parts);
        prop_assert_eq!(l.min, *latency.iter().min().unwrap());
        let mean = latency.iter().sum::<u64>() as f64 / latency.len() as f64;
        prop_assert!((mean - l.mean).abs() <= 1e-6 * mean, "{} against {}", l.mean, mean);
    }
    if let Some(t) = &summary.throughput {
        // What was delivered after the warm-up may have been sent before: a buffer's worth, counted only in short runs.
        prop_assert!(setup.warmup > 0 || t.accepted_fraction <= 1.0 + 1e-9, "{}", t.accepted_fraction);
    }
    for u in column_f64(tables, "links", "utilisation") {
        prop_assert!((0.0..).contains(&u));
    }
    Ok(())
}

fn column_f64(tables: &[Table], table: &str, name: &str) -> Vec<f64> {
    match column(tables, table, name) {
        Column::F64(v) => v.clone(),
        _ => panic!("{name} is no float"),
    }
}

proptest! {
    #![proptest_config(config(if long() { 150 } else { 90 }))]

    /// Runs to the workload's end: all is delivered, exactly once.
    #[test]
    fn all_is_delivered(sketch in sketch(), router in router()) {
        let mut setup = sketch.setup(6);
        setup.packet.router = router;
        let done = run_all(&setup)?;
        let summary = &done.0;
        sane(&setup, &done)?;
        prop_assert_ne!(summary.verdict.state, State::Incomplete, "{:?} {:?} {:?} {}", summary.verdict, summary.packets, summary.messages, summary.simulated_ps);
        let (packets, messages) = (summary.packets.unwrap(), summary.messages.unwrap());
        prop_assert_eq!(packets.in_flight + messages.in_flight, 0);
        let own: u64 = setup.jobs.iter().map(|j| 6 * j.placement.len() as u64).sum();
        prop_assert!(messages.delivered >= own && (sketch.replies > 0 || messages.delivered == own));
        let bytes: u64 = u64s(&done.1, "packets", "bytes").iter().sum();
        prop_assert_eq!(bytes, summary.bytes_delivered);
        prop_assert_eq!(u64s(&done.1, "packets", "bytes").len() as u64, packets.delivered);
        once(&done.1)?;
    }

    /// Cut off at any instant, with and without warm-up.
    #[test]
    fn a_cut_run_keeps_its_books(
        sketch in sketch(),
        router in router(),
        end in 1_000u64..30_000_000,
        warm in 0u64..4,
    ) {
        let mut setup = sketch.setup(1 << 40);
        setup.packet.router = router;
        setup.until = Until::Time(end);
        setup.warmup = end / 4 * warm;
        let done = run_all(&setup)?;
        sane(&setup, &done)?;
        prop_assert_eq!(done.0.simulated_ps, end);
    }

    /// Another seed gives another run: the seed reaches traffic, routes and ties.
    #[test]
    fn another_seed_is_another_run(sketch in sketch()) {
        let other = Sketch { seed: sketch.seed ^ 1, in_phase: false, ..sketch.clone() };
        let sketch = Sketch { in_phase: false, ..sketch };
        prop_assert_ne!(
            run(&sketch.setup(4), 1)?.0.fingerprint,
            run(&other.setup(4), 1)?.0.fingerprint
        );
        prop_assert_eq!(
            run(&sketch.setup(4), 1)?.0.fingerprint,
            run(&sketch.setup(4), 2)?.0.fingerprint
        );
    }
}

/// No packet is in the table twice.
fn once(tables: &[Table]) -> Result<(), TestCaseError> {
    let [source, number] = ["source", "number"].map(|c| u64s(tables, "packets", c));
    let mut ids: Vec<(u64, u64)> = source.into_iter().zip(number).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    prop_assert_eq!(ids.len(), all);
    Ok(())
}
