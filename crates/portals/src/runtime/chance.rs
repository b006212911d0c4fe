//! Random numbers of the system: here they follow from the experiment's seed and the rank, so that equal runs are equal.
//!
//! They are no secret, and `getrandom` never waits. What a processor's own instructions give, and files such as `/dev/urandom`, differ from run to run.

#![allow(unsafe_code, reason = "random numbers of the system for others than ranks")]

use super::{guard::copy, state::own, system::by_errno, world::with};
use std::ffi::{c_int, c_uint, c_ulong};

/// Numbers of draws: those of a rank's host have others (`World::jitter`).
const DRAWS: u64 = 1 << 62;

/// Most bytes of one call of `getentropy`.
const MOST: usize = 256;

fn number() -> u64 {
    let own = own();
    own.drawn += 1;
    debug_assert!(own.drawn < DRAWS, "a rank draws fewer numbers than there are");
    let number = DRAWS | own.drawn;
    with(|w, rank| w.machine.chance(rank, number).next_u64())
}

/// Fills memory of a program; false if it is not there.
fn fill(to: usize, bytes: usize) -> bool {
    (0..bytes).step_by(size_of::<u64>()).all(|at| {
        let number = number();
        copy((to + at) as u64, &raw const number as u64, (bytes - at).min(size_of::<u64>()))
    })
}

/// The same for a thread that is no rank's.
fn fill_outside(to: usize, bytes: usize) -> isize {
    // SAFETY: a library's own thread gives its memory.
    unsafe { libc::getrandom(to as *mut _, bytes, 0) }
}

fn outside() -> u32 {
    let mut number = 0u32;
    fill_outside(&raw mut number as usize, size_of::<u32>());
    number
}

/// A value of the process: 16 random bytes are the rank's own.
fn value_of(which: c_ulong) -> c_ulong {
    if which != libc::AT_RANDOM {
        // SAFETY: it reads what the system gave this process when it began.
        return unsafe { libc::getauxval(which) };
    }
    let own = own();
    if own.sixteen == [0; 2] {
        own.sixteen = [number(), number()];
    }
    debug_assert_ne!(own.sixteen, [0; 2], "two random numbers are not both zero");
    own.sixteen.as_ptr() as c_ulong
}

super::calls::calls! {
    outside = Default::default();
    fn getrandom(to: usize, bytes: usize, flags: c_uint) -> isize [fill_outside(to, bytes)] {
        if fill(to, bytes) { bytes as isize } else { by_errno(libc::EFAULT) as isize }
    }
    fn getentropy(to: usize, bytes: usize) -> c_int [unsafe { libc::getentropy(to as *mut _, bytes) }] {
        if bytes > MOST {
            return by_errno(libc::EIO);
        }
        if fill(to, bytes) { 0 } else { by_errno(libc::EFAULT) }
    }
    fn arc4random() -> u32 [outside()] { number() as u32 }
    fn arc4random_buf(to: usize, bytes: usize) -> c_int [fill_outside(to, bytes) as c_int] { c_int::from(fill(to, bytes)) }
    fn arc4random_uniform(bound: u32) -> u32 [outside() % bound.max(1)] { (number() % u64::from(bound.max(1))) as u32 }
    fn getauxval(which: c_ulong) -> c_ulong [unsafe { libc::getauxval(which) }] { value_of(which) }
    fn __getauxval(which: c_ulong) -> c_ulong [unsafe { libc::getauxval(which) }] { value_of(which) }
    fn _ZNSt13random_device9_M_getvalEv(device: usize) -> u32 [outside()] { number() as u32 }
    fn _ZNSt13random_device16_M_getval_pretr1Ev(device: usize) -> u32 [outside()] { number() as u32 }
}
