//! Breadth first: terminals in the order in which a search over the routers meets them.

use super::PlacementContext;
use base::{
    index::{Column, RouterId, TerminalId},
    param::{Kind, Param, Problem, Values},
    registry::About,
};
use fabric::graph::{Fabric, Peer};
use std::collections::VecDeque;

pub(crate) const ABOUT: About = About {
    name: "breadth-first",
    summary: "ranks as near as can be to a start router, by links",
    doc: "A breadth-first search over the routers starts at `start_router` and follows ports in their order; ranks fill the free terminals of the routers in \
          the order in which it meets them. Routers that cannot be reached come last.",
    source: "contiguous allocation, on any graph",
    params: &[Param {
        name: "start_router",
        kind: Kind::Int { min: 0, max: u32::MAX as u64 },
        default: Some("0"),
        doc: "router where the search starts",
    }],
};

pub(crate) fn build(
    context: &PlacementContext<'_>,
    values: &Values,
) -> Result<Vec<TerminalId>, Vec<Problem>> {
    let (fabric, start) = (context.fabric, RouterId::new(values.u32("start_router")));
    if start.number() >= fabric.routers() {
        let message = format!("router {start} does not exist: the network has {}", fabric.routers());
        return Err(vec![Problem::new("start_router", message)]);
    }
    let mut at = Column::filled(fabric.routers() as usize, Vec::new());
    for terminal in TerminalId::first(fabric.terminals()) {
        at[fabric.router_at(terminal)].push(terminal);
    }
    context.first_free(order(fabric, start).into_iter().flat_map(|r| at[r].clone()))
}

/// All routers: those that can be reached in the order of the search, then the others.
fn order(fabric: &Fabric, start: RouterId) -> Vec<RouterId> {
    let mut met = Column::filled(fabric.routers() as usize, false);
    met[start] = true;
    let (mut open, mut order) = (VecDeque::from([start]), Vec::new());
    while let Some(router) = open.pop_front() {
        order.push(router);
        for port in fabric.ports_of(router) {
            if let Peer::Router { router: to, .. } = port.peer
                && !met[to]
            {
                met[to] = true;
                open.push_back(to);
            }
        }
    }
    order.extend(RouterId::first(fabric.routers()).filter(|&r| !met[r]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::testing::{grid, place};
    use base::param::Value;

    #[test]
    fn distance_from_the_start_never_decreases() {
        let fabric = grid("mesh", &[5, 4], 1);
        let values = Values::default().with("start_router", Value::Int(7));
        let placed = place(&fabric, build, &values, 20).unwrap();
        let distance: Vec<u32> = placed.iter().map(|t| (t % 5).abs_diff(2) + (t / 5).abs_diff(1)).collect();
        assert_eq!(placed[0], 7);
        assert!(distance.is_sorted(), "{distance:?}");
    }

    #[test]
    fn the_start_must_exist() {
        let values = Values::default().with("start_router", Value::Int(20));
        let refused = place(&grid("mesh", &[5, 4], 1), build, &values, 1).unwrap_err();
        assert_eq!(refused[0].key, "start_router");
    }
}
