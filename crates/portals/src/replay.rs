//! A recorded run without its program: ranks ask their interfaces again what they asked, and wait again for what they waited for.
//!
//! [`run`] takes ranks up in the order in which the runtime would: on the same machine every rank ends at the same picosecond. On another one, calls and
//! waits take the time that they take there; what is kept is computing, sleeping, and looks that found nothing and after which the program did something
//! else. A handle is the one that the same call gets here. Payloads are zeros; no memory is touched.

use crate::{
    core::{
        call::Call,
        types::{Code, Count, Fault, INVALID, Limits, Memory, TIME_FOREVER},
    },
    machine::{Counts, Happening, Machine},
    nic::{Params, size},
    record::{Asked, Record, Step, Trailer, reached},
};
use base::{
    index::{Column, RankId},
    sorted::SortedMap,
    time::{MS, Ps},
};
use model::messages::MessageNetwork;
use std::collections::VecDeque;

/// What a replay gives.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// When each rank ended.
    pub ended: Vec<Option<Ps>>,
    /// Simulated time at the end.
    pub time: Ps,
    /// Messages that were sent, copies sent again and answers included, and what became of them.
    pub counts: Counts,
    /// What ranks that have not ended wait for.
    pub waiting: Vec<String>,
    /// The run was ended by its limit.
    pub limited: bool,
    /// What a checked replay found wrong.
    pub faults: Vec<String>,
}

impl Replayed {
    /// How many ranks ended at the picosecond at which the record says that they ended.
    #[must_use]
    pub fn as_recorded(&self, record: &Trailer) -> usize {
        record.ranks.iter().zip(&self.ended).filter(|(then, now)| then.time == **now).count()
    }
}

/// Memory that is not there: reads give zeros, but for the pieces of the call in hand and for what was not there in the run either.
struct Void {
    faults: Vec<(u64, u64)>,
    start: u64,
    pieces: Vec<u8>,
}

impl Void {
    fn touch(&self, address: u64, bytes: u64) -> Result<(), Fault> {
        if self.faults.binary_search(&(address, bytes)).is_ok() { Err(Fault) } else { Ok(()) }
    }
}

impl Memory for Void {
    fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), Fault> {
        self.touch(address, into.len() as u64)?;
        into.fill(0);
        let from = address.checked_sub(self.start).and_then(|f| usize::try_from(f).ok());
        let piece = from.and_then(|f| self.pieces.get(f..)).and_then(|rest| rest.get(..into.len()));
        if let Some(piece) = piece {
            into.copy_from_slice(piece);
        }
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        self.touch(address, bytes.len() as u64)
    }
}

/// A part of a step.
enum Part {
    /// So much time passes: computing, sleep, and what calls themselves take.
    Pause(Ps),
    /// The interface is asked: what [`Step::Ask`] holds.
    Ask {
        call: Box<Asked>,
        made: u32,
        pieces: Vec<(u64, u64)>,
    },
    /// Queues are looked into until an event is there.
    Events(Vec<u32>, Looks),
    /// Counters are looked at until one has reached its test.
    Counts(Vec<(u32, u64)>, Looks),
    /// A counter is read until it shows so much, and so often more.
    Count {
        counter: u32,
        shown: Count,
        again: u64,
    },
    /// So many messages have been served.
    Served(u64),
    /// A rank comes to the barrier; then it waits for the others.
    Barrier(Option<u64>),
    End,
}

/// How a rank looks for something.
#[derive(Clone, Copy)]
struct Looks {
    /// Milliseconds of each look, as calls have them.
    timeout: u32,
    /// So many more looks find nothing. 0: it looks until one finds something.
    misses: u64,
    /// The look that is going on: until when, `None` inside for no end. `None` before the look begins.
    until: Option<Option<Ps>>,
}

/// What a rank waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waiting {
    No,
    Time,
    Rank(&'static str),
}

struct Rank {
    parts: VecDeque<Part>,
    waiting: Waiting,
    /// It waits until a time at most.
    timed: bool,
    ticket: u32,
    misses: u32,
    /// It looks for something, or waits for it, without an end: see [`World::polls_idle`].
    idle_polls: bool,
    /// Computed before what follows.
    computed: Ps,
    /// Handles of the record that are others here.
    handles: SortedMap<u32, u32>,
    ended: Option<Ps>,
}

