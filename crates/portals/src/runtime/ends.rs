//! How ranks end, and what would make processes of them: exits, hooks, aborts, failed checks of the C library; forks and other programs, which are refused.

#![allow(unsafe_code, reason = "texts of programs")]

use super::{
    signals,
    threads::Hook,
    world::{self, with},
};
use std::ffi::{CStr, c_char, c_int, c_uint};

/// Prints a line on the rank's error.
pub(super) fn print_error(text: &str) {
    debug_assert!(text.ends_with('\n'), "an error is a whole line");
    with(|w, rank| (w.sink)(rank.number(), true, text.as_bytes()));
}

fn failed_assertion(what: *const c_char, file: *const c_char, line: c_uint, function: *const c_char) -> ! {
    let text = |p: *const c_char| {
        // SAFETY: the C library's macro gives C strings or null.
        if p.is_null() { "?".into() } else { unsafe { CStr::from_ptr(p) }.to_string_lossy() }
    };
    print_error(&format!("{}:{line}: {}: assertion `{}` failed\n", text(file), text(function), text(what)));
    signals::abort()
}

/// A rank stays one process: what would begin another, or take its place, fails.
pub(super) fn refused(call: &str) -> c_int {
    print_error(&format!(
        "{call} is refused: a simulated rank begins no other process and no other program\n"
    ));
    // SAFETY: the location is this thread's own.
    unsafe { *libc::__errno_location() = libc::ENOSYS };
    -1
}

/// Adds a function to those that are called at the end.
fn hook(hook: Hook) -> c_int {
    with(|w, r| w.ranks[r].hooks.push(hook));
    0
}

fn quick_hook(function: usize) -> c_int {
    with(|w, r| w.ranks[r].own.quick_hooks.push(function));
    0
}

fn quick_exit_of(status: c_int) -> ! {
    while let Some(function) = with(|w, r| w.ranks[r].own.quick_hooks.pop()) {
        // SAFETY: the program gave a function of this type to be called at its end.
        unsafe { std::mem::transmute::<usize, extern "C" fn()>(function)() };
    }
    world::exit(status & 0xff, false)
}

super::calls::calls! {
    outside = -1;
    fn exit(status: c_int) -> c_int [std::process::exit(status)] { world::exit(status & 0xff, true) }
    fn _exit(status: c_int) -> c_int [unsafe { libc::_exit(status) }] { world::exit(status & 0xff, false) }
    fn _Exit(status: c_int) -> c_int [unsafe { libc::_exit(status) }] { world::exit(status & 0xff, false) }
    fn quick_exit(status: c_int) -> c_int [unsafe { libc::_exit(status) }] { quick_exit_of(status) }
    fn at_quick_exit(function: usize) -> c_int { quick_hook(function) }
    fn __cxa_at_quick_exit(function: usize, library: usize) -> c_int { quick_hook(function) }
    fn abort() -> c_int [std::process::abort()] { signals::abort() }
    fn __stack_chk_fail() -> c_int [std::process::abort()] {
        print_error("*** stack smashing detected ***\n");
        signals::abort()
    }
    fn __assert_fail(what: *const c_char, file: *const c_char, line: c_uint, function: *const c_char) -> c_int [std::process::abort()] {
        failed_assertion(what, file, line, function)
    }
    fn atexit(function: usize) -> c_int { hook(Hook::Argument(function, 0)) }
    fn __cxa_atexit(function: usize, argument: usize, library: usize) -> c_int { hook(Hook::Argument(function, argument)) }
    fn on_exit(function: usize, argument: usize) -> c_int { hook(Hook::Status(function, argument)) }
    fn __cxa_thread_atexit_impl(function: usize, argument: usize, library: usize) -> c_int {
        with(|w, _| w.threads[w.current as usize].hooks.push(Hook::Argument(function, argument)));
        0
    }
    fn __cxa_thread_atexit(function: usize, argument: usize, library: usize) -> c_int {
        with(|w, _| w.threads[w.current as usize].hooks.push(Hook::Argument(function, argument)));
        0
    }
    fn fork() -> c_int [unsafe { libc::fork() }] { refused("fork") }
    fn vfork() -> c_int { refused("vfork") }
    fn daemon(stay: c_int, keep: c_int) -> c_int { refused("daemon") }
    fn system(command: *const c_char) -> c_int [unsafe { libc::system(command) }] { if command.is_null() { 0 } else { refused("system") } }
    fn popen(command: usize, mode: usize) -> usize [0] { refused("popen"); 0 }
    fn execl(path: usize) -> c_int { refused("execl") }
    fn execlp(path: usize) -> c_int { refused("execlp") }
    fn execle(path: usize) -> c_int { refused("execle") }
    fn execv(path: usize) -> c_int { refused("execv") }
    fn execvp(path: usize) -> c_int { refused("execvp") }
    fn execve(path: usize) -> c_int { refused("execve") }
    fn execvpe(path: usize) -> c_int { refused("execvpe") }
    fn fexecve(path: usize) -> c_int { refused("fexecve") }
    fn posix_spawn(to: usize, path: usize) -> c_int [libc::ENOSYS] { refused("posix_spawn"); libc::ENOSYS }
    fn posix_spawnp(to: usize, path: usize) -> c_int [libc::ENOSYS] { refused("posix_spawnp"); libc::ENOSYS }
}
