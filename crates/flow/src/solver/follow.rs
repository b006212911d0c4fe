//! Following a change: links whose sums changed get a new level, lowest first, and so do those that they support.
//!
//! A link's level is what others leave of it over what those that it supports take per level. When it rises, those that another link or their cap
//! limits at less are *let go*; when it falls below the level of one that it does not support, that one is *drawn in*. When no link is left
//! in the queue, each sharer has the least level among its links and its cap, so levels are max-min fair. The order of the queue is only there to
//! look at each link once: a link's change is felt by links with higher levels, as long as nobody changes its support.

use super::{
    Solver,
    rows::{CAP, Fill, GRAIN, KEPT, Member, NOBODY, SAME, Sharer, Step, near, same, taken},
    wide::Wide,
};
use std::cmp::Reverse;

impl Fill {
    /// Level at which it is full as things are; infinite if it limits nobody, zero if those that it does not support are too many.
    #[inline]
    fn full_at(&self) -> f64 {
        let own = self.own.rounded();
        if self.supported == 0 || own <= 0.0 {
            return if self.others.rounded() > self.capacity * (1.0 + SAME) { 0.0 } else { f64::INFINITY };
        }
        // Plus zero: levels are compared by their bits.
        (self.others.left_of(self.capacity) / own).max(0.0) + 0.0
    }

    /// Levels that differ by no more are the same to it: what the difference makes is lost in its capacity.
    #[inline]
    fn grain(&self) -> f64 {
        let own = self.own.rounded();
        if own > 0.0 { self.capacity * GRAIN / own } else { 0.0 }
    }

    /// Level at which it would be full if it supported a sharer that takes `rate` per level, and `now` as things are.
    fn full_with(&self, rate: f64, now: f64) -> f64 {
        let mut others = self.others;
        others.add(-now);
        others.left_of(self.capacity).max(0.0) / (self.own.rounded() + rate) + 0.0
    }
}

impl Solver {
    /// Finds the levels that changed; false if that costs more than to find all anew, which must then be done.
    pub(super) fn solve_changed(&mut self) -> bool {
        let most = self.visits + self.cost_of_all() + 256;
        if !self.ready {
            self.rebuild();
        }
        // Lists are taken out while they are walked and put back after, so that they keep their memory.
        let mut touched = std::mem::take(&mut self.touched);
        touched.drain(..).for_each(|link| self.queue(link, false));
        self.touched = touched;
        let mut fresh = std::mem::take(&mut self.fresh);
        for sharer in fresh.drain(..) {
            if self.is_on_links(sharer) {
                self.list(sharer);
                self.seat_again(sharer);
            }
        }
        self.fresh = fresh;
        while let Some(Reverse(Step { bits, row })) = self.steps.pop() {
            // Others have changed since it was queued, so it may be full later.
            let now = self.fills[row as usize].full_at();
            if now < f64::INFINITY && now > f64::from_bits(bits) * (1.0 + SAME) {
                self.steps.push(Reverse(Step { bits: now.to_bits(), row }));
                continue;
            }
            self.settle(row);
            if self.visits > most {
                self.give_up();
                return false;
            }
        }
        true
    }

    /// Forgets what is queued.
    fn give_up(&mut self) {
        while let Some(Reverse(step)) = self.steps.pop() {
            let link = &mut self.fills[step.row as usize];
            (link.queued, link.forced) = (false, false);
            if self.links[step.row as usize].members.is_empty() {
                link.level = f64::INFINITY;
            }
        }
    }

    /// Sums of all links anew, after solutions that did not keep them.
    fn rebuild(&mut self) {
        self.ready = true;
        let used = std::mem::take(&mut self.used);
        for &link in &used {
            let count = self.links[link as usize].members.len() as u32;
            self.visits += u64::from(count);
            let (mut supported, mut top) = (0, 0f64);
            let (mut own, mut others) = (Wide::default(), Wide::default());
            for slot in 0..count {
                let Member { sharer, rate, .. } = self.links[link as usize].members[slot as usize];
                let row = &self.sharers[sharer as usize];
                if row.support == link {
                    own.add(rate);
                    self.swap(link, slot, supported);
                    supported += 1;
                } else {
                    others.add(taken(rate, row.level));
                    top = top.max(row.level);
                }
            }
            let row = &mut self.fills[link as usize];
            (row.own, row.others, row.supported, row.top) = (own, others, supported, top);
        }
        self.used = used;
    }

