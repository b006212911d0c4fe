//! Matching of messages with receives, in MPI's order: a message takes the receive that was posted first among those that fit,
//! a receive takes the message that arrived first among those that fit.
//!
//! Each rank has a list of messages in order of arrival, and of receives in posting order: those with a definite source and tag, and
//! those with a wildcard. The first few of a list are searched one by one. What joins a longer list (receives with a wildcard excepted) also
//! lies in a hash table by (rank, context, source, tag), equal ones in a list: O(1) however many wait.
//! The table grows by one bucket at a time (Litwin: Linear hashing, VLDB 1980), so that a change stays small and can be undone.

use base::{hash::mix64, index::RankId};
use engine::state::{
    Journal, Linked, NIL, Pool, Table,
    ends::{Steps, ending},
};
use serde::{Deserialize, Serialize};
use workload::program::{ANY_RANK, ANY_TAG};

/// What a receive asks for, or a message bears.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// Rank that receives, as the owner counts.
    pub rank: u32,
    /// Context of matching: a communicator of the job.
    pub context: u32,
    /// Source, or [`ANY_RANK`].
    pub source: RankId,
    /// Tag, or [`ANY_TAG`].
    pub tag: u32,
}

impl Label {
    fn is_wild(&self) -> bool {
        self.source == ANY_RANK || self.tag == ANY_TAG
    }

    /// True if a receive with this label takes a message labelled `message`.
    #[must_use]
    pub fn takes(&self, message: &Self) -> bool {
        self.context == message.context
            && (self.source == ANY_RANK || self.source == message.source)
            && (self.tag == ANY_TAG || self.tag == message.tag)
    }

    fn hash(&self) -> u32 {
        let a = u64::from(self.rank) << 32 | u64::from(self.source);
        let b = u64::from(self.context) << 32 | u64::from(self.tag);
        // Two words are folded into one before mixing: the odd factor keeps pairs that differ in both from cancelling.
        mix64(a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b) as u32
    }
}

/// Something that waits to be matched.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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
    /// True if it is in the hash table.
    indexed: bool,
}

/// How many of a list are searched before the hash table is. What is not in the table is among them: its place in the list only falls.
const NEAR: u32 = 6;

impl Linked for Item {
    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

/// Ends of a rank's list.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Ends {
    oldest: u32,
    newest: u32,
    count: u32,
}

/// What waits at a rank, in one cache line.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[repr(align(64))]
struct Shelf {
    /// Receives that are definite.
    posted: Ends,
    /// Receives with a wildcard.
    wild: Ends,
    /// Messages that no receive has taken yet.
    arrived: Ends,
    probes: Ends,
    /// Things that began to wait.
    order: u32,
}

