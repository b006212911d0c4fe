//! Registries: plain slices of entries that a user can name.
//!
//! From a registry come dispatch, "did you mean", `netloom list`, `netloom explain`, the JSON schema and the
//! conformance tests. Adding a strategy is one file and one line in its room's slice.

pub use crate::nearest::nearest;
use crate::param::Param;

/// What a user reads about a registered strategy.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Name in the experiment file.
    pub name: &'static str,
    /// One line for `netloom list`.
    pub summary: &'static str,
    /// A paragraph or more for `netloom explain`: what it does, its rules, what is not modelled.
    pub doc: &'static str,
    /// Where it comes from: paper, section, equation, or the tool it agrees with.
    pub source: &'static str,
    /// Keys that belong to it.
    pub params: &'static [Param],
}

/// Something with an [`About`].
pub trait Registered {
    /// Its name, documentation and parameters.
    fn about(&self) -> &About;
}

impl Registered for About {
    fn about(&self) -> &About {
        self
    }
}

/// Finds an entry by exact name.
pub fn find<'a, E: Registered>(entries: &'a [E], name: &str) -> Option<&'a E> {
    entries.iter().find(|e| e.about().name == name)
}
