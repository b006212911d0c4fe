//! What is sent: traffic patterns, arrivals and placement.

pub mod traffic;
