//! All-to-alls, also with unequal blocks (where empty blocks are not sent).

use super::{CHUNK, How, Piece, Sink, Task, WINDOW, log2_ceil};
use crate::program::mpi::CommRank;
use base::registry::About;

pub(crate) const LINEAR: About = About {
    name: "linear",
    summary: "all receives and sends at once",
    doc: "A rank posts the receives from all others, the nearest after it first, then the sends, and waits for all of them.",
    source: "MPICH, medium messages; Open MPI, `linear`",
    params: &[],
};

pub(crate) fn linear_rounds(task: &Task) -> u32 {
    2 * (task.size - 1).div_ceil(CHUNK)
}

pub(crate) fn linear(task: &Task, round: u32, out: &mut dyn Sink) {
    let chunks = linear_rounds(task) / 2;
    let first = round % chunks * CHUNK + 1;
    let distances = first..(first + CHUNK).min(task.size);
    if round < chunks {
        distances.for_each(|d| take(task, task.right(d), out));
    } else {
        distances.for_each(|d| give(task, task.right(d), out));
    }
    if round + 1 < 2 * chunks {
        out.open();
    }
}

pub(crate) const SYNC: About = About {
    name: "linear-sync",
    summary: "a limited number of transfers at once",
    doc: "As `linear`, with at most W receives and W sends outstanding (`window`). Open MPI begins another \
          transfer whenever one ends; here the next W begin when all have ended.",
    source: "Open MPI, `linear_sync`",
    params: &[WINDOW],
};

pub(crate) fn sync_rounds(task: &Task) -> u32 {
    (task.size - 1).div_ceil(task.radix.max(1))
}

pub(crate) fn sync(task: &Task, round: u32, out: &mut dyn Sink) {
    let window = task.radix.max(1);
    let first = round * window + 1;
    let distances = first..first.saturating_add(window).min(task.size);
    distances.clone().for_each(|d| take(task, task.left(d), out));
    distances.for_each(|d| give(task, task.right(d), out));
}

pub(crate) const PAIRWISE: About = About {
    name: "pairwise",
    summary: "P - 1 steps, one partner each",
    doc: "In step i a rank sends to the rank i after it and receives from the rank i before.",
    source: "Open MPI, `pairwise`; MPICH, long messages, P no power of two",
    params: &[],
};

pub(crate) fn pairwise_rounds(task: &Task) -> u32 {
    task.size - 1
}

pub(crate) fn pairwise(task: &Task, round: u32, out: &mut dyn Sink) {
    take(task, task.left(round + 1), out);
    give(task, task.right(round + 1), out);
}

pub(crate) const EXCHANGE: About = About {
    name: "pairwise-xor",
    summary: "P - 1 steps, exchange with one partner each",
    doc: "In step i a rank exchanges with the rank whose number differs in the bits of i. If P is no power of two it runs as `pairwise`.",
    source: "MPICH, long messages, P a power of two",
    params: &[],
};

pub(crate) fn exchange(task: &Task, round: u32, out: &mut dyn Sink) {
    if !task.size.is_power_of_two() {
        return pairwise(task, round, out);
    }
    let peer = CommRank::new(task.rank.number() ^ (round + 1));
    take(task, peer, out);
    give(task, peer, out);
}

pub(crate) const BRUCK: About = About {
    name: "bruck",
    summary: "log P steps, blocks travel over others",
    doc: "ceil(log2 P) steps; in step k all blocks whose way has bit k set move 2^k ranks on. Copies in memory cost nothing.",
    source: "Bruck et al. 1997; MPICH, short messages; Open MPI, `modified_bruck`",
    params: &[],
};

pub(crate) fn bruck_rounds(task: &Task) -> u32 {
    log2_ceil(task.size)
}

pub(crate) fn bruck(task: &Task, round: u32, out: &mut dyn Sink) {
    out.recv(task.left(1 << round), Piece::Offsets { bit: round }, How::Store);
    out.send(task.right(1 << round), Piece::Offsets { bit: round });
}

/// Receives the block of another rank, unless it is known to be empty.
fn take(task: &Task, peer: CommRank, out: &mut dyn Sink) {
    let piece = Piece::Pair { from: peer, to: task.rank };
    if task.moves(piece, false) {
        out.recv(peer, piece, How::Store);
    }
}

/// Sends the block for another rank, unless it is known to be empty.
fn give(task: &Task, peer: CommRank, out: &mut dyn Sink) {
    let piece = Piece::Pair { from: task.rank, to: peer };
    if task.moves(piece, true) {
        out.send(peer, piece);
    }
}
