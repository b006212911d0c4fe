//! What is learned of latencies where packets are delivered: by the size of messages, integer sums by pair, and histograms by distance.
//!
//! Memory is constant per pair and size that is sent, about 80 bytes. Sums merge in any order to one answer.

use super::{size::SizeClass, sketch::Sketch};
use base::{
    index::{Column, TerminalId},
    sorted::SortedMap,
    time::Ps,
};
use fabric::graph::Fabric;
use fabric::metrics::Hops;
use results::histogram::LatencyHistogram;
use serde::{Deserialize, Serialize};

/// Distances of the machine and what no packet can beat.
pub struct Shape {
    /// Number of terminals: of nodes, unless nodes have several.
    pub terminals: u32,
    /// Node of each terminal.
    node_of: Column<TerminalId, TerminalId>,
    hops: Hops,
    /// Contention-free latency of a packet of one short chunk: terminals' links and the first router, and each further router.
    floor: (Ps, Ps),
    /// [`Shape::floor`] of no pair is above.
    most: Ps,
}

impl Shape {
    /// Of a fabric. Terminals' links and the first router need at least the time `first`, each further router at least `further`.
    ///
    /// # Errors
    /// If the fabric has too many routers for a table of distances.
    pub fn new(fabric: &Fabric, first: Ps, further: Ps) -> Result<Self, String> {
        let node_of = TerminalId::first(fabric.terminals()).map(|t| fabric.node_of(t)).collect();
        let hops = Hops::of(fabric)?;
        // The floor of the farthest pair: above it no pair needs a look.
        let most = first + further * u64::from(hops.most());
        Ok(Self { terminals: fabric.terminals(), node_of, hops, floor: (first, further), most })
    }

    /// Routers on a shortest path between two terminals.
    #[must_use]
    pub fn routers(&self, source: TerminalId, destination: TerminalId) -> u32 {
        self.hops.between(self.node_of[source], self.node_of[destination]) + 1
    }

    /// [`Shape::floor`] of the two terminals that are farthest from each other.
    #[inline]
    #[must_use]
    pub fn most(&self) -> Ps {
        self.most
    }

    /// No packet between two terminals takes less.
    #[must_use]
    pub fn floor(&self, source: TerminalId, destination: TerminalId) -> Ps {
        let floor = self.floor.0 + self.floor.1 * u64::from(self.routers(source, destination) - 1);
        debug_assert!(floor <= self.most, "no pair is farther than the farthest");
        floor
    }
}

/// Latencies of one pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Number of packets that were seen.
    pub count: u64,
    /// Sum of their latencies.
    pub sum: u128,
}

impl Seen {
    /// Adds those of other packets.
    pub fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.sum += other.sum;
    }

    /// Rounded mean; `None` without packets.
    #[must_use]
    pub fn mean(&self) -> Option<Ps> {
        let (sum, count) = (self.sum, u128::from(self.count));
        (count > 0).then(|| ((sum + count / 2) / count) as Ps)
    }
}

/// Latencies of a span of time, by size of messages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BySize {
    /// By class, ascending.
    sizes: Vec<(SizeClass, Learned)>,
    /// All packets, by number of the batch of time in which they were delivered; ascending.
    batches: Vec<(u64, Seen)>,
}

impl BySize {
    /// What was learned of a class; made if there is nothing yet.
    fn class(&mut self, size: SizeClass) -> &mut Learned {
        // Few classes, and mostly the one of the packet before: looking at each is faster than a search.
        let at = self.sizes.iter().position(|c| c.0 >= size).unwrap_or(self.sizes.len());
        if self.sizes.get(at).is_none_or(|c| c.0 != size) {
            self.sizes.insert(at, (size, Learned::default()));
        }
        debug_assert!(self.sizes.is_sorted_by_key(|c| c.0), "classes ascend");
        &mut self.sizes[at].1
    }

