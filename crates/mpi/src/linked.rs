//! MPI as transport: the only file that calls it, through the few functions of `shim.c`.
//!
//! Words travel from rank to rank with `MPI_Isend` and `MPI_Mrecv`: what one rank sends another arrives in order, so exchanges do not mix. The last
//! words of a rank have a tag of their own: a rank that leaves before the others is noticed by all, itself included, and nobody waits for it.

#![allow(unsafe_code, reason = "calls of MPI, which is a C library")]

use base::world::Transport;
use std::{
    ffi::{CStr, c_char, c_int},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::ThreadId,
    time::Duration,
};

unsafe extern "C" {
    fn netloom_mpi_init(rank: *mut c_int, ranks: *mut c_int) -> c_int;
    fn netloom_mpi_send(to: c_int, tag: c_int, words: *const u64, count: c_int);
    fn netloom_mpi_await(from: c_int, tag: c_int) -> c_int;
    fn netloom_mpi_receive(words: *mut u64, count: c_int);
    fn netloom_mpi_sent(ranks: c_int);
    fn netloom_mpi_version(text: *mut c_char, bytes: c_int);
    fn netloom_mpi_finalize();
    fn netloom_mpi_abort(status: c_int);
}

/// Tag of what ranks exchange while they work together.
const WORK: c_int = 0;
/// Tag of the last words of a rank.
const LEAVE: c_int = 1;
/// How long a rank that is left behind waits to be ended by the one that left, which says why.
const LEFT_BEHIND: Duration = Duration::from_secs(10);

/// Set once MPI was started in this process: it can be started once.
static STARTED: AtomicBool = AtomicBool::new(false);

/// The ranks that MPI connects.
#[derive(Debug)]
pub struct Mpi {
    rank: u32,
    ranks: u32,
    /// The thread that started MPI, which alone may call it.
    thread: ThreadId,
    /// False once it has ended.
    alive: Mutex<bool>,
}

/// A rank that has left, while this one goes on.
struct Left(usize);

impl Mpi {
    /// Starts MPI in this process; `None` if it cannot, or was started before.
    #[must_use]
    pub fn start() -> Option<Self> {
        if STARTED.swap(true, Ordering::Relaxed) {
            return None;
        }
        let (mut rank, mut ranks) = (0, 0);
        // SAFETY: both pointers are to integers that live; the flag above lets it be called once.
        let started = unsafe { netloom_mpi_init(&raw mut rank, &raw mut ranks) };
        let thread = std::thread::current().id();
        (started != 0).then(|| Self {
            rank: rank as u32,
            ranks: ranks as u32,
            thread,
            alive: Mutex::new(true),
        })
    }

    /// Does `work` if MPI may be called now.
    ///
    /// # Panics
    /// In another thread than that which started MPI, or after its end.
    fn calling<T>(&self, work: impl FnOnce() -> T) -> T {
        let alive = self.alive.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(*alive, "ranks speak before they part");
        assert!(std::thread::current().id() == self.thread, "the thread that started MPI alone calls it");
        work()
    }

    /// Ends MPI in this process: nothing is exchanged any more.
    pub fn end(&self) {
        // SAFETY: MPI is alive, and this is its thread.
        self.calling(|| unsafe { netloom_mpi_finalize() });
        *self.alive.lock().unwrap_or_else(PoisonError::into_inner) = false;
    }

    /// Ends all ranks at once.
    pub fn abort(&self, status: u8) {
        // SAFETY: MPI is alive, and this is its thread.
        self.calling(|| unsafe { netloom_mpi_abort(status.into()) });
    }

    /// The last words of all ranks, which say them together; `None` if another rank goes on working.
    #[must_use]
    pub fn leave(&self, words: &[u64]) -> Option<Vec<Vec<u64>>> {
        let to = vec![words.to_vec(); self.ranks as usize];
        let mut from = to.clone();
        self.pass(LEAVE, &to, &mut from).ok().map(|()| from)
    }

    /// Name and version of the MPI that is linked, on one line.
    #[must_use]
    pub fn version(&self) -> String {
        let mut text = [0 as c_char; 256];
        // SAFETY: so many bytes are there; the function ends the text with a zero within them.
        let text = self.calling(|| unsafe {
            netloom_mpi_version(text.as_mut_ptr(), text.len() as c_int);
            CStr::from_ptr(text.as_ptr())
        });
        let text = text.to_string_lossy();
        text.split([',', '\n']).next().unwrap_or("").trim().to_owned()
    }

    fn pass(&self, tag: c_int, to: &[Vec<u64>], from: &mut [Vec<u64>]) -> Result<(), Left> {
        assert!(to.len() == self.ranks as usize && from.len() == to.len(), "something for each rank");
        let count = |words: usize| c_int::try_from(words).expect("ranks exchange less than 16 GiB at once");
        let others = || (0..self.ranks as usize).filter(|&other| other != self.rank as usize);
        let counts: Vec<c_int> = to.iter().map(|words| count(words.len())).collect();
        self.calling(|| {
            for other in others() {
                // SAFETY: the words stay where they are until all are sent: `to` is borrowed for longer, and what returns before ends all ranks.
                unsafe { netloom_mpi_send(other as c_int, tag, to[other].as_ptr(), counts[other]) }
            }
            for other in others() {
                let words = &mut from[other];
                // SAFETY: the rank is another one; nothing is written.
                let length = unsafe { netloom_mpi_await(other as c_int, tag) };
                let length = usize::try_from(length).map_err(|_| Left(other))?;
                words.clear();
                words.resize(length, 0);
                // SAFETY: there is room for so many words, and so many were announced.
                unsafe { netloom_mpi_receive(words.as_mut_ptr(), length as c_int) }
            }
            // SAFETY: there is a request for each rank.
            unsafe { netloom_mpi_sent(self.ranks as c_int) }
            Ok(())
        })
    }
}

impl Transport for Mpi {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn exchange(&self, to: &[Vec<u64>], from: &mut [Vec<u64>]) {
        if let Err(Left(rank)) = self.pass(WORK, to, from) {
            // It notices as well, says why it left, and ends this one.
            std::thread::sleep(LEFT_BEHIND);
            panic!("rank {rank} has left while rank {} waits for it", self.rank);
        }
    }
}
