//! Collective operations as point-to-point messages.
//!
//! An algorithm is two pure functions of a [`Task`], which is one rank's part of one call: how many *rounds* the rank has,
//! and what it does in round i. In a round it posts receives and sends one after the other; the next round begins when all of
//! them have finished (unless the round says [`Sink::wait`]). So nothing is kept but a round's index, any rank's part can be made
//! at any time, and a large call never exists as a whole.
//!
//! Every transfer says which [`Piece`] of the data it carries. A replay only asks for its size; the tests of this module follow
//! the pieces and prove for each algorithm that everybody ends up with what MPI promises.
//!
//! All ranks of a call must give the same bytes (and counts, except for all-to-alls), or they may take different algorithms; reductions
//! count as commutative. Inter-communicators are not modelled.
//!
//! A vector that is cut among ranks is cut by bytes, as evenly as possible, whatever the size of its elements. Calls that
//! move nothing (0 bytes, except barriers, or one rank) send no messages, as in MPICH and Open MPI. Data that stays on its rank
//! is not copied at any cost.

pub(crate) mod allgather;
pub(crate) mod allreduce;
pub(crate) mod alltoall;
pub(crate) mod barrier;
pub(crate) mod bcast;
pub(crate) mod behind;
pub(crate) mod choice;
pub(crate) mod chooser;
pub(crate) mod direct;
pub(crate) mod gather;
pub(crate) mod mpich;
pub(crate) mod neighbour;
pub(crate) mod openmpi;
pub(crate) mod reduce;
pub(crate) mod reduce_scatter;
pub mod registry;
pub(crate) mod scan;
pub(crate) mod smpi;
pub(crate) mod smpi_bcast;
pub(crate) mod smpi_blocks;
pub(crate) mod smpi_ompi;
pub(crate) mod smpi_reduce;
pub(crate) mod table;
pub(crate) mod tables;
pub(crate) mod tree;

#[cfg(test)]
mod check;

pub use choice::Choice;
pub use chooser::Chooser;
pub use registry::{ALGORITHMS, Algorithm};
pub use table::Table;
pub use tables::TABLES;

use super::mpi::{Collective, CollectiveKind, CommRank};
use base::param::{Kind, Param};
use std::sync::Arc;

/// Most transfers that a round posts, where an algorithm has many at once: longer ones go on in open rounds.
pub(crate) const CHUNK: u32 = 32;

/// Setting of algorithms that cut the vector into segments.
pub(crate) const fn segment(default: &'static str) -> Param {
    let doc = "bytes of a segment of the vector; 0 B sends it as a whole";
    Param { name: "segment", kind: Kind::Bytes, default: Some(default), doc }
}

/// Setting of k-nomial trees.
pub(crate) const RADIX: Param = Param {
    name: "radix",
    kind: Kind::Int { min: 2, max: 1 << 16 },
    default: Some("4"),
    doc: "radix k of the tree; 2 is the binomial tree",
};

/// Setting of algorithms that limit outstanding transfers.
pub(crate) const WINDOW: Param = Param {
    name: "window",
    kind: Kind::Int { min: 1, max: 1 << 16 },
    default: Some("32"),
    doc: "most receives, and most sends, outstanding at once",
};

/// One rank's part of a collective call.
#[derive(Clone, Debug)]
pub struct Task {
    /// Which collective of MPI; it decides what `bytes` and `counts` mean.
    pub kind: CollectiveKind,
    /// Whose part it is.
    pub rank: CommRank,
    /// Ranks of the communicator.
    pub size: u32,
    /// Root, or 0.
    pub root: CommRank,
    /// False for the form that does not wait for its end.
    pub blocking: bool,
    /// Bytes of the vector or of one block, see [`Collective::bytes`]; where there are `counts`, these apply instead.
    pub bytes: u64,
    /// Bytes by rank or neighbour, see [`Collective::counts`]; `None` if all blocks have `bytes`.
    pub counts: Option<Arc<[u64]>>,
    /// Ranks that [`Piece::Neighbour`] counts through, from 0; see [`Collective::neighbours`].
    pub neighbours: Option<Arc<[CommRank]>>,
    /// Bytes of a segment, for algorithms that pipeline; 0 is one segment.
    pub segment: u64,
    /// Radix of k-nomial trees, or the window of algorithms that limit outstanding requests.
    pub radix: u32,
    /// A call without data has its messages all the same, of no bytes; the chooser sets it.
    pub(crate) sends_empty: bool,
    /// What runs a call that is part of this one, by the table of SMPI's selector; the chooser sets it.
    pub(crate) within: Option<&'static Within>,
}

