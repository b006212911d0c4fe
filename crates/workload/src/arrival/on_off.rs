//! On/off arrival: a two-state Markov chain per rank; slots of the state "on" hold messages.
//!
//! A message is only created in the state on, so the time to the next one does not depend on the past: each is drawn by itself.

use super::{Arrival, ArrivalContext, SLOT, Slots};
use base::{
    hash::mix64,
    index::RankId,
    param::{Kind, Param, Problem, Values},
    registry::About,
    rng::{Purpose, Stream},
    time::Ps,
};
use std::sync::Arc;

pub(crate) const ABOUT: About = About {
    name: "on-off",
    summary: "bursts: a rank is on or off, and sends while it is on",
    doc: "Time is cut into slots as in `bernoulli`. In every slot a rank that is off goes on with chance `alpha`, one that is on goes off \
          with chance `beta`; then, if it is on, the slot holds a message with chance r, so that the mean is the load: r = load * slot / message * (1 + beta / \
          alpha). A burst takes 1 / beta slots and a pause 1 / alpha, on the average. A load that needs r above 1 is refused. Ranks begin in the \
          chain's steady state (BookSim's draw on or off by halves, whatever alpha and beta).",
    source: "BookSim 2, injection.cpp (on_off); Dally & Towles, Principles and Practices of Interconnection Networks, section 24.2 (MMP)",
    params: &[
        Param {
            name: "alpha",
            kind: Kind::Real { min: 1e-9, max: 1.0 },
            default: Some("0.01"),
            doc: "chance per slot that a rank goes on",
        },
        Param {
            name: "beta",
            kind: Kind::Real { min: 0.0, max: 1.0 },
            default: Some("0.01"),
            doc: "chance per slot that a rank goes off",
        },
        SLOT,
    ],
};

/// Draws that a burst takes, with the pause before it.
const DRAWS_OF_BURST: f64 = 4.0;
/// Most draws for a message in the mean: a hundredth of a second.
const MOST_DRAWS: f64 = 1_048_576.0;

struct OnOff {
    slots: Slots,
    alpha: f64,
    beta: f64,
    /// Chance of a message in a slot that is on.
    rate: f64,
    seed: u64,
    job: u32,
}

/// Slots that are left before an event of this chance per slot: 0 if it is in the next. The cast saturates.
fn slots_before(u: f64, chance: f64) -> u64 {
    (libm::log(u) / libm::log1p(-chance)) as u64
}

impl OnOff {
    /// Chance that a burst brings a message: in its first slot, or in another before it ends.
    fn chance_of_burst(&self) -> f64 {
        let ends = 1.0 - (1.0 - self.beta) * (1.0 - self.rate);
        let later = if ends > self.beta { 1.0 - self.beta / ends } else { 0.0 };
        self.rate + (1.0 - self.rate) * later
    }

    /// Slots from one in state `on` to the next message, at least 1; `None` beyond all time.
    fn gap(&self, mut on: bool, mut draw: Stream) -> Option<u64> {
        // What ends a run of slots that are on and empty: leaving, or a message.
        let ends = 1.0 - (1.0 - self.beta) * (1.0 - self.rate);
        let mut gap = 0u64;
        loop {
            if on {
                gap = gap.checked_add(slots_before(draw.unit_open(), ends))?.checked_add(1)?;
                if draw.unit_open() * ends > self.beta {
                    return Some(gap);
                }
                on = false;
            } else {
                gap = gap.checked_add(slots_before(draw.unit_open(), self.alpha))?.checked_add(1)?;
                on = true;
                if draw.unit_open() <= self.rate {
                    return Some(gap);
                }
            }
        }
    }
}

impl Arrival for OnOff {
    fn time(&self, rank: RankId, index: u64, previous: Ps) -> Option<Ps> {
        // A stream for each message: nobody knows how many draws it takes.
        let own = mix64(u64::from(self.job) << 32 | u64::from(rank)).wrapping_add(mix64(index));
        let mut draw = Stream::new(self.seed, Purpose::Arrival, own);
        if index == 0 {
            let on = draw.unit_open() * (self.alpha + self.beta) <= self.alpha;
            return self.slots.length.times(self.gap(on, draw)? - 1);
        }
        self.slots.length.times(self.slots.length.index_of(previous).checked_add(self.gap(true, draw)?)?)
    }
}

