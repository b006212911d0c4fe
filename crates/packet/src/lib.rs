//! The packet model: chunks, buffers, virtual channels, credits. Rules and invariants are in `PACKET.md`.

pub mod check;
pub mod config;
pub mod effects;
pub mod ended;
pub mod event;
pub mod finish;
pub mod host;
pub mod hybrid;
pub mod live;
pub mod losses;
pub mod memory;
pub mod net;
pub mod network;
pub mod observe;
pub mod rails;
pub mod router;
pub mod routes;
pub mod rows;
pub mod run;
pub mod sample;
pub mod samples;
pub mod section;
pub mod setup;
mod simulation;
pub mod state;
pub mod stepper;
pub mod surrogate;
pub mod tables;
mod terminal;
pub mod transport;
pub mod verdict;

pub use config::PacketConfig;
pub use run::{simulate, validate};
pub use setup::Setup;
