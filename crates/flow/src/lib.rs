//! The flow model: messages as flows that share links max-min fairly.
//!
//! Rules, state and cost are in `FLOW.md`. [`solver`] finds shares, [`sharing`] moves flows through time, [`machine`] puts both on the
//! engine beside sources and ranks. Start at [`run::simulate`].

pub mod alarms;
pub mod changes;
pub mod config;
pub mod finish;
pub mod machine;
pub mod memory;
pub mod moment;
pub mod network;
pub mod observe;
pub mod ranks;
pub mod rules;
pub mod run;
pub mod scenarios;
pub mod sharing;
pub mod solver;
pub mod tables;

pub use config::FlowConfig;
pub use run::{FlowSetup, simulate};
