//! A partition as it is run: its LPs with their observer and pending events, and the effects that its handlers have at once.

use crate::{
    agenda::{Agenda, Due},
    domain::{Actions, Domain, Envelope, Lane, Observer},
    key::{Class, Key},
    words::Message,
};
use base::time::Ps;

/// One partition: its LPs, what is measured of them, and their pending events.
pub struct Partition<D: Domain, O> {
    /// The logical processes, with their state.
    pub domain: D,
    /// What is measured.
    pub observer: O,
    /// Events that are due and not yet handled.
    pub agenda: Agenda<D::Message>,
    /// Messages to other partitions that are not handed over yet.
    pub(crate) outbox: Vec<Envelope<D::Message>>,
    /// Events handled so far.
    pub events: u64,
}

impl<D: Domain, O: Observer<D::Record>> Partition<D, O> {
    /// A partition with nothing pending; see [`crate::wheel::Wheel::new`] for `wheel_shift`.
    pub(crate) fn new(domain: D, observer: O, wheel_shift: u32) -> Self {
        Self { domain, observer, agenda: Agenda::new(wheel_shift), outbox: Vec::new(), events: 0 }
    }

    /// Its LPs, and what they may do at `key` on the clock of `lane`. `index` is the partition's own number.
    #[inline]
    pub(crate) fn at(
        &mut self,
        lane: Lane,
        key: Key,
        index: u32,
        tie_seed: u64,
    ) -> (&mut D, Immediate<'_, D, O>) {
        let sink =
            AtOnce { agenda: &mut self.agenda, observer: &mut self.observer, outbox: &mut self.outbox };
        // Domain and effects borrow different fields, so a handler may have both at once.
        let effects = Handling { key, lane, index, tie_seed, sink };
        (&mut self.domain, effects)
    }

    /// Handles an event that was taken from the agenda.
    #[inline]
    pub(crate) fn handle(&mut self, lane: Lane, key: Key, due: &Due<D::Message>, index: u32, tie_seed: u64) {
        // A static call for each kind: no trait object per event.
        let (domain, mut effects) = self.at(lane, key, index, tie_seed);
        match due {
            Due::Wake(token) => domain.wake(*token, &mut effects),
            Due::Message(message) => domain.receive(message, &mut effects),
        }
    }
}

/// What a handler may do at a place in the order. Where its effects go is the sink's to say.
pub struct Handling<S> {
    pub(crate) key: Key,
    pub(crate) lane: Lane,
    /// Number of the own partition.
    pub(crate) index: u32,
    pub(crate) tie_seed: u64,
    pub(crate) sink: S,
}

/// Where the effects of a handler go.
pub trait Sink {
    /// Payload of events with content.
    type Message: Message;
    /// What is emitted to be measured.
    type Record;

    /// Pending events of the own partition.
    fn agenda(&self) -> &Agenda<Self::Message>;
    /// Takes an alarm of the own partition.
    fn wake(&mut self, lane: Lane, key: Key, token: u32);
    /// Takes a message; `own` if it is to the own partition.
    fn send(&mut self, envelope: &Envelope<Self::Message>, own: bool);
    /// Takes what is to be measured.
    fn record(&mut self, record: Self::Record);
}

impl<S: Sink> Actions for Handling<S> {
    type Message = S::Message;
    type Record = S::Record;

    #[inline]
    fn now(&self) -> Ps {
        self.key.time
    }

    #[inline]
    fn identity(&self) -> u64 {
        self.key.identity
    }

    #[inline]
    fn suspended(&self) -> Ps {
        self.sink.agenda().offset_of(Lane::Network)
    }

    #[inline]
    fn instant(&self) -> Ps {
        self.key.time + self.sink.agenda().offset_of(self.lane)
    }

    #[inline]
    fn turn(&mut self, lane: Lane) {
        if lane != self.lane {
            // The same place in the order of the other clock's instant: generation and identity stay.
            let agenda = self.sink.agenda();
            assert!(lane == Lane::Steady || !agenda.is_suspended(), "a clock that stands still");
            self.key = self.key.at(agenda.clock(lane, self.instant()));
            self.lane = lane;
        }
    }

    fn wake_on(&mut self, lane: Lane, at: Ps, class: Class, identity: u64, token: u32) {
        // The present on the other clock, so that "not before now" is judged by the clock that the alarm goes by.
        let present = self.sink.agenda().clock(lane, self.instant());
        let key = self.key.at(present).child(at, class, identity, self.tie_seed);
        self.sink.wake(lane, key, token);
    }

    #[inline]
    fn wake(&mut self, at: Ps, class: Class, identity: u64, token: u32) {
        let key = self.key.child(at, class, identity, self.tie_seed);
        self.sink.wake(self.lane, key, token);
    }

    fn send(&mut self, to: u32, lane: Lane, at: Ps, class: Class, identity: u64, message: S::Message) {
        let present = self.sink.agenda().clock(lane, self.instant());
        let key = self.key.at(present).child(at, class, identity, self.tie_seed);
        self.sink.send(&Envelope { to, lane, key, message }, to == self.index);
    }

    // In line, so that a record of a kind that is known need not be made in memory.
    #[inline(always)]
    fn record(&mut self, record: S::Record) {
        self.sink.record(record);
    }
}

/// Effects that act at once: sequential and conservative schedulers never take anything back.
pub type Immediate<'a, D, O> = Handling<AtOnce<'a, D, O>>;

/// Where effects go that act at once.
pub struct AtOnce<'a, D: Domain, O> {
    agenda: &'a mut Agenda<D::Message>,
    observer: &'a mut O,
    outbox: &'a mut Vec<Envelope<D::Message>>,
}

impl<D: Domain, O: Observer<D::Record>> Sink for AtOnce<'_, D, O> {
    type Message = D::Message;
    type Record = D::Record;

    #[inline]
    fn agenda(&self) -> &Agenda<D::Message> {
        self.agenda
    }

    #[inline]
    fn wake(&mut self, lane: Lane, key: Key, token: u32) {
        self.agenda.wake(lane, key, token);
    }

    #[inline]
    fn send(&mut self, envelope: &Envelope<D::Message>, own: bool) {
        // The own agenda takes it at once; another one may be in the hands of another thread until the window ends.
        if own {
            self.agenda.deliver(envelope);
        } else {
            // Another partition may be another process one day.
            debug_assert_eq!(
                D::Message::from_words(&envelope.message.to_words()),
                Ok(envelope.message),
                "no plain message"
            );
            self.outbox.push(*envelope);
        }
    }

    #[inline(always)]
    fn record(&mut self, record: D::Record) {
        self.observer.commit(&record);
    }
}
