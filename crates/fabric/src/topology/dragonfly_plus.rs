//! The dragonfly+ (megafly): groups are two-level trees, and their spines hold the global links.
//!
//! Routers are numbered group by group, in a group the leaves first, then the spines. Ports of a leaf: `cables` to each
//! spine, then terminals; of a spine: `cables` to each leaf, then the global ports. Terminal t hangs on the leaf that is
//! number t / p among all leaves. Global slot of a group: port j of spine i is slot i h + j; see
//! [`super::arrangement`] for where slots lead.

use super::{
    Sizes, Wiring,
    arrangement::{self, Arrangement},
};
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
const MAX: u64 = 1 << 20;

/// The registered dragonfly+.
pub const TOPOLOGY: Topology = Topology {
    about: About {
        name: "dragonfly-plus",
        summary: "dragonfly+ (megafly): groups of leaves and spines, every pair of groups linked by spines",
        doc: "G groups of leaf routers with p terminals each and spine routers with h global ports each. Every leaf is \
              linked to every spine of its group by `cables` parallel cables. Every pair of groups has floor(s h / (G \
              - 1)) links for s spines, at least one; global ports beyond whole rounds of G - 1 stay unplugged. \
              `arrangement` says which spine holds which global link, as in `dragonfly`: with slot s = i h + j \
              for port j of spine i, `relative` leads from group g to group g + (s mod (G - 1)) + 1 (mod G), `palmtree` \
              to group g - (s mod (G - 1)) - 1, `absolute` to the (s mod (G - 1))-th other group, \
              `circulant` to groups g + 1, g - 1, g + 2, g - 2 and so on. Leaves of different groups are three links \
              apart, of one group two. Routers: group by group, leaves before spines. Ports: local, then terminals or \
              global. Link classes: terminal, local, global.",
        source: "Shpiner, Haramaty, Eliad, Zdornov, Gafni, Zahavi: Dragonfly+: Low Cost Topology for Scaling \
                 Datacenters, HiPINEB 2017; Flajslik, Borch, Parker: Megafly: A Topology for Exascale Systems, ISC 2018",
        params: &[
            Param {
                name: "groups",
                kind: Kind::Int { min: 1, max: MAX },
                default: None,
                doc: "number of groups, G",
            },
            Param {
                name: "leaves_per_group",
                kind: Kind::Int { min: 1, max: MAX },
                default: None,
                doc: "routers with terminals in a group",
            },
            Param {
                name: "spines_per_group",
                kind: Kind::Int { min: 1, max: MAX },
                default: None,
                doc: "routers with global links in a group, s",
            },
            Param {
                name: "terminals_per_leaf",
                kind: Kind::Int { min: 1, max: MAX },
                default: None,
                doc: "terminals on a leaf, p",
            },
            Param {
                name: "global_ports_per_spine",
                kind: Kind::Int { min: 0, max: MAX },
                default: None,
                doc: "global ports of a spine, h",
            },
            Param {
                name: "cables",
                kind: Kind::Int { min: 1, max: MAX },
                default: Some("1"),
                doc: "parallel cables between a leaf and a spine of its group",
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
            ("groups", Constant::Int(5)),
            ("leaves_per_group", Constant::Int(2)),
            ("spines_per_group", Constant::Int(2)),
            ("terminals_per_leaf", Constant::Int(2)),
            ("global_ports_per_spine", Constant::Int(2)),
        ],
        &[
            ("groups", Constant::Int(3)),
            ("leaves_per_group", Constant::Int(3)),
            ("spines_per_group", Constant::Int(2)),
            ("terminals_per_leaf", Constant::Int(1)),
            ("global_ports_per_spine", Constant::Int(3)),
            ("cables", Constant::Int(2)),
            ("arrangement", Constant::Text("palmtree")),
        ],
        &[
            ("groups", Constant::Int(1)),
            ("leaves_per_group", Constant::Int(2)),
            ("spines_per_group", Constant::Int(1)),
            ("terminals_per_leaf", Constant::Int(2)),
            ("global_ports_per_spine", Constant::Int(0)),
        ],
    ],
};

/// Geometry of a dragonfly+.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DragonflyPlusShape {
    /// Number of groups, G.
    pub groups: u32,
    /// Leaves in a group.
    pub leaves: u32,
    /// Spines in a group, s.
    pub spines: u32,
    /// Terminals on a leaf, p.
    pub terminals: u32,
    /// Global ports of a spine, h; not all need be plugged in.
    pub globals: u32,
    /// Parallel cables between a leaf and a spine.
    pub cables: u32,
    /// Links between each pair of groups.
    pub rounds: u32,
    /// Which slot leads where.
    pub arrangement: Arrangement,
}

