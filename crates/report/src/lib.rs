//! Figures of finished runs. Knows numbers and names, no simulation.

pub mod bars;
pub mod dots;
pub mod lines;
mod picture;
pub mod plot;
pub mod sizes;

pub use bars::{Bars, Panel};
pub use dots::{Dots, Value};
pub use lines::{Curve, Lines, Point};
pub use sizes::BySize;
