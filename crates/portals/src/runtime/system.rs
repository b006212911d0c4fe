//! What programs ask of the system that must be simulated: clocks, sleeping, the end, threads.
//!
//! All clocks begin at zero, so that a double holds them to the nanosecond. Threads of a rank are coroutines like `main`; what they wait at for each other is in
//! `locks.rs`.

#![allow(unsafe_code, reason = "calls of the C library on objects of the program")]

use super::{
    guard::{get, put},
    locks, signals,
    spans::{EPOCH, Pair, again, now_at},
    threads::{ConditionWait, Entry, Reason},
    world::{end_thread, enter_only, idle, leave, wait, with},
};
use base::{
    index::RankId,
    time::{MS, NS, Ps, S, US},
};
use std::ffi::{c_char, c_int, c_long, c_uint};

const EINVAL: c_int = libc::EINVAL;

/// Now, in seconds of the epoch and picoseconds. Who reads a clock does not look in vain: he may be waiting for its time.
fn now() -> (u64, Ps) {
    let now = with(|w, _| {
        w.active();
        w.machine.now
    });
    (EPOCH + now / S, now % S)
}

/// Sleeps; what is left of it if a handler of the rank has run, which ends it.
fn sleep_for(span: Ps) -> Ps {
    if !signals::any_handler() {
        idle(span, true);
        leave();
        return 0;
    }
    enter_only();
    let until = with(|w, _| w.machine.now).saturating_add(span);
    signals::wait_for_handler("sleep", Some(until));
    leave();
    until.saturating_sub(with(|w, _| w.machine.now))
}

/// Sleeps; the code of a call that a handler may end, with what is left of it.
fn sleep_or_less(span: Ps, to: *mut Pair) -> c_int {
    let left = sleep_for(span);
    if left == 0 {
        return 0;
    }
    if !to.is_null() {
        let _ = put(to, Pair { seconds: (left / S) as c_long, rest: (left % S / NS) as c_long });
    }
    libc::EINTR
}

/// The code of a call as that of an older kind has it.
pub(super) fn by_errno(code: c_int) -> c_int {
    if code == 0 {
        return 0;
    }
    // SAFETY: the location is this thread's own.
    unsafe { *libc::__errno_location() = code };
    -1
}

/// Name of a node: all that a run has, up to the last, are as long, so that no name is the beginning of another one.
fn node_name(node: u32, last: u32) -> String {
    debug_assert!(node <= last, "the last node has the highest number");
    format!("node{node:0width$}\0", width = last.to_string().len())
}

/// Waits until descriptors are ready, until a handler has run, or a time at most. Descriptors lead out of the simulation: they are looked at when time is up and when
/// something happens at the rank.
fn until_ready(call: &'static str, span: Option<Ps>, mut ready: impl FnMut() -> c_int) -> c_int {
    let until = span.map(|span| now_at() + span);
    let handled = signals::handled();
    loop {
        let found = ready();
        // SAFETY: the location is this thread's own.
        if found < 0 && unsafe { *libc::__errno_location() } == libc::EINTR {
            // By this machine's timer that looks for loops: no look at all.
            continue;
        }
        if found != 0 {
            return found;
        }
        if span == Some(0) {
            again(call);
            return 0;
        }
        if until.is_some_and(|u| now_at() >= u) {
            return 0;
        }
        if signals::handled() != handled {
            return by_errno(libc::EINTR);
        }
        wait(Reason::of(call, 0), until);
    }
}

/// Three sets of descriptors, as `select` takes them.
type Sets = [*mut libc::fd_set; 3];

fn select_ready(count: c_int, sets: Sets, span: Option<Ps>) -> c_int {
    // SAFETY: sets are the program's, or null; each look begins with what it asked for.
    unsafe {
        let asked = sets.map(|set| (!set.is_null()).then(|| *set));
        until_ready("select", span, || {
            for (set, asked) in sets.into_iter().zip(asked) {
                if let Some(asked) = asked {
                    *set = asked;
                }
            }
            let mut none = libc::timeval { tv_sec: 0, tv_usec: 0 };
            libc::select(count, sets[0], sets[1], sets[2], &raw mut none)
        })
    }
}

