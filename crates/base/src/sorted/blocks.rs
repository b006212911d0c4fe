//! The row of blocks: where an entry is, what is put in and what is taken out.

use std::{borrow::Borrow, ops::Bound};

/// Entries of a block. More make dear insertions, fewer make a long row of blocks.
pub(super) const BLOCK: usize = 128;

/// Entries in the order of their keys, block by block.
///
/// No block is empty, keys ascend within a block and from block to block.
#[derive(Clone)]
pub(super) struct Blocks<K, V> {
    pub(super) rows: Vec<Vec<(K, V)>>,
    pub(super) len: usize,
}

/// Where an entry is or would be: its block, and its place there.
pub(super) type Place = (usize, usize);

impl<K, V> Blocks<K, V> {
    /// Puts an entry where its key belongs. A full block is cut in halves; at the end of all a new one begins.
    pub(super) fn put(&mut self, (block, at): Place, key: K, value: V) -> Place {
        self.len += 1;
        let Some(entries) = self.rows.get_mut(block) else {
            self.rows.push(vec![(key, value)]);
            return (block, 0);
        };
        if entries.len() < BLOCK {
            entries.insert(at, (key, value));
            return (block, at);
        }
        let cut = if at == BLOCK && block + 1 == self.rows.len() { BLOCK } else { BLOCK / 2 };
        let entries = &mut self.rows[block];
        let second = entries.split_off(cut);
        self.rows.insert(block + 1, second);
        let place = if at < cut || (at == cut && cut < BLOCK) { (block, at) } else { (block + 1, at - cut) };
        self.rows[place.0].insert(place.1, (key, value));
        place
    }

    /// Removes the entry of a place. A block of few entries joins the next one if both have room.
    pub(super) fn take(&mut self, (block, at): Place) -> (K, V) {
        self.len -= 1;
        let entry = self.rows[block].remove(at);
        let left = self.rows[block].len();
        if left == 0 {
            self.rows.remove(block);
        } else if left < BLOCK / 4 && self.rows.get(block + 1).is_some_and(|next| left + next.len() < BLOCK) {
            let mut next = self.rows.remove(block + 1);
            self.rows[block].append(&mut next);
        }
        entry
    }

    /// The value at a place.
    pub(super) fn at(&self, (block, at): Place) -> &V {
        &self.rows[block][at].1
    }

    /// The value at a place, to be changed.
    pub(super) fn at_mut(&mut self, (block, at): Place) -> &mut V {
        &mut self.rows[block][at].1
    }
}

impl<K: Ord, V> Blocks<K, V> {
    /// Where a key is, or where it would be put.
    pub(super) fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Result<Place, Place>
    where
        K: Borrow<Q>,
    {
        // The last block whose first key is not above, or the first one of all.
        let block = self.rows.partition_point(|block| block[0].0.borrow() <= key).saturating_sub(1);
        let Some(entries) = self.rows.get(block) else { return Err((0, 0)) };
        match entries.binary_search_by(|(other, _)| other.borrow().cmp(key)) {
            Ok(at) => Ok((block, at)),
            Err(at) => Err((block, at)),
        }
    }

    /// The place of the first entry behind a bound; `end` says that the bound ends a range.
    pub(super) fn bound<Q: Ord + ?Sized>(&self, bound: Bound<&Q>, end: bool) -> Place
    where
        K: Borrow<Q>,
    {
        let (key, behind) = match bound {
            Bound::Unbounded => return if end { (self.rows.len(), 0) } else { (0, 0) },
            Bound::Included(key) => (key, end),
            Bound::Excluded(key) => (key, !end),
        };
        match self.find(key) {
            Ok((block, at)) => (block, at + usize::from(behind)),
            Err(place) => place,
        }
    }
}
