//! Mistakes of an input file: some are shown, the others are counted.

/// Mistakes of a file that are shown; of more only the number is.
pub const SHOWN: usize = 100;

/// The mistakes found in a file so far: as many as are shown, and how many more there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistakes<T> {
    shown: Vec<T>,
    more: usize,
}

impl<T> Default for Mistakes<T> {
    fn default() -> Self {
        Self { shown: Vec::new(), more: 0 }
    }
}

impl<T> Mistakes<T> {
    /// Adds a mistake; if as many are there as are shown, it is counted only.
    pub fn push(&mut self, mistake: T) {
        self.push_with(|| mistake);
    }

    /// The same for a mistake that is made only if it is shown.
    pub fn push_with(&mut self, mistake: impl FnOnce() -> T) {
        if self.shown.len() < SHOWN {
            self.shown.push(mistake());
        } else {
            self.more += 1;
        }
    }

    /// Those that are shown, and how many more there are.
    #[must_use]
    pub fn into_parts(self) -> (Vec<T>, usize) {
        (self.shown, self.more)
    }

    /// How many are counted only.
    #[must_use]
    pub const fn more(&self) -> usize {
        self.more
    }

    /// True if there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    /// The mistakes that are shown, and what `whole` makes of the others: a mistake of the whole file, which stands for all of them.
    ///
    /// # Errors
    /// All of that, if there is a mistake.
    pub fn done(self, whole: impl FnOnce(Others) -> T) -> Result<(), Vec<T>> {
        let Self { mut shown, more } = self;
        if more > 0 {
            shown.push(whole(Others { count: more, message: more_errors(more) }));
        }
        if shown.is_empty() { Ok(()) } else { Err(shown) }
    }
}

/// Mistakes that are counted only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Others {
    /// How many they are.
    pub count: usize,
    /// What is said of them.
    pub message: String,
}

impl<T> Extend<T> for Mistakes<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, mistakes: I) {
        mistakes.into_iter().for_each(|mistake| self.push(mistake));
    }
}

/// What is said of mistakes that are not shown.
#[must_use]
pub fn more_errors(more: usize) -> String {
    format!("{more} more {}", if more == 1 { "error" } else { "errors" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_are_shown_and_the_others_counted() {
        let list = |count: usize| {
            let mut mistakes = Mistakes::default();
            mistakes.extend((0..count).map(|n| n.to_string()));
            assert_eq!(mistakes.is_empty(), count == 0);
            mistakes.done(|others| {
                assert_eq!(others.count, count - SHOWN);
                others.message
            })
        };
        assert_eq!(list(0), Ok(()));
        assert_eq!(list(2), Err(vec!["0".to_owned(), "1".to_owned()]));
        assert_eq!(list(SHOWN).unwrap_err().len(), SHOWN);
        for (count, last) in [(SHOWN + 1, "1 more error"), (50_000, "49900 more errors")] {
            let all = list(count).unwrap_err();
            assert_eq!((all.len(), all[SHOWN - 1].as_str(), all[SHOWN].as_str()), (SHOWN + 1, "99", last));
        }
    }
}
