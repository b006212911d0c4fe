//! The map: a row of blocks with the calls of a map.

use super::{Entry, IntoIter, Iter, IterMut, Occupied, Vacant, blocks::Blocks};
use std::{
    borrow::Borrow,
    fmt,
    hash::{Hash, Hasher},
    marker::PhantomData,
    ops::{Index, RangeBounds},
};

/// A map whose entries are in the order of their keys. Searching costs the logarithm of their number.
#[derive(Clone)]
pub struct SortedMap<K, V>(pub(super) Blocks<K, V>);

impl<K, V> SortedMap<K, V> {
    /// A map without entries. It takes no memory.
    pub const fn new() -> Self {
        Self(Blocks { rows: Vec::new(), len: 0 })
    }

    /// The number of entries.
    pub const fn len(&self) -> usize {
        self.0.len
    }

    /// Whether there is no entry.
    pub const fn is_empty(&self) -> bool {
        self.0.len == 0
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.0.rows.clear();
        self.0.len = 0;
    }

    /// All entries in the order of keys.
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter::new(&self.0.rows, self.0.len)
    }

    /// All entries in the order of keys; their values may be changed.
    pub fn iter_mut(&mut self) -> IterMut<'_, K, V> {
        IterMut::new(&mut self.0.rows, self.0.len)
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
        self.0.rows.first()?.first().map(|(key, value)| (key, value))
    }

    /// The entry of the greatest key.
    pub fn last_key_value(&self) -> Option<(&K, &V)> {
        self.0.rows.last()?.last().map(|(key, value)| (key, value))
    }

    /// Removes the entry of the least key.
    pub fn pop_first(&mut self) -> Option<(K, V)> {
        (self.0.len > 0).then(|| self.0.take((0, 0)))
    }

    /// Removes the entry of the greatest key.
    pub fn pop_last(&mut self) -> Option<(K, V)> {
        let block = self.0.rows.len().checked_sub(1)?;
        Some(self.0.take((block, self.0.rows[block].len() - 1)))
    }

    /// Keeps the entries of which `keep` says so, asked in the order of keys.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        for block in &mut self.0.rows {
            block.retain_mut(|(key, value)| keep(key, value));
        }
        self.0.rows.retain(|block| !block.is_empty());
        self.0.len = self.0.rows.iter().map(Vec::len).sum();
    }
}

impl<K: Ord, V> SortedMap<K, V> {
    /// The value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.0.find(key).ok().map(|place| self.0.at(place))
    }

    /// The value of a key, to be changed.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.0.find(key).ok().map(|place| self.0.at_mut(place))
    }

    /// Whether a key has an entry.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.0.find(key).is_ok()
    }

    /// Gives a key a value and returns the one that it had. The key itself stays as it was, if it was there.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.0.find(&key) {
            Ok(place) => Some(std::mem::replace(self.0.at_mut(place), value)),
            Err(place) => {
                self.0.put(place, key, value);
                None
            }
        }
    }

    /// Removes a key and returns its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.0.find(key).ok().map(|place| self.0.take(place).1)
    }

    /// Removes a key and returns it with its value.
    pub fn remove_entry<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<(K, V)>
    where
        K: Borrow<Q>,
    {
        self.0.find(key).ok().map(|place| self.0.take(place))
    }

    /// The entry of a key, there or not, found once for what follows.
    pub fn entry(&mut self, key: K) -> Entry<'_, K, V> {
        match self.0.find(&key) {
            Ok(place) => Entry::Occupied(Occupied { blocks: &mut self.0, place, key }),
            Err(place) => Entry::Vacant(Vacant { blocks: &mut self.0, place, key }),
        }
    }

    /// The entries whose keys lie in a range, in order. A range that ends before it begins has none.
    pub fn range<Q: Ord + ?Sized>(&self, range: impl RangeBounds<Q>) -> Iter<'_, K, V>
    where
        K: Borrow<Q>,
    {
        let (first, end) = (self.0.bound(range.start_bound(), false), self.0.bound(range.end_bound(), true));
        Iter::between(&self.0.rows, first, end)
    }

    /// As `range`; the values may be changed.
    pub fn range_mut<Q: Ord + ?Sized>(&mut self, range: impl RangeBounds<Q>) -> IterMut<'_, K, V>
    where
        K: Borrow<Q>,
    {
        let (first, end) = (self.0.bound(range.start_bound(), false), self.0.bound(range.end_bound(), true));
        IterMut::between(&mut self.0.rows, first, end)
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
        self.0.len == other.0.len && self.iter().eq(other.iter())
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
        state.write_usize(self.0.len);
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
        IntoIter::new(self.0.rows, self.0.len)
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
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

/// Reads a map entry by entry.
struct Entries<K, V>(PhantomData<(K, V)>);

impl<'de, K: Ord + serde::Deserialize<'de>, V: serde::Deserialize<'de>> serde::de::Visitor<'de>
    for Entries<K, V>
{
    type Value = SortedMap<K, V>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut map = SortedMap::new();
        while let Some((key, value)) = entries.next_entry()? {
            map.insert(key, value);
        }
        Ok(map)
    }
}
