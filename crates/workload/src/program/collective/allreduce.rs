//! Reductions whose result everybody gets.

use super::{Fold, How, Part, Piece, Sink, Task, bcast, reduce, round_of, rounds_of, segment};
use crate::program::mpi::CommRank;
use base::registry::About;

pub(crate) const REDUCE_BCAST: About = About {
    name: "reduce-bcast",
    summary: "binomial reduce to rank 0, then binomial bcast",
    doc: "The two one after the other.",
    source: "Open MPI, `nonoverlapping`",
    params: &[],
};

pub(crate) fn reduce_bcast_rounds(task: &Task) -> u32 {
    rounds_of(task, &REDUCE_BCAST_PARTS)
}

pub(crate) fn reduce_bcast(task: &Task, round: u32, out: &mut dyn Sink) {
    round_of(task, round, &REDUCE_BCAST_PARTS, out);
}

const REDUCE_BCAST_PARTS: [Part; 2] =
    [(reduce::binomial_rounds, reduce::binomial), (bcast::binomial_rounds, bcast::binomial)];

pub(crate) const LINEAR_BCAST: About = About {
    name: "linear-bcast",
    summary: "everybody sends to rank 0, then a binomial bcast",
    doc: "The reduction is `linear`; the bcast is `binomial-serial`.",
    source: "SimGrid's SMPI, its default",
    params: &[],
};

const LINEAR_BCAST_PARTS: [Part; 2] =
    [(reduce::linear_rounds, reduce::linear), (bcast::serial_rounds, bcast::serial)];

pub(crate) fn linear_bcast_rounds(task: &Task) -> u32 {
    rounds_of(task, &LINEAR_BCAST_PARTS)
}

pub(crate) fn linear_bcast(task: &Task, round: u32, out: &mut dyn Sink) {
    round_of(task, round, &LINEAR_BCAST_PARTS, out);
}

pub(crate) const DOUBLING: About = About {
    name: "recursive-doubling",
    summary: "pairs at distances 1, 2, 4, .. exchange whole vectors",
    doc: "log2 of the power of two below P exchanges; ranks beyond it give their vector to a neighbour before and get the result \
          afterwards.",
    source: "MPICH, short messages; Open MPI, `recursive_doubling`",
    params: &[],
};

pub(crate) fn doubling_rounds(task: &Task) -> u32 {
    Fold::of(task).steps() + 2
}

pub(crate) fn doubling(task: &Task, round: u32, out: &mut dyn Sink) {
    let fold = Fold::of(task);
    if round == 0 {
        reduce::fold_in(task, task.rank.number(), out);
    } else if round == fold.steps() + 1 {
        fold_out(task, out);
    } else if let Some(player) = fold.player(task.rank.number()) {
        let peer = CommRank::new(fold.rank(player ^ (1 << (round - 1))));
        out.recv(peer, task.whole(), How::Combine);
        out.send(peer, task.whole());
    }
}

/// The rank of a pair that plays gives the result to the other.
fn fold_out(task: &Task, out: &mut dyn Sink) {
    let fold = Fold::of(task);
    match (fold.other(task.rank.number()), fold.player(task.rank.number())) {
        (Some(other), Some(_)) => out.send(CommRank::new(other), task.whole()),
        (Some(other), None) => out.recv(CommRank::new(other), task.whole(), How::Store),
        (None, _) => {}
    }
}

pub(crate) const RING: About = About {
    name: "ring",
    summary: "ring reduce-scatter, then ring allgather",
    doc: "The vector is cut into P parts; P - 1 steps combine them around the ring, P - 1 steps hand them out.",
    source: "Patarasuk, Yuan 2009; Open MPI, `ring`",
    params: &[],
};

pub(crate) fn ring_rounds(task: &Task) -> u32 {
    2 * (task.size - 1)
}

