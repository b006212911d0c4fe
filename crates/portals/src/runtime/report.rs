//! What a run gives, and in words what ranks wait for that have not ended.

use super::{
    loader,
    threads::{POLL, Reason, Status, Waiting},
    world::World,
};
use crate::machine::Counts;
use base::time::Ps;

/// What a run gives.
#[derive(Clone, Debug)]
pub struct Report {
    /// How each rank ended, or that it has not, by rank.
    pub ranks: Vec<Status>,
    /// Simulated time at the end.
    pub time: Ps,
    /// Messages that were sent, copies sent again and answers included, and what became of them.
    pub counts: Counts,
    /// What ranks that have not ended wait for.
    pub waiting: Vec<String>,
    /// The run was ended by its limit.
    pub limited: bool,
    /// What a checked run found wrong.
    pub faults: Vec<String>,
    /// Why there is no record, if one was asked for.
    pub recorded: Result<(), String>,
}

impl Report {
    /// True if a rank that ended so failed: not if another one ended the job with success.
    #[must_use]
    pub fn is_failure(&self, status: &Status) -> bool {
        match status {
            Status::Running => false,
            Status::Stopped(by) => self.ranks.get(*by as usize) != Some(&Status::Exited(0)),
            how => *how != Status::Exited(0),
        }
    }
}

/// The report of a world in which nobody can go on.
pub(super) fn report(world: &mut World) -> Report {
    let mut waiting = Vec::new();
    let cut = world.machine.is_cut_off();
    let mut limited = false;
    debug_assert!(world.threads.len() >= world.ranks.len(), "each rank has a thread");
    for (n, t) in world.threads.iter().enumerate() {
        if t.result.is_some() || world.ranks[t.rank].status != Status::Running {
            continue;
        }
        let (rank, which) =
            (t.rank, if n < world.ranks.len() { String::new() } else { format!(", thread {n}") });
        // Who waits for something until a time at most would have gone on.
        limited |= (cut || t.timed && matches!(t.waiting, Waiting::Rank(_))) && !world.hopeless;
        let what = match t.waiting {
            _ if world.hopeless && world.polls_idle(t) => {
                format!("looks again and again by {}, without success", t.looks.call)
            }
            Waiting::Rank(Reason { call: "PtlCTWait", what: handle, goal: test }) => {
                format!("waits in PtlCTWait: counter {handle:#x} to reach {test}")
            }
            Waiting::Rank(Reason { call: "PMI_Barrier", what: done, goal: all }) => {
                format!("waits in PMI_Barrier: {done} of {all} ranks are there")
            }
            Waiting::Rank(Reason {
                call: call @ ("PtlEQWait" | "PtlEQPoll" | "PtlCTPoll"),
                what: handle,
                ..
            }) => {
                format!("waits in {call}: {handle:#x}")
            }
            Waiting::Rank(Reason { call: POLL, what: at, .. }) => {
                format!("waits in {POLL}{}", loader::place(at))
            }
            Waiting::Rank(Reason { call, .. }) => format!("waits in {call}"),
            Waiting::Time | Waiting::No => {
                limited |= t.waiting == Waiting::Time && !world.hopeless;
                "was still running".to_owned()
            }
        };
        waiting.push(format!("rank {rank}{which} {what}"));
    }
    Report {
        ranks: world.ranks.cells().iter().map(|r| r.status.clone()).collect(),
        time: world.machine.now,
        counts: world.machine.counts,
        waiting,
        limited,
        faults: world.machine.faults(),
        recorded: Ok(()),
    }
}
