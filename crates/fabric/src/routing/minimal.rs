//! Minimal routing of dragonflies of all kinds and single switches.

use super::{
    Choice, Congestion, Facts, Hop, Routing,
    dragonfly::{Tables, VCS, View},
    legs::{cray_dragonfly::CrayDragonflyLeg, dragonfly_plus::DragonflyPlusLeg},
    select::{SELECT, Select},
    two_legs::{self, Rule},
};
use crate::{graph::Fabric, routing::entry::RoutingEntry, topology::switch::SwitchShape};
use base::{
    index::{ChannelId, PortId},
    param::{Kind, Param, Problem, Values},
    registry::About,
};
use std::sync::Arc;

/// The `channels` key.
const CHANNELS: Param = Param {
    name: "channels",
    kind: Kind::Choice(&["places", "dateline"]),
    default: Some("places"),
    doc: "virtual channels of a dragonfly: 4 by the place of a link along the path, or, as in BookSim, 2: 1 from the global link on and 0 before and within a group. Other topologies refuse that",
};

/// The registered minimal routing.
pub const ROUTING: RoutingEntry = RoutingEntry {
    about: About {
        name: "minimal",
        summary: "at most one global link (dragonflies); straight out (single switch)",
        doc: "Dragonfly: to another group over a global link of this router if it has one there, else over the local \
              link to a router of the group that has one; among several links `select` chooses, `random` evenly over the \
              global links to the other group. \
              Within a group over the direct link. Virtual channels (4): in the source group the number of local \
              links crossed so far (0 or 1), in any other group along the path 2, in the destination's group 3, the \
              ejection link included; where source and destination share a group, the first rule holds; `channels` has another rule. Dragonfly+: up to \
              a spine with a link to the right group, across, down. Two-dimensional groups (`cray-dragonfly`): to a nearest router with a link to the right group, across, \
              and on, in a group along the row and then the column. In both `select` chooses among \
              equally good ports (`random`: by a seed of the packet), and there are 2 virtual channels: 1 in the destination's \
              group, 0 before. On a single switch the packet leaves at once, on VC 0. A network with failed links is refused.",
        source: "Kim, Dally, Scott, Abts: Technology-Driven, Highly-Scalable Dragonfly Topology, ISCA 2008, section 4 \
                 (MIN); candidates and virtual channels as in CODES, model dragonfly-dally",
        params: &[SELECT, CHANNELS],
    },
    build,
    bytes: super::no_table_bytes,
    least: super::no_least_bytes,
};

fn build(fabric: Arc<Fabric>, values: &Values) -> Result<Box<dyn Routing>, Vec<Problem>> {
    super::intact(&ROUTING.about, &fabric)?;
    let dateline = values.text(CHANNELS.name) == "dateline";
    let tables = Tables::new(&fabric);
    if dateline && tables.is_none() {
        let message = format!("topology \"{}\" has one rule of virtual channels alone", fabric.topology());
        let help = "leave `channels` out: \"dateline\" is of topology \"dragonfly\"";
        return Err(vec![Problem::new(CHANNELS.name, message).help(help)]);
    }
    if fabric.shape::<SwitchShape>().is_some() {
        return Ok(Box::new(Straight { fabric }));
    }
    let select = Select::from_values(values, SELECT.name);
    let rule = Rule::Straight { select };
    if let Some(leg) = DragonflyPlusLeg::new(&fabric) {
        return two_legs::bind(fabric, leg, rule, true, u8::MAX);
    }
    if let Some(leg) = CrayDragonflyLeg::new(&fabric) {
        return two_legs::bind(fabric, leg, rule, true, u8::MAX);
    }
    let known = ["dragonfly", "dragonfly-plus", "cray-dragonfly", "single-switch"];
    match tables {
        Some(tables) => Ok(Box::new(Minimal { tables, select, dateline })),
        None => Err(super::unsuited(&ROUTING.about, fabric.topology(), &known)),
    }
}

/// Minimal routing on a dragonfly.
struct Minimal {
    tables: Tables,
    select: Select,
    /// A second channel from the global link on, and no others.
    dateline: bool,
}

impl Minimal {
    /// Channel of the link behind a port.
    #[inline]
    fn channel(&self, hop: &Hop, view: &View, port: PortId) -> ChannelId {
        if !self.dateline {
            return view.vc;
        }
        // Terminals' ports lie behind the global ones, too, but only where the packet is in its destination's group.
        let begun = view.group != view.to_group && view.group == self.tables.group_of(hop.source);
        let within = view.group == view.to_group && view.group == self.tables.group_of(hop.source);
        ChannelId::new(u8::from(!within && (!begun || self.tables.is_global(port))))
    }
}

