//! Routes of one or two legs: straight to the destination, or over an intermediate router.
//!
//! All is decided at the first router. [`Hop::state`] then holds the intermediate router as long as the packet is on its
//! way there, and [`LAST`] afterwards. The first leg uses the lower half of the virtual channels, the last leg the upper
//! half, also when it is the only one.

use super::{
    Choice, Congestion, Facts, Hop, Routing,
    legs::{
        self, At, Leg, NextPorts, cray_dragonfly::CrayDragonflyLeg, dragonfly::DragonflyLeg,
        dragonfly_plus::DragonflyPlusLeg, grid::GridLeg, hierarchical::HierarchicalLeg, hyperx::HyperxLeg,
        table::TableLeg,
    },
    select::Select,
    table,
};
use crate::{
    graph::Fabric,
    topology::{
        cray_dragonfly::CrayDragonflyShape, dragonfly::DragonflyShape, dragonfly_plus::DragonflyPlusShape,
        grid::GridShape, hierarchical::HierarchicalShape, hyperx::HyperxShape,
    },
};
use base::{
    index::{ChannelId, PortId, RouterId},
    param::{Kind, Param, Problem, Values},
};
use std::sync::Arc;

/// State: the packet is on its last leg.
const LAST: u32 = 1 << 31;
/// State: on its way to an intermediate router, whose number among those with terminals is in the low bits.
const FIRST: u32 = 1 << 30;
/// Position in a packet's random stream, beyond those of decisions, of the seed of its picks.
const SEED: u64 = 1 << 63;

/// The `intermediate` key.
pub(crate) const INTERMEDIATE: Param = Param {
    name: "intermediate",
    kind: Kind::Choice(&["router", "group"]),
    default: Some("router"),
    doc: "what is drawn: a router, or (dragonflies; racks of a hierarchical network) a group other than the source's and the destination's, where the \
          last leg begins at the first router reached; packets within a group then go straight",
};

/// The `max_vcs` key.
pub(crate) const MAX_VCS: Param = Param {
    name: "max_vcs",
    doc: "virtual channels that the routing may use at most; half for each leg",
    ..super::shortest_path::MAX_VCS_PARAM
};

/// What decides at the first router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Always straight; among equally good ports this one.
    Straight { select: Select },
    /// Always over an intermediate router; likewise.
    Valiant { select: Select },
    /// Over it if that costs less, among so many drawn ones; the threshold favours the straight path.
    Ugal { threshold: u64, candidates: u32, global: bool },
    /// Straight or by way of one of so many other areas.
    Among { others: u32, select: Select },
}

struct TwoLegs<L> {
    fabric: Arc<Fabric>,
    leg: L,
    rule: Rule,
    by_area: bool,
    /// First virtual channel of the last leg.
    last: u8,
    /// Routers with terminals.
    ends: Vec<RouterId>,
}

/// Binds a rule to the legs that suit the fabric.
pub(crate) fn build(
    fabric: Arc<Fabric>,
    values: &Values,
    rule: Rule,
) -> Result<Box<dyn Routing>, Vec<Problem>> {
    let most = values.u32("max_vcs") as u8;
    let by_area = values.text("intermediate") == "group";
    if fabric.intact() {
        if let Some(leg) = DragonflyLeg::new(&fabric) {
            return bind(fabric, leg, rule, by_area, most);
        }
        if let Some(leg) = DragonflyPlusLeg::new(&fabric) {
            return bind(fabric, leg, rule, by_area, most);
        }
        if let Some(leg) = CrayDragonflyLeg::new(&fabric) {
            return bind(fabric, leg, rule, by_area, most);
        }
        if let Some(leg) = HierarchicalLeg::new(&fabric) {
            return bind(fabric, leg, rule, by_area, most);
        }
        if let Some(leg) = HyperxLeg::new(&fabric) {
            return bind(fabric, leg, rule, by_area, most);
        }
        if let Some(leg) = GridLeg::new(&fabric) {
            return bind(fabric, leg, rule, by_area, most);
        }
    }
    let leg = TableLeg::new(&fabric, most / 2, "max_vcs")?;
    bind(fabric, leg, rule, by_area, most)
}

