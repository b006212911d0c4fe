//! What groups of partitions send each other, as words: it may go to another process.
//!
//! A head word says to which partition, on which lane, whether it takes a message back, and how many words of the payload follow; then come
//! the key, the stamp if there is one, and the payload without the zeros at its end.

use crate::{
    domain::{Envelope, Lane},
    key::Key,
    words::{MESSAGE_WORDS, Message},
};

/// Can go to another process.
pub(crate) trait Mail: Copy {
    /// Appends its words.
    fn write(&self, to: &mut Vec<u64>);

    /// Takes one from the front.
    ///
    /// # Panics
    /// If it is none: ranks run the same build, so that cannot be.
    fn read(from: &mut &[u64]) -> Self;
}

/// Bits of the head word above the receiver's number; 33 to 39 are for kinds of mail.
const STEADY: u64 = 1 << 32;
const COUNT_AT: u32 = 40;

/// A head word without kind, before so many words of payload.
pub(crate) fn head(to: u32, lane: Lane, payload: usize) -> u64 {
    debug_assert!(payload <= MESSAGE_WORDS, "a payload has so many words at most");
    u64::from(to) | if lane == Lane::Steady { STEADY } else { 0 } | (payload as u64) << COUNT_AT
}

/// The lane that a head word names.
pub(crate) fn lane(head: u64) -> Lane {
    if head & STEADY == 0 { Lane::Network } else { Lane::Steady }
}

/// Takes so many words from the front.
pub(crate) fn take<const N: usize>(from: &mut &[u64]) -> [u64; N] {
    // Ranks run the same build, and MPI keeps what it carries whole: there is nothing to recover from.
    let (words, rest) = from.split_at(N);
    *from = rest;
    words.try_into().expect("so many were split off")
}

/// The payload's words without zeros at the end: receivers know how many there are in all.
pub(crate) fn short<M: Message>(message: &M) -> ([u64; MESSAGE_WORDS], usize) {
    let words = message.to_words();
    let count = words.iter().rposition(|&word| word != 0).map_or(0, |last| last + 1);
    (words, count)
}

/// The payload that a head word announces.
pub(crate) fn payload<M: Message>(head: u64, from: &mut &[u64]) -> M {
    // Zeros at the end were not sent: they are there from the beginning.
    let count = (head >> COUNT_AT) as usize;
    debug_assert!(count <= MESSAGE_WORDS, "a payload has so many words at most");
    let (words, rest) = from.split_at(count);
    *from = rest;
    let mut all = [0; MESSAGE_WORDS];
    all[..words.len()].copy_from_slice(words);
    M::from_words(&all).expect("a payload of the same build")
}

impl<M: Message> Mail for Envelope<M> {
    fn write(&self, to: &mut Vec<u64>) {
        let (words, count) = short(&self.message);
        to.push(head(self.to, self.lane, count));
        to.extend(self.key.to_words());
        to.extend(&words[..count]);
    }

    fn read(from: &mut &[u64]) -> Self {
        let [head] = take(from);
        let key = Key::from_words(take(from));
        Self { to: head as u32, lane: lane(head), key, message: payload(head, from) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mail_comes_as_it_was_sent() {
        let key = Key::new(70, 3, 9, 5);
        let envelope = |message: [u64; 3]| Envelope { to: u32::MAX - 1, lane: Lane::Steady, key, message };
        let sent = [envelope([7, 0, 8]), envelope([0, 0, 0]), envelope([1, 0, 0])];
        let mut words = Vec::new();
        sent.iter().for_each(|envelope| envelope.write(&mut words));
        assert_eq!(words.len(), (4 + 3) + 4 + (4 + 1));
        let mut rest = words.as_slice();
        assert_eq!([(); 3].map(|()| Envelope::read(&mut rest)), sent);
        assert!(rest.is_empty());
    }
}
