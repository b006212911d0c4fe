//! Lists end: in a state that a run left they do, and in a forged one they may be rings. Who walks along a list counts its steps, so that a ring ends the run
//! and not the patience of who waits for it.

/// What a ring ends a run with.
const RING: &str = "a list is a ring, as no run leaves one";

/// The steps that are left along a list.
#[derive(Clone, Copy, Debug)]
pub struct Steps(usize);

impl Steps {
    /// A list has as many rows as its pool at most.
    #[inline]
    #[must_use]
    pub fn of(rows: usize) -> Self {
        Self(rows)
    }

    /// One more row.
    ///
    /// # Panics
    /// If the list has more rows than there are.
    #[inline]
    pub fn step(&mut self) {
        assert!(self.0 > 0, "{RING}");
        self.0 -= 1;
    }
}

/// A list of `rows` rows at most.
///
/// # Panics
/// If it has more.
pub fn ending<I>(list: impl Iterator<Item = I>, rows: usize) -> impl Iterator<Item = I> {
    let mut steps = Steps::of(rows);
    list.inspect(move |_| steps.step())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_all_rows_is_walked() {
        assert_eq!(ending([2, 0, 1].into_iter(), 3).count(), 3);
        assert_eq!(ending(std::iter::empty::<u32>(), 0).count(), 0);
    }

    #[test]
    #[should_panic(expected = "a list is a ring")]
    fn a_ring_is_not() {
        let next = [1usize, 2, 0];
        ending(std::iter::successors(Some(0), |&row| Some(next[row])), 3).count();
    }
}
