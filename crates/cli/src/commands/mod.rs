//! One file per command.

pub mod check;
pub mod compare;
pub mod completions;
pub mod explain;
pub mod fabric;
pub mod flow;
pub mod list;
pub mod reference;
pub mod run;
pub mod schema;
pub mod study;
pub mod trace;
