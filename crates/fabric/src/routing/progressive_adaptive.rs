//! Progressive adaptive routing (PAR) of dragonflies: minimal, unless the way there is busier than a detour.
//!
//! All decisions fall in the source group; elsewhere the way is minimal. While a packet is in its source group,
//! [`Hop::state`] holds the intermediate group drawn for it and whether it is bound there; a global link ends both.

use super::{
    Choice, Congestion, Facts, Hop, Routing,
    dragonfly::{Tables, VCS, View},
    legs::{Leg, cray_dragonfly::CrayDragonflyLeg, dragonfly_plus::DragonflyPlusLeg},
    progressive_adaptive_legs::{DIVERTED, DRAWN, Legs, MAX_PICKS},
};
use crate::{graph::Fabric, routing::entry::RoutingEntry};
use base::{
    index::PortId,
    param::{Kind, Param, Problem, Values},
    registry::About,
    rng::Stream,
};
use std::sync::Arc;

/// The registered routing.
pub const ROUTING: RoutingEntry = RoutingEntry {
    about: About {
        name: "progressive-adaptive",
        summary: "dragonflies of every kind: minimal, or through another group when that path is less busy; may divert at any router",
        doc: "At the first router an intermediate group is drawn evenly from all but the source and destination groups. \
              At each router of the source group the best port of the minimal set is compared with the best of those \
              toward the intermediate group. A port's score is its backlog in bytes over all VCs; scores toward the \
              intermediate group count twice. Minimal wins if its score is at most `adaptive_threshold` or at most the \
              other's doubled score; otherwise the packet goes by the intermediate group for good. At the second router \
              of the source group, without a link to the drawn group, a new one is drawn from those it has links to \
              (destination excluded). In all other groups the path is minimal, by the best port. Among local links the \
              best of all is taken, among global ones the best of `global_k_picks` random ones; ties are broken at \
              random. Within the destination's group, and when source and destination share a group, the direct link is \
              taken. Virtual channels (4): source group 0, then 1 after a local hop; intermediate group 2; destination \
              group 3. On a dragonfly+ the leaf and the spine of the source group decide by the same rules, the spine among \
              its own links; in an intermediate group a spine without a link to the right group sends the packet down \
              to the least busy leaf and up again. In the two-dimensional groups of a Cray dragonfly every router of the source group \
              decides by the same rules: a packet that is on its straight path diverts only to groups that the router has a link \
              to, one that is bound for an intermediate group goes there by row and column. Virtual channels of both \
              (3): source group 0, intermediate 1, destination 2. A network with failed links is refused. \
              Reads: the outputs of the router that it is asked at, without delay: bytes that wait for them or hold \
              buffer behind them, until their credits are back; nothing of other routers. With `route_per = \"chunk\"`, as \
              in CODES, the earlier chunks of the same packet count, so that packets of several chunks detour in an idle \
              network.",
        source: "Jiang, Kim, Dally: Indirect Adaptive Routing on Large Scale Interconnection Networks, ISCA 2009 (PAR); \
                 rule, scoring (`delta`), draws and virtual channels as `prog-adaptive` of CODES, model dragonfly-dally",
        params: &[
            Param {
                name: "adaptive_threshold",
                kind: Kind::Bytes,
                default: Some("0 B"),
                doc: "backlog up to which the minimal path is taken without comparison",
            },
            Param {
                name: "global_k_picks",
                kind: Kind::Int { min: 1, max: MAX_PICKS as u64 },
                default: Some("2"),
                doc: "parallel global links of a router that are compared",
            },
        ],
    },
    build,
    bytes: super::no_table_bytes,
    least: super::no_least_bytes,
};

struct ProgressiveAdaptive {
    tables: Tables,
    threshold: u64,
    picks: usize,
    /// First-round slots of the groups that a router has links to, by its index in its group.
    linked: Vec<Vec<u32>>,
}

