//! The executor: starts what may start, matches, and says what is left over.

use crate::program::{
    ANY_RANK, ANY_TAG, After, Batch, Cursor, Damage, Edge, Kind, Op, Program,
    mpi::{Call, Calls, Mode, Script},
};
use base::{
    index::RankId,
    rng::{Purpose, Stream},
};
use std::sync::Arc;

/// Calls in memory; the position of a call is given with it.
pub(in crate::program) struct Listed {
    pub(in crate::program) ranks: Vec<Vec<(Call, u32)>>,
    pub(in crate::program) makes_communicators: bool,
}

struct Reader(std::vec::IntoIter<(Call, u32)>);

impl Script for Listed {
    fn ranks(&self) -> u32 {
        self.ranks.len() as u32
    }
    fn open(&self, rank: RankId) -> Box<dyn Calls> {
        Box::new(Reader(self.ranks[rank.index()].clone().into_iter()))
    }
    fn describe(&self, rank: RankId, position: u32) -> String {
        format!("trace.{rank}:{position}")
    }
    fn makes_communicators(&self) -> bool {
        self.makes_communicators
    }
}

impl Calls for Reader {
    fn next(&mut self) -> Result<Option<(Call, u32)>, Damage> {
        Ok(self.0.next())
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum State {
    Waiting,
    Started,
    Finished,
}

struct Rank {
    cursor: Box<dyn Cursor>,
    ended: bool,
    ops: Vec<(Op, State, Vec<Edge>)>,
    /// Posted receives and probes, unexpected messages (source, operation there), in their order.
    posted: Vec<usize>,
    unexpected: Vec<(usize, usize)>,
}

/// A message: sender and its operation, receiver and its operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::program) struct Match {
    pub(in crate::program) from: usize,
    pub(in crate::program) to: usize,
    pub(in crate::program) send: Op,
    pub(in crate::program) recv: Op,
}

/// What a run shows.
#[derive(Debug, Default)]
pub(in crate::program) struct Run {
    pub(in crate::program) matches: Vec<Match>,
    /// By rank: (operation, in the order in which they finished).
    pub(super) finished: Vec<Vec<Op>>,
    /// Most operations in one batch.
    pub(super) largest_batch: usize,
}

pub(in crate::program) struct Executor {
    ranks: Vec<Rank>,
    run: Run,
    /// Largest eager message.
    eager: u64,
    order: Stream,
    /// By rank and origin: nothing may start before all earlier operations of these calls have finished.
    blocking: Vec<Vec<bool>>,
}

impl Executor {
    pub(super) fn with_blocking(mut self, blocking: Vec<Vec<bool>>) -> Self {
        self.blocking = blocking;
        self
    }

    fn check_blocking(&self, r: usize, n: usize) {
        let Some(blocking) = self.blocking.get(r) else { return };
        let ops = &self.ranks[r].ops;
        let late = |(op, state, _): &&(Op, State, Vec<Edge>)| {
            op.origin != ops[n].0.origin && blocking[op.origin as usize] && *state != State::Finished
        };
        if let Some(late) = ops[..n].iter().find(late).filter(|_| ops[n].0.kind != Kind::JoinAny) {
            panic!("{:?} starts before {:?} has finished", ops[n].0, late.0);
        }
    }

    pub(in crate::program) fn new(program: &Arc<dyn Program>, eager: u64, seed: u64) -> Self {
        let rank = |r| Rank {
            cursor: program.open(RankId::new(r)),
            ended: false,
            ops: Vec::new(),
            posted: Vec::new(),
            unexpected: Vec::new(),
        };
        let ranks: Vec<Rank> = (0..program.ranks()).map(rank).collect();
        let run = Run { finished: vec![Vec::new(); ranks.len()], ..Run::default() };
        Self { ranks, run, eager, order: Stream::new(seed, Purpose::Test, 0), blocking: Vec::new() }
    }

    /// Runs to the end. Ranks take turns in random order.
    pub(in crate::program) fn run(mut self) -> Result<Run, String> {
        let mut order: Vec<usize> = (0..self.ranks.len()).collect();
        loop {
            self.order.shuffle(&mut order);
            let mut progress = false;
            for &r in &order {
                progress |= self.step(r).map_err(|d| d.0)?;
            }
            if !progress {
                break;
            }
        }
        for (r, rank) in self.ranks.iter().enumerate() {
            if let Some((op, state, _)) = rank.ops.iter().find(|(_, s, _)| *s != State::Finished) {
                return Err(format!("rank {r} is stuck: {state:?} {op:?}"));
            }
            if !rank.ended || !rank.unexpected.is_empty() || !rank.posted.is_empty() {
                return Err(format!("rank {r} has left over {:?} {:?}", rank.unexpected, rank.posted));
            }
        }
        Ok(self.run)
    }