impl DragonflyPlusShape {
    /// Group of a router and its index in it: leaves come first.
    #[inline]
    #[must_use]
    pub fn place(&self, router: u32) -> (u32, u32) {
        let size = self.leaves + self.spines;
        (router / size, router % size)
    }

    /// True if the index in a group is that of a spine.
    #[inline]
    #[must_use]
    pub fn is_spine(&self, index: u32) -> bool {
        index >= self.leaves
    }

    /// First of the `cables` ports of a leaf that lead to the spine with this index among the group's spines.
    #[must_use]
    pub fn up_port(&self, spine: u32) -> u32 {
        spine * self.cables
    }

    /// First of the `cables` ports of a spine that lead to the leaf with this index in the group.
    #[must_use]
    pub fn down_port(&self, leaf: u32) -> u32 {
        leaf * self.cables
    }

    /// Slots of `group` that lead to the different group `to`.
    pub fn slots(&self, group: u32, to: u32) -> impl Iterator<Item = u32> + use<> {
        let (first, others) = (self.arrangement.slot(self.groups, group, to), self.groups - 1);
        (0..self.rounds).map(move |round| first + round * others)
    }

    /// Index among the group's spines and port of the spine that holds a slot.
    #[must_use]
    pub fn holder(&self, slot: u32) -> (u32, u32) {
        (slot / self.globals, self.leaves * self.cables + slot % self.globals)
    }
}

fn shape(values: &Values) -> Result<(DragonflyPlusShape, Sizes), Vec<Problem>> {
    let [g, l, s] = ["groups", "leaves_per_group", "spines_per_group"].map(|key| values.int(key));
    let [p, h, c] = ["terminals_per_leaf", "global_ports_per_spine", "cables"].map(|key| values.int(key));
    let others = g - 1;
    let rounds = (s * h).checked_div(others).unwrap_or(0);
    if others > 0 && rounds == 0 {
        let message =
            format!("each group has {s} x {h} = {} global ports, too few to reach {others} others", s * h);
        let help = format!(
            "at most {} groups, or at least {} global ports per spine",
            s * h + 1,
            others.div_ceil(s)
        );
        return Err(vec![Problem::new("groups", message).help(help)]);
    }
    let count = || {
        let leaf = s.checked_mul(c)?.checked_add(p)?;
        let spine = l.checked_mul(c)?.checked_add(h)?;
        let group = l.checked_mul(leaf)?.checked_add(s.checked_mul(spine)?)?;
        Some(Sizes {
            routers: g.checked_mul(l + s)?,
            terminals: g.checked_mul(l)?.checked_mul(p)?,
            ports: g.checked_mul(group)?,
            ends: g.checked_mul(l)?,
        })
    };
    let sizes = Sizes::within_limits(count(), "groups")?;
    let shape = DragonflyPlusShape {
        groups: g as u32,
        leaves: l as u32,
        spines: s as u32,
        terminals: p as u32,
        globals: h as u32,
        cables: c as u32,
        rounds: rounds as u32,
        arrangement: Arrangement::chosen(values),
    };
    Ok((shape, sizes))
}

fn sizes(values: &Values) -> Result<Sizes, Vec<Problem>> {
    shape(values).map(|(_, sizes)| sizes)
}

fn build(values: &Values) -> Result<Fabric, Vec<Problem>> {
    let (shape, sizes) = shape(values)?;
    let degree = |router| match shape.is_spine(shape.place(router).1) {
        true => shape.leaves * shape.cables + shape.globals,
        false => shape.spines * shape.cables + shape.terminals,
    };
    let mut wiring = Wiring::new((0..sizes.routers as u32).map(degree));
    for group in 0..shape.groups {
        wire_group(&mut wiring, &shape, group);
    }
    Ok(wiring.finish(TOPOLOGY.about.name, CLASSES, shape))
}

