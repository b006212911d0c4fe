//! The mean delay of a message by hops and size, for models that give every message its mean (HAEC-SIM, section 5.2).
//!
//! A message of W windows takes `d_mpi` + (W - 1) G + L: G is the mean time of a full window until the next one may start, L that of the
//! last window until its packets are there. Both are kept as integers over a common denominator; the sum is rounded once. A number of hops
//! is sampled when it is first asked for, with a stream of its own, so the order of asking changes nothing and nothing is extrapolated.

use super::{
    fits::{Fits, PARTS},
    hop::Hop,
    monte_carlo::{Point, sample},
    parameters::{Delays, Parameters},
    path::Path,
};
use base::{hash::mix64, time::Ps};
use std::sync::OnceLock;

/// Messages of at most so many packets have their delay in a table.
const SMALL: u64 = 64;

/// Mean delays by hops and size.
#[derive(Debug)]
pub struct Means {
    parameters: Parameters,
    delays: Delays,
    payload: u64,
    samples: u64,
    seed: u64,
    /// Paths by index, if they are not those of so many like links.
    paths: Vec<Path>,
    /// By number of hops (index of the path), from 0: means, and the delays of small messages by packets.
    hops: Vec<OnceLock<(Hop, Vec<Ps>)>>,
}

impl Means {
    /// Means of messages over at most `most` hops, each of `samples` samples.
    ///
    /// # Errors
    /// Parameters that do not go together, or a path on which next to nothing is delivered.
    pub fn new(parameters: &Parameters, most: u32, samples: u64, seed: u64) -> Result<Self, String> {
        let delays = parameters.delays()?;
        let payload = parameters.payload().ok_or("a packet has no room for a payload")?;
        Path::uniform(most.max(1), parameters.loss, parameters.tamper)?;
        // Links that lose nothing need no second sample, unless combinations may be worthless.
        let exact = parameters.loss == 0.0 && parameters.tamper == 0.0 && !parameters.protocol.codes();
        let samples = if exact { 1 } else { samples.max(1) };
        let hops = (0..=most).map(|_| OnceLock::new()).collect();
        Ok(Self { parameters: *parameters, delays, payload, samples, seed, paths: Vec::new(), hops })
    }

    /// Means of messages over these paths, named by their index from 1; index 0 stands for no link.
    ///
    /// # Errors
    /// Parameters that do not go together.
    pub fn over(parameters: &Parameters, paths: Vec<Path>, samples: u64, seed: u64) -> Result<Self, String> {
        let lossless = Parameters { loss: 0.0, tamper: 0.0, ..*parameters };
        let all = Self::new(&lossless, paths.len() as u32, samples, seed)?;
        Ok(Self { samples: samples.max(1), paths, ..all })
    }

    /// Means of messages over at most `most` hops by fits.
    ///
    /// # Errors
    /// What the fits do not cover.
    pub fn fitted(parameters: &Parameters, most: u32, fits: &Fits) -> Result<Self, String> {
        fits.covers(parameters).map_err(|(_, message)| message)?;
        let means = Self { samples: PARTS, ..Self::new(parameters, most, PARTS, 0)? };
        for hops in 1..=most {
            let hop = fits.hop(hops, parameters)?;
            let small = (1..=SMALL).map(|packets| means.compose(&hop, packets)).collect();
            means.hops[hops as usize].set((hop, small)).expect("each is set once");
        }
        Ok(means)
    }

    /// What the means of [`Hop`] stand over, in ticks.
    #[must_use]
    pub fn denominator(&self) -> u64 {
        self.samples
    }

    /// Ticks per picosecond.
    #[must_use]
    pub fn scale(&self) -> u64 {
        self.delays.scale
    }

    /// The means of a number of hops, which is at least 1 and at most the greatest.
    #[must_use]
    pub fn hop(&self, hops: u32) -> &Hop {
        &self.known(hops).0
    }

    fn known(&self, hops: u32) -> &(Hop, Vec<Ps>) {
        debug_assert!(hops > 0, "over no hops there is nothing to sample");
        self.hops[hops as usize].get_or_init(|| {
            let hop = self.sampled(hops);
            let small = (1..=SMALL).map(|packets| self.compose(&hop, packets)).collect();
            (hop, small)
        })
    }

    fn sampled(&self, hops: u32) -> Hop {
        let Parameters { loss, tamper, window, .. } = self.parameters;
        let path = match self.paths.get((hops as usize).wrapping_sub(1)) {
            Some(path) => path.clone(),
            None => Path::uniform(hops, loss, tamper).expect("the longest path was accepted"),
        };
        let injected = u128::from(self.delays.injection) * u128::from(self.samples);
        let mut hop = Hop { gate: 0, there: Vec::new() };
        for packets in 1..=u64::from(window) {
            let seed = mix64(self.seed ^ mix64(u64::from(hops) << 32 | packets));
            let point = Point { parameters: &self.parameters, path: &path, packets, seed };
            let sums = sample(&point, self.samples, 1).expect("the parameters were accepted");
            hop.there.push(sums.time.sum - injected);
            hop.gate = sums.acknowledged.sum - injected;
        }
        hop
    }

    /// Delay of a message of so many packets, rounded once.
    fn compose(&self, hop: &Hop, packets: u64) -> Ps {
        let window = u64::from(self.parameters.window);
        debug_assert!(
            packets > 0 && hop.there.len() as u64 == window,
            "a message has a packet, each window its mean"
        );
        let (full, last) = ((packets - 1) / window, (packets - 1) % window);
        let injection = u128::from(self.delays.injection) * u128::from(self.samples);
        let sum = injection + u128::from(full) * hop.gate + hop.there[last as usize];
        let unit = u128::from(self.samples) * u128::from(self.delays.scale);
        ((sum + unit / 2) / unit) as Ps
    }

    /// Mean delay of a message; over 0 hops the injection alone.
    ///
    /// # Panics
    /// If there are more hops than [`Means::new`] was given.
    #[inline]
    #[must_use]
    pub fn delay(&self, hops: u32, bytes: u64) -> Ps {
        if hops == 0 {
            return self.delays.picoseconds(self.delays.injection);
        }
        let known = self.known(hops);
        let packets = bytes.div_ceil(self.payload).max(1);
        if packets <= SMALL { known.1[packets as usize - 1] } else { self.compose(&known.0, packets) }
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
    use crate::parameters::Protocol;

    #[test]
    fn lossless_means_are_exact() {
        let p = Parameters { loss: 0.0, ..Parameters::table2(Protocol::Dor) };
        let means = Means::new(&p, 9, 100, 1).unwrap();
        assert_eq!(means.delay(0, 1 << 30), 500_000);
        assert_eq!(means.delay(1, 3264), 5_820_000);
        assert_eq!(means.delay(1, 204_800), 281_513_500);
        // Past the table as within it.
        let d = p.delays().unwrap();
        for packets in [63, 64, 65, 1000] {
            assert_eq!(means.delay(9, packets * 1463), d.picoseconds(d.lossless(9, packets, 5)));
        }
        assert!(Means::new(&Parameters { loss: 0.3, ..p }, 40, 1, 1).is_err());
    }

    /// Windows are independent, so the mean of a message is made of theirs.
    #[test]
    fn windows_add_up_to_messages() {
        for protocol in Protocol::PAPER {
            let p = Parameters::table2(protocol);
            let means = Means::new(&p, 4, 40_000, 1).unwrap();
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
