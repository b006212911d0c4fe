//! How long a message is under way between two ranks' terminals.

use base::time::Ps;

/// Time of a message in the network: from the end of the sender's overhead o to its arrival.
pub trait Delays: Send + Sync {
    /// Delay of `bytes` from one place to another.
    fn delay(&self, from: u32, to: u32, bytes: u64) -> Ps;

    /// No delay is shorter.
    fn least(&self) -> Ps;

    /// Links between two places, as far as they count.
    fn hops(&self, from: u32, to: u32) -> u32;
}
