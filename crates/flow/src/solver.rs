//! Weighted max-min sharing of links, solved where something changed and nowhere else.
//!
//! A *sharer* is a set of `count` flows that are treated alike: same links, same weight, same cap. Its flows get the share
//! x = level * weight each. Levels are max-min fair: a sharer's level can only grow at the cost of one with a lower or equal
//! level. At a link the sum of use * count * x stays within the capacity. (A fat pipe limits each flow by itself: it is a cap, not a link.)
//!
//! **State.** Every link that limits somebody has the level at which it is full; every sharer has the least level among its
//! links and its own cap: something *supports* it there. That is the certificate of max-min fairness, and it is local.
//!
//! **Change.** A link whose sharers or capacity changed is *dirty*: its level is unknown. A sharer that nothing clean supports is
//! *open*: its links become dirty, because its share will change. Levels are then found in increasing order, as by filling all
//! links with water: the dirty link that is full first gets its level, its open sharers settle there, and links of sharers that
//! settled elsewhere than before become dirty in turn. What is supported below the water stays as it is, and so does everything that
//! is only reached through sharers whose level did not change. A link takes no notice of clean sharers with a higher level
//! until the water reaches it; only then are they opened, and they settle at their old level if that is where their support is.
//!
//! **Arithmetic.** A dirty link's capacity is counted down afresh from its sharers, in the order of its list: nothing is added and
//! subtracted over time, so nothing drifts. A level that is found again to within 2^-46 keeps its bits, which stops what rounding
//! alone would pass on. The order of all steps is fixed.
//!
//! **All at once.** Where most sharers feel each change (many flows that all meet), all levels are found anew by plain water filling,
//! which is five times cheaper than to follow the change: `whole`. What the last solution cost decides.
//!
//! **Alone.** Where those that changed meet nobody on their links, there is nothing to find: `isolated`.
//!
//! Cost: O(links of a route) for a flow that meets nobody; in general the lists of the dirty links, plus a heap of them.

mod isolated;
mod read;
mod rows;
mod whole;

use rows::{Entry, LITTLE, Link, Member, SAME, SHARER, SMALL, Sharer, State, Step, Sum, near, same};
use std::{cmp::Reverse, collections::BinaryHeap};

/// Links, sharers and the max-min fair levels of the last solution.
#[derive(Clone, Debug, Default)]
pub struct Solver {
    links: Vec<Link>,
    sharers: Vec<Sharer>,
    /// Links of each sharer.
    entries: Vec<Vec<Entry>>,
    free: Vec<u32>,
    epoch: u64,
    /// Links and sharers that were touched since the last solution.
    touched: Vec<u32>,
    fresh: Vec<u32>,
    steps: BinaryHeap<Reverse<Step>>,
    /// Counted links whose step may be too high.
    unannounced: Vec<u32>,
    /// Dirty links that are not yet counted.
    uncounted: Vec<u32>,
    changed: Vec<u32>,
    water: f64,
    /// Find all levels anew; how often that was done.
    whole: bool,
    tries: u32,
    /// Sharers whose level is not found yet.
    left: u64,
    /// Links that somebody uses, or did.
    used: Vec<u32>,
    sums: Vec<Sum>,
    /// Sharers, those with a cap, and links of all their routes.
    alive: u64,
    caps: u64,
    uses: u64,
    /// Links and sharers that changed aside since the last solution, and entries of routes that were looked at for them.
    detached: (u64, u64),
    /// Entries of lists that were looked at so far: the work done.
    pub visits: u64,
}

impl Solver {
    /// No links yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a link; links are numbered from 0. The capacity is at least zero.
    pub fn link(&mut self, capacity: f64) -> u32 {
        debug_assert!(capacity >= 0.0, "a link's capacity is no negative number");
        self.links.push(Link {
            capacity,
            level: f64::INFINITY,
            members: Vec::new(),
            epoch: 0,
            counted: false,
            done: false,
            left: 0.0,
            open: 0.0,
            opened: 0,
            most: 0.0,
            added: false,
            top: 0.0,
            over: false,
            announced: f64::INFINITY,
            pending: false,
            before: f64::INFINITY,
            listed: false,
            total: f64::NAN,
        });
        (self.links.len() - 1) as u32
    }

    /// Capacity of a link.
    #[must_use]
    pub fn capacity(&self, link: u32) -> f64 {
        self.links[link as usize].capacity
    }

