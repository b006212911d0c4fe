//! Walks over a map from both ends: blocks not begun, and what is left of the first and the last one begun.

use super::blocks::Place;
use std::{slice, vec};

/// A walk over entries; see `iter` and `range` of a map.
pub struct Iter<'a, K, V> {
    front: slice::Iter<'a, (K, V)>,
    blocks: slice::Iter<'a, Vec<(K, V)>>,
    back: slice::Iter<'a, (K, V)>,
    left: usize,
}

/// A walk over entries whose values may be changed; see `iter_mut` of a map.
pub struct IterMut<'a, K, V> {
    front: slice::IterMut<'a, (K, V)>,
    blocks: slice::IterMut<'a, Vec<(K, V)>>,
    back: slice::IterMut<'a, (K, V)>,
    left: usize,
}

/// The entries of a map that is taken apart.
pub struct IntoIter<K, V> {
    front: vec::IntoIter<(K, V)>,
    blocks: vec::IntoIter<Vec<(K, V)>>,
    back: vec::IntoIter<(K, V)>,
    left: usize,
}

/// What lies between two places: the part of the first block, whole blocks, the part of the last one, all of them counted.
struct Cut {
    head: std::ops::Range<usize>,
    whole: std::ops::Range<usize>,
    tail: std::ops::Range<usize>,
}

/// Cuts blocks of these lengths at two places; an end before the beginning leaves nothing.
fn cut<K, V>(blocks: &[Vec<(K, V)>], first: Place, end: Place) -> Option<Cut> {
    if first >= end || first.0 >= blocks.len() {
        return None;
    }
    if first.0 == end.0 {
        return Some(Cut { head: first.1..end.1, whole: first.0 + 1..first.0 + 1, tail: 0..0 });
    }
    Some(Cut { head: first.1..blocks[first.0].len(), whole: first.0 + 1..end.0, tail: 0..end.1 })
}

impl<'a, K, V> Iter<'a, K, V> {
    /// Over whole blocks that have `left` entries.
    pub(super) fn new(blocks: &'a [Vec<(K, V)>], left: usize) -> Self {
        Self { front: [].iter(), blocks: blocks.iter(), back: [].iter(), left }
    }

    /// From one place up to another.
    pub(super) fn between(blocks: &'a [Vec<(K, V)>], first: Place, end: Place) -> Self {
        let Some(cut) = cut(blocks, first, end) else { return Self::new(&[], 0) };
        let (head, whole) = (&blocks[first.0][cut.head], &blocks[cut.whole]);
        let tail = if cut.tail.is_empty() { &[][..] } else { &blocks[end.0][cut.tail] };
        let left = head.len() + whole.iter().map(Vec::len).sum::<usize>() + tail.len();
        Self { front: head.iter(), blocks: whole.iter(), back: tail.iter(), left }
    }
}

impl<'a, K, V> IterMut<'a, K, V> {
    /// Over whole blocks that have `left` entries.
    pub(super) fn new(blocks: &'a mut [Vec<(K, V)>], left: usize) -> Self {
        Self { front: [].iter_mut(), blocks: blocks.iter_mut(), back: [].iter_mut(), left }
    }

    /// From one place up to another.
    pub(super) fn between(blocks: &'a mut [Vec<(K, V)>], first: Place, end: Place) -> Self {
        let Some(cut) = cut(blocks, first, end) else { return Self::new(&mut [], 0) };
        let (upper, tail) = match cut.tail.is_empty() {
            true => (&mut blocks[first.0..cut.whole.end], &mut [][..]),
            false => {
                let (upper, rest) = blocks[first.0..].split_at_mut(end.0 - first.0);
                (upper, &mut rest[0][cut.tail])
            }
        };
        let Some((head, whole)) = upper.split_first_mut() else { return Self::new(&mut [], 0) };
        let head = &mut head[cut.head];
        let left = head.len() + whole.iter().map(Vec::len).sum::<usize>() + tail.len();
        Self { front: head.iter_mut(), blocks: whole.iter_mut(), back: tail.iter_mut(), left }
    }
}

impl<K, V> IntoIter<K, V> {
    /// Over all blocks of a map of `left` entries.
    pub(super) fn new(blocks: Vec<Vec<(K, V)>>, left: usize) -> Self {
        Self { front: Vec::new().into_iter(), blocks: blocks.into_iter(), back: Vec::new().into_iter(), left }
    }
}

/// The three walks differ in what they yield of a block and in what they make of an entry.
macro_rules! walk {
    ($name:ident<$($life:lifetime,)? K, V>, $item:ty, $open:ident, |$entry:ident| $shown:expr) => {
        impl<$($life,)? K, V> Iterator for $name<$($life,)? K, V> {
            type Item = $item;

            fn next(&mut self) -> Option<Self::Item> {
                let $entry = loop {
                    if let Some(entry) = self.front.next() {
                        break entry;
                    }
                    match self.blocks.next() {
                        Some(block) => self.front = block.$open(),
                        None => break self.back.next()?,
                    }
                };
                self.left -= 1;
                Some($shown)
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                (self.left, Some(self.left))
            }
        }

        impl<$($life,)? K, V> DoubleEndedIterator for $name<$($life,)? K, V> {
            fn next_back(&mut self) -> Option<Self::Item> {
                let $entry = loop {
                    if let Some(entry) = self.back.next_back() {
                        break entry;
                    }
                    match self.blocks.next_back() {
                        Some(block) => self.back = block.$open(),
                        None => break self.front.next_back()?,
                    }
                };
                self.left -= 1;
                Some($shown)
            }
        }

        impl<$($life,)? K, V> ExactSizeIterator for $name<$($life,)? K, V> {}
    };
}

walk!(Iter<'a, K, V>, (&'a K, &'a V), iter, |entry| (&entry.0, &entry.1));
walk!(IterMut<'a, K, V>, (&'a K, &'a mut V), iter_mut, |entry| (&entry.0, &mut entry.1));
walk!(IntoIter<K, V>, (K, V), into_iter, |entry| entry);

impl<K, V> Clone for Iter<'_, K, V> {
    fn clone(&self) -> Self {
        Self {
            front: self.front.clone(),
            blocks: self.blocks.clone(),
            back: self.back.clone(),
            left: self.left,
        }
    }
}

/// The keys of a walk.
pub struct Keys<'a, K, V>(pub(super) Iter<'a, K, V>);

/// The keys of a map that is taken apart.
pub struct IntoKeys<K, V>(pub(super) IntoIter<K, V>);

/// Keys come as their entries come.
macro_rules! keys {
    ($name:ident<$($life:lifetime,)? K, V>, $item:ty) => {
        impl<$($life,)? K, V> Iterator for $name<$($life,)? K, V> {
            type Item = $item;

            fn next(&mut self) -> Option<Self::Item> {
                self.0.next().map(|(key, _)| key)
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                self.0.size_hint()
            }
        }

        impl<$($life,)? K, V> DoubleEndedIterator for $name<$($life,)? K, V> {
            fn next_back(&mut self) -> Option<Self::Item> {
                self.0.next_back().map(|(key, _)| key)
            }
        }

        impl<$($life,)? K, V> ExactSizeIterator for $name<$($life,)? K, V> {}
    };
}

keys!(Keys<'a, K, V>, &'a K);
keys!(IntoKeys<K, V>, K);

impl<K, V> Clone for Keys<'_, K, V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}
