//! Where a part of a program begins and ends on each rank, and which messages lie in it.
//!
//! All calls are read once. Message k from rank s to rank d with a tag on a communicator is the k-th such send of s and the k-th such receive that d posts: MPI's
//! order. If S of the sends and R of the receives stand before a cut, then messages from max(S, R) on are wholly behind it, and those below min(S, R) wholly
//! before it. A rank that receives from any source, or any tag, has no such numbers: nothing that is sent to it may cross a cut.
//!
//! Memory: four counts for each pair of ranks, tag and communicator that occurs.

use super::{Known, at};
use crate::program::{
    ANY_TAG, Damage,
    lower::comms::Communicators,
    mpi::{ANY_PEER, Call, CollectiveKind, CommRank, Envelope, OneSided, PROC_NULL, Request, Script},
};
use base::{index::RankId, sorted::SortedMap};
use std::sync::Arc;

/// What is cut out: `count` collectives of all ranks, or all that there are, behind the first `after` of them. A part ends with its last collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Collectives of all ranks that come before the part.
    pub after: u64,
    /// Collectives of all ranks in the part; `None` for all to the end of the program.
    pub count: Option<u64>,
}

impl Span {
    /// Which side of the two cuts a call is on, behind so many collectives of all ranks: 0 before both, 1 between, 2 behind both.
    pub(super) fn side(self, collectives: u64) -> usize {
        let behind = self.count.is_some_and(|count| collectives >= self.after.saturating_add(count));
        usize::from(collectives >= self.after) + usize::from(behind)
    }
}

/// Messages that are told apart by nothing but their order: from, to, communicator, tag.
pub(super) type Lane = (RankId, RankId, u32, u32);

/// Sends and receives before each cut.
#[derive(Clone, Copy, Debug, Default)]
struct Ends {
    sends: [u64; 2],
    receives: [u64; 2],
}

impl Ends {
    /// One more, on this side of the cuts.
    fn add(counts: &mut [u64; 2], side: usize) {
        for count in &mut counts[side.min(2)..] {
            *count += 1;
        }
    }
}

/// All that goes to a rank on a communicator.
#[derive(Clone, Copy, Debug, Default)]
struct Inbox {
    ends: Ends,
    /// A receive takes from any source or with any tag.
    wild: bool,
}

/// Which messages are kept.
#[derive(Debug, Default)]
pub(super) struct Tally {
    lanes: SortedMap<Lane, Ends>,
    inboxes: SortedMap<(RankId, u32), Inbox>,
}

impl Tally {
    /// True if the k-th message of a lane lies wholly in the part; `side` is where its own end stands.
    pub(super) fn keeps(&self, lane: Lane, k: u64, side: usize) -> bool {
        if self.inboxes.get(&(lane.1, lane.2)).is_some_and(|inbox| inbox.wild) {
            return side == 1;
        }
        let Some(ends) = self.lanes.get(&lane) else { return side == 1 };
        let [from, to] = [0, 1].map(|cut| (ends.sends[cut], ends.receives[cut]));
        k >= from.0.max(from.1) && k < to.0.min(to.1)
    }

    /// Messages that only one end of lies in the part, and that are therefore left out: those that cross the first cut, and the second.
    pub(super) fn crossing(&self) -> [u64; 2] {
        let of = |cut: usize| self.lanes.values().map(|e| e.sends[cut].abs_diff(e.receives[cut])).sum();
        [of(0), of(1)]
    }

    fn send(&mut self, lane: Lane, side: usize) {
        Ends::add(&mut self.lanes.entry(lane).or_default().sends, side);
        Ends::add(&mut self.inboxes.entry((lane.1, lane.2)).or_default().ends.sends, side);
    }

    fn receive(&mut self, rank: RankId, id: u32, from: Option<RankId>, tag: u32, side: usize) {
        let inbox = self.inboxes.entry((rank, id)).or_default();
        Ends::add(&mut inbox.ends.receives, side);
        match from {
            Some(from) if tag != ANY_TAG => {
                Ends::add(&mut self.lanes.entry((from, rank, id, tag)).or_default().receives, side);
            }
            _ => inbox.wild = true,
        }
    }

    /// Lanes into ranks that receive from anybody say nothing; nor do those that no cut parts.
    fn settle(&mut self) -> Result<(), Damage> {
        for (&(rank, id), Inbox { ends, wild }) in &self.inboxes {
            if *wild && ends.sends != ends.receives {
                return Err(Damage(format!(
                    "rank {rank} receives from any source or with any tag, and messages to it cross an end of the part (communicator {id}: {} and {} sends, {} and {} receives before the two ends): choose other collectives",
                    ends.sends[0], ends.sends[1], ends.receives[0], ends.receives[1]
                )));
            }
        }
        let wild = |lane: &Lane| self.inboxes.get(&(lane.1, lane.2)).is_some_and(|i| i.wild);
        let silent: Vec<Lane> = self.lanes.keys().filter(|lane| wild(lane)).copied().collect();
        for lane in silent {
            self.lanes.remove(&lane);
        }
        Ok(())
    }
}

/// Collectives of one communicator before each cut, and the rank that had so many.
type Counted = ([u64; 2], RankId);

/// Reads all calls.
struct Reader<'a> {
    script: &'a dyn Script,
    span: Span,
    tally: Tally,
    /// By communicator, as its first member had them.
    counted: SortedMap<u32, Counted>,
    /// Collectives of all ranks, as the first rank calls them.
    order: Vec<(u32, CollectiveKind)>,
}

