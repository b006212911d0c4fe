//! What the ranks of a run did, added up by rank and by collective: for every model whose ranks live on terminals.

use super::instances::{self, Step};
use base::{
    index::{RankId, TerminalId},
    paged::Paged,
    time::Ps,
};
use model::setup::JobOf;
use results::{
    table::{Cell, Column, Table},
    timeline,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use workload::program::{Kind, Op};

/// An operation that a rank finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Finished {
    /// Terminal of the rank.
    pub terminal: TerminalId,
    /// Its number in the rank.
    pub number: u32,
    /// When it became executable.
    pub ready: Ps,
    /// When it was finished.
    pub time: Ps,
    /// Bytes of its message; 0 if it has none.
    pub bytes: u64,
    /// Processor time of a computation.
    pub compute: Ps,
    /// Processor time of a send or receive.
    pub overhead: Ps,
    /// What it is.
    pub kind: Kind,
    /// 1 + index of its collective, or 0.
    pub collective: u16,
    /// Which call of its communicator, see [`instances::of`].
    pub instance: u64,
}

impl Finished {
    /// An operation at a terminal that is over at `time` and cost the processor this: for a computation `compute`, for a message `overhead`.
    #[must_use]
    pub fn new(
        op: &Op,
        (terminal, number): (TerminalId, u32),
        (ready, time): (Ps, Ps),
        (compute, overhead): (Ps, Ps),
    ) -> Self {
        let message = matches!(op.kind, Kind::Send | Kind::Recv);
        Self {
            terminal,
            number,
            ready,
            time,
            bytes: if message { op.amount } else { 0 },
            compute: if op.kind == Kind::Calc { compute } else { 0 },
            overhead: if message { overhead } else { 0 },
            kind: op.kind,
            collective: op.collective,
            instance: instances::of(op),
        }
    }
}

/// Sums of a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sums {
    /// Processor time of computations.
    pub compute: Ps,
    /// Processor time of messages.
    pub overhead: Ps,
    /// Time that its messages were under way, added up.
    pub transfer: Ps,
    /// End of its last operation.
    pub last: Ps,
    /// Operations of ranks that are over.
    pub operations: u64,
    /// Messages sent, and their bytes.
    pub sent: (u64, u64),
    /// Messages received, and their bytes.
    pub received: (u64, u64),
}

impl Sums {
    /// Adds what another partition or another terminal of the rank did.
    pub fn add(&mut self, other: &Self) {
        self.compute += other.compute;
        self.overhead += other.overhead;
        self.transfer += other.transfer;
        self.last = self.last.max(other.last);
        self.operations += other.operations;
        self.sent = (self.sent.0 + other.sent.0, self.sent.1 + other.sent.1);
        self.received =
            (self.received.0 + other.received.0, self.received.1.saturating_add(other.received.1));
    }
}

/// Sums of a collective of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collective {
    /// Operations of ranks that are over.
    pub operations: u64,
    /// Messages that were sent, arrived or not.
    pub messages: u64,
    /// Payload of the messages sent, in bytes.
    pub bytes: u64,
    /// Processor time of its computations and messages.
    pub busy: Ps,
}

/// Sums by terminal and collective, and on demand all operations.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Some job is a program.
    programs: bool,
    /// What is kept of each terminal, by number.
    ranks: Paged<Sums>,
    collectives: BTreeMap<(u32, u16), Collective>,
    /// Operations done, on demand.
    pub rows: Vec<Finished>,
}

impl Tally {
    /// Nothing done yet; `programs` says whether some job is a program.
    #[must_use]
    pub fn new(programs: bool) -> Self {
        Self { programs, ..Self::default() }
    }

    /// Adds an operation of a rank of `job`; keeps it too if `keep`.
    #[inline]
    pub fn add(&mut self, f: &Finished, job: u32, keep: bool) {
        let rank = self.ranks.edit(f.terminal.number());
        rank.operations += 1;
        rank.compute += f.compute;
        rank.overhead += f.overhead;
        rank.last = rank.last.max(f.time);
        match f.kind {
            Kind::Send => rank.sent = (rank.sent.0 + 1, rank.sent.1 + f.bytes),
            // A receive may have room for far more than ever comes.
            Kind::Recv => rank.received = (rank.received.0 + 1, rank.received.1.saturating_add(f.bytes)),
            _ => {}
        }
        if f.collective > 0 {
            let sum = self.collectives.entry((job, f.collective)).or_default();
            sum.operations += 1;
            sum.busy += f.compute + f.overhead;
            if f.kind == Kind::Send {
                sum.messages += 1;
                sum.bytes += f.bytes;
            }
        }
        if keep {
            self.rows.push(*f);
        }
    }

    /// A message of the rank at a terminal, if there is one, was under way for this long.
    #[inline]
    pub fn message(&mut self, terminal: TerminalId, time: Ps) {
        if self.programs {
            self.ranks.edit(terminal.number()).transfer += time;
        }
    }

    /// Adds what another partition's ranks did.
    pub fn merge(&mut self, other: Self) {
        self.ranks.merge(&other.ranks, Sums::add);
        for (key, c) in other.collectives {
            let sum = self.collectives.entry(key).or_default();
            sum.operations += c.operations;
            sum.messages += c.messages;
            sum.bytes += c.bytes;
            sum.busy += c.busy;
        }
        self.rows.extend(other.rows);
    }

