//! Links that are used alike: one of them stands for all.
//!
//! A message that is divided over the paths of a fat tree crosses all ports up of its leaf alike, and so does every other message of that leaf. Links of one
//! capacity of which every sharer takes the same are full at the same level, so one of them is enough: the solver looks at 6 links in place of 42.
//!
//! Who is divided proposes its links ([`Solver::unite`]); those that nobody used before become a group. A route that takes less of some of them splits the group, for
//! good. So there are fewer splits than links, and once all kinds of routes have been there, none.

use super::{
    Solver,
    routes::Entry,
    rows::{Member, taken},
    wide::Wide,
};

impl Solver {
    /// Makes groups of those of these links that nobody used yet: of one capacity, and with the same use. To be called before the first sharer with these
    /// uses; links are given once each.
    pub fn unite(&mut self, uses: &[(u32, f64)]) {
        self.alike.reserve(self.links.len());
        let new = |link: u32| {
            let is_free = self.links[link as usize].members.is_empty();
            !self.alike.used[link as usize]
                && is_free
                && self.alike.groups[self.alike.first(link) as usize].is_empty()
        };
        let kind = |&(link, usage): &(u32, f64)| (usage.to_bits(), self.capacity(link).to_bits());
        let mut found: Vec<(u32, f64)> = uses.iter().copied().filter(|u| new(u.0)).collect();
        found.sort_unstable_by_key(|u| (kind(u), u.0));
        let groups: Vec<Vec<u32>> = found
            .chunk_by(|a, b| kind(a) == kind(b))
            .filter(|same| same.len() > 1)
            .map(|same| same.iter().map(|u| u.0).collect())
            .collect();
        groups.into_iter().for_each(|group| self.stand_for(group));
    }

    /// The first of a group stands for all of it.
    fn stand_for(&mut self, group: Vec<u32>) {
        let first = group[0];
        debug_assert!(group.is_sorted(), "the first link of a group has the least number");
        group.iter().for_each(|&link| self.alike.first[link as usize] = first);
        self.alike.groups[first as usize] = if group.len() > 1 { group } else { Vec::new() };
    }

    /// Splits the groups that a route divides, and leaves of the route only the links that stand for others and those by themselves.
    pub(super) fn reduce(&mut self, merged: &mut Vec<(u32, f64)>) {
        if self.alike.first.is_empty() {
            return;
        }
        self.alike.reserve(self.links.len());
        for n in 0..merged.len() {
            let link = merged[n].0;
            self.alike.used[link as usize] = true;
            let first = self.alike.first(link);
            // Each group is looked at once, at its first link: a route without that one divides the group for sure.
            let divides = match link == first {
                true => !self.takes_all(first, merged),
                false => self.use_of(first, merged).is_none(),
            };
            if divides {
                self.split(first, merged);
            }
        }
        merged.retain(|&(link, _)| self.alike.first(link) == link);
    }

    /// True if a route takes the same of all links of a group.
    fn takes_all(&self, first: u32, merged: &[(u32, f64)]) -> bool {
        let usage = self.use_of(first, merged);
        self.alike.groups[first as usize].iter().all(|&link| self.use_of(link, merged) == usage)
    }

    /// What a route that is being made takes of a link, by bits.
    fn use_of(&self, link: u32, merged: &[(u32, f64)]) -> Option<u64> {
        merged.get(self.links[link as usize].place as usize).filter(|u| u.0 == link).map(|u| u.1.to_bits())
    }

    /// Makes groups of those links of a group of which a route takes the same.
    fn split(&mut self, first: u32, merged: &[(u32, f64)]) {
        let mut group = std::mem::take(&mut self.alike.groups[first as usize]);
        // Stable: links of a part stay in ascending order.
        group.sort_by_key(|&link| self.use_of(link, merged));
        let parts: Vec<Vec<u32>> = group
            .chunk_by(|&a, &b| self.use_of(a, merged) == self.use_of(b, merged))
            .map(<[u32]>::to_vec)
            .collect();
        for part in parts {
            let own = part[0];
            if own != first {
                self.join_members(own, first);
            }
            self.stand_for(part);
        }
    }

    /// Takes a link out of its group.
    pub(super) fn take_apart(&mut self, link: u32) {
        let first = self.alike.first(link);
        let Some(group) = self.alike.groups.get_mut(first as usize).filter(|g| !g.is_empty()) else { return };
        let (alone, rest): (Vec<u32>, Vec<u32>) = std::mem::take(group).into_iter().partition(|&l| l == link);
        for part in [alone, rest] {
            if part[0] != first {
                self.join_members(part[0], first);
            }
            self.stand_for(part);
        }
    }

    /// All sharers of one link are on another as well, which nobody was on, and take the same of it. It limits none of them.
    fn join_members(&mut self, link: u32, like: u32) {
        debug_assert!(self.links[link as usize].members.is_empty(), "another link stood for it");
        let members = self.links[like as usize].members.clone();
        let (mut others, mut top) = (Wide::default(), 0f64);
        for (slot, &Member { sharer, entry, rate }) in (0u32..).zip(&members) {
            let row = &mut self.sharers[sharer as usize];
            let usage = self.routes.usages[row.block.at(entry)];
            let (block, last) = self.routes.longer(row.block);
            row.block = block;
            self.routes.entries[block.at(last)] = Entry { link, slot, rate };
            self.routes.usages[block.at(last)] = usage;
            self.links[link as usize].members.push(Member { sharer, entry: last, rate });
            others.add(taken(rate, row.level));
            top = top.max(row.level);
        }
        self.uses += members.len() as u64;
        self.visits += members.len() as u64;
        let fill = &mut self.fills[link as usize];
        (fill.level, fill.supported, fill.own) = (f64::INFINITY, 0, Wide::default());
        (fill.others, fill.top) = (others, top);
        if !members.is_empty() {
            self.recount(link);
            self.touched.push(link);
        }
    }

    /// Number of links that others stand for.
    #[cfg(test)]
    pub fn spared(&self) -> usize {
        (0u32..).zip(&self.alike.first).filter(|&(link, &first)| link != first).count()
    }
}
