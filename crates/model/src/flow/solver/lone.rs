//! Sharers that meet nobody: each is limited by its tightest link or its cap, without any search.
//!
//! Small messages that take turns on their links, as most do in programs that wait for answers, never meet: all of their solutions are of this kind.
//! What is left behind is, bit for bit, what following the change would leave.

use super::{
    Solver,
    rows::{Policy, State, near},
};

/// Changes beyond this number are not looked at: some of so many meet.
const MOST: usize = 16;

impl Solver {
    /// Finds the levels that changed if no changed sharer meets another; false if one does, and nothing was done.
    pub(super) fn solve_lone(&mut self) -> bool {
        if self.fresh.len() + self.touched.len() > MOST || !self.all_alone() {
            return false;
        }
        let mut touched = std::mem::take(&mut self.touched);
        for link in touched.drain(..) {
            let row = &mut self.links[link as usize];
            if row.members.is_empty() {
                row.level = f64::INFINITY;
            }
        }
        self.touched = touched;
        let mut fresh = std::mem::take(&mut self.fresh);
        for sharer in fresh.drain(..) {
            let row = &self.sharers[sharer as usize];
            if row.count > 0 && row.epoch != self.epoch {
                self.list(sharer);
                self.settle_lone(sharer);
            }
        }
        self.fresh = fresh;
        true
    }

    /// True if all that changed are sharers alone on their links, and links with nobody else.
    fn all_alone(&self) -> bool {
        let alone = |sharer: u32| {
            self.entries[sharer as usize].iter().all(|e| {
                let link = &self.links[e.link as usize];
                link.members.len() == 1 && link.policy == Policy::Shared && link.capacity.is_finite()
            })
        };
        self.fresh.iter().all(|&s| self.sharers[s as usize].count == 0 || alone(s))
            && self.touched.iter().all(|&l| {
                let members = &self.links[l as usize].members;
                members.is_empty() || (members.len() == 1 && self.fresh.contains(&members[0].sharer))
            })
    }

    /// A sharer that is alone on its links gets the level of the tightest, or of its cap.
    fn settle_lone(&mut self, sharer: u32) {
        let entries = std::mem::take(&mut self.entries[sharer as usize]);
        let cap = self.sharers[sharer as usize].cap;
        let (mut level, mut tightest) = (f64::INFINITY, None);
        for e in &entries {
            let link = &mut self.links[e.link as usize];
            link.before = std::mem::replace(&mut link.level, f64::INFINITY);
            // Plus zero: levels are compared by their bits.
            let full = (link.capacity / link.members[e.slot as usize].rate).max(0.0) + 0.0;
            if (full, e.link) < (level, tightest.unwrap_or(u32::MAX)) {
                (level, tightest) = (full, Some(e.link));
            }
        }
        self.visits += entries.len() as u64;
        if let Some(link) = tightest.filter(|_| level <= cap) {
            self.visits += 1;
            let row = &mut self.links[link as usize];
            if near(row.before, level) {
                level = row.before;
            }
            row.level = level;
        } else {
            level = cap;
        }
        self.entries[sharer as usize] = entries;
        let row = &mut self.sharers[sharer as usize];
        (row.level, row.epoch, row.state, row.unsupported) = (level, self.epoch, State::Settled, true);
    }
}