/// Size of a hash table: `2^level + split` buckets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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
        // Buckets below `split` have been split this round, so one bit more of the hash says which half.
        if low < split { hash & ((2 << level) - 1) } else { low }
    }

    /// The first item with a label, and the item before it in its chain.
    fn find(&self, pool: &Pool<Item>, label: &Label) -> Option<(u32, u32)> {
        let (mut before, mut at) = (NIL, *self.heads.get(self.bucket(label.hash())));
        let mut steps = Steps::of(pool.made());
        while at != NIL {
            steps.step();
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
        // Equal labels hang on the first of them: a chain holds each label once, so many messages of one pair do not make it longer.
        if let Some((first, _)) = self.find(pool, &label) {
            debug_assert_ne!(first, item, "an item joins the table once");
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
        debug_assert!(before == NIL || pool.get(before).next == first, "`before` precedes it in the chain");
        // Whoever is first of its label leaves first: items of one label come and go in order.
        let heir = if more == NIL {
            debug_assert!(self.size.get(0).chained > 0, "it is in a chain");
            self.size.edit(0).chained -= 1;
            next
        } else {
            let heir = pool.edit(more);
            // The next of the same label takes the place of the first, in the middle of the chain if need be: the order of others stays.
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
        debug_assert!(split < 1 << level, "a round splits each bucket once");
        let buckets = (1 << level) + split;
        if chained <= buckets || level >= 30 {
            return;
        }
        // Undo takes back the size, not the memory: after it the table may be longer than what is in use.
        if self.heads.len() as u32 == buckets {
            self.heads.grow(NIL);
        }
        let size = self.size.edit(0);
        // One bucket is split per insertion at most. Doubling the table at once would write all of it, and an undo would have to keep that.
        // Only this bucket's items can move, and only into the new one: one more bit of their hash decides.
        (size.level, size.split) = if split + 1 == 1 << level { (level + 1, 0) } else { (level, split + 1) };
        let mut at = *self.heads.get(split);
        *self.heads.edit(split) = NIL;
        *self.heads.edit(buckets) = NIL;
        let mut steps = Steps::of(pool.made());
        while at != NIL {
            steps.step();
            let Item { label, next, .. } = *pool.get(at);
            let bucket = self.bucket(label.hash());
            pool.edit(at).next = *self.heads.get(bucket);
            *self.heads.edit(bucket) = at;
            at = next;
        }
    }
}

/// A list per rank, oldest first, of items that may leave from anywhere.
fn enlist(ends: &mut Ends, pool: &mut Pool<Item>, item: u32) {
    debug_assert_eq!(ends.count == 0, ends.newest == NIL, "a list without items has no ends");
    pool.edit(item).older = ends.newest;
    if ends.newest == NIL {
        ends.oldest = item;
    } else {
        pool.edit(ends.newest).newer = item;
    }
    ends.newest = item;
    ends.count += 1;
}

fn delist(ends: &mut Ends, pool: &mut Pool<Item>, item: u32) {
    debug_assert!(ends.count > 0, "it is in the list");
    let Item { older, newer, .. } = *pool.get(item);
    debug_assert!(older != NIL || ends.oldest == item, "what has nothing before it is the oldest");
    debug_assert!(newer != NIL || ends.newest == item, "what has nothing behind it is the newest");
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
    ends.count -= 1;
}

fn listed<'a>(ends: &Ends, pool: &'a Pool<Item>) -> impl Iterator<Item = u32> + 'a {
    let first = ends.oldest;
    let newer = std::iter::successors((first != NIL).then_some(first), |&i| {
        Some(pool.get(i).newer).filter(|&n| n != NIL)
    });
    ending(newer, pool.made())
}

/// The oldest with this definite label in a list whose later items are in `index`.
#[inline]
fn oldest(ends: &Ends, index: &Index, pool: &Pool<Item>, label: &Label) -> Option<u32> {
    let mut at = ends.oldest;
    for _ in 0..NEAR {
        if at == NIL {
            return None;
        }
        let item = pool.get(at);
        if item.label == *label {
            return Some(at);
        }
        at = item.newer;
    }
    if at == NIL { None } else { index.find(pool, label).map(|f| f.0) }
}

/// Adds an item to its list, and to the index if the list is long.
fn add(ends: &mut Ends, index: &mut Index, pool: &mut Pool<Item>, item: u32) {
    // An item outside the table has fewer than NEAR before it, and never gets more: `oldest` meets it among the first.
    if ends.count >= NEAR {
        pool.edit(item).indexed = true;
        index.insert(pool, item);
    }
    enlist(ends, pool, item);
}

/// Takes the oldest item of its label off.
fn leave(ends: &mut Ends, index: &mut Index, pool: &mut Pool<Item>, item: u32) {
    let Item { label, indexed, .. } = *pool.get(item);
    if indexed {
        let (first, before) = index.find(pool, &label).expect("what is marked is indexed");
        debug_assert_eq!(first, item, "the oldest of a label is its first");
        index.remove(pool, first, before);
    }
    delist(ends, pool, item);
}

/// Posted receives, messages that nobody has asked for yet, and waiting probes of a set of ranks.
#[derive(Clone, PartialEq)]
pub struct Matching {
    items: Pool<Item>,
    posted: Index,
    unexpected: Index,
    shelves: Table<Shelf>,
}