    /// Changes a link's capacity.
    pub fn set_capacity(&mut self, link: u32, capacity: f64) {
        debug_assert!(capacity >= 0.0, "a link's capacity is no negative number");
        self.links[link as usize].capacity = capacity;
        self.touched.push(link);
    }

    /// Adds a sharer of one flow: links with what a unit of share takes of each (if a link occurs several times the sum counts), a positive weight, and the most
    /// that a flow may get (infinite for no cap).
    pub fn add(&mut self, route: impl IntoIterator<Item = (u32, f64)>, weight: f64, cap: f64) -> u32 {
        let row = self.row(weight, cap);
        self.enter(row, route);
        self.fresh.push(row);
        row
    }

    /// A row for a sharer of one flow.
    fn row(&mut self, weight: f64, cap: f64) -> u32 {
        debug_assert!(weight > 0.0, "a sharer has a positive weight");
        let row = self.free.pop().unwrap_or_else(|| {
            self.sharers.push(Sharer {
                count: 0,
                weight,
                cap,
                level: 0.0,
                epoch: 0,
                listed: 0,
                state: State::Settled,
                unsupported: false,
                detached: false,
            });
            self.entries.push(Vec::new());
            (self.sharers.len() - 1) as u32
        });
        let sharer = &mut self.sharers[row as usize];
        // Levels are shares per weight, so the cap is divided too: then water and caps are compared without the weight.
        (sharer.count, sharer.weight, sharer.cap) = (1, weight, cap / weight);
        (sharer.level, sharer.epoch) = (0.0, 0);
        self.alive += 1;
        self.caps += u64::from(cap.is_finite());
        row
    }

    /// Puts a sharer on its links.
    fn enter(&mut self, row: u32, route: impl IntoIterator<Item = (u32, f64)>) {
        let weight = self.sharers[row as usize].weight;
        let mut entries = std::mem::take(&mut self.entries[row as usize]);
        entries.clear();
        for (link, usage) in route {
            debug_assert!(usage >= 0.0, "nobody gives a link anything");
            // Routes are short: a search along the list is cheaper than a map, and allocates nothing.
            match entries.iter_mut().find(|e: &&mut Entry| e.link == link) {
                Some(twice) => twice.usage += usage,
                None => entries.push(Entry { link, slot: 0, usage }),
            }
        }
        // Sharer and link point at each other's place, so that a sharer leaves a link in O(1) however many share it.
        for (n, e) in entries.iter_mut().enumerate() {
            let members = &mut self.links[e.link as usize].members;
            e.slot = members.len() as u32;
            members.push(Member { sharer: row, entry: n as u32, rate: e.usage * weight });
        }
        entries.iter().for_each(|e| self.recount(e.link));
        self.uses += entries.len() as u64;
        self.entries[row as usize] = entries;
    }

    /// Number of flows of a sharer.
    #[must_use]
    pub fn count(&self, sharer: u32) -> u32 {
        self.sharers[sharer as usize].count
    }

    /// Changes the number of flows of a sharer; with none left it is gone.
    pub fn set_count(&mut self, sharer: u32, count: u32) {
        debug_assert!(self.sharers[sharer as usize].count > 0, "a sharer that is gone stays so");
        if count == 0 {
            return self.remove(sharer);
        }
        self.sharers[sharer as usize].count = count;
        self.rate_again(sharer);
    }

    /// Changes the most that a flow of a sharer may get.
    pub fn set_cap(&mut self, sharer: u32, cap: f64) {
        debug_assert!(cap >= 0.0, "a cap is no negative number");
        let row = &mut self.sharers[sharer as usize];
        self.caps -= u64::from(row.cap.is_finite());
        row.cap = cap / row.weight;
        self.caps += u64::from(row.cap.is_finite());
        self.fresh.push(sharer);
    }

    /// Changes a sharer's weight; its cap stays.
    pub fn set_weight(&mut self, sharer: u32, weight: f64) {
        let row = &mut self.sharers[sharer as usize];
        debug_assert!(weight >= 0.0, "a weight is no negative number");
        // The share (level x weight) is what the outside knows: it stays the same until the next solution.
        row.cap *= row.weight / weight;
        row.level *= row.weight / weight;
        row.weight = weight;
        self.rate_again(sharer);
    }

    fn rate_again(&mut self, sharer: u32) {
        let Sharer { count, weight, .. } = self.sharers[sharer as usize];
        for e in &self.entries[sharer as usize] {
            let link = &mut self.links[e.link as usize];
            link.total = f64::NAN;
            link.members[e.slot as usize].rate = e.usage * weight * f64::from(count);
        }
        self.fresh.push(sharer);
    }

