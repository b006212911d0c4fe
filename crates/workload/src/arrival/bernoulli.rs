//! Bernoulli arrival: time is cut into slots of one message at full bandwidth; each holds a message with
//! probability `load`.
//!
//! One draw per message gives the number of slots to the next one (geometric), so empty slots cost nothing.

use super::{Arrival, ArrivalContext, stream};
use crate::interval::Interval;
use base::{
    param::{Problem, Values},
    registry::About,
    rng::Purpose,
    time::Ps,
};
use std::sync::Arc;

pub(crate) const ABOUT: About = About {
    name: "bernoulli",
    summary: "each message slot is filled with probability `load`",
    doc: "Time is cut into slots as long as one message takes at the terminal link's full bandwidth, the same on all \
          ranks, the first at time 0. Independently, each slot holds a message with probability `load`, created at the \
          slot's start. The load cannot exceed 1.",
    source: "Dally & Towles, Principles and Practices of Interconnection Networks, section 24.2",
    params: &[],
};

struct Bernoulli {
    slot: Interval,
    /// Logarithm of the chance that a slot is empty; minus infinity at full load.
    log_empty: f64,
    seed: u64,
    job: u32,
}

impl Arrival for Bernoulli {
    fn time(&self, rank: u32, index: u64, previous: Ps) -> Option<Ps> {
        let u = stream(self.seed, Purpose::Arrival, self.job, rank, index).unit_open();
        // P(empty slots >= k) = P(u <= (1 - load)^k); the cast saturates.
        let empty = (libm::log(u) / self.log_empty) as u64;
        let first = if index == 0 { 0 } else { self.slot.index_of(previous) + 1 };
        self.slot.times(first.checked_add(empty)?)
    }
}

pub(crate) fn build(context: &ArrivalContext, _: &Values) -> Result<Arc<dyn Arrival>, Vec<Problem>> {
    context.interval()?;
    if context.load > 1.0 {
        return Err(vec![
            Problem::new("load", format!("a load of {} exceeds one message per slot", context.load))
                .help("Bernoulli arrival offers at most 1.0; use `arrival = \"poisson\"` or \"constant\""),
        ]);
    }
    let slot = context.interval_at_full_load()?;
    if slot.whole() < 2 {
        return Err(vec![Problem::new("message", "a message takes less than 2 ps on the terminal link")]);
    }
    let log_empty = libm::log1p(-context.load);
    Ok(Arc::new(Bernoulli { slot, log_empty, seed: context.seed, job: context.job }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::rate::Bandwidth;

    fn arrival(load: f64) -> Arc<dyn Arrival> {
        let bandwidth = Bandwidth::new(2 << 30, 1).unwrap();
        build(&ArrivalContext { seed: 9, job: 2, load, bandwidth, bytes: 1024 }, &Values::default()).unwrap()
    }

    #[test]
    fn full_load_fills_every_slot() {
        let (a, mut last) = (arrival(1.0), 0);
        for k in 0..10_000u64 {
            last = a.time(3, k, last).unwrap();
            assert_eq!(last, (k * 244_140_625 + 256) / 512);
        }
    }

    /// Gaps are whole slots and geometric: chi-square over gaps 1..=9 and the tail, 9 degrees of freedom.
    #[test]
    fn gaps_are_geometric() {
        let (a, p, n) = (arrival(0.3), 0.3, 100_000u64);
        let slot = Interval::new(1024, Bandwidth::new(2 << 30, 1).unwrap(), 1_000_000_000).unwrap();
        let (mut counts, mut last, mut last_slot) = ([0u64; 10], 0, None);
        for k in 0..n {
            last = a.time(0, k, last).unwrap();
            let s = slot.index_of(last);
            assert_eq!(slot.times(s), Some(last), "an arrival between slots");
            let gap = last_slot.map_or(s + 1, |l| s - l);
            assert!(gap >= 1);
            counts[(gap as usize - 1).min(9)] += 1;
            last_slot = Some(s);
        }
        let expected = (0..10).map(|i| {
            let tail = 0.7f64.powi(i);
            n as f64 * if i < 9 { p * tail } else { tail }
        });
        let chi: f64 = counts.iter().zip(expected).map(|(&c, e)| (c as f64 - e).powi(2) / e).sum();
        assert!(chi < 27.9, "{chi}: chance below 0.1 %");
    }

    #[test]
    fn more_than_one_message_per_slot_is_refused() {
        let bandwidth = Bandwidth::new(2 << 30, 1).unwrap();
        let c = ArrivalContext { seed: 9, job: 2, load: 1.01, bandwidth, bytes: 1024 };
        assert_eq!(build(&c, &Values::default()).err().unwrap()[0].key, "load");
    }
}