/// Runs calls that are parts of another call, with the algorithm that a table takes for them.
#[derive(Debug)]
pub(crate) struct Within {
    /// Number of rounds.
    rounds: fn(Task) -> u32,
    /// What happens in a round.
    round: fn(Task, u32, &mut dyn Sink),
}

/// Which part of the data a transfer carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Nothing: a signal.
    Signal,
    /// Bytes of the one vector that bcast, reduce, allreduce, scan and exscan work on.
    Bytes {
        /// Position of the first byte.
        start: u64,
        /// Number of bytes.
        len: u64,
    },
    /// The blocks of `count` ranks from `first` on, going round: what these ranks contribute to a gather or allgather, or get
    /// from a scatter or `reduce_scatter`.
    Blocks {
        /// Rank whose block comes first, below [`Task::size`]; rank 0 follows the last one.
        first: CommRank,
        /// Number of ranks.
        count: u32,
    },
    /// These blocks as they came with the message before, not combined with the rank's own.
    Received {
        /// Rank whose block comes first, below [`Task::size`].
        first: CommRank,
        /// Number of ranks.
        count: u32,
    },
    /// The block from one rank to another, of an all-to-all.
    Pair {
        /// Whose it is.
        from: CommRank,
        /// Who shall get it.
        to: CommRank,
    },
    /// All blocks at hand whose way (receiver minus sender, modulo ranks) has a certain bit set: Bruck's all-to-all.
    Offsets {
        /// Number of the bit, 0 for the lowest; also the number of Bruck's round.
        bit: u32,
    },
    /// The block for or from the neighbour with this index.
    Neighbour(u32),
    /// Part of a rank's block.
    Part {
        /// Whose block it is.
        of: CommRank,
        /// Position of the first byte.
        start: u64,
        /// Number of bytes.
        len: u64,
    },
}

/// What is done with received data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It is kept as it is.
    Store,
    /// It is combined with the rank's own by the reduction.
    Combine,
    /// For scans: it is combined with the running total that is passed on, but not with this rank's result.
    Pass,
}

/// What the round after one waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Wait {
    /// All transfers that are outstanding.
    #[default]
    All,
    /// One of them, by its place.
    One(usize),
    /// None: the rounds are one.
    None,
}

/// Takes a rank's rounds.
pub trait Sink {
    /// Posts a receive. Within a round receives come before the sends that they may meet.
    fn recv(&mut self, peer: CommRank, piece: Piece, how: How);
    /// Posts a send.
    fn send(&mut self, peer: CommRank, piece: Piece);
    /// The next round waits for one of the outstanding transfers only: that at this place among all that no round has waited for yet, the
    /// oldest first. The others stay outstanding. The last round of a call waits for all whatever it says.
    fn wait(&mut self, place: usize);
    /// The next round continues this one: it starts at once, and what it waits for later includes this round.
    fn open(&mut self);
}

impl Task {
    /// One rank's part of a call on a communicator.
    ///
    /// # Errors
    /// What is wrong with the call.
    pub fn new(call: &Collective, rank: CommRank, size: u32) -> Result<Self, String> {
        use CollectiveKind::{
            Alltoallv, Alltoallw, Bcast, Gather, Gatherv, NeighborAllgather, NeighborAlltoall, Reduce,
            Scatter, Scatterv,
        };
        let v = matches!(call.kind, Gatherv | Scatterv | Alltoallv | Alltoallw)
            || matches!(call.kind, CollectiveKind::Allgatherv | CollectiveKind::ReduceScatter);
        let neighbours = matches!(call.kind, NeighborAllgather | NeighborAlltoall);
        let rooted = matches!(call.kind, Bcast | Gather | Gatherv | Scatter | Scatterv | Reduce);
        let root = if rooted { call.root } else { CommRank::new(0) };
        let pairs = matches!(call.kind, Alltoallv | Alltoallw | NeighborAlltoall);
        if root.number() >= size {
            return Err(format!("root {root} is not among the {size} ranks of the communicator"));
        }
        let partners = match &call.neighbours {
            Some(list) if neighbours => list.len(),
            None if neighbours => return Err("a neighbourhood collective needs its neighbours".to_owned()),
            _ => size as usize,
        };
        let expected = partners * if pairs { 2 } else { 1 };
        match &call.counts {
            Some(counts) if (v || pairs) && counts.len() != expected => {
                return Err(format!("{expected} counts are needed, {} are given", counts.len()));
            }
            None if v => return Err("the counts of this collective are missing".to_owned()),
            _ => {}
        }
        let null = super::mpi::PROC_NULL;
        let foreign = |n: &&CommRank| n.number() >= size && **n != null;
        if let Some(n) = call.neighbours.iter().flat_map(|list| list.iter()).find(foreign) {
            return Err(format!("neighbour {n} is not among the {size} ranks of the communicator"));
        }
        Ok(Self {
            kind: call.kind,
            rank,
            size,
            root,
            blocking: call.request.is_none(),
            bytes: call.bytes,
            counts: call.counts.clone().filter(|_| v || pairs),
            neighbours: call.neighbours.clone(),
            segment: 0,
            radix: 2,
            sends_empty: false,
            within: None,
        })
    }

