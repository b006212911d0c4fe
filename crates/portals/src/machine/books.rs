//! What `--check` keeps of messages: what is posted, put on the network and served, by serial alone.

use crate::core::message::Message;
use base::{hash::mix64, index::RankId, sorted::SortedMap};
use std::collections::VecDeque;

/// Most faults that are kept.
const MOST: usize = 16;

/// What was posted and not served.
#[derive(Clone, Copy, Debug)]
pub(super) struct Posted {
    /// Of all that its target looks at; 0 until it is posted.
    pub digest: u64,
    /// Rank that sends it.
    pub from: RankId,
    /// Rank that it is for, if there is one.
    pub to: Option<RankId>,
    /// Its pair, and its turn in that.
    pub order: Option<(u32, u64)>,
}

/// Messages by serial. Serials ascend as messages are posted and most are served soon, so they stand in a row; one that waits long keeps the places
/// of those behind it.
#[derive(Clone, Debug, Default)]
pub(super) struct Open(VecDeque<(u64, Option<Posted>)>);

impl Open {
    fn insert(&mut self, serial: u64, posted: Posted) {
        if self.0.back().is_none_or(|last| last.0 < serial) {
            return self.0.push_back((serial, Some(posted)));
        }
        match self.0.binary_search_by_key(&serial, |row| row.0) {
            Ok(place) => self.0[place].1 = Some(posted),
            Err(place) => self.0.insert(place, (serial, Some(posted))),
        }
    }

    fn remove(&mut self, serial: u64) -> Option<Posted> {
        debug_assert!(self.0.front().is_none_or(|row| row.1.is_some()), "the first in the row is there");
        // Mostly serials have no gap, and the place follows from the first.
        let guess = serial.checked_sub(self.0.front()?.0)? as usize;
        let place = match self.0.get(guess) {
            Some(row) if row.0 == serial => guess,
            _ => self.0.binary_search_by_key(&serial, |row| row.0).ok()?,
        };
        let posted = self.0[place].1.take();
        while self.0.front().is_some_and(|row| row.1.is_none()) {
            self.0.pop_front();
        }
        posted
    }

    /// All of them by serial.
    pub fn all(&self) -> SortedMap<u64, Posted> {
        self.0.iter().filter_map(|&(serial, posted)| Some((serial, posted?))).collect()
    }
}

/// What records of a run say.
#[derive(Clone, Debug, Default)]
pub(super) struct Books {
    /// What is posted and not served.
    pub posted: Open,
    /// Copies on the network, by place of the flight.
    pub on_network: Vec<u32>,
    /// By pair, the turn that follows the last one that came.
    turns: SortedMap<u32, u64>,
    /// By pair, the turn that follows the last one that was served.
    served: SortedMap<u32, u64>,
    pub faults: Vec<String>,
}

/// All of a message that its target looks at.
pub(super) fn digest(m: &Message) -> u64 {
    let mut sum = 0u64;
    let mut add = |word: u64| sum = mix64(sum ^ word).wrapping_add(word);
    add(m.request as u64 | (m.ni as u64) << 8 | u64::from(m.pt) << 32);
    add(u64::from(m.source.nid) << 32 | u64::from(m.source.pid));
    add(u64::from(m.target.nid) << 32 | u64::from(m.target.pid));
    add(u64::from(m.source_rank) << 32 | u64::from(m.uid));
    add(u64::from(m.pending.place) << 48 | u64::from(m.pending.generation) << 32 | u64::from(m.md_options));
    add(u64::from(m.operation.0) << 8 | u64::from(m.operation.1) | (m.fail as u64) << 16);
    [m.match_bits, m.remote_offset, m.hdr_data, m.length].into_iter().for_each(&mut add);
    // Whole words first: what is left of the payload is its last word, with how much there is of it.
    let (operands, _) = m.operand.as_chunks();
    let (words, rest) = m.data.as_chunks();
    operands.iter().chain(words).for_each(|word: &[u8; 8]| add(u64::from_le_bytes(*word)));
    add(rest.iter().fold(m.data.len() as u64, |word, &byte| word << 8 | u64::from(byte)));
    sum
}

impl Books {
    fn fault(&mut self, what: impl FnOnce() -> String) {
        if self.faults.len() < MOST {
            self.faults.push(what());
        }
    }

    /// A message was posted under this name.
    pub fn posts(&mut self, serial: u64, message: &Message, posted: Posted) {
        self.posted.insert(serial, Posted { digest: digest(message), ..posted });
    }

    /// A copy of a flight went onto the network, or came off it.
    pub fn crosses(&mut self, flight: u32, arrives: bool) {
        let place = flight as usize;
        if place >= self.on_network.len() {
            self.on_network.resize(place + 1, 0);
        }
        match (&mut self.on_network[place], arrives) {
            (copies, false) => *copies += 1,
            (0, true) => self.fault(|| format!("flight {flight} arrives, and is not on the network")),
            (copies, true) => *copies -= 1,
        }
    }

    /// A message is served, or left out in its turn.
    pub fn served(&mut self, serial: u64, message: &Message, sender: RankId, to: Option<RankId>) {
        let Some(posted) = self.posted.remove(serial) else {
            return self.fault(|| format!("message {serial} is served twice, or was never posted"));
        };
        let from = posted.from;
        if posted.digest != digest(message) || from != sender {
            self.fault(|| format!("message {serial} of rank {from} is not what was posted"));
        }
        if posted.to.is_some() && posted.to != to {
            self.fault(|| format!("message {serial} of rank {from} is served for another rank"));
        }
        if let Some((pair, order)) = posted.order {
            let turn = self.served.entry(pair).or_default();
            let before = std::mem::replace(turn, order + 1);
            if order < before {
                self.fault(|| format!("turn {order} of pair {pair} is served after one that follows it"));
            }
        }
    }

    /// A message has its turn among those of its pair.
    pub fn enters(&mut self, pair: u32, order: u64) {
        let turn = self.turns.entry(pair).or_default();
        let before = std::mem::replace(turn, order + 1);
        if order < before {
            self.fault(|| format!("turn {order} of pair {pair} comes after one that follows it"));
        }
    }

    /// A message was given up.
    pub fn given_up(&mut self, serial: u64) {
        self.posted.remove(serial);
    }
}
