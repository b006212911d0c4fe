//! Values by number, of which a part is used: memory follows what was written, not the largest number that there could be.

use serde::{Deserialize, Serialize};

/// Values of a page.
const PAGE: usize = 64;

/// A value for each number. Those of a page take memory from the first change of one of them on.
///
/// For sums that a partition keeps by terminal or rank: it meets its own and some of the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Paged<T> {
    /// Empty where nothing was changed.
    pages: Vec<Vec<T>>,
}

impl<T> Default for Paged<T> {
    fn default() -> Self {
        Self { pages: Vec::new() }
    }
}

impl<T: Clone + Default> Paged<T> {
    /// The value of a number, `None` if it is one that nobody changed.
    #[inline]
    #[must_use]
    pub fn get(&self, number: u32) -> Option<&T> {
        self.pages.get(number as usize / PAGE)?.get(number as usize % PAGE)
    }

    /// The value of a number, to change.
    #[inline]
    pub fn edit(&mut self, number: u32) -> &mut T {
        let (page, place) = (number as usize / PAGE, number as usize % PAGE);
        if self.pages.get(page).is_none_or(Vec::is_empty) {
            self.add_page(page);
        }
        &mut self.pages[page][place]
    }

    #[cold]
    #[inline(never)]
    fn add_page(&mut self, page: usize) {
        if page >= self.pages.len() {
            self.pages.resize_with(page + 1, Vec::new);
        }
        self.pages[page] = vec![T::default(); PAGE];
    }

    /// All values of pages in use, by number, with those that nobody changed beside changed ones.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let page = |(p, page)| (0u32..).zip::<&Vec<T>>(page).map(move |(n, v)| (p * PAGE as u32 + n, v));
        (0u32..).zip(&self.pages).flat_map(page)
    }

    /// Adds another's values to those of the same numbers.
    pub fn merge(&mut self, other: &Self, add: impl Fn(&mut T, &T)) {
        for (number, value) in other.iter() {
            add(self.edit(number), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_takes_memory() {
        let mut paged = Paged::<u32>::default();
        assert_eq!(paged.get(7), None);
        *paged.edit(1_000_003) += 5;
        assert_eq!((paged.get(1_000_003), paged.get(1_000_002), paged.get(7)), (Some(&5), Some(&0), None));
        assert_eq!(paged.pages.iter().filter(|p| p.capacity() > 0).count(), 1);
        let mut other = Paged::default();
        *other.edit(9) = 4;
        *other.edit(1_000_003) = 1;
        paged.merge(&other, |a, b| *a += b);
        let all: Vec<(u32, u32)> = paged.iter().map(|(n, &v)| (n, v)).filter(|v| v.1 > 0).collect();
        assert_eq!(all, [(9, 4), (1_000_003, 6)]);
    }
}
