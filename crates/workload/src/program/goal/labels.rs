//! The labels of one rank's operations: an open hash table without random order, emptied in the time that filling it took.

use base::hash::mix64;

struct Entry {
    hash: u64,
    start: usize,
    length: u32,
    op: u32,
}

/// Operations by label.
#[derive(Default)]
pub(super) struct Labels {
    text: Vec<u8>,
    entries: Vec<Entry>,
    /// 1 + index of an entry, or 0; a power of two of them, at most half used.
    slots: Vec<u32>,
}

impl Labels {
    /// Forgets all; memory is kept.
    pub(super) fn clear(&mut self) {
        let mask = self.slots.len().wrapping_sub(1);
        for entry in &self.entries {
            // Probing only ever went from here over used slots: emptying these and their successors leaves none.
            let mut slot = entry.hash as usize & mask;
            while self.slots[slot] != 0 {
                self.slots[slot] = 0;
                slot = (slot + 1) & mask;
            }
        }
        self.text.clear();
        self.entries.clear();
    }

    /// The operation of a label.
    pub(super) fn get(&self, label: &[u8]) -> Option<u32> {
        let slot = self.slot(hash(label), label)?;
        let entry = (self.slots[slot] as usize).checked_sub(1)?;
        Some(self.entries[entry].op)
    }

    /// Adds a label unless it is known; then its operation is returned.
    pub(super) fn insert(&mut self, label: &[u8], op: u32) -> Result<(), u32> {
        if self.entries.len() * 2 >= self.slots.len() {
            self.grow();
        }
        let hash = hash(label);
        let slot = self.slot(hash, label).expect("the table has grown");
        if let Some(entry) = (self.slots[slot] as usize).checked_sub(1) {
            return Err(self.entries[entry].op);
        }
        let length = u32::try_from(label.len()).expect("lines are shorter than 4 GiB");
        self.entries.push(Entry { hash, start: self.text.len(), length, op });
        self.text.extend_from_slice(label);
        self.slots[slot] = self.entries.len() as u32;
        Ok(())
    }

    /// Labels in the order of their definition.
    pub(super) fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.entries.iter().map(|e| self.name(e))
    }

    /// The label of an operation; slow, for messages.
    pub(super) fn of(&self, op: u32) -> Option<&[u8]> {
        self.entries.iter().find(|e| e.op == op).map(|e| self.name(e))
    }

    fn name(&self, entry: &Entry) -> &[u8] {
        &self.text[entry.start..entry.start + entry.length as usize]
    }

    /// Where the label is, or the empty slot where it belongs.
    fn slot(&self, hash: u64, label: &[u8]) -> Option<usize> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut slot = hash as usize & mask;
        loop {
            let Some(entry) = (self.slots[slot] as usize).checked_sub(1) else { return Some(slot) };
            let entry = &self.entries[entry];
            if entry.hash == hash && self.name(entry) == label {
                return Some(slot);
            }
            slot = (slot + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(64);
        self.slots.clear();
        self.slots.resize(size, 0);
        for (i, entry) in self.entries.iter().enumerate() {
            let mut slot = entry.hash as usize & (size - 1);
            while self.slots[slot] != 0 {
                slot = (slot + 1) & (size - 1);
            }
            self.slots[slot] = i as u32 + 1;
        }
    }
}

fn hash(label: &[u8]) -> u64 {
    let word = |chunk: &[u8]| chunk.iter().fold(0u64, |word, &byte| word << 8 | u64::from(byte));
    label.chunks(8).fold(label.len() as u64, |hash, chunk| mix64(hash ^ word(chunk)).wrapping_add(hash))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::sorted::SortedMap;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn like_a_map(rounds in prop::collection::vec(prop::collection::vec("[a-c]{1,3}|l[0-9]{1,10}", 0..200), 1..4)) {
            let mut labels = Labels::default();
            for round in rounds {
                let mut map = SortedMap::new();
                for (op, label) in round.iter().enumerate() {
                    let known = labels.insert(label.as_bytes(), op as u32).err();
                    prop_assert_eq!(known, map.get(label.as_str()).copied());
                    map.entry(label.as_str()).or_insert(op as u32);
                }
                for (label, &op) in &map {
                    prop_assert_eq!(labels.get(label.as_bytes()), Some(op));
                    prop_assert_eq!(labels.of(op), Some(label.as_bytes()));
                }
                prop_assert_eq!(labels.names().count(), map.len());
                prop_assert_eq!(labels.get(b"unknown"), None);
                labels.clear();
                prop_assert!(labels.slots.iter().all(|&s| s == 0));
            }
        }
    }
}
