//! Deterministic discrete-event kernel: keys, pending events, tables with undo, partitions, director.
//!
//! Read `PROTOCOL.md` beside this crate first. Nothing here knows a network model. Start at [`domain::Domain`], what a model
//! implements, and [`executor::Executor`], what runs it.

pub mod agenda;
mod balance;
pub mod checkpoint;
mod conservative;
pub mod director;
pub mod domain;
pub mod executor;
mod group;
pub mod kept;
pub mod key;
mod lookahead;
mod meeting;
pub mod partition;
mod pin;
pub mod state;
pub mod undo_check;
pub mod wheel;

/// Largest payload of a message, in bytes.
pub const MESSAGE_BYTES: usize = 80;
