//! From graphs of work to operations: each piece waits for those that it names, not for the one before.
//!
//! A piece that computes or transfers is one operation; a collective is the transfers of its rounds, ended by a join. A piece without work is a join. Pieces come in
//! an order in which none waits for a later one, so operations are handed over in batches as they are read.

use super::{
    agreement::{Agreed, Agreement, MAKERS},
    chain::{Chain, blank},
    cursor::Running,
    mismatch,
    shared::Options,
};
use crate::program::{
    After, Batch, Cursor, Damage, Kind, Op, Program, Remark,
    collective::Task,
    mpi::{Collective, CollectiveKind, CommRank, Dropped},
};
use base::{index::RankId, param::Unread, sorted::SortedMap, time::Ps};
use std::sync::Arc;

/// Operations after which a batch is handed over.
const BATCH: usize = 64;

/// What a piece does.
#[derive(Clone, Debug)]
pub enum Work {
    /// Others meet here.
    Nothing,
    /// Computes for so long.
    Compute(Ps),
    /// Sends bytes with a tag to a rank.
    Send(RankId, u32, u64),
    /// Receives bytes with a tag from a rank.
    Receive(RankId, u32, u64),
    /// Takes part in a collective; its communicator is the group.
    Collective(Collective, Arc<Group>, u32),
}

/// Ranks that do collectives together.
#[derive(Debug)]
pub struct Group {
    /// Number of the group in the job, from 0.
    pub number: u32,
    /// Ranks of the job in it.
    pub members: Arc<[RankId]>,
}

/// A piece of a rank's work.
#[derive(Clone, Debug)]
pub struct Piece {
    /// What it does.
    pub work: Work,
    /// Processor of the rank that does it.
    pub cpu: u8,
    /// Places of the pieces that must be over before, counted from the first one of the rank.
    pub after: Vec<u32>,
    /// Where it comes from, for [`Graph::describe`].
    pub origin: u32,
}

/// Where pieces come from.
pub trait Graph: Send + Sync {
    /// Number of ranks.
    fn ranks(&self) -> u32;

    /// Processors of a rank.
    fn cpus(&self) -> u8;

    /// The pieces of a rank.
    ///
    /// # Errors
    /// If the source is damaged.
    fn open(&self, rank: RankId) -> Result<Box<dyn Iterator<Item = Piece> + Send>, Damage>;

    /// For people: what [`Piece::origin`] of a rank stands for.
    fn describe(&self, rank: RankId, origin: u32) -> String;

    /// What of the source has become no work; known once the ranks were opened.
    fn dropped(&self) -> Vec<Dropped>;

    /// What [`Self::dropped`] is said from, for a process that opened other ranks.
    fn noted(&self) -> Vec<u64>;

    /// Adds what [`Self::noted`] gave.
    fn note(&self, noted: &[u64]);
}

/// Makes a program of a graph.
#[must_use]
pub fn lower_graph(graph: Arc<dyn Graph>, options: Options) -> Arc<dyn Program> {
    let kinds = CollectiveKind::ALL.map(CollectiveKind::name);
    let collectives = kinds.into_iter().chain(MAKERS).map(str::to_owned).collect();
    Arc::new(Lowered { graph, options: Arc::new(options), agreement: Arc::default(), collectives })
}

struct Lowered {
    graph: Arc<dyn Graph>,
    options: Arc<Options>,
    agreement: Arc<Agreement>,
    collectives: Vec<String>,
}

impl Lowered {
    /// The collectives of a rank in a group, by their numbers.
    fn calls(&self, rank: RankId, group: u32) -> impl Iterator<Item = Agreed> + use<> {
        let pieces = self.graph.open(rank).into_iter().flatten();
        let of_group = |piece: Piece| match piece.work {
            Work::Collective(call, of, number) if of.number == group => {
                Some((number, agreed(&call, piece.origin)))
            }
            _ => None,
        };
        let mut all: Vec<(u32, Agreed)> = pieces.filter_map(of_group).collect();
        all.sort_unstable_by_key(|call| call.0);
        all.into_iter().map(|call| call.1)
    }
}

/// What ranks must agree on. How much each sends may differ where a trace tells what its own rank moved.
fn agreed(call: &Collective, origin: u32) -> Agreed {
    use CollectiveKind::{Allreduce, Bcast, Reduce};
    let bytes = if matches!(call.kind, Allreduce | Bcast | Reduce) { call.bytes } else { 0 };
    Agreed::new(&Collective { bytes, ..call.clone() }, None, origin)
}

impl Program for Lowered {
    fn ranks(&self) -> u32 {
        self.graph.ranks()
    }

