//! Network models: what turns "message injected" into "message delivered".

pub mod any;
pub mod congestion;
pub mod delay;
pub mod energy;
pub mod failure;
pub mod flow;
pub mod hybrid;
pub mod memory;
pub mod packet;
pub mod performance;
pub mod rank;
pub mod registry;
pub mod resilient;
pub mod run;
pub mod samples;
pub mod setup;
mod throughput;

pub use any::AnySetup;
pub use failure::Failure;
pub use run::{Finished, Progress, simulate, validate};
pub use setup::Setup;
