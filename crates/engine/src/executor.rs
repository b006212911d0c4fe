//! Runs partitions, in one thread or several: all commit the same happenings.
//!
//! Partitions that share a thread form a group (`group.rs`). In one thread there is one group, which runs to the end: the sequential
//! scheduler. Several groups run side by side in windows (`conservative.rs`).

use crate::{
    balance::{self, Home},
    conservative,
    crew::Crew,
    domain::{Actions, Domain, Envelope, Lane, Observer},
    group::Group,
    key::Key,
    mail::Mail,
    over::Over,
    pace::Pace,
    partition::{Immediate, Partition},
    rehearsal,
    warp::{self, Members, Optimism, Speculation},
};
pub use base::threads::{Rehearsal, Threads};
use base::{
    threads::startable,
    time::{NEVER, Ps},
    world::World,
};
use std::time::Instant;

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
    /// The partitions of this process, by number; over several ranks, those that [`Over::mine`] says.
    pub partitions: Vec<Partition<D, O>>,
    options: Options,
    over: Over,
    threads: Threads,
    /// Messages to partitions of other ranks that were sent outside of any run.
    afar: Vec<Envelope<D::Message>>,
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
    /// Whether several threads pay, if one may do all the work.
    pace: Option<Pace>,
    /// What threads would have done, if one plays all of them.
    rehearsal: Option<Rehearsal>,
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
        Self::build(parts, options, Threads::ONE, None, None)
    }

    /// The same in several threads: partitions move among them.
    pub fn with_threads(parts: impl IntoIterator<Item = (D, O)>, options: Options, threads: Threads) -> Self
    where
        D: Domain<Message: Send> + Send,
        O: Send,
    {
        Self::build(parts, options, threads, None, Some(conservative::run::<D, O>))
    }

    /// The same over several ranks, in so many threads each: `parts` are those of this rank.
    ///
    /// # Panics
    /// If there are not as many parts as this rank has, or fewer partitions than ranks.
    pub fn over(
        over: Over,
        parts: impl IntoIterator<Item = (D, O)>,
        options: Options,
        threads: Threads,
    ) -> Self
    where
        D: Domain<Message: Send> + Send,
        O: Send,
    {
        Self::build(parts, options, threads, Some(over), Some(conservative::run::<D, O>))
    }

    /// The same ahead of what is certain.
    ///
    /// # Panics
    /// As [`Executor::over`], and as [`Executor::optimistic`].
    pub fn optimistic_over(
        over: Over,
        parts: impl IntoIterator<Item = (D, O)>,
        options: Options,
        threads: Threads,
        optimism: Optimism,
    ) -> Self
    where
        D: Domain<Message: Send, Record: Send> + Send,
        O: Send,
    {
        let mut executor = Self::build(parts, options, threads, Some(over), None);
        executor.run_ahead(optimism);
        executor
    }

    /// How far partitions run ahead, if they do.
    pub(crate) fn optimism(&self) -> Option<&Optimism> {
        self.warp.as_ref().map(|warp| &warp.optimism)
    }

    /// Partitions that run ahead do so in another way from now on.
    pub(crate) fn retune(&mut self, optimism: Optimism) {
        assert!(optimism.batch > 0 && optimism.history > 0, "a round handles an event");
        if let Some(warp) = &mut self.warp {
            warp.optimism = optimism;
        }
    }

    /// From now on ahead of what is certain.
    fn run_ahead(&mut self, optimism: Optimism)
    where
        D: Domain<Message: Send, Record: Send> + Send,
        O: Send,
    {
        assert!(optimism.batch > 0 && optimism.history > 0, "a round handles an event");
        self.warp = Some(Warp { run: warp::run::<D, O>, optimism, total: Speculation::default() });
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
        let mut executor = Self::build(parts, options, threads, None, None);
        executor.run_ahead(optimism);
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
        over: Option<Over>,
        side_by_side: Option<SideBySide<D, O>>,
    ) -> Self {
        const { assert!(size_of::<D::Message>() <= crate::MESSAGE_BYTES, "messages are small") };
        const { assert!(size_of::<D::Record>() <= crate::RECORD_BYTES, "a record is a cache line at most") };
        let partitions: Vec<_> = parts
            .into_iter()
            .map(|(domain, observer)| Partition::new(domain, observer, options.wheel_shift))
            .collect();
        let count = partitions.len();
        assert!(count > 0, "a run has a partition");
        let over = over.unwrap_or(Over { world: World::ALONE, partitions: count as u32 });
        assert_eq!(over.mine().len(), count, "these are the partitions of this rank");
        // Over ranks all would have to choose alike.
        let over_alone = over.world.is_alone();
        let groups = threads.count.clamp(1, over.partitions / over.world.ranks());
        let groups = if over_alone && !threads.rehearse { startable(groups) } else { groups };
        let mut executor = Self {
            partitions,
            options,
            threads: Threads { count: groups, ..threads },
            homes: homes(&over, groups),
            afar: Vec::new(),
            over,
            costs: vec![(0, 0); count],
            now: 0,
            windows: 0,
            pace: (threads.spare && groups > 1 && over_alone).then(Pace::default),
            side_by_side,
            warp: None,
            rehearsal: (threads.rehearse && over_alone).then(Rehearsal::default),
        };
        for index in 0..executor.partitions.len() {
            executor.act(index, Lane::Network, |domain, effects| domain.start(effects));
        }
        executor.send_afar();
        executor
    }

    /// The present instant of a run that goes on.
    pub(crate) fn go_on_from(&mut self, now: Ps) {
        self.now = now;
    }

    /// How a run that reached `end` stopped.
    pub(crate) fn stop_at(&mut self, end: Ps) -> Stop {
        let first = self.first();
        // Without an end there is no instant to go on from: the present stays.
        if end < NEVER {
            self.now = end;
        }
        if first == NEVER { Stop::Dry } else { Stop::End }
    }

    /// True if a partition of any rank puts much off to its next settling.
    pub(crate) fn puts_off(&self) -> bool {
        self.over.world.most(self.partitions.iter().any(|p| p.domain.puts_off()).into()) > 0
    }

    /// Virtual time of the first pending event of all ranks, which must all ask.
    fn first(&mut self) -> Ps {
        let here = self.partitions.iter_mut().map(|p| p.agenda.next_time()).min().unwrap_or(NEVER);
        self.over.world.least(here)
    }

    /// The ranks of the run, and which partitions this one has.
    #[must_use]
    pub fn ranks(&self) -> &Over {
        &self.over
    }

    /// Threads that did most of the work in each rank: one where several did not pay.
    #[must_use]
    pub fn threads_used(&self) -> u32 {
        if self.pace.as_ref().is_some_and(Pace::mostly_alone) { 1 } else { self.threads.count }
    }

    /// What threads would have done side by side so far; `None` unless one plays all of them.
    #[must_use]
    pub fn rehearsal(&self) -> Option<Rehearsal> {
        self.rehearsal
    }

    /// Shortest time from an event of a partition of this rank to what it may send to another one; `None` if nothing is ever sent.
    #[must_use]
    pub fn lookahead(&self) -> Option<Ps> {
        let others = |me: u32| (0..self.over.partitions).filter(move |&to| to != me);
        let of =
            |(me, part): (u32, &Partition<D, O>)| others(me).filter_map(|to| part.domain.lookahead(to)).min();
        self.over.mine().zip(&self.partitions).filter_map(of).min()
    }

    /// Threads in use in each rank.
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

    /// Events handled so far in this rank.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.partitions.iter().map(|p| p.events).sum()
    }

    /// Lets a partition of this process, by its place in [`Executor::partitions`], act outside of any event, at the present tick on the clock of `lane`: how a director applies a decision.
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
        let number = self.over.mine().start + index as u32;
        let (domain, mut effects) = part.at(lane, key, number, tie_seed);
        let result = action(domain, &mut effects);
        // At once: who acts or looks next must find messages with their receivers.
        self.exchange(now);
        result
    }

    /// Commits every event before virtual time `end`, or stops when dry, or after about `budget` events.
    pub fn run_until(&mut self, end: Ps, budget: u64) -> Stop {
        assert!(end >= self.now, "time does not run backwards");
        self.rebalance();
        if self.pace.is_none() || self.warp.is_some() {
            return self.run_in(self.threads.count, end, budget);
        }
        let mut left = budget;
        loop {
            let (together, most) = self.pace.as_ref().map_or((true, budget), Pace::next);
            let (before, begun) = (self.events(), Instant::now());
            let stop = self.run_in(if together { self.threads.count } else { 1 }, end, left.min(most));
            let events = self.events() - before;
            if let Some(pace) = &mut self.pace {
                pace.took(together, events, begun.elapsed());
            }
            left = left.saturating_sub(events);
            if stop != Stop::Budget || left == 0 {
                return stop;
            }
        }
    }

    /// The same in so many threads: all that there are, or one.
    fn run_in(&mut self, groups: u32, end: Ps, budget: u64) -> Stop {
        let alone = (groups < self.threads.count).then(|| homes(&self.over, 1));
        let world = self.over.world.clone();
        let first = world.rank() * groups;
        let mut members: Vec<Vec<(u32, &mut Partition<D, O>)>> = (0..groups).map(|_| Vec::new()).collect();
        for (number, part) in self.over.mine().zip(&mut self.partitions) {
            // In the order of their numbers: a group looks its members up by place.
            let homes = alone.as_ref().unwrap_or(&self.homes);
            members[(homes[number as usize].group - first) as usize].push((number, part));
        }
        let (homes, tie_seed) = (alone.as_ref().unwrap_or(&self.homes), self.options.tie_seed);
        let crew = Crew { world, end, budget, pin: self.threads.pin, stretch: self.threads.stretch };
        if let Some(warp) = &mut self.warp {
            (warp.run)(members, homes, &crew, &warp.optimism, &mut warp.total, tie_seed);
            return self.stop_before(end);
        }
        let mut groups: Vec<_> =
            (first..).zip(members).map(|(me, members)| Group::new(me, members, homes, tie_seed)).collect();
        if let Some(rehearsal) = &mut self.rehearsal {
            rehearsal::run(&mut groups, &crew, rehearsal);
            return self.stop_before(end);
        }
        // One group has nobody to meet, unless other ranks have groups too.
        if let ([group], true) = (groups.as_mut_slice(), crew.world.is_alone()) {
            group.run_to(end, budget);
        } else {
            let run = self.side_by_side.expect("several groups were asked for, so there is what runs them");
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
        // Over ranks every rank would have to know where the others' partitions are: there they stay where they begin.
        if self.threads.count == 1 || !self.over.world.is_alone() {
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
        self.send_afar();
    }

    /// Hands the outboxes' messages to their receivers; none may be due before `bound`. Those to other ranks wait for [`Self::send_afar`].
    fn exchange(&mut self, bound: Ps) {
        let mine = self.over.mine();
        for from in 0..self.partitions.len() {
            let mut outbox = std::mem::take(&mut self.partitions[from].outbox);
            for envelope in outbox.drain(..) {
                let offset = self.partitions[from].agenda.offset_of(envelope.lane);
                assert!(
                    envelope.key.time + offset >= bound,
                    "a promised lookahead was broken by {envelope:?}"
                );
                if mine.contains(&envelope.to) {
                    self.partitions[(envelope.to - mine.start) as usize].agenda.deliver(&envelope);
                } else {
                    self.afar.push(envelope);
                }
            }
            self.partitions[from].outbox = outbox;
        }
    }

    /// Exchanges with the other ranks what partitions sent outside of any run; all ranks do it together.
    pub(crate) fn send_afar(&mut self) {
        let Over { world, .. } = &self.over;
        if world.is_alone() {
            debug_assert!(self.afar.is_empty(), "there is nobody else");
            return;
        }
        // Even if there is nothing to send: the others cannot know that.
        let mut to = vec![Vec::new(); world.ranks() as usize];
        for envelope in self.afar.drain(..) {
            envelope.write(&mut to[self.over.rank_of(envelope.to) as usize]);
        }
        let mut from = vec![Vec::new(); to.len()];
        world.exchange(&to, &mut from);
        let first = self.over.mine().start;
        for words in from {
            let mut rest = words.as_slice();
            while !rest.is_empty() {
                let envelope = Envelope::<D::Message>::read(&mut rest);
                debug_assert!(self.over.mine().contains(&envelope.to), "mail comes to its receiver's rank");
                self.partitions[(envelope.to - first) as usize].agenda.deliver(&envelope);
            }
        }
    }
}

/// Where each partition is run: ranks have consecutive ones, and so have the `threads` of each rank.
fn homes(over: &Over, threads: u32) -> Vec<Home> {
    // By rank first, as partitions cannot cross between processes.
    let of = |rank: u32| {
        let split = balance::split(&vec![1; over.of(rank).len()], threads);
        split.into_iter().map(move |group| rank * threads + group)
    };
    let groups: Vec<u32> = (0..over.world.ranks()).flat_map(of).collect();
    debug_assert_eq!(groups.len(), over.partitions as usize, "every partition has a home");
    balance::homes(&groups)
}
