//! Matching of messages with receives, in MPI's order: a message takes the receive that was posted first among those that fit,
//! a receive takes the message that arrived first among those that fit.
//!
//! Receives and messages with a definite source and tag lie in a hash table by (rank, context, source, tag), equal ones in a
//! list: O(1) however many wait. Receives with a wildcard stand in a list per rank, in posting order; every message that waits is also in a list
//! per rank, in order of arrival, which wildcard receives and probes search.
//! The table grows by one bucket at a time (Litwin: Linear hashing, VLDB 1980), so that a change stays small and can be undone.

use base::hash::mix64;
use engine::state::{Journal, Linked, NIL, Pool, Table};
use workload::program::{ANY_SOURCE, ANY_TAG};

/// What a receive asks for, or a message bears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// Rank that receives, as the owner counts.
    pub rank: u32,
    /// Matching context.
    pub context: u32,
    /// Source, or [`ANY_SOURCE`].
    pub source: u32,
    /// Tag, or [`ANY_TAG`].
    pub tag: u32,
}

impl Label {
    fn is_wild(&self) -> bool {
        self.source == ANY_SOURCE || self.tag == ANY_TAG
    }

    /// True if a receive with this label takes a message labelled `message`.
    fn takes(&self, message: &Self) -> bool {
        self.context == message.context
            && (self.source == ANY_SOURCE || self.source == message.source)
            && (self.tag == ANY_TAG || self.tag == message.tag)
    }

    fn hash(&self) -> u32 {
        let a = u64::from(self.rank) << 32 | u64::from(self.source);
        let b = u64::from(self.context) << 32 | u64::from(self.tag);
        mix64(a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b) as u32
    }
}

/// Something that waits to be matched.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Item {
    label: Label,
    value: u32,
    /// Posting order within the rank.
    order: u32,
    /// Bucket chain, or the free list.
    next: u32,
    /// First and last of the later ones with the same label; only the first of them is in the chain. Later ones use `more` as link.
    more: u32,
    tail: u32,
    /// Neighbours in the rank's list.
    older: u32,
    newer: u32,
}

impl Linked for Item {
    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

/// Ends of a rank's list.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ends {
    oldest: u32,
    newest: u32,
}

/// Size of a hash table: `2^level + split` buckets.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Size {
    level: u32,
    split: u32,
    chained: u32,
}

/// Hash table of lists by label.
#[derive(Clone)]
struct Index {
    heads: Table<u32>,
    size: Table<Size>,
}

/// Buckets in use are equal; tables do not shrink when growth is undone.
impl PartialEq for Index {
    fn eq(&self, other: &Self) -> bool {
        let used = |i: &Self| (1 << i.size.get(0).level) + i.size.get(0).split as usize;
        self.size == other.size && self.heads.rows()[..used(self)] == other.heads.rows()[..used(other)]
    }
}

const FIRST_LEVEL: u32 = 6;

impl Index {
    fn new() -> Self {
        Self {
            heads: Table::new(1 << FIRST_LEVEL, NIL),
            size: Table::new(1, Size { level: FIRST_LEVEL, split: 0, chained: 0 }),
        }
    }

    #[inline]
    fn bucket(&self, hash: u32) -> u32 {
        let Size { level, split, .. } = *self.size.get(0);
        let low = hash & ((1 << level) - 1);
        if low < split { hash & ((2 << level) - 1) } else { low }
    }

    /// The first item with a label, and the item before it in its chain.
    fn find(&self, pool: &Pool<Item>, label: &Label) -> Option<(u32, u32)> {
        let (mut before, mut at) = (NIL, *self.heads.get(self.bucket(label.hash())));
        while at != NIL {
            let item = pool.get(at);
            if item.label == *label {
                return Some((at, before));
            }
            (before, at) = (at, item.next);
        }
        None
    }

