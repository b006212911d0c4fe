//! UGAL of dragonflies as BookSim 2 has it: two weights, a bias, and virtual channels by phase.

use super::{Choice, Congestion, Facts, Hop, Routing, dragonfly::Tables};
use crate::{
    graph::Fabric,
    routing::entry::{Bound, RoutingEntry},
};
use base::{
    index::{ChannelId, PortId, RouterId},
    param::{Kind, Param, Values},
    registry::About,
};
use std::sync::Arc;

const WEIGHT: Kind = Kind::Int { min: 0, max: 1 << 20 };

/// The registered routing.
pub const ROUTING: RoutingEntry = RoutingEntry {
    about: About {
        name: "dragonfly-ugal",
        summary: "dragonfly: minimal or over a random router of another group, by two weighted queues and a bias",
        doc: "The first router draws a terminal evenly from all. If it is in the source's group, or the destination is, the packet goes minimally. Else the backlogs of the two paths' \
              first ports are compared: minimally if `minimal_weight` times its backlog is at most `other_weight` times the other one plus `bias`. The other path goes minimally to the \
              drawn terminal's router and from there minimally to the destination. With `channels = 4`: 0 in the source's group and on the first of two global links, 1 in the intermediate group up to \
              the drawn router, 2 from there to the last global link (for packets that go minimally: up to their global link), 3 from that one on. With `channels = 3`, \
              as in BookSim, the intermediate group's first part shares channel 0. Local links there can then wait for global links, and those for local links \
              of another group: the deadlock check reports that cycle, and does not refuse it. Packets within a group use the last channel. \
              Reads: the outputs of the first router, without delay. Among several links to a group one is drawn for each packet. A network with failed links is refused.",
        source: "BookSim 2, networks/dragonfly.cpp (ugal_dragonflynew: weights 1 and 2, bias 30 flits, 3 channels); Jiang, Kim, Dally: Indirect Adaptive Routing on Large Scale \
                 Interconnection Networks, ISCA 2009",
        params: &[
            Param {
                name: "minimal_weight",
                kind: WEIGHT,
                default: Some("1"),
                doc: "factor of the minimal path's backlog",
            },
            Param {
                name: "other_weight",
                kind: WEIGHT,
                default: Some("2"),
                doc: "factor of the other way's backlog",
            },
            Param {
                name: "bias",
                kind: Kind::Bytes,
                default: Some("0 B"),
                doc: "how much more the minimal path may cost; BookSim's is 30 flits",
            },
            Param {
                name: "channels",
                kind: Kind::Int { min: 3, max: 4 },
                default: Some("4"),
                doc: "virtual channels: 4 without cycles, or BookSim's 3",
            },
        ],
    },
    build,
    bytes: super::no_table_bytes,
    least: super::no_least_bytes,
};

/// State: on the way to an intermediate router, whose number is in the low bits.
const OVER: u32 = 1 << 31;
/// State: on the minimal way to the destination, a global link still ahead or none left to cross.
const STRAIGHT: u32 = 1 << 30;
/// State: behind the last global link, or within a group.
const LAST: u32 = 1 << 29;
/// Position in a packet's random stream, beyond those of decisions, of the seed of its links.
const SEED: u64 = 1 << 63;

struct DragonflyUgal {
    fabric: Arc<Fabric>,
    tables: Tables,
    weights: (u64, u64),
    bias: u64,
    /// Channels of the four parts of a way.
    channels: [u8; 4],
}

fn build(fabric: Arc<Fabric>, values: &Values) -> Bound {
    super::intact(&ROUTING.about, &fabric)?;
    let Some(tables) = Tables::new(&fabric) else {
        return Err(super::unsuited(&ROUTING.about, fabric.topology(), &["dragonfly"]));
    };
    let channels = if values.int("channels") == 3 { [0, 0, 1, 2] } else { [0, 1, 2, 3] };
    let weights = (values.int("minimal_weight"), values.int("other_weight"));
    Ok(Box::new(DragonflyUgal { fabric, tables, weights, bias: values.int("bias"), channels }))
}

impl DragonflyUgal {
    /// Ports toward a router of the asking one's group or of another group.
    fn ports(&self, here: RouterId, to: RouterId) -> (&[PortId], Option<PortId>) {
        let ((group, index), (to_group, to_index)) = (self.tables.place(here), self.tables.place(to));
        if group == to_group {
            return (&[], Some(PortId::new(self.tables.shape.local_port(index, to_index))));
        }
        (self.tables.toward(group, index, to_group), None)
    }

