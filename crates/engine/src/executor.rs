//! Runs partitions in one thread: the sequential scheduler (one partition) and the windowed round-robin over many.
//!
//! Both commit the same happenings. With one partition a window reaches to the end, and the loop is: take the least key,
//! handle it, commit its records.

use crate::{
    agenda::{Agenda, Due},
    domain::{Domain, Effects, Envelope, Lane, Observer, STAGES},
    key::{Class, Key},
};
use base::time::{NEVER, Ps};

/// One partition: its LPs, what is measured of them, and their pending events.
pub struct Partition<D: Domain, O> {
    /// The LPs.
    pub domain: D,
    /// What is measured.
    pub observer: O,
    /// Pending events.
    pub agenda: Agenda<D::Message>,
    outbox: Vec<Envelope<D::Message>>,
    /// Events handled so far.
    pub events: u64,
}

/// Why [`Executor::run_until`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Every event before the end is committed; later ones are pending.
    End,
    /// Nothing is pending any more.
    Dry,
    /// The budget of events was used up; the run can go on.
    Budget,
}

/// Parameters of a run that belong to the engine.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Seed of the order of simultaneous events.
    pub tie_seed: u64,
    /// log2 of a timing-wheel slot in picoseconds; affects speed alone.
    pub wheel_shift: u32,
}

/// Runs partitions in one thread.
pub struct Executor<D: Domain, O> {
    /// The partitions, by number.
    pub partitions: Vec<Partition<D, O>>,
    options: Options,
    now: Ps,
}

impl<D: Domain, O: Observer<D::Record>> Executor<D, O> {
    /// Builds the partitions and lets each schedule its first events.
    pub fn new(parts: impl IntoIterator<Item = (D, O)>, options: Options) -> Self {
        const { assert!(size_of::<D::Message>() <= crate::MESSAGE_BYTES, "messages are small") };
        let mut executor = Self {
            partitions: parts
                .into_iter()
                .map(|(domain, observer)| Partition {
                    domain,
                    observer,
                    agenda: Agenda::new(options.wheel_shift),
                    outbox: Vec::new(),
                    events: 0,
                })
                .collect(),
            options,
            now: 0,
        };
        for index in 0..executor.partitions.len() {
            executor.act(index, Lane::Network, |domain, effects| domain.start(effects));
        }
        executor
    }

    /// The director's present tick, or the end of the last run.
    #[must_use]
    pub fn now(&self) -> Ps {
        self.now
    }

