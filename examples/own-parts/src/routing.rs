//! A routing: on a ring, always up.

use netloom::{
    base::{
        index::{ChannelId, Column, PortId, RouterId},
        param::{Problem, Values},
        registry::About,
    },
    fabric::{
        graph::Fabric,
        registry::{Bound, RoutingEntry},
        routing::{Choice, Congestion, Facts, Hop, Routing},
    },
};
use std::sync::Arc;

/// The entry.
pub static ALWAYS_UP: RoutingEntry = RoutingEntry {
    about: About {
        name: "always-up",
        summary: "rings: from router r to router r + 1 until the packet is there",
        doc: "Packets change to VC 1 at the link from the last router to the first, so two VCs are needed.",
        source: "an example; datelines: Dally, Seitz, IEEE TC 1987",
        params: &[],
    },
    build,
    bytes: |_, _| 0,
    least: |_, _| 0,
};

struct AlwaysUp {
    fabric: Arc<Fabric>,
    /// Of each router, the port to the next one.
    up: Column<RouterId, PortId>,
}

fn build(fabric: Arc<Fabric>, _: &Values) -> Bound {
    let routers = fabric.routers();
    let port = |router: RouterId| {
        let next = RouterId::new((router.number() + 1) % routers);
        fabric.neighbours(router).find(|(_, neighbour)| *neighbour == next).map(|(port, _)| port)
    };
    match RouterId::first(routers).map(port).collect() {
        Some(up) => Ok(Box::new(AlwaysUp { fabric, up })),
        None => Err(vec![Problem::new("algorithm", "`always-up` needs a ring of routers")]),
    }
}

impl AlwaysUp {
    fn next(&self, hop: &Hop) -> Choice {
        let (to, ejection) = self.fabric.attached(hop.destination);
        if hop.router == to {
            return Choice { port: ejection, vc: ChannelId::FIRST, state: 0 };
        }
        let last = hop.router.index() + 1 == self.up.len();
        Choice { port: self.up[hop.router], vc: if last { ChannelId::new(1) } else { hop.vc }, state: 0 }
    }
}

impl Routing for AlwaysUp {
    fn vcs(&self) -> u8 {
        2
    }

    fn route(&self, hop: &mut Hop, _: &mut dyn Congestion) -> Choice {
        self.next(hop)
    }

    fn options(&self, hop: &Hop, out: &mut Vec<Choice>) {
        out.push(self.next(hop));
    }

    fn facts(&self) -> Facts {
        Facts { stateful: false, terminals_alike: true, ..Facts::OBLIVIOUS }
    }
}
