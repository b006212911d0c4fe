//! One file per command.

pub mod check;
pub mod clean;
pub mod cluster;
pub mod compare;
pub mod completions;
pub mod congestion;
pub mod explain;
pub mod fabric;
pub mod flow;
mod forms;
pub mod init;
pub mod list;
pub mod man;
mod network;
#[cfg(feature = "opensm")]
pub mod opensm;
pub mod plot;
#[cfg(all(feature = "portals", target_os = "linux", target_arch = "x86_64"))]
pub mod portals;
pub mod record;
pub mod report;
pub mod resilient;
pub mod resume;
pub mod run;
pub mod schema;
pub mod study;
pub mod swarm;
pub mod sweep;
pub mod trace;
