//! More ranks than were recorded: a program of P ranks as one of n P.
//!
//! Rank i P + r does what rank r did, among the ranks of its own copy i; only what all ranks do together is done by all of them. This is the rule by which schedgen makes larger
//! programs of traces (Hoefler, Siebert, Lumsdaine 2009). The problem grows with the ranks: each computes and holds as much as before.
//!
//! | call | in copy i |
//! | --- | --- |
//! | send, receive | with the same rank of copy i |
//! | collective of all ranks | of all n P ranks; the root is that of copy 0; a rank exchanges the same block with each rank, so lists of counts repeat |
//! | collective with neighbours | with the same neighbours of copy i |
//! | collective of some ranks | of the same ranks of copy i |
//! | making a communicator of all ranks | of all n P ranks |
//! | making one of some ranks | one for each copy |
//! | defining one that is there | as making one, and costs nothing |
//!
//! One-sided communication is refused. So is a split whose colours do not fit 32 bits when each has n of its own.

use super::{Known, at};
use crate::program::{
    Damage,
    lower::comms,
    mpi::{ANY_PEER, Call, Calls, Collective, CommRank, Dropped, Envelope, PROC_NULL, Script},
};
use base::index::RankId;
use std::sync::Arc;

/// A script with so many times its ranks.
///
/// # Errors
/// If it is damaged, has one-sided communication, or the ranks would be too many.
pub fn copies(script: Arc<dyn Script>, count: u32) -> Result<Arc<dyn Script>, Damage> {
    let of = script.ranks();
    if of.checked_mul(count).is_none_or(|ranks| ranks >= PROC_NULL.number()) || count == 0 {
        return Err(Damage(format!("{count} times {of} ranks is no number of ranks")));
    }
    let comms = Arc::new(comms::resolve(&*script)?);
    if comms.one_sided() || !script.makes_communicators() {
        for rank in RankId::first(of) {
            let mut calls = script.open(rank);
            while let Some((call, position)) = calls.next()? {
                if let Call::OneSided(call) = call {
                    let message =
                        format!("{}: one-sided communication cannot be extended to more ranks", call.name());
                    return Err(at(&*script, rank, position, &message));
                }
            }
        }
    }
    Ok(Arc::new(Copies { script, comms, count }))
}

struct Copies {
    script: Arc<dyn Script>,
    comms: Arc<comms::Communicators>,
    count: u32,
}

impl Copies {
    /// Copy and rank in it.
    fn place(&self, rank: RankId) -> (u32, RankId) {
        let of = self.script.ranks();
        (rank.number() / of, RankId::new(rank.number() % of))
    }

    fn calls(&self, rank: RankId, inner: impl Fn(RankId) -> Box<dyn Calls>) -> Box<dyn Calls> {
        let (copy, recorded) = self.place(rank);
        Box::new(CopyCalls {
            inner: inner(recorded),
            known: Known::new(&self.comms, recorded),
            script: Arc::clone(&self.script),
            copy,
            count: self.count,
        })
    }
}

impl Script for Copies {
    fn ranks(&self) -> u32 {
        self.script.ranks() * self.count
    }

    fn open(&self, rank: RankId) -> Box<dyn Calls> {
        self.calls(rank, |rank| self.script.open(rank))
    }

    fn open_marked(&self, rank: RankId) -> Box<dyn Calls> {
        self.calls(rank, |rank| self.script.open_marked(rank))
    }

    fn marks(&self) -> bool {
        self.script.marks()
    }

    fn describe(&self, rank: RankId, position: u32) -> String {
        let (copy, recorded) = self.place(rank);
        format!("{}, copy {copy}", self.script.describe(recorded, position))
    }

    fn makes_communicators(&self) -> bool {
        self.script.makes_communicators()
    }

    fn chained(&self) -> bool {
        self.script.chained()
    }

    fn noted(&self) -> Vec<u64> {
        self.script.noted()
    }

    fn note(&self, noted: &[u64]) {
        self.script.note(noted);
    }

    fn dropped(&self) -> Vec<Dropped> {
        self.script.dropped()
    }
}

struct CopyCalls {
    inner: Box<dyn Calls>,
    known: Known,
    script: Arc<dyn Script>,
    copy: u32,
    count: u32,
}

