//! Pending events of one partition: two lanes and the payloads of messages.

use crate::{
    domain::{Envelope, Lane},
    kept::{Damaged, Kept, put, take},
    key::Key,
    wheel::{Entry, Wheel},
};
use base::time::{NEVER, Ps};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Bit of a token that makes it the place of a payload.
const MESSAGE: u32 = 1 << 31;

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Due<M> {
    /// An alarm that the partition set itself.
    Wake(u32),
    /// A message whose time has come.
    Message(M),
}

/// Names a message for as long as it may be taken back: the partition that sent it, and its number among all that this partition sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stamp {
    pub from: u32,
    pub number: u64,
}

impl Stamp {
    /// Of messages that nobody takes back.
    pub const FINAL: Self = Self { from: u32::MAX, number: 0 };
}

/// Pending events of one partition.
pub struct Agenda<M> {
    steady: Wheel,
    network: Wheel,
    /// Virtual time minus network time while the network runs.
    offset: Ps,
    /// Virtual time at which the network's clock was stopped.
    frozen_at: Option<Ps>,
    payloads: Vec<M>,
    /// By payload, who may take it back; shorter, or empty, where nobody does.
    stamps: Vec<Stamp>,
    free: Vec<u32>,
}

impl<M: Copy> Agenda<M> {
    /// An empty agenda; see [`Wheel::new`] for `shift`.
    #[must_use]
    pub fn new(shift: u32) -> Self {
        Self {
            steady: Wheel::new(shift),
            network: Wheel::new(shift),
            offset: 0,
            frozen_at: None,
            payloads: Vec::new(),
            stamps: Vec::new(),
            free: Vec::new(),
        }
    }

    /// The instant on `lane`'s clock at a virtual time.
    #[inline]
    #[must_use]
    pub fn clock(&self, lane: Lane, now: Ps) -> Ps {
        match lane {
            Lane::Steady => now,
            Lane::Network => self.frozen_at.unwrap_or(now) - self.offset,
        }
    }

    /// True while the network's clock stands still.
    #[must_use]
    pub fn is_suspended(&self) -> bool {
        self.frozen_at.is_some()
    }

