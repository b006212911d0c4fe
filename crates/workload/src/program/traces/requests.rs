//! Requests of a rank: traces name them by addresses, numbers or envelopes; a script numbers them densely.

use crate::program::mpi::Request;
use std::collections::{BTreeMap, VecDeque};

/// The open requests of a rank by what the trace calls them. Several may have one name; they end in the order in which they began.
#[derive(Debug)]
pub(super) struct Requests<K> {
    open: BTreeMap<K, VecDeque<Request>>,
    free: Vec<Request>,
    made: Request,
}

impl<K: Ord> Requests<K> {
    pub(super) fn new() -> Self {
        Self { open: BTreeMap::new(), free: Vec::new(), made: 0 }
    }

    /// Begins a request.
    pub(super) fn open(&mut self, name: K) -> Request {
        let number = self.free.pop().unwrap_or_else(|| {
            self.made += 1;
            self.made - 1
        });
        self.open.entry(name).or_default().push_back(number);
        number
    }

    /// True if a request of this name is open.
    pub(super) fn is_open(&self, name: &K) -> bool {
        self.open.contains_key(name)
    }

    /// Ends the oldest request of this name. Its number is used again by the next that begins, so the call that ends it comes first.
    pub(super) fn close(&mut self, name: &K) -> Option<Request> {
        self.end(name, VecDeque::pop_front)
    }

    /// Ends the newest request of this name.
    pub(super) fn close_newest(&mut self, name: &K) -> Option<Request> {
        self.end(name, VecDeque::pop_back)
    }

    fn end(
        &mut self,
        name: &K,
        take: impl FnOnce(&mut VecDeque<Request>) -> Option<Request>,
    ) -> Option<Request> {
        let list = self.open.get_mut(name)?;
        let number = take(list)?;
        if list.is_empty() {
            self.open.remove(name);
        }
        self.free.push(number);
        Some(number)
    }

    /// Ends all.
    pub(super) fn close_all(&mut self) -> Vec<Request> {
        let all: Vec<Request> = std::mem::take(&mut self.open).into_values().flatten().collect();
        self.free.extend(&all);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_end_in_their_order_and_numbers_come_again() {
        let mut requests = Requests::new();
        let numbers = ["a", "a", "b"].map(|name| requests.open(name));
        assert_eq!(numbers, [0, 1, 2]);
        assert_eq!((requests.close(&"a"), requests.close(&"c")), (Some(0), None));
        assert_eq!((requests.open("a"), requests.close_newest(&"a")), (0, Some(0)));
        assert!(requests.is_open(&"a") && !requests.is_open(&"c"));
        let mut all = requests.close_all();
        all.sort_unstable();
        assert_eq!((all, requests.close(&"b")), (vec![1, 2], None));
    }
}
