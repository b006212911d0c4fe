//! What a solution says of sharers and links.

use super::{Solver, rows::same};
#[cfg(test)]
use super::{routes::Entry, rows::Member};

impl Solver {
    /// What each flow of a sharer gets, by the last solution; infinite if neither link nor cap limits it.
    #[must_use]
    pub fn share(&self, sharer: u32) -> f64 {
        let row = &self.sharers[sharer as usize];
        // By bits: the solver gives a sharer that its cap limits the cap's own level.
        if same(row.level, row.cap) && row.cap.is_finite() {
            // The cap itself, not its quotient times the weight.
            return row.cap * row.weight;
        }
        row.level * row.weight
    }

    /// What is used of a link, by the last solution.
    #[must_use]
    pub fn load(&self, link: u32) -> f64 {
        let link = &self.links[self.alike.first(link) as usize];
        link.members.iter().map(|m| m.rate * self.sharers[m.sharer as usize].level).sum()
    }

    /// True if links of those that changed carry no more than they can, but for rounding. Looks at a few: checks cost more than solutions.
    pub(super) fn are_within_capacity(&self) -> bool {
        // A sum over many members is off by more than one rounding, and by far less than this.
        const ROUNDING: f64 = 1.0 + 1e-6;
        let few = self.changed.iter().take(2).flat_map(|&sharer| self.entries(sharer));
        few.take(8).all(|e| {
            let (load, capacity) = (self.load(e.link), self.fills[e.link as usize].capacity);
            load <= capacity * ROUNDING || load.is_nan()
        })
    }

    /// Sharers that use a link.
    pub fn sharers_of(&self, link: u32) -> impl Iterator<Item = u32> + '_ {
        self.links[self.alike.first(link) as usize].members.iter().map(|m| m.sharer)
    }

    /// Links of a sharer, with what a unit of share takes of each; of links that are used alike the first.
    pub fn route(&self, sharer: u32) -> impl Iterator<Item = (u32, f64)> + '_ {
        let range = self.sharers[sharer as usize].block.range();
        range.map(|n| (self.routes.entries[n].link, self.routes.usages[n]))
    }

    /// Bytes of routes and of the lists of links.
    #[cfg(test)]
    pub fn list_bytes(&self) -> u64 {
        let entries = self.routes.entries.len() * size_of::<Entry>() + self.routes.usages.len() * 8;
        let members = self.links.iter().map(|l| l.members.capacity() * size_of::<Member>());
        (entries + members.sum::<usize>()) as u64
    }
}
