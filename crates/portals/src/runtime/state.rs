//! Functions of the C library that keep something between their calls: here for each rank.
//!
//! What they keep is in `Own` (`own.rs`); what they compute the C library computes, by its forms that take their state.

#![allow(unsafe_code, reason = "functions of the C library on arguments of programs")]

use super::{
    cxx,
    getopt::{Asked, LongOption},
    guard,
    own::{self, Own, Random48, RandomData},
    world::with,
};
use std::ffi::{CStr, CString, c_char, c_double, c_int, c_long, c_uint, c_ushort, c_void};

/// Functions whose names ours have too.
mod real {
    use std::ffi::{c_int, c_uint};
    unsafe extern "C" {
        pub fn rand_r(seed: *mut c_uint) -> c_int;
    }
}

unsafe extern "C" {
    static mut environ: *mut *mut c_char;
    fn random_r(data: *mut RandomData, to: *mut i32) -> c_int;
    fn srandom_r(seed: c_uint, data: *mut RandomData) -> c_int;
    fn initstate_r(seed: c_uint, state: *mut c_char, size: usize, data: *mut RandomData) -> c_int;
    fn setstate_r(state: *mut c_char, data: *mut RandomData) -> c_int;
    fn drand48_r(data: *mut Random48, to: *mut c_double) -> c_int;
    fn lrand48_r(data: *mut Random48, to: *mut c_long) -> c_int;
    fn mrand48_r(data: *mut Random48, to: *mut c_long) -> c_int;
    fn erand48_r(x: *mut c_ushort, data: *mut Random48, to: *mut c_double) -> c_int;
    fn nrand48_r(x: *mut c_ushort, data: *mut Random48, to: *mut c_long) -> c_int;
    fn jrand48_r(x: *mut c_ushort, data: *mut Random48, to: *mut c_long) -> c_int;
    fn srand48_r(seed: c_long, data: *mut Random48) -> c_int;
    fn seed48_r(x: *mut c_ushort, data: *mut Random48) -> c_int;
    fn lcong48_r(x: *mut c_ushort, data: *mut Random48) -> c_int;
}

/// What the rank that runs has for itself.
pub(super) fn own<'a>() -> &'a mut Own {
    debug_assert!(guard::in_rank(), "only the rank that runs reaches what it has");
    let own = with(|w, rank| &raw mut *w.ranks[rank].own);
    // SAFETY: it lies in a box of its own that lives as long as the run; only calls of the rank that runs reach it, one at a time, and none of them keeps it while
    // another runs.
    unsafe { &mut *own }
}

/// A number that one of the C library's functions writes.
fn given<T: Default>(f: impl FnOnce(*mut T)) -> T {
    let mut value = T::default();
    f(&raw mut value);
    value
}

fn options(argc: c_int, argv: *mut *mut c_char, asked: &Asked) -> c_int {
    // SAFETY: the program gives its arguments as for the C library.
    let (code, complaint) = unsafe { own().options.next(argc, argv, asked) };
    if let Some(text) = complaint {
        with(|w, rank| (w.sink)(rank.number(), true, text.as_bytes()));
    }
    code
}

fn short_ones(short: *const c_char) -> Asked {
    Asked { short, long: std::ptr::null(), index: std::ptr::null_mut(), only: false }
}

fn next_random() -> i32 {
    let data = own().random();
    // SAFETY: the generator is begun.
    given(|to| unsafe {
        random_r(data, to);
    })
}

fn set_errno(code: c_int) -> c_int {
    // SAFETY: the location is this thread's own.
    unsafe { *libc::__errno_location() = code };
    -1
}

/// The rank's own list of variables, made when it first changes one: the others go on reading the list that all began with.
fn variables(own: &mut Own) -> &mut Vec<*mut c_char> {
    // SAFETY: the list ends with a null.
    unsafe {
        if own.variables.is_empty() || environ != own.variables.as_mut_ptr() {
            let all = environ;
            let count =
                if all.is_null() { 0 } else { (0..).take_while(|&n| !(*all.add(n)).is_null()).count() };
            own.variables = (0..count).map(|n| *all.add(n)).collect();
            own.variables.push(std::ptr::null_mut());
        }
    }
    &mut own.variables
}

