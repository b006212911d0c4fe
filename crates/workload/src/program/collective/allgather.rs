//! Allgathers, also with unequal blocks.

use super::{
    How, Part, Piece, Sink, Task, gather, log2_ceil, round_of, rounds_of,
    tree::{self, BINOMIAL},
};
use crate::program::mpi::CommRank;
use base::registry::About;

pub(crate) const RING: About = About {
    name: "ring",
    summary: "blocks go round",
    doc: "P - 1 steps; in each a rank hands the block it got last to the next rank.",
    source: "MPICH, long messages; Open MPI, `ring`",
    params: &[],
};

pub(crate) fn ring_rounds(task: &Task) -> u32 {
    task.size - 1
}

pub(crate) fn ring(task: &Task, round: u32, out: &mut dyn Sink) {
    let block = |rank| Piece::Blocks { first: rank, count: 1 };
    out.recv(task.left(1), block(task.left(round + 1)), How::Store);
    out.send(task.right(1), block(task.left(round)));
}

pub(crate) const BRUCK: About = About {
    name: "bruck",
    summary: "doubling for any number of ranks",
    doc: "ceil(log2 P) steps; in step k a rank sends the up to 2^k blocks that it has to the rank 2^k before it. The final rotation \
          in memory costs nothing.",
    source: "Bruck et al. 1997; MPICH, short messages; Open MPI, `bruck`",
    params: &[],
};

pub(crate) fn bruck_rounds(task: &Task) -> u32 {
    log2_ceil(task.size)
}

pub(crate) fn bruck(task: &Task, round: u32, out: &mut dyn Sink) {
    let distance = 1 << round;
    let count = distance.min(task.size - distance);
    let peer = task.right(distance);
    out.recv(peer, Piece::Blocks { first: peer, count }, How::Store);
    out.send(task.left(distance), Piece::Blocks { first: task.rank, count });
}

pub(crate) const DOUBLING: About = About {
    name: "recursive-doubling",
    summary: "pairs at distances 1, 2, 4, .. exchange what they have",
    doc: "log2 P exchanges. If P is no power of two it runs as `bruck`.",
    source: "MPICH, medium messages; Open MPI, `recursive_doubling`",
    params: &[],
};

pub(crate) fn doubling_rounds(task: &Task) -> u32 {
    log2_ceil(task.size)
}

pub(crate) fn doubling(task: &Task, round: u32, out: &mut dyn Sink) {
    if !task.size.is_power_of_two() {
        return bruck(task, round, out);
    }
    let peer = CommRank::new(task.rank.number() ^ (1 << round));
    let held = |rank: CommRank| {
        let first = CommRank::new(rank.number() >> round << round);
        Piece::Blocks { first, count: 1 << round }
    };
    out.recv(peer, held(peer), How::Store);
    out.send(peer, held(task.rank));
}

pub(crate) const NEIGHBOUR: About = About {
    name: "neighbour-exchange",
    summary: "neighbours on both sides in turn",
    doc: "P / 2 steps: a rank exchanges its block with one neighbour, then the two blocks it got last with the other, and so on. If P is \
          odd it runs as `ring`.",
    source: "Chen, Yuan et al. 2005; Open MPI, `neighbor_exchange`",
    params: &[],
};

pub(crate) fn neighbour_rounds(task: &Task) -> u32 {
    if task.size.is_multiple_of(2) { task.size / 2 } else { ring_rounds(task) }
}

pub(crate) fn neighbour(task: &Task, round: u32, out: &mut dyn Sink) {
    if !task.size.is_multiple_of(2) {
        return ring(task, round, out);
    }
    let even = task.rank.number().is_multiple_of(2);
    let peer = if even == round.is_multiple_of(2) { task.right(1) } else { task.left(1) };
    if round == 0 {
        out.recv(peer, Piece::Blocks { first: peer, count: 1 }, How::Store);
        out.send(peer, Piece::Blocks { first: task.rank, count: 1 });
    } else {
        out.recv(peer, Piece::Blocks { first: arriving(task, round), count: 2 }, How::Store);
        out.send(peer, Piece::Blocks { first: arriving(task, round - 1), count: 2 });
    }
}

/// First of the two blocks that a rank has got after a step: its own pair at first, then pairs further and further to both sides.
fn arriving(task: &Task, round: u32) -> CommRank {
    let (me, pair) = (task.rank.number(), task.rank.number() & !1);
    let distance = 2 * round.div_ceil(2);
    let forward = me.is_multiple_of(2) == round.is_multiple_of(2);
    CommRank::new(task.wrap(pair, if forward { distance } else { task.size - distance }))
}

pub(crate) const GATHER_BCAST: About = About {
    name: "gather-bcast",
    summary: "binomial gather to rank 0, then binomial bcast",
    doc: "The two one after the other.",
    source: "Open MPI, `linear`, with trees",
    params: &[],
};

const PARTS: [Part; 2] = [
    (gather::binomial_rounds, gather::binomial_gather),
    (gather::binomial_rounds, |task, round, out| {
        tree::down(task, BINOMIAL, round, out, |_, _| task.whole());
    }),
];

pub(crate) fn gather_bcast_rounds(task: &Task) -> u32 {
    rounds_of(task, &PARTS)
}

pub(crate) fn gather_bcast(task: &Task, round: u32, out: &mut dyn Sink) {
    round_of(task, round, &PARTS, out);
}
