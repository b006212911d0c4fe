//! The terminals of a fabric group by group: what by-group and round-robin share.

use base::{
    index::{Column, RouterId, TerminalId},
    param::{Kind, Param, Values},
};
use fabric::graph::{Fabric, Peer};

/// What counts as a group.
pub(crate) const OVER: Param = Param {
    name: "over",
    kind: Kind::Choice(&["groups", "routers"]),
    default: Some("groups"),
    doc: "groups: what stays connected without the links of the topmost class, such as the groups of a dragonfly, the subtrees \
          below the top of an xgft, racks; in fabrics of one class of links, single routers. routers: always single routers",
};

/// Terminals of each group that has any, groups in the order of their lowest router, terminals ascending.
pub(crate) fn terminals(fabric: &Fabric, values: &Values) -> Vec<Vec<TerminalId>> {
    let routers = fabric.routers();
    let group: Column<RouterId, RouterId> =
        if values.text(OVER.name) == "routers" { RouterId::first(routers).collect() } else { parts(fabric) };
    let mut members = Column::<RouterId, _>::filled(routers as usize, Vec::new());
    for terminal in TerminalId::first(fabric.terminals()) {
        members[group[fabric.router_at(terminal)]].push(terminal);
    }
    members.into_cells().into_iter().filter(|m| !m.is_empty()).collect()
}

/// For each router the lowest one that it is connected with by links below the topmost class.
fn parts(fabric: &Fabric) -> Column<RouterId, RouterId> {
    let linked = |p: &&fabric::graph::Port| matches!(p.peer, Peer::Router { .. });
    let top = fabric.ports().iter().filter(linked).map(|p| p.class).max();
    let mut part = Column::filled(fabric.routers() as usize, None);
    let mut open = Vec::new();
    for first in RouterId::first(fabric.routers()) {
        if part[first].is_some() {
            continue;
        }
        part[first] = Some(first);
        open.push(first);
        while let Some(router) = open.pop() {
            for port in fabric.ports_of(router) {
                if let Peer::Router { router: to, .. } = port.peer
                    && Some(port.class) != top
                    && part[to].is_none()
                {
                    part[to] = Some(first);
                    open.push(to);
                }
            }
        }
    }
    part.into_cells().into_iter().flatten().collect()
}
