//! Gathers and scatters: blocks of all ranks to the root and back, also with unequal blocks.

use super::{
    CHUNK, How, Piece, Sink, Task,
    tree::{self, BINOMIAL, Tree},
};
use crate::program::mpi::CommRank;
use base::registry::About;

/// The blocks of the places of a subtree.
fn blocks(task: &Task, tree: Tree, place: u32) -> Piece {
    Piece::Blocks { first: task.at(place), count: tree.subtree(place, task.size) }
}

pub(crate) const LINEAR: About = About {
    name: "linear",
    summary: "root and rank, directly",
    doc: "The root posts the transfers with all ranks at once. In the v-variants empty blocks are not sent.",
    source: "Open MPI, `basic_linear`; MPICH, gatherv and scatterv",
    params: &[],
};

pub(crate) fn linear_rounds(task: &Task) -> u32 {
    if task.place() == 0 { (task.size - 1).div_ceil(CHUNK) } else { 1 }
}

pub(crate) fn linear_gather(task: &Task, round: u32, out: &mut dyn Sink) {
    linear(
        task,
        round,
        out,
        |out, peer, piece, at_root| {
            if at_root { out.recv(peer, piece, How::Store) } else { out.send(peer, piece) }
        },
    );
}

pub(crate) fn linear_scatter(task: &Task, round: u32, out: &mut dyn Sink) {
    linear(
        task,
        round,
        out,
        |out, peer, piece, at_root| {
            if at_root { out.send(peer, piece) } else { out.recv(peer, piece, How::Store) }
        },
    );
}

/// Calls `transfer(peer, block, true at the root)`.
fn linear(
    task: &Task,
    round: u32,
    out: &mut dyn Sink,
    transfer: impl Fn(&mut dyn Sink, CommRank, Piece, bool),
) {
    let block = |rank| Piece::Blocks { first: rank, count: 1 };
    let needed = |rank| task.moves(block(rank), true);
    if task.place() > 0 {
        if needed(task.rank) {
            transfer(out, task.root, block(task.rank), false);
        }
        return;
    }
    let end = ((round + 1) * CHUNK).min(task.size - 1);
    for peer in (round * CHUNK..end).map(|i| task.at(i + 1)).filter(|&peer| needed(peer)) {
        transfer(out, peer, block(peer), true);
    }
    if end + 1 < task.size {
        out.open();
    }
}

pub(crate) const BINOMIAL_ABOUT: About = About {
    name: "binomial",
    summary: "a binomial tree",
    doc: "The blocks of a subtree travel together.",
    source: "MPICH; Open MPI, `binomial`",
    params: &[],
};

pub(crate) fn binomial_rounds(task: &Task) -> u32 {
    tree::rounds(task, BINOMIAL)
}

pub(crate) fn binomial_gather(task: &Task, round: u32, out: &mut dyn Sink) {
    tree::up(task, BINOMIAL, round, out, How::Store, |place, _| blocks(task, BINOMIAL, place));
}

pub(crate) fn binomial_scatter(task: &Task, round: u32, out: &mut dyn Sink) {
    tree::down(task, BINOMIAL, round, out, |place, _| blocks(task, BINOMIAL, place));
}

pub(crate) const SYNC: About = About {
    name: "linear-sync",
    summary: "the root asks one rank after the other",
    doc: "The root posts a receive, signals the rank that it may send, and waits for its block before it asks the next. Open MPI \
          lets the second part of a block overlap with the next rank; here a block comes as a whole.",
    source: "Open MPI, `linear_sync`",
    params: &[],
};

pub(crate) fn sync_rounds(task: &Task) -> u32 {
    if task.place() == 0 { task.size - 1 } else { 2 }
}

pub(crate) fn sync(task: &Task, round: u32, out: &mut dyn Sink) {
    let block = |rank| Piece::Blocks { first: rank, count: 1 };
    if task.place() == 0 {
        let peer = task.at(round + 1);
        out.recv(peer, block(peer), How::Store);
        out.send(peer, Piece::Signal);
    } else if round == 0 {
        out.recv(task.root, Piece::Signal, How::Store);
    } else {
        out.send(task.root, block(task.rank));
    }
}
