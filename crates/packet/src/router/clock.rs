//! The clock of clocked routers: when their cycles are, and how chunks come in between.
//!
//! All routers of a partition keep one clock, whose boundaries are multiples of [`Network::cycle`](crate::network::Network::cycle). The
//! decisions of a cycle see everything up to its boundary; their event is a picosecond later. Routers that moved something stay awake and
//! share the event of the next cycle. The others sleep until an arrival, a credit or a link lets something move, and have an alarm each.
//! An alarm that is no longer meant is recognised by [`Schedule::due`] and does nothing: none is ever cancelled.

use crate::{
    effects::Fx,
    event::{Alarm, Name, RouterAlarm},
    local::Local,
    net::{Net, Router, Static},
    places::{LocalPort, Side},
    pools::ChunkRow,
};
use base::{
    index::{ChannelId, Column, LinkId},
    time::{NEVER, Ps},
};
use engine::{
    key::Class,
    state::{Table, mode::Mode},
};
use serde::{Deserialize, Serialize};

/// What the packet at the front of a queue at an input has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stage {
    /// Nothing: its head was not routed.
    Idle,
    /// A route; it asks for a VC of its class.
    Routed,
    /// A VC; its chunks ask for the switch.
    Active,
}

/// When a router runs next, and whether it has to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// Next cycle set (plus 1 ps), `NEVER` while it sleeps; the present instant during a cycle.
    pub due: Ps,
    /// Chunks in its buffers at inputs: an empty router has nothing to do.
    pub held: u32,
}

/// The clocks of a partition's routers.
#[derive(Clone)]
pub struct CycleClock<M: Mode> {
    /// Next cycle and load, by router of the partition.
    pub routers: Table<Schedule, M>,
    /// Routers that run again in the next cycle, a bit each.
    pub awake: Table<u64, M>,
    /// When that is (plus 1 ps), in one row.
    pub together: Table<Ps, M>,
    /// Local number of the router, by port.
    pub owner: Column<LocalPort, u32>,
}

impl<M: Mode> CycleClock<M> {
    /// All routers of a partition asleep and empty.
    pub fn new(local: &Local) -> Self {
        let routers = local.routers.len();
        let span = |r: usize| local.base[r].number()..local.base[r + 1].number();
        Self {
            routers: Table::new(routers, Schedule { due: NEVER, held: 0 }),
            awake: Table::new(routers.div_ceil(64), 0),
            together: Table::new(1, NEVER),
            owner: (0..routers).flat_map(|r| span(r).map(move |_| r as u32)).collect(),
        }
    }
}

/// What owners are is no state: it never changes.
impl<M: Mode> PartialEq for CycleClock<M> {
    fn eq(&self, other: &Self) -> bool {
        self.routers == other.routers && self.awake == other.awake && self.together == other.together
    }
}

/// A router architecture that advances in cycles.
pub trait Clocked: Router {
    /// The clocks of its routers.
    fn clock(&self) -> &CycleClock<Self::Mode>;

    /// The same, to change them.
    fn clock_mut(&mut self) -> &mut CycleClock<Self::Mode>;

    /// When the first chunk on its way to an input arrives, `NEVER` if none is or if arrivals there are events.
    fn arrival(&self, input: LocalPort) -> Ps;

    /// Sets when the first chunk on its way there arrives.
    fn set_arrival(&mut self, input: LocalPort, at: Ps);

    /// A chunk joins the buffer of a VC at an input.
    fn buffer(n: &mut Net<Self>, chunk: ChunkRow, input: LocalPort, vc: ChannelId);

    /// One cycle of a router, due at this instant. It ends with [`Net::stay_awake`] or [`Net::sleep`].
    fn cycle(n: &mut Net<Self>, cx: &Static, local: u32, fx: &mut impl Fx);
}

impl<R: Clocked> Net<R> {
    /// Link that comes in at an input.
    pub(super) fn input_link(&self, cx: &Static, input: LocalPort) -> LinkId {
        cx.local.link_of(cx.local.upstream[input])
    }

    /// Chunks that a router holds at its inputs.
    #[inline]
    pub(super) fn held_by(&self, local: u32) -> u32 {
        self.router.clock().routers.get(local).held
    }

    /// Takes the chunks that came over a link of this partition up to `t`.
    pub(super) fn take_arrivals(&mut self, cx: &Static, input: LocalPort, t: Ps) {
        let mut arrival = self.router.arrival(input);
        let Side::Here(from) = cx.local.upstream[input].side() else {
            debug_assert!(arrival == NEVER, "what comes from afar arrives by itself");
            return;
        };
        // Their events were spared: in a cycle nobody sees chunks before the boundary.
        while arrival <= t {
            let (flight, next) = self.take_flight(from);
            debug_assert!(flight.time == arrival, "an input knows when its first chunk arrives");
            arrival = next.unwrap_or(NEVER);
            R::buffer(self, flight.chunk, input, flight.vc);
        }
        self.router.set_arrival(input, arrival);
    }

