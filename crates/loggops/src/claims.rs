//! What the state of the delay model's partitions says of its ranks, for `--check`.

use super::{
    domain::{Context, DelayDomain, Message},
    follow::{Claim, Claims},
};
use base::sorted::{SortedMap, SortedSet};
use engine::state::NIL;
use ranks::{messages::Seen, operations::Row, roster::GlobalRank};
use workload::program::{Batch, Kind, Op};

/// An operation of a rank, read once more from its program.
pub(super) fn read_again(cx: &Context, rank: GlobalRank, number: u32) -> Option<Op> {
    let place = cx.place(rank);
    let mut cursor = cx.programs[place.job as usize].open(place.rank);
    let (mut batch, mut left) = (Batch::default(), number as usize);
    loop {
        batch.clear();
        cursor.fill(&mut batch).ok()?;
        match batch.ops.get(left) {
            Some(op) => return Some(*op),
            None if batch.ops.is_empty() => return None,
            None => left -= batch.ops.len(),
        }
    }
}

/// True if the program sends a message so: with this context and tag, these bytes, to this rank.
pub(super) fn is_sent_so(cx: &Context, message: &Seen, context: u32, tag: u32) -> bool {
    let from = GlobalRank::new(message.from);
    read_again(cx, from, message.number).is_some_and(|op| {
        let to = cx.host(cx.place(from).job, op.peer);
        (op.kind, op.context, op.tag, op.amount, to.number())
            == (Kind::Send, context, tag, message.bytes, message.to)
    })
}

/// Most messages that wait whose sends are read once more.
const READ_AGAIN: usize = 64;

/// A message as its sender knows it, but for the time.
fn seen(cx: &Context, m: &Message) -> Seen {
    let from = cx.host(cx.place(m.to).job, m.from);
    Seen { from: from.number(), to: m.to.number(), number: m.number, bytes: m.bytes, time: 0 }
}

/// What the partitions of a run say together, with messages that are `beyond` its end, on their way from one to another. `dry`: nothing is
/// pending any more.
#[must_use]
pub fn of(machines: &[&DelayDomain], beyond: &[Message], dry: bool) -> Claims {
    let cx = machines.first().map(|m| &m.cx);
    let between = cx.map(|cx| beyond.iter().map(|m| seen(cx, m)).collect());
    let mut claims = Claims { messages: between, ..Claims::default() };
    for m in machines {
        let (mut found, mut asking) = (Vec::new(), Vec::new());
        claims.ranks.extend((0..m.count()).map(|host| m.claim(host, dry, &mut found, &mut asking)));
        claims.faults.extend(m.asked(asking));
        if m.was_cut() {
            claims.messages = None;
        }
        if let Some(all) = &mut claims.messages {
            all.extend(found);
        }
    }
    claims
}

impl DelayDomain {
    /// Appends the messages of a host, and the rows of sends that wait for a receiver of them.
    fn claim(&self, host: u32, dry: bool, found: &mut Vec<Seen>, asking: &mut Vec<u32>) -> Claim {
        let mut claim = Claim { reached: self.window.read(host), ..Claim::default() };
        if self.cx.cpus == 1 && self.cx.nodes.is_none() {
            claim.free = Some(self.hosts.core(host, 0).free);
        }
        let rows: Vec<(u32, &Row)> = self.window.of_rank(host).map(|r| (r, self.window.get(r))).collect();
        claim.open.extend(rows.iter().filter(|(_, r)| !r.is_finished()).map(|(_, r)| r.number));
        claim.open.sort_unstable();
        let (under_way, waiting) = self.messages_of(host);
        for m in under_way.iter().chain(&waiting) {
            let message = seen(&self.cx, m);
            if self.row(m.to) != host {
                claim.faults.push(format!("keeps a message for rank {}", m.to));
            }
            if found.len() < READ_AGAIN && !is_sent_so(&self.cx, &message, m.context, m.tag) {
                claim
                    .faults
                    .push(format!("keeps message {} of rank {}, sent otherwise", m.number, message.from));
            }
            found.push(message);
            if m.send != NIL {
                asking.push(m.send);
            }
        }
        if dry && !under_way.is_empty() {
            claim.faults.push(format!("has {} messages under way, and nothing is pending", under_way.len()));
        }
        self.queues(host, &rows, dry, &mut claim.faults);
        self.posted(host, &rows, &mut claim.faults);
        claim
    }

