//! The one-dimensional dragonfly: groups of fully connected routers, every pair of groups linked.
//!
//! Each router has `a - 1` local ports, `h` global ports and `p` terminals, in this order of port numbers; local port k
//! of router i in its group leads to router k if k < i, else k + 1. Terminal t hangs on router t / p.
//!
//! The `a h` global ports of a group are numbered by *slots*: port j of router i is slot `i h + j`. A slot says which
//! group it leads to, and slots `s`, `s + (G - 1)`, `s + 2 (G - 1)`.. lead to the same one. Only whole rounds of `G - 1`
//! slots are plugged in, so that all pairs of groups have equally many links.

pub use super::arrangement::Arrangement;
use super::{Sizes, Wiring, arrangement};
use crate::{
    graph::Fabric,
    topology::entry::{Constant, Topology},
};
use base::{
    param::{Kind, Param, Problem, Values},
    registry::About,
};

const CLASSES: &[&str] = &["terminal", "local", "global"];
const LOCAL: u8 = 1;
const GLOBAL: u8 = 2;
/// Largest value of a parameter: the product of two fits 64 bits with room to spare.
const MAX: u64 = 1 << 20;

/// The registered dragonfly.
pub const TOPOLOGY: Topology = Topology {
    about: About {
        name: "dragonfly",
        summary: "1-D dragonfly: fully connected groups, every pair of groups linked",
        doc: "G groups of a routers; each router has p terminals, a link to every other router of its group and h \
              global ports. Every pair of groups has floor(a h / (G - 1)) links, at least one; global ports beyond \
              whole rounds of G - 1 stay unplugged. `arrangement` says which router holds which global link: with \
              slot s = i h + j for port j of router i, `relative` leads from group g to group g + (s mod (G - 1)) + 1 \
              (mod G), `palmtree` to group g - (s mod (G - 1)) - 1. `absolute` leads to the (s mod (G - 1))-th of the other \
              groups in order of their numbers, and `circulant` to groups g + 1, g - 1, g + 2, g - 2 and so on. Ports: \
              local, then global, then terminals. Link classes: terminal, local, global. The balanced dragonfly has \
              a = 2 p = 2 h and G = a h + 1.",
        source: "Kim, Dally, Scott, Abts: Technology-Driven, Highly-Scalable Dragonfly Topology, ISCA 2008, section 3; \
                 `relative` gives the connections of the 72-node network that CODES ships (model dragonfly-dally), \
                 `absolute` those of BookSim 2 (consecutive allocation); the rules compared: Camarero, Vallejo, Beivide: \
                 Topological Characterization of Hamming and Dragonfly Networks and Its Implications on Routing, ACM \
                 TACO 2014; Hastings, Rincon-Cruz, Spehlmann, Meyers, Xu, Bunde, Leung: Comparing Global Link \
                 Arrangements for Dragonfly Networks, CLUSTER 2015",
        params: &[
            Param {
                name: "groups",
                kind: Kind::Int { min: 1, max: MAX },
                default: None,
                doc: "number of groups, G",
            },
            Param {
                name: "routers_per_group",
                kind: Kind::Int { min: 1, max: MAX },
                default: None,
                doc: "routers in a group, a",
            },
            Param {
                name: "terminals_per_router",
                kind: Kind::Int { min: 1, max: MAX },
                default: None,
                doc: "terminals on a router, p",
            },
            Param {
                name: "global_ports_per_router",
                kind: Kind::Int { min: 0, max: MAX },
                default: None,
                doc: "global ports of a router, h",
            },
            arrangement::PARAM,
        ],
    },
    classes: CLASSES,
    required: 3,
    sizes,
    build,
    small: &[
        &[
            ("groups", Constant::Int(9)),
            ("routers_per_group", Constant::Int(4)),
            ("terminals_per_router", Constant::Int(2)),
            ("global_ports_per_router", Constant::Int(2)),
        ],
        &[
            ("groups", Constant::Int(5)),
            ("routers_per_group", Constant::Int(4)),
            ("terminals_per_router", Constant::Int(1)),
            ("global_ports_per_router", Constant::Int(2)),
            ("arrangement", Constant::Text("absolute")),
        ],
        &[
            ("groups", Constant::Int(4)),
            ("routers_per_group", Constant::Int(3)),
            ("terminals_per_router", Constant::Int(2)),
            ("global_ports_per_router", Constant::Int(3)),
        ],
        &[
            ("groups", Constant::Int(6)),
            ("routers_per_group", Constant::Int(3)),
            ("terminals_per_router", Constant::Int(1)),
            ("global_ports_per_router", Constant::Int(2)),
            ("arrangement", Constant::Text("circulant")),
        ],
        &[
            ("groups", Constant::Int(5)),
            ("routers_per_group", Constant::Int(2)),
            ("terminals_per_router", Constant::Int(1)),
            ("global_ports_per_router", Constant::Int(2)),
            ("arrangement", Constant::Text("palmtree")),
        ],
        &[
            ("groups", Constant::Int(1)),
            ("routers_per_group", Constant::Int(3)),
            ("terminals_per_router", Constant::Int(1)),
            ("global_ports_per_router", Constant::Int(1)),
        ],
    ],
};

