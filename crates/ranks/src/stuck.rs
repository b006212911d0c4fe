//! Why a program did not come to its end: who waits for what.

use super::{
    matching::{Label, Matching},
    operations::OperationWindow,
    truncated::Truncated,
};
use base::index::RankId;
use results::summary::Verdict;
use serde::{Deserialize, Serialize};
use std::fmt;
use workload::program::{ANY_RANK, ANY_TAG, Kind, Op, Program};

/// A rank that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The job that it belongs to, by number.
    pub job: u32,
    /// The rank within its job.
    pub rank: RankId,
    /// What it does: a receive that no message matches, a rendezvous send that no receive matches, a probe.
    pub kind: Kind,
    /// The rank that it waits for, if one in particular.
    pub peer: Option<RankId>,
    /// Tag that it waits for, if one in particular.
    pub tag: Option<u32>,
    /// Context that it waits in.
    pub context: u32,
    /// Its size in bytes.
    pub bytes: u64,
    /// Where the operation comes from, as the program says.
    pub origin: String,
    /// True if the other rank has done all its operations.
    pub peer_ended: bool,
}

/// A message that nobody received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreceived {
    /// The job, by its number in the experiment.
    pub job: u32,
    /// Rank of the sender within the job.
    pub from: RankId,
    /// Rank at which it waits.
    pub to: RankId,
    /// Tag that sender and receiver agree on.
    pub tag: u32,
    /// Context of matching: a communicator of the job.
    pub context: u32,
    /// Its size in bytes.
    pub bytes: u64,
}

/// Diagnosis of a run whose programs did not come to their end, or left messages behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stuck {
    /// Ranks with operations that are not done.
    pub ranks: u64,
    /// Number of operations that were taken up and wait.
    pub waiting: u64,
    /// The first of them, by rank and number.
    pub first_waiting: Vec<Waiting>,
    /// Operations that wait for operations of their own rank alone: a cycle among dependencies.
    pub cyclic: u64,
    /// Number of messages that nobody received.
    pub unreceived: u64,
    /// The first of them, by rank.
    pub first_unreceived: Vec<Unreceived>,
    /// Ranks that wait for each other in a circle, each for the next: job and rank.
    pub cycle: Vec<(u32, RankId)>,
    /// Messages that are longer than their receives.
    pub truncated: Truncated,
}

/// Where an operation of a rank comes from, with the collective that it is part of.
#[must_use]
pub fn place(program: &dyn Program, rank: RankId, op: &Op) -> String {
    let place = program.describe(rank, op.origin);
    match usize::from(op.collective).checked_sub(1).and_then(|i| program.collectives().get(i)) {
        Some(name) if !place.contains(name.as_str()) => format!("{name}, {place}"),
        _ => place,
    }
}

/// Most entries of each list.
const MOST: usize = 16;

/// A message that nobody received, at the rank at which it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    /// Rank of the sender within the job.
    pub from: RankId,
    /// Tag that sender and receiver agree on.
    pub tag: u32,
    /// Context of matching: a communicator of the job.
    pub context: u32,
    /// Its size in bytes.
    pub bytes: u64,
}

/// A message that waits for a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued {
    /// Rank of the sender within the job.
    pub from: RankId,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its place among all messages of its pair.
    pub sequence: u32,
}

/// Where a rank stands when nothing is pending any more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankState {
    /// The job that it belongs to, by number.
    pub job: u32,
    /// The rank within its job.
    pub rank: RankId,
    /// All its operations are done.
    pub ended: bool,
    /// Numbers of operations that were taken up and wait, in order.
    pub waiting: Vec<u32>,
    /// Number of operations that are read and not taken up.
    pub idle: u64,
    /// Messages that nobody received.
    pub messages: Vec<Left>,
}

