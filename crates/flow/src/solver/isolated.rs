//! Sharers that meet nobody: each is limited by its tightest link or its cap, without any search.
//!
//! Small messages that take turns on their links, as most do in programs that wait for answers, never meet: all of their solutions are of this kind.
//! What is left behind is, bit for bit, what following the change would leave.
//!
//! A sharer that is alone from the beginning need not even be put on its links: it stays *aside* until somebody joins it there. Whoever adds it looks
//! after that: see `Sharing`.

use super::{
    Solver,
    rows::{CAP, KEPT, Sharer, near, taken},
    wide::Wide,
};

/// Changes beyond this number are not looked at: some of so many meet.
const MOST: usize = 16;

impl Solver {
    /// Finds the levels that changed if no changed sharer meets another; false if one does, and nothing was done.
    pub(super) fn solve_isolated(&mut self) -> bool {
        if self.fresh.len() + self.touched.len() > MOST || !self.all_alone() {
            return false;
        }
        // Lists are taken out while they are walked and put back after, so that they keep their memory.
        let mut touched = std::mem::take(&mut self.touched);
        for link in touched.drain(..) {
            if self.links[link as usize].members.is_empty() {
                self.fills[link as usize].level = f64::INFINITY;
            }
        }
        self.touched = touched;
        let mut fresh = std::mem::take(&mut self.fresh);
        for sharer in fresh.drain(..) {
            if self.is_on_links(sharer) && self.sharers[sharer as usize].epoch != self.epoch {
                self.list(sharer);
                self.settle_isolated(sharer);
            }
        }
        self.fresh = fresh;
        true
    }

    /// True if all that changed are sharers alone on their links, and links with nobody else.
    fn all_alone(&self) -> bool {
        let alone = |sharer: u32| {
            self.entries(sharer).iter().all(|e| {
                let (link, fill) = (&self.links[e.link as usize], &self.fills[e.link as usize]);
                link.members.len() == 1 && fill.capacity.is_finite()
            })
        };
        self.fresh.iter().all(|&s| !self.is_on_links(s) || alone(s))
            && self.touched.iter().all(|&l| {
                let members = &self.links[l as usize].members;
                members.is_empty() || (members.len() == 1 && self.fresh.contains(&members[0].sharer))
            })
    }

    /// True of a sharer that is on its links. One that came and went since the last solution is on none, and its row may be that of one that stays aside now.
    pub(super) fn is_on_links(&self, sharer: u32) -> bool {
        let row = &self.sharers[sharer as usize];
        row.count > 0 && !row.detached
    }

    /// True if nobody is on a link, so that a sharer may stay aside.
    #[must_use]
    pub fn is_idle(&self, link: u32) -> bool {
        let first = self.alike.first(link);
        self.links[first as usize].members.is_empty() && self.fills[link as usize].capacity.is_finite()
    }

    /// Adds a sharer of one flow that stays aside: all its links are idle. Links are given once each.
    pub fn add_detached(&mut self, uses: &[(u32, f64)], weight: f64, cap: f64) -> u32 {
        debug_assert!(uses.iter().all(|u| self.is_idle(u.0)), "whoever is detached meets nobody");
        self.detached.0 += 1;
        self.uses += uses.len() as u64;
        let row = self.row(weight, cap);
        self.sharers[row as usize].detached = true;
        let block = self.sharers[row as usize].block;
        self.sharers[row as usize].block = self.routes.fit(block, 0);
        row
    }

    /// Finds the share of a sharer that is aside.
    pub fn share_detached(&mut self, sharer: u32, uses: &[(u32, f64)]) -> f64 {
        debug_assert!(self.sharers[sharer as usize].detached, "others are found by `solve`");
        let row = &self.sharers[sharer as usize];
        let (level, tightest) = self.alone_at(uses, row.weight, row.cap);
        // Counted as a visit of each, so that the choice between methods sees the same work whether a sharer is on its links or not.
        self.detached.1 += uses.len() as u64 + u64::from(tightest.is_some());
        let row = &mut self.sharers[sharer as usize];
        row.level = level;
        self.share(sharer)
    }

