//! The critical path of a job whose ranks live on a network: from the end of its last operation back to its start, always to what the present instant
//! had to wait for.
//!
//! At an instant of a rank the path goes on, in this order: to a message that came just then for a receive that waited, and so to the start of its send, or
//! to the receive if that was the later of the two to ask for it (rendezvous); to what kept the processor busy until then; to the receive that a send waited for; to
//! another rank that kept a shared core busy until then; else the rank waited for something that is not told apart (a probe, say), and the path goes to the last
//! thing that it did. Where several end at the same instant one is taken. Without a gap: the times of the parts add up to the time of the path.
//!
//! Cost: a search per part in what was kept, some 50 B for each operation and 12 B for each message beside what was reported. With time slices a computation lasts from its readiness to its end, whoever
//! had the core in between.

use super::{
    finished::{Finished, Met},
    roster::{GlobalRank, Roster},
};
use base::{
    index::{RankId, TerminalId},
    sorted::SortedMap,
    time::Ps,
};
use model::setup::JobOf;
use results::{
    otf2_out,
    summary::{CriticalPath, Job},
    table::{Cell, Column, Table},
};
use serde::{Deserialize, Serialize};
use workload::program::Kind;

/// What a part of the path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Part {
    /// Time spent computing on the path.
    Compute,
    /// Processor time of a send.
    Send,
    /// Processor time of a message at its receiver.
    Receive,
    /// A message, from the start of its send (whose processor time is in it) to its arrival; of one that asks first also its request and grant.
    Transfer,
    /// Waiting for an interface, or for what is not told apart.
    Wait,
}

impl Part {
    /// Its name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Send => "send",
            Self::Receive => "receive",
            Self::Transfer => "transfer",
            Self::Wait => "wait",
        }
    }
}

/// A part of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// What it is.
    pub part: Part,
    /// Rank: the sender of a transfer.
    pub host: GlobalRank,
    /// Number of the operation; the sender's for messages.
    pub number: u32,
    /// Rank at the other end of a message.
    pub peer: GlobalRank,
    /// Bytes of the message.
    pub bytes: u64,
    /// When it begins.
    pub start: Ps,
    /// When it ends: when the next one begins.
    pub end: Ps,
}

/// Times of a path by what they are spent for; none of an empty one.
#[must_use]
pub fn summed(path: &[Segment]) -> Option<CriticalPath> {
    path.first()?;
    debug_assert!(path.windows(2).all(|w| w[0].end == w[1].start), "a path has no gap");
    let time =
        |parts: &[Part]| path.iter().filter(|s| parts.contains(&s.part)).map(|s| s.end - s.start).sum::<Ps>();
    let mut ranks: Vec<GlobalRank> = path.iter().map(|s| s.host).collect();
    ranks.sort_unstable();
    ranks.dedup();
    Some(CriticalPath {
        compute_ps: time(&[Part::Compute]),
        overhead_ps: time(&[Part::Send, Part::Receive]),
        transfer_ps: time(&[Part::Transfer]),
        wait_ps: time(&[Part::Wait]),
        messages: path.iter().filter(|s| s.part == Part::Transfer).count() as u64,
        ranks: ranks.len() as u32,
    })
}

/// Enters the critical paths of jobs into what is reported of them.
pub fn add(jobs: &mut [Job], causes: Option<&Causes<'_>>) {
    debug_assert!(causes.is_none_or(|c| c.paths.len() == jobs.len()), "each job has a path, if an empty one");
    for (job, path) in jobs.iter_mut().zip(causes.into_iter().flat_map(|c| &c.paths)) {
        job.critical_path = summed(path);
    }
}

/// One row per part of the paths; `place` gives the name of a rank's job and its number there.
#[must_use]
pub fn table<'a>(paths: &[Vec<Segment>], place: impl Fn(GlobalRank) -> (&'a str, RankId)) -> Table {
    let mut table = Table::new("critical_path")
        .with("job", Column::text())
        .with("part", Column::text())
        .with("rank", Column::u32s())
        .with("operation", Column::u32s())
        .with("peer", Column::u32s())
        .with("start_ps", Column::u64s())
        .with("end_ps", Column::u64s())
        .with("bytes", Column::u64s());
    for s in paths.iter().flatten() {
        let (job, rank) = place(s.host);
        table.push(&[
            Cell::Text(job),
            Cell::Text(s.part.name()),
            Cell::U32(rank.number()),
            Cell::U32(s.number),
            Cell::U32(place(s.peer).1.number()),
            Cell::U64(s.start),
            Cell::U64(s.end),
            Cell::U64(s.bytes),
        ]);
    }
    table
}

