//! A thread works, and the one that called it attends: it hears signals of the interpreter, which only that thread may, and reports progress.
//!
//! The worker never waits for the interpreter. It leaves where it stands in a `Board`, at which the caller looks a few times a second.

use crate::failure;
use netloom::{Error, ErrorKind, Watcher, model::Progress, saver::Signals};
use pyo3::prelude::*;
use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    thread,
    time::{Duration, Instant},
};

/// How often the caller looks for signals and progress.
const LOOK: Duration = Duration::from_millis(50);
/// How long the worker may take to end once it is to leave; then it is left to itself. It ends at its next pause, and nobody hears of it.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// Stack of the worker: what a main thread usually has.
const STACK: usize = 8 << 20;

/// Where a worker stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Standing {
    /// What it is doing, in a few words.
    pub phase: String,
    /// Virtual time reached, in picoseconds.
    pub now: u64,
    /// Virtual time of the end, in picoseconds; 0 before a simulation.
    pub end: u64,
    /// Events so far.
    pub events: u64,
    /// Points of a sweep that are done.
    pub done: u64,
    /// Points of a sweep; 0 for a single run.
    pub points: u64,
}

/// Shared by a worker and its caller: the worker's watcher, and what ends it.
#[derive(Default)]
pub struct Board {
    standing: Mutex<Standing>,
    notes: Mutex<Vec<String>>,
    leaves: AtomicBool,
    /// Results so far can be saved, and leaving takes as long as that does.
    pub saves: AtomicBool,
    /// What ends a run that is saved.
    pub signals: Arc<Signals>,
}

fn open<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Board {
    fn leave(&self) {
        self.signals.request_leave();
        self.leaves.store(true, Ordering::Relaxed);
    }

    /// What the worker remarked, a line each.
    fn notes(&self) -> Vec<String> {
        std::mem::take(&mut open(&self.notes))
    }
}

impl Watcher for Board {
    fn phase(&self, what: &str) {
        what.clone_into(&mut open(&self.standing).phase);
    }

    fn progress(&self, at: &Progress) {
        let mut standing = open(&self.standing);
        (standing.now, standing.end, standing.events) = (at.now, at.end, at.events);
    }

    fn points(&self, done: u64, all: u64) {
        let mut standing = open(&self.standing);
        "sweeping".clone_into(&mut standing.phase);
        (standing.done, standing.points) = (done, all);
    }

    fn remark(&self, text: &str) {
        open(&self.notes).push(text.to_owned());
    }

    fn leaves(&self) -> bool {
        self.leaves.load(Ordering::Relaxed)
    }
}

/// Works in a thread of its own; `heard` is called with where it stands when that has changed. Gives what came of it, and what was remarked.
///
/// # Errors
/// The worker's failure as an exception, or what a signal's handler or `heard` raised: then the work ends early.
pub fn attend<T: Send + 'static>(
    py: Python<'_>,
    heard: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Board) -> Result<T, Error> + Send + 'static,
) -> PyResult<(T, Vec<String>)> {
    let board = Arc::new(Board::default());
    let (say, said) = channel();
    // Without the interpreter only what threads may share is at hand.
    let said = Mutex::new(said);
    let worker = {
        let board = Arc::clone(&board);
        move || {
            let outcome = catch_unwind(AssertUnwindSafe(|| work(&board)));
            // Nobody listens if the caller had to leave it to itself.
            let _ = say.send(outcome.unwrap_or_else(|panic| Err(internal(&*panic))));
        }
    };
    let begun = thread::Builder::new().name("netloom".to_owned()).stack_size(STACK).spawn(worker);
    begun.map_err(|e| {
        failure::raise(py, &Error::new(ErrorKind::Internal, format!("cannot begin a thread: {e}")))
    })?;
    let mut last = Standing::default();
    loop {
        let outcome = py.detach(|| open(&said).recv_timeout(LOOK));
        let standing = open(&board.standing).clone();
        let interrupted = py.check_signals().and_then(|()| {
            let Some(heard) = heard.filter(|_| standing != last) else { return Ok(()) };
            let Standing { phase, now, end, events, done, points } = standing.clone();
            heard.call1((phase, now, end, events, done, points)).map(drop)
        });
        last = standing;
        match outcome {
            Ok(outcome) => {
                interrupted?;
                return outcome
                    .map(|value| (value, board.notes()))
                    .map_err(|error| noted(py, failure::raise(py, &error), board.notes()));
            }
            Err(RecvTimeoutError::Disconnected) => {
                let error = Error::new(ErrorKind::Internal, "the thread that works has ended without a word");
                return Err(failure::raise(py, &error));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Err(exception) = interrupted {
            board.leave();
            return Err(leave(py, &board, &said, exception));
        }
    }
}

/// Waits for a worker that is to leave, and gives the exception that ended it with a note on what is kept.
fn leave<T: Send>(
    py: Python<'_>,
    board: &Board,
    said: &Mutex<Receiver<Result<T, Error>>>,
    exception: PyErr,
) -> PyErr {
    let since = Instant::now();
    loop {
        match py.detach(|| open(said).recv_timeout(LOOK)) {
            Err(RecvTimeoutError::Timeout) => {}
            // Where the state is kept, or why it could not be.
            Ok(Err(error)) => return noted(py, exception, [board.notes(), vec![error.to_string()]].concat()),
            _ => return exception,
        }
        let late = since.elapsed() > PATIENCE && !board.saves.load(Ordering::Relaxed);
        if late || py.check_signals().is_err() {
            return exception;
        }
    }
}

/// The exception with lines that Python shows below it.
fn noted(py: Python<'_>, exception: PyErr, lines: Vec<String>) -> PyErr {
    for line in lines {
        let value = exception.value(py);
        if value.call_method1("add_note", (&line,)).is_err() {
            // Python 3.10 has no notes, but an attribute to find them by.
            let notes = value.getattr("__notes__").and_then(|notes| notes.call_method1("append", (&line,)));
            let _ = notes.map(drop).or_else(|_| value.setattr("__notes__", [&line]));
        }
    }
    exception
}

fn internal(panic: &(dyn Any + Send)) -> Error {
    let text =
        panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    let message = format!("internal error: {}", text.unwrap_or("a panic without a message"));
    Error::new(ErrorKind::Internal, message).with_help("this is a bug in netloom; please report it")
}
