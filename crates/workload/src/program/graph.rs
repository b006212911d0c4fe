//! A program held in memory: every rank's operations and edges, some 45 bytes for an operation with its edges.

use super::{
    Batch, Cursor, Damage, Edge, Kind, Op, Program,
    cuts::{Cut, cuts},
};
use base::index::RankId;
use std::sync::Arc;

/// Most operations of a rank.
pub const MAX_OPS: usize = (1 << 31) - 1;

/// A dependency between two operations of a rank, packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    before: u32,
    /// The operation that waits, times two; plus one if `before` need only have started.
    after: u32,
}

impl Link {
    /// `after` waits until `before` has finished, or only started. Both are below [`MAX_OPS`].
    #[must_use]
    pub fn new(before: u32, after: u32, on_start: bool) -> Self {
        Self { before, after: after << 1 | u32::from(on_start) }
    }

    /// The operation that comes first.
    #[must_use]
    pub fn before(self) -> u32 {
        self.before
    }

    /// The operation that waits.
    #[must_use]
    pub fn after(self) -> u32 {
        self.after >> 1
    }

    /// True if `before` need only have started.
    #[must_use]
    pub fn on_start(self) -> bool {
        self.after & 1 == 1
    }

    fn edge(self) -> Edge {
        Edge { before: self.before.into(), after: self.after().into(), on_start: self.on_start() }
    }
}

/// One rank of a [`Graph`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Its operations; [`Link`]s number them by their place here, from 0.
    pub ops: Box<[Op]>,
    /// Their edges, in the order in which a finished operation frees others. No cycle is among them ([`cycle`]).
    pub edges: Box<[Link]>,
}

/// What [`Op::origin`] counts in a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Positions {
    /// Lines of a text file, from 1.
    Lines,
    /// Operations of a rank, from 0.
    Operations,
}

/// All ranks' operations in memory. Each rank comes in batches where it can be cut ([`super::cuts`]), else as one.
#[derive(Clone, Debug)]
pub struct Graph {
    parts: Arc<[Part]>,
    /// Ends of each rank's batches.
    cuts: Arc<[Box<[Cut]>]>,
    cpus: u8,
    nics: u8,
    name: String,
    positions: Positions,
}

impl Graph {
    /// A graph of one part for each rank, read from the file `name`.
    ///
    /// No [`Op::cpu`] or [`Op::nic`] may be above 254, and no operation part of a collective.
    #[must_use]
    pub fn new(name: &str, positions: Positions, mut parts: Vec<Part>) -> Self {
        let most = |of: fn(&Op) -> u8| parts.iter().flat_map(|p| p.ops.iter().map(of)).max().unwrap_or(0) + 1;
        let (cpus, nics) = (most(|op| op.cpu), most(|op| op.nic));
        parts.iter_mut().for_each(Part::order);
        let pairs = |p: &Part| cuts(p.ops.len(), p.edges.iter().map(|e| (e.before(), e.after())));
        let cuts = parts.iter().map(pairs).collect();
        Self { parts: parts.into(), cuts, cpus, nics, name: name.to_owned(), positions }
    }

    /// All ranks, in order.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Bytes that operations and edges take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.parts.iter().map(|p| size_of::<Part>() + size_of_val(&*p.ops) + size_of_val(&*p.edges)).sum()
    }
}

impl Program for Graph {
    fn ranks(&self) -> u32 {
        u32::try_from(self.parts.len()).expect("ranks are counted in 32 bits")
    }

    fn open(&self, rank: RankId) -> Box<dyn Cursor> {
        let (parts, cuts) = (Arc::clone(&self.parts), Arc::clone(&self.cuts));
        Box::new(Reader { parts, cuts, rank, next: 0 })
    }

    fn cpus(&self) -> u8 {
        self.cpus
    }

    fn nics(&self) -> u8 {
        self.nics
    }

    fn describe(&self, rank: RankId, origin: u32) -> String {
        match self.positions {
            Positions::Lines => format!("{}:{origin}", self.name),
            Positions::Operations => format!("operation {origin} of rank {rank} of {}", self.name),
        }
    }

    fn largest_message(&self) -> Option<u64> {
        let sends = self.parts.iter().flat_map(|p| p.ops.iter()).filter(|op| op.kind == Kind::Send);
        Some(sends.map(|op| op.amount).max().unwrap_or(0))
    }

    fn total(&self) -> Option<u64> {
        Some(self.parts.iter().map(|p| p.ops.len() as u64).sum())
    }
}

/// Hands a rank over, batch by batch.
struct Reader {
    parts: Arc<[Part]>,
    cuts: Arc<[Box<[Cut]>]>,
    rank: RankId,
    /// Number of the next batch.
    next: usize,
}

