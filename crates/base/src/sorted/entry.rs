//! An entry of a map that was searched for once, as the standard library's.

use super::blocks::{Blocks, Place};

/// A key's entry, there or not.
pub enum Entry<'a, K, V> {
    /// The key has a value.
    Occupied(Occupied<'a, K, V>),
    /// The key has none; its place is known.
    Vacant(Vacant<'a, K, V>),
}

/// An entry that is there.
pub struct Occupied<'a, K, V> {
    pub(super) blocks: &'a mut Blocks<K, V>,
    pub(super) place: Place,
    pub(super) key: K,
}

/// The place of an entry that is not there.
pub struct Vacant<'a, K, V> {
    pub(super) blocks: &'a mut Blocks<K, V>,
    pub(super) place: Place,
    pub(super) key: K,
}

impl<'a, K, V> Entry<'a, K, V> {
    /// The key that was searched for.
    pub const fn key(&self) -> &K {
        match self {
            Self::Occupied(entry) => &entry.key,
            Self::Vacant(entry) => &entry.key,
        }
    }

    /// The value, made by `make` if there was none.
    pub fn or_insert_with(self, make: impl FnOnce() -> V) -> &'a mut V {
        match self {
            Self::Occupied(entry) => entry.into_mut(),
            Self::Vacant(entry) => entry.insert(make()),
        }
    }

    /// The value, `value` if there was none.
    pub fn or_insert(self, value: V) -> &'a mut V {
        self.or_insert_with(|| value)
    }

    /// The value, made by `make` of the key if there was none.
    pub fn or_insert_with_key(self, make: impl FnOnce(&K) -> V) -> &'a mut V {
        match self {
            Self::Occupied(entry) => entry.into_mut(),
            Self::Vacant(entry) => {
                let value = make(&entry.key);
                entry.insert(value)
            }
        }
    }

    /// The value, the default of its type if there was none.
    pub fn or_default(self) -> &'a mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }

    /// Changes the value if there is one.
    #[must_use]
    pub fn and_modify(mut self, change: impl FnOnce(&mut V)) -> Self {
        if let Self::Occupied(entry) = &mut self {
            change(entry.get_mut());
        }
        self
    }
}

impl<'a, K, V> Occupied<'a, K, V> {
    /// The value of the entry.
    pub fn get(&self) -> &V {
        self.blocks.at(self.place)
    }

    /// The value of the entry, to be changed.
    pub fn get_mut(&mut self) -> &mut V {
        self.blocks.at_mut(self.place)
    }

    /// The value of the entry, for as long as the map is borrowed.
    pub fn into_mut(self) -> &'a mut V {
        self.blocks.at_mut(self.place)
    }

    /// Gives the entry another value and returns the old one.
    pub fn insert(&mut self, value: V) -> V {
        std::mem::replace(self.get_mut(), value)
    }

    /// Removes the entry and returns its value.
    pub fn remove(self) -> V {
        self.blocks.take(self.place).1
    }
}

impl<'a, K, V> Vacant<'a, K, V> {
    /// The key that was searched for.
    pub const fn key(&self) -> &K {
        &self.key
    }

    /// Makes the entry with a value.
    pub fn insert(self, value: V) -> &'a mut V {
        let place = self.blocks.put(self.place, self.key, value);
        self.blocks.at_mut(place)
    }
}
