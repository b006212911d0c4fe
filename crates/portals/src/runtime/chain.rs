//! The loader's list of what is loaded, without the copies of ranks for as long as these are made.
//!
//! The loader walks its list several times for whatever it opens. With a copy for each rank the time to load them all would grow with the square of the ranks.

#![allow(unsafe_code, reason = "the loader's list")]

use std::ffi::c_char;

/// What the loader tells of a loaded object: the part of `struct link_map` that is public.
#[repr(C)]
pub struct LinkMap {
    /// What is added to the addresses of its file.
    pub base: usize,
    /// Its file's name, a C string.
    pub name: *const c_char,
    /// Rows of its dynamic section, up to one of zeros.
    pub dynamic: *const [usize; 2],
    /// The object behind it in the list; null for the last.
    pub next: *mut LinkMap,
    previous: *mut LinkMap,
}

/// Objects that are out of the list. They come back when this is dropped, behind all others.
#[derive(Default)]
pub struct Hidden(Vec<*mut LinkMap>);

impl Hidden {
    /// Tries whether the system has room for some more objects of so many bytes in all. The loader counts its list where it cannot open one, which it does
    /// not survive while some are hidden; nothing is tried before that. What else can fail is not foreseen: descriptors of files, or memory that another process takes meanwhile.
    ///
    /// # Errors
    /// If there is no room.
    pub fn room(&self, bytes: usize, objects: usize) -> Result<(), String> {
        const PAGE: usize = 4096;
        const PARTS: usize = 16;
        if self.0.is_empty() {
            return Ok(());
        }
        let parts = PARTS * objects;
        let whole = bytes.saturating_add((parts + 1) * PAGE);
        let (write, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping, wherever the system likes, takes nobody's memory; its pages are its own, and it is gone at the end.
        let fits = unsafe {
            let at = libc::mmap(std::ptr::null_mut(), whole, write, flags, -1, 0);
            let apart = |n: usize| libc::mprotect(at.byte_add(n * PAGE), PAGE, libc::PROT_NONE) == 0;
            let fits = at != libc::MAP_FAILED && (1..parts).step_by(2).all(apart);
            if at != libc::MAP_FAILED {
                libc::munmap(at, whole);
            }
            fits
        };
        let why = "the system has no room for a copy of the program for each rank: memory, or mappings (vm.max_map_count)";
        if fits { Ok(()) } else { Err(why.to_owned()) }
    }

    /// Takes an object out of the list, unless it is the first. It is never closed, and nothing of it runs before it is back.
    pub fn hide(&mut self, map: *const LinkMap) {
        let map = map.cast_mut();
        debug_assert!(!self.0.contains(&map), "an object leaves the list once");
        // SAFETY: maps of the list are valid while their objects are open, and none is closed. Only this thread opens objects and asks where addresses lie, and only there is the list walked.
        unsafe {
            let (previous, next) = ((*map).previous, (*map).next);
            if previous.is_null() {
                return;
            }
            debug_assert_eq!((*previous).next, map, "neighbours in the list know each other");
            (*previous).next = next;
            if !next.is_null() {
                (*next).previous = previous;
            }
        }
        self.0.push(map);
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        let Some(&first) = self.0.first() else { return };
        // SAFETY: as above. Whatever an object had before it was opened earlier, so the way back ends at the first of all, which is never hidden.
        unsafe {
            let mut last = first;
            while !(*last).previous.is_null() {
                last = (*last).previous;
            }
            while !(*last).next.is_null() {
                last = (*last).next;
            }
            for &map in &self.0 {
                (*last).next = map;
                (*map).previous = last;
                (*map).next = std::ptr::null_mut();
                last = map;
            }
        }
    }
}
