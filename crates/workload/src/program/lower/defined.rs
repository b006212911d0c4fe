//! Communicators that are there already: which of them the ranks have named so far.

use crate::program::mpi::CommRank;
use base::sorted::SortedMap;
use std::sync::Arc;

/// Groups that were named, and the communicators of each.
#[derive(Debug, Default)]
pub(super) struct Defined {
    groups: Vec<Group>,
    /// Places in `groups` by first rank and size, so that few have to be compared.
    places: SortedMap<(Option<CommRank>, usize), Vec<usize>>,
}

#[derive(Debug)]
struct Group {
    ranks: Arc<[CommRank]>,
    /// Its communicators in the order in which each rank names them: number, and how many ranks have named it.
    comms: Vec<(u32, usize)>,
}

impl Defined {
    /// Place of a group, and whether it is a new one.
    pub(super) fn place(&mut self, ranks: &Arc<[CommRank]>) -> (usize, bool) {
        let next = self.groups.len();
        let list = self.places.entry((ranks.first().copied(), ranks.len())).or_default();
        let same = |&place: &usize| {
            let known = &self.groups[place].ranks;
            Arc::ptr_eq(known, ranks) || known == ranks
        };
        if let Some(place) = list.iter().copied().find(same) {
            return (place, false);
        }
        list.push(next);
        self.groups.push(Group { ranks: Arc::clone(ranks), comms: Vec::new() });
        (next, true)
    }

    /// Another rank names the n-th communicator of a group: its number, which is `new` if it is the first rank to do so.
    pub(super) fn named(&mut self, place: usize, nth: usize, new: u32) -> u32 {
        let comms = &mut self.groups[place].comms;
        debug_assert!(nth <= comms.len(), "a rank names them one by one");
        if nth == comms.len() {
            comms.push((new, 0));
        }
        comms[nth].1 += 1;
        comms[nth].0
    }

    /// A communicator that some of its ranks have not named: the group, and how many have.
    pub(super) fn missing(&self) -> Option<(&[CommRank], usize)> {
        let missing = |group: &Group| {
            let few = group.comms.iter().find(|(_, named)| *named < group.ranks.len());
            few.map(|(_, named)| *named)
        };
        self.groups.iter().find_map(|group| Some((&*group.ranks, missing(group)?)))
    }
}
