//! Words and numbers of text traces.

use crate::program::Damage;
use base::{
    time::{Ps, S},
    units::{MAX_BYTES, MAX_TIME},
};

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

/// Bytes of so many elements of a size: at most as many as there can be, so that sums of many do not overflow.
pub(super) fn bytes(elements: u64, size: u64) -> Result<u64, String> {
    let bytes = elements.checked_mul(size).filter(|&bytes| bytes <= MAX_BYTES);
    bytes.ok_or_else(|| format!("{elements} elements of {size} B are too large"))
}

/// Picoseconds of a computation of so many seconds: at most the longest time.
pub(super) fn computation(seconds: f64) -> Result<Ps, String> {
    let time = picoseconds(seconds);
    if time > MAX_TIME { Err(format!("a computation of {seconds} s is too long")) } else { Ok(time) }
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

    #[test]
    fn sizes_and_times_have_bounds() {
        assert_eq!((bytes(3, 8), bytes(0, u64::MAX), bytes(1 << 60, 4)), (Ok(24), Ok(0), Ok(MAX_BYTES)));
        for (elements, size) in [(1 << 60, 5), (u64::MAX, 2), (u64::MAX, 1), (1, u64::MAX)] {
            let what = format!("{elements} elements of {size} B are too large");
            assert_eq!(bytes(elements, size), Err(what));
        }
        assert_eq!(computation(4e6), Ok(4_000_000_000_000_000_000));
        assert_eq!([5e6, 1e300].map(|seconds| computation(seconds).is_err()), [true; 2]);
    }
}
