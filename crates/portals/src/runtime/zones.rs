//! Time zones: each rank has the one that its environment names.
//!
//! The C library keeps one zone, and looks at the environment again in some functions and not in others. Here all of them look, and what programs read by name (`timezone`,
//! `daylight`, `tzname`) is the rank's own.

#![allow(unsafe_code, reason = "functions of the C library on arguments of programs")]

use super::state::own;
use std::ffi::{c_char, c_int, c_long};

/// The C library's own.
mod real {
    use std::ffi::{c_char, c_int, c_long};
    unsafe extern "C" {
        pub static mut timezone: c_long;
        pub static mut daylight: c_int;
        pub static mut tzname: [*mut c_char; 2];
        pub fn tzset();
        pub fn mktime(parts: *mut libc::tm) -> c_long;
        pub fn asctime_r(parts: *const libc::tm, to: *mut c_char) -> *mut c_char;
        pub fn ctime_r(time: *const c_long, to: *mut c_char) -> *mut c_char;
    }
}

/// The zone is the rank's; it has what the C library says of it.
fn zoned<T>(f: impl FnOnce() -> T) -> T {
    // SAFETY: one thread simulates, and the environment is that of the rank that runs; names of zones stay once they are there.
    unsafe { real::tzset() };
    let result = f();
    let zone = &mut own().zone;
    // SAFETY: as above; the variables are read.
    unsafe { (zone.west, zone.daylight, zone.names) = (real::timezone, real::daylight, real::tzname) };
    debug_assert!(zone.names.iter().all(|n| !n.is_null()), "a zone has two names");
    result
}

/// Texts of times go to the rank's own memory.
fn text(f: impl FnOnce(*mut c_char) -> *mut c_char) -> *mut c_char {
    f(own().text.as_mut_ptr())
}

super::calls::calls! {
    outside = std::ptr::null_mut();
    fn tzset() -> c_int [0] { zoned(|| 0) }
    fn localtime(time: *const c_long) -> *mut libc::tm [unsafe { libc::localtime(time) }] {
        zoned(|| unsafe { libc::localtime_r(time, &raw mut own().parts) })
    }
    fn localtime_r(time: *const c_long, to: *mut libc::tm) -> *mut libc::tm [unsafe { libc::localtime_r(time, to) }] {
        zoned(|| unsafe { libc::localtime_r(time, to) })
    }
    fn mktime(parts: *mut libc::tm) -> c_long [unsafe { real::mktime(parts) }] { zoned(|| unsafe { real::mktime(parts) }) }
    fn timelocal(parts: *mut libc::tm) -> c_long [unsafe { real::mktime(parts) }] { zoned(|| unsafe { real::mktime(parts) }) }
    fn gmtime(time: *const c_long) -> *mut libc::tm [unsafe { libc::gmtime(time) }] {
        unsafe { libc::gmtime_r(time, &raw mut own().parts) }
    }
    fn asctime(parts: *const libc::tm) -> *mut c_char { text(|to| unsafe { real::asctime_r(parts, to) }) }
    fn ctime(time: *const c_long) -> *mut c_char { zoned(|| text(|to| unsafe { real::ctime_r(time, to) })) }
    fn ctime_r(time: *const c_long, to: *mut c_char) -> *mut c_char [unsafe { real::ctime_r(time, to) }] {
        zoned(|| unsafe { real::ctime_r(time, to) })
    }
}