/// Plugs in a group's terminals, its own links and those to groups of higher numbers.
fn wire_group(wiring: &mut Wiring, shape: &DragonflyPlusShape, group: u32) {
    let size = shape.leaves + shape.spines;
    let first = group * size;
    for leaf in 0..shape.leaves {
        for (spine, cable) in (0..shape.spines).flat_map(|s| (0..shape.cables).map(move |c| (s, c))) {
            let ports = (shape.up_port(spine) + cable, shape.down_port(leaf) + cable);
            wiring.link(LOCAL, (first + leaf, ports.0), (first + shape.leaves + spine, ports.1));
        }
        for k in 0..shape.terminals {
            wiring.terminal(first + leaf, shape.spines * shape.cables + k);
        }
    }
    let others = shape.groups - 1;
    for slot in shape.rounds * others..shape.spines * shape.globals {
        let (spine, port) = shape.holder(slot);
        wiring.unplugged(GLOBAL, first + shape.leaves + spine, port);
    }
    for to in group + 1..shape.groups {
        for (slot, back) in shape.slots(group, to).zip(shape.slots(to, group)) {
            let (here, there) = (shape.holder(slot), shape.holder(back));
            let spine = |group: u32, spine: u32| group * size + shape.leaves + spine;
            wiring.link(GLOBAL, (spine(group, here.0), here.1), (spine(to, there.0), there.1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        metrics::{diameter, distances},
        registry::values,
        topology::testing::links,
    };
    use base::index::RouterId;

    fn parameters([g, l, s, p, h, c]: [u64; 6], arrangement: &'static str) -> Values {
        let sample = [
            ("groups", Constant::Int(g)),
            ("leaves_per_group", Constant::Int(l)),
            ("spines_per_group", Constant::Int(s)),
            ("terminals_per_leaf", Constant::Int(p)),
            ("global_ports_per_spine", Constant::Int(h)),
            ("cables", Constant::Int(c)),
            ("arrangement", Constant::Text(arrangement)),
        ];
        values(TOPOLOGY.about.params, &sample)
    }

    #[test]
    fn counts_and_diameter_follow_their_closed_forms() {
        // The first has 2,112 terminals on leaves of radix 16.
        for (sizes, per_pair) in [([33, 8, 8, 8, 4, 1], 1), ([5, 2, 2, 3, 4, 2], 2), ([17, 4, 4, 4, 4, 1], 1)]
        {
            for arrangement in ["relative", "absolute", "palmtree", "circulant"] {
                let fabric = build(&parameters(sizes, arrangement)).unwrap();
                let [g, l, s, p, _, c] = sizes;
                assert_eq!(u64::from(fabric.routers()), g * (l + s));
                assert_eq!(links(&fabric), [g * l * p, g * l * s * c, g * (g - 1) / 2 * per_pair]);
                assert_eq!(diameter(&fabric), Some(3), "{sizes:?} {arrangement}");
                let from = distances(&fabric, RouterId::new(0));
                let shape = fabric.shape::<DragonflyPlusShape>().unwrap();
                for router in 1..fabric.routers() {
                    let (group, index) = shape.place(router);
                    if !shape.is_spine(index) {
                        assert_eq!(from[RouterId::new(router)], if group == 0 { 2 } else { 3 });
                    }
                }
            }
        }
    }

    #[test]
    fn spare_global_ports_stay_unplugged() {
        let fabric = build(&parameters([4, 1, 2, 1, 2, 1], "relative")).unwrap();
        // Four slots, three groups to reach: one round, one spare per group.
        assert_eq!(links(&fabric), [4, 8, 6]);
        let spare = fabric.ports().iter().filter(|p| p.peer == crate::graph::Peer::None);
        assert_eq!(spare.map(|p| p.class).collect::<Vec<_>>(), [GLOBAL; 4]);
    }

    #[test]
    fn impossible_parameters_name_their_key() {
        let problems = sizes(&parameters([6, 1, 2, 1, 2, 1], "relative")).unwrap_err();
        assert_eq!((problems.len(), problems[0].key.as_str()), (1, "groups"));
        assert!(problems[0].message.contains("2 x 2 = 4"));
        assert!(sizes(&parameters([1 << 20, 1 << 20, 1 << 20, 1 << 20, 1, 1 << 20], "relative")).is_err());
    }
}