struct World {
    machine: Machine,
    memory: Void,
    record: Record,
    ranks: Column<RankId, Rank>,
    ready: VecDeque<RankId>,
    /// Ranks at the barrier, and barriers so far.
    barrier: (u32, u64),
    /// Looks that found nothing; no rank has done anything else since all were gone through.
    looks: u64,
    calm: bool,
    /// Nobody will find what all look for.
    hopeless: bool,
}

/// Looks after which all ranks are gone through, to see whether one of them can go on.
const AGAIN: u64 = 1 << 10;

/// Replays a record on a network.
///
/// # Errors
/// If the record is damaged or does not fit the machine.
pub fn run(record: Record, net: Box<dyn MessageNetwork>, params: Params) -> Result<Replayed, String> {
    let t = &record.trailer;
    if t.ranks_per_node != params.ranks_per_node {
        return Err(format!(
            "it was recorded with {} ranks per node, and the machine has {}",
            t.ranks_per_node, params.ranks_per_node
        ));
    }
    let count = t.ranks.len() as u32;
    let machine = Machine::new(net, params, count, &Limits::default())?;
    debug_assert_eq!(machine.processes.len(), count as usize, "every rank of the record has a process");
    let memory = Void { faults: t.faults.clone(), start: 0, pieces: Vec::new() };
    let rank = |_| Rank {
        parts: VecDeque::new(),
        waiting: Waiting::No,
        timed: false,
        ticket: 0,
        misses: 0,
        idle_polls: false,
        computed: 0,
        handles: SortedMap::new(),
        ended: None,
    };
    let mut world = World {
        machine,
        memory,
        record,
        ranks: RankId::first(count).map(rank).collect(),
        ready: RankId::first(count).collect(),
        barrier: (0, 0),
        looks: 0,
        calm: false,
        hopeless: false,
    };
    while let Some(rank) = world.next() {
        world.drive(rank)?;
    }
    Ok(world.report())
}

impl World {
    /// The rank that goes on next; `None` if none ever will.
    fn next(&mut self) -> Option<RankId> {
        loop {
            if let (Some(rank), false) = (self.ready.pop_front(), self.hopeless) {
                debug_assert!(self.ranks[rank].waiting == Waiting::No, "what may run does not wait");
                return Some(rank);
            }
            if self.hopeless || self.ranks.cells().iter().all(|r| r.ended.is_some()) {
                return None;
            }
            match self.machine.next(&mut self.memory)? {
                Happening::Rank(rank) => self.wake_rank(rank),
                Happening::Wake(what) => {
                    let rank = RankId::new((what >> 32) as u32);
                    if self.ranks[rank].ticket == what as u32 {
                        self.wake(rank);
                    }
                }
            }
        }
    }

    fn wake(&mut self, rank: RankId) {
        let r = &mut self.ranks[rank];
        if r.waiting != Waiting::No {
            debug_assert!(r.ended.is_none(), "a rank that has ended waits for nothing");
            (r.waiting, r.idle_polls) = (Waiting::No, false);
            r.ticket = r.ticket.wrapping_add(1);
            self.ready.push_back(rank);
        }
    }

    fn wake_rank(&mut self, rank: RankId) {
        if matches!(self.ranks[rank].waiting, Waiting::Rank(_)) {
            self.wake(rank);
        }
    }

    fn wait(&mut self, rank: RankId, waiting: Waiting, until: Option<Ps>) {
        let r = &mut self.ranks[rank];
        debug_assert!(r.waiting == Waiting::No, "a rank that waits does not run");
        (r.waiting, r.timed) = (waiting, until.is_some());
        r.idle_polls |= until.is_none();
        if let Some(until) = until {
            let what = u64::from(rank) << 32 | u64::from(r.ticket);
            self.machine.wake_at(until, what);
        }
    }

