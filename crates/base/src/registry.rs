//! Registries: plain slices of entries that a user can name.
//!
//! From a registry come dispatch, "did you mean", `netloom list`, `netloom explain`, the JSON schema and the
//! conformance tests. Adding a strategy is one file and one line in its room's slice.

use crate::param::Param;

/// What a user is told about a registered strategy.
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

/// The candidates nearest to `name`, best first: at most three, within a third of its length in edits.
#[must_use]
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let limit = (name.chars().count() / 3).max(2);
    let mut scored: Vec<(usize, &str)> = candidates
        .into_iter()
        .map(|c| (distance(name, c), c))
        .filter(|&(d, c)| d <= limit || (name.len() >= 3 && (c.starts_with(name) || name.starts_with(c))))
        .collect();
    scored.sort();
    scored.into_iter().take(3).map(|(_, c)| c).collect()
}

/// Edits (insert, delete, replace, swap of neighbours) between two words.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let width = b.len() + 1;
    let mut d = vec![0; (a.len() + 1) * width];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            d[i * width + j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replace = d[(i - 1) * width + j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let mut best = replace.min(d[(i - 1) * width + j] + 1).min(d[i * width + j - 1] + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    best = best.min(d[(i - 2) * width + j - 2] + 1);
                }
                best
            };
        }
    }
    d[a.len() * width + b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proposes_the_nearest_names() {
        let names = ["dragonfly", "mesh", "torus", "fat-tree"];
        assert_eq!(nearest("dragonfyl", names), ["dragonfly"]);
        assert_eq!(nearest("toru", names), ["torus"]);
        assert!(nearest("hypercube", names).is_empty());
    }
}
