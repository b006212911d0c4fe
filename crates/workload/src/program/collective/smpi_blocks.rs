//! What SMPI's selectors do with blocks and signals: trees and stars whose transfers wait for each other, and doubling for any number of ranks.

use super::{How, Part, Piece, Sink, Task, round_of, rounds_of, tree::BINOMIAL};
use crate::program::mpi::{CollectiveKind, CommRank};
use base::registry::About;

/// Blocks of places from the root on.
fn of_places(task: &Task, first: u32, count: u32) -> Piece {
    Piece::Blocks { first: task.at(first), count }
}

pub(crate) const TREE: About = About {
    name: "smpi-tree",
    summary: "signals up a binomial tree and down again, one after the other (SMPI's ompi_tree)",
    doc: "As `tree`, but a rank waits for one child before it listens to the next.",
    source: "SimGrid's SMPI, `barrier:ompi_tree`",
    params: &[],
};

pub(crate) fn tree_rounds(task: &Task) -> u32 {
    2 * (BINOMIAL.degree(task.place(), task.size) + 1)
}

pub(crate) fn tree(task: &Task, round: u32, out: &mut dyn Sink) {
    let me = task.place();
    let (degree, parent) = (BINOMIAL.degree(me, task.size), BINOMIAL.parent(me).map(|p| task.at(p)));
    match round {
        up if up < degree => out.recv(task.at(BINOMIAL.child(me, up)), Piece::Signal, How::Combine),
        up if up == degree => parent.into_iter().for_each(|parent| out.send(parent, Piece::Signal)),
        down if down == degree + 1 => {
            parent.into_iter().for_each(|parent| out.recv(parent, Piece::Signal, How::Store));
        }
        down => out.send(task.at(BINOMIAL.child(me, 2 * degree + 1 - down)), Piece::Signal),
    }
}

pub(crate) const BINOMIAL_ABOUT: About = About {
    name: "smpi-binomial",
    summary: "a binomial tree, the smallest subtree first, one after the other (SMPI's ompi_binomial)",
    doc: "The blocks of a subtree travel together; a transfer begins when the one before is over.",
    source: "SimGrid's SMPI, `gather:ompi_binomial` and `scatter:ompi_binomial`",
    params: &[],
};

pub(crate) fn gather_rounds(task: &Task) -> u32 {
    1 + BINOMIAL.degree(task.place(), task.size)
}

pub(crate) fn gather(task: &Task, round: u32, out: &mut dyn Sink) {
    let me = task.place();
    let subtree = |place| of_places(task, place, BINOMIAL.subtree(place, task.size));
    if round < BINOMIAL.degree(me, task.size) {
        let child = BINOMIAL.child(me, round);
        out.recv(task.at(child), subtree(child), How::Store);
    } else if let Some(parent) = BINOMIAL.parent(me) {
        out.send(task.at(parent), subtree(me));
    }
}

pub(crate) fn scatter_rounds(task: &Task) -> u32 {
    1 + BINOMIAL.degree(task.place(), task.size)
}

pub(crate) fn scatter(task: &Task, round: u32, out: &mut dyn Sink) {
    scatter_tree(task, round, true, out, of_places);
}

/// Down a binomial tree, the subtrees from the smallest to the largest or the other way round; parts of no bytes are not sent.
pub(crate) fn scatter_tree(
    task: &Task,
    round: u32,
    smallest_first: bool,
    out: &mut dyn Sink,
    part: impl Fn(&Task, u32, u32) -> Piece,
) {
    let (me, degree) = (task.place(), BINOMIAL.degree(task.place(), task.size));
    let subtree = |place| part(task, place, BINOMIAL.subtree(place, task.size));
    if round > 0 {
        let index = if smallest_first { round - 1 } else { degree - round };
        let child = BINOMIAL.child(me, index);
        if task.bytes_of(subtree(child), true) > 0 {
            out.send(task.at(child), subtree(child));
        }
    } else if let Some(parent) = BINOMIAL.parent(me).filter(|_| task.bytes_of(subtree(me), true) > 0) {
        out.recv(task.at(parent), subtree(me), How::Store);
    }
}

