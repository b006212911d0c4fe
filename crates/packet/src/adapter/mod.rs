//! Network adapters: what lies between a rank and its terminal's link.

pub mod config;
pub mod delay;
mod edge;
mod inject;
pub mod order;
pub mod report;
