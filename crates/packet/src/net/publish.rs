//! Published queues: what routings with global knowledge (UGAL-G) see of other routers.
//!
//! All routers publish the backlog of each output at multiples of the information delay; a publication is seen one period
//! after it was made, so what a routing reads is one to two periods old. An alarm per period brings every port to its instant
//! and turns the two pages. While the network is at rest there is nothing to publish and the alarm sleeps. Reading any router's
//! state makes the network one cell: such a run has one partition.

use super::published::Page;
use super::{Net, Router, Static};
use crate::{
    effects::Fx,
    event::{Alarm, Name},
    rows::NO_CREDIT,
};
use engine::key::Class;

impl<R: Router> Net<R> {
    /// Chunks move: there will be something to publish.
    #[inline]
    pub fn wake_publisher(&mut self, cx: &Static, fx: &mut impl Fx) {
        if cx.net.info_period > 0 && *self.published.next.get(0) == 0 {
            self.plan_publication(cx, fx);
        }
    }

    fn plan_publication(&mut self, cx: &Static, fx: &mut impl Fx) {
        debug_assert!(cx.local.partition == 0 && cx.net.partitions == 1, "who reads all queues is one cell");
        let at = (fx.now() / cx.net.info_period + 1) * cx.net.info_period;
        debug_assert!(at > fx.now(), "a publication lies ahead");
        *self.published.next.edit(0) = at;
        fx.wake(at, Class::Early, Name::Publication.only(), Alarm::Publish.token());
    }

    /// Turns the pages; everything is settled.
    pub fn turn_pages(&mut self, cx: &Static, fx: &mut impl Fx) {
        debug_assert!(fx.now() == *self.published.next.get(0), "pages are turned when that was planned");
        let mut rest = true;
        for u in cx.local.ports_of_routers() {
            let port = self.ports.get(u);
            let moves = !port.flight.is_empty() || port.first_credit != NO_CREDIT || R::waits(self, u);
            let (old, made) = (*self.published.pages.get(u), port.backlog);
            let new = Page { seen: old.made, made };
            // Two publications without change: both pages say what holds, so nobody misses the next one.
            rest &= !moves && new == old;
            // Written only where it changes: most ports of a large network are as they were.
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
