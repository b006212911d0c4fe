//! Signals of ranks: what each does at them, sending them to oneself and to others, alarms, and faults.
//!
//! A signal reaches a rank at once where it is sent. A handler runs on the stack of whoever raised the signal, that of an alarm or of another rank's signal on one
//! of its own: it cannot jump back into `main`. Masks are those of the rank, not of each thread; stops and continuations do nothing. Sleeps end when a handler
//! has run, other calls go on waiting.

#![allow(unsafe_code, reason = "handlers of programs")]

use super::{
    guard::{get, put},
    own::{Cause, Signals},
    spans::Pair,
    threads::{Entry, Reason, Status},
    world::{self, end, end_thread, wait, with},
};
use base::{
    index::RankId,
    time::{Ps, S, US},
};
use std::ffi::{c_int, c_long, c_uint, c_void};

/// Number of the process that began all ranks, and of their group.
pub const PARENT: c_int = 1000;
const MOST: c_int = 64;

/// Number of a rank's process: the same in every run.
#[must_use]
pub fn pid(rank: RankId) -> c_int {
    PARENT + 1 + rank.number() as c_int
}

fn bit(signal: c_int) -> u64 {
    debug_assert!((1..=MOST).contains(&signal), "a signal has a number from 1 to 64");
    1 << (signal - 1)
}

fn failed(code: c_int) -> c_int {
    // SAFETY: the location is this thread's own.
    unsafe { *libc::__errno_location() = code };
    -1
}

fn signals<T>(f: impl FnOnce(&mut Signals) -> T) -> T {
    with(|w, rank| f(&mut w.ranks[rank].own.signals))
}

/// A rank's own handler of a signal, unless it ignores it or leaves it to the system.
fn handler(signal: c_int) -> Option<libc::sigaction> {
    let action = signals(|s| s.actions.get(&signal).copied())?;
    (action.sa_sigaction != libc::SIG_DFL && action.sa_sigaction != libc::SIG_IGN).then_some(action)
}

/// Runs a handler.
fn run(signal: c_int, action: &libc::sigaction, cause: Cause) {
    let mut mask = [0u64; 16];
    // SAFETY: a mask of the C library has 128 bytes; 64 signals are in the first word.
    unsafe {
        std::ptr::copy_nonoverlapping((&raw const action.sa_mask).cast::<u64>(), mask.as_mut_ptr(), 16)
    };
    let before = signals(|s| {
        if action.sa_flags & libc::SA_RESETHAND != 0 {
            s.actions.remove(&signal);
        }
        let own = if action.sa_flags & libc::SA_NODEFER == 0 { bit(signal) } else { 0 };
        let more = s.blocked | mask[0] | own;
        std::mem::replace(&mut s.blocked, more)
    });
    // SAFETY: structures of the C library, which may be zero; the program gave a function of one of two types for this, and one that takes less is not harmed.
    unsafe {
        let mut information: libc::siginfo_t = std::mem::zeroed();
        let context: libc::ucontext_t = std::mem::zeroed();
        information.si_signo = signal;
        information.si_code = cause.code;
        // Both words lie behind three numbers and a gap.
        (&raw mut information).cast::<[u64; 2]>().add(1).write(cause.words);
        type Handler = extern "C" fn(c_int, *const libc::siginfo_t, *const c_void);
        let function = std::mem::transmute::<usize, Handler>(action.sa_sigaction);
        function(signal, &raw const information, (&raw const context).cast());
    }
    signals(|s| {
        s.blocked = before;
        s.handled += 1;
    });
    with(|w, rank| w.wake_rank(rank));
    deliver_pending();
}

/// What was blocked and is no more.
fn deliver_pending() {
    while let Some((signal, cause)) = signals(|s| {
        let due = s.pending & !s.blocked;
        let signal = (due != 0).then(|| due.trailing_zeros() as c_int + 1)?;
        s.pending &= !bit(signal);
        Some((signal, s.causes.remove(&signal).unwrap_or_default()))
    }) {
        raise_for(signal, cause);
    }
}

/// A signal reaches the rank that runs.
pub fn raise_here(signal: c_int) -> c_int {
    raise_for(signal, Cause::default())
}

