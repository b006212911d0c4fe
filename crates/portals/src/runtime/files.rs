//! Standard descriptors and streams of a rank: what it writes, closes or leads elsewhere is its own; other descriptors are those of the process.

#![allow(unsafe_code, reason = "descriptors and streams of programs")]

use super::{
    descriptors, stdio,
    world::{printed, with},
};
use std::ffi::{CStr, c_char, c_int, c_void};

/// The C library's own.
mod real {
    use std::ffi::{c_char, c_int, c_void};
    unsafe extern "C" {
        pub fn freopen(path: *const c_char, mode: *const c_char, stream: *mut c_void) -> *mut c_void;
        pub fn fopen(path: *const c_char, mode: *const c_char) -> *mut c_void;
        pub fn fclose(stream: *mut c_void) -> c_int;
        pub fn fileno(stream: *mut c_void) -> c_int;
        pub fn fflush(stream: *mut c_void) -> c_int;
    }
}

fn failed(code: c_int) -> c_int {
    // SAFETY: the location is this thread's own.
    unsafe { *libc::__errno_location() = code };
    -1
}

/// Which standard stream of the rank that runs this is.
fn standard(stream: *mut c_void) -> Option<usize> {
    with(|w, rank| w.ranks[rank].files.iter().position(|&f| f == stream)).filter(|_| !stream.is_null())
}

/// Where a descriptor leads: itself, unless the rank changed a standard one; none if it was closed.
fn leads(descriptor: c_int) -> Option<c_int> {
    let own = usize::try_from(descriptor).ok().filter(|&n| n < 3);
    let changed = own.and_then(|n| with(|w, rank| w.ranks[rank].own.descriptors[n]));
    Some(changed.unwrap_or(descriptor)).filter(|&d| d >= 0)
}

/// From now on a standard descriptor leads there.
fn lead(which: usize, to: Option<c_int>) {
    debug_assert!(to.is_none_or(|d| d >= -1), "a descriptor is open, or -1 for closed");
    let old = with(|w, rank| std::mem::replace(&mut w.ranks[rank].own.descriptors[which], to));
    if let Some(old) = old.filter(|&d| d >= 0) {
        // SAFETY: it was made for this alone.
        unsafe { libc::close(old) };
    }
}

fn write_bytes(descriptor: c_int, bytes: *const u8, count: usize) -> isize {
    match leads(descriptor) {
        Some(d @ (1 | 2)) if d == descriptor => {
            // SAFETY: the program gives its bytes.
            let bytes = unsafe { std::slice::from_raw_parts(bytes, count) };
            let rank = with(|_, rank| rank);
            printed(rank, d == 2, bytes);
            count as isize
        }
        Some(d) => descriptors::write_all(d, bytes, count),
        None => failed(libc::EBADF) as isize,
    }
}

/// Opens another file behind a standard stream.
fn reopened(which: usize, path: *const c_char, mode: *const c_char, stream: *mut c_void) -> *mut c_void {
    if path.is_null() {
        return stream;
    }
    if which == 0 {
        // SAFETY: both are C strings.
        let file = unsafe { real::fopen(path, mode) };
        if !file.is_null() {
            let files = with(|w, rank| {
                w.ranks[rank].files[0] = file;
                w.ranks[rank].files
            });
            stdio::swap(files);
        }
        return file;
    }
    // SAFETY: the program gives a C string.
    let how = match unsafe { CStr::from_ptr(mode) }.to_bytes() {
        [b'a', ..] => libc::O_APPEND,
        [b'w', ..] => libc::O_TRUNC,
        _ => {
            failed(libc::EINVAL);
            return std::ptr::null_mut();
        }
    };
    // SAFETY: the stream is open, the path a C string.
    let to = unsafe {
        real::fflush(stream);
        libc::open(path, libc::O_WRONLY | libc::O_CREAT | how, 0o666)
    };
    if to < 0 {
        return std::ptr::null_mut();
    }
    lead(which, Some(to));
    stream
}

