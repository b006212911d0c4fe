//! The packet network as a carrier: messages of those who live on its terminals.
//!
//! The network carries bytes, and nothing that a host sends beside them: that goes ahead to the partition of the destination, at once
//! within a partition, else as an event that arrives after the least time that any message needs, so always before the message itself.
//! Terminal and number of the message name it there until the last packet arrives. A host lives on the first terminal of its node; what arrives at
//! the others is handed over as if it had come there.

use super::{
    event::{self, Name},
    net::{Net, Router, Static},
    network::Network,
    state::{Fx, Inhabited, PacketDomain, State, Wire},
};
use crate::places::Ends;
use engine::{
    domain::{Effects, Lane},
    key::Class,
};
use ranks::{
    carrier::{Alarm, Carrier, Delivery, Posting, Ring},
    hosted::Hosted,
    programs::Programs,
    roster::Place,
};
use std::sync::Arc;

impl<R: Router> State<R> {
    /// A message of a host is complete at its destination: it waits to be fetched.
    pub(super) fn completed(&mut self, cx: &Static, ends: Ends, number: u32) {
        let ahead = self.posted.fetch_ahead(ends, number);
        let fabric = &cx.net.fabric;
        let (source, destination) = (fabric.node_of(ends.source), fabric.node_of(ends.destination));
        self.posted.complete(Delivery { source, destination, ahead });
    }

    /// Sends a message of a host, and something ahead of it.
    fn post_ahead(&mut self, cx: &Static, message: &Posting, fx: &mut impl Fx) {
        let &Posting { source, destination, bytes, control, ahead } = message;
        let i = cx.local.terminals.binary_search(&source).expect("who posts lives here") as u32;
        let posting = self.posting(cx, i, destination);
        let (source, number) = (posting.source, posting.number);
        let to = cx.net.owner[cx.net.fabric.router_at(destination)];
        if to == cx.local.partition {
            self.posted.ahead(Ends { source, destination: posting.destination }, number, ahead);
        } else {
            let at = fx.instant() + cx.net.message_time;
            debug_assert!(cx.net.message_time > 0, "programs know how long a message takes at least");
            let wire = Wire::Ahead { source, destination: posting.destination, number, ahead };
            // The terminal's own count: with a transport the number is the pair's.
            let count = self.terminals.get(posting.local).posted.wrapping_sub(1);
            fx.send(to, cx.net.lane, at, Class::Ordinary, Name::Envelope.of(source.number(), count), wire);
        }
        self.post(cx, posting, bytes | Net::<R>::marks(cx, bytes, control), fx);
    }
}

impl<R: Router> Carrier for PacketDomain<R> {
    fn post(&mut self, posting: Posting, fx: &mut impl Effects<Self>) {
        self.state.post_ahead(&self.cx, &posting, fx);
    }

    #[inline]
    fn next_delivery(&mut self, _fx: &mut impl Effects<Self>) -> Option<Delivery> {
        if Net::<R>::FULL { self.state.posted.next_complete() } else { None }
    }

    fn set_alarm(&mut self, alarm: Alarm, fx: &mut impl Effects<Self>) {
        let Alarm { at, terminal, processor, ring, number } = alarm;
        debug_assert!(at >= fx.instant(), "an alarm lies ahead");
        let processor = if ring == Ring::Begin { u32::MAX - processor } else { processor };
        let name = Name::Rank.of(terminal.number(), processor);
        fx.wake_on(self.cx.net.lane, at, Class::Ordinary, name, event::Alarm::Rank(number).token());
    }

    #[inline]
    fn host_alarm(&self, token: u32, fx: &mut impl Effects<Self>) -> Option<u32> {
        if !Net::<R>::FULL {
            return None;
        }
        let event::Alarm::Rank(number) = event::Alarm::of(token) else { return None };
        if !self.state.surrogate.phase().suspended {
            fx.turn(Lane::Network);
        }
        Some(number)
    }
}

/// Partition `partition` before anything happened, with the ranks that live there.
#[must_use]
pub fn inhabited<R: Router>(net: &Arc<Network>, partition: u32) -> Inhabited<R> {
    let carrier = PacketDomain::<R>::new(Arc::clone(net), partition);
    let here = |place: &Place| net.owner[net.fabric.router_at(place.terminal)] == partition;
    Hosted { host: Programs::new(Arc::clone(&net.roster), net.roster.places().filter(here)), carrier }
}