/// The same for a cause.
pub fn raise_for(signal: c_int, cause: Cause) -> c_int {
    if !(1..=MOST).contains(&signal) {
        return failed(libc::EINVAL);
    }
    let waits = signals(|s| {
        let waits = s.blocked & bit(signal) != 0 && signal != libc::SIGKILL;
        if waits {
            s.pending |= bit(signal);
            s.causes.insert(signal, cause);
        }
        waits
    });
    if waits {
        with(|w, rank| w.wake_rank(rank));
        return 0;
    }
    match handler(signal) {
        Some(action) => run(signal, &action, cause),
        None => by_default(signal),
    }
    0
}

fn by_default(signal: c_int) {
    let ignored = signals(|s| s.actions.get(&signal).is_some_and(|w| w.sa_sigaction == libc::SIG_IGN));
    let harmless = [
        libc::SIGCHLD,
        libc::SIGURG,
        libc::SIGWINCH,
        libc::SIGCONT,
        libc::SIGSTOP,
        libc::SIGTSTP,
        libc::SIGTTIN,
        libc::SIGTTOU,
    ];
    if signal == libc::SIGKILL || !(ignored || harmless.contains(&signal)) {
        end(Status::Signal(signal, None));
    }
}

/// The rank that runs ends itself.
pub fn abort() -> ! {
    if let Some(action) = handler(libc::SIGABRT) {
        run(libc::SIGABRT, &action, Cause::default());
    }
    end(Status::Signal(libc::SIGABRT, None))
}

/// The rank that runs met a fault at an address: its handler may leave by a jump; if it returns, the rank ends.
pub fn fault(signal: c_int, address: u64) -> ! {
    if world::is_lent() {
        // Not the program's fault but ours.
        // SAFETY: it ends this process.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
        std::process::abort();
    }
    if let Some(action) = handler(signal) {
        run(signal, &action, Cause::fault(address));
    }
    let faults = matches!(signal, libc::SIGSEGV | libc::SIGBUS | libc::SIGFPE | libc::SIGILL);
    end(Status::Signal(signal, faults.then_some(address)))
}

/// A signal for another rank.
fn send(to: c_int, signal: c_int) -> c_int {
    if !(0..=MOST).contains(&signal) {
        return failed(libc::EINVAL);
    }
    let (own, count) = with(|w, rank| (rank, w.ranks.len() as u32));
    let all = to == 0 || to == -1 || to == PARENT || to == -PARENT;
    let chosen = RankId::first(count).filter(|&r| all || pid(r) == to);
    let chosen: Vec<RankId> = chosen.filter(|&r| with(|w, _| w.ranks[r].status == Status::Running)).collect();
    if chosen.is_empty() {
        return failed(libc::ESRCH);
    }
    if signal == 0 {
        return 0;
    }
    for &rank in chosen.iter().filter(|&&r| r != own) {
        with(|w, _| w.spawn(rank, Entry::Signal(signal)));
    }
    if chosen.contains(&own) { raise_here(signal) } else { 0 }
}

/// A signal of another rank reaches this one, in a thread of its own.
pub fn arrive(signal: c_int) -> ! {
    raise_here(signal);
    end_thread(0)
}

/// Waits until an alarm rings, and again if it has an interval, unless a later one was set.
pub fn ring(number: u32, mut at: Ps, every: Ps) -> ! {
    loop {
        let now = with(|w, _| w.machine.now);
        world::pause(at.saturating_sub(now));
        debug_assert!(with(|w, _| w.machine.now) >= at, "an alarm does not ring early");
        if with(|w, r| w.ranks[r].alarm.0 != number) {
            end_thread(0);
        }
        at = if every > 0 { at + every } else { 0 };
        with(|w, r| w.ranks[r].alarm.1 = at);
        raise_here(libc::SIGALRM);
        if every == 0 {
            end_thread(0);
        }
    }
}

/// Sets an alarm; a span of 0 ends it. The time that the one before still had.
fn set_alarm(span: Ps, every: Ps) -> Ps {
    with(|w, rank| {
        let (now, (number, at)) = (w.machine.now, w.ranks[rank].alarm);
        let next = if span > 0 { now.saturating_add(span) } else { 0 };
        w.ranks[rank].alarm = (number + 1, next);
        if span > 0 {
            w.spawn(rank, Entry::Alarm { number: number + 1, at: next, every });
        }
        at.saturating_sub(now)
    })
}