    /// Packets of a batch of time; made if there are none yet.
    fn batch(&mut self, number: u64) -> &mut Seen {
        // Packets are delivered in the order of time, but for those of other partitions that are added.
        let mut at = self.batches.len();
        while at > 0 && self.batches[at - 1].0 > number {
            at -= 1;
        }
        if at == 0 || self.batches[at - 1].0 != number {
            self.batches.insert(at, (number, Seen::default()));
            at += 1;
        }
        debug_assert!(self.batches[at - 1].0 == number, "a batch is found by its number");
        &mut self.batches[at - 1].1
    }

    /// Adds a packet that was delivered in such a batch of time.
    pub fn record(
        &mut self,
        shape: &Shape,
        size: SizeClass,
        batch: u64,
        source: TerminalId,
        destination: TerminalId,
        latency: Ps,
    ) {
        self.batch(batch).merge(Seen { count: 1, sum: u128::from(latency) });
        self.class(size).record(shape, source, destination, latency);
    }

    /// Adds what was learned elsewhere.
    pub fn merge(&mut self, other: &Self) {
        other.sizes.iter().for_each(|(size, learned)| self.class(*size).merge(learned));
        other.batches.iter().for_each(|(number, seen)| self.batch(*number).merge(*seen));
    }

    /// All packets of the span together.
    #[must_use]
    pub fn total(&self) -> Seen {
        let mut total = Seen::default();
        self.batches.iter().for_each(|&(_, seen)| total.merge(seen));
        total
    }

    /// Classes that were seen, ascending.
    #[must_use]
    pub fn classes(&self) -> &[(SizeClass, Learned)] {
        &self.sizes
    }

    /// All packets, by number of their batch of time, ascending.
    #[must_use]
    pub fn batches(&self) -> &[(u64, Seen)] {
        &self.batches
    }
}

/// Latencies of a span of time and one class of sizes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Learned {
    /// By source and destination terminal.
    pub pairs: SortedMap<(TerminalId, TerminalId), Seen>,
    /// By routers on a shortest path, from 1.
    pub classes: Vec<LatencyHistogram>,
    /// Latency over the mean of the pair's packets before it, in units of 2^-20, by the same; pairs with fewer than eight are left out.
    pub ratios: Vec<LatencyHistogram>,
}

/// Unit of [`Learned::ratios`], as a power of two.
pub const RATIO: u32 = 20;

/// Packets of a pair, or a source, whose mean is trusted.
pub const TRUSTED: u64 = 8;

impl Learned {
    /// Adds a packet.
    pub fn record(&mut self, shape: &Shape, source: TerminalId, destination: TerminalId, latency: Ps) {
        let pair = self.pairs.entry((source, destination)).or_default();
        // The ratio is to the mean of the packets *before* this one: including it would pull the ratio of rare pairs to one.
        let before = *pair;
        pair.merge(Seen { count: 1, sum: u128::from(latency) });
        let class = shape.routers(source, destination) as usize - 1;
        if class >= self.classes.len() {
            self.classes.resize_with(class + 1, LatencyHistogram::new);
            self.ratios.resize_with(class + 1, LatencyHistogram::new);
        }
        self.classes[class].record(latency);
        if before.count >= TRUSTED {
            debug_assert!(before.count > 0);
            // In integers, so that partitions' histograms merge to the same bits in any order.
            let ratio = (u128::from(latency) << RATIO) * u128::from(before.count) / before.sum.max(1);
            self.ratios[class].record(ratio as Ps);
        }
    }

    /// Adds what was learned elsewhere.
    pub fn merge(&mut self, other: &Self) {
        for (&pair, &seen) in &other.pairs {
            self.pairs.entry(pair).or_default().merge(seen);
        }
        if self.classes.len() < other.classes.len() {
            self.classes.resize_with(other.classes.len(), LatencyHistogram::new);
            self.ratios.resize_with(other.classes.len(), LatencyHistogram::new);
        }
        self.classes.iter_mut().zip(&other.classes).for_each(|(mine, theirs)| mine.merge(theirs));
        self.ratios.iter_mut().zip(&other.ratios).for_each(|(mine, theirs)| mine.merge(theirs));
    }