    /// Number of rounds of a call that is part of this one.
    pub(crate) fn rounds_within(&self, part: Task) -> u32 {
        (self.within.expect("the chooser says what runs within a call").rounds)(part)
    }

    /// A round of a call that is part of this one.
    pub(crate) fn round_within(&self, part: Task, round: u32, out: &mut dyn Sink) {
        (self.within.expect("the chooser says what runs within a call").round)(part, round, out);
    }

    /// True if no rank has anything to send, as all ranks know.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        use CollectiveKind::{Alltoallv, Alltoallw, Barrier, NeighborAllgather, NeighborAlltoall};
        let neighbours = matches!(self.kind, NeighborAllgather | NeighborAlltoall);
        match (self.kind, &self.counts) {
            _ if self.sends_empty && !neighbours => self.size == 1,
            (Alltoallv | Alltoallw, _) => self.size == 1,
            (NeighborAllgather | NeighborAlltoall, counts) => counts.is_none() && self.bytes == 0,
            (Barrier, _) => self.size == 1,
            (_, Some(counts)) => self.size == 1 || counts.iter().all(|&c| c == 0),
            (_, None) => self.size == 1 || self.bytes == 0,
        }
    }

    /// Bytes of a piece; `sending` tells the two directions of unequal neighbours apart.
    #[must_use]
    pub fn bytes_of(&self, piece: Piece, sending: bool) -> u64 {
        match piece {
            Piece::Signal => 0,
            Piece::Bytes { len, .. } | Piece::Part { len, .. } => len,
            Piece::Blocks { first, count } | Piece::Received { first, count } => match &self.counts {
                None => u64::from(count).saturating_mul(self.bytes),
                Some(c) => {
                    (0..count).map(|i| c[self.wrap(first.number(), i) as usize]).fold(0, u64::saturating_add)
                }
            },
            Piece::Pair { from, to } => match &self.counts {
                None => self.bytes,
                Some(c) if sending => c[to.index()],
                Some(c) => c[self.size as usize + from.index()],
            },
            Piece::Offsets { bit } => {
                let (span, rest) = (1u64 << bit, u64::from(self.size) % (2 << bit));
                let offsets = (u64::from(self.size) >> (bit + 1)) * span + rest.saturating_sub(span);
                offsets.saturating_mul(self.bytes)
            }
            Piece::Neighbour(i) => match &self.counts {
                None => self.bytes,
                Some(c) => c[i as usize + if sending { 0 } else { c.len() / 2 }],
            },
        }
    }

    /// False for a piece that both its ranks know to be empty, if the library sends no such message.
    pub(crate) fn moves(&self, piece: Piece, sending: bool) -> bool {
        self.sends_empty || self.has_data(piece, sending)
    }

    /// False for a piece whose counts are all zero.
    pub(crate) fn has_data(&self, piece: Piece, sending: bool) -> bool {
        self.counts.is_none() || self.bytes_of(piece, sending) > 0
    }

    /// Bytes that decide which algorithm is taken: the vector, or a block, or the sum of the counts.
    #[must_use]
    pub fn weight(&self) -> u64 {
        self.counts.as_ref().map_or(self.bytes, |c| c.iter().fold(0, |sum, &c| sum.saturating_add(c)))
    }

    /// This rank, counted from the root.
    pub(crate) fn place(&self) -> u32 {
        self.wrap(self.rank.number(), self.size - self.root.number())
    }

    /// The rank at a place counted from the root.
    pub(crate) fn at(&self, place: u32) -> CommRank {
        CommRank::new(self.wrap(place, self.root.number()))
    }

    /// The number `distance` (at most the number of ranks) after another, going round: of ranks, or of places.
    pub(crate) fn wrap(&self, number: u32, distance: u32) -> u32 {
        ((u64::from(number) + u64::from(distance)) % u64::from(self.size)) as u32
    }

    /// The rank `distance` (at most the number of ranks) after this one.
    pub(crate) fn right(&self, distance: u32) -> CommRank {
        CommRank::new(self.wrap(self.rank.number(), distance))
    }

    /// The rank `distance` (at most the number of ranks) before this one.
    pub(crate) fn left(&self, distance: u32) -> CommRank {
        CommRank::new(self.wrap(self.rank.number(), self.size - distance))
    }

    /// All that the call is about: nothing for a barrier, else the vector or every rank's block.
    pub(crate) fn whole(&self) -> Piece {
        use CollectiveKind::{Allreduce, Barrier, Bcast, Exscan, Reduce, Scan};
        match self.kind {
            Barrier => Piece::Signal,
            Bcast | Reduce | Allreduce | Scan | Exscan => Piece::Bytes { start: 0, len: self.bytes },
            _ => Piece::Blocks { first: CommRank::new(0), count: self.size },
        }
    }

    /// Number of segments of the vector; everything but a vector is one segment.
    pub(crate) fn segments(&self) -> u32 {
        match self.whole() {
            Piece::Bytes { len, .. } if self.segment > 0 => {
                // Algorithms count a few rounds for each.
                len.div_ceil(self.segment).clamp(1, u64::from(u32::MAX / 4)) as u32
            }
            _ => 1,
        }
    }

    /// A segment of the vector.
    pub(crate) fn segment(&self, index: u32) -> Piece {
        let segments = self.segments();
        if segments == 1 {
            return self.whole();
        }
        let start = u64::from(index) * self.segment;
        let len = if index + 1 == segments { self.bytes - start } else { self.segment };
        Piece::Bytes { start, len }
    }

    /// Parts `first` to `last - 1` of a vector that is cut into `parts`.
    pub(crate) fn cut(&self, first: u32, last: u32, parts: u32) -> Piece {
        let border = |i: u32| (u128::from(self.bytes) * u128::from(i) / u128::from(parts)) as u64;
        Piece::Bytes { start: border(first), len: border(last) - border(first) }
    }
}

