//! The network below the interfaces: whatever carries messages between terminals and tells when they have arrived.
//!
//! One file for each model that can; [`of`] finds the one of a setup.

mod delay;
mod flow;
mod packet;

use base::time::Ps;
use model::{AnySetup, failure::Failure};

/// A message as the network sees it.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// Virtual network: 0 for requests, 1 for answers.
    pub network: u8,
    /// Bytes.
    pub bytes: u64,
    /// Names it among those under way.
    pub tag: u32,
}

/// What carries messages. Time is the caller's: it sends at times that never go back, and never past [`Net::next`].
pub trait Net {
    /// Terminals.
    fn terminals(&self) -> u32;

    /// Nothing happens at or after this time.
    fn end(&self) -> Ps;

    /// Seed of the run.
    fn seed(&self) -> u64;

    /// Sends a message from one terminal to another; false if there is no way.
    fn send(&mut self, now: Ps, ends: (u32, u32), message: Message) -> bool;

    /// When something happens next.
    fn next(&mut self) -> Option<Ps>;

    /// Does what happens up to and including `until`, or up to the first arrival: appends the tags of messages that have arrived and tells when
    /// that was.
    fn advance(&mut self, until: Ps, arrived: &mut Vec<u32>) -> Ps;
}

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
