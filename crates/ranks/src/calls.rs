//! What operations are in their programs: the call of MPI that each belongs to, the other rank and the tag; and what programs mark between them.
//!
//! Nobody carries these through a run. A run that kept its operations has their numbers, and a program gives the same operations whenever it is read:
//! so each rank is read once more, as far as it came. Whom a receive from anybody took from, and with which tag, its message tells.
//!
//! A mark is reached when what the rank had to wait for there is over; within a computation, at its share of it. Of a run that is cut, marks in and behind what is not over are
//! left out.

use crate::{
    order::Order,
    steps::{Sent, Steps},
};
use base::{index::RankId, sorted::SortedMap, time::Ps};
use model::setup::JobOf;
use results::{
    marks, otf2_out,
    table::{Cell, Column, Table, TextColumn},
};
use workload::program::{
    ANY_RANK, ANY_TAG, Batch, Cursor, Kind, Op, Place, Program,
    mpi::{Mark, MarkKind},
};

/// Reads a rank's operations once more, by ascending number.
struct Reading {
    cursor: Box<dyn Cursor>,
    batch: Batch,
    /// Number of the batch's first operation.
    first: u32,
    marks: Vec<Marked>,
    /// If a trace is written of it.
    order: Option<Order>,
    /// The rank has no operations behind those that were read.
    over: bool,
}

/// A mark with its place, and how long the computation that it stands in is in the program.
struct Marked {
    mark: Mark,
    place: Place,
    amount: Option<Ps>,
}

impl Reading {
    fn new(program: &dyn Program, rank: RankId, ordered: bool) -> Self {
        let (cursor, batch) = (program.open_noted(rank), Batch::noting());
        Self { cursor, batch, first: 0, marks: Vec::new(), order: ordered.then(Order::default), over: false }
    }

    /// An operation with its call; none behind what is damaged.
    fn operation(&mut self, number: u32) -> Option<(Op, &'static str)> {
        debug_assert!(number >= self.first, "a rank is read forwards");
        while (number - self.first) as usize >= self.batch.ops.len() {
            self.more()?;
        }
        let at = (number - self.first) as usize;
        let op = self.batch.ops[at];
        let here = self.marks.partition_point(|m| m.place.next < u64::from(number));
        let here = self.marks[here..].iter_mut().take_while(|m| m.place.next == u64::from(number));
        here.for_each(|m| m.amount = (op.kind == Kind::Calc).then_some(op.amount));
        Some((op, self.batch.notes.as_ref().map_or("", |n| n.call(at))))
    }

    /// Reads the next batch; none if there is none.
    fn more(&mut self) -> Option<()> {
        self.first += self.batch.ops.len() as u32;
        self.batch.clear();
        self.cursor.fill(&mut self.batch).ok()?;
        let marks = self.batch.notes.as_mut().map(|n| std::mem::take(&mut n.marks));
        let marks = marks.into_iter().flatten();
        self.marks.extend(marks.map(|(mark, place)| Marked { mark, place, amount: None }));
        if let Some(order) = &mut self.order {
            order.read(&self.batch);
        }
        self.over = self.batch.ops.is_empty();
        (!self.over).then_some(())
    }

    /// Reads on to the marks behind the operation with this number, the last that was read.
    fn go_on(&mut self, last: u32) {
        if (last - self.first) as usize + 1 == self.batch.ops.len() {
            self.more();
        }
    }
}

/// An operation by its job, rank and number.
type Key = (u32, u32, u32);

