//! Pending events of one partition: two lanes and the payloads of messages.

use crate::{
    domain::{Envelope, Lane},
    key::Key,
    wheel::{Entry, Wheel},
};
use base::time::{NEVER, Ps};

const MESSAGE: u32 = 1 << 31;

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Due<M> {
    /// An alarm.
    Wake(u32),
    /// A message.
    Message(M),
}

/// Pending events of one partition.
pub struct Agenda<M> {
    steady: Wheel,
    network: Wheel,
    /// Virtual time minus network time.
    offset: Ps,
    suspended: bool,
    payloads: Vec<M>,
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
            suspended: false,
            payloads: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Virtual time minus network time.
    #[inline]
    #[must_use]
    pub fn offset(&self) -> Ps {
        self.offset
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
        debug_assert!(token & MESSAGE == 0, "tokens have 31 bits");
        self.lane(lane).push(Entry { key, token });
    }

    /// Adds a message.
    pub fn deliver(&mut self, envelope: &Envelope<M>) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.payloads.push(envelope.message);
            (self.payloads.len() - 1) as u32
        });
        self.payloads[slot as usize] = envelope.message;
        self.lane(envelope.lane).push(Entry { key: envelope.key, token: MESSAGE | slot });
    }

    /// Virtual time of the next event that can happen, [`NEVER`] if there is none.
    #[inline]
    pub fn next_time(&mut self) -> Ps {
        let network =
            if self.suspended { NEVER } else { self.network.next_time().saturating_add(self.offset) };
        network.min(self.steady.next_time())
    }

    /// Removes the next event before virtual time `bound`: its lane, its key on that lane's clock, and what is due.
    #[inline]
    pub fn pop_before(&mut self, bound: Ps) -> Option<(Lane, Key, Due<M>)> {
        let network = if self.suspended { None } else { self.network.peek() };
        let lane = if self.steady.is_empty() {
            network?;
            Lane::Network
        } else {
            let steady = self.steady.peek()?;
            match network {
                Some(n) if n.key.shifted(self.offset) < steady.key => Lane::Network,
                _ => Lane::Steady,
            }
        };
        let offset = self.offset_of(lane);
        let wheel = self.lane(lane);
        let entry = wheel.peek()?;
        if entry.key.time.saturating_add(offset) >= bound {
            return None;
        }
        wheel.pop();
        Some((lane, entry.key, self.open(entry.token)))
    }

    #[inline]
    fn open(&mut self, token: u32) -> Due<M> {
        if token & MESSAGE == 0 {
            return Due::Wake(token);
        }
        let slot = token & !MESSAGE;
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

    /// Stops the network clock.
    pub fn suspend(&mut self) {
        assert!(!self.suspended, "the network is already suspended");
        self.suspended = true;
    }

    /// Restarts the network clock after `pause`: every network event is now due that much later.
    pub fn resume(&mut self, pause: Ps) {
        assert!(self.suspended, "the network is not suspended");
        self.suspended = false;
        self.offset += pause;
    }

    /// Every message still pending, in no particular order: for the final state's hash and for checkers.
    pub fn messages(&self) -> impl Iterator<Item = &M> {
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
        agenda.suspend();
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
