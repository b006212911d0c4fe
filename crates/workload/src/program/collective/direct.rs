//! Everybody sends to everybody at once: what SMPI does in scans, in allgathers, and in reductions that do not block.

use super::{CHUNK, How, Piece, Sink, Task};
use crate::program::mpi::CollectiveKind::{
    Allgather, Allgatherv, Exscan, ReduceScatter, ReduceScatterBlock, Scan,
};
use base::registry::About;

pub(crate) const DIRECT: About = About {
    name: "direct",
    summary: "everybody sends to everybody at once",
    doc: "A rank posts the receives from all others, then the sends, and waits for all of them. In allgathers it sends its block, in allreduce its vector, in reduce-scatters to \
          each rank that rank's block; in scans it sends its vector to all ranks behind it.",
    source: "SimGrid's SMPI: its scans, allgathers and non-blocking calls",
    params: &[],
};

pub(crate) fn rounds(task: &Task) -> u32 {
    2 * (task.size - 1).div_ceil(CHUNK)
}

pub(crate) fn direct(task: &Task, round: u32, out: &mut dyn Sink) {
    let chunks = rounds(task) / 2;
    let first = round % chunks * CHUNK + 1;
    let peers = (first..(first + CHUNK).min(task.size)).map(|distance| task.right(distance));
    let scan = matches!(task.kind, Scan | Exscan);
    let block = |rank| Piece::Blocks { first: rank, count: 1 };
    if round < chunks {
        for peer in peers.filter(|&peer| !scan || peer < task.rank) {
            match task.kind {
                Allgather | Allgatherv => out.recv(peer, block(peer), How::Store),
                ReduceScatter | ReduceScatterBlock => out.recv(peer, block(task.rank), How::Combine),
                _ => out.recv(peer, task.whole(), How::Combine),
            }
        }
    } else {
        for peer in peers.filter(|&peer| !scan || peer > task.rank) {
            match task.kind {
                Allgather | Allgatherv => out.send(peer, block(task.rank)),
                ReduceScatter | ReduceScatterBlock => out.send(peer, block(peer)),
                _ => out.send(peer, task.whole()),
            }
        }
    }
    if round + 1 < 2 * chunks {
        out.open();
    }
}