/// Gives a variable a text of the form `name=value`; without one it is removed.
fn change(name: &[u8], text: Option<*mut c_char>) {
    let own = own();
    let all = variables(own);
    // SAFETY: variables are C strings.
    let is_it = |v: *mut c_char| unsafe {
        !v.is_null()
            && CStr::from_ptr(v).to_bytes().strip_prefix(name).is_some_and(|rest| rest.first() == Some(&b'='))
    };
    match (all.iter().position(|&v| is_it(v)), text) {
        (Some(place), Some(text)) => all[place] = text,
        (None, Some(text)) => all.insert(all.len() - 1, text),
        (_, None) => all.retain(|&v| !is_it(v)),
    }
    // SAFETY: the list ends with a null and stays until it is changed again, which ends in this line.
    unsafe { environ = own.variables.as_mut_ptr() };
}

/// A name of a variable, if it is one.
fn name_of<'a>(name: *const c_char) -> Option<&'a [u8]> {
    // SAFETY: the program gives a C string or null.
    let name = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_bytes())?;
    (!name.is_empty() && !name.contains(&b'=')).then_some(name)
}

fn set_variable(name: *const c_char, value: *const c_char, replace: bool) -> c_int {
    let Some(bytes) = name_of(name) else { return set_errno(libc::EINVAL) };
    // SAFETY: both are C strings.
    let (there, value) = unsafe { (!libc::getenv(name).is_null(), CStr::from_ptr(value).to_bytes()) };
    if replace || !there {
        // As in the C library texts stay: a program may hold any of them.
        let text = [bytes, b"=", value].concat();
        change(bytes, CString::new(text).ok().map(CString::into_raw));
    }
    0
}

/// Goes to a directory, and remembers it for the rank.
fn go(gone: c_int) -> c_int {
    if gone != 0 {
        return gone;
    }
    let own = own();
    // SAFETY: the name is a C string; a descriptor that is replaced was the rank's own.
    unsafe {
        let to = libc::open(c".".as_ptr(), libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC);
        if own.directory >= 0 {
            libc::close(own.directory);
        }
        own.directory = to;
    }
    own::changed(own);
    0
}

/// What C++ calls or uses at the rank's wish; gives what was there.
fn set_handler(which: usize, to: usize) -> usize {
    let own = own();
    own.handlers[which] = to;
    own::changed(own);
    cxx::set_handler(which, to)
}

