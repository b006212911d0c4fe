//! What a platform's routes lead over.

/// The way from one host to another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Passage {
    /// Its links, in order.
    pub links: Vec<u32>,
    /// Seconds that it takes between them.
    pub between: f64,
}
