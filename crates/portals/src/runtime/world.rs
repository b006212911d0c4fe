//! The world of ranks as coroutines: who may run, who waits for what, and how a rank ends.
//!
//! It lies in a cell of this thread that calls of the program borrow briefly, never across a switch. [`mod@super::run`] resumes threads; they wait here.

#![allow(unsafe_code, reason = "coroutines and the C library's state")]

use super::{
    float,
    guard::{self, RankMemory},
    locals::Locals,
    preempt::{self, Polls},
    stdio,
    threads::{
        Barrier, ConditionWait, Entry, FutexWait, Hook, Idle, Looks, POLL, Pmi, Rank, Reason, Status, Thread,
        Waiting,
    },
};
use crate::{
    core::{
        call::Call,
        types::{Code, Iovec},
    },
    machine::{Happening, Machine},
    nic::Params,
    record::{Recorder, Step},
};
use base::{
    index::{Column, RankId},
    sorted::SortedMap,
    time::{NS, Ps},
};
use std::{cell::RefCell, collections::VecDeque, mem::ManuallyDrop};

/// From a store of one thread of a rank to the look of another one that polls memory.
const SEEN_AFTER: Ps = 100 * NS;

/// Where output of ranks goes: rank, whether it is standard error, bytes.
pub type Sink = Box<dyn FnMut(u32, bool, &[u8])>;

/// Everything that calls of programs reach.
pub struct World {
    /// Interfaces and network.
    pub machine: Machine,
    /// Memory of ranks.
    pub memory: RankMemory,
    /// All threads; the first ones are those of `main`, by rank.
    pub threads: Vec<Thread>,
    /// All ranks: their ends, output and alarms; threads stand apart.
    pub ranks: Column<RankId, Rank>,
    /// Start-up service of all ranks: keys and barrier.
    pub pmi: Pmi,
    /// Threads that wait at a condition, in the order in which they came.
    pub conditions: Vec<ConditionWait>,
    /// Threads that wait for words of memory, in the order in which they came.
    pub futexes: Vec<FutexWait>,
    /// Threads that have recursive mutexes, and how many times, by rank and address.
    pub mutexes: SortedMap<(RankId, usize), (u32, u32)>,
    /// Barriers of threads, by rank and address.
    pub barriers: SortedMap<(RankId, usize), Barrier>,
    /// Keys of values of threads so far.
    pub keys: u32,
    /// Calls so far whose time was shaken, by rank.
    shaken: Column<RankId, u64>,
    /// The thread that runs.
    pub current: u32,
    /// Ranks that have not ended.
    pub running: u32,
    /// Where output goes.
    pub sink: Sink,
    /// Counts what happened and what was done: see [`super::idle_polls`].
    pub done: u64,
    /// Nobody will find what all look for.
    pub hopeless: bool,
    /// Thread-local variables of libraries that all ranks share.
    pub shared: Locals,
    /// Threads that may run, in order.
    ready: VecDeque<u32>,
    /// Processor time of this thread when the program last began to compute, in nanoseconds.
    since: Option<u64>,
    /// Writes the run down, if that was asked for.
    pub recorder: Option<Recorder>,
}

thread_local! {
    /// Never dropped with its thread: [`take`] empties it. So nobody has to ask, at each look, whether it is still there.
    static WORLD: ManuallyDrop<RefCell<Option<World>>> = const { ManuallyDrop::new(RefCell::new(None)) };
}

/// Borrows the world for a moment: with the rank that runs.
pub fn with<T>(f: impl FnOnce(&mut World, RankId) -> T) -> T {
    preempt::called();
    WORLD.with(|world| {
        let mut world = world.borrow_mut();
        let world = world.as_mut().expect("calls of programs come only while a world is there");
        let rank = world.threads[world.current as usize].rank;
        f(world, rank)
    })
}

/// True while a call of ours holds the world.
pub fn is_lent() -> bool {
    WORLD.with(|world| world.try_borrow_mut().is_err())
}

/// The world begins: calls of programs find it.
pub(super) fn begin(world: World) {
    let before = WORLD.with(|cell| cell.replace(Some(world)));
    debug_assert!(before.is_none(), "there is one world at a time");
}

