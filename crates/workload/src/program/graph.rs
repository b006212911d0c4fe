//! A program held in memory, 32 bytes for an operation and 4 for a dependency.
//!
//! The operations of all ranks lie in one table, those of a rank by number, and so do the dependencies, by what comes first. So an operation knows what
//! it frees without a search, and a simulator can walk the tables as they are ([`Program::slices`]). Whoever reads a rank by its [`Cursor`] gets batches.

use super::{
    Batch, Cursor, Damage, Edge, Freed, Kind, Op, Program, Slices, Step,
    cuts::{Cut, cuts},
};
use base::{index::RankId, param::Unread, sorted::SortedMap};
use std::sync::Arc;

/// Most operations of a rank.
pub const MAX_OPS: usize = (1 << 31) - 1;

/// A dependency between two operations of a rank, packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    before: u32,
    after: Freed,
}

impl Link {
    /// `after` waits until `before` has finished, or only started. Both are below [`MAX_OPS`].
    #[must_use]
    pub fn new(before: u32, after: u32, on_start: bool) -> Self {
        Self { before, after: Freed::new(after, on_start) }
    }

    /// The operation that comes first.
    #[must_use]
    pub fn before(self) -> u32 {
        self.before
    }

    /// The operation that waits.
    #[must_use]
    pub fn after(self) -> u32 {
        self.after.number()
    }

    /// True if `before` need only have started.
    #[must_use]
    pub fn on_start(self) -> bool {
        self.after.on_start()
    }

    fn edge(self) -> Edge {
        Edge { before: self.before.into(), after: self.after().into(), on_start: self.on_start() }
    }
}

/// One rank of a [`Graph`] that is being made.
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

/// The tables of all ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Tables {
    /// By rank and number; behind the last one of all, one that is none, for the end of its dependencies.
    steps: Vec<Step>,
    /// By what comes first; those of one operation in the order in which it frees them.
    freed: Vec<Freed>,
    /// First step of each rank, and one past the last.
    starts: Vec<u32>,
}

impl Tables {
    fn rank(&self, rank: RankId) -> std::ops::Range<usize> {
        self.starts[rank.index()] as usize..self.starts[rank.index() + 1] as usize
    }

    #[inline]
    fn freed(&self, step: usize) -> &[Freed] {
        &self.freed[self.steps[step].first as usize..self.steps[step + 1].first as usize]
    }

    /// The dependencies of a rank, by what comes first.
    fn links(&self, rank: RankId) -> impl Iterator<Item = Link> {
        let steps = (0u32..).zip(self.rank(rank));
        steps.flat_map(|(before, step)| self.freed(step).iter().map(move |&after| Link { before, after }))
    }
}

/// Makes a graph, rank by rank.
#[derive(Debug, Default)]
pub struct Builder {
    tables: Tables,
    /// Ranks that came before their turn.
    waiting: SortedMap<u32, Part>,
    most: (u8, u8),
    largest: u64,
}

impl Builder {
    fn next(&self) -> u32 {
        self.tables.starts.len() as u32
    }

    /// Begins the next rank, whose steps and dependencies follow; then ranks may no longer come in any order.
    pub(super) fn begin(&mut self) {
        debug_assert!(self.waiting.is_empty(), "ranks come in order, or each as a whole");
        self.tables.starts.push(self.tables.steps.len() as u32);
    }

    /// Appends the next operation of the rank; its dependencies follow.
    #[inline]
    pub(super) fn step(&mut self, step: Step) {
        self.most = (self.most.0.max(step.cpu), self.most.1.max(step.nic));
        if step.kind == Kind::Send {
            self.largest = self.largest.max(step.amount);
        }
        self.tables.steps.push(Step { first: self.tables.freed.len() as u32, ..step });
    }

    /// Appends an operation that the last one appended frees.
    #[inline]
    pub(super) fn frees(&mut self, freed: Freed) {
        if freed.on_start()
            && let Some(step) = self.tables.steps.last_mut()
        {
            step.early = true;
        }
        self.tables.freed.push(freed);
    }