    fn remove(&mut self, sharer: u32) {
        self.sharers[sharer as usize].count = 0;
        let entries = std::mem::take(&mut self.entries[sharer as usize]);
        for e in &entries {
            let members = &mut self.links[e.link as usize].members;
            debug_assert_eq!(members[e.slot as usize].sharer, sharer, "a place in a link's list points back");
            // The last member moves into the gap, and its owner learns its new place.
            members.swap_remove(e.slot as usize);
            if let Some(&Member { sharer, entry, .. }) = members.get(e.slot as usize) {
                self.entries[sharer as usize][entry as usize].slot = e.slot;
            }
            self.links[e.link as usize].total = f64::NAN;
            self.touched.push(e.link);
        }
        self.alive -= 1;
        self.uses -= entries.len() as u64;
        self.caps -= u64::from(self.sharers[sharer as usize].cap.is_finite());
        self.entries[sharer as usize] = entries;
        self.free.push(sharer);
    }

    /// Finds the max-min fair levels after all that was added, changed and removed. Returns the sharers whose share may have changed,
    /// each once.
    pub fn solve(&mut self) -> &[u32] {
        self.epoch += 1;
        self.water = 0.0;
        self.changed.clear();
        self.steps.clear();
        let (asked, visits) = std::mem::take(&mut self.detached);
        let asked = (self.touched.len() + self.fresh.len()) as u64 + asked;
        let begun = self.visits;
        self.visits += visits;
        if self.whole {
            self.solve_all();
        } else if !self.solve_isolated() {
            self.solve_changed();
        }
        self.choose_method(asked, self.visits - begun);
        debug_assert!(self.are_within_capacity(), "flows use no more of a link than there is");
        &self.changed
    }

    /// Finds the levels that changed.
    fn solve_changed(&mut self) {
        for link in std::mem::take(&mut self.touched) {
            self.soil(link);
        }
        for sharer in std::mem::take(&mut self.fresh) {
            let row = &self.sharers[sharer as usize];
            // It may have come and gone since the last solution, or be exposed already by a link that changed.
            if row.count > 0 && row.epoch != self.epoch {
                self.list(sharer);
                self.expose(sharer);
            }
        }
        self.count_dirty();
        while let Some(Reverse(Step { bits, row })) = self.steps.pop() {
            let level = f64::from_bits(bits);
            if row & SHARER > 0 {
                self.reach(row & !SHARER, level);
            } else {
                self.fill(row, level);
            }
            self.count_dirty();
        }
    }

    fn push(&mut self, level: f64, row: u32) {
        // Minus zero would come last.
        self.steps.push(Reverse(Step { bits: level.abs().to_bits(), row }));
    }

    /// Makes a link dirty.
    fn soil(&mut self, link: u32) {
        let row = &mut self.links[link as usize];
        if row.epoch != self.epoch {
            row.epoch = self.epoch;
            (row.counted, row.done) = (false, false);
            self.uncounted.push(link);
        }
    }

    fn count_dirty(&mut self) {
        while let Some(link) = self.uncounted.pop() {
            self.take_count(link);
        }
        while let Some(link) = self.unannounced.pop() {
            self.links[link as usize].pending = false;
            self.announce(link);
        }
    }

    /// A link's step may be too high: it is looked at once all dirty links are counted.
    fn announce_later(&mut self, link: u32) {
        let row = &mut self.links[link as usize];
        if !row.pending {
            row.pending = true;
            self.unannounced.push(link);
        }
    }

