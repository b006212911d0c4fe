//! The delay model: ranks that pay for messages by a formula, on a network without queues.
//!
//! What a message costs is LogGOPS (Hoefler, Schneider, Lumsdaine: LogGOPSim, LSAP 2010) with exactly the semantics of the program of
//! that name, or a pure delay of hops and bytes. Rules are in `DELAY.md`. Start at [`run::simulate`].

pub mod alone;
pub mod build;
mod calendar;
pub mod carrier;
mod claims;
pub mod class_paths;
mod compact;
pub mod config;
pub mod critical;
mod delays;
pub mod derived;
pub mod distance;
pub mod domain;
mod drive;
pub mod energy;
pub mod engineless;
mod entry;
pub mod finish;
pub mod follow;
mod hosts;
pub mod interfaces;
pub mod nodes;
pub mod observe;
mod ordered;
#[cfg(test)]
mod planted;
pub mod resilient;
mod routed;
pub mod routes;
pub mod run;
mod run_ahead;
mod setup;
mod shared;
pub mod slices;
mod step;
pub mod stuck;
pub mod tables;
mod unread;

pub use config::{Cost, DelayConfig, Ties};
pub use finish::DelayFinished;
pub use run::simulate;
pub use setup::{DelayJob, DelaySetup};
