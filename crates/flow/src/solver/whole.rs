//! All levels anew: where a change is felt by most sharers, nothing is won by asking which.
//!
//! Plain water filling: the link that is full first settles all its open sharers, each of which leaves less to the links of its route. A
//! link's level only rises as others settle theirs, so a step that comes too early is put back. Two visits of each link of each route
//! at most, in the order of the lists; what a link's sharers take in all is kept from solution to solution while none of them changes.

use super::{
    Solver,
    rows::{CAP, SAME, SHARER, SMALL, Step, Sum, near, same},
};
use std::cmp::Reverse;

/// Solutions of all levels before the other way is tried.
const TRIES: u32 = 24;
/// Prices, in nanoseconds or so: an entry of a list where changes are followed, an entry of a route where all levels are found, and a link then.
const PRICES: [u64; 3] = [5, 7, 30];

impl Solver {
    /// Decides how the next levels are found, after those of this solution: `asked` is the number of links and sharers that had been changed, `visits`
    /// that of list entries it looked at.
    pub(super) fn choose_method(&mut self, asked: u64, visits: u64) {
        if self.whole {
            self.tries += 1;
            // Filling anew says nothing of what following the change would have cost, so that is tried from time to time.
            self.whole = self.tries < TRIES;
        } else if asked * 8 <= self.alive {
            // Where most was changed from outside the work is no measure.
            // Both methods give the same bits, so that a wrong guess costs time and nothing else.
            let dear = visits > self.cost_of_all();
            self.whole = dear && self.alive >= 64;
            self.tries = 0;
        }
    }

    /// What finding all levels costs, in entries of lists where changes are followed.
    pub(super) fn cost_of_all(&self) -> u64 {
        let [visit, entry, link] = PRICES;
        (entry * self.uses + link * self.used.len() as u64) / visit
    }

    /// Finds the levels of all sharers.
    pub(super) fn solve_all(&mut self) {
        let mut touched = std::mem::take(&mut self.touched);
        for link in touched.drain(..) {
            if self.links[link as usize].members.is_empty() {
                self.fills[link as usize].level = f64::INFINITY;
            }
        }
        self.touched = touched;
        let fresh = std::mem::take(&mut self.fresh);
        for &sharer in &fresh {
            if self.is_on_links(sharer) {
                self.list(sharer);
                if self.entries(sharer).is_empty() {
                    let cap = self.sharers[sharer as usize].cap;
                    self.steps.push(Reverse(Step { bits: cap.to_bits(), row: sharer | SHARER }));
                }
            }
        }
        self.begin_all();
        self.ready = false;
        self.left = self.alive;
        while self.left > 0 {
            // Bits of numbers from zero on are ordered as the numbers are, so steps compare as integers.
            let Some(&Reverse(Step { bits, row })) = self.steps.peek() else { break };
            let level = f64::from_bits(bits);
            if row & SHARER > 0 {
                self.steps.pop();
                let sharer = row & !SHARER;
                if self.sharers[sharer as usize].epoch != self.epoch {
                    if level.is_finite() {
                        self.water = self.water.max(level);
                    }
                    self.settle_in_all(sharer, level, CAP);
                }
                continue;
            }
            let open = self.sums[row as usize].opened > 0;
            let now = if open { self.full(row) } else { f64::INFINITY };
            // Others have settled since this step was made, so the link fills later than it says. Putting it back keeps one step per link, where
            // a new one for each settled sharer would make the heap as long as all routes.
            if open && now > level {
                if let Some(mut first) = self.steps.peek_mut() {
                    first.0.bits = now.to_bits();
                }
                continue;
            }
            self.steps.pop();
            if open {
                self.pour(row, now);
            }
        }
        self.steps.clear();
    }

