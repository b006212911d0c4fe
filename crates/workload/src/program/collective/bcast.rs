//! Broadcasts.

use super::{
    Fold, How, Part, Piece, RADIX, Sink, Task, round_of, rounds_of, segment,
    tree::{self, BINOMIAL, Tree},
};
use base::registry::About;

macro_rules! along_tree {
    ($rounds:ident, $round:ident, $tree:expr) => {
        pub(crate) fn $rounds(task: &Task) -> u32 {
            tree::rounds(task, $tree(task))
        }

        pub(crate) fn $round(task: &Task, round: u32, out: &mut dyn Sink) {
            tree::down(task, $tree(task), round, out, |_, segment| task.segment(segment));
        }
    };
}

pub(crate) const LINEAR: About = About {
    name: "linear",
    summary: "the root sends to everybody",
    doc: "All sends are posted at once, in the order of distance from the root, the farthest first.",
    source: "Open MPI, `basic_linear`",
    params: &[segment("0 B")],
};
along_tree!(linear_rounds, linear, |_: &Task| Tree::Star);

pub(crate) const BINOMIAL_ABOUT: About = About {
    name: "binomial",
    summary: "a binomial tree",
    doc: "ceil(log2 P) steps; the largest subtree is served first. With segments, a rank receives one while it sends the one before.",
    source: "MPICH, short messages; Open MPI, `binomial`, whose tree numbers its nodes in another order",
    params: &[segment("0 B")],
};
along_tree!(binomial_rounds, binomial, |_: &Task| BINOMIAL);

pub(crate) const SERIAL: About = About {
    name: "binomial-serial",
    summary: "a binomial tree, one send after the other",
    doc: "As `binomial`, but a rank begins a send when the one before is over. That makes a difference to messages beyond `eager` only.",
    source: "SimGrid's SMPI, its default",
    params: &[],
};

pub(crate) fn serial_rounds(task: &Task) -> u32 {
    1 + BINOMIAL.degree(task.place(), task.size)
}

pub(crate) fn serial(task: &Task, round: u32, out: &mut dyn Sink) {
    let me = task.place();
    if round > 0 {
        let child = BINOMIAL.child(me, BINOMIAL.degree(me, task.size) - round);
        out.send(task.at(child), task.whole());
    } else if let Some(parent) = BINOMIAL.parent(me) {
        out.recv(task.at(parent), task.whole(), How::Store);
    }
}

pub(crate) const KNOMIAL: About = About {
    name: "knomial",
    summary: "a k-nomial tree",
    doc: "As `binomial`, with radix k.",
    source: "Open MPI, `knomial`",
    params: &[segment("0 B"), RADIX],
};
along_tree!(knomial_rounds, knomial, |task: &Task| Tree::Knomial(task.radix.max(2)));

pub(crate) const BINARY: About = About {
    name: "binary",
    summary: "a binary tree, with segments",
    doc: "Every rank has up to two children (heap order); a rank receives one segment while it sends the one before.",
    source: "Open MPI, `binary_tree`",
    params: &[segment("32 KiB")],
};
along_tree!(binary_rounds, binary, |_: &Task| Tree::Binary);

pub(crate) const CHAIN: About = About {
    name: "chain",
    summary: "rank to rank, with segments (pipeline)",
    doc: "Every rank hands on to the next; a rank receives one segment while it sends the one before.",
    source: "Open MPI, `pipeline`",
    params: &[segment("128 KiB")],
};
along_tree!(chain_rounds, chain, |_: &Task| Tree::Chain);

pub(crate) const SCATTER_RING: About = About {
    name: "scatter-ring",
    summary: "binomial scatter, then ring allgather",
    doc: "The vector is cut into P parts, scattered along a binomial tree and collected by P - 1 steps of a ring.",
    source: "van de Geijn 1994; MPICH, long messages; Open MPI, `scatter_allgather_ring`",
    params: &[],
};

pub(crate) fn scatter_ring_rounds(task: &Task) -> u32 {
    rounds_of(task, &RING_PARTS)
}

pub(crate) fn scatter_ring(task: &Task, round: u32, out: &mut dyn Sink) {
    round_of(task, round, &RING_PARTS, out);
}

pub(crate) const SCATTER_DOUBLING: About = About {
    name: "scatter-doubling",
    summary: "binomial scatter, then recursive-doubling allgather",
    doc: "The vector is cut into P parts, scattered along a binomial tree and collected by log2 P exchanges. If P is no power \
          of two it runs as `scatter-ring`.",
    source: "MPICH, medium messages; Open MPI, `scatter_allgather`",
    params: &[],
};

pub(crate) fn scatter_doubling_rounds(task: &Task) -> u32 {
    rounds_of(task, if task.size.is_power_of_two() { &DOUBLING_PARTS } else { &RING_PARTS })
}

pub(crate) fn scatter_doubling(task: &Task, round: u32, out: &mut dyn Sink) {
    let parts = if task.size.is_power_of_two() { &DOUBLING_PARTS } else { &RING_PARTS };
    round_of(task, round, parts, out);
}

const RING_PARTS: [Part; 2] = [(scatter_rounds, scatter), (|task| task.size - 1, ring)];
const DOUBLING_PARTS: [Part; 2] = [(scatter_rounds, scatter), (|task| Fold::of(task).steps(), doubling)];

fn scatter_rounds(_: &Task) -> u32 {
    2
}

fn scatter(task: &Task, round: u32, out: &mut dyn Sink) {
    let me = task.place();
    let part = |place: u32| task.cut(place, place + BINOMIAL.subtree(place, task.size), task.size);
    if let Some(parent) = BINOMIAL.parent(me).filter(|_| round == 0) {
        out.recv(task.at(parent), part(me), How::Store);
    }
    if round == 1 {
        for i in (0..BINOMIAL.degree(me, task.size)).rev() {
            let child = BINOMIAL.child(me, i);
            out.send(task.at(child), part(child));
        }
    }
}

fn ring(task: &Task, round: u32, out: &mut dyn Sink) {
    let (me, size) = (task.place(), task.size);
    let part = |back: u32| {
        let place = task.wrap(me, size - back);
        task.cut(place, place + 1, size)
    };
    out.recv(task.left(1), part(round + 1), How::Store);
    out.send(task.right(1), part(round));
}

fn doubling(task: &Task, round: u32, out: &mut dyn Sink) {
    let me = task.place();
    let partner = me ^ (1 << round);
    let part = |place: u32| -> Piece {
        let first = place >> round << round;
        task.cut(first, first + (1 << round), task.size)
    };
    out.recv(task.at(partner), part(partner), How::Store);
    out.send(task.at(partner), part(me));
}
