//! What is sent: traffic patterns, arrivals and placement.
//!
//! [`registry`] lists what a user can name. A pattern is a [`traffic::Traffic`]; an open-loop one asks an
//! [`arrival::Arrival`] for its times. Nothing here knows a network model.

pub mod arrival;
pub mod idle;
pub mod interval;
pub mod levels;
pub mod pattern;
pub mod placement;
pub mod program;
pub mod registry;
pub mod size;
mod text;
pub mod traffic;
pub mod work;

#[cfg(test)]
mod testing;