/// Number of rounds and what happens in one: an algorithm, or a part of one.
pub(crate) type Part = (fn(&Task) -> u32, fn(&Task, u32, &mut dyn Sink));

/// Number of rounds of parts that follow each other.
pub(crate) fn rounds_of(task: &Task, parts: &[Part]) -> u32 {
    parts.iter().map(|(rounds, _)| rounds(task)).sum()
}

/// A round of parts that follow each other.
pub(crate) fn round_of(task: &Task, mut index: u32, parts: &[Part], out: &mut dyn Sink) {
    for (rounds, round) in parts {
        let n = rounds(task);
        if index < n {
            return round(task, index, out);
        }
        index -= n;
    }
}

/// Ceiling of the logarithm to base 2.
pub(crate) fn log2_ceil(n: u32) -> u32 {
    n.next_power_of_two().ilog2()
}

/// How algorithms for powers of two deal with other numbers of ranks: with `extra` ranks more than the power of two below, the
/// first `extra` pairs of neighbouring ranks act as one. The odd rank plays, in reductions to a root the even one, as in MPICH and Open MPI. Ranks are plain
/// numbers here, since some algorithms count them from the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fold {
    /// The power of two.
    pub(crate) power: u32,
    /// Ranks above `power`, and so the number of pairs: 0 for a power of two of ranks, else below `power`.
    pub(crate) extra: u32,
    /// Which of a pair plays: 0 for the even rank, 1 for the odd one.
    plays: u32,
}

impl Fold {
    pub(crate) fn of(task: &Task) -> Self {
        let power = 1 << task.size.ilog2();
        Self { power, extra: task.size - power, plays: u32::from(task.kind != CollectiveKind::Reduce) }
    }

    /// Number of exchanges among the players.
    pub(crate) fn steps(self) -> u32 {
        self.power.ilog2()
    }

    /// The player that a rank is; `None` for the others of pairs.
    pub(crate) fn player(self, rank: u32) -> Option<u32> {
        if rank >= 2 * self.extra {
            Some(rank - self.extra)
        } else {
            (rank % 2 == self.plays).then_some(rank / 2)
        }
    }

    /// The rank that plays.
    pub(crate) fn rank(self, player: u32) -> u32 {
        if player < self.extra { 2 * player + self.plays } else { player + self.extra }
    }

    /// First of the ranks for which a player plays; for one behind the last, the number of ranks.
    pub(crate) fn begin(self, player: u32) -> u32 {
        player + player.min(self.extra)
    }

    /// The other rank of a pair.
    pub(crate) fn other(self, rank: u32) -> Option<u32> {
        (rank < 2 * self.extra).then_some(rank ^ 1)
    }
}
