//! Figures of finished runs. Knows numbers and names, no simulation.

pub mod dots;
pub mod lines;

pub use dots::{Dots, Series, Value};
pub use lines::{Curve, Lines, Point};
