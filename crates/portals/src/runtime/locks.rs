//! What threads of a rank wait at for each other: mutexes, read-write locks, spin locks, semaphores, barriers, values of their own.
//!
//! Objects are the C library's where trying is enough: whoever finds one taken waits until something happens at the rank, and whoever frees one wakes the rank.
//! The library knows threads by the one of this process that runs them all, so who owns a recursive mutex, who has come to a barrier and what a
//! thread keeps under a key is known here. A try that fails takes 100 ns, so that a loop of tries lets time pass.

#![allow(unsafe_code, reason = "calls of the C library on objects of the program")]

use super::{
    guard::{get, put},
    spans::{Pair, again, now_at},
    threads::{Barrier, Reason, Thread},
    world::{pause, wait, with},
};
use base::time::Ps;
use std::ffi::{c_int, c_uint};

type Mutex = *mut libc::pthread_mutex_t;
type RwLock = *mut libc::pthread_rwlock_t;
type Semaphore = *mut libc::sem_t;

mod real {
    use std::ffi::c_int;
    unsafe extern "C" {
        pub fn pthread_spin_trylock(lock: *mut c_int) -> c_int;
        pub fn pthread_spin_unlock(lock: *mut c_int) -> c_int;
        pub fn pthread_once(control: *mut c_int, function: usize) -> c_int;
    }
}

/// Tries until it succeeds or a time is over; the code of the last try.
pub(super) fn until_free(
    call: &'static str,
    what: usize,
    until: Option<Ps>,
    mut attempt: impl FnMut() -> c_int,
) -> c_int {
    let mut waited = false;
    let code = loop {
        let code = attempt();
        if code != libc::EBUSY {
            break code;
        }
        if until.is_some_and(|u| now_at() >= u) {
            break libc::ETIMEDOUT;
        }
        wants(what);
        waited = true;
        wait(Reason::of(call, what as u64), until);
    };
    if waited {
        wants(0);
    }
    code
}

/// What the thread that runs wants until it says something else: it may be woken for another reason, and want it still.
fn wants(what: usize) {
    with(|w, _| {
        let own = w.current;
        w.threads[own as usize].wants = what;
    });
}

/// Wakes whoever waits at the rank. Threads that wait for what was freed go first: otherwise one that takes it again and again would shut them out.
pub(super) fn freed(what: usize, code: c_int) -> c_int {
    let wanted = with(|w, rank| {
        let wants = |t: &Thread| t.rank == rank && t.wants == what;
        let wanted = w.may_be_of(rank).any(|n| wants(&w.threads[n]));
        w.wake_rank(rank);
        wanted
    });
    if wanted {
        pause(0);
    }
    code
}

/// A try that found something taken takes time.
pub(super) fn tried(call: &'static str, code: c_int) -> c_int {
    if code == libc::EBUSY {
        again(call);
    }
    code
}

/// When a time-out is over; none for what is no time.
fn deadline(at: *const Pair) -> Option<Ps> {
    get(at).and_then(Pair::instant)
}

/// Tries until a time at most. What is no time is EINVAL, unless nobody has to wait.
fn until_time(call: &'static str, what: usize, at: *const Pair, mut attempt: impl FnMut() -> c_int) -> c_int {
    let Some(until) = deadline(at) else {
        let code = attempt();
        return if code == libc::EBUSY { libc::EINVAL } else { code };
    };
    until_free(call, what, Some(until), attempt)
}

/// Kinds of mutexes that know their thread: `PTHREAD_MUTEX_RECURSIVE` and `PTHREAD_MUTEX_ERRORCHECK`.
const RECURSIVE: c_int = 1;
const ERRORCHECK: c_int = 2;

/// Kind of a mutex that knows its thread, from where the C library keeps it; none for others.
fn owned_kind(mutex: Mutex) -> Option<c_int> {
    const KIND: usize = 16;
    let kind = get(mutex.cast::<u8>().wrapping_add(KIND).cast::<c_int>())? & 3;
    [RECURSIVE, ERRORCHECK].contains(&kind).then_some(kind)
}

/// Tries to take a mutex. The thread that has it gets a recursive one again, and EDEADLK from one that checks.
fn try_mutex(mutex: Mutex) -> c_int {
    let Some(kind) = owned_kind(mutex) else {
        // SAFETY: the program gives its mutex; trying never blocks.
        return unsafe { libc::pthread_mutex_trylock(mutex) };
    };
    with(|w, rank| {
        let own = w.current;
        let (owner, count) = w.mutexes.entry((rank, mutex as usize)).or_insert((own, 0));
        debug_assert!(*owner == own || *count > 0, "a mutex of another thread was taken");
        match *owner == own {
            false => libc::EBUSY,
            true if kind == ERRORCHECK && *count > 0 => libc::EDEADLK,
            true => {
                *count += 1;
                0
            }
        }
    })
}

