//! What a run is predicted to need of memory.

/// Bytes that a run needs, by part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// All of it.
    pub bytes: u64,
    /// Name and bytes of each part, largest first.
    pub parts: Vec<(&'static str, u64)>,
}
