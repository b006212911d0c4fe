//! The tests of the command line as one program: linked once, and its tests share both processors to the end.
//!
//! `circles.rs` and `tidy.rs` read sources only, so they are programs of their own that need nothing built.

mod common;
#[path = "portals/program.rs"]
mod program;

mod bad_files;
mod cli;
mod clusters;
mod congestion;
mod fabric;
mod first_steps;
mod flow;
mod hardened;
mod hostile;
mod init;
mod memory;
mod models;
mod one_sided;
mod opensm;
mod otf2_peer;
mod owners;
mod page;
mod partitions;
mod portals;
mod portals_models;
mod portals_ranks;
mod portals_threads;
#[cfg(target_os = "linux")]
mod portals_timer;
mod portals_waits;
#[cfg(feature = "mpi")]
mod ranks;
mod record;
mod resume;
mod revision;
mod robust;
mod routes;
mod runs;
mod schema;
mod supply;
mod sweep;
mod timeline;
mod trace;
mod trace_archived;
mod trace_formats;
mod trace_otf2;
mod trace_recorded;
mod trace_written;
mod verdicts;