impl Matching {
    /// Nothing posted, nothing arrived.
    #[must_use]
    pub fn new(ranks: u32) -> Self {
        let none = Ends { oldest: NIL, newest: NIL, count: 0 };
        let shelf = Shelf { posted: none, wild: none, arrived: none, probes: none, order: 0 };
        Self {
            items: Pool::default(),
            posted: Index::new(),
            unexpected: Index::new(),
            shelves: Table::new(ranks as usize, shelf),
        }
    }

    fn item(&mut self, label: Label, value: u32) -> u32 {
        let order = &mut self.shelves.edit(label.rank).order;
        *order = order.wrapping_add(1);
        let order = *order;
        self.items.take(Item {
            label,
            value,
            order,
            next: NIL,
            more: NIL,
            tail: NIL,
            older: NIL,
            newer: NIL,
            indexed: false,
        })
    }

    /// A receive starts: the message that it takes, or it is posted as `value`.
    pub fn receive(&mut self, label: Label, value: u32) -> Option<u32> {
        // Messages that wait are looked at before the receive is posted: a message and a receive that fit never wait side by side.
        if let Some(item) = self.waiting(&label) {
            let ends = &mut self.shelves.edit(label.rank).arrived;
            leave(ends, &mut self.unexpected, &mut self.items, item);
            debug_assert!(label.takes(&self.items.get(item).label), "a receive takes what it asked for");
            let message = self.items.get(item).value;
            self.items.give(item);
            return Some(message);
        }
        let item = self.item(label, value);
        let shelf = self.shelves.edit(label.rank);
        if label.is_wild() {
            enlist(&mut shelf.wild, &mut self.items, item);
        } else {
            add(&mut shelf.posted, &mut self.posted, &mut self.items, item);
        }
        None
    }

    /// The oldest message that a receive with this label would take.
    fn waiting(&self, label: &Label) -> Option<u32> {
        let ends = &self.shelves.get(label.rank).arrived;
        if !label.is_wild() {
            return oldest(ends, &self.unexpected, &self.items, label);
        }
        listed(ends, &self.items).find(|&i| label.takes(&self.items.get(i).label))
    }

    /// A message arrives: the receive that takes it, or it waits as `value`.
    pub fn arrive(&mut self, label: Label, value: u32) -> Option<u32> {
        let shelf = self.shelves.get(label.rank);
        let exact = oldest(&shelf.posted, &self.posted, &self.items, &label);
        // Receives with a wildcard are rare, and fit by their own rules: they are searched one by one.
        let wild = listed(&shelf.wild, &self.items).find(|&i| self.items.get(i).label.takes(&label));
        // Of the definite receive and the first wildcard that fit, MPI wants the one posted first. Their numbers wrap, hence the difference.
        let order = |i: u32| self.items.get(i).order;
        let item = match (exact, wild) {
            (None, None) => {
                let item = self.item(label, value);
                let ends = &mut self.shelves.edit(label.rank).arrived;
                add(ends, &mut self.unexpected, &mut self.items, item);
                return None;
            }
            (Some(exact), wild) if wild.is_none_or(|w| order(exact).wrapping_sub(order(w)) > 1 << 31) => {
                let ends = &mut self.shelves.edit(label.rank).posted;
                leave(ends, &mut self.posted, &mut self.items, exact);
                exact
            }
            (_, Some(wild)) => {
                delist(&mut self.shelves.edit(label.rank).wild, &mut self.items, wild);
                wild
            }
            (Some(_), None) => unreachable!("without a wildcard the definite receive is first"),
        };
        debug_assert!(self.items.get(item).label.takes(&label), "a matched receive was posted for it");
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
        enlist(&mut self.shelves.edit(label.rank).probes, &mut self.items, item);
        false
    }

