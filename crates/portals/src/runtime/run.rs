//! Runs a program on all ranks: loads it, resumes threads in turn until none can run, and reports.
//!
//! [`run`] takes the next thread that may run from the [`World`] and resumes it; it runs until it waits. Rank code runs only between `resume` and the next
//! `suspend`.

#![allow(unsafe_code, reason = "coroutines and the C library's state")]

use super::{
    guard,
    loader::{self, Library, Loaded, Names},
    preempt,
    report::{Report, report},
    stdio, system,
    threads::{Entry, Rank, Status},
    world::{self, Sink, World, end_thread, exit, with},
};
use crate::{machine::Machine, record::Recorder};
use base::index::RankId;
use corosensei::{
    Coroutine, CoroutineResult, Yielder,
    stack::{DefaultStack, Stack},
};
use std::{
    ffi::{CString, c_char, c_int, c_void},
    path::Path,
};

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
    guard::install(world::crash);
    stdio::install(world::printed);
    let ranks = machine.processes.len() as u32;
    let mut loaded = Vec::new();
    let world = World::new(machine, sink, recorder);
    for rank in RankId::first(ranks) {
        loaded.push(loader::load((program.bytes, program.private), program.directory, rank, names)?);
    }
    // Whatever ends this process later leaves nothing behind.
    let _ = std::fs::remove_dir_all(program.directory);
    world::begin(world);
    world::reach(|world| {
        for (rank, Loaded { main, code }) in RankId::first(ranks).zip(loaded) {
            let files = stdio::open(rank);
            world.ranks.push(Rank {
                status: Status::Running,
                misses: 0,
                hooks: Vec::new(),
                alarm: 0,
                polls: false,
                code,
                files,
            });
            world.spawn(rank, Entry::Main(main));
        }
        Some(())
    });
    let begun = world::reach(|world| Some(world.threads.len() == world.ranks.len()));
    debug_assert_eq!(begun, Some(true), "a program begins with a thread for each rank");
    preempt::install(world::poll_memory);
    let outcome = drive(program);
    preempt::stop();
    let mut world = world::take().expect("it is still there");
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

/// A thread's coroutine, and where its stack begins.
fn coroutine(thread: u32, entry: Entry, program: &Program<'_>) -> Result<(Routine, usize), String> {
    let stack = DefaultStack::new(program.stack).map_err(|e| format!("no stack for another thread: {e}"))?;
    let given = arguments(program)?;
    let top = stack.base().get();
    let routine = Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| {
        with(|w, _| w.threads[thread as usize].yielder = yielder);
        match entry {
            Entry::Main(main) => {
                type Main = extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;
                // SAFETY: it is the address of the program's `main`; more arguments than it takes do no harm.
                let status =
                    unsafe { std::mem::transmute::<usize, Main>(main)(given.0, given.1, environment()) };
                exit(status, true)
            }
            Entry::Alarm(number, at) => system::ring(number, at),
            Entry::Thread(function, argument) => {
                // SAFETY: the program gave a function of this type to be a thread.
                let result = unsafe {
                    std::mem::transmute::<usize, extern "C" fn(usize) -> usize>(function)(argument)
                };
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
    // SAFETY: the C library defines it; nobody changes the environment while a simulation runs.
    unsafe { environ }
}

/// Resumes threads until none can run.
fn drive(program: &Program<'_>) -> Result<(), String> {
    let mut routines: Vec<Option<(Routine, usize)>> = Vec::new();
    let outcome = loop {
        let next = world::reach(|world| {
            let thread = world.next_thread()?;
            world.current = thread;
            world.measure();
            let t = &world.threads[thread as usize];
            let rank = &world.ranks[t.rank];
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
        if let Some((routine, top)) = slot {
            preempt::on_stack(*top);
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