fn build(fabric: Arc<Fabric>, values: &Values) -> Result<Box<dyn Routing>, Vec<Problem>> {
    super::intact(&ROUTING.about, &fabric)?;
    let (threshold, picks) = (values.int("adaptive_threshold"), values.int("global_k_picks") as usize);
    if let Some(leg) = DragonflyPlusLeg::new(&fabric) {
        return Ok(legs(fabric, leg, threshold, picks));
    }
    if let Some(leg) = CrayDragonflyLeg::new(&fabric) {
        return Ok(legs(fabric, leg, threshold, picks));
    }
    let known = ["dragonfly", "dragonfly-plus", "cray-dragonfly"];
    let tables =
        Tables::new(&fabric).ok_or_else(|| super::unsuited(&ROUTING.about, fabric.topology(), &known))?;
    let shape = &tables.shape;
    let linked = (0..shape.routers)
        .map(|index| (0..shape.groups - 1).filter(|&slot| shape.holds(index, slot)).collect())
        .collect();
    Ok(Box::new(ProgressiveAdaptive { tables, threshold, picks, linked }))
}

fn legs<L: Leg + 'static>(fabric: Arc<Fabric>, leg: L, threshold: u64, picks: usize) -> Box<dyn Routing> {
    let groups = leg.areas().unwrap_or(1);
    Box::new(Legs { fabric, leg, groups, threshold, picks: picks as u32 })
}

/// The best of some ports.
#[derive(Clone, Copy)]
struct Best {
    port: PortId,
    score: u64,
}

impl ProgressiveAdaptive {
    /// An intermediate group, drawn at the first router; `None` if there are only two groups.
    fn draw(&self, view: &View, random: &mut Stream) -> Option<u32> {
        let others = self.tables.shape.groups - 2;
        let draw = match others {
            0 => return None,
            1 => 0,
            _ => random.below(u64::from(others)) as u32,
        };
        let (low, high) = (view.group.min(view.to_group), view.group.max(view.to_group));
        let group = draw + u32::from(draw >= low);
        Some(group + u32::from(group >= high))
    }

    /// The groups that the second router of the source group may divert to.
    fn redraws(&self, view: &View) -> impl Iterator<Item = u32> + Clone {
        let (group, to) = (view.group, view.to_group);
        let shape = &self.tables.shape;
        self.linked[view.index as usize]
            .iter()
            .map(move |&slot| shape.group_behind(group, slot))
            .filter(move |&g| g != to)
    }

    /// The intermediate group to compare with at a router of the source group, kept or drawn.
    fn intermediate(&self, hop: &mut Hop, view: &View) -> Option<u32> {
        if hop.visited == 0 {
            return self.draw(view, &mut hop.random);
        }
        if hop.state & DRAWN == 0 {
            return None;
        }
        let kept = hop.state & !(DRAWN | DIVERTED);
        if self.links_to(view, kept) {
            return Some(kept);
        }
        match self.redraws(view).count() {
            0 => None,
            1 => self.redraws(view).next(),
            n => self.redraws(view).nth(hop.random.below(n as u64) as usize),
        }
    }

    /// True if this router has a global link to `group`.
    fn links_to(&self, view: &View, group: u32) -> bool {
        let ports = self.tables.toward(view.group, view.index, group);
        ports.first().is_some_and(|&port| self.tables.is_global(port))
    }

    /// The least busy of `ports`: of all if they are local, of `picks` random ones if they are global.
    fn best(&self, ports: &[PortId], random: &mut Stream, congestion: &mut dyn Congestion) -> Best {
        if let [port] = *ports {
            return Best { port, score: congestion.backlog(port) };
        }
        if ports.len() > self.picks && self.tables.is_global(ports[0]) {
            let mut picked = [PortId::default(); MAX_PICKS];
            sample(ports, &mut picked[..self.picks], random);
            return least(&picked[..self.picks], random, congestion);
        }
        least(ports, random, congestion)
    }

    fn choice(&self, view: &View, port: PortId, state: u32) -> Choice {
        Choice { port, vc: view.vc, state: if self.tables.is_global(port) { 0 } else { state } }
    }

    /// True if the packet is where it may divert.
    fn in_source_group(&self, hop: &Hop, view: &View) -> bool {
        view.group == self.tables.group_of(hop.source)
    }
}