/// Geometry of a dragonfly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DragonflyShape {
    /// Number of groups, G.
    pub groups: u32,
    /// Routers in a group, a.
    pub routers: u32,
    /// Terminals on a router, p.
    pub terminals: u32,
    /// Global ports of a router, h; not all need be plugged in.
    pub globals: u32,
    /// Links between each pair of groups.
    pub rounds: u32,
    /// Which slot leads where.
    pub arrangement: Arrangement,
}

impl DragonflyShape {
    /// The slot, below G - 1, of `group` that leads to the different group `to`. All slots congruent to it modulo
    /// G - 1 and below `rounds (G - 1)` lead there too.
    #[inline]
    #[must_use]
    pub fn slot(&self, group: u32, to: u32) -> u32 {
        self.arrangement.slot(self.groups, group, to)
    }

    /// The group that the first-round slot of `group` leads to.
    #[must_use]
    pub fn group_behind(&self, group: u32, slot: u32) -> u32 {
        self.arrangement.group_behind(self.groups, group, slot)
    }

    /// Local port of the router with index `from` in its group that leads to the one with index `to`.
    #[inline]
    #[must_use]
    pub fn local_port(&self, from: u32, to: u32) -> u32 {
        to - u32::from(to > from)
    }

    /// True if the router with this index has a link to the group behind the first-round slot.
    #[must_use]
    pub fn holds(&self, index: u32, slot: u32) -> bool {
        (0..self.rounds).any(|round| self.holder(slot + round * (self.groups - 1)).0 == index)
    }

    /// Index in the group and port of the router that holds a slot.
    #[must_use]
    pub fn holder(&self, slot: u32) -> (u32, u32) {
        (slot / self.globals, self.routers - 1 + slot % self.globals)
    }
}

fn shape(values: &Values) -> Result<(DragonflyShape, Sizes), Vec<Problem>> {
    let (g, a) = (values.int("groups"), values.int("routers_per_group"));
    let (p, h) = (values.int("terminals_per_router"), values.int("global_ports_per_router"));
    let others = g - 1;
    let rounds = (a * h).checked_div(others).unwrap_or(0);
    if others > 0 && rounds == 0 {
        return Err(vec![
            Problem::new(
                "groups",
                format!(
                    "each group has {a} x {h} = {} global ports, too few to reach {others} others",
                    a * h
                ),
            )
            .help(format!(
                "at most {} groups, or at least {} global ports per router",
                a * h + 1,
                others.div_ceil(a)
            )),
        ]);
    }
    let sizes = (g * a).checked_mul(a - 1 + h + p).map(|ports| Sizes {
        routers: g * a,
        terminals: (g * a).saturating_mul(p),
        ports,
        ends: g * a,
    });
    let sizes = Sizes::within_limits(sizes, "groups")?;
    let arrangement = Arrangement::chosen(values);
    let shape = DragonflyShape {
        groups: g as u32,
        routers: a as u32,
        terminals: p as u32,
        globals: h as u32,
        rounds: rounds as u32,
        arrangement,
    };
    Ok((shape, sizes))
}

