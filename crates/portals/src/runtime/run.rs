//! Runs a program on all ranks: loads it, resumes threads in turn until none can run, and reports.
//!
//! [`run`] takes the next thread that may run from the [`World`] and resumes it; it runs until it waits. Rank code runs only between `resume` and the next
//! `suspend`.

#![allow(unsafe_code, reason = "coroutines and the C library's state")]

use super::{
    chain::Hidden,
    cxx::Cxx,
    guard,
    loader::{self, Copies, Library, Loaded, Names},
    locals::Locals,
    looks, openmp,
    own::{self, Own},
    preempt, private,
    report::{Report, report},
    signals,
    stacks::{Stack, Stacks},
    stdio,
    threads::{Entry, Rank, Status},
    timers,
    world::{self, Sink, World, end_thread, exit, with},
};
use crate::{machine::Machine, record::Recorder};
use base::index::RankId;
use corosensei::{Coroutine, CoroutineResult, Yielder, stack::Stack as _};
use std::{
    arch::global_asm,
    ffi::{CString, c_char, c_int, c_void},
    path::Path,
};

// Calls the function in `rdi` with the three values behind it. Its caller has no address for unwinders, so that exceptions which nobody catches end here,
// as in the first frame of a process: the language's library says so and aborts.
global_asm!(
    ".globl netloom_first_call",
    "netloom_first_call:",
    ".cfi_startproc",
    ".cfi_undefined rip",
    "push rbp",
    "mov rbp, rsp",
    "mov rax, rdi",
    "mov rdi, rsi",
    "mov rsi, rdx",
    "mov rdx, rcx",
    "call rax",
    "pop rbp",
    "ret",
    ".cfi_endproc",
);

unsafe extern "C" {
    fn netloom_first_call(function: usize, one: usize, two: usize, three: usize) -> usize;
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
    /// Seconds of processor time that a rank may compute without any call.
    pub host_limit: u64,
}

/// Runs a program on all ranks of a machine.
///
/// # Errors
/// If it cannot be loaded, or a stack cannot be had.
pub fn run(
    machine: Machine,
    program: &Program<'_>,
    names: &Names,
    sink: Sink,
    recorder: Option<Recorder>,
) -> Result<Report, String> {
    guard::install(signals::fault);
    stdio::install(world::printed);
    limit_teams();
    own::begin();
    let world = World::new(machine, sink, recorder);
    let outcome = load_all(world, program, names).and_then(|()| {
        preempt::install(world::poll_memory, program.host_limit.saturating_mul(1_000_000_000));
        drive(program)
    });
    preempt::stop();
    flush_waiting();
    own::end();
    stdio::late();
    stdio::stop();
    let world = world::take();
    outcome?;
    let Some(mut world) = world else { return Err("the world of ranks is gone".to_owned()) };
    let mut report = report(&mut world);
    world.record_unfinished();
    if let Some(recorder) = world.recorder.take() {
        let counts = world.machine.counts;
        report.recorded = match world.memory.faults() {
            Ok(faults) => recorder.finish(world.machine.now, counts.messages, counts.bytes, faults),
            Err(why) => Err(why),
        };
    }
    Ok(report)
}

/// Text of ranks that never ended, which is still in their buffers, goes out while there is a world that takes it: nobody does when this process ends.
fn flush_waiting() {
    let waiting = world::reach(|world| {
        let ranks = world.ranks.cells().iter().filter(|rank| rank.status == Status::Running);
        Some(ranks.map(|rank| rank.files).collect::<Vec<_>>())
    });
    debug_assert!(!world::is_lent(), "what is flushed comes to the world");
    waiting.unwrap_or_default().into_iter().for_each(stdio::flush);
}

/// Teams of OpenMP have one thread, unless the user says how many they may have: others would be threads of this machine beside the simulation.
fn limit_teams() {
    if openmp::one_thread_in_teams() {
        // SAFETY: no rank runs yet, and no other thread of this process reads the environment.
        unsafe { std::env::set_var(openmp::LIMIT, "1") };
    }
}

