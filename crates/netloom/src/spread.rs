//! Numbers of many ranks in few: what `trace info` prints.

/// Smallest, mean and largest of some numbers, and whose the largest is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The smallest; the largest that there is if there is no number.
    pub min: u64,
    /// The arithmetic mean; 0 if there is no number.
    pub mean: f64,
    /// The largest; 0 if there is no number.
    pub max: u64,
    /// Place of the first that is as large.
    pub max_at: usize,
}

impl Spread {
    /// Of numbers in their order.
    pub fn of(numbers: impl Iterator<Item = u64>) -> Self {
        let mut spread = Self { min: u64::MAX, mean: 0.0, max: 0, max_at: 0 };
        let (mut sum, mut count) = (0u128, 0u32);
        for (at, number) in numbers.enumerate() {
            spread.min = spread.min.min(number);
            if number > spread.max {
                (spread.max, spread.max_at) = (number, at);
            }
            (sum, count) = (sum + u128::from(number), count + 1);
        }
        spread.mean = sum as f64 / f64::from(count.max(1));
        spread
    }
}

/// From and to how many bytes the messages of a bin of a [`Census`](workload::program::census::Census) are: powers of two.
#[must_use]
pub fn size_bin(index: usize) -> (u64, u64) {
    match index {
        0 => (0, 0),
        _ => (1 << (index - 1), u64::MAX >> (64 - index)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_four() {
        let spread = Spread::of([3, 9, 0, 9].into_iter());
        assert_eq!(spread, Spread { min: 0, mean: 5.25, max: 9, max_at: 1 });
        assert_eq!(
            (size_bin(0), size_bin(1), size_bin(4), size_bin(64)),
            ((0, 0), (1, 1), (8, 15), (1 << 63, u64::MAX))
        );
    }
}