/// Waits until a handler has run, or a time; true if one has.
pub fn wait_for_handler(call: &'static str, until: Option<Ps>) -> bool {
    let before = signals(|s| s.handled);
    while signals(|s| s.handled) == before {
        if until.is_some_and(|u| with(|w, _| w.machine.now) >= u) {
            return false;
        }
        wait(Reason::of(call, 0), until);
    }
    true
}

/// True if the rank has handlers, which may end a sleep.
#[must_use]
pub fn any_handler() -> bool {
    signals(|s| !s.actions.is_empty())
}

/// Signals of the rank that were handled so far.
#[must_use]
pub fn handled() -> u64 {
    signals(|s| s.handled)
}

/// Changes what is blocked.
fn block(how: c_int, set: *const u64, old: *mut u64) -> c_int {
    if !old.is_null() && !put(old, signals(|s| s.blocked)) {
        return libc::EFAULT;
    }
    if !set.is_null() {
        let Some(set) = get(set) else { return libc::EFAULT };
        let done = signals(|s| {
            match how {
                libc::SIG_BLOCK => s.blocked |= set,
                libc::SIG_UNBLOCK => s.blocked &= !set,
                libc::SIG_SETMASK => s.blocked = set,
                _ => return false,
            }
            true
        });
        if !done {
            return libc::EINVAL;
        }
        deliver_pending();
    }
    0
}

/// The action so far, and another if one is given. None for what is no signal or takes no handler.
fn set_handler(signal: c_int, action: Option<libc::sigaction>) -> Option<libc::sigaction> {
    let fixed = signal == libc::SIGKILL || signal == libc::SIGSTOP;
    if !(1..=MOST).contains(&signal) || (fixed && action.is_some()) {
        return None;
    }
    // SAFETY: the structure may be zero: what the system does.
    let none: libc::sigaction = unsafe { std::mem::zeroed() };
    signals(|s| {
        let old = s.actions.get(&signal).copied().unwrap_or(none);
        if let Some(action) = action {
            s.actions.insert(signal, action);
        }
        Some(old)
    })
}

fn simple_handler(signal: c_int, function: usize, flags: c_int) -> usize {
    // SAFETY: as above.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    (action.sa_sigaction, action.sa_flags) = (function, flags);
    set_handler(signal, Some(action)).map_or_else(
        || {
            failed(libc::EINVAL);
            libc::SIG_ERR
        },
        |old| old.sa_sigaction,
    )
}

/// Takes a signal of a set that waits, as soon as there is one.
fn take(set: u64, until: Option<Ps>) -> Option<c_int> {
    loop {
        let taken = signals(|s| {
            let due = s.pending & set;
            s.pending &= !(due & due.wrapping_neg());
            (due != 0).then(|| due.trailing_zeros() as c_int + 1)
        });
        if taken.is_some() || until.is_some_and(|u| with(|w, _| w.machine.now) >= u) {
            return taken;
        }
        wait(Reason::of("sigwait", set), until);
    }
}

/// Seconds and microseconds, as timers have them: the time to the next alarm, and from then on between two.
type Spans = [[c_long; 2]; 2];

fn span_of([seconds, us]: [c_long; 2]) -> Option<Ps> {
    u64::try_from(seconds).ok()?.checked_mul(S)?.checked_add(u64::try_from(us).ok()?.checked_mul(US)?)
}

