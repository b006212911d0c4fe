//! The next of many instants, each of which may change: a binary heap that knows where everybody stands.

use super::moment::Moment;

/// At most one instant for each number.
#[derive(Clone, Debug, Default)]
pub struct Alarms {
    heap: Vec<u32>,
    /// Place in the heap, and instant.
    rows: Vec<(u32, Moment)>,
}

const NOWHERE: u32 = u32::MAX;

impl Alarms {
    /// The earliest instant and whose it is; of several the least number's.
    #[must_use]
    pub fn first(&self) -> Option<(Moment, u32)> {
        self.heap.first().map(|&n| (self.rows[n as usize].1, n))
    }

    /// Sets or moves an instant; [`Moment::NEVER`] removes it.
    pub fn set(&mut self, number: u32, at: Moment) {
        if self.rows.len() <= number as usize {
            self.rows.resize(number as usize + 1, (NOWHERE, Moment::NEVER));
        }
        let place = self.rows[number as usize].0;
        if at == Moment::NEVER {
            if place != NOWHERE {
                self.remove(number, place as usize);
            }
            return;
        }
        self.rows[number as usize].1 = at;
        if place == NOWHERE {
            self.heap.push(number);
            self.up(self.heap.len() - 1);
        } else {
            self.down(place as usize);
            self.up(self.rows[number as usize].0 as usize);
        }
    }

    fn remove(&mut self, number: u32, place: usize) {
        self.rows[number as usize] = (NOWHERE, Moment::NEVER);
        self.heap.swap_remove(place);
        if let Some(&moved) = self.heap.get(place) {
            self.rows[moved as usize].0 = place as u32;
            self.down(place);
            self.up(self.rows[moved as usize].0 as usize);
        }
    }

    fn key(&self, number: u32) -> (Moment, u32) {
        (self.rows[number as usize].1, number)
    }

    fn up(&mut self, mut place: usize) {
        let number = self.heap[place];
        while place > 0 {
            let above = (place - 1) / 2;
            if self.key(self.heap[above]) <= self.key(number) {
                break;
            }
            self.heap[place] = self.heap[above];
            self.rows[self.heap[place] as usize].0 = place as u32;
            place = above;
        }
        self.heap[place] = number;
        self.rows[number as usize].0 = place as u32;
    }

    fn down(&mut self, mut place: usize) {
        let number = self.heap[place];
        loop {
            let mut below = 2 * place + 1;
            if below + 1 < self.heap.len() && self.key(self.heap[below + 1]) < self.key(self.heap[below]) {
                below += 1;
            }
            if below >= self.heap.len() || self.key(number) <= self.key(self.heap[below]) {
                break;
            }
            self.heap[place] = self.heap[below];
            self.rows[self.heap[place] as usize].0 = place as u32;
            place = below;
        }
        self.heap[place] = number;
        self.rows[number as usize].0 = place as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_is_the_first_of_a_list(steps in proptest::collection::vec((0u32..12, 0u64..30), 1..200)) {
            let mut alarms = Alarms::default();
            let mut list = [None; 12];
            for (number, at) in steps {
                let off = at >= 20;
                alarms.set(number, if off { Moment::NEVER } else { Moment::at(at) });
                list[number as usize] = (!off).then_some(at);
                let first = (0u32..).zip(&list).filter_map(|(n, at)| at.map(|at| (Moment::at(at), n))).min();
                prop_assert_eq!(alarms.first(), first);
            }
        }
    }
}
