//! Bernoulli arrival: time is cut into slots; each holds a message with the same probability.
//!
//! One draw per message gives the number of slots to the next one (geometric), so empty slots cost nothing.

use super::{Arrival, ArrivalContext, SLOT, Slots, stream};
use base::{
    index::RankId,
    param::{Problem, Values},
    registry::About,
    rng::Purpose,
    time::Ps,
};
use std::sync::Arc;

pub(crate) const ABOUT: About = About {
    name: "bernoulli",
    summary: "each slot of time holds a message with the same probability",
    doc: "Time is cut into slots, the same on all ranks, the first at time 0. Independently, each slot holds a message, created at its \
          start. A slot is as long as one message takes at the terminal link's full bandwidth, and the probability is the load: messages of \
          all ranks begin in phase. With `slot` it is as long as so many bytes take, and the probability is smaller in that measure: with the bytes of a flit \
          a slot is a cycle, as in BookSim, and messages of several flits begin at any cycle. The probability cannot exceed 1.",
    source: "Dally & Towles, Principles and Practices of Interconnection Networks, section 24.2; BookSim 2, injection.cpp (bernoulli)",
    params: &[SLOT],
};

struct Bernoulli {
    slots: Slots,
    /// Logarithm of the chance that a slot is empty; minus infinity at full load.
    log_empty: f64,
    seed: u64,
    job: u32,
}

impl Arrival for Bernoulli {
    fn time(&self, rank: RankId, index: u64, previous: Ps) -> Option<Ps> {
        let u = stream(self.seed, Purpose::Arrival, self.job, rank, index).unit_open();
        // P(empty slots >= k) = P(u <= (1 - load)^k); the cast saturates.
        let empty = (libm::log(u) / self.log_empty) as u64;
        let first = if index == 0 { 0 } else { self.slots.length.index_of(previous) + 1 };
        self.slots.length.times(first.checked_add(empty)?)
    }
}

pub(crate) fn build(context: &ArrivalContext, values: &Values) -> Result<Arc<dyn Arrival>, Vec<Problem>> {
    let slots = Slots::new(context, values)?;
    let log_empty = libm::log1p(-slots.filled);
    Ok(Arc::new(Bernoulli { slots, log_empty, seed: context.seed, job: context.job }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::Interval;
    use base::{param::Value, rate::Bandwidth};

    fn arrival(load: f64, slot: u64) -> Arc<dyn Arrival> {
        let bandwidth = Bandwidth::new(2 << 30, 1).unwrap();
        let values = Values::default().with("slot", Value::Int(slot));
        build(&ArrivalContext { seed: 9, job: 2, load, bandwidth, bytes: 1024, per: 1 }, &values).unwrap()
    }

    #[test]
    fn full_load_fills_every_slot() {
        let (a, mut last) = (arrival(1.0, 0), 0);
        for k in 0..10_000u64 {
            last = a.time(RankId::new(3), k, last).unwrap();
            assert_eq!(last, (k * 244_140_625 + 256) / 512);
        }
    }

    /// Gaps are whole slots and geometric: chi-square over gaps 1..=9 and the tail, 9 degrees of freedom. A slot of a quarter of
    /// a message is filled a quarter as often.
    #[test]
    fn gaps_are_geometric() {
        for (load, bytes) in [(0.3, 1024), (1.2, 256)] {
            let (a, p, n) = (arrival(load, if bytes == 1024 { 0 } else { bytes }), 0.3, 100_000u64);
            let slot = Interval::new(bytes, Bandwidth::new(2 << 30, 1).unwrap(), 1_000_000_000).unwrap();
            let (mut counts, mut last, mut last_slot) = ([0u64; 10], 0, None);
            for k in 0..n {
                last = a.time(RankId::new(0), k, last).unwrap();
                let s = slot.index_of(last);
                assert_eq!(slot.times(s), Some(last), "an arrival between slots");
                let gap = last_slot.map_or(s + 1, |l| s - l);
                assert!(gap >= 1);
                counts[(gap as usize - 1).min(9)] += 1;
                last_slot = Some(s);
            }
            let expected = (0..10).map(|i| {
                let tail = f64::powi(1.0 - p, i);
                n as f64 * if i < 9 { p * tail } else { tail }
            });
            let chi: f64 = counts.iter().zip(expected).map(|(&c, e)| (c as f64 - e).powi(2) / e).sum();
            assert!(chi < 27.9, "{chi}: chance below 0.1 %");
        }
    }

    #[test]
    fn more_than_one_message_per_slot_is_refused() {
        let bandwidth = Bandwidth::new(2 << 30, 1).unwrap();
        let c = ArrivalContext { seed: 9, job: 2, load: 1.01, bandwidth, bytes: 1024, per: 1 };
        assert_eq!(build(&c, &Values::default()).err().unwrap()[0].key, "load");
    }
}
