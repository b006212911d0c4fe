//! Calls of the system by number: `syscall`, by which the library of C++ and headers of C++20 reach futexes.
//!
//! What has a function of its own here is led to that. What would begin a process, or change how the process takes signals, is refused by name. All other calls are the
//! system's.

#![allow(unsafe_code, reason = "calls of the system that are none of ours")]

use super::{
    chance, ends, files, futex,
    signals::{self, PARENT, pid},
    state, system,
    world::{self, end_thread, with},
};
use std::ffi::{c_int, c_long};

/// What is led to functions of ours, whose codes are those of the C library.
fn ours(number: c_long, [a, b, c, d, e, f]: [usize; 6]) -> Option<c_long> {
    let first = a as c_int;
    let code = match number {
        libc::SYS_getpid => state::getpid(),
        libc::SYS_getppid => state::getppid(),
        libc::SYS_gettid => gettid(),
        libc::SYS_kill => signals::kill(first, b as c_int),
        libc::SYS_tkill => to_thread(first, b as c_int),
        libc::SYS_tgkill => tgkill(first, b as c_int, c as c_int),
        libc::SYS_pause => signals::pause(),
        libc::SYS_rt_sigprocmask => signals::sigprocmask(first, b as *const u64, c as *mut u64),
        libc::SYS_alarm => return Some(signals::alarm(a as u32).into()),
        libc::SYS_sched_yield => system::sched_yield(),
        libc::SYS_nanosleep => system::nanosleep(a as *const _, b as *mut _),
        libc::SYS_clock_nanosleep => {
            system::by_errno(system::clock_nanosleep(first, b as c_int, c as *const _, d as *mut _))
        }
        libc::SYS_clock_gettime => system::clock_gettime(first, b as *mut _),
        libc::SYS_gettimeofday => system::gettimeofday(a as *mut _, b),
        libc::SYS_time => return Some(system::time(a as *mut _)),
        libc::SYS_times => return Some(system::times(a as *mut _)),
        libc::SYS_getrusage => system::getrusage(first, b as *mut _),
        libc::SYS_poll => system::poll(a as *mut _, b as u64, c as c_int),
        libc::SYS_select => system::select(first, b as *mut _, c as *mut _, d as *mut _, e as *const _),
        libc::SYS_epoll_wait => system::epoll_wait(first, b as *mut _, c as c_int, d as c_int),
        libc::SYS_read => return Some(files::read(first, b as *mut _, c) as c_long),
        libc::SYS_write => return Some(files::write(first, b as *const u8, c) as c_long),
        libc::SYS_writev => return Some(files::writev(first, b as *const _, c as c_int) as c_long),
        libc::SYS_getrandom => return Some(chance::getrandom(a, b, c as u32) as c_long),
        libc::SYS_close => files::close(first),
        libc::SYS_dup => files::dup(first),
        libc::SYS_dup2 => files::dup2(first, b as c_int),
        libc::SYS_futex => return Some(on_futex([a, b, c, d, e, f])),
        _ => return None,
    };
    Some(code.into())
}

fn on_futex(values: [usize; 6]) -> c_long {
    match futex::call(values) {
        Some(Ok(code)) => code,
        Some(Err(error)) => system::by_errno(error).into(),
        None => ends::refused("this operation of futexes").into(),
    }
}

/// Calls that are refused, by name.
fn refused(number: c_long) -> Option<&'static str> {
    Some(match number {
        libc::SYS_fork => "fork",
        libc::SYS_vfork => "vfork",
        libc::SYS_clone | libc::SYS_clone3 => "clone",
        libc::SYS_execve | libc::SYS_execveat => "execve",
        libc::SYS_rt_sigaction => "rt_sigaction",
        libc::SYS_rt_sigqueueinfo | libc::SYS_rt_tgsigqueueinfo => "rt_sigqueueinfo",
        libc::SYS_setitimer => "setitimer",
        libc::SYS_pidfd_send_signal => "pidfd_send_signal",
        libc::SYS_timer_create => "timer_create",
        _ => return None,
    })
}

fn by_number(number: c_long, values: [usize; 6]) -> c_long {
    match number {
        libc::SYS_exit => {
            // The first thread is the rank; another one ends alone.
            if with(|w, rank| w.current == rank.number()) {
                world::exit(values[0] as c_int & 0xff, false)
            }
            end_thread(0)
        }
        libc::SYS_exit_group => world::exit(values[0] as c_int & 0xff, false),
        _ => {}
    }
    if let Some(name) = refused(number) {
        return ends::refused(name).into();
    }
    let [a, b, c, d, e, f] = values;
    // SAFETY: the program asks the system for this itself; no call that ends, interrupts or copies this process comes so far.
    ours(number, values).unwrap_or_else(|| unsafe { libc::syscall(number, a, b, c, d, e, f) })
}

/// A signal for a thread, by its number: it reaches the thread's rank.
fn to_thread(thread: c_int, signal: c_int) -> c_int {
    let rank = with(|w, _| {
        let n = usize::try_from(thread.wrapping_sub(PARENT + 1)).ok()?;
        w.threads.get(n).filter(|t| t.result.is_none()).map(|t| t.rank)
    });
    debug_assert!(rank.is_none() || thread > PARENT, "threads have numbers behind that of their parent");
    rank.map_or_else(|| system::by_errno(libc::ESRCH), |rank| signals::kill(pid(rank), signal))
}

super::calls::calls! {
    outside = Default::default();
    fn syscall(number: c_long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> c_long [unsafe { libc::syscall(number, a, b, c, d, e, f) }] {
        by_number(number, [a, b, c, d, e, f])
    }
    fn gettid() -> c_int [unsafe { libc::gettid() }] { with(|w, _| PARENT + 1 + w.current as c_int) }
    fn tgkill(process: c_int, thread: c_int, signal: c_int) -> c_int [system::by_errno(libc::ESRCH)] { to_thread(thread, signal) }
    fn execveat(directory: c_int, path: usize) -> c_int [-1] { ends::refused("execveat") }
    fn clone(function: usize, stack: usize) -> c_int [-1] { ends::refused("clone") }
}
