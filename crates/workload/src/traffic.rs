//! What synthetic sources send: messages addressed by index, so that a source needs no queue.
//!
//! A source's k-th message is a pure function of (seed, job, source, k) and of the (k-1)-th one's time. A source that
//! lags behind its schedule therefore stores one position, not a backlog: beyond saturation memory stays bounded.

use crate::{interval::Interval, levels::LevelPattern};
use base::{index::RankId, time::Ps};

/// One message of an open-loop source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// When the workload creates it.
    pub time: Ps,
    /// Destination: a rank of the job; the model maps it to a terminal through the placement.
    pub destination: RankId,
    /// Payload in bytes; may be zero.
    pub bytes: u64,
}

/// Messages of a list of which a run may leave something out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Created after the time in question.
    pub late: u64,
    /// Limited to a rate of their own, which only model `flow` heeds.
    pub rated: u64,
}

/// An open-loop traffic source for all ranks of a job. It knows ranks alone; where they live is the placement's.
///
/// ```
/// # use workload::traffic::{Message, Traffic};
/// fn first(traffic: &dyn Traffic) -> Option<Message> {
///     traffic.message(base::index::RankId::new(3), 0, 0)
/// }
/// ```
///
/// A terminal in place of a rank does not compile:
///
/// ```compile_fail,E0308
/// # use workload::traffic::{Message, Traffic};
/// fn first(traffic: &dyn Traffic) -> Option<Message> {
///     traffic.message(base::index::TerminalId::new(3), 0, 0)
/// }
/// ```
pub trait Traffic: Send + Sync {
    /// The `index`-th message of `rank` (0-based); `previous` is the time of the one before (0 for the first).
    /// `None` when the rank sends no more. Times never decrease with the index.
    fn message(&self, rank: RankId, index: u64, previous: Ps) -> Option<Message>;

    /// The messages of `rank` from the `index`-th on, as many as fit: what [`Traffic::message`] gives one by one. Returns how many there are; fewer
    /// than fit if the rank sends no more.
    fn messages(&self, rank: RankId, index: u64, previous: Ps, into: &mut [Message]) -> usize {
        let mut previous = previous;
        for (i, slot) in into.iter_mut().enumerate() {
            let Some(message) = self.message(rank, index + i as u64, previous) else { return i };
            previous = message.time;
            *slot = message;
        }
        into.len()
    }

    /// Ranks that every message of `rank` is for, where routers copy it on its way: [`Message::destination`] is the first of them then. `None` if it is for one
    /// rank alone; only models whose routers copy take anything else.
    fn members(&self, _rank: RankId) -> Option<Vec<RankId>> {
        None
    }

    /// The most that the `index`-th message of `rank` may flow at, in bytes per second, if it is limited. Only models of flows heed it.
    fn rate(&self, _rank: RankId, _index: u64) -> Option<f64> {
        None
    }

    /// Messages of its list that are created after a time, and those that have a rate of their own; none of traffic without a list.
    fn left_out(&self, _after: Ps) -> LeftOut {
        LeftOut::default()
    }

    /// Messages that so many ranks send in all, if each of them ends after a number; none of traffic that goes on, follows a list or answers.
    fn total(&self, _ranks: u32) -> Option<u64> {
        None
    }

    /// What a rank does when a message reaches it whole: `Some((destination, bytes))` to send at once (closed loop).
    /// `index` counts the messages that the pair's sender has delivered to this rank from `source`, from 0.
    fn reply(&self, rank: RankId, source: RankId, index: u64) -> Option<(RankId, u64)>;

    /// True if what [`Traffic::reply`] gives is marked on its way as a reply, and arrives as such: then it is not asked about by
    /// [`Traffic::reply`] but by [`Traffic::next_request`].
    fn requests(&self) -> bool {
        false
    }

    /// The request that `rank` sends when a reply reaches it: destination and bytes. `answered` counts its replies before this one.
    fn next_request(&self, _rank: RankId, _answered: u64) -> Option<(RankId, u64)> {
        None
    }

    /// True if [`Traffic::reply`] can ever answer.
    fn closed_loop(&self) -> bool;

    /// Size of its largest message, if it is not the job's `message`.
    fn largest(&self) -> Option<u64> {
        None
    }

    /// Ends of the ranges by which results tell its messages apart by size, ascending, each within its range; empty for powers of two.
    fn size_ranges(&self) -> Vec<u64> {
        Vec::new()
    }

    /// A rank that sends messages to itself, if there is one: models without a path for them refuse it.
    fn to_itself(&self) -> Option<RankId> {
        None
    }

    /// Mean load that the job offers per rank, in bytes per second, if it has one.
    fn offered_bytes_per_s(&self) -> Option<f64>;

    /// Time after which every rank creates messages as before, for traffic that has a beat.
    fn period(&self) -> Option<Interval> {
        None
    }

    /// The pattern with levels that this traffic repeats, if it is one.
    fn levels(&self) -> Option<&LevelPattern> {
        None
    }
}
