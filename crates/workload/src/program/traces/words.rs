//! Words and numbers of text traces.

use crate::program::Damage;
use base::time::{Ps, S};

/// What numbers of computations stand for, where a file does not say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Time of one unit of GOAL's computations.
    pub unit: Ps,
    /// Floating-point operations that a rank does in a second, for traces that count those.
    pub speed: f64,
}

impl Scale {
    /// One nanosecond, and 10^9 operations a second.
    pub const DEFAULT: Self = Self { unit: 1_000, speed: 1e9 };
}

/// Picoseconds of so many seconds; what is too long for 64 bits is the longest time.
pub(super) fn picoseconds(seconds: f64) -> Ps {
    (seconds * S as f64).round() as u64
}

/// A number that is not negative, perhaps written with an exponent; digits behind the point are cut off.
pub(super) fn count(word: &str) -> Option<u64> {
    word.parse().ok().or_else(|| {
        let number: f64 = word.parse().ok()?;
        (0.0..1.8e19).contains(&number).then_some(number as u64)
    })
}

/// A finite real number that is not negative.
pub(super) fn real(word: &str) -> Option<f64> {
    word.parse().ok().filter(|n: &f64| n.is_finite() && *n >= 0.0)
}

/// A mistake of a text file.
#[cold]
pub(super) fn wrong(file: &str, line: u64, what: impl std::fmt::Display) -> Damage {
    Damage(format!("{file}:{line}: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        let read = ["17", "5e4", "1.9", "-1", "nan", "1e30", "", "x"].map(count);
        assert_eq!(read, [Some(17), Some(50_000), Some(1), None, None, None, None, None]);
        assert_eq!(count("18446744073709551615"), Some(u64::MAX));
        assert_eq!(["1e-3", "inf", "-2"].map(real), [Some(1e-3), None, None]);
        assert_eq!((picoseconds(1.5e-6), picoseconds(1e30)), (1_500_000, u64::MAX));
    }
}
