//! The map: where an entry is, what is put in and what is taken out.

use super::{Entry, IntoIter, Iter, IterMut, Occupied, Vacant};
use std::{
    borrow::Borrow,
    fmt,
    hash::{Hash, Hasher},
    ops::{Bound, Index, RangeBounds},
};

/// Entries of a block. More make dear insertions, fewer make a long row of blocks.
pub(super) const BLOCK: usize = 128;

/// A map whose entries are in the order of their keys. Searching costs the logarithm of their number.
///
/// No block is empty, keys ascend within a block and from block to block.
#[derive(Clone)]
pub struct SortedMap<K, V> {
    pub(super) blocks: Vec<Vec<(K, V)>>,
    pub(super) len: usize,
}

/// Where an entry is or would be: its block, and its place there.
pub(super) type Place = (usize, usize);

impl<K, V> SortedMap<K, V> {
    /// A map without entries. It takes no memory.
    pub const fn new() -> Self {
        Self { blocks: Vec::new(), len: 0 }
    }

    /// The number of entries.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no entry.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.blocks.clear();
        self.len = 0;
    }

    /// All entries in the order of keys.
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter::new(&self.blocks, self.len)
    }

    /// All entries in the order of keys; their values may be changed.
    pub fn iter_mut(&mut self) -> IterMut<'_, K, V> {
        IterMut::new(&mut self.blocks, self.len)
    }

    /// All keys in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + ExactSizeIterator + Clone {
        self.iter().map(|(key, _)| key)
    }

    /// All values in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator + Clone {
        self.iter().map(|(_, value)| value)
    }

    /// All values in the order of their keys, to be changed.
    pub fn values_mut(&mut self) -> impl ExactSizeIterator<Item = &mut V> {
        self.iter_mut().map(|(_, value)| value)
    }

    /// Takes the map apart into its keys, in order.
    pub fn into_keys(self) -> impl DoubleEndedIterator<Item = K> + ExactSizeIterator {
        self.into_iter().map(|(key, _)| key)
    }

    /// Takes the map apart into its values, in the order of their keys.
    pub fn into_values(self) -> impl DoubleEndedIterator<Item = V> + ExactSizeIterator {
        self.into_iter().map(|(_, value)| value)
    }

    /// The entry of the least key.
    pub fn first_key_value(&self) -> Option<(&K, &V)> {
        self.blocks.first()?.first().map(|(key, value)| (key, value))
    }

    /// The entry of the greatest key.
    pub fn last_key_value(&self) -> Option<(&K, &V)> {
        self.blocks.last()?.last().map(|(key, value)| (key, value))
    }

    /// Removes the entry of the least key.
    pub fn pop_first(&mut self) -> Option<(K, V)> {
        (self.len > 0).then(|| self.take((0, 0)))
    }

    /// Removes the entry of the greatest key.
    pub fn pop_last(&mut self) -> Option<(K, V)> {
        let block = self.blocks.len().checked_sub(1)?;
        Some(self.take((block, self.blocks[block].len() - 1)))
    }

    /// Keeps the entries of which `keep` says so, asked in the order of keys.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        for block in &mut self.blocks {
            block.retain_mut(|(key, value)| keep(key, value));
        }
        self.blocks.retain(|block| !block.is_empty());
        self.len = self.blocks.iter().map(Vec::len).sum();
    }

    /// Puts an entry where its key belongs. A full block is cut in halves; at the end of all a new one begins.
    pub(super) fn put(&mut self, (block, at): Place, key: K, value: V) -> Place {
        self.len += 1;
        let Some(entries) = self.blocks.get_mut(block) else {
            self.blocks.push(vec![(key, value)]);
            return (block, 0);
        };
        if entries.len() < BLOCK {
            entries.insert(at, (key, value));
            return (block, at);
        }
        let cut = if at == BLOCK && block + 1 == self.blocks.len() { BLOCK } else { BLOCK / 2 };
        let entries = &mut self.blocks[block];
        let second = entries.split_off(cut);
        self.blocks.insert(block + 1, second);
        let place = if at < cut || (at == cut && cut < BLOCK) { (block, at) } else { (block + 1, at - cut) };
        self.blocks[place.0].insert(place.1, (key, value));
        place
    }

    /// Removes the entry of a place. A block of few entries joins the next one if both have room.
    pub(super) fn take(&mut self, (block, at): Place) -> (K, V) {
        self.len -= 1;
        let entry = self.blocks[block].remove(at);
        let left = self.blocks[block].len();
        if left == 0 {
            self.blocks.remove(block);
        } else if left < BLOCK / 4 && self.blocks.get(block + 1).is_some_and(|next| left + next.len() < BLOCK)
        {
            let mut next = self.blocks.remove(block + 1);
            self.blocks[block].append(&mut next);
        }
        entry
    }
}

