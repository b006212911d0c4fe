//! MPI as transport: the only file that calls it, through the few functions of `shim.c`.
//!
//! Words travel from rank to rank with `MPI_Isend` and `MPI_Mrecv`: what one rank sends another arrives in order, so exchanges do not mix.

#![allow(unsafe_code, reason = "calls of MPI, which is a C library")]

use base::world::Transport;
use std::ffi::{CStr, c_char, c_int};

unsafe extern "C" {
    fn netloom_mpi_init(rank: *mut c_int, ranks: *mut c_int) -> c_int;
    fn netloom_mpi_send(to: c_int, words: *const u64, count: c_int);
    fn netloom_mpi_await(from: c_int) -> c_int;
    fn netloom_mpi_receive(words: *mut u64, count: c_int);
    fn netloom_mpi_sent(ranks: c_int);
    fn netloom_mpi_version(text: *mut c_char, bytes: c_int);
    fn netloom_mpi_finalize();
    fn netloom_mpi_abort(status: c_int);
}

/// The ranks that MPI connects.
#[derive(Clone, Copy, Debug)]
pub struct Mpi {
    rank: u32,
    ranks: u32,
}

impl Mpi {
    /// Starts MPI in this process, once; `None` if it cannot.
    #[must_use]
    pub fn start() -> Option<Self> {
        let (mut rank, mut ranks) = (0, 0);
        // SAFETY: both pointers are to integers that live; the caller starts MPI once.
        let started = unsafe { netloom_mpi_init(&raw mut rank, &raw mut ranks) };
        (started != 0).then_some(Self { rank: rank as u32, ranks: ranks as u32 })
    }

    /// Ends MPI in this process: nothing is exchanged any more.
    pub fn end(self) {
        // SAFETY: it was started, as there is a value.
        unsafe { netloom_mpi_finalize() }
    }

    /// Ends all ranks at once.
    pub fn abort(self, status: u8) {
        // SAFETY: it was started, as there is a value.
        unsafe { netloom_mpi_abort(status.into()) }
    }

    /// Name and version of the MPI that is linked, on one line.
    #[must_use]
    pub fn version(self) -> String {
        let mut text = [0 as c_char; 256];
        // SAFETY: so many bytes are there; the function ends the text with a zero within them.
        let text = unsafe {
            netloom_mpi_version(text.as_mut_ptr(), text.len() as c_int);
            CStr::from_ptr(text.as_ptr())
        };
        let text = text.to_string_lossy();
        text.split([',', '\n']).next().unwrap_or("").trim().to_owned()
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
        assert!(to.len() == self.ranks as usize && from.len() == to.len(), "something for each rank");
        let count = |words: usize| c_int::try_from(words).expect("ranks exchange less than 16 GiB at once");
        let others = || (0..self.ranks as c_int).filter(|&other| other != self.rank as c_int);
        for other in others() {
            let words = &to[other as usize];
            // SAFETY: the words stay where they are until all are sent, below, since `to` is borrowed for as long.
            unsafe { netloom_mpi_send(other, words.as_ptr(), count(words.len())) }
        }
        for other in others() {
            let words = &mut from[other as usize];
            // SAFETY: the rank is another one; nothing is written.
            let length = unsafe { netloom_mpi_await(other) };
            words.clear();
            words.resize(length as usize, 0);
            // SAFETY: there is room for so many words, and so many were announced.
            unsafe { netloom_mpi_receive(words.as_mut_ptr(), length) }
        }
        // SAFETY: there is a request for each rank.
        unsafe { netloom_mpi_sent(self.ranks as c_int) }
    }
}