/// Takes a mutex, and waits for it.
pub fn lock(mutex: Mutex) -> c_int {
    until_free("pthread_mutex_lock", mutex as usize, None, || try_mutex(mutex))
}

/// Gives a mutex back.
pub(super) fn unlock(mutex: Mutex) -> c_int {
    if owned_kind(mutex).is_none() {
        // SAFETY: the program gives its mutex.
        return freed(mutex as usize, unsafe { libc::pthread_mutex_unlock(mutex) });
    }
    let code = with(|w, rank| {
        let (own, key) = (w.current, (rank, mutex as usize));
        match w.mutexes.get_mut(&key) {
            Some((owner, count)) if *owner == own => {
                debug_assert!(*count > 0, "a mutex that has an owner was taken");
                *count -= 1;
                if *count == 0 {
                    w.mutexes.remove(&key);
                }
                0
            }
            _ => libc::EPERM,
        }
    });
    freed(mutex as usize, code)
}

/// Waits for a semaphore; the C library's calls give their codes in `errno`.
fn wait_semaphore(semaphore: Semaphore, until: Option<Ps>) -> c_int {
    let code = until_free("sem_wait", semaphore as usize, until, || {
        // SAFETY: the program gives its semaphore; trying never blocks.
        if unsafe { libc::sem_trywait(semaphore) } == 0 { 0 } else { libc::EBUSY }
    });
    failed_by(code)
}

fn failed_by(code: c_int) -> c_int {
    if code == 0 {
        return 0;
    }
    // SAFETY: the location is this thread's own.
    unsafe { *libc::__errno_location() = code };
    -1
}

fn wait_barrier(barrier: usize) -> c_int {
    const SERIAL: c_int = -1;
    let came = with(|w, rank| {
        let b = w.barriers.get_mut(&(rank, barrier))?;
        b.here += 1;
        debug_assert!(b.here <= b.count, "the last one opens the barrier");
        if b.here < b.count {
            return Some(Some(b.round));
        }
        (b.here, b.round) = (0, b.round + 1);
        w.wake_rank(rank);
        Some(None)
    });
    let Some(round) = came else { return libc::EINVAL };
    let Some(round) = round else { return SERIAL };
    while with(|w, rank| w.barriers.get(&(rank, barrier)).is_some_and(|b| b.round == round)) {
        wait(Reason::of("pthread_barrier_wait", barrier as u64), None);
    }
    0
}

/// Calls a function unless that was done; who comes meanwhile waits.
fn once(control: *mut c_int, function: usize) -> c_int {
    const BEGUN: c_int = 1;
    const DONE: c_int = 2;
    while get(control) == Some(BEGUN) {
        wait(Reason::of("pthread_once", control as u64), None);
    }
    if get(control) == Some(0) && put(control, BEGUN) {
        // SAFETY: the program gave a function of this type to be called once.
        unsafe { std::mem::transmute::<usize, extern "C" fn()>(function)() };
        let _ = put(control, DONE);
        return freed(control as usize, 0);
    }
    0
}

