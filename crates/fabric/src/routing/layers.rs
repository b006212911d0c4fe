//! Deadlock-free virtual channels for arbitrary tables: layers.
//!
//! A *layer* is one virtual channel of every link. The routes of each pair of routers are put into the lowest layer
//! whose channel dependency graph stays free of cycles; a packet keeps its layer from end to end, so no deadlock can
//! form (LASH: Skeie, Lysne, Theiss 2002; DFSSSP: Domke, Hoefler, Nagel 2011). Layer by layer and destination by
//! destination, routers are taken after all their next hops, so that each adds only the dependencies between its own
//! links and theirs. The graph is kept in topological order while it grows (Pearce, Kelly 2006).

use super::table::Table;
use crate::{
    deadlock::Channel,
    graph::{Fabric, Peer},
};
use base::index::{ChannelId, Column, LinkId, RouterId};

/// What [`assign`] found.
pub(crate) struct Layers {
    /// Layer of the routes of (plane, destination router, source router): index
    /// `(plane * ends + destination) * ends + source`.
    layer: Vec<u8>,
    ends: usize,
    /// Number of layers in use, at least one.
    pub(crate) count: u8,
}

impl Layers {
    /// Layer of the routes between two routers, given by their numbers in the table.
    #[inline]
    pub(crate) fn of(&self, plane: u32, source: u32, destination: u32) -> ChannelId {
        let row = plane as usize * self.ends + destination as usize;
        ChannelId::new(self.layer[row * self.ends + source as usize])
    }
}

/// Routes that fit no layer.
pub(crate) struct Refused {
    /// Source and destination router of the first such routes.
    pub(crate) pair: (RouterId, RouterId),
    /// The cycle that they would close in the last layer.
    pub(crate) cycle: Vec<Channel>,
}

const UNASSIGNED: u8 = u8::MAX;

/// Gives every route of the table a layer, of at most `most`; gives up, as if they did not suffice, when the search for cycles has looked at
/// `budget` links.
pub(crate) fn assign(fabric: &Fabric, table: &Table, most: u8, budget: u64) -> Result<Layers, Refused> {
    let ends = table.ends.len();
    let rows = table.planes() as usize * ends;
    // No route turns back, and nothing else closes a cycle there. With a budget the search may be what gives up.
    if budget == u64::MAX && is_forest(fabric) {
        return Ok(Layers { layer: vec![0; rows * ends], ends, count: 1 });
    }
    let mut layers = Layers { layer: vec![UNASSIGNED; rows * ends], ends, count: 1 };
    let mut left = layers.layer.len();
    let mut looks = 0;
    for number in 0..most {
        let mut filling = Filling {
            fabric,
            table,
            number,
            order: Order::new(fabric),
            refused: None,
            walk: Walk::new(fabric),
        };
        for row in 0..rows {
            let part = &mut layers.layer[row * ends..][..ends];
            left -= filling.destination((row / ends) as u32, (row % ends) as u32, part);
            if looks + filling.order.looks > budget {
                return Err(filling
                    .refused
                    .unwrap_or(Refused { pair: Default::default(), cycle: Vec::new() }));
            }
        }
        looks += filling.order.looks;
        layers.count = number + 1;
        match filling.refused {
            None => debug_assert_eq!(left, 0),
            Some(refused) if number + 1 == most => return Err(refused),
            Some(_) => continue,
        }
        break;
    }
    Ok(layers)
}

/// True if from no router another way than the same one leads back, parallel cables aside.
fn is_forest(fabric: &Fabric) -> bool {
    const UNSEEN: RouterId = RouterId::new(u32::MAX);
    let mut parent = Column::filled(fabric.routers() as usize, UNSEEN);
    let mut open = Vec::new();
    for root in RouterId::first(fabric.routers()) {
        if parent[root] == UNSEEN {
            parent[root] = root;
            open.push(root);
        }
        while let Some(router) = open.pop() {
            for (_, next) in fabric.neighbours(router) {
                if parent[next] == UNSEEN {
                    parent[next] = router;
                    open.push(next);
                } else if parent[next] != router && parent[router] != next {
                    return false;
                }
            }
        }
    }
    true
}

