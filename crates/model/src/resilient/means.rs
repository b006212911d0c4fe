//! The mean delay of a message by hops and size, for models that give every message its mean (HAEC-SIM, section 5.2).
//!
//! A message of W windows takes `d_mpi` + (W - 1) G + L: G is the mean time of a full window until the next one may start, L that of the
//! last window until its packets are there. Both are means of samples for each number of hops, kept as integers over a common
//! denominator; the sum is rounded once.

use super::{
    monte_carlo::{Point, sample},
    parameters::{Parameters, Tick},
    path::Path,
};
use base::{hash::mix64, time::Ps};

/// Means of windows over one number of hops, as sums over all samples in ticks, without injection.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Hop {
    /// Full window, until it is acknowledged.
    gate: u128,
    /// Window of 1, 2, .. packets, until they are there.
    there: Vec<u128>,
}

/// Mean delays by hops and size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Means {
    payload: u64,
    window: u64,
    scale: u64,
    injection: Tick,
    samples: u64,
    hops: Vec<Option<Hop>>,
}

impl Means {
    /// Samples windows for the hops that are asked for.
    ///
    /// # Errors
    /// Parameters that do not go together, or a path on which next to nothing is delivered.
    pub fn sampled(
        parameters: &Parameters,
        hops: impl IntoIterator<Item = u32>,
        samples: u64,
        seed: u64,
        threads: usize,
    ) -> Result<Self, String> {
        let delays = parameters.delays()?;
        let payload = parameters.payload().ok_or("a packet has no room for a payload")?;
        // Links that lose nothing need no second sample, unless combinations may be worthless.
        let exact = parameters.loss == 0.0 && parameters.tamper == 0.0 && !parameters.protocol.codes();
        let samples = if exact { 1 } else { samples };
        let mut all = Self {
            payload,
            window: parameters.window.into(),
            scale: delays.scale,
            injection: delays.injection,
            samples,
            hops: Vec::new(),
        };
        for h in hops {
            let at = h as usize;
            if all.hops.len() <= at {
                all.hops.resize(at + 1, None);
            }
            if h == 0 || all.hops[at].is_some() {
                continue;
            }
            let path = Path::uniform(h, parameters.loss, parameters.tamper)?;
            let mut hop = Hop { gate: 0, there: Vec::new() };
            for packets in 1..=u64::from(parameters.window) {
                let seed = mix64(seed ^ mix64(u64::from(h) << 32 | packets));
                let point = Point { parameters, path: &path, packets, seed };
                let sums = sample(&point, samples, threads)?;
                let injected = u128::from(delays.injection) * u128::from(samples);
                hop.there.push(sums.time.sum - injected);
                hop.gate = sums.acknowledged.sum - injected;
            }
            all.hops[at] = Some(hop);
        }
        Ok(all)
    }

    /// True if messages over so many hops are known.
    #[must_use]
    pub fn knows(&self, hops: u32) -> bool {
        hops == 0 || self.hops.get(hops as usize).is_some_and(Option::is_some)
    }

    /// Mean delay of a message; over 0 hops the injection alone.
    ///
    /// # Panics
    /// If the number of hops was not sampled: nothing is extrapolated.
    #[inline]
    #[must_use]
    pub fn delay(&self, hops: u32, bytes: u64) -> Ps {
        let injection = u128::from(self.injection) * u128::from(self.samples);
        let ticks = if hops == 0 {
            injection
        } else {
            let hop = self.hops[hops as usize].as_ref().expect("all numbers of hops that occur are sampled");
            let packets = bytes.div_ceil(self.payload).max(1);
            let (full, last) = ((packets - 1) / self.window, (packets - 1) % self.window);
            injection + u128::from(full) * hop.gate + hop.there[last as usize]
        };
        let unit = u128::from(self.samples) * u128::from(self.scale);
        ((ticks + unit / 2) / unit) as Ps
    }

    /// The shortest delay there is.
    #[must_use]
    pub fn least(&self) -> Ps {
        self.delay(0, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resilient::parameters::Protocol;

    #[test]
    fn lossless_means_are_exact() {
        let p = Parameters { loss: 0.0, ..Parameters::table2(Protocol::Dor) };
        let means = Means::sampled(&p, [1, 6, 9], 100, 1, 1).unwrap();
        assert_eq!(means.delay(0, 1 << 30), 500_000);
        assert_eq!(means.delay(1, 3264), 5_820_000);
        assert_eq!(means.delay(1, 204_800), 281_513_500);
        assert!(means.knows(6) && !means.knows(5) && !means.knows(10));
    }

    /// Windows are independent, so the mean of a message is made of theirs.
    #[test]
    fn windows_add_up_to_messages() {
        for protocol in Protocol::PAPER {
            let p = Parameters::table2(protocol);
            let means = Means::sampled(&p, [4], 40_000, 1, 2).unwrap();
            let path = Path::uniform(4, p.loss, 0.0).unwrap();
            let point = Point { parameters: &p, path: &path, packets: 13, seed: 9 };
            let whole = sample(&point, 40_000, 2).unwrap().time;
            let scale = p.delays().unwrap().scale as f64;
            let (mean, error) = (whole.mean() / scale, whole.standard_error() / scale);
            let ours = means.delay(4, 13 * p.payload().unwrap()) as f64;
            assert!((mean - ours).abs() < 5.0 * error, "{protocol:?}: {mean} +- {error}, {ours}");
        }
    }
}
