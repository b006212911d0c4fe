//! Timers of POSIX and timers behind descriptors, in simulated time.
//!
//! A timer that is set has a thread of its rank, which waits for its time and lets happen what is to: a signal, a call of a function, or another one counted at the descriptor.
//! Such a descriptor is an event counter of the system, so that it can be read and waited for like any other. Functions of one timer are called one after
//! another, in the timer's thread.

#![allow(unsafe_code, reason = "descriptors, and functions that programs give")]

use super::{
    guard::{get, put},
    own::{Cause, Expiry, Timer},
    signals,
    spans::{Pair, now_at},
    system::by_errno,
    threads::Entry,
    world::{end_thread, pause, with},
};
use base::time::{NS, Ps, S};
use std::ffi::{c_int, c_long};

/// From one expiry to the next, and to the first; as programs give and get them.
type Spans = [Pair; 2];

/// What is to happen, as programs describe it: a value, a signal, the kind, a function.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Event {
    value: usize,
    signal: c_int,
    kind: c_int,
    function: usize,
}

fn timer<T>(number: usize, f: impl FnOnce(&mut Timer) -> T) -> Option<T> {
    with(|w, rank| w.ranks[rank].own.timers.get_mut(number).map(f))
}

/// Adds a timer that is not set; its number.
fn add(does: Expiry) -> usize {
    with(|w, rank| {
        let timers = &mut w.ranks[rank].own.timers;
        timers.push(Timer { does, at: 0, every: 0, overruns: 0, thread: None });
        timers.len() - 1
    })
}

/// Lets a timer expire as often as it is set to; the thread ends when it no longer is.
pub fn ring(number: usize) -> ! {
    loop {
        let now = now_at();
        let due = timer(number, |t| {
            let due = t.at;
            if due == 0 {
                t.thread = None;
            } else if due <= now {
                t.at = if t.every > 0 { due + t.every } else { 0 };
            }
            due
        });
        match due {
            None | Some(0) => end_thread(0),
            Some(at) if at > now => pause(at - now),
            Some(_) => expire(number),
        }
    }
}

fn expire(number: usize) {
    match timer(number, |t| t.does) {
        Some(Expiry::Signal(signal, value)) => {
            debug_assert!((1..=64).contains(&signal), "timers of other numbers are refused");
            let pending = with(|w, rank| w.ranks[rank].own.signals.pending >> (signal - 1) & 1 == 1);
            let _ = timer(number, |t| t.overruns = if pending { t.overruns + 1 } else { 0 });
            signals::raise_for(signal, Cause { code: libc::SI_TIMER, words: [number as u64, value as u64] });
        }
        Some(Expiry::Function(function, value)) => {
            // SAFETY: the program gave a function of this type for its timer.
            unsafe { std::mem::transmute::<usize, extern "C" fn(usize)>(function)(value) };
        }
        Some(Expiry::Descriptor { own, .. }) => {
            let one = 1u64;
            // SAFETY: the counter is open, and eight bytes add to it.
            unsafe { libc::write(own, (&raw const one).cast(), size_of::<u64>()) };
            with(|w, rank| w.wake_rank(rank));
        }
        Some(Expiry::Nothing | Expiry::Gone) | None => {}
    }
}

/// Sets a timer, or stops it with a span of 0. Its thread sees it, or begins.
fn set(number: usize, absolute: bool, [every, first]: Spans) -> Option<()> {
    let (every, now) = (every.span()?, now_at());
    let at = match first.span()? {
        0 => 0,
        first if absolute => first.max(1),
        first => now.saturating_add(first),
    };
    debug_assert!(every == 0 || every >= NS, "spans are given in nanoseconds");
    let (thread, waits) = timer(number, |t| {
        (t.at, t.every, t.overruns) = (at, every, 0);
        (t.thread, t.does != Expiry::Nothing && at > 0)
    })?;
    match thread {
        Some(thread) => with(|w, _| w.wake(thread)),
        None if waits => {
            let thread = with(|w, rank| w.spawn(rank, Entry::Timer(number)));
            let _ = timer(number, |t| t.thread = Some(thread));
        }
        None => {}
    }
    Some(())
}

/// Intervals and what is left to the next expiry.
fn left(number: usize) -> Option<Spans> {
    let now = now_at();
    let (every, left) = timer(number, |t| {
        // Nobody counts those of a timer at which nothing happens.
        if t.at > 0 && t.at <= now && t.does == Expiry::Nothing {
            let more = (now - t.at).checked_div(t.every).map_or(0, |rounds| rounds + 1);
            t.at = if more > 0 { t.at + more * t.every } else { 0 };
        }
        (t.every, t.at.saturating_sub(now))
    })?;
    let pair = |span: Ps| Pair { seconds: (span / S) as c_long, rest: (span % S / NS) as c_long };
    Some([pair(every), pair(left)])
}

