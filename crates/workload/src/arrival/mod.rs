//! When an open-loop source creates its messages.

pub mod bernoulli;
pub mod constant;
pub mod on_off;
pub mod poisson;

use crate::interval::{Interval, LOAD_DENOMINATOR};
use base::{
    index::RankId,
    param::{Built, Kind, Param, Problem, Values},
    rate::Bandwidth,
    registry::{About, Registered},
    rng::{Purpose, Stream},
    time::Ps,
};
use std::sync::Arc;

/// Largest load that is accepted, as a fraction of the terminal link's bandwidth.
pub const MAX_LOAD: f64 = 10.0;

/// Times of the arrivals of every rank of a job.
pub trait Arrival: Send + Sync {
    /// Time of the `index`-th arrival (0-based) of `rank`; `previous` is that of the one before (0 for the first).
    /// A pure function; `None` beyond the end of time.
    fn time(&self, rank: RankId, index: u64, previous: Ps) -> Option<Ps>;

    /// Times of the arrivals of `rank` from the `index`-th on, as [`Arrival::time`] gives them; returns how many there are.
    fn times(&self, rank: RankId, index: u64, previous: Ps, into: &mut [Ps]) -> usize {
        let mut last = previous;
        for (n, slot) in into.iter_mut().enumerate() {
            let Some(time) = index.checked_add(n as u64).and_then(|i| self.time(rank, i, last)) else {
                return n;
            };
            (*slot, last) = (time, time);
        }
        into.len()
    }

    /// The interval between arrivals, if it never varies.
    fn period(&self) -> Option<Interval> {
        None
    }
}

/// What an arrival process is built from.
#[derive(Clone, Copy, Debug)]
pub struct ArrivalContext {
    /// Seed of the run.
    pub seed: u64,
    /// Index of the job.
    pub job: u32,
    /// Offered load as a fraction of `bandwidth`; rounded to multiples of 10^-9.
    pub load: f64,
    /// Bandwidth of the terminal link.
    pub bandwidth: Bandwidth,
    /// Bytes that `per` arrivals bring on the average.
    pub bytes: u64,
    /// Arrivals that bring `bytes`; 1 if all are alike.
    pub per: u64,
}

impl ArrivalContext {
    /// Mean time between arrivals at the load.
    ///
    /// # Errors
    /// The load is not within 10^-9 ..= [`MAX_LOAD`], an arrival brings no bytes, or the interval is below 1 ps or
    /// beyond what 64 bits hold.
    pub fn interval(&self) -> Result<Interval, Vec<Problem>> {
        self.interval_at(self.load_billionths()?)
    }

    /// Time of one arrival's bytes at full bandwidth.
    ///
    /// # Errors
    /// As for [`ArrivalContext::interval`].
    pub fn interval_at_full_load(&self) -> Result<Interval, Vec<Problem>> {
        self.interval_at(LOAD_DENOMINATOR)
    }

    fn interval_at(&self, load: u64) -> Result<Interval, Vec<Problem>> {
        if self.bytes == 0 {
            return Err(vec![
                Problem::new("message", "empty messages cannot fill a load")
                    .help("give the message a size, or use a closed-loop workload such as ping-pong"),
            ]);
        }
        let interval =
            load.checked_mul(self.per).and_then(|load| Interval::new(self.bytes, self.bandwidth, load));
        let interval = interval.ok_or_else(|| {
            vec![Problem::new("load", "the time between messages at this load does not fit 64 bits")]
        })?;
        if interval.whole() == 0 {
            return Err(vec![
                Problem::new("load", "messages would follow each other in less than a picosecond")
                    .help("lower the load or send larger messages"),
            ]);
        }
        Ok(interval)
    }

    /// The load in units of 10^-9.
    fn load_billionths(&self) -> Result<u64, Vec<Problem>> {
        let scaled = (self.load * LOAD_DENOMINATOR as f64).round();
        if scaled >= 1.0 && self.load <= MAX_LOAD {
            return Ok(scaled as u64);
        }
        Err(vec![
            Problem::new("load", format!("a load of {} is not within 0.000000001 to {MAX_LOAD}", self.load))
                .help("1.0 is the bandwidth of the terminal link"),
        ])
    }
}

/// The random stream of a rank of a job, placed so that every index has its own draws.
///
/// Unbiased draws may reject; the chance that one needs more than [`DRAWS`] is below 2^-120.
#[inline]
pub(crate) fn stream(seed: u64, purpose: Purpose, job: u32, rank: RankId, index: u64) -> Stream {
    place(Stream::new(seed, purpose, 0), job, rank, index)
}

/// The same with the stream of the seed and the purpose at hand.
#[inline]
pub(crate) fn place(stream: Stream, job: u32, rank: RankId, index: u64) -> Stream {
    stream.owned_by(u64::from(job) << 32 | u64::from(rank)).at(index.wrapping_mul(DRAWS))
}

