//! Which routing decides at a router: always the same, or another one once links have failed.
//!
//! A change of routing at an instant t is a pure function of what the model knows of a chunk and of time, so that it needs no event
//! and every partition sees the same:
//!
//! - A packet whose first chunk started onto its terminal's link before t follows the routing *before* the failure to its end, one
//!   that started at t or later the routing *after* it. The two use disjoint sets of virtual channels, as in the
//!   double scheme of Pinkston, Pang and Duato: neither can wait for the other's buffers.
//! - A chunk of the first kind that is routed at t or later to a link that failed is *diverted*: from this router on it takes
//!   up*/down* paths around the failures, on one more virtual channel of their own. It never comes back, so that the channels
//!   before the failure may wait for those of diverted chunks and not the other way round: as long as each of the three
//!   routings is free of deadlock, so is the whole.
//! - What was routed to a failing link before t still crosses it, and a router that is cut off from the network passes on what is in it:
//!   links are taken out of service, not torn. Nothing is lost.
//!
//! Source: Pinkston, Pang, Duato: Deadlock-Free Dynamic Reconfiguration Schemes for Increased Network Dependability, IEEE TPDS
//! 2003. Not modelled: loss and retransmission, the time that it takes to notice a failure and to find new routes.

use crate::setup::Setup;
use base::{
    index::{ChannelId, LinkId, RouterId},
    time::Ps,
};
use fabric::{
    graph::Fabric,
    metrics::distances,
    routing::{Choice, Congestion, Facts, Hop, Routing},
};
use std::sync::Arc;

/// The routings of a run.
pub struct Routes {
    before: Arc<dyn Routing>,
    change: Option<After>,
    /// [`Facts::oblivious`] of the first routing: asked of it once, not per chunk.
    oblivious: bool,
    /// What is true of both routings together.
    facts: Facts,
}

struct After {
    at: Ps,
    routing: Arc<dyn Routing>,
    detour: Arc<dyn Routing>,
    /// [`Facts::oblivious`] of `routing`.
    oblivious: bool,
    /// First virtual channel of `routing`.
    first_vc: u8,
    /// The one of diverted chunks.
    detour_vc: ChannelId,
    /// Links that fail, by number.
    fails: Vec<bool>,
    /// Routers that the failure cuts off from the network.
    cut_off: Vec<bool>,
}

/// The routing that a chunk follows.
#[derive(Clone, Copy)]
pub struct Route<'a> {
    /// Who chooses the ports; its virtual channels begin at 0, see [`Route::route`].
    pub routing: &'a dyn Routing,
    /// Its virtual channel 0 in the network.
    pub first_vc: u8,
    /// The chunk was diverted.
    pub diverted: bool,
    /// The routing looks at no congestion.
    pub oblivious: bool,
}

impl Route<'_> {
    /// Asks the routing; virtual channels of `hop` and of the answer are the network's.
    #[inline]
    pub fn route(&self, hop: &mut Hop, congestion: &mut dyn Congestion) -> Choice {
        // What comes from a terminal has no channel of the routing's yet.
        hop.vc = ChannelId::new(hop.vc.number().saturating_sub(self.first_vc));
        let choice = self.routing.route(hop, congestion);
        debug_assert!(choice.vc.number() < self.routing.vcs(), "a routing uses its own virtual channels");
        Choice { vc: choice.vc.plus(self.first_vc), ..choice }
    }
}

impl Routes {
    /// Those of a setup.
    #[must_use]
    pub fn new(setup: &Setup) -> Self {
        let before = Arc::clone(&setup.routing);
        let change = setup.change.as_ref().map(|change| After {
            at: change.at,
            routing: Arc::clone(&change.routing),
            detour: Arc::clone(&change.detour),
            oblivious: change.routing.facts().oblivious,
            first_vc: before.vcs(),
            detour_vc: ChannelId::new(before.vcs() + change.routing.vcs()),
            fails: failing(&setup.fabric, &change.fabric),
            cut_off: cut_off(&change.fabric),
        });
        let first = before.facts();
        let facts = change.as_ref().map_or(first, |after| first.either(after.routing.facts()));
        Self { before, change, oblivious: first.oblivious, facts }
    }

