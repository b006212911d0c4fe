//! Reductions of SMPI's selectors.

use super::{
    How, Part, Piece, Sink, Task,
    behind::Behind,
    round_of, rounds_of, segment,
    tree::{BINOMIAL, Tree},
};
use crate::program::mpi::{CollectiveKind, CommRank};
use base::registry::About;

const SOURCE: &str = "SimGrid's SMPI, `reduce:ompi_*`; Open MPI 1, coll/tuned";
const DOC: &str = "A rank takes the segments of its children one after the other, the next posted while it waits for the one before, and hands on what is \
                   complete.";

pub(crate) const PIPELINE: About = About {
    name: "smpi-pipeline",
    summary: "rank to rank (SMPI's ompi_pipeline)",
    doc: "A rank takes segment after segment, the next posted while it waits for the one before, and hands on what is complete. `segment = \"0 B\"`: 1, 32 or 64 KiB by \
          Open MPI's rule.",
    source: SOURCE,
    params: &[segment("0 B")],
};

pub(crate) const CHAIN: About = About {
    name: "smpi-chain",
    summary: "P / 2 chains side by side (SMPI's ompi_chain)",
    doc: DOC,
    source: SOURCE,
    params: &[segment("64 KiB")],
};

pub(crate) const BINARY: About = About {
    name: "smpi-binary",
    summary: "a binary tree (SMPI's ompi_binary)",
    doc: DOC,
    source: SOURCE,
    params: &[segment("32 KiB")],
};

pub(crate) const BINOMIAL_ABOUT: About = About {
    name: "smpi-binomial",
    summary: "a binomial tree, the smallest subtree first (SMPI's ompi_binomial)",
    doc: "A rank takes the segments of its children one after the other, the next posted while it waits for the one before, and hands on what is complete. \
          `segment = \"0 B\"`: 1 KiB or none by Open MPI's rule.",
    source: SOURCE,
    params: &[segment("0 B")],
};

/// Open MPI's chains: as many as half of the ranks, at most 32.
fn chains(task: &Task) -> Tree {
    Tree::chains((task.size / 2).clamp(1, 32), task.size)
}

fn with_segment(task: &Task, segment: u64) -> Task {
    Task { segment: if task.segment == 0 { segment } else { task.segment }, ..task.clone() }
}

/// Open MPI's segments: linear functions of the bytes that were fitted there.
fn pipelined(task: &Task) -> Task {
    let (size, bytes) = (f64::from(task.size), task.bytes as f64);
    let segment = match () {
        () if size > 0.0410 / 1024.0 * bytes + 9.7128 => 1 << 10,
        () if size > 0.0033 / 1024.0 * bytes + 1.6761 => 32 << 10,
        () => 64 << 10,
    };
    with_segment(task, segment)
}

fn along_binomial(task: &Task) -> Task {
    let whole = (task.size < 8 && task.bytes < 20_480) || task.bytes < 2048;
    let short = f64::from(task.size) > 0.6016 / 1024.0 * task.bytes as f64 + 1.3496;
    with_segment(task, if whole || !short { 0 } else { 1 << 10 })
}

pub(crate) fn pipeline_rounds(task: &Task) -> u32 {
    rounds(&pipelined(task), Tree::Chain)
}

pub(crate) fn pipeline(task: &Task, round: u32, out: &mut dyn Sink) {
    step(&pipelined(task), Tree::Chain, round, out);
}

pub(crate) fn chain_rounds(task: &Task) -> u32 {
    rounds(task, chains(task))
}

pub(crate) fn chain(task: &Task, round: u32, out: &mut dyn Sink) {
    step(task, chains(task), round, out);
}

pub(crate) fn binary_rounds(task: &Task) -> u32 {
    rounds(task, Tree::Interleaved)
}

pub(crate) fn binary(task: &Task, round: u32, out: &mut dyn Sink) {
    step(task, Tree::Interleaved, round, out);
}

pub(crate) fn binomial_rounds(task: &Task) -> u32 {
    rounds(&along_binomial(task), BINOMIAL)
}

pub(crate) fn binomial(task: &Task, round: u32, out: &mut dyn Sink) {
    step(&along_binomial(task), BINOMIAL, round, out);
}

fn rounds(task: &Task, tree: Tree) -> u32 {
    let segments = task.segments();
    match tree.degree(task.place(), task.size) {
        0 => segments,
        children => segments.saturating_mul(children).saturating_add(1).saturating_mul(2),
    }
}

/// Leaves send segment after segment. Others post the next receive and wait for the one before in even rounds; in odd ones they send a segment of which all have come.
fn step(task: &Task, tree: Tree, round: u32, out: &mut dyn Sink) {
    let (me, parent) = (task.place(), tree.parent(task.place()));
    let children = tree.degree(me, task.size);
    let up = |out: &mut dyn Sink, segment| {
        parent.into_iter().for_each(|parent| out.send(task.at(parent), task.segment(segment)));
    };
    if children == 0 {
        return up(out, round);
    }
    let (index, all) = (round / 2, task.segments() * children);
    if round.is_multiple_of(2) {
        if index < all {
            let child = tree.child(me, index % children);
            out.recv(task.at(child), task.segment(index / children), How::Combine);
            if index == 0 { out.open() } else { out.wait(0) }
        }
    } else if index > 0 && index.is_multiple_of(children) {
        up(out, index / children - 1);
        // The receive in hand comes first among what is outstanding.
        match (parent.is_some(), index < all) {
            (true, true) => out.wait(1),
            (false, true) => out.open(),
            (_, false) => {}
        }
    } else {
        out.open();
    }
}

