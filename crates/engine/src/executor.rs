//! Runs partitions, in one thread or several: all commit the same happenings.
//!
//! Partitions that share a thread form a group (`group.rs`). In one thread there is one group, which runs to the end: the sequential
//! scheduler. Several groups run side by side in windows (`conservative.rs`).

use crate::{
    balance::{self, Home},
    conservative,
    crew::Crew,
    domain::{Actions, Domain, Lane, Observer},
    group::Group,
    key::Key,
    partition::{Immediate, Partition},
    warp::{self, Members, Optimism, Speculation},
};
pub use base::threads::Threads;
use base::time::{NEVER, Ps};

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

/// Runs partitions to an end, window by window or alone.
pub struct Executor<D: Domain, O> {
    /// The partitions, by number.
    pub partitions: Vec<Partition<D, O>>,
    options: Options,
    threads: Threads,
    /// Which group runs each partition, and where in it.
    homes: Vec<Home>,
    /// Cost of each partition in events, old ones counted for less, and the events that are counted already.
    costs: Vec<(u64, u64)>,
    now: Ps,
    /// Windows after which threads met.
    windows: u64,
    /// What runs several groups side by side, if partitions may leave their thread.
    side_by_side: Option<SideBySide<D, O>>,
    /// What runs partitions ahead of what is certain, if they may.
    warp: Option<Warp<D, O>>,
}

/// Running ahead: how, how far, and what it came to.
struct Warp<D: Domain, O> {
    run: RunsAhead<D, O>,
    optimism: Optimism,
    total: Speculation,
}

/// [`warp::run`] where its types allow it.
type RunsAhead<D, O> =
    for<'a> fn(Vec<Members<'a, D, O>>, &'a [Home], &'a Crew, &'a Optimism, &'a mut Speculation, u64);

/// [`conservative::run`] where its types allow it: so that only who wants threads must have partitions that can be sent.
type SideBySide<D, O> = for<'a, 'b> fn(Vec<Group<'a, D, O>>, &'b Crew) -> u64;

impl<D: Domain, O: Observer<D::Record>> Executor<D, O> {
    /// Builds the partitions and lets each schedule its first events; runs in the calling thread.
    pub fn new(parts: impl IntoIterator<Item = (D, O)>, options: Options) -> Self {
        Self::build(parts, options, Threads::ONE, None)
    }

    /// The same in several threads: partitions move among them.
    pub fn with_threads(parts: impl IntoIterator<Item = (D, O)>, options: Options, threads: Threads) -> Self
    where
        D: Domain<Message: Send> + Send,
        O: Send,
    {
        Self::build(parts, options, threads, Some(conservative::run::<D, O>))
    }

    /// The same ahead of what is certain: events that turn out to be premature are taken back.
    ///
    /// # Panics
    /// If a table has no journal ([`crate::state::mode::Undo`] has).
    pub fn optimistic(
        parts: impl IntoIterator<Item = (D, O)>,
        options: Options,
        threads: Threads,
        optimism: Optimism,
    ) -> Self
    where
        D: Domain<Message: Send, Record: Send> + Send,
        O: Send,
    {
        assert!(optimism.batch > 0 && optimism.history > 0, "a round handles an event");
        let mut executor = Self::build(parts, options, threads, None);
        executor.warp = Some(Warp { run: warp::run::<D, O>, optimism, total: Speculation::default() });
        executor
    }

    /// What running ahead came to so far; `None` for other schedulers.
    #[must_use]
    pub fn speculation(&self) -> Option<Speculation> {
        self.warp.as_ref().map(|warp| warp.total)
    }

    fn build(
        parts: impl IntoIterator<Item = (D, O)>,
        options: Options,
        threads: Threads,
        side_by_side: Option<SideBySide<D, O>>,
    ) -> Self {
        const { assert!(size_of::<D::Message>() <= crate::MESSAGE_BYTES, "messages are small") };
        let partitions: Vec<_> = parts
            .into_iter()
            .map(|(domain, observer)| Partition::new(domain, observer, options.wheel_shift))
            .collect();
        let count = partitions.len();
        assert!(count > 0, "a run has a partition");
        let groups = threads.count.clamp(1, (count as u32).max(1));
        let mut executor = Self {
            partitions,
            options,
            threads: Threads { count: groups, ..threads },
            homes: balance::homes(&balance::split(&vec![1; count], groups)),
            costs: vec![(0, 0); count],
            now: 0,
            windows: 0,
            side_by_side,
            warp: None,
        };
        for index in 0..executor.partitions.len() {
            executor.act(index, Lane::Network, |domain, effects| domain.start(effects));
        }
        executor
    }

    /// The present instant of a run that goes on.
    pub(crate) fn go_on_from(&mut self, now: Ps) {
        self.now = now;
    }

    /// How a run that reached `end` stopped.
    pub(crate) fn stop_at(&mut self, end: Ps) -> Stop {
        let first = self.first();
        if end < NEVER {
            self.now = end;
        }
        if first == NEVER { Stop::Dry } else { Stop::End }
    }

    /// Virtual time of the first pending event.
    fn first(&mut self) -> Ps {
        self.partitions.iter_mut().map(|p| p.agenda.next_time()).min().unwrap_or(NEVER)
    }