/// What ranks did, and what it shows.
pub struct Causes<'a> {
    past: Past<'a>,
    /// The critical path of each job; empty for those that did not come to their end, and for traffic.
    pub paths: Vec<Vec<Segment>>,
}

impl<'a> Causes<'a> {
    /// Finds the paths of all jobs, if they are `done`.
    #[must_use]
    pub fn new(past: Past<'a>, done: bool) -> Self {
        let program = |job: u32| past.roster.program(job).is_some();
        let path = |job| if done && program(job) { past.path(job) } else { Vec::new() };
        let paths = (0..past.roster.jobs()).map(path).collect();
        Self { past, paths }
    }

    /// The tables `transfers` and `critical_path`.
    #[must_use]
    pub fn tables(&self, jobs: &[JobOf<'_>]) -> Vec<Table> {
        let place = |rank: GlobalRank| self.past.roster.job_of(rank);
        let mut tables = vec![self.past.transfers(jobs, place)];
        if self.paths.iter().any(|p| !p.is_empty()) {
            tables.push(table(&self.paths, |rank| (jobs[place(rank).0 as usize].name, place(rank).1)));
        }
        tables
    }
}

/// What ranks did, to be searched.
pub struct Past<'a> {
    roster: &'a Roster,
    /// Ranks with their operations, by rank and number.
    rows: Vec<(GlobalRank, &'a Finished)>,
    /// Indices of these by rank and end; of sends that end when they are granted also by the time at which the processor was done with them.
    ends: Vec<(GlobalRank, Ps, u32)>,
    /// Messages by receiver and time.
    met: Vec<&'a Met>,
    /// Indices of these by sender and send.
    sent: Vec<u32>,
    /// Ranks of a terminal.
    lodgers: SortedMap<TerminalId, Vec<GlobalRank>>,
}

impl<'a> Past<'a> {
    /// Sorts what was done; `place` gives the job and rank of an operation.
    #[must_use]
    pub fn new(roster: &'a Roster, rows: &'a [Finished], met: &'a [Met], first: &[(u32, RankId)]) -> Self {
        let number = |f: &Finished| {
            let (job, rank) = first[f.terminal.index()];
            roster.number(job, rank.plus(u32::from(f.slot)))
        };
        let mut rows: Vec<(GlobalRank, &Finished)> = rows.iter().map(|f| (number(f), f)).collect();
        rows.sort_unstable_by_key(|(rank, f)| (*rank, f.number));
        let place = |row: &(GlobalRank, &Finished)| (row.0, row.1.number);
        debug_assert!(rows.is_sorted_by(|a, b| place(a) < place(b)), "an operation is over once");
        let times = |(i, (rank, f)): (u32, &(GlobalRank, &Finished))| {
            let asked = (f.sent < f.time).then_some((*rank, f.sent, i));
            [Some((*rank, f.time, i)), asked]
        };
        let mut ends: Vec<_> = (0..).zip(&rows).flat_map(times).flatten().collect();
        ends.sort_unstable();
        let mut met: Vec<&Met> = met.iter().collect();
        met.sort_unstable();
        let mut sent: Vec<u32> = (0..met.len() as u32).collect();
        sent.sort_by_key(|&i| (met[i as usize].from, met[i as usize].send));
        let mut lodgers: SortedMap<TerminalId, Vec<GlobalRank>> = SortedMap::new();
        if roster.node.is_some_and(|n| n.cores.is_some()) {
            for p in roster.places().filter(|p| roster.program(p.job).is_some()) {
                lodgers.entry(p.terminal).or_default().push(roster.number(p.job, p.rank));
            }
        }
        Self { roster, rows, ends, met, sent, lodgers }
    }

    /// The path to the end of a job's last operation, from its start on.
    #[must_use]
    pub fn path(&self, job: u32) -> Vec<Segment> {
        let ranks = self.roster.number(job, RankId::new(0));
        let own = ranks..ranks.plus(self.roster.ranks(job));
        let last = self.rows.iter().filter(|(rank, _)| own.contains(rank)).max_by_key(|(_, f)| f.time);
        let Some(&(mut rank, &Finished { time: mut now, .. })) = last else { return Vec::new() };
        let begin = self.roster.start(job);
        let (mut path, mut left) = (Vec::new(), Vec::new());
        while now > begin {
            let (mut segment, then) = self.step(rank, now, &left);
            segment.start = segment.start.max(begin);
            debug_assert!(segment.end == now && segment.start <= now, "the path goes back without a gap");
            if segment.start < now {
                left.clear();
                path.push(segment);
            } else {
                // Messages that take no time: the path does not come back to a rank within an instant.
                left.push(rank);
            }
            (rank, now) = (then, segment.start);
        }
        path.reverse();
        path
    }