/// Sets a timer and gives what was left: the code of a call.
fn change(number: Option<usize>, absolute: bool, new: *const Spans, old: *mut Spans) -> c_int {
    let Some((number, before)) = number.and_then(|n| Some((n, left(n)?))) else {
        return by_errno(libc::EINVAL);
    };
    let Some(new) = get(new) else { return by_errno(libc::EFAULT) };
    if !old.is_null() && !put(old, before) {
        return by_errno(libc::EFAULT);
    }
    if set(number, absolute, new).is_some() { 0 } else { by_errno(libc::EINVAL) }
}

/// Number of a timer by the handle that programs have: one more, so that none is null.
fn of(handle: usize) -> Option<usize> {
    let number = handle.checked_sub(1)?;
    timer(number, |t| t.does != Expiry::Gone).filter(|&there| there).map(|_| number)
}

/// Number of the timer behind a descriptor.
fn behind(descriptor: c_int) -> Option<usize> {
    let is_it = |t: &Timer| matches!(t.does, Expiry::Descriptor { shown, .. } if shown == descriptor);
    with(|w, rank| w.ranks[rank].own.timers.iter().position(is_it))
}

fn create(event: *const Event, to: *mut usize) -> c_int {
    let does = if event.is_null() {
        Some(Expiry::Signal(libc::SIGALRM, 0))
    } else {
        get(event).and_then(|e| match e.kind {
            libc::SIGEV_NONE => Some(Expiry::Nothing),
            libc::SIGEV_SIGNAL | libc::SIGEV_THREAD_ID if (1..=64).contains(&e.signal) => {
                Some(Expiry::Signal(e.signal, e.value))
            }
            libc::SIGEV_THREAD => Some(Expiry::Function(e.function, e.value)),
            _ => None,
        })
    };
    let Some(does) = does else { return by_errno(libc::EINVAL) };
    let number = add(does);
    if put(to, number + 1) { 0 } else { by_errno(libc::EFAULT) }
}

fn create_descriptor(flags: c_int) -> c_int {
    // SAFETY: both make descriptors; the flags of event counters are those of timers.
    unsafe {
        let shown = libc::eventfd(0, flags);
        if shown < 0 {
            return shown;
        }
        let own = libc::fcntl(shown, libc::F_DUPFD_CLOEXEC, 3);
        if own < 0 {
            libc::close(shown);
            return own;
        }
        add(Expiry::Descriptor { shown, own });
        shown
    }
}

/// Expiries that nobody has read count no more.
fn drain(descriptor: c_int) {
    debug_assert!(descriptor >= 0, "a timer's descriptor is open");
    let mut none = 0u64;
    let mut look = libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
    // SAFETY: one descriptor is looked at; what can be read of a counter is eight bytes.
    unsafe {
        if libc::poll(&raw mut look, 1, 0) == 1 {
            libc::read(descriptor, (&raw mut none).cast(), size_of::<u64>());
        }
    }
}

super::calls::calls! {
    outside = -1;
    fn timer_create(clock: c_int, event: *const Event, to: *mut usize) -> c_int { create(event, to) }
    fn timer_settime(handle: usize, flags: c_int, new: *const Spans, old: *mut Spans) -> c_int {
        change(of(handle), flags & libc::TIMER_ABSTIME != 0, new, old)
    }
    fn timer_gettime(handle: usize, to: *mut Spans) -> c_int {
        match of(handle).and_then(left) {
            None => by_errno(libc::EINVAL),
            Some(spans) => if put(to, spans) { 0 } else { by_errno(libc::EFAULT) },
        }
    }
    fn timer_getoverrun(handle: usize) -> c_int {
        of(handle).and_then(|n| timer(n, |t| t.overruns)).unwrap_or_else(|| by_errno(libc::EINVAL))
    }
    fn timer_delete(handle: usize) -> c_int {
        let Some(number) = of(handle) else { return by_errno(libc::EINVAL) };
        let _ = set(number, false, Spans::default());
        let _ = timer(number, |t| t.does = Expiry::Gone);
        0
    }
    fn timerfd_create(clock: c_int, flags: c_int) -> c_int { create_descriptor(flags) }
    fn timerfd_settime(descriptor: c_int, flags: c_int, new: *const Spans, old: *mut Spans) -> c_int {
        let number = behind(descriptor);
        if number.is_some() {
            drain(descriptor);
        }
        change(number, flags & libc::TFD_TIMER_ABSTIME != 0, new, old)
    }
    fn timerfd_gettime(descriptor: c_int, to: *mut Spans) -> c_int {
        match behind(descriptor).and_then(left) {
            None => by_errno(libc::EINVAL),
            Some(spans) => if put(to, spans) { 0 } else { by_errno(libc::EFAULT) },
        }
    }
}
