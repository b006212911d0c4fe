//! Figures of finished runs. Knows numbers and names, no simulation.

pub mod bars;
pub mod lines;

pub use bars::{Bars, Panel};
pub use lines::{Curve, Lines, Point};
