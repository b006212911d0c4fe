//! Classes of message sizes.

use serde::{Deserialize, Serialize};

/// How large a message is: the bits that its bytes need. What is of one class is learned, and predicted, together.
///
/// Of a message of several packets a packet tells only how many there are: all of them count as full, so that packets of one message are of one
/// class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SizeClass(u8);

impl SizeClass {
    /// One more than the greatest.
    pub const COUNT: usize = 65;

    /// Of a packet of so many `bytes`, of a message of so many packets, of which each has `most` bytes at most.
    #[inline]
    #[must_use]
    pub fn of(bytes: u64, message_packets: u32, most: u32) -> Self {
        // The last packet of a message tells less of it than the others: how many there are decides for all.
        let bytes = if message_packets > 1 { u64::from(message_packets) * u64::from(most) } else { bytes };
        Self((u64::BITS - bytes.leading_zeros()) as u8)
    }

    /// Its number, below [`SizeClass::COUNT`].
    #[inline]
    #[must_use]
    pub fn number(self) -> usize {
        usize::from(self.0)
    }
}
