//! A hash map whose changes can be undone: chains threaded through a pool. Iterated only where order does not matter.

use super::{
    Journal, Linked, NIL, Pool, Row, Table,
    ends::Steps,
    mode::{Mode, Undo},
};
use base::hash::mix64;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Slot<V> {
    key: u64,
    sub: u32,
    next: u32,
    value: V,
}

impl<V: Row> Linked for Slot<V> {
    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

/// Map from (u64, u32) to a plain value.
#[derive(Clone, Debug)]
pub struct Map<V, M = Undo> {
    buckets: Table<u32, M>,
    slots: Pool<Slot<V>, M>,
    /// Buckets in use, minus one: a table of one row, so that growth is undone too.
    mask: Table<u32, M>,
}

impl<V: Row, M: Mode> PartialEq for Map<V, M> {
    fn eq(&self, other: &Self) -> bool {
        let used = *self.mask.get(0) as usize + 1;
        self.mask == other.mask
            && self.slots == other.slots
            && self.buckets.rows()[..used] == other.buckets.rows()[..used]
    }
}

impl<V: Row, M: Mode> Default for Map<V, M> {
    fn default() -> Self {
        Self { buckets: Table::new(16, NIL), slots: Pool::default(), mask: Table::new(1, 15) }
    }
}

impl<V: Row, M: Mode> Map<V, M> {
    fn bucket(&self, key: u64, sub: u32) -> u32 {
        debug_assert!((self.mask.get(0) + 1).is_power_of_two(), "a mask has only lower bits");
        // Mixed twice, so that keys whose two parts differ alike do not fall into one bucket.
        (mix64(key ^ mix64(u64::from(sub))) as u32) & self.mask.get(0)
    }

    fn find(&self, key: u64, sub: u32) -> Option<u32> {
        let mut at = *self.buckets.get(self.bucket(key, sub));
        let mut steps = Steps::of(self.slots.made());
        while at != NIL {
            steps.step();
            let slot = self.slots.get(at);
            if slot.key == key && slot.sub == sub {
                return Some(at);
            }
            at = slot.next;
        }
        None
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: u64, sub: u32) -> Option<V> {
        self.find(key, sub).map(|at| self.slots.get(at).value)
    }

    /// Changes the value of a key that is there, or adds it.
    pub fn set(&mut self, key: u64, sub: u32, value: V) {
        if let Some(at) = self.find(key, sub) {
            self.slots.edit(at).value = value;
            return;
        }
        self.add(key, sub, value);
    }

    /// Adds a key that is not there.
    fn add(&mut self, key: u64, sub: u32, value: V) {
        // As many keys as buckets: chains stay short, and doubling keeps the mean cost of an insertion constant.
        if self.slots.in_use() > *self.mask.get(0) {
            self.grow();
        }
        // New keys stand first in their chain: what was set lately is looked up soon.
        let bucket = self.bucket(key, sub);
        let next = *self.buckets.get(bucket);
        let at = self.slots.take(Slot { key, sub, next, value });
        *self.buckets.edit(bucket) = at;
    }

    /// Changes the value of a key, which is `absent` if it is not there: one search instead of two.
    pub fn update(&mut self, key: u64, sub: u32, absent: V, change: impl FnOnce(&mut V)) {
        match self.find(key, sub) {
            Some(at) => change(&mut self.slots.edit(at).value),
            None => {
                let mut value = absent;
                change(&mut value);
                self.add(key, sub, value);
            }
        }
    }

    /// Removes a key and returns its value.
    pub fn remove(&mut self, key: u64, sub: u32) -> Option<V> {
        let bucket = self.bucket(key, sub);
        let (mut before, mut at) = (NIL, *self.buckets.get(bucket));
        let mut steps = Steps::of(self.slots.made());
        while at != NIL {
            steps.step();
            let slot = *self.slots.get(at);
            if slot.key == key && slot.sub == sub {
                if before == NIL {
                    *self.buckets.edit(bucket) = slot.next;
                } else {
                    self.slots.edit(before).next = slot.next;
                }
                self.slots.give(at);
                return Some(slot.value);
            }
            (before, at) = (at, slot.next);
        }
        None
    }

    /// Visits all, in an order that depends on the past.
    pub fn each(&self, mut visit: impl FnMut(u64, u32, &V)) {
        for &first in &self.buckets.rows()[..=*self.mask.get(0) as usize] {
            let mut at = first;
            let mut steps = Steps::of(self.slots.made());
            while at != NIL {
                steps.step();
                let slot = self.slots.get(at);
                visit(slot.key, slot.sub, &slot.value);
                at = slot.next;
            }
        }
    }

    /// Number of keys.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.slots.in_use()
    }

    /// True if there are no keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Doubles the buckets.
    fn grow(&mut self) {
        let old = *self.mask.get(0) + 1;
        assert!(old.is_power_of_two(), "a mask tells the lower bits");
        // Collected first: the chains are threaded through the same rows that get new links below.
        let mut all = Vec::new();
        for bucket in 0..old {
            let mut at = *self.buckets.get(bucket);
            let mut steps = Steps::of(self.slots.made());
            while at != NIL {
                steps.step();
                all.push(at);
                at = self.slots.get(at).next;
            }
        }
        // After an undone doubling the table is long enough already.
        while self.buckets.len() < 2 * old as usize {
            self.buckets.grow(NIL);
        }
        *self.mask.edit(0) = 2 * old - 1;
        for bucket in 0..2 * old {
            *self.buckets.edit(bucket) = NIL;
        }
        for at in all {
            let slot = *self.slots.get(at);
            let bucket = self.bucket(slot.key, slot.sub);
            self.slots.edit(at).next = *self.buckets.get(bucket);
            *self.buckets.edit(bucket) = at;
        }
    }

    /// Shows the tables inside.
    pub fn visit_journals(&mut self, visit: &mut dyn FnMut(&mut dyn Journal)) {
        visit(&mut self.buckets);
        visit(&mut self.slots);
        visit(&mut self.mask);
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Epoch, *};
    use base::rng::{Purpose, Stream};
    use std::collections::BTreeMap;

    #[test]
    fn behaves_like_a_map_and_can_be_undone() {
        let mut random = Stream::new(2, Purpose::Test, 0);
        let (mut map, mut reference) = (Map::<u32>::default(), BTreeMap::new());
        for round in 0..300u32 {
            let before = map.clone();
            map.visit_journals(&mut |t| t.record(Some(&Epoch::default())));
            for _ in 0..random.below(40) {
                map.set(random.below(500), 0, round);
            }
            map.visit_journals(&mut |t| t.undo_from(0));
            map.visit_journals(&mut |t| t.record(None));
            assert!(map == before);
            let key = random.below(200);
            if random.below(3) > 0 {
                if round % 2 == 0 {
                    map.set(key, 7, round);
                } else {
                    map.update(key, 7, 0, |value| *value = round);
                }
                reference.insert(key, round);
            } else {
                assert_eq!(map.remove(key, 7), reference.remove(&key));
            }
            assert_eq!(map.len() as usize, reference.len());
            for key in 0..200 {
                assert_eq!(map.get(key, 7), reference.get(&key).copied());
            }
        }
    }
}
