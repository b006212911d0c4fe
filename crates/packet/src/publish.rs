//! Published queues: what routings with global knowledge (UGAL-G) see of other routers.
//!
//! All routers publish the backlog of each output at multiples of the information delay; a publication is seen one period
//! after it was made, so what a routing reads is one to two periods old. An alarm per period brings every port to its instant
//! and turns the two pages. While the network is at rest there is nothing to publish and the alarm sleeps. Reading any router's
//! state makes the network one cell: such a run has one partition.

use super::{
    event::{Alarm, Name},
    rows::NO_CREDIT,
    state::{Fx, State, Static},
};
use base::time::Ps;
use engine::{
    key::Class,
    state::{NIL, Row, Table},
};
use serde::{Deserialize, Serialize};

/// Chunks behind an output at the last two publications.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// What routings see.
    seen: u32,
    /// What they will see next.
    made: u32,
}

/// Publications by port.
#[derive(Clone, PartialEq)]
pub struct Published {
    /// By port; empty if the routing reads none.
    pub pages: Table<Page>,
    /// One row: instant of the next publication, 0 while asleep.
    pub next: Table<Ps>,
}

impl Published {
    /// Nothing published yet; `ports` is 0 if nobody reads.
    #[must_use]
    pub fn new(ports: usize) -> Self {
        Self { pages: Table::new(ports, Page::default()), next: Table::new(1, 0) }
    }

    /// Backlog of local port `u` as seen now, in chunks.
    #[must_use]
    pub fn seen(&self, u: u32) -> u32 {
        self.pages.rows().get(u as usize).map_or(0, |p| p.seen)
    }
}

const _: fn() = || {
    fn row<T: Row>() {}
    row::<Page>();
};

impl State {
    /// Chunks move: there will be something to publish.
    #[inline]
    pub(super) fn wake_publisher(&mut self, cx: &Static, fx: &mut impl Fx) {
        if cx.net.info_period > 0 && *self.published.next.get(0) == 0 {
            self.plan_publication(cx, fx);
        }
    }

    fn plan_publication(&mut self, cx: &Static, fx: &mut impl Fx) {
        let at = (fx.now() / cx.net.info_period + 1) * cx.net.info_period;
        *self.published.next.edit(0) = at;
        fx.wake(at, Class::Early, Name::Publication.only(), Alarm::Publish.token());
    }

    /// Turns the pages.
    pub(super) fn publish(&mut self, cx: &Static, fx: &mut impl Fx) {
        let now = fx.now();
        let mut rest = true;
        for u in 0..cx.local.lines.len() as u32 {
            self.touch(cx, u, now, fx);
            self.drain_credits(u, now - 1);
        }
        self.settle_arrivals(cx, now);
        for u in 0..cx.local.router_ports() {
            let port = self.ports.get(u);
            let moves = port.flight.head != NIL || port.first_credit != NO_CREDIT || port.waiting != 0;
            let (old, made) = (*self.published.pages.get(u), port.backlog);
            let new = Page { seen: old.made, made };
            rest &= !moves && new == old;
            if new != old {
                *self.published.pages.edit(u) = new;
            }
        }
        if rest {
            *self.published.next.edit(0) = 0;
        } else {
            self.plan_publication(cx, fx);
        }
    }
}
