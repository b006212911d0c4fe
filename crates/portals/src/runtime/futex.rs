//! Futexes: waiting for a word of memory to change, on which the library of C++ builds atomics that wait, semaphores, latches, barriers and futures.
//!
//! Who waits stands in a list, in the order in which threads came, by the address of the word: ranks share one address space, and no word belongs to two of
//! them by chance. Operations of futexes that inherit priorities are not there.

use super::{
    guard::get,
    spans::{Pair, now_at},
    threads::{FutexWait, Reason, Status},
    world::{wait, with},
};
use base::time::Ps;
use std::ffi::{c_int, c_long};

/// Any waiting thread, where those that wait say which ones they are by bits.
const ANY: u32 = u32::MAX;

/// Operations, without the flags below.
mod operation {
    pub const WAIT: usize = 0;
    pub const WAKE: usize = 1;
    pub const REQUEUE: usize = 3;
    pub const CMP_REQUEUE: usize = 4;
    pub const WAIT_BITSET: usize = 9;
    pub const WAKE_BITSET: usize = 10;
}

/// Flags: a futex of one process, and which clock counts. All clocks are the same here.
const FLAGS: usize = 128 | 256;

/// A call of the system: what it returns, or its error. None for an operation that is not there.
pub fn call([address, operation, value, fourth, other, last]: [usize; 6]) -> Option<Result<c_long, c_int>> {
    let value = value as u32;
    Some(match operation & !FLAGS {
        operation::WAIT => {
            let span = if fourth == 0 { Some(None) } else { time_at(fourth).map(|p| p.span()) };
            match (fourth, span) {
                (0, _) => wait_at(address, value, ANY, None),
                (_, Some(Some(span))) => wait_at(address, value, ANY, Some(now_at().saturating_add(span))),
                _ => Err(libc::EINVAL),
            }
        }
        operation::WAIT_BITSET => match (fourth, time_at(fourth).and_then(Pair::instant)) {
            (0, _) => wait_at(address, value, last as u32, None),
            (_, Some(until)) => wait_at(address, value, last as u32, Some(until)),
            _ => Err(libc::EINVAL),
        },
        operation::WAKE => Ok(wake(address, value, ANY)),
        operation::WAKE_BITSET => Ok(wake(address, value, last as u32)),
        operation::REQUEUE => Ok(requeue(address, value, other, fourth as u32)),
        operation::CMP_REQUEUE => match get(address as *const u32) {
            Some(found) if found == last as u32 => Ok(requeue(address, value, other, fourth as u32)),
            Some(_) => Err(libc::EAGAIN),
            None => Err(libc::EFAULT),
        },
        _ => return None,
    })
}

fn time_at(address: usize) -> Option<Pair> {
    get(address as *const Pair)
}

/// Waits until somebody wakes the thread, or a time, if the word holds what the program believes.
fn wait_at(address: usize, expected: u32, bits: u32, until: Option<Ps>) -> Result<c_long, c_int> {
    if bits == 0 || !address.is_multiple_of(size_of::<u32>()) {
        return Err(libc::EINVAL);
    }
    match get(address as *const u32) {
        None => return Err(libc::EFAULT),
        Some(found) if found != expected => return Err(libc::EAGAIN),
        Some(_) => {}
    }
    let own = with(|w, _| {
        let thread = w.current;
        debug_assert!(w.futexes.iter().all(|f| f.thread != thread), "a thread waits for one word at a time");
        w.futexes.push(FutexWait { thread, address, bits });
        thread
    });
    while with(|w, _| w.futexes.iter().any(|f| f.thread == own)) {
        if until.is_some_and(|u| now_at() >= u) {
            with(|w, _| w.futexes.retain(|f| f.thread != own));
            return Err(libc::ETIMEDOUT);
        }
        wait(Reason::of("futex", address as u64), until);
    }
    Ok(0)
}

/// Wakes threads that wait for a word: so many at most, in the order in which they came. How many those were.
fn wake(address: usize, most: u32, bits: u32) -> c_long {
    with(|w, _| {
        let mut woken = Vec::new();
        let (threads, ranks) = (&w.threads, &w.ranks);
        w.futexes.retain(|f| {
            let over = ranks[threads[f.thread as usize].rank].status != Status::Running;
            let chosen = f.address == address && f.bits & bits != 0 && woken.len() < most as usize && !over;
            if chosen {
                woken.push(f.thread);
            }
            !chosen && !over
        });
        debug_assert!(woken.len() <= most as usize, "no more are woken than was asked for");
        if !woken.is_empty() {
            w.active();
        }
        for &thread in &woken {
            w.wake(thread);
        }
        woken.len() as c_long
    })
}

/// Wakes some that wait for a word, and lets others wait for another one.
fn requeue(address: usize, most: u32, other: usize, moved: u32) -> c_long {
    let woken = wake(address, most, ANY);
    let mut left = moved;
    with(|w, _| {
        for f in w.futexes.iter_mut().filter(|f| f.address == address) {
            if left == 0 {
                break;
            }
            f.address = other;
            left -= 1;
        }
    });
    debug_assert!(left <= moved, "no more are moved than was asked for");
    woken + c_long::from(moved - left)
}