super::calls::calls! {
    outside = Default::default();
    fn write(to: c_int, bytes: *const u8, count: usize) -> isize [unsafe { libc::write(to, bytes.cast(), count) }] {
        write_bytes(to, bytes, count)
    }
    fn writev(to: c_int, parts: *const libc::iovec, count: c_int) -> isize [unsafe { libc::writev(to, parts, count) }] {
        // SAFETY: the program gives so many parts.
        let parts = unsafe { std::slice::from_raw_parts(parts, count.max(0) as usize) };
        let mut all = 0;
        for part in parts {
            match write_bytes(to, part.iov_base.cast(), part.iov_len) {
                more if more < 0 => return if all > 0 { all } else { more },
                more => all += more,
            }
        }
        all
    }
    fn read(from: c_int, to: *mut c_void, count: usize) -> isize [unsafe { libc::read(from, to, count) }] {
        match leads(from) {
            Some(0) if with(|_, rank| rank.index()) > 0 => 0,
            Some(d) => {
                descriptors::await_ready("read", d, libc::POLLIN);
                unsafe { libc::read(d, to, count) }
            }
            None => failed(libc::EBADF) as isize,
        }
    }
    fn close(descriptor: c_int) -> c_int [unsafe { libc::close(descriptor) }] {
        match usize::try_from(descriptor) {
            Ok(which) if which < 3 => {
                if leads(descriptor).is_none() {
                    return failed(libc::EBADF);
                }
                lead(which, Some(-1));
                0
            }
            _ => {
                with(|w, rank| w.ranks[rank].own.close_timer(descriptor));
                unsafe { libc::close(descriptor) }
            }
        }
    }
    fn dup(descriptor: c_int) -> c_int [unsafe { libc::dup(descriptor) }] {
        leads(descriptor).map_or_else(|| failed(libc::EBADF), |d| unsafe { libc::dup(d) })
    }
    fn dup2(from: c_int, to: c_int) -> c_int [unsafe { libc::dup2(from, to) }] {
        let Some(from) = leads(from) else { return failed(libc::EBADF) };
        match usize::try_from(to) {
            Ok(which) if which < 3 => {
                let copy = unsafe { libc::dup(from) };
                if copy >= 0 {
                    lead(which, Some(copy));
                }
                if copy < 0 { copy } else { to }
            }
            _ => unsafe { libc::dup2(from, to) },
        }
    }
    fn isatty(descriptor: c_int) -> c_int [unsafe { libc::isatty(descriptor) }] {
        if (0..3).contains(&descriptor) { failed(libc::ENOTTY); 0 } else { unsafe { libc::isatty(descriptor) } }
    }
    fn fileno(stream: *mut c_void) -> c_int [unsafe { real::fileno(stream) }] {
        standard(stream).map_or_else(|| unsafe { real::fileno(stream) }, |which| which as c_int)
    }
    fn freopen(path: *const c_char, mode: *const c_char, stream: *mut c_void) -> *mut c_void [unsafe { real::freopen(path, mode, stream) }] {
        match standard(stream) {
            Some(which) => reopened(which, path, mode, stream),
            None => unsafe { real::freopen(path, mode, stream) },
        }
    }
    fn freopen64(path: *const c_char, mode: *const c_char, stream: *mut c_void) -> *mut c_void [unsafe { real::freopen(path, mode, stream) }] {
        match standard(stream) {
            Some(which) => reopened(which, path, mode, stream),
            None => unsafe { real::freopen(path, mode, stream) },
        }
    }
    fn fclose(stream: *mut c_void) -> c_int [unsafe { real::fclose(stream) }] {
        match standard(stream) {
            Some(which) => {
                // Its memory stays: it is flushed when the rank ends.
                if which > 0 {
                    unsafe { real::fflush(stream) };
                }
                lead(which, Some(-1));
                0
            }
            None => unsafe { real::fclose(stream) },
        }
    }
}
