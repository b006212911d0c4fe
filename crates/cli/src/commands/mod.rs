//! One file per command.

pub mod check;
pub mod cluster;
pub mod compare;
pub mod completions;
pub mod congestion;
pub mod explain;
pub mod fabric;
pub mod flow;
pub mod haec_sim;
pub mod list;
pub mod opensm;
pub mod portals;
pub mod reference;
pub mod resilient;
pub mod resume;
pub mod run;
pub mod schema;
mod side_by_side;
pub mod study;
pub mod study_figures;
mod study_hybrid;
mod study_programs;
mod study_store;
pub mod swarm;
pub mod trace;
