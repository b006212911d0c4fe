//! Congestion control: routers mark packets, destinations notify sources, sources send slower. Rules and invariants are in `CONTROL.md`.

pub mod by_job;
pub mod closing;
pub mod config;
pub mod dcqcn;
mod edge;
pub mod infiniband;
pub mod marks;
pub mod none;
pub mod registry;
pub mod report;
pub mod scheme;
pub mod sources;

pub use config::CongestionControl;