    /// Number of pending events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.steady.len() + self.network.len()
    }

    /// True if nothing is pending.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds an alarm.
    #[inline]
    pub fn wake(&mut self, lane: Lane, key: Key, token: u32) {
        assert!(token & MESSAGE == 0, "tokens have 31 bits");
        self.lane(lane).push(Entry { key, token });
    }

    /// Adds a message.
    pub fn deliver(&mut self, envelope: &Envelope<M>) {
        let slot = self.file(envelope);
        if let Some(stamp) = self.stamps.get_mut(slot as usize) {
            *stamp = Stamp::FINAL;
        }
    }

    /// Adds a message that its sender may take back.
    pub(crate) fn deliver_stamped(&mut self, envelope: &Envelope<M>, stamp: Stamp) {
        let slot = self.file(envelope) as usize;
        // Grown only here: a run that takes nothing back never has stamps, nor the cost of them.
        if slot >= self.stamps.len() {
            self.stamps.resize(slot + 1, Stamp::FINAL);
        }
        self.stamps[slot] = stamp;
    }

    fn file(&mut self, envelope: &Envelope<M>) -> u32 {
        // Payloads lie beside the wheel, so that its entries stay small whatever a message holds.
        let slot = self.free.pop().unwrap_or_else(|| {
            assert!(self.payloads.len() < MESSAGE as usize, "fewer than 2^31 messages are pending");
            self.payloads.push(envelope.message);
            (self.payloads.len() - 1) as u32
        });
        self.payloads[slot as usize] = envelope.message;
        self.lane(envelope.lane).push(Entry { key: envelope.key, token: MESSAGE | slot });
        slot
    }

    /// From here on nobody takes a pending message back.
    pub(crate) fn finalise(&mut self) {
        self.stamps.clear();
    }

    /// Who may take an entry back; `None` of alarms.
    #[inline]
    pub(crate) fn stamp(&self, entry: &Entry) -> Option<Stamp> {
        let slot = (entry.token & MESSAGE != 0).then_some((entry.token & !MESSAGE) as usize)?;
        Some(self.stamps.get(slot).copied().unwrap_or(Stamp::FINAL))
    }

    /// Removes everything that `gone` recognises: by lane, entry, and of messages who may take it back.
    pub(crate) fn purge(&mut self, mut gone: impl FnMut(Lane, &Entry, Option<Stamp>) -> bool) {
        for lane in [Lane::Steady, Lane::Network] {
            let mut all: Vec<Entry> = self.lane(lane).entries().collect();
            let before = all.len();
            all.retain(|entry| {
                let stamp = self.stamp(entry);
                let gone = gone(lane, entry, stamp);
                if gone && stamp.is_some() {
                    self.free.push(entry.token & !MESSAGE);
                }
                !gone
            });
            if all.len() < before {
                self.lane(lane).refill(all);
            }
        }
    }

    /// Virtual time of the next event that can happen, [`NEVER`] if there is none.
    #[inline]
    pub fn next_time(&mut self) -> Ps {
        let network =
            if self.is_suspended() { NEVER } else { self.network.next_time().saturating_add(self.offset) };
        network.min(self.steady.next_time())
    }

    /// Removes the next event before virtual time `bound`: its lane, its key on that lane's clock, and what is due.
    // In line in the loop over events, so that what is due stays in registers.
    #[inline(always)]
    pub fn pop_before(&mut self, bound: Ps) -> Option<(Lane, Key, Due<M>)> {
        let (lane, entry) = self.take_before(bound)?;
        debug_assert!(entry.key.time + self.offset_of(lane) < bound, "only what is due leaves");
        Some((lane, entry.key, self.open(entry.token)))
    }

    /// The same, still closed: [`Agenda::open`] says what is due and gives the place of the payload back.
    #[inline(always)]
    pub(crate) fn take_before(&mut self, bound: Ps) -> Option<(Lane, Entry)> {
        // The common case: only the network has events.
        if self.steady.is_empty() && !self.is_suspended() {
            return Some((Lane::Network, self.network.pop_before(bound.saturating_sub(self.offset))?));
        }
        // Taken apart, so that what the call returns in memory does not keep the common case out of registers.
        let (lane, entry) = self.take_merged(bound)?;
        Some((lane, entry))
    }

    /// The same with events on both lanes, or on the steady one alone.
    #[inline(never)]
    fn take_merged(&mut self, bound: Ps) -> Option<(Lane, Entry)> {
        let network = if self.is_suspended() { None } else { self.network.peek() };
        let steady = self.steady.peek()?;
        // Both are compared in virtual time, which the network's clock lags behind by what it stood still. Equal keys cannot be: an identity is used on one lane alone, so either order would do.
        let lane = match network {
            Some(n) if n.key.shifted(self.offset) < steady.key => Lane::Network,
            _ => Lane::Steady,
        };
        let bound = bound.saturating_sub(self.offset_of(lane));
        Some((lane, self.lane(lane).pop_before(bound)?))
    }

    #[inline(always)]
    pub(crate) fn open(&mut self, token: u32) -> Due<M> {
        if token & MESSAGE == 0 {
            return Due::Wake(token);
        }
        let slot = token & !MESSAGE;
        // Read after it is given back: nothing is written before the next `deliver`.
        self.free.push(slot);
        Due::Message(self.payloads[slot as usize])
    }

    /// Token of the alarm `ahead` places after the next network event, if known: for prefetching.
    #[inline]
    #[must_use]
    pub fn ahead(&self, ahead: usize) -> Option<u32> {
        self.network.ahead(ahead).filter(|t| t & MESSAGE == 0)
    }

    /// Clock difference of a lane: virtual time minus its own.
    #[inline]
    #[must_use]
    pub fn offset_of(&self, lane: Lane) -> Ps {
        if lane == Lane::Network { self.offset } else { 0 }
    }

    /// Stops the network clock at virtual time `now`.
    pub fn suspend(&mut self, now: Ps) {
        assert!(self.frozen_at.is_none(), "the network is already suspended");
        self.frozen_at = Some(now);
    }

    /// Restarts the network clock at virtual time `now`: every network event is due that much later.
    pub fn resume(&mut self, now: Ps) {
        let since = self.frozen_at.take().expect("the network is suspended");
        assert!(now >= since, "time does not run backwards");
        self.offset += now - since;
    }

    /// Everything pending, in order: for checkpoints.
    pub fn pending(&self) -> Vec<(Lane, Key, Due<M>)> {
        let open = |lane, e: Entry| {
            let due = if e.token & MESSAGE == 0 {
                Due::Wake(e.token)
            } else {
                Due::Message(self.payloads[(e.token & !MESSAGE) as usize])
            };
            (lane, e.key, due)
        };
        let mut all: Vec<_> = self.steady.entries().map(|e| open(Lane::Steady, e)).collect();
        all.extend(self.network.entries().map(|e| open(Lane::Network, e)));
        all.sort_by_key(|(lane, key, _)| (key.shifted(self.offset_of(*lane)), *lane == Lane::Steady));
        all
    }

    /// Removes a pending event by its key and, for alarms, token: for checkers that take single events back. True if it was there. Scans
    /// the agenda.
    pub fn cancel(&mut self, lane: Lane, key: Key, token: Option<u32>) -> bool {
        let mut found = false;
        self.purge(|of, entry, _| {
            let hit = of == lane
                && entry.key == key
                && token.map_or(entry.token & MESSAGE != 0, |token| entry.token == token);
            // Of several that are alike, one.
            let first = hit && !found;
            found |= hit;
            first
        });
        found
    }

    /// Every message still pending, in no particular order: for the final state's hash and for checkers.
    pub fn messages(&self) -> impl Iterator<Item = &M> {
        // Slots say nothing themselves about whether they are in use.
        let mut free = vec![false; self.payloads.len()];
        for &slot in &self.free {
            free[slot as usize] = true;
        }
        self.payloads.iter().zip(free).filter(|(_, f)| !f).map(|(m, _)| m)
    }

    #[inline]
    fn lane(&mut self, lane: Lane) -> &mut Wheel {
        match lane {
            Lane::Steady => &mut self.steady,
            Lane::Network => &mut self.network,
        }
    }
}