    /// Virtual channels that they need together.
    #[must_use]
    pub fn vcs(&self) -> u8 {
        self.change.as_ref().map_or(self.before.vcs(), |after| after.detour_vc.number() + after.detour.vcs())
    }

    /// Some routing carries a state.
    #[must_use]
    pub fn stateful(&self) -> bool {
        self.facts.stateful
    }

    /// Ports of a router along rings in which routers keep bubbles, 0 if none: see [`Facts::rings`].
    #[must_use]
    pub fn rings(&self) -> u32 {
        self.facts.rings.unwrap_or(0)
    }

    /// Heads ask for all options of the routing at once: see [`Facts::escapes`].
    #[must_use]
    pub fn asks_for_all(&self) -> bool {
        self.facts.escapes.is_some()
    }

    /// A virtual channel is an escape channel: see [`Facts::escapes`].
    #[inline]
    #[must_use]
    pub fn is_escape(&self, vc: ChannelId) -> bool {
        self.facts.escapes.is_some_and(|below| vc.number() < below)
    }

    /// None looks at congestion.
    #[inline]
    #[must_use]
    pub fn oblivious(&self) -> bool {
        self.facts.oblivious
    }

    /// Some routing reads other routers' queues.
    #[must_use]
    pub fn needs_published(&self) -> bool {
        self.facts.needs_published
    }

    /// True if the routing changes during the run.
    #[must_use]
    pub fn change(&self) -> bool {
        self.change.is_some()
    }

    /// The routing of a chunk that came in on virtual channel (or class of them) `vc`, of a packet whose first chunk started onto its
    /// terminal's link at `start`.
    #[inline]
    #[must_use]
    pub fn route_of(&self, start: Ps, vc: ChannelId) -> Route<'_> {
        match &self.change {
            Some(after) if vc == after.detour_vc => after.detour_route(),
            Some(after) if start >= after.at => {
                let After { first_vc, oblivious, .. } = *after;
                Route { routing: after.routing.as_ref(), first_vc, diverted: false, oblivious }
            }
            _ => self.first(),
        }
    }

    /// The routing of every chunk, where it never changes.
    #[inline]
    #[must_use]
    pub fn only(&self) -> Route<'_> {
        debug_assert!(self.change.is_none(), "no link fails while a plain run is under way");
        self.first()
    }

    #[inline]
    fn first(&self) -> Route<'_> {
        Route { routing: self.before.as_ref(), first_vc: 0, diverted: false, oblivious: self.oblivious }
    }

    /// The way of a chunk that is about to take `link` of `router` at instant `now`, if it has to be diverted.
    #[inline]
    #[must_use]
    pub fn divert(&self, now: Ps, router: RouterId, link: LinkId) -> Option<Route<'_>> {
        let after = self.change.as_ref()?;
        let fails = now >= after.at && after.fails[link.index()] && !after.cut_off[router.index()];
        fails.then(|| after.detour_route())
    }
}

impl After {
    fn detour_route(&self) -> Route<'_> {
        // A detour is always asked blindly (`Blind`), so no trail of it is kept.
        Route {
            routing: self.detour.as_ref(),
            first_vc: self.detour_vc.number(),
            diverted: true,
            oblivious: true,
        }
    }
}

/// Links between routers that only the first network has.
fn failing(before: &Fabric, after: &Fabric) -> Vec<bool> {
    assert!(before.ports().len() == after.ports().len(), "a failure adds no links and takes no number away");
    before.ports().iter().zip(after.ports()).map(|(before, after)| before.peer != after.peer).collect()
}

/// Routers without a path to the terminals of the network.
fn cut_off(fabric: &Fabric) -> Vec<bool> {
    let mut off = vec![true; fabric.routers() as usize];
    let ends = fabric.ends();
    for plane in ends.chunk_by(|&a, &b| fabric.plane_of_router(a) == fabric.plane_of_router(b)) {
        let reached = distances(fabric, plane[0]).into_cells().into_iter().map(|d| d != u32::MAX);
        off.iter_mut().zip(reached).for_each(|(off, reached)| *off &= !reached);
    }
    off
}