pub(crate) fn build(context: &ArrivalContext, values: &Values) -> Result<Arc<dyn Arrival>, Vec<Problem>> {
    let slots = Slots::new(context, values)?;
    let real = |key: &str, default| if values.0.contains_key(key) { values.real(key) } else { default };
    let (alpha, beta) = (real("alpha", 0.01), real("beta", 0.01));
    let rate = slots.filled * (1.0 + beta / alpha);
    if rate > 1.0 + 1e-12 {
        let most = alpha / (alpha + beta) * context.load / slots.filled;
        let message = format!("a load of {} needs more than one message per slot that is on", context.load);
        let help = format!("at most {most:.6}; lower `beta`, raise `alpha`, or shorten `slot`");
        return Err(vec![Problem::new("load", message).help(help)]);
    }
    let made = OnOff { slots, alpha, beta, rate: rate.min(1.0), seed: context.seed, job: context.job };
    let draws = DRAWS_OF_BURST / made.chance_of_burst();
    if draws > MOST_DRAWS {
        let message = format!(
            "a load of {} leaves most bursts empty: {draws:.3e} draws for each message, at most {MOST_DRAWS}",
            context.load
        );
        let help = "raise the load, make `slot` longer or `beta` smaller; `poisson` takes any load";
        return Err(vec![Problem::new("load", message).help(help)]);
    }
    Ok(Arc::new(made))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{param::Value, rate::Bandwidth};

    fn context(load: f64) -> ArrivalContext {
        ArrivalContext {
            seed: 7,
            job: 1,
            load,
            bandwidth: Bandwidth::new(1 << 30, 1).unwrap(),
            bytes: 1024,
            per: 1,
        }
    }

    fn values(alpha: f64, beta: f64) -> Values {
        Values::default()
            .with("alpha", Value::Real(alpha))
            .with("beta", Value::Real(beta))
            .with("slot", Value::Int(64))
    }

    /// The chain step by step, once per slot: mean gap and the shares of gaps of 1, 2 and 3 slots.
    #[test]
    fn gaps_are_those_of_the_chain() {
        let (alpha, beta, load) = (0.2, 0.3, 3.2);
        let rate = load / 16.0 * (1.0 + beta / alpha);
        // P(gap = k) from on: a vector of (on, off) without a message so far.
        let (mut on, mut off, mut shares) = (1.0, 0.0, Vec::new());
        for _ in 0..3 {
            let reached = on * (1.0 - beta) + off * alpha;
            (on, off) = (reached * (1.0 - rate), on * beta + off * (1.0 - alpha));
            shares.push(reached * rate);
        }
        let arrival = build(&context(load), &values(alpha, beta)).unwrap();
        let slot =
            crate::interval::Interval::new(64, Bandwidth::new(1 << 30, 1).unwrap(), 1_000_000_000).unwrap();
        let (n, mut last, mut before, mut counts) = (200_000u64, 0, None::<u64>, [0u64; 4]);
        for k in 0..n {
            last = arrival.time(RankId::new(5), k, last).unwrap();
            let at = slot.index_of(last);
            if let Some(before) = before {
                counts[(at - before - 1).min(3) as usize] += 1;
            }
            before = Some(at);
        }
        shares.push(1.0 - shares.iter().sum::<f64>());
        // Three degrees of freedom, chance below 0.1 %.
        assert!(crate::testing::chi_square(&counts, &shares) < 16.3, "{counts:?} {shares:?}");
        let mean = before.unwrap() as f64 / n as f64;
        assert!((mean / (16.0 / load) - 1.0).abs() < 0.02, "{mean}");
    }

    #[test]
    fn always_on_is_bernoulli_and_too_much_is_refused() {
        let full = build(&context(16.0 / 2.0), &values(0.5, 0.0)).unwrap();
        assert!(full.time(RankId::new(0), 0, 0).is_some());
        assert_eq!(build(&context(9.0), &values(0.1, 0.1)).err().unwrap()[0].key, "load");
    }

    /// Bursts without a message are drawn one by one, so that a message must not take millions of them.
    #[test]
    fn loads_that_leave_nearly_all_bursts_empty_are_refused() {
        // At a rate of 2 load / 16 a burst of one slot brings a message.
        let at = |load| build(&context(load), &values(1.0, 1.0)).err().map(|p| p[0].message.clone());
        assert!(at(4e-5).is_none());
        let refused = at(2e-5).unwrap();
        assert!(refused.contains("draws for each message, at most 1048576"), "{refused}");
        // A burst that never ends brings its message, until the chance is too small to be told from none.
        let long = ArrivalContext { bytes: 1 << 60, ..context(1e-9) };
        assert!(build(&context(1e-9), &values(0.5, 0.0)).is_ok());
        assert_eq!(build(&long, &values(0.5, 0.0)).err().unwrap()[0].key, "load");
    }
}
