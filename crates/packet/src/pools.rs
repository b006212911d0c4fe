//! Pools of a partition, each with row numbers of its own, so that no chunk's row is taken for a packet's.
//!
//! The engine's pools and lists name rows by plain numbers: it knows no kinds. Here each kind of row has its type, which costs nothing:
//! a number is what it is in memory, in checkpoints and in messages.
//!
//! ```
//! use packet::{pools::{ChunkRow, List, PacketRow, Rows}, rows::{Chunk, Packet}};
//!
//! let mut packets = Rows::<Packet>::default();
//! let mut chunks = Rows::<Chunk>::default();
//! let packet: PacketRow = packets.take(Packet::NONE);
//! let chunk: ChunkRow = chunks.take(Chunk::new(packet, 0, true));
//! let mut list = List::default();
//! list.push(&mut chunks, chunk);
//! assert_eq!(chunks.get(list.head).packet, packet);
//! ```
//!
//! A chunk's row in place of a packet's does not compile:
//!
//! ```compile_fail,E0308
//! # use packet::{pools::{ChunkRow, Rows}, rows::Packet};
//! fn bytes(packets: &Rows<Packet>, chunk: ChunkRow) -> u32 {
//!     packets.get(chunk).bytes
//! }
//! ```
//!
//! Nor does a list of packets take a chunk:
//!
//! ```compile_fail,E0308
//! # use packet::{pools::{ChunkRow, List, PacketRow, Rows}, rows::Packet};
//! fn queue(list: &mut List<PacketRow>, packets: &mut Rows<Packet>, chunk: ChunkRow) {
//!     list.push(packets, chunk);
//! }
//! ```

use base::index::Number;
use engine::state::{
    Journal, Linked, NIL, Pool,
    ends::ending,
    mode::{Mode, Undo},
};
use serde::{Deserialize, Serialize};

/// The number of a row of a partition's pool, or of none.
pub trait RowNumber: Number {
    /// The number that names no row and ends a list: the engine's `NIL`.
    const NIL: Self;

    /// As the engine names it.
    fn plain(self) -> u32;

    /// The row that the engine names so.
    fn of_plain(number: u32) -> Self;

    /// True of [`RowNumber::NIL`].
    #[inline]
    fn is_nil(self) -> bool {
        self == Self::NIL
    }
}