    /// The operations of the rank at hand.
    pub(super) fn steps(&mut self) -> &mut [Step] {
        let first = self.tables.starts.last().map_or(0, |&s| s as usize);
        &mut self.tables.steps[first..]
    }

    /// The dependencies of the rank at hand.
    pub(super) fn links(&self) -> Vec<Link> {
        let first = self.tables.starts.last().map_or(0, |&s| s as usize);
        let steps = &self.tables.steps[first..];
        let ends = steps.iter().skip(1).map(|s| s.first as usize).chain([self.tables.freed.len()]);
        let lists = (0u32..).zip(steps.iter().zip(ends));
        let freed = |(before, (step, end)): (u32, (&Step, usize))| {
            self.tables.freed[step.first as usize..end].iter().map(move |&after| Link { before, after })
        };
        lists.flat_map(freed).collect()
    }

    /// Bytes that adding a rank of so many operations and dependencies takes: what is kept, and what orders it meanwhile.
    #[must_use]
    pub const fn bytes(ops: usize, edges: usize) -> u64 {
        (ops * (size_of::<Step>() + 2 * size_of::<u32>()) + edges * (size_of::<Freed>() + size_of::<u32>()))
            as u64
    }

    /// Adds a rank, in any order: operations and edges, as in a [`Part`].
    pub fn add(&mut self, rank: RankId, ops: &[Op], edges: &[Link]) {
        if rank.number() != self.next() {
            self.waiting.insert(rank.number(), Part { ops: ops.into(), edges: edges.into() });
            return;
        }
        self.append(ops, edges);
        while let Some(part) = self.waiting.remove(&self.next()) {
            self.append(&part.ops, &part.edges);
        }
    }

    fn append(&mut self, ops: &[Op], edges: &[Link]) {
        // By what comes first; the order of those that one operation frees stays.
        let mut order = vec![0; ops.len() + 1];
        edges.iter().for_each(|e| order[e.before as usize + 1] += 1);
        for n in 1..order.len() {
            order[n] += order[n - 1];
        }
        self.tables.starts.push(self.tables.steps.len() as u32);
        let first = self.tables.freed.len();
        for (op, &begin) in ops.iter().zip(&order) {
            self.step(Step::from(op));
            if let Some(step) = self.tables.steps.last_mut() {
                step.first += begin;
            }
        }
        self.tables.freed.resize(first + edges.len(), Freed::new(0, false));
        for edge in edges {
            let place = &mut order[edge.before as usize];
            self.tables.freed[first + *place as usize] = edge.after;
            *place += 1;
        }
        let steps = self.steps();
        for edge in edges {
            steps[edge.after() as usize].waits += 1;
            steps[edge.before as usize].early |= edge.on_start();
        }
    }

    /// The graph, read from the file `name`. Ranks that were not added have no operations if others with greater numbers were.
    ///
    /// # Errors
    /// If 32 bits do not number its operations or its dependencies.
    pub fn finish(mut self, name: &str, positions: Positions) -> Result<Graph, String> {
        while let Some((rank, part)) = self.waiting.pop_first() {
            while self.next() < rank {
                self.append(&[], &[]);
            }
            self.append(&part.ops, &part.edges);
        }
        let (steps, freed) = (self.tables.steps.len(), self.tables.freed.len());
        if steps.max(freed) >= u32::MAX as usize {
            return Err("it has 2^32 operations or dependencies".to_owned());
        }
        self.tables.starts.push(steps as u32);
        self.tables.steps.push(Step { first: freed as u32, ..Step::NONE });
        let (cpus, nics) = (self.most.0 + 1, self.most.1 + 1);
        let tables = Arc::new(self.tables);
        Ok(Graph { tables, cpus, nics, largest: self.largest, name: name.into(), positions })
    }
}

