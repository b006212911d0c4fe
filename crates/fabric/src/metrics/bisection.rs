//! The bisection: fewest cables between two halves of the terminals.
//!
//! Finding the fewest is hard, so this is an *upper bound*: the best of several starting cuts, each improved until
//! moving routers does not help (Fiduccia, Mattheyses: A Linear-Time Heuristic for Improving Network Partitions, DAC
//! 1982). The starts put the routers in an order and cut it in the middle of the terminals: by number, by coordinate along
//! each dimension of a grid, by distance from a far router, and by the second eigenvector of the graph's Laplacian.
//! Halves differ by one router's terminals at most. Routers without terminals may go to either side. On networks of more than
//! [`MOST_PORTS`] ports cuts are not improved and the spectral start is left out: the bound is coarser, and the result says so.

use super::reach::{distances, neighbours, weights};
use crate::{
    graph::{Fabric, Peer},
    topology::{grid::GridShape, hyperx::HyperxShape},
};
use base::{
    index::{Column, RouterId},
    sorted::SortedSet,
};

/// Improving passes over a start.
const PASSES: u32 = 12;
/// Ports of a network beyond which cuts are left as they start: improving them takes minutes and gigabytes.
const MOST_PORTS: usize = 1 << 26;
/// Steps of the power iteration.
const STEPS: u32 = 120;

