//! Router architectures: each a folder behind [`Router`](super::net::Router), chosen by name from [`registry`].

pub mod input_queued;
pub mod output_queued;
pub mod registry;
pub mod window;