/// The clock and everything pending.
impl<M: Copy + Serialize + DeserializeOwned> Kept for Agenda<M> {
    fn save(&self, to: &mut Vec<u8>) {
        put(&(self.offset, self.frozen_at), to);
        put(&self.pending(), to);
    }

    fn load(&mut self, from: &mut &[u8]) -> Result<(), Damaged> {
        let (offset, frozen_at): (Ps, Option<Ps>) = take(from)?;
        let pending: Vec<(Lane, Key, Due<M>)> = take(from)?;
        // Wheels are filled anew rather than saved: how they were filled shows in nothing.
        *self = Self { offset, frozen_at, ..Self::new(self.network.shift()) };
        for (lane, key, due) in pending {
            match due {
                Due::Wake(token) if token & MESSAGE == 0 => self.wake(lane, key, token),
                Due::Wake(_) => return Err(Damaged),
                Due::Message(message) => self.deliver(&Envelope { to: 0, lane, key, message }),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(time: Ps, identity: u64) -> Key {
        Key::new(time, 1, identity, 0)
    }

    #[test]
    fn suspension_delays_the_network_lane_only_and_keeps_its_order() {
        let mut agenda = Agenda::<u8>::new(4);
        for i in 0..5 {
            agenda.wake(Lane::Network, key(100, i), i as u32);
        }
        let mut order = Agenda::<u8>::new(4);
        for i in 0..5 {
            order.wake(Lane::Network, key(100, i), i as u32);
        }
        agenda.wake(Lane::Steady, key(150, 9), 9);
        agenda.suspend(0);
        assert_eq!(agenda.next_time(), 150);
        assert!(matches!(agenda.pop_before(200), Some((Lane::Steady, _, Due::Wake(9)))));
        assert!(agenda.pop_before(NEVER).is_none());
        agenda.resume(1000);
        assert_eq!(agenda.next_time(), 1100);
        assert!(agenda.pop_before(1100).is_none());
        for _ in 0..5 {
            assert_eq!(agenda.pop_before(NEVER).unwrap().2, order.pop_before(NEVER).unwrap().2);
        }
    }

    #[test]
    fn pending_events_can_be_listed_and_cancelled() {
        let mut agenda = Agenda::<u8>::new(4);
        for time in [500, 3, 1 << 40, 70] {
            agenda.wake(Lane::Network, key(time, 0), time as u32 & 0xff);
        }
        agenda.deliver(&Envelope { to: 0, lane: Lane::Steady, key: key(40, 1), message: 8 });
        let times: Vec<Ps> = agenda.pending().iter().map(|p| p.1.time).collect();
        assert_eq!(times, [3, 40, 70, 500, 1 << 40]);
        assert!(agenda.cancel(Lane::Steady, key(40, 1), None));
        assert!(!agenda.cancel(Lane::Steady, key(40, 1), None));
        assert!(agenda.cancel(Lane::Network, key(70, 0), Some(70)));
        assert!(agenda.cancel(Lane::Network, key(1 << 40, 0), Some(0)));
        let left: Vec<Ps> = std::iter::from_fn(|| agenda.pop_before(NEVER)).map(|p| p.1.time).collect();
        assert_eq!(left, [3, 500]);
    }

    /// What is loaded takes the place of all that was pending, and of the clock.
    #[test]
    fn what_is_loaded_replaces_everything() {
        let mut saved = Agenda::<u8>::new(4);
        saved.wake(Lane::Network, key(100, 1), 5);
        saved.deliver(&Envelope { to: 0, lane: Lane::Steady, key: key(40, 1), message: 8 });
        saved.suspend(0);
        saved.resume(1000);
        let mut bytes = Vec::new();
        saved.save(&mut bytes);
        let mut other = Agenda::<u8>::new(4);
        other.wake(Lane::Steady, key(7, 7), 7);
        other.suspend(3);
        assert!(other.load(&mut bytes.as_slice()).is_ok());
        assert_eq!(other.pending(), saved.pending());
        assert_eq!((other.next_time(), other.offset_of(Lane::Network)), (40, 1000));
        assert!(!other.is_suspended());
    }

    #[test]
    fn payload_slots_are_used_again() {
        let mut agenda = Agenda::<u8>::new(4);
        for round in 0..100u8 {
            let envelope =
                Envelope { to: 0, lane: Lane::Steady, key: key(u64::from(round), 0), message: round };
            agenda.deliver(&envelope);
            assert_eq!(agenda.messages().count(), 1);
            assert_eq!(agenda.pop_before(NEVER).unwrap().2, Due::Message(round));
        }
        assert_eq!(agenda.payloads.len(), 1);
    }
}
