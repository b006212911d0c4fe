//! Hot spots: the first ranks receive, all others send to one of them, to somebody else or not at all (`recvs_one_src` and
//! `recvs_all_src` of ORCS 2.0).

use super::Pair;
use base::{index::RankId, rng::Stream};
use std::fmt;

/// Who sends to the receivers.
#[derive(Clone, Debug, PartialEq)]
pub struct Receivers {
    /// A receiver has one sender (`recvs_one_src`), or all that draw it (`recvs_all_src`).
    pub one_source: bool,
    /// Number of receivers, at most half of the ranks.
    pub count: u32,
    /// Chance that a sender sends to a receiver.
    pub send: f64,
    /// Chance that one who does not is idle; else it sends to a random rank that is no receiver.
    pub idle: f64,
    /// Senders in random order, not by rank.
    pub shuffled: bool,
}

impl Receivers {
    /// Reads `COUNT[:SEND[:IDLE[:rand|linear]]]`; left out: 1, 1.0, 0.0, rand.
    pub(super) fn parse(text: Option<&str>, one_source: bool) -> Result<Self, String> {
        let form = "write its argument as COUNT[:SEND[:IDLE[:rand|linear]]], chances from 0 to 1";
        let mut words = text.unwrap_or("1").split(':');
        let count = words.next().and_then(|w| w.parse().ok()).filter(|&c: &u32| c > 0).ok_or(form)?;
        let mut chance = |default: f64| match words.next() {
            None => Ok(default),
            Some(w) => w.parse().ok().filter(|c| (0.0..=1.0).contains(c)).ok_or(form),
        };
        let (send, idle) = (chance(1.0)?, chance(0.0)?);
        let shuffled = match words.next() {
            None | Some("rand") => true,
            Some("linear") => false,
            Some(_) => return Err(form.to_owned()),
        };
        if words.next().is_some() {
            return Err(form.to_owned());
        }
        Ok(Self { one_source, count, send, idle, shuffled })
    }

    /// True if anything is left to chance.
    pub(super) fn random(&self) -> bool {
        self.shuffled || self.send < 1.0
    }

    /// Appends the pairs.
    pub(super) fn pairs(&self, n: u32, mut draw: Stream, out: &mut Vec<Pair>) {
        let count = self.count.min(n / 2);
        let mut receivers: Vec<RankId> = RankId::first(count).collect();
        let mut others: Vec<RankId> = RankId::first(n).skip(count as usize).collect();
        let mut senders = others.clone();
        if self.shuffled {
            draw.shuffle(&mut senders);
        }
        for (i, &source) in senders.iter().enumerate() {
            let mut to = match receivers.len() {
                0 => None,
                len => Some(receivers[i % len]),
            };
            if draw.unit_open() > self.send {
                if draw.unit_open() <= self.idle {
                    continue;
                }
                let at = loop {
                    let at = draw.below(others.len().max(1) as u64) as usize;
                    if others.len() < 2 || others[at] != source {
                        break at;
                    }
                };
                if others.get(at).is_some_and(|&other| other != source) {
                    to = Some(others.swap_remove(at));
                }
            }
            let Some(to) = to else { continue };
            if self.one_source {
                receivers.retain(|&r| r != to);
            }
            out.push((source, to));
        }
    }
}

impl fmt::Display for Receivers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.one_source { "recvs_one_src" } else { "recvs_all_src" };
        let order = if self.shuffled { "rand" } else { "linear" };
        write!(f, "{name}:{}:{}:{}:{order}", self.count, self.send, self.idle)
    }
}
