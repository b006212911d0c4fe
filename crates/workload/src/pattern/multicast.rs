//! Multicast: one message to every other member of a group, copied by its source or by routers on the way.

use super::endless_if_zero;
use crate::{
    arrival::Arrival,
    interval::Interval,
    traffic::{Message, Traffic},
    work::{Built, JobContext, Work},
};
use base::{
    index::RankId,
    param::{Kind, Param, Problem, Values},
    registry::About,
    time::Ps,
};
use std::sync::Arc;

/// Who makes the copies of a message.
pub const REPLICATION: &str = "replication";

/// What [`REPLICATION`] is where routers make them.
const ROUTERS: &str = "routers";

pub(crate) const ABOUT: About = About {
    name: "multicast",
    summary: "one message to every other rank of a group",
    doc: "Ranks form groups of `group` neighbouring ranks, and a sender's message is for all other members of its group. With `replication = \"source\"` the sender creates a message for \
          each of them at the same instant, in the order of ranks from its own on. With `replication = \"routers\"` one message leaves, and routers copy it where the paths of the routing part; model \"packet\" \
          carries that with all routers but \"input-queued\" without section [router]. `load` counts what a sender has to say, once: a message each message / (load * bandwidth), no matter who copies it. Each copy counts as a \
          message of its own in all results.",
    source: "Dally, Towles: Principles and Practices of Interconnection Networks, 2004, section 9.2; Duato, Yalamanchili, Ni: Interconnection Networks, 2003, chapter 5",
    params: &[
        Param {
            name: "group",
            kind: Kind::Int { min: 0, max: u32::MAX as u64 },
            default: Some("0"),
            doc: "ranks of a group; the last group has those that are left; 0: all ranks are one",
        },
        Param {
            name: "senders",
            kind: Kind::Choice(&["all", "first"]),
            default: Some("all"),
            doc: "who sends: every rank, or the first of each group",
        },
        Param {
            name: REPLICATION,
            kind: Kind::Choice(&["source", ROUTERS]),
            default: Some("source"),
            doc: "who copies a message for the members: its sender, or the routers",
        },
        Param {
            name: "bursts",
            kind: Kind::Int { min: 0, max: u64::MAX },
            default: Some("0"),
            doc: "messages that each sender has for its group; 0: without end",
        },
    ],
};

struct Multicast {
    arrival: Arc<dyn Arrival>,
    ranks: u32,
    group: u32,
    first: bool,
    routers: bool,
    bytes: u64,
    count: u64,
    offered: f64,
}

impl Multicast {
    /// Members of a rank's group: the first one, and how many.
    fn group_of(&self, rank: u32) -> (u32, u32) {
        let begin = rank - rank % self.group;
        (begin, self.group.min(self.ranks - begin))
    }

    /// Copies of each message of a rank; 0 if it sends none.
    fn copies(&self, rank: u32) -> u32 {
        let (begin, members) = self.group_of(rank);
        if self.first && rank != begin { 0 } else { members - 1 }
    }

    /// The `place`th of the others in its group, from the one after it on.
    fn member(&self, rank: u32, place: u32) -> RankId {
        let (begin, members) = self.group_of(rank);
        let at = u64::from(rank - begin) + 1 + u64::from(place);
        RankId::new(begin + (at % u64::from(members)) as u32)
    }
}

impl Traffic for Multicast {
    fn message(&self, rank: RankId, index: u64, previous: Ps) -> Option<Message> {
        let copies = self.copies(rank.number());
        if copies == 0 {
            return None;
        }
        let each = if self.routers { 1 } else { u64::from(copies) };
        let (number, place) = (index / each, (index % each) as u32);
        if number >= self.count {
            return None;
        }
        let time = if place == 0 { self.arrival.time(rank, number, previous)? } else { previous };
        Some(Message { time, destination: self.member(rank.number(), place), bytes: self.bytes })
    }

    fn total(&self, ranks: u32) -> Option<u64> {
        // Where routers copy, more arrive than are sent.
        let copies: u64 = (0..ranks).map(|rank| u64::from(self.copies(rank))).sum();
        copies.checked_mul(self.count).filter(|_| !self.routers)
    }