/// Fills `picked` with different members of `ports` (Floyd's algorithm: one draw each).
fn sample(ports: &[PortId], picked: &mut [PortId], random: &mut Stream) {
    let first = ports.len() - picked.len();
    for i in 0..picked.len() {
        let drawn = ports[random.below((first + i) as u64 + 1) as usize];
        picked[i] = if picked[..i].contains(&drawn) { ports[first + i] } else { drawn };
    }
}

/// The port with the lowest backlog; among equals a random one.
fn least(ports: &[PortId], random: &mut Stream, congestion: &mut dyn Congestion) -> Best {
    let mut best = Best { port: ports[0], score: u64::MAX };
    let mut equals = 0;
    for &port in ports {
        let score = congestion.backlog(port);
        if score < best.score || equals == 0 {
            best = Best { port, score };
            equals = 1;
        } else if score == best.score {
            equals += 1;
        }
    }
    if equals > 1 {
        let skip = random.below(equals) as usize;
        let equal = ports.iter().filter(|&&port| congestion.backlog(port) == best.score).nth(skip);
        best.port = *equal.expect("as many equals as counted");
    }
    best
}

impl Routing for ProgressiveAdaptive {
    fn vcs(&self) -> u8 {
        VCS
    }

    fn route(&self, hop: &mut Hop, congestion: &mut dyn Congestion) -> Choice {
        let view = self.tables.view(hop);
        if let Some(port) = view.single(hop) {
            return self.choice(&view, port, 0);
        }
        let minimal = self.tables.toward(view.group, view.index, view.to_group);
        if !self.in_source_group(hop, &view) {
            let best = self.best(minimal, &mut hop.random, congestion);
            return self.choice(&view, best.port, 0);
        }
        let Some(group) = self.intermediate(hop, &view) else {
            let best = self.best(minimal, &mut hop.random, congestion);
            return self.choice(&view, best.port, 0);
        };
        let detour = self.tables.toward(view.group, view.index, group);
        if hop.state & DIVERTED == 0 {
            let straight = self.best(minimal, &mut hop.random, congestion);
            if straight.score <= self.threshold {
                return self.choice(&view, straight.port, DRAWN | group);
            }
            let around = self.best(detour, &mut hop.random, congestion);
            if straight.score <= around.score.saturating_mul(2) {
                return self.choice(&view, straight.port, DRAWN | group);
            }
            return self.choice(&view, around.port, DRAWN | DIVERTED | group);
        }
        let around = self.best(detour, &mut hop.random, congestion);
        self.choice(&view, around.port, DRAWN | DIVERTED | group)
    }

    fn options(&self, hop: &Hop, out: &mut Vec<Choice>) {
        let view = self.tables.view(hop);
        if let Some(port) = view.single(hop) {
            out.push(self.choice(&view, port, 0));
            return;
        }
        let minimal = self.tables.toward(view.group, view.index, view.to_group);
        let detours = |group, out: &mut Vec<Choice>| {
            let ports = self.tables.toward(view.group, view.index, group).iter();
            out.extend(ports.map(|&port| self.choice(&view, port, DRAWN | DIVERTED | group)));
        };
        let straight = |state, out: &mut Vec<Choice>| {
            out.extend(minimal.iter().map(|&port| self.choice(&view, port, state)));
        };
        if !self.in_source_group(hop, &view) {
            straight(0, out);
        } else if hop.visited == 0 {
            let groups = (0..self.tables.shape.groups).filter(|&g| g != view.group && g != view.to_group);
            for group in groups.clone() {
                straight(DRAWN | group, out);
                detours(group, out);
            }
            if groups.count() == 0 {
                straight(0, out);
            }
        } else {
            let kept = hop.state & !(DRAWN | DIVERTED);
            if hop.state & DIVERTED == 0 {
                straight(hop.state, out);
            }
            if hop.state & DRAWN != 0 && self.links_to(&view, kept) {
                detours(kept, out);
            } else if hop.state & DRAWN != 0 {
                self.redraws(&view).for_each(|group| detours(group, out));
            }
        }
    }

    fn facts(&self) -> Facts {
        Facts { terminals_alike: true, ..Facts::ADAPTIVE }
    }

