//! What a packet of a transport is about, and how packets end.

use serde::{Deserialize, Serialize};

/// What a packet is about: window of its message (25 bits), place in the window or size of the generation minus one (5), last, acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word(pub u32);

impl Word {
    const ACK: u32 = 1 << 31;
    const LAST: u32 = 1 << 30;
    const WINDOW: u32 = (1 << 25) - 1;

    pub(super) fn data(window: u32, place: u32, last: bool) -> Self {
        debug_assert!(window <= Self::WINDOW && place < 32, "a window and a place have their bits");
        Self(window | place << 25 | if last { Self::LAST } else { 0 })
    }

    /// An acknowledgement of a window, with the place or the rank.
    pub(super) fn ack(window: u32, rank: u32) -> Self {
        // A rank needs one bit more than a place: up to a full window of 32. It takes that of `LAST`, which acknowledgements do not have.
        debug_assert!(window <= Self::WINDOW && rank < 64, "a window and a rank have their bits");
        Self(window | rank << 25 | Self::ACK)
    }

    /// True for acknowledgements.
    #[must_use]
    pub fn is_ack(self) -> bool {
        self.0 & Self::ACK != 0
    }

    /// True for the last packet of a message; in coding, for all of its last generation.
    #[must_use]
    pub fn is_last(self) -> bool {
        !self.is_ack() && self.0 & Self::LAST != 0
    }

    /// Its window or generation.
    #[must_use]
    pub fn window(self) -> u32 {
        self.0 & Self::WINDOW
    }

    /// Place in the window; in coding, size of the generation minus one.
    #[must_use]
    pub fn place(self) -> u32 {
        self.0 >> 25 & 31
    }

    /// Of an acknowledgement: the place, or in coding the rank.
    #[must_use]
    pub fn rank(self) -> u32 {
        self.0 >> 25 & 63
    }
}

/// What a packet that is sent is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sort {
    /// Sent for the first time.
    First,
    /// One more, to make up for what will be lost.
    Redundant,
    /// Sent again, as no acknowledgement came in time.
    Again,
    /// The word of an acknowledgement.
    Ack,
}

/// How a packet ended that did not count as delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Lost on a link.
    Lost {
        /// Index of the link's class; terminals' own links count as class 0.
        class: u8,
    },
    /// Changed on its way, which its destination found out.
    Tampered,
    /// It brought nothing that was not known.
    Duplicate,
    /// An acknowledgement that arrived.
    Acknowledged,
    /// Not a packet: a message that has too many windows and was not begun.
    TooLong,
}

#[cfg(test)]
mod tests {
    use super::{super::MOST_WINDOWS, Word};

    #[test]
    fn words_keep_what_they_say() {
        let last = (MOST_WINDOWS - 1) as u32;
        for (window, place, end) in [(0, 0, false), (last, 31, true), (77, 5, false)] {
            let word = Word::data(window, place, end);
            assert_eq!((word.window(), word.place(), word.is_last()), (window, place, end));
            assert!(!word.is_ack());
            let ack = Word::ack(window, 32);
            assert_eq!((ack.window(), ack.rank(), ack.is_ack(), ack.is_last()), (window, 32, true, false));
        }
    }
}
