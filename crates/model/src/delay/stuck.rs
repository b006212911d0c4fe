//! Why a program did not come to its end: who waits for what.

use super::machine::Machine;
use std::fmt;
use workload::program::{ANY_SOURCE, ANY_TAG, Kind};

/// A rank that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Its job.
    pub job: u32,
    /// Its rank.
    pub rank: u32,
    /// What it does: a receive that no message matches, a rendezvous send that no receive matches, a probe.
    pub kind: Kind,
    /// The rank that it waits for, if one in particular.
    pub peer: Option<u32>,
    /// Tag that it waits for, if one in particular.
    pub tag: Option<u32>,
    /// Context that it waits in.
    pub context: u32,
    /// Bytes.
    pub bytes: u64,
    /// Where the operation comes from, as the program tells.
    pub origin: String,
    /// True if the other rank has done all its operations.
    pub peer_ended: bool,
}

/// A message that nobody received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreceived {
    /// Job.
    pub job: u32,
    /// Sending rank.
    pub from: u32,
    /// Rank at which it waits.
    pub to: u32,
    /// Tag.
    pub tag: u32,
    /// Context.
    pub context: u32,
    /// Bytes.
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
    pub cycle: Vec<(u32, u32)>,
}

/// Most entries of each list.
const MOST: usize = 16;

impl Stuck {
    /// Looks at the state in which nothing is pending any more.
    #[must_use]
    pub fn of(machines: &[&Machine]) -> Self {
        let mut stuck = Self::default();
        let Some(cx) = machines.first().map(|m| &m.cx) else { return stuck };
        let ended: Vec<bool> = machines
            .iter()
            .flat_map(|m| {
                let idle = m.window().open() == 0;
                (0..m.count())
                    .map(move |h| idle || m.window().of_rank(h).all(|r| m.window().get(r).is_finished()))
            })
            .collect();
        let mut waits_for = vec![None; ended.len()];
        for m in machines {
            for host in 0..m.count() {
                stuck.rank(m, host, &ended, &mut waits_for);
            }
        }
        stuck.ranks = ended.iter().filter(|e| !**e).count() as u64;
        stuck.cycle = circle(&waits_for).iter().map(|&h| (cx.places[h].job, cx.places[h].rank)).collect();
        stuck
    }

    fn rank(&mut self, m: &Machine, host: u32, ended: &[bool], waits_for: &mut [Option<usize>]) {
        let cx = &m.cx;
        let place = cx.places[(m.first + host) as usize];
        let mut rows = Vec::new();
        if m.window().open() > 0 {
            rows.extend(m.window().of_rank(host).filter(|&r| !m.window().get(r).is_finished()));
        }
        rows.sort_unstable_by_key(|&r| m.window().get(r).number);
        let started = rows.iter().filter(|&&r| m.window().get(r).is_started());
        let mut any = false;
        for &row in started {
            any = true;
            self.waiting += 1;
            let op = m.window().get(row).op;
            let peer = (op.peer != ANY_SOURCE).then_some(op.peer);
            let peer_host = peer.map(|p| (cx.bases[place.job as usize] + p) as usize);
            let slot = &mut waits_for[(m.first + host) as usize];
            *slot = slot.or(peer_host);
            if self.first_waiting.len() < MOST {
                self.first_waiting.push(Waiting {
                    job: place.job,
                    rank: place.rank,
                    kind: op.kind,
                    peer,
                    tag: (op.tag != ANY_TAG).then_some(op.tag),
                    context: op.context,
                    bytes: op.amount,
                    origin: cx.programs[place.job as usize].describe(place.rank, op.origin),
                    peer_ended: peer_host.is_some_and(|p| ended[p]),
                });
            }
        }
        if !any {
            self.cyclic += rows.len() as u64;
        }
        let mut messages: Vec<_> = m.matching().messages(host).collect();
        // Ranks that run ahead send in turns, not in the order of time.
        messages.sort_by_key(|&(label, row)| (m.message(row).arrival, label.source, m.message(row).number));
        for (label, message) in messages {
            self.unreceived += 1;
            if self.first_unreceived.len() < MOST {
                self.first_unreceived.push(Unreceived {
                    job: place.job,
                    from: label.source,
                    to: place.rank,
                    tag: label.tag,
                    context: label.context,
                    bytes: m.message(message).bytes,
                });
            }
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
            lines.push(format!("{} messages were never received", self.unreceived));
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
