//! Ranks as coroutines: who may run, who waits for what, and how a rank ends.
//!
//! [`run`] takes the next thread that may run from the [`World`] and resumes it; it runs until it waits. The world lies in a cell of this thread that
//! calls of the program borrow briefly, never across a switch. Rank code runs only between `resume` and the next `suspend`.

#![allow(unsafe_code, reason = "coroutines and the C library's state")]

use super::{
    guard::{self, Direct},
    loader::{self, Library, Loaded, Names},
    pmi::Pmi,
    preempt,
    report::{Report, report},
    stdio,
    vain::Looks,
};
use crate::{
    core::{
        call::Call,
        types::{Code, Iovec},
    },
    machine::{Happening, Machine},
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
    /// It waits until a time at most.
    pub timed: bool,
    /// What it looked for in vain.
    pub looks: Looks,
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
    /// Counts what happened and what was done: see [`super::vain`].
    pub done: u64,
    /// Nobody will find what all look for.
    pub hopeless: bool,
    ready: VecDeque<u32>,
    /// Processor time of this thread when the program last began to compute, in nanoseconds.
    since: Option<u64>,
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
            if self.hopeless {
                return None;
            }
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
        self.active();
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
        self.active();
        if let Entry::Thread(..) = entry {
            self.record(|r| {
                r.give_up(format!("rank {rank} has several threads, and a record has one of each rank"))
            });
        }
        let thread = Thread {
            rank,
            waiting: Waiting::No,
            timed: false,
            looks: Looks::default(),
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
    fn computed(&mut self, rank: u32) -> Ps {
        let Some(since) = self.since.take() else { return 0 };
        let (p, span) = (
            self.machine.of_rank(rank),
            super::system::processor_time().saturating_sub(since) as f64 * 1000.0,
        );
        if span < p.cpu_threshold as f64 { 0 } else { (span * p.cpu_factor) as Ps }
    }

    /// Writes down what a rank asked of its interface.
    pub fn asked(&mut self, rank: u32, call: Call, answer: Result<u32, Code>) {
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
        recorder.asked(rank, call, answer, pieces);
    }

    /// Writes down something else that a rank did.
    pub fn record(&mut self, f: impl FnOnce(&mut Recorder)) {
        if let Some(recorder) = &mut self.recorder {
            f(recorder);
        }
    }

    fn measure(&mut self) {
        let rank = self.threads[self.current as usize].rank;
        if self.machine.of_rank(rank).cpu_factor > 0.0 {
            self.since = Some(super::system::processor_time());
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
        let computed = w.computed(rank);
        if computed > 0 {
            w.record(|r| r.step(rank, Step::Compute(computed)));
        }
        span + w.machine.of_rank(rank).call_time + computed
    });
    if span > 0 {
        pause(span);
    }
}

/// A call that does nothing but take its time.
pub fn enter_only() {
    enter(0);
    with(|w, rank| {
        if w.machine.of_rank(rank).call_time > 0 {
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

/// The thread that runs looked and found nothing: the end of the run, if nobody ever will find anything.
pub fn looked(call: &'static str) {
    if with(|w, _| w.looked(call)) {
        loop {
            suspend();
        }
    }
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
    /// Libraries of which each rank has a copy.
    pub private: &'a [Library],
    /// Name and arguments.
    pub arguments: &'a [String],
    /// Where copies are made; removed when all are loaded, and no file of it is needed any more.
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
        memory: Direct::new(recorder.is_some()),
        threads: Vec::new(),
        ranks: Vec::new(),
        pmi: Pmi::default(),
        conditions: Vec::new(),
        current: 0,
        sink,
        done: 0,
        hopeless: false,
        ready: VecDeque::new(),
        since: None,
        recorder,
    };
    for rank in 0..ranks {
        loaded.push(loader::load((program.bytes, program.private), program.directory, rank, names)?);
    }
    // Whatever ends this process later leaves nothing behind.
    let _ = std::fs::remove_dir_all(program.directory);
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
        report.recorded = match world.memory.faults() {
            Ok(faults) => recorder.finish(world.machine.now, messages, faults),
            Err(why) => Err(why),
        };
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