impl Cursor for Reader {
    fn fill(&mut self, batch: &mut Batch) -> Result<(), Damage> {
        let (part, cuts) = (&self.parts[self.rank.index()], &self.cuts[self.rank.index()]);
        let Some(end) = cuts.get(self.next) else { return Ok(()) };
        let from = self.next.checked_sub(1).map_or(Cut { ops: 0, edges: 0 }, |before| cuts[before]);
        self.next += 1;
        batch.ops.extend_from_slice(&part.ops[from.ops as usize..end.ops as usize]);
        let edges = &part.edges[from.edges as usize..end.edges as usize];
        batch.edges.extend(edges.iter().map(|link| link.edge()));
        Ok(())
    }
}

impl Part {
    /// Sorts the edges by the operation that waits, if no operation frees others in another order than theirs: nothing else changes then.
    fn order(&mut self) {
        if self.edges.is_sorted_by_key(|e| e.after()) {
            return;
        }
        let mut last = vec![0; self.ops.len()];
        for edge in &self.edges {
            let before = &mut last[edge.before() as usize];
            if *before > edge.after() {
                return;
            }
            *before = edge.after();
        }
        self.edges.sort_by_key(|e| e.after());
    }
}

/// Operations that wait for each other in a circle, each for the next and the last for the first; `None` if there are none.
///
/// Kahn's algorithm; where every edge points forward there is nothing to do.
#[must_use]
pub fn cycle(ops: usize, edges: &[Link]) -> Option<Vec<u32>> {
    if edges.iter().all(|e| e.before() < e.after()) {
        return None;
    }
    let mut waits = vec![0u32; ops];
    let mut first = vec![0u32; ops + 1];
    for edge in edges {
        waits[edge.after() as usize] += 1;
        first[edge.before() as usize + 1] += 1;
    }
    for i in 0..ops {
        first[i + 1] += first[i];
    }
    let mut next = first.clone();
    let mut freed = vec![0u32; edges.len()];
    for edge in edges {
        let at = &mut next[edge.before() as usize];
        freed[*at as usize] = edge.after();
        *at += 1;
    }
    let mut free: Vec<u32> = (0..ops as u32).filter(|&i| waits[i as usize] == 0).collect();
    while let Some(i) = free.pop() {
        for &after in &freed[first[i as usize] as usize..first[i as usize + 1] as usize] {
            waits[after as usize] -= 1;
            if waits[after as usize] == 0 {
                free.push(after);
            }
        }
    }
    // What still waits, waits for something that still waits: following that leads into a circle.
    let mut blocker = vec![u32::MAX; ops];
    for edge in edges.iter().filter(|e| waits[e.before() as usize] > 0) {
        blocker[edge.after() as usize] = edge.before();
    }
    let mut at = (0..ops as u32).find(|&i| waits[i as usize] > 0)?;
    let mut seen = vec![u32::MAX; ops];
    let mut path = Vec::new();
    while seen[at as usize] == u32::MAX {
        seen[at as usize] = path.len() as u32;
        path.push(at);
        at = blocker[at as usize];
    }
    Some(path.split_off(seen[at as usize] as usize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_operation_with_its_edges_is_small() {
        assert_eq!((size_of::<Op>(), size_of::<Link>(), size_of::<Part>()), (32, 8, 32));
    }

    #[test]
    fn circles_are_shown() {
        let link = |before, after| Link::new(before, after, false);
        assert_eq!(cycle(3, &[link(0, 1), link(1, 2)]), None);
        assert_eq!(cycle(3, &[link(2, 1), link(1, 0)]), None);
        assert_eq!(cycle(1, &[link(0, 0)]), Some(vec![0]));
        assert_eq!(cycle(4, &[link(3, 0), link(1, 2), link(2, 1), link(2, 3)]), Some(vec![2, 1]));
    }

    proptest! {
        /// Edges along any order have no circle; one edge against a path closes one, all of whose steps are edges.
        #[test]
        fn circles_are_found(
            pairs in prop::collection::vec((0u32..40, 0u32..40), 1..80), multiplier in 0usize..16, pick: prop::sample::Index,
        ) {
            let place = |i: u32| (i * [1, 3, 7, 9, 11, 13, 17, 19, 21, 23, 27, 29, 31, 33, 37, 39][multiplier]) % 40;
            let mut edges: Vec<Link> = pairs.iter().filter(|p| p.0 != p.1)
                .map(|&(a, b)| Link::new(place(a.min(b)), place(a.max(b)), a % 2 == 0)).collect();
            prop_assert_eq!(cycle(40, &edges), None);
            if edges.is_empty() {
                return Ok(());
            }
            let closed = edges[pick.index(edges.len())];
            edges.push(Link::new(closed.after(), closed.before(), true));
            let circle = cycle(40, &edges).unwrap();
            for (i, &waits) in circle.iter().enumerate() {
                let before = circle[(i + 1) % circle.len()];
                prop_assert!(edges.iter().any(|e| (e.before(), e.after()) == (before, waits)));
            }
        }
    }
}