/// See [`RoutingEntry::bytes`](crate::routing::entry::RoutingEntry::bytes): tables are for fabrics without a structure to trust.
pub(crate) fn bytes(fabric: &Fabric, _: &Values) -> u64 {
    let known = [
        fabric.shape::<DragonflyShape>().is_some(),
        fabric.shape::<DragonflyPlusShape>().is_some(),
        fabric.shape::<CrayDragonflyShape>().is_some(),
        fabric.shape::<HierarchicalShape>().is_some(),
        fabric.shape::<HyperxShape>().is_some(),
        fabric.shape::<GridShape>().is_some(),
    ];
    if fabric.intact() && known.contains(&true) { 0 } else { table::bytes(fabric, 1) }
}

/// Binds a rule to given legs; at most `most` virtual channels.
pub(crate) fn bind<L: Leg + 'static>(
    fabric: Arc<Fabric>,
    leg: L,
    rule: Rule,
    by_area: bool,
    most: u8,
) -> Result<Box<dyn Routing>, Vec<Problem>> {
    if by_area && leg.areas().is_none() {
        let message = format!(
            "topology `{}` has no groups{}",
            fabric.topology(),
            if fabric.intact() { "" } else { " that a routing could trust: links failed" }
        );
        return Err(vec![Problem::new("intermediate", message).help("`router` draws among all routers")]);
    }
    if 2 * leg.vcs() > most {
        let message = format!("two legs need {} virtual channels", 2 * leg.vcs());
        return Err(vec![Problem::new("max_vcs", message)]);
    }
    let ends = fabric.ends();
    let single = matches!(rule, Rule::Straight { .. } | Rule::Among { others: 0, .. });
    let last = if single { 0 } else { leg.vcs() };
    Ok(Box::new(TwoLegs { fabric, leg, rule, by_area, last, ends }))
}

/// The leg that a packet is on.
#[derive(Clone, Copy)]
struct Heading {
    /// Router at which the leg ends.
    end: RouterId,
    /// Where the packet is on it.
    at: At,
    /// State that the packet carries on it: [`LAST`], or [`FIRST`] with the number of the intermediate router.
    state: u32,
}

impl<L: Leg> TwoLegs<L> {
    /// The leg that the packet is on at this router; `None` at the first one, which decides.
    fn present(&self, hop: &Hop, destination: RouterId) -> Option<Heading> {
        if hop.visited == 0 {
            return None;
        }
        if hop.state & FIRST != 0 {
            let to = self.ends[(hop.state & !FIRST) as usize];
            if self.on_first(hop.router, to) {
                let at = At { router: hop.router, in_port: hop.in_port, vc: hop.vc, begun: true };
                return Some(Heading { end: to, at, state: hop.state });
            }
            let at = At::start(hop.router, hop.in_port);
            return Some(Heading { end: destination, at, state: LAST });
        }
        let vc = ChannelId::new(hop.vc.number().saturating_sub(self.last));
        let at = At { router: hop.router, in_port: hop.in_port, vc, begun: true };
        Some(Heading { end: destination, at, state: LAST })
    }

    /// True if a packet at `router` has not reached the intermediate router `to` (or its area) yet.
    fn on_first(&self, router: RouterId, to: RouterId) -> bool {
        router != to && !(self.by_area && self.leg.area(router) == self.leg.area(to))
    }

    /// Draws an intermediate router, as its number in `ends`; `None` if the packet should go straight.
    fn draw(&self, hop: &mut Hop, destination: RouterId) -> Option<u32> {
        if !self.by_area {
            return Some(hop.random.below(self.ends.len() as u64) as u32);
        }
        let (here, there) = (self.leg.area(hop.router), self.leg.area(destination));
        let others = self.leg.areas()?.saturating_sub(2);
        if here == there || others == 0 {
            return None;
        }
        let draw = hop.random.below(u64::from(others)) as u32;
        let area = draw + u32::from(draw >= here.min(there));
        let area = area + u32::from(area >= here.max(there));
        self.number(self.leg.member(area))
    }

