//! Functions of the C library whose results lie in memory that the next call writes again: here each rank has its own.

#![allow(unsafe_code, reason = "functions of the C library on arguments of programs")]

use super::state::own;
use std::ffi::{c_char, c_int, c_long};

/// A row of a hash table: a name and what goes with it.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Entry {
    name: *mut c_char,
    data: usize,
}

/// The C library's own, and its forms that take their state.
mod real {
    use super::{Entry, c_char, c_int};
    unsafe extern "C" {
        pub fn strsignal(signal: c_int) -> *mut c_char;
        pub fn ecvt_r(
            value: f64,
            digits: c_int,
            point: *mut c_int,
            sign: *mut c_int,
            to: *mut c_char,
            size: usize,
        ) -> c_int;
        pub fn fcvt_r(
            value: f64,
            digits: c_int,
            point: *mut c_int,
            sign: *mut c_int,
            to: *mut c_char,
            size: usize,
        ) -> c_int;
        pub fn hcreate_r(count: usize, table: *mut [u64; 2]) -> c_int;
        pub fn hsearch_r(entry: Entry, action: c_int, to: *mut *mut Entry, table: *mut [u64; 2]) -> c_int;
        pub fn hdestroy_r(table: *mut [u64; 2]);
    }
}

/// Digits of numbers in base 64.
const DIGITS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The 32 lowest bits of a number in base 64, the lowest digit first.
fn base64(number: c_long) -> *mut c_char {
    let (to, mut rest) = (&mut own().base64, number as u32);
    let mut at = 0;
    while rest > 0 {
        to[at] = DIGITS[(rest % 64) as usize] as c_char;
        rest /= 64;
        at += 1;
    }
    debug_assert!(at <= 6, "six digits hold 32 bits");
    to[at] = 0;
    to.as_mut_ptr()
}

/// Copies a text of the C library to the rank's memory, cut if it is longer.
fn signal_text(signal: c_int) -> *mut c_char {
    let to = &mut own().signal_text;
    // SAFETY: the C library gives a C string; the last byte of ours stays zero.
    unsafe { libc::strncpy(to.as_mut_ptr(), real::strsignal(signal), to.len() - 1) }
}

super::calls::calls! {
    outside = Default::default();
    fn strerror(code: c_int) -> *mut c_char [unsafe { libc::strerror(code) }] {
        let to = &mut own().error_text;
        unsafe { libc::strerror_r(code, to.as_mut_ptr(), to.len()) };
        to.as_mut_ptr()
    }
    fn strsignal(signal: c_int) -> *mut c_char [unsafe { real::strsignal(signal) }] { signal_text(signal) }
    fn ecvt(value: f64, digits: c_int, point: *mut c_int, sign: *mut c_int) -> *mut c_char [std::ptr::null_mut()] {
        let to = &mut own().digits;
        unsafe { real::ecvt_r(value, digits, point, sign, to.as_mut_ptr(), to.len()) };
        to.as_mut_ptr()
    }
    fn fcvt(value: f64, digits: c_int, point: *mut c_int, sign: *mut c_int) -> *mut c_char [std::ptr::null_mut()] {
        let to = &mut own().digits;
        unsafe { real::fcvt_r(value, digits, point, sign, to.as_mut_ptr(), to.len()) };
        to.as_mut_ptr()
    }
    fn l64a(number: c_long) -> *mut c_char [std::ptr::null_mut()] { base64(number) }
    fn hcreate(count: usize) -> c_int { unsafe { real::hcreate_r(count, &raw mut own().table) } }
    fn hsearch(entry: Entry, action: c_int) -> *mut Entry [std::ptr::null_mut()] {
        let mut found = std::ptr::null_mut();
        unsafe { real::hsearch_r(entry, action, &raw mut found, &raw mut own().table) };
        found
    }
    fn hdestroy() -> c_int { unsafe { real::hdestroy_r(&raw mut own().table) }; 0 }
}
