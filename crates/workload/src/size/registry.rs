//! The distributions that a job can name.

pub use super::{SizeCurve, SizeEntry};
use super::{data_mining, hadoop, web_search};

/// What `[[job]] size_distribution` may name. Adding one is one file and one line here.
pub const SIZE_DISTRIBUTIONS: &[SizeEntry] = &[web_search::ENTRY, hadoop::ENTRY, data_mining::ENTRY];

const fn names() -> [&'static str; SIZE_DISTRIBUTIONS.len()] {
    let mut names = [""; SIZE_DISTRIBUTIONS.len()];
    let mut n = 0;
    while n < names.len() {
        names[n] = SIZE_DISTRIBUTIONS[n].about.name;
        n += 1;
    }
    names
}

/// Their names, as the key takes them.
pub(crate) const NAMES: &[&str] = &names();