/// Borrows the world while no rank runs; `None` if there is none, or from `f`.
pub(super) fn reach<T>(f: impl FnOnce(&mut World) -> Option<T>) -> Option<T> {
    WORLD.with(|world| f(world.borrow_mut().as_mut()?))
}

/// The world ends.
pub(super) fn take() -> Option<World> {
    WORLD.with(|world| world.take())
}

/// A rank wrote to its output or error, which may lead to a descriptor.
pub(super) fn printed(rank: RankId, error: bool, bytes: &[u8]) {
    let leads = with(|w, _| {
        let leads = w.ranks.cells().get(rank.index()).and_then(|r| r.own.descriptors[1 + usize::from(error)]);
        if leads.is_none() {
            (w.sink)(rank.number(), error, bytes);
        }
        leads
    });
    if let Some(descriptor) = leads {
        // SAFETY: the bytes are there; a closed descriptor is an error that a stream's user may look for.
        unsafe { libc::write(descriptor, bytes.as_ptr().cast(), bytes.len()) };
    }
}

impl World {
    /// A world without ranks yet.
    #[must_use]
    pub fn new(machine: Machine, sink: Sink, recorder: Option<Recorder>) -> Self {
        Self {
            machine,
            memory: RankMemory::new(recorder.is_some()),
            threads: Vec::new(),
            ranks: Column::default(),
            pmi: Pmi::default(),
            conditions: Vec::new(),
            futexes: Vec::new(),
            mutexes: SortedMap::new(),
            barriers: SortedMap::new(),
            keys: 0,
            shaken: Column::default(),
            current: 0,
            running: 0,
            sink,
            done: 0,
            hopeless: false,
            shared: Locals::default(),
            ready: VecDeque::new(),
            since: None,
            recorder,
        }
    }

    /// The thread that may run next; `None` if none ever will.
    pub fn next_thread(&mut self) -> Option<u32> {
        loop {
            if self.hopeless {
                return None;
            }
            while let Some(thread) = self.ready.pop_front() {
                let t = &self.threads[thread as usize];
                debug_assert!(t.waiting == Waiting::No, "what may run does not wait");
                if t.result.is_none() && self.ranks[t.rank].status == Status::Running {
                    return Some(thread);
                }
            }
            if self.running == 0 {
                return None;
            }
            match self.machine.next(&mut self.memory)? {
                Happening::Rank(rank) => self.wake_rank(rank),
                Happening::Wake(what) => {
                    let thread = (what >> 32) as u32;
                    if self.threads[thread as usize].ticket == what as u32 {
                        self.wake(thread);
                    }
                }
            }
        }
    }

    /// A thread goes on that waits; others are not disturbed.
    pub fn wake(&mut self, thread: u32) {
        let t = &mut self.threads[thread as usize];
        if t.waiting != Waiting::No {
            debug_assert!(t.result.is_none(), "a thread that is over waits for nothing");
            t.waiting = Waiting::No;
            t.ticket = t.ticket.wrapping_add(1);
            if t.polls.take().is_some() {
                debug_assert!(self.ranks[t.rank].pollers > 0, "who polls memory was counted");
                self.ranks[t.rank].pollers -= 1;
            }
            self.ready.push_back(thread);
        }
    }

    /// All threads of a rank look again for what they wait for.
    pub fn wake_rank(&mut self, rank: RankId) {
        self.active();
        if let Some(Thread { waiting: Waiting::Rank(..), .. }) = self.threads.get(rank.index()) {
            self.wake(rank.number());
        }
        for n in self.ranks.len()..self.threads.len() {
            let t = &self.threads[n];
            if t.rank == rank && matches!(t.waiting, Waiting::Rank(..)) {
                self.wake(n as u32);
            }
        }
    }

    /// A new thread of a rank; it may run at once.
    pub fn spawn(&mut self, rank: RankId, entry: Entry) -> u32 {
        self.active();
        if let Entry::Thread(..) | Entry::Timer(_) = entry {
            self.record(|r| {
                r.give_up(format!("rank {rank} has several threads, and a record has one of each rank"))
            });
        }
        let thread = Thread {
            rank,
            waiting: Waiting::No,
            wants: 0,
            timed: false,
            polls: None,
            looks: Looks::default(),
            rounds: 0,
            ticket: 0,
            entry,
            errno: 0,
            hooks: Vec::new(),
            values: SortedMap::new(),
            yielder: std::ptr::null(),
            result: None,
        };
        self.threads.push(thread);
        let number = (self.threads.len() - 1) as u32;
        let first = matches!(entry, Entry::Main(_));
        debug_assert!(!first || number == rank.number(), "the first threads are those of `main`, by rank");
        self.ready.push_back(number);
        number
    }

