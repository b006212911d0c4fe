//! The flow model: messages as flows that share links max-min fairly.
//!
//! Rules, state and cost are in `FLOW.md`. [`solver`] finds shares, [`sharing`] moves flows through time, [`domain`] puts both on the
//! engine beside sources, as a carrier of whoever lives on its terminals. Start at [`run::simulate`].

pub mod alarms;
pub mod build;
pub mod by_load;
pub mod changes;
pub mod check;
pub mod config;
pub mod context;
pub mod divide;
pub mod domain;
pub mod ended;
pub mod fine_time;
pub mod finish;
pub mod interfaces;
pub mod judged;
pub mod kind;
pub mod memory;
pub mod network;
pub mod observe;
pub mod pace;
pub mod pair;
pub mod received;
pub mod rules;
pub mod run;
pub mod samples;
pub mod scenarios;
pub mod sharing;
pub mod solver;
pub mod tables;
pub mod turns;
pub mod walk;

pub use config::FlowConfig;
pub use context::FlowSetup;
pub use run::simulate;
