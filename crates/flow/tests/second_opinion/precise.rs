//! Numbers of about 106 bits: the sum of two doubles, of which the second is what the first cannot hold (Dekker, Knuth).

use std::ops::{Add, Div, Mul, Sub};

/// A number, finite.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Precise {
    high: f64,
    low: f64,
}

/// Two numbers of which the first is the larger, as one.
fn joined(large: f64, small: f64) -> Precise {
    let high = large + small;
    Precise { high, low: small - (high - large) }
}

/// The sum of two doubles, exactly.
fn sum(a: f64, b: f64) -> Precise {
    let high = a + b;
    let part = high - a;
    Precise { high, low: (a - (high - part)) + (b - part) }
}

/// The product of two doubles, exactly.
fn product(a: f64, b: f64) -> Precise {
    let high = a * b;
    Precise { high, low: a.mul_add(b, -high) }
}

impl Precise {
    pub const ZERO: Self = Self { high: 0.0, low: 0.0 };

    pub fn of(number: f64) -> Self {
        assert!(number.is_finite(), "{number} is no finite number");
        Self { high: number, low: 0.0 }
    }

    /// Exactly, unlike a double.
    pub fn whole(number: u64) -> Self {
        let (high, low) = (number >> 32, number & 0xffff_ffff);
        sum(high as f64 * 4_294_967_296.0, low as f64)
    }

    pub fn rounded(self) -> f64 {
        self.high
    }

    pub fn least(self, other: Option<Self>) -> Self {
        other.filter(|other| *other < self).unwrap_or(self)
    }

    pub fn most(self, other: Self) -> Self {
        if other > self { other } else { self }
    }
}

impl Add for Precise {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let (highs, lows) = (sum(self.high, other.high), sum(self.low, other.low));
        let first = joined(highs.high, highs.low + lows.high);
        joined(first.high, first.low + lows.low)
    }
}

impl Sub for Precise {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + Self { high: -other.high, low: -other.low }
    }
}

impl Mul for Precise {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let highs = product(self.high, other.high);
        joined(highs.high, highs.low + (self.high * other.low + self.low * other.high))
    }
}

impl Div for Precise {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        assert!(other != Self::ZERO, "nothing is divided by zero");
        // Three digits of a long division, each a double.
        let first = self.high / other.high;
        let rest = self - other * Self::of(first);
        let second = rest.high / other.high;
        let rest = rest - other * Self::of(second);
        joined(first, second) + Self::of(rest.high / other.high)
    }
}

#[test]
fn a_third_is_known_to_thirty_digits() {
    let third = Precise::of(1.0) / Precise::of(3.0);
    let rest = Precise::of(1.0) - third * Precise::of(3.0);
    assert!(rest.rounded().abs() < 1e-31 && third.low != 0.0, "{rest:?}");
    let whole = Precise::whole(u64::MAX) - Precise::whole(u64::MAX - 1);
    assert!(whole == Precise::of(1.0) && third < Precise::of(0.34) && third > Precise::of(1.0 / 3.0));
}
