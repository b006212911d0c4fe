//! Typed numbers: a router's number is no terminal's, and the compiler sees to it.
//!
//! Everything countable is numbered from 0 and looked up in tables, so a plain integer would do; but with plain integers a port's
//! number within its router, the number of the link that leaves it and the number of the router itself are all alike, and a
//! mistake shows up as a wrong result. Each kind of thing has a type of its own here. They cost nothing: a number is what it is in
//! memory, in checkpoints and in messages.
//!
//! ```
//! use base::index::{Column, LinkId, RouterId};
//!
//! let mut load = Column::<LinkId, u64>::filled(4, 0);
//! load[LinkId::new(2)] += 100;
//! assert_eq!(load.iter().max_by_key(|(_, bytes)| **bytes), Some((LinkId::new(2), &100)));
//! assert_eq!(RouterId::new(7).index(), 7);
//! ```
//!
//! A number of another kind does not compile:
//!
//! ```compile_fail
//! # use base::index::{Column, LinkId, RouterId};
//! let load = Column::<LinkId, u64>::filled(4, 0);
//! let of_router = load[RouterId::new(2)];
//! ```
//!
//! Nor does a port in place of a virtual channel:
//!
//! ```compile_fail
//! # use base::index::{ChannelId, PortId};
//! fn credits(port: PortId, channel: ChannelId) -> u64 { 0 }
//! credits(PortId::new(1), PortId::new(0));
//! ```

use std::{
    fmt::{Debug, Display},
    hash::Hash,
    marker::PhantomData,
    ops,
};

/// The number of a thing of one kind, from 0.
pub trait Number: Copy + Ord + Hash + Debug + Display + Send + Sync + 'static {
    /// The number as a place in a table.
    fn index(self) -> usize;

    /// The thing at a place in a table.
    ///
    /// # Panics
    /// If the place is too large for numbers of this kind.
    fn from_index(index: usize) -> Self;
}

/// Plain numbers, of tables whose rows are of no kind that others know.
impl Number for u32 {
    #[inline]
    fn index(self) -> usize {
        self as usize
    }

    #[inline]
    fn from_index(index: usize) -> Self {
        Self::try_from(index).expect("there are not so many of a kind")
    }
}

/// Declares kinds of numbers: a room's own, beside those that all rooms share. A room that uses it knows `serde`.
#[macro_export]
macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident($plain:ty);)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, ::serde::Serialize, ::serde::Deserialize)]
        #[repr(transparent)]
        #[serde(transparent)]
        pub struct $name($plain);

        impl $name {
            /// The thing with this number.
            #[inline]
            #[must_use]
            pub const fn new(number: $plain) -> Self {
                Self(number)
            }

            /// The plain number: for files, hashes and arithmetic.
            #[inline]
            #[must_use]
            pub const fn number(self) -> $plain {
                self.0
            }

            /// The number as a place in a table.
            #[inline]
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// The thing at a place in a table.
            ///
            /// # Panics
            /// If the place is too large for numbers of this kind.
            #[inline]
            #[must_use]
            pub fn from_index(index: usize) -> Self {
                Self(<$plain>::try_from(index).expect("there are not so many of a kind"))
            }

            /// The one so many places further.
            #[inline]
            #[must_use]
            pub const fn plus(self, places: $plain) -> Self {
                Self(self.0 + places)
            }

            /// The first `count` of them, ascending.
            pub fn first(count: $plain) -> impl DoubleEndedIterator<Item = Self> + Clone {
                (0..count).map(Self)
            }
        }

        impl $crate::index::Number for $name {
            #[inline]
            fn index(self) -> usize {
                self.index()
            }

            #[inline]
            fn from_index(index: usize) -> Self {
                Self::from_index(index)
            }
        }

        /// The plain number: for hashes and for files.
        impl From<$name> for u64 {
            #[inline]
            fn from(id: $name) -> Self {
                Self::from(id.0)
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Display::fmt(&self.0, f)
            }
        }
    )*};
}

numbers! {
    /// A router of a fabric, counted over all planes.
    RouterId(u32);
    /// A port of a router, counted within that router: its degree is one past the last.
    PortId(u32);

    /// A virtual channel of a link: which of the buffers behind it. How many there are is a plain number.
    ChannelId(u8);
    /// A directed link of a fabric. Links out of routers come first, in the order of routers and their ports; then follows the injection
    /// link of each terminal.
    LinkId(u32);
    /// A terminal of a fabric, counted over all planes: one end of a network, where packets are made and consumed.
    TerminalId(u32);
    /// A rank of a job, counted within that job. What counts over all jobs is another type, where it is needed: it does not begin at 0 for each.
    RankId(u32);
}

