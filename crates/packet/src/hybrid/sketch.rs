//! What terminals hand over in a period, in a few integers: packets by size of their messages, which pairs send, and how many meet.
//!
//! Pairs are bits of a map: each hashes to one of them. Packets meet that are handed over for one terminal within the time in which its link takes
//! one: they are counted by terminal and time in slots, and each hashes to one of those. So many senders that take turns and the same who all send at once
//! differ, though pairs, sizes and volume are the same. Counts add up and maps are united, so partitions' sketches merge in any order to one answer. Two
//! pairs may share a bit, and terminals a slot; as long as much fewer pairs send than there are bits, bits are pairs. What slots are shared by chance is
//! usual, too.

use super::size::SizeClass;
use base::{hash::mix64, index::TerminalId};
use serde::{Deserialize, Serialize};

/// Bits of a map for each terminal.
const BITS: u64 = 16;

/// Fewest and most bits of a map.
const RANGE: (u64, u64) = (1 << 12, 1 << 20);

/// Slots in which packets meet, a power of two.
const SLOTS: usize = 1 << 12;

/// Words before the map.
const COUNTS: usize = SizeClass::COUNT + SLOTS;

/// Most packets of a message that bypasses the network as one that are looked at: the others meet as many.
const MOST: u64 = 64;

/// What was handed over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sketch {
    /// Packets by class of size, then by slot, then the map of pairs; empty if nobody looks.
    words: Vec<u64>,
}

impl Sketch {
    /// Of nothing, on a machine of so many terminals.
    #[must_use]
    pub fn new(terminals: u32) -> Self {
        Self { words: vec![0; Self::length(terminals)] }
    }

    /// Words of a sketch.
    #[must_use]
    pub fn length(terminals: u32) -> usize {
        let bits = (u64::from(terminals) * BITS).next_power_of_two().clamp(RANGE.0, RANGE.1);
        COUNTS + (bits / 64) as usize
    }

    /// One whose [`Sketch::words`] these are.
    #[must_use]
    pub fn from_words(words: &[u64]) -> Self {
        Self { words: words.to_vec() }
    }

    /// For a checkpoint.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Packets were handed over, of a message of this size.
    #[inline]
    pub fn add(&mut self, size: SizeClass, source: TerminalId, destination: TerminalId, packets: u64) {
        let Some((counts, map)) = self.words.split_first_chunk_mut::<COUNTS>() else { return };
        counts[size.number()] += packets;
        debug_assert!((map.len() * 64).is_power_of_two(), "a mask chooses a bit");
        // A map has a power of two of bits, so a mask chooses one.
        let bit = mix64(u64::from(source) << 32 | u64::from(destination)) as usize & (map.len() * 64 - 1);
        map[bit / 64] |= 1 << (bit % 64);
    }

    /// Packets were handed over for a terminal, one in this packet time and the others in those after it.
    #[inline]
    pub fn meet(&mut self, destination: TerminalId, time: u64, packets: u64) {
        let Some(slots) = self.words.get_mut(SizeClass::COUNT..COUNTS) else { return };
        for at in time..time.saturating_add(packets.min(MOST)) {
            let slot = mix64(u64::from(destination) << 40 ^ at) as usize % SLOTS;
            slots[slot] += 1;
        }
    }

    /// Adds what was handed over elsewhere.
    pub fn merge(&mut self, other: &Self) {
        self.words.resize(self.words.len().max(other.words.len()), 0);
        // Counts add up and pairs are united: both give the same in any order of partitions.
        for (n, (mine, theirs)) in self.words.iter_mut().zip(&other.words).enumerate() {
            *mine = if n < COUNTS { *mine + theirs } else { *mine | theirs };
        }
    }

    /// What was added since this was last asked.
    #[must_use]
    pub fn take(&mut self) -> Self {
        // A fresh one of the same length: whether anybody looks does not change with time.
        let fresh = vec![0; self.words.len()];
        Self { words: std::mem::replace(&mut self.words, fresh) }
    }

    fn sizes(&self) -> &[u64] {
        &self.words[..SizeClass::COUNT.min(self.words.len())]
    }

    fn map(&self) -> &[u64] {
        self.words.get(COUNTS..).unwrap_or(&[])
    }

    /// Packets in slots.
    fn slotted(&self) -> u64 {
        self.words.get(SizeClass::COUNT..COUNTS).unwrap_or(&[]).iter().sum()
    }

