//! The window of operations of each rank: what is read and not yet finished, and who waits for whom.
//!
//! Operations become rows when their batch is read. A row counts what it still waits for; starting or finishing a row takes
//! its edges off and hands out the operations that have become executable, in the order in which they may be taken up. Rows that are
//! finished go back when the rank's next batch is read, so a stream occupies two batches and what is still open.

use base::{index::RankId, sorted::SortedMap, time::Ps};
use engine::state::{
    Journal, Linked, NIL, Pool, Table,
    ends::{Steps, ending},
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use workload::program::{After, Batch, Cursor, Damage, Kind, Op, Program};

/// Order of creation: what is created first comes first among equals. Compared as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Stamp {
    /// When it was created.
    pub created: u64,
    /// When its creator had been created.
    pub creator: u64,
    /// Rank of the creator, and the rank's count of things created.
    pub who: u64,
}

/// An operation that is read and not retired.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// What it does.
    pub op: Op,
    /// Latest end of what it waited for; its own end once it is finished.
    pub ready: Ps,
    /// When it became executable, in the order of creation.
    pub stamp: Stamp,
    /// The rank, as the partition counts.
    pub rank: u32,
    /// Number within the rank.
    pub number: u32,
    /// How much it still waits for.
    waits: u32,
    /// Executable, started, finished, last of its rank.
    state: u8,
    starts: u32,
    ends: u32,
    /// The operation behind it, if that waits for this one by its [`After`]: it is freed after those on the lists.
    heir: u32,
    next: u32,
    kept: u32,
}

const EXECUTABLE: u8 = 1;
const STARTED: u8 = 2;
const FINISHED: u8 = 4;
/// The last operation read: its start reads on.
const LAST: u8 = 8;
/// Its heir waits for its start, not its end.
const EARLY: u8 = 16;
/// Something that it waits for was over when it was read.
const MET: u8 = 32;

impl Row {
    /// True once nothing keeps it from being taken up.
    #[must_use]
    pub fn is_executable(&self) -> bool {
        self.state & EXECUTABLE != 0
    }

    /// True once it was taken up.
    #[must_use]
    pub fn is_started(&self) -> bool {
        self.state & STARTED != 0
    }

    /// True once it is over.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.state & FINISHED != 0
    }

    /// Number of starts and ends that it still waits for.
    #[must_use]
    pub fn waits(&self) -> u32 {
        self.waits
    }
}

impl Linked for Row {
    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Link {
    to: u32,
    next: u32,
}

impl Linked for Link {
    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

/// How far a rank has been read.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Reach {
    /// Operations that have been read so far.
    read: u32,
    /// Batches that have been read so far.
    batches: u32,
    /// List of its rows, latest first.
    rows: u32,
    /// Row of the last operation read.
    last: u32,
    /// No more batches, or no more that could be read.
    over: bool,
    /// The source turned out to be damaged. The reason is kept aside: it says the same whenever it is read.
    damaged: bool,
}

/// Where a rank's operations come from. Not state: a cursor that is not where the rank is, is opened anew.
struct Source {
    program: Arc<dyn Program>,
    rank: RankId,
    chained: bool,
    cursor: Option<Box<dyn Cursor>>,
    at: u32,
}

/// The windows of a partition's ranks.
pub struct OperationWindow {
    rows: Pool<Row>,
    links: Pool<Link>,
    reach: Table<Reach>,
    /// Number of operations that are read and not finished.
    open: Table<u64>,
    sources: Vec<Source>,
    batch: Batch,
    fresh: Vec<u32>,
    /// What is wrong with the sources that were found damaged, by rank; those count whose [`Reach`] says so.
    damages: SortedMap<u32, String>,
}

impl OperationWindow {
    /// Windows of these ranks: program and rank in it.
    pub fn new(ranks: impl IntoIterator<Item = (Arc<dyn Program>, RankId)>) -> Self {
        let source = |(program, rank): (Arc<dyn Program>, RankId)| {
            let chained = program.chained();
            Source { program, rank, chained, cursor: None, at: u32::MAX }
        };
        let sources: Vec<Source> = ranks.into_iter().map(source).collect();
        let unread = Reach { read: 0, batches: 0, rows: NIL, last: NIL, over: false, damaged: false };
        Self {
            rows: Pool::default(),
            links: Pool::default(),
            reach: Table::new(sources.len(), unread),
            open: Table::new(1, 0),
            sources,
            batch: Batch::default(),
            fresh: Vec::new(),
            damages: SortedMap::new(),
        }
    }

