//! Reductions to a root.

use super::{
    Fold, How, RADIX, Sink, Task, segment,
    tree::{self, BINOMIAL, Tree},
};
use base::registry::About;

macro_rules! along_tree {
    ($rounds:ident, $round:ident, $tree:expr) => {
        pub(crate) fn $rounds(task: &Task) -> u32 {
            tree::rounds(task, $tree(task))
        }

        pub(crate) fn $round(task: &Task, round: u32, out: &mut dyn Sink) {
            tree::up(task, $tree(task), round, out, How::Combine, |_, segment| task.segment(segment));
        }
    };
}

pub(crate) const LINEAR: About = About {
    name: "linear",
    summary: "everybody sends to the root",
    doc: "The root posts all receives at once and combines what came when all have come.",
    source: "Open MPI, `linear`",
    params: &[segment("0 B")],
};
along_tree!(linear_rounds, linear, |_: &Task| Tree::Star);

pub(crate) const BINOMIAL_ABOUT: About = About {
    name: "binomial",
    summary: "a binomial tree",
    doc: "A rank posts the receives from all its children, combines, and sends to its parent. With segments, it sends one while the \
          next arrives.",
    source: "MPICH, short messages; Open MPI, `binomial`",
    params: &[segment("0 B")],
};
along_tree!(binomial_rounds, binomial, |_: &Task| BINOMIAL);

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
    doc: "Every rank has up to two children (heap order); a rank sends one segment while the next arrives.",
    source: "Open MPI, `binary`",
    params: &[segment("32 KiB")],
};
along_tree!(binary_rounds, binary, |_: &Task| Tree::Binary);

pub(crate) const CHAIN: About = About {
    name: "chain",
    summary: "rank to rank, with segments (pipeline)",
    doc: "The last rank begins; a rank combines with its own and hands on, one segment while the next arrives.",
    source: "Open MPI, `pipeline`",
    params: &[segment("64 KiB")],
};
along_tree!(chain_rounds, chain, |_: &Task| Tree::Chain);

pub(crate) const RABENSEIFNER: About = About {
    name: "rabenseifner",
    summary: "recursive-halving reduce-scatter, then binomial gather",
    doc: "The vector is halved log2 times among the power of two of ranks below P (neighbours first), then the parts are gathered \
          at the root. Ranks beyond the power of two give their vector to a neighbour before.",
    source: "Rabenseifner 2004; MPICH, long messages; Open MPI, `reduce_scatter_gather`",
    params: &[],
};

pub(crate) fn rabenseifner_rounds(task: &Task) -> u32 {
    1 + 2 * Fold::of(task).steps()
}

pub(crate) fn rabenseifner(task: &Task, round: u32, out: &mut dyn Sink) {
    let (me, fold) = (task.place(), Fold::of(task));
    if round == 0 {
        fold_in(task, me, out);
        return;
    }
    let Some(player) = fold.player(me) else { return };
    if round <= fold.steps() {
        halve(task, player, round - 1, out);
        return;
    }
    let step = 2 * fold.steps() - round;
    if player >> (step + 1) != 0 {
        return;
    }
    let partner = player ^ (1 << step);
    let (kept, other) = (range(fold, player, step + 1), range(fold, partner, step + 1));
    let peer = task.at(fold.rank(partner));
    if player >> step == 1 {
        out.send(peer, task.cut(kept.0, kept.1, fold.power));
    } else {
        out.recv(peer, task.cut(other.0, other.1, fold.power), How::Store);
    }
}

/// The rank of a pair that does not play gives its vector to the other.
pub(crate) fn fold_in(task: &Task, me: u32, out: &mut dyn Sink) {
    let fold = Fold::of(task);
    match (fold.other(me), fold.player(me)) {
        (Some(other), Some(_)) => out.recv(task.at(other), task.whole(), How::Combine),
        (Some(other), None) => out.send(task.at(other), task.whole()),
        (None, _) => {}
    }
}

/// One step of recursive halving: exchange with the player at distance 2^step, keep one half of what is left.
pub(crate) fn halve(task: &Task, player: u32, step: u32, out: &mut dyn Sink) {
    let fold = Fold::of(task);
    let partner = player ^ (1 << step);
    let (kept, given) = (range(fold, player, step + 1), range(fold, partner, step + 1));
    let peer = task.at(fold.rank(partner));
    out.recv(peer, task.cut(kept.0, kept.1, fold.power), How::Combine);
    out.send(peer, task.cut(given.0, given.1, fold.power));
}

/// The parts that a player holds after `steps` halvings: bit s of its number says which half it kept in step s.
pub(crate) fn range(fold: Fold, player: u32, steps: u32) -> (u32, u32) {
    let first = (0..steps).map(|s| (player >> s & 1) * (fold.power >> (s + 1))).sum();
    (first, first + (fold.power >> steps))
}
