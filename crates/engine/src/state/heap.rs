//! Pairing heaps threaded through a pool: as many as wanted, each named by its root row.
//!
//! Fredman, Sedgewick, Sleator, Tarjan: The pairing heap, Algorithmica 1 (1986): insertion in O(1), removal of the least
//! in O(log n) amortised.

use super::{Linked, NIL, Pool, mode::Mode};

/// A row that can be in a heap. [`Linked::next`] links siblings.
pub trait Heaped: Linked {
    /// First of the rows below, [`NIL`] for none.
    fn child(&self) -> u32;
    /// Changes the link to the first child.
    fn set_child(&mut self, child: u32);
}

/// Adds a row to the heap at `root` ([`NIL`] if empty); returns the new root.
#[inline]
pub fn push<T: Heaped, M: Mode>(
    pool: &mut Pool<T, M>,
    root: u32,
    row: u32,
    less: impl Fn(&T, &T) -> bool,
) -> u32 {
    debug_assert!(pool.get(row).child() == NIL && row != root, "a row that is added is in no heap");
    if root == NIL {
        return row;
    }
    meld(pool, root, row, &less)
}

/// Takes the root off; returns the new root. The row itself is left to the caller, unlinked.
pub fn pop<T: Heaped, M: Mode>(pool: &mut Pool<T, M>, root: u32, less: impl Fn(&T, &T) -> bool) -> u32 {
    debug_assert!(root != NIL, "an empty heap has no root to take");
    let mut rest = pool.get(root).child();
    if rest == NIL {
        return NIL;
    }
    pool.edit(root).set_child(NIL);
    // Left to right in pairs, then together from the right.
    let mut pairs = NIL;
    while rest != NIL {
        let (a, b) = (rest, pool.get(rest).next());
        pool.edit(a).set_next(NIL);
        let pair = if b == NIL {
            rest = NIL;
            a
        } else {
            rest = pool.get(b).next();
            pool.edit(b).set_next(NIL);
            meld(pool, a, b, &less)
        };
        pool.edit(pair).set_next(pairs);
        pairs = pair;
    }
    // `pairs` begins with the pair made last, so this goes from the right.
    let mut all = pairs;
    let mut rest = pool.get(all).next();
    pool.edit(all).set_next(NIL);
    while rest != NIL {
        let next = pool.get(rest).next();
        pool.edit(rest).set_next(NIL);
        all = meld(pool, all, rest, &less);
        rest = next;
    }
    all
}

fn meld<T: Heaped, M: Mode>(pool: &mut Pool<T, M>, a: u32, b: u32, less: &impl Fn(&T, &T) -> bool) -> u32 {
    // At equal rows the first stays on top: which one that is depends on the past alone, so it is the same in every run.
    let (top, below) = if less(pool.get(b), pool.get(a)) { (b, a) } else { (a, b) };
    let first = pool.get(top).child();
    pool.edit(below).set_next(first);
    pool.edit(top).set_child(below);
    top
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::rng::{Purpose, Stream};
    use serde::{Deserialize, Serialize};
    use std::{cmp::Reverse, collections::BinaryHeap};

    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    struct Item {
        value: u64,
        next: u32,
        child: u32,
    }

    impl Linked for Item {
        fn next(&self) -> u32 {
            self.next
        }
        fn set_next(&mut self, next: u32) {
            self.next = next;
        }
    }

    impl Heaped for Item {
        fn child(&self) -> u32 {
            self.child
        }
        fn set_child(&mut self, child: u32) {
            self.child = child;
        }
    }

    #[test]
    fn agrees_with_the_library() {
        let mut random = Stream::new(3, Purpose::Test, 0);
        let (mut pool, mut root, mut heap) = (Pool::<Item>::default(), NIL, BinaryHeap::new());
        let less = |a: &Item, b: &Item| a.value < b.value;
        for step in 0..20_000u64 {
            if heap.is_empty() || random.below(100) < if step % 2_000 < 1_000 { 70 } else { 30 } {
                let value = random.next_u64();
                let row = pool.take(Item { value, next: NIL, child: NIL });
                root = push(&mut pool, root, row, less);
                heap.push(Reverse(value));
            } else {
                let least = root;
                root = pop(&mut pool, root, less);
                assert_eq!(heap.pop(), Some(Reverse(pool.get(least).value)));
                pool.give(least);
            }
            assert!(root == NIL || pool.get(root).next() == NIL, "a root has no siblings");
        }
        assert!(!heap.is_empty());
    }
}