impl<K: Ord, V> SortedMap<K, V> {
    /// Where a key is, or where it would be put.
    pub(super) fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Result<Place, Place>
    where
        K: Borrow<Q>,
    {
        // The last block whose first key is not above, or the first one of all.
        let block = self.blocks.partition_point(|block| block[0].0.borrow() <= key).saturating_sub(1);
        let Some(entries) = self.blocks.get(block) else { return Err((0, 0)) };
        match entries.binary_search_by(|(other, _)| other.borrow().cmp(key)) {
            Ok(at) => Ok((block, at)),
            Err(at) => Err((block, at)),
        }
    }

    /// The value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.find(key).ok().map(|(block, at)| &self.blocks[block][at].1)
    }

    /// The value of a key, to be changed.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.find(key).ok().map(|(block, at)| &mut self.blocks[block][at].1)
    }

    /// Whether a key has an entry.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.find(key).is_ok()
    }

    /// Gives a key a value and returns the one that it had. The key itself stays as it was, if it was there.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.find(&key) {
            Ok((block, at)) => Some(std::mem::replace(&mut self.blocks[block][at].1, value)),
            Err(place) => {
                self.put(place, key, value);
                None
            }
        }
    }

    /// Removes a key and returns its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.find(key).ok().map(|place| self.take(place).1)
    }

    /// Removes a key and returns it with its value.
    pub fn remove_entry<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<(K, V)>
    where
        K: Borrow<Q>,
    {
        self.find(key).ok().map(|place| self.take(place))
    }

    /// The entry of a key, there or not, found once for what follows.
    pub fn entry(&mut self, key: K) -> Entry<'_, K, V> {
        match self.find(&key) {
            Ok(place) => Entry::Occupied(Occupied { map: self, place, key }),
            Err(place) => Entry::Vacant(Vacant { map: self, place, key }),
        }
    }

    /// The entries whose keys lie in a range, in order. A range that ends before it begins has none.
    pub fn range<Q: Ord + ?Sized>(&self, range: impl RangeBounds<Q>) -> Iter<'_, K, V>
    where
        K: Borrow<Q>,
    {
        let (first, end) = (self.bound(range.start_bound(), false), self.bound(range.end_bound(), true));
        Iter::between(&self.blocks, first, end)
    }

    /// As `range`; the values may be changed.
    pub fn range_mut<Q: Ord + ?Sized>(&mut self, range: impl RangeBounds<Q>) -> IterMut<'_, K, V>
    where
        K: Borrow<Q>,
    {
        let (first, end) = (self.bound(range.start_bound(), false), self.bound(range.end_bound(), true));
        IterMut::between(&mut self.blocks, first, end)
    }

    /// The place of the first entry behind a bound; `end` says that the bound ends a range.
    fn bound<Q: Ord + ?Sized>(&self, bound: Bound<&Q>, end: bool) -> Place
    where
        K: Borrow<Q>,
    {
        let (key, behind) = match bound {
            Bound::Unbounded => return if end { (self.blocks.len(), 0) } else { (0, 0) },
            Bound::Included(key) => (key, end),
            Bound::Excluded(key) => (key, !end),
        };
        match self.find(key) {
            Ok((block, at)) => (block, at + usize::from(behind)),
            Err(place) => place,
        }
    }
}

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for SortedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: PartialEq, V: PartialEq> PartialEq for SortedMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl<K: Eq, V: Eq> Eq for SortedMap<K, V> {}

impl<K: PartialOrd, V: PartialOrd> PartialOrd for SortedMap<K, V> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        self.iter().partial_cmp(other.iter())
    }
}

impl<K: Ord, V: Ord> Ord for SortedMap<K, V> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.iter().cmp(other.iter())
    }
}

impl<K: Hash, V: Hash> Hash for SortedMap<K, V> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_usize(self.len);
        self.iter().for_each(|entry| entry.hash(state));
    }
}

impl<K: Ord, V> Extend<(K, V)> for SortedMap<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

/// Of equal keys the last one counts.
impl<K: Ord, V> FromIterator<(K, V)> for SortedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::new();
        map.extend(entries);
        map
    }
}

impl<K: Ord, V, const N: usize> From<[(K, V); N]> for SortedMap<K, V> {
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl<K: Borrow<Q> + Ord, Q: Ord + ?Sized, V> Index<&Q> for SortedMap<K, V> {
    type Output = V;

    fn index(&self, key: &Q) -> &V {
        self.get(key).expect("a key that has an entry")
    }
}

impl<'a, K, V> IntoIterator for &'a SortedMap<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, K, V> IntoIterator for &'a mut SortedMap<K, V> {
    type Item = (&'a K, &'a mut V);
    type IntoIter = IterMut<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<K, V> IntoIterator for SortedMap<K, V> {
    type Item = (K, V);
    type IntoIter = IntoIter<K, V>;

    fn into_iter(self) -> Self::IntoIter {
        IntoIter::new(self.blocks, self.len)
    }
}

impl<K: serde::Serialize, V: serde::Serialize> serde::Serialize for SortedMap<K, V> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

impl<'de, K: Ord + serde::Deserialize<'de>, V: serde::Deserialize<'de>> serde::Deserialize<'de>
    for SortedMap<K, V>
{
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(super::iter::Entries(std::marker::PhantomData))
    }
}
