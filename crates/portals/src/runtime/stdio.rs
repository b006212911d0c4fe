//! Standard streams of each rank: output and error are streams of the C library that write to us, and rank 0 alone has this process's input. While a rank runs,
//! `stdin`, `stdout` and `stderr` are its own.
//!
//! A thread of a library's own (OpenMP) writes with its rank's streams while that runs; its lines come with the next ones of this thread.

#![allow(unsafe_code, reason = "streams of the C library")]

use base::index::RankId;
use std::{
    cell::Cell,
    ffi::{c_char, c_int, c_void},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

#[repr(C)]
struct Functions {
    read: Option<extern "C" fn()>,
    write: Option<extern "C" fn(*mut c_void, *const c_char, usize) -> isize>,
    seek: Option<extern "C" fn()>,
    close: Option<extern "C" fn()>,
}

unsafe extern "C" {
    static mut stdin: *mut c_void;
    static mut stdout: *mut c_void;
    static mut stderr: *mut c_void;
    fn fopencookie(cookie: *mut c_void, mode: *const c_char, functions: Functions) -> *mut c_void;
    fn setvbuf(file: *mut c_void, buffer: *mut c_char, mode: c_int, size: usize) -> c_int;
    fn fflush(file: *mut c_void) -> c_int;
    fn fopen(path: *const c_char, mode: *const c_char) -> *mut c_void;
}

/// What threads of libraries wrote, until the thread that simulates takes it.
static LATE: Mutex<Vec<(RankId, bool, Vec<u8>)>> = Mutex::new(Vec::new());
static ANY_LATE: AtomicBool = AtomicBool::new(false);

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

/// From now on nobody takes what comes: destructors of libraries may still write when this process ends.
pub fn stop() {
    WRITTEN.set(None);
}

extern "C" fn write(cookie: *mut c_void, bytes: *const c_char, count: usize) -> isize {
    let (rank, error) = (RankId::from_index(cookie as usize >> 1), cookie as usize & 1 == 1);
    // SAFETY: the C library gives its buffer.
    let bytes = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), count) };
    match WRITTEN.get() {
        Some(written) => {
            late();
            written(rank, error, bytes);
        }
        None => {
            LATE.lock().unwrap_or_else(PoisonError::into_inner).push((rank, error, bytes.to_vec()));
            ANY_LATE.store(true, Ordering::Release);
        }
    }
    count as isize
}

/// Takes what threads of libraries have written.
pub fn late() {
    if ANY_LATE.load(Ordering::Acquire)
        && let Some(written) = WRITTEN.get()
    {
        let mut lines = LATE.lock().unwrap_or_else(PoisonError::into_inner);
        ANY_LATE.store(false, Ordering::Release);
        lines.drain(..).for_each(|(rank, error, bytes)| written(rank, error, &bytes));
    }
}

/// Input of all ranks but the first: it is at its end.
#[must_use]
pub fn no_input() -> *mut c_void {
    // SAFETY: both are C strings.
    unsafe { fopen(c"/dev/null".as_ptr(), c"r".as_ptr()) }
}

/// Streams of a rank, of which all but the first read from `no_input`.
#[must_use]
pub fn open(rank: RankId, no_input: *mut c_void) -> [*mut c_void; 3] {
    // SAFETY: one thread simulates, and this one reads the variable.
    let input = if rank.index() == 0 { unsafe { stdin } } else { no_input };
    let [output, error] = [(0, LINES), (1, UNBUFFERED)].map(|(error, mode)| {
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
    });
    [input, output, error]
}

/// Makes streams the standard ones; gives those that were.
pub fn swap(files: [*mut c_void; 3]) -> [*mut c_void; 3] {
    // SAFETY: one thread simulates, and the C library allows these variables to be assigned.
    unsafe {
        let old = [stdin, stdout, stderr];
        (stdin, stdout, stderr) = (files[0], files[1], files[2]);
        old
    }
}

/// Writes what is buffered of output and error.
pub fn flush(files: [*mut c_void; 3]) {
    for file in files.into_iter().skip(1).filter(|f| !f.is_null()) {
        // SAFETY: the stream is open.
        unsafe { fflush(file) };
    }
}
