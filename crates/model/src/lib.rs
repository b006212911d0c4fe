//! The contract of network models: what every model is given ([`setup`]) and gives back ([`run`]), how a run fails ([`failure`]), what it is
//! predicted to need ([`memory`]), what it cost ([`performance`]) and what the network took ([`energy`]).
//!
//! A model is a crate above this one. Nothing here knows which models there are.

pub mod energy;
pub mod failure;
pub mod memory;
pub mod performance;
pub mod run;
pub mod samples;
pub mod setup;
pub mod throughput;

pub use failure::Failure;
pub use run::{Finished, Progress, Watch};