impl Routing for Minimal {
    fn vcs(&self) -> u8 {
        if self.dateline { 2 } else { VCS }
    }

    #[inline]
    fn route(&self, hop: &mut Hop, congestion: &mut dyn Congestion) -> Choice {
        let view = self.tables.view(hop);
        let port = view.single(hop).unwrap_or_else(|| {
            let ports = self.tables.toward(view.group, view.index, view.to_group);
            // All of one class, so the first one tells.
            self.select.port(ports, self.channel(hop, &view, ports[0]), hop, congestion)
        });
        Choice { port, vc: self.channel(hop, &view, port), state: 0 }
    }

    fn options(&self, hop: &Hop, out: &mut Vec<Choice>) {
        let view = self.tables.view(hop);
        let choice = |port| Choice { port, vc: self.channel(hop, &view, port), state: 0 };
        match view.single(hop) {
            Some(port) => out.push(choice(port)),
            None => out.extend(
                self.tables.toward(view.group, view.index, view.to_group).iter().copied().map(choice),
            ),
        }
    }

    fn facts(&self) -> Facts {
        self.select.facts()
    }

    fn memory(&self, hop: &Hop) -> u64 {
        self.tables.memory(hop)
    }
}

/// The only way through a single switch.
struct Straight {
    fabric: Arc<Fabric>,
}

impl Routing for Straight {
    fn vcs(&self) -> u8 {
        1
    }

    #[inline]
    fn route(&self, hop: &mut Hop, _: &mut dyn Congestion) -> Choice {
        Choice { port: self.fabric.attached(hop.destination).1, vc: ChannelId::FIRST, state: 0 }
    }

    fn options(&self, hop: &Hop, out: &mut Vec<Choice>) {
        out.push(Choice { port: self.fabric.attached(hop.destination).1, vc: ChannelId::FIRST, state: 0 });
    }

    fn facts(&self) -> Facts {
        Facts { terminals_alike: true, ..Facts::OBLIVIOUS }
    }

