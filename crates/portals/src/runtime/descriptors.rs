//! Calls that would stop this process at a descriptor until another thread of a rank does something: they look, and wait in simulated time.
//!
//! Nobody says when a pipe or a socket changes, so who waits looks again after a while: 100 ns first, then twice as long each time, up to 10 us; and at once when a
//! thread of its rank has written to some descriptor. Looks count like those of loops (`idle_polls.rs`), so a descriptor at which nothing will ever happen ends as a deadlock.

#![allow(unsafe_code, reason = "calls of the system on descriptors of programs")]

use super::{
    idle_polls::looked,
    spans::now_at,
    threads::Reason,
    world::{wait, with},
};
use base::time::{NS, Ps, US};
use std::ffi::{c_int, c_short, c_void};

/// From one look to the next, at first and at most.
const FIRST: Ps = 100 * NS;
const LONGEST: Ps = 10 * US;

/// Looks for which one at a descriptor counts: it is rarer than those in loops.
const WEIGHT: u32 = 64;

/// Bytes for which a pipe that takes any has room.
const PIPE: usize = libc::PIPE_BUF;

/// Looks until something is there.
fn until(call: &'static str, descriptor: c_int, mut there: impl FnMut() -> bool) {
    let mut span = FIRST;
    while !there() {
        (0..WEIGHT).for_each(|_| looked(call));
        wait(Reason::of(call, descriptor as u64), Some(now_at().saturating_add(span)));
        span = (2 * span).min(LONGEST);
        debug_assert!((FIRST..=LONGEST).contains(&span), "looks become rarer, up to a bound");
    }
}

/// True if a call for such an event returns at once, whatever it returns.
fn is_ready(descriptor: c_int, event: c_short) -> bool {
    let mut look = libc::pollfd { fd: descriptor, events: event, revents: 0 };
    // SAFETY: one descriptor is looked at, without waiting; its flags are read. The timer that looks for loops may interrupt a look, which is then none.
    unsafe {
        let found = loop {
            let found = libc::poll(&raw mut look, 1, 0);
            if found >= 0 || *libc::__errno_location() != libc::EINTR {
                break found;
            }
        };
        found != 0 || libc::fcntl(descriptor, libc::F_GETFL) & libc::O_NONBLOCK != 0
    }
}

/// Waits until a call for such an event would return at once. This process's own input comes from outside, and is waited for there.
pub fn await_ready(call: &'static str, descriptor: c_int, event: c_short) {
    if descriptor > 0 {
        until(call, descriptor, || is_ready(descriptor, event));
    }
}

/// A thread of the rank has done something to a descriptor: others that wait look again.
fn changed<T>(result: T) -> T {
    with(|w, rank| w.wake_rank(rank));
    result
}

/// What a descriptor leads to that may be full: a pipe, a socket; none for all else.
fn kind(descriptor: c_int) -> Option<libc::mode_t> {
    // SAFETY: a structure of numbers, which the call fills.
    let status = unsafe {
        let mut status: libc::stat = std::mem::zeroed();
        (libc::fstat(descriptor, &raw mut status) == 0).then_some(status)
    };
    status.map(|s| s.st_mode & libc::S_IFMT).filter(|k| matches!(*k, libc::S_IFIFO | libc::S_IFSOCK))
}

/// Writes; to a full pipe or socket piece by piece, as there is room.
pub(super) fn write_all(descriptor: c_int, bytes: *const u8, count: usize) -> isize {
    let Some(kind) = kind(descriptor) else {
        // SAFETY: the program's own arguments.
        return unsafe { libc::write(descriptor, bytes.cast(), count) };
    };
    let mut done = 0;
    loop {
        await_ready("write", descriptor, libc::POLLOUT);
        // SAFETY: the rest of what the program gave.
        let more = unsafe {
            let (rest, left) = (bytes.wrapping_add(done).cast::<c_void>(), count - done);
            match kind {
                libc::S_IFSOCK => libc::send(descriptor, rest, left, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL),
                _ => libc::write(descriptor, rest, left.min(PIPE)),
            }
        };
        if more < 0 {
            return if done > 0 { done as isize } else { more };
        }
        done = changed(done + more as usize);
        if done >= count || more == 0 {
            return done as isize;
        }
    }
}

/// Takes a lock of a file, and waits for it unless the program does not want to.
fn lock(descriptor: c_int, operation: c_int) -> c_int {
    let wants = operation & (libc::LOCK_SH | libc::LOCK_EX) != 0 && operation & libc::LOCK_NB == 0;
    let mut code = 0;
    until("flock", descriptor, || {
        // SAFETY: a lock of the program's file, for which nobody waits here.
        code = unsafe { libc::flock(descriptor, operation | libc::LOCK_NB) };
        // SAFETY: the location is this thread's own.
        code == 0 || !wants || unsafe { *libc::__errno_location() } != libc::EWOULDBLOCK
    });
    changed(code)
}

/// Waits for input unless the flags of a call say that it does not want to.
fn await_input(call: &'static str, descriptor: c_int, flags: c_int) {
    if flags & libc::MSG_DONTWAIT == 0 {
        await_ready(call, descriptor, libc::POLLIN);
    }
}

super::calls::calls! {
    outside = -1;
    fn flock(descriptor: c_int, operation: c_int) -> c_int [unsafe { libc::flock(descriptor, operation) }] { lock(descriptor, operation) }
    fn accept(descriptor: c_int, address: *mut libc::sockaddr, size: *mut libc::socklen_t) -> c_int [unsafe { libc::accept(descriptor, address, size) }] {
        await_input("accept", descriptor, 0);
        unsafe { libc::accept(descriptor, address, size) }
    }
    fn accept4(descriptor: c_int, address: *mut libc::sockaddr, size: *mut libc::socklen_t, flags: c_int) -> c_int [unsafe { libc::accept4(descriptor, address, size, flags) }] {
        await_input("accept", descriptor, 0);
        unsafe { libc::accept4(descriptor, address, size, flags) }
    }
    fn recv(descriptor: c_int, to: *mut c_void, count: usize, flags: c_int) -> isize [unsafe { libc::recv(descriptor, to, count, flags) }] {
        await_input("recv", descriptor, flags);
        unsafe { libc::recv(descriptor, to, count, flags) }
    }
    fn recvfrom(descriptor: c_int, to: *mut c_void, count: usize, flags: c_int, from: *mut libc::sockaddr, size: *mut libc::socklen_t) -> isize [unsafe { libc::recvfrom(descriptor, to, count, flags, from, size) }] {
        await_input("recvfrom", descriptor, flags);
        unsafe { libc::recvfrom(descriptor, to, count, flags, from, size) }
    }
    fn recvmsg(descriptor: c_int, message: *mut libc::msghdr, flags: c_int) -> isize [unsafe { libc::recvmsg(descriptor, message, flags) }] {
        await_input("recvmsg", descriptor, flags);
        unsafe { libc::recvmsg(descriptor, message, flags) }
    }
}
