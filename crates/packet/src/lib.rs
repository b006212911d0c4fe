//! The packet model: chunks, buffers, virtual channels, credits. Rules and invariants are in `PACKET.md`.

pub mod check;
pub mod config;
mod credits;
pub mod event;
pub mod finish;
pub mod host;
pub mod hybrid;
mod input_queued;
pub mod live;
pub mod memory;
pub mod network;
pub mod observe;
pub mod publish;
pub mod rails;
mod remote;
pub mod routes;
pub mod rows;
pub mod run;
pub mod sample;
pub mod samples;
pub mod setup;
pub mod state;
pub mod surrogate;
pub mod tables;
mod terminal;
pub mod transport;
pub mod verdict;
mod window;

pub use config::PacketConfig;
pub use run::{simulate, validate};
pub use setup::Setup;
