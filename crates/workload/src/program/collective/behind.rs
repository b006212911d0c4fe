//! Calls on what is behind the first bytes of a vector.

use super::{How, Piece, Sink};
use crate::program::mpi::CommRank;

/// A sink for a call on what is behind the first bytes of a vector.
pub(super) struct Behind<'a> {
    pub(super) out: &'a mut dyn Sink,
    /// Bytes before it.
    pub(super) done: u64,
}

impl Behind<'_> {
    fn shift(&self, piece: Piece) -> Piece {
        match piece {
            Piece::Bytes { start, len } => Piece::Bytes { start: start + self.done, len },
            other => other,
        }
    }
}

impl Sink for Behind<'_> {
    fn recv(&mut self, peer: CommRank, piece: Piece, how: How) {
        self.out.recv(peer, self.shift(piece), how);
    }

    fn send(&mut self, peer: CommRank, piece: Piece) {
        self.out.send(peer, self.shift(piece));
    }

    fn wait(&mut self, place: usize) {
        self.out.wait(place);
    }

    fn open(&mut self) {
        self.out.open();
    }
}
