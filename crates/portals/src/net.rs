//! The network below the interfaces: whatever carries messages between terminals and tells when they have arrived.
//!
//! One file for each model that can; [`of`] finds the one of a setup.

mod contract;
mod delay;
mod flow;
mod packet;

pub use contract::{Message, Net};

use model::{AnySetup, failure::Failure};

/// The network of a setup without jobs.
///
/// # Errors
/// What its model refuses, and models that have no messages under way.
pub fn of(setup: &AnySetup) -> Result<Box<dyn Net>, Failure> {
    match setup {
        AnySetup::Flow(setup) => Ok(Box::new(flow::Flow::new(setup)?)),
        AnySetup::Delay(run) => Ok(Box::new(delay::Delay::new(run.setup())?)),
        AnySetup::Packet(setup) => Ok(Box::new(packet::Packet::new(setup)?)),
        AnySetup::Congestion(_) => {
            let why = "model \"congestion\" has no time: Portals programs run on \"flow\", \"packet\" and \"delay\"";
            Err(Failure::Setup(why.into()))
        }
    }
}