impl RankState {
    /// Where the rank `local` of a window stands. Messages that nobody received come by sender, in the order of sending; `message` looks up
    /// one that waits in `matching`.
    #[must_use]
    pub fn of(
        window: &OperationWindow,
        matching: &Matching,
        local: u32,
        job: u32,
        rank: RankId,
        message: impl Fn(u32) -> Queued,
    ) -> Self {
        let mut state = Self { job, rank, ended: window.is_over(local), ..Self::default() };
        for row in window.of_rank(local).map(|r| window.get(r)).filter(|r| !r.is_finished()) {
            state.ended = false;
            if row.is_started() {
                state.waiting.push(row.number);
            } else {
                state.idle += 1;
            }
        }
        state.waiting.sort_unstable();
        debug_assert!(state.waiting.is_sorted_by(|a, b| a < b), "operations have numbers of their own");
        let left = |(label, row): (Label, u32)| {
            let Queued { from, bytes, sequence } = message(row);
            (sequence, Left { from, tag: label.tag, context: label.context, bytes })
        };
        let mut messages: Vec<(u32, Left)> = matching.messages(local).map(left).collect();
        // The matching has them by arrival, which differs from run to run of other models: the order of sending is the program's own.
        messages.sort_unstable_by_key(|(sequence, left)| (left.from, *sequence));
        state.messages = messages.into_iter().map(|m| m.1).collect();
        state
    }
}

/// Where the ranks of a partition, or of several, stand: plain data about numbers that are the same everywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// Each with the operations that wait, as they are numbered in its state.
    ranks: Vec<(RankState, Vec<Op>)>,
    /// Messages that are longer than their receives.
    pub truncated: Truncated,
}

impl Standing {
    /// Adds a rank, with the operations that its state says wait.
    pub fn add(&mut self, state: RankState, waiting: Vec<Op>) {
        debug_assert_eq!(state.waiting.len(), waiting.len(), "an operation for each number");
        self.ranks.push((state, waiting));
    }

    /// Adds another partition's ranks.
    pub fn merge(&mut self, other: Self) {
        self.ranks.extend(other.ranks);
        self.truncated.merge(other.truncated);
    }

    /// Why they cannot go on, once all are there; `describe` says where an operation of one of a job's ranks comes from.
    #[must_use]
    pub fn stuck(mut self, describe: &dyn Fn(u32, RankId, &Op) -> String) -> Stuck {
        self.ranks.sort_unstable_by_key(|(r, _)| (r.job, r.rank));
        let apart = self.ranks.is_sorted_by(|(a, _), (b, _)| (a.job, a.rank) < (b.job, b.rank));
        debug_assert!(apart, "a rank stands in one partition");
        // Partitions hand their ranks over in any order; from here on, a rank's place is found by bisection.
        let (states, ops): (Vec<RankState>, Vec<Vec<Op>>) = self.ranks.into_iter().unzip();
        // Numbers of what waits ascend, and its operations are in the same order.
        let op = |i: usize, number: u32| {
            let place = states[i].waiting.binary_search(&number).ok()?;
            ops[i].get(place).copied()
        };
        Stuck { truncated: self.truncated, ..Stuck::of(&states, &op, describe) }
    }
}

impl Stuck {
    /// Reports of ranks, by job and rank. `op` finds an operation of `ranks[i]` by its number, `describe` says where one of a job's rank comes from.
    #[must_use]
    pub fn of(
        ranks: &[RankState],
        op: &dyn Fn(usize, u32) -> Option<Op>,
        describe: &dyn Fn(u32, RankId, &Op) -> String,
    ) -> Self {
        debug_assert!(ranks.is_sorted_by_key(|r| (r.job, r.rank)), "ranks are in order");
        let mut stuck = Self::default();
        let find = |job, rank| ranks.binary_search_by_key(&(job, rank), |r| (r.job, r.rank)).ok();
        let mut waits_for = vec![None; ranks.len()];
        for (i, r) in ranks.iter().enumerate() {
            let &RankState { job, rank, .. } = r;
            stuck.waiting += r.waiting.len() as u64;
            // Nothing was taken up, and yet something is left: what keeps it can only be another operation of this rank.
            if r.waiting.is_empty() {
                stuck.cyclic += r.idle;
            }
            for &number in &r.waiting {
                // Operations are looked up only while somebody reads of them: a run may end with millions that wait.
                let wanted = waits_for[i].is_none() || stuck.first_waiting.len() < MOST;
                let Some(op) = op(i, number).filter(|_| wanted) else { break };
                let peer = (op.peer != ANY_RANK).then_some(op.peer);
                let other = peer.and_then(|p| find(job, p));
                // One edge for each rank: a circle among those is enough to say who waits for whom, and is found in one walk.
                waits_for[i] = waits_for[i].or(other);
                if stuck.first_waiting.len() < MOST {
                    stuck.first_waiting.push(Waiting {
                        job,
                        rank,
                        kind: op.kind,
                        peer,
                        tag: (op.tag != ANY_TAG).then_some(op.tag),
                        context: op.context,
                        bytes: op.amount,
                        origin: describe(job, rank, &op),
                        peer_ended: other.is_some_and(|o| ranks[o].ended),
                    });
                }
            }
            stuck.unreceived += r.messages.len() as u64;
            // All are counted and few are kept: the report is read by people.
            let room = MOST - stuck.first_unreceived.len();
            stuck.first_unreceived.extend(r.messages.iter().take(room).map(|left| {
                let &Left { from, tag, context, bytes } = left;
                Unreceived { job, from, to: rank, tag, context, bytes }
            }));
        }
        stuck.ranks = ranks.iter().filter(|r| !r.ended).count() as u64;
        stuck.cycle = circle(&waits_for).iter().map(|&i| (ranks[i].job, ranks[i].rank)).collect();
        stuck
    }

