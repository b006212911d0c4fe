//! A set is a map of values without size.

use super::SortedMap;
use std::{borrow::Borrow, fmt, ops::RangeBounds};

/// Values in order, each once. Costs are those of [`SortedMap`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SortedSet<T>(SortedMap<T, ()>);

impl<T> SortedSet<T> {
    /// A set without values. It takes no memory.
    pub const fn new() -> Self {
        Self(SortedMap::new())
    }

    /// The number of values.
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no value.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes all values.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// All values in order.
    pub fn iter(&self) -> super::iter::Keys<'_, T, ()> {
        super::iter::Keys(self.0.iter())
    }

    /// The least value.
    pub fn first(&self) -> Option<&T> {
        self.0.first_key_value().map(|(value, ())| value)
    }

    /// The greatest value.
    pub fn last(&self) -> Option<&T> {
        self.0.last_key_value().map(|(value, ())| value)
    }

    /// Removes the least value.
    pub fn pop_first(&mut self) -> Option<T> {
        self.0.pop_first().map(|(value, ())| value)
    }

    /// Removes the greatest value.
    pub fn pop_last(&mut self) -> Option<T> {
        self.0.pop_last().map(|(value, ())| value)
    }

    /// Keeps the values of which `keep` says so, asked in order.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.0.retain(|value, ()| keep(value));
    }
}

impl<T: Ord> SortedSet<T> {
    /// Puts a value in. Whether it was not there before.
    pub fn insert(&mut self, value: T) -> bool {
        self.0.insert(value, ()).is_none()
    }

    /// Whether a value is there.
    pub fn contains<Q: Ord + ?Sized>(&self, value: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.0.contains_key(value)
    }

    /// Removes a value. Whether it was there.
    pub fn remove<Q: Ord + ?Sized>(&mut self, value: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.0.remove(value).is_some()
    }

    /// Removes a value and returns it.
    pub fn take<Q: Ord + ?Sized>(&mut self, value: &Q) -> Option<T>
    where
        T: Borrow<Q>,
    {
        self.0.remove_entry(value).map(|(value, ())| value)
    }

    /// The values of a range, in order.
    pub fn range<Q: Ord + ?Sized>(&self, range: impl RangeBounds<Q>) -> super::iter::Keys<'_, T, ()>
    where
        T: Borrow<Q>,
    {
        super::iter::Keys(self.0.range(range))
    }

    /// The values that `other` does not have, in order.
    pub fn difference<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a T> {
        self.iter().filter(|value| !other.contains(*value))
    }

    /// The values that `other` has too, in order.
    pub fn intersection<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a T> {
        self.iter().filter(|value| other.contains(*value))
    }

    /// Whether `other` has no value of this set.
    pub fn is_disjoint(&self, other: &Self) -> bool {
        !self.iter().any(|value| other.contains(value))
    }

    /// Whether `other` has all values of this set.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.iter().all(|value| other.contains(value))
    }
}

impl<T> Default for SortedSet<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for SortedSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl<T: Ord> Extend<T> for SortedSet<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        for value in values {
            self.insert(value);
        }
    }
}

impl<T: Ord> FromIterator<T> for SortedSet<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut set = Self::new();
        set.extend(values);
        set
    }
}

impl<T: Ord, const N: usize> From<[T; N]> for SortedSet<T> {
    fn from(values: [T; N]) -> Self {
        values.into_iter().collect()
    }
}

impl<'a, T> IntoIterator for &'a SortedSet<T> {
    type Item = &'a T;
    type IntoIter = super::iter::Keys<'a, T, ()>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T> IntoIterator for SortedSet<T> {
    type Item = T;
    type IntoIter = super::iter::IntoKeys<T, ()>;

    fn into_iter(self) -> Self::IntoIter {
        super::iter::IntoKeys(self.0.into_iter())
    }
}

impl<T: serde::Serialize> serde::Serialize for SortedSet<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self)
    }
}

impl<'de, T: Ord + serde::Deserialize<'de>> serde::Deserialize<'de> for SortedSet<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(|values| values.into_iter().collect())
    }
}
