//! A table by the numbers that a script gives to requests or communicators: dense for small ones.

use base::sorted::SortedMap;

const DENSE: u32 = 1 << 12;

/// Values by handle.
#[derive(Debug)]
pub(super) struct Handles<T> {
    dense: Vec<Option<T>>,
    sparse: SortedMap<u32, T>,
}

impl<T> Handles<T> {
    pub(super) fn new() -> Self {
        Self { dense: Vec::new(), sparse: SortedMap::new() }
    }

    #[inline]
    pub(super) fn get_mut(&mut self, handle: u32) -> Option<&mut T> {
        if handle < DENSE {
            self.dense.get_mut(handle as usize)?.as_mut()
        } else {
            self.sparse.get_mut(&handle)
        }
    }

    #[inline]
    pub(super) fn get(&self, handle: u32) -> Option<&T> {
        if handle < DENSE { self.dense.get(handle as usize)?.as_ref() } else { self.sparse.get(&handle) }
    }

    /// Sets a value and returns the one before.
    #[inline]
    pub(super) fn insert(&mut self, handle: u32, value: T) -> Option<T> {
        if handle >= DENSE {
            return self.sparse.insert(handle, value);
        }
        let index = handle as usize;
        if index >= self.dense.len() {
            self.dense.resize_with(index + 1, || None);
        }
        self.dense[index].replace(value)
    }

    /// All values, whatever their handles.
    pub(super) fn values(&self) -> impl Iterator<Item = &T> {
        self.dense.iter().flatten().chain(self.sparse.values())
    }

    #[inline]
    pub(super) fn remove(&mut self, handle: u32) -> Option<T> {
        if handle < DENSE { self.dense.get_mut(handle as usize)?.take() } else { self.sparse.remove(&handle) }
    }
}