    /// Sums of all links in use, and a step for each and for each cap.
    fn begin_all(&mut self) {
        self.sums.resize(self.links.len(), Sum::default());
        let mut used = std::mem::take(&mut self.used);
        // A heap made of a list at once is linear; pushing one by one is not.
        let mut steps = std::mem::take(&mut self.steps).into_vec();
        used.retain(|&link| {
            let row = &mut self.links[link as usize];
            row.listed = !row.members.is_empty();
            if !row.listed {
                return false;
            }
            // Summed in the order of the list, as following a change does: another order would round differently.
            if row.total.is_nan() {
                self.visits += row.members.len() as u64;
                row.total = row.members.iter().map(|m| m.rate).sum();
            }
            let fill = &mut self.fills[link as usize];
            row.before = std::mem::replace(&mut fill.level, f64::INFINITY);
            let opened = row.members.len() as u32;
            self.sums[link as usize] = Sum { left: fill.capacity, open: row.total, opened };
            let level = (fill.capacity / row.total).abs();
            steps.push(Reverse(Step { bits: level.to_bits(), row: link }));
            true
        });
        if self.caps > 0 {
            for (n, s) in (0u32..).zip(&self.sharers) {
                if s.count > 0 && !s.detached && s.cap.is_finite() {
                    steps.push(Reverse(Step { bits: s.cap.to_bits(), row: n | SHARER }));
                }
            }
        }
        self.used = used;
        self.steps = steps.into();
    }

    /// Where a link would be full now.
    fn full(&mut self, link: u32) -> f64 {
        if self.sums[link as usize].open <= self.links[link as usize].total * SMALL {
            self.sum_open(link);
        }
        let Sum { left, open, .. } = self.sums[link as usize];
        // Plus zero: levels are compared by their bits.
        (left / open).max(self.water) + 0.0
    }

    /// A link is full: its open sharers settle.
    fn pour(&mut self, link: u32, level: f64) {
        debug_assert!(level >= self.water, "water does not fall");
        self.water = level;
        let row = &mut self.links[link as usize];
        // The other method leaves a link's level alone if nothing near it changed. Rounding apart, so does this one.
        let found = if near(row.before, level, SAME) { row.before } else { level };
        self.fills[link as usize].level = found;
        let members = std::mem::take(&mut row.members);
        self.visits += members.len() as u64;
        for m in &members {
            if self.sharers[m.sharer as usize].epoch != self.epoch {
                self.settle_in_all(m.sharer, found, link);
            }
        }
        self.links[link as usize].members = members;
    }

    /// Sums what is left for a link's open sharers, and what they take, afresh: what was subtracted has lost digits.
    fn sum_open(&mut self, link: u32) {
        let row = &self.links[link as usize];
        self.visits += row.members.len() as u64;
        let (mut left, mut open) = (self.fills[link as usize].capacity, 0.0);
        for m in &row.members {
            let s = &self.sharers[m.sharer as usize];
            if s.epoch == self.epoch {
                left -= m.rate * s.level;
            } else {
                open += m.rate;
            }
        }
        let sum = &mut self.sums[link as usize];
        (sum.left, sum.open) = (left, open);
    }

    /// A sharer has its level.
    fn settle_in_all(&mut self, sharer: u32, level: f64, support: u32) {
        debug_assert!(self.left > 0, "a sharer gets its level once");
        self.left -= 1;
        let row = &mut self.sharers[sharer as usize];
        let moved = !same(row.level, level);
        (row.level, row.epoch, row.support) = (level, self.epoch, support);
        let block = row.block;
        for e in &self.routes.entries[block.range()] {
            let rate = e.rate;
            let sum = &mut self.sums[e.link as usize];
            // All links of the route hear of it at once: whoever asks for their level next gets what is left.
            sum.left -= rate * level;
            sum.open -= rate;
            debug_assert!(sum.opened > 0, "who settles was open on each of its links");
            sum.opened -= 1;
        }
        if moved {
            self.list(sharer);
        }
    }

    /// Notes that what a link's sharers take in all has changed, or that it has some now.
    #[inline]
    pub(super) fn recount(&mut self, link: u32) {
        let row = &mut self.links[link as usize];
        row.total = f64::NAN;
        if !row.listed {
            row.listed = true;
            self.used.push(link);
        }
    }

    /// Notes that a sharer's share may have changed.
    pub(super) fn list(&mut self, sharer: u32) {
        let row = &mut self.sharers[sharer as usize];
        if row.listed != self.epoch {
            row.listed = self.epoch;
            self.changed.push(sharer);
        }
    }
}