    fn memory(&self, hop: &Hop) -> u64 {
        self.tables.memory(hop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        registry::{Constant, values},
        routing::testing::{self, Backlogs},
        topology::dragonfly::DragonflyShape,
    };
    use base::{
        index::{ChannelId, RouterId},
        sorted::{SortedMap, SortedSet},
    };

    fn bind(fabric: &Arc<Fabric>, threshold: u64) -> Box<dyn Routing> {
        let sample = [("adaptive_threshold", Constant::Int(threshold))];
        build(fabric.clone(), &values(ROUTING.about.params, &sample)).unwrap()
    }

    /// A packet from terminal 0 (router 0, group 0) of the 72-node network to group 8, which router 3 is linked to by
    /// its second global port: ports 0-2 are local to routers 1-3, ports 3-4 global to groups 1-2.
    fn first(fabric: &Fabric, seed: u64) -> Hop {
        testing::hop(fabric, 0, 8 * 8, seed)
    }

    /// The port that leads to router 3.
    const STRAIGHT: u32 = 2;

    #[test]
    fn an_idle_network_is_crossed_minimally() {
        let fabric = testing::dragonfly([9, 4, 2, 2]);
        let routing = bind(&fabric, 0);
        for seed in 0..100 {
            let choice = routing.route(&mut first(&fabric, seed), &mut Backlogs(SortedMap::new()));
            assert_eq!((choice.port.number(), choice.vc.number(), choice.state & DIVERTED), (STRAIGHT, 0, 0));
        }
    }

    #[test]
    fn a_detour_must_be_less_than_half_as_busy() {
        let fabric = testing::dragonfly([9, 4, 2, 2]);
        let diverted = |threshold, straight, others| {
            let routing = bind(&fabric, threshold);
            let mut backlogs =
                Backlogs((0..5).map(|port| (port, others)).chain([(STRAIGHT, straight)]).collect());
            (0..200)
                .filter(|&seed| {
                    routing.route(&mut first(&fabric, seed), &mut backlogs).port != PortId::new(STRAIGHT)
                })
                .count()
        };
        assert_eq!(diverted(0, 100, 50), 0);
        // One of seven intermediate groups lies behind router 3 as well: its backlog is that of the minimal path.
        assert!((140..200).contains(&diverted(0, 100, 49)));
        assert_eq!(diverted(99, 100, 49), diverted(0, 100, 49));
        assert_eq!(diverted(100, 100, 49), 0);
    }

    #[test]
    fn the_intermediate_group_is_drawn_from_all_others() {
        let fabric = testing::dragonfly([9, 4, 2, 2]);
        let routing = bind(&fabric, 0);
        let mut counts = SortedMap::new();
        for seed in 0..7000 {
            let choice = routing.route(&mut first(&fabric, seed), &mut Backlogs(SortedMap::new()));
            *counts.entry(choice.state & !DRAWN).or_insert(0) += 1;
        }
        assert_eq!(counts.keys().copied().collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7]);
        assert!(counts.values().all(|&n| (850..1150).contains(&n)), "{counts:?}");
    }

    /// The packet at router 3 after its minimal local hop, with group `drawn` in mind.
    fn second(fabric: &Fabric, drawn: u32, seed: u64) -> Hop {
        Hop {
            router: RouterId::new(3),
            in_port: PortId::new(0),
            visited: 1,
            state: DRAWN | drawn,
            ..first(fabric, seed)
        }
    }

    #[test]
    fn the_second_router_diverts_to_a_group_that_it_is_linked_to() {
        let fabric = testing::dragonfly([9, 4, 2, 2]);
        let routing = bind(&fabric, 0);
        // Router 3's global ports 3 and 4 lead to groups 7 and 8; 8 is the destination's.
        let mut busy = Backlogs(SortedMap::from([(4, 64)]));
        for drawn in 1..8 {
            let choice = routing.route(&mut second(&fabric, drawn, 1), &mut busy);
            assert_eq!(
                choice,
                Choice { port: PortId::new(3), vc: ChannelId::new(1), state: 0 },
                "drawn {drawn}"
            );
        }
        let mut both = Backlogs(SortedMap::from([(3, 32), (4, 64)]));
        assert_eq!(
            routing.route(&mut second(&fabric, 1, 1), &mut both),
            Choice { port: PortId::new(4), vc: ChannelId::new(1), state: 0 }
        );
    }

