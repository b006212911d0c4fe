//! Weighted max-min sharing of links, solved where something changed and nowhere else.
//!
//! A *sharer* is a set of `count` flows that are treated alike: same links, same weight, same cap. Its flows get the share
//! x = level * weight each. Levels are max-min fair: a sharer's level can only grow at the cost of one with a lower or equal
//! level. At a link the sum of use * count * x stays within the capacity. (A fat pipe limits each flow by itself: it is a cap, not a link.)
//!
//! **State.** Every link that limits somebody has the level at which it is full; every sharer has one *support*, the link or the cap that
//! limits it, and the least level among its links and its cap. That is the certificate of max-min fairness, and it is local. A link keeps
//! what those that it supports take per level, and what all others take of it.
//!
//! **Change.** Links whose sums changed are looked at again, lowest level first: `follow`. A link's new level moves those that it supports, and
//! these change the sums of their other links; who is better limited elsewhere changes its support. What is never reached stays as it is.
//!
//! **Arithmetic.** The sums are kept from solution to solution in two doubles each (`wide`), to 106 bits: they hold what a sum made afresh would
//! hold, so nothing drifts. A level that is found again to within 2^-46 keeps its bits, which stops what rounding alone would pass on. The
//! order of all steps is fixed.
//!
//! **All at once.** Where most sharers feel each change (many flows that all meet), all levels are found anew by plain water filling: `whole`.
//! What the last solution cost decides, and a change that turns out to cost more than that is given up for it.
//!
//! **Alike.** Links of which everybody takes the same are one to the solver: `alike`.
//!
//! **Alone.** Where those that changed meet nobody on their links, there is nothing to find: `isolated`.
//!
//! Cost: O(links of a route) for a flow that meets nobody; in general the routes of those whose share changes, plus a heap of their links.

mod alike;
mod follow;
mod groups;
mod isolated;
mod read;
mod routes;
mod rows;
mod whole;
mod wide;

use groups::Alike;
use routes::{Block, Entry, Routes};
use rows::{Fill, Link, Member, NOBODY, Sharer, Step, Sum};
use std::{cmp::Reverse, collections::BinaryHeap};
use wide::Wide;