/// Counts a script; fails if it cannot be cut so.
pub(super) fn tally(script: &dyn Script, comms: &Arc<Communicators>, span: Span) -> Result<Tally, Damage> {
    let mut reader =
        Reader { script, span, tally: Tally::default(), counted: SortedMap::new(), order: Vec::new() };
    for rank in RankId::first(script.ranks()) {
        reader.rank(rank, comms)?;
    }
    reader.tally.settle()?;
    Ok(reader.tally)
}

impl Reader<'_> {
    fn rank(&mut self, rank: RankId, comms: &Arc<Communicators>) -> Result<(), Damage> {
        let mut calls = self.script.open(rank);
        let mut known = Known::new(comms, rank);
        let mut persistent: SortedMap<Request, (bool, Envelope)> = SortedMap::new();
        let (mut collectives, mut by_comm) = (0, SortedMap::<u32, [u64; 2]>::new());
        while let Some((call, position)) = calls.next()? {
            let side = self.span.side(collectives);
            let done = match &call {
                Call::Collective(c) => known.get(c.comm).and_then(|comm| {
                    Ends::add(by_comm.entry(comm.id).or_default(), side);
                    if comm.of_all {
                        self.agrees(rank, collectives as usize, (comm.id, c.kind))?;
                        collectives += 1;
                    }
                    Ok(())
                }),
                Call::OneSided(call) => Err(refused(call)),
                _ => self.transfers(&call, &known, &mut persistent, side),
            };
            done.map_err(|message| at(self.script, rank, position, &message))?;
            known.see(&call);
        }
        let asked = self.span.after.saturating_add(self.span.count.unwrap_or(0));
        if collectives < asked {
            return Err(Damage(format!(
                "rank {rank} calls {collectives} collectives of all ranks, not {asked}"
            )));
        }
        for (id, counts) in by_comm {
            let (first, of) = *self.counted.entry(id).or_insert((counts, rank));
            if first != counts {
                return Err(Damage(format!(
                    "an end of the part goes through a collective of communicator {id}: rank {of} calls {} and {} before the two ends, rank {rank} {} and {}",
                    first[0], first[1], counts[0], counts[1]
                )));
            }
        }
        Ok(())
    }

    /// All ranks call the same collectives of all ranks.
    fn agrees(&mut self, rank: RankId, n: usize, call: (u32, CollectiveKind)) -> Result<(), String> {
        match self.order.get(n) {
            Some(&first) if first != call => Err(format!(
                "collective {} of all ranks is {} here, but {} on rank 0",
                n + 1,
                call.1.name(),
                first.1.name()
            )),
            None if rank == RankId::new(0) => {
                self.order.push(call);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn transfers(
        &mut self,
        call: &Call,
        known: &Known,
        persistent: &mut SortedMap<Request, (bool, Envelope)>,
        side: usize,
    ) -> Result<(), String> {
        match call {
            Call::Send(e, _) | Call::Isend(e, ..) => self.end(known, true, e, side),
            Call::Recv(e) | Call::Irecv(e, _) => self.end(known, false, e, side),
            Call::SendRecv(sent, received) => {
                self.end(known, true, sent, side)?;
                self.end(known, false, received, side)
            }
            Call::SendInit(e, _, request) => {
                persistent.insert(*request, (true, *e));
                Ok(())
            }
            Call::RecvInit(e, request) => {
                persistent.insert(*request, (false, *e));
                Ok(())
            }
            Call::Start(requests) => {
                let started = requests.iter().filter_map(|request| persistent.get(request).copied());
                started.collect::<Vec<_>>().iter().try_for_each(|(sends, e)| self.end(known, *sends, e, side))
            }
            Call::Probe(e) if e.peer == ANY_PEER || e.tag == ANY_TAG => {
                let id = known.get(e.comm)?.id;
                self.tally.inboxes.entry((known.rank, id)).or_default().wild = true;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// An end of a message.
    fn end(&mut self, known: &Known, sends: bool, e: &Envelope, side: usize) -> Result<(), String> {
        let (id, me) = (known.get(e.comm)?.id, known.rank);
        match (sends, e.peer) {
            (_, PROC_NULL) => {}
            (true, peer) => {
                if let Some(to) = known.peer(id, peer)? {
                    self.tally.send((me, to, id, e.tag), side);
                }
            }
            (false, peer) => {
                let from = if peer == ANY_PEER { None } else { known.peer(id, peer)? };
                self.tally.receive(me, id, from, e.tag, side);
            }
        }
        Ok(())
    }
}

/// The lane of a message's end, if it has one: not those with the null process, nor receives from anybody.
pub(super) fn lane(known: &Known, sends: bool, e: &Envelope) -> Result<Option<Lane>, String> {
    let special: [CommRank; 2] = [PROC_NULL, ANY_PEER];
    if special.contains(&e.peer) || (!sends && e.tag == ANY_TAG) {
        return Ok(None);
    }
    let (id, me) = (known.get(e.comm)?.id, known.rank);
    let Some(peer) = known.peer(id, e.peer)? else { return Ok(None) };
    Ok(Some(if sends { (me, peer, id, e.tag) } else { (peer, me, id, e.tag) }))
}

fn refused(call: &OneSided) -> String {
    format!("{}: one-sided communication cannot be cut", call.name())
}