/// Adds the columns `call`, `peer` and `tag` to a table of operations, which has them by job, rank and number, and makes the table of marks, if there are any. `transfers`
/// says what receives took, and `begun` when an operation began, by row. With `transfers` there is also the table of the order that a written trace has
/// ([`otf2_out::order`]).
///
/// `within` says whether a message of a job's rank to another stays on its terminal: where something is marked, a table `steps` tells what is sent in each step.
///
/// `call` is empty of computations and in programs without MPI calls; `peer` and `tag` are missing of what is no message, and of a probe for
/// anybody. The tag of a collective's message is the number of the call on its communicator.
#[must_use]
pub fn add(
    operations: Table,
    transfers: Option<&Table>,
    jobs: &[JobOf<'_>],
    begun: &dyn Fn(usize) -> Ps,
    within: &dyn Fn(u32, RankId, RankId) -> bool,
) -> Vec<Table> {
    let keys = keys(&operations, jobs, ["rank", "operation"]);
    let times = operations.u64_column("start_ps").zip(operations.u64_column("end_ps"));
    let (Some(keys), Some((starts, ends))) = (keys, times) else { return vec![operations] };
    debug_assert!(keys.is_sorted(), "operations come by job, rank and number");
    let (mut calls, mut marked, mut steps) = (TextColumn::default(), marks::table(), Steps::default());
    let (mut peers, mut tags) = (Vec::with_capacity(keys.len()), Vec::with_capacity(keys.len()));
    let (mut open, mut order) = (Vec::new(), otf2_out::order());
    let left = transfers.and_then(|t| left(t, jobs)).unwrap_or_default();
    for of_rank in keys.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let (job, first) = (&jobs[of_rank[0].0 as usize], tags.len());
        let rank = RankId::new(of_rank[0].1);
        let (mut reading, mut sent) =
            (job.program.map(|p| Reading::new(p, rank, transfers.is_some())), Vec::new());
        for key @ &(.., number) in of_rank {
            let found = reading.as_mut().and_then(|r| r.operation(number));
            if let (Some((op, _)), Some(order)) = (found, reading.as_mut().and_then(|r| r.order.as_mut())) {
                let row = tags.len();
                let begins = match op.kind {
                    Kind::Send => left.get(key).copied().unwrap_or(starts[row]),
                    Kind::Calc => starts[row],
                    _ => begun(row),
                };
                order.done(number, begins, ends[row]);
            }
            let (call, peer, tag) = found.map_or(("", None, None), |(op, call)| said(job, &op, call));
            let any = |op: &Op| op.kind == Kind::Recv && (op.peer == ANY_RANK || op.tag == ANY_TAG);
            if found.is_some_and(|(op, _)| any(&op)) {
                open.push(tags.len());
            }
            if let Some((op, _)) = found.filter(|(op, _)| op.kind == Kind::Send) {
                let within = within(of_rank[0].0, rank, op.peer);
                sent.push(Sent { number, bytes: op.amount, collective: op.collective > 0, within });
            }
            calls.push(call);
            peers.push(peer);
            tags.push(tag);
        }
        if let Some(mut reading) = reading {
            let row = |number: u64| {
                let found = of_rank.binary_search_by_key(&number, |k| k.2.into()).ok()?;
                Some((begun(first + found), ends[first + found]))
            };
            mark(&mut marked, &mut steps, job, of_rank, &mut reading, &sent, &row);
            if let Some(of_rank) = reading.order.take() {
                of_rank.write(&mut order, job.name, rank.number());
            }
        }
    }
    if let Some(transfers) = transfers.filter(|_| !open.is_empty()) {
        resolve(&open, &keys, &mut peers, &mut tags, transfers, jobs);
    }
    let operations = operations
        .with("call", Column::Text(calls))
        .with("peer", Column::Maybe(peers))
        .with("tag", Column::Maybe(tags));
    let marked = (marked.rows() > 0).then_some(marked);
    let order = (order.rows() > 0).then_some(order);
    std::iter::once(operations).chain(marked).chain(order).chain(steps.table(jobs)).collect()
}

