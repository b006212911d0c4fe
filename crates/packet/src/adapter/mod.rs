//! Network adapters: what lies between a rank and its terminal's link.

pub mod delay;
