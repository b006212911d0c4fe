//! The graphs of all jobs, addressed by host: operations have one number over all jobs.

use crate::domain::Context;
use base::{index::RankId, prefetch::prefetch};
use workload::program::{Freed, Slices, Step};

/// The graph of a job, and its place among the others.
#[derive(Clone, Copy)]
struct Job<'a> {
    graph: Slices<'a>,
    /// First operation, and first host.
    first: u32,
    base: u32,
}

/// Where the operations of all hosts lie.
pub struct Tables<'a> {
    /// The first job, which is the only one as a rule.
    one: Job<'a>,
    jobs: Vec<Job<'a>>,
    ops: usize,
}

impl<'a> Tables<'a> {
    /// Of the programs of a run; none if one of them is no graph, or if 32 bits do not number their operations.
    pub fn new(cx: &'a Context) -> Option<Self> {
        let (mut jobs, mut ops) = (Vec::new(), 0u32);
        for (program, base) in cx.programs.iter().zip(&cx.bases) {
            let graph = program.slices()?;
            jobs.push(Job { graph, first: ops, base: base.number() });
            ops = ops.checked_add(u32::try_from(graph.steps.len() - 1).ok()?)?;
        }
        Some(Self { one: *jobs.first()?, jobs, ops: ops as usize })
    }

    /// Number of a host's job.
    #[inline]
    pub fn job(&self, host: u32) -> usize {
        if self.jobs.len() == 1 { 0 } else { self.jobs.partition_point(|j| j.base <= host) - 1 }
    }

    #[inline]
    fn of_host(&self, host: u32) -> &Job<'a> {
        if self.jobs.len() == 1 { &self.one } else { &self.jobs[self.job(host)] }
    }

    /// Number of operations of all hosts.
    pub fn ops(&self) -> usize {
        self.ops
    }

    /// The first operation of a host.
    #[inline]
    pub fn first(&self, host: u32) -> u32 {
        let job = self.of_host(host);
        job.first + job.graph.starts[(host - job.base) as usize]
    }

    /// The operations of a host.
    pub fn of(&self, host: u32) -> std::ops::Range<u32> {
        let job = self.of_host(host);
        let rank = (host - job.base) as usize;
        job.first + job.graph.starts[rank]..job.first + job.graph.starts[rank + 1]
    }

    /// An operation of a host.
    #[inline]
    pub fn step(&self, host: u32, op: u32) -> &'a Step {
        let job = self.of_host(host);
        debug_assert!(self.of(host).contains(&op), "an operation of this host");
        &job.graph.steps[(op - job.first) as usize]
    }

    /// What an operation frees, as numbers of the host.
    #[inline]
    pub fn freed(&self, host: u32, op: u32) -> &'a [Freed] {
        let job = self.of_host(host);
        let at = (op - job.first) as usize;
        &job.graph.freed[job.graph.steps[at].first as usize..job.graph.steps[at + 1].first as usize]
    }

    /// The host of a rank of this host's job, and this host's rank.
    #[inline]
    pub fn peer(&self, host: u32, rank: RankId) -> (u32, u32) {
        let base = self.of_host(host).base;
        (base + rank.number(), host - base)
    }

    /// The host of a rank of this host's job.
    #[inline]
    pub fn from(&self, host: u32, rank: u32) -> u32 {
        self.of_host(host).base + rank
    }

    /// Hints that an operation will be read soon, whatever its number.
    #[inline]
    pub fn prefetch(&self, op: u32) {
        prefetch(self.one.graph.steps.as_ptr().wrapping_add(op as usize));
    }

    /// The same once that has come: what it frees.
    #[inline]
    pub fn prefetch_freed(&self, op: u32) {
        if let Some(step) = self.one.graph.steps.get(op as usize) {
            prefetch(self.one.graph.freed.as_ptr().wrapping_add(step.first as usize));
        }
    }
}