    /// Counts what a dirty link has left for its open sharers; opens those that it alone had supported.
    fn take_count(&mut self, link: u32) {
        let members = std::mem::take(&mut self.links[link as usize].members);
        let before = std::mem::replace(&mut self.links[link as usize].level, f64::INFINITY);
        self.visits += members.len() as u64;
        for m in members.iter().filter(|_| before < f64::INFINITY) {
            let s = &self.sharers[m.sharer as usize];
            // Whoever had the link's level had it from this link, or from another one that was full at the same level. Only the former lose their
            // support now; that is what keeps a change from spreading over the whole network.
            let known = s.epoch == self.epoch && (s.unsupported || s.state == State::Settled);
            if !known && same(s.level, before) && !self.is_supported(m.sharer) {
                self.expose(m.sharer);
            }
        }
        self.links[link as usize].members = members;
        let row = &self.links[link as usize];
        let (mut opened, mut top) = (0, 0f64);
        let (mut left, mut open) = (row.capacity, 0f64);
        for m in &row.members {
            let s = &self.sharers[m.sharer as usize];
            if self.grows(s) {
                opened += 1;
                open += m.rate;
                continue;
            }
            left -= m.rate * s.level;
            if s.epoch != self.epoch {
                top = top.max(s.level);
            }
        }
        let row = &mut self.links[link as usize];
        // `most` remembers how large the sum was: once `open` is far below it, its last digits are those of what was subtracted.
        (row.left, row.open, row.most, row.opened, row.top) = (left, open, open, opened, top);
        row.added = false;
        row.over = left < -row.capacity * SAME;
        (row.counted, row.announced, row.before) = (true, f64::INFINITY, before);
        self.announce_later(link);
    }

    /// True if a sharer's level is not known.
    fn grows(&self, sharer: &Sharer) -> bool {
        sharer.epoch == self.epoch && sharer.state == State::Open
    }

    /// What a link has left for its open sharers, and what these take per level.
    fn sums(&self, link: &Link) -> (f64, f64) {
        let (mut left, mut open) = (link.capacity, 0f64);
        for m in &link.members {
            let s = &self.sharers[m.sharer as usize];
            if self.grows(s) { open += m.rate } else { left -= m.rate * s.level }
        }
        (left, open)
    }

    /// Level at which a counted dirty link would be full.
    fn full_at(&self, link: u32) -> f64 {
        let row = &self.links[link as usize];
        if row.over {
            return self.water;
        }
        // Plus zero: levels are compared by their bits.
        let level = (row.left / row.open).max(self.water) + 0.0;
        if row.opened > 0 { level } else { f64::INFINITY }
    }

    fn announce(&mut self, link: u32) {
        let level = self.full_at(link);
        // A step that is too low is found out when it comes; one that is too high would come too late.
        if level < self.links[link as usize].announced {
            self.links[link as usize].announced = level;
            self.push(level, link);
        }
    }

    /// True if something clean keeps a sharer at its level.
    fn is_supported(&self, sharer: u32) -> bool {
        let row = &self.sharers[sharer as usize];
        same(row.level, row.cap)
            || self.entries[sharer as usize].iter().any(|e| {
                let link = &self.links[e.link as usize];
                link.epoch != self.epoch && same(link.level, row.level)
            })
    }

    /// Opens a sharer that nothing supports: all its links become dirty.
    fn expose(&mut self, sharer: u32) {
        let row = &self.sharers[sharer as usize];
        // An open sharer may have been opened by `open_above` alone, which leaves clean links clean: it is exposed still.
        if row.epoch == self.epoch && row.unsupported {
            return;
        }
        let cap = row.cap;
        self.open(sharer);
        self.sharers[sharer as usize].unsupported = true;
        let entries = std::mem::take(&mut self.entries[sharer as usize]);
        if cap.is_finite() || entries.is_empty() {
            self.push(cap, sharer | SHARER);
        }
        entries.iter().for_each(|e| self.soil(e.link));
        self.entries[sharer as usize] = entries;
    }

    /// Opens a sharer: counted links take it from those that keep their level to those that grow.
    fn open(&mut self, sharer: u32) {
        let row = &mut self.sharers[sharer as usize];
        if row.epoch == self.epoch {
            return;
        }
        debug_assert!(row.count > 0, "who is on a link has flows");
        (row.epoch, row.state, row.unsupported) = (self.epoch, State::Open, false);
        let level = row.level;
        let entries = std::mem::take(&mut self.entries[sharer as usize]);
        for &Entry { link, slot, .. } in &entries {
            let row = &mut self.links[link as usize];
            if row.epoch != self.epoch || !row.counted || row.done {
                continue;
            }
            let rate = row.members[slot as usize].rate;
            // Where more was used than there is, no digit of the rest is left.
            row.most = if row.left < 0.0 { f64::INFINITY } else { row.most.max(row.open + rate) };
            row.left += rate * level;
            row.open += rate;
            row.added = true;
            row.opened += 1;
            self.announce_later(link);
        }
        self.entries[sharer as usize] = entries;
    }