/// Gives every route a layer, of at most `most`; a route is its links in order. The layers, and how many are in use.
///
/// # Errors
/// The number of the first route that fits none, and the cycle that it would close in the last one.
pub(crate) fn assign_routes(
    fabric: &Fabric,
    routes: &[Box<[LinkId]>],
    most: u8,
) -> Result<(Vec<u8>, u8), (usize, Vec<Channel>)> {
    let mut layers = vec![UNASSIGNED; routes.len()];
    let mut left: Vec<usize> = (0..routes.len()).collect();
    for number in 0..most {
        let mut order = Order::new(fabric);
        let mut refused = None;
        let mut later = Vec::new();
        for route in left {
            match order.add_all(&routes[route]) {
                None => layers[route] = number,
                Some(cycle) => {
                    refused.get_or_insert((route, cycle));
                    later.push(route);
                }
            }
        }
        match refused {
            None => return Ok((layers, number + 1)),
            Some((route, cycle)) if number + 1 == most => {
                return Err((
                    route,
                    cycle.iter().map(|&link| channel(fabric, link, ChannelId::new(number))).collect(),
                ));
            }
            Some(_) => left = later,
        }
    }
    Ok((layers, 1))
}

/// A link and a layer by name.
fn channel(fabric: &Fabric, link: LinkId, vc: ChannelId) -> Channel {
    let (router, port) = fabric.output(link);
    Channel { router, port, vc, to: fabric.next_router(router, port).unwrap_or(router) }
}

/// A router's routes to one destination, while a layer is filled.
#[derive(Clone, Copy, PartialEq)]
enum Mark {
    New,
    /// All its routes are in the layer.
    In,
    /// Likewise, and a route that was accepted needs them.
    Kept,
    /// Some would close a cycle.
    Out,
}

/// That packets may wait on one link for another.
struct Dependency {
    /// Router whose routes need it.
    router: RouterId,
    from: LinkId,
    to: LinkId,
}

struct Walk {
    marks: Column<RouterId, Mark>,
    /// Routers that were marked.
    marked: Vec<RouterId>,
    /// Dependencies that were added.
    added: Vec<Dependency>,
    /// Depth-first path: router and how many of its next hops are done.
    path: Vec<(RouterId, usize)>,
}

impl Walk {
    fn new(fabric: &Fabric) -> Self {
        Self {
            marks: Column::filled(fabric.routers() as usize, Mark::New),
            marked: Vec::new(),
            added: Vec::new(),
            path: Vec::new(),
        }
    }
}

/// One layer being filled.
struct Filling<'a> {
    fabric: &'a Fabric,
    table: &'a Table,
    number: u8,
    order: Order<'a>,
    refused: Option<Refused>,
    walk: Walk,
}