    fn insert(&mut self, pool: &mut Pool<Item>, item: u32) {
        let label = pool.get(item).label;
        if let Some((first, _)) = self.find(pool, &label) {
            let leader = pool.edit(first);
            let tail = leader.tail;
            leader.tail = item;
            if tail == NIL {
                leader.more = item;
            } else {
                pool.edit(tail).more = item;
            }
            return;
        }
        let bucket = self.bucket(label.hash());
        pool.edit(item).next = *self.heads.get(bucket);
        *self.heads.edit(bucket) = item;
        self.size.edit(0).chained += 1;
        self.grow(pool);
    }

    /// Takes out the first item of its label.
    fn remove(&mut self, pool: &mut Pool<Item>, first: u32, before: u32) {
        let Item { label, next, more, tail, .. } = *pool.get(first);
        let heir = if more == NIL {
            self.size.edit(0).chained -= 1;
            next
        } else {
            let heir = pool.edit(more);
            heir.next = next;
            heir.tail = if heir.more == NIL { NIL } else { tail };
            more
        };
        if before == NIL {
            let bucket = self.bucket(label.hash());
            *self.heads.edit(bucket) = heir;
        } else {
            pool.edit(before).next = heir;
        }
    }

    /// Splits a bucket if chains have become long.
    fn grow(&mut self, pool: &mut Pool<Item>) {
        let Size { level, split, chained } = *self.size.get(0);
        let buckets = (1 << level) + split;
        if chained <= buckets || level >= 30 {
            return;
        }
        if self.heads.len() as u32 == buckets {
            self.heads.grow(NIL);
        }
        let size = self.size.edit(0);
        (size.level, size.split) = if split + 1 == 1 << level { (level + 1, 0) } else { (level, split + 1) };
        let mut at = *self.heads.get(split);
        *self.heads.edit(split) = NIL;
        *self.heads.edit(buckets) = NIL;
        while at != NIL {
            let Item { label, next, .. } = *pool.get(at);
            let bucket = self.bucket(label.hash());
            pool.edit(at).next = *self.heads.get(bucket);
            *self.heads.edit(bucket) = at;
            at = next;
        }
    }
}

/// A list per rank, oldest first, of items that may leave from anywhere.
fn enlist(ends: &mut Table<Ends>, pool: &mut Pool<Item>, item: u32) {
    let ends = ends.edit(pool.get(item).label.rank);
    pool.edit(item).older = ends.newest;
    if ends.newest == NIL {
        ends.oldest = item;
    } else {
        pool.edit(ends.newest).newer = item;
    }
    ends.newest = item;
}

fn delist(ends: &mut Table<Ends>, pool: &mut Pool<Item>, item: u32) {
    let Item { label, older, newer, .. } = *pool.get(item);
    let ends = ends.edit(label.rank);
    if older == NIL {
        ends.oldest = newer;
    } else {
        pool.edit(older).newer = newer;
    }
    if newer == NIL {
        ends.newest = older;
    } else {
        pool.edit(newer).older = older;
    }
}

fn listed<'a>(ends: &Table<Ends>, pool: &'a Pool<Item>, rank: u32) -> impl Iterator<Item = u32> + 'a {
    let first = ends.get(rank).oldest;
    std::iter::successors((first != NIL).then_some(first), |&i| Some(pool.get(i).newer).filter(|&n| n != NIL))
}

/// Posted receives, messages that nobody has asked for yet, and waiting probes of a set of ranks.
#[derive(Clone, PartialEq)]
pub struct Matching {
    items: Pool<Item>,
    posted: Index,
    unexpected: Index,
    /// Posted receives with a wildcard.
    wild: Table<Ends>,
    /// Messages.
    arrived: Table<Ends>,
    probes: Table<Ends>,
    orders: Table<u32>,
}

impl Matching {
    /// Nothing posted, nothing arrived.
    #[must_use]
    pub fn new(ranks: u32) -> Self {
        let ends = || Table::new(ranks as usize, Ends { oldest: NIL, newest: NIL });
        Self {
            items: Pool::default(),
            posted: Index::new(),
            unexpected: Index::new(),
            wild: ends(),
            arrived: ends(),
            probes: ends(),
            orders: Table::new(ranks as usize, 0),
        }
    }

