//! How long an adapter takes until a message may hand its first packet over.
//!
//! CODES' host draws a latency for each message twice, where the rank hands it to the adapter and where the adapter begins it
//! (`codes.h`, `model-net-lp.c`). So does this. A draw is a pure function of seed, terminal and number of the message: whoever asks again gets the same.

use base::{
    index::TerminalId,
    rng::{Purpose, Stream},
    time::Ps,
};

/// Time in adapters by message.
#[derive(Clone, Copy, Debug)]
pub struct Delay {
    /// What every message takes.
    least: Ps,
    /// Bound of each of two draws, itself excluded; 0 for none.
    jitter: Ps,
    draws: Stream,
}

impl Delay {
    /// A constant part, and two random ones below `jitter`.
    #[must_use]
    pub fn new(least: Ps, jitter: Ps, seed: u64) -> Self {
        Self { least, jitter, draws: Stream::new(seed, Purpose::Jitter, 0) }
    }

    /// The constant part.
    #[inline]
    #[must_use]
    pub fn least(&self) -> Ps {
        self.least
    }

    /// More than any message takes.
    #[inline]
    #[must_use]
    pub fn most(&self) -> Ps {
        self.least + 2 * self.jitter
    }

    /// True if messages differ.
    #[inline]
    #[must_use]
    pub fn varies(&self) -> bool {
        self.jitter > 0
    }

    /// The mean over all messages.
    #[must_use]
    pub fn mean(&self) -> Ps {
        // Two draws, of half the bound each.
        self.least + self.jitter
    }

    /// That of message `number` of a terminal.
    #[inline]
    #[must_use]
    pub fn of(&self, source: TerminalId, number: u32) -> Ps {
        if self.jitter == 0 {
            return self.least;
        }
        let (first, stream) = (2 * u64::from(number), self.draws.owned_by(source.into()));
        let [host, adapter] = stream.below_at([first, first + 1], self.jitter);
        self.least + host + adapter
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two uniform draws: mean and variance are known, each message and terminal has its own, and asking again changes nothing.
    #[test]
    fn draws_are_those_of_two_uniform_parts() {
        let (least, jitter, count) = (11_010, 500, 40_000);
        let delay = Delay::new(least, jitter, 7);
        let all: Vec<Ps> = (0..count).map(|n| delay.of(TerminalId::new(3), n)).collect();
        assert!(all.iter().all(|d| (least..=least + 2 * (jitter - 1)).contains(d)));
        let mean = all.iter().sum::<Ps>() as f64 / f64::from(count);
        let spread = all.iter().map(|&d| (d as f64 - mean).powi(2)).sum::<f64>() / f64::from(count);
        // Standard deviation of the mean 204 / 200 ps; the variance is twice 500^2 / 12.
        assert!((mean - delay.mean() as f64).abs() < 4.5, "{mean}");
        assert!((spread / (500.0_f64.powi(2) / 6.0) - 1.0).abs() < 0.03, "{spread}");
        let again = |terminal, seed| -> Vec<Ps> {
            let delay = Delay::new(least, jitter, seed);
            (0..count).map(|n| delay.of(TerminalId::new(terminal), n)).collect()
        };
        assert_eq!(all, again(3, 7));
        assert!(all != again(4, 7) && all != again(3, 8));
        assert_eq!(Delay::new(least, 0, 7).of(TerminalId::new(3), 9), least);
    }
}