    /// Pairs of packets in one slot.
    fn met(&self) -> u64 {
        let slots = self.words.get(SizeClass::COUNT..COUNTS).unwrap_or(&[]);
        slots.iter().map(|&n| n * n.saturating_sub(1) / 2).sum()
    }

    /// Bits of pairs.
    fn distinct(&self) -> u64 {
        self.map().iter().map(|w| u64::from(w.count_ones())).sum()
    }

    /// Bits of pairs that `known` lacks.
    fn novel(&self, known: &[u64]) -> u64 {
        self.map().iter().zip(known).map(|(w, k)| u64::from((w & !k).count_ones())).sum()
    }
}

/// What numbers of a period are usual.
#[derive(Clone, Copy, Debug, Default)]
struct Band {
    mean: f64,
    /// How far from the mean is not yet unusual.
    width: f64,
}

impl Band {
    /// Of a window's periods; a difference of `slack` is nothing unusual either.
    fn of(values: &[u64], slack: f64) -> Self {
        let n = values.len().max(1) as f64;
        let mean = values.iter().map(|&v| v as f64).sum::<f64>() / n;
        let variance = values.iter().map(|&v| (v as f64 - mean).powi(2)).sum::<f64>() / n;
        // A few periods may by chance be more alike than periods are: what comes at random scatters by the root of its mean at least.
        Self { mean, width: (4.0 * variance.max(mean).sqrt()).max(slack) }
    }

    fn above(&self, value: u64) -> bool {
        value as f64 > self.mean + self.width
    }

    fn holds(&self, value: u64) -> bool {
        (value as f64 - self.mean).abs() <= self.width
    }
}

/// What a window's periods have in common.
pub struct Usual {
    /// All pairs of the window.
    known: Vec<u64>,
    /// Pairs of a period that no other period has.
    novel: Band,
    distinct: Band,
    sizes: Vec<Band>,
    met: Band,
}

impl Usual {
    /// Of a window's periods. Differences of `tolerance`, of all pairs or packets of a period, are usual.
    #[must_use]
    pub fn of(periods: &[&Sketch], tolerance: f64) -> Self {
        let length = periods.first().map_or(0, |p| p.map().len());
        let unite = |all: &mut [u64], map: &[u64]| all.iter_mut().zip(map).for_each(|(a, m)| *a |= m);
        // What the periods before and after one have: united from both ends, so that leaving each out costs one pass.
        let mut after = vec![vec![0; length]; periods.len() + 1];
        for n in (0..periods.len()).rev() {
            let mut all = after[n + 1].clone();
            unite(&mut all, periods[n].map());
            after[n] = all;
        }
        let mut before = vec![0; length];
        let mut novel = Vec::new();
        for (period, after) in periods.iter().zip(&after[1..]) {
            let mut others = after.clone();
            unite(&mut others, &before);
            novel.push(period.novel(&others));
            unite(&mut before, period.map());
        }
        // What is of little weight among all packets or pairs is no change of traffic, however rare it was in the window.
        let distinct: Vec<u64> = periods.iter().map(|p| p.distinct()).collect();
        let packets: u64 = periods.iter().flat_map(|p| p.sizes()).sum();
        let each = 1.0 / periods.len().max(1) as f64;
        let pairs = tolerance * each * distinct.iter().sum::<u64>() as f64;
        let packets = tolerance * each * packets as f64;
        // With so many packets more each meets so many more: what volume may do is no change of who meets whom.
        let met: Vec<u64> = periods.iter().map(|p| p.met()).collect();
        let slotted = each * periods.iter().map(|p| p.slotted()).sum::<u64>() as f64;
        let meetings = tolerance * slotted.max(2.0 * each * met.iter().sum::<u64>() as f64);
        let of_size = |size: usize| -> Vec<u64> {
            periods.iter().map(|p| p.sizes().get(size).copied().unwrap_or(0)).collect()
        };
        Self {
            known: before,
            novel: Band::of(&novel, pairs),
            distinct: Band::of(&distinct, pairs),
            sizes: (0..SizeClass::COUNT).map(|size| Band::of(&of_size(size), packets)).collect(),
            met: Band::of(&met, meetings),
        }
    }

