//! The critical path of a job: from its end back to its start, always to what the present instant had to wait for.
//!
//! At an instant of a rank the path goes on, in this order: to the message that was taken in just when it arrived, and so to the start of its send; to
//! what kept the processor busy until then; for a send that ended because a receive matched (rendezvous), to the receiver; the same of the ranks that
//! share its core; else the rank waited for its interface, or for another processor, and the path goes to the last thing that it did. Where several were
//! ready at the same instant one is taken, and no rank twice. With time slices each slice is a part by itself.
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
    /// When the message of a send is there, or its first byte where interfaces take it in; the end of all else.
    pub there: Ps,
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
        let (mut host, mut now, mut path) = (host, end, Vec::new());
        // Ranks that the path left at this instant.
        let mut left = Vec::new();
        while now > begin {
            let found = self.cause(host, now, &left).or_else(|| {
                self.neighbours(host)
                    .filter(|other| !left.contains(other))
                    .find_map(|h| self.cause(h, now, &left))
            });
            let segment = match found {
                Some(Cause::Spent(mut segment)) => {
                    segment.start = segment.start.max(begin);
                    segment
                }
                Some(Cause::Of(receiver)) => {
                    left.push(host);
                    host = receiver;
                    continue;
                }
                None => {
                    let from = self.before(host, now).max(begin);
                    Segment { part: Part::Wait, host, number: 0, peer: host, bytes: 0, start: from, end: now }
                }
            };
            debug_assert!(segment.start <= now && segment.end == now, "the path goes back without a gap");
            if segment.start < now {
                left.clear();
                path.push(segment);
            } else {
                // A message that takes no time: the path does not come back to a rank within an instant.
                left.push(host);
            }
            (host, now) = (segment.host, segment.start);
        }
        path.reverse();
        path
    }

    /// What a rank had to wait for until `now`, by itself; nothing that leads to a rank that was `left` at this instant.
    fn cause(&self, host: GlobalRank, now: Ps, left: &[GlobalRank]) -> Option<Cause> {
        let fresh = |other: &GlobalRank| *other != host && !left.contains(other);
        let arrived = self.arrived(host, now).filter(|send| send.start < now || fresh(&send.host));
        if let Some(send) = arrived {
            return Some(Cause::Spent(Segment { part: Part::Transfer, end: now, ..segment(&send) }));
        }
        let busy = self.ended(host, now).map(|busy| Cause::Spent(segment(&busy)));
        busy.or_else(|| self.receiver(host, now).filter(fresh).map(Cause::Of))
    }

    /// Ranks that share a core with this one.
    fn neighbours(&self, host: GlobalRank) -> impl Iterator<Item = GlobalRank> {
        let nodes = self.cx.nodes.as_ref().filter(|n| n.node.cores.is_some());
        let peers = nodes.into_iter().flat_map(move |n| n.peers(host.number()));
        peers.map(GlobalRank::new).filter(move |&other| other != host)
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
            let stays = self.cx.stays(send.host, host);
            let landing = if stays { 0 } else { self.cx.landing(send.host, host, send.bytes) };
            ((send.host, send.number) == key && send.there + landing == now).then_some(*send)
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

/// What the path goes back to.
enum Cause {
    /// Time that was spent for something.
    Spent(Segment),
    /// The instant at another rank.
    Of(GlobalRank),
}

fn segment(busy: &Busy) -> Segment {
    let Busy { host, end, start, part, number, peer, bytes, .. } = *busy;
    Segment { part, host, number, peer, bytes, start, end }
}