impl Calls for CopyCalls {
    fn next(&mut self) -> Result<Option<(Call, u32)>, Damage> {
        let Some((call, position)) = self.inner.next()? else { return Ok(None) };
        let rank = self.known.rank;
        let moved = self.moved(call).map_err(|message| at(&*self.script, rank, position, &message))?;
        Ok(Some((moved, position)))
    }
}

impl CopyCalls {
    /// The call as the copy makes it.
    fn moved(&mut self, call: Call) -> Result<Call, String> {
        let moved = match call.clone() {
            Call::Send(e, mode) => Call::Send(self.envelope(e)?, mode),
            Call::Isend(e, mode, request) => Call::Isend(self.envelope(e)?, mode, request),
            Call::Recv(e) => Call::Recv(self.envelope(e)?),
            Call::Irecv(e, request) => Call::Irecv(self.envelope(e)?, request),
            Call::SendRecv(sent, received) => Call::SendRecv(self.envelope(sent)?, self.envelope(received)?),
            Call::SendInit(e, mode, request) => Call::SendInit(self.envelope(e)?, mode, request),
            Call::RecvInit(e, request) => Call::RecvInit(self.envelope(e)?, request),
            Call::Probe(e) => Call::Probe(self.envelope(e)?),
            Call::Collective(c) if self.known.get(c.comm)?.of_all => Call::Collective(self.of_all(c)),
            Call::CommSplit { comm, new, .. } | Call::CommCreate { comm, new, .. }
                if self.known.get(comm)?.of_all =>
            {
                let (color, key) = self.part(&call)?;
                Call::CommSplit { comm, color, key, new }
            }
            Call::CommDefine { group, new } => Call::CommDefine { group: self.defined(&group), new },
            other => other,
        };
        self.known.see(&call);
        Ok(moved)
    }

    /// The number in a communicator of all ranks that a rank of the copy has.
    fn number(&self, peer: CommRank) -> CommRank {
        match peer {
            PROC_NULL | ANY_PEER => peer,
            peer => CommRank::new(peer.number().saturating_add(self.copy * self.script.ranks())),
        }
    }

    fn envelope(&self, e: Envelope) -> Result<Envelope, String> {
        Ok(if self.known.get(e.comm)?.of_all { Envelope { peer: self.number(e.peer), ..e } } else { e })
    }

    /// A group that is there already: of all ranks those of all copies, else one for each copy.
    fn defined(&self, group: &[CommRank]) -> Arc<[CommRank]> {
        let of = self.script.ranks();
        let copies = if group.len() == of as usize { 0..self.count } else { self.copy..self.copy + 1 };
        let ranks = copies.flat_map(|copy| group.iter().map(move |rank| rank.number() + copy * of));
        ranks.map(CommRank::new).collect()
    }

    /// A collective of all ranks.
    fn of_all(&self, c: Collective) -> Collective {
        // The two lists of alltoallv repeat one by one.
        let repeated = |list: &[u64]| -> Vec<u64> { list.repeat(self.count as usize) };
        let counts = c.counts.as_deref().map(|counts| {
            if c.kind.has_two_lists() {
                let (sends, receives) = counts.split_at(counts.len() / 2);
                [repeated(sends), repeated(receives)].concat()
            } else {
                repeated(counts)
            }
        });
        let neighbours = c.neighbours.as_deref().map(|all| all.iter().map(|&n| self.number(n)).collect());
        Collective { counts: counts.map(Into::into), neighbours, ..c }
    }

    /// Colour and key with which a rank takes part in a split that makes what a call on a communicator of all ranks makes in each copy; if it makes one of all ranks, one of
    /// all copies.
    fn part(&self, call: &Call) -> Result<(Option<u32>, i64), String> {
        let Some((one, place)) = self.known.made() else { return Ok((None, 0)) };
        if one.of_all {
            return Ok((Some(0), i64::from(self.number(place).number())));
        }
        let color = match *call {
            Call::CommSplit { color, .. } => color.unwrap_or(0),
            _ => 0,
        };
        let own = color.checked_mul(self.count).and_then(|all| all.checked_add(self.copy));
        let own = own.ok_or_else(|| format!("colour {color} is too large for {} copies", self.count))?;
        Ok((Some(own), i64::from(place.number())))
    }
}
