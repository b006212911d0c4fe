//! Prefix reductions, inclusive and exclusive.

use super::{How, Sink, Task, log2_ceil};
use crate::program::mpi::CommRank;
use base::registry::About;

pub(crate) const LINEAR: About = About {
    name: "linear",
    summary: "rank to rank",
    doc: "A rank waits for the total of those before it and sends on the total with its own.",
    source: "Open MPI, `linear`",
    params: &[],
};

pub(crate) fn linear_rounds(_: &Task) -> u32 {
    2
}

pub(crate) fn linear(task: &Task, round: u32, out: &mut dyn Sink) {
    let me = task.rank.number();
    if round == 0 && me > 0 {
        out.recv(CommRank::new(me - 1), task.whole(), How::Combine);
    }
    if round == 1 && me + 1 < task.size {
        out.send(CommRank::new(me + 1), task.whole());
    }
}

pub(crate) const DOUBLING: About = About {
    name: "recursive-doubling",
    summary: "pairs at distances 1, 2, 4, .. exchange totals",
    doc: "ceil(log2 P) steps; partners exchange the totals of their groups, and the higher one adds what it gets to its result.",
    source: "MPICH; Open MPI, `recursive_doubling`",
    params: &[],
};

pub(crate) fn doubling_rounds(task: &Task) -> u32 {
    log2_ceil(task.size)
}

pub(crate) fn doubling(task: &Task, round: u32, out: &mut dyn Sink) {
    let peer = CommRank::new(task.rank.number() ^ (1 << round));
    if peer.number() < task.size {
        out.recv(peer, task.whole(), if peer < task.rank { How::Combine } else { How::Pass });
        out.send(peer, task.whole());
    }
}
