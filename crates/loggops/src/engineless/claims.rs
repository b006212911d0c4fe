//! What the state of a run without the engine says of its ranks, for `--check`.

use super::{Doing, Engineless, Rank, channels::Waits};
use crate::{
    claims::is_sent_so,
    follow::{Claim, Claims},
};
use base::{sorted::SortedMap, time::Ps};
use ranks::{messages::Seen, roster::GlobalRank};

/// Most messages that wait whose sends are read once more.
const READ_AGAIN: usize = 64;

/// Adds to the list what is not in the order of its numbers within a queue.
fn in_order(what: &str, numbers: &[u32], faults: &mut Vec<String>) {
    if !numbers.is_sorted_by(|a, b| a < b) {
        faults.push(format!("keeps {what} of one label out of order"));
    }
}

impl Engineless {
    /// What the state says, to be compared with what records say.
    #[must_use]
    pub(super) fn claim_all(&self) -> Claims {
        let s = &self.state;
        // A rank that can go on is in one of the two lists, once: a rank in neither would never be called again, and the run would end without it.
        let mut turns: SortedMap<GlobalRank, u32> = SortedMap::new();
        for &rank in s.queue.iter().chain(s.later.iter().map(|(_, rank)| rank)) {
            *turns.entry(rank).or_default() += 1;
        }
        let later: SortedMap<GlobalRank, Ps> = s.later.iter().map(|&(at, rank)| (rank, at)).collect();
        let mut claims = Claims { done: Some(s.done), ..Claims::default() };
        let (mut messages, mut kept) = (Vec::new(), 0);
        for (host, r) in s.ranks.iter().enumerate() {
            let rank = GlobalRank::from_index(host);
            let mut claim = self.claim(r, turns.get(&rank).copied().unwrap_or(0));
            if later.get(&rank).is_some_and(|&at| at < r.clock) {
                claim.faults.push("goes on before its processor is free".to_owned());
            }
            kept += claim.open.len() + self.messages_of(rank, r, &mut messages, &mut claim.faults);
            claims.ranks.push(claim);
        }
        if kept != s.nodes.used() {
            claims
                .faults
                .push(format!("{} messages and receives are kept, {kept} are there", s.nodes.used()));
        }
        // Messages that would arrive beyond the end are not kept, so of a run that was cut nobody knows which are missing.
        claims.messages = (!s.cut).then_some(messages);
        claims
    }

    fn claim(&self, r: &Rank, turns: u32) -> Claim {
        let mut claim = Claim { reached: r.number(), free: Some(r.clock), ..Claim::default() };
        let mut queues: SortedMap<(u32, u32, u32), Vec<u32>> = SortedMap::new();
        for (label, Waits { time, number, .. }) in r.channels.receives(&self.state.nodes) {
            claim.open.push(number);
            queues.entry((label.context, label.source.number(), label.tag)).or_default().push(number);
            if time > r.acted {
                claim.faults.push(format!("posts receive {number} later than it last did something"));
            }
        }
        queues.values().for_each(|numbers| in_order("receives", numbers, &mut claim.faults));
        claim.open.sort_unstable();
        // Who waits for a message is put back by the message itself, so a turn before that would find nothing to do.
        let due = u32::from(r.doing == Doing::Ready);
        if turns != due {
            claim.faults.push(format!("has its turn {turns} times, {due} are right"));
        }
        let number = r.number();
        // A wait for a later operation is a circle of the program, and no fault of ours: the verdict names it.
        if let Doing::Waiting(n) = r.doing
            && n < number
            && claim.open.binary_search(&n).is_err()
        {
            claim.faults.push(format!("waits for operation {n}, which does not wait"));
        }
        if r.acted > r.clock || r.at as usize > r.batch.ops.len() {
            claim.faults.push("is beyond its own clock or batch".to_owned());
        }
        if r.doing == Doing::Over && r.left() > 0 {
            claim.faults.push(format!("is over with {} operations left", r.left()));
        }
        claim
    }

    /// Appends the messages that wait at a rank; how many there are.
    fn messages_of(
        &self,
        to: GlobalRank,
        r: &Rank,
        found: &mut Vec<Seen>,
        faults: &mut Vec<String>,
    ) -> usize {
        let (job, before) = (self.cx.place(to).job, found.len());
        let mut queues: SortedMap<(u32, u32, u32), Vec<u32>> = SortedMap::new();
        for (label, Waits { bytes, number, .. }) in r.channels.messages(&self.state.nodes) {
            let from = self.cx.host(job, label.source);
            queues.entry((label.context, label.source.number(), label.tag)).or_default().push(number);
            let message = Seen { from: from.number(), to: to.number(), number, bytes, time: 0 };
            if found.len() < READ_AGAIN && !is_sent_so(&self.cx, &message, label.context, label.tag) {
                faults.push(format!("keeps message {number} of rank {from}, which was sent otherwise"));
            }
            found.push(message);
        }
        // Sends of one rank are taken up in the order of their numbers, and a queue keeps that order.
        queues.values().for_each(|numbers| in_order("messages", numbers, faults));
        found.len() - before
    }
}