    /// The row of an operation, to read.
    #[inline]
    #[must_use]
    pub fn get(&self, row: u32) -> &Row {
        self.rows.get(row)
    }

    /// The rows, to read lists threaded through them.
    #[must_use]
    pub fn pool(&self) -> &Pool<Row> {
        &self.rows
    }

    /// The rows, for lists threaded through them and for stamps.
    #[inline]
    pub fn rows(&mut self) -> &mut Pool<Row> {
        &mut self.rows
    }

    /// Hints that a row will be read soon.
    #[inline]
    pub fn prefetch(&self, row: u32) {
        self.rows.prefetch(row);
        self.rows.prefetch_end(row);
    }

    /// The same once the row has come: the first edge to what waits for its end.
    #[inline]
    pub fn prefetch_edge(&self, row: u32) {
        self.links.prefetch(self.rows.get(row).ends);
    }

    /// The same once the edge has come: the operation that waits.
    #[inline]
    pub fn prefetch_freed(&self, row: u32) {
        // The heir's row is touched first when the operation ends with no other edge, which is the usual case.
        let Row { ends, heir, .. } = *self.rows.get(row);
        if heir != NIL {
            self.prefetch(heir);
        }
        if ends != NIL {
            self.prefetch(self.links.get(ends).to);
        }
    }

    /// Rows of a rank that are not retired, in no particular order.
    pub fn of_rank(&self, rank: u32) -> impl Iterator<Item = u32> {
        let first = self.reach.get(rank).rows;
        let rows = std::iter::successors((first != NIL).then_some(first), |&r| {
            Some(self.rows.get(r).kept).filter(|&n| n != NIL)
        });
        ending(rows, self.rows.made())
    }

    /// True if a rank has no operations beyond those that were read.
    #[must_use]
    pub fn is_over(&self, rank: u32) -> bool {
        self.reach.get(rank).over
    }

    /// Number of operations of all ranks that are read and not finished.
    #[must_use]
    pub fn open(&self) -> u64 {
        *self.open.get(0)
    }

    /// Number of operations that a rank has read.
    #[must_use]
    pub fn read(&self, rank: u32) -> u32 {
        self.reach.get(rank).read
    }

    /// The first rank whose source turned out to be damaged while it was read, and what is wrong with it.
    #[must_use]
    pub fn damage(&self) -> Option<(u32, &str)> {
        let damaged = self.damages.iter().find(|&(&rank, _)| self.reach.get(rank).damaged);
        damaged.map(|(&rank, text)| (rank, text.as_str()))
    }

    /// Reads batches of a rank until one has operations or the rank has no more. Appends what is executable at once to `freed`.
    pub fn refill(&mut self, rank: u32, now: Ps, freed: &mut Vec<u32>) {
        let reach = *self.reach.get(rank);
        if reach.over {
            return;
        }
        let source = &mut self.sources[rank as usize];
        let mut read = source.read(reach.batches, &mut self.batch);
        if read.is_ok() && source.chained && !workload::program::chained(&self.batch.ops, reach.read == 0) {
            read = Err("its operations do not follow each other, as it promised".to_owned());
        }
        if let Err(damage) = read.and_then(|()| counted(reach.read, &self.batch).map(drop).map_err(|d| d.0)) {
            // A damaged source ends its rank and not the run: others go on, and the run says why in the end.
            self.damages.insert(rank, damage);
            self.reach.edit(rank).damaged = true;
            self.batch.clear();
        }
        let batch = std::mem::take(&mut self.batch);
        self.reach.edit(rank).batches += 1;
        if batch.ops.is_empty() {
            self.reach.edit(rank).over = true;
        } else {
            // Rows are given back only here, when a batch is read: an operation that ends keeps its row until its rank reads on.
            self.retire(rank, now);
            self.append(rank, &batch, now, freed);
        }
        self.batch = batch;
    }