    fn members(&self, rank: RankId) -> Option<Vec<RankId>> {
        let copies = self.copies(rank.number());
        self.routers.then(|| (0..copies).map(|place| self.member(rank.number(), place)).collect())
    }

    fn reply(&self, _rank: RankId, _source: RankId, _index: u64) -> Option<(RankId, u64)> {
        None
    }

    fn closed_loop(&self) -> bool {
        false
    }

    fn offered_bytes_per_s(&self) -> Option<f64> {
        Some(self.offered)
    }

    fn period(&self) -> Option<Interval> {
        self.arrival.period()
    }
}

pub(crate) fn build(context: &JobContext, values: &Values) -> Built<Work> {
    context.need_two_ranks()?;
    let ranks = context.ranks;
    let group = match u32::try_from(values.int("group")).unwrap_or(u32::MAX).min(ranks) {
        0 => ranks,
        1 => return Err(vec![Problem::new("group", "a group of one rank has nobody to send to")]),
        group => group,
    };
    let (arrival, offered) = context.arrivals(context.message, 1)?;
    let mut built = Multicast {
        arrival,
        ranks,
        group,
        first: values.text("senders") == "first",
        routers: values.text(REPLICATION) == ROUTERS,
        bytes: context.message,
        count: endless_if_zero(values.int("bursts")),
        offered: 0.0,
    };
    let copies: u64 = (0..ranks).map(|rank| u64::from(built.copies(rank))).sum();
    built.offered = offered * copies as f64 / f64::from(ranks);
    Ok(Work::Traffic(Arc::new(built)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{context, defaults};
    use base::param::Value;

    fn traffic(copies: &str, senders: &str, group: u64, ranks: u32) -> Arc<dyn Traffic> {
        let text = |word: &str| Value::Text(word.to_owned());
        let values = defaults(&ABOUT)
            .with("group", Value::Int(group))
            .with("senders", text(senders))
            .with("bursts", Value::Int(3))
            .with(REPLICATION, text(copies));
        build(&context(ranks), &values).unwrap().into_traffic().unwrap()
    }

    /// Seven ranks in groups of three: two whole ones and a rank alone. What the source repeats is what routers copy, at the same instants.
    #[test]
    fn sources_repeat_what_routers_copy() {
        let (routers, source) = (traffic("routers", "all", 3, 7), traffic("source", "all", 3, 7));
        for rank in RankId::first(7) {
            let members = routers.members(rank).expect("routers copy");
            assert_eq!(source.members(rank), None);
            let (mut at, mut previous) = (0, 0);
            for index in 0..3 {
                let Some(message) = routers.message(rank, index, previous) else {
                    assert_eq!((rank.number(), members.len()), (6, 0));
                    break;
                };
                for &destination in &members {
                    let copy = source.message(rank, at, previous);
                    assert_eq!(copy, Some(Message { destination, ..message }));
                    (at, previous) = (at + 1, message.time);
                }
                assert_eq!(message.destination, members[0]);
            }
            assert_eq!(
                (source.message(rank, at, previous), routers.message(rank, 3, previous)),
                (None, None)
            );
            let begin = rank.number() - rank.number() % 3;
            let mut all: Vec<u32> = members.iter().map(|m| m.number()).chain([rank.number()]).collect();
            all.sort_unstable();
            assert_eq!(all, (begin..7.min(begin + 3)).collect::<Vec<_>>());
        }
        let rate = f64::from(1u32 << 31);
        assert_eq!(routers.offered_bytes_per_s(), Some(rate * 12.0 / 7.0));
        assert_eq!(source.offered_bytes_per_s(), routers.offered_bytes_per_s());
    }

    #[test]
    fn firsts_send_alone_and_groups_of_one_are_refused() {
        let firsts = traffic("routers", "first", 0, 5);
        let sends = |rank| firsts.message(RankId::new(rank), 0, 0).is_some();
        assert_eq!((0..5).map(sends).collect::<Vec<_>>(), [true, false, false, false, false]);
        let alone = defaults(&ABOUT).with("group", Value::Int(1));
        assert_eq!(build(&context(4), &alone).err().unwrap()[0].key, "group");
    }
}