    /// True for a period that is none of the window's: with more pairs that are new, with more or fewer pairs, with other sizes, or with more or fewer
    /// packets that meet.
    #[must_use]
    pub fn is_left(&self, period: &Sketch) -> bool {
        // Fewer new pairs are no change: traffic that goes round in more than a window comes back to what is known.
        self.novel.above(period.novel(&self.known))
            || !self.distinct.holds(period.distinct())
            || !self.met.holds(period.met())
            || self.sizes.iter().zip(period.sizes()).any(|(band, &count)| !band.holds(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::rng::{Purpose, Stream};

    const TERMINALS: u32 = 64;

    /// A period of 200 packets of so many bytes, each to where `to` says.
    fn period(bytes: u64, mut to: impl FnMut(u32) -> u32) -> Sketch {
        let mut sketch = Sketch::new(TERMINALS);
        for n in 0..200 {
            let source = n % TERMINALS;
            sketch.add(
                SizeClass::of(bytes, 1, 4096),
                TerminalId::new(source),
                TerminalId::new(to(source)),
                1,
            );
        }
        sketch
    }

    fn usual(mut of: impl FnMut() -> Sketch) -> Usual {
        let periods: Vec<Sketch> = (0..16).map(|_| of()).collect();
        Usual::of(&periods.iter().collect::<Vec<_>>(), 0.1)
    }

    #[test]
    fn other_partners_and_other_sizes_are_noticed() {
        let shift = |by: u32, bytes| period(bytes, move |s| (s + by) % TERMINALS);
        let usual = usual(|| shift(1, 1024));
        assert!(!usual.is_left(&shift(1, 1024)), "the same");
        assert!(usual.is_left(&shift(2, 1024)), "a permutation redrawn");
        assert!(usual.is_left(&shift(1, 256)), "another size of messages");
        let mut few = shift(1, 1024);
        few.merge(&period(1024, |s| if s < 3 { s + 9 } else { s + 1 } % TERMINALS));
        assert!(usual.is_left(&few), "twice as much");
    }

    /// The same packets for the same terminals: in turn, or all at once.
    #[test]
    fn packets_that_meet_are_noticed() {
        let together = |senders: u64| {
            let mut sketch = Sketch::new(TERMINALS);
            for n in 0..1_920 {
                sketch.meet(TerminalId::new((n / senders % 64) as u32), 100 * (n / senders), 1);
            }
            sketch
        };
        let usual = usual(|| together(1));
        assert!(!usual.is_left(&together(1)), "the same");
        for senders in [2, 3, 10, 64] {
            let met = together(senders).met() as f64 / (960 * (senders - 1)) as f64;
            assert!((0.9..1.6).contains(&met), "{senders} senders met {met} times as often");
            assert!(usual.is_left(&together(senders)), "{senders} at once");
        }
        let mut message = Sketch::new(TERMINALS);
        message.meet(TerminalId::new(3), 50, 20);
        assert_eq!((message.slotted(), message.met()), (20, 0), "packets of a message follow each other");
        message.meet(TerminalId::new(3), 60, 20);
        assert_eq!(message.met(), 10);
    }

    #[test]
    fn random_traffic_is_usual_until_it_is_none() {
        let mut random = Stream::new(9, Purpose::Test, 0);
        let mut uniform = || period(1024, |_| random.below(u64::from(TERMINALS)) as u32);
        let usual = usual(&mut uniform);
        let strange = (0..1000).filter(|_| usual.is_left(&uniform())).count();
        assert!(strange <= 10, "{strange} of 1000");
        assert!(usual.is_left(&period(1024, |s| (s + 1) % TERMINALS)), "from uniform to a permutation");
    }

    #[test]
    fn merged_in_any_order_it_is_one_sketch() {
        let (a, b) = (period(8, |s| s ^ 1), period(4096, |s| s ^ 2));
        let (mut ab, mut ba) = (a.clone(), b.clone());
        ab.merge(&b);
        ba.merge(&a);
        assert_eq!(ab, ba);
        assert_eq!(ab.distinct(), ab.novel(&vec![0; ab.map().len()]));
        let mut none = Sketch::default();
        none.add(SizeClass::default(), TerminalId::new(1), TerminalId::new(2), 1);
        assert_eq!((none.clone(), none.distinct()), (Sketch::default(), 0), "nobody looks");
        none.merge(&ab);
        assert_eq!((Sketch::from_words(ab.words()), none), (ab.clone(), ab.clone()));
        assert_eq!((ab.take(), ab), (ba, Sketch::new(TERMINALS)), "what is taken is gone");
    }
}
