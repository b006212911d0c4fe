//! Planar-adaptive routing of meshes: adaptive in one plane after another.

use super::{
    Choice, Congestion, Facts, Hop, Routing,
    legs::grid::GridLeg,
    select::{SELECT, Select},
};
use crate::{
    graph::Fabric,
    routing::entry::{Bound, RoutingEntry},
};
use base::{
    index::{ChannelId, PortId, RouterId},
    param::{Param, Values},
    registry::About,
};
use std::sync::Arc;

/// The registered routing.
pub const ROUTING: RoutingEntry = RoutingEntry {
    about: About {
        name: "planar-adaptive",
        summary: "mesh: any shortest path within planes of two dimensions, one plane after another",
        doc: "Plane i holds dimensions i and i + 1. In it a packet takes whichever of the two is not yet right, as `select` says, until dimension i is; then it \
              goes on in plane i + 1. Links of dimension i carry it on VC 2 there, links of dimension i + 1 on VC 0 if it goes up in dimension i and on VC 1 if \
              it goes down: two networks in each plane, in neither of which a packet turns back. So three virtual channels are enough for any number \
              of dimensions, and there is no cycle. A network with failed links is refused. Reads, where `select` looks at queues: the outputs of the router that it is asked at, without delay.",
        source: "Chien, Kim: Planar-Adaptive Routing: Low-cost Adaptive Networks for Multiprocessors, ISCA 1992; BookSim 2, routefunc.cpp (planar_adapt_mesh)",
        params: &[Param { default: Some("least-queue"), ..SELECT }],
    },
    build,
    bytes: super::no_table_bytes,
    least: super::no_least_bytes,
};

/// Channel of links along a plane's first dimension.
const FIRST: ChannelId = ChannelId::new(2);

struct PlanarAdaptive {
    fabric: Arc<Fabric>,
    leg: GridLeg,
    select: Select,
}

fn build(fabric: Arc<Fabric>, values: &Values) -> Bound {
    super::intact(&ROUTING.about, &fabric)?;
    let leg = GridLeg::new(&fabric).filter(|leg| !leg.wraps());
    let leg = leg.ok_or_else(|| super::unsuited(&ROUTING.about, fabric.topology(), &["mesh"]))?;
    Ok(Box::new(PlanarAdaptive { select: Select::from_values(values, SELECT.name), fabric, leg }))
}

impl PlanarAdaptive {
    /// One or two steps on, in the plane of the first dimension that is not yet right; none at the destination's router. One stands twice.
    fn steps(&self, from: RouterId, to: RouterId) -> Option<[(PortId, ChannelId); 2]> {
        let mut steps = self.leg.minimal(from, to);
        let first = steps.next()?;
        // Ports come in pairs by dimension: down, up.
        let second = steps.next().filter(|port| port.number() / 2 == first.number() / 2 + 1);
        let own = (first, FIRST);
        let is_up = first.number() % 2 == 1;
        Some([own, second.map_or(own, |port| (port, ChannelId::new(u8::from(!is_up))))])
    }
}

impl Routing for PlanarAdaptive {
    fn vcs(&self) -> u8 {
        3
    }

    fn route(&self, hop: &mut Hop, congestion: &mut dyn Congestion) -> Choice {
        let (to, ejection) = self.fabric.attached(hop.destination);
        let Some(steps) = self.steps(hop.router, to) else {
            return Choice { port: ejection, vc: ChannelId::FIRST, state: 0 };
        };
        let count = if steps[0] == steps[1] { 1 } else { 2 };
        let chosen = self.select.choose(count, |i| steps[i as usize], hop, congestion);
        let (port, vc) = steps[chosen as usize];
        Choice { port, vc, state: 0 }
    }

    fn options(&self, hop: &Hop, out: &mut Vec<Choice>) {
        let (to, ejection) = self.fabric.attached(hop.destination);
        match self.steps(hop.router, to) {
            None => out.push(Choice { port: ejection, vc: ChannelId::FIRST, state: 0 }),
            Some(steps) => out.extend(steps.map(|(port, vc)| Choice { port, vc, state: 0 })),
        }
    }

    fn facts(&self) -> Facts {
        self.select.facts()
    }

    fn memory(&self, _: &Hop) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{deadlock, metrics::distances, registry::values, routing::testing};
    use base::sorted::SortedMap;

    #[test]
    fn three_channels_are_enough_and_paths_are_shortest() {
        for dims in [&[6][..], &[4, 5], &[3, 4, 3], &[3, 1, 3, 2]] {
            let fabric = testing::grid(false, dims);
            let routing = build(fabric.clone(), &values(ROUTING.about.params, &[])).unwrap();
            let report = deadlock::check(&fabric, routing.as_ref(), u64::MAX);
            assert!(report.is_free(), "{dims:?}: {report}");
            for (s, d) in testing::pairs(&fabric) {
                let links = testing::path(&fabric, routing.as_ref(), s, d, 1).len() as u32 - 1;
                assert_eq!(links, distances(&fabric, RouterId::new(s))[RouterId::new(d)]);
            }
        }
        let torus = build(testing::grid(true, &[4, 4]), &values(ROUTING.about.params, &[]));
        assert!(torus.err().unwrap()[0].message.contains("cannot route"));
    }

    #[test]
    fn the_busier_dimension_of_a_plane_is_left_for_later() {
        let fabric = testing::grid(false, &[4, 4, 4]);
        let routing = build(fabric.clone(), &values(ROUTING.about.params, &[])).unwrap();
        for (busy, free) in [(1, 3), (3, 1)] {
            let mut congestion = testing::Backlogs(SortedMap::from([(busy, 64)]));
            let choice = routing.route(&mut testing::hop(&fabric, 0, 63, 1), &mut congestion);
            assert_eq!(choice.port, PortId::new(free), "dimension 2 is of a later plane");
        }
    }
}
