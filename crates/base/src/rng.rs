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
    /// Choices of arbiters that draw among requests.
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
    /// Sizes of messages, and which of a pattern's messages are background.
    Mix = 12,
    /// Latency of hosts.
    Jitter = 13,
    /// Packets that routers mark by chance.
    Mark = 14,
    /// Noise on the computations of ranks.
    Noise = 15,
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

    /// What [`Stream::next_u64`] draws at each of these positions: several at a time, which processors do side by side.
    #[inline]
    #[must_use]
    pub fn draw_at<const N: usize>(&self, counters: [u64; N]) -> [u64; N] {
        let owner = [self.owner as u32, (self.owner >> 32) as u32];
        let mut drawn = [0; N];
        philox_lanes(&counters, owner, self.key, &mut drawn);
        drawn
    }

    /// Uniform integer in `0..n` without bias (multiply and reject, Lemire 2019). `n` must not be zero.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        loop {
            let draw = self.next_u64();
            if let Some(chosen) = choose(draw, n) {
                return chosen;
            }
        }
    }

    /// What [`Stream::below`] chooses from each of these positions on.
    #[inline]
    #[must_use]
    pub fn below_at<const N: usize>(&self, counters: [u64; N], n: u64) -> [u64; N] {
        let mut chosen = self.draw_at(counters);
        for (draw, &counter) in chosen.iter_mut().zip(&counters) {
            *draw = choose(*draw, n).unwrap_or_else(|| self.at(counter).below(n));
        }
        chosen
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

/// An integer in `0..n` from 64 random bits; `None` if they are to be drawn again.
#[inline]
fn choose(draw: u64, n: u64) -> Option<u64> {
    debug_assert!(n > 0);
    let product = u128::from(draw) * u128::from(n);
    // The threshold is below n: its division is needed for one draw in 2^64 / n.
    let kept = product as u64 >= n || product as u64 >= n.wrapping_neg() % n;
    kept.then_some((product >> 64) as u64)
}

/// Multipliers of Philox4x32.
const MULTIPLIERS: [u64; 2] = [0xD251_1F53, 0xCD9E_8D57];

/// The key of Philox's next round.
#[inline]
fn next_key(key: [u32; 2]) -> [u32; 2] {
    [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)]
}

/// The first 64 bits of [`philox4x32_10`] for several counters of one owner. Words of 32 bits lie in lanes of 64, where they are multiplied: compilers
/// make vectors of the loop over counters, out of line at least.
#[inline(never)]
fn philox_lanes<const N: usize>(counters: &[u64; N], owner: [u32; 2], key: [u32; 2], into: &mut [u64; N]) {
    const LOW: u64 = u32::MAX as u64;
    for (counter, drawn) in counters.iter().zip(into) {
        let (mut a, mut b) = (counter & LOW, counter >> 32);
        let (mut c, mut d) = (u64::from(owner[0]), u64::from(owner[1]));
        let mut key = key;
        for round in 0..10 {
            if round > 0 {
                key = next_key(key);
            }
            let (p, q) = (a * MULTIPLIERS[0], c * MULTIPLIERS[1]);
            (a, b) = (q >> 32 ^ b ^ u64::from(key[0]), q & LOW);
            (c, d) = (p >> 32 ^ d ^ u64::from(key[1]), p & LOW);
        }
        *drawn = a | b << 32;
    }
}

/// The Philox4x32 bijection with ten rounds.
#[inline]
#[must_use]
pub fn philox4x32_10(mut ctr: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for round in 0..10 {
        if round > 0 {
            key = next_key(key);
        }
        let p0 = u64::from(ctr[0]) * MULTIPLIERS[0];
        let p1 = u64::from(ctr[2]) * MULTIPLIERS[1];
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

    /// Several draws at a time are those of one at a time, in either word of the counter and when a choice is drawn again.
    #[test]
    fn lanes_draw_what_streams_draw() {
        let stream = Stream::new(7, Purpose::Test, 5 << 32 | 9);
        let counters = [0, 1, 2, 3, u64::from(u32::MAX), 1 << 32, u64::MAX - 1, 77];
        assert_eq!(stream.draw_at(counters), counters.map(|c| stream.at(c).next_u64()));
        // Three draws of eight are made again.
        let n = (1 << 63) + (1 << 61);
        let many: [u64; 64] = std::array::from_fn(|i| 4 * i as u64);
        let again = many.iter().filter(|&&c| choose(stream.at(c).next_u64(), n).is_none()).count();
        assert!((8..40).contains(&again), "{again}");
        assert_eq!(stream.below_at(many, n), many.map(|c| stream.at(c).below(n)));
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