    /// Adds what a sharer takes to the sums of its links, or takes it off.
    pub(super) fn reckon(&mut self, sharer: u32, sign: f64) {
        if !self.ready {
            return;
        }
        let row = &self.sharers[sharer as usize];
        for e in &self.routes.entries[row.block.range()] {
            let link = &mut self.fills[e.link as usize];
            if row.support == e.link {
                link.own.add(sign * e.rate);
            } else {
                link.others.add(sign * taken(e.rate, row.level));
                link.top = link.top.max(row.level);
            }
        }
    }

    /// A link is to be looked at. `forced`: those that it supports may have other levels than its own.
    fn queue(&mut self, link: u32, forced: bool) {
        let row = &mut self.fills[link as usize];
        row.forced |= forced;
        if !row.queued {
            row.queued = true;
            // Who supports nobody and carries too much draws in the highest.
            let level = if row.supported > 0 { row.full_at() } else { row.top };
            self.steps.push(Reverse(Step { bits: level.to_bits(), row: link }));
        }
    }

    /// A sharer is new, or was changed from outside: it gets a support that it can have.
    fn seat_again(&mut self, sharer: u32) {
        let Sharer { support, level, cap, block, .. } = self.sharers[sharer as usize];
        if support >= CAP {
            let (mut least, mut best) = (f64::INFINITY, NOBODY);
            for e in self.entries(sharer) {
                let full = self.fills[e.link as usize].full_with(e.rate, taken(e.rate, level));
                if (full, e.link) < (least, best) {
                    (least, best) = (full, e.link);
                }
            }
            if cap < least || best == NOBODY {
                best = CAP;
            }
            self.seat(sharer, best);
            if best == CAP {
                self.set_level(sharer, cap);
            }
        }
        let support = self.sharers[sharer as usize].support;
        for n in block.range() {
            let link = self.routes.entries[n].link;
            self.queue(link, link == support);
        }
    }

    /// Gives a sharer another support; its level stays for now.
    fn seat(&mut self, sharer: u32, to: u32) {
        let row = &mut self.sharers[sharer as usize];
        let (from, level) = (std::mem::replace(&mut row.support, to), row.level);
        for n in row.block.range() {
            let e = self.routes.entries[n];
            if e.link != from && e.link != to {
                continue;
            }
            let link = &mut self.fills[e.link as usize];
            if e.link == from {
                link.supported -= 1;
                link.own.add(-e.rate);
                link.others.add(taken(e.rate, level));
                link.top = link.top.max(level);
                let last = link.supported;
                // Exactly zero, not what rounding left.
                if last == 0 {
                    link.own = Wide::default();
                }
                self.swap(e.link, e.slot, last);
            } else {
                let first = link.supported;
                link.supported += 1;
                link.own.add(e.rate);
                link.others.add(-taken(e.rate, level));
                if link.supported as usize == self.links[e.link as usize].members.len() {
                    link.others = Wide::default();
                }
                self.swap(e.link, e.slot, first);
            }
        }
    }

    /// A sharer gets a level: what it takes of links that do not support it changes.
    fn set_level(&mut self, sharer: u32, level: f64) {
        debug_assert!(level >= 0.0, "levels are compared by their bits, which holds from zero on");
        let row = &mut self.sharers[sharer as usize];
        let (before, support) = (std::mem::replace(&mut row.level, level), row.support);
        let range = row.block.range();
        self.visits += range.len() as u64;
        for n in range {
            let e = self.routes.entries[n];
            if e.link == support {
                continue;
            }
            let link = &mut self.fills[e.link as usize];
            link.others.exchange(taken(e.rate, before), taken(e.rate, level));
            link.top = link.top.max(level);
            // Most links of a network are not full, and stay so.
            if !link.queued && (link.supported > 0 || link.others.rounded() > link.capacity) {
                self.queue(e.link, false);
            }
        }
        self.list(sharer);
    }

    /// Finds a link's level, and gives it to those that it supports.
    fn settle(&mut self, link: u32) {
        let row = &mut self.fills[link as usize];
        let (before, mut forced) = (row.level, std::mem::take(&mut row.forced));
        // It stays in the queue meanwhile: what it does to itself it knows.
        let mut now = row.full_at();
        if forced || now > before {
            now = self.let_go(link, now);
        }
        let Fill { top, supported, .. } = self.fills[link as usize];
        if top > now + self.fills[link as usize].grain() {
            now = self.draw_in(link, now);
            if self.fills[link as usize].supported > supported {
                forced = true;
                now = self.let_go(link, now);
            }
        }
        let found = if near(before, now, KEPT) { before } else { now };
        let row = &mut self.fills[link as usize];
        (row.level, row.queued) = (found, false);
        if !forced && same(found, before) {
            return;
        }
        self.visits += u64::from(row.supported);
        for slot in 0..row.supported as usize {
            let sharer = self.links[link as usize].members[slot].sharer;
            if !same(self.sharers[sharer as usize].level, found) {
                self.set_level(sharer, found);
            }
        }
    }

