//! What programs ask of the system that must be simulated: clocks, sleeping, the end, threads.
//!
//! All clocks begin at zero, so that a double holds them to the nanosecond. Threads of a rank are coroutines like `main`; a mutex that is taken is tried again every 100 ns.

#![allow(unsafe_code, reason = "calls of the C library on objects of the program")]

use super::{
    guard::{get, put},
    threads::{ConditionWait, Entry, Reason, Status},
    world::{self, end_thread, enter_only, idle, leave, looked, pause, wait, with},
};
use base::time::{NS, Ps, S, US};
use std::ffi::{CStr, c_char, c_int, c_long, c_uint};

/// Second at which simulated clocks begin.
const EPOCH: u64 = 0;
const EINVAL: c_int = libc::EINVAL;

/// Now, in seconds of the epoch and picoseconds. Who reads a clock does not look in vain: he may be waiting for its time.
fn now() -> (u64, Ps) {
    let now = with(|w, _| {
        w.active();
        w.machine.now
    });
    (EPOCH + now / S, now % S)
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Pair {
    seconds: c_long,
    rest: c_long,
}

impl Pair {
    /// A span of seconds and nanoseconds.
    fn span(self) -> Option<Ps> {
        let (s, r) = (u64::try_from(self.seconds).ok()?, u64::try_from(self.rest).ok()?);
        s.checked_mul(S)?.checked_add(r.checked_mul(NS)?)
    }

    /// A time of the clocks as one of the simulation.
    fn instant(self) -> Option<Ps> {
        Self { seconds: (self.seconds - EPOCH as c_long).max(0), ..self }.span()
    }
}

fn sleep_for(span: Ps) {
    idle(span, true);
    leave();
}

fn lock(mutex: *mut libc::pthread_mutex_t) -> c_int {
    loop {
        // SAFETY: the program gives its mutex; trying never blocks.
        let code = unsafe { libc::pthread_mutex_trylock(mutex) };
        if code != libc::EBUSY {
            return code;
        }
        again("pthread_mutex_lock");
    }
}

/// What was not there is looked for again after a while.
fn again(call: &'static str) {
    looked(call);
    idle(100 * NS, false);
}

fn wait_condition(condition: usize, mutex: *mut libc::pthread_mutex_t, until: Option<Ps>) -> c_int {
    let me = with(|w, rank| {
        w.conditions.push(ConditionWait { rank, condition, thread: w.current });
        w.current
    });
    // SAFETY: the program holds this mutex.
    unsafe { libc::pthread_mutex_unlock(mutex) };
    let mut code = 0;
    while with(|w, _| w.conditions.iter().any(|c| c.thread == me)) {
        if until.is_some_and(|u| with(|w, _| w.machine.now) >= u) {
            with(|w, _| w.conditions.retain(|c| c.thread != me));
            code = libc::ETIMEDOUT;
            break;
        }
        wait(Reason::of("pthread_cond_wait", condition as u64), until);
    }
    lock(mutex);
    code
}

fn signal_condition(condition: usize, all: bool) -> c_int {
    with(|w, rank| {
        let mut left = if all { usize::MAX } else { 1 };
        w.conditions.retain(|c| {
            let chosen = left > 0 && (c.rank, c.condition) == (rank, condition);
            left -= usize::from(chosen);
            !chosen
        });
        w.wake_rank(rank);
    });
    0
}

fn failed_assertion(what: *const c_char, file: *const c_char, line: c_uint, function: *const c_char) -> ! {
    let text = |p: *const c_char| {
        // SAFETY: the C library's macro gives C strings or null.
        if p.is_null() { "?".into() } else { unsafe { CStr::from_ptr(p) }.to_string_lossy() }
    };
    let message = format!("{}:{line}: {}: assertion `{}` failed\n", text(file), text(function), text(what));
    with(|w, rank| (w.sink)(rank.number(), true, message.as_bytes()));
    world::crash(libc::SIGABRT, 0)
}

super::calls::calls! {
    fn gettimeofday(to: *mut Pair, _zone: usize) -> c_int {
        enter_only();
        let (seconds, ps) = now();
        let good = put(to, Pair { seconds: seconds as c_long, rest: (ps / US) as c_long });
        leave();
        if good { 0 } else { -1 }
    }
    fn clock_gettime(_clock: c_int, to: *mut Pair) -> c_int {
        enter_only();
        let (seconds, ps) = now();
        let good = put(to, Pair { seconds: seconds as c_long, rest: (ps / NS) as c_long });
        leave();
        if good { 0 } else { -1 }
    }
    fn time(to: *mut c_long) -> c_long {
        let seconds = now().0 as c_long;
        if !to.is_null() {
            let _ = put(to, seconds);
        }
        seconds
    }
    fn clock() -> c_long {
        let (seconds, ps) = now();
        ((seconds - EPOCH) * (S / US) + ps / US) as c_long
    }
    fn sleep(seconds: c_uint) -> c_uint { sleep_for(u64::from(seconds) * S); 0 }
    fn usleep(us: c_uint) -> c_int { sleep_for(u64::from(us) * US); 0 }
    fn nanosleep(span: *const Pair, _left: usize) -> c_int {
        match get(span).and_then(|p| p.span()) {
            Some(span) => { sleep_for(span); 0 }
            None => -1,
        }
    }
    fn clock_nanosleep(_clock: c_int, flags: c_int, span: *const Pair, _left: usize) -> c_int {
        let now = with(|w, _| w.machine.now);
        let absolute = |p: Pair| p.instant().map(|at| at.saturating_sub(now));
        let span = get(span).and_then(|p| if flags & 1 != 0 { absolute(p) } else { p.span() });
        let Some(span) = span else { return EINVAL };
        sleep_for(span);
        0
    }
    fn alarm(seconds: c_uint) -> c_uint {
        // A thread of the rank that ends it: a new alarm makes the older void.
        with(|w, rank| {
            w.ranks[rank].alarm += 1;
            let number = w.ranks[rank].alarm;
            if seconds > 0 {
                w.spawn(rank, Entry::Alarm(number, w.machine.now + u64::from(seconds) * S));
            }
        });
        0
    }
    fn exit(status: c_int) -> c_int { world::exit(status & 0xff, true) }
    fn _exit(status: c_int) -> c_int { world::exit(status & 0xff, false) }
    fn _Exit(status: c_int) -> c_int { world::exit(status & 0xff, false) }
    fn abort() -> c_int { world::crash(libc::SIGABRT, 0) }
    fn __assert_fail(what: *const c_char, file: *const c_char, line: c_uint, function: *const c_char) -> c_int {
        failed_assertion(what, file, line, function)
    }
    fn atexit(function: usize) -> c_int {
        with(|w, r| w.ranks[r].hooks.push((function, 0)));
        0
    }
    fn __cxa_atexit(function: usize, argument: usize, _library: usize) -> c_int {
        with(|w, r| w.ranks[r].hooks.push((function, argument)));
        0
    }
    fn gethostname(to: *mut c_char, size: usize) -> c_int {
        let name = with(|w, r| format!("node{}\0", w.machine.node(r)));
        let good = name.len() <= size && name.bytes().enumerate().all(|(n, b)| put(to.wrapping_add(n), b as c_char));
        if good { 0 } else { -1 }
    }
    fn sched_yield() -> c_int { again("sched_yield"); 0 }
    fn pthread_yield() -> c_int { again("pthread_yield"); 0 }
    fn pthread_create(to: *mut u64, _attributes: usize, function: usize, argument: usize) -> c_int {
        let thread = with(|w, rank| w.spawn(rank, Entry::Thread(function, argument)));
        if put(to, u64::from(thread) + 1) { 0 } else { EINVAL }
    }
    fn pthread_join(thread: u64, to: *mut usize) -> c_int {
        let index = (thread as usize).wrapping_sub(1);
        loop {
            let result = with(|w, _| w.threads.get(index).map(|t| t.result));
            match result {
                None => return libc::ESRCH,
                Some(Some(result)) => {
                    return if to.is_null() || put(to, result) { 0 } else { EINVAL };
                }
                Some(None) => wait(Reason::of("pthread_join", thread), None),
            }
        }
    }
    fn pthread_exit(result: usize) -> c_int { end_thread(result) }
    fn pthread_self() -> u64 { with(|w, _| u64::from(w.current) + 1) }
    fn pthread_detach(_thread: u64) -> c_int { 0 }
    fn pthread_mutex_lock(mutex: *mut libc::pthread_mutex_t) -> c_int { lock(mutex) }
    fn pthread_cond_wait(condition: usize, mutex: *mut libc::pthread_mutex_t) -> c_int {
        wait_condition(condition, mutex, None)
    }
    fn pthread_cond_timedwait(condition: usize, mutex: *mut libc::pthread_mutex_t, until: *const Pair) -> c_int {
        let Some(until) = get(until).and_then(Pair::instant) else { return EINVAL };
        wait_condition(condition, mutex, Some(until))
    }
    fn pthread_cond_signal(condition: usize) -> c_int { signal_condition(condition, false) }
    fn pthread_cond_broadcast(condition: usize) -> c_int { signal_condition(condition, true) }
}

/// Waits until an alarm rings and ends the rank, unless a later one was set.
pub fn ring(number: u32, at: Ps) -> ! {
    let now = with(|w, _| w.machine.now);
    pause(at.saturating_sub(now));
    if with(|w, r| w.ranks[r].alarm == number) {
        world::end(Status::Signal(libc::SIGALRM, None));
    }
    end_thread(0)
}
