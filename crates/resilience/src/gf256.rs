//! Arithmetic of GF(2^8), and the space that the received combinations of a generation span.
//!
//! The field is that of polynomials over GF(2) modulo x^8 + x^4 + x^3 + x + 1. Sums are exclusive ors; products go through logarithms
//! to the base x + 1. Any field of 256 elements gives the same probabilities.

/// Most packets of a generation.
pub const MAX_GENERATION: usize = 32;

/// Coefficients of a combination of a generation's packets.
pub type Vector = [u8; MAX_GENERATION];

const TABLES: ([u8; 512], [u8; 256]) = tables();

const fn tables() -> ([u8; 512], [u8; 256]) {
    let (mut exp, mut log) = ([0u8; 512], [0u8; 256]);
    let (mut power, mut i) = (1u8, 0usize);
    while i < 255 {
        exp[i] = power;
        exp[i + 255] = power;
        log[power as usize] = i as u8;
        // Times x + 1.
        let shifted = (power << 1) ^ if power & 0x80 == 0 { 0 } else { 0x1b };
        power ^= shifted;
        i += 1;
    }
    (exp, log)
}

/// Product of two elements.
#[inline]
#[must_use]
pub fn multiply(a: u8, b: u8) -> u8 {
    if a == 0 || b == 0 {
        return 0;
    }
    TABLES.0[usize::from(TABLES.1[a as usize]) + usize::from(TABLES.1[b as usize])]
}

/// Inverse of an element; that of 0 is 0.
#[inline]
#[must_use]
pub fn inverse(a: u8) -> u8 {
    let inverse = if a == 0 { 0 } else { TABLES.0[255 - usize::from(TABLES.1[a as usize])] };
    debug_assert!(a == 0 || multiply(a, inverse) == 1, "that is what an inverse is");
    inverse
}

/// Adds `factor` times a vector to another one.
#[inline]
fn add(to: &mut [u8], factor: u8, from: &[u8]) {
    if factor != 0 {
        to.iter_mut().zip(from).for_each(|(t, &f)| *t ^= multiply(factor, f));
    }
}

/// What a node has of a generation: a basis of its span, each row led by a 1 where no row before has its lead.
#[derive(Clone, Debug)]
pub struct Span {
    size: usize,
    rank: usize,
    /// Row with its lead at this place, if any.
    lead: [bool; MAX_GENERATION],
    rows: [Vector; MAX_GENERATION],
}

impl Default for Span {
    fn default() -> Self {
        Self { size: 0, rank: 0, lead: [false; MAX_GENERATION], rows: [[0; MAX_GENERATION]; MAX_GENERATION] }
    }
}

impl Span {
    /// Forgets everything: a generation of `size` packets begins.
    pub fn clear(&mut self, size: usize) {
        debug_assert!(size <= MAX_GENERATION, "a generation has a limit");
        self.size = size;
        self.rank = 0;
        self.lead[..size].fill(false);
    }

    /// Dimension of the span.
    #[inline]
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Takes a combination in. True if it was *innovative*: not in the span before.
    pub fn insert(&mut self, mut vector: Vector) -> bool {
        let size = self.size;
        debug_assert!(
            vector[size..].iter().all(|&v| v == 0),
            "a combination is one of the generation's packets"
        );
        if self.rank == size {
            return false;
        }
        for at in 0..size {
            if vector[at] == 0 {
                continue;
            }
            if self.lead[at] {
                let factor = vector[at];
                add(&mut vector[at..size], factor, &self.rows[at][at..size]);
            } else {
                let scale = inverse(vector[at]);
                vector[at..size].iter_mut().for_each(|v| *v = multiply(scale, *v));
                self.lead[at] = true;
                self.rows[at] = vector;
                self.rank += 1;
                return true;
            }
        }
        false
    }

    /// A random combination of what is held; `bytes` gives random bytes.
    pub fn combine(&self, bytes: &mut impl FnMut() -> u8) -> Vector {
        let (mut sum, size) = ([0; MAX_GENERATION], self.size);
        debug_assert!(self.lead.iter().take(size).filter(|&&lead| lead).count() == self.rank, "a row each");
        if self.rank == size {
            sum[..size].iter_mut().for_each(|s| *s = bytes());
            return sum;
        }
        for at in (0..size).filter(|&at| self.lead[at]) {
            add(&mut sum[at..size], bytes(), &self.rows[at][at..size]);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::rng::{Purpose, Stream};

    /// Products bit by bit.
    fn slow(mut a: u8, mut b: u8) -> u8 {
        let mut product = 0;
        while b != 0 {
            product ^= if b & 1 == 1 { a } else { 0 };
            a = (a << 1) ^ if a & 0x80 == 0 { 0 } else { 0x1b };
            b >>= 1;
        }
        product
    }

    #[test]
    fn products_and_inverses_are_those_of_the_field() {
        for a in 0..=255u8 {
            for b in 0..=255u8 {
                assert_eq!(multiply(a, b), slow(a, b), "{a} {b}");
            }
            assert_eq!(multiply(a, inverse(a)), u8::from(a != 0), "{a}");
        }
    }

    #[test]
    fn ranks_are_those_of_the_vectors() {
        let mut span = Span::default();
        span.clear(3);
        let vector = |v: [u8; 3]| {
            let mut all = [0; MAX_GENERATION];
            all[..3].copy_from_slice(&v);
            all
        };
        assert!(!span.insert(vector([0, 0, 0])));
        assert!(span.insert(vector([0, 2, 3])));
        // The same direction.
        assert!(!span.insert(vector([0, multiply(7, 2), multiply(7, 3)])));
        assert!(span.insert(vector([5, 2, 3])));
        assert!(!span.insert(vector([9, 0, 0])));
        assert!(span.insert(vector([1, 1, 1])));
        assert_eq!(span.rank(), 3);
    }

    /// From rank R to a receiver of rank r in its span, a combination is innovative with probability 1 - 256^-(R - r).
    #[test]
    fn combinations_are_innovative_as_often_as_they_should_be() {
        let mut stream = Stream::new(3, Purpose::Test, 1);
        let (mut failed, tries) = (0u32, 200_000u32);
        for _ in 0..tries {
            let (mut sender, mut receiver) = (Span::default(), Span::default());
            sender.clear(4);
            receiver.clear(4);
            let mut bytes = || stream.next_u64() as u8;
            while sender.rank() < 2 {
                let mut v = [0; MAX_GENERATION];
                v[..4].iter_mut().for_each(|v| *v = bytes());
                sender.insert(v);
            }
            while receiver.rank() < 1 {
                receiver.insert(sender.combine(&mut bytes));
            }
            failed += u32::from(!receiver.insert(sender.combine(&mut bytes)));
        }
        let expected = f64::from(tries) / 256.0;
        assert!((f64::from(failed) - expected).abs() < 5.0 * expected.sqrt(), "{failed} of {expected}");
    }
}
