//! Reductions whose result is cut among the ranks, in equal or unequal blocks.

use super::{
    Fold, How, Part, Piece, Sink, Task, gather,
    reduce::range,
    round_of, rounds_of,
    tree::{self, BINOMIAL, Tree},
};
use crate::program::mpi::CommRank;
use base::registry::About;

pub(crate) const HALVING: About = About {
    name: "recursive-halving",
    summary: "pairs exchange halves, the farthest first",
    doc: "log2 of the power of two below P exchanges, each of half of the blocks left. Ranks beyond it give their vector to a \
          neighbour before and get their block afterwards. Empty halves and blocks are not sent.",
    source: "MPICH, short messages; Open MPI, `recursive_halving`",
    params: &[],
};

pub(crate) fn halving_rounds(task: &Task) -> u32 {
    Fold::of(task).steps() + 2
}

pub(crate) fn halving(task: &Task, round: u32, out: &mut dyn Sink) {
    let fold = Fold::of(task);
    if round == 0 {
        return super::reduce::fold_in(task, task.rank.number(), out);
    }
    let player = fold.player(task.rank.number());
    if round == fold.steps() + 1 {
        unfold(task, out);
    } else if let Some(player) = player {
        let half = fold.power >> round;
        let partner = player ^ half;
        let blocks = |player: u32| {
            let first = player & !(half - 1);
            players(task, first, first + half)
        };
        let peer = CommRank::new(fold.rank(partner));
        if task.has_data(blocks(player), true) {
            out.recv(peer, blocks(player), How::Combine);
        }
        if task.has_data(blocks(partner), true) {
            out.send(peer, blocks(partner));
        }
    }
}

pub(crate) const BUTTERFLY: About = About {
    name: "butterfly",
    summary: "pairs exchange halves, the nearest first",
    doc: "As `recursive-halving`, but neighbours exchange the largest halves, so that in the end a rank holds the block of the rank \
          whose number has its bits in reverse; these exchange them. Ranks beyond the power of two get theirs from the one that holds it.",
    source: "Traff 2005; Open MPI, `butterfly`",
    params: &[],
};

pub(crate) fn butterfly_rounds(task: &Task) -> u32 {
    Fold::of(task).steps() + 3
}

pub(crate) fn butterfly(task: &Task, round: u32, out: &mut dyn Sink) {
    let fold = Fold::of(task);
    let (steps, me) = (fold.steps(), task.rank.number());
    let mirror = |player: u32| if steps == 0 { player } else { player.reverse_bits() >> (32 - steps) };
    let block = |rank: u32| Piece::Blocks { first: CommRank::new(rank), count: 1 };
    match (fold.player(me), round) {
        (_, 0) => super::reduce::fold_in(task, me, out),
        (Some(player), _) if round <= steps => {
            let partner = player ^ (1 << (round - 1));
            let (own, other) = (range(fold, player, round), range(fold, partner, round));
            let peer = CommRank::new(fold.rank(partner));
            out.recv(peer, players(task, own.0, own.1), How::Combine);
            out.send(peer, players(task, other.0, other.1));
        }
        (Some(player), _) if round == steps + 1 => {
            if let Some(beside) = fold.other(fold.rank(mirror(player))) {
                out.send(CommRank::new(beside), block(beside));
            }
        }
        (Some(player), _) if mirror(player) != player => {
            let peer = fold.rank(mirror(player));
            out.recv(CommRank::new(peer), block(me), How::Store);
            out.send(CommRank::new(peer), block(peer));
        }
        (None, _) if round == steps + 1 => {
            let holder = fold.rank(mirror(me / 2));
            out.recv(CommRank::new(holder), block(me), How::Store);
        }
        _ => {}
    }
}

/// The rank of a pair that plays gives the other its block.
fn unfold(task: &Task, out: &mut dyn Sink) {
    let fold = Fold::of(task);
    let block = |rank| Piece::Blocks { first: rank, count: 1 };
    match (fold.other(task.rank.number()).map(CommRank::new), fold.player(task.rank.number())) {
        (Some(other), Some(_)) if task.has_data(block(other), true) => out.send(other, block(other)),
        (Some(other), None) if task.has_data(block(task.rank), true) => {
            out.recv(other, block(task.rank), How::Store);
        }
        _ => {}
    }
}

/// The blocks that players from `first` to `last - 1` and their pairs want.
fn players(task: &Task, first: u32, last: u32) -> Piece {
    let fold = Fold::of(task);
    let (begin, end) = (fold.begin(first), fold.begin(last));
    debug_assert!(end <= task.size, "players stand for ranks");
    Piece::Blocks { first: CommRank::new(begin), count: end - begin }
}

pub(crate) const DOUBLING: About = About {
    name: "recursive-doubling",
    summary: "pairs exchange all that is not their own, the nearest first",
    doc: "log2 P exchanges between halves of subtrees, each of all blocks but those of the other half's sender. Where P is no power of two, ranks without a \
          partner get what their half received.",
    source: "MPICH, operations that do not commute; SMPI, `reduce_scatter:mpich_rdb`",
    params: &[],
};

