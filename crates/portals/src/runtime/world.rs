//! Ranks as coroutines: who may run, who waits for what, and how a rank ends.
//!
//! [`run`] takes the next thread that may run from the [`World`] and resumes it; it runs until it waits. The world lies in a cell of this thread that
//! calls of the program borrow briefly, never across a switch. Rank code runs only between `resume` and the next `suspend`.

#![allow(unsafe_code, reason = "coroutines and the C library's state")]

use super::{
    guard::{self, Direct},
    loader::{self, Loaded, Names},
    pmi::Pmi,
    preempt, stdio,
};
use crate::{
    core::{
        call::Call,
        types::{Code, Iovec},
    },
    machine::{Counts, Happening, Machine},
    record::{Recorder, Step},
};
use base::time::Ps;
use corosensei::{Coroutine, CoroutineResult, Yielder, stack::DefaultStack};
use std::{
    cell::RefCell,
    collections::VecDeque,
    ffi::{CString, c_char, c_int, c_void},
    ops::Range,
    path::Path,
    time::Instant,
};

/// How a rank ended, or that it has not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// It has not.
    Running,
    /// It returned from `main` or called `exit`.
    Exited(i32),
    /// It was ended by a signal; at an address, for faults.
    Signal(i32, Option<u64>),
}

/// What a run gives.
#[derive(Clone, Debug)]
pub struct Report {
    /// By rank.
    pub ranks: Vec<Status>,
    /// Simulated time at the end.
    pub time: Ps,
    /// Messages.
    pub counts: Counts,
    /// What ranks that have not ended wait for.
    pub waiting: Vec<String>,
    /// The run was ended by its limit.
    pub limited: bool,
    /// Why there is no record, if one was asked for.
    pub recorded: Result<(), String>,
}

/// Where output of ranks goes: rank, whether it is standard error, bytes.
pub type Sink = Box<dyn FnMut(u32, bool, &[u8])>;

/// What a thread begins with.
#[derive(Clone, Copy, Debug)]
pub enum Entry {
    /// `main` of a rank.
    Main(usize),
    /// A function with its argument.
    Thread(usize, usize),
    /// The end of its rank, at a time.
    Alarm(u32, Ps),
}

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// Nothing.
    No,
    /// A time.
    Time,
    /// Something of its rank: the call, with two numbers for the report.
    Rank(&'static str, u64, u64),
}

/// A thread of a rank.
pub struct Thread {
    /// Its rank.
    pub rank: u32,
    /// What it waits for.
    pub waiting: Waiting,
    ticket: u32,
    entry: Entry,
    errno: i32,
    yielder: *const Yielder<(), ()>,
    /// What it returned, once it is over.
    pub result: Option<usize>,
}

/// A rank.
pub struct Rank {
    /// How it ended.
    pub status: Status,
    /// Looks that found nothing, in a row.
    pub misses: u32,
    /// Functions to be called at its end, with an argument.
    pub hooks: Vec<(usize, usize)>,
    /// Alarms set.
    pub alarm: u32,
    /// It has polled memory.
    polls: bool,
    code: Range<usize>,
    files: [*mut c_void; 2],
}

/// Everything that calls of programs reach.
pub struct World {
    /// Interfaces and network.
    pub machine: Machine,
    /// Memory of ranks.
    pub memory: Direct,
    /// All threads; the first ones are those of `main`, by rank.
    pub threads: Vec<Thread>,
    /// All ranks.
    pub ranks: Vec<Rank>,
    /// Start-up service.
    pub pmi: Pmi,
    /// Threads that wait at a condition: rank, address, thread.
    pub conditions: Vec<(u32, usize, u32)>,
    /// The thread that runs.
    pub current: u32,
    /// Where output goes.
    pub sink: Sink,
    ready: VecDeque<u32>,
    since: Option<Instant>,
    recorder: Option<Recorder>,
}

thread_local! {
    static WORLD: RefCell<Option<World>> = const { RefCell::new(None) };
}

/// Borrows the world for a moment: with the rank that runs.
pub fn with<T>(f: impl FnOnce(&mut World, u32) -> T) -> T {
    preempt::called();
    WORLD.with_borrow_mut(|world| {
        let world = world.as_mut().expect("calls of programs come only while a world is there");
        let rank = world.threads[world.current as usize].rank;
        f(world, rank)
    })
}

