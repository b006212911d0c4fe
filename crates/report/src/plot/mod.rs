//! Figures for papers: curves in panels side by side, as SVG and PDF.
//!
//! Series differ by colour (Okabe and Ito's, safe for the colour-blind), marker and dashes at once. Sizes are those of printed columns; nothing in
//! the files depends on time, machine or fonts.

mod axis;
mod draw;
mod figure;
mod scene;

pub use axis::{Axis, Ticks};
pub use figure::{Facet, Mark, Plot, Series};