    /// The packet's port among them.
    fn port(&self, hop: &Hop, to: RouterId) -> PortId {
        match self.ports(hop.router, to) {
            (_, Some(port)) => port,
            (&[port], _) => port,
            (ports, _) => ports[(hop.random.at(SEED).next_u64() % ports.len() as u64) as usize],
        }
    }

    /// State in which a packet leaves this router that came with `state`; one without state has not been decided on.
    fn arrived(&self, hop: &Hop, state: u32) -> u32 {
        if state & OVER != 0 && state & !OVER == hop.router.number() { STRAIGHT } else { state }
    }

    /// What a packet does next over a port in a state.
    fn choice(&self, hop: &Hop, port: PortId, state: u32) -> Choice {
        let shape = &self.tables.shape;
        let global = self.tables.is_global(port) && port.number() < shape.routers - 1 + shape.globals;
        if state & OVER != 0 {
            let begun = self.tables.place(hop.router).0 == self.tables.group_of(hop.source);
            return Choice { port, vc: ChannelId::new(self.channels[usize::from(!begun)]), state };
        }
        let state = if global { LAST } else { state };
        Choice { port, vc: ChannelId::new(self.channels[if state == LAST { 3 } else { 2 }]), state }
    }

    /// The next link toward `to` in a state, or the ejection.
    fn onward(&self, hop: &Hop, state: u32) -> Choice {
        let (to, ejection) = self.fabric.attached(hop.destination);
        let port = match state {
            over if over & OVER != 0 => self.port(hop, RouterId::new(over & !OVER)),
            _ if to == hop.router => ejection,
            _ => self.port(hop, to),
        };
        self.choice(hop, port, state)
    }

    /// True if source and destination are in one group.
    fn within(&self, hop: &Hop) -> bool {
        self.tables.group_of(hop.source) == self.tables.group_of(hop.destination)
    }

    fn decide(&self, hop: &mut Hop, congestion: &mut dyn Congestion) -> u32 {
        if self.within(hop) {
            return LAST;
        }
        let drawn = base::index::TerminalId::new(hop.random.below(u64::from(self.fabric.terminals())) as u32);
        if self.tables.group_of(drawn) == self.tables.group_of(hop.source) {
            return STRAIGHT;
        }
        let (straight, over) = (self.fabric.attached(hop.destination).0, self.fabric.attached(drawn).0);
        let mut backlog = |to| congestion.backlog(self.port(hop, to));
        let (minimal, other) = (backlog(straight), backlog(over));
        let (minimal, other) = (minimal.saturating_mul(self.weights.0), other.saturating_mul(self.weights.1));
        if minimal <= other.saturating_add(self.bias) { STRAIGHT } else { OVER | over.number() }
    }
}

impl Routing for DragonflyUgal {
    fn vcs(&self) -> u8 {
        self.channels[3] + 1
    }

    fn route(&self, hop: &mut Hop, congestion: &mut dyn Congestion) -> Choice {
        let state =
            if hop.visited == 0 { self.decide(hop, congestion) } else { self.arrived(hop, hop.state) };
        self.onward(hop, state)
    }

    fn options(&self, hop: &Hop, out: &mut Vec<Choice>) {
        let states = if hop.visited > 0 {
            vec![self.arrived(hop, hop.state)]
        } else if self.within(hop) {
            vec![LAST]
        } else {
            let own = self.tables.group_of(hop.source);
            let others = self.fabric.ends().into_iter().filter(|&r| self.tables.place(r).0 != own);
            [STRAIGHT].into_iter().chain(others.map(|r| OVER | r.number())).collect()
        };
        let (to, ejection) = self.fabric.attached(hop.destination);
        for state in states {
            let end = if state & OVER != 0 { RouterId::new(state & !OVER) } else { to };
            if end == hop.router {
                out.push(self.choice(hop, ejection, state));
                continue;
            }
            match self.ports(hop.router, end) {
                (_, Some(port)) => out.push(self.choice(hop, port, state)),
                (ports, _) => out.extend(ports.iter().map(|&port| self.choice(hop, port, state))),
            }
        }
    }