/// Links, sharers and the max-min fair levels of the last solution.
#[derive(Clone, Debug, Default)]
pub struct Solver {
    fills: Vec<Fill>,
    links: Vec<Link>,
    alike: Alike,
    sharers: Vec<Sharer>,
    routes: Routes,
    /// The links of a route while it is made.
    merged: Vec<(u32, f64)>,
    free: Vec<u32>,
    epoch: u64,
    /// Links and sharers that were touched since the last solution.
    touched: Vec<u32>,
    fresh: Vec<u32>,
    steps: BinaryHeap<Reverse<Step>>,
    /// The sums of links are as their sharers are.
    ready: bool,
    /// Sharers that a link draws in.
    above: Vec<(f64, u32)>,
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
        self.fills.push(Fill {
            capacity,
            level: f64::INFINITY,
            supported: 0,
            others: Wide::default(),
            own: Wide::default(),
            top: 0.0,
            queued: false,
            forced: false,
        });
        let (before, total) = (f64::INFINITY, f64::NAN);
        self.links.push(Link { members: Vec::new(), before, listed: false, place: 0, total });
        (self.links.len() - 1) as u32
    }

    /// Capacity of a link.
    #[must_use]
    pub fn capacity(&self, link: u32) -> f64 {
        self.fills[link as usize].capacity
    }

    /// Changes a link's capacity.
    pub fn set_capacity(&mut self, link: u32, capacity: f64) {
        debug_assert!(capacity >= 0.0, "a link's capacity is no negative number");
        self.take_apart(link);
        self.fills[link as usize].capacity = capacity;
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
                support: NOBODY,
                block: Block::default(),
                detached: false,
            });
            (self.sharers.len() - 1) as u32
        });
        let sharer = &mut self.sharers[row as usize];
        // Levels are shares per weight, so the cap is divided too: then water and caps are compared without the weight.
        (sharer.count, sharer.weight, sharer.cap) = (1, weight, cap / weight);
        (sharer.level, sharer.epoch, sharer.support) = (0.0, 0, NOBODY);
        self.alive += 1;
        self.caps += u64::from(cap.is_finite());
        row
    }

    /// Puts a sharer on its links.
    fn enter(&mut self, row: u32, route: impl IntoIterator<Item = (u32, f64)>) {
        let weight = self.sharers[row as usize].weight;
        let mut merged = std::mem::take(&mut self.merged);
        merged.clear();
        for (link, usage) in route {
            debug_assert!(usage >= 0.0, "nobody gives a link anything");
            // A route over many paths has thousands of links, so none is searched for: a link says where it would be, and the list whether it is.
            let place = &mut self.links[link as usize].place;
            match merged.get_mut(*place as usize) {
                Some(twice) if twice.0 == link => twice.1 += usage,
                _ => {
                    *place = merged.len() as u32;
                    merged.push((link, usage));
                }
            }
        }
        self.reduce(&mut merged);
        // A list of its own for each route would be one more place in memory to wait for.
        let block = self.routes.fit(self.sharers[row as usize].block, merged.len());
        self.sharers[row as usize].block = block;
        // Sharer and link point at each other's place, so that a sharer leaves a link in O(1) however many share it.
        for (entry, &(link, usage)) in (0u32..).zip(&merged) {
            let rate = usage * weight;
            let members = &mut self.links[link as usize].members;
            self.routes.entries[block.at(entry)] = Entry { link, slot: members.len() as u32, rate };
            self.routes.usages[block.at(entry)] = usage;
            members.push(Member { sharer: row, entry, rate });
            self.recount(link);
        }
        self.uses += merged.len() as u64;
        self.merged = merged;
    }

    /// Links of a sharer that is on them.
    #[inline]
    fn entries(&self, sharer: u32) -> &[Entry] {
        &self.routes.entries[self.sharers[sharer as usize].block.range()]
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
        // Off with what it took by its old rates, before these are gone: sums are never made afresh.
        self.reckon(sharer, -1.0);
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
        self.reckon(sharer, -1.0);
        let row = &mut self.sharers[sharer as usize];
        debug_assert!(weight >= 0.0, "a weight is no negative number");
        // The share (level x weight) is what the outside knows: it stays the same until the next solution.
        row.cap *= row.weight / weight;
        row.level *= row.weight / weight;
        row.weight = weight;
        self.rate_again(sharer);
    }

    fn rate_again(&mut self, sharer: u32) {
        let Sharer { count, weight, block, .. } = self.sharers[sharer as usize];
        for n in block.range() {
            let e = &mut self.routes.entries[n];
            e.rate = self.routes.usages[n] * weight * f64::from(count);
            let link = &mut self.links[e.link as usize];
            link.total = f64::NAN;
            link.members[e.slot as usize].rate = e.rate;
        }
        // Rates are in the route and in the links' lists alike, so both were changed before the sums are.
        self.reckon(sharer, 1.0);
        self.fresh.push(sharer);
    }

    fn remove(&mut self, sharer: u32) {
        self.reckon(sharer, -1.0);
        self.sharers[sharer as usize].count = 0;
        // Its block stays with the row: whoever gets the row next most often has a route of the same length.
        let range = self.sharers[sharer as usize].block.range();
        self.uses -= range.len() as u64;
        for n in range {
            let e = self.routes.entries[n];
            debug_assert_eq!(
                self.links[e.link as usize].members[e.slot as usize].sharer, sharer,
                "a place in a link's list points back"
            );
            self.take_out(e.link, e.slot);
            self.links[e.link as usize].total = f64::NAN;
            self.touched.push(e.link);
        }
        self.alive -= 1;
        self.caps -= u64::from(self.sharers[sharer as usize].cap.is_finite());
        self.free.push(sharer);
    }

    /// Finds the max-min fair levels after all that was added, changed and removed. Returns the sharers whose share may have changed,
    /// each once.
    #[inline]
    pub fn solve(&mut self) -> &[u32] {
        self.changed.clear();
        let (asked, visits) = std::mem::take(&mut self.detached);
        if self.whole || !self.touched.is_empty() || !self.fresh.is_empty() {
            return self.find(asked, visits);
        }
        // Nothing changed but sharers that are detached: there is nothing to find.
        self.visits += visits;
        self.choose_method(asked, visits);
        &self.changed
    }

    /// The same where somebody on links changed.
    #[inline(never)]
    fn find(&mut self, asked: u64, visits: u64) -> &[u32] {
        let asked = (self.touched.len() + self.fresh.len()) as u64 + asked;
        let begun = self.visits;
        self.visits += visits;
        self.epoch += 1;
        self.water = 0.0;
        self.steps.clear();
        // The cheapest first: alone costs a route, following a change costs what changes, and all anew is the bound of both.
        if self.whole || !(self.solve_isolated() || self.solve_changed()) {
            self.solve_all();
        }
        self.choose_method(asked, self.visits - begun);
        debug_assert!(self.are_within_capacity(), "flows use no more of a link than there is");
        &self.changed
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "some numbers are exact")]
mod tests;
