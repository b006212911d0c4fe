//! Thread-local variables of programs: threads of ranks share one thread of this process, so they would share its variables too.
//!
//! The variables of a shared object lie in one block. Where threads take turns that have it in common (those of a rank for the rank's own copies, all of them for the
//! library of C++, which keeps exceptions under way there), the block's contents are exchanged with them. A rank with one thread never exchanges any. A
//! thread that looks at another's variable by its address sees its own.

#![allow(unsafe_code, reason = "thread-local variables of shared objects")]

use base::sorted::SortedMap;
use std::ffi::c_void;

/// The variables of a shared object.
#[derive(Clone, Copy, Debug)]
pub struct Module {
    /// What `dlopen` gave for it.
    pub library: *mut c_void,
    /// Address of what they begin with.
    pub image: usize,
    /// Bytes of that; the rest begins with zeros.
    pub filled: usize,
    /// Bytes of the block.
    pub size: usize,
}

unsafe extern "C" {
    fn __tls_get_addr(place: *const [usize; 2]) -> *mut c_void;
}

impl Module {
    /// This thread's block is there from now on, also for the loader: it does not know one that code reaches at a fixed distance until somebody asks for it.
    #[must_use]
    pub fn begun(self) -> Self {
        const TLS_NUMBER: i32 = 9;
        debug_assert!(self.filled <= self.size, "what a block begins with is a part of it");
        let mut number = 0usize;
        // SAFETY: the library is open, and the request writes one number, by which the loader gives the block of the module.
        unsafe {
            if libc::dlinfo(self.library, TLS_NUMBER, (&raw mut number).cast()) == 0 && number > 0 {
                let place = [number, 0];
                __tls_get_addr(&raw const place);
            }
        }
        self
    }

    /// Where the block lies; null before anyone used it.
    fn block(&self) -> *mut u8 {
        const TLS_DATA: i32 = 10;
        let mut block: *mut u8 = std::ptr::null_mut();
        // SAFETY: the library is open, and the request writes one pointer.
        unsafe { libc::dlinfo(self.library, TLS_DATA, (&raw mut block).cast()) };
        block
    }
}

/// Blocks that threads have in common, and the contents of those that do not run.
#[derive(Default)]
pub struct Locals {
    /// The shared objects with variables.
    pub modules: Vec<Module>,
    /// Thread whose contents are in the blocks.
    owner: Option<u32>,
    /// It is over: nobody needs what it leaves there.
    left: bool,
    /// Contents of the other threads, one after another.
    kept: SortedMap<u32, Vec<u8>>,
}

impl Locals {
    /// Blocks of these shared objects, in which nobody's contents are yet.
    #[must_use]
    pub fn of(modules: Vec<Module>) -> Self {
        Self { modules, ..Self::default() }
    }

    /// A thread goes on: the blocks hold its contents.
    #[inline]
    pub fn enter(&mut self, thread: u32) {
        if self.owner != Some(thread) && !self.modules.is_empty() {
            self.exchange(thread);
        }
    }

    fn exchange(&mut self, thread: u32) {
        let left = std::mem::take(&mut self.left);
        let Some(owner) = self.owner.replace(thread) else { return };
        let size = self.modules.iter().map(|m| m.size).sum();
        let mut old = vec![0u8; size];
        let new = self.kept.remove(&thread);
        debug_assert!(new.as_ref().is_none_or(|n| n.len() == size), "contents are those of all modules");
        let mut at = 0;
        for module in &self.modules {
            let (block, part) = (module.block(), at..at + module.size);
            at += module.size;
            // SAFETY: image and block of an open library have these sizes, and no thread of the rank runs.
            unsafe {
                if block.is_null() {
                    // Nobody has used it: it begins as every block does.
                    std::ptr::copy_nonoverlapping(
                        module.image as *const u8,
                        old[part].as_mut_ptr(),
                        module.filled,
                    );
                    continue;
                }
                std::ptr::copy_nonoverlapping(block, old[part.clone()].as_mut_ptr(), module.size);
                match &new {
                    Some(new) => std::ptr::copy_nonoverlapping(new[part].as_ptr(), block, module.size),
                    None => {
                        std::ptr::copy_nonoverlapping(module.image as *const u8, block, module.filled);
                        std::ptr::write_bytes(block.add(module.filled), 0, module.size - module.filled);
                    }
                }
            }
        }
        if left {
            return;
        }
        let before = self.kept.insert(owner, old);
        debug_assert!(before.is_none(), "contents of a thread that runs are in the blocks");
    }

    /// A thread is over: nobody needs its contents any more. If they are in the blocks, the next thread's take their place.
    pub fn forget(&mut self, thread: u32) {
        self.kept.remove(&thread);
        self.left |= self.owner == Some(thread);
    }
}
