//! What operations are in their programs: the call of MPI that each belongs to, the other rank and the tag.
//!
//! Nobody carries these through a run. A run that kept its operations has their numbers, and a program gives the same operations whenever it is read:
//! so each rank is read once more, as far as it came. Whom a receive from anybody took from, and with which tag, its message tells.

use base::index::RankId;
use model::setup::JobOf;
use results::table::{Column, Table, TextColumn};
use workload::program::{ANY_RANK, ANY_TAG, Batch, Cursor, Kind, Op, Program};

/// Reads a rank's operations once more, by ascending number.
struct Reading {
    cursor: Box<dyn Cursor>,
    batch: Batch,
    /// Number of the batch's first operation.
    first: u32,
}

impl Reading {
    fn new(program: &dyn Program, rank: RankId) -> Self {
        Self { cursor: program.open(rank), batch: Batch::noting(), first: 0 }
    }

    /// An operation with its call; none behind what is damaged.
    fn operation(&mut self, number: u32) -> Option<(Op, &'static str)> {
        while (number - self.first) as usize >= self.batch.ops.len() {
            self.first += self.batch.ops.len() as u32;
            self.batch.clear();
            self.cursor.fill(&mut self.batch).ok()?;
            if self.batch.ops.is_empty() {
                return None;
            }
        }
        let at = (number - self.first) as usize;
        Some((self.batch.ops[at], self.batch.notes.as_ref().map_or("", |n| n.call(at))))
    }
}

/// An operation by its job, rank and number.
type Key = (u32, u32, u32);

/// Adds the columns `call`, `peer` and `tag` to a table of operations, which has them by job, rank and number; `transfers` says what receives took.
///
/// `call` is empty of computations and in programs without MPI calls; `peer` and `tag` are missing of what is no message, and of a probe for
/// anybody. The tag of a collective's message is the number of the call on its communicator.
#[must_use]
pub fn add(operations: Table, transfers: &Table, jobs: &[JobOf<'_>]) -> Table {
    let Some(keys) = keys(&operations, jobs, ["rank", "operation"]) else { return operations };
    debug_assert!(keys.is_sorted(), "operations come by job, rank and number");
    let mut calls = TextColumn::default();
    let (mut peers, mut tags) = (Vec::with_capacity(keys.len()), Vec::with_capacity(keys.len()));
    let mut open = Vec::new();
    for of_rank in keys.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let job = &jobs[of_rank[0].0 as usize];
        let mut reading = job.program.map(|p| Reading::new(p, RankId::new(of_rank[0].1)));
        for &(.., number) in of_rank {
            let found = reading.as_mut().and_then(|r| r.operation(number));
            let (call, peer, tag) = found.map_or(("", None, None), |(op, call)| said(job, &op, call));
            if found
                .is_some_and(|(op, _)| op.kind == Kind::Recv && (op.peer == ANY_RANK || op.tag == ANY_TAG))
            {
                open.push(tags.len());
            }
            calls.push(call);
            peers.push(peer);
            tags.push(tag);
        }
    }
    if !open.is_empty() {
        resolve(&open, (&keys, &mut peers, &mut tags), transfers, jobs);
    }
    operations
        .with("call", Column::Text(calls))
        .with("peer", Column::Maybe(peers))
        .with("tag", Column::Maybe(tags))
}

/// Call, other rank and tag of an operation.
fn said<'a>(job: &'a JobOf<'_>, op: &Op, call: &'static str) -> (&'a str, Option<u32>, Option<u32>) {
    let call = if call.is_empty() && op.collective > 0 { job.collective(op.collective) } else { call };
    match op.kind {
        Kind::Send | Kind::Recv | Kind::Probe => {
            (call, (op.peer != ANY_RANK).then_some(op.peer.number()), (op.tag != ANY_TAG).then_some(op.tag))
        }
        Kind::Calc | Kind::Join | Kind::JoinAny => (call, None, None),
    }
}

/// Job, rank and number of the rows of a table.
fn keys(table: &Table, jobs: &[JobOf<'_>], [rank, number]: [&str; 2]) -> Option<Vec<Key>> {
    let names = table.text_column("job")?;
    let place = |name: &String| jobs.iter().position(|j| j.name == name).map(|at| at as u32);
    let jobs: Vec<u32> = names.words().iter().map(place).collect::<Option<_>>()?;
    let (ranks, numbers) = (table.u32_column(rank)?, table.u32_column(number)?);
    let key = |(&code, (&rank, &number)): (&u32, (&u32, &u32))| (jobs[code as usize], rank, number);
    Some(names.codes().iter().zip(ranks.iter().zip(numbers)).map(key).collect())
}

/// Enters what receives with open source or tag took.
fn resolve(
    open: &[usize],
    (keys, peers, tags): (&[Key], &mut [Option<u32>], &mut [Option<u32>]),
    transfers: &Table,
    jobs: &[JobOf<'_>],
) -> Option<()> {
    let sends = self::keys(transfers, jobs, ["source", "operation"])?;
    let Some(Column::Maybe(receives)) = transfers.column("receive") else { return None };
    let to = transfers.u32_column("destination")?;
    let key = |((send, &to), &receive): ((&Key, &u32), &Option<u32>)| Some(((send.0, to, receive?), *send));
    let mut taken: Vec<(Key, Key)> = sends.iter().zip(to).zip(receives).filter_map(key).collect();
    taken.sort_unstable();
    for &row in open {
        let Ok(found) = taken.binary_search_by_key(&keys[row], |t| t.0) else { continue };
        let send = taken[found].1;
        peers[row] = Some(send.1);
        // A send that asked its receiver first may not be over where a run is cut: then its tag is not known.
        tags[row] = tags[row].or_else(|| keys.binary_search(&send).ok().and_then(|at| tags[at]));
    }
    Some(())
}