    /// Gives back the rows of a rank that nobody needs any more.
    fn retire(&mut self, rank: u32, now: Ps) {
        let mut row = self.reach.get(rank).rows;
        let mut kept = NIL;
        while row != NIL {
            let r = *self.rows.get(row);
            debug_assert_eq!(r.rank, rank, "a rank's list holds its own rows");
            // Finished is not enough: an end may lie ahead, and a join of any may be over while edges that lead to its row are left.
            if r.is_finished() && r.waits == 0 && r.ready <= now {
                self.rows.give(row);
            } else {
                self.rows.edit(row).kept = kept;
                kept = row;
            }
            row = r.kept;
        }
        // The list was turned around: turn it back, latest first.
        let (mut row, mut list) = (kept, NIL);
        while row != NIL {
            let next = self.rows.get(row).kept;
            self.rows.edit(row).kept = list;
            list = row;
            row = next;
        }
        self.reach.edit(rank).rows = list;
    }

    /// Makes rows of a batch that is read now. Nothing of it could begin earlier, so that is what its rows are ready at, at the earliest.
    fn append(&mut self, rank: u32, batch: &Batch, now: Ps, freed: &mut Vec<u32>) {
        let Reach { read, rows: old, last, .. } = *self.reach.get(rank);
        debug_assert!(!batch.ops.is_empty(), "a batch that is appended has operations");
        let mut list = old;
        let mut fresh = std::mem::take(&mut self.fresh);
        fresh.clear();
        for (n, &op) in batch.ops.iter().enumerate() {
            list = self.rows.take(Row {
                op,
                ready: now,
                stamp: Stamp::default(),
                rank,
                number: read + n as u32,
                waits: 0,
                state: 0,
                starts: NIL,
                ends: NIL,
                heir: NIL,
                next: NIL,
                kept: list,
            });
            fresh.push(list);
        }
        self.link(read, old, batch, &fresh, now);
        // Most operations follow the one before. That edge is a field of its row, the heir, and takes no row of the pool of links.
        // The operation before the batch may be retired already, which means that it has ended: NIL stands for that.
        let mut before = (read > 0).then_some(if self.is_kept(old, last) { last } else { NIL });
        for (op, &row) in batch.ops.iter().zip(&fresh) {
            match before {
                Some(NIL) if op.after != After::Nothing => self.meet(row, 0, now),
                Some(b) if op.after != After::Nothing => self.inherit(b, row, op.after == After::Start, now),
                _ => {}
            }
            before = Some(row);
        }
        if last != NIL && self.is_kept(old, last) {
            self.rows.edit(last).state &= !LAST;
        }
        self.rows.edit(list).state |= LAST;
        *self.open.edit(0) += batch.ops.len() as u64;
        *self.reach.edit(rank) =
            Reach { read: read + batch.ops.len() as u32, rows: list, last: list, ..*self.reach.get(rank) };
        // The first row is the heir of the operation before: it comes after those on the list of that one, as anywhere.
        let heir = usize::from(read > 0 && batch.ops[0].after != After::Nothing);
        for &row in fresh[heir..].iter().chain(&fresh[..heir]) {
            let r = self.rows.get(row);
            if r.waits == 0 || (r.op.kind == Kind::JoinAny && r.state & MET != 0) {
                self.rows.edit(row).state |= EXECUTABLE;
                freed.push(row);
            }
        }
        self.fresh = fresh;
    }

    /// Makes links of a batch's edges. Edges of one operation keep their order.
    fn link(&mut self, read: u32, old: u32, batch: &Batch, fresh: &[u32], now: Ps) {
        let of = |number: u64| number.checked_sub(u64::from(read)).map(|n| fresh[n as usize]);
        // Lists within the batch are built from their ends: putting in front is O(1), and the order comes out right.
        for edge in batch.edges.iter().rev() {
            if let (Some(before), Some(after)) = (of(edge.before), of(edge.after)) {
                self.link_front(before, after, edge.on_start);
            }
        }
        // Those of earlier operations exist, and grow at their ends.
        for edge in batch.edges.iter().filter(|e| e.before < u64::from(read)) {
            debug_assert!(edge.after >= u64::from(read), "edges lead to operations of their batch");
            let after = fresh[(edge.after - u64::from(read)) as usize];
            match self.find(old, edge.before as u32) {
                Some(before) => self.link_old(before, after, edge.on_start, now),
                None => self.meet(after, 0, now),
            }
        }
    }

