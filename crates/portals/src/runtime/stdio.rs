//! Standard output and error of each rank: streams of the C library that write to us. While a rank runs, `stdout` and `stderr` are its own.

#![allow(unsafe_code, reason = "streams of the C library")]

use base::index::RankId;
use std::{
    cell::Cell,
    ffi::{c_char, c_int, c_void},
};

#[repr(C)]
struct Functions {
    read: Option<extern "C" fn()>,
    write: Option<extern "C" fn(*mut c_void, *const c_char, usize) -> isize>,
    seek: Option<extern "C" fn()>,
    close: Option<extern "C" fn()>,
}

unsafe extern "C" {
    static mut stdout: *mut c_void;
    static mut stderr: *mut c_void;
    fn fopencookie(cookie: *mut c_void, mode: *const c_char, functions: Functions) -> *mut c_void;
    fn setvbuf(file: *mut c_void, buffer: *mut c_char, mode: c_int, size: usize) -> c_int;
    fn fflush(file: *mut c_void) -> c_int;
}

const LINES: c_int = 1;
const UNBUFFERED: c_int = 2;

/// Takes what a rank wrote: rank, whether it is standard error, bytes.
pub type Written = fn(RankId, bool, &[u8]);

thread_local! {
    static WRITTEN: Cell<Option<Written>> = const { Cell::new(None) };
}

/// From now on `written` takes what ranks write.
pub fn install(written: Written) {
    WRITTEN.set(Some(written));
}

extern "C" fn write(cookie: *mut c_void, bytes: *const c_char, count: usize) -> isize {
    let (rank, error) = (RankId::from_index(cookie as usize >> 1), cookie as usize & 1 == 1);
    // SAFETY: the C library gives its buffer.
    let bytes = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), count) };
    if let Some(written) = WRITTEN.get() {
        written(rank, error, bytes);
    }
    count as isize
}

/// Output and error of a rank.
#[must_use]
pub fn open(rank: RankId) -> [*mut c_void; 2] {
    [(0, LINES), (1, UNBUFFERED)].map(|(error, mode)| {
        let cookie = (rank.index() << 1 | error) as *mut c_void;
        let functions = Functions { read: None, write: Some(write), seek: None, close: None };
        // SAFETY: the structure is that of the C library; the cookie is a number to us and to it.
        unsafe {
            let file = fopencookie(cookie, c"w".as_ptr(), functions);
            if !file.is_null() {
                setvbuf(file, std::ptr::null_mut(), mode, 0);
            }
            file
        }
    })
}

/// Makes streams the standard ones; gives those that were.
pub fn swap(files: [*mut c_void; 2]) -> [*mut c_void; 2] {
    // SAFETY: one thread simulates, and the C library allows these variables to be assigned.
    unsafe {
        let old = [stdout, stderr];
        (stdout, stderr) = (files[0], files[1]);
        old
    }
}

/// Writes what is buffered.
pub fn flush(files: [*mut c_void; 2]) {
    for file in files.into_iter().filter(|f| !f.is_null()) {
        // SAFETY: the stream is open.
        unsafe { fflush(file) };
    }
}
