//! A path of links that lose packets: where a packet ends, and when it is there.

use super::parameters::{Delays, Tick};
use base::rng::Stream;

/// Least probability that a packet comes through the whole path: below it a message takes ten thousand tries.
pub const LEAST_DELIVERY: f64 = 1e-4;

/// Where a packet goes to waste.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Nowhere: it is delivered.
    Never,
    /// Lost on this link, from 0.
    Lost(usize),
    /// Changed by somebody on this link: the next node verifies it and throws it away.
    Tampered(usize),
}

/// Probabilities of the links of a path.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// Probability of (being lost on the first link, being tampered with there, being lost on the second ..) and all before, in 2^-64.
    until: Vec<u64>,
    /// The same on the way back.
    back: Vec<u64>,
    delivery: f64,
    hops: usize,
}

impl Path {
    /// A path whose links, from sender to receiver, lose and change packets with these probabilities.
    ///
    /// # Errors
    /// Probabilities outside 0..1, no link, or a path on which next to nothing is delivered: the reason.
    pub fn new(links: &[(f64, f64)]) -> Result<Self, String> {
        if links.is_empty() {
            return Err("a path has a link at least".to_owned());
        }
        if let Some((loss, tamper)) =
            links.iter().find(|(l, t)| !(0.0..1.0).contains(l) || !(0.0..1.0).contains(t))
        {
            return Err(format!(
                "probabilities of a link must be at least 0 and below 1, not {loss} and {tamper}"
            ));
        }
        let delivery: f64 = links.iter().map(|(l, t)| (1.0 - l) * (1.0 - t)).product();
        if delivery < LEAST_DELIVERY {
            return Err(format!(
                "only {delivery:.1e} of the packets come through {} links: too few to simulate (at least {LEAST_DELIVERY:.0e})",
                links.len()
            ));
        }
        let reversed: Vec<(f64, f64)> = links.iter().rev().copied().collect();
        debug_assert!(delivery <= 1.0, "a product of probabilities is one");
        Ok(Self { until: until(links), back: until(&reversed), delivery, hops: links.len() })
    }

    /// A path of alike links.
    ///
    /// # Errors
    /// As [`Path::new`].
    pub fn uniform(hops: u32, loss: f64, tamper: f64) -> Result<Self, String> {
        Self::new(&vec![(loss, tamper); hops as usize])
    }

    /// Number of links.
    #[must_use]
    pub fn hops(&self) -> usize {
        self.hops
    }

    /// Probability that a packet comes through.
    #[must_use]
    pub fn delivery(&self) -> f64 {
        self.delivery
    }

    /// Where the next packet ends.
    #[inline]
    pub fn forth(&self, stream: &mut Stream) -> Stop {
        draw(&self.until, stream)
    }

    /// True if the next acknowledgement comes through.
    #[inline]
    pub fn back(&self, stream: &mut Stream) -> bool {
        draw(&self.back, stream) == Stop::Never
    }
}

fn until(links: &[(f64, f64)]) -> Vec<u64> {
    let mut alive = 1.0;
    let mut sum = 0.0;
    let mut all = Vec::with_capacity(2 * links.len());
    for &(loss, tamper) in links {
        for p in [loss, tamper] {
            sum += alive * p;
            alive *= 1.0 - p;
            all.push((sum * 18_446_744_073_709_551_616.0) as u64);
        }
    }
    all
}

#[inline]
fn draw(until: &[u64], stream: &mut Stream) -> Stop {
    debug_assert!(until.is_sorted(), "probabilities add up");
    let u = stream.next_u64();
    if u >= until[until.len() - 1] {
        return Stop::Never;
    }
    let at = until.iter().position(|&t| u < t).unwrap_or(0);
    if at.is_multiple_of(2) { Stop::Lost(at / 2) } else { Stop::Tampered(at / 2) }
}

/// When the links of a path, and the processors behind them, are free.
#[derive(Clone, Debug, Default)]
pub struct Line {
    link: Vec<Tick>,
    node: Vec<Tick>,
    /// Links that packets have crossed or been lost on, so far.
    pub crossed: u64,
}

impl Line {
    /// All free: a message begins.
    pub fn clear(&mut self, hops: usize) {
        debug_assert!(hops > 0, "a path has a link at least");
        for free in [&mut self.link, &mut self.node] {
            free.clear();
            free.resize(hops, 0);
        }
    }

    /// Carries a packet that leaves the sender at `leave`; packets come in the order of leaving. `at` is called with each node that takes it in, the
    /// receiver last. Returns when the receiver has processed it, if it comes so far.
    #[inline]
    pub fn carry(
        &mut self,
        delays: &Delays,
        leave: Tick,
        stop: Stop,
        mut at: impl FnMut(usize),
    ) -> Option<Tick> {
        let hops = self.link.len();
        let mut now = leave;
        for k in 0..hops {
            let start = now.max(self.link[k]);
            self.link[k] = start + delays.busy;
            self.crossed += 1;
            if stop == Stop::Lost(k) {
                return None;
            }
            let begin = (start + delays.hop_packet).max(self.node[k]);
            if stop == Stop::Tampered(k) {
                self.node[k] = begin + delays.forward;
                return None;
            }
            now = begin + if k + 1 == hops { delays.receive } else { delays.forward };
            self.node[k] = now;
            at(k);
        }
        debug_assert!(now > leave, "hops take time");
        Some(now)
    }

    /// When a new packet may start on the first link.
    #[must_use]
    pub fn first_free(&self) -> Tick {
        self.link[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::rng::Purpose;

    #[test]
    fn packets_end_where_the_probabilities_say() {
        let path = Path::new(&[(0.1, 0.2), (0.0, 0.0), (0.3, 0.0)]).unwrap();
        let mut stream = Stream::new(1, Purpose::Test, 0);
        let mut counts = [0u32; 4];
        let n = 100_000;
        for _ in 0..n {
            match path.forth(&mut stream) {
                Stop::Lost(0) => counts[0] += 1,
                Stop::Tampered(0) => counts[1] += 1,
                Stop::Lost(2) => counts[2] += 1,
                Stop::Never => counts[3] += 1,
                other => panic!("{other:?} has probability 0"),
            }
        }
        for (count, p) in counts.into_iter().zip([0.1, 0.9 * 0.2, 0.72 * 0.3, 0.72 * 0.7]) {
            let mean = f64::from(n) * p;
            assert!((f64::from(count) - mean).abs() < 5.0 * (mean * (1.0 - p)).sqrt(), "{count} of {mean}");
        }
        assert!((path.delivery() - 0.504).abs() < 1e-12);
    }

    #[test]
    fn hopeless_paths_are_refused() {
        assert!(Path::new(&[]).is_err());
        assert!(Path::uniform(3, 1.0, 0.0).is_err());
        assert!(Path::uniform(3, -0.1, 0.0).is_err());
        assert!(Path::uniform(100, 0.2, 0.0).unwrap_err().contains("100 links"));
    }
}