impl Filling<'_> {
    /// Puts those routes to a destination that have no layer yet into this one, if they fit. Returns how many did.
    fn destination(&mut self, plane: u32, end: u32, layers: &mut [u8]) -> usize {
        let mut added = 0;
        for (source, layer) in layers.iter_mut().enumerate() {
            if *layer != UNASSIGNED {
                continue;
            }
            let router = self.table.ends[source];
            self.visit(plane, end, router);
            if matches!(self.walk.marks[router], Mark::In | Mark::Kept) {
                *layer = self.number;
                added += 1;
                self.keep(plane, end, router);
            }
        }
        // What was added for routes that did not fit in the end is taken out again.
        for Dependency { router, from, to } in self.walk.added.drain(..) {
            if self.walk.marks[router] != Mark::Kept {
                self.order.remove(from, to);
            }
        }
        for router in self.walk.marked.drain(..) {
            self.walk.marks[router] = Mark::New;
        }
        added
    }

    /// Marks a router and all behind it on its routes as needed.
    fn keep(&mut self, plane: u32, end: u32, router: RouterId) {
        let mut todo = vec![router];
        while let Some(router) = todo.pop() {
            if std::mem::replace(&mut self.walk.marks[router], Mark::Kept) == Mark::Kept {
                continue;
            }
            let ports = self.table.ports(plane, end, router).iter();
            todo.extend(ports.filter_map(|&port| self.fabric.next_router(router, port)));
        }
    }

    /// Marks a router after all routers on its routes, by depth-first search without recursion.
    fn visit(&mut self, plane: u32, end: u32, router: RouterId) {
        if self.walk.marks[router] != Mark::New {
            return;
        }
        self.walk.path.push((router, 0));
        while let Some(&(router, done)) = self.walk.path.last() {
            let ports = self.table.ports(plane, end, router);
            if let Some(&port) = ports.get(done) {
                if let Some(top) = self.walk.path.last_mut() {
                    top.1 += 1;
                }
                if let Some(next) = self.fabric.next_router(router, port)
                    && self.walk.marks[next] == Mark::New
                {
                    self.walk.path.push((next, 0));
                }
                continue;
            }
            self.walk.path.pop();
            let fits = self.fits(plane, end, router);
            self.walk.marks[router] = if fits { Mark::In } else { Mark::Out };
            self.walk.marked.push(router);
        }
    }

    /// Adds the dependencies between a router's links and those of its next hops, or none if one would close a cycle.
    fn fits(&mut self, plane: u32, end: u32, router: RouterId) -> bool {
        let mut added = Vec::new();
        for &port in self.table.ports(plane, end, router) {
            let Some(next) = self.fabric.next_router(router, port) else { continue };
            let mut ok = matches!(self.walk.marks[next], Mark::In | Mark::Kept);
            let from = self.fabric.port_index(router, port);
            for &onward in if ok { self.table.ports(plane, end, next) } else { &[] } {
                let to = self.fabric.port_index(next, onward);
                match self.order.add(from, to) {
                    Added::New => added.push((from, to)),
                    Added::Known => {}
                    Added::Cycle(cycle) => {
                        self.refuse(router, end, &cycle);
                        ok = false;
                        break;
                    }
                }
            }
            if !ok {
                added.iter().for_each(|&(from, to)| self.order.remove(from, to));
                return false;
            }
        }
        self.walk.added.extend(added.into_iter().map(|(from, to)| Dependency { router, from, to }));
        true
    }

    fn refuse(&mut self, router: RouterId, end: u32, cycle: &[LinkId]) {
        if self.refused.is_none() {
            let name = |&link: &LinkId| channel(self.fabric, link, ChannelId::new(self.number));
            let pair = (router, self.table.ends[end as usize]);
            self.refused = Some(Refused { pair, cycle: cycle.iter().map(name).collect() });
        }
    }
}

/// Result of [`Order::add`].
pub(crate) enum Added {
    /// The edge is new.
    New,
    /// It was there.
    Known,
    /// It would close this cycle and was not added.
    Cycle(Vec<LinkId>),
}

/// A graph of links (global port indices) without cycles, in topological order while edges are added.
pub(crate) struct Order<'a> {
    fabric: &'a Fabric,
    /// By link: a bit for each port of the router that it enters; empty until one is set.
    next: Column<LinkId, Vec<u64>>,
    /// Position of each link in a topological order.
    rank: Column<LinkId, u32>,
    /// Link from which the search came, [`NO_LINK`] if not seen.
    seen: Column<LinkId, LinkId>,
    /// Links that searches have come to.
    looks: u64,
}

const NO_LINK: LinkId = LinkId::new(u32::MAX);

impl<'a> Order<'a> {
    /// A graph without edges.
    pub(crate) fn new(fabric: &'a Fabric) -> Self {
        let links = fabric.ports().len();
        Self {
            fabric,
            next: Column::filled(links, Vec::new()),
            rank: (0..links as u32).collect(),
            seen: Column::filled(links, NO_LINK),
            looks: 0,
        }
    }