    /// What an instant of a rank waited for, and the rank to go on with. `left` are ranks that the path left at this instant.
    fn step(&self, rank: GlobalRank, now: Ps, left: &[GlobalRank]) -> (Segment, GlobalRank) {
        let elsewhere = |found: &(Segment, GlobalRank)| found.0.start < now || !left.contains(&found.1);
        let found = self
            .arrived(rank, now)
            .filter(elsewhere)
            .or_else(|| self.busy(rank, now).map(|s| (s, rank)))
            .or_else(|| self.granted(rank, now).filter(elsewhere))
            .or_else(|| self.neighbour(rank, now));
        found.unwrap_or_else(|| {
            let wait =
                Segment { part: Part::Wait, host: rank, number: 0, peer: rank, bytes: 0, start: 0, end: now };
            (Segment { start: self.before(rank, now), ..wait }, rank)
        })
    }

    fn row(&self, rank: GlobalRank, number: u32) -> Option<&Finished> {
        let found = self.rows.binary_search_by_key(&(rank, number), |(rank, f)| (*rank, f.number));
        found.ok().map(|i| self.rows[i].1)
    }

    /// Operations of a rank that ended at `now`, or that its processor was done with.
    fn ended(&self, rank: GlobalRank, now: Ps) -> impl Iterator<Item = &Finished> {
        let first = self.ends.partition_point(|e| (e.0, e.1) < (rank, now));
        let here = self.ends[first..].iter().take_while(move |e| (e.0, e.1) == (rank, now));
        here.map(|e| self.rows[e.2 as usize].1)
    }

    /// A message that came at `now` for a receive that waited: its transfer.
    fn arrived(&self, rank: GlobalRank, now: Ps) -> Option<(Segment, GlobalRank)> {
        let first = self.met.partition_point(|m| (m.to, m.at) < (rank, now));
        let here = self.met[first..].iter().take_while(|m| (m.to, m.at) == (rank, now));
        here.filter_map(|m| {
            let (receive, send) = (self.row(rank, m.receive)?, self.row(m.from, m.send)?);
            (send.asked || !m.late).then(|| Self::transfer(m, send, receive, now))
        })
        .next()
    }

    /// The receive that a send had waited for until `now`, or the time that request and grant took.
    fn granted(&self, rank: GlobalRank, now: Ps) -> Option<(Segment, GlobalRank)> {
        let waited = |f: &&Finished| f.asked && f.time == now && f.ready < now;
        self.ended(rank, now).filter(waited).find_map(|send| {
            let key = |i: &u32| (self.met[*i as usize].from, self.met[*i as usize].send);
            let found = self.sent.binary_search_by_key(&(rank, send.number), key).ok()?;
            let m = self.met[self.sent[found] as usize];
            Some(Self::transfer(m, send, self.row(m.to, m.receive)?, now))
        })
    }

    /// A message, or its request and grant, until `end`, and whoever was the last to ask for it.
    fn transfer(m: &Met, send: &Finished, receive: &Finished, end: Ps) -> (Segment, GlobalRank) {
        let (start, then) = if m.late { (receive.ready, m.to) } else { (send.sent - send.busy, m.from) };
        let (host, number, peer, bytes) = (m.from, m.send, m.to, send.bytes);
        (Segment { part: Part::Transfer, host, number, peer, bytes, start: start.min(end), end }, then)
    }

    /// What kept a rank's processor busy until `now`, the shortest of it.
    fn busy(&self, rank: GlobalRank, now: Ps) -> Option<Segment> {
        let sliced = self.roster.node.is_some_and(|n| n.quantum().is_some());
        let span = |f: &Finished| match f.kind {
            Kind::Calc if sliced => (Part::Compute, now - f.ready),
            Kind::Calc => (Part::Compute, f.busy),
            Kind::Send => (Part::Send, f.busy),
            Kind::Recv => (Part::Receive, f.busy),
            _ => (Part::Wait, 0),
        };
        // The processor of a send is done when the message, or its request, is sent.
        let ended = self.ended(rank, now).filter(|f| f.kind != Kind::Send || f.sent == now);
        let spans = ended.map(|f| (span(f), f)).filter(|((_, time), _)| *time > 0);
        let ((part, time), f) = spans.min_by_key(|((_, time), f)| (*time, f.number))?;
        let bytes = if part == Part::Compute { 0 } else { f.bytes };
        Some(Segment { part, host: rank, number: f.number, peer: rank, bytes, start: now - time, end: now })
    }

