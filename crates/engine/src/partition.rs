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
        let effects = Immediate {
            key,
            lane,
            index,
            tie_seed,
            agenda: &mut self.agenda,
            observer: &mut self.observer,
            outbox: &mut self.outbox,
        };
        (&mut self.domain, effects)
    }

    /// Handles an event that was taken from the agenda.
    #[inline]
    pub(crate) fn handle(&mut self, lane: Lane, key: Key, due: &Due<D::Message>, index: u32, tie_seed: u64) {
        let (domain, mut effects) = self.at(lane, key, index, tie_seed);
        match due {
            Due::Wake(token) => domain.wake(*token, &mut effects),
            Due::Message(message) => domain.receive(message, &mut effects),
        }
    }
}

/// Effects that act at once: sequential and conservative schedulers never take anything back.
pub struct Immediate<'a, D: Domain, O> {
    key: Key,
    lane: Lane,
    index: u32,
    tie_seed: u64,
    agenda: &'a mut Agenda<D::Message>,
    observer: &'a mut O,
    outbox: &'a mut Vec<Envelope<D::Message>>,
}

impl<D: Domain, O: Observer<D::Record>> Actions for Immediate<'_, D, O> {
    type Message = D::Message;
    type Record = D::Record;

    #[inline]
    fn now(&self) -> Ps {
        self.key.time
    }

    #[inline]
    fn suspended(&self) -> Ps {
        self.agenda.offset_of(Lane::Network)
    }

    #[inline]
    fn instant(&self) -> Ps {
        self.key.time + self.agenda.offset_of(self.lane)
    }

    #[inline]
    fn turn(&mut self, lane: Lane) {
        if lane != self.lane {
            // The same place in the order of the other clock's instant: generation and identity stay.
            assert!(lane == Lane::Steady || !self.agenda.is_suspended(), "a clock that stands still");
            self.key = self.key.at(self.agenda.clock(lane, self.instant()));
            self.lane = lane;
        }
    }

    fn wake_on(&mut self, lane: Lane, at: Ps, class: Class, identity: u64, token: u32) {
        let present = self.agenda.clock(lane, self.instant());
        let key = self.key.at(present).child(at, class, identity, self.tie_seed);
        self.agenda.wake(lane, key, token);
    }

    #[inline]
    fn wake(&mut self, at: Ps, class: Class, identity: u64, token: u32) {
        let key = self.key.child(at, class, identity, self.tie_seed);
        self.agenda.wake(self.lane, key, token);
    }

    fn send(&mut self, to: u32, lane: Lane, at: Ps, class: Class, identity: u64, message: D::Message) {
        let present = self.agenda.clock(lane, self.instant());
        let key = self.key.at(present).child(at, class, identity, self.tie_seed);
        let envelope = Envelope { to, lane, key, message };
        // The own agenda takes it at once; another one may be in the hands of another thread until the window ends.
        if to == self.index {
            self.agenda.deliver(&envelope);
        } else {
            // Another partition may be another process one day.
            debug_assert_eq!(D::Message::from_words(&message.to_words()), Ok(message), "no plain message");
            self.outbox.push(envelope);
        }
    }

    #[inline]
    fn record(&mut self, record: D::Record) {
        self.observer.commit(&record);
    }
}