    /// Word and bit of the edge to `to` among those of a link that enters the router of `to`.
    fn bit(&self, from: LinkId, to: LinkId) -> (usize, u64) {
        let bit = to.number() - self.entered(from).number();
        (bit as usize / 64, 1 << (bit % 64))
    }

    /// First port index of the router that a link enters.
    fn entered(&self, link: LinkId) -> LinkId {
        match self.fabric.port(link).peer {
            Peer::Router { router, .. } => self.fabric.first_port(router),
            _ => LinkId::new(0),
        }
    }

    /// Takes an edge out.
    pub(crate) fn remove(&mut self, from: LinkId, to: LinkId) {
        let (word, bit) = self.bit(from, to);
        self.next[from][word] &= !bit;
    }

    /// Adds the edges between consecutive links, or none and the cycle that one would close.
    fn add_all(&mut self, links: &[LinkId]) -> Option<Vec<LinkId>> {
        let mut added = Vec::new();
        for pair in links.windows(2) {
            match self.add(pair[0], pair[1]) {
                Added::New => added.push((pair[0], pair[1])),
                Added::Known => {}
                Added::Cycle(cycle) => {
                    added.into_iter().for_each(|(from, to)| self.remove(from, to));
                    return Some(cycle);
                }
            }
        }
        None
    }

    /// Adds the edge from a link to one that leaves the router it enters.
    pub(crate) fn add(&mut self, from: LinkId, to: LinkId) -> Added {
        let (word, bit) = self.bit(from, to);
        if self.next[from].get(word).is_some_and(|w| w & bit != 0) {
            return Added::Known;
        }
        if self.rank[from] > self.rank[to]
            && let Err(cycle) = self.reorder(from, to)
        {
            return Added::Cycle(cycle);
        }
        let Peer::Router { router, .. } = self.fabric.port(from).peer else { return Added::Known };
        let words = self.fabric.ports_of(router).len().div_ceil(64);
        let bits = &mut self.next[from];
        if bits.is_empty() {
            bits.resize(words, 0);
        }
        bits[word] |= bit;
        Added::New
    }