pub(crate) const LINEAR: About = About {
    name: "smpi-linear",
    summary: "root and rank, one after the other (SMPI's ompi_basic_linear)",
    doc: "The root begins a transfer when the one before is over, by rank; in reductions from the last rank to the first.",
    source: "SimGrid's SMPI, `ompi_basic_linear` of gather, scatter and reduce",
    params: &[],
};

pub(crate) fn linear_rounds(task: &Task) -> u32 {
    if task.rank == task.root { task.size - 1 } else { 1 }
}

pub(crate) fn linear(task: &Task, round: u32, out: &mut dyn Sink) {
    let scatters = task.kind == CollectiveKind::Scatter;
    let (how, piece): (How, fn(&Task, CommRank) -> Piece) = match task.kind {
        CollectiveKind::Reduce => (How::Combine, |task, _| task.whole()),
        _ => (How::Store, |_, rank| Piece::Blocks { first: rank, count: 1 }),
    };
    if task.rank != task.root {
        let piece = piece(task, task.rank);
        return if scatters { out.recv(task.root, piece, how) } else { out.send(task.root, piece) };
    }
    let index = if how == How::Combine { task.size - 2 - round } else { round };
    let peer = CommRank::new(index + u32::from(index >= task.root.number()));
    if scatters { out.send(peer, piece(task, peer)) } else { out.recv(peer, piece(task, peer), how) }
}

pub(crate) const SYNC: About = About {
    name: "smpi-linear-sync",
    summary: "the root asks one rank after the other, blocks come in two parts (SMPI's ompi_linear_sync)",
    doc: "The root signals a rank, waits for the first part of its block (1 KiB; 32 KiB of blocks beyond 90 KiB) and then asks the next, while the rest comes.",
    source: "SimGrid's SMPI, `gather:ompi_linear_sync`; Open MPI, coll/tuned",
    params: &[],
};

pub(crate) fn sync_rounds(task: &Task) -> u32 {
    if task.rank == task.root { 2 * (task.size - 1) } else { 3 }
}

pub(crate) fn sync(task: &Task, round: u32, out: &mut dyn Sink) {
    let first = task.bytes.min(if task.bytes > 92_160 { 32 << 10 } else { 1 << 10 });
    let part = |of, rest: bool| {
        let (start, len) = if rest { (first, task.bytes - first) } else { (0, first) };
        Piece::Part { of, start, len }
    };
    if task.rank != task.root {
        return match round {
            0 => out.recv(task.root, Piece::Signal, How::Store),
            1 => out.send(task.root, part(task.rank, false)),
            _ => out.send(task.root, part(task.rank, true)),
        };
    }
    // The rests of earlier ranks come first among what is outstanding, then the first part and the signal or the rest of this one.
    let (index, before) = (round / 2, (round / 2) as usize);
    let peer = CommRank::new(index + u32::from(index >= task.root.number()));
    if round.is_multiple_of(2) {
        out.recv(peer, part(peer, false), How::Store);
        out.send(peer, Piece::Signal);
        out.wait(before + 1);
    } else {
        out.recv(peer, part(peer, true), How::Store);
        out.wait(before);
    }
}

pub(crate) const RING: About = About {
    name: "smpi-ring",
    summary: "P - 1 steps, everybody's own block to one partner each (SMPI's ring)",
    doc: "In step i a rank sends its block to the rank i after it and receives that of the rank i before.",
    source: "SimGrid's SMPI, `allgather:ring` and `allgatherv:ring`",
    params: &[],
};

pub(crate) fn ring_rounds(task: &Task) -> u32 {
    task.size - 1
}

pub(crate) fn ring(task: &Task, round: u32, out: &mut dyn Sink) {
    let block = |rank| Piece::Blocks { first: rank, count: 1 };
    out.recv(task.left(round + 1), block(task.left(round + 1)), How::Store);
    out.send(task.right(round + 1), block(task.rank));
}

pub(crate) const EXCHANGE: About = About {
    name: "smpi-neighbour-exchange",
    summary: "neighbours on both sides in turn; odd numbers of ranks as `smpi-ring` (SMPI's ompi_neighborexchange)",
    doc: "As `neighbour-exchange` for even numbers of ranks.",
    source: "SimGrid's SMPI, `ompi_neighborexchange` of allgather and allgatherv",
    params: &[],
};

