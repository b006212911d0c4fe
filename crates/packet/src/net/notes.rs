//! Numbers of chunks that few runs have, beside their rows.

use crate::pools::{ChunkRow, RowNumber};
use engine::state::{Journal, Table, mode::Mode};

/// A number for each chunk, kept beside them since most runs have none: the routing's memory, and ties of copies.
#[derive(Clone)]
pub struct Notes<M: Mode> {
    rows: Table<u32, M, ChunkRow>,
    used: bool,
}

impl<M: Mode> Notes<M> {
    /// None yet; those that are not `used` stay so.
    #[must_use]
    pub fn new(used: bool) -> Self {
        Self { rows: Table::from(Vec::new()), used }
    }

    /// Shows its table to the engine.
    pub fn journal(&mut self) -> &mut dyn Journal {
        &mut self.rows
    }

    /// Most chunks that notes may tie together.
    #[must_use]
    pub fn made(&self) -> usize {
        self.rows.len().max(1)
    }

    /// What was noted of a chunk, 0 if nothing was.
    #[inline]
    #[must_use]
    pub fn get(&self, c: ChunkRow) -> u32 {
        if self.used { self.rows.rows().get(c.index()).copied().unwrap_or(0) } else { 0 }
    }

    /// Notes something of a chunk.
    #[inline]
    pub fn set(&mut self, c: ChunkRow, note: u32) {
        debug_assert!(!c.is_nil(), "what is noted is noted of a chunk");
        if self.used {
            while self.rows.len() <= c.index() {
                self.rows.grow(0);
            }
            *self.rows.edit(c) = note;
        }
    }
}

/// Rows that only one has belong to chunks that the other does not know.
impl<M: Mode> PartialEq for Notes<M> {
    fn eq(&self, other: &Self) -> bool {
        self.rows.rows().iter().zip(other.rows.rows()).all(|(a, b)| a == b)
    }
}
