//! What a network model offers to those who live on its terminals, whom it does not know: it takes messages, and leaves those that are complete to be
//! fetched. The contract is cut at the message; `HOST.md` describes state, invariants and cost.

use super::finished::{Finished, Met};
use base::index::TerminalId;
use engine::domain::{Domain, Effects};
use serde::{Deserialize, Serialize};

/// What a host sends beside the bytes of a message: 40 bytes that no carrier reads. It names things by numbers that mean the same in every partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ahead(pub [u64; 5]);

/// Bits of an alarm's token behind its kind: fewer than 2^29 of whatever a kind of alarm names.
pub const WHICH_BITS: u32 = 29;

/// An alarm's token: the number of its kind, below 4, and what it is for.
#[inline]
#[must_use]
pub fn token(kind: u32, which: u32) -> u32 {
    debug_assert!(kind < 4 && which < 1 << WHICH_BITS, "a token has 31 bits");
    kind << WHICH_BITS | which
}

/// Kind and what it is for of a [`token`].
#[inline]
#[must_use]
pub fn parts(token: u32) -> (u32, u32) {
    debug_assert!(token >> WHICH_BITS < 4, "a token has 31 bits");
    (token >> WHICH_BITS, token & ((1 << WHICH_BITS) - 1))
}

/// A message to be sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Posting {
    /// Terminal that sends; it belongs to the partition that posts.
    pub source: TerminalId,
    /// Terminal that it is for; not the one that sends, unless nothing asks for messages (`Rules::direct`).
    pub destination: TerminalId,
    /// Bytes that travel.
    pub bytes: u64,
    /// It is a request or a grant, which need not wait for what its terminal has still to send: hosts put them in order where they arrive.
    pub control: bool,
    /// Handed over with the message.
    pub ahead: Ahead,
}

/// A message that is complete now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// Terminal that sent it.
    pub source: TerminalId,
    /// Terminal at which it is complete; it belongs to the partition that fetches.
    pub destination: TerminalId,
    /// What was posted with it.
    pub ahead: Ahead,
}

/// Which of a processor's alarms it is. At most one of a processor is pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ring {
    /// The first of all: whoever lives there begins.
    Begin,
    /// The processor is done with something.
    Done,
}

/// An alarm of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alarm {
    /// When, in virtual time.
    pub at: base::time::Ps,
    /// Terminal of the processor.
    pub terminal: TerminalId,
    /// Number of the processor among those of the terminal.
    pub processor: u32,
    /// Whether it is the first.
    pub ring: Ring,
    /// What the host is given when it rings: fewer than 2^28.
    pub number: u32,
}

/// A network that carries messages of hosts. It is a domain of the engine by itself; [`Hosted`](super::hosted::Hosted) joins it with a host.
///
/// A carrier never calls its host. What is complete waits until it is fetched, which is after every handler, so that between events nothing
/// waits. A message is handed over once, in the partition of its destination, not before the model's least time for it, and nothing at or after
/// the end of the run. Messages of a pair may overtake each other: hosts put them in order.
pub trait Carrier: Domain<Record: From<Finished> + From<Met>> {
    /// Sends a message at the present instant.
    fn post(&mut self, posting: Posting, fx: &mut impl Effects<Self>);

    /// The next message that is complete at this instant; asked after every handler until there is none. Answers that were posted in
    /// between are under way by then, so a model whose next completion depends on them is informed in time.
    fn next_delivery(&mut self, fx: &mut impl Effects<Self>) -> Option<Delivery>;

    /// Sets an alarm of a host. Which identity it has among the model's own alarms, and so which order at ties, is the model's to say.
    fn set_alarm(&mut self, alarm: Alarm, fx: &mut impl Effects<Self>);

    /// The number of a host's alarm if `token` is one, with the effects on the clock that hosts live on; none for the model's own.
    fn host_alarm(&self, token: u32, fx: &mut impl Effects<Self>) -> Option<u32>;
}
