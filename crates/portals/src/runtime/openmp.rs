//! OpenMP with teams of one thread: each thread of a rank is a first thread to the library, and locks and critical regions are waited for in simulated time.
//!
//! What the library knows of a thread lies in its thread-local variables, which are exchanged like those of the library of C++ (`locals.rs`): 136 bytes to and fro when
//! another thread goes on, in programs that use OpenMP. Its own locks are words for the whole process, at which this process would stop: here each rank has its own,
//! known by their addresses. Where the user asks for larger teams (`OMP_THREAD_LIMIT`) threads of this machine take part, and locks are the library's.

use super::{
    locks::{freed, tried, until_free},
    world::with,
};
use std::ffi::c_int;

/// How many threads a program may have, by the environment.
pub const LIMIT: &str = "OMP_THREAD_LIMIT";

/// What stands for the region without a name, and for atomic operations that the processor lacks: no addresses of locks.
const CRITICAL: usize = 1;
const ATOMIC: usize = 2;

/// True unless the user asks for larger teams.
#[must_use]
pub fn one_thread_in_teams() -> bool {
    std::env::var_os(LIMIT).is_none_or(|limit| limit == "1")
}

/// Tries to take a lock; `nested` ones are had again by the thread that has them. The code of a try, and how many times it is had.
fn attempt(lock: usize, nested: bool) -> (c_int, u32) {
    with(|w, rank| {
        let own = w.current;
        let (owner, count) = w.mutexes.entry((rank, lock)).or_insert((own, 0));
        if *count > 0 && !(nested && *owner == own) {
            return (libc::EBUSY, 0);
        }
        (*owner, *count) = (own, *count + 1);
        (0, *count)
    })
}

fn take(call: &'static str, lock: usize, nested: bool) -> c_int {
    until_free(call, lock, None, || attempt(lock, nested).0)
}

/// Takes a lock if nobody has it: how many times it is had then, or 0.
fn take_if_free(call: &'static str, lock: usize, nested: bool) -> c_int {
    let (code, count) = attempt(lock, nested);
    tried(call, code);
    count as c_int
}

fn free(lock: usize) -> c_int {
    with(|w, rank| {
        if let Some((_, count)) = w.mutexes.get_mut(&(rank, lock)) {
            debug_assert!(*count > 0, "a lock that is in the table was taken");
            *count -= 1;
            if *count == 0 {
                w.mutexes.remove(&(rank, lock));
            }
        }
    });
    freed(lock, 0)
}

fn forget(lock: usize) -> c_int {
    with(|w, rank| w.mutexes.remove(&(rank, lock)));
    0
}

super::calls::calls! {
    outside = 0;
    fn GOMP_critical_start() -> c_int { take("a critical region of OpenMP", CRITICAL, false) }
    fn GOMP_critical_end() -> c_int { free(CRITICAL) }
    fn GOMP_critical_name_start(name: usize) -> c_int { take("a critical region of OpenMP", name, false) }
    fn GOMP_critical_name_end(name: usize) -> c_int { free(name) }
    fn GOMP_atomic_start() -> c_int { take("an atomic operation of OpenMP", ATOMIC, false) }
    fn GOMP_atomic_end() -> c_int { free(ATOMIC) }
    fn omp_init_lock(lock: usize) -> c_int { forget(lock) }
    fn omp_init_lock_with_hint(lock: usize, hint: c_int) -> c_int { forget(lock) }
    fn omp_destroy_lock(lock: usize) -> c_int { forget(lock) }
    fn omp_set_lock(lock: usize) -> c_int { take("omp_set_lock", lock, false) }
    fn omp_unset_lock(lock: usize) -> c_int { free(lock) }
    fn omp_test_lock(lock: usize) -> c_int { take_if_free("omp_test_lock", lock, false) }
    fn omp_init_nest_lock(lock: usize) -> c_int { forget(lock) }
    fn omp_init_nest_lock_with_hint(lock: usize, hint: c_int) -> c_int { forget(lock) }
    fn omp_destroy_nest_lock(lock: usize) -> c_int { forget(lock) }
    fn omp_set_nest_lock(lock: usize) -> c_int { take("omp_set_nest_lock", lock, true) }
    fn omp_unset_nest_lock(lock: usize) -> c_int { free(lock) }
    fn omp_test_nest_lock(lock: usize) -> c_int { take_if_free("omp_test_nest_lock", lock, true) }
    fn omp_init_lock_(lock: usize) -> c_int { forget(lock) }
    fn omp_destroy_lock_(lock: usize) -> c_int { forget(lock) }
    fn omp_set_lock_(lock: usize) -> c_int { take("omp_set_lock", lock, false) }
    fn omp_unset_lock_(lock: usize) -> c_int { free(lock) }
    fn omp_test_lock_(lock: usize) -> c_int { take_if_free("omp_test_lock", lock, false) }
    fn omp_init_nest_lock_(lock: usize) -> c_int { forget(lock) }
    fn omp_destroy_nest_lock_(lock: usize) -> c_int { forget(lock) }
    fn omp_set_nest_lock_(lock: usize) -> c_int { take("omp_set_nest_lock", lock, true) }
    fn omp_unset_nest_lock_(lock: usize) -> c_int { free(lock) }
    fn omp_test_nest_lock_(lock: usize) -> c_int { take_if_free("omp_test_nest_lock", lock, true) }
}