    /// What kept a shared core of the rank's node busy until `now`.
    fn neighbour(&self, rank: GlobalRank, now: Ps) -> Option<(Segment, GlobalRank)> {
        let (_, own) = self.rows.get(self.rows.partition_point(|(other, _)| *other < rank))?;
        let others = self.lodgers.get(&own.terminal)?.iter().filter(|&&other| other != rank);
        others.filter_map(|&other| Some((self.busy(other, now)?, other))).next()
    }

    /// The last end of something that a rank did before `now`, or arrival.
    fn before(&self, rank: GlobalRank, now: Ps) -> Ps {
        let behind = self.ends.partition_point(|e| (e.0, e.1) < (rank, now));
        let done = self.ends[..behind].last().filter(|e| e.0 == rank).map_or(0, |e| e.1);
        let behind = self.met.partition_point(|m| (m.to, m.at) < (rank, now));
        let came = self.met[..behind].last().filter(|m| m.to == rank).map_or(0, |m| m.at);
        done.max(came)
    }

    /// The table `transfers`: one row per message that a receive has taken, from the start of its send.
    fn transfers(&self, jobs: &[JobOf<'_>], place: impl Fn(GlobalRank) -> (u32, RankId)) -> Table {
        let mut table = otf2_out::transfers(false);
        for &i in &self.sent {
            let m = self.met[i as usize];
            let Some(send) = self.row(m.from, m.send) else { continue };
            let ((job, from), (_, to)) = (place(m.from), place(m.to));
            let sent = send.sent - send.busy;
            table.push(&[
                Cell::Text(jobs[job as usize].name),
                Cell::U32(from.number()),
                Cell::U32(to.number()),
                Cell::U32(m.send),
                Cell::U64(sent),
                Cell::U64(m.at),
                Cell::U64(m.at.saturating_sub(sent)),
                Cell::U64(send.bytes),
                Cell::U32(m.receive),
            ]);
        }
        table
    }
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
            list::{List, calc, recv, send},
        },
        registry::Work,
    };

    /// Two ranks: the first computes until 50 and sends with an overhead of 2; the message is there at 90, and its receive, which waited, costs 3.
    fn reported() -> (Vec<Finished>, Vec<Met>) {
        let done = |rank: u32, number, op: &Op, (ready, time), span| {
            Finished::new(op, TerminalId::new(rank), 0, number, ready, time, span)
        };
        let rows = vec![
            done(0, 0, &calc(50), (0, 50), 50),
            done(0, 1, &send(1, 8, 0), (50, 52), 2),
            done(1, 0, &recv(0, 8, 0), (0, 93), 3),
        ];
        let (from, to) = (GlobalRank::new(0), GlobalRank::new(1));
        (rows, vec![Met { to, at: 90, receive: 0, from, send: 1, late: false }])
    }

    fn path(rows: &[Finished], met: &[Met]) -> CriticalPath {
        let job = JobSetup {
            name: "job".to_owned(),
            work: Work::Program(Arc::new(List::new(Vec::new()))),
            placement: vec![TerminalId::new(0), TerminalId::new(1)],
            message: None,
            start: 0,
            compute_ppb: JobSetup::COMPUTE_AS_IS,
        };
        let roster = Roster::new(
            &[job],
            Rules { eager: 64, control: 8, overhead: 2, meets: true, direct: None },
            None,
        );
        let first = [(0, RankId::new(0)), (0, RankId::new(1))];
        summed(&Past::new(&roster, rows, met, &first).path(0)).expect("there is a path")
    }

    /// What the tests of random programs look for: time whose cause is lost is called waiting.
    #[test]
    fn a_lost_cause_shows_as_waiting() {
        let (rows, met) = reported();
        let whole = path(&rows, &met);
        let parts = |p: &CriticalPath| (p.compute_ps, p.overhead_ps, p.transfer_ps, p.wait_ps, p.ranks);
        assert_eq!(parts(&whole), (50, 3, 40, 0, 2));
        assert_eq!(parts(&path(&rows, &[])), (0, 3, 0, 90, 1), "the message was not reported");
        let late = [Met { late: true, ..met[0] }];
        assert_ne!(parts(&path(&rows, &late)), parts(&whole), "the receive is taken for the later one");
        let mut lost = rows.clone();
        lost[0].busy = 0;
        assert_eq!(path(&lost, &met).wait_ps, 50, "the computation was not counted");
    }
}