    /// Lets time pass for a rank; false if others have to go on first.
    fn pause(&mut self, rank: RankId, span: Ps) -> bool {
        let until = self.machine.now.saturating_add(span);
        if self.ready.is_empty() && self.machine.skip_to(until) {
            return true;
        }
        self.wait(rank, Waiting::Time, Some(until));
        false
    }

    /// Goes on with a rank until it waits.
    fn drive(&mut self, rank: RankId) -> Result<(), String> {
        loop {
            let Some(part) = self.ranks[rank].parts.pop_front() else {
                match self.record.next(rank)? {
                    Some(step) => {
                        (self.ranks[rank].idle_polls, self.calm) = (false, false);
                        self.begin(rank, step);
                    }
                    None => {
                        // It never ended.
                        self.wait(rank, Waiting::Rank("what it waited for when it was recorded"), None);
                        return Ok(());
                    }
                }
                continue;
            };
            if !self.part(rank, part) || self.hopeless {
                return Ok(());
            }
        }
    }

    /// A call begins with what the rank computed and what the call itself takes.
    fn enter(&mut self, rank: RankId, span: Ps) {
        let call = self.machine.of_rank(rank).call_time;
        let r = &mut self.ranks[rank];
        let all = span.saturating_add(call).saturating_add(std::mem::take(&mut r.computed));
        if all > 0 {
            r.parts.push_back(Part::Pause(all));
        }
    }

    /// What a rank computed before its last clock call passes before it ends.
    fn enter_end(&mut self, rank: RankId) {
        let r = &mut self.ranks[rank];
        if r.computed > 0 {
            r.parts.push_back(Part::Pause(std::mem::take(&mut r.computed)));
        }
    }

    /// Takes a step apart.
    fn begin(&mut self, rank: RankId, step: Step) {
        debug_assert!(self.ranks[rank].ended.is_none(), "a rank that has ended does nothing more");
        let push = |world: &mut Self, part| world.ranks[rank].parts.push_back(part);
        match step {
            Step::Compute(span) => {
                let r = &mut self.ranks[rank];
                r.computed = r.computed.saturating_add(span);
            }
            Step::Sleep(span, called) => {
                if called {
                    self.enter(rank, 0);
                }
                push(self, Part::Pause(span));
            }
            Step::Ask { mut call, made, pieces } => {
                for handle in call.0.handles() {
                    *handle = self.ranks[rank].handles.get(handle).copied().unwrap_or(*handle);
                }
                self.begin_call(rank, &call.0);
                push(self, Part::Ask { call, made, pieces });
            }
            Step::Events { queues, timeout, misses } => {
                let queues = queues.iter().map(|q| self.here(rank, *q)).collect();
                push(self, Part::Events(queues, Looks { timeout, misses, until: None }));
            }
            Step::Counts { tests, timeout, misses } => {
                let tests = tests.iter().map(|t| (self.here(rank, t.0), t.1)).collect();
                push(self, Part::Counts(tests, Looks { timeout, misses, until: None }));
            }
            Step::Count { counter, shown, again } => {
                let counter = self.here(rank, counter);
                self.read_count(rank, counter, shown, again);
            }
            Step::Served(served) => {
                self.machine.watch(rank);
                push(self, Part::Served(served));
            }
            Step::Barrier => {
                let time = self.machine.params.barrier_time;
                self.enter(rank, time);
                push(self, Part::Barrier(None));
            }
            Step::End => {
                self.enter_end(rank);
                push(self, Part::End);
            }
        }
    }

    /// A handle of the record as it is here.
    fn here(&self, rank: RankId, handle: u32) -> u32 {
        self.ranks[rank].handles.get(&handle).copied().unwrap_or(handle)
    }

    /// What a call takes before it takes effect.
    fn begin_call(&mut self, rank: RankId, call: &Call) {
        if matches!(call, Call::Init | Call::Fini | Call::Abort) {
            return;
        }
        let p = self.machine.of_rank(rank);
        let command = if call.commands() { p.control_time(size::COMMAND) } else { 0 };
        if let Call::Begin(op) = call {
            let time = self.machine.written_time(rank, op);
            if time > 0 {
                self.ranks[rank].parts.push_back(Part::Pause(time));
            }
        }
        self.enter(rank, command);
    }