impl World {
    /// The thread that may run next; `None` if none ever will.
    fn next(&mut self) -> Option<u32> {
        loop {
            while let Some(thread) = self.ready.pop_front() {
                let t = &self.threads[thread as usize];
                if t.result.is_none() && self.ranks[t.rank as usize].status == Status::Running {
                    return Some(thread);
                }
            }
            if self.ranks.iter().all(|r| r.status != Status::Running) {
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

    fn wake(&mut self, thread: u32) {
        let t = &mut self.threads[thread as usize];
        if t.waiting != Waiting::No {
            t.waiting = Waiting::No;
            t.ticket = t.ticket.wrapping_add(1);
            self.ready.push_back(thread);
        }
    }

    /// All threads of a rank look again for what they wait for.
    pub fn wake_rank(&mut self, rank: u32) {
        if let Some(Thread { waiting: Waiting::Rank(..), .. }) = self.threads.get(rank as usize) {
            self.wake(rank);
        }
        for n in self.ranks.len()..self.threads.len() {
            let t = &self.threads[n];
            if t.rank == rank && matches!(t.waiting, Waiting::Rank(..)) {
                self.wake(n as u32);
            }
        }
    }

    /// A new thread of a rank; it may run at once.
    pub fn spawn(&mut self, rank: u32, entry: Entry) -> u32 {
        if let Entry::Thread(..) = entry {
            self.record(|r| {
                r.give_up(format!("rank {rank} has several threads, and a record has one of each rank"))
            });
        }
        let thread = Thread {
            rank,
            waiting: Waiting::No,
            ticket: 0,
            entry,
            errno: 0,
            yielder: std::ptr::null(),
            result: None,
        };
        self.threads.push(thread);
        let number = (self.threads.len() - 1) as u32;
        self.ready.push_back(number);
        number
    }

    /// The thread that runs waits, until a time at most.
    fn wait(&mut self, waiting: Waiting, until: Option<Ps>) {
        let thread = self.current;
        let t = &mut self.threads[thread as usize];
        t.waiting = waiting;
        if let Some(until) = until {
            let what = u64::from(thread) << 32 | u64::from(t.ticket);
            self.machine.wake_at(until, what);
        }
    }

    /// Time that the program computed since it was last resumed, as simulated time.
    fn computed(&mut self) -> Ps {
        let factor = self.machine.params.cpu_factor;
        self.since.take().map_or(0, |since| (since.elapsed().as_nanos() as f64 * 1000.0 * factor) as Ps)
    }

    /// Writes down what a rank asked of its interface.
    pub fn asked(&mut self, rank: u32, call: Call, answer: Result<u32, Code>) {
        let Some(recorder) = &mut self.recorder else { return };
        let mut pieces = Vec::new();
        if let Some((start, count)) = call.pieces() {
            let most = u64::from(u16::MAX);
            let at = |n: u64| guard::get((start + n * size_of::<Iovec>() as u64) as *const Iovec);
            pieces = (0..count.min(most)).map_while(at).collect();
        }
        recorder.asked(rank, call, answer, pieces);
    }

    /// Writes down something else that a rank did.
    pub fn record(&mut self, f: impl FnOnce(&mut Recorder)) {
        if let Some(recorder) = &mut self.recorder {
            f(recorder);
        }
    }

    fn measure(&mut self) {
        if self.machine.params.cpu_factor > 0.0 {
            self.since = Some(Instant::now());
        }
    }
}

/// Gives the processor up; returns when the thread is resumed.
fn suspend() {
    let yielder = with(|w, _| w.threads[w.current as usize].yielder);
    // SAFETY: the pointer was set by the coroutine that runs now, which lives as long as it runs.
    unsafe { (*yielder).suspend(()) };
}

/// Lets time pass for the thread that runs.
pub fn pause(span: Ps) {
    let passed = with(|w, _| {
        let until = w.machine.now + span;
        if w.ready.is_empty() && w.machine.skip_to(until) {
            return true;
        }
        w.wait(Waiting::Time, Some(until));
        false
    });
    if !passed {
        suspend();
    }
}

/// A call begins: what the program computed, and what the call itself takes.
pub fn enter(span: Ps) {
    let span = with(|w, rank| {
        let computed = w.computed();
        if computed > 0 {
            w.record(|r| r.step(rank, Step::Compute(computed)));
        }
        span + w.machine.params.call_time + computed
    });
    if span > 0 {
        pause(span);
    }
}

/// A call that does nothing but take its time.
pub fn enter_only() {
    enter(0);
    with(|w, rank| {
        if w.machine.params.call_time > 0 {
            w.asked(rank, Call::Nothing(false), Err(Code::Ignored));
        }
    });
}

/// The program sleeps; `called` if that is a call of its own.
pub fn idle(span: Ps, called: bool) {
    if called {
        enter(0);
    }
    with(|w, rank| w.record(|r| r.step(rank, Step::Sleep(span, called))));
    pause(span);
}

/// A call ends.
pub fn leave() {
    with(|w, _| w.measure());
}

/// Waits for something of the rank, until a time at most. `why` is for the report of a deadlock.
pub fn wait(why: (&'static str, u64, u64), until: Option<Ps>) {
    with(|w, _| w.wait(Waiting::Rank(why.0, why.1, why.2), until));
    suspend();
}

/// The program polls memory: it waits until something is served at its interface.
pub fn poll_memory() {
    with(|w, rank| {
        w.ranks[rank as usize].polls = true;
        w.machine.watch(rank);
    });
    wait(("a loop that polls memory", 0, 0), None);
    with(|w, rank| {
        let served = w.machine.served[rank as usize];
        w.record(|r| r.served(rank, served));
    });
}

/// Ends the rank that runs, in order: hooks, buffers.
pub fn exit(status: i32, hooks: bool) -> ! {
    while let Some((hook, argument)) = with(|w, r| w.ranks[r as usize].hooks.pop()).filter(|_| hooks) {
        // SAFETY: the program gave a function of this type to be called at its end.
        unsafe { std::mem::transmute::<usize, extern "C" fn(usize)>(hook)(argument) };
    }
    end(Status::Exited(status))
}

/// Ends the rank that runs by a signal at an address.
pub fn crash(signal: i32, address: u64) -> ! {
    let faults = matches!(signal, libc::SIGSEGV | libc::SIGBUS | libc::SIGFPE | libc::SIGILL);
    end(Status::Signal(signal, faults.then_some(address)))
}

/// Ends the thread that runs.
pub fn end_thread(result: usize) -> ! {
    with(|w, rank| {
        let current = w.current;
        w.threads[current as usize].result = Some(result);
        w.wake_rank(rank);
    });
    loop {
        suspend();
    }
}

/// Ends the rank that runs.
pub fn end(status: Status) -> ! {
    let files = with(|w, r| w.ranks[r as usize].files);
    stdio::flush(files);
    with(|w, r| {
        let rank = &mut w.ranks[r as usize];
        if rank.status == Status::Running {
            rank.status = status;
        }
        let now = w.machine.now;
        w.record(|recorder| recorder.ended(r, now));
        w.wake_rank(r);
    });
    loop {
        suspend();
    }
}

/// A program to be run.
pub struct Program<'a> {
    /// Its file's contents.
    pub bytes: &'a [u8],
    /// Name and arguments.
    pub arguments: &'a [String],
    /// Where copies are made.
    pub directory: &'a Path,
    /// Bytes of each stack.
    pub stack: usize,
}

/// Runs a program on all ranks of a machine.
///
/// # Errors
/// If it cannot be loaded, or a stack cannot be had.
pub fn run(
    machine: Machine,
    program: &Program<'_>,
    names: &Names,
    (sink, recorder): (Sink, Option<Recorder>),
) -> Result<Report, String> {
    guard::install();
    let ranks = machine.processes.len() as u32;
    let mut loaded = Vec::new();
    let world = World {
        machine,
        memory: Direct::default(),
        threads: Vec::new(),
        ranks: Vec::new(),
        pmi: Pmi::default(),
        conditions: Vec::new(),
        current: 0,
        sink,
        ready: VecDeque::new(),
        since: None,
        recorder,
    };
    for rank in 0..ranks {
        loaded.push(loader::load(program.bytes, program.directory, rank, names)?);
    }
    WORLD.set(Some(world));
    WORLD.with_borrow_mut(|world| {
        let world = world.as_mut().expect("it was just put there");
        for (rank, Loaded { main, code }) in loaded.into_iter().enumerate() {
            let files = stdio::open(rank as u32);
            world.ranks.push(Rank {
                status: Status::Running,
                misses: 0,
                hooks: Vec::new(),
                alarm: 0,
                polls: false,
                code,
                files,
            });
            world.spawn(rank as u32, Entry::Main(main));
        }
    });
    preempt::install();
    let outcome = drive(program);
    preempt::stop();
    let mut world = WORLD.take().expect("it is still there");
    outcome?;
    let mut report = report(&world);
    if let Some(recorder) = world.recorder.take() {
        let counts = world.machine.counts;
        let messages = (counts.messages, counts.bytes);
        let faults = std::mem::take(&mut world.memory.faults);
        report.recorded = recorder.finish(world.machine.now, messages, faults);
    }
    Ok(report)
}

/// Arguments of `main`, which ranks may change: each has its own, and they stay.
fn arguments(program: &Program<'_>) -> Result<(c_int, *mut *mut c_char), String> {
    let mut all = Vec::new();
    for argument in program.arguments {
        let text = CString::new(argument.as_str()).map_err(|_| "an argument holds a zero byte".to_owned())?;
        all.push(text.into_raw());
    }
    let count = all.len() as c_int;
    all.push(std::ptr::null_mut());
    Ok((count, Box::leak(all.into_boxed_slice()).as_mut_ptr()))
}

type Routine = Coroutine<(), (), (), DefaultStack>;

fn coroutine(thread: u32, entry: Entry, program: &Program<'_>) -> Result<Routine, String> {
    let stack = DefaultStack::new(program.stack).map_err(|e| format!("no stack for another thread: {e}"))?;
    let given = arguments(program)?;
    Ok(Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| {
        with(|w, _| w.threads[thread as usize].yielder = yielder);
        match entry {
            Entry::Main(main) => {
                type Main = extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;
                // SAFETY: it is the address of the program's `main`; more arguments than it takes do no harm.
                let status =
                    unsafe { std::mem::transmute::<usize, Main>(main)(given.0, given.1, environment()) };
                exit(status, true)
            }
            Entry::Alarm(number, at) => super::system::ring(number, at),
            Entry::Thread(function, argument) => {
                // SAFETY: the program gave a function of this type to be a thread.
                let result = unsafe {
                    std::mem::transmute::<usize, extern "C" fn(usize) -> usize>(function)(argument)
                };
                end_thread(result)
            }
        }
    }))
}

fn environment() -> *mut *mut c_char {
    unsafe extern "C" {
        static mut environ: *mut *mut c_char;
    }
    // SAFETY: the C library defines it; nobody changes the environment while a simulation runs.
    unsafe { environ }
}

/// Resumes threads until none can run.
fn drive(program: &Program<'_>) -> Result<(), String> {
    let mut routines: Vec<Option<Routine>> = Vec::new();
    let outcome = loop {
        let next = WORLD.with_borrow_mut(|world| {
            let world = world.as_mut()?;
            let thread = world.next()?;
            world.current = thread;
            world.measure();
            let t = &world.threads[thread as usize];
            let rank = &world.ranks[t.rank as usize];
            preempt::begin(&rank.code, rank.polls);
            Some((thread, t.entry, t.errno, rank.files))
        });
        let Some((thread, entry, errno, files)) = next else { break Ok(()) };
        if routines.len() <= thread as usize {
            routines.resize_with(thread as usize + 1, || None);
        }
        let slot = &mut routines[thread as usize];
        if slot.is_none() {
            match coroutine(thread, entry, program) {
                Ok(routine) => *slot = Some(routine),
                Err(message) => break Err(message),
            }
        }
        if let Some(routine) = slot {
            resume(routine, thread, errno, files);
        }
    };
    // Stacks of ranks that were ended in the middle hold frames of C, which must not be unwound.
    routines.into_iter().flatten().for_each(std::mem::forget);
    outcome
}

fn resume(routine: &mut Routine, thread: u32, errno: i32, files: [*mut c_void; 2]) {
    let own = stdio::swap(files);
    // SAFETY: the location is this thread's own.
    unsafe { *libc::__errno_location() = errno };
    guard::rank_runs(true);
    let result = routine.resume(());
    guard::rank_runs(false);
    preempt::end();
    // SAFETY: as above.
    let errno = unsafe { *libc::__errno_location() };
    stdio::swap(own);
    debug_assert!(matches!(result, CoroutineResult::Yield(())), "threads never return");
    with(|w, _| w.threads[thread as usize].errno = errno);
}

fn report(world: &World) -> Report {
    let mut waiting = Vec::new();
    for (n, t) in world.threads.iter().enumerate() {
        if t.result.is_some() || world.ranks[t.rank as usize].status != Status::Running {
            continue;
        }
        let (rank, which) =
            (t.rank, if n < world.ranks.len() { String::new() } else { format!(", thread {n}") });
        let what = match t.waiting {
            Waiting::Rank("PtlCTWait", handle, test) => {
                format!("PtlCTWait: counter {handle:#x} to reach {test}")
            }
            Waiting::Rank("PMI_Barrier", done, all) => {
                format!("PMI_Barrier: {done} of {all} ranks are there")
            }
            Waiting::Rank(call @ ("PtlEQWait" | "PtlEQPoll" | "PtlCTPoll"), handle, _) => {
                format!("{call}: {handle:#x}")
            }
            Waiting::Rank(call, ..) => call.to_owned(),
            Waiting::Time => "the time at which it would go on".to_owned(),
            Waiting::No => "its turn".to_owned(),
        };
        waiting.push(format!("rank {rank}{which} waits in {what}"));
    }
    let limited = world.threads.iter().any(|t| {
        t.waiting == Waiting::Time
            && t.result.is_none()
            && world.ranks[t.rank as usize].status == Status::Running
    });
    Report {
        ranks: world.ranks.iter().map(|r| r.status.clone()).collect(),
        time: world.machine.now,
        counts: world.machine.counts,
        waiting,
        limited,
        recorded: Ok(()),
    }
}
