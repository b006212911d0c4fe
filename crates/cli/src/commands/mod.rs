//! One file per command.

pub mod check;
pub mod completions;
pub mod explain;
pub mod fabric;
pub mod list;
pub mod reference;
pub mod resume;
pub mod run;
pub mod schema;
pub mod study;
pub mod swarm;
pub mod trace;
