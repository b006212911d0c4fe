//! Messages that stay on their terminal.

use super::{
    super::{
        carrier::{Alarm, Delivery, Ring},
        envelope::Envelope,
        hosted::HostEffects,
        memories::Given,
        roster::{Resident, Server},
    },
    Programs,
};
use base::time::Ps;

impl Programs {
    /// A message of a rank goes to another of its terminal, through memory.
    pub(super) fn copy(&mut self, rank: u32, bytes: u64, envelope: Envelope, fx: &mut dyn HostEffects) {
        let &Resident { place, channel: first, .. } = self.residents.get(rank);
        let lives = |rank| self.residents.get(self.residents.local(rank)).place.terminal == place.terminal;
        debug_assert!(lives(envelope.from) && lives(envelope.to), "what is copied stays on its terminal");
        let what = Delivery { source: place.terminal, destination: place.terminal, ahead: envelope.into() };
        let memory = self.roster.node.map(|n| n.memory).filter(|m| !m.is_free());
        let given = memory.map(|m| self.memories.give(&m, first, self.now, bytes, what));
        match given.unwrap_or(Given::There) {
            Given::There => self.comes(&what, fx),
            Given::Queued => {}
            Given::Next(channel, at) => self.expect(channel, at, fx),
        }
    }

    /// Sets the alarm of a memory's channel.
    fn expect(&self, channel: u32, at: Ps, fx: &mut dyn HostEffects) {
        let Server { terminal, number: processor } = self.residents.channels()[channel as usize];
        let number = (self.residents.cpus().len() + self.residents.all().len()) as u32 + channel;
        fx.alarm(Alarm { at, terminal, processor, ring: Ring::Done, number });
    }

    /// Messages of a memory's channel are there.
    pub(super) fn copied(&mut self, channel: u32, fx: &mut dyn HostEffects) {
        let mut there = std::mem::take(&mut self.there);
        if let Some(at) = self.memories.due(channel, self.now, &mut there) {
            self.expect(channel, at, fx);
        }
        for delivery in there.drain(..) {
            self.comes(&delivery, fx);
            // Each is answered before the next is looked at, as messages of a network are.
            self.take_up_freed(fx);
        }
        self.there = there;
    }
}
