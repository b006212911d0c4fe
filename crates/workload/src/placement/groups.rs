//! The terminals of a fabric group by group: what by-group and round-robin share.

use base::param::{Kind, Param, Values};
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
pub(crate) fn terminals(fabric: &Fabric, values: &Values) -> Vec<Vec<u32>> {
    let routers = fabric.routers();
    let group: Vec<u32> =
        if values.text(OVER.name) == "routers" { (0..routers).collect() } else { parts(fabric) };
    let mut members = vec![Vec::new(); routers as usize];
    for terminal in 0..fabric.terminals() {
        members[group[fabric.router_at(terminal) as usize] as usize].push(terminal);
    }
    members.retain(|m| !m.is_empty());
    members
}

/// For each router the lowest one that it is connected with by links below the topmost class.
fn parts(fabric: &Fabric) -> Vec<u32> {
    let linked = |p: &&fabric::graph::Port| matches!(p.peer, Peer::Router { .. });
    let top = fabric.ports().iter().filter(linked).map(|p| p.class).max();
    let mut part: Vec<u32> = vec![u32::MAX; fabric.routers() as usize];
    let mut open = Vec::new();
    for first in 0..fabric.routers() {
        if part[first as usize] != u32::MAX {
            continue;
        }
        part[first as usize] = first;
        open.push(first);
        while let Some(router) = open.pop() {
            for port in fabric.ports_of(router) {
                if let Peer::Router { router: to, .. } = port.peer
                    && Some(port.class) != top
                    && part[to as usize] == u32::MAX
                {
                    part[to as usize] = first;
                    open.push(to);
                }
            }
        }
    }
    part
}
