//! The network below the interfaces: whatever carries messages between terminals and tells when they have arrived.
//!
//! One file for each model that can.

mod contract;
pub mod delay;
pub mod flow;
pub mod packet;

pub use contract::{Message, Net};
