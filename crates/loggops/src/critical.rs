//! The critical path of a job: from its end back to its start, always to what the present instant had to wait for.
//!
//! At an instant of a rank the path goes on, in this order: to the message that was taken in just when it arrived, and so to the start of its send; to
//! what kept the processor busy until then; for a send that ended because a receive matched (rendezvous), to the receiver; else the rank waited for
//! its interface, or for another processor, and the path goes to the last thing that it did. Where several were ready at the same instant one is taken.
//! Without a gap: the times of the parts add up to the makespan.

use super::domain::Context;
use base::time::Ps;
use ranks::{
    critical::{Part, Segment},
    roster::GlobalRank,
};
use serde::{Deserialize, Serialize};

/// Something that kept a host's processor busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Busy {
    /// Rank whose processor it was, counted over all jobs.
    pub host: GlobalRank,
    /// When it was over.
    pub end: Ps,
    /// When it began.
    pub start: Ps,
    /// What it was: a computation, a send, a message at its receiver.
    pub part: Part,
    /// Number of the operation; the sender's for a message.
    pub number: u32,
    /// The other host.
    pub peer: GlobalRank,
    /// Bytes of the message.
    pub bytes: u64,
}

/// What hosts did, to be searched.
pub struct Past<'a> {
    cx: &'a Context,
    /// By host and end.
    busy: Vec<Busy>,
    /// Messages taken in: indices by host and start.
    taken: Vec<u32>,
    /// Sends: indices by host and number.
    sends: Vec<u32>,
    /// Ends of sends that waited for their receivers: host, end, receiver.
    matched: Vec<(GlobalRank, Ps, GlobalRank)>,
}

impl<'a> Past<'a> {
    /// Sorts what was done. `matched`: see [`Past`]; ends of sends at once do no harm.
    #[must_use]
    pub fn new(cx: &'a Context, mut busy: Vec<Busy>, mut matched: Vec<(GlobalRank, Ps, GlobalRank)>) -> Self {
        busy.sort_unstable();
        matched.sort_unstable();
        let at = |i: u32| busy[i as usize];
        let of = |part| (0..busy.len() as u32).filter(|&i| at(i).part == part).collect::<Vec<_>>();
        let (mut taken, mut sends) = (of(Part::Receive), of(Part::Send));
        taken.sort_by_key(|&i| (at(i).host, at(i).start));
        sends.sort_by_key(|&i| (at(i).host, at(i).number));
        Self { cx, busy, taken, sends, matched }
    }

    /// The path to `end` at `host`, from the start of its job on.
    #[must_use]
    pub fn path(&self, host: GlobalRank, end: Ps) -> Vec<Segment> {
        let begin = self.cx.starts[self.cx.place(host).job as usize];
        let (mut host, mut now, mut path, mut crossed) = (host, end, Vec::new(), false);
        while now > begin {
            let segment = if let Some(send) = self.arrived(host, now) {
                Segment { part: Part::Transfer, end: now, ..segment(&send) }
            } else if let Some(busy) = self.ended(host, now) {
                segment(&busy)
            } else if let Some(receiver) = self.receiver(host, now).filter(|_| !crossed) {
                (host, crossed) = (receiver, true);
                continue;
            } else {
                let from = self.before(host, now).max(begin);
                Segment { part: Part::Wait, host, number: 0, peer: host, bytes: 0, start: from, end: now }
            };
            debug_assert!(
                segment.start < segment.end && segment.end == now,
                "the path goes back in time without a gap"
            );
            (host, now, crossed) = (segment.host, segment.start, false);
            path.push(segment);
        }
        path.reverse();
        path
    }

    /// The send of a message that was taken in at `now`, when it arrived.
    fn arrived(&self, host: GlobalRank, now: Ps) -> Option<Busy> {
        let at = |i: u32| &self.busy[i as usize];
        let first = self.taken.partition_point(|&i| (at(i).host, at(i).start) < (host, now));
        let here =
            self.taken[first..].iter().map(|&i| at(i)).take_while(|b| (b.host, b.start) == (host, now));
        here.filter_map(|taken| {
            let key = (taken.peer, taken.number);
            let send = self.sends.partition_point(|&i| (at(i).host, at(i).number) < key);
            let send = at(*self.sends.get(send)?);
            let (from, to) = (self.cx.place(send.host), self.cx.place(host));
            let delay = self.cx.delays.delay(from.terminal, to.terminal, send.bytes)
                + self.cx.landing(send.host, host, send.bytes);
            let there = send.start + self.cx.config.overhead + delay == now;
            ((send.host, send.number) == key && there).then_some(*send)
        })
        .next()
    }

    /// What kept a host busy until `now`, the shortest of them.
    fn ended(&self, host: GlobalRank, now: Ps) -> Option<Busy> {
        let behind = self.busy.partition_point(|b| (b.host, b.end, b.start) < (host, now, now));
        self.busy[..behind].last().filter(|b| (b.host, b.end) == (host, now)).copied()
    }

    /// The host whose receive ended a send of this host at `now`.
    fn receiver(&self, host: GlobalRank, now: Ps) -> Option<GlobalRank> {
        let first = self.matched.partition_point(|m| (m.0, m.1) < (host, now));
        self.matched.get(first).filter(|m| (m.0, m.1) == (host, now)).map(|m| m.2)
    }

    /// The last end of something that a host did before `now`.
    fn before(&self, host: GlobalRank, now: Ps) -> Ps {
        let behind = self.busy.partition_point(|b| (b.host, b.end) < (host, now));
        self.busy[..behind].last().filter(|b| b.host == host).map_or(0, |b| b.end)
    }
}

fn segment(busy: &Busy) -> Segment {
    let Busy { host, end, start, part, number, peer, bytes } = *busy;
    Segment { part, host, number, peer, bytes, start, end }
}