    fn number(&self, router: RouterId) -> Option<u32> {
        self.ends.binary_search(&router).ok().map(|i| i as u32)
    }

    /// Every intermediate router that could be drawn.
    fn draws(&self, router: RouterId, destination: RouterId) -> Vec<u32> {
        if let Rule::Straight { .. } = self.rule {
            return Vec::new();
        }
        let Some(areas) = self.leg.areas().filter(|_| self.by_area) else {
            return (0..self.ends.len() as u32).collect();
        };
        if let Rule::Among { others, .. } = self.rule {
            return self.routes(router, destination, others).collect();
        }
        let (here, there) = (self.leg.area(router), self.leg.area(destination));
        let others = (0..areas).filter(|&a| here != there && a != here && a != there);
        others.filter_map(|area| self.number(self.leg.member(area))).collect()
    }

    /// The intermediate routers of the first `others` areas after that of `router`, the destination's skipped.
    fn routes(
        &self,
        router: RouterId,
        destination: RouterId,
        others: u32,
    ) -> impl Iterator<Item = u32> + Clone {
        let areas = self.leg.areas().unwrap_or(0);
        let (here, there) = (self.leg.area(router), self.leg.area(destination));
        let others = if here == there { 0 } else { others };
        let following = (1..areas).map(move |i| (here + i) % areas).filter(move |&area| area != there);
        following.take(others as usize).filter_map(|area| self.number(self.leg.member(area)))
    }

    /// Chooses among the straight path and those by other areas.
    fn among(
        &self,
        hop: &mut Hop,
        destination: RouterId,
        others: u32,
        select: Select,
        congestion: &mut dyn Congestion,
    ) -> Option<u32> {
        let routes = self.routes(hop.router, destination, others);
        let count = 1 + routes.clone().count() as u32;
        let route = |i: u32| if i == 0 { None } else { routes.clone().nth(i as usize - 1) };
        if select.oblivious() {
            return route(select.choose(count, |_| (PortId::new(0), ChannelId::FIRST), hop, congestion));
        }
        let (mut best, mut least) = (None, u64::MAX);
        for i in (0..count).map(route) {
            let leg = self.begin(hop, i, destination);
            let (next_ports, vc) = self.next_ports(leg);
            let score = select.score(next_ports.ports.pick(hop.router, || Self::seed(hop)), vc, congestion);
            if score < least {
                (best, least) = (i, score);
            }
        }
        best
    }

    /// The leg on which a packet leaves its first router.
    fn begin(&self, hop: &Hop, intermediate: Option<u32>, destination: RouterId) -> Heading {
        let at = At::start(hop.router, hop.in_port);
        match intermediate {
            Some(i) if self.on_first(hop.router, self.ends[i as usize]) => {
                Heading { end: self.ends[i as usize], at, state: FIRST | i }
            }
            _ => Heading { end: destination, at, state: LAST },
        }
    }

    fn next_ports(&self, Heading { end, at, state }: Heading) -> (NextPorts<'_>, ChannelId) {
        let next_ports = self.leg.next_ports(&at, end);
        (next_ports, next_ports.vc.plus(if state == LAST { self.last } else { 0 }))
    }

    fn seed(hop: &Hop) -> u64 {
        hop.random.at(SEED).next_u64()
    }

    /// What a way would cost: over all its links, or its first link times its length.
    fn cost(
        &self,
        hop: &Hop,
        intermediate: Option<u32>,
        destination: RouterId,
        global: bool,
        congestion: &mut dyn Congestion,
    ) -> u64 {
        let seed = Self::seed(hop);
        let (mut links, mut cost) = (0u64, 0u64);
        let mut visit = |router: RouterId, port: PortId| {
            if links == 0 {
                cost = congestion.backlog(port);
            } else if global {
                cost += congestion.published(self.fabric.port_index(router, port));
            }
            links += 1;
        };
        let Heading { end: to, at, state } = self.begin(hop, intermediate, destination);
        if state == LAST {
            legs::follow(&self.leg, &self.fabric, at, to, false, seed, &mut visit);
        } else {
            let end = legs::follow(&self.leg, &self.fabric, at, to, self.by_area, seed, &mut visit);
            let at = At::start(end.router, end.in_port);
            legs::follow(&self.leg, &self.fabric, at, destination, false, seed, &mut visit);
        }
        if global { cost } else { cost.saturating_mul(links) }
    }

