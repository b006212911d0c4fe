//! Instants between picoseconds. Events and results are whole picoseconds; what happens inside the sharing of links is finer, so that
//! times are rounded once, when they leave it.

use base::time::Ps;

/// Binary digits behind the picosecond.
const DIGITS: u32 = 40;

/// Units in a second.
const SECOND: f64 = 1e12 * (1u64 << DIGITS) as f64;

/// An instant in units of 2^-40 ps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FineTime(u128);

impl FineTime {
    /// Later than all others.
    pub const NEVER: Self = Self(u128::MAX);

    /// A whole picosecond.
    #[must_use]
    pub fn at(ps: Ps) -> Self {
        Self(u128::from(ps) << DIGITS)
    }

    /// So many seconds later; [`FineTime::NEVER`] beyond the end of virtual time.
    #[must_use]
    pub fn after(self, seconds: f64) -> Self {
        debug_assert!(!seconds.is_nan(), "a span of time is a number");
        let units = seconds * SECOND;
        if units < (1u64 << 63) as f64 {
            // To the nearest, halves up: as `round` does, which is a call. From 2^52 on there is no fraction.
            let whole = units.max(0.0) as i64;
            let up = units - whole as f64 >= 0.5;
            Self(self.0 + (whole as u64 + u64::from(up)) as u128)
        } else if units < (1u128 << 104) as f64 {
            Self(self.0 + units as u128)
        } else {
            Self::NEVER
        }
    }

    /// Seconds since an earlier instant; zero if it is not earlier.
    #[must_use]
    pub fn since(self, earlier: Self) -> f64 {
        let units = self.0.saturating_sub(earlier.0);
        // Most spans fit a word, whose conversion is an instruction.
        (if units >> 64 == 0 { units as u64 as f64 } else { long(units) }) / SECOND
    }

    /// What comes before this rounds to a picosecond or an earlier one; for [`Ps::MAX`] everything does.
    #[must_use]
    pub fn after_rounding_to(ps: Ps) -> Self {
        if ps == Ps::MAX { Self::NEVER } else { Self((u128::from(ps) << DIGITS) + (1 << (DIGITS - 1))) }
    }

    /// The nearest picosecond.
    #[must_use]
    pub fn rounded(self) -> Ps {
        let ps = (self.0 >> DIGITS) + (self.0 >> (DIGITS - 1) & 1);
        u64::try_from(ps).unwrap_or(Ps::MAX)
    }

    /// Picoseconds, with what a float holds of the fraction.
    #[must_use]
    pub fn exact_ps(self) -> f64 {
        let (whole, rest) = (self.0 >> DIGITS, self.0 as u64 & ((1 << DIGITS) - 1));
        // Most instants fit a word, whose conversion is an instruction.
        let whole = if whole >> 64 == 0 { whole as u64 as f64 } else { long(whole) };
        whole + rest as f64 / (1u64 << DIGITS) as f64
    }

    /// Until when things count as simultaneous with this: 2^-10 ps, or what a float can resolve of a long time.
    #[must_use]
    pub fn simultaneous_until(self) -> Self {
        Self(self.0.saturating_add((1 << (DIGITS - 10)) + (self.0 >> 50)))
    }
}

/// What is more than a word.
#[cold]
#[inline(never)]
fn long(units: u128) -> f64 {
    units as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_to_the_nearest_picosecond() {
        for (seconds, ps) in [(1e-12, 1), (1.4e-12, 1), (1.6e-12, 2), (1.0, 1_000_000_000_000)] {
            assert_eq!(FineTime::at(0).after(seconds).rounded(), ps);
        }
        assert_eq!(FineTime::at(5).after(f64::INFINITY), FineTime::NEVER);
        assert_eq!(FineTime::at(7).after(-1.0), FineTime::at(7));
        assert!((FineTime::at(3).after(2.5e-13).exact_ps() - 3.25).abs() < 1e-9);
        for units in [0.49, 0.5, 1.499_999, 1.5, 2.5, 1e15 + 0.5, 4.4e15, 4.6e15, 9.1e18, 9.3e18, 1e25] {
            assert_eq!(
                FineTime::default().after(units / SECOND).0,
                (units / SECOND * SECOND).round() as u128
            );
        }
        for ps in [0, 1, 7, 1 << 63, Ps::MAX - 1] {
            let border = FineTime::after_rounding_to(ps);
            assert_eq!(FineTime(border.0 - 1).rounded(), ps);
            assert_eq!(border.rounded(), ps + 1);
        }
        assert!((FineTime::at(10).since(FineTime::at(4)) - 6e-12).abs() < 1e-24);
    }
}