    /// Appends the probes that a message that has just begun to wait answers, in the order in which they came.
    pub fn answer(&mut self, label: &Label, answered: &mut Vec<u32>) {
        // A probe takes nothing: one message answers all that ask for it, and waits for its receive as before.
        let mut at = self.shelves.get(label.rank).probes.oldest;
        let mut steps = Steps::of(self.items.made());
        while at != NIL {
            steps.step();
            let Item { label: asked, newer, value, .. } = *self.items.get(at);
            if asked.takes(label) {
                delist(&mut self.shelves.edit(label.rank).probes, &mut self.items, at);
                self.items.give(at);
                answered.push(value);
            }
            at = newer;
        }
    }

    /// Messages that wait at a rank, oldest first: label and value.
    pub fn messages(&self, rank: u32) -> impl Iterator<Item = (Label, u32)> {
        let items = listed(&self.shelves.get(rank).arrived, &self.items);
        items.map(|i| (self.items.get(i).label, self.items.get(i).value))
    }

    /// Receives of a rank that no message has reached, in no particular order: label and value.
    pub fn receives(&self, rank: u32) -> impl Iterator<Item = (Label, u32)> {
        let shelf = self.shelves.get(rank);
        let items = listed(&shelf.posted, &self.items).chain(listed(&shelf.wild, &self.items));
        items.map(|i| (self.items.get(i).label, self.items.get(i).value))
    }

    /// Hints that something of a rank will be matched soon.
    #[inline]
    pub fn prefetch(&self, rank: u32) {
        self.shelves.prefetch(rank);
    }

    /// The same once that has come: the oldest of what waits.
    #[inline]
    pub fn prefetch_oldest(&self, rank: u32) {
        let shelf = self.shelves.get(rank);
        self.items.prefetch(shelf.posted.oldest);
        self.items.prefetch(shelf.arrived.oldest);
    }

    /// The same for a message that will find many receives posted: where they lie by label, then (`again`) the first of them.
    #[inline]
    pub fn prefetch_label(&self, label: &Label, again: bool) {
        if self.shelves.get(label.rank).posted.count > NEAR {
            let bucket = self.posted.bucket(label.hash());
            if again {
                self.items.prefetch(*self.posted.heads.get(bucket));
            } else {
                self.posted.heads.prefetch(bucket);
            }
        }
    }

    /// The receive that was posted first among those that are definite: probably the one that the next message takes.
    #[inline]
    #[must_use]
    pub fn first_posted(&self, rank: u32) -> Option<u32> {
        let first = self.shelves.get(rank).posted.oldest;
        (first != NIL).then(|| self.items.get(first).value)
    }

    /// Shows every table to the engine.
    pub fn visit_journals(&mut self, visit: &mut dyn FnMut(&mut dyn Journal)) {
        visit(&mut self.items);
        for index in [&mut self.posted, &mut self.unexpected] {
            visit(&mut index.heads);
            visit(&mut index.size);
        }
        visit(&mut self.shelves);
    }

    /// Bytes that the tables occupy.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let heads = self.posted.heads.bytes() + self.unexpected.heads.bytes();
        self.items.bytes() + heads + self.shelves.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::state::Epoch;
    use proptest::prelude::*;

    fn label(rank: u32, context: u32, source: u32, tag: u32) -> Label {
        let wild = |x: u32, any: u32| if x == 9 { any } else { x };
        Label { rank, context, source: RankId::new(wild(source, ANY_RANK.number())), tag: wild(tag, ANY_TAG) }
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
                        matching.visit_journals(&mut |t| t.record(Some(&Epoch::default())));
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
                        matching.visit_journals(&mut |t| t.undo_from(0));
                        matching.visit_journals(&mut |t| t.record(None));
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
        assert_eq!(matching.items.in_use(), 0, "nothing is kept of what has met");
        let mut answered = Vec::new();
        assert!(!matching.probe(label(0, 0, 9, 5), 7));
        matching.arrive(label(0, 0, 2, 5), 8);
        matching.answer(&label(0, 0, 2, 5), &mut answered);
        assert_eq!(answered, [7]);
    }
}
