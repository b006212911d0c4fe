//! Figures of finished runs, and the page that shows them. Knows results, no simulation.

pub mod bars;
pub mod cells;
pub mod dots;
pub mod lines;
pub mod map;
pub mod page;
pub mod plot;
pub mod sizes;

pub use bars::{Bars, Panel};
pub use cells::{Cells, Grid};
pub use dots::{Dots, Value};
pub use lines::{Curve, Lines, Point};
pub use sizes::BySize;