impl ChannelId {
    /// The one that every link has.
    pub const FIRST: Self = Self(0);

    /// Its bit in a set of a port's virtual channels, of which there are at most 16.
    #[inline]
    #[must_use]
    pub const fn bit(self) -> u16 {
        1 << self.0
    }
}

/// A table by number: a vector that only numbers of kind `I` look up.
#[derive(PartialEq, Eq, Debug)]
pub struct Column<I, T> {
    cells: Vec<T>,
    kind: PhantomData<fn(I)>,
}

impl<I, T: Clone> Clone for Column<I, T> {
    fn clone(&self) -> Self {
        Self::from(self.cells.clone())
    }

    /// Into the memory that is there: searches begin anew from the same table many times.
    fn clone_from(&mut self, source: &Self) {
        self.cells.clone_from(&source.cells);
    }
}

impl<I: Number, T> Column<I, T> {
    /// A table of `len` equal cells.
    #[must_use]
    pub fn filled(len: usize, cell: T) -> Self
    where
        T: Clone,
    {
        Self::from(vec![cell; len])
    }

    /// Number of cells.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// True if there are no cells.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// A cell, if the number has one.
    #[inline]
    #[must_use]
    pub fn get(&self, number: I) -> Option<&T> {
        self.cells.get(number.index())
    }

    /// Appends a cell; gives its number.
    pub fn push(&mut self, cell: T) -> I {
        self.cells.push(cell);
        I::from_index(self.cells.len() - 1)
    }

    /// Numbers and cells, ascending.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (I, &T)> + ExactSizeIterator {
        self.cells.iter().enumerate().map(|(i, cell)| (I::from_index(i), cell))
    }

    /// The cells alone, in the order of their numbers.
    #[inline]
    #[must_use]
    pub fn cells(&self) -> &[T] {
        &self.cells
    }

    /// The same for good.
    #[must_use]
    pub fn into_cells(self) -> Vec<T> {
        self.cells
    }

    /// The same, to change.
    #[inline]
    pub fn cells_mut(&mut self) -> &mut [T] {
        &mut self.cells
    }
}

impl<I, T> From<Vec<T>> for Column<I, T> {
    fn from(cells: Vec<T>) -> Self {
        Self { cells, kind: PhantomData }
    }
}

impl<I, T> Default for Column<I, T> {
    fn default() -> Self {
        Self::from(Vec::new())
    }
}

impl<I, T> FromIterator<T> for Column<I, T> {
    fn from_iter<C: IntoIterator<Item = T>>(cells: C) -> Self {
        Self::from(Vec::from_iter(cells))
    }
}

impl<I: Number, T> ops::Index<I> for Column<I, T> {
    type Output = T;

    #[inline]
    fn index(&self, number: I) -> &T {
        &self.cells[number.index()]
    }
}

impl<I: Number, T> ops::IndexMut<I> for Column<I, T> {
    #[inline]
    fn index_mut(&mut self, number: I) -> &mut T {
        &mut self.cells[number.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    numbers! {
        /// Things of which 256 are the most.
        Few(u8);
        /// Things beyond 32 bits.
        Many(u64);
    }

    #[test]
    fn numbers_are_as_large_as_what_they_hold() {
        assert_eq!(size_of::<LinkId>(), 4);
        assert_eq!(size_of::<Few>(), 1);
        assert_eq!(size_of::<Many>(), 8);
        assert_eq!(RankId::first(3).map(RankId::number).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(Few::from_index(255).number(), 255);
    }

    #[test]
    #[should_panic(expected = "not so many")]
    fn a_number_beyond_its_kind_is_refused() {
        let _ = Few::from_index(256);
    }

    #[test]
    fn columns_are_read_by_their_own_numbers() {
        let mut column: Column<RankId, &str> = ["a", "b"].into_iter().collect();
        assert_eq!(column.push("c"), RankId::new(2));
        column[RankId::new(0)] = "z";
        assert_eq!(column.cells(), ["z", "b", "c"]);
        assert_eq!(column.iter().next_back(), Some((RankId::new(2), &"c")));
        assert_eq!((column.get(RankId::new(3)), column.len(), column.is_empty()), (None, 3, false));
    }
}
