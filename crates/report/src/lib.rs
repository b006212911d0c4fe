//! Figures of finished runs. Knows numbers and names, no simulation.

pub mod bars;
pub mod lines;
pub mod sizes;

pub use bars::{Bars, Panel};
pub use lines::{Curve, Lines, Point};
pub use sizes::{BySize, Series};
