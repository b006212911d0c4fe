//! What a partition leaves of its congestion control, and what must hold of all together.

use super::scheme::WHOLE;
use crate::{check::Pending, effects::Wire, net::Router, state::PacketDomain};
use base::{index::LinkId, sorted::SortedMap, time::Ps};
use engine::agenda::Due;
use model::failure::Failure;
use serde::{Deserialize, Serialize};

/// Flows of a job that are held back at an instant: sums, which partitions add.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// How many there are.
    pub flows: u64,
    /// Their rates, in millionths of a terminal's link.
    pub rates: u64,
    /// The lowest of these; a full one if no flow is held back.
    pub least: u32,
    /// What the scheme counts beside rates, added up.
    pub levels: u64,
    /// The highest of these.
    pub most: u32,
}

impl Default for Held {
    fn default() -> Self {
        Self { flows: 0, rates: 0, least: WHOLE, levels: 0, most: 0 }
    }
}

impl Held {
    /// Adds another partition's, or another sample's.
    pub fn merge(&mut self, other: Self) {
        self.flows += other.flows;
        self.rates += other.rates;
        self.least = self.least.min(other.least);
        self.levels += other.levels;
        self.most = self.most.max(other.most);
    }

    /// By job, of a partition that is settled; nothing without the section.
    #[must_use]
    pub fn by_job<R: Router>(domain: &PacketDomain<R>, now: Ps) -> Vec<Self> {
        let (net, state) = (&domain.cx.net, &domain.state);
        let Some(control) = &net.control else { return Vec::new() };
        let mut jobs = vec![Self::default(); net.work.len()];
        state.control.each(|source, flow| {
            let gauge = control.scheme.gauge(&flow.pace, now);
            let job = jobs.get_mut(net.rank[source].0 as usize);
            if let Some(held) = job.filter(|_| gauge.rate < WHOLE) {
                let (rates, levels) = (u64::from(gauge.rate), u64::from(gauge.level));
                held.merge(Self { flows: 1, rates, least: gauge.rate, levels, most: gauge.level });
            }
        });
        jobs
    }
}

/// What is left at the end of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Closing {
    /// Packets marked by link, those without any left out.
    pub marked: SortedMap<LinkId, u32>,
    /// Notifications sent, received, and under way.
    sent: u64,
    received: u64,
    pending: u64,
    /// They answer marks; else they are acknowledgements of adapters.
    answers: bool,
    faults: Vec<String>,
}

impl Closing {
    /// Of one partition, settled, with what is pending in it.
    #[must_use]
    pub fn of<R: Router>(domain: &PacketDomain<R>, pending: &Pending) -> Option<Self> {
        let (state, cx) = (&domain.state, &domain.cx);
        if cx.net.control.is_none() && cx.net.outlet().is_none() {
            return None;
        }
        let lines = cx.local.lines.cells().iter();
        let marked = lines.zip(state.net.marks.counts.rows()).filter(|(_, c)| c.marked > 0);
        let sources = state.control.sources.rows();
        let notices =
            pending.iter().filter(|p| matches!(p.2, Due::Message(Wire::Notice { .. } | Wire::Taken { .. })));
        Some(Self {
            marked: marked.map(|(line, c)| (line.link, c.marked)).collect(),
            sent: sources.iter().map(|s| u64::from(s.sent)).sum(),
            received: sources.iter().map(|s| u64::from(s.received)).sum(),
            pending: notices.count() as u64,
            answers: cx.net.control.is_some(),
            faults: state.control.faults(&cx.local.terminals),
        })
    }

    /// Adds another partition's.
    pub fn merge(&mut self, other: Self) {
        self.marked.extend(other.marked);
        self.sent += other.sent;
        self.received += other.received;
        self.pending += other.pending;
        self.answers |= other.answers;
        self.faults.extend(other.faults);
    }

    /// Packets marked, all links together.
    #[must_use]
    pub fn marks(&self) -> u64 {
        self.marked.values().map(|&n| u64::from(n)).sum()
    }

    /// Notifications sent so far.
    #[must_use]
    pub fn notifications(&self) -> u64 {
        self.sent
    }

    /// Compares, once all partitions' are there.
    ///
    /// # Errors
    /// [`Failure::Invariant`] with the first thing that does not balance.
    pub fn balance(&self, now: Ps) -> Result<(), Failure> {
        if let Some(fault) = self.faults.first() {
            return Err(Failure::Invariant(format!("at {now} ps {fault}")));
        }
        let Self { sent, received, pending, .. } = self;
        if *sent != received + pending {
            let what =
                format!("{sent} notifications were sent, {received} received, {pending} are under way");
            return Err(Failure::Invariant(format!("at {now} ps {what}")));
        }
        if self.answers && *sent > self.marks() {
            let what = format!("{sent} notifications answer {} marks", self.marks());
            return Err(Failure::Invariant(format!("at {now} ps {what}")));
        }
        Ok(())
    }
}
