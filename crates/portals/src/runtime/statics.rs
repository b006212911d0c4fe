//! Statics of functions in C++ that are begun when they are first used: the thread that comes first begins one, others of its rank wait in simulated time.
//!
//! A guard's first byte says that the static is there, and the compiler looks at it before it calls. Whether one is being begun is known here.

use super::{
    ends::print_error,
    guard::{get, put},
    locks::freed,
    signals,
    threads::Reason,
    world::{wait, with},
};
use std::ffi::c_int;

/// Waits until nobody begins the static; 1 if the thread that runs is to begin it.
fn acquire(guard: *mut u8) -> c_int {
    loop {
        if get(guard) != Some(0) {
            return 0;
        }
        let (own, by) = with(|w, rank| {
            let own = w.current;
            (own, w.mutexes.entry((rank, guard as usize)).or_insert((own, 0)).to_owned())
        });
        match by {
            (_, 0) => {
                with(|w, rank| w.mutexes.insert((rank, guard as usize), (own, 1)));
                return 1;
            }
            (by, _) if by == own => {
                print_error("a static of a function is needed for its own beginning\n");
                signals::abort()
            }
            _ => wait(Reason::of("the beginning of a static", guard as u64), None),
        }
    }
}

/// The static is there, or its beginning has failed: who waits goes on.
fn release(guard: *mut u8, there: bool) -> c_int {
    debug_assert!(get(guard) == Some(0), "a static begins once");
    if there {
        let _ = put(guard, 1);
    }
    with(|w, rank| w.mutexes.remove(&(rank, guard as usize)));
    freed(guard as usize, 0)
}

super::calls::calls! {
    outside = 0;
    fn __cxa_guard_acquire(guard: *mut u8) -> c_int [c_int::from(get(guard) == Some(0))] { acquire(guard) }
    fn __cxa_guard_release(guard: *mut u8) -> c_int [c_int::from(put(guard, 1))] { release(guard, true) }
    fn __cxa_guard_abort(guard: *mut u8) -> c_int { release(guard, false) }
}