    /// The water is at a level where a link is perhaps full.
    fn fill(&mut self, link: u32, level: f64) {
        if self.links[link as usize].done {
            return;
        }
        self.links[link as usize].announced = f64::INFINITY;
        self.sum_again(link);
        let now = self.full_at(link);
        if now > level {
            // It was announced before some of its sharers settled.
            return self.announce(link);
        }
        // Those above the water kept a level that this link can no longer give them: they must be found again before it is full.
        if self.links[link as usize].top > now || self.links[link as usize].over {
            return self.open_above(link, now);
        }
        debug_assert!(now >= self.water, "water does not fall");
        let row = &mut self.links[link as usize];
        self.water = self.water.max(now);
        row.level = now;
        row.done = true;
        let members = std::mem::take(&mut row.members);
        self.visits += members.len() as u64;
        let before = self.links[link as usize].before;
        let found = if near(before, now) { before } else { now };
        self.links[link as usize].level = found;
        for m in &members {
            let s = &self.sharers[m.sharer as usize];
            if s.epoch == self.epoch && s.state == State::Open {
                self.settle(m.sharer, found);
            }
        }
        self.links[link as usize].members = members;
    }

    /// Counts a link again before it gets its level: sums that fell far or had something added back have lost digits.
    fn sum_again(&mut self, link: u32) {
        let row = &self.links[link as usize];
        // Subtracting is O(1) and loses digits; summing again is exact and visits the whole list. So it is done where digits are gone.
        let lost = row.open <= row.most * SMALL || (row.added && row.left < row.capacity * LITTLE);
        if !lost {
            return;
        }
        self.visits += row.members.len() as u64;
        let (left, open) = self.sums(row);
        let row = &mut self.links[link as usize];
        (row.left, row.open, row.most, row.added) = (left, open, open, false);
    }

    /// Opens the sharers of a link that have kept a level above the water; they settle there if they can.
    fn open_above(&mut self, link: u32, water: f64) {
        let members = std::mem::take(&mut self.links[link as usize].members);
        self.visits += members.len() as u64;
        let mut top = 0f64;
        let mut above = Vec::new();
        for m in &members {
            let s = &self.sharers[m.sharer as usize];
            if s.epoch == self.epoch {
                continue;
            }
            if s.level > water { above.push(m.sharer) } else { top = top.max(s.level) }
        }
        let row = &mut self.links[link as usize];
        row.members = members;
        (row.top, row.over) = (top, false);
        for sharer in above {
            self.open(sharer);
            let level = self.sharers[sharer as usize].level;
            self.push(level, sharer | SHARER);
        }
        self.announce(link);
    }

    /// The water is at a level where a sharer's support may be.
    fn reach(&mut self, sharer: u32, level: f64) {
        let row = &self.sharers[sharer as usize];
        if row.state == State::Settled {
            return;
        }
        // Water rises from the lowest level: what is reached now cannot be lowered by anything still to come.
        if level >= row.cap || self.entries[sharer as usize].is_empty() {
            return self.settle_alone(sharer, row.cap);
        }
        if same(level, row.level) && self.is_supported(sharer) {
            return self.settle_alone(sharer, level);
        }
        self.expose(sharer);
    }

    fn settle_alone(&mut self, sharer: u32, level: f64) {
        if level.is_finite() {
            self.water = self.water.max(level);
        }
        self.settle(sharer, level);
    }

    /// A sharer has its level. Links that it leaves more or less to than before become dirty.
    fn settle(&mut self, sharer: u32, level: f64) {
        let row = &mut self.sharers[sharer as usize];
        debug_assert!(level >= 0.0, "levels are compared by their bits, which holds from zero on");
        let moved = !same(row.level, level);
        row.level = level;
        row.state = State::Settled;
        let entries = std::mem::take(&mut self.entries[sharer as usize]);
        for &Entry { link, slot, .. } in &entries {
            let row = &mut self.links[link as usize];
            if row.epoch != self.epoch {
                if moved {
                    self.soil(link);
                }
                continue;
            }
            if !row.counted || row.done {
                continue;
            }
            debug_assert!(row.opened > 0, "who settles was open on each of its links");
            row.opened -= 1;
            let rate = row.members[slot as usize].rate;
            row.left -= rate * level;
            // Exactly zero, not what rounding left: a link without open sharers must not be full at any level.
            row.open = if row.opened == 0 { 0.0 } else { row.open - rate };
        }
        self.entries[sharer as usize] = entries;
        if moved {
            self.list(sharer);
        }
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "some numbers are exact")]
mod tests;