/// Loads a copy for each rank; the world has them all, and begins with a thread for each.
fn load_all(world: World, program: &Program<'_>, names: &Names) -> Result<(), String> {
    let ranks = world.machine.processes.len() as u32;
    let private = loader::with_fortran(program.bytes, program.private);
    let needed = private.iter().map(|l| l.1.as_slice()).chain([program.bytes]).flat_map(private::needed);
    let cxx = Cxx::load(&needed.collect::<Vec<String>>());
    let copies =
        Copies { program: program.bytes, private: &private, directory: program.directory, names, cxx };
    let shared = cxx.map(|cxx| loader::bind_cxx(cxx, names)).transpose()?.flatten();
    let no_input = stdio::no_input();
    let (mut all, mut hidden) = (Vec::new(), Hidden::default());
    for rank in RankId::first(ranks) {
        let (mut own, files) = (Own::new(), stdio::open(rank, no_input));
        let streams = cxx.map_or_else(Vec::new, |cxx| cxx.streams([files[1], files[2]]));
        let cells: Names = own.cells().into_iter().chain(streams).collect();
        all.push((loader::load(&copies, rank, &cells, &mut hidden)?, own, files));
    }
    drop(hidden);
    // Whatever ends this process later leaves nothing behind.
    let _ = std::fs::remove_dir_all(program.directory);
    world::begin(world);
    world::reach(|world| {
        world.shared.modules = shared.into_iter().chain(loader::locals_of("libgomp.so.1")).collect();
        for (rank, (loaded, own, files)) in RankId::first(ranks).zip(all) {
            let Loaded { main, code, begins, ends, modules, globals } = loaded;
            for place in globals {
                world.memory.belongs(place.start as u64..place.end as u64, rank);
            }
            world.ranks.push(Rank {
                status: Status::Running,
                misses: 0,
                hooks: Vec::new(),
                begins,
                ends,
                alarm: (0, 0),
                idle: None,
                polls: false,
                pollers: 0,
                code,
                files,
                own,
                locals: Locals::of(modules),
            });
            world.running += 1;
            world.spawn(rank, Entry::Main(main));
        }
        debug_assert_eq!(
            world.threads.len(),
            world.ranks.len(),
            "a program begins with a thread for each rank"
        );
        Some(())
    });
    Ok(())
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

type Routine = Coroutine<(), (), (), Stack>;

/// A thread's coroutine, and where its stack begins.
fn coroutine(
    thread: u32,
    entry: Entry,
    program: &Program<'_>,
    stacks: &mut Stacks,
) -> Result<(Routine, usize), String> {
    let stack = stacks.take(program.stack).map_err(|e| format!("no stack for another thread: {e}"))?;
    let given = arguments(program)?;
    let top = stack.base().get();
    debug_assert!(top - stack.limit().get() > program.stack, "a stack has the bytes that were asked for");
    let routine = Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| {
        with(|w, _| w.threads[thread as usize].yielder = yielder);
        match entry {
            Entry::Main(main) => {
                // SAFETY: functions that begin copies have `main`'s arguments, whose results are not looked at; more arguments than a function takes do no harm.
                let call = |function: usize| unsafe {
                    netloom_first_call(function, given.0 as usize, given.1 as usize, environment() as usize)
                };
                let begins = with(|w, rank| std::mem::take(&mut w.ranks[rank].begins));
                for function in begins {
                    call(function);
                }
                exit(call(main) as c_int & 0xff, true)
            }
            Entry::Alarm { number, at, every } => signals::ring(number, at, every),
            Entry::Timer(number) => timers::ring(number),
            Entry::Signal(signal) => signals::arrive(signal),
            Entry::Thread(function, argument) => {
                // SAFETY: the program gave a function of this type to be a thread.
                let result = unsafe { netloom_first_call(function, argument, 0, 0) };
                end_thread(result)
            }
        }
    });
    Ok((routine, top))
}

fn environment() -> *mut *mut c_char {
    unsafe extern "C" {
        static mut environ: *mut *mut c_char;
    }
    // SAFETY: the C library defines it, and it is that of the rank that runs.
    unsafe { environ }
}

/// What a thread that goes on needs beside its coroutine.
struct Next {
    thread: u32,
    entry: Entry,
    errno: i32,
    files: [*mut c_void; 3],
    own: *mut Own,
}

/// Resumes threads until none can run.
fn drive(program: &Program<'_>) -> Result<(), String> {
    let mut routines: Vec<Option<(Routine, usize)>> = Vec::new();
    let mut stacks = Stacks::default();
    let outcome = loop {
        let next = world::reach(|world| {
            let thread = world.next_thread()?;
            world.current = thread;
            world.measure();
            world.shared.enter(thread);
            let t = &world.threads[thread as usize];
            let rank = &mut world.ranks[t.rank];
            rank.locals.enter(thread);
            preempt::begin(&rank.code, rank.polls);
            Some(Next { thread, entry: t.entry, errno: t.errno, files: rank.files, own: &raw mut *rank.own })
        });
        let Some(next) = next else { break Ok(()) };
        let at = next.thread as usize;
        if routines.len() <= at {
            routines.resize_with(at + 1, || None);
        }
        let slot = &mut routines[at];
        if slot.is_none() {
            match coroutine(next.thread, next.entry, program, &mut stacks) {
                Ok(routine) => {
                    let (top, bytes) = (routine.1 as u64, program.stack as u64);
                    with(|w, rank| w.memory.belongs(top - bytes..top, rank));
                    *slot = Some(routine);
                }
                Err(message) => break Err(message),
            }
        }
        if let Some((routine, top)) = slot {
            looks::on_stack(*top, program.stack);
            guard::on_stack(*top, program.stack);
            resume(routine, &next);
        }
    };
    // Stacks of ranks that were ended in the middle hold frames of C, which must not be unwound.
    routines.into_iter().flatten().for_each(std::mem::forget);
    outcome
}

fn resume(routine: &mut Routine, next: &Next) {
    let streams = stdio::swap(next.files);
    // SAFETY: the rank's own lies in a box of its own, and nobody looks at it here but this function.
    own::enter(unsafe { &*next.own });
    // SAFETY: the location is this thread's own.
    unsafe { *libc::__errno_location() = next.errno };
    debug_assert!(!world::is_lent(), "nobody holds the world when a rank begins to run");
    guard::rank_runs(true);
    let result = routine.resume(());
    guard::rank_runs(false);
    preempt::end();
    // SAFETY: as above.
    let errno = unsafe { *libc::__errno_location() };
    // SAFETY: as above.
    own::leave(unsafe { &mut *next.own });
    stdio::swap(streams);
    stdio::late();
    debug_assert!(matches!(result, CoroutineResult::Yield(())), "threads never return");
    with(|w, _| w.threads[next.thread as usize].errno = errno);
}
