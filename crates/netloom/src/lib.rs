//! Netloom as a library: experiments are read, assembled, run, saved, resumed and compared; whoever calls it prints.
//!
//! The journey: [`experiment`] (a text becomes a resolved experiment; pure) -> [`assemble`] (fabric, routing, jobs and model are
//! built) -> [`mod@prepare`] (memory and deadlocks are judged) -> [`mod@execute`] (the simulation) -> [`output`] (manifest, summary,
//! tables). Mistakes are [`base::diag::Diagnostics`], everything that ends something early is an [`Error`]; a [`Watcher`] hears what is
//! under way.

pub mod any;
pub mod assemble;
pub mod catalog;
pub mod checkpoint;
pub mod cluster;
pub mod compare;
pub mod counting;
pub mod deadlocks;
pub mod draft;
pub mod error;
pub mod execute;
pub mod experiment;
pub mod faults;
pub mod input;
pub mod keeper;
pub mod limits;
pub mod losses;
pub mod machine;
pub mod memory;
pub mod models;
pub mod network;
pub mod outlook;
pub mod output;
pub mod prepare;
#[cfg(all(feature = "portals", target_os = "linux", target_arch = "x86_64"))]
pub mod programs;
pub mod reference;
pub mod scenarios;
pub mod schedule;
pub mod schema;
pub mod swarm;
pub mod watcher;
pub mod wishes;

pub use error::{Error, ErrorKind};
pub use input::Input;
pub use prepare::{Prepared, prepare};
pub use watcher::{Silent, Watcher};
pub use wishes::{MemoryLimit, Wishes};
