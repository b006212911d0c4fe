//! Router architectures: each a folder behind [`Router`](super::net::Router), chosen by name from [`registry`]. Clocked ones share
//! `clock`: when cycles are, and how chunks come in between.

pub mod allocator;
pub mod arbiter;
mod clock;
pub mod input_queued;
pub mod output_queued;
pub mod pipelined;
pub mod registry;
pub mod window;

/// The architecture on which unit tests of the rest run: which one does not matter to them.
#[cfg(test)]
pub(crate) use window::WindowRouter as Tested;
