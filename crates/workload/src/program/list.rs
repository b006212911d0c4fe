//! Programs held in memory: a list of operations and edges per rank, handed over in batches.

use super::{
    After, Batch, Cursor, Damage, Edge, Kind, Op, Program,
    cuts::{Cut, cuts},
    mpi::Mode,
};
use base::index::RankId;
use std::sync::Arc;

/// Operations and edges of one rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rank {
    /// Operations, by number.
    pub ops: Vec<Op>,
    /// Dependencies; those of one `before` free in this order.
    pub edges: Vec<Edge>,
}

/// A program in memory. A rank's graph comes in batches where it can be cut ([`super::cuts`]), or in batches of a given size.
#[derive(Clone, Debug, Default)]
pub struct List {
    ranks: Arc<Vec<Rank>>,
    cuts: Arc<[Box<[Cut]>]>,
    cpus: u8,
    nics: u8,
    largest: Option<u64>,
    chained: bool,
    collectives: Vec<String>,
}

impl List {
    /// A program of these ranks.
    #[must_use]
    pub fn new(ranks: Vec<Rank>) -> Self {
        let ops = || ranks.iter().flat_map(|r| &r.ops);
        let (cpus, nics) =
            (ops().map(|o| o.cpu + 1).max().unwrap_or(1), ops().map(|o| o.nic + 1).max().unwrap_or(1));
        let sends = || ops().filter(|o| o.kind == Kind::Send);
        let waits = sends().any(|o| o.mode == Mode::Synchronous);
        let largest = (!waits).then(|| sends().map(|o| o.amount).max().unwrap_or(0));
        let chained = ranks.iter().all(|r| super::chained(&r.ops, true));
        let pairs = |r: &Rank| cuts(r.ops.len(), r.edges.iter().map(|e| (e.before as u32, e.after as u32)));
        let cuts = ranks.iter().map(pairs).collect();
        Self { ranks: Arc::new(ranks), cuts, cpus, nics, largest, chained, collectives: Vec::new() }
    }

    /// The same program in batches of `ops` operations.
    ///
    /// # Panics
    /// If an edge leads backward, or `ops` is zero: such a program has no batches.
    #[must_use]
    pub fn in_batches(mut self, ops: usize) -> Self {
        assert!(ops > 0, "a batch holds an operation");
        let forward = self.ranks.iter().flat_map(|r| &r.edges).all(|e| e.before < e.after);
        assert!(forward, "edges of a stream lead forward");
        let cut = |r: &Rank| -> Box<[Cut]> {
            let ends = (ops..r.ops.len()).step_by(ops).chain([r.ops.len()]);
            let edges = |end: usize| r.edges.iter().filter(|e| e.after < end as u64).count() as u32;
            ends.map(|end| Cut { ops: end as u32, edges: edges(end) }).collect()
        };
        let mut ranks = self.ranks.as_ref().clone();
        ranks.iter_mut().for_each(|r| r.edges.sort_by_key(|e| e.after));
        self.cuts = ranks.iter().map(cut).collect();
        self.ranks = Arc::new(ranks);
        self
    }

    /// Names of collectives, for [`Op::collective`].
    #[must_use]
    pub fn with_collectives(mut self, names: &[&str]) -> Self {
        self.collectives = names.iter().map(|&n| n.to_owned()).collect();
        self
    }
}

impl Program for List {
    fn ranks(&self) -> u32 {
        self.ranks.len() as u32
    }

    fn open(&self, rank: RankId) -> Box<dyn Cursor> {
        let (ranks, cuts) = (Arc::clone(&self.ranks), Arc::clone(&self.cuts));
        Box::new(Reader { ranks, cuts, rank, next: 0 })
    }

    fn cpus(&self) -> u8 {
        self.cpus
    }

    fn nics(&self) -> u8 {
        self.nics
    }

    fn describe(&self, _rank: RankId, origin: u32) -> String {
        format!("operation {origin}")
    }

    fn collectives(&self) -> &[String] {
        &self.collectives
    }

    fn chained(&self) -> bool {
        self.chained
    }

    fn total(&self) -> Option<u64> {
        Some(self.ranks.iter().map(|r| r.ops.len() as u64).sum())
    }

    fn largest_message(&self) -> Option<u64> {
        self.largest
    }
}

struct Reader {
    ranks: Arc<Vec<Rank>>,
    cuts: Arc<[Box<[Cut]>]>,
    rank: RankId,
    /// Number of the next batch.
    next: usize,
}

impl Cursor for Reader {
    fn fill(&mut self, batch: &mut Batch) -> Result<(), Damage> {
        let (rank, cuts) = (&self.ranks[self.rank.index()], &self.cuts[self.rank.index()]);
        let Some(end) = cuts.get(self.next) else { return Ok(()) };
        let from = self.next.checked_sub(1).map_or(Cut { ops: 0, edges: 0 }, |before| cuts[before]);
        self.next += 1;
        batch.ops.extend_from_slice(&rank.ops[from.ops as usize..end.ops as usize]);
        batch.edges.extend_from_slice(&rank.edges[from.edges as usize..end.edges as usize]);
        Ok(())
    }
}

impl Rank {
    /// Appends an operation and returns its number.
    pub fn push(&mut self, op: Op) -> u64 {
        self.ops.push(Op { origin: self.ops.len() as u32, ..op });
        self.ops.len() as u64 - 1
    }

    /// `after` starts when `before` has finished.
    pub fn requires(&mut self, after: u64, before: u64) {
        self.edges.push(Edge { before, after, on_start: false });
    }

    /// `after` starts when `before` has started.
    pub fn follows(&mut self, after: u64, before: u64) {
        self.edges.push(Edge { before, after, on_start: true });
    }
}

fn plain(kind: Kind, peer: u32, amount: u64, tag: u32) -> Op {
    let after = After::Nothing;
    Op {
        kind,
        cpu: 0,
        nic: 0,
        after,
        peer: RankId::new(peer),
        tag,
        context: 0,
        mode: Mode::Standard,
        amount,
        origin: 0,
        collective: 0,
    }
}

/// A send that waits for nothing; its peer is written as the plain number of a rank.
#[must_use]
pub fn send(peer: u32, bytes: u64, tag: u32) -> Op {
    plain(Kind::Send, peer, bytes, tag)
}

/// A receive that waits for nothing; its peer is written as the plain number of a rank.
#[must_use]
pub fn recv(peer: u32, bytes: u64, tag: u32) -> Op {
    plain(Kind::Recv, peer, bytes, tag)
}

/// A computation that waits for nothing.
#[must_use]
pub fn calc(picoseconds: u64) -> Op {
    plain(Kind::Calc, 0, picoseconds, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_hold_everything_once() {
        let mut rank = Rank::default();
        for n in 0..10 {
            let op = rank.push(calc(n));
            if n >= 3 {
                rank.requires(op, n - 3);
            }
        }
        for size in [1, 3, 10, 11] {
            let list = List::new(vec![rank.clone()]).in_batches(size);
            let (mut cursor, mut whole, mut batch) =
                (list.open(RankId::new(0)), Rank::default(), Batch::default());
            loop {
                batch.clear();
                cursor.fill(&mut batch).unwrap();
                if batch.ops.is_empty() {
                    break;
                }
                let known = (whole.ops.len() + batch.ops.len()) as u64;
                assert!(batch.edges.iter().all(|e| e.after < known));
                whole.ops.append(&mut batch.ops);
                whole.edges.append(&mut batch.edges);
            }
            assert_eq!(whole, rank);
        }
    }
}
