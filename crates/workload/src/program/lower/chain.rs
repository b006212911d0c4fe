//! A chain of operations: each may begin when the one before has started or finished.

use crate::program::{
    After, Batch, Edge, Kind, Op, Place,
    collective::{How, Piece, Sink, Task, Wait},
    mpi::{CommRank, Mode},
};
use base::index::RankId;
use std::collections::VecDeque;

/// The end of a chain: what its next operation depends on.
#[derive(Clone, Debug, Default)]
pub(super) struct Chain {
    /// Number of its last operation.
    last: u64,
    /// What the last operation must have done; `Nothing` if there is none.
    how: After,
    /// Others that must have finished.
    more: Vec<u64>,
}

impl Chain {
    /// Appends an operation. `then` is what its successor waits for.
    #[inline]
    pub(super) fn emit(&mut self, next: &mut u64, batch: &mut Batch, mut op: Op, then: After) -> u64 {
        let number = *next;
        if self.last + 1 == number {
            op.after = self.how;
        } else if self.how != After::Nothing {
            let on_start = self.how == After::Start;
            batch.edges.push(Edge { before: self.last, after: number, on_start });
        }
        if !self.more.is_empty() {
            let edge = |before| Edge { before, after: number, on_start: false };
            batch.edges.extend(self.more.drain(..).map(edge));
        }
        batch.ops.push(op);
        (self.last, self.how) = (number, then);
        *next = number + 1;
        number
    }

    /// What must have happened when the chain has come so far; `next` is the number of the next operation.
    pub(super) fn place(&self, next: u64) -> Place {
        let mut finished = self.more.clone();
        finished.extend((self.how == After::Finish).then_some(self.last));
        Place { finished, started: (self.how == After::Start).then_some(self.last), next }
    }

    /// The next operation also waits for transfers: takes them out and returns their bytes to be combined.
    pub(super) fn wait_for_posted(&mut self, posted: &mut VecDeque<Posted>, wait: Wait) -> u64 {
        let mut combine = 0u64;
        let mut end = |posted: Posted| {
            self.wait_for(posted.number);
            combine = combine.saturating_add(posted.combine);
        };
        match wait {
            Wait::All => posted.drain(..).for_each(end),
            Wait::One(place) => end(posted.remove(place).expect("a round waits for what is outstanding")),
            Wait::None => {}
        }
        combine
    }

    /// The next operation also waits for this one's end.
    #[inline]
    pub(super) fn wait_for(&mut self, number: u64) {
        if number == self.last && self.how != After::Nothing {
            self.how = After::Finish;
        } else {
            self.more.push(number);
        }
    }
}

/// An operation that does nothing yet.
#[inline]
pub(super) fn blank(kind: Kind, origin: u32) -> Op {
    Op {
        kind,
        cpu: 0,
        nic: 0,
        after: After::Nothing,
        peer: RankId::new(0),
        tag: 0,
        context: 0,
        mode: Mode::Standard,
        amount: 0,
        origin,
        collective: 0,
    }
}

/// Appends a round of a collective to a chain.
pub(super) struct Round<'a> {
    pub(super) task: &'a Task,
    /// Ranks of the job in the communicator; `None` if they have the same numbers.
    pub(super) members: Option<&'a [RankId]>,
    /// Context, tag, origin and collective of its transfers.
    pub(super) pattern: Op,
    pub(super) chain: &'a mut Chain,
    pub(super) next: &'a mut u64,
    pub(super) batch: &'a mut Batch,
    /// Transfers that nothing has waited for: numbers, and bytes to be combined when they are there.
    pub(super) posted: &'a mut VecDeque<Posted>,
    /// What the next round waits for.
    pub(super) wait: Wait,
}

/// A transfer under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Posted {
    /// Number of the operation in the rank's stream.
    pub(super) number: u64,
    /// Bytes to be combined at its end.
    pub(super) combine: u64,
}

impl Round<'_> {
    fn post(&mut self, kind: Kind, peer: CommRank, amount: u64, combine: u64) {
        let peer = self.members.map_or(peer.of_world(), |m| m[peer.index()]);
        let op = Op { kind, peer, amount, ..self.pattern };
        let number = self.chain.emit(self.next, self.batch, op, After::Start);
        self.posted.push_back(Posted { number, combine });
    }
}

impl Sink for Round<'_> {
    fn recv(&mut self, peer: CommRank, piece: Piece, how: How) {
        let bytes = self.task.bytes_of(piece, false);
        self.post(Kind::Recv, peer, bytes, if how == How::Store { 0 } else { bytes });
    }

    fn send(&mut self, peer: CommRank, piece: Piece) {
        let bytes = self.task.bytes_of(piece, true);
        self.post(Kind::Send, peer, bytes, 0);
    }

    fn wait(&mut self, place: usize) {
        self.wait = Wait::One(place);
    }

    fn open(&mut self) {
        self.wait = Wait::None;
    }
}