fn sizes(values: &Values) -> Result<Sizes, Vec<Problem>> {
    shape(values).map(|(_, sizes)| sizes)
}

fn build(values: &Values) -> Result<Fabric, Vec<Problem>> {
    let (shape, sizes) = shape(values)?;
    let degree = shape.routers - 1 + shape.globals + shape.terminals;
    let mut wiring = Wiring::new((0..sizes.routers).map(|_| degree));
    for group in 0..shape.groups {
        wire_group(&mut wiring, &shape, group);
    }
    for router in 0..sizes.routers as u32 {
        for k in 0..shape.terminals {
            wiring.terminal(router, shape.routers - 1 + shape.globals + k);
        }
    }
    Ok(wiring.finish(TOPOLOGY.about.name, CLASSES, shape))
}

/// Plugs in the links among the routers of a group and from it to groups of higher numbers.
fn wire_group(wiring: &mut Wiring, shape: &DragonflyShape, group: u32) {
    let first = group * shape.routers;
    for i in 0..shape.routers {
        for k in i + 1..shape.routers {
            let ports = (shape.local_port(i, k), shape.local_port(k, i));
            wiring.link(LOCAL, (first + i, ports.0), (first + k, ports.1));
        }
    }
    let others = shape.groups - 1;
    for slot in 0..shape.routers * shape.globals {
        let (index, port) = shape.holder(slot);
        if slot >= shape.rounds * others {
            wiring.unplugged(GLOBAL, first + index, port);
            continue;
        }
        let to = shape.group_behind(group, slot % others);
        if to > group {
            let back = slot / others * others + shape.slot(to, group);
            let (peer, peer_port) = shape.holder(back);
            wiring.link(GLOBAL, (first + index, port), (to * shape.routers + peer, peer_port));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        graph::Peer,
        metrics::{diameter, distances},
        registry::values,
    };
    use base::index::RouterId;

    fn parameters([g, a, p, h]: [u64; 4], arrangement: &'static str) -> Values {
        let sample = [
            ("groups", Constant::Int(g)),
            ("routers_per_group", Constant::Int(a)),
            ("terminals_per_router", Constant::Int(p)),
            ("global_ports_per_router", Constant::Int(h)),
            ("arrangement", Constant::Text(arrangement)),
        ];
        values(TOPOLOGY.about.params, &sample)
    }

    fn dragonfly(sizes: [u64; 4], arrangement: &'static str) -> Fabric {
        build(&parameters(sizes, arrangement)).unwrap()
    }

    /// The routers at both ends of each global link, from the lower group.
    fn global_links(fabric: &Fabric) -> Vec<(RouterId, RouterId)> {
        let mut links = Vec::new();
        for router in RouterId::first(fabric.routers()) {
            for port in fabric.ports_of(router).iter().filter(|p| p.class == GLOBAL) {
                if let Peer::Router { router: peer, .. } = port.peer
                    && router < peer
                {
                    links.push((router, peer));
                }
            }
        }
        links
    }

    #[test]
    fn published_sizes() {
        let cases = [
            ([9, 4, 2, 2], 72, 1),
            ([33, 8, 4, 4], 1056, 1),
            ([33, 32, 8, 1], 8448, 1),
            ([33, 32, 8, 4], 8448, 4),
        ];
        for (sizes, terminals, per_pair) in cases {
            for arrangement in ["relative", "absolute", "palmtree", "circulant"] {
                let fabric = dragonfly(sizes, arrangement);
                let [g, a, p, h] = sizes;
                assert_eq!((u64::from(fabric.routers()), fabric.terminals()), (g * a, terminals));
                let mut pairs = vec![0; (g * g) as usize];
                for (x, y) in global_links(&fabric) {
                    pairs[(u64::from(x) / a * g + u64::from(y) / a) as usize] += 1;
                }
                for (x, y) in (0..g).flat_map(|x| (x + 1..g).map(move |y| (x, y))) {
                    assert_eq!(pairs[(x * g + y) as usize], per_pair, "{sizes:?} {arrangement} {x} {y}");
                }
                for router in RouterId::first(fabric.routers()) {
                    let ports = fabric.ports_of(router);
                    let of = |class| {
                        ports.iter().filter(|p| p.class == class && p.peer != Peer::None).count() as u64
                    };
                    assert_eq!([0, LOCAL, GLOBAL].map(of), [p, a - 1, h]);
                }
                assert_eq!(
                    distances(&fabric, RouterId::new(0)).cells().iter().max(),
                    Some(&3),
                    "{sizes:?} {arrangement}"
                );
                if terminals <= 1056 {
                    assert_eq!(diameter(&fabric), Some(3), "{sizes:?} {arrangement}");
                }
            }
        }
    }

    #[test]
    fn relative_links_follow_the_rule_of_codes() {
        let (g, a, h) = (33u32, 8u32, 4u32);
        let fabric = dragonfly([33, 8, 4, 4], "relative");
        for router in 0..g * a {
            for j in 0..h {
                let offset = router % a * h + j + 1;
                let peer = (router / a + offset) % g * a + (g - offset - 1) / h;
                let port = fabric.ports_of(RouterId::new(router))[(a - 1 + j) as usize];
                assert!(
                    matches!(port.peer, Peer::Router { router, .. } if router == RouterId::new(peer)),
                    "{router} {j}"
                );
            }
        }
    }

    #[test]
    fn absolute_links_go_to_groups_in_order() {
        let (g, a, h) = (9u32, 4u32, 2u32);
        let fabric = dragonfly([9, 4, 2, 2], "absolute");
        for group in 0..g {
            let others = (0..g).filter(|&other| other != group);
            for (slot, other) in (0..a * h).zip(others) {
                let port = fabric.ports_of(RouterId::new(group * a + slot / h))[(a - 1 + slot % h) as usize];
                let Peer::Router { router, .. } = port.peer else { panic!("unplugged") };
                assert_eq!(router.number() / a, other);
            }
        }
    }

    #[test]
    fn local_ports_skip_the_router_itself() {
        let fabric = dragonfly([1, 5, 1, 0], "relative");
        for (router, k) in (0..5).flat_map(|r| (0..4).map(move |k| (r, k))) {
            let expected = if k < router { k } else { k + 1 };
            let peer = fabric.ports_of(RouterId::new(router))[k as usize].peer;
            assert!(matches!(peer, Peer::Router { router: r, .. } if r == RouterId::new(expected)));
        }
        assert_eq!(diameter(&fabric), Some(1));
    }

    #[test]
    fn ports_beyond_whole_rounds_stay_unplugged() {
        for arrangement in ["relative", "absolute"] {
            let fabric = dragonfly([4, 5, 1, 2], arrangement);
            assert_eq!(global_links(&fabric).len(), 3 * 6, "10 slots hold three rounds of 3");
            let unplugged = fabric.ports().iter().filter(|p| p.peer == Peer::None).count();
            assert_eq!(unplugged, 4);
        }
    }

    #[test]
    fn impossible_sizes_are_refused() {
        let refuse = |sizes| build(&parameters(sizes, "relative")).map(|_| ()).unwrap_err();
        let problem = &refuse([34, 8, 4, 4])[0];
        assert_eq!(problem.key, "groups");
        assert_eq!(problem.help.as_deref(), Some("at most 33 groups, or at least 5 global ports per router"));
        assert_eq!(refuse([2, 1, 1, 0])[0].key, "groups");
        assert_eq!(refuse([MAX, MAX, MAX, MAX])[0].key, "groups");
        assert_eq!(refuse([1, MAX, 1, 0])[0].key, "groups");
    }
}