/// Declares numbers of pools' rows.
macro_rules! row_numbers {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        base::numbers! { $($(#[$doc])* $name(u32);)* }
        $(
            impl $crate::pools::RowNumber for $name {
                const NIL: Self = Self::new(engine::state::NIL);

                #[inline]
                fn plain(self) -> u32 {
                    self.number()
                }

                #[inline]
                fn of_plain(number: u32) -> Self {
                    Self::new(number)
                }
            }
        )*
    };
}

pub(crate) use row_numbers;

row_numbers! {
    /// A row of a partition's chunks. Never leaves the partition, as all numbers of rows.
    ChunkRow;
    /// A row of the chunks on links.
    FlightRow;
    /// A row of a partition's packets. What names a packet in the whole network is [`Packet::id`](crate::rows::Packet::id).
    PacketRow;
    /// A row of the credits behind the first of their port.
    CreditRow;
    /// A row of posted messages.
    PostRow;
}

/// A row of a pool, with the numbers that such rows go by.
pub trait Pooled: Linked {
    /// Type of the number of its row, and of its `next`.
    type Number: RowNumber;
}

/// Threads rows into lists by their field `next`, and says by which numbers they go.
macro_rules! pooled {
    ($($row:ty: $number:ty;)*) => {$(
        impl engine::state::Linked for $row {
            #[inline]
            fn next(&self) -> u32 {
                self.next.number()
            }

            #[inline]
            fn set_next(&mut self, next: u32) {
                self.next = <$number>::new(next);
            }
        }

        impl $crate::pools::Pooled for $row {
            type Number = $number;
        }
    )*};
}

pub(crate) use pooled;

/// The engine's pool with numbers of one kind.
#[derive(Clone, Debug)]
pub struct Rows<T, M = Undo>(Pool<T, M>);

impl<T: Linked, M: Mode> Default for Rows<T, M> {
    fn default() -> Self {
        Self(Pool::default())
    }
}

impl<T: Linked, M: Mode> PartialEq for Rows<T, M> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T: Pooled, M: Mode> Rows<T, M> {
    /// Takes a row and fills it.
    #[inline]
    pub fn take(&mut self, row: T) -> T::Number {
        T::Number::of_plain(self.0.take(row))
    }

    /// Gives a row back.
    #[inline]
    pub fn give(&mut self, row: T::Number) {
        debug_assert!(!row.is_nil(), "no row cannot be given back");
        self.0.give(row.plain());
    }

    /// Gives a row back and says what was in it.
    #[inline]
    pub fn take_out(&mut self, row: T::Number) -> T {
        debug_assert!(!row.is_nil(), "no row cannot be given back");
        self.0.take_out(row.plain())
    }

    /// A row to read.
    #[inline]
    #[must_use]
    pub fn get(&self, row: T::Number) -> &T {
        self.0.get(row.plain())
    }

    /// A row to change.
    #[inline]
    pub fn edit(&mut self, row: T::Number) -> &mut T {
        self.0.edit(row.plain())
    }

    /// The row after this one in its list.
    #[inline]
    #[must_use]
    pub fn next(&self, row: T::Number) -> T::Number {
        T::Number::of_plain(self.get(row).next())
    }

    /// Number of rows taken and not given back.
    #[must_use]
    pub fn in_use(&self) -> u32 {
        self.0.in_use()
    }

    /// Hints that a row will be read soon; any number is allowed.
    #[inline]
    pub fn prefetch(&self, row: T::Number) {
        self.0.prefetch(row.plain());
    }

    /// As the engine sees it.
    #[inline]
    pub fn journal(&mut self) -> &mut dyn Journal
    where
        M: 'static,
    {
        &mut self.0
    }
}

/// A first-in-first-out list threaded through a pool: only its two ends. The engine's [`Fifo`](engine::state::Fifo) with numbers of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct List<I> {
    /// First row, none if empty.
    pub head: I,
    /// Last row; meaningless if empty.
    pub tail: I,
}
const _: () = assert!(size_of::<List<ChunkRow>>() == 8, "a list is two numbers");

impl<I: RowNumber> Default for List<I> {
    fn default() -> Self {
        Self { head: I::NIL, tail: I::NIL }
    }
}

impl<I: RowNumber> List<I> {
    /// True if nothing is in the list.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.head.is_nil()
    }

    /// Appends a row of its pool.
    #[inline]
    pub fn push<T: Pooled<Number = I>, M: Mode>(&mut self, rows: &mut Rows<T, M>, row: I) {
        rows.edit(row).set_next(NIL);
        self.append(rows, row);
    }

    /// The same for a row after which nothing comes, as one that was just taken.
    #[inline]
    pub fn append<T: Pooled<Number = I>, M: Mode>(&mut self, rows: &mut Rows<T, M>, row: I) {
        debug_assert!(!row.is_nil(), "no row cannot be in a list");
        debug_assert!(rows.next(row).is_nil(), "nothing comes after a row that is appended");
        if self.is_empty() {
            self.head = row;
        } else {
            debug_assert!(rows.next(self.tail).is_nil(), "nothing comes after the last row of a list");
            rows.edit(self.tail).set_next(row.plain());
        }
        self.tail = row;
    }

    /// Removes the first row; the caller gives it back or keeps it.
    #[inline]
    pub fn pop<T: Pooled<Number = I>, M: Mode>(&mut self, rows: &Rows<T, M>) -> Option<I> {
        if self.is_empty() {
            return None;
        }
        let row = self.head;
        // The row itself is not written: who gives it back or files it elsewhere sets its link anyway.
        self.head = rows.next(row);
        Some(row)
    }

    /// Visits every row from first to last.
    pub fn iter<'a, T: Pooled<Number = I>, M: Mode>(
        &self,
        rows: &'a Rows<T, M>,
    ) -> impl Iterator<Item = I> + 'a {
        let first = Some(self.head).filter(|row| !row.is_nil());
        ending(
            std::iter::successors(first, |&row| Some(rows.next(row)).filter(|next| !next.is_nil())),
            rows.0.made(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{Chunk, Post};
    use engine::{
        kept::put,
        state::{Fifo, mode::Full},
    };

    #[test]
    fn lists_keep_their_order() {
        let mut rows = Rows::<Post, Full>::default();
        let post = Post { time: 0, bytes: 0, destination: Default::default(), number: 0, next: PostRow::NIL };
        let (mut list, mut posts) = (List::default(), Vec::new());
        for time in 0..4 {
            let row = rows.take(Post { time, ..post });
            list.push(&mut rows, row);
            posts.push(row);
        }
        assert_eq!(list.iter(&rows).collect::<Vec<_>>(), posts);
        assert_eq!(list.pop(&rows), Some(posts[0]));
        rows.give(posts[0]);
        assert_eq!((rows.in_use(), list.head, list.tail), (3, posts[1], posts[3]));
    }

    /// Typed rows are as large as plain ones, and leave the same bytes.
    #[test]
    fn rows_are_kept_as_plain_numbers() {
        assert_eq!((size_of::<ChunkRow>(), size_of::<Chunk>()), (4, 12));
        let (mut typed, mut plain) = (Vec::new(), Vec::new());
        put(&List { head: PacketRow::new(3), tail: PacketRow::NIL }, &mut typed);
        put(&Fifo { head: 3, tail: NIL }, &mut plain);
        assert_eq!(typed, plain);
    }
}
