//! Sorted maps and sets of two levels: a row of blocks, each a short sorted row of entries.
//!
//! They offer what the rest of the tree uses of the standard library's B-trees, in the same order and with the same
//! complexity up to millions of entries. They exist for their size: a B-tree of one type compiles to about 6,000
//! lines of intermediate code, one of these to less than a third. B-trees were a third of what the compiler had to work on in some crates.
//!
//! A search goes by halves over the blocks' first keys, then by halves within a block. An entry that is put in moves
//! half a block at most; a full block is cut in two, or followed by a new one if the entry comes last.
//! Entries that come in order are therefore only appended, and leave full blocks.

mod blocks;
mod entry;
mod iter;
mod map;
mod set;
#[cfg(test)]
mod tests;

pub use entry::{Entry, Occupied, Vacant};
pub use iter::{IntoIter, Iter, IterMut};
pub use map::SortedMap;
pub use set::SortedSet;
