//! The tests of packet runs as one program: linked once, and its tests share the processors to the end.
//!
//! `footprint.rs` counts allocations, so it is a program of its own.

mod common;

mod adapter;
mod asleep;
mod bubbles;
mod carrier;
mod checkers;
mod closing;
mod codes;
mod congestion_control;
mod critical;
mod energy;
mod escapes;
mod faults;
mod hybrid;
mod hybrid_changes;
mod input_queued;
mod link_rates;
mod matrix;
mod modes;
mod multicast;
mod multicast_clocked;
mod nodes;
mod output_queued;
mod packet_programs;
mod pipelined;
mod planted;
mod presets;
mod properties;
mod rails;
mod reference;
mod resilience;
mod services;
mod verdicts;
mod window;
