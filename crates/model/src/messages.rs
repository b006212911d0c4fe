//! Single messages through the network of a model, for interfaces that decide themselves what is sent.

use base::{index::TerminalId, time::Ps};

/// A message as the network sees it.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// Virtual network: 0 for requests, 1 for answers.
    pub network: u8,
    /// Its size in bytes.
    pub bytes: u64,
    /// Names it among those under way.
    pub tag: u32,
}

/// A network that carries messages. Time is the caller's: it sends at times that never go back, and never past [`MessageNetwork::next`].
pub trait MessageNetwork {
    /// Number of terminals in the network.
    fn terminals(&self) -> u32;

    /// Nothing happens at or after this time.
    fn end(&self) -> Ps;

    /// Seed of the run.
    fn seed(&self) -> u64;

    /// Sends a message from one terminal to another; false if there is no path.
    fn send(&mut self, now: Ps, source: TerminalId, destination: TerminalId, message: Message) -> bool;

    /// When something happens next.
    fn next(&mut self) -> Option<Ps>;

    /// Does what happens up to and including `until`, or up to the first arrival: appends the tags of messages that have arrived and returns when
    /// that was.
    fn advance(&mut self, until: Ps, arrived: &mut Vec<u32>) -> Ps;
}