/// The positions of so many draws from `index` on in the stream of [`place`].
#[inline]
pub(crate) fn places<const N: usize>(index: u64) -> [u64; N] {
    std::array::from_fn(|i| index.wrapping_add(i as u64).wrapping_mul(DRAWS))
}

/// Random draws that every index of a stream reserves.
const DRAWS: u64 = 4;

/// Length of a slot, for processes in discrete time.
pub(crate) const SLOT: Param = Param {
    name: "slot",
    kind: Kind::Bytes,
    default: Some("0 B"),
    doc: "bytes that fill a slot at full bandwidth, such as those of a flit; 0 B: a whole message",
};

/// Discrete time: its slots, and how many of them hold a message.
pub(crate) struct Slots {
    /// Length of one.
    pub length: Interval,
    /// Chance that one holds a message, at most 1.
    pub filled: f64,
}

impl Slots {
    /// Slots of the length that [`SLOT`] says, a message long if it says nothing.
    ///
    /// # Errors
    /// More than one message per slot, or slots that are too short to tell apart.
    pub fn new(context: &ArrivalContext, values: &Values) -> Built<Self> {
        context.interval()?;
        let bytes = if values.0.contains_key(SLOT.name) { values.int(SLOT.name) } else { 0 };
        let (length, share, key) = if bytes == 0 {
            (context.interval_at_full_load()?, 1.0, "message")
        } else {
            let own = ArrivalContext { bytes, per: 1, ..*context };
            (
                own.interval_at_full_load()?,
                bytes as f64 * context.per as f64 / context.bytes as f64,
                SLOT.name,
            )
        };
        let filled = context.load * share;
        if filled > 1.0 {
            return Err(vec![
                Problem::new("load", format!("a load of {} exceeds one message per slot", context.load)).help(
                    format!(
                        "it offers at most {}; shorten `slot`, or use `arrival = \"poisson\"` or \"constant\"",
                        1.0 / share
                    ),
                ),
            ]);
        }
        if length.whole() < 2 {
            return Err(vec![Problem::new(key, "a slot takes less than 2 ps on the terminal link")]);
        }
        Ok(Self { length, filled })
    }
}

/// An arrival process that a job can name.
pub struct ArrivalEntry {
    /// Name, documentation, parameters.
    pub about: About,
    /// Builds it from checked parameters.
    pub build: fn(&ArrivalContext, &Values) -> Built<Arc<dyn Arrival>>,
}

impl Registered for ArrivalEntry {
    fn about(&self) -> &About {
        &self.about
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::ARRIVALS;
    use base::param::Values;

    fn context(load: f64, bytes: u64) -> ArrivalContext {
        ArrivalContext {
            seed: 1,
            job: 0,
            load,
            bandwidth: Bandwidth::new(2 << 30, 1).unwrap(),
            bytes,
            per: 1,
        }
    }

    #[test]
    fn impossible_loads_are_refused_by_every_process() {
        for entry in ARRIVALS {
            let key =
                |c: &ArrivalContext| (entry.build)(c, &Values::default()).err().map(|p| p[0].key.clone());
            for load in [0.0, -0.5, 1e-10, 10.1, f64::NAN, f64::INFINITY] {
                assert_eq!(key(&context(load, 1024)).as_deref(), Some("load"), "{} {load}", entry.about.name);
            }
            assert_eq!(key(&context(0.5, 0)).as_deref(), Some("message"), "{}", entry.about.name);
            assert_eq!(key(&context(0.5, u64::MAX)).as_deref(), Some("load"), "{}", entry.about.name);
            assert_eq!(key(&context(0.5, 64)), None, "{}", entry.about.name);
        }
    }

    #[test]
    fn a_subpicosecond_interval_is_refused() {
        let c = ArrivalContext { bandwidth: Bandwidth::new(1 << 50, 1).unwrap(), ..context(1.0, 1) };
        assert!(c.interval().is_err());
    }

    /// Every process offers the load that was asked for, and its times never decrease.
    #[test]
    fn the_mean_rate_is_the_load() {
        for entry in ARRIVALS {
            // Half of the slots are off by default.
            let most = if entry.about.name == "on-off" { 0.5 } else { 1.0 };
            for load in [0.01, 0.3, most] {
                let arrival = (entry.build)(&context(load, 1024), &Values::default()).unwrap();
                let (count, mut last) = (100_000u64, 0);
                for k in 0..count {
                    let t = arrival.time(RankId::new(5), k, last).unwrap();
                    assert!(t >= last);
                    last = t;
                }
                // Standard error of the mean of 10^5 gaps is at most 0.32 %; the bound is four of them. Bursts of 100 slots: 2 %.
                let bound = if entry.about.name == "on-off" { 0.08 } else { 0.013 };
                let measured = count as f64 * 476_837.158 / last as f64;
                assert!((measured / load - 1.0).abs() < bound, "{} {load}: {measured}", entry.about.name);
            }
        }
    }
}
