//! An algorithm with its settings.

use super::registry::{ALGORITHMS, Algorithm};
use crate::program::mpi::CollectiveKind;
use base::{param::Values, registry::nearest};

/// An algorithm with its settings.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// One of [`ALGORITHMS`]; its own segment and radix are defaults, those below apply.
    pub algorithm: &'static Algorithm,
    /// Bytes of a segment; 0 is none.
    pub segment: u64,
    /// Radix or window.
    pub radix: u32,
}

impl Choice {
    /// An algorithm by name, with its own settings.
    ///
    /// # Errors
    /// If this collective has no such algorithm: says which are near.
    pub fn named(kind: CollectiveKind, name: &str) -> Result<Self, String> {
        let of_kind = || ALGORITHMS.iter().filter(move |a| a.kinds.contains(&kind));
        if let Some(algorithm) = of_kind().find(|a| a.about.name == name) {
            return Ok(Self { algorithm, segment: algorithm.segment, radix: algorithm.radix });
        }
        let near = nearest(name, of_kind().map(|a| a.about.name));
        let known: Vec<&str> = if near.is_empty() { of_kind().map(|a| a.about.name).collect() } else { near };
        let list = known.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
        Err(format!("{} has no algorithm `{name}`; perhaps {list}", kind.name()))
    }

    /// An algorithm with checked values of its parameters.
    #[must_use]
    pub fn with_values(algorithm: &'static Algorithm, values: &Values) -> Self {
        let mut choice = Self { algorithm, segment: algorithm.segment, radix: algorithm.radix };
        for param in algorithm.about.params {
            match param.name {
                "segment" => choice.segment = values.int(param.name),
                name => choice.radix = values.u32(name),
            }
        }
        choice
    }
}