    fn facts(&self) -> Facts {
        Facts { terminals_alike: true, may_deadlock: self.channels[3] == 2, ..Facts::ADAPTIVE }
    }

    fn memory(&self, hop: &Hop) -> u64 {
        self.tables.memory(hop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        deadlock,
        registry::{Constant, values},
        routing::testing,
    };
    use base::sorted::SortedMap;

    fn bind(fabric: &Arc<Fabric>, sample: &[(&str, Constant)]) -> Box<dyn Routing> {
        build(fabric.clone(), &values(ROUTING.about.params, sample)).unwrap()
    }

    #[test]
    fn four_channels_are_free_of_deadlock_and_three_are_not() {
        for (sizes, sample) in [([9, 4, 2, 2], 4), ([5, 4, 1, 2], 4), ([9, 4, 2, 2], 3)] {
            let fabric = testing::dragonfly(sizes);
            let routing = bind(&fabric, &[("channels", Constant::Int(sample))]);
            assert_eq!(u64::from(routing.vcs()), sample);
            let report = deadlock::check(&fabric, routing.as_ref(), u64::MAX);
            assert_eq!(report.is_free(), sample == 4, "{sizes:?}, {sample}: {report}");
        }
    }

    /// Groups of 4 routers with 2 terminals and 2 global ports: router 0 of group 0 leads to groups 1 and 2 by ports 3 and 4.
    #[test]
    fn weights_and_bias_decide() {
        let fabric = testing::dragonfly([9, 4, 2, 2]);
        // To the first router of group 1, over its own global link; a draw within group 0 or the same link goes minimally, too.
        let over = |minimal, other, bias| {
            let bytes = [("bias", Constant::Int(bias))];
            let routing = bind(&fabric, &bytes);
            let count = |seed: &u64| {
                let all = (0..7).filter(|&p| p != 3).map(|p| (p, other));
                let mut queues = testing::Backlogs(all.chain([(3, minimal)]).collect::<SortedMap<_, _>>());
                routing.route(&mut testing::hop(&fabric, 0, 8, *seed), &mut queues).state & OVER != 0
            };
            (0..400).filter(count).count()
        };
        assert_eq!(over(0, 0, 0), 0, "an idle network is crossed minimally");
        assert_eq!(over(128, 64, 0), 0);
        // 7 of 9 groups have another first port.
        let many = over(129, 64, 0);
        assert!((280..345).contains(&many), "{many}");
        assert_eq!(over(129, 64, 1), 0);
        assert!(over(130, 64, 1) > 280);
    }

    #[test]
    fn channels_follow_the_phases() {
        let fabric = testing::dragonfly([9, 4, 2, 2]);
        let full = |port| (0..9).map(move |p| (p, if p == port { 1 << 20 } else { 0 })).collect();
        for (channels, allowed) in [(4, [0, 1, 2, 3]), (3, [0, 0, 1, 2])] {
            let routing = bind(&fabric, &[("channels", Constant::Int(channels))]);
            let mut longest = 0;
            for (source, destination, seed) in (0..72)
                .flat_map(|s| [9, 40, 71].map(|d| (s, d)))
                .flat_map(|(s, d)| (0..8).map(move |n| (s, d, n)))
            {
                let mut hop = testing::hop(&fabric, source, destination, seed);
                let straight = routing.route(&mut hop.clone(), &mut testing::Backlogs(SortedMap::new())).port;
                let (mut last, mut globals, mut links) = (0, 0, 0);
                loop {
                    let mut queues = testing::Backlogs(full(straight.number()));
                    let choice = routing.route(&mut hop, &mut queues);
                    assert!(choice.vc >= ChannelId::new(last) && allowed.contains(&choice.vc.number()));
                    last = choice.vc.number();
                    let Some(next) = fabric.next_router(hop.router, choice.port) else { break };
                    globals += u32::from(next.number() / 4 != hop.router.number() / 4);
                    links += 1;
                    (hop.router, hop.vc, hop.state) = (next, choice.vc, choice.state);
                    hop.visited += 1;
                }
                assert_eq!(hop.router, fabric.attached(hop.destination).0);
                assert!(globals <= 2 && links <= 6, "{source} -> {destination}");
                longest = longest.max(links);
            }
            assert_eq!(longest, 6);
        }
    }
}
