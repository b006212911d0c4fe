//! What a model gives the engine: the LPs of one partition ([`Domain`]) and what is measured of them ([`Observer`]).

use crate::{
    key::{Class, Key},
    state::Journal,
    words::Message,
};
use base::time::Ps;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

/// The clock that an event runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Lane {
    /// Virtual time: workloads, surrogates, statistics.
    Steady,
    /// The network clock, which stands still while the network is suspended: routers, links, terminals' network side.
    Network,
}

/// An event with a payload, addressed to a partition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Envelope<M> {
    /// Number of the partition that receives it.
    pub to: u32,
    /// Clock that the key is read on.
    pub lane: Lane,
    /// Position in the order.
    pub key: Key,
    /// What the model sends, plain old data.
    pub message: M,
}

/// What a handler may do besides changing its own domain.
// A trait of its own, without the domain: effects of one domain can then be handed on to another one that is part of it.
pub trait Actions {
    /// Payload of events with content.
    type Message;
    /// What is emitted to be measured.
    type Record;

    /// The present instant on the clock of the event's own lane.
    fn now(&self) -> Ps;

    /// The identity under which the event was set.
    fn identity(&self) -> u64;

    /// Virtual time minus the network's: constant between director ticks while the network runs.
    fn suspended(&self) -> Ps;

    /// The present instant in virtual time, whatever the lane.
    fn instant(&self) -> Ps;

    /// Reads and sets alarms on the clock of `lane` from here on, at the same place in the order.
    ///
    /// # Panics
    /// If the network's clock stands still and `lane` is the network's.
    fn turn(&mut self, lane: Lane);

    /// Sets an alarm in the own partition on `lane`, at an instant of its clock.
    ///
    /// # Panics
    /// As [`Actions::wake`].
    fn wake_on(&mut self, lane: Lane, at: Ps, class: Class, identity: u64, token: u32);

    /// Sets an alarm in the own partition, on the event's own lane.
    ///
    /// # Panics
    /// If it would not follow the present event in the order.
    fn wake(&mut self, at: Ps, class: Class, identity: u64, token: u32);

    /// Sends a payload to a partition (the own one included), on `lane`.
    ///
    /// # Panics
    /// If it would not follow the present event, or would break the lookahead promised to another partition.
    fn send(&mut self, to: u32, lane: Lane, at: Ps, class: Class, identity: u64, message: Self::Message);

    /// Emits something to be measured, committed with the event.
    fn record(&mut self, record: Self::Record);
}

/// The actions of a domain's handlers. Domains with the same messages and records have the same: so one can be made of another, whose handlers it
/// calls with the very effects that it was given.
pub trait Effects<D: Domain>: Actions<Message = D::Message, Record = D::Record> {}
impl<D: Domain, A: Actions<Message = D::Message, Record = D::Record>> Effects<D> for A {}

/// The LPs of one partition. All state that handlers change lives in [`crate::state`] tables.
///
/// A domain need not be `Send`: one that holds, say, the stacks of coroutines runs in the thread that made it. Only
/// [`Executor::with_threads`](crate::executor::Executor::with_threads) asks for more.
pub trait Domain: Sized {
    /// Payload of events with content. Plain old data; [`crate::MESSAGE_BYTES`] at most, in memory and as [`crate::words`].
    type Message: Message;
    /// What handlers emit to be measured.
    type Record: Copy + PartialEq + Debug;

    /// Schedules the first events; called once, at instant 0, before any event.
    fn start(&mut self, effects: &mut impl Effects<Self>);

    /// Handles an alarm.
    fn wake(&mut self, token: u32, effects: &mut impl Effects<Self>);

    /// Handles a message.
    fn receive(&mut self, message: &Self::Message, effects: &mut impl Effects<Self>);

    /// Does everything that was put off and belongs to an instant strictly before `now` (network clock). Called at every
    /// director tick and at the end, so that what is lazy is never seen from outside.
    // Nothing by default: most domains put nothing off.
    fn settle(&mut self, _now: Ps, _effects: &mut impl Effects<Self>) {}

    /// The same while the network is suspended: what belongs to the steady lane alone, before virtual time `now`.
    fn settle_steady(&mut self, _now: Ps, _effects: &mut impl Effects<Self>) {}

    /// True while what the domain puts off is much work, though no event of it is pending. Such a run is settled between ticks too, so that it
    /// can pause.
    fn puts_off(&self) -> bool {
        false
    }

    /// A handler ended in a panic, ahead of what is certain, and its tables will be undone: whatever else is empty between events must be empty again.
    /// Only optimistic schedulers need it.
    fn abandon(&mut self) {}

    /// Shows every table to the engine, always in the same order.
    fn visit_journals(&mut self, visit: &mut dyn FnMut(&mut dyn Journal));

    /// Shortest time from an event here to a message of it at partition `to`; `None` if none is ever sent there. Asked at
    /// the start and after every director tick.
    fn lookahead(&self, to: u32) -> Option<Ps>;

    /// True if the domain outgrows the processor's caches, so that [`Domain::prefetch`] pays. Asked once a window.
    fn large(&self) -> bool {
        false
    }

    /// Hint that `token`'s alarm is due soon: touch its cache lines. Called with growing `stage` as the alarm comes nearer; see
    /// [`PREFETCH_DISTANCES`].
    #[inline]
    fn prefetch(&self, _stage: usize, _token: u32) {}
}

/// How many events before an alarm each stage of [`Domain::prefetch`] is called.
// A hint that comes too late saves nothing; one that comes too early is lost when other events come between.
pub const PREFETCH_DISTANCES: [usize; 4] = [7, 5, 3, 1];

/// Receives records in the order in which their events are committed within a partition.
pub trait Observer<R> {
    /// Takes note of one record.
    fn commit(&mut self, record: &R);
}

/// Keeps every record: for tests.
impl<R: Copy> Observer<R> for Vec<R> {
    fn commit(&mut self, record: &R) {
        self.push(*record);
    }
}
