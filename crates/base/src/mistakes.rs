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

    /// The mistakes that are shown, and what `whole` makes of the number of the others: a mistake of the whole file.
    ///
    /// # Errors
    /// All of that, if there is a mistake.
    pub fn done(self, whole: impl FnOnce(String) -> T) -> Result<(), Vec<T>> {
        let Self { mut shown, more } = self;
        if more > 0 {
            shown.push(whole(more_errors(more)));
        }
        if shown.is_empty() { Ok(()) } else { Err(shown) }
    }
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

/// How many mistakes a message stands for: one, or as many as [`more_errors`] says in it, whatever file is named before that.
#[must_use]
pub fn counted(message: &str) -> usize {
    let (said, rest) = message.rsplit_once(" more error").unwrap_or_default();
    let ends = rest.strip_prefix('s').unwrap_or(rest);
    let number = said.rsplit(": ").next().unwrap_or_default();
    // What a file says stands in quotes.
    let is_number =
        !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) && !said.contains(['`', '"']);
    number.parse().ok().filter(|_| is_number && (ends.is_empty() || ends.starts_with(';'))).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_for_many_counts_as_many() {
        let many = [("1 more error", 1), ("49900 more errors", 49_900), ("a.txt: 7 more errors", 7)];
        for (message, count) in many {
            assert_eq!(
                [counted(message), counted(&format!("{message}; it was read no further"))],
                [count; 2]
            );
        }
        for one in [
            "no unit",
            "",
            "7 more errors than that",
            "more errors",
            "rank 7 more errors",
            "-3 more errors",
            "no key `a: 9 more errors; b`",
        ] {
            assert_eq!(counted(one), 1, "{one}");
        }
    }

    #[test]
    fn the_first_are_shown_and_the_others_counted() {
        let list = |count: usize| {
            let mut mistakes = Mistakes::default();
            mistakes.extend((0..count).map(|n| n.to_string()));
            assert_eq!(mistakes.is_empty(), count == 0);
            mistakes.done(|more| more)
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
