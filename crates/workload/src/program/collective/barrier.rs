//! Barriers.

use super::{Fold, How, Part, Piece, Sink, Task, log2_ceil, round_of, rounds_of, tree};
use crate::program::mpi::CommRank;
use base::registry::About;

pub(crate) const DISSEMINATION: About = About {
    name: "dissemination",
    summary: "signals to ranks at distances 1, 2, 4, ..",
    doc: "ceil(log2 P) rounds; in round k every rank signals the rank 2^k after it and hears from the rank 2^k before.",
    source: "Hensgen, Finkel, Manber 1988; MPICH's barrier, Open MPI's `bruck`",
    params: &[],
};

pub(crate) fn dissemination_rounds(task: &Task) -> u32 {
    log2_ceil(task.size)
}

pub(crate) fn dissemination(task: &Task, round: u32, out: &mut dyn Sink) {
    out.recv(task.left(1 << round), Piece::Signal, How::Store);
    out.send(task.right(1 << round), Piece::Signal);
}

pub(crate) const LINEAR: About = About {
    name: "linear",
    summary: "everybody signals rank 0, which signals everybody",
    doc: "Rank 0 hears from all others, then signals all of them.",
    source: "Open MPI, `linear`",
    params: &[],
};

pub(crate) fn linear_rounds(task: &Task) -> u32 {
    rounds_of(task, &STAR_PARTS)
}

pub(crate) fn linear(task: &Task, round: u32, out: &mut dyn Sink) {
    round_of(task, round, &STAR_PARTS, out);
}

const STAR_PARTS: [Part; 2] = [
    (
        |t| tree::rounds(t, tree::Tree::Star),
        |t, r, out| {
            tree::up(t, tree::Tree::Star, r, out, How::Combine, |_, _| Piece::Signal);
        },
    ),
    (
        |t| tree::rounds(t, tree::Tree::Star),
        |t, r, out| {
            tree::down(t, tree::Tree::Star, r, out, |_, _| Piece::Signal);
        },
    ),
];

pub(crate) const TREE: About = About {
    name: "tree",
    summary: "signals up a binomial tree and down again",
    doc: "Rank 0 is the root: everybody signals its parent when it has heard from its children, then the root's signal goes down.",
    source: "Open MPI, `tree`",
    params: &[],
};

pub(crate) fn tree_rounds(task: &Task) -> u32 {
    rounds_of(task, &TREE_PARTS)
}

pub(crate) fn tree(task: &Task, round: u32, out: &mut dyn Sink) {
    round_of(task, round, &TREE_PARTS, out);
}

const TREE_PARTS: [Part; 2] = [
    (
        |t| tree::rounds(t, tree::BINOMIAL),
        |t, r, out| {
            tree::up(t, tree::BINOMIAL, r, out, How::Combine, |_, _| Piece::Signal);
        },
    ),
    (
        |t| tree::rounds(t, tree::BINOMIAL),
        |t, r, out| {
            tree::down(t, tree::BINOMIAL, r, out, |_, _| Piece::Signal);
        },
    ),
];

pub(crate) const DOUBLING: About = About {
    name: "recursive-doubling",
    summary: "pairs at distances 1, 2, 4, .. signal each other",
    doc: "log2 of the power of two below P exchanges; a rank beyond it signals the rank that is this power of two below it before, and hears from it afterwards.",
    source: "Open MPI, `recursive_doubling`",
    params: &[],
};

pub(crate) fn doubling_rounds(task: &Task) -> u32 {
    Fold::of(task).steps() + 2
}

pub(crate) fn doubling(task: &Task, round: u32, out: &mut dyn Sink) {
    let (fold, me) = (Fold::of(task), task.rank.number());
    let (last, partner) = (fold.steps() + 1, CommRank::new(me ^ fold.power));
    if me >= fold.power {
        if round == 0 {
            out.recv(partner, Piece::Signal, How::Store);
            out.send(partner, Piece::Signal);
        }
    } else if round > 0 && round < last {
        let peer = CommRank::new(me ^ (1 << (round - 1)));
        out.recv(peer, Piece::Signal, How::Combine);
        out.send(peer, Piece::Signal);
    } else if me < fold.extra {
        if round == 0 {
            out.recv(partner, Piece::Signal, How::Combine)
        } else {
            out.send(partner, Piece::Signal)
        }
    }
}