super::calls::calls! {
    outside = Default::default();
    fn alarm(seconds: c_uint) -> c_uint {
        set_alarm(u64::from(seconds).saturating_mul(S), 0).div_ceil(S) as c_uint
    }
    fn ualarm(us: c_uint, every: c_uint) -> c_uint {
        (set_alarm(u64::from(us) * US, u64::from(every) * US) / US) as c_uint
    }
    fn setitimer(which: c_int, new: *const Spans, old: *mut Spans) -> c_int {
        let Some([every, first]) = get(new).filter(|_| which == 0) else { return failed(libc::EINVAL) };
        let (Some(first), Some(every)) = (span_of(first), span_of(every)) else { return failed(libc::EINVAL) };
        let left = set_alarm(first, every);
        let left = [[0, 0], [(left / S) as c_long, (left % S / US) as c_long]];
        if old.is_null() || put(old, left) { 0 } else { failed(libc::EFAULT) }
    }
    fn getitimer(which: c_int, to: *mut Spans) -> c_int {
        let left = with(|w, rank| w.ranks[rank].alarm.1.saturating_sub(w.machine.now));
        let left = [[0, 0], [(left / S) as c_long, (left % S / US) as c_long]];
        if which == 0 && put(to, left) { 0 } else { failed(libc::EINVAL) }
    }
    fn signal(number: c_int, function: usize) -> usize { simple_handler(number, function, libc::SA_RESTART) }
    fn bsd_signal(number: c_int, function: usize) -> usize { simple_handler(number, function, libc::SA_RESTART) }
    fn __sysv_signal(number: c_int, function: usize) -> usize {
        simple_handler(number, function, libc::SA_RESETHAND | libc::SA_NODEFER)
    }
    fn sigaction(number: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int [unsafe { libc::sigaction(number, new, old) }] {
        // SAFETY: the program gives structures of this type, or null.
        let action = (!new.is_null()).then(|| unsafe { *new });
        let Some(before) = set_handler(number, action) else { return failed(libc::EINVAL) };
        if old.is_null() || put(old, before) { 0 } else { failed(libc::EFAULT) }
    }
    fn sigaltstack(new: usize, old: usize) -> c_int { 0 }
    fn sigprocmask(how: c_int, set: *const u64, old: *mut u64) -> c_int {
        match block(how, set, old) { 0 => 0, code => failed(code) }
    }
    fn pthread_sigmask(how: c_int, set: *const u64, old: *mut u64) -> c_int [unsafe { libc::pthread_sigmask(how, set.cast(), old.cast()) }] {
        block(how, set, old)
    }
    fn sigpending(to: *mut u64) -> c_int { if put(to, signals(|s| s.pending)) { 0 } else { failed(libc::EFAULT) } }
    fn raise(number: c_int) -> c_int [unsafe { libc::raise(number) }] { raise_here(number) }
    fn kill(to: c_int, number: c_int) -> c_int [unsafe { libc::kill(to, number) }] { send(to, number) }
    fn killpg(to: c_int, number: c_int) -> c_int { send(-to, number) }
    fn pthread_kill(thread: u64, number: c_int) -> c_int { if number == 0 { 0 } else { raise_here(number) } }
    fn pause() -> c_int { wait_for_handler("pause", None); failed(libc::EINTR) }
    fn sigsuspend(set: *const u64) -> c_int {
        let Some(set) = get(set) else { return failed(libc::EFAULT) };
        let (before, handled) = signals(|s| (std::mem::replace(&mut s.blocked, set), s.handled));
        deliver_pending();
        if signals(|s| s.handled) == handled {
            wait_for_handler("sigsuspend", None);
        }
        signals(|s| s.blocked = before);
        failed(libc::EINTR)
    }
    fn sigwait(set: *const u64, to: *mut c_int) -> c_int {
        let Some(set) = get(set) else { return libc::EFAULT };
        take(set, None).map_or(libc::EINVAL, |signal| if put(to, signal) { 0 } else { libc::EFAULT })
    }
    fn sigwaitinfo(set: *const u64, _information: usize) -> c_int {
        get(set).and_then(|set| take(set, None)).unwrap_or_else(|| failed(libc::EINVAL))
    }
    fn sigtimedwait(set: *const u64, _information: usize, span: *const [c_long; 2]) -> c_int {
        let nanoseconds = |[seconds, rest]: [c_long; 2]| Pair { seconds, rest }.span();
        let (Some(set), Some(span)) = (get(set), get(span).and_then(nanoseconds)) else { return failed(libc::EINVAL) };
        let until = with(|w, _| w.machine.now) + span;
        take(set, Some(until)).unwrap_or_else(|| failed(libc::EAGAIN))
    }
}