/// When messages left, by their sends.
fn left(transfers: &Table, jobs: &[JobOf<'_>]) -> Option<SortedMap<Key, Ps>> {
    let sends = keys(transfers, jobs, ["source", "operation"])?;
    Some(sends.into_iter().zip(transfers.u64_column("sent_ps")?.iter().copied()).collect())
}

/// Enters what a rank marked, and what it sent in between. `row` gives the beginning and the end of an operation that is over.
fn mark(
    table: &mut Table,
    steps: &mut Steps,
    job: &JobOf<'_>,
    of_rank: &[Key],
    reading: &mut Reading,
    sent: &[Sent],
    row: &dyn Fn(u64) -> Option<(Ps, Ps)>,
) {
    let Some(&(number, rank, last)) = of_rank.last() else { return };
    // Regions by name and step; the step of the last instant.
    let (mut now, mut entered, mut instant) = (job.start, Vec::<(String, usize)>::new(), None);
    reading.go_on(last);
    let mut sent = sent.iter().peekable();
    let mut count = |entered: &[(String, usize)], instant: Option<usize>, below: u64, steps: &mut Steps| {
        while let Some(sent) = sent.next_if(|s| u64::from(s.number) < below) {
            steps.count(entered.iter().map(|e| e.1).chain(instant), sent);
        }
    };
    for marked in &reading.marks {
        count(&entered, instant, marked.place.next, steps);
        let Some(at) = reached(marked, job.start, reading.over, row) else { return };
        now = at.max(now);
        let name = marked.mark.to_string();
        let name = match marked.mark.kind {
            MarkKind::Instant => {
                instant = Some(steps.reach(number, false, &name, now));
                name
            }
            MarkKind::Enter => {
                entered.push((name.clone(), steps.reach(number, true, &name, now)));
                name
            }
            // A trace may begin within a region.
            MarkKind::Leave => match entered.pop() {
                Some((name, _)) => name,
                None => continue,
            },
        };
        table.push(&[
            Cell::Text(job.name),
            Cell::U32(rank),
            Cell::Text(marked.mark.kind.name()),
            Cell::Text(&name),
            Cell::U64(now),
        ]);
    }
    count(&entered, instant, u64::MAX, steps);
}

/// When a mark is reached; none if it is not. A computation behind the last call is not replayed: `over` says that there is none.
fn reached(
    Marked { mark, place, amount }: &Marked,
    start: Ps,
    over: bool,
    row: &dyn Fn(u64) -> Option<(Ps, Ps)>,
) -> Option<Ps> {
    let mut at = start;
    for &number in &place.finished {
        at = at.max(row(number)?.1);
    }
    if let Some(number) = place.started {
        at = at.max(row(number)?.0);
    }
    if mark.into == 0 || (over && amount.is_none()) {
        return Some(at);
    }
    let (amount, (begun, end)) = ((*amount)?, row(place.next)?);
    let share = u128::from(end - begun) * u128::from(mark.into.min(amount)) / u128::from(amount.max(1));
    Some(at.max(begun + share as u64))
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
    keys: &[Key],
    peers: &mut [Option<u32>],
    tags: &mut [Option<u32>],
    transfers: &Table,
    jobs: &[JobOf<'_>],
) -> Option<()> {
    let sends = self::keys(transfers, jobs, ["source", "operation"])?;
    let Some(Column::Maybe(receives)) = transfers.column("receive") else { return None };
    let to = transfers.u32_column("destination")?;
    let key = |((send, &to), &receive): ((&Key, &u32), &Option<u32>)| Some(((send.0, to, receive?), *send));
    let mut taken: Vec<(Key, Key)> = sends.iter().zip(to).zip(receives).filter_map(key).collect();
    taken.sort_unstable();
    debug_assert!(taken.is_sorted_by(|a, b| a.0 < b.0), "a receive takes one message");
    for &row in open {
        let Ok(found) = taken.binary_search_by_key(&keys[row], |t| t.0) else { continue };
        let send = taken[found].1;
        peers[row] = Some(send.1);
        // A send that asked its receiver first may not be over where a run is cut: then its tag is not known.
        tags[row] = tags[row].or_else(|| keys.binary_search(&send).ok().and_then(|at| tags[at]));
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rank computes from 10 to 50, which its program calls 20; then receives until 90.
    #[test]
    fn marks_within_a_computation_stand_at_their_share() {
        let row = |number: u64| [(10, 50), (50, 90)].get(number as usize).copied();
        let at = |into, finished: &[u64], (next, amount), over| {
            let mark = Mark { name: "m".into(), number: None, kind: MarkKind::Instant, into };
            let place = Place { finished: finished.to_vec(), started: None, next };
            reached(&Marked { mark, place, amount }, 7, over, &row)
        };
        assert_eq!(at(0, &[], (0, Some(20)), false), Some(7), "at the start of the job");
        assert_eq!(at(5, &[], (0, Some(20)), false), Some(20), "a quarter of the computation");
        assert_eq!(at(99, &[], (0, Some(20)), false), Some(50), "no further than its end");
        assert_eq!(at(0, &[0, 1], (2, None), true), Some(90), "the later of two ends");
        assert_eq!(at(3, &[1], (2, None), true), Some(90), "what is computed last is not replayed");
        assert_eq!(at(3, &[1], (2, None), false), None, "a computation that is not over");
        assert_eq!(at(0, &[2], (3, None), false), None, "what is not over is not reached");
    }
}
