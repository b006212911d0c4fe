//! Progressive adaptive routing of dragonflies whose groups take up to two links: the rules of [`super::progressive_adaptive`],
//! decided at the leaf and at the spine of a dragonfly+, and at every router of the source group if groups are two-dimensional.
//!
//! Virtual channels: 0 in the source group, 2 in the destination's, 1 in any other; a link between groups has that of the group
//! that it leaves. On a dragonfly+ up leads to down or across within a group, across to a higher channel, and down to up only on
//! channel 1 before the next link across. In a two-dimensional group rows lead to columns and both across, never
//! back: a packet that has begun to go straight diverts only to groups that its router has a link to. No cycle.

use super::{
    Choice, Congestion, Facts, Hop, Routing,
    legs::{At, Leg, PortSet},
    select::Select,
};
use crate::graph::{Fabric, Peer};
use base::index::{ChannelId, PortId, RouterId};
use std::sync::Arc;

/// Most random picks among global links.
pub(super) const MAX_PICKS: usize = 16;

/// State: an intermediate group was drawn (the low bits).
pub(super) const DRAWN: u32 = 1 << 31;
/// State: the packet goes there.
pub(super) const DIVERTED: u32 = 1 << 30;

/// Progressive adaptive routing on one dragonfly with these legs.
pub(super) struct Legs<L> {
    pub(super) fabric: Arc<Fabric>,
    pub(super) leg: L,
    pub(super) groups: u32,
    /// Backlog in bytes up to which the minimal path is taken.
    pub(super) threshold: u64,
    /// Parallel global links that are compared.
    pub(super) picks: u32,
}

/// A packet's whereabouts.
#[derive(Clone, Copy)]
struct View {
    router: RouterId,
    group: u32,
    /// The destination's router and its port there.
    to: RouterId,
    ejection: PortId,
    to_group: u32,
    /// True where the packet may divert.
    free: bool,
    vc: ChannelId,
}

/// The best of some ports.
#[derive(Clone, Copy)]
struct Best {
    port: PortId,
    score: u64,
}

impl<L: Leg> Legs<L> {
    fn view(&self, hop: &Hop) -> View {
        let (to, ejection) = self.fabric.attached(hop.destination);
        let (group, to_group) = (self.leg.area(hop.router), self.leg.area(to));
        let at_source = group == self.leg.area(self.fabric.router_at(hop.source));
        let vc = match (at_source, group == to_group) {
            (true, _) => 0,
            (false, true) => 2,
            (false, false) => 1,
        };
        let free = at_source && group != to_group;
        View { router: hop.router, group, to, ejection, to_group, free, vc: ChannelId::new(vc) }
    }