    fn item(&mut self, label: Label, value: u32) -> u32 {
        let order = self.orders.edit(label.rank);
        *order = order.wrapping_add(1);
        let order = *order;
        let links = (NIL, NIL, NIL);
        self.items.take(Item {
            label,
            value,
            order,
            next: NIL,
            more: links.0,
            tail: NIL,
            older: links.1,
            newer: links.2,
        })
    }

    /// A receive starts: the message that it takes, or it is posted as `value`.
    pub fn receive(&mut self, label: Label, value: u32) -> Option<u32> {
        if let Some(item) = self.waiting(&label) {
            let found = self.items.get(item).label;
            let (first, before) =
                self.unexpected.find(&self.items, &found).expect("what is listed is indexed");
            debug_assert_eq!(first, item, "the oldest of a label is its first");
            self.unexpected.remove(&mut self.items, first, before);
            delist(&mut self.arrived, &mut self.items, first);
            let message = self.items.get(first).value;
            self.items.give(first);
            return Some(message);
        }
        let item = self.item(label, value);
        if label.is_wild() {
            enlist(&mut self.wild, &mut self.items, item);
        } else {
            self.posted.insert(&mut self.items, item);
        }
        None
    }

    /// The oldest message that a receive with this label would take.
    fn waiting(&self, label: &Label) -> Option<u32> {
        if !label.is_wild() {
            return self.unexpected.find(&self.items, label).map(|f| f.0);
        }
        listed(&self.arrived, &self.items, label.rank).find(|&i| label.takes(&self.items.get(i).label))
    }

    /// A message arrives: the receive that takes it, or it waits as `value`.
    pub fn arrive(&mut self, label: Label, value: u32) -> Option<u32> {
        let exact = self.posted.find(&self.items, &label);
        let wild =
            listed(&self.wild, &self.items, label.rank).find(|&i| self.items.get(i).label.takes(&label));
        let order = |i: u32| self.items.get(i).order;
        let item = match (exact, wild) {
            (None, None) => {
                let item = self.item(label, value);
                self.unexpected.insert(&mut self.items, item);
                enlist(&mut self.arrived, &mut self.items, item);
                return None;
            }
            (Some((first, before)), wild)
                if wild.is_none_or(|w| order(first).wrapping_sub(order(w)) > 1 << 31) =>
            {
                self.posted.remove(&mut self.items, first, before);
                first
            }
            (_, Some(wild)) => {
                delist(&mut self.wild, &mut self.items, wild);
                wild
            }
            (Some(_), None) => unreachable!("without a wildcard the definite receive is first"),
        };
        let receive = self.items.get(item).value;
        self.items.give(item);
        Some(receive)
    }

    /// True if a message waits that a receive with this label would take; else the probe waits as `value`.
    pub fn probe(&mut self, label: Label, value: u32) -> bool {
        if self.waiting(&label).is_some() {
            return true;
        }
        let item = self.item(label, value);
        enlist(&mut self.probes, &mut self.items, item);
        false
    }

    /// Appends the probes that a message that has just begun to wait answers, in the order in which they came.
    pub fn answer(&mut self, label: &Label, answered: &mut Vec<u32>) {
        if self.probes.get(label.rank).oldest == NIL {
            return;
        }
        let mut at = self.probes.get(label.rank).oldest;
        while at != NIL {
            let Item { label: asked, newer, value, .. } = *self.items.get(at);
            if asked.takes(label) {
                delist(&mut self.probes, &mut self.items, at);
                self.items.give(at);
                answered.push(value);
            }
            at = newer;
        }
    }

    /// Messages that wait at a rank, oldest first: label and value.
    pub fn messages(&self, rank: u32) -> impl Iterator<Item = (Label, u32)> {
        listed(&self.arrived, &self.items, rank).map(|i| (self.items.get(i).label, self.items.get(i).value))
    }