    /// Numbers among which are those of a rank's threads.
    pub fn may_be_of(&self, rank: RankId) -> impl Iterator<Item = usize> + use<> {
        std::iter::once(rank.index()).chain(self.ranks.len()..self.threads.len())
    }

    /// The thread that runs is about to wait, or lets time pass, and may have changed memory: others of its rank that poll memory look again after a while.
    fn let_pollers_look(&mut self, rank: RankId) {
        self.threads[self.current as usize].rounds = 0;
        if self.ranks[rank].pollers == 0 {
            return;
        }
        let at = self.machine.now + SEEN_AFTER;
        for n in self.may_be_of(rank) {
            let t = &mut self.threads[n];
            if t.rank == rank && t.polls == Some(false) {
                t.polls = Some(true);
                self.machine.wake_at(at, (n as u64) << 32 | u64::from(t.ticket));
            }
        }
    }

    /// The thread that runs waits, until a time at most.
    fn wait(&mut self, waiting: Waiting, until: Option<Ps>) {
        debug_assert!(waiting != Waiting::No, "who waits does so for something");
        let thread = self.current;
        debug_assert!(until.is_none_or(|u| u >= self.machine.now), "nobody waits for the past");
        let t = &mut self.threads[thread as usize];
        debug_assert!(t.waiting == Waiting::No, "a thread that waits does not run");
        (t.waiting, t.timed) = (waiting, until.is_some());
        match until {
            Some(until) => {
                let what = u64::from(thread) << 32 | u64::from(t.ticket);
                self.machine.wake_at(until, what);
            }
            None => self.active(),
        }
    }

    /// Time that the program computed since it was last resumed, as simulated time.
    fn computed(&mut self, rank: RankId) -> Ps {
        debug_assert!(self.threads[self.current as usize].rank == rank, "its thread runs");
        let Some(since) = self.since.take() else { return 0 };
        let (p, span) =
            (self.machine.of_rank(rank), preempt::program_time().saturating_sub(since) as f64 * 1000.0);
        if span < p.cpu_threshold as f64 { 0 } else { (span * p.cpu_factor) as Ps }
    }

    /// What a call takes by chance, up to a time, if hosts are not all alike to the picosecond.
    fn jitter(&mut self, rank: RankId, most: Ps) -> Ps {
        if most == 0 {
            return 0;
        }
        if self.shaken.is_empty() {
            self.shaken = Column::filled(self.ranks.len(), 0);
        }
        debug_assert_eq!(self.shaken.len(), self.ranks.len(), "calls of each rank are counted");
        self.shaken[rank] += 1;
        self.machine.chance(rank, self.shaken[rank]).below(most + 1)
    }

    /// Writes down what a rank asked of its interface.
    pub fn asked(&mut self, rank: RankId, call: &Call, answer: Result<u32, Code>) {
        if !matches!(call, Call::Nothing(false)) {
            self.active();
        }
        let Some(recorder) = &mut self.recorder else { return };
        let mut pieces = Vec::new();
        if let Some((start, count)) = call.pieces() {
            let most = u64::from(u16::MAX);
            if count > most && answer.is_ok() {
                recorder.give_up(format!(
                    "rank {rank} named {count} pieces of memory, and a record takes {most}"
                ));
            }
            let at = |n: u64| guard::get((start + n * size_of::<Iovec>() as u64) as *const Iovec);
            pieces = (0..count.min(most)).map_while(at).collect();
        }
        recorder.asked(rank, call.clone(), answer, pieces);
    }

    /// Writes down something else that a rank did.
    pub fn record(&mut self, f: impl FnOnce(&mut Recorder)) {
        if let Some(recorder) = self.recorder.as_mut() {
            let rank = self.threads[self.current as usize].rank;
            if self.current != rank.number() {
                let why =
                    "calls its interface or waits in a handler, while its program goes on or waits elsewhere";
                recorder.give_up(format!("rank {rank} {why}: a record has one thing after another"));
            }
            f(recorder);
        }
    }

