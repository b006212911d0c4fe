//! What `--check` keeps of messages: what is posted, put on the network and served, by serial alone.

use crate::core::message::Message;
use base::{hash::mix64, index::RankId};
use std::collections::BTreeMap;

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

/// What records of a run say.
#[derive(Clone, Debug, Default)]
pub(super) struct Books {
    pub posted: BTreeMap<u64, Posted>,
    /// Copies on the network, by place of the flight.
    pub on_network: BTreeMap<u32, u32>,
    /// By pair, the turn that follows the last one that came.
    turns: BTreeMap<u32, u64>,
    /// By pair, the turn that follows the last one that was served.
    served: BTreeMap<u32, u64>,
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
    add(u64::from(m.pending.0) << 48 | u64::from(m.pending.1) << 32 | u64::from(m.md_options));
    add(u64::from(m.operation.0) << 8 | u64::from(m.operation.1) | (m.fail as u64) << 16);
    [m.match_bits, m.remote_offset, m.hdr_data, m.length].into_iter().for_each(&mut add);
    for bytes in m.operand.chunks(8).chain(m.data.chunks(8)) {
        add(bytes.iter().fold(bytes.len() as u64, |word, &byte| word << 8 | u64::from(byte)));
    }
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
        let copies = self.on_network.get(&flight).copied().unwrap_or(0);
        if !arrives {
            self.on_network.insert(flight, copies + 1);
        } else if copies == 0 {
            self.fault(|| format!("flight {flight} arrives, and is not on the network"));
        } else if copies == 1 {
            self.on_network.remove(&flight);
        } else {
            self.on_network.insert(flight, copies - 1);
        }
    }

    /// A message is served, or left out in its turn.
    pub fn served(&mut self, serial: u64, message: &Message, (sender, to): (RankId, Option<RankId>)) {
        let Some(posted) = self.posted.remove(&serial) else {
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
    pub fn enters(&mut self, (pair, order): (u32, u64)) {
        let turn = self.turns.entry(pair).or_default();
        let before = std::mem::replace(turn, order + 1);
        if order < before {
            self.fault(|| format!("turn {order} of pair {pair} comes after one that follows it"));
        }
    }

    /// A message was given up.
    pub fn given_up(&mut self, serial: u64) {
        self.posted.remove(&serial);
    }
}