    /// Ports toward the destination.
    fn minimal(&self, view: &View) -> PortSet<'_> {
        self.leg.next_ports(&At::start(view.router, PortId::new(0)), view.to).ports
    }

    /// Ports toward another group.
    fn toward(&self, view: &View, group: u32) -> PortSet<'_> {
        self.leg.next_ports(&At::start(view.router, PortId::new(0)), self.leg.member(group)).ports
    }

    /// True if the port of a router leads to another group.
    #[inline]
    fn is_global(&self, router: RouterId, port: PortId) -> bool {
        match self.fabric.port(self.fabric.port_index(router, port)).peer {
            Peer::Router { router: peer, .. } => self.leg.area(peer) != self.leg.area(router),
            _ => false,
        }
    }

    /// True if this router has a link to `group`.
    fn links_to(&self, view: &View, group: u32) -> bool {
        self.is_global(view.router, self.toward(view, group).get(0))
    }

    /// The groups that a later router of the source group may divert to.
    fn redraws(&self, view: View) -> impl Iterator<Item = u32> + Clone {
        let groups = (0..self.groups).filter(move |&g| g != view.group && g != view.to_group);
        groups.filter(move |&group| self.links_to(&view, group))
    }

    /// The intermediate group to compare with: drawn at the first router, then kept (for good once the packet is bound there) or
    /// drawn again.
    fn intermediate(&self, hop: &mut Hop, view: &View) -> Option<u32> {
        if hop.visited == 0 {
            let others = self.groups - 2;
            if others == 0 {
                return None;
            }
            let draw = hop.random.below(u64::from(others)) as u32;
            let group = draw + u32::from(draw >= view.group.min(view.to_group));
            return Some(group + u32::from(group >= view.group.max(view.to_group)));
        }
        let kept = (hop.state & DRAWN != 0).then_some(hop.state & !(DRAWN | DIVERTED))?;
        if hop.state & DIVERTED != 0 || self.links_to(view, kept) {
            return Some(kept);
        }
        match self.redraws(*view).count() as u64 {
            0 => None,
            n => self.redraws(*view).nth(hop.random.below(n) as usize),
        }
    }

    /// The least busy of the ports: of all if they are local, of `picks` random ones if they are global.
    fn best(&self, ports: PortSet<'_>, hop: &mut Hop, congestion: &mut dyn Congestion) -> Best {
        let n = ports.len();
        let (mut picked, mut count) = ([PortId::default(); MAX_PICKS], n);
        if n > self.picks && self.is_global(hop.router, ports.get(0)) {
            count = self.picks;
            // Floyd's algorithm: different ones with a draw each.
            for i in 0..count {
                let drawn = hop.random.below(u64::from(n - count + i) + 1) as u32;
                let known = picked[..i as usize].contains(&ports.get(drawn));
                picked[i as usize] = ports.get(if known { n - count + i } else { drawn });
            }
        }
        let port = |i: u32| if count < n { picked[i as usize] } else { ports.get(i) };
        let port = port(Select::LeastQueue.choose(count, |i| (port(i), ChannelId::FIRST), hop, congestion));
        Best { port, score: congestion.backlog(port) }
    }

    fn choice(&self, view: &View, port: PortId, state: u32) -> Choice {
        let state = if view.free && !self.is_global(view.router, port) { state } else { 0 };
        Choice { port, vc: view.vc, state }
    }
}

impl<L: Leg> Routing for Legs<L> {
    fn vcs(&self) -> u8 {
        3
    }

    fn route(&self, hop: &mut Hop, congestion: &mut dyn Congestion) -> Choice {
        let view = self.view(hop);
        if view.router == view.to {
            return Choice { port: view.ejection, vc: ChannelId::FIRST, state: 0 };
        }
        let intermediate = if view.free { self.intermediate(hop, &view) } else { None };
        let Some(group) = intermediate else {
            let best = self.best(self.minimal(&view), hop, congestion);
            return self.choice(&view, best.port, 0);
        };
        if hop.state & DIVERTED == 0 {
            let straight = self.best(self.minimal(&view), hop, congestion);
            if straight.score <= self.threshold {
                return self.choice(&view, straight.port, DRAWN | group);
            }
            let around = self.best(self.toward(&view, group), hop, congestion);
            if straight.score <= around.score.saturating_mul(2) {
                return self.choice(&view, straight.port, DRAWN | group);
            }
            return self.choice(&view, around.port, DRAWN | DIVERTED | group);
        }
        let around = self.best(self.toward(&view, group), hop, congestion);
        self.choice(&view, around.port, DRAWN | DIVERTED | group)
    }

