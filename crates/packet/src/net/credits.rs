//! Credits: dated, counted by their port, an event only where somebody waits for them. See `PACKET.md`.

use super::{Net, Router, Static};
use crate::{
    effects::{Fx, Wire},
    event::Name,
    places::{LocalPort, Side, Upstream, VcRow},
    pools::{CreditRow, RowNumber},
    rows::{self, Credit, NO_CREDIT},
};
use base::index::ChannelId;
use base::time::{NEVER, Ps};
use engine::{domain::Lane, key::Class};

impl<R: Router> Net<R> {
    /// Releases the buffer that a chunk held on `from`'s link at instant `at`.
    #[inline(always)]
    pub fn return_credit(&mut self, cx: &Static, from: Upstream, vc: ChannelId, at: Ps, fx: &mut impl Fx) {
        let from = match from.side() {
            Side::Here(port) => port,
            Side::Afar(inbound) => return self.send_credit(cx, inbound, vc, at, fx),
        };
        debug_assert!(
            self.vcs.get(self.vc_row(from, vc)).occupancy > 0,
            "a credit gives back what was taken"
        );
        let release = at + cx.net.timings[Self::line(cx, from).timing as usize].credit_delay;
        // A terminal's credits must stay dated: they decide when its next chunk starts.
        // Nor may credits be counted where somebody waits for them: who gets what is decided in their order, one by one.
        let counts = cx.local.is_routers(from) && !R::pressed(self, from);
        if counts && fx.now() == at {
            self.drain_credits(from, at);
        } else if R::COUNTS && counts && release < fx.now() {
            // What is done late may be counted at once, as whoever looks at the port next would do.
            return self.count_credit(from, vc);
        }
        self.add_credit(from, rows::credit(release, vc));
        self.after_credit(cx, from, fx);
    }

    /// Informs another partition that a chunk no longer holds a buffer of its link.
    fn send_credit(&mut self, cx: &Static, inbound: u32, vc: ChannelId, at: Ps, fx: &mut impl Fx) {
        let line = &cx.local.inbound[inbound as usize];
        let release = at + cx.net.timings[line.timing as usize].credit_delay;
        debug_assert!(release >= fx.now(), "a credit is released when it has travelled");
        let count = self.returned.edit(inbound);
        *count = count.wrapping_add(1);
        let name = Name::Credit.of(line.link.number(), *count);
        let message = Wire::Credit { link: line.link, vc };
        let to = cx.local.inbound_from[inbound as usize];
        fx.send(to, Lane::Network, release, Class::Early, name, message);
    }

    /// Appends a credit to a port's.
    #[inline(always)]
    fn add_credit(&mut self, u: LocalPort, code: u64) {
        let port = self.ports.edit(u);
        debug_assert!(code != NO_CREDIT, "credits are released before the end of time");
        // Mostly there is at most one on its way: it lies in the port's own cache line, and only others take rows.
        if port.first_credit == NO_CREDIT {
            port.first_credit = code;
        } else {
            port.more_credits = true;
            let credit = self.credits.take(Credit { code, next: CreditRow::NIL });
            self.more_credits.edit(u).push(&mut self.credits, credit);
        }
    }

    /// The credits on their way to a port, as [`rows::credit`]s.
    pub fn credits_of(&self, u: LocalPort) -> impl Iterator<Item = u64> {
        let first = self.ports.get(u).first_credit;
        let more = self.more_credits.get(u).iter(&self.credits).map(|c| self.credits.get(c).code);
        (first != NO_CREDIT).then_some(first).into_iter().chain(more)
    }

    /// Somebody may wait for the credit that `u` just got.
    #[inline]
    fn after_credit(&mut self, cx: &Static, u: LocalPort, fx: &mut impl Fx) {
        if cx.local.is_routers(u) {
            R::credit(self, cx, u, false, fx);
        } else if self.ports.get(u).due == NEVER {
            self.credited.push(u);
        }
    }

    /// Uses the credits released up to `t` of a port that nothing is queued at: counting only.
    #[inline]
    pub fn drain_credits(&mut self, u: LocalPort, t: Ps) {
        while self.next_credit(u, t).is_some() {}
        debug_assert!(
            self.ports.get(u).next_release().is_none_or(|release| release > t),
            "what was released is counted"
        );
    }

    /// Uses the first credit if it was released by `t`; returns its VC.
    #[inline]
    pub fn next_credit(&mut self, u: LocalPort, t: Ps) -> Option<ChannelId> {
        let port = self.ports.get(u);
        // The mark for no credit reads as a release after all time.
        if rows::release_of(port.first_credit) > t {
            return None;
        }
        let vc = rows::channel_of(port.first_credit);
        let port = self.ports.edit(u);
        port.first_credit = NO_CREDIT;
        if port.more_credits {
            self.refill_credit(u);
        }
        self.count_credit(u, vc);
        Some(vc)
    }

    /// Uses a credit of virtual channel `vc`.
    #[inline]
    fn count_credit(&mut self, u: LocalPort, vc: ChannelId) {
        let (port, v) = (self.ports.edit(u), VcRow::of(u, self.width, vc));
        let row = self.vcs.edit(v);
        debug_assert!(port.backlog > 0 && row.occupancy > 0, "a credit gives back what was taken");
        port.backlog -= 1;
        row.occupancy -= 1;
    }

    /// Moves a port's next credit to the first place.
    fn refill_credit(&mut self, u: LocalPort) {
        debug_assert!(self.ports.get(u).first_credit == NO_CREDIT, "the first place is free");
        // Credits keep the order in which they were returned: where somebody waits, it decides who gets what.
        let list = self.more_credits.edit(u);
        if let Some(next) = list.pop(&self.credits) {
            let port = self.ports.edit(u);
            port.first_credit = self.credits.get(next).code;
            port.more_credits = !list.is_empty();
            self.credits.give(next);
        }
    }

    /// A credit that another partition sent, due now.
    pub fn credit_from_afar(&mut self, cx: &Static, u: LocalPort, vc: ChannelId, fx: &mut impl Fx) {
        debug_assert!(cx.local.is_routers(u), "a terminal is in its router's partition");
        self.add_credit(u, rows::credit(fx.now(), vc));
        R::credit(self, cx, u, true, fx);
    }
}