    /// What is wrong with sends that wait for a receiver; `asking` are the rows that messages name.
    fn asked(&self, mut asking: Vec<u32>) -> Option<String> {
        let wait = |row: &u32| {
            let r = self.window.get(*row);
            r.op.kind == Kind::Send && r.is_started() && !r.is_finished()
        };
        let rows = (0..self.count()).flat_map(|host| self.window.of_rank(host));
        let mut waiting: Vec<u32> = rows.filter(wait).collect();
        waiting.sort_unstable();
        asking.sort_unstable();
        (waiting != asking).then(|| {
            format!("{} sends wait for their receivers, {} messages ask for one", waiting.len(), asking.len())
        })
    }

    /// Messages in the inbox of a host or waiting for its processors, and those that no receive has taken.
    fn messages_of(&self, host: u32) -> (Vec<Message>, Vec<Message>) {
        let mut heaps = vec![self.hosts.get(host).inbox];
        for cpu in 0..self.cx.cpus as u8 {
            heaps.extend((0..self.cx.nics as u8).map(|nic| self.hosts.lane(host, cpu, nic).ready));
        }
        let mut under_way = Vec::new();
        while let Some(row) = heaps.pop() {
            if row != NIL {
                let message = *self.messages.get(row);
                heaps.extend([message.next, message.child]);
                under_way.push(message);
            }
        }
        let waiting = self.matching.messages(host).map(|(_, row)| *self.messages.get(row)).collect();
        (under_way, waiting)
    }

    /// What can be taken up is in one queue, and nothing else is.
    fn queues(&self, host: u32, rows: &[(u32, &Row)], dry: bool, faults: &mut Vec<String>) {
        // Shared cores keep operations in queues of their own.
        if self.cx.nodes.is_some() {
            return;
        }
        let mut queued: SortedMap<u32, u32> = SortedMap::new();
        for cpu in 0..self.cx.cpus as u8 {
            let core = self.hosts.core(host, cpu);
            let lanes = (0..self.cx.nics as u8).map(|nic| self.hosts.lane(host, cpu, nic).sends);
            for fifo in lanes.chain([core.calcs, core.recvs]) {
                fifo.iter(self.window.pool()).for_each(|row| *queued.entry(row).or_default() += 1);
            }
        }
        if dry && !queued.is_empty() {
            faults.push(format!("has {} operations to do, and nothing is pending", queued.len()));
        }
        for (row, r) in rows {
            let due = u32::from(r.is_executable() && !r.is_started());
            let times = queued.remove(row).unwrap_or(0);
            if times != due {
                faults.push(format!("has operation {} in {times} queues, {due} are right", r.number));
            }
        }
        if !queued.is_empty() {
            faults.push("has what is none of its operations in its queues".to_owned());
        }
    }

    /// A receive that was taken up and is not over is posted once, and no message that waits fits it.
    fn posted(&self, host: u32, rows: &[(u32, &Row)], faults: &mut Vec<String>) {
        let posted: Vec<_> = self.matching.receives(host).collect();
        for &(label, row) in &posted {
            let op = self.window.get(row).op;
            if (label.context, label.source, label.tag) != (op.context, op.peer, op.tag) {
                faults.push(format!("has receive {} posted otherwise", self.window.get(row).number));
            }
        }
        let mut wait: SortedSet<u32> = posted.iter().map(|(_, row)| *row).collect();
        let distinct = wait.len();
        for (row, r) in rows.iter().filter(|(_, r)| r.is_started() && !r.is_finished()) {
            if r.op.kind == Kind::Recv && !wait.remove(row) {
                faults.push(format!("has receive {} posted nowhere", r.number));
            }
        }
        if !wait.is_empty() || distinct != posted.len() {
            faults.push("has receives posted that it does not wait for".to_owned());
        }
        for (label, _) in self.matching.messages(host) {
            if posted.iter().any(|(asked, _)| asked.takes(&label)) {
                faults.push("has a message and a receive for it wait side by side".to_owned());
            }
        }
    }
}
