//! The contract of network models. A model is a [`ModelEntry`] ([`entry`]), which builds from [`parts`] and [`section`]s a [`Run`]
//! ([`contract`]). What every model is given is in [`setup`], what it gives back in [`run`], how a run fails in [`failure`], what it is
//! predicted to need in [`memory`], what it cost in [`performance`] and what the network took in [`energy`]. [`messages`] is a network
//! without jobs, [`credits`] what links lose that models without packets do not see.
//!
//! A model is a crate above this one. Nothing here knows which models there are.

pub mod contract;
pub mod credits;
pub mod energy;
pub mod entry;
pub mod failure;
pub mod memory;
pub mod messages;
pub mod names;
pub mod parts;
pub mod performance;
pub mod run;
pub mod samples;
pub mod section;
pub mod setup;
pub mod throughput;
pub mod topology;

pub use contract::Run;
pub use entry::ModelEntry;
pub use failure::Failure;
pub use parts::Parts;
pub use run::{Finished, Progress, Watch};