pub(crate) fn exchange_rounds(task: &Task) -> u32 {
    if task.size.is_multiple_of(2) { super::allgather::neighbour_rounds(task) } else { ring_rounds(task) }
}

pub(crate) fn exchange(task: &Task, round: u32, out: &mut dyn Sink) {
    if task.size.is_multiple_of(2) {
        super::allgather::neighbour(task, round, out);
    } else {
        ring(task, round, out);
    }
}

pub(crate) const RDB: About = About {
    name: "smpi-rdb",
    summary: "recursive doubling for any number of ranks (SMPI's rdb)",
    doc: "log2 P exchanges of what ranks have; those that miss a partner get its blocks from others, as in MPICH.",
    source: "SimGrid's SMPI, `allgather:rdb`; MPICH",
    params: &[],
};

pub(crate) fn rdb_rounds(task: &Task) -> u32 {
    doubling_rounds(task.size)
}

pub(crate) fn rdb(task: &Task, round: u32, out: &mut dyn Sink) {
    let blocks = |(first, count)| Piece::Blocks { first: CommRank::new(first), count };
    doubling(task.rank.number(), task.size, round, |peer, given, taken| {
        let peer = CommRank::new(peer);
        taken.into_iter().for_each(|taken| out.recv(peer, blocks(taken), How::Store));
        given.into_iter().for_each(|given| out.send(peer, blocks(given)));
    });
}

/// Steps of a doubling: in step i an exchange, then i rounds in which what a missing partner would have given is handed on.
pub(crate) fn doubling_rounds(size: u32) -> u32 {
    (0..super::log2_ceil(size)).map(|step| step + 1).sum()
}

/// First place and number of places.
type Range = (u32, u32);

/// A round of a doubling over places: `transfer(peer, what is given, what is taken)` if there is something to do.
pub(crate) fn doubling(
    me: u32,
    size: u32,
    round: u32,
    mut transfer: impl FnMut(u32, Option<Range>, Option<Range>),
) {
    let (mut step, mut part) = (0, round);
    while part > step {
        part -= step + 1;
        step += 1;
    }
    let span = 1u32 << step;
    let (mine, theirs) = (me >> step << step, (me ^ span) >> step << step);
    let held = |first: u32| (first, span.min(size - first));
    if part == 0 {
        if (me ^ span) < size {
            transfer(me ^ span, Some(held(mine)), Some(held(theirs)));
        }
        return;
    }
    // The partner's half is not whole: ranks of this half that had a partner hand on what they got.
    if u64::from(theirs) + u64::from(span) <= u64::from(size) || mine + span >= size {
        return;
    }
    let (completed, bit) = (size - mine - span, step - part);
    let peer = me ^ (1 << bit);
    let border = (me >> (bit + 1) << (bit + 1)) + completed;
    let missing = (mine + span, completed);
    if peer > me && me < border && peer >= border {
        transfer(peer, Some(missing), None);
    } else if peer < me && peer < border && me >= border {
        transfer(peer, None, Some(missing));
    }
}

pub(crate) const GB: About = About {
    name: "smpi-gb",
    summary: "gather to rank 0, then a bcast by the table of `smpi-ompi` (SMPI's GB)",
    doc: "Of unequal blocks the gather has all at once.",
    source: "SimGrid's SMPI, `allgather:GB` and `allgatherv:GB`",
    params: &[],
};

const GB_PARTS: [Part; 2] = [
    (|t| t.rounds_within(as_gather(t)), |t, r, o| t.round_within(as_gather(t), r, o)),
    (|t| t.rounds_within(as_bcast(t)), |t, r, o| t.round_within(as_bcast(t), r, o)),
];

fn as_gather(task: &Task) -> Task {
    let kind = if task.counts.is_some() { CollectiveKind::Gatherv } else { CollectiveKind::Gather };
    Task { kind, ..task.clone() }
}

fn as_bcast(task: &Task) -> Task {
    let bytes = task.bytes_of(task.whole(), true);
    Task { kind: CollectiveKind::Bcast, bytes, counts: None, ..task.clone() }
}

pub(crate) fn gb_rounds(task: &Task) -> u32 {
    rounds_of(task, &GB_PARTS)
}

pub(crate) fn gb(task: &Task, round: u32, out: &mut dyn Sink) {
    round_of(task, round, &GB_PARTS, out);
}