/// A span that may be missing, which is for ever; none if it is no span.
fn span_or_ever(at: *const Pair, rest: Ps) -> Option<Option<Ps>> {
    if at.is_null() {
        return Some(None);
    }
    let Pair { seconds, rest: parts } = get(at)?;
    let (seconds, parts) = (u64::try_from(seconds).ok()?, u64::try_from(parts).ok()?);
    Some(Some(seconds.checked_mul(S)?.checked_add(parts.checked_mul(rest)?)?))
}

fn wait_condition(condition: usize, mutex: *mut libc::pthread_mutex_t, until: Option<Ps>) -> c_int {
    let me = with(|w, rank| {
        w.conditions.push(ConditionWait { rank, condition, thread: w.current });
        w.current
    });
    let refused = locks::unlock(mutex);
    if refused != 0 {
        with(|w, _| w.conditions.retain(|c| c.thread != me));
        return refused;
    }
    let mut code = 0;
    while with(|w, _| w.conditions.iter().any(|c| c.thread == me)) {
        if until.is_some_and(|u| with(|w, _| w.machine.now) >= u) {
            with(|w, _| w.conditions.retain(|c| c.thread != me));
            code = libc::ETIMEDOUT;
            break;
        }
        wait(Reason::of("pthread_cond_wait", condition as u64), until);
    }
    locks::lock(mutex);
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

super::calls::calls! {
    outside = Default::default();
    fn gettimeofday(to: *mut Pair, _zone: usize) -> c_int [unsafe { libc::gettimeofday(to.cast(), std::ptr::null_mut()) }] {
        enter_only();
        let (seconds, ps) = now();
        let good = put(to, Pair { seconds: seconds as c_long, rest: (ps / US) as c_long });
        leave();
        if good { 0 } else { -1 }
    }
    fn clock_gettime(clock: c_int, to: *mut Pair) -> c_int [unsafe { libc::clock_gettime(clock, to.cast()) }] {
        enter_only();
        let (seconds, ps) = now();
        let good = put(to, Pair { seconds: seconds as c_long, rest: (ps / NS) as c_long });
        leave();
        if good { 0 } else { -1 }
    }
    fn time(to: *mut c_long) -> c_long [unsafe { libc::time(to) }] {
        let seconds = now().0 as c_long;
        if !to.is_null() {
            let _ = put(to, seconds);
        }
        seconds
    }
    fn times(to: *mut [c_long; 4]) -> c_long {
        // In hundredths of a second, all of it the rank's own.
        let (seconds, ps) = now();
        let ticks = ((seconds - EPOCH) * 100 + ps / (S / 100)) as c_long;
        if to.is_null() || put(to, [ticks, 0, 0, 0]) { ticks } else { -1 }
    }
    fn getrusage(_who: c_int, to: *mut [c_long; 18]) -> c_int {
        let (seconds, ps) = now();
        let mut used = [0; 18];
        (used[0], used[1]) = ((seconds - EPOCH) as c_long, (ps / US) as c_long);
        if put(to, used) { 0 } else { by_errno(libc::EFAULT) }
    }
    fn clock() -> c_long {
        let (seconds, ps) = now();
        ((seconds - EPOCH) * (S / US) + ps / US) as c_long
    }
    fn sleep(seconds: c_uint) -> c_uint [unsafe { libc::sleep(seconds) }] {
        sleep_for(u64::from(seconds).saturating_mul(S)).div_ceil(S) as c_uint
    }
    fn usleep(us: c_uint) -> c_int [unsafe { libc::usleep(us) }] {
        by_errno(sleep_or_less(u64::from(us) * US, std::ptr::null_mut()))
    }
    fn nanosleep(span: *const Pair, left: *mut Pair) -> c_int [unsafe { libc::nanosleep(span.cast(), left.cast()) }] {
        by_errno(get(span).and_then(|p| p.span()).map_or(EINVAL, |span| sleep_or_less(span, left)))
    }
    fn clock_nanosleep(clock: c_int, flags: c_int, span: *const Pair, left: *mut Pair) -> c_int [unsafe { libc::clock_nanosleep(clock, flags, span.cast(), left.cast()) }] {
        let now = with(|w, _| w.machine.now);
        let absolute = |p: Pair| p.instant().map(|at| at.saturating_sub(now));
        let span = get(span).and_then(|p| if flags & 1 != 0 { absolute(p) } else { p.span() });
        let Some(span) = span else { return EINVAL };
        sleep_or_less(span, if flags & 1 != 0 { std::ptr::null_mut() } else { left })
    }
    fn gethostname(to: *mut c_char, size: usize) -> c_int {
        let name = with(|w, r| {
            let last = RankId::new(w.ranks.len() as u32 - 1);
            node_name(w.machine.node(r).number(), w.machine.node(last).number())
        });
        let good = name.len() <= size && name.bytes().enumerate().all(|(n, b)| put(to.wrapping_add(n), b as c_char));
        if good { 0 } else { -1 }
    }
    fn sched_yield() -> c_int [unsafe { libc::sched_yield() }] { again("sched_yield"); 0 }
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
    fn pthread_self() -> u64 [unsafe { libc::pthread_self() }] { with(|w, _| u64::from(w.current) + 1) }
    fn pthread_detach(_thread: u64) -> c_int { 0 }
    fn pthread_cond_wait(condition: usize, mutex: *mut libc::pthread_mutex_t) -> c_int [unsafe { libc::pthread_cond_wait(condition as *mut _, mutex) }] {
        wait_condition(condition, mutex, None)
    }
    fn pthread_cond_timedwait(condition: usize, mutex: *mut libc::pthread_mutex_t, until: *const Pair) -> c_int {
        let Some(until) = get(until).and_then(Pair::instant) else { return EINVAL };
        wait_condition(condition, mutex, Some(until))
    }
    fn pthread_cond_clockwait(condition: usize, mutex: *mut libc::pthread_mutex_t, clock: c_int, until: *const Pair) -> c_int {
        let Some(until) = get(until).and_then(Pair::instant) else { return EINVAL };
        wait_condition(condition, mutex, Some(until))
    }
    fn select(count: c_int, read: *mut libc::fd_set, write: *mut libc::fd_set, other: *mut libc::fd_set, span: *const Pair) -> c_int [-1] {
        span_or_ever(span, US).map_or_else(|| by_errno(EINVAL), |span| select_ready(count, [read, write, other], span))
    }
    fn pselect(count: c_int, read: *mut libc::fd_set, write: *mut libc::fd_set, other: *mut libc::fd_set, span: *const Pair, mask: usize) -> c_int [-1] {
        span_or_ever(span, NS).map_or_else(|| by_errno(EINVAL), |span| select_ready(count, [read, write, other], span))
    }
    fn poll(all: *mut libc::pollfd, count: libc::nfds_t, ms: c_int) -> c_int [unsafe { libc::poll(all, count, ms) }] {
        let span = u64::try_from(ms).ok().map(|ms| ms * MS);
        until_ready("poll", span, || unsafe { libc::poll(all, count, 0) })
    }
    fn ppoll(all: *mut libc::pollfd, count: libc::nfds_t, span: *const Pair, mask: usize) -> c_int [-1] {
        let look = || unsafe { libc::poll(all, count, 0) };
        span_or_ever(span, NS).map_or_else(|| by_errno(EINVAL), |span| until_ready("ppoll", span, look))
    }
    fn epoll_wait(set: c_int, to: *mut libc::epoll_event, most: c_int, ms: c_int) -> c_int [unsafe { libc::epoll_wait(set, to, most, ms) }] {
        let span = u64::try_from(ms).ok().map(|ms| ms * MS);
        until_ready("epoll_wait", span, || unsafe { libc::epoll_wait(set, to, most, 0) })
    }
    fn pthread_cond_signal(condition: usize) -> c_int [unsafe { libc::pthread_cond_signal(condition as *mut _) }] { signal_condition(condition, false) }
    fn pthread_cond_broadcast(condition: usize) -> c_int [unsafe { libc::pthread_cond_broadcast(condition as *mut _) }] { signal_condition(condition, true) }
}

#[cfg(test)]
mod tests {
    use super::node_name;

    #[test]
    fn no_name_of_a_node_begins_another() {
        assert_eq!(node_name(3, 9), "node3\0");
        let all: Vec<String> = (0..1024).map(|n| node_name(n, 1023)).collect();
        assert!(all.iter().all(|name| name.len() == "node0000\0".len()));
        assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "they sort like numbers");
    }
}