    /// The rank that runs begins to wait, until a time at most. What it waits for is none of its interface, or a step of its own will have it.
    fn idles(&mut self, until: Option<Ps>, called: bool) {
        let rank = self.threads[self.current as usize].rank;
        if self.recorder.is_some() && self.current == rank.number() {
            self.ranks[rank].idle = Some(Idle { since: self.machine.now, until, called });
        }
    }

    /// It waits no more: what it waited for is in no other step if it was `outside` of its interface, and the record has the time.
    fn idled(&mut self, rank: RankId, outside: bool) {
        let Some(idle) = self.ranks[rank].idle.take() else { return };
        debug_assert!(idle.since <= self.machine.now, "a wait ends after it began");
        let span = self.machine.now - idle.since;
        if let Some(recorder) = self.recorder.as_mut().filter(|_| outside && (span > 0 || idle.called)) {
            recorder.step(rank, Step::Sleep(span, idle.called));
        }
    }

    /// A rank ended, maybe while its program waited.
    fn record_end(&mut self, rank: RankId) {
        self.idled(rank, true);
        let now = self.machine.now;
        if let Some(recorder) = self.recorder.as_mut() {
            recorder.ended(rank, now);
        }
    }

    /// The run is over: who waits until a time would have waited until then.
    pub(super) fn record_unfinished(&mut self) {
        let Some(recorder) = self.recorder.as_mut() else { return };
        for (rank, state) in self.ranks.iter() {
            if let Some(Idle { since, until: Some(until), called }) = state.idle {
                debug_assert!(until >= since, "nobody waits for the past");
                recorder.step(rank, Step::Sleep(until - since, called));
            }
        }
    }

    /// From now on the program of the thread that runs computes.
    #[inline]
    pub fn measure(&mut self) {
        let rank = self.threads[self.current as usize].rank;
        if self.machine.of_rank(rank).cpu_factor > 0.0 {
            self.since = Some(preempt::program_time());
        }
    }
}

/// Gives the processor up; returns when the thread is resumed.
pub(super) fn suspend() {
    let yielder = with(|w, _| w.threads[w.current as usize].yielder);
    debug_assert!(!yielder.is_null(), "a thread that runs was resumed");
    preempt::passed();
    let kept = float::leave();
    // SAFETY: the pointer was set by the coroutine that runs now, which lives as long as it runs.
    unsafe { (*yielder).suspend(()) };
    float::come(kept);
}

/// Lets time pass for the thread that runs.
pub fn pause(span: Ps) {
    let passed = with(|w, rank| {
        w.let_pollers_look(rank);
        let until = w.machine.now.saturating_add(span);
        if w.ready.is_empty() && w.machine.skip_to(until) {
            return true;
        }
        w.wait(Waiting::Time, Some(until));
        false
    });
    if passed {
        preempt::passed();
    } else {
        suspend();
    }
}

/// A call begins: what the program computed, and what the call itself takes on its node beside `call_time`.
pub fn enter(span: impl FnOnce(&Params) -> Ps) {
    let span = with(|w, rank| {
        let p = w.machine.of_rank(rank);
        let (call, most) = (span(p) + p.call_time, p.host_jitter);
        let computed = w.computed(rank) + w.jitter(rank, most);
        if computed > 0 {
            w.record(|r| r.step(rank, Step::Compute(computed)));
        }
        call + computed
    });
    if span > 0 {
        pause(span);
    }
}

/// A call that does nothing but take its time.
pub fn enter_only() {
    enter(|_| 0);
    with(|w, rank| {
        if w.machine.of_rank(rank).call_time > 0 {
            w.asked(rank, &Call::Nothing(false), Err(Code::Ignored));
        }
    });
}

/// The program sleeps; `called` if that is a call of its own.
pub fn idle(span: Ps, called: bool) {
    if called {
        enter(|_| 0);
    }
    with(|w, _| w.idles(Some(w.machine.now.saturating_add(span)), called));
    pause(span);
    slept(true);
}

/// The thread that runs has waited: see [`World::idled`].
fn slept(outside: bool) {
    with(|w, rank| match w.current == rank.number() {
        true => w.idled(rank, outside),
        // In a handler that is no time of the rank's program.
        false if outside => w.record(|_| ()),
        false => (),
    });
}

