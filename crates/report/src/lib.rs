//! Figures of finished runs. Knows numbers and names, no simulation.

pub mod lines;

pub use lines::{Curve, Lines, Point};
