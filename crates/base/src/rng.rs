//! Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, SC'11).
//!
//! A draw is a pure function of (seed, purpose, owner, counter): a rollback restores one integer, and a new
//! consumer of random numbers does not shift anybody else's.

/// What a stream is used for; keeps streams of one owner apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Purpose {
    /// Destinations of synthetic traffic.
    Destination = 1,
    /// Times between arrivals.
    Arrival = 2,
    /// Choices among routes.
    Route = 3,
    /// Permutations and other set-up of a workload.
    Setup = 4,
    /// Placement of ranks on terminals.
    Placement = 5,
    /// Random arbiters.
    Arbiter = 6,
    /// Order of simultaneous events.
    Tie = 7,
    /// Tests and benchmarks.
    Test = 8,
    /// Which links and routers fail.
    Fault = 9,
    /// Losses and coefficients of resilient protocols.
    Protocol = 10,
    /// Packets that links of a network lose or that are changed on them.
    Loss = 11,
}

/// A position in one stream. Copy it to fork a position; `counter` is all of its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    key: [u32; 2],
    owner: u64,
    /// Number of 64-bit draws made so far.
    pub counter: u64,
}

impl Stream {
    /// The stream of `owner` for `purpose` under `seed`, at its beginning.
    #[must_use]
    pub fn new(seed: u64, purpose: Purpose, owner: u64) -> Self {
        let k = crate::hash::mix64(seed ^ (purpose as u64) << 56);
        Self { key: [k as u32, (k >> 32) as u32], owner, counter: 0 }
    }

    /// The stream of another owner, at its beginning.
    #[inline]
    #[must_use]
    pub fn owned_by(self, owner: u64) -> Self {
        Self { owner, counter: 0, ..self }
    }

    /// Whose stream it is.
    #[inline]
    #[must_use]
    pub fn owner(&self) -> u64 {
        self.owner
    }

    /// The same stream at a given position.
    #[must_use]
    pub fn at(mut self, counter: u64) -> Self {
        self.counter = counter;
        self
    }

    /// Next 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let c = self.counter;
        self.counter += 1;
        let out = philox4x32_10(
            [c as u32, (c >> 32) as u32, self.owner as u32, (self.owner >> 32) as u32],
            self.key,
        );
        u64::from(out[0]) | u64::from(out[1]) << 32
    }

    /// Uniform integer in `0..n` without bias (multiply and reject, Lemire 2019). `n` must not be zero.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        debug_assert!(n > 0);
        loop {
            let product = u128::from(self.next_u64()) * u128::from(n);
            // The threshold is below n: its division is needed for one draw in 2^64 / n.
            if product as u64 >= n || product as u64 >= n.wrapping_neg() % n {
                return (product >> 64) as u64;
            }
        }
    }

    /// Uniform in (0, 1] with 53 bits: never zero, so that its logarithm is finite.
    #[inline]
    pub fn unit_open(&mut self) -> f64 {
        ((self.next_u64() >> 11) + 1) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// Shuffles a slice (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

/// The Philox4x32 bijection with ten rounds.
#[inline]
#[must_use]
pub fn philox4x32_10(mut ctr: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for round in 0..10 {
        if round > 0 {
            key[0] = key[0].wrapping_add(0x9E37_79B9);
            key[1] = key[1].wrapping_add(0xBB67_AE85);
        }
        let p0 = u64::from(ctr[0]) * 0xD251_1F53;
        let p1 = u64::from(ctr[2]) * 0xCD9E_8D57;
        ctr =
            [(p1 >> 32) as u32 ^ ctr[1] ^ key[0], p1 as u32, (p0 >> 32) as u32 ^ ctr[3] ^ key[1], p0 as u32];
    }
    ctr
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known answers published with the Random123 library (kat_vectors, philox 4x32 10).
    #[test]
    fn known_answers() {
        assert_eq!(philox4x32_10([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(
            philox4x32_10([u32::MAX; 4], [u32::MAX; 2]),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
        assert_eq!(
            philox4x32_10([0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344], [0xa409_3822, 0x299f_31d0]),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    #[test]
    fn streams_differ_by_purpose_owner_and_seed() {
        let first = |s: u64, p, o| Stream::new(s, p, o).next_u64();
        let a = first(1, Purpose::Route, 0);
        assert_ne!(a, first(2, Purpose::Route, 0));
        assert_ne!(a, first(1, Purpose::Arrival, 0));
        assert_ne!(a, first(1, Purpose::Route, 1));
    }

    #[test]
    fn below_is_even() {
        let mut s = Stream::new(3, Purpose::Test, 0);
        let mut counts = [0u32; 7];
        for _ in 0..70_000 {
            counts[s.below(7) as usize] += 1;
        }
        assert!(counts.iter().all(|&c| (9_600..=10_400).contains(&c)), "{counts:?}");
    }
}