    fn options(&self, hop: &Hop, out: &mut Vec<Choice>) {
        let view = self.view(hop);
        if view.router == view.to {
            out.push(Choice { port: view.ejection, vc: ChannelId::FIRST, state: 0 });
            return;
        }
        let mut push = |ports: PortSet<'_>, state| {
            out.extend((0..ports.len()).map(|i| self.choice(&view, ports.get(i), state)));
        };
        let kept = hop.state & !(DRAWN | DIVERTED);
        let groups: Vec<u32> = if !view.free || (hop.visited > 0 && hop.state & DRAWN == 0) {
            Vec::new()
        } else if hop.visited == 0 {
            (0..self.groups).filter(|&g| g != view.group && g != view.to_group).collect()
        } else if hop.state & DIVERTED != 0 || self.links_to(&view, kept) {
            vec![kept]
        } else {
            self.redraws(view).collect()
        };
        if groups.is_empty() {
            push(self.minimal(&view), 0);
        }
        for group in groups {
            if hop.state & DIVERTED == 0 {
                push(self.minimal(&view), DRAWN | group);
            }
            push(self.toward(&view, group), DRAWN | DIVERTED | group);
        }
    }

    fn facts(&self) -> Facts {
        Facts { terminals_alike: true, ..Facts::ADAPTIVE }
    }

    fn memory(&self, hop: &Hop) -> u64 {
        let source = self.leg.area(self.fabric.router_at(hop.source));
        u64::from(source) << 1 | u64::from(hop.visited > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::{DIVERTED, DRAWN};
    use crate::{
        graph::Fabric,
        registry::{Constant, values},
        routing::{
            Choice, Routing,
            progressive_adaptive::ROUTING,
            testing::{self, Backlogs},
        },
    };
    use base::{
        index::{ChannelId, PortId, RouterId},
        sorted::{SortedMap, SortedSet},
    };
    use std::sync::Arc;

    fn bind(fabric: &Arc<Fabric>) -> Box<dyn Routing> {
        let sample = [("adaptive_threshold", Constant::Int(0))];
        (ROUTING.build)(fabric.clone(), &values(ROUTING.about.params, &sample)).unwrap()
    }

    /// Nine groups of four leaves and four spines, two global ports each: spine i of group g leads to groups g + 2 i + 1
    /// and g + 2 i + 2. Leaf ports 0 to 3 lead to the spines; spine ports 4 and 5 are global.
    fn fabric() -> Arc<Fabric> {
        testing::dragonfly_plus([9, 4, 4, 2, 2])
    }

    #[test]
    fn an_idle_network_is_crossed_minimally() {
        let fabric = fabric();
        let routing = bind(&fabric);
        assert_eq!(routing.vcs(), 3);
        for (s, d) in testing::pairs(&fabric) {
            let links = testing::path(&fabric, routing.as_ref(), s, d, 1).len() - 1;
            let expected = if s / 2 == d / 2 {
                0
            } else if s / 8 == d / 8 {
                2
            } else {
                3
            };
            assert_eq!(links, expected, "{s} -> {d}");
        }
    }

    #[test]
    fn a_busy_path_up_is_left_for_a_detour() {
        let fabric = fabric();
        let routing = bind(&fabric);
        // From group 0 to group 8, that is spine 3 and so port 3.
        let mut busy = Backlogs(SortedMap::from([(3, 64)]));
        let choices: SortedSet<Choice> =
            (0..200).map(|seed| routing.route(&mut testing::hop(&fabric, 0, 71, seed), &mut busy)).collect();
        let diverted: SortedSet<u32> = choices
            .iter()
            .filter(|c| c.state & DIVERTED != 0)
            .map(|c| c.state & !(DRAWN | DIVERTED))
            .collect();
        // Group 7 is behind the same spine: no better.
        assert_eq!(diverted, (1..7).collect());
        assert!(
            choices
                .iter()
                .all(|c| c.vc == ChannelId::FIRST && (c.port == PortId::new(3)) == (c.state & DIVERTED == 0))
        );
    }

    #[test]
    fn a_spine_may_divert_too() {
        let fabric = fabric();
        let routing = bind(&fabric);
        // At spine 3 of group 0 (router 7), bound for group 8 over port 5; its other link leads to group 7.
        let mut busy = Backlogs(SortedMap::from([(5, 64)]));
        let first = testing::hop(&fabric, 0, 71, 1);
        let mut hop = crate::routing::Hop {
            router: RouterId::new(7),
            in_port: PortId::new(0),
            visited: 1,
            state: DRAWN | 2,
            ..first
        };
        assert_eq!(
            routing.route(&mut hop, &mut busy),
            Choice { port: PortId::new(4), vc: ChannelId::FIRST, state: 0 }
        );
        // In group 7 a spine without a link to group 8 goes down to a leaf first, on channel 1.
        let links = fabric.ports_of(RouterId::new(7));
        let crate::graph::Peer::Router { router, port } = links[4].peer else { panic!("unplugged") };
        let mut hop = crate::routing::Hop { router, in_port: port, visited: 2, state: 0, ..first };
        let choice = routing.route(&mut hop, &mut Backlogs(SortedMap::new()));
        assert_eq!((choice.vc.number(), choice.state), (1, 0));
    }

    /// Four groups of 2 x 3 routers, one global port each: router i of group g leads to group g + i mod 3 + 1.
    fn cray() -> Arc<Fabric> {
        let sample = [
            ("groups", Constant::Int(4)),
            ("rows", Constant::Int(2)),
            ("columns", Constant::Int(3)),
            ("terminals_per_router", Constant::Int(1)),
            ("global_ports_per_router", Constant::Int(1)),
        ];
        testing::build("cray-dragonfly", &sample)
    }

    /// Idle, all paths are minimal. A packet in group 0 bound for group 2 with router 0's row link to router 1 busy goes by group
    /// 1 or 3, and only by links that its own router or the rest of its row has.
    #[test]
    fn two_dimensional_groups_are_left_for_a_detour() {
        let fabric = cray();
        let routing = bind(&fabric);
        assert_eq!(routing.vcs(), 3);
        for (s, d) in testing::pairs(&fabric) {
            let links = testing::path(&fabric, routing.as_ref(), s, d, 1).len() - 1;
            assert!(links <= if s / 6 == d / 6 { 2 } else { 5 }, "{s} -> {d}: {links}");
        }
        // Port 0 of router 0 leads to router 1, port 1 to router 2, port 2 down the column, port 3 to group 1.
        let mut busy = Backlogs(SortedMap::from([(0, 64)]));
        let choices: SortedSet<Choice> =
            (0..200).map(|seed| routing.route(&mut testing::hop(&fabric, 0, 12, seed), &mut busy)).collect();
        let diverted: SortedSet<(u32, u32)> = choices
            .iter()
            .filter(|c| c.state & DIVERTED != 0 || c.port == PortId::new(3))
            .map(|c| (c.port.number(), c.state & !(DRAWN | DIVERTED)))
            .collect();
        assert_eq!(diverted, SortedSet::from([(1, 3), (3, 0)]), "{choices:?}");
        assert!(choices.iter().all(|c| c.vc == ChannelId::FIRST));
        // At router 1, whose own link leads to group 2, it is not too late: its link is busy, and no other group is linked.
        let first = testing::hop(&fabric, 0, 12, 1);
        let mut hop = crate::routing::Hop {
            router: RouterId::new(1),
            in_port: PortId::new(0),
            visited: 1,
            state: DRAWN | 3,
            ..first
        };
        let choice = routing.route(&mut hop, &mut Backlogs(SortedMap::from([(3, 64)])));
        assert_eq!((choice.port.number(), choice.state), (3, 0), "without another way it waits");
        // A packet that is bound for group 3 keeps to it.
        let mut hop = crate::routing::Hop {
            router: RouterId::new(5),
            in_port: PortId::new(0),
            visited: 1,
            state: DRAWN | DIVERTED | 3,
            ..first
        };
        let choice = routing.route(&mut hop, &mut Backlogs(SortedMap::from([(3, 1 << 20)])));
        assert_eq!((choice.port.number(), choice.vc.number(), choice.state), (3, 0, 0));
    }
}