/// All ranks' operations in memory. Each rank comes in batches where it can be cut ([`super::cuts`]), else as one.
#[derive(Clone, Debug)]
pub struct Graph {
    tables: Arc<Tables>,
    cpus: u8,
    nics: u8,
    largest: u64,
    name: Arc<str>,
    positions: Positions,
}

impl Graph {
    /// A graph of one part for each rank, read from the file `name`.
    ///
    /// No [`Op::cpu`] or [`Op::nic`] may be above 254, and no operation part of a collective.
    ///
    /// # Panics
    /// If it has 2^32 operations or dependencies.
    #[must_use]
    pub fn new(name: &str, positions: Positions, parts: Vec<Part>) -> Self {
        let mut builder = Builder::default();
        parts.iter().for_each(|part| builder.append(&part.ops, &part.edges));
        builder.finish(name, positions).expect("what is made in memory is smaller")
    }

    /// All operations and dependencies of a rank.
    #[must_use]
    pub fn part(&self, rank: RankId) -> Part {
        let steps = &self.tables.steps[self.tables.rank(rank)];
        Part { ops: steps.iter().map(Step::op).collect(), edges: self.tables.links(rank).collect() }
    }

    /// Bytes that operations and edges take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let Tables { steps, freed, starts } = &*self.tables;
        size_of_val(&steps[..]) + size_of_val(&freed[..]) + size_of_val(&starts[..])
    }
}

impl Program for Graph {
    fn ranks(&self) -> u32 {
        self.tables.starts.len() as u32 - 1
    }

    fn open(&self, rank: RankId) -> Box<dyn Cursor> {
        let steps = self.tables.rank(rank);
        let mut edges: Vec<Link> = self.tables.links(rank).collect();
        // By what waits, if no operation frees others in another order than theirs: nothing else changes then, and the rank can be cut.
        if edges.windows(2).all(|e| e[0].before != e[1].before || e[0].after() <= e[1].after()) {
            edges.sort_by_key(|e| e.after());
        }
        let cuts = cuts(steps.len(), edges.iter().map(|e| (e.before(), e.after())));
        Box::new(Reader { tables: Arc::clone(&self.tables), steps, edges, cuts, next: 0 })
    }

    fn cpus(&self) -> u8 {
        self.cpus
    }

    fn starts_in_past(&self) -> bool {
        true
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

    fn unread(&self) -> Vec<Unread> {
        let keys = ["speed", "library", "collectives", "combine"];
        Unread::all("job", &keys, "GOAL holds messages and times, not calls")
    }

    fn largest_message(&self) -> Option<u64> {
        Some(self.largest)
    }

    fn total(&self) -> Option<u64> {
        Some(self.tables.steps.len() as u64 - 1)
    }

    fn slices(&self) -> Option<Slices<'_>> {
        let Tables { steps, freed, starts } = &*self.tables;
        Some(Slices { steps, freed, starts })
    }
}

/// Hands a rank over, batch by batch.
struct Reader {
    tables: Arc<Tables>,
    steps: std::ops::Range<usize>,
    edges: Vec<Link>,
    cuts: Box<[Cut]>,
    /// Number of the next batch.
    next: usize,
}

impl Cursor for Reader {
    fn fill(&mut self, batch: &mut Batch) -> Result<(), Damage> {
        let Some(end) = self.cuts.get(self.next) else { return Ok(()) };
        let from = self.next.checked_sub(1).map_or(Cut { ops: 0, edges: 0 }, |before| self.cuts[before]);
        self.next += 1;
        let steps = &self.tables.steps[self.steps.clone()];
        batch.ops.extend(steps[from.ops as usize..end.ops as usize].iter().map(Step::op));
        let edges = &self.edges[from.edges as usize..end.edges as usize];
        batch.edges.extend(edges.iter().map(|link| link.edge()));
        Ok(())
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
        assert_eq!((size_of::<Step>(), size_of::<Freed>()), (32, 4));
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
