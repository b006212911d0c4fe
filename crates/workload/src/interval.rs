//! The exact time between messages at a given load.
//!
//! `bytes / (load * bandwidth)` is a rational number of picoseconds. The k-th message of a source without jitter is
//! due at round(k * interval): rounding never accumulates.

use base::{rate::Bandwidth, time::Ps};

/// Loads are rational numbers with this denominator.
pub const LOAD_DENOMINATOR: u64 = 1_000_000_000;

/// A positive rational time: `whole + fraction / denominator` picoseconds, with a denominator below 2^63.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    whole: u64,
    fraction: u64,
    denominator: u64,
}

impl Interval {
    /// Time between messages of `bytes` that together fill `load / 10^9` of `bandwidth`.
    ///
    /// `None` if bytes or load are zero, the time exceeds 2^64 ps or its denominator 2^63.
    #[must_use]
    pub fn new(bytes: u64, bandwidth: Bandwidth, load: u64) -> Option<Self> {
        if bytes == 0 || load == 0 {
            return None;
        }
        let (rate_above, rate_below) = bandwidth.ratio();
        let mut above = [bytes, 1_000_000_000_000, rate_below, LOAD_DENOMINATOR];
        let mut below = [rate_above, load];
        for a in &mut above {
            for b in &mut below {
                let g = gcd(*a, *b);
                *a /= g;
                *b /= g;
            }
        }
        let product = |factors: &[u64]| factors.iter().try_fold(1u128, |p, &f| p.checked_mul(u128::from(f)));
        let (above, below) = (product(&above)?, product(&below)?);
        let denominator = u64::try_from(below).ok().filter(|&d| d < 1 << 63)?;
        Some(Self {
            whole: u64::try_from(above / below).ok()?,
            fraction: (above % below) as u64,
            denominator,
        })
    }

    /// `k` intervals, rounded to the nearest picosecond (ties up); `None` beyond 2^64 ps.
    #[inline]
    #[must_use]
    pub fn times(&self, k: u64) -> Option<Ps> {
        let d = self.denominator;
        let (carry, rest) = match k.checked_mul(self.fraction) {
            Some(p) => (p / d, p % d),
            None => {
                let p = u128::from(k) * u128::from(self.fraction);
                ((p / u128::from(d)) as u64, (p % u128::from(d)) as u64)
            }
        };
        let rounded = carry + u64::from(rest >= d - rest);
        k.checked_mul(self.whole)?.checked_add(rounded)
    }

    /// [`Interval::times`] of `k` and those after it, with one division for all; returns how many there are.
    pub fn times_from(&self, k: u64, into: &mut [Ps]) -> usize {
        let d = self.denominator;
        // No time up to there is beyond 2^64 ps.
        let end = k.checked_add(into.len() as u64 + 1).zip(self.whole.checked_add(1));
        let end = end.and_then(|(end, most)| end.checked_mul(most));
        let (Some(p), Some(_)) = (k.checked_mul(self.fraction), end) else {
            let times = (k..=u64::MAX).map_while(|k| self.times(k));
            return into.iter_mut().zip(times).map(|(slot, time)| *slot = time).count();
        };
        let (mut floor, mut rest) = (k * self.whole + p / d, p % d);
        for slot in &mut *into {
            *slot = floor + u64::from(rest >= d - rest);
            rest += self.fraction;
            let carry = rest >= d;
            rest -= if carry { d } else { 0 };
            floor += self.whole + u64::from(carry);
        }
        into.len()
    }

    /// The `k` whose [`Interval::times`] is nearest to `time`: its inverse for intervals above 1 ps.
    #[must_use]
    pub fn index_of(&self, time: Ps) -> u64 {
        let d = u128::from(self.denominator);
        let length = u128::from(self.whole) * d + u128::from(self.fraction);
        let scaled = u128::from(time) * d;
        (scaled / length) as u64 + u64::from(scaled % length >= length - scaled % length)
    }

    /// The longest time of whole intervals that is no longer than `time`, rounded like [`Interval::times`].
    #[must_use]
    pub fn fit(&self, time: Ps) -> Ps {
        let nearest = self.index_of(time);
        let fits = |k: u64| self.times(k).filter(|&t| t <= time);
        fits(nearest).or_else(|| fits(nearest.saturating_sub(1))).unwrap_or(0)
    }

    /// Whole picoseconds of the interval.
    #[must_use]
    pub fn whole(&self) -> Ps {
        self.whole
    }