    /// The decision of the first router.
    fn decide(&self, hop: &mut Hop, destination: RouterId, congestion: &mut dyn Congestion) -> Heading {
        let (threshold, candidates, global) = match self.rule {
            Rule::Straight { .. } => return self.begin(hop, None, destination),
            Rule::Valiant { .. } => {
                let drawn = self.draw(hop, destination);
                return self.begin(hop, drawn, destination);
            }
            Rule::Among { others, select } => {
                let route = self.among(hop, destination, others, select, congestion);
                return self.begin(hop, route, destination);
            }
            Rule::Ugal { threshold, candidates, global } => (threshold, candidates, global),
        };
        let straight = self.cost(hop, None, destination, global, congestion);
        let mut best = (straight.saturating_sub(threshold), None);
        for _ in 0..candidates {
            if best.0 == 0 {
                break;
            }
            if let Some(drawn) = self.draw(hop, destination) {
                let cost = self.cost(hop, Some(drawn), destination, global, congestion);
                if cost < best.0 {
                    best = (cost, Some(drawn));
                }
            }
        }
        self.begin(hop, best.1, destination)
    }
}

impl<L: Leg> Routing for TwoLegs<L> {
    fn vcs(&self) -> u8 {
        self.last + self.leg.vcs()
    }

    fn route(&self, hop: &mut Hop, congestion: &mut dyn Congestion) -> Choice {
        let (destination, ejection) = self.fabric.attached(hop.destination);
        let leg = match self.present(hop, destination) {
            Some(leg) => leg,
            None if hop.router == destination => {
                return Choice { port: ejection, vc: ChannelId::FIRST, state: 0 };
            }
            None => self.decide(hop, destination, congestion),
        };
        if leg.end == hop.router {
            return Choice { port: ejection, vc: ChannelId::FIRST, state: 0 };
        }
        let (next_ports, vc) = self.next_ports(leg);
        let port = match self.rule {
            Rule::Straight { select } | Rule::Valiant { select } if select != Select::Random => {
                let ports = next_ports.ports;
                ports.get(select.choose(ports.len(), |i| (ports.get(i), vc), hop, congestion))
            }
            _ => next_ports.ports.pick(hop.router, || Self::seed(hop)),
        };
        Choice { port, vc, state: leg.state }
    }

    fn options(&self, hop: &Hop, out: &mut Vec<Choice>) {
        let (destination, ejection) = self.fabric.attached(hop.destination);
        let mut push = |leg: Heading| {
            if leg.end == hop.router {
                out.push(Choice { port: ejection, vc: ChannelId::FIRST, state: 0 });
                return;
            }
            let (next_ports, vc) = self.next_ports(leg);
            out.extend((0..next_ports.ports.len()).map(|i| Choice {
                port: next_ports.ports.get(i),
                vc,
                state: leg.state,
            }));
        };
        if hop.visited == 0 && hop.router == destination {
            out.push(Choice { port: ejection, vc: ChannelId::FIRST, state: 0 });
            return;
        }
        if let Some(leg) = self.present(hop, destination) {
            push(leg);
            return;
        }
        let draws = self.draws(hop.router, destination);
        if draws.is_empty() || !matches!(self.rule, Rule::Valiant { .. }) {
            push(self.begin(hop, None, destination));
        }
        draws.into_iter().for_each(|i| push(self.begin(hop, Some(i), destination)));
    }

    fn facts(&self) -> Facts {
        let (oblivious, needs_published) = match self.rule {
            Rule::Straight { select } | Rule::Valiant { select } | Rule::Among { select, .. } => {
                (select.oblivious(), false)
            }
            Rule::Ugal { global, .. } => (false, global),
        };
        Facts { oblivious, needs_published, terminals_alike: true, ..Facts::ADAPTIVE }
    }

    fn memory(&self, _: &Hop) -> u64 {
        0
    }
}