    /// Those that are limited at less elsewhere are supported there. Returns the link's level after that.
    fn let_go(&mut self, link: u32, mut now: f64) -> f64 {
        loop {
            let (mut slot, mut gone, grain) = (0, false, self.fills[link as usize].grain());
            while slot < self.fills[link as usize].supported {
                let sharer = self.links[link as usize].members[slot as usize].sharer;
                self.visits += 1;
                let (least, at) = self.least_elsewhere(sharer, link, now);
                if least >= now || (at != CAP && least >= now - grain) {
                    slot += 1;
                    continue;
                }
                // Its level too, at once: this link's sum must know what it leaves behind.
                self.seat(sharer, at);
                self.set_level(sharer, least);
                if at != CAP {
                    self.queue(at, true);
                }
                gone = true;
            }
            if !gone {
                return now;
            }
            now = self.fills[link as usize].full_at();
        }
    }

    /// The least level among a sharer's cap and its links but one, and whose that is; nobody's if none is below `now`.
    #[inline]
    fn least_elsewhere(&self, sharer: u32, link: u32, now: f64) -> (f64, u32) {
        let cap = self.sharers[sharer as usize].cap;
        let mut least = if cap < now { (cap, CAP) } else { (now, NOBODY) };
        for e in self.entries(sharer) {
            let row = &self.fills[e.link as usize];
            if row.level >= least.0 || e.link == link {
                continue;
            }
            // One that is still to be looked at may rise; should it rise less, it draws in whom it must.
            let level = if row.queued { row.level.max(row.full_at()) } else { row.level };
            if level < least.0 {
                least = (level, e.link);
            }
        }
        least
    }

    /// Those that have more than the link can give are supported by it, highest first. Returns the link's level after that.
    fn draw_in(&mut self, link: u32, mut now: f64) -> f64 {
        let mut above = std::mem::take(&mut self.above);
        let others = &self.links[link as usize].members[self.fills[link as usize].supported as usize..];
        let (mut top, grain) = (0f64, self.fills[link as usize].grain());
        self.visits += others.len() as u64;
        for m in others {
            let level = self.sharers[m.sharer as usize].level;
            if level > now + grain { above.push((level, m.sharer)) } else { top = top.max(level) }
        }
        // With the highest first none is drawn in that would have to be let go again.
        above.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        for (level, sharer) in above.drain(..) {
            // Each raises the link's level, but never above its own.
            if level <= now + self.fills[link as usize].grain() {
                top = top.max(level);
                continue;
            }
            let from = self.sharers[sharer as usize].support;
            self.seat(sharer, link);
            if from < CAP {
                self.queue(from, false);
            }
            now = self.fills[link as usize].full_at();
        }
        self.fills[link as usize].top = top;
        self.above = above;
        now
    }

    /// Two members of a link change places.
    fn swap(&mut self, link: u32, a: u32, b: u32) {
        if a != b {
            self.links[link as usize].members.swap(a as usize, b as usize);
            self.place(link, a);
            self.place(link, b);
        }
    }

    /// Tells a member where it is.
    fn place(&mut self, link: u32, slot: u32) {
        if let Some(&Member { sharer, entry, .. }) = self.links[link as usize].members.get(slot as usize) {
            self.routes.entries[self.sharers[sharer as usize].block.at(entry)].slot = slot;
        }
    }

    /// Takes a member off a link's list; those that the link supports stay first.
    pub(super) fn take_out(&mut self, link: u32, slot: u32) {
        let (row, members) = (&mut self.fills[link as usize], &mut self.links[link as usize].members);
        let mut gap = slot;
        if slot < row.supported {
            row.supported -= 1;
            gap = row.supported;
            members.swap(slot as usize, gap as usize);
        }
        members.swap_remove(gap as usize);
        if row.supported == 0 {
            row.own = Wide::default();
        }
        if row.supported as usize == members.len() {
            row.others = Wide::default();
            row.top = 0.0;
        }
        if gap != slot {
            self.place(link, slot);
        }
        self.place(link, gap);
    }
}