    /// Tables of ranks and collectives, and of operations if they were kept. `place` gives job and rank of each terminal.
    #[must_use]
    pub fn tables(&self, jobs: &[JobOf<'_>], place: &[(u32, RankId)]) -> Vec<Table> {
        let mut tables = Vec::new();
        if jobs.iter().all(|j| j.program.is_none()) {
            return tables;
        }
        tables.push(self.ranks(jobs, place));
        if !self.collectives.is_empty() {
            let rows = self.collectives.iter().map(|(&(job, index), c)| (job, index, *c));
            tables.push(collectives(jobs, rows));
        }
        if self.rows.is_empty() {
            return tables;
        }
        let mut rows = self.rows.clone();
        rows.sort_unstable_by_key(|f| (place[f.terminal.index()], f.number));
        tables.push(operations(&rows, jobs, place));
        let step = |f: &Finished| Step {
            job: place[f.terminal.index()].0,
            rank: place[f.terminal.index()].1,
            collective: f.collective,
            instance: f.instance,
            start: f.ready,
            end: f.time,
            busy: f.compute + f.overhead,
        };
        tables.extend(instances::tables(rows.iter().filter(|f| f.collective > 0).map(step).collect(), jobs));
        tables
    }

    fn ranks(&self, jobs: &[JobOf<'_>], place: &[(u32, RankId)]) -> Table {
        // A node of several rails has as many terminals, and any of them may have sent a message of its rank.
        let mut rows = BTreeMap::<(u32, RankId), Sums>::new();
        for (terminal, &(job, rank)) in (0u32..).zip(place) {
            if jobs.get(job as usize).is_some_and(|j| j.program.is_some()) {
                let row = rows.entry((job, rank)).or_default();
                self.ranks.get(terminal).into_iter().for_each(|sums| row.add(sums));
            }
        }
        let mut table = rank_table();
        for ((job, rank), r) in rows {
            let job = &jobs[job as usize];
            let cpus = job.program.map_or(1, |p| u64::from(p.cpus().max(1)));
            push_rank(&mut table, (job.name, rank), r.last.saturating_sub(job.start), cpus, &r);
        }
        table
    }
}

/// An empty table `ranks`: one row per rank.
#[must_use]
pub fn rank_table() -> Table {
    Table::new("ranks")
        .with("job", Column::text())
        .with("rank", Column::u32s())
        .with("makespan_ps", Column::u64s())
        .with("compute_ps", Column::u64s())
        .with("overhead_ps", Column::u64s())
        .with("transfer_ps", Column::u64s())
        .with("wait_ps", Column::u64s())
        .with("operations", Column::u64s())
        .with("messages_sent", Column::u64s())
        .with("bytes_sent", Column::u64s())
        .with("messages_received", Column::u64s())
}

/// Adds a rank to [`rank_table`]: it waits when its processors neither compute nor handle messages.
pub fn push_rank(table: &mut Table, (job, rank): (&str, RankId), span: Ps, cpus: u64, r: &Sums) {
    // Several processors of a rank may be busy at the same time.
    let wait = span.saturating_mul(cpus).saturating_sub(r.compute + r.overhead);
    table.push(&[
        Cell::Text(job),
        Cell::U32(rank.number()),
        Cell::U64(span),
        Cell::U64(r.compute),
        Cell::U64(r.overhead),
        Cell::U64(r.transfer),
        Cell::U64(wait),
        Cell::U64(r.operations),
        Cell::U64(r.sent.0),
        Cell::U64(r.sent.1),
        Cell::U64(r.received.0),
    ]);
}

/// The table `collectives`: one row per job and collective.
pub fn collectives(jobs: &[JobOf<'_>], rows: impl Iterator<Item = (u32, u16, Collective)>) -> Table {
    let mut table = Table::new("collectives")
        .with("job", Column::text())
        .with("collective", Column::text())
        .with("operations", Column::u64s())
        .with("messages", Column::u64s())
        .with("bytes", Column::u64s())
        .with("busy_ps", Column::u64s());
    for (job, index, c) in rows {
        let job = &jobs[job as usize];
        table.push(&[
            Cell::Text(job.name),
            Cell::Text(job.collective(index)),
            Cell::U64(c.operations),
            Cell::U64(c.messages),
            Cell::U64(c.bytes),
            Cell::U64(c.busy),
        ]);
    }
    table
}

/// One row per operation, by job, rank and number. An operation starts when nothing keeps it from being taken up.
fn operations(rows: &[Finished], jobs: &[JobOf<'_>], place: &[(u32, RankId)]) -> Table {
    let mut table = timeline::operations();
    for f in rows {
        let (job, rank) = place[f.terminal.index()];
        let name = match f.kind {
            Kind::Send => "send",
            Kind::Recv => "recv",
            Kind::Calc => "calc",
            Kind::Join | Kind::JoinAny => "join",
            Kind::Probe => "probe",
        };
        table.push(&[
            Cell::Text(jobs[job as usize].name),
            Cell::U32(rank.number()),
            Cell::U32(f.number),
            Cell::Text(name),
            Cell::U64(f.ready),
            Cell::U64(f.time),
            Cell::U64(f.bytes),
        ]);
    }
    table
}
