//! Routes of sharers, one after the other: who changes a sharer's level reads one stretch of memory.

use std::ops::Range;

/// A link on a sharer's route.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) link: u32,
    // Kept on both sides, here and in the member's `entry`, so that neither list is searched when a sharer leaves.
    /// Place in the link's list.
    pub(super) slot: u32,
    /// What the sharer takes of the link per level, as in the link's list.
    pub(super) rate: f64,
}

/// Where a route is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Block {
    start: u32,
    len: u32,
    /// It has room for 2^size links, if it has any.
    size: u8,
    held: bool,
}

impl Block {
    #[inline]
    pub(super) fn range(self) -> Range<usize> {
        self.start as usize..self.start as usize + self.len as usize
    }

    #[inline]
    pub(super) fn at(self, entry: u32) -> usize {
        debug_assert!(entry < self.len, "an entry is of its route");
        (self.start + entry) as usize
    }
}

/// Routes of all sharers, in blocks that are used again.
#[derive(Clone, Debug, Default)]
pub(super) struct Routes {
    pub(super) entries: Vec<Entry>,
    /// Use of the link per unit of share, by entry.
    pub(super) usages: Vec<f64>,
    /// Blocks that nobody has, by size.
    free: Vec<Vec<u32>>,
}

impl Routes {
    /// A block for so many links in place of another one, whose content is lost.
    pub(super) fn fit(&mut self, block: Block, len: usize) -> Block {
        let (len, size) = (len as u32, len.next_power_of_two().trailing_zeros() as u8);
        if block.held && block.size >= size {
            return Block { len, ..block };
        }
        self.free.resize_with(self.free.len().max(usize::from(size) + 1), Vec::new);
        if block.held {
            self.free[usize::from(block.size)].push(block.start);
        }
        let start = self.free[usize::from(size)].pop().unwrap_or_else(|| {
            let start = self.entries.len();
            self.entries.resize(start + (1 << size), Entry { link: u32::MAX, slot: 0, rate: 0.0 });
            self.usages.resize(self.entries.len(), 0.0);
            start as u32
        });
        Block { start, len, size, held: true }
    }

    /// The same block with room for one link more, and the place of that. What it holds stays.
    pub(super) fn longer(&mut self, block: Block) -> (Block, u32) {
        let last = block.len;
        if block.held && last < 1 << block.size {
            return (Block { len: last + 1, ..block }, last);
        }
        let other = self.fit(Block::default(), last as usize + 1);
        self.entries.copy_within(block.range(), other.start as usize);
        self.usages.copy_within(block.range(), other.start as usize);
        if block.held {
            self.free[usize::from(block.size)].push(block.start);
        }
        (other, last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_grow_and_are_used_again() {
        let mut routes = Routes::default();
        let first = routes.fit(Block::default(), 3);
        assert_eq!(routes.fit(first, 4).range(), first.start as usize..first.start as usize + 4);
        let second = routes.fit(first, 5);
        assert!(second.start >= first.start + 4);
        assert_eq!(routes.fit(Block::default(), 4).start, first.start);
        assert_eq!(routes.fit(second, 0).range().len(), 0);
    }
}