    /// Takes all that arrived before `now`: what came since the last cycle must not look as if it were still on links.
    pub(super) fn settle_arrivals(&mut self, cx: &Static, now: Ps) {
        for input in LocalPort::first(cx.local.router_ports()) {
            if self.router.arrival(input) < now {
                self.take_arrivals(cx, input, now - 1);
            }
        }
    }

    /// Makes sure that a router's cycle runs at the first boundary at or after `at`.
    #[inline]
    pub(super) fn wake_router(&mut self, cx: &Static, local: u32, at: Ps, fx: &mut impl Fx) {
        let set = self.router.clock().routers.get(local).due;
        // Within its own cycle a router's `due` is the present instant: it looks around before it goes to sleep.
        if set <= at {
            return;
        }
        // All routers keep one clock, so that cycles of a partition fall together.
        let due = at.div_ceil(cx.net.cycle) * cx.net.cycle + 1;
        debug_assert!(due > fx.now(), "a cycle lies ahead");
        // The alarm that was set for later is not cancelled: when it rings, `due` says another time.
        if due < set {
            self.router.clock_mut().routers.edit(local).due = due;
            let name = Name::Router.of(cx.local.routers[local as usize].number(), 0);
            Self::set_cycle(name, RouterAlarm::Router(local), due, fx);
        }
    }

    /// The same when the first credit of output `u` that is not counted yet holds.
    pub(super) fn wake_at_release(&mut self, cx: &Static, u: LocalPort, fx: &mut impl Fx) {
        // A credit that is there already counts in the next cycle that has not begun.
        let release = self.ports.get(u).next_release().unwrap_or(0).max(fx.now());
        self.wake_router(cx, self.router.clock().owner[u], release, fx);
    }

    /// The next cycle of a router that has work: one event for all of the partition.
    pub(super) fn stay_awake(&mut self, local: u32, due: Ps, fx: &mut impl Fx) {
        debug_assert!(due > fx.now(), "a cycle lies ahead");
        let clock = self.router.clock_mut();
        clock.routers.edit(local).due = due;
        *clock.awake.edit(local / 64) |= 1 << (local % 64);
        // The first that stays awake sets the event of all.
        if *clock.together.get(0) != due {
            *clock.together.edit(0) = due;
            Self::set_cycle(Name::Routers.only(), RouterAlarm::All, due, fx);
        }
    }

    /// The end of a cycle after which nothing can move before `next`; `NEVER` if only somebody else can wake the router.
    pub(super) fn sleep(&mut self, cx: &Static, local: u32, next: Ps, fx: &mut impl Fx) {
        debug_assert!(
            self.router.clock().routers.get(local).due == fx.now(),
            "a router goes to sleep at the end of its own cycle"
        );
        self.router.clock_mut().routers.edit(local).due = NEVER;
        // Set to sleep first: else the present instant, which stands there, would look like an earlier cycle.
        if next != NEVER {
            self.wake_router(cx, local, next, fx);
        }
    }

    /// An alarm rings: a router's own, or that of all that stayed awake.
    pub(super) fn ring(&mut self, cx: &Static, alarm: RouterAlarm, fx: &mut impl Fx) {
        match alarm {
            RouterAlarm::All => self.cycle_all(cx, fx),
            RouterAlarm::Router(local) if self.router.clock().routers.get(local).due == fx.now() => {
                R::cycle(self, cx, local, fx);
            }
            RouterAlarm::Router(_) => {}
            RouterAlarm::Output(_) => unreachable!("a cycle looks at all outputs"),
        }
    }

    /// One cycle of all routers that stayed awake.
    fn cycle_all(&mut self, cx: &Static, fx: &mut impl Fx) {
        debug_assert!(
            (fx.now() - 1).is_multiple_of(cx.net.cycle),
            "a cycle is a picosecond after its boundary"
        );
        for word in 0..self.router.clock().awake.len() as u32 {
            // Taken out first: routers that stay awake are noted for the next cycle while this one runs.
            let mut awake = std::mem::take(self.router.clock_mut().awake.edit(word));
            while awake != 0 {
                let local = word * 64 + awake.trailing_zeros();
                awake &= awake - 1;
                let due = self.router.clock().routers.get(local).due;
                if due == fx.now() {
                    R::cycle(self, cx, local, fx);
                } else if due == fx.now() + cx.net.cycle {
                    // A stale alarm of its own came first.
                    self.stay_awake(local, due, fx);
                }
            }
        }
    }

    /// Sets a cycle: early, so that it sees no arrival of its own instant, a picosecond after its decisions.
    fn set_cycle(name: u64, alarm: RouterAlarm, at: Ps, fx: &mut impl Fx) {
        fx.wake(at, Class::Early, name, Alarm::Router(alarm).token());
    }
}
