//! Broadcasts of SMPI's selectors: pipelines whose receives are all posted at once, and trees whose sends wait for each other.

use super::{
    CHUNK, How, Part, Piece, Sink, Task, behind::Behind, round_of, rounds_of, segment, smpi_blocks as blocks,
    tree::Tree,
};
use crate::program::mpi::{CollectiveKind, CommRank};
use base::registry::About;

/// Segment of SMPI's own pipelines.
pub(crate) const SEGMENT: u64 = 8 << 10;

pub(crate) const NTSL: About = About {
    name: "smpi-ntsl",
    summary: "rank to rank from rank 0, all receives posted at once (SMPI's NTSL)",
    doc: "Another root first gives all of it to rank 0. Every rank posts the receives of all segments and hands on each as it comes. What is left behind the \
          last whole segment is a broadcast of its own, by the table of `smpi-ompi`.",
    source: "SimGrid's SMPI, `bcast:NTSL`",
    params: &[segment("8 KiB")],
};

pub(crate) fn ntsl_rounds(task: &Task) -> u32 {
    rounds_of(task, &NTSL_PARTS)
}

pub(crate) fn ntsl(task: &Task, round: u32, out: &mut dyn Sink) {
    round_of(task, round, &NTSL_PARTS, out);
}

const NTSL_PARTS: [Part; 3] = [
    (to_first_rounds, to_first),
    (|t| flood_rounds(t, Tree::Chain), |t, r, o| flood(t, Tree::Chain, r, o)),
    (rest_rounds, rest),
];

pub(crate) const NTSB: About = About {
    name: "smpi-ntsb",
    summary: "binary tree from rank 0, all receives posted at once (SMPI's NTSB)",
    doc: "As `smpi-ntsl`, along a binary tree in heap order.",
    source: "SimGrid's SMPI, `bcast:NTSB`",
    params: &[segment("8 KiB")],
};

pub(crate) fn ntsb_rounds(task: &Task) -> u32 {
    rounds_of(task, &NTSB_PARTS)
}

pub(crate) fn ntsb(task: &Task, round: u32, out: &mut dyn Sink) {
    round_of(task, round, &NTSB_PARTS, out);
}

const NTSB_PARTS: [Part; 3] = [
    (to_first_rounds, to_first),
    (|t| flood_rounds(t, Tree::Binary), |t, r, o| flood(t, Tree::Binary, r, o)),
    (rest_rounds, rest),
];

fn to_first_rounds(task: &Task) -> u32 {
    u32::from(task.root.number() != 0)
}

/// The root gives everything to rank 0.
fn to_first(task: &Task, _: u32, out: &mut dyn Sink) {
    if task.rank.number() == 0 {
        out.recv(task.root, task.whole(), How::Store);
    } else if task.rank == task.root {
        out.send(CommRank::new(0), task.whole());
    }
}

/// Whole segments of a pipeline; 0 if all goes as one.
fn pipes(task: &Task) -> u32 {
    if task.segment == 0 || task.bytes <= task.segment {
        return 0;
    }
    u32::try_from(task.bytes / task.segment).unwrap_or(u32::MAX / 4)
}

fn pipe(task: &Task, index: u32) -> Piece {
    Piece::Bytes { start: u64::from(index) * task.segment, len: task.segment }
}

fn flood_rounds(task: &Task, tree: Tree) -> u32 {
    let (me, pipes) = (task.rank.number(), pipes(task));
    if pipes == 0 {
        return 1 + tree.degree(me, task.size);
    }
    if me == 0 { pipes } else { pipes.div_ceil(CHUNK) + pipes + 1 }
}

/// Down a tree over ranks: as a whole, received and then sent to one child after the other, or segment by segment as they come.
fn flood(task: &Task, tree: Tree, round: u32, out: &mut dyn Sink) {
    let (me, pipes, posting) = (task.rank.number(), pipes(task), pipes(task).div_ceil(CHUNK));
    let parent = tree.parent(me).map(CommRank::new);
    let send = |out: &mut dyn Sink, i, piece| out.send(CommRank::new(tree.child(me, i)), piece);
    let send_all = |out: &mut dyn Sink, segment| {
        (0..tree.degree(me, task.size)).for_each(|i| send(out, i, pipe(task, segment)));
    };
    match parent {
        _ if pipes == 0 && round > 0 => send(out, round - 1, task.whole()),
        Some(parent) if pipes == 0 => out.recv(parent, task.whole(), How::Store),
        None if pipes == 0 => {}
        None => {
            send_all(out, round);
            if round + 1 < pipes {
                out.open();
            }
        }
        Some(parent) if round < posting => {
            let segments = round * CHUNK..((round + 1) * CHUNK).min(pipes);
            segments.for_each(|i| out.recv(parent, pipe(task, i), How::Store));
            out.open();
        }
        Some(_) => {
            let next = round - posting;
            if next > 0 {
                send_all(out, next - 1);
            }
            if next < pipes {
                // The receives that are left come first among what is outstanding.
                out.wait(0);
            }
        }
    }
}

/// What is behind the last whole segment, as a call of its own.
fn remainder(task: &Task) -> Option<(Task, u64)> {
    let done = u64::from(pipes(task)) * task.segment;
    (done > 0 && done < task.bytes).then(|| (Task { bytes: task.bytes - done, ..task.clone() }, done))
}

fn rest_rounds(task: &Task) -> u32 {
    remainder(task).map_or(0, |(rest, _)| task.rounds_within(rest))
}

fn rest(task: &Task, round: u32, out: &mut dyn Sink) {
    let (rest, done) = remainder(task).expect("there are rounds for it");
    task.round_within(rest, round, &mut Behind { out, done });
}

