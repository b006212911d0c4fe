//! What was taken back but may come again as it was: alarms that are still pending, messages that were sent.
//!
//! An event that is handled again after a rollback mostly does what it did before. So nothing is removed at once. A dead alarm comes to life when
//! it is set again. A message stays with its receiver, and is cancelled only when the event that sent it has been passed without
//! sending it again.

use super::past::{Alarm, Sent};
use crate::{agenda::Stamp, domain::Envelope, key::Key};
use std::collections::{BTreeMap, BTreeSet};

/// Pending events that were taken back: skipped when their turn comes.
#[derive(Default)]
pub(crate) struct Dead {
    /// How many of each: equal alarms may be pending together, and any of them stands for any other.
    alarms: BTreeMap<Alarm, u32>,
    messages: BTreeSet<Stamp>,
}

impl Dead {
    pub fn is_empty(&self) -> bool {
        self.alarms.is_empty() && self.messages.is_empty()
    }

    pub fn add_alarm(&mut self, alarm: Alarm) {
        *self.alarms.entry(alarm).or_default() += 1;
    }

    pub fn add_message(&mut self, stamp: Stamp) {
        self.messages.insert(stamp);
    }

    /// One fewer of an alarm, if there is a dead one.
    pub fn take_alarm(&mut self, alarm: Alarm) -> bool {
        // Asked for every alarm that is set: as a rule nothing is dead, and no search is begun.
        if self.alarms.is_empty() {
            return false;
        }
        let Some(count) = self.alarms.get_mut(&alarm) else { return false };
        debug_assert!(*count > 0, "an alarm that is listed is dead once or more");
        *count -= 1;
        if *count == 0 {
            self.alarms.remove(&alarm);
        }
        true
    }

    /// One message fewer, if it is dead.
    pub fn take_message(&mut self, stamp: Stamp) -> bool {
        !self.messages.is_empty() && self.messages.remove(&stamp)
    }
}

/// Messages of events that were taken back, which their receivers still have.
pub(crate) struct Doubt<M> {
    /// By key and receiver.
    sent: BTreeMap<(Key, u32), (Key, Sent<M>)>,
    /// The same by the place of the event that sent them.
    order: BTreeSet<(Key, Key, u32)>,
}

impl<M> Default for Doubt<M> {
    fn default() -> Self {
        Self { sent: BTreeMap::new(), order: BTreeSet::new() }
    }
}

impl<M: Copy + PartialEq> Doubt<M> {
    /// Gives the one that was in doubt under the same name, if there was one: in states that never were, two may be sent. It must be cancelled.
    #[must_use]
    pub fn add(&mut self, place: Key, sent: Sent<M>) -> Option<Sent<M>> {
        // Not by stamp: whoever sends it again does not know under which stamp it went first.
        let name = (sent.envelope.key, sent.envelope.to);
        let (former_place, former) = self.sent.insert(name, (place, sent)).unzip();
        if let Some(former_place) = former_place {
            self.order.remove(&(former_place, name.0, name.1));
        }
        self.order.insert((place, name.0, name.1));
        debug_assert_eq!(self.sent.len(), self.order.len(), "both lists name the same messages");
        former
    }

    /// A message is sent: whether its receiver has it, or has another one in its place that must be cancelled.
    pub fn again(&mut self, envelope: &Envelope<M>) -> Again<M> {
        if self.sent.is_empty() {
            return Again::New;
        }
        let name = (envelope.key, envelope.to);
        let Some((place, sent)) = self.sent.remove(&name) else { return Again::New };
        let listed = self.order.remove(&(place, name.0, name.1));
        debug_assert!(listed, "both lists name the same messages");
        // Only what is the very same may stay: the receiver has handled it, or will, as it was sent first.
        let same = sent.envelope.lane == envelope.lane && sent.envelope.message == envelope.message;
        if same { Again::Same(sent.stamp) } else { Again::Other(sent) }
    }

    /// Those that events before `place` sent: these have been passed, so the messages do not come again.
    pub fn before(&mut self, place: Key, mut cancel: impl FnMut(Sent<M>)) {
        // One at a time from the front: as a rule the first that is left is not passed yet, and that is all that is looked at.
        while let Some(&first) = self.order.first().filter(|first| first.0 < place) {
            self.order.remove(&first);
            debug_assert!(self.sent.contains_key(&(first.1, first.2)), "both lists name the same messages");
            if let Some((_, sent)) = self.sent.remove(&(first.1, first.2)) {
                cancel(sent);
            }
        }
    }
}

/// What is known of a message that is sent.
pub(crate) enum Again<M> {
    /// It is sent for the first time.
    New,
    /// Its receiver has it.
    Same(Stamp),
    /// Its receiver has this one in its place.
    Other(Sent<M>),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Lane;

    fn sent(time: u64, to: u32, message: u64, number: u64) -> Sent<u64> {
        let key = Key::new(time, 0, 7, 0);
        Sent {
            envelope: Envelope { to, lane: Lane::Network, key, message },
            stamp: Stamp { from: 1, number },
        }
    }

    /// Only the very same message stays with its receiver: another payload, lane, key or receiver is another message.
    #[test]
    fn what_is_sent_again_stays_and_what_differs_is_cancelled() {
        let place = Key::new(5, 0, 1, 0);
        let again = |envelope: &Envelope<u64>| {
            let mut doubt = Doubt::default();
            assert!(doubt.add(place, sent(9, 2, 40, 3)).is_none());
            match doubt.again(envelope) {
                Again::New => "new".to_owned(),
                Again::Same(stamp) => format!("same {}", stamp.number),
                Again::Other(other) => format!("cancels {}", other.stamp.number),
            }
        };
        let first = sent(9, 2, 40, 0).envelope;
        assert_eq!(again(&first), "same 3");
        assert_eq!(again(&Envelope { message: 41, ..first }), "cancels 3");
        assert_eq!(again(&Envelope { lane: Lane::Steady, ..first }), "cancels 3");
        assert_eq!(again(&Envelope { to: 3, ..first }), "new");
        assert_eq!(again(&sent(8, 2, 40, 0).envelope), "new");
    }

    /// What has been passed without coming again is cancelled by the place of its event, and one in another's place is listed once.
    #[test]
    fn what_is_passed_is_cancelled_once() {
        let place = |time| Key::new(time, 0, 1, 0);
        let mut doubt = Doubt::default();
        assert!(doubt.add(place(5), sent(9, 2, 40, 1)).is_none());
        assert!(doubt.add(place(6), sent(9, 3, 40, 2)).is_none());
        // The same name at another place: the former one must be cancelled by whoever adds.
        assert_eq!(doubt.add(place(7), sent(9, 2, 50, 3)).map(|former| former.stamp.number), Some(1));
        let mut cancelled = |before| {
            let mut numbers = Vec::new();
            doubt.before(place(before), |sent| numbers.push(sent.stamp.number));
            numbers
        };
        assert_eq!(cancelled(6), []);
        assert_eq!(cancelled(7), [2]);
        assert_eq!(cancelled(8), [3]);
        assert_eq!(cancelled(100), []);
    }
}
