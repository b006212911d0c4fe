//! The order in which a rank began its operations and waited for their ends: what a trace of its run says, so that who replays it has the rank's freedom and no more.
//!
//! Operations begin when they did. An end stands where something first had to wait for it, by the dependencies of the program, and not where it happened to be: a request that
//! ended early is waited for late. So a trace of a run in which all sends were eager can be replayed where they are not.

use results::{
    otf2_out,
    table::{Cell, Table},
};
use std::cmp::Reverse;
use workload::program::{After, Batch, Edge, Kind, Op, mpi::Mode};

/// What is known of an operation of a rank.
#[derive(Clone, Copy)]
struct Known {
    kind: Kind,
    after: After,
    mode: Mode,
    /// When it began and was over; `None` if it is not over, or leaves no trace.
    span: Option<(u64, u64)>,
}

/// The operations of one rank with their dependencies, as they are read.
#[derive(Default)]
pub(crate) struct Order {
    known: Vec<Known>,
    edges: Vec<Edge>,
}

/// What is left to do, the last first.
enum Task {
    Begin(u32),
    Begun(u32),
    End(u32),
    Ended(u32),
}

/// What stands in the order so far.
struct Placed<'a> {
    known: &'a [Known],
    begun: Vec<bool>,
    ended: Vec<bool>,
    /// Time of what came last.
    now: u64,
    /// Number, whether it is the end, and when.
    rows: Vec<(u32, bool, u64)>,
}

impl Order {
    /// More operations of the rank, with their edges.
    pub(crate) fn read(&mut self, batch: &Batch) {
        let known = |op: &Op| Known { kind: op.kind, after: op.after, mode: op.mode, span: None };
        self.known.extend(batch.ops.iter().map(known));
        self.edges.extend(&batch.edges);
    }

    /// An operation was done in this time.
    pub(crate) fn done(&mut self, number: u32, begun: u64, end: u64) {
        if let Some(known) = self.known.get_mut(number as usize) {
            known.span = Some((begun, end.max(begun)));
        }
    }

    /// Appends the order to a table: beginnings of sends, receives and computations, ends of sends and receives.
    pub(crate) fn write(mut self, table: &mut Table, job: &str, rank: u32) {
        self.edges.sort_by_key(|edge| edge.after);
        let numbers = 0..self.known.len() as u32;
        let mut begun: Vec<(u64, u32)> =
            numbers.filter_map(|n| Some((self.known[n as usize].span?.0, n))).collect();
        begun.sort_unstable();
        let none = vec![false; self.known.len()];
        let mut placed =
            Placed { known: &self.known, begun: none.clone(), ended: none, now: 0, rows: Vec::new() };
        let mut tasks = Vec::new();
        for &(_, number) in &begun {
            tasks.push(Task::Begin(number));
            self.go_on(&mut placed, &mut tasks);
        }
        // What nobody waited for.
        let mut rest: Vec<(u64, u32)> =
            begun.iter().filter_map(|&(_, n)| Some((self.known[n as usize].span?.1, n))).collect();
        rest.sort_unstable();
        tasks.extend(rest.into_iter().rev().map(|(_, number)| Task::End(number)));
        self.go_on(&mut placed, &mut tasks);
        debug_assert!(placed.rows.is_sorted_by_key(|row| row.2), "a rank's time goes forwards");
        for (number, ends, time) in placed.rows {
            let mode = match self.known[number as usize].mode {
                Mode::Standard => otf2_out::STANDARD,
                Mode::Synchronous => otf2_out::SYNCHRONOUS,
                Mode::Buffered => otf2_out::BUFFERED,
            };
            table.push(&[
                Cell::Text(job),
                Cell::U32(rank),
                Cell::U32(number),
                Cell::U32(ends.into()),
                Cell::U64(time),
                Cell::U32(mode),
            ]);
        }
    }

    /// Does all that is left, and what has to come before.
    fn go_on(&self, placed: &mut Placed<'_>, tasks: &mut Vec<Task>) {
        while let Some(task) = tasks.pop() {
            match task {
                Task::Begin(number) => {
                    if !std::mem::replace(&mut placed.begun[number as usize], true) {
                        tasks.push(Task::Begun(number));
                        self.before(number, tasks);
                    }
                }
                Task::End(number) => {
                    if !std::mem::replace(&mut placed.ended[number as usize], true) {
                        tasks.push(Task::Ended(number));
                        tasks.push(Task::Begin(number));
                    }
                }
                Task::Begun(number) => placed.begun(number),
                Task::Ended(number) => placed.ended(number),
            }
        }
    }

    /// What an operation waits for: computations and joins first, then messages in the order of their ends.
    fn before(&self, number: u32, tasks: &mut Vec<Task>) {
        let known = &self.known[number as usize];
        let from = self.edges.partition_point(|edge| edge.after < u64::from(number));
        let edges = self.edges[from..].iter().take_while(|edge| edge.after == u64::from(number));
        let implicit = number.checked_sub(1).filter(|_| known.after != After::Nothing);
        let implicit = implicit.map(|before| (before, known.after == After::Start));
        let of = |edge: &Edge| (edge.before as u32, edge.on_start);
        let there = |&(before, _): &(u32, bool)| (before as usize) < self.known.len();
        let mut all: Vec<(u32, bool)> = implicit.into_iter().chain(edges.map(of)).filter(there).collect();
        let key = |&(before, on_start): &(u32, bool)| {
            let known = &self.known[before as usize];
            let message = matches!(known.kind, Kind::Send | Kind::Recv) && !on_start;
            (message, if message { known.span.map_or(u64::MAX, |span| span.1) } else { 0 }, before)
        };
        if known.kind == Kind::JoinAny {
            // The first that was over is enough.
            let end = |&(before, _): &(u32, bool)| self.known[before as usize].span.map_or(u64::MAX, |s| s.1);
            let first = all.iter().copied().min_by_key(|of| (end(of), of.0));
            all = first.into_iter().collect();
        }
        all.sort_by_key(|of| Reverse(key(of)));
        let task = |(before, on_start)| if on_start { Task::Begin(before) } else { Task::End(before) };
        tasks.extend(all.into_iter().map(task));
    }
}

impl Placed<'_> {
    fn begun(&mut self, number: u32) {
        let known = self.known[number as usize];
        let Some((begun, _)) = known.span else { return };
        self.now = self.now.max(begun);
        if matches!(known.kind, Kind::Send | Kind::Recv | Kind::Calc) {
            self.rows.push((number, false, self.now));
        }
    }

    fn ended(&mut self, number: u32) {
        let known = self.known[number as usize];
        let Some((_, end)) = known.span else { return };
        match known.kind {
            Kind::Send | Kind::Recv => {
                self.now = self.now.max(end);
                self.rows.push((number, true, self.now));
            }
            // What comes behind it does not stand within it.
            Kind::Calc => self.now = self.now.max(end),
            Kind::Join | Kind::JoinAny | Kind::Probe => {}
        }
    }
}