    fn memory(&self, _: &Hop) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        graph::Peer,
        registry::{Constant, values},
        routing::testing,
    };
    use base::index::TerminalId;

    /// Classes of the links of a way (0 is the ejection) and their VCs.
    fn path(
        fabric: &Fabric,
        routing: &dyn Routing,
        source: TerminalId,
        destination: TerminalId,
    ) -> Vec<(u8, u8)> {
        let mut hop = testing::hop(fabric, source.number(), destination.number(), 5);
        let mut path = Vec::new();
        loop {
            let choice = routing.route(&mut hop, &mut testing::Never);
            let port = fabric.ports_of(hop.router)[choice.port.index()];
            path.push((port.class, choice.vc.number()));
            match port.peer {
                Peer::Router { router, port } => {
                    (hop.router, hop.in_port, hop.vc, hop.visited) =
                        (router, port, choice.vc, hop.visited + 1);
                }
                peer => {
                    assert_eq!(peer, Peer::Terminal(destination));
                    return path;
                }
            }
        }
    }

    #[test]
    fn paths_are_local_global_local_on_the_stated_channels() {
        let fabric = testing::dragonfly([9, 4, 2, 2]);
        let routing = build(fabric.clone(), &values(ROUTING.about.params, &[])).unwrap();
        let (local, global) = (1, 2);
        let mut seen = base::sorted::SortedSet::new();
        for (s, d) in (0..72).flat_map(|s| (0..72).map(move |d| (s, d))) {
            let path = path(&fabric, routing.as_ref(), TerminalId::new(s), TerminalId::new(d));
            let expected: &[&[(u8, u8)]] = if s / 2 == d / 2 {
                &[&[(0, 0)]]
            } else if s / 8 == d / 8 {
                &[&[(local, 0), (0, 1)]]
            } else {
                &[
                    &[(global, 0), (0, 3)],
                    &[(local, 0), (global, 1), (0, 3)],
                    &[(global, 0), (local, 3), (0, 3)],
                    &[(local, 0), (global, 1), (local, 3), (0, 3)],
                ]
            };
            assert!(expected.contains(&path.as_slice()), "{s} -> {d}: {path:?}");
            seen.insert(path);
        }
        assert_eq!(seen.len(), 6);
    }

    /// BookSim's: the second channel begins with the global link.
    #[test]
    fn two_channels_are_enough() {
        let fabric = testing::dragonfly([9, 4, 2, 2]);
        let given = [("channels", Constant::Text("dateline"))];
        let routing = build(fabric.clone(), &values(ROUTING.about.params, &given)).unwrap();
        assert_eq!(routing.vcs(), 2);
        assert!(crate::deadlock::check(&fabric, routing.as_ref(), u64::MAX).is_free());
        let of = |s, d| path(&fabric, routing.as_ref(), TerminalId::new(s), TerminalId::new(d));
        let (local, global) = (1, 2);
        assert_eq!(of(0, 1), [(0, 0)]);
        assert_eq!(of(0, 7), [(local, 0), (0, 0)]);
        for (s, d) in (0..72).flat_map(|s| (0..72).map(move |d| (s, d))).filter(|(s, d)| s / 8 != d / 8) {
            let crossed: Vec<(u8, u8)> = of(s, d).into_iter().skip_while(|link| link.0 == local).collect();
            assert_eq!(crossed[0], (global, 1), "{s} -> {d}");
            assert!(crossed.iter().all(|link| link.1 == 1), "{s} -> {d}");
            assert!(of(s, d).iter().take_while(|link| link.0 == local).all(|link| link.1 == 0));
        }
    }

    /// Where there is no second rule a wish for it is refused, not left alone.
    #[test]
    fn other_topologies_refuse_two_channels() {
        let fabric = testing::dragonfly_plus([3, 2, 2, 2, 2]);
        let of = |rule| {
            build(fabric.clone(), &values(ROUTING.about.params, &[("channels", Constant::Text(rule))]))
        };
        assert!(of("places").is_ok());
        let problems = of("dateline").err().expect("it is refused");
        assert_eq!(problems[0].key, "channels");
    }

    #[test]
    fn parallel_paths_are_drawn_evenly() {
        let fabric = testing::dragonfly([33, 32, 1, 4]);
        let routing = build(fabric.clone(), &values(ROUTING.about.params, &[])).unwrap();
        let mut counts = base::sorted::SortedMap::new();
        for seed in 0..4000 {
            let mut hop = testing::hop(&fabric, 31, 32 * 20, seed);
            *counts.entry(routing.route(&mut hop, &mut testing::Never).port).or_insert(0) += 1;
        }
        // Slot 19 and every 32nd after it: routers 4, 12, 20 and 28 of the group.
        assert_eq!(counts.keys().map(|port: &PortId| port.number()).collect::<Vec<u32>>(), [4, 12, 20, 28]);
        assert!(counts.values().all(|&n| (900..1100).contains(&n)), "{counts:?}");
    }

    #[test]
    fn other_topologies_are_refused() {
        let problems = build(testing::grid(true, &[4, 4]), &values(ROUTING.about.params, &[])).err().unwrap();
        assert_eq!(problems[0].key, "algorithm");
        assert!(problems[0].message.contains("`torus`"), "{}", problems[0].message);
    }

    /// Two groups of two routers, each with two links to the other group: port 0 is local, 1 and 2 are global. Likewise where groups are
    /// two-dimensional, by legs: two global ports behind the one of the row and the one of the column.
    #[test]
    fn parallel_links_are_selected() {
        let cray = [
            ("groups", Constant::Int(2)),
            ("rows", Constant::Int(2)),
            ("columns", Constant::Int(2)),
            ("terminals_per_router", Constant::Int(1)),
            ("global_ports_per_router", Constant::Int(2)),
        ];
        let fabrics = [(testing::dragonfly([2, 2, 1, 2]), 1), (testing::build("cray-dragonfly", &cray), 2)];
        for (fabric, first) in fabrics {
            let destination = fabric.terminals() - 1;
            let ports = |select, busy: u32| -> base::sorted::SortedSet<u32> {
                let values = values(ROUTING.about.params, &[("select", Constant::Text(select))]);
                let routing = build(Arc::clone(&fabric), &values).unwrap();
                assert_eq!(routing.facts().oblivious, !matches!(select, "least-queue" | "most-credits"));
                let mut backlogs = testing::Backlogs([(busy, 64)].into());
                let decide = |n| {
                    let mut hop = testing::hop(&fabric, 0, destination, 1);
                    hop.random = base::rng::Stream::new(1, base::rng::Purpose::Route, n);
                    routing.route(&mut hop, &mut backlogs).port.number()
                };
                (0..40).map(decide).collect()
            };
            for select in ["random", "round-robin"] {
                assert_eq!(ports(select, first), [first, first + 1].into(), "{select}");
            }
            assert_eq!(ports("static", first).len(), 1);
            for select in ["least-queue", "most-credits"] {
                assert_eq!(ports(select, first), [first + 1].into(), "{select}");
                assert_eq!(ports(select, first + 1), [first].into(), "{select}");
            }
        }
    }
}