pub(crate) fn ring(task: &Task, round: u32, out: &mut dyn Sink) {
    let part = |rank: CommRank| task.cut(rank.number(), rank.number() + 1, task.size);
    let steps = task.size - 1;
    if round < steps {
        out.recv(task.left(1), part(task.left(round + 1)), How::Combine);
        out.send(task.right(1), part(task.left(round)));
    } else {
        collect(task, round - steps, out);
    }
}

/// Ring allgather of parts that are complete at the rank before their number.
fn collect(task: &Task, step: u32, out: &mut dyn Sink) {
    let part = |rank: CommRank| task.cut(rank.number(), rank.number() + 1, task.size);
    out.recv(task.left(1), part(task.left(step)), How::Store);
    out.send(task.right(1), part(CommRank::new(task.wrap(task.left(step).number(), 1))));
}

pub(crate) const SEGMENTED_RING: About = About {
    name: "segmented-ring",
    summary: "ring, whose reduce-scatter runs segment by segment",
    doc: "As `ring`, but each of the P parts is cut into segments, and the segments go round one \
          after the other before the parts are handed out.",
    source: "Open MPI, `segmented_ring`",
    params: &[segment("1 MiB")],
};

/// Times that the reduce-scatter goes round.
fn turns(task: &Task) -> u32 {
    let part = task.bytes.div_ceil(u64::from(task.size));
    if task.segment == 0 {
        1
    } else {
        u32::try_from(part.div_ceil(task.segment)).unwrap_or(1 << 16).clamp(1, 1 << 16)
    }
}

pub(crate) fn segmented_ring_rounds(task: &Task) -> u32 {
    (turns(task) + 1).saturating_mul(task.size - 1)
}

pub(crate) fn segmented_ring(task: &Task, round: u32, out: &mut dyn Sink) {
    let (turns, steps) = (turns(task), task.size - 1);
    let (turn, step) = (round / steps, round % steps);
    if turn == turns {
        return collect(task, step, out);
    }
    let part = |rank: CommRank| {
        let rank = rank.number();
        let Piece::Bytes { start, len } = task.cut(rank, rank + 1, task.size) else { return Piece::Signal };
        let border = |i: u32| (u128::from(len) * u128::from(i) / u128::from(turns)) as u64;
        Piece::Bytes { start: start + border(turn), len: border(turn + 1) - border(turn) }
    };
    out.recv(task.left(1), part(task.left(step + 1)), How::Combine);
    out.send(task.right(1), part(task.left(step)));
}

pub(crate) const RABENSEIFNER: About = About {
    name: "rabenseifner",
    summary: "recursive-halving reduce-scatter, then recursive-doubling allgather",
    doc: "The vector is halved log2 times among the power of two of ranks below P (neighbours first), then doubled again the same way \
          back. Ranks beyond the power of two give their vector to a neighbour before and get the result afterwards.",
    source: "Rabenseifner 2004; MPICH, long messages; Open MPI, `rabenseifner`",
    params: &[],
};

pub(crate) fn rabenseifner_rounds(task: &Task) -> u32 {
    2 + 2 * Fold::of(task).steps()
}

pub(crate) fn rabenseifner(task: &Task, round: u32, out: &mut dyn Sink) {
    let fold = Fold::of(task);
    let steps = fold.steps();
    if round == 0 {
        return reduce::fold_in(task, task.rank.number(), out);
    }
    if round == 2 * steps + 1 {
        return fold_out(task, out);
    }
    let Some(player) = fold.player(task.rank.number()) else { return };
    if round <= steps {
        return reduce::halve(task, player, round - 1, out);
    }
    let step = 2 * steps - round;
    let partner = player ^ (1 << step);
    let (mine, other) = (reduce::range(fold, player, step + 1), reduce::range(fold, partner, step + 1));
    let peer = CommRank::new(fold.rank(partner));
    out.recv(peer, task.cut(other.0, other.1, fold.power), How::Store);
    out.send(peer, task.cut(mine.0, mine.1, fold.power));
}
