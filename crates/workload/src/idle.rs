//! Jobs that hold their places and do nothing, so that others can be seen alone: all that a model derives from what the job would do
//! (chunks, partitions, processors of a rank) stays as it is.

use crate::{
    interval::Interval,
    program::{Batch, Cursor, Damage, Program},
    traffic::{Message, Traffic},
    work::Work,
};
use base::{index::RankId, time::Ps};
use std::sync::Arc;

impl Work {
    /// The same ranks, of which none sends, computes or waits.
    #[must_use]
    pub fn idle(&self) -> Self {
        match self {
            Self::Traffic(traffic) => Self::Traffic(Arc::new(IdleTraffic(Arc::clone(traffic)))),
            Self::Program(program) => Self::Program(Arc::new(IdleProgram(Arc::clone(program)))),
        }
    }
}

/// Traffic without a message.
struct IdleTraffic(Arc<dyn Traffic>);

impl Traffic for IdleTraffic {
    fn message(&self, _: RankId, _: u64, _: Ps) -> Option<Message> {
        None
    }

    fn reply(&self, _: RankId, _: RankId, _: u64) -> Option<(RankId, u64)> {
        None
    }

    fn members(&self, rank: RankId) -> Option<Vec<RankId>> {
        self.0.members(rank)
    }

    fn requests(&self) -> bool {
        self.0.requests()
    }

    fn closed_loop(&self) -> bool {
        self.0.closed_loop()
    }

    fn largest(&self) -> Option<u64> {
        self.0.largest()
    }

    fn size_ranges(&self) -> Vec<u64> {
        self.0.size_ranges()
    }

    fn offered_bytes_per_s(&self) -> Option<f64> {
        self.0.offered_bytes_per_s().map(|_| 0.0)
    }

    fn period(&self) -> Option<Interval> {
        self.0.period()
    }
}

/// A program whose ranks have ended as soon as they begin.
struct IdleProgram(Arc<dyn Program>);

impl Program for IdleProgram {
    fn ranks(&self) -> u32 {
        self.0.ranks()
    }

    fn open(&self, _: RankId) -> Box<dyn Cursor> {
        Box::new(Ended)
    }

    fn cpus(&self) -> u8 {
        self.0.cpus()
    }

    fn nics(&self) -> u8 {
        self.0.nics()
    }

    fn describe(&self, rank: RankId, origin: u32) -> String {
        self.0.describe(rank, origin)
    }

    fn largest_message(&self) -> Option<u64> {
        self.0.largest_message()
    }

    fn chained(&self) -> bool {
        self.0.chained()
    }

    fn total(&self) -> Option<u64> {
        Some(0)
    }
}

/// Of a rank that has no operation.
struct Ended;

impl Cursor for Ended {
    fn fill(&mut self, _: &mut Batch) -> Result<(), Damage> {
        Ok(())
    }
}
