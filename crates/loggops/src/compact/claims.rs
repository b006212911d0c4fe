//! What the state of a compact run says of its ranks, for `--check`.

use super::{
    Compact,
    order::Order,
    queue::NOBODY,
    state::{Message, OVER, STARTED},
};
use crate::{
    claims::is_sent_so,
    follow::{Claim, Claims},
};
use base::sorted::{SortedMap, SortedSet};
use engine::state::NIL;
use ranks::messages::Seen;
use workload::program::Kind;

/// Most messages that wait whose sends are read once more.
const READ_AGAIN: usize = 64;

/// What stands in the queue for a host.
#[derive(Clone, Default)]
struct Filed<S> {
    messages: Vec<Message<S>>,
    /// What the host does next, of which nothing is void.
    next: Vec<(u64, S)>,
}

impl<S: Order> Compact<'_, S> {
    /// What the state says, to be compared with what records say.
    pub(super) fn claim_all(&self) -> Claims {
        let s = &self.state;
        let mut filed = vec![Filed::default(); s.hosts.len()];
        for e in self.queue.entries() {
            let place = &mut filed[e.host as usize];
            if e.from != NOBODY {
                place.messages.push(Message::of(e));
            } else if e.number == s.hosts[e.host as usize].looks {
                place.next.push(e.key());
            }
        }
        let mut claims = Claims::default();
        let (mut found, mut asking, mut waiting) = (Vec::new(), Vec::new(), 0);
        for (host, filed) in (0u32..).zip(&filed) {
            let mut claim = self.claim(host, filed);
            waiting += self.messages_of(host, filed, &mut found, &mut asking, &mut claim.faults);
            claims.ranks.push(claim);
        }
        if waiting != s.messages.in_use() {
            claims.faults.push(format!("{} messages are kept, {waiting} are there", s.messages.in_use()));
        }
        if !s.cut {
            claims.faults.extend(self.asked(asking));
            claims.messages = Some(found);
        }
        claims
    }

    fn claim(&self, host: u32, filed: &Filed<S>) -> Claim {
        let s = &self.state;
        let ops = self.tables.of(host);
        let waits = &s.waits[ops.start as usize..ops.end as usize];
        let open = (0u32..).zip(waits).filter(|w| *w.1 != OVER).map(|w| w.0).collect();
        let free = Some(s.hosts[host as usize].free);
        let mut claim = Claim { reached: waits.len() as u32, open, free, faults: Vec::new() };
        let next = self.next(host).filter(|n| n.time < self.cx.end).map(|n| (n.time, n.stamp));
        if filed.next.iter().copied().ne(next) {
            let faults = format!("is to do something at {:?}, and {next:?} is right", filed.next);
            claim.faults.push(faults);
        }
        self.waits_of(host, &mut claim.faults);
        self.queues(host, &mut claim.faults);
        self.posted(host, &mut claim.faults);
        claim
    }

    /// What each operation waits for is what has not happened yet.
    fn waits_of(&self, host: u32, faults: &mut Vec<String>) {
        let ops = self.tables.of(host);
        let mut left = vec![0u32; ops.len()];
        for op in ops.clone() {
            let state = self.state.waits[op as usize];
            for f in self.tables.freed(host, op) {
                let met = state == OVER || (f.on_start() && state == STARTED);
                left[f.number() as usize] += u32::from(!met);
            }
        }
        for (number, (&left, op)) in left.iter().zip(ops).enumerate() {
            let state = self.state.waits[op as usize];
            if left != if state >= STARTED { 0 } else { state } {
                faults.push(format!("has operation {number} wait for {left} others, and says {state}"));
            }
        }
    }

    /// What can be taken up is in the queue of its kind, once, and nothing else is.
    fn queues(&self, host: u32, faults: &mut Vec<String>) {
        let (s, ops) = (&self.state, self.tables.of(host));
        let h = &s.hosts[host as usize];
        let mut queued: SortedMap<u32, u32> = SortedMap::new();
        let mut awake = s.matching.messages(host).count() as u32;
        for (fifo, kind) in [(h.sends, Kind::Send), (h.recvs, Kind::Recv), (h.calcs, Kind::Calc)] {
            for row in fifo.iter(&s.nodes) {
                let op = s.nodes.get(row).op;
                *queued.entry(op).or_default() += 1;
                if !ops.contains(&op) || self.tables.step(host, op).kind != kind {
                    faults.push("has what is none of its operations in its queues".to_owned());
                    return;
                }
                awake += u32::from(kind == Kind::Recv && self.tables.step(host, op).early);
            }
        }
        if h.awake != awake {
            faults.push(format!("counts {} reasons to post receives, {awake} are right", h.awake));
        }
        for op in ops.clone() {
            let due = u32::from(s.waits[op as usize] == 0);
            let times = queued.remove(&op).unwrap_or(0);
            if times != due {
                let number = op - ops.start;
                faults.push(format!("has operation {number} in {times} queues, {due} are right"));
            }
        }
    }

    /// A receive that was taken up and is not over is posted once, and no message that waits fits it.
    fn posted(&self, host: u32, faults: &mut Vec<String>) {
        let (s, ops) = (&self.state, self.tables.of(host));
        let posted: Vec<_> = s.matching.receives(host).collect();
        let mut wait = SortedSet::new();
        for &(label, row) in &posted {
            let op = s.nodes.get(row).op;
            if !ops.contains(&op) || !wait.insert(op) {
                faults.push("has receives posted that it does not wait for".to_owned());
                continue;
            }
            let (step, number) = (self.tables.step(host, op), op - ops.start);
            if (label.source, label.tag) != (step.peer, step.tag) {
                faults.push(format!("has receive {number} posted otherwise"));
            }
        }
        for op in ops.clone().filter(|&op| s.waits[op as usize] == STARTED) {
            let recv = self.tables.step(host, op).kind == Kind::Recv;
            if recv && !wait.remove(&op) {
                faults.push(format!("has receive {} posted nowhere", op - ops.start));
            }
        }
        if !wait.is_empty() {
            faults.push("has receives posted that it does not wait for".to_owned());
        }
        for (label, _) in s.matching.messages(host) {
            if posted.iter().any(|(asked, _)| asked.takes(&label)) {
                faults.push("has a message and a receive for it wait side by side".to_owned());
            }
        }
    }

    /// Appends the messages of a host, and the nodes of sends that wait for a receiver of them; how many are kept at the host.
    fn messages_of(
        &self,
        host: u32,
        filed: &Filed<S>,
        found: &mut Vec<Seen>,
        asking: &mut Vec<u32>,
        faults: &mut Vec<String>,
    ) -> u32 {
        let s = &self.state;
        let (mut heap, mut kept) = (vec![s.hosts[host as usize].ready], Vec::new());
        while let Some(row) = heap.pop() {
            if row != NIL {
                let m = *s.messages.get(row);
                heap.extend([m.next, m.child]);
                kept.push(m);
            }
        }
        kept.extend(s.matching.messages(host).map(|(_, row)| *s.messages.get(row)));
        for m in kept.iter().chain(&filed.messages) {
            let from = self.tables.from(host, m.from);
            let seen = Seen { from, to: m.host, number: m.number, bytes: m.bytes, time: 0 };
            if m.host != host {
                faults.push(format!("keeps a message for rank {}", m.host));
            }
            let known = from < s.hosts.len() as u32;
            if !known || (found.len() < READ_AGAIN && !is_sent_so(&self.cx, &seen, 0, m.tag)) {
                faults.push(format!("keeps message {} of rank {from}, sent otherwise", m.number));
            }
            found.push(seen);
            if m.send != NIL {
                asking.push(m.send);
            }
        }
        kept.len() as u32
    }

    /// What is wrong with sends that wait for a receiver; `asking` are the nodes that messages name.
    fn asked(&self, mut asking: Vec<u32>) -> Option<String> {
        let s = &self.state;
        let sends = |host: u32| {
            let started = self.tables.of(host).filter(|&op| s.waits[op as usize] == STARTED);
            started.filter(move |&op| self.tables.step(host, op).kind == Kind::Send)
        };
        let mut waiting: Vec<u32> = (0..s.hosts.len() as u32).flat_map(sends).collect();
        asking.iter_mut().for_each(|node| *node = s.nodes.get(*node).op);
        waiting.sort_unstable();
        asking.sort_unstable();
        (waiting != asking).then(|| {
            format!("{} sends wait for their receivers, {} messages ask for one", waiting.len(), asking.len())
        })
    }
}
