//! What a run is predicted to need of memory.

/// Bytes that a run needs, by part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// All of it.
    pub bytes: u64,
    /// Name and bytes of each part, largest first.
    pub parts: Vec<(&'static str, u64)>,
}

impl Prediction {
    /// Adds a part.
    pub fn add(&mut self, part: &'static str, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
        self.parts.push((part, bytes));
        self.parts.sort_by_key(|p| std::cmp::Reverse(p.1));
    }
}