/// A call ends.
pub fn leave() {
    with(|w, _| w.measure());
}

/// Waits for something of the rank that is none of its interface, until a time at most: a record has the time that it took.
pub fn wait(why: Reason, until: Option<Ps>) {
    wait_for(why, until);
    slept(true);
}

/// Waits for what a record has as a step of its own: events, counters, the barrier.
pub fn wait_for_step(why: Reason, until: Option<Ps>) {
    wait_for(why, until);
    slept(false);
}

fn wait_for(why: Reason, until: Option<Ps>) {
    with(|w, rank| {
        w.idles(until, false);
        w.let_pollers_look(rank);
        w.wait(Waiting::Rank(why), until);
    });
    suspend();
}

/// The program polls memory: it waits until something is served at its interface or another of its threads has run.
pub fn poll_memory(Polls { idle, at }: Polls) {
    with(|w, rank| {
        w.ranks[rank].polls = true;
        w.machine.watch(rank);
        if !idle {
            w.let_pollers_look(rank);
        }
        w.wait(Waiting::Rank(Reason::of(POLL, at)), None);
        debug_assert!(w.threads[w.current as usize].polls.is_none(), "a thread waits in one loop at a time");
        w.threads[w.current as usize].polls = Some(false);
        w.ranks[rank].pollers += 1;
    });
    suspend();
    with(|w, rank| {
        let served = w.machine.served[rank];
        w.record(|r| r.served(rank, served));
    });
}

/// Calls a function that the program gave to be called at an end.
fn call(hook: Hook, status: i32) {
    // SAFETY: the program gave a function of the type that goes with the way in which it gave it.
    unsafe {
        match hook {
            Hook::Argument(function, argument) => {
                std::mem::transmute::<usize, extern "C" fn(usize)>(function)(argument);
            }
            Hook::Status(function, argument) => {
                std::mem::transmute::<usize, extern "C" fn(i32, usize)>(function)(status, argument);
            }
        }
    }
}

/// Calls what is to be called when the thread that runs ends.
fn end_of_thread() {
    while let Some(hook) = with(|w, _| w.threads[w.current as usize].hooks.pop()) {
        call(hook, 0);
    }
}

/// Ends the rank that runs, in order: hooks, the ends of its copies, buffers.
pub fn exit(status: i32, hooks: bool) -> ! {
    if hooks {
        end_of_thread();
        while let Some(hook) = with(|w, r| w.ranks[r].hooks.pop()) {
            call(hook, status);
        }
        let ends = with(|w, r| std::mem::take(&mut w.ranks[r].ends));
        ends.into_iter().for_each(|function| call(Hook::Argument(function, 0), status));
    }
    end(Status::Exited(status))
}

/// Ends all ranks: the one that runs with a status.
pub fn end_job(status: i32) -> ! {
    let (own, all) = with(|w, rank| (rank, w.ranks.len() as u32));
    for other in RankId::first(all).filter(|&r| r != own) {
        let files = with(|w, _| (w.ranks[other].status == Status::Running).then_some(w.ranks[other].files));
        if let Some(files) = files {
            stdio::flush(files);
            with(|w, _| {
                w.ranks[other].status = Status::Stopped(own.number());
                w.running -= 1;
                w.record_end(other);
            });
        }
    }
    end(Status::Exited(status))
}

/// Ends the thread that runs.
pub fn end_thread(result: usize) -> ! {
    end_of_thread();
    with(|w, rank| {
        let current = w.current;
        debug_assert!(w.threads[current as usize].result.is_none(), "a thread ends once");
        w.threads[current as usize].result = Some(result);
        w.ranks[rank].locals.forget(current);
        w.shared.forget(current);
        w.wake_rank(rank);
    });
    loop {
        suspend();
    }
}

/// Ends the rank that runs.
pub fn end(status: Status) -> ! {
    let files = with(|w, r| w.ranks[r].files);
    stdio::flush(files);
    with(|w, r| {
        let rank = &mut w.ranks[r];
        if rank.status == Status::Running {
            rank.status = status;
            w.running -= 1;
        }
        w.record_end(r);
        w.wake_rank(r);
    });
    loop {
        suspend();
    }
}