super::calls::calls! {
    outside = Default::default();
    fn pthread_mutex_lock(mutex: Mutex) -> c_int [unsafe { libc::pthread_mutex_lock(mutex) }] { lock(mutex) }
    fn pthread_mutex_trylock(mutex: Mutex) -> c_int [unsafe { libc::pthread_mutex_trylock(mutex) }] {
        match try_mutex(mutex) {
            libc::EDEADLK => tried("pthread_mutex_trylock", libc::EBUSY),
            code => tried("pthread_mutex_trylock", code),
        }
    }
    fn pthread_mutex_timedlock(mutex: Mutex, at: *const Pair) -> c_int [libc::EINVAL] {
        until_time("pthread_mutex_timedlock", mutex as usize, at, || try_mutex(mutex))
    }
    fn pthread_mutex_clocklock(mutex: Mutex, clock: c_int, at: *const Pair) -> c_int [libc::EINVAL] {
        until_time("pthread_mutex_clocklock", mutex as usize, at, || try_mutex(mutex))
    }
    fn pthread_mutex_unlock(mutex: Mutex) -> c_int [unsafe { libc::pthread_mutex_unlock(mutex) }] { unlock(mutex) }
    fn pthread_rwlock_rdlock(lock: RwLock) -> c_int [unsafe { libc::pthread_rwlock_rdlock(lock) }] {
        until_free("pthread_rwlock_rdlock", lock as usize, None, || unsafe { libc::pthread_rwlock_tryrdlock(lock) })
    }
    fn pthread_rwlock_wrlock(lock: RwLock) -> c_int [unsafe { libc::pthread_rwlock_wrlock(lock) }] {
        until_free("pthread_rwlock_wrlock", lock as usize, None, || unsafe { libc::pthread_rwlock_trywrlock(lock) })
    }
    fn pthread_rwlock_timedrdlock(lock: RwLock, at: *const Pair) -> c_int [libc::EINVAL] {
        until_time("pthread_rwlock_timedrdlock", lock as usize, at, || unsafe { libc::pthread_rwlock_tryrdlock(lock) })
    }
    fn pthread_rwlock_timedwrlock(lock: RwLock, at: *const Pair) -> c_int [libc::EINVAL] {
        until_time("pthread_rwlock_timedwrlock", lock as usize, at, || unsafe { libc::pthread_rwlock_trywrlock(lock) })
    }
    fn pthread_rwlock_tryrdlock(lock: RwLock) -> c_int [unsafe { libc::pthread_rwlock_tryrdlock(lock) }] {
        tried("pthread_rwlock_tryrdlock", unsafe { libc::pthread_rwlock_tryrdlock(lock) })
    }
    fn pthread_rwlock_trywrlock(lock: RwLock) -> c_int [unsafe { libc::pthread_rwlock_trywrlock(lock) }] {
        tried("pthread_rwlock_trywrlock", unsafe { libc::pthread_rwlock_trywrlock(lock) })
    }
    fn pthread_rwlock_unlock(lock: RwLock) -> c_int [unsafe { libc::pthread_rwlock_unlock(lock) }] {
        freed(lock as usize, unsafe { libc::pthread_rwlock_unlock(lock) })
    }
    fn pthread_spin_lock(lock: *mut c_int) -> c_int [libc::EINVAL] {
        until_free("pthread_spin_lock", lock as usize, None, || unsafe { real::pthread_spin_trylock(lock) })
    }
    fn pthread_spin_trylock(lock: *mut c_int) -> c_int [unsafe { real::pthread_spin_trylock(lock) }] {
        tried("pthread_spin_trylock", unsafe { real::pthread_spin_trylock(lock) })
    }
    fn pthread_spin_unlock(lock: *mut c_int) -> c_int [unsafe { real::pthread_spin_unlock(lock) }] {
        freed(lock as usize, unsafe { real::pthread_spin_unlock(lock) })
    }
    fn sem_wait(semaphore: Semaphore) -> c_int [unsafe { libc::sem_wait(semaphore) }] { wait_semaphore(semaphore, None) }
    fn sem_timedwait(semaphore: Semaphore, at: *const Pair) -> c_int [-1] {
        deadline(at).map_or_else(|| failed_by(libc::EINVAL), |until| wait_semaphore(semaphore, Some(until)))
    }
    fn sem_clockwait(semaphore: Semaphore, clock: c_int, at: *const Pair) -> c_int [-1] {
        deadline(at).map_or_else(|| failed_by(libc::EINVAL), |until| wait_semaphore(semaphore, Some(until)))
    }
    fn sem_trywait(semaphore: Semaphore) -> c_int [unsafe { libc::sem_trywait(semaphore) }] {
        let code = unsafe { libc::sem_trywait(semaphore) };
        if code != 0 {
            again("sem_trywait");
            return failed_by(libc::EAGAIN);
        }
        code
    }
    fn sem_post(semaphore: Semaphore) -> c_int [unsafe { libc::sem_post(semaphore) }] {
        freed(semaphore as usize, unsafe { libc::sem_post(semaphore) })
    }
    fn pthread_barrier_init(barrier: usize, attributes: usize, count: c_uint) -> c_int [libc::EINVAL] {
        if count == 0 {
            return libc::EINVAL;
        }
        with(|w, rank| w.barriers.insert((rank, barrier), Barrier { count, here: 0, round: 0 }));
        0
    }
    fn pthread_barrier_wait(barrier: usize) -> c_int [libc::EINVAL] { wait_barrier(barrier) }
    fn pthread_barrier_destroy(barrier: usize) -> c_int [libc::EINVAL] {
        with(|w, rank| if w.barriers.remove(&(rank, barrier)).is_some() { 0 } else { libc::EINVAL })
    }
    fn pthread_once(control: *mut c_int, function: usize) -> c_int [unsafe { real::pthread_once(control, function) }] { once(control, function) }
    fn pthread_key_create(to: *mut c_uint, destructor: usize) -> c_int [unsafe { libc::pthread_key_create(to, None) }] {
        let key = with(|w, _| { w.keys += 1; w.keys });
        if put(to, key) { 0 } else { libc::EFAULT }
    }
    fn pthread_key_delete(key: c_uint) -> c_int { 0 }
    fn pthread_setspecific(key: c_uint, value: usize) -> c_int [unsafe { libc::pthread_setspecific(key, value as *const _) }] {
        with(|w, _| w.threads[w.current as usize].values.insert(key, value));
        0
    }
    fn pthread_getspecific(key: c_uint) -> usize [unsafe { libc::pthread_getspecific(key) as usize }] {
        with(|w, _| w.threads[w.current as usize].values.get(&key).copied().unwrap_or(0))
    }
}
