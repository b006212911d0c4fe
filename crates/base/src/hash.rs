//! Hashes that decide order and identify runs. They are part of the results' contract: changing one changes
//! every fingerprint.

use serde::{Deserialize, Serialize};

/// Finaliser of splitmix64 (Steele, Lea, Flood 2014): a bijection of 64-bit words that mixes all bits.
#[inline]
#[must_use]
pub fn mix64(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A 128-bit sum of hashes: the same for every order in which its parts are added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint(pub u128);

impl Fingerprint {
    /// Adds one happening, described by four words. Equal happenings added twice count twice.
    #[inline]
    pub fn add(&mut self, a: u64, b: u64, c: u64, d: u64) {
        self.0 = self.0.wrapping_add(hash4(a, b, c, d));
    }

    /// Adds what another partition counted.
    pub fn merge(&mut self, other: Fingerprint) {
        self.0 = self.0.wrapping_add(other.0);
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Hashes four words to 128 bits: two independent lanes of multiply-and-fold, then a cross mix.
#[inline]
#[must_use]
pub fn hash4(a: u64, b: u64, c: u64, d: u64) -> u128 {
    let x = fold(a ^ 0x9e37_79b9_7f4a_7c15, b ^ 0xe703_7ed1_a0b4_28db);
    let y = fold(c ^ 0x8ebc_6af0_9c88_c6e3, d ^ 0x5899_65cc_7537_4cc3);
    let lo = mix64(x ^ y.rotate_left(32));
    let hi = mix64(x.wrapping_add(y).wrapping_mul(0x1d8e_4e27_c47d_124f) ^ lo);
    (u128::from(hi) << 64) | u128::from(lo)
}

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let p = u128::from(a) * u128::from(b);
    (p as u64) ^ ((p >> 64) as u64) ^ a.rotate_left(17) ^ b.rotate_left(43)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_and_every_bit_matters() {
        let base = hash4(1, 2, 3, 4);
        for word in 0..4 {
            for bit in 0..64 {
                let mut w = [1u64, 2, 3, 4];
                w[word] ^= 1 << bit;
                let other = hash4(w[0], w[1], w[2], w[3]);
                let changed = (base ^ other).count_ones();
                assert!((24..=104).contains(&changed), "word {word} bit {bit}: {changed} bits changed");
            }
        }
        assert_ne!(hash4(1, 2, 3, 4), hash4(2, 1, 3, 4));
        assert_ne!(hash4(1, 2, 3, 4), hash4(3, 4, 1, 2));
    }

    #[test]
    fn order_of_addition_does_not_matter() {
        let (mut x, mut y) = (Fingerprint::default(), Fingerprint::default());
        x.add(1, 2, 3, 4);
        x.add(5, 6, 7, 8);
        y.add(5, 6, 7, 8);
        y.add(1, 2, 3, 4);
        assert_eq!(x, y);
        y.add(1, 2, 3, 4);
        assert_ne!(x, y);
    }
}