    #[test]
    fn a_diverted_packet_keeps_to_its_detour() {
        let fabric = testing::dragonfly([9, 4, 2, 2]);
        let routing = bind(&fabric, 0);
        // At router 1 (global ports to groups 3 and 4), bound for group 4 whatever the backlog.
        let mut busy = Backlogs(SortedMap::from([(4, 1 << 20)]));
        let state = DRAWN | DIVERTED | 4;
        let mut hop =
            Hop { router: RouterId::new(1), in_port: PortId::new(0), visited: 1, state, ..first(&fabric, 1) };
        assert_eq!(
            routing.route(&mut hop, &mut busy),
            Choice { port: PortId::new(4), vc: ChannelId::new(1), state: 0 }
        );
        // In group 4 (routers 16 to 19) the way to group 8 is slot 3, router 17: minimal, on VC 2.
        let mut hop = Hop {
            router: RouterId::new(16),
            in_port: PortId::new(3),
            vc: ChannelId::new(1),
            visited: 2,
            state: 0,
            ..first(&fabric, 1)
        };
        assert_eq!(
            routing.route(&mut hop, &mut busy),
            Choice { port: PortId::new(0), vc: ChannelId::new(2), state: 0 }
        );
        let mut hop = Hop {
            router: RouterId::new(17),
            in_port: PortId::new(0),
            vc: ChannelId::new(2),
            visited: 3,
            state: 0,
            ..first(&fabric, 1)
        };
        assert_eq!(
            routing.route(&mut hop, &mut busy),
            Choice { port: PortId::new(4), vc: ChannelId::new(2), state: 0 }
        );
    }

    #[test]
    fn the_least_busy_of_the_parallel_paths_is_taken() {
        let fabric = testing::dragonfly([33, 32, 1, 4]);
        let routing = bind(&fabric, u64::MAX);
        let ports = |backlogs: &[(u32, u64)]| -> SortedSet<u32> {
            let mut congestion = Backlogs(backlogs.iter().copied().collect());
            (0..200)
                .map(|seed| {
                    let mut hop = testing::hop(&fabric, 31, 32 * 20, seed);
                    routing.route(&mut hop, &mut congestion).port.number()
                })
                .collect()
        };
        assert_eq!(ports(&[]), SortedSet::from([4, 12, 20, 28]));
        assert_eq!(ports(&[(4, 9), (12, 3), (20, 7), (28, 3)]), SortedSet::from([12, 28]));
        assert_eq!(ports(&[(4, 9), (12, 3), (20, 7), (28, 4)]), SortedSet::from([12]));
    }

    #[test]
    fn samples_are_distinct_and_even() {
        let ports: Vec<PortId> = (10..15).map(PortId::new).collect();
        let mut counts = [0; 5];
        for seed in 0..5000 {
            let mut picked = [PortId::default(); 2];
            sample(&ports, &mut picked, &mut Stream::new(seed, base::rng::Purpose::Test, 0));
            assert_ne!(picked[0], picked[1]);
            picked.iter().for_each(|p| counts[p.index() - 10] += 1);
        }
        assert!(counts.iter().all(|n| (1850..2150).contains(n)), "{counts:?}");
    }

    #[test]
    fn two_groups_leave_no_detour() {
        let fabric = testing::dragonfly([2, 2, 1, 1]);
        assert_eq!(fabric.shape::<DragonflyShape>().map(|s| s.rounds), Some(2));
        let routing = bind(&fabric, 0);
        let mut busy = Backlogs((0..3).map(|port| (port, 1 << 20)).collect());
        let choice = routing.route(&mut testing::hop(&fabric, 0, 3, 1), &mut busy);
        assert_eq!(choice, Choice { port: PortId::new(1), vc: ChannelId::FIRST, state: 0 });
    }
}
