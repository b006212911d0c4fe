//! Requests of a rank: traces name them by addresses, numbers or envelopes; a script numbers them densely.

use crate::program::mpi::Request;
use base::sorted::SortedMap;
use std::collections::VecDeque;

/// The open requests of a rank by what the trace calls them. Several may have one name; they end in the order in which they began.
#[derive(Debug)]
pub(super) struct Requests<K> {
    open: SortedMap<K, VecDeque<Request>>,
    /// Persistent requests by their names.
    kept: SortedMap<K, Request>,
    free: Vec<Request>,
    made: Request,
}

impl<K: Ord> Requests<K> {
    pub(super) fn new() -> Self {
        Self { open: SortedMap::new(), kept: SortedMap::new(), free: Vec::new(), made: 0 }
    }

    fn number(&mut self) -> Request {
        self.free.pop().unwrap_or_else(|| {
            self.made += 1;
            self.made - 1
        })
    }

    /// Begins a persistent request.
    pub(super) fn keep(&mut self, name: K) -> Request {
        let number = self.number();
        self.kept.insert(name, number);
        number
    }

    /// The persistent request of this name.
    pub(super) fn kept(&self, name: &K) -> Option<Request> {
        self.kept.get(name).copied()
    }

    /// Ends a persistent request for good.
    pub(super) fn release(&mut self, name: &K) -> Option<Request> {
        let number = self.kept.remove(name)?;
        self.free.push(number);
        Some(number)
    }

    /// The oldest request of this name, or the persistent one.
    pub(super) fn look(&self, name: &K) -> Option<Request> {
        self.open.get(name).and_then(|list| list.front().copied()).or_else(|| self.kept(name))
    }

    /// True if there is nothing to wait for.
    pub(super) fn none_is_open(&self) -> bool {
        self.open.is_empty() && self.kept.is_empty()
    }

    /// Begins a request.
    pub(super) fn open(&mut self, name: K) -> Request {
        let number = self.number();
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

    /// Ends all requests that are open.
    pub(super) fn close_all(&mut self) -> Vec<Request> {
        let all: Vec<Request> = std::mem::take(&mut self.open).into_values().flatten().collect();
        self.free.extend(&all);
        all
    }
}

impl Requests<u64> {
    /// The names among so many handles in a row from an address on. A handle has 8 bytes, or 4 in Fortran and with MPICH: whichever names more.
    pub(super) fn at_addresses(&self, first: u64, count: u64) -> Vec<u64> {
        let named = |bytes: u64| {
            let end = first.saturating_add(count.saturating_mul(bytes));
            let open = self.open.range(first..end).map(|(&name, _)| name);
            let mut names: Vec<u64> =
                open.chain(self.kept.range(first..end).map(|(&name, _)| name)).collect();
            names.retain(|name| (name - first).is_multiple_of(bytes));
            names.sort_unstable();
            names
        };
        let (eight, four) = (named(8), named(4));
        if four.len() > eight.len() { four } else { eight }
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

    #[test]
    fn handles_in_a_row_have_8_or_4_bytes() {
        let mut requests = Requests::new();
        let (eight, kept) = (requests.open(800), requests.keep(808));
        requests.open(816);
        assert_eq!(requests.at_addresses(800, 2), [800, 808]);
        assert_eq!((requests.look(&800), requests.look(&808)), (Some(eight), Some(kept)));
        [400, 404, 408].iter().for_each(|&name| _ = requests.open(name));
        assert_eq!(requests.at_addresses(400, 3), [400, 404, 408]);
        assert_eq!(requests.at_addresses(900, u64::MAX), [0; 0]);
        assert_eq!(
            (requests.release(&808), requests.kept(&808), requests.none_is_open()),
            (Some(kept), None, false)
        );
    }
}
