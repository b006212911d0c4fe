//! One mapping: levels of pairs become counts on links, and counts become what each message gets.

use super::{
    metrics::Run,
    routes::{BLOCK, Routes},
};
use base::numbers;

numbers! {
    /// A rank of a plan, counted over all its jobs in their order. A job's own ranks begin at 0 again
    /// ([`RankId`](base::index::RankId)).
    PlanRank(u32);
}

/// A message of a level: sender and receiver.
pub type Pair = (PlanRank, PlanRank);

/// What is asked for beyond histograms; each costs a pass over the paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Want {
    /// Sums of congestion by link.
    pub edges: bool,
    /// Sums by link as ORCS 2.0 adds them: the partial counts after every message of a level.
    pub partial: bool,
    /// Delays along dependencies.
    pub delays: bool,
}

/// Counters of links, reused from level to level.
pub struct Counter<'a, R> {
    routes: &'a R,
    want: Want,
    /// Messages on each link in the present level.
    counts: Vec<u32>,
    /// Links of all messages of the level, one after the other.
    links: Vec<u32>,
    /// Where each message's links end in `links`.
    ends: Vec<u32>,
    weights: Vec<u32>,
    /// When each rank can send next, over all its earlier levels.
    ready: Vec<u64>,
    /// When each rank has its first message of the level before; 0 for none.
    before: Vec<u64>,
}

impl<'a, R: Routes> Counter<'a, R> {
    /// Counters for these routes.
    pub fn new(routes: &'a R, want: Want) -> Self {
        let counts = vec![0; routes.edges() as usize];
        let (links, ends, weights) = (Vec::new(), Vec::new(), Vec::new());
        Self { routes, want, counts, links, ends, weights, ready: Vec::new(), before: Vec::new() }
    }

    /// Forgets delays of the mapping before.
    pub fn begin(&mut self, ranks: u32) {
        if self.want.delays {
            for times in [&mut self.ready, &mut self.before] {
                times.clear();
                times.resize(ranks as usize, 0);
            }
        }
    }

    /// Counts a level. `hosts` is the host of each rank; ranks below `watched` count for delays; `draw` makes messages differ.
    pub fn level(&mut self, pairs: &[Pair], hosts: &[u32], watched: u32, draw: u64, run: &mut Run) {
        self.route(pairs, hosts, draw, run);
        debug_assert_eq!(self.ends.len(), pairs.len(), "every message has its links, or none");
        let mut most = 0;
        let mut begin = 0;
        self.weights.clear();
        for &end in &self.ends {
            let path = &self.links[begin..end as usize];
            debug_assert!(begin <= end as usize, "messages' links follow each other");
            begin = end as usize;
            let weight = path.iter().map(|&l| self.counts[l as usize]).max().unwrap_or(0);
            if weight > 0 {
                run.histogram(weight);
            }
            most = most.max(weight);
            self.weights.push(weight);
        }
        run.level(most);
        if self.want.delays {
            self.delays(pairs, watched);
            run.delays =
                [self.orcs(pairs, watched, run.delays[0]), self.ready.iter().copied().max().unwrap_or(0)];
        }
        if self.want.edges {
            self.add_edges(run);
        }
        if self.links.len() > self.counts.len() / 8 {
            // In order is faster than here and there.
            self.counts.fill(0);
        } else {
            self.links.iter().for_each(|&link| self.counts[link as usize] = 0);
        }
    }

    /// Finds the paths and counts them. A message that does not arrive counts nowhere.
    fn route(&mut self, pairs: &[Pair], hosts: &[u32], draw: u64, run: &mut Run) {
        self.links.clear();
        self.ends.clear();
        let mut messages = [(0, 0); BLOCK];
        for (i, block) in (0u64..).zip(pairs.chunks(BLOCK)) {
            for (message, &(from, to)) in messages.iter_mut().zip(block) {
                *message = (hosts[from.index()], hosts[to.index()]);
            }
            let draw = draw.wrapping_add(i * BLOCK as u64);
            let messages = &messages[..block.len()];
            run.unreachable += self.routes.paths(messages, draw, &mut self.links, &mut self.ends);
        }
        run.messages += pairs.len() as u64;
        for &link in &self.links {
            self.counts[link as usize] += 1;
        }
    }

    fn add_edges(&mut self, run: &mut Run) {
        if run.edges.is_empty() {
            run.edges = vec![0; self.counts.len()];
        }
        debug_assert_eq!(run.edges.len(), self.counts.len(), "there is a sum for each link");
        if self.want.partial {
            // A link used by the i-th of p messages is in the p - i counts from then on.
            let (mut begin, total) = (0, self.ends.len() as u64);
            for (i, &end) in (0u64..).zip(&self.ends) {
                for &link in &self.links[begin..end as usize] {
                    run.edges[link as usize] += total - i;
                }
                begin = end as usize;
            }
        } else {
            for &link in &self.links {
                run.edges[link as usize] += 1;
            }
        }
    }

    /// A message starts when its sender has sent and received all of its earlier levels, and takes its congestion.
    fn delays(&mut self, pairs: &[Pair], watched: u32) {
        debug_assert_eq!(pairs.len(), self.weights.len(), "every message has its congestion");
        let mut done: Vec<(PlanRank, u64)> = Vec::new();
        for (&(from, to), &weight) in pairs.iter().zip(&self.weights) {
            if from.number() < watched && to.number() < watched {
                let end = self.ready[from.index()] + u64::from(weight);
                done.extend([(from, end), (to, end)]);
            }
        }
        for (rank, end) in done {
            let ready = &mut self.ready[rank.index()];
            *ready = end.max(*ready);
        }
    }

    /// The same by ORCS 2.0: only the first message that a rank sends in a level waits, and only for the first that it received
    /// in the level directly before.
    fn orcs(&mut self, pairs: &[Pair], watched: u32, mut longest: u64) -> u64 {
        debug_assert_eq!(pairs.len(), self.weights.len(), "every message has its congestion");
        let mut now = vec![0; self.before.len()];
        let mut sent = vec![false; self.before.len()];
        for (&(from, to), &weight) in pairs.iter().zip(&self.weights) {
            if from.number() >= watched || to.number() >= watched {
                continue;
            }
            let first = !std::mem::replace(&mut sent[from.index()], true);
            let start = if first { self.before[from.index()] } else { 0 };
            let end = start + u64::from(weight);
            longest = longest.max(end);
            // Times are kept plus one, to distinguish a message without congestion from none.
            if now[to.index()] == 0 {
                now[to.index()] = end + 1;
            }
        }
        self.before = now.into_iter().map(|t: u64| t.saturating_sub(1)).collect();
        longest
    }
}
