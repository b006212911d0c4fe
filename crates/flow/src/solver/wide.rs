//! Sums that lose nothing to speak of: two doubles, of which the second holds what the first cannot.

/// A sum of doubles to about 106 bits.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wide {
    high: f64,
    low: f64,
}

impl Wide {
    /// Adds a number; to take it off again, its negative.
    #[inline]
    pub(super) fn add(&mut self, x: f64) {
        // Knuth: the sum as rounded, and what rounding took from it, exactly.
        let sum = self.high + x;
        let part = sum - self.high;
        let lost = (self.high - (sum - part)) + (x - part) + self.low;
        self.high = sum + lost;
        self.low = lost - (self.high - sum);
    }

    /// Takes one number off and adds another in its place, which is a little faster than one after the other.
    #[inline]
    pub(super) fn exchange(&mut self, old: f64, new: f64) {
        let more = new - old;
        let part = more - new;
        let rest = (new - (more - part)) - (old + part);
        let sum = self.high + more;
        let part = sum - self.high;
        let lost = (self.high - (sum - part)) + (more - part) + (self.low + rest);
        self.high = sum + lost;
        self.low = lost - (self.high - sum);
    }

    /// The sum as one double.
    #[inline]
    pub(super) fn rounded(self) -> f64 {
        self.high
    }

    /// What it leaves of a number.
    #[inline]
    pub(super) fn left_of(self, all: f64) -> f64 {
        (all - self.high) - self.low
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "these numbers are exact")]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_can_be_taken_off() {
        let mut sum = Wide::default();
        for n in 0..1000u32 {
            sum.add(1e9 / f64::from(3 * n + 1));
        }
        sum.add(1e-12);
        for n in 0..1000u32 {
            sum.add(-1e9 / f64::from(3 * n + 1));
        }
        assert!((sum.rounded() - 1e-12).abs() < 1e-18, "{sum:?}");
        for n in 0..1000u32 {
            sum.exchange(1e9 / f64::from(n + 7), 1e9 / f64::from(n + 8));
        }
        sum.exchange(1e9 / 1007.0, 1e9 / 7.0);
        assert!((sum.rounded() - 1e-12).abs() < 1e-18, "{sum:?}");
        sum.add(3.0);
        assert_eq!(sum.left_of(4.0), 1.0 - 1e-12);
    }
}
