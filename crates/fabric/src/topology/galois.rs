//! Small finite fields GF(q), q = p^k, for topologies built from them.
//!
//! An element is a number below q whose digits in base p are the coefficients of a polynomial, the lowest first; 0 and 1
//! are the field's. Products go through powers of a primitive element, sums digit by digit.

/// A finite field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    q: u32,
    p: u32,
    /// `powers[i]` is the i-th power of the primitive element, for i below q - 1.
    powers: Vec<u32>,
    /// Its inverse for elements other than 0; that entry is unused.
    logs: Vec<u32>,
}

impl Field {
    /// The field of `q` elements, or `None` if `q` is no power of a prime. It takes time q^2 at most.
    #[must_use]
    pub fn new(q: u32) -> Option<Self> {
        let (p, k) = prime_power(q)?;
        // The primitive element is x modulo x^k = r(x). Some r makes its powers run through all elements but 0, for
        // every field has a primitive element; that they do is the proof that x^k - r(x) is irreducible.
        let powers = (1..q).find_map(|r| all_powers(q, p, k, r))?;
        let mut logs = vec![0; q as usize];
        for (log, &element) in powers.iter().enumerate() {
            logs[element as usize] = log as u32;
        }
        Some(Self { q, p, powers, logs })
    }

    /// Number of elements.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.q
    }

    /// The i-th power of the primitive element.
    #[must_use]
    pub fn power(&self, i: u32) -> u32 {
        self.powers[(i % (self.q - 1)) as usize]
    }

    /// a + b.
    #[must_use]
    pub fn add(&self, a: u32, b: u32) -> u32 {
        self.digits(a, b, |x, y| (x + y) % self.p)
    }

    /// a - b.
    #[must_use]
    pub fn sub(&self, a: u32, b: u32) -> u32 {
        self.digits(a, b, |x, y| (x + self.p - y) % self.p)
    }

    /// The product a b in the field.
    #[must_use]
    pub fn mul(&self, a: u32, b: u32) -> u32 {
        if a == 0 || b == 0 { 0 } else { self.power(self.logs[a as usize] + self.logs[b as usize]) }
    }

    fn digits(&self, mut a: u32, mut b: u32, of: impl Fn(u32, u32) -> u32) -> u32 {
        let (mut result, mut weight) = (0, 1);
        while a > 0 || b > 0 {
            result += weight * of(a % self.p, b % self.p);
            (a, b, weight) = (a / self.p, b / self.p, weight * self.p);
        }
        result
    }
}

/// The prime and the exponent of a prime power.
#[must_use]
pub fn prime_power(q: u32) -> Option<(u32, u32)> {
    let p = (2..=q).find(|d| q.is_multiple_of(*d) || d * d > q)?;
    let p = if q.is_multiple_of(p) { p } else { q };
    let (mut rest, mut k) = (q, 0);
    while rest.is_multiple_of(p) {
        rest /= p;
        k += 1;
    }
    (rest == 1).then_some((p, k))
}

/// Powers 0 to q - 2 of x modulo x^k = r(x), if the next is 1 and none before it but the first.
fn all_powers(q: u32, p: u32, k: u32, r: u32) -> Option<Vec<u32>> {
    let top = q / p;
    let (mut powers, mut last) = (Vec::new(), 1);
    for _ in 1..q {
        powers.push(last);
        // Times x, then carry times r for the digit shifted out.
        let (carry, mut next) = (last / top, last % top * p);
        let (mut weight, mut rest) = (1, r);
        for _ in 0..k {
            let digit = next / weight % p;
            next = next - digit * weight + (digit + carry * (rest % p)) % p * weight;
            (weight, rest) = (weight * p, rest / p);
        }
        last = next;
        if last == 1 {
            break;
        }
    }
    (last == 1 && powers.len() + 1 == q as usize).then_some(powers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prime_powers_are_distinguished_from_other_numbers() {
        let found: Vec<u32> = (0..33).filter(|&q| prime_power(q).is_some()).collect();
        assert_eq!(found, [2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25, 27, 29, 31, 32]);
        assert_eq!(
            (prime_power(81), prime_power(49), prime_power(97)),
            (Some((3, 4)), Some((7, 2)), Some((97, 1)))
        );
    }

    #[test]
    fn the_laws_of_a_field_hold() {
        for q in [2, 3, 4, 5, 7, 8, 9, 16, 25, 27] {
            let f = Field::new(q).unwrap();
            let all = || 0..q;
            for (a, b) in all().flat_map(|a| all().map(move |b| (a, b))) {
                assert_eq!((f.add(a, b), f.mul(a, b)), (f.add(b, a), f.mul(b, a)));
                assert_eq!(f.sub(f.add(a, b), b), a);
                assert_eq!(f.mul(a, b) == 0, a == 0 || b == 0, "no divisors of zero in GF({q})");
                for c in all() {
                    assert_eq!(f.mul(a, f.add(b, c)), f.add(f.mul(a, b), f.mul(a, c)), "GF({q})");
                    assert_eq!(f.mul(a, f.mul(b, c)), f.mul(f.mul(a, b), c));
                    assert_eq!(f.add(a, f.add(b, c)), f.add(f.add(a, b), c));
                }
            }
            assert!(all().all(|a| f.mul(a, 1) == a && f.add(a, 0) == a));
        }
        assert!(Field::new(6).is_none() && Field::new(1).is_none() && Field::new(0).is_none());
    }
}
