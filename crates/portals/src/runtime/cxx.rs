//! The library of C++, of which all ranks share one copy: each rank has output streams of its own, and each thread its exceptions.
//!
//! `std::cout`, `std::cerr` and `std::clog` are objects of the library that write to the C library's streams as these were when it was loaded. Each rank
//! has objects of the same types, made by the library itself, on its own streams; the cells of its copies point there. What the library calls of the C library
//! (clocks, threads, `abort`) leads to us as for a rank's copies. `std::cin`, wide streams and `std::locale::global` are those of all ranks.

#![allow(unsafe_code, reason = "objects of the library of C++")]

use std::{
    cell::Cell,
    ffi::{CStr, CString, c_void},
};

/// File names of libraries whose calls lead to us though all ranks share them, and whether those about threads do.
///
/// Threads of OpenMP are the system's own: they share a rank's work and wait for each other beside the simulation.
const SHARED: [(&str, bool); 3] = [("libstdc++.so", true), ("libc++.so", true), ("libgomp.so", false)];

/// True if calls of a name from a library of that file lead to us though ranks share it.
#[must_use]
pub fn is_bound(library: &str, name: &str) -> bool {
    let found = SHARED.iter().find(|(file, _)| library.starts_with(file));
    found.is_some_and(|(_, threads)| *threads || !(name.starts_with("pthread_") || name.starts_with("sem_")))
}

/// The library of C++, loaded.
#[derive(Clone, Copy)]
pub struct Cxx {
    library: *mut c_void,
}

/// Bytes that its output streams and their buffers have at most: 272 and 80 in today's.
const ROOM: usize = 1024;
const STREAM: &CStr = c"_ZNSoC1EPSt15basic_streambufIcSt11char_traitsIcEE";
const BUFFER: &CStr = c"_ZN9__gnu_cxx18stdio_sync_filebufIcSt11char_traitsIcEEC1EP8_IO_FILE";

/// Functions of the library that set what is called where nobody catches an exception, what is called where there is no memory, and where containers get theirs.
const SETTERS: [&CStr; 3] = [
    c"_ZSt13set_terminatePFvvE",
    c"_ZSt15set_new_handlerPFvvE",
    c"_ZNSt3pmr20set_default_resourceEPNS_15memory_resourceE",
];

type Setter = extern "C" fn(usize) -> usize;

thread_local! {
    /// Those functions that the library has, and what it had at first.
    static HANDLERS: Cell<[Option<(Setter, usize)>; 3]> = const { Cell::new([None; 3]) };
}

/// Sets one of these; 0 stands for what the library had at first. Gives what was there.
pub fn set_handler(which: usize, to: usize) -> usize {
    debug_assert!(which < SETTERS.len(), "there are three of them");
    HANDLERS.get()[which].map_or(0, |(set, first)| set(if to == 0 { first } else { to }))
}

impl Cxx {
    /// Loads it, if a program needs it.
    #[must_use]
    pub fn load(needed: &[String]) -> Option<Self> {
        let name = needed.iter().find(|n| n.starts_with("libstdc++.so"))?;
        let name = CString::new(name.as_str()).ok()?;
        // SAFETY: the name is a C string, and the library one of the system.
        let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL) };
        let cxx = (!library.is_null()).then_some(Self { library })?;
        HANDLERS.set(SETTERS.map(|name| {
            // SAFETY: functions of these names take a pointer and give the one before, which is put back.
            let set = unsafe { std::mem::transmute::<usize, Setter>(cxx.find(name)?) };
            let first = set(0);
            set(first);
            Some((set, first))
        }));
        Some(cxx)
    }

    /// What `dlopen` gave for it.
    #[must_use]
    pub fn library(self) -> *mut c_void {
        self.library
    }

    fn find(self, name: &CStr) -> Option<usize> {
        // SAFETY: the library is open.
        let found = unsafe { libc::dlsym(self.library, name.as_ptr()) } as usize;
        (found != 0).then_some(found)
    }

    /// True if it defines a name.
    #[must_use]
    pub fn defines(self, name: &str) -> bool {
        CString::new(name).is_ok_and(|name| self.find(&name).is_some())
    }

    /// Output streams on a rank's streams of the C library (output and error): names and addresses. None if the library is another one.
    #[must_use]
    pub fn streams(self, [output, error]: [*mut c_void; 2]) -> Vec<(&'static str, usize)> {
        let (Some(stream), Some(buffer)) = (self.find(STREAM), self.find(BUFFER)) else { return Vec::new() };
        type Constructor = extern "C" fn(*mut u8, *mut c_void);
        let [stream, buffer] = [stream, buffer].map(|f| {
            // SAFETY: constructors of these names take the object's place and one pointer.
            unsafe { std::mem::transmute::<usize, Constructor>(f) }
        });
        [("_ZSt4cout", output), ("_ZSt4cerr", error), ("_ZSt4clog", error)]
            .map(|(name, file)| {
                let place = Box::leak(Box::new([0u128; ROOM / 16])).as_mut_ptr().cast::<u8>();
                // SAFETY: both objects lie in one place for good, with more room than they need.
                let behind = unsafe { place.add(ROOM / 2) };
                buffer(behind, file);
                stream(place, behind.cast());
                (name, place as usize)
            })
            .into()
    }
}
