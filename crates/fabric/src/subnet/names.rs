//! Names seen so far and their numbers: an open-addressing hash table that is never iterated, so no order of hashing can
//! reach a result.

use base::hash::mix64;

/// Distinct names, numbered from 0 in the order of their first appearance.
#[derive(Clone, Debug, Default)]
pub struct Names {
    bytes: String,
    ends: Vec<u32>,
    /// Number + 1 of the name at a slot; 0 for none. A power of two long.
    slots: Vec<u32>,
}

fn hash(name: &str) -> u64 {
    let mut h = name.len() as u64;
    for part in name.as_bytes().chunks(8) {
        let mut word = [0; 8];
        word[..part.len()].copy_from_slice(part);
        h = mix64(h ^ u64::from_le_bytes(word)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    }
    h
}

impl Names {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// A name by its number.
    #[must_use]
    pub fn get(&self, number: u32) -> &str {
        let i = number as usize;
        let begin = if i == 0 { 0 } else { self.ends[i - 1] as usize };
        &self.bytes[begin..self.ends[i] as usize]
    }

    /// Number of a name, if it was seen.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<u32> {
        if self.slots.is_empty() { None } else { self.slots[self.slot(name)].checked_sub(1) }
    }

    /// Number of a name, new or not.
    pub fn number(&mut self, name: &str) -> u32 {
        if (self.len() + 1) * 2 > self.slots.len() {
            self.grow();
        }
        let slot = self.slot(name);
        if let Some(known) = self.slots[slot].checked_sub(1) {
            return known;
        }
        self.bytes.push_str(name);
        self.ends.push(self.bytes.len() as u32);
        self.slots[slot] = self.ends.len() as u32;
        self.slots[slot] - 1
    }

    fn slot(&self, name: &str) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = hash(name) as usize & mask;
        while self.slots[slot] != 0 && self.get(self.slots[slot] - 1) != name {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(16);
        self.slots = vec![0; size];
        for number in 0..self.ends.len() as u32 {
            let slot = self.slot(self.get(number));
            self.slots[slot] = number + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_numbered_once() {
        let mut names = Names::default();
        for round in 0..2 {
            for i in 0..1000u32 {
                assert_eq!(names.number(&format!("H{i}")), i, "round {round}");
            }
        }
        assert_eq!(
            (names.len(), names.get(37), names.find("H999"), names.find("x")),
            (1000, "H37", Some(999), None)
        );
    }
}
