//! Exact bandwidths and the time that bytes take on them.
//!
//! A bandwidth is a rational number of bytes per second. The time of `n` bytes on it is a rational number of
//! picoseconds: a whole part and a fraction over [`Bandwidth::denominator`]. A port carries the fraction from one
//! chunk to the next ([`Clock`]), so that k back-to-back chunks take round(k t), never k round(t).

use crate::time::Ps;
use serde::{Deserialize, Serialize};

/// Bytes per second as a reduced fraction; never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bandwidth {
    numerator: u64,
    denominator: u64,
}

/// An exact duration: `whole + fraction / denominator` picoseconds; the denominator belongs to the [`Bandwidth`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Span {
    /// Whole picoseconds of the duration, rounded down.
    pub whole: Ps,
    /// Numerator of the rest, below the bandwidth's [`Bandwidth::denominator`].
    pub fraction: u64,
}

const PS_PER_S: u128 = 1_000_000_000_000;

impl Bandwidth {
    /// `numerator / denominator` bytes per second; `None` if either is zero or the fraction's picosecond denominator
    /// does not fit 62 bits.
    #[must_use]
    pub fn new(numerator: u64, denominator: u64) -> Option<Self> {
        if numerator == 0 || denominator == 0 || numerator >= 1 << 62 {
            return None;
        }
        let g = gcd(numerator, denominator);
        Some(Self { numerator: numerator / g, denominator: denominator / g })
    }

    /// This many times as much; `None` as for [`Bandwidth::new`].
    #[must_use]
    pub fn times(&self, factor: u64) -> Option<Self> {
        Self::new(self.numerator.checked_mul(factor)?, self.denominator)
    }

    /// Bytes per second, rounded to the nearest float: for reports, never for times.
    #[must_use]
    pub fn bytes_per_s(&self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    /// The two parts of the fraction of bytes per second.
    #[must_use]
    pub fn ratio(&self) -> (u64, u64) {
        (self.numerator, self.denominator)
    }

    /// Denominator of every [`Span::fraction`] on this bandwidth.
    #[must_use]
    #[expect(
        clippy::misnamed_getters,
        reason = "the fraction of picoseconds stands over the numerator of bytes per second"
    )]
    pub fn denominator(&self) -> u64 {
        self.numerator
    }

    /// Exact time that `bytes` take; `None` if it exceeds 2^64 ps.
    #[must_use]
    pub fn time(&self, bytes: u64) -> Option<Span> {
        let n = u128::from(bytes).checked_mul(PS_PER_S)?.checked_mul(u128::from(self.denominator))?;
        let d = u128::from(self.numerator);
        Some(Span { whole: u64::try_from(n / d).ok()?, fraction: (n % d) as u64 })
    }

    /// Time that `bytes` take, rounded once to the nearest picosecond (ties up); `None` on overflow.
    #[must_use]
    pub fn time_rounded(&self, bytes: u64) -> Option<Ps> {
        let span = self.time(bytes)?;
        span.whole.checked_add(u64::from(span.fraction * 2 >= self.denominator()))
    }
}

/// The instant at which a serial resource is free again, kept exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Clock {
    whole: Ps,
    fraction: u64,
}

impl Clock {
    /// The instant, rounded to the nearest picosecond (ties up).
    #[inline]
    #[must_use]
    pub fn rounded(&self, denominator: u64) -> Ps {
        self.whole + u64::from(self.fraction * 2 >= denominator)
    }

    /// Starts work of length `span` at `start` (at or after [`Clock::rounded`]) and returns the rounded end.
    ///
    /// Work that starts exactly when the last one ended continues from the exact end; a later start is a whole
    /// picosecond.
    #[inline]
    pub fn advance(&mut self, start: Ps, span: Span, denominator: u64) -> Ps {
        if start > self.rounded(denominator) {
            self.whole = start;
            self.fraction = 0;
        }
        self.whole += span.whole;
        self.fraction += span.fraction;
        if self.fraction >= denominator {
            self.fraction -= denominator;
            self.whole += 1;
        }
        self.rounded(denominator)
    }

    /// Whole part and fraction, for state hashes.
    #[must_use]
    pub fn parts(&self) -> (Ps, u64) {
        (self.whole, self.fraction)
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn back_to_back_chunks_take_round_of_the_product() {
        let rate = Bandwidth::new(2 << 30, 1).unwrap();
        let t = rate.time(64).unwrap();
        let mut clock = Clock::default();
        for k in 1..=1000u64 {
            let start = clock.rounded(rate.denominator());
            let end = clock.advance(start, t, rate.denominator());
            assert_eq!(end, rate.time_rounded(64 * k).unwrap());
        }
    }

    #[test]
    fn a_pause_starts_from_a_whole_picosecond() {
        let rate = Bandwidth::new(3, 1).unwrap();
        let mut clock = Clock::default();
        let t = rate.time(1).unwrap();
        assert_eq!(clock.advance(0, t, 3), 333_333_333_333);
        assert_eq!(clock.advance(10 * crate::time::S, t, 3), 10_333_333_333_333);
    }

    #[test]
    fn zero_and_overflow_are_refused() {
        assert!(Bandwidth::new(0, 1).is_none());
        assert!(Bandwidth::new(1, 0).is_none());
        assert!(Bandwidth::new(1, 1).unwrap().time(u64::MAX).is_none());
    }
}
