//! Threads of C11: other names and codes for what threads of POSIX do, on objects that the C library lays out alike.

use super::{locks, spans::Pair, system, world::end_thread};
use std::ffi::{c_int, c_uint};

type Mutex = *mut libc::pthread_mutex_t;

/// Codes of this interface.
mod code {
    use std::ffi::c_int;
    pub const SUCCESS: c_int = 0;
    pub const BUSY: c_int = 1;
    pub const ERROR: c_int = 2;
    pub const NO_MEMORY: c_int = 3;
    pub const TIMED_OUT: c_int = 4;
}

/// A code of POSIX as one of C11.
fn of(posix: c_int) -> c_int {
    debug_assert!(posix >= 0, "codes of threads are no results of calls of the system");
    match posix {
        0 => code::SUCCESS,
        libc::EBUSY => code::BUSY,
        libc::ENOMEM => code::NO_MEMORY,
        libc::ETIMEDOUT => code::TIMED_OUT,
        _ => code::ERROR,
    }
}

super::calls::calls! {
    outside = code::ERROR;
    fn thrd_create(to: *mut u64, function: usize, argument: usize) -> c_int {
        of(system::pthread_create(to, 0, function, argument))
    }
    fn thrd_join(thread: u64, to: *mut c_int) -> c_int {
        let mut result = 0usize;
        let done = of(system::pthread_join(thread, &raw mut result));
        if done == code::SUCCESS && !to.is_null() && !super::guard::put(to, result as c_int) {
            return code::ERROR;
        }
        done
    }
    fn thrd_exit(result: c_int) -> c_int { end_thread(result as usize) }
    fn thrd_current() -> u64 [system::pthread_self()] { system::pthread_self() }
    fn thrd_equal(one: u64, other: u64) -> c_int [c_int::from(one == other)] { c_int::from(one == other) }
    fn thrd_detach(thread: u64) -> c_int { of(system::pthread_detach(thread)) }
    fn thrd_yield() -> c_int [system::sched_yield()] { system::sched_yield() }
    fn thrd_sleep(span: *const Pair, left: *mut Pair) -> c_int [system::nanosleep(span, left)] {
        // What is no span is none of the two codes of a sleep.
        match system::clock_nanosleep(libc::CLOCK_REALTIME, 0, span, left) {
            0 => 0,
            libc::EINTR => -1,
            _ => -2,
        }
    }
    fn mtx_lock(mutex: Mutex) -> c_int [of(locks::pthread_mutex_lock(mutex))] { of(locks::pthread_mutex_lock(mutex)) }
    fn mtx_trylock(mutex: Mutex) -> c_int [of(locks::pthread_mutex_trylock(mutex))] { of(locks::pthread_mutex_trylock(mutex)) }
    fn mtx_timedlock(mutex: Mutex, at: *const Pair) -> c_int { of(locks::pthread_mutex_timedlock(mutex, at)) }
    fn mtx_unlock(mutex: Mutex) -> c_int [of(locks::pthread_mutex_unlock(mutex))] { of(locks::pthread_mutex_unlock(mutex)) }
    fn cnd_wait(condition: usize, mutex: Mutex) -> c_int [of(system::pthread_cond_wait(condition, mutex))] {
        of(system::pthread_cond_wait(condition, mutex))
    }
    fn cnd_timedwait(condition: usize, mutex: Mutex, at: *const Pair) -> c_int {
        of(system::pthread_cond_timedwait(condition, mutex, at))
    }
    fn cnd_signal(condition: usize) -> c_int [of(system::pthread_cond_signal(condition))] { of(system::pthread_cond_signal(condition)) }
    fn cnd_broadcast(condition: usize) -> c_int [of(system::pthread_cond_broadcast(condition))] {
        of(system::pthread_cond_broadcast(condition))
    }
    fn tss_create(to: *mut c_uint, destructor: usize) -> c_int [of(locks::pthread_key_create(to, destructor))] {
        of(locks::pthread_key_create(to, destructor))
    }
    fn tss_delete(key: c_uint) -> c_int [code::SUCCESS] { locks::pthread_key_delete(key) }
    fn tss_get(key: c_uint) -> usize [locks::pthread_getspecific(key)] { locks::pthread_getspecific(key) }
    fn tss_set(key: c_uint, value: usize) -> c_int [of(locks::pthread_setspecific(key, value))] { of(locks::pthread_setspecific(key, value)) }
    fn call_once(control: *mut c_int, function: usize) -> c_int [locks::pthread_once(control, function)] { locks::pthread_once(control, function) }
    fn timespec_get(to: *mut Pair, base: c_int) -> c_int [0] {
        if base == 1 && system::clock_gettime(libc::CLOCK_REALTIME, to) == 0 { base } else { 0 }
    }
}