    /// Events handled so far.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.partitions.iter().map(|p| p.events).sum()
    }

    /// Lets a partition act outside of any event, at the present tick on the clock of `lane`: how a director applies a decision.
    pub fn act<T>(
        &mut self,
        index: usize,
        lane: Lane,
        action: impl FnOnce(&mut D, &mut Live<'_, D, O>) -> T,
    ) -> T {
        let (now, tie_seed) = (self.now, self.options.tie_seed);
        let part = &mut self.partitions[index];
        let mut effects = Live {
            key: Key::floor(part.agenda.clock(lane, now)),
            lane,
            index: index as u32,
            tie_seed,
            agenda: &mut part.agenda,
            observer: &mut part.observer,
            outbox: &mut part.outbox,
        };
        let result = action(&mut part.domain, &mut effects);
        self.exchange(now);
        result
    }

    /// Commits every event before virtual time `end`, or stops when dry, or after about `budget` events.
    pub fn run_until(&mut self, end: Ps, budget: u64) -> Stop {
        assert!(end >= self.now, "time does not run backwards");
        let limit = self.events().saturating_add(budget);
        let mut next: Vec<Ps> = vec![0; self.partitions.len()];
        let reach = self.reach();
        loop {
            for (n, p) in next.iter_mut().zip(&mut self.partitions) {
                *n = p.agenda.next_time();
            }
            let first = next.iter().copied().min().unwrap_or(NEVER);
            if first >= end {
                if end < NEVER {
                    self.now = end;
                }
                return if first == NEVER { Stop::Dry } else { Stop::End };
            }
            let bound =
                next.iter().zip(&reach).map(|(n, r)| n.saturating_add(*r)).min().unwrap_or(NEVER).min(end);
            assert!(bound > first, "a window must make progress: a lookahead is zero");
            for (index, &due) in next.iter().enumerate() {
                if due < bound && !self.run_window(index, bound, limit) {
                    return Stop::Budget;
                }
            }
            self.exchange(bound);
            if self.events() >= limit {
                self.now = bound;
                return Stop::Budget;
            }
        }
    }

    /// Has every partition do what it put off before the present tick; the network's clock must be running.
    pub fn settle(&mut self) {
        for index in 0..self.partitions.len() {
            if !self.partitions[index].agenda.is_suspended() {
                self.act(index, Lane::Network, |domain, effects| {
                    let now = effects.now();
                    domain.settle(now, effects);
                });
            }
        }
    }

    /// Shortest lookahead of each partition to any other.
    fn reach(&self) -> Vec<Ps> {
        let count = self.partitions.len() as u32;
        (0..count)
            .map(|from| {
                let domain = &self.partitions[from as usize].domain;
                let others = (0..count).filter(|&to| to != from);
                others.filter_map(|to| domain.lookahead(to)).min().unwrap_or(NEVER)
            })
            .collect()
    }

    /// Handles one partition's events before `bound`; false if the budget ran out (only a lone partition may stop inside a
    /// window).
    fn run_window(&mut self, index: usize, bound: Ps, limit: u64) -> bool {
        let alone = self.partitions.len() == 1;
        let part = &mut self.partitions[index];
        let large = part.domain.large();
        while let Some((lane, key, due)) = part.agenda.pop_before(bound) {
            part.events += 1;
            if large {
                for (stage, ahead) in STAGES.into_iter().enumerate() {
                    if let Some(token) = part.agenda.ahead(ahead - 1) {
                        part.domain.prefetch(stage, token);
                    }
                }
            }
            let mut effects = Live {
                key,
                lane,
                index: index as u32,
                tie_seed: self.options.tie_seed,
                agenda: &mut part.agenda,
                observer: &mut part.observer,
                outbox: &mut part.outbox,
            };
            match due {
                Due::Wake(token) => part.domain.wake(token, &mut effects),
                Due::Message(message) => part.domain.receive(&message, &mut effects),
            }
            if alone && part.events >= limit {
                self.now = key.time.saturating_add(part.agenda.offset_of(lane));
                return false;
            }
        }
        true
    }

    /// Hands the outboxes' messages to their receivers; none may be due before `bound`.
    fn exchange(&mut self, bound: Ps) {
        for from in 0..self.partitions.len() {
            let mut outbox = std::mem::take(&mut self.partitions[from].outbox);
            for envelope in outbox.drain(..) {
                let offset = self.partitions[from].agenda.offset_of(envelope.lane);
                assert!(
                    envelope.key.time + offset >= bound,
                    "a promised lookahead was broken by {envelope:?}"
                );
                self.partitions[envelope.to as usize].agenda.deliver(&envelope);
            }
            self.partitions[from].outbox = outbox;
        }
    }
}

/// Effects that act at once: sequential and conservative schedulers never take anything back.
pub struct Live<'a, D: Domain, O> {
    key: Key,
    lane: Lane,
    index: u32,
    tie_seed: u64,
    agenda: &'a mut Agenda<D::Message>,
    observer: &'a mut O,
    outbox: &'a mut Vec<Envelope<D::Message>>,
}

impl<D: Domain, O: Observer<D::Record>> Effects<D> for Live<'_, D, O> {
    #[inline]
    fn now(&self) -> Ps {
        self.key.time
    }

    #[inline]
    fn suspended(&self) -> Ps {
        self.agenda.offset_of(Lane::Network)
    }

    #[inline]
    fn wake(&mut self, at: Ps, class: Class, identity: u64, token: u32) {
        let key = self.key.child(at, class, identity, self.tie_seed);
        self.agenda.wake(self.lane, key, token);
    }

    fn send(&mut self, to: u32, lane: Lane, at: Ps, class: Class, identity: u64, message: D::Message) {
        let present = self.agenda.clock(lane, self.key.time + self.agenda.offset_of(self.lane));
        let key = self.key.at(present).child(at, class, identity, self.tie_seed);
        let envelope = Envelope { to, lane, key, message };
        if to == self.index {
            self.agenda.deliver(&envelope);
        } else {
            self.outbox.push(envelope);
        }
    }

    #[inline]
    fn record(&mut self, record: D::Record) {
        self.observer.commit(&record);
    }
}
