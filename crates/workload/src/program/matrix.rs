//! Who sends how many messages to whom: the traffic matrix of a program, without collectives.

use super::{
    Batch, Damage, Kind, Program,
    mpi::{Counted, Sent},
};
use base::{index::RankId, numbers, sorted::SortedMap};

numbers! {
    /// Consecutive ranks that share a terminal, so many to each: what a placement places. Mostly one rank is one group.
    GroupId(u32);
}

/// Most steps in which the messages of a rank are counted: some seconds.
const MOST_STEPS: u64 = 1 << 26;

/// Messages between two groups of ranks, in both directions together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The lower of the two.
    pub low: GroupId,
    /// The higher of the two.
    pub high: GroupId,
    /// How many messages.
    pub messages: u64,
}

/// What a rank sends outside of collectives, by peer and size ascending: as the program knows it, or else counted by reading
/// the rank's operations.
///
/// # Errors
/// If the program's source is damaged, or its messages are too many to be counted.
pub fn sent(program: &dyn Program, rank: RankId) -> Counted {
    program.sent(rank, MOST_STEPS).unwrap_or_else(|| read(program, rank))
}

/// Of messages whose number does not fit 64 bits.
#[must_use]
pub fn beyond_64_bits() -> Damage {
    Damage("there are more than 2^64 messages, which are not counted".to_owned())
}

/// What a rank sends outside of collectives, counted by reading its operations.
fn read(program: &dyn Program, rank: RankId) -> Counted {
    let mut totals: SortedMap<(RankId, u64), u64> = SortedMap::new();
    let (mut cursor, mut batch) = (program.open(rank), Batch::default());
    loop {
        batch.clear();
        cursor.fill(&mut batch)?;
        if batch.ops.is_empty() {
            break;
        }
        for op in batch.ops.iter().filter(|op| op.kind == Kind::Send && op.collective == 0) {
            *totals.entry((op.peer, op.amount)).or_default() += 1;
        }
    }
    Ok(totals.into_iter().map(|((peer, bytes), messages)| Sent { peer, bytes, messages }).collect())
}

/// The pairs of different groups, of `each` ranks, that send to each other: by lower, then higher group. No sum of their messages leaves 64 bits.
///
/// # Errors
/// As [`sent`].
pub fn pairs(program: &dyn Program, each: u32) -> Result<Vec<Pair>, Damage> {
    let mut all: Vec<Pair> = Vec::new();
    let group_of = |rank: RankId| GroupId::new(rank.number() / each);
    let mut total = 0u64;
    for rank in RankId::first(program.ranks()) {
        // Messages of different sizes to the same peer stand side by side.
        let (first, group) = (all.len(), group_of(rank));
        for s in sent(program, rank)?.into_iter().filter(|s| group_of(s.peer) != group) {
            let (low, high) = (group.min(group_of(s.peer)), group.max(group_of(s.peer)));
            total = total.checked_add(s.messages).ok_or_else(beyond_64_bits)?;
            match all[first..].last_mut() {
                Some(last) if (last.low, last.high) == (low, high) => last.messages += s.messages,
                _ => all.push(Pair { low, high, messages: s.messages }),
            }
        }
    }
    all.sort_unstable_by_key(|p| (p.low, p.high));
    all.dedup_by(|later, kept| {
        let same = (later.low, later.high) == (kept.low, kept.high);
        kept.messages += if same { later.messages } else { 0 };
        same
    });
    Ok(all)
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::program::{After, Cursor, Op, mpi::Script};
    use std::sync::Arc;

    /// A program that knows what a script sends, and can do no more.
    pub(crate) struct Known(pub Arc<dyn Script>);

    impl Program for Known {
        fn ranks(&self) -> u32 {
            self.0.ranks()
        }

        fn open(&self, _: RankId) -> Box<dyn Cursor> {
            panic!("what is known need not be read")
        }

        fn describe(&self, _: RankId, _: u32) -> String {
            String::new()
        }

        fn sent(&self, rank: RankId, most: u64) -> Option<Counted> {
            self.0.sent(rank, most)
        }
    }

    /// Three ranks that send messages of 8 B: to each (peer, whether in a collective).
    pub(crate) struct Read(pub [Vec<(u32, bool)>; 3]);

    struct Once(Vec<(u32, bool)>);

    impl Cursor for Once {
        fn fill(&mut self, batch: &mut Batch) -> Result<(), Damage> {
            let op = |(peer, collective): (u32, bool)| Op {
                kind: Kind::Send,
                cpu: 0,
                nic: 0,
                after: After::Nothing,
                peer: RankId::new(peer),
                tag: 0,
                context: 0,
                mode: crate::program::mpi::Mode::Standard,
                amount: 8,
                origin: 0,
                collective: collective.into(),
            };
            batch.ops.extend(self.0.drain(..).map(op));
            Ok(())
        }
    }

    impl Program for Read {
        fn ranks(&self) -> u32 {
            3
        }

        fn open(&self, rank: RankId) -> Box<dyn Cursor> {
            Box::new(Once(self.0[rank.index()].clone()))
        }

        fn describe(&self, _: RankId, _: u32) -> String {
            String::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        program::generate::testing::{asking, defaults},
        registry::{Takes, WORKLOADS},
    };
    use base::param::Value;

    /// What generators say they send is what is left of them when their calls have become operations.
    #[test]
    fn what_programs_know_is_what_they_do() {
        for entry in WORKLOADS.iter().filter(|e| e.takes == Takes::Program && e.about.name != "trace") {
            let small = [("class", Value::Text("S".into())), ("window", Value::Int(5))];
            let values = small.into_iter().fold(defaults(&entry.about), |v, (key, value)| v.with(key, value));
            let work = (entry.build)(&asking(4), &values).unwrap();
            let program = work.program().unwrap();
            for rank in RankId::first(4) {
                let read = read(program.as_ref(), rank).unwrap();
                assert_eq!(sent(program.as_ref(), rank).unwrap(), read, "{} {rank}", entry.about.name);
            }
        }
    }

    #[test]
    fn both_directions_count_and_collectives_do_not() {
        let program = testing::Read([
            vec![(1, false), (2, false), (1, true)],
            vec![(0, false), (1, false), (0, false)],
            vec![(1, true)],
        ]);
        let pair = |low, high, messages| Pair { low: GroupId::new(low), high: GroupId::new(high), messages };
        let expected = [pair(0, 1, 3), pair(0, 2, 1)];
        assert_eq!(pairs(&program, 1).unwrap(), expected);
        // Ranks 0 and 1 share a place, and rank 2 has one of its own.
        assert_eq!(pairs(&program, 2).unwrap(), [pair(0, 1, 1)]);
        assert_eq!(
            sent(&program, RankId::new(1)).unwrap()[0],
            Sent { peer: RankId::new(0), bytes: 8, messages: 2 }
        );
    }
}
