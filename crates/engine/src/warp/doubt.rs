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
