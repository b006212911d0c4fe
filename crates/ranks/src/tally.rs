//! What the ranks of a run did, added up by rank and by collective: for every model whose ranks live on terminals.

use super::{
    calls,
    critical::{Causes, Past},
    finished::{Finished, Met},
    instances::{self, Step},
    roster::{GlobalRank, Roster},
    sizes::{SentMessage, Sizes},
};
use base::{
    index::{RankId, TerminalId},
    paged::Paged,
    sorted::SortedMap,
    time::Ps,
};
use model::setup::JobOf;
use results::{
    summary::{Nodes, Sent, Verdict},
    table::{Cell, Column, Table},
    timeline,
};
use serde::{Deserialize, Serialize};
use workload::program::Kind;

/// Sums of a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sums {
    /// Processor time of computations.
    pub compute: Ps,
    /// Processor time of messages.
    pub overhead: Ps,
    /// Time that its messages were under way, added up; where terminals are shared it is not known by rank.
    pub transfer: Ps,
    /// End of its last operation.
    pub last: Ps,
    /// Operations of ranks that are over.
    pub operations: u64,
    /// Messages sent, and their bytes.
    pub sent: (u64, u64),
    /// Messages received, and their bytes.
    pub received: (u64, u64),
    /// Of those sent what stayed within the terminal, and its bytes.
    pub within: (u64, u64),
}

impl Sums {
    /// Adds what another partition or another terminal of the rank did.
    pub fn add(&mut self, other: &Self) {
        self.compute = self.compute.saturating_add(other.compute);
        self.overhead = self.overhead.saturating_add(other.overhead);
        self.transfer = self.transfer.saturating_add(other.transfer);
        self.last = self.last.max(other.last);
        self.operations += other.operations;
        self.sent = (self.sent.0 + other.sent.0, self.sent.1.saturating_add(other.sent.1));
        self.received =
            (self.received.0 + other.received.0, self.received.1.saturating_add(other.received.1));
        self.within = (self.within.0 + other.within.0, self.within.1.saturating_add(other.within.1));
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

/// Sums by rank and collective, and on demand all operations.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Some job is a program.
    programs: bool,
    /// Sums of each rank, by its number in the run.
    ranks: Paged<Sums>,
    /// Time that messages of each terminal were under way, by number.
    transfers: Paged<Ps>,
    collectives: SortedMap<(u32, u16), Collective>,
    /// Sizes of the messages sent.
    sizes: Sizes,
    /// Operations done, on demand.
    pub rows: Vec<Finished>,
    /// Messages that receives took, on demand.
    pub met: Vec<Met>,
}

impl Tally {
    /// Nothing done yet; `programs` says whether some job is a program, `window` is the length of windows of messages, 0 for none.
    #[must_use]
    pub fn new(programs: bool, window: Ps) -> Self {
        Self { programs, sizes: Sizes::new(window), ..Self::default() }
    }

    /// Adds an operation of a rank of `job`; keeps it too if `keep`.
    #[inline]
    pub fn add(&mut self, f: &Finished, job: u32, rank: GlobalRank, keep: bool) {
        let rank = self.ranks.edit(rank.number());
        rank.operations += 1;
        rank.compute = rank.compute.saturating_add(f.compute());
        rank.overhead = rank.overhead.saturating_add(f.busy - f.compute());
        rank.last = rank.last.max(f.time);
        match f.kind {
            Kind::Send => {
                // Where sums end, `flag_clipped` says so.
                rank.sent = (rank.sent.0 + 1, rank.sent.1.saturating_add(f.bytes));
                if f.within {
                    rank.within = (rank.within.0 + 1, rank.within.1.saturating_add(f.bytes));
                }
                let sent = || SentMessage { job, time: f.time, within: f.within };
                self.sizes.record(f.bytes, f.collective > 0, sent);
            }
            // A receive may have room for far more than ever comes.
            Kind::Recv => rank.received = (rank.received.0 + 1, rank.received.1.saturating_add(f.bytes)),
            _ => {}
        }
        if f.collective > 0 {
            let sum = self.collectives.entry((job, f.collective)).or_default();
            sum.operations += 1;
            sum.busy = sum.busy.saturating_add(f.busy);
            if f.kind == Kind::Send {
                sum.messages += 1;
                sum.bytes = sum.bytes.saturating_add(f.bytes);
            }
        }
        if keep {
            self.rows.push(*f);
        }
    }

    /// A message of the ranks at a terminal, if there are any, was under way for this long.
    #[inline]
    pub fn message(&mut self, terminal: TerminalId, time: Ps) {
        if self.programs {
            let sum = self.transfers.edit(terminal.number());
            *sum = sum.saturating_add(time);
        }
    }

