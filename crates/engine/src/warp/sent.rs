//! What partitions that run ahead send each other, as words.

use super::member::{Cancelled, Post};
use crate::{
    agenda::Stamp,
    domain::Envelope,
    key::Key,
    mail::{Mail, head, lane, payload, short, take},
    words::Message,
};

/// Bit of a head word: it takes a message back.
const CANCEL: u64 = 1 << 33;
// Below it stand the receiver's number and the lane, above it the length of the payload.
const _: () = assert!(CANCEL.trailing_zeros() > 32 && CANCEL.trailing_zeros() < 40);

impl<M: Message> Mail for Post<M> {
    fn write(&self, to: &mut Vec<u64>) {
        let (lane, key) = self.place();
        let (bits, stamp) = match self {
            Self::Message(envelope, stamp) => (head(envelope.to, lane, short(&envelope.message).1), stamp),
            Self::Cancel(cancelled) => (head(cancelled.to, lane, 0) | CANCEL, &cancelled.stamp),
        };
        to.push(bits);
        to.extend(key.to_words());
        // Also with a message: its receiver must know it again when it is taken back.
        to.extend([u64::from(stamp.from), stamp.number]);
        if let Self::Message(envelope, _) = self {
            let (words, count) = short(&envelope.message);
            to.extend(&words[..count]);
        }
    }

    fn read(from: &mut &[u64]) -> Self {
        let [head] = take(from);
        let key = Key::from_words(take(from));
        let [sender, number] = take(from);
        // The cast keeps the receiver's number and drops the bits above it.
        let (to, lane, stamp) = (head as u32, lane(head), Stamp { from: sender as u32, number });
        if head & CANCEL == 0 {
            Self::Message(Envelope { to, lane, key, message: payload(head, from) }, stamp)
        } else {
            Self::Cancel(Cancelled { to, lane, key, stamp })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Lane;

    #[test]
    fn posts_come_as_they_were_sent() {
        let key = Key::new(70, 3, 9, 5);
        let envelope = |message: [u64; 3]| Envelope { to: u32::MAX - 1, lane: Lane::Steady, key, message };
        let stamp = Stamp { from: 4, number: 1 << 40 };
        let posts = [
            Post::Message(envelope([7, 0, 8]), stamp),
            Post::Cancel(Cancelled { to: 3, lane: Lane::Network, key, stamp }),
            Post::Message(envelope([0, 0, 0]), Stamp::FINAL),
            Post::Message(envelope([1, 0, 0]), stamp),
        ];
        let mut words = Vec::new();
        posts.iter().for_each(|post| post.write(&mut words));
        assert_eq!(words.len(), (6 + 3) + 6 + 6 + (6 + 1));
        let mut rest = words.as_slice();
        let read: Vec<Post<[u64; 3]>> = (0..4).map(|_| Post::read(&mut rest)).collect();
        assert_eq!(format!("{read:?}"), format!("{posts:?}"));
        assert!(rest.is_empty());
    }
}
