//! Shared by the tests: contexts, default parameters, and the laws that every registered workload obeys.

use crate::{
    registry::{ARRIVALS, ArrivalChoice, JobContext, Shape, Takes, WORKLOADS, WorkloadEntry},
    traffic::Message,
};
use base::{
    index::RankId,
    param::{Value, Values},
    rate::Bandwidth,
    registry::{About, find},
};
use proptest::prelude::*;

/// A job of 1024-byte messages at full load of 2 GiB/s, constant arrival.
pub(crate) fn context(ranks: u32) -> JobContext {
    context_with(ranks, "constant", 1.0)
}

fn context_with(ranks: u32, arrival: &str, load: f64) -> JobContext {
    let choice = ArrivalChoice {
        entry: find(ARRIVALS, arrival).unwrap(),
        values: Values::default(),
        load,
        bandwidth: Bandwidth::new(2 << 30, 1).unwrap(),
    };
    let part = (1..=ranks / 2).rev().find(|part| ranks.is_multiple_of(*part));
    JobContext {
        shape: Shape { group: part, leaf: part },
        ranks,
        asked: false,
        seed: 1,
        job: 0,
        message: 1024,
        arrival: Some(choice),
        lowering: Default::default(),
        names: Default::default(),
    }
}

/// The declared defaults, as the experiment reader would hand them over.
pub(crate) fn defaults(about: &About) -> Values {
    Values::complete(about.params, |_| None)
}

/// Pearson's statistic of counts against weights; a weight of zero allows no count.
pub(crate) fn chi_square(counts: &[u64], weights: &[f64]) -> f64 {
    let scale = counts.iter().sum::<u64>() as f64 / weights.iter().sum::<f64>();
    let term = |(&c, &w): (&u64, &f64)| {
        if w > 0.0 {
            (c as f64 - w * scale).powi(2) / (w * scale)
        } else if c == 0 {
            0.0
        } else {
            f64::INFINITY
        }
    };
    counts.iter().zip(weights).map(term).sum()
}

/// The workloads that are traffic.
fn patterns() -> impl Iterator<Item = &'static WorkloadEntry> {
    // Those that read a file have tests of their own.
    let alone = |e: &&WorkloadEntry| e.about.params.iter().all(|p| p.default.is_some());
    WORKLOADS.iter().filter(|e| e.takes.arrivals() || e.takes == Takes::Message).filter(alone)
}

#[test]
fn one_rank_is_refused_by_every_pattern() {
    for entry in patterns() {
        for ranks in [0, 1] {
            let refused = (entry.build)(&context(ranks), &defaults(&entry.about)).err().unwrap();
            assert_eq!(refused[0].key, "ranks", "{}", entry.about.name);
        }
    }
}

#[test]
fn open_loop_workloads_need_a_load_and_say_what_they_offer() {
    for entry in patterns() {
        let open = entry.takes.arrivals();
        let bare = JobContext { arrival: None, ..context(4) };
        let built = (entry.build)(&bare, &defaults(&entry.about));
        // Patterns with levels can do without a load: static congestion has no time.
        let levels = built.as_ref().is_ok_and(|w| w.traffic().is_some_and(|t| t.levels().is_some()));
        assert_eq!(built.is_err(), open && !levels, "{}", entry.about.name);
        let half = (entry.build)(&context_with(4, "poisson", 0.5), &defaults(&entry.about));
        let half = half.unwrap().into_traffic().unwrap();
        let offered = half.offered_bytes_per_s();
        let senders =
            RankId::first(4).filter(|&rank| half.message(rank, 0, 0).is_some()).count() as f64 / 4.0;
        assert!(levels || !open || senders > 0.0, "{}", entry.about.name);
        // Its load counts once what three others get.
        let copies = if entry.about.name == "multicast" { 3.0 } else { 1.0 };
        assert_eq!(offered, open.then_some(f64::from(1 << 30) * senders * copies), "{}", entry.about.name);
        assert_eq!(half.closed_loop(), !open);
        let empty = (entry.build)(&JobContext { message: 0, ..context(4) }, &defaults(&entry.about));
        assert_eq!(empty.is_err(), open, "{}", entry.about.name);
    }
}

#[test]
fn a_count_ends_a_pattern() {
    for entry in patterns().filter(|e| e.takes.arrivals() && e.about.params.iter().any(|p| p.name == "count"))
    {
        let values = defaults(&entry.about).with("count", Value::Int(3));
        let traffic = (entry.build)(&context(16), &values).unwrap().into_traffic().unwrap();
        let sender = RankId::first(16).find(|&rank| traffic.message(rank, 0, 0).is_some()).unwrap();
        assert!(traffic.message(sender, 2, 0).is_some(), "{}", entry.about.name);
        assert!(traffic.message(sender, 3, 0).is_none(), "{}", entry.about.name);
        for fit in [1, 4, 20] {
            let left = traffic.messages(sender, 2, 0, &mut vec![Message::default(); fit]);
            assert_eq!(left, 1, "{}", entry.about.name);
        }
    }
}

proptest! {
    /// Destinations are other ranks of the job, times never decrease, and asking again, in any order, gives the same. What says that it is silent is.
    #[test]
    fn every_workload_is_lawful(
        ranks in 2u32..200, pick: u32, seed: u64, job in 0u32..4, arrival in 0..ARRIVALS.len(), load in 0.01f64..1.0,
    ) {
        let rank = RankId::new(pick % ranks);
        let process = ARRIVALS[arrival].about.name;
        // Bursts reach half of the bandwidth by default.
        let load = if process == "on-off" { load / 2.0 } else { load };
        let context = JobContext { seed, job, ..context_with(ranks, process, load) };
        for entry in patterns() {
            let build = || (entry.build)(&context, &defaults(&entry.about));
            let traffic = match build() {
                Ok(work) => work.into_traffic().unwrap(),
                // Not every pattern exists for every number of ranks.
                Err(refused) => {
                    prop_assert_eq!(&refused[0].key, "ranks", "{}", entry.about.name);
                    continue;
                }
            };
            let (mut messages, mut previous) = (Vec::new(), 0);
            for index in 0..300 {
                let Some(m) = traffic.message(rank, index, previous) else { break };
                prop_assert!(m.destination != rank && m.destination.number() < ranks, "{} {m:?}", entry.about.name);
                prop_assert!(m.time >= previous);
                messages.push((index, previous, m));
                previous = m.time;
            }
            for (from, fit) in [(0, messages.len()), (7, 1), (13, 2), (100, 13), (2, 8), (55, 64)] {
                let (from, end) = (from.min(messages.len()), (from + fit).min(messages.len()));
                let mut together = vec![Message::default(); end - from];
                let (index, previous) = messages.get(from).map_or((0, 0), |m| (m.0, m.1));
                prop_assert_eq!(traffic.messages(rank, index, previous, &mut together), together.len());
                prop_assert!(together.iter().eq(messages[from..end].iter().map(|m| &m.2)), "{}", entry.about.name);
            }
            let again = build().unwrap().into_traffic().unwrap();
            for &(index, previous, m) in messages.iter().rev() {
                prop_assert_eq!(again.message(rank, index, previous), Some(m));
            }
        }
    }
}
