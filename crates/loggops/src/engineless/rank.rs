//! What a run without the engine keeps of a rank.

use super::channels::Channels;
use base::{index::RankId, time::Ps};
use ranks::operations::counted;
use serde::{Deserialize, Serialize};
use workload::program::{Batch, Cursor, Damage, Program};

/// What a rank does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Doing {
    /// It can go on.
    Ready,
    /// It waits for the end of its receive with this number.
    Waiting(u32),
    /// What it does next lies beyond the end of the run.
    Cut,
    /// It has no more operations.
    Over,
}

/// A receive, or a computation, whose end a later operation may wait for.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Open {
    number: u32,
    /// `NEVER` while it waits.
    end: Ps,
}

/// A rank: how far it has come in its program, and what it keeps for that.
#[derive(Serialize, Deserialize)]
pub struct Rank {
    /// What it does next.
    pub doing: Doing,
    /// When its processor is free.
    pub clock: Ps,
    /// When it last took something up.
    pub acted: Ps,
    /// Start and end of the operation before the next one; the end is `NEVER` for a receive that waits.
    pub before: (Ps, Ps),
    /// The next operation cannot start earlier, as far as is known yet.
    pub ready: Ps,
    /// True once `ready` knows of the operation before.
    pub asked: bool,
    /// The next operation, and its first edge that was not looked at, in the batch.
    pub at: u32,
    /// The next operation's first edge that was not looked at, in the batch.
    pub edge: u32,
    /// Number of the batch's first operation.
    pub first: u32,
    /// Batches that have been read so far.
    batches: u32,
    /// What began and may end after the processor went on, by number.
    open: Vec<Open>,
    /// Length of `open` at which it is looked through.
    look: u32,
    /// Receives and messages.
    pub channels: Channels,
    /// Last arrival of a message sent to each rank, where messages could overtake each other.
    pub(super) latest: Vec<(RankId, Ps)>,
    /// The operations at hand.
    #[serde(skip)]
    pub batch: Batch,
    #[serde(skip)]
    cursor: Option<Box<dyn Cursor>>,
}

/// Least length of `open` at which it is looked through.
const LOOK: u32 = 16;

impl Rank {
    /// A rank that starts at `start`.
    pub fn new(start: Ps) -> Self {
        Self {
            doing: Doing::Ready,
            clock: start,
            acted: start,
            before: (start, start),
            ready: 0,
            asked: false,
            at: 0,
            edge: 0,
            first: 0,
            batches: 0,
            open: Vec::new(),
            look: LOOK,
            channels: Channels::default(),
            latest: Vec::new(),
            batch: Batch::default(),
            cursor: None,
        }
    }

    /// Number of the next operation.
    #[inline]
    pub fn number(&self) -> u32 {
        self.first + self.at
    }

    /// Goes to the operation behind the next one.
    #[inline]
    pub fn advance(&mut self) {
        self.at += 1;
        debug_assert!(
            (self.at as usize) <= self.batch.ops.len(),
            "the next operation is in the batch, or is the next batch's first"
        );
        self.asked = false;
    }

    /// Reads the next batch; false if there is none.
    pub fn read(&mut self, program: &dyn Program, rank: RankId) -> Result<bool, Damage> {
        let cursor = self.cursor.get_or_insert_with(|| program.open(rank));
        self.first = counted(self.first, &self.batch)?;
        (self.at, self.edge) = (0, 0);
        self.batch.clear();
        cursor.fill(&mut self.batch)?;
        self.batches += 1;
        if !self.batch.edges.is_sorted_by_key(|e| e.after) {
            self.batch.edges.sort_by_key(|e| e.after);
        }
        if self.batch.ops.is_empty() {
            self.cursor = None;
        }
        Ok(!self.batch.ops.is_empty())
    }

    /// After the state was read from a checkpoint: reads up to the present batch.
    pub fn reread(&mut self, program: &dyn Program, rank: RankId) -> Result<(), Damage> {
        let Self { at, edge, first, batches, .. } = *self;
        self.batches = 0;
        while self.batches < batches && self.read(program, rank)? {}
        (self.at, self.edge, self.first, self.batches) = (at, edge, first, batches);
        Ok(())
    }

    /// Notes that the operation before the next one goes on while others are done.
    pub fn leave_open(&mut self) {
        let (number, end) = (self.number().wrapping_sub(1), self.before.1);
        debug_assert!(
            self.open.last().is_none_or(|o| o.number < number),
            "operations are opened in the order of their numbers"
        );
        if self.open.len() as u32 >= self.look {
            // What ends before the last act cannot hold up anything.
            let acted = self.acted;
            self.open.retain(|o| o.end > acted);
            self.look = (2 * self.open.len() as u32).max(LOOK);
        }
        self.open.push(Open { number, end });
    }

    /// When an operation is over: `NEVER` if it waits, 0 if long ago.
    pub fn end_of(&self, number: u32) -> Ps {
        if number == self.number().wrapping_sub(1) {
            return self.before.1;
        }
        self.open.binary_search_by_key(&number, |o| o.number).map_or(0, |i| self.open[i].end)
    }

    /// A receive that waited is over at `at`.
    #[inline]
    pub fn ended(&mut self, number: u32, at: Ps) {
        debug_assert!(at != base::time::NEVER, "a receive that is over has an end");
        if number == self.number().wrapping_sub(1) {
            self.before.1 = at;
        }
        if let Ok(i) = self.open.binary_search_by_key(&number, |o| o.number) {
            self.open[i].end = at;
        }
    }

    /// When a message for `peer` is there that would be at `arrival` if it did not have to stay behind earlier ones.
    pub fn in_order(&mut self, peer: RankId, arrival: Ps) -> Ps {
        match self.latest.binary_search_by_key(&peer, |l| l.0) {
            Ok(i) => {
                let latest = &mut self.latest[i].1;
                debug_assert!(*latest > 0, "a message took time");
                *latest = arrival.max(*latest);
                *latest
            }
            Err(i) => {
                self.latest.insert(i, (peer, arrival));
                arrival
            }
        }
    }

    /// Operations of this batch that are not begun, if the rank cannot go on.
    pub fn left(&self) -> u64 {
        (self.batch.ops.len() as u64).saturating_sub(u64::from(self.at))
    }
}