    /// Hints that something of a rank will be matched soon.
    #[inline]
    pub fn prefetch(&self, rank: u32) {
        self.wild.prefetch(rank);
        self.arrived.prefetch(rank);
        self.orders.prefetch(rank);
    }

    /// Shows every table to the engine.
    pub fn tables(&mut self, visit: &mut dyn FnMut(&mut dyn Journal)) {
        visit(&mut self.items);
        for index in [&mut self.posted, &mut self.unexpected] {
            visit(&mut index.heads);
            visit(&mut index.size);
        }
        for ends in [&mut self.wild, &mut self.arrived, &mut self.probes] {
            visit(ends);
        }
        visit(&mut self.orders);
    }

    /// Bytes that the tables occupy.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let heads = self.posted.heads.bytes() + self.unexpected.heads.bytes();
        self.items.bytes() + heads + 3 * self.wild.bytes() + self.orders.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn label(rank: u32, context: u32, source: u32, tag: u32) -> Label {
        let wild = |x: u32, any: u32| if x == 9 { any } else { x };
        Label { rank, context, source: wild(source, ANY_SOURCE), tag: wild(tag, ANY_TAG) }
    }

    proptest! {
        /// Agrees with searching lists, and every step can be undone.
        #[test]
        fn agrees_with_lists(steps in prop::collection::vec((0..3u8, 0..3u32, 0..2u32, 0..4u32, 0..4u32, 0..6u8), 1..400)) {
            let mut matching = Matching::new(3);
            let (mut posted, mut arrived) = (Vec::<(Label, u32)>::new(), Vec::<(Label, u32)>::new());
            for (n, (what, rank, context, source, tag, wild)) in steps.into_iter().enumerate() {
                let n = n as u32;
                let message = label(rank, context, source, tag);
                let receive = label(rank, context, if wild & 1 == 1 { 9 } else { source }, if wild & 4 == 4 { 9 } else { tag });
                let before = matching.clone();
                for redo in [true, false] {
                    if redo {
                        matching.tables(&mut |t| t.record(true));
                    }
                    let fits = |r: &Label, m: &Label| r.rank == m.rank && r.takes(m);
                    match what {
                        0 => {
                            let found = posted.iter().position(|(r, _)| fits(r, &message));
                            prop_assert_eq!(matching.arrive(message, n), found.map(|i| posted[i].1));
                            if !redo {
                                match found {
                                    Some(i) => drop(posted.remove(i)),
                                    None => arrived.push((message, n)),
                                }
                            }
                        }
                        1 => {
                            let found = arrived.iter().position(|(m, _)| fits(&receive, m));
                            prop_assert_eq!(matching.receive(receive, n), found.map(|i| arrived[i].1));
                            if !redo {
                                match found {
                                    Some(i) => drop(arrived.remove(i)),
                                    None => posted.push((receive, n)),
                                }
                            }
                        }
                        _ => {
                            let found = arrived.iter().any(|(m, _)| fits(&receive, m));
                            prop_assert_eq!(matching.probe(receive, n), found);
                        }
                    }
                    if redo {
                        matching.tables(&mut |t| t.undo_to(0));
                        matching.tables(&mut |t| t.record(false));
                        prop_assert!(matching == before);
                    }
                }
            }
        }
    }

    #[test]
    fn many_messages_of_one_label_leave_in_order() {
        let mut matching = Matching::new(1);
        for n in 0..100_000 {
            assert_eq!(matching.arrive(label(0, 0, n % 3, n % 1000), n), None);
        }
        for n in 0..100_000 {
            assert_eq!(matching.receive(label(0, 0, n % 3, n % 1000), n), Some(n));
        }
        let mut answered = Vec::new();
        assert!(!matching.probe(label(0, 0, 9, 5), 7));
        matching.arrive(label(0, 0, 2, 5), 8);
        matching.answer(&label(0, 0, 2, 5), &mut answered);
        assert_eq!(answered, [7]);
    }
}
