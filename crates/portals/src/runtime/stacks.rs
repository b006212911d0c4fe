//! Stacks of coroutines, many in one mapping: Linux allows a process 65,530 of those, and each rank needs some for its copy of the program.
//!
//! Below each stack lies what nobody can touch. Linux 6.13 and later keep it within a mapping; before that it is one of its own. It has many pages: a function whose
//! frame is larger than what is left of its stack may touch the lower end of the frame first, and a single page it would pass over.

#![allow(unsafe_code, reason = "memory of stacks")]

use corosensei::stack::{self, StackPointer, valgrind::ValgrindStackRegistration};
use std::{ffi::c_int, io, ops::Range};

const PAGE: usize = 4096;
/// Bytes that are asked of the system at once, unless a stack is larger.
const SLAB: usize = 64 << 20;
/// Bytes below a stack that nobody can touch: of the first `WIDE`, and of others. The system notes each page of them, in 8 B, so many stacks have less.
const GUARDS: [usize; 2] = [64 << 20, 2 << 20];
const WIDE: usize = 64;
/// `MADV_GUARD_INSTALL`: pages that cannot be touched from now on, without a mapping of their own.
const GUARD: c_int = 102;

/// A stack. Its memory is its own as long as the process lives: frames of programs on it are never unwound.
pub struct Stack {
    /// The highest page below it, which cannot be touched.
    low: StackPointer,
    top: StackPointer,
    _registered: ValgrindStackRegistration,
}

// SAFETY: `Stacks` gives each stack memory that nobody else has and that is never unmapped. Base and limit are multiples of a page,
// and the page at the limit cannot be touched.
unsafe impl stack::Stack for Stack {
    fn base(&self) -> StackPointer {
        self.top
    }
    fn limit(&self) -> StackPointer {
        self.low
    }
}

/// Memory for stacks to come.
#[derive(Default)]
pub struct Stacks {
    left: Range<usize>,
    /// Stacks so far.
    taken: usize,
}

impl Stacks {
    /// A stack of so many bytes, rounded up to pages, and below it what cannot be touched.
    ///
    /// # Errors
    /// If the system gives no memory.
    pub fn take(&mut self, bytes: usize) -> io::Result<Stack> {
        let guard = GUARDS[usize::from(self.taken >= WIDE)];
        self.taken += 1;
        // Who limits addresses (`ulimit -v`) has a page at least.
        self.place(bytes, guard).or_else(|_| self.place(bytes, PAGE))
    }

    fn place(&mut self, bytes: usize, guarded: usize) -> io::Result<Stack> {
        let whole = bytes.max(PAGE).checked_next_multiple_of(PAGE).and_then(|b| b.checked_add(guarded));
        let whole = whole.ok_or(io::ErrorKind::OutOfMemory)?;
        if self.left.len() < whole {
            let many = (SLAB / whole).max(1) * whole;
            self.left = memory(many).or_else(|_| memory(whole))?;
        }
        let start = self.left.start;
        guard(start, guarded)?;
        self.left.start += whole;
        debug_assert!(
            start.is_multiple_of(PAGE) && self.left.start <= self.left.end,
            "stacks are whole pages"
        );
        let (low, top) = (start + guarded - PAGE, start + whole);
        let pointer = |address| StackPointer::new(address).ok_or(io::ErrorKind::OutOfMemory);
        let registered = ValgrindStackRegistration::new(low as *mut u8, top - low);
        Ok(Stack { low: pointer(low)?, top: pointer(top)?, _registered: registered })
    }
}

/// Memory that is there when it is touched, in small pages.
fn memory(bytes: usize) -> io::Result<Range<usize>> {
    debug_assert!(bytes.is_multiple_of(PAGE), "the system gives whole pages");
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
    // SAFETY: a new mapping, wherever the system likes, takes nobody's memory; advice about it changes no contents.
    unsafe {
        let at = libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // A huge page would hold the tops of two stacks and what lies between them.
        libc::madvise(at, bytes, libc::MADV_NOHUGEPAGE);
        Ok(at as usize..at as usize + bytes)
    }
}

/// Nobody can touch the pages at an address.
fn guard(low: usize, bytes: usize) -> io::Result<()> {
    debug_assert!(low.is_multiple_of(PAGE) && bytes.is_multiple_of(PAGE), "nobody can touch whole pages");
    // SAFETY: the pages are some that `memory` gave and no stack has.
    let done = unsafe {
        libc::madvise(low as *mut _, bytes, GUARD) == 0
            || libc::mprotect(low as *mut _, bytes, libc::PROT_NONE) == 0
    };
    if done { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corosensei::stack::Stack as _;
    use std::os::{fd::AsRawFd, unix::net::UnixStream};

    #[test]
    fn stacks_are_apart_and_as_large_as_asked() {
        let (pipe, _other) = UnixStream::pair().expect("a pipe");
        let mut stacks = Stacks::default();
        let mut taken: Vec<Range<usize>> = Vec::new();
        for n in 0..200 {
            let bytes = [1, 4096, 4097, 1 << 20, 100 << 20][n % 5];
            let stack = stacks.take(bytes).expect("memory");
            let range = stack.limit().get()..stack.base().get();
            assert!(range.len() >= bytes.next_multiple_of(PAGE) + PAGE && range.end.is_multiple_of(PAGE));
            assert!(taken.iter().all(|t| t.end <= range.start || range.end <= t.start));
            // SAFETY: the ends of the stack's own memory above the page that cannot be touched.
            unsafe {
                (range.start as *mut u8).add(PAGE).write_volatile(1);
                (range.end as *mut u8).sub(1).write_volatile(1);
            }
            // The system reads what is written for the program, and says where it cannot.
            let readable = |at: usize| {
                // SAFETY: writing to a pipe reads one byte, and fails if it cannot be read.
                unsafe { libc::write(pipe.as_raw_fd(), at as *const libc::c_void, 1) == 1 }
            };
            assert!(readable(range.start + PAGE) && !readable(range.start), "a page that cannot be touched");
            let guarded = GUARDS[usize::from(n >= WIDE)];
            let lowest = range.start + PAGE - guarded;
            assert!(!readable(lowest) && !readable(lowest + guarded / 2), "nor any other one below it");
            taken.push(range);
            std::mem::forget(stack);
        }
        assert!(stacks.take(usize::MAX - 10).is_err());
    }
}
