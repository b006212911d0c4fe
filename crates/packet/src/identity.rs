//! What names a packet in the whole network, for its whole life.

use base::index::TerminalId;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Names a packet: who sent it and the how manieth of the sender it is. The same for every partition, thread and rank, so it can seed
/// the packet's own random numbers. A row of a pool is only a place in one partition's memory.
///
/// ```
/// use base::index::TerminalId;
/// use packet::identity::PacketId;
///
/// let id = PacketId::new(TerminalId::new(3), 7);
/// assert_eq!((id.source(), id.number(), id.plus(2).number()), (TerminalId::new(3), 7, 9));
/// assert_eq!(id.to_string(), "300000007");
/// ```
///
/// It is no number to calculate with:
///
/// ```compile_fail
/// # use base::index::TerminalId;
/// # use packet::identity::PacketId;
/// let next = PacketId::new(TerminalId::new(3), 7) + 1;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PacketId(u64);

impl PacketId {
    /// No packet in particular.
    pub const NONE: Self = Self(0);

    /// The packet that `source` counts as its `number`th, from 0.
    #[inline]
    #[must_use]
    pub const fn new(source: TerminalId, number: u32) -> Self {
        Self((source.number() as u64) << 32 | number as u64)
    }

    /// The terminal that sends it.
    #[inline]
    #[must_use]
    pub const fn source(self) -> TerminalId {
        TerminalId::new((self.0 >> 32) as u32)
    }

    /// Its number among the packets of its source.
    #[inline]
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0 as u32
    }

    /// The packet that its source sends `further` packets later. Numbers start anew after 2^32 packets of a source.
    #[inline]
    #[must_use]
    pub const fn plus(self, further: u32) -> Self {
        Self::new(self.source(), self.number().wrapping_add(further))
    }

    /// As a key of tables, of fingerprints and of random numbers.
    #[inline]
    #[must_use]
    pub const fn key(self) -> u64 {
        self.0
    }
}

/// Hexadecimal: the last eight digits are the number.
impl fmt::Display for PacketId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", self.0)
    }
}