/// A cut through the middle.
#[derive(Clone, Debug, PartialEq)]
pub struct Bisection {
    /// Cables cut, over all classes.
    pub cables: u64,
    /// Cables cut by link class.
    pub classes: Vec<(&'static str, u64)>,
    /// Terminals on either side.
    pub halves: [u64; 2],
    /// The start that led there: `numbers`, `coordinates`, `distance` or `spectral`.
    pub start: &'static str,
    /// False if the network is so large that starting cuts were not improved.
    pub improved: bool,
}

/// The best cut found; `None` if fewer than two routers have terminals.
#[must_use]
pub fn bisection(fabric: &Fabric) -> Option<Bisection> {
    bounded(fabric, MOST_PORTS)
}

/// The same; cuts are improved on fabrics of up to `most` ports.
pub(super) fn bounded(fabric: &Fabric, most: usize) -> Option<Bisection> {
    let graph = Graph::new(fabric)?;
    let improve = fabric.ports().len() <= most;
    let mut best: Option<(u64, Column<RouterId, bool>, &'static str)> = None;
    for (start, order) in orders(fabric, &graph, improve) {
        let mut halves = Halves::new(&graph, &order);
        let mut cut = halves.cut;
        for _ in 0..if improve { PASSES } else { 0 } {
            halves.pass();
            if halves.cut >= cut {
                break;
            }
            cut = halves.cut;
        }
        if best.as_ref().is_none_or(|b| halves.cut < b.0) {
            best = Some((halves.cut, halves.side, start));
        }
    }
    let (cables, side, start) = best?;
    let mut classes = vec![0; fabric.classes().len()];
    let mut halves = [0; 2];
    for router in RouterId::first(fabric.routers()) {
        halves[usize::from(side[router])] += u64::from(graph.weight[router]);
        for port in fabric.ports_of(router) {
            if let Peer::Router { router: peer, .. } = port.peer
                && side[router]
                && !side[peer]
            {
                classes[usize::from(port.class)] += 1;
            }
        }
    }
    Some(Bisection {
        cables,
        classes: fabric.classes().iter().copied().zip(classes).collect(),
        halves,
        start,
        improved: improve,
    })
}

/// The starting orders.
fn orders(fabric: &Fabric, graph: &Graph, spectral: bool) -> Vec<(&'static str, Vec<RouterId>)> {
    let all = || RouterId::first(fabric.routers());
    let by = |key: &dyn Fn(RouterId) -> u32| {
        let mut order: Vec<RouterId> = all().collect();
        order.sort_by_key(|&router| key(router));
        order
    };
    let mut orders = vec![("numbers", all().collect())];
    if let Some(shape) = fabric.shape::<GridShape>() {
        let mut stride = 1;
        for &n in &shape.dims {
            orders.push(("coordinates", by(&|router| router.number() / stride % n)));
            stride *= n;
        }
    }
    if let Some(shape) = fabric.shape::<HyperxShape>() {
        orders
            .extend((0..shape.dims.len()).map(|d| ("coordinates", by(&|r| shape.coordinate(r.number(), d)))));
    }
    let first = distances(fabric, RouterId::new(0));
    let far = all().filter(|&r| first[r] != u32::MAX).max_by_key(|&r| first[r]);
    let from_far = distances(fabric, far.unwrap_or_default());
    orders.push(("distance", by(&|router| from_far[router])));
    if !spectral {
        return orders;
    }
    let vector = graph.second_eigenvector();
    let mut order: Vec<RouterId> = all().collect();
    order.sort_by(|&a, &b| vector[a.index()].total_cmp(&vector[b.index()]));
    orders.push(("spectral", order));
    orders
}

/// Routers, their terminals and neighbours; parallel cables are repeated.
struct Graph {
    weight: Column<RouterId, u32>,
    heaviest: i64,
    begin: Vec<usize>,
    to: Vec<RouterId>,
}

impl Graph {
    fn new(fabric: &Fabric) -> Option<Self> {
        let weight = weights(fabric);
        if weight.cells().iter().filter(|&&w| w > 0).count() < 2 {
            return None;
        }
        let heaviest = weight.cells().iter().copied().max().map_or(0, i64::from);
        let (mut begin, mut to) = (vec![0], Vec::new());
        for router in RouterId::first(fabric.routers()) {
            to.extend(neighbours(fabric, router));
            begin.push(to.len());
        }
        Some(Self { weight, heaviest, begin, to })
    }

    fn near(&self, router: RouterId) -> &[RouterId] {
        &self.to[self.begin[router.index()]..self.begin[router.index() + 1]]
    }

    /// Eigenvector of the second smallest eigenvalue of the Laplacian, roughly: power iteration of (2 d - L), d being
    /// the greatest degree, with the mean taken out, from a start without symmetries.
    fn second_eigenvector(&self) -> Vec<f64> {
        let n = self.weight.len();
        let degree = |r: usize| (self.begin[r + 1] - self.begin[r]) as f64;
        let most = (0..n).map(degree).fold(1.0, f64::max);
        let mut x: Vec<f64> =
            (0..n as u64).map(|r| base::hash::mix64(r + 1) as f64 / u64::MAX as f64 - 0.5).collect();
        for _ in 0..STEPS {
            let mut y: Vec<f64> = (0..n)
                .map(|r| {
                    let near: f64 = self.near(RouterId::from_index(r)).iter().map(|&p| x[p.index()]).sum();
                    (2.0 * most - degree(r)) * x[r] + near
                })
                .collect();
            let mean = y.iter().sum::<f64>() / n as f64;
            y.iter_mut().for_each(|v| *v -= mean);
            let length = y.iter().map(|v| v * v).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
            y.iter_mut().for_each(|v| *v /= length);
            x = y;
        }
        x
    }
}

/// Two sides under improvement.
struct Halves<'a> {
    graph: &'a Graph,
    side: Column<RouterId, bool>,
    /// Terminals on side `true` less those on side `false`.
    lead: i64,
    cut: u64,
}

/// Routers that may still move, by gain, of one side and with or without terminals.
type Movable = SortedSet<(i64, RouterId)>;

impl<'a> Halves<'a> {
    /// The first routers of `order` up to half of the terminals on one side, the others on the other.
    fn new(graph: &'a Graph, order: &[RouterId]) -> Self {
        let total: i64 = graph.weight.cells().iter().map(|&w| i64::from(w)).sum();
        let mut side = Column::filled(order.len(), true);
        let mut taken = 0;
        for &router in order {
            let weight = i64::from(graph.weight[router]);
            if 2 * taken + weight > total {
                break;
            }
            side[router] = false;
            taken += weight;
        }
        let mut halves = Self { graph, side, lead: total - 2 * taken, cut: 0 };
        halves.even_out();
        halves.cut = RouterId::first(order.len() as u32).map(|r| halves.crossing(r)).sum::<u64>() / 2;
        halves
    }