/// Step k has an exchange and k rounds in which what came is handed on.
pub(crate) fn doubling_rounds(task: &Task) -> u32 {
    let steps = steps_of_doubling(task);
    steps * (steps + 1) / 2
}

fn steps_of_doubling(task: &Task) -> u32 {
    task.size.next_power_of_two().trailing_zeros()
}

pub(crate) fn doubling(task: &Task, round: u32, out: &mut dyn Sink) {
    let step = (0..).find(|k| round < (k + 1) * (k + 2) / 2).expect("a round is in a step");
    let (me, half) = (task.rank.number(), 1 << step);
    let root = |rank: u32| rank >> step << step;
    let (own, other) = (root(me), root(me ^ half));
    match round - step * (step + 1) / 2 {
        0 if me ^ half < task.size => {
            let peer = CommRank::new(me ^ half);
            let (first, count) = beside(task, other, half);
            out.recv(peer, Piece::Blocks { first, count }, How::Combine);
            let (first, count) = beside(task, own, half);
            out.send(peer, Piece::Blocks { first, count });
        }
        // Of this half the ranks below `served` have partners. Each hands on what it got to half as far as before.
        turn @ 1.. if other > own && other < task.size && other + half > task.size => {
            let far = half >> turn;
            let peer = me ^ far;
            let served = (me >> (step + 1 - turn) << (step + 1 - turn)) + task.size - other;
            let (first, count) = beside(task, other, half);
            let piece = Piece::Received { first, count };
            if peer > me && me < served && peer >= served {
                out.send(CommRank::new(peer), piece);
            } else if peer < me && peer < served && me >= served {
                out.recv(CommRank::new(peer), piece, How::Combine);
            }
        }
        _ => {}
    }
}

/// All blocks but those of `half` ranks from `root` on.
fn beside(task: &Task, root: u32, half: u32) -> (CommRank, u32) {
    let end = (root + half).min(task.size);
    (CommRank::new(end % task.size), task.size - (end - root))
}

pub(crate) const RING: About = About {
    name: "ring",
    summary: "blocks are combined around the ring",
    doc: "P - 1 steps; a block begins at the rank after its owner and ends at its owner.",
    source: "Open MPI, `ring`",
    params: &[],
};

pub(crate) fn steps(task: &Task) -> u32 {
    task.size - 1
}

pub(crate) fn ring(task: &Task, round: u32, out: &mut dyn Sink) {
    let block = |back| Piece::Blocks { first: task.left(back), count: 1 };
    out.recv(task.left(1), block((round + 2) % task.size), How::Combine);
    out.send(task.right(1), block(round + 1));
}

pub(crate) const PAIRWISE: About = About {
    name: "pairwise",
    summary: "P - 1 steps, one partner each",
    doc: "In step i a rank gets its own block from the rank i before it and sends the block of the rank i after it.",
    source: "MPICH, long messages",
    params: &[],
};

pub(crate) fn pairwise(task: &Task, round: u32, out: &mut dyn Sink) {
    let target = task.right(round + 1);
    out.recv(task.left(round + 1), Piece::Blocks { first: task.rank, count: 1 }, How::Combine);
    out.send(target, Piece::Blocks { first: target, count: 1 });
}

pub(crate) const REDUCE_SCATTER: About = About {
    name: "reduce-scatter",
    summary: "binomial reduce to rank 0, then linear scatter",
    doc: "The two one after the other.",
    source: "Open MPI, `non-overlapping`",
    params: &[],
};

const PARTS: [Part; 2] = [
    (gather::binomial_rounds, |task, round, out| {
        tree::up(task, BINOMIAL, round, out, How::Combine, |_, _| task.whole());
    }),
    (gather::linear_rounds, gather::linear_scatter),
];

pub(crate) fn reduce_scatter_rounds(task: &Task) -> u32 {
    rounds_of(task, &PARTS)
}

pub(crate) fn reduce_scatter(task: &Task, round: u32, out: &mut dyn Sink) {
    round_of(task, round, &PARTS, out);
}

pub(crate) const LINEAR: About = About {
    name: "linear",
    summary: "linear reduce to rank 0, then linear scatter",
    doc: "The two one after the other.",
    source: "SimGrid's SMPI, its default for equal blocks",
    params: &[],
};

const LINEAR_PARTS: [Part; 2] = [
    (
        |task| tree::rounds(task, Tree::Star),
        |task, round, out| {
            tree::up(task, Tree::Star, round, out, How::Combine, |_, _| task.whole());
        },
    ),
    (gather::linear_rounds, gather::linear_scatter),
];

pub(crate) fn linear_rounds(task: &Task) -> u32 {
    rounds_of(task, &LINEAR_PARTS)
}

pub(crate) fn linear(task: &Task, round: u32, out: &mut dyn Sink) {
    round_of(task, round, &LINEAR_PARTS, out);
}
