//! Trees over ranks, and what runs along them: from the root down (bcast, scatter) and from the leaves up (reduce, gather).
//!
//! Places are counted from the root. A k-nomial tree of radix k: the parent of a place is the place with its lowest digit to
//! base k that is not zero cleared; a subtree holds consecutive places. Radix 2 is the binomial tree.

use super::{CHUNK, How, Piece, Sink, Task};

/// Form of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tree {
    /// Everybody is a child of the root.
    Star,
    /// The k-nomial tree of this radix k, which is at least 2.
    Knomial(u32),
    /// Two children each, heap order.
    Binary,
    /// Two children each, at distances of one and two times the number of nodes in the own level: Open MPI's tree of fan-out 2.
    Interleaved,
    /// One child each.
    Chain,
    /// Chains side by side from the root; see [`Tree::chains`].
    Chains {
        /// Number of chains.
        count: u32,
        /// Nodes of the first ones; the others have one less.
        longest: u32,
        /// Chains that have so many.
        longer: u32,
    },
}

/// k-nomial of radix 2.
pub(crate) const BINOMIAL: Tree = Tree::Knomial(2);

impl Tree {
    /// So many chains (at least 1) over all places but the root, the first ones longer by one where they cannot be equal.
    pub(crate) fn chains(count: u32, size: u32) -> Self {
        let others = size - 1;
        let rest = others % count;
        Tree::Chains { count, longest: others.div_ceil(count), longer: if rest == 0 { count } else { rest } }
    }

    /// The parent of a place.
    pub(crate) fn parent(self, place: u32) -> Option<u32> {
        if place == 0 {
            return None;
        }
        Some(match self {
            Tree::Star => 0,
            Tree::Knomial(k) => {
                let unit = low_unit(place, k);
                place - (place / unit as u32 % k) * unit as u32
            }
            Tree::Binary => (place - 1) / 2,
            Tree::Interleaved => {
                // Level l begins at place 2^l - 1.
                let level = (place + 1).ilog2();
                let (half, begin) = (1 << (level - 1), (1 << level) - 1);
                if place - half < begin { place - half } else { place - 2 * half }
            }
            Tree::Chain => place - 1,
            Tree::Chains { .. } => {
                if self.is_head(place) {
                    0
                } else {
                    place - 1
                }
            }
        })
    }

    /// Number of children of a place among `size` places.
    pub(crate) fn degree(self, place: u32, size: u32) -> u32 {
        let after = size - 1 - place;
        match self {
            Tree::Star => {
                if place == 0 {
                    after
                } else {
                    0
                }
            }
            Tree::Knomial(k) => {
                let mut degree = 0;
                let (mut unit, limit) = (1u64, if place == 0 { u64::MAX } else { low_unit(place, k) });
                while unit < limit && unit <= u64::from(after) {
                    degree += (after / unit as u32).min(k - 1);
                    unit *= u64::from(k);
                }
                degree
            }
            Tree::Binary => (u64::from(size).saturating_sub(2 * u64::from(place) + 1)).min(2) as u32,
            Tree::Interleaved => (after >> (place + 1).ilog2()).min(2),
            Tree::Chain => after.min(1),
            Tree::Chains { count, .. } if place == 0 => count.min(after),
            Tree::Chains { .. } => u32::from(after > 0 && !self.is_head(place + 1)),
        }
    }

    /// A child; those with the smallest subtrees come first.
    pub(crate) fn child(self, place: u32, index: u32) -> u32 {
        match self {
            Tree::Star | Tree::Chain => place + 1 + index,
            Tree::Chains { longest, longer, .. } if place == 0 => {
                1 + index * longest - index.saturating_sub(longer)
            }
            Tree::Chains { .. } => place + 1,
            Tree::Knomial(k) => place + (index % (k - 1) + 1) * k.pow(index / (k - 1)),
            Tree::Binary => 2 * place + 1 + index,
            Tree::Interleaved => place + ((index + 1) << (place + 1).ilog2()),
        }
    }

    /// True if a chain of [`Tree::Chains`] begins at this place, which is not the root.
    fn is_head(self, place: u32) -> bool {
        let Tree::Chains { longest, longer, .. } = self else { return false };
        match (place - 1).checked_sub(longer * longest) {
            None => (place - 1).is_multiple_of(longest),
            Some(behind) => behind.is_multiple_of(longest - 1),
        }
    }

