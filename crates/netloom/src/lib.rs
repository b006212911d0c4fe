//! Netloom as a library: experiments are read, assembled, run, saved, resumed and compared; whoever calls it prints.
//!
//! The journey: [`experiment`] (a text becomes a resolved experiment; pure) -> [`assemble`] (fabric, routing, jobs and model are
//! built) -> [`mod@prepare`] (memory and deadlocks are judged) -> [`mod@execute`] (the simulation) -> [`output`] (manifest, summary,
//! tables). Mistakes are [`base::diag::Diagnostics`], everything that ends something early is an [`Error`]; a [`Watcher`] hears what is
//! under way.
//!
//! An [`Experiment`] is the short way. What its names mean says a [`Registry`], to which users add topologies, routings, workloads and more of their
//! own; the traits and types that these need are in the crates that are re-exported here.

pub mod assemble;
pub mod book;
mod bursts;
pub mod catalog;
pub mod checkpoint;
mod choice;
pub mod cluster;
pub mod compare;
pub mod compare_models;
pub mod congestion_map;
pub mod conversion;
pub mod cost;
pub mod counting;
pub mod deadlocks;
pub mod ending;
mod ends;
pub mod error;
pub mod estimate;
pub mod execute;
pub mod experiment;
pub mod explained;
pub mod facade;
pub mod faults;
pub mod figures;
pub mod input;
pub mod interference;
pub mod inventory;
pub mod jobs;
#[cfg(all(feature = "portals", target_os = "linux", target_arch = "x86_64"))]
pub mod kit;
mod limits;
pub mod links;
pub mod machine;
pub mod memory;
pub mod metrics;
pub mod models;
pub mod network;
pub mod networks;
#[cfg(feature = "opensm")]
pub mod opensm;
pub mod options;
pub mod ours;
pub mod output;
pub mod page;
pub mod part_file;
pub mod parts;
pub mod prepare;
#[cfg(all(feature = "portals", target_os = "linux", target_arch = "x86_64"))]
pub mod programs;
pub mod record;
mod recorded;
pub mod reference;
pub mod registry;
pub mod render;
pub mod routing;
#[cfg(test)]
mod samples;
pub mod saver;
pub mod scaling;
pub mod scenarios;
pub mod schedule;
pub mod schema;
pub mod side_by_side;
pub mod spread;
pub mod starts;
pub mod swarm;
pub mod sweep;
pub mod together;
mod unread;
pub mod untimed;
pub mod values;
pub mod verified;
pub mod volume;
pub mod watcher;

pub use base;
pub use engine;
pub use error::{Error, ErrorKind};
pub use fabric;
pub use facade::Experiment;
pub use input::Input;
pub use model;
pub use options::{MemoryLimit, RunOptions, idle_processors};
pub use packet;
pub use prepare::{Prepared, prepare};
pub use ranks;
pub use registry::Registry;
pub use results;
pub use watcher::{Silent, Watcher};
pub use workload;