    /// All packets of the span together.
    #[must_use]
    pub fn total(&self) -> Seen {
        let mut total = Seen::default();
        self.pairs.values().for_each(|&seen| total.merge(seen));
        total
    }
}

/// What a learner is given at a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forget {
    /// Nothing: all that was learned goes on to count.
    Nothing,
    /// The older half.
    Half,
    /// Both halves: everything that was learned.
    All,
}

/// Adds sums, of which the longer list has more.
pub(super) fn add(a: &mut Vec<Ps>, b: &[Ps]) {
    a.resize(a.len().max(b.len()), 0);
    a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
}

/// A partition's learner: two halves, of which the older is forgotten first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Learner {
    halves: [BySize; 2],
    /// Packets delivered by the network so far.
    pub network: Seen,
    /// Packets delivered by prediction so far.
    pub predicted: Seen,
    /// By destination, link time of what was handed over since it was last asked; may be short.
    offered: Vec<Ps>,
    /// What was handed over since it was last taken; empty if the director does not look at it.
    pub sketch: Sketch,
}

impl Learner {
    /// Nothing learned; adds to this sketch.
    #[must_use]
    pub fn new(sketch: Sketch) -> Self {
        Self { sketch, ..Self::default() }
    }

    /// The network delivered a packet.
    pub fn delivered(
        &mut self,
        shape: &Shape,
        size: SizeClass,
        batch: u64,
        source: TerminalId,
        destination: TerminalId,
        latency: Ps,
    ) {
        self.network.merge(Seen { count: 1, sum: u128::from(latency) });
        self.halves[1].record(shape, size, batch, source, destination, latency);
    }

    /// A terminal handed something over that takes a terminal's link so long.
    #[inline]
    pub fn offered(&mut self, destination: TerminalId, time: Ps) {
        let at = destination.index();
        if at >= self.offered.len() {
            self.offered.resize(at + 1, 0);
        }
        self.offered[at] += time;
    }

    /// By destination, link time of what was handed over since this was last asked.
    #[must_use]
    pub fn take_offered(&mut self) -> Vec<Ps> {
        // As long as the one that is taken: it grows to the greatest destination once, not at every tick.
        let fresh = vec![0; self.offered.len()];
        std::mem::replace(&mut self.offered, fresh)
    }

    /// Everything that is remembered.
    #[must_use]
    pub fn learned(&self) -> BySize {
        let mut all = self.halves[0].clone();
        all.merge(&self.halves[1]);
        all
    }

    /// Everything that is remembered; the learner forgets it.
    #[must_use]
    pub fn hand_over(&mut self) -> BySize {
        let mut all = std::mem::take(&mut self.halves[0]);
        let newer = std::mem::take(&mut self.halves[1]);
        // After a return all is in the newer half: moving it spares a copy of every pair.
        if all == BySize::default() {
            return newer;
        }
        all.merge(&newer);
        all
    }

    /// Adds what another partition learned.
    pub fn merge(&mut self, other: &Self) {
        self.halves.iter_mut().zip(&other.halves).for_each(|(mine, theirs)| mine.merge(theirs));
        self.network.merge(other.network);
        self.predicted.merge(other.predicted);
        add(&mut self.offered, &other.offered);
        self.sketch.merge(&other.sketch);
    }

    /// Forgets as much as it is given.
    pub fn forget(&mut self, what: Forget) {
        match what {
            Forget::Nothing => {}
            // Two halves slide in steps: what is remembered is between half a window and a whole one, without a time for each packet.
            Forget::Half => self.halves.swap(0, 1),
            Forget::All => self.halves[0] = BySize::default(),
        }
        if what != Forget::Nothing {
            self.halves[1] = BySize::default();
        }
    }
}