    /// Somebody joins a sharer that was aside. `found`: its share was.
    pub fn attach(&mut self, sharer: u32, uses: &[(u32, f64)], found: bool) {
        debug_assert!(self.sharers[sharer as usize].detached, "others are on their links already");
        self.uses -= uses.len() as u64;
        self.sharers[sharer as usize].detached = false;
        self.enter(sharer, uses.iter().copied());
        if !found {
            self.detached.0 = self.detached.0.saturating_sub(1);
            return self.fresh.push(sharer);
        }
        let row = &self.sharers[sharer as usize];
        let (level, tightest) = self.alone_at(uses, row.weight, row.cap);
        if let Some(link) = tightest {
            self.fills[link as usize].level = level;
        }
        self.stand_alone(sharer, tightest);
    }

    /// A sharer that is alone on its links has its level, which the tightest of them or its cap supports.
    fn stand_alone(&mut self, sharer: u32, tightest: Option<u32>) {
        let row = &mut self.sharers[sharer as usize];
        row.support = tightest.unwrap_or(CAP);
        let level = row.level;
        let block = row.block;
        for e in &self.routes.entries[block.range()] {
            let link = &mut self.fills[e.link as usize];
            debug_assert_eq!(self.links[e.link as usize].members.len(), 1, "who is alone meets nobody");
            // What a link remembers of earlier members is overwritten: there are no others whose part would be lost.
            let supports = tightest == Some(e.link);
            link.supported = u32::from(supports);
            (link.own, link.others) = (Wide::default(), Wide::default());
            if supports {
                link.own.add(e.rate)
            } else {
                link.others.add(taken(e.rate, level))
            }
            link.top = level;
        }
    }

    /// Removes a sharer that is aside.
    pub fn remove_detached(&mut self, sharer: u32, uses: &[(u32, f64)]) {
        debug_assert!(self.sharers[sharer as usize].detached, "others are on their links");
        self.detached.0 += uses.len() as u64;
        self.uses -= uses.len() as u64;
        self.alive -= 1;
        let row = &mut self.sharers[sharer as usize];
        (row.count, row.detached) = (0, false);
        self.caps -= u64::from(row.cap.is_finite());
        self.free.push(sharer);
    }

    /// Level of a sharer that is alone on these links, and the link that limits it.
    fn alone_at(&self, uses: &[(u32, f64)], weight: f64, cap: f64) -> (f64, Option<u32>) {
        let (mut level, mut tightest) = (f64::INFINITY, u32::MAX);
        for &(link, usage) in uses {
            // The same operations in the same order as `settle_isolated` and `whole`: a sharer may be found by any of them, and gets the same bits.
            let full = (self.fills[link as usize].capacity / (usage * weight)).max(0.0) + 0.0;
            if (full, link) < (level, tightest) {
                (level, tightest) = (full, link);
            }
        }
        if level <= cap { (level, (tightest < u32::MAX).then_some(tightest)) } else { (cap, None) }
    }

    /// A sharer that is alone on its links gets the level of the tightest, or of its cap.
    fn settle_isolated(&mut self, sharer: u32) {
        let Sharer { cap, block, .. } = self.sharers[sharer as usize];
        let (mut level, mut tightest) = (f64::INFINITY, None);
        for e in &self.routes.entries[block.range()] {
            let link = &mut self.fills[e.link as usize];
            self.links[e.link as usize].before = std::mem::replace(&mut link.level, f64::INFINITY);
            // Plus zero: levels are compared by their bits.
            let full = (link.capacity / e.rate).max(0.0) + 0.0;
            if (full, e.link) < (level, tightest.unwrap_or(u32::MAX)) {
                (level, tightest) = (full, Some(e.link));
            }
        }
        self.visits += block.range().len() as u64;
        let support = tightest.filter(|_| level <= cap);
        if let Some(link) = support {
            self.visits += 1;
            let before = self.links[link as usize].before;
            if near(before, level, KEPT) {
                level = before;
            }
            self.fills[link as usize].level = level;
        } else {
            level = cap;
        }
        debug_assert!(level >= 0.0, "levels are compared by their bits, which holds from zero on");
        let row = &mut self.sharers[sharer as usize];
        (row.level, row.epoch) = (level, self.epoch);
        self.stand_alone(sharer, support);
    }
}
