//! Figures for papers: curves in panels side by side, as SVG and PDF.
//!
//! Series differ by colour (Okabe and Ito's, safe for the colour-blind), marker and dashes at once. Sizes are those of printed columns; nothing in
//! the files depends on time, machine or fonts.

pub(crate) mod axis;
pub(crate) mod colours;
mod draw;
mod figure;
pub(crate) mod scene;

pub use axis::{Axis, Ticks};
pub use draw::Placed;
pub use figure::{Facet, Mark, Plot, Series, Style};