super::calls::calls! {
    outside = Default::default();
    fn getopt(argc: c_int, argv: *mut *mut c_char, short: *const c_char) -> c_int [-1] {
        options(argc, argv, &short_ones(short))
    }
    fn getopt_long(argc: c_int, argv: *mut *mut c_char, short: *const c_char, long: *const LongOption, index: *mut c_int) -> c_int [-1] {
        options(argc, argv, &Asked { short, long, index, only: false })
    }
    fn getopt_long_only(argc: c_int, argv: *mut *mut c_char, short: *const c_char, long: *const LongOption, index: *mut c_int) -> c_int [-1] {
        options(argc, argv, &Asked { short, long, index, only: true })
    }
    fn rand() -> c_int [unsafe { libc::rand() }] { next_random() }
    fn random() -> c_long [c_long::from(unsafe { libc::rand() })] { c_long::from(next_random()) }
    fn rand_r(seed: *mut c_uint) -> c_int [unsafe { real::rand_r(seed) }] { unsafe { real::rand_r(seed) } }
    fn srand(seed: c_uint) -> c_int { unsafe { srandom_r(seed, own().random()) } }
    fn srandom(seed: c_uint) -> c_int { unsafe { srandom_r(seed, own().random()) } }
    fn initstate(seed: c_uint, state: *mut c_char, size: usize) -> *mut c_char [std::ptr::null_mut()] {
        let before = own().random_state();
        if unsafe { initstate_r(seed, state, size, own().random()) } == 0 { before } else { std::ptr::null_mut() }
    }
    fn setstate(state: *mut c_char) -> *mut c_char [std::ptr::null_mut()] {
        let before = own().random_state();
        if unsafe { setstate_r(state, own().random()) } == 0 { before } else { std::ptr::null_mut() }
    }
    fn drand48() -> c_double { given(|to| unsafe { drand48_r(&raw mut own().random48, to); }) }
    fn lrand48() -> c_long { given(|to| unsafe { lrand48_r(&raw mut own().random48, to); }) }
    fn mrand48() -> c_long { given(|to| unsafe { mrand48_r(&raw mut own().random48, to); }) }
    fn erand48(x: *mut c_ushort) -> c_double { given(|to| unsafe { erand48_r(x, &raw mut own().random48, to); }) }
    fn nrand48(x: *mut c_ushort) -> c_long { given(|to| unsafe { nrand48_r(x, &raw mut own().random48, to); }) }
    fn jrand48(x: *mut c_ushort) -> c_long { given(|to| unsafe { jrand48_r(x, &raw mut own().random48, to); }) }
    fn srand48(seed: c_long) -> c_int { unsafe { srand48_r(seed, &raw mut own().random48) } }
    fn lcong48(x: *mut c_ushort) -> c_int { unsafe { lcong48_r(x, &raw mut own().random48) } }
    fn seed48(x: *mut c_ushort) -> *mut c_ushort [std::ptr::null_mut()] {
        let own = own();
        unsafe { seed48_r(x, &raw mut own.random48) };
        own.random48.old.as_mut_ptr()
    }
    fn strtok(text: *mut c_char, ends: *const c_char) -> *mut c_char [unsafe { libc::strtok(text, ends) }] {
        unsafe { libc::strtok_r(text, ends, &raw mut own().token) }
    }
    fn setenv(name: *const c_char, value: *const c_char, replace: c_int) -> c_int [unsafe { libc::setenv(name, value, replace) }] {
        set_variable(name, value, replace != 0)
    }
    fn putenv(text: *mut c_char) -> c_int [-1] {
        let whole = unsafe { CStr::from_ptr(text) }.to_bytes();
        match whole.iter().position(|&b| b == b'=') {
            Some(equal) => change(&whole[..equal], Some(text)),
            None => change(whole, None),
        }
        0
    }
    fn unsetenv(name: *const c_char) -> c_int [unsafe { libc::unsetenv(name) }] {
        let Some(bytes) = name_of(name) else { return set_errno(libc::EINVAL) };
        change(bytes, None);
        0
    }
    fn clearenv() -> c_int [-1] {
        let own = own();
        own.variables = vec![std::ptr::null_mut()];
        unsafe { environ = own.variables.as_mut_ptr() };
        0
    }
    fn chdir(path: *const c_char) -> c_int [unsafe { libc::chdir(path) }] { go(unsafe { libc::chdir(path) }) }
    fn fchdir(to: c_int) -> c_int [unsafe { libc::fchdir(to) }] { go(unsafe { libc::fchdir(to) }) }
    fn umask(mask: libc::mode_t) -> libc::mode_t [unsafe { libc::umask(mask) }] {
        let own = own();
        own.mask = Some(mask);
        own::changed(own);
        unsafe { libc::umask(mask) }
    }
    fn setlocale(category: c_int, name: *const c_char) -> *const c_char [std::ptr::null()] {
        super::locale::set(own(), category, name)
    }
    fn uselocale(to: *mut c_void) -> *mut c_void [unsafe { libc::uselocale(to.cast()).cast() }] {
        let own = own();
        let before = if own.thread_locale.is_null() { own::FIRST_LOCALE } else { own.thread_locale };
        if !to.is_null() {
            own.thread_locale = if to == own::FIRST_LOCALE { std::ptr::null_mut() } else { to };
            unsafe { libc::uselocale(own.locale().cast()) };
            own::changed(own);
        }
        before
    }
    fn _ZSt13set_terminatePFvvE(to: usize) -> usize [cxx::set_handler(0, to)] { set_handler(0, to) }
    fn _ZSt15set_new_handlerPFvvE(to: usize) -> usize [cxx::set_handler(1, to)] { set_handler(1, to) }
    fn _ZNSt3pmr20set_default_resourceEPNS_15memory_resourceE(to: usize) -> usize [cxx::set_handler(2, to)] { set_handler(2, to) }
    fn getpid() -> c_int [unsafe { libc::getpid() }] { with(|_, rank| super::signals::pid(rank)) }
    fn getppid() -> c_int [unsafe { libc::getppid() }] { super::signals::PARENT }
    fn getpgrp() -> c_int [unsafe { libc::getpgrp() }] { super::signals::PARENT }
}
