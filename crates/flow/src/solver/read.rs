//! What a solution says of sharers and links.

use super::{Solver, rows::same};

impl Solver {
    /// What each flow of a sharer gets, by the last solution; infinite if neither link nor cap limits it.
    #[must_use]
    pub fn share(&self, sharer: u32) -> f64 {
        let row = &self.sharers[sharer as usize];
        if same(row.level, row.cap) && row.cap.is_finite() {
            // The cap itself, not its quotient times the weight.
            return row.cap * row.weight;
        }
        row.level * row.weight
    }

    /// What is used of a link, by the last solution.
    #[must_use]
    pub fn load(&self, link: u32) -> f64 {
        let link = &self.links[link as usize];
        link.members.iter().map(|m| m.rate * self.sharers[m.sharer as usize].level).sum()
    }

    /// Sharers that use a link.
    pub fn sharers_of(&self, link: u32) -> impl Iterator<Item = u32> + '_ {
        self.links[link as usize].members.iter().map(|m| m.sharer)
    }

    /// Links of a sharer, with what a unit of share takes of each.
    pub fn route(&self, sharer: u32) -> impl Iterator<Item = (u32, f64)> + '_ {
        self.entries[sharer as usize].iter().map(|e| (e.link, e.usage))
    }
}