    /// The places of a subtree of a star or k-nomial tree: the first is `place`, the others follow.
    pub(crate) fn subtree(self, place: u32, size: u32) -> u32 {
        match self {
            _ if place == 0 => size,
            Tree::Knomial(k) => low_unit(place, k).min(u64::from(size - place)) as u32,
            _ => 1,
        }
    }
}

/// The power of k that the lowest digit of `place` that is not zero stands for.
fn low_unit(place: u32, k: u32) -> u64 {
    let mut unit = 1;
    while (u64::from(place) / unit).is_multiple_of(u64::from(k)) {
        unit *= u64::from(k);
    }
    unit
}

/// Number of rounds of [`down`] and [`up`]: one more than segments, and each cut into chunks of children.
pub(crate) fn rounds(task: &Task, tree: Tree) -> u32 {
    (task.segments() + 1) * chunks(task, tree)
}

fn chunks(task: &Task, tree: Tree) -> u32 {
    tree.degree(task.place(), task.size).div_ceil(CHUNK).max(1)
}

/// Hands `what(child's or own place, segment)` from the parent to the children: in a round a rank gets one segment and sends on the one
/// before, to the children with the largest subtrees first.
pub(crate) fn down(
    task: &Task,
    tree: Tree,
    round: u32,
    out: &mut dyn Sink,
    what: impl Fn(u32, u32) -> Piece,
) {
    let (me, chunks) = (task.place(), chunks(task, tree));
    let (segment, chunk) = (round / chunks, round % chunks);
    if let Some(parent) = tree.parent(me).filter(|_| chunk == 0 && segment < task.segments()) {
        out.recv(task.at(parent), what(me, segment), How::Store);
    }
    if segment > 0 {
        let degree = tree.degree(me, task.size);
        for i in chunk * CHUNK..((chunk + 1) * CHUNK).min(degree) {
            let child = tree.child(me, degree - 1 - i);
            out.send(task.at(child), what(child, segment - 1));
        }
    }
    if chunk + 1 < chunks {
        out.open();
    }
}

/// Hands `what(child's or own place, segment)` from the children to the parent: in a round a rank gets one segment from all children and
/// sends on the one before.
pub(crate) fn up(
    task: &Task,
    tree: Tree,
    round: u32,
    out: &mut dyn Sink,
    how: How,
    what: impl Fn(u32, u32) -> Piece,
) {
    let (me, chunks) = (task.place(), chunks(task, tree));
    let (segment, chunk) = (round / chunks, round % chunks);
    if segment < task.segments() {
        let degree = tree.degree(me, task.size);
        for i in chunk * CHUNK..((chunk + 1) * CHUNK).min(degree) {
            let child = tree.child(me, i);
            out.recv(task.at(child), what(child, segment), how);
        }
    }
    if let Some(parent) = tree.parent(me).filter(|_| chunk + 1 == chunks && segment > 0) {
        out.send(task.at(parent), what(me, segment - 1));
    }
    if chunk + 1 < chunks {
        out.open();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_and_children_agree_and_everybody_is_reached() {
        let trees = [Tree::Star, BINOMIAL, Tree::Knomial(3), Tree::Knomial(4), Tree::Binary];
        let trees = trees
            .into_iter()
            .chain([Tree::Interleaved, Tree::Chain])
            .chain((1..6).map(|n| Tree::chains(n, 2)));
        for tree in trees {
            for size in 1..=140 {
                let mut seen = vec![0; size as usize];
                let tree =
                    if let Tree::Chains { count, .. } = tree { Tree::chains(count, size) } else { tree };
                for place in 0..size {
                    for i in 0..tree.degree(place, size) {
                        let child = tree.child(place, i);
                        assert_eq!(tree.parent(child), Some(place), "{tree:?} {size}");
                        seen[child as usize] += 1;
                    }
                }
                assert!(seen[1..].iter().all(|&n| n == 1) && seen[0] == 0, "{tree:?} {size}");
            }
        }
    }

    #[test]
    fn a_subtree_is_the_place_and_the_subtrees_of_its_children() {
        for k in 2..6 {
            for size in 1..100 {
                let tree = Tree::Knomial(k);
                for place in 0..size {
                    let below: u32 =
                        (0..tree.degree(place, size)).map(|i| tree.subtree(tree.child(place, i), size)).sum();
                    assert_eq!(tree.subtree(place, size), 1 + below);
                }
            }
        }
    }
}