    /// Threads in use.
    #[must_use]
    pub fn threads(&self) -> u32 {
        self.threads.count
    }

    /// Windows, or optimistic rounds, after which threads met so far; 0 in one thread of the conservative scheduler.
    #[must_use]
    pub fn windows(&self) -> u64 {
        self.windows + self.warp.as_ref().map_or(0, |warp| warp.total.rounds)
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
        action: impl FnOnce(&mut D, &mut Immediate<'_, D, O>) -> T,
    ) -> T {
        // The floor of an instant precedes all of its events: what is done here comes before whatever is pending at the tick.
        debug_assert!(index < self.partitions.len(), "there is such a partition");
        let (now, tie_seed) = (self.now, self.options.tie_seed);
        let part = &mut self.partitions[index];
        let key = Key::floor(part.agenda.clock(lane, now));
        let (domain, mut effects) = part.at(lane, key, index as u32, tie_seed);
        let result = action(domain, &mut effects);
        self.exchange(now);
        result
    }

    /// Commits every event before virtual time `end`, or stops when dry, or after about `budget` events.
    pub fn run_until(&mut self, end: Ps, budget: u64) -> Stop {
        assert!(end >= self.now, "time does not run backwards");
        self.rebalance();
        let groups = self.threads.count as usize;
        let mut members: Vec<Vec<(u32, &mut Partition<D, O>)>> = (0..groups).map(|_| Vec::new()).collect();
        for (index, part) in self.partitions.iter_mut().enumerate() {
            // In the order of their numbers: a group looks its members up by place.
            members[self.homes[index].group as usize].push((index as u32, part));
        }
        let (homes, tie_seed) = (&self.homes, self.options.tie_seed);
        let crew = Crew { end, budget, pin: self.threads.pin, stretch: self.threads.stretch };
        if let Some(warp) = &mut self.warp {
            (warp.run)(members, homes, &crew, &warp.optimism, &mut warp.total, tie_seed);
            return self.stop_before(end);
        }
        let mut groups: Vec<_> =
            (0..).zip(members).map(|(me, members)| Group::new(me, members, homes, tie_seed)).collect();
        if let [group] = groups.as_mut_slice() {
            group.run_to(end, budget);
        } else {
            let run = self.side_by_side.expect("several threads were asked for, so there is what runs them");
            self.windows += run(groups, &crew);
        }
        self.stop_before(end)
    }

    /// How a run to `end` stopped.
    fn stop_before(&mut self, end: Ps) -> Stop {
        let first = self.first();
        // Something is left before the end only if the budget ran out.
        if first < end {
            self.now = first;
            return Stop::Budget;
        }
        self.stop_at(end)
    }

    /// Virtual time of the first pending event, [`NEVER`] if there is none: for drivers that step.
    pub fn next_time(&mut self) -> Ps {
        self.first()
    }

    /// Handles the next event of a lone partition if it is due by `until`, and makes its time the present. False if there is none: then the
    /// present stays. For drivers that have something to say between events; what they say through [`Executor::act`] follows the events
    /// handled so far.
    ///
    /// # Panics
    /// With several partitions.
    pub fn step(&mut self, until: Ps) -> bool {
        let [part] = self.partitions.as_mut_slice() else { panic!("only a lone partition is stepped") };
        let Some((lane, key, due)) = part.agenda.pop_before(until.saturating_add(1)) else { return false };
        self.now = self.now.max(key.time + part.agenda.offset_of(lane));
        part.events += 1;
        part.handle(lane, key, &due, 0, self.options.tie_seed);
        true
    }

    /// Moves the present of a run that is stepped on to `at`.
    ///
    /// # Panics
    /// If an event is pending before, or the present is later.
    pub fn skip_to(&mut self, at: Ps) {
        assert!(at >= self.now && self.first() >= at, "time neither runs backwards nor passes over events");
        self.now = at;
    }

    /// Gives partitions to threads anew if their measured costs ask for it.
    fn rebalance(&mut self) {
        if self.threads.count == 1 {
            return;
        }
        // Half of what was before and all that is new: old costs fade within a few runs.
        for ((cost, counted), part) in self.costs.iter_mut().zip(&self.partitions) {
            *cost = *cost / 2 + (part.events - *counted);
            *counted = part.events;
        }
        let costs: Vec<u64> = self.costs.iter().map(|c| c.0 + 1).collect();
        // What moves is a thread's work, never what is committed: partitions keep their numbers and their events.
        let better = balance::split(&costs, self.threads.count);
        let present: Vec<u32> = self.homes.iter().map(|h| h.group).collect();
        if balance::worth_moving(&costs, &present, &better) {
            self.homes = balance::homes(&better);
        }
    }

    /// Has every partition do what it put off before the present tick: all of it, or while the network is suspended what belongs to
    /// the steady lane.
    pub fn settle(&mut self) {
        for index in 0..self.partitions.len() {
            let suspended = self.partitions[index].agenda.is_suspended();
            let lane = if suspended { Lane::Steady } else { Lane::Network };
            self.act(index, lane, |domain, effects| {
                let now = effects.now();
                if suspended {
                    domain.settle_steady(now, effects);
                } else {
                    domain.settle(now, effects);
                }
            });
        }
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