pub(crate) const PIPELINE: About = About {
    name: "smpi-pipeline",
    summary: "rank to rank from the root, one receive ahead (SMPI's ompi_pipeline)",
    doc: "A rank posts the receive of the next segment, waits for the one before and hands it on. `segment = \"0 B\"`: 16, 64 or 128 KiB by Open MPI's rule.",
    source: "SimGrid's SMPI, `bcast:ompi_pipeline`; Open MPI 1, coll/tuned",
    params: &[segment("0 B")],
};

/// With Open MPI's segment where none is given: linear functions of the bytes that were fitted there for three lengths.
fn with_segment(task: &Task) -> Task {
    let (size, bytes) = (f64::from(task.size), task.bytes as f64);
    let segment = match task.segment {
        0 if size < 1.6134e-6 * bytes + 2.1102 => 128 << 10,
        0 if size < 2.3679e-6 * bytes + 1.1787 => 64 << 10,
        0 if size < 3.2118e-6 * bytes + 8.7936 => 16 << 10,
        0 => 128 << 10,
        given => given,
    };
    Task { segment, ..task.clone() }
}

pub(crate) fn pipeline_rounds(task: &Task) -> u32 {
    2 * with_segment(task).segments() + 2
}

/// Even rounds receive and odd ones send: the root the segment of its number, others the one before, while the next is on its way.
pub(crate) fn pipeline(task: &Task, round: u32, out: &mut dyn Sink) {
    let task = with_segment(task);
    let (me, segments, index) = (task.place(), task.segments(), round / 2);
    if round.is_multiple_of(2) {
        let Some(parent) = Tree::Chain.parent(me).filter(|_| index < segments) else { return };
        out.recv(task.at(parent), task.segment(index), How::Store);
        return if index == 0 { out.open() } else { out.wait(0) };
    }
    let due = if me == 0 { Some(index).filter(|&i| i < segments) } else { index.checked_sub(1) };
    match due.filter(|_| me + 1 < task.size) {
        Some(due) => {
            out.send(task.at(me + 1), task.segment(due));
            if me > 0 && index < segments {
                out.wait(1);
            }
        }
        None if index < segments => out.open(),
        None => {}
    }
}

pub(crate) const KNOMIAL: About = About {
    name: "smpi-knomial",
    summary: "a k-nomial tree, one level of children after the other (SMPI's mvapich2_knomial_intra_node)",
    doc: "Sends to the children of a level begin when those of the level above are over. What SMPI does once for a communicator before its first \
          such call, finding out who shares a node, is not done.",
    source: "SimGrid's SMPI, `bcast:mvapich2_knomial_intra_node`",
    params: &[super::RADIX],
};

fn knomial_levels(task: &Task) -> (Tree, u32) {
    let tree = Tree::Knomial(task.radix.max(2));
    (tree, tree.degree(task.place(), task.size).div_ceil(task.radix.max(2) - 1))
}

pub(crate) fn knomial_rounds(task: &Task) -> u32 {
    1 + knomial_levels(task).1
}

pub(crate) fn knomial(task: &Task, round: u32, out: &mut dyn Sink) {
    let (me, (tree, levels)) = (task.place(), knomial_levels(task));
    if round == 0 {
        if let Some(parent) = tree.parent(me) {
            out.recv(task.at(parent), task.whole(), How::Store);
        }
        return;
    }
    let of_level = task.radix.max(2) - 1;
    let first = (levels - round) * of_level;
    for i in first..(first + of_level).min(tree.degree(me, task.size)) {
        out.send(task.at(tree.child(me, i)), task.whole());
    }
}

pub(crate) const SCATTER_RDB: About = About {
    name: "smpi-scatter-rdb",
    summary: "binomial scatter, then recursive doubling of any number of ranks (SMPI's scatter_rdb_allgather)",
    doc: "The vector is cut into P parts of ceil(bytes / P), the last ones shorter or empty. Sends of the scatter wait for each other. Ranks that miss a partner in the doubling get its \
          parts from others, as in MPICH.",
    source: "SimGrid's SMPI, `bcast:scatter_rdb_allgather`; MPICH",
    params: &[],
};

pub(crate) fn scatter_rdb_rounds(task: &Task) -> u32 {
    rounds_of(task, &SCATTER_PARTS)
}

pub(crate) fn scatter_rdb(task: &Task, round: u32, out: &mut dyn Sink) {
    round_of(task, round, &SCATTER_PARTS, out);
}

const SCATTER_PARTS: [Part; 2] = [
    (blocks::scatter_rounds, |t, r, o| blocks::scatter_tree(t, r, false, o, ceil_parts)),
    (
        |t| blocks::doubling_rounds(t.size),
        |t, r, o| {
            blocks::doubling(t.place(), t.size, r, |peer, given, taken| {
                let peer = t.at(peer);
                if let Some((first, count)) = taken {
                    out_recv(o, peer, ceil_parts(t, first, count));
                }
                if let Some((first, count)) = given {
                    o.send(peer, ceil_parts(t, first, count));
                }
            });
        },
    ),
];

fn out_recv(out: &mut dyn Sink, peer: CommRank, piece: Piece) {
    out.recv(peer, piece, How::Store);
}

/// Parts of a vector that is cut into one of ceil(bytes / P) for each place.
fn ceil_parts(task: &Task, first: u32, count: u32) -> Piece {
    debug_assert!(task.kind == CollectiveKind::Bcast, "parts of a vector");
    let part = task.bytes.div_ceil(u64::from(task.size));
    let border = |place: u32| (u64::from(place) * part).min(task.bytes);
    Piece::Bytes { start: border(first), len: border(first + count) - border(first) }
}