    fn open(&self, rank: RankId) -> Box<dyn Cursor> {
        Box::new(Pieces {
            graph: Arc::clone(&self.graph),
            options: Arc::clone(&self.options),
            agreement: Arc::clone(&self.agreement),
            rank,
            pieces: None,
            next: 0,
            ends: Vec::new(),
            called: SortedMap::new(),
        })
    }

    fn cpus(&self) -> u8 {
        self.graph.cpus()
    }

    fn unread(&self) -> Vec<Unread> {
        Unread::all("job", &["unit"], "its trace counts operations, not units")
    }

    fn describe(&self, rank: RankId, origin: u32) -> String {
        self.graph.describe(rank, origin)
    }

    fn collectives(&self) -> &[String] {
        &self.collectives
    }

    fn remarks(&self) -> Vec<Remark> {
        let describe = |rank, origin| self.graph.describe(rank, origin);
        let differ = mismatch::parted(&self.agreement, |rank, group| self.calls(rank, group), describe);
        self.graph.dropped().into_iter().map(Remark::dropped).chain(differ.map(Remark::mismatch)).collect()
    }

    fn noted(&self) -> Vec<u64> {
        self.agreement.noted_behind(self.graph.noted())
    }

    fn note(&self, noted: &[u64]) {
        self.graph.note(self.agreement.note_behind(noted));
    }
}

/// Makes operations of a rank's pieces.
struct Pieces {
    graph: Arc<dyn Graph>,
    options: Arc<Options>,
    rank: RankId,
    /// Nothing before the first.
    pieces: Option<Box<dyn Iterator<Item = Piece> + Send>>,
    /// Number of the next operation.
    next: u64,
    /// The last operation of each piece so far.
    ends: Vec<u64>,
    agreement: Arc<Agreement>,
    /// By group, a sum over the collectives so far; they come in no order.
    called: SortedMap<u32, u64>,
}

impl Cursor for Pieces {
    fn fill(&mut self, batch: &mut Batch) -> Result<(), Damage> {
        if self.pieces.is_none() {
            self.pieces = Some(self.graph.open(self.rank)?);
        }
        while batch.ops.len() < BATCH {
            let Some(piece) = self.pieces.as_mut().and_then(Iterator::next) else {
                for (group, calls) in std::mem::take(&mut self.called) {
                    self.agreement.called(group, self.rank, calls);
                }
                break;
            };
            let origin = piece.origin;
            let end = self.piece(piece, batch).map_err(|message| {
                let place = self.graph.describe(self.rank, origin);
                Damage(format!("{place}: rank {}: {message}", self.rank))
            })?;
            self.ends.push(end);
        }
        Ok(())
    }
}

impl Pieces {
    fn piece(&mut self, piece: Piece, batch: &mut Batch) -> Result<u64, String> {
        let mut chain = Chain::default();
        for place in piece.after {
            let end = self.ends.get(place as usize).ok_or("a piece of work waits for a later one")?;
            chain.wait_for(*end);
        }
        let op = |kind| Op { cpu: piece.cpu, ..blank(kind, piece.origin) };
        let transfer = |kind, peer, tag, amount| Op { peer, tag, amount, ..op(kind) };
        let op = match piece.work {
            Work::Nothing => op(Kind::Join),
            Work::Compute(amount) => Op { amount, ..op(Kind::Calc) },
            Work::Send(to, tag, bytes) => transfer(Kind::Send, to, tag, bytes),
            Work::Receive(from, tag, bytes) => transfer(Kind::Recv, from, tag, bytes),
            Work::Collective(call, group, number) => {
                let sum = self.called.entry(group.number).or_default();
                *sum = sum.wrapping_add(agreed(&call, piece.origin).after(u64::from(number) + 1));
                let me = group.members.iter().position(|&rank| rank == self.rank);
                let me = me.map(CommRank::from_index).ok_or("it is not in the group of its collective")?;
                let mut task = Task::new(&call, me, group.members.len() as u32)?;
                let algorithm = self.options.chooser.choose(&mut task, call.algorithm)?;
                // Messages between two ranks have context 0; contexts of collectives are odd.
                let collective = 1 + call.kind as u16;
                let pattern = Op { context: 2 * group.number + 1, tag: number, collective, ..op(Kind::Join) };
                let mut running = Running::new(task, algorithm, Some(Arc::clone(&group.members)), pattern);
                while running.step(&mut chain, &mut self.next, batch, self.options.reduce_ps_per_byte) {}
                pattern
            }
        };
        Ok(chain.emit(&mut self.next, batch, op, After::Finish))
    }
}