    /// Moves what follows `to` behind what leads to `from`; the cycle if that cannot be.
    fn reorder(&mut self, from: LinkId, to: LinkId) -> Result<(), Vec<LinkId>> {
        let (low, high) = (self.rank[to], self.rank[from]);
        let mut after = vec![to];
        self.seen[to] = to;
        let mut head = 0;
        let mut successors = Vec::new();
        let mut cycle = None;
        'search: while let Some(&link) = after.get(head) {
            head += 1;
            successors.clear();
            self.successors(link, &mut successors);
            self.looks += successors.len() as u64;
            for &next in &successors {
                if self.seen[next] == NO_LINK && self.rank[next] <= high {
                    self.seen[next] = link;
                    after.push(next);
                    if next == from {
                        cycle = Some(self.path_back(from, to));
                        break 'search;
                    }
                }
            }
        }
        for &link in &after {
            self.seen[link] = NO_LINK;
        }
        if let Some(cycle) = cycle {
            return Err(cycle);
        }
        let mut before = vec![from];
        self.seen[from] = from;
        head = 0;
        while let Some(&link) = before.get(head) {
            head += 1;
            successors.clear();
            self.predecessors(link, &mut successors);
            self.looks += successors.len() as u64;
            for &earlier in &successors {
                if self.seen[earlier] == NO_LINK && self.rank[earlier] >= low {
                    self.seen[earlier] = link;
                    before.push(earlier);
                }
            }
        }
        for &link in &before {
            self.seen[link] = NO_LINK;
        }
        before.sort_unstable_by_key(|&l| self.rank[l]);
        after.sort_unstable_by_key(|&l| self.rank[l]);
        before.extend(after);
        let mut ranks: Vec<u32> = before.iter().map(|&l| self.rank[l]).collect();
        ranks.sort_unstable();
        for (link, rank) in before.into_iter().zip(ranks) {
            self.rank[link] = rank;
        }
        Ok(())
    }

    /// The links from `to` to `from` along which the search came.
    fn path_back(&self, from: LinkId, to: LinkId) -> Vec<LinkId> {
        let mut path = vec![from];
        let mut link = from;
        while link != to {
            link = self.seen[link];
            path.push(link);
        }
        path.reverse();
        path
    }

    fn successors(&self, link: LinkId, out: &mut Vec<LinkId>) {
        let first = self.entered(link);
        for (i, &word) in self.next[link].iter().enumerate() {
            let mut rest = word;
            while rest != 0 {
                out.push(first.plus(i as u32 * 64 + rest.trailing_zeros()));
                rest &= rest - 1;
            }
        }
    }

    fn predecessors(&self, link: LinkId, out: &mut Vec<LinkId>) {
        let router = self.fabric.router_of(link);
        for port in self.fabric.ports_of(router) {
            if let Peer::Router { router: from, port } = port.peer {
                let earlier = self.fabric.port_index(from, port);
                let (word, bit) = self.bit(earlier, link);
                if self.next[earlier].get(word).is_some_and(|w| w & bit != 0) {
                    out.push(earlier);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::testing;
    use base::index::PortId;

    #[test]
    fn an_order_takes_all_edges_but_those_that_close_a_cycle() {
        // A ring of five, upward links are port 1.
        let ring = testing::grid(true, &[5]);
        let link = |router: u32| ring.port_index(RouterId::new(router % 5), PortId::new(1));
        let mut order = Order::new(&ring);
        for i in [3, 1, 2, 0] {
            assert!(matches!(order.add(link(i), link(i + 1)), Added::New));
        }
        assert!(matches!(order.add(link(2), link(3)), Added::Known));
        let Added::Cycle(cycle) = order.add(link(4), link(0)) else { panic!("a cycle was added") };
        assert_eq!(cycle, (0..5).map(link).collect::<Vec<_>>());
        order.remove(link(2), link(3));
        assert!(matches!(order.add(link(4), link(0)), Added::New));
        assert!((0..5).filter(|&i| i != 2).all(|i| { order.rank[link(i)] < order.rank[link(i + 1)] }));
    }

    /// On a tree nothing is searched, and what is found is what a search finds.
    #[test]
    fn trees_have_one_layer() {
        for (wraps, dims) in [(false, &[9][..]), (true, &[2]), (false, &[1]), (true, &[5]), (false, &[3, 2])]
        {
            let fabric = testing::grid(wraps, dims);
            let table = crate::routing::shortest_path::shortest(&fabric, &[1; 2], 0).unwrap();
            let (quick, searched) =
                (assign(&fabric, &table, 16, u64::MAX), assign(&fabric, &table, 16, u64::MAX - 1));
            let (quick, searched) = (quick.ok().unwrap(), searched.ok().unwrap());
            assert_eq!((&quick.layer, quick.count), (&searched.layer, searched.count), "{dims:?}");
            assert_eq!(is_forest(&fabric), dims.len() == 1 && dims[0] != 5, "{dims:?}");
        }
    }

    /// A search that may not look far gives up, whatever it has found.
    #[test]
    fn a_budget_ends_the_search() {
        let torus = testing::grid(true, &[5, 5]);
        let table = crate::routing::shortest_path::shortest(&torus, &[1, 1], 0).unwrap();
        let whole = assign(&torus, &table, 16, u64::MAX).ok().unwrap();
        assert!(whole.count > 1);
        assert!(assign(&torus, &table, 16, 10).is_err());
        assert_eq!(assign(&torus, &table, 16, u64::MAX - 1).ok().unwrap().layer, whole.layer);
    }
}
