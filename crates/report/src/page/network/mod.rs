//! The network: what is linked to what, where it is drawn, and what its links carried.

mod board;
mod force;
mod graph;
mod layers;
mod layout;
mod loads;
mod picture;

pub use graph::Wires;
pub use layout::READ;
pub use loads::{Loads, Tops};
pub use picture::{Picture, animated, picture, rules, scale};
