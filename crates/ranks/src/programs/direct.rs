//! Messages that nobody asks for: send and receive meet at once, wherever they are, and the message begins.

use super::{
    super::{
        carrier::Posting,
        envelope::{Envelope, Role},
        hosted::HostEffects,
    },
    Programs,
};
use base::index::TerminalId;

impl Programs {
    /// Send and receive are both there, and nothing has to ask: the message goes from one terminal to the other. Within a terminal it takes the
    /// node's memory, if that takes time; else the network carries it from the terminal to itself.
    pub(super) fn meet(
        &mut self,
        source: TerminalId,
        destination: TerminalId,
        header: u64,
        grant: &Envelope,
        fx: &mut dyn HostEffects,
    ) {
        debug_assert_eq!(grant.role, Role::Grant, "a message begins when its receive allows it");
        let data = Envelope { role: Role::Data, ..*grant };
        if source == destination && self.roster.node.is_some_and(|node| !node.memory.is_free()) {
            return self.copy(self.residents.local(grant.to), grant.bytes, data, fx);
        }
        let bytes = grant.bytes.saturating_add(header);
        fx.post(Posting { source, destination, bytes, control: false, ahead: data.into() });
    }

    /// A message has arrived: where nothing asks, its send is over as well, unless it was before.
    pub(super) fn ends_send(&mut self, envelope: &Envelope, fx: &mut dyn HostEffects) {
        if self.roster.rules.direct.is_none() {
            return;
        }
        let sender = self.residents.local(envelope.from);
        if let Some(row) = self.named.remove(u64::from(sender), envelope.send) {
            self.finish(row, fx);
        }
    }
}