    /// Moves routers over while that makes the sides more alike.
    fn even_out(&mut self) {
        for router in RouterId::first(self.side.len() as u32) {
            let weight = i64::from(self.graph.weight[router]);
            let after = if self.side[router] { self.lead - 2 * weight } else { self.lead + 2 * weight };
            if after.abs() < self.lead.abs() {
                self.side[router] = !self.side[router];
                self.lead = after;
            }
        }
    }

    fn crossing(&self, router: RouterId) -> u64 {
        let here = self.side[router];
        self.graph.near(router).iter().filter(|&&peer| self.side[peer] != here).count() as u64
    }

    /// Cables that moving a router would take out of the cut.
    fn gain(&self, router: RouterId) -> i64 {
        let crossing = self.crossing(router) as i64;
        2 * crossing - self.graph.near(router).len() as i64
    }

    /// Moves routers one by one, each once at most and the best first even if it makes the cut worse for now; then goes
    /// back to the best state on the way.
    fn pass(&mut self) {
        let n = self.side.len();
        let mut gains: Column<RouterId, i64> = RouterId::first(n as u32).map(|r| self.gain(r)).collect();
        let mut movable = [const { Movable::new() }; 4];
        for router in RouterId::first(n as u32) {
            movable[self.set_of(router)].insert((gains[router], router));
        }
        let (mut cut, mut best, mut best_lead) = (self.cut as i64, self.cut as i64, self.lead);
        let (mut moves, mut kept) = (Vec::new(), 0);
        while let Some((gain, router)) = self.next(&movable) {
            movable[self.set_of(router)].remove(&(gain, router));
            self.flip(router);
            cut -= gain;
            moves.push(router);
            gains[router] = i64::MIN;
            for &peer in self.graph.near(router) {
                if gains[peer] == i64::MIN {
                    continue;
                }
                let set = &mut movable[self.set_of(peer)];
                set.remove(&(gains[peer], peer));
                gains[peer] += if self.side[peer] == self.side[router] { -2 } else { 2 };
                set.insert((gains[peer], peer));
            }
            let even = self.lead.abs() <= self.graph.heaviest;
            if even && (cut < best || (cut == best && self.lead.abs() < best_lead.abs())) {
                (best, best_lead, kept) = (cut, self.lead, moves.len());
            }
            if moves.len() - kept > n / 2 + 64 {
                break;
            }
        }
        for &router in moves[kept..].iter().rev() {
            self.flip(router);
        }
        self.cut = best as u64;
    }

    fn set_of(&self, router: RouterId) -> usize {
        2 * usize::from(self.side[router]) + usize::from(self.graph.weight[router] > 0)
    }

    /// The move of greatest gain that keeps the sides within two routers of each other.
    fn next(&self, movable: &[Movable; 4]) -> Option<(i64, RouterId)> {
        let allowed = |&&(_, router): &&(i64, RouterId)| {
            let weight = i64::from(self.graph.weight[router]);
            let after = if self.side[router] { self.lead - 2 * weight } else { self.lead + 2 * weight };
            after.abs() <= 2 * self.graph.heaviest || after.abs() < self.lead.abs()
        };
        let tops = movable.iter().filter_map(|set| set.last()).filter(allowed);
        // Among equals the side with more terminals gives one away.
        tops.max_by_key(|&&(gain, router)| (gain, self.side[router] == (self.lead > 0), router)).copied()
    }

    fn flip(&mut self, router: RouterId) {
        let weight = i64::from(self.graph.weight[router]);
        let here = &mut self.side[router];
        self.lead += if *here { -2 * weight } else { 2 * weight };
        *here = !*here;
    }
}
