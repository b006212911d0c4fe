//! Neighbourhood collectives.

use super::{CHUNK, How, Piece, Sink, Task};
use crate::program::mpi::PROC_NULL;
use base::registry::About;

pub(crate) const LINEAR: About = About {
    name: "linear",
    summary: "all receives and sends at once",
    doc: "A rank posts the receives from all its neighbours, then the sends, in the order of the list, and waits for all of them. Null \
          processes and the rank itself need no messages.",
    source: "MPICH; Open MPI, `basic`",
    params: &[],
};

fn chunks(task: &Task) -> u32 {
    task.neighbours.as_ref().map_or(0, |n| n.len() as u32).div_ceil(CHUNK)
}

pub(crate) fn rounds(task: &Task) -> u32 {
    2 * chunks(task)
}

pub(crate) fn linear(task: &Task, round: u32, out: &mut dyn Sink) {
    let Some(neighbours) = &task.neighbours else { return };
    let chunks = chunks(task);
    let first = (round % chunks * CHUNK) as usize;
    let part = neighbours.iter().enumerate().skip(first).take(CHUNK as usize);
    for (i, &peer) in part.filter(|&(_, &n)| n != PROC_NULL && n != task.rank) {
        let piece = Piece::Neighbour(i as u32);
        if round < chunks {
            out.recv(peer, piece, How::Store);
        } else {
            out.send(peer, piece);
        }
    }
    if round + 1 < 2 * chunks {
        out.open();
    }
}