pub(crate) const REDBCAST: About = About {
    name: "smpi-redbcast",
    summary: "reduce to rank 0, then bcast, both by the table of `smpi-ompi` (SMPI's redbcast)",
    doc: "One after the other.",
    source: "SimGrid's SMPI, `allreduce:redbcast`",
    params: &[],
};

fn as_kind(task: &Task, kind: CollectiveKind) -> Task {
    Task { kind, ..task.clone() }
}

const REDBCAST_PARTS: [Part; 2] = [
    (
        |t| t.rounds_within(as_kind(t, CollectiveKind::Reduce)),
        |t, r, o| t.round_within(as_kind(t, CollectiveKind::Reduce), r, o),
    ),
    (
        |t| t.rounds_within(as_kind(t, CollectiveKind::Bcast)),
        |t, r, o| t.round_within(as_kind(t, CollectiveKind::Bcast), r, o),
    ),
];

pub(crate) fn redbcast_rounds(task: &Task) -> u32 {
    rounds_of(task, &REDBCAST_PARTS)
}

pub(crate) fn redbcast(task: &Task, round: u32, out: &mut dyn Sink) {
    round_of(task, round, &REDBCAST_PARTS, out);
}

pub(crate) const LR: About = About {
    name: "smpi-lr",
    summary: "ring reduce-scatter, then ring allgather, of equal parts (SMPI's lr)",
    doc: "P parts of floor(bytes / P) bytes; what is left is an allreduce of its own, by the table of `smpi-ompi`. Fewer bytes than ranks run as `smpi-redbcast`. \
          SMPI counts elements where this counts bytes.",
    source: "SimGrid's SMPI, `allreduce:lr` and `allreduce:ompi_ring_segmented` up to 1 MiB a part",
    params: &[],
};

/// Bytes of a part of a ring; 0 if there are fewer bytes than ranks.
fn ring_part(task: &Task) -> u64 {
    task.bytes / u64::from(task.size)
}

fn left_over(task: &Task) -> Option<(Task, u64)> {
    let done = ring_part(task) * u64::from(task.size);
    (done < task.bytes).then(|| (Task { bytes: task.bytes - done, ..task.clone() }, done))
}

pub(crate) fn lr_rounds(task: &Task) -> u32 {
    if ring_part(task) == 0 {
        return redbcast_rounds(task);
    }
    2 * (task.size - 1) + left_over(task).map_or(0, |(rest, _)| task.rounds_within(rest))
}

pub(crate) fn lr(task: &Task, round: u32, out: &mut dyn Sink) {
    if ring_part(task) == 0 {
        return redbcast(task, round, out);
    }
    let steps = task.size - 1;
    if round >= 2 * steps {
        let (rest, done) = left_over(task).expect("there are rounds for it");
        return task.round_within(rest, round - 2 * steps, &mut Behind { out, done });
    }
    let part = |rank: CommRank| {
        let len = ring_part(task);
        Piece::Bytes { start: u64::from(rank.number()) * len, len }
    };
    // In the first half a rank passes on the part of the rank before it, in the second it begins with its own.
    let (step, shift, how) =
        if round < steps { (round, 1, How::Combine) } else { (round - steps, 0, How::Store) };
    let before = |distance: u32| CommRank::new(task.wrap(task.rank.number(), 2 * task.size - distance));
    out.recv(task.left(1), part(before(step + 1 + shift)), how);
    out.send(task.right(1), part(before(step + shift)));
}

pub(crate) const RING: About = About {
    name: "smpi-ring",
    summary: "blocks go round and are combined, one receive ahead (SMPI's ompi_ring)",
    doc: "As `ring`, but the next receive is posted before the one in hand is waited for.",
    source: "SimGrid's SMPI, `reduce_scatter:ompi_ring`; Open MPI, coll/tuned",
    params: &[],
};

pub(crate) fn ring_rounds(task: &Task) -> u32 {
    2 * (task.size - 1)
}

/// Even rounds send, odd ones post the next receive and wait for the one before.
pub(crate) fn ring(task: &Task, round: u32, out: &mut dyn Sink) {
    let block = |distance| Piece::Blocks { first: task.left(distance), count: 1 };
    let (index, steps) = (round / 2, task.size - 1);
    let recv = |out: &mut dyn Sink, step| out.recv(task.left(1), block(step + 2), How::Combine);
    if round == 0 {
        recv(out, 0);
    }
    if round.is_multiple_of(2) {
        out.send(task.right(1), block(index + 1));
        // The receive in hand comes first among what is outstanding.
        out.wait(1);
    } else if index + 1 < steps {
        recv(out, index + 1);
        out.wait(0);
    }
}