    fn step(&mut self, r: usize) -> Result<bool, Damage> {
        let mut progress = false;
        loop {
            let rank = &mut self.ranks[r];
            if !rank.ended && rank.ops.last().is_none_or(|(_, s, _)| *s >= State::Started) {
                let mut batch = Batch::default();
                rank.cursor.fill(&mut batch)?;
                rank.ended = batch.ops.is_empty();
                self.run.largest_batch = self.run.largest_batch.max(batch.ops.len());
                let first = rank.ops.len();
                rank.ops.extend(batch.ops.into_iter().map(|op| (op, State::Waiting, Vec::new())));
                for edge in batch.edges {
                    assert!(edge.after >= first as u64, "an edge leads to an operation of its batch");
                    assert!(edge.before < edge.after);
                    rank.ops[edge.after as usize].2.push(edge);
                }
            }
            let Some(n) = (0..self.ranks[r].ops.len()).find(|&n| self.executable(r, n)) else { break };
            progress = true;
            self.start(r, n);
        }
        Ok(progress)
    }

    fn executable(&self, r: usize, n: usize) -> bool {
        let ops = &self.ranks[r].ops;
        let (op, state, edges) = &ops[n];
        if *state != State::Waiting {
            return false;
        }
        let met = |edge: &Edge| {
            let state = ops[edge.before as usize].1;
            state == State::Finished || (edge.on_start && state == State::Started)
        };
        let previous = match op.after {
            After::Nothing => None,
            After::Start => Some(ops[n - 1].1 >= State::Started),
            After::Finish => Some(ops[n - 1].1 == State::Finished),
        };
        if op.kind == Kind::JoinAny {
            return previous == Some(true) || edges.iter().any(met);
        }
        previous != Some(false) && edges.iter().all(met)
    }

    fn finish(&mut self, r: usize, n: usize) {
        let entry = &mut self.ranks[r].ops[n];
        entry.1 = State::Finished;
        self.run.finished[r].push(entry.0);
    }

    fn start(&mut self, r: usize, n: usize) {
        self.check_blocking(r, n);
        let op = self.ranks[r].ops[n].0;
        self.ranks[r].ops[n].1 = State::Started;
        match op.kind {
            Kind::Calc | Kind::Join | Kind::JoinAny => self.finish(r, n),
            Kind::Recv | Kind::Probe => {
                let fits =
                    |&(from, send): &(usize, usize)| matching(&op, from, &self.ranks[from].ops[send].0);
                match self.ranks[r].unexpected.iter().position(fits) {
                    None => self.ranks[r].posted.push(n),
                    Some(_) if op.kind == Kind::Probe => self.finish(r, n),
                    Some(i) => {
                        let (from, send) = self.ranks[r].unexpected.remove(i);
                        self.meet(from, send, r, n);
                    }
                }
            }
            Kind::Send => {
                let eager = match op.mode {
                    Mode::Standard => op.amount <= self.eager,
                    Mode::Synchronous => false,
                    Mode::Buffered => true,
                };
                if eager {
                    self.finish(r, n);
                }
                self.arrive(r, n, op);
            }
        }
    }

    fn arrive(&mut self, from: usize, send: usize, op: Op) {
        let to = op.peer.index();
        let waiting = self.ranks[to].posted.clone();
        for n in waiting {
            let receive = self.ranks[to].ops[n].0;
            if matching(&receive, from, &op) {
                self.ranks[to].posted.retain(|&p| p != n);
                if receive.kind == Kind::Recv {
                    return self.meet(from, send, to, n);
                }
                self.finish(to, n);
            }
        }
        self.ranks[to].unexpected.push((from, send));
    }

    fn meet(&mut self, from: usize, send: usize, to: usize, recv: usize) {
        let (sent, received) = (self.ranks[from].ops[send].0, self.ranks[to].ops[recv].0);
        self.run.matches.push(Match { from, to, send: sent, recv: received });
        self.finish(to, recv);
        if self.ranks[from].ops[send].1 != State::Finished {
            self.finish(from, send);
        }
    }
}

fn matching(receive: &Op, from: usize, send: &Op) -> bool {
    receive.context == send.context
        && (receive.peer.index() == from || receive.peer == ANY_RANK)
        && (receive.tag == send.tag || receive.tag == ANY_TAG)
}