    /// Adds what another partition's ranks did.
    pub fn merge(&mut self, other: Self) {
        self.ranks.merge(&other.ranks, Sums::add);
        self.transfers.merge(&other.transfers, |a, b| *a = a.saturating_add(*b));
        for (key, c) in other.collectives {
            let sum = self.collectives.entry(key).or_default();
            sum.operations += c.operations;
            sum.messages += c.messages;
            sum.bytes = sum.bytes.saturating_add(c.bytes);
            sum.busy = sum.busy.saturating_add(c.busy);
        }
        self.sizes.merge(other.sizes);
        self.rows.extend(other.rows);
        self.met.extend(other.met);
    }

    /// Flags sums of bytes and times that do not fit.
    pub fn flag(&self, verdict: &mut Verdict) {
        flag_clipped(self.ranks.iter().map(|(_, sums)| sums.sent.1), verdict);
        let busy = self.ranks.iter().map(|(_, sums)| sums.compute.saturating_add(sums.overhead));
        flag_clipped_times(busy.chain(self.transfers.iter().map(|(_, &time)| time)), verdict);
    }

    /// What ranks sent to others of their terminal and elsewhere; none where no terminal is shared and no node is described.
    #[must_use]
    pub fn nodes(&self, roster: &Roster) -> Option<Nodes> {
        if !roster.describes_nodes() {
            return None;
        }
        let mut all = Sums::default();
        self.ranks.iter().for_each(|(_, sums)| all.add(sums));
        Some(nodes(&all))
    }

    /// What waited for what, if operations were kept; with critical paths if all jobs are `done`. `first` gives the job and the first rank of each
    /// terminal.
    #[must_use]
    pub fn causes<'a>(
        &'a self,
        roster: &'a Roster,
        first: &[(u32, RankId)],
        done: bool,
    ) -> Option<Causes<'a>> {
        (!self.rows.is_empty()).then(|| Causes::new(Past::new(roster, &self.rows, &self.met, first), done))
    }

    /// Tables of ranks and collectives, and of operations, messages and critical paths if they were kept. `first` gives the job and the first rank of each
    /// terminal.
    #[must_use]
    pub fn tables(
        &self,
        jobs: &[JobOf<'_>],
        roster: &Roster,
        first: &[(u32, RankId)],
        causes: Option<&Causes<'_>>,
    ) -> Vec<Table> {
        let mut tables = Vec::new();
        if jobs.iter().all(|j| j.program.is_none()) {
            return tables;
        }
        tables.push(self.ranks(jobs, roster, first));
        if !self.collectives.is_empty() {
            let rows = self.collectives.iter().map(|(&(job, index), c)| (job, index, *c));
            tables.push(collectives(jobs, rows));
        }
        tables.extend(self.sizes.tables(jobs));
        if self.rows.is_empty() {
            return tables;
        }
        let place = |f: &Finished| {
            let (job, rank) = first[f.terminal.index()];
            (job, rank.plus(u32::from(f.slot)))
        };
        let mut rows = self.rows.clone();
        rows.sort_unstable_by_key(|f| (place(f), f.number));
        let causes = causes.map_or_else(Vec::new, |c| c.tables(jobs));
        let operations = operations(&rows, jobs, place);
        let terminal = |job, rank| roster.terminal(job, rank);
        let within = |job, from, to| roster.describes_nodes() && terminal(job, from) == terminal(job, to);
        tables.extend(calls::add(operations, causes.first(), jobs, &|row| rows[row].ready, &within));
        let step = |f: &Finished| Step {
            job: place(f).0,
            rank: place(f).1,
            collective: f.collective,
            instance: f.instance,
            start: f.ready,
            end: f.time,
            busy: f.busy,
        };
        tables.extend(instances::tables(rows.iter().filter(|f| f.collective > 0).map(step).collect(), jobs));
        tables.extend(causes);
        tables
    }

    fn ranks(&self, jobs: &[JobOf<'_>], roster: &Roster, first: &[(u32, RankId)]) -> Table {
        // A node of several rails has as many terminals, and any of them may have sent a message of its ranks.
        let mut transfers = SortedMap::<(u32, RankId), Ps>::new();
        for (terminal, time) in self.transfers.iter() {
            if let Some(&place) = first.get(terminal as usize) {
                *transfers.entry(place).or_default() += time;
            }
        }
        let columns = RankColumns { transfer: !roster.shares(), within: roster.describes_nodes() };
        let mut table = rank_table(columns);
        for (index, job) in (0u32..).zip(jobs).filter(|(_, j)| j.program.is_some()) {
            let cpus = job.program.map_or(1, |p| u64::from(p.cpus().max(1)));
            for rank in RankId::first(roster.ranks(index)) {
                let known = self.ranks.get(roster.number(index, rank).number());
                let transfer = transfers.get(&(index, rank)).copied().unwrap_or(0);
                let sums = Sums { transfer, ..known.copied().unwrap_or_default() };
                let span = sums.last.saturating_sub(job.start);
                push_rank(&mut table, job.name, rank, span, cpus, columns, &sums);
            }
        }
        table
    }
}

/// Flags what ranks sent if it is more than 64 bits hold, from the bytes of each: sums of any parts of it may then end at 2^64 - 1.
pub fn flag_clipped(sent: impl Iterator<Item = u64>, verdict: &mut Verdict) {
    let total: u128 = sent.map(u128::from).sum();
    if total >= u128::from(u64::MAX) {
        verdict.flag("clipped-sums");
        let why = "ranks sent 2^64 bytes or more: sums of bytes end at 2^64 - 1, also where they are larger";
        verdict.detail.push(why.to_owned());
    }
}

/// Flags times that ranks were busy or messages under way if they are more than 64 bits hold, added up: as [`flag_clipped`] does for bytes.
pub fn flag_clipped_times(times: impl Iterator<Item = Ps>, verdict: &mut Verdict) {
    let total: u128 = times.map(u128::from).sum();
    if total >= u128::from(u64::MAX) {
        verdict.flag("clipped-sums");
        let why = "ranks were busy, or messages under way, for 2^64 ps or more: such sums end at 2^64 - 1, also where they are larger";
        verdict.detail.push(why.to_owned());
    }
}

/// What ranks sent within their nodes and elsewhere, from sums over ranks.
#[must_use]
pub fn nodes(all: &Sums) -> Nodes {
    let (within, sent) = (all.within, all.sent);
    debug_assert!(within.0 <= sent.0 && within.1 <= sent.1, "what stays within is a part of what is sent");
    Nodes {
        within: Sent { messages: within.0, bytes: within.1 },
        leaving: Sent { messages: sent.0 - within.0, bytes: sent.1 - within.1 },
    }
}

/// Columns of the table `ranks` that not every run has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankColumns {
    /// Times under way of the messages sent; a network knows them by terminal alone.
    pub transfer: bool,
    /// What stayed within the terminal.
    pub within: bool,
}