    /// Something that a fresh row waits for was over at `at`, or before its batch was read.
    fn meet(&mut self, row: u32, at: Ps, now: Ps) {
        let (row, at) = (self.rows.edit(row), at.max(now));
        // It was over before its batch was read, so there is nobody to free the row later: what it would have brought is entered here.
        // One is enough for a join of any: the earliest.
        let any = row.op.kind == Kind::JoinAny && row.state & MET != 0;
        row.ready = if any { row.ready.min(at) } else { row.ready.max(at) };
        row.state |= MET;
    }

    /// The row of an earlier operation, if it is kept.
    fn find(&self, list: u32, number: u32) -> Option<u32> {
        let rows = std::iter::successors((list != NIL).then_some(list), |&r| {
            Some(self.rows.get(r).kept).filter(|&n| n != NIL)
        });
        // Numbers fall along the list.
        rows.take_while(|&r| self.rows.get(r).number >= number).find(|&r| self.rows.get(r).number == number)
    }

    /// True if `row` is in `list`; it can only be its first.
    fn is_kept(&self, list: u32, row: u32) -> bool {
        list == row && row != NIL
    }

    fn link_front(&mut self, before: u32, after: u32, on_start: bool) {
        self.rows.edit(after).waits += 1;
        let row = self.rows.edit(before);
        let head = if on_start { &mut row.starts } else { &mut row.ends };
        let next = *head;
        *head = self.links.take(Link { to: after, next });
    }

    /// Like [`OperationWindow::link_front`] at the end of the list, for an operation that may have begun.
    fn link_old(&mut self, before: u32, after: u32, on_start: bool, now: Ps) {
        let row = *self.rows.get(before);
        if row.is_finished() || (on_start && row.is_started()) {
            // A join starts when it ends, which may lie ahead. When others started is not kept: before now.
            let ends = row.is_finished() && (!on_start || matches!(row.op.kind, Kind::Join | Kind::JoinAny));
            return self.meet(after, if ends { row.ready } else { 0 }, now);
        }
        let mut at = if on_start { row.starts } else { row.ends };
        if at == NIL {
            return self.link_front(before, after, on_start);
        }
        let mut steps = Steps::of(self.links.made());
        while self.links.get(at).next != NIL {
            steps.step();
            at = self.links.get(at).next;
        }
        self.rows.edit(after).waits += 1;
        let link = self.links.take(Link { to: after, next: NIL });
        self.links.edit(at).next = link;
    }

    /// Like [`OperationWindow::link_old`] for the operation that follows.
    fn inherit(&mut self, before: u32, after: u32, on_start: bool, now: Ps) {
        let row = self.rows.edit(before);
        if row.is_finished() || (on_start && row.is_started()) {
            return self.link_old(before, after, on_start, now);
        }
        debug_assert_eq!(row.heir, NIL, "one operation follows another directly");
        // The pool of links is left alone: nearly all operations have one that follows, and an edge less is a cache miss less.
        row.heir = after;
        row.state = if on_start { row.state | EARLY } else { row.state & !EARLY };
        self.rows.edit(after).waits += 1;
    }

    /// Takes an operation up at `at`; appends what that frees, the next batch included if it was the last one read.
    pub fn start(&mut self, row: u32, at: Ps, freed: &mut Vec<u32>) {
        let r = self.rows.edit(row);
        debug_assert!(!r.is_finished(), "what has ended is not taken up again");
        debug_assert!(r.is_executable(), "what waits for others is not taken up");
        r.state |= STARTED;
        let (list, rank, last) = (r.starts, r.rank, r.state & LAST != 0);
        let heir = if r.state & EARLY != 0 { std::mem::replace(&mut r.heir, NIL) } else { NIL };
        r.starts = NIL;
        // Edges first, the heir after: operations that become executable together are in the order in which they were written.
        self.release(list, at, freed);
        self.free(heir, at, freed);
        // Read only now: before this operation is taken up, nothing behind it could be.
        if last {
            self.refill(rank, at, freed);
        }
    }