    /// Flags what makes the program itself doubtful, however its run ended: messages that are longer than their receives.
    pub fn flag(&self, verdict: &mut Verdict) {
        if let Some(line) = self.truncated.line() {
            verdict.flag("truncated-messages");
            verdict.detail.push(line);
        }
    }

    /// True if all operations are done.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.ranks == 0
    }

    /// Lines for people.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.ranks > 0 {
            lines.push(format!(
                "{} ranks cannot go on; {} operations wait for other ranks",
                self.ranks, self.waiting
            ));
        }
        if self.cyclic > 0 {
            lines.push(format!("{} operations wait for each other within their rank", self.cyclic));
        }
        if !self.cycle.is_empty() {
            let ranks: Vec<String> = self.cycle.iter().map(|c| c.1.to_string()).collect();
            lines.push(format!("ranks wait for each other in a circle: {}", ranks.join(" -> ")));
        }
        lines.extend(self.first_waiting.iter().map(ToString::to_string));
        if self.unreceived > 0 {
            let plural = if self.unreceived == 1 { "message was" } else { "messages were" };
            lines.push(format!("{} {plural} never received", self.unreceived));
        }
        lines.extend(self.first_unreceived.iter().map(ToString::to_string));
        lines
    }
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rank, origin, bytes, .. } = self;
        match self.kind {
            Kind::Send => write!(f, "rank {rank} waits for a receive of its {bytes} B")?,
            Kind::Probe => write!(f, "rank {rank} waits for a message to probe")?,
            _ => write!(f, "rank {rank} waits for a message")?,
        }
        let from = if self.kind == Kind::Send { "by" } else { "from" };
        match self.peer {
            Some(peer) => write!(f, " {from} rank {peer}")?,
            None => write!(f, " {from} any rank")?,
        }
        if let Some(tag) = self.tag {
            write!(f, ", tag {tag}")?;
        }
        if self.context > 0 {
            write!(f, ", context {}", self.context)?;
        }
        write!(f, " ({origin})")?;
        if self.peer_ended {
            write!(f, "; that rank has done all its operations")?;
        }
        Ok(())
    }
}

impl fmt::Display for Unreceived {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, tag, bytes, .. } = self;
        write!(f, "rank {to} never received {bytes} B from rank {from}, tag {tag}")
    }
}

/// A circle in a graph in which everybody points at most to one other.
fn circle(next: &[Option<usize>]) -> Vec<usize> {
    debug_assert!(next.iter().flatten().all(|&n| n < next.len()), "everybody points at one of them");
    // Marked with the walk that came by first: whoever meets its own mark again has gone round, whoever meets another's need not go on.
    let mut seen = vec![0; next.len()];
    for start in 0..next.len() {
        let mut at = start;
        while seen[at] == 0 {
            seen[at] = start + 1;
            match next[at] {
                Some(n) => at = n,
                None => break,
            }
        }
        if seen[at] == start + 1 && next[at].is_some() {
            // The walk may have begun outside: the circle is what comes after where it met itself.
            let mut all = vec![at];
            let mut on = next[at];
            while let Some(n) = on.filter(|&n| n != at) {
                all.push(n);
                on = next[n];
            }
            return all;
        }
    }
    Vec::new()
}