    /// Time of a look that found nothing.
    fn missed(&mut self, rank: RankId) {
        let r = &mut self.ranks[rank];
        let span = self.machine.miss_time(rank, &mut r.misses);
        r.parts.push_back(Part::Pause(span));
    }

    /// A look that is repeated until it finds something found nothing. If nothing is due any more and all others look or wait like this, or have ended, nobody
    /// ever will: unlike programs, records do not count such looks.
    fn polls_idle(&mut self, rank: RankId) {
        self.ranks[rank].idle_polls = true;
        self.looks += 1;
        if !self.looks.is_multiple_of(AGAIN)
            || !self.machine.is_idle()
            || !self.ranks.cells().iter().all(|r| r.ended.is_some() || r.idle_polls)
        {
            return;
        }
        self.hopeless = self.calm;
        // What was served a moment ago is found by the next look.
        self.calm = true;
        for r in self.ranks.cells_mut().iter_mut().filter(|r| !matches!(r.waiting, Waiting::Rank(_))) {
            r.idle_polls &= self.hopeless;
        }
    }

    fn read_count(&mut self, rank: RankId, counter: u32, shown: Count, again: u64) {
        self.missed(rank);
        self.enter(rank, 0);
        self.ranks[rank].parts.push_back(Part::Count { counter, shown, again });
    }

    /// Does a part of a step; false if the rank waits.
    fn part(&mut self, rank: RankId, part: Part) -> bool {
        match part {
            Part::Pause(span) => self.pause(rank, span),
            Part::Ask { call, made, pieces } => {
                self.ask(rank, &call.0, made, &pieces);
                true
            }
            Part::Events(queues, looks) => {
                let Some(until) = looks.until else {
                    let looks = self.begin_look(rank, looks);
                    self.ranks[rank].parts.push_back(Part::Events(queues, looks));
                    return true;
                };
                let found = looks.misses == 0 && self.event(rank, &queues);
                let part = |looks| Part::Events(queues, looks);
                self.look(rank, found, Looks { until: Some(until), ..looks }, "an event", part)
            }
            Part::Counts(tests, looks) => {
                let Some(until) = looks.until else {
                    let looks = self.begin_look(rank, looks);
                    self.ranks[rank].parts.push_back(Part::Counts(tests, looks));
                    return true;
                };
                let found = looks.misses == 0 && tests.iter().any(|&(ct, test)| self.tested(rank, ct, test));
                let part = |looks| Part::Counts(tests, looks);
                self.look(rank, found, Looks { until: Some(until), ..looks }, "a counter", part)
            }
            Part::Count { counter, shown, again } => {
                let there = if counter == INVALID {
                    self.machine.served[rank] >= shown.success
                } else {
                    let value = self.machine.processes[rank].ct_get(counter);
                    value.map_or(true, |v| reached(v, shown))
                };
                if !there {
                    self.polls_idle(rank);
                }
                if !there || again > 0 {
                    let left = if there { again - 1 } else { again };
                    let shown = if there { Count::default() } else { shown };
                    self.read_count(rank, counter, shown, left);
                }
                true
            }
            Part::Served(least) => {
                if self.machine.served[rank] >= least {
                    return true;
                }
                self.ranks[rank].parts.push_front(part);
                self.wait(rank, Waiting::Rank("a message that changes its memory"), None);
                false
            }
            Part::Barrier(round) => self.barrier(rank, round),
            Part::End => {
                debug_assert!(self.ranks[rank].parts.is_empty(), "nothing comes behind the end");
                self.ranks[rank].ended = Some(self.machine.now);
                false
            }
        }
    }

    fn ask(&mut self, rank: RankId, call: &Call, made: u32, pieces: &[(u64, u64)]) {
        self.memory.start = call.pieces().map_or(0, |p| p.0);
        self.memory.pieces =
            pieces.iter().flat_map(|p| [p.0.to_le_bytes(), p.1.to_le_bytes()]).flatten().collect();
        let answer = self.machine.ask(rank, call, &mut self.memory);
        self.memory.pieces.clear();
        if let Ok(here) = answer
            && made != INVALID
            && !matches!(call, Call::PtAlloc { .. })
        {
            if here == made {
                self.ranks[rank].handles.remove(&made);
            } else {
                self.ranks[rank].handles.insert(made, here);
            }
        }
    }