    /// Ends an operation that was taken up; appends what that frees. `at` may lie ahead.
    pub fn finish(&mut self, row: u32, at: Ps, freed: &mut Vec<u32>) {
        let r = self.rows.edit(row);
        debug_assert!(!r.is_finished(), "an operation ends once");
        debug_assert!(r.is_started(), "what ends was taken up");
        r.state |= FINISHED;
        r.ready = at;
        debug_assert!(*self.open.get(0) > 0, "what ends was open");
        *self.open.edit(0) -= 1;
        // Edges are taken off the row before anything is freed: what they free may end at once, and must not find them again.
        let (list, heir) = (r.ends, r.heir);
        (r.ends, r.heir) = (NIL, NIL);
        self.release(list, at, freed);
        self.free(heir, at, freed);
    }

    fn release(&mut self, mut list: u32, at: Ps, freed: &mut Vec<u32>) {
        let mut steps = Steps::of(self.links.made());
        while list != NIL {
            steps.step();
            let Link { to, next } = *self.links.get(list);
            self.links.give(list);
            list = next;
            self.free(to, at, freed);
        }
    }

    /// One thing less that an operation waits for.
    #[inline]
    fn free(&mut self, to: u32, at: Ps, freed: &mut Vec<u32>) {
        if to == NIL {
            return;
        }
        let row = self.rows.edit(to);
        debug_assert!(row.waits > 0, "an edge is taken off once");
        row.waits -= 1;
        // A join of any is executable after its first edge; those that are left only count down, so that its row can be given back.
        if row.state & EXECUTABLE != 0 {
            return;
        }
        row.ready = row.ready.max(at);
        if row.waits == 0 || row.op.kind == Kind::JoinAny {
            row.state |= EXECUTABLE;
            freed.push(to);
        }
    }

    /// Shows every table to the engine.
    pub fn visit_journals(&mut self, visit: &mut dyn FnMut(&mut dyn Journal)) {
        visit(&mut self.rows);
        visit(&mut self.links);
        visit(&mut self.reach);
        visit(&mut self.open);
    }

    /// Bytes that the tables occupy.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.rows.bytes() + self.links.bytes() + self.reach.bytes()
    }
}

/// The order in which operations that become executable together are taken up: sends, receives and probes, computations.
#[must_use]
pub fn turn(kind: Kind) -> u8 {
    match kind {
        Kind::Send => 0,
        Kind::Recv | Kind::Probe => 1,
        Kind::Calc | Kind::Join | Kind::JoinAny => 2,
    }
}

impl Source {
    /// Reads batch number `index`.
    fn read(&mut self, index: u32, batch: &mut Batch) -> Result<(), String> {
        // After an undo an earlier batch may be wanted: the program is pure, so reading it again from its beginning gives the same.
        if self.at != index || self.cursor.is_none() {
            self.cursor = Some(self.program.open(self.rank));
            self.at = 0;
        }
        while let Some(cursor) = &mut self.cursor {
            batch.clear();
            cursor.fill(batch).map_err(|d| d.0)?;
            self.at += 1;
            // A cursor only goes forward: what lies before the batch is read and dropped.
            if self.at > index {
                break;
            }
        }
        if batch.ops.is_empty() {
            self.cursor = None;
        }
        Ok(())
    }
}

impl Clone for OperationWindow {
    fn clone(&self) -> Self {
        let source =
            |s: &Source| Source { program: Arc::clone(&s.program), cursor: None, at: u32::MAX, ..*s };
        Self {
            rows: self.rows.clone(),
            links: self.links.clone(),
            reach: self.reach.clone(),
            open: self.open.clone(),
            sources: self.sources.iter().map(source).collect(),
            batch: Batch::default(),
            fresh: Vec::new(),
            damages: self.damages.clone(),
        }
    }
}

impl PartialEq for OperationWindow {
    fn eq(&self, other: &Self) -> bool {
        self.rows == other.rows && self.links == other.links && self.reach == other.reach
    }
}

/// Operations of a rank with those of its next batch.
///
/// # Errors
/// If 32 bits do not number them.
pub fn counted(read: u32, batch: &Batch) -> Result<u32, Damage> {
    u32::try_from(u64::from(read) + batch.ops.len() as u64)
        .map_err(|_| Damage("a rank has more than 2^32 operations".to_owned()))
}

#[cfg(test)]
mod tests;
