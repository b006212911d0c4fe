//! The semantics of a Portals 4.3 interface, without time, threads or C.
//!
//! A [`process::Process`] is one side: calls change it and push onto its `out` what is to be done: messages to be sent, events and counters to be shown to the
//! processor. Whoever models time carries messages to [`process::Process::receive`] of the other side and gives events back to
//! [`process::Process::deliver`] and [`process::Process::show`]. Triggered operations live on the interface: they fire when its own count is reached, whatever
//! the processor sees.

pub mod atomics;
pub mod call;
pub mod initiate;
pub mod lists;
pub mod message;
pub mod objects;
pub mod operation;
pub mod process;
pub mod target;
#[cfg(test)]
mod tests;
pub mod types;