/// An empty table `ranks`: one row per rank.
#[must_use]
pub fn rank_table(columns: RankColumns) -> Table {
    let mut table = Table::new("ranks")
        .with("job", Column::text())
        .with("rank", Column::u32s())
        .with("makespan_ps", Column::u64s())
        .with("compute_ps", Column::u64s())
        .with("overhead_ps", Column::u64s());
    if columns.transfer {
        table = table.with("transfer_ps", Column::u64s());
    }
    table = table
        .with("wait_ps", Column::u64s())
        .with("operations", Column::u64s())
        .with("messages_sent", Column::u64s())
        .with("bytes_sent", Column::u64s())
        .with("messages_received", Column::u64s());
    if columns.within {
        table = table.with("messages_within", Column::u64s()).with("bytes_within", Column::u64s());
    }
    table
}

/// Adds a rank to [`rank_table`]: it waits when its processors, so many, neither compute nor handle messages.
pub fn push_rank(
    table: &mut Table,
    job: &str,
    rank: RankId,
    span: Ps,
    cpus: u64,
    columns: RankColumns,
    r: &Sums,
) {
    // Several processors of a rank may be busy at the same time.
    let wait = span.saturating_mul(cpus).saturating_sub(r.compute.saturating_add(r.overhead));
    let mut row = vec![Cell::Text(job), Cell::U32(rank.number())];
    row.extend([span, r.compute, r.overhead].map(Cell::U64));
    if columns.transfer {
        row.push(Cell::U64(r.transfer));
    }
    row.extend([wait, r.operations, r.sent.0, r.sent.1, r.received.0].map(Cell::U64));
    if columns.within {
        row.extend([r.within.0, r.within.1].map(Cell::U64));
    }
    table.push(&row);
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
fn operations(rows: &[Finished], jobs: &[JobOf<'_>], place: impl Fn(&Finished) -> (u32, RankId)) -> Table {
    let mut table = timeline::operations();
    for f in rows {
        let (job, rank) = place(f);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roster::Rules;
    use model::setup::JobSetup;
    use std::sync::Arc;
    use workload::{
        program::{
            Op,
            list::{List, calc, send},
        },
        registry::Work,
    };

    /// Messages of 2^62 bytes, of which four are more than a sum of 64 bits holds.
    #[test]
    fn sums_of_bytes_end_at_64_bits_and_say_so() {
        let sends = |count: u32| {
            let mut tally = Tally::new(true, 1);
            for _ in 0..count {
                let op = Op { collective: 1, ..send(1, 1 << 62, 0) };
                let mut finished = Finished::new(&op, TerminalId::new(0), 0, 0, 0, 52, 0);
                finished.within = true;
                tally.add(&finished, 0, GlobalRank::new(0), false);
            }
            tally
        };
        let judged = |tally: &Tally| {
            let mut verdict = Verdict::ok();
            tally.flag(&mut verdict);
            (tally.ranks.get(0).map(|sums| [sums.sent.1, sums.within.1]), verdict.flags)
        };
        assert_eq!(judged(&sends(3)), (Some([3 << 62; 2]), Vec::new()));
        let clipped = (Some([u64::MAX; 2]), vec!["clipped-sums".to_owned()]);
        assert_eq!(judged(&sends(4)), clipped);
        let mut both = sends(2);
        both.merge(sends(2));
        assert_eq!(judged(&both), clipped);
        assert_eq!(both.collectives[&(0, 1)].bytes, u64::MAX);
    }

    /// Computations of 2^62 ps, of which four are more than a sum of 64 bits holds.
    #[test]
    fn sums_of_times_end_at_64_bits_and_say_so() {
        let calculates = |count: u32| {
            let mut tally = Tally::new(true, 1);
            for _ in 0..count {
                let op = Op { collective: 1, ..calc(1 << 62) };
                let finished = Finished::new(&op, TerminalId::new(0), 0, 0, 0, 1 << 62, 1 << 62);
                tally.add(&finished, 0, GlobalRank::new(0), false);
            }
            tally
        };
        let judged = |tally: &Tally| {
            let mut verdict = Verdict::ok();
            tally.flag(&mut verdict);
            (tally.ranks.get(0).map(|sums| sums.compute), verdict.flags)
        };
        assert_eq!(judged(&calculates(3)), (Some(3 << 62), Vec::new()));
        let clipped = (Some(u64::MAX), vec!["clipped-sums".to_owned()]);
        assert_eq!(judged(&calculates(4)), clipped);
        let mut both = calculates(2);
        both.merge(calculates(2));
        assert_eq!(judged(&both), clipped);
        assert_eq!(both.collectives[&(0, 1)].busy, u64::MAX);
    }

    /// What belongs to collectives is summed by job and collective in a table of its own, which is there if there is one.
    #[test]
    fn collectives_have_a_table() {
        let program = Arc::new(List::new(Vec::new()));
        let job = JobSetup {
            name: "job".to_owned(),
            work: Work::Program(program.clone()),
            placement: vec![TerminalId::new(0), TerminalId::new(1)],
            message: None,
            start: 0,
            compute_ppb: JobSetup::COMPUTE_AS_IS,
        };
        let rules = Rules { eager: 64, control: 8, overhead: 2, meets: false, direct: None };
        let roster = Roster::new(&[job], rules, None);
        let jobs = [JobOf { name: "job", program: Some(&*program), start: 0 }];
        let first = [(0, RankId::new(0)), (0, RankId::new(1))];
        let done = |tally: &mut Tally, op: Op, collective, span| {
            let op = Op { collective, ..op };
            let finished = Finished::new(&op, TerminalId::new(0), 0, 0, 0, 52, span);
            tally.add(&finished, 0, GlobalRank::new(0), false);
        };
        let mut tally = Tally::new(true, 0);
        done(&mut tally, send(1, 5, 0), 0, 2);
        let names = |tally: &Tally| -> Vec<String> {
            let tables = tally.tables(&jobs, &roster, &first, None);
            tables.iter().map(|t| t.name().to_owned()).collect()
        };
        assert!(!names(&tally).contains(&"collectives".to_owned()));
        done(&mut tally, send(1, 8, 0), 1, 2);
        done(&mut tally, send(1, 9, 0), 1, 3);
        done(&mut tally, calc(7), 1, 7);
        let tables = tally.tables(&jobs, &roster, &first, None);
        let table = tables.iter().find(|t| t.name() == "collectives").expect("there is one");
        let sums =
            ["operations", "messages", "bytes", "busy_ps"].map(|name| table.u64_column(name).unwrap()[0]);
        assert_eq!(sums, [3, 2, 17, 12]);
    }
}