    /// The interval in picoseconds as a float, for distributions with this mean.
    #[must_use]
    pub fn as_f64(&self) -> f64 {
        self.whole as f64 + self.fraction as f64 / self.denominator as f64
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    /// The longest whole number of intervals within a time, on both sides of each.
    #[test]
    fn fits_whole_intervals() {
        // 1 B at 3 B/ns: a third of a nanosecond.
        let third = super::Interval::new(
            1,
            base::rate::Bandwidth::new(3_000_000_000, 1).unwrap(),
            super::LOAD_DENOMINATOR,
        )
        .unwrap();
        for (time, fit) in [
            (0, 0),
            (332, 0),
            (333, 333),
            (666, 333),
            (667, 667),
            (999, 667),
            (1000, 1000),
            (1_000_332, 1_000_000),
        ] {
            assert_eq!(third.fit(time), fit, "{time}");
        }
    }

    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Many at a time or one by one, as far as time goes.
        #[test]
        fn times_follow_each_other(
            whole in prop_oneof![1..1u64 << 20, 1 << 62..1u64 << 63], below in 1..1u64 << 63, share in 0..100u64,
            k in prop_oneof![0..100u64, 0..1u64 << 40, u64::MAX - 5..=u64::MAX], n in 0usize..20,
        ) {
            let denominator = below >> (share % 60);
            let denominator = denominator.max(1);
            let interval = Interval { whole, fraction: (denominator - 1) / 100 * share, denominator };
            let mut many = vec![7; n];
            let found = interval.times_from(k, &mut many);
            let each: Vec<Ps> = (k..=u64::MAX).map_while(|k| interval.times(k)).take(n).collect();
            prop_assert_eq!(&many[..found], &each[..]);
        }
    }

    /// 1024 B at 2 GiB/s take 5^12 / 2^9 ps = 476,837.158203125 ps: the closed form needs no division.
    #[test]
    fn a_million_messages_do_not_drift() {
        let interval = Interval::new(1024, Bandwidth::new(2 << 30, 1).unwrap(), LOAD_DENOMINATOR).unwrap();
        assert_eq!(interval, Interval { whole: 476_837, fraction: 81, denominator: 512 });
        for k in (0..=1_000_000u64).step_by(7).chain([1_000_000]) {
            assert_eq!(interval.times(k).unwrap(), (k * 244_140_625 + 256) / 512, "{k}");
        }
        assert_eq!(interval.times(1_000_000), Some(476_837_158_203));
    }

    #[test]
    fn load_stretches_the_interval() {
        let rate = Bandwidth::new(1_000_000_000, 1).unwrap();
        let times = |load, k| Interval::new(1000, rate, load).unwrap().times(k).unwrap();
        assert_eq!(times(LOAD_DENOMINATOR, 3), 3_000_000);
        assert_eq!(times(LOAD_DENOMINATOR / 2, 3), 6_000_000);
        // 0.3: 1 us / 0.3 = 3,333,333 1/3 ps.
        assert_eq!(times(300_000_000, 1), 3_333_333);
        assert_eq!(times(300_000_000, 2), 6_666_667);
        assert_eq!(times(300_000_000, 3), 10_000_000);
    }

    #[test]
    fn zero_and_overflow_are_refused() {
        let rate = Bandwidth::new(1, 1).unwrap();
        assert!(Interval::new(0, rate, LOAD_DENOMINATOR).is_none());
        assert!(Interval::new(1, rate, 0).is_none());
        assert!(Interval::new(u64::MAX, rate, 1).is_none());
        assert!(Interval::new(1, rate, LOAD_DENOMINATOR).unwrap().times(u64::MAX).is_none());
    }

    proptest! {
        /// Against a definition that shares no code: |time - k * bytes * 10^21 / (rate * load)| <= 1/2.
        #[test]
        fn agrees_with_the_definition(
            bytes in 1u64..100_000, rate in 1_000_000u64..1 << 33, load in 1u64..1 << 30, k in 0u64..1_000_000,
        ) {
            let interval = Interval::new(bytes, Bandwidth::new(rate, 1).unwrap(), load).unwrap();
            if let Some(t) = interval.times(k) {
                let exact = i128::from(k) * i128::from(bytes) * 1_000_000_000_000;
                let unit = i128::from(rate) * i128::from(load);
                // Both sides in units of 10^-9 / (rate * load); the numerator splits to stay within 128 bits.
                let whole = exact / unit * 1_000_000_000;
                let rest = (exact % unit) as f64 * 1e9 / unit as f64;
                let error = (i128::from(t) - whole) as f64 - rest;
                prop_assert!(error.abs() <= 0.5 + rest * 1e-12 + 1e-6, "{error}");
            }
        }

        #[test]
        fn index_inverts_times(bytes in 16u64..10_000, rate in 1u64 << 20..1 << 40, k in 0u64..1 << 30) {
            let interval = Interval::new(bytes, Bandwidth::new(rate, 1).unwrap(), LOAD_DENOMINATOR).unwrap();
            prop_assert!(interval.whole() >= 2);
            if let Some(t) = interval.times(k) {
                prop_assert_eq!(interval.index_of(t), k);
            }
        }
    }
}
