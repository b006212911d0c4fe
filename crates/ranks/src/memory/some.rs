//! Some ranks that stand for all: which, and how much more than their mean is taken.

use base::index::RankId;

/// So many ranks are read to their end; more would take longer than they tell.
pub const ASKED: u32 = 64;

/// So many ranks that stand for all: the first, and others in steps that have nothing in common with a grid of ranks. All, if there are few.
pub fn asked(ranks: u32, most: u32) -> impl Iterator<Item = RankId> {
    /// 2^32 times the golden ratio's fraction.
    const STEP: u32 = 0x9e37_79b9;
    let place = move |n: u32| match ranks > most {
        true => ((u64::from(n.wrapping_mul(STEP)) * u64::from(ranks)) >> 32) as u32,
        false => n,
    };
    (0..most.min(ranks)).map(move |n| RankId::new(place(n)))
}

/// By how much more than their mean is taken where these stand for so many: four standard errors, or nothing if they are all.
pub fn above(counts: &[f64], of: u32) -> f64 {
    let asked = counts.len() as f64;
    let mean = counts.iter().sum::<f64>() / asked.max(1.0);
    if asked >= f64::from(of) || mean <= 0.0 {
        return 1.0;
    }
    let squares: f64 = counts.iter().map(|count| (count - mean).powi(2)).sum();
    let error = (squares / (asked - 1.0).max(1.0) / asked).sqrt();
    1.0 + 4.0 * error / mean
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only every eighth rank sends, and not the first: a sample in steps of a power of two would miss all.
    #[test]
    fn the_sample_meets_those_that_send() {
        for first in 0..8 {
            let met = asked(4096, ASKED).filter(|rank| rank.number() % 8 == first).count();
            assert!((4..=12).contains(&met), "{met} of ranks from {first} on");
        }
    }

    /// The error of a mean of n is the deviation over the root of n.
    #[test]
    fn what_is_alike_has_no_error() {
        assert!((above(&[5.0; 8], 100) - 1.0).abs() < 1e-12);
        assert!((above(&[4.0, 6.0, 4.0, 6.0], 4) - 1.0).abs() < 1e-12);
        let deviation = (4.0f64 / 3.0).sqrt();
        assert!((above(&[4.0, 6.0, 4.0, 6.0], 5) - (1.0 + 4.0 * deviation / 2.0 / 5.0)).abs() < 1e-12);
    }
}