    /// When a look of so many milliseconds is over.
    fn deadline(&self, timeout: u32) -> Option<Ps> {
        (timeout != TIME_FOREVER).then(|| self.machine.now.saturating_add(u64::from(timeout) * MS))
    }

    /// Takes an event out of one of the queues.
    fn event(&mut self, rank: RankId, queues: &[u32]) -> bool {
        let process = &mut self.machine.processes[rank];
        // A queue that is gone would be waited for in vain.
        queues.iter().any(|&q| process.eq_get(q) != Err(Code::EqEmpty))
    }

    fn tested(&mut self, rank: RankId, counter: u32, test: u64) -> bool {
        let value = self.machine.processes[rank].ct_get(counter);
        value.map_or(true, |v| v.success >= test || v.failure > 0)
    }

    /// A look begins with its call; its time runs from before that.
    fn begin_look(&mut self, rank: RankId, looks: Looks) -> Looks {
        let until = self.deadline(looks.timeout);
        self.enter(rank, 0);
        Looks { until: Some(until), ..looks }
    }

    /// A look that is going on found something, or goes on until its time is up, or is followed by another.
    fn look(
        &mut self,
        rank: RankId,
        found: bool,
        looks: Looks,
        what: &'static str,
        part: impl FnOnce(Looks) -> Part,
    ) -> bool {
        debug_assert!(looks.until.is_some(), "the look has begun");
        let Looks { timeout, misses, until } = looks;
        let until = until.flatten();
        if found {
            self.ranks[rank].misses = 0;
            return true;
        }
        if until.is_none_or(|u| self.machine.now < u) {
            self.ranks[rank].parts.push_front(part(looks));
            self.wait(rank, Waiting::Rank(what), until);
            return false;
        }
        if misses == 0 {
            self.polls_idle(rank);
        }
        if timeout == 0 {
            self.missed(rank);
        }
        if misses != 1 {
            let left = Looks { misses: misses.saturating_sub(1), until: None, ..looks };
            self.ranks[rank].parts.push_back(part(left));
        }
        true
    }

    fn barrier(&mut self, rank: RankId, round: Option<u64>) -> bool {
        let all = self.ranks.len() as u32;
        let round = round.unwrap_or_else(|| {
            debug_assert!(self.barrier.0 < all, "a rank comes to a barrier once");
            self.barrier.0 += 1;
            let round = self.barrier.1;
            if self.barrier.0 == all {
                self.barrier = (0, round + 1);
                RankId::first(all).for_each(|r| self.wake_rank(r));
            }
            round
        });
        debug_assert!(round <= self.barrier.1, "nobody is ahead of the barrier");
        if self.barrier.1 > round {
            return true;
        }
        self.ranks[rank].parts.push_front(Part::Barrier(Some(round)));
        self.wait(rank, Waiting::Rank("the others at a barrier"), None);
        false
    }

    fn report(&mut self) -> Replayed {
        let cut = self.machine.is_cut_off();
        let mut waiting = Vec::new();
        for (n, r) in self.ranks.iter().filter(|(_, r)| r.ended.is_none()) {
            let what = match r.waiting {
                Waiting::Rank(what) => format!("waits for {what}"),
                _ if self.hopeless => "looks again and again, without success".to_owned(),
                Waiting::Time | Waiting::No => "was still running".to_owned(),
            };
            waiting.push(format!("rank {n} {what}"));
        }
        let running = |r: &Rank| r.ended.is_none() && (cut || r.timed && r.waiting != Waiting::No);
        Replayed {
            ended: self.ranks.cells().iter().map(|r| r.ended).collect(),
            time: self.machine.now,
            counts: self.machine.counts,
            waiting,
            limited: !self.hopeless && self.ranks.cells().iter().any(running),
            faults: self.machine.faults(),
        }
    }
}
