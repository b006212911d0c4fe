//! A part of a program, between two of its collectives, that can be replayed alone.
//!
//! It begins behind the n-th collective that all ranks call, on every rank, and ends with a later one. Cuts are matched: a message is in the part if both of its ends are,
//! its send and the posting of its receive; of others both ends are left out, with what waits for them. Communicators are made, and persistent requests too, before the part begins: what making
//! communicators costs is at its beginning. Computations between are left out.
//!
//! | refused | why |
//! | --- | --- |
//! | fewer collectives of all ranks than asked for | there is no such place |
//! | ranks that call other collectives of all ranks, or in another order | the n-th is not the same everywhere |
//! | a cut through a collective of a smaller communicator | some of its ranks would wait for the others |
//! | a message across a cut to a rank that receives from anybody | which receive takes it is not known before a run |
//! | one-sided communication | its epochs have ends of their own |

use super::{
    Known, at,
    tally::{Lane, Span, Tally, lane, tally},
};
use crate::program::{
    Damage,
    lower::comms,
    mpi::{Call, Calls, Dropped, Envelope, Mark, MarkKind, Request, Script},
};
use base::{index::RankId, sorted::SortedMap};
use std::sync::Arc;

pub use super::{clock::between, tally::Span as Collectives};

/// A part of a script, and the number of messages that are left out since they cross its beginning and its end.
pub struct Part {
    /// What is left.
    pub script: Arc<dyn Script>,
    /// Messages with one end before and one in the part; with one end in and one behind it.
    pub crossing: [u64; 2],
}

/// Cuts a part out of a script. All calls are read once before, and what comes before the part again for each reading of a rank.
///
/// # Errors
/// If it is damaged, or cannot be cut there.
pub fn part(script: Arc<dyn Script>, span: Collectives) -> Result<Part, Damage> {
    let comms = Arc::new(comms::resolve(&*script)?);
    let tally = tally(&*script, &comms, span)?;
    let crossing = tally.crossing();
    Ok(Part { script: Arc::new(Cut { shared: Arc::new(Shared { script, comms, tally, span }) }), crossing })
}

struct Shared {
    script: Arc<dyn Script>,
    comms: Arc<comms::Communicators>,
    tally: Tally,
    span: Span,
}

struct Cut {
    shared: Arc<Shared>,
}

impl Cut {
    fn calls(&self, rank: RankId, inner: Box<dyn Calls>) -> Box<dyn Calls> {
        Box::new(PartCalls {
            inner,
            shared: Arc::clone(&self.shared),
            known: Known::new(&self.shared.comms, rank),
            seen: SortedMap::new(),
            requests: SortedMap::new(),
            collectives: 0,
            regions: 0,
        })
    }
}

impl Script for Cut {
    fn ranks(&self) -> u32 {
        self.shared.script.ranks()
    }

    fn open(&self, rank: RankId) -> Box<dyn Calls> {
        self.calls(rank, self.shared.script.open(rank))
    }

    fn open_marked(&self, rank: RankId) -> Box<dyn Calls> {
        self.calls(rank, self.shared.script.open_marked(rank))
    }

    fn marks(&self) -> bool {
        self.shared.script.marks()
    }

    fn describe(&self, rank: RankId, position: u32) -> String {
        self.shared.script.describe(rank, position)
    }

    fn makes_communicators(&self) -> bool {
        self.shared.script.makes_communicators()
    }

    fn noted(&self) -> Vec<u64> {
        self.shared.script.noted()
    }

    fn note(&self, noted: &[u64]) {
        self.shared.script.note(noted);
    }

    fn dropped(&self) -> Vec<Dropped> {
        self.shared.script.dropped()
    }
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    /// It is in the part.
    Kept,
    /// It is left out.
    Left,
    /// Persistent: what it stands for, and whether what it was last started for is in the part.
    Persistent { sends: bool, envelope: Envelope, kept: bool },
}

struct PartCalls {
    inner: Box<dyn Calls>,
    shared: Arc<Shared>,
    known: Known,
    /// Ends of messages by lane, as far as they went by.
    seen: SortedMap<(Lane, bool), u64>,
    requests: SortedMap<Request, Open>,
    /// Collectives of all ranks that went by.
    collectives: u64,
    /// Regions of marks that were entered in the part.
    regions: u64,
}

impl Calls for PartCalls {
    fn next(&mut self) -> Result<Option<(Call, u32)>, Damage> {
        loop {
            let side = self.shared.span.side(self.collectives);
            if side == 2 {
                return Ok(None);
            }
            let Some((call, position)) = self.inner.next()? else { return Ok(None) };
            let taken = self.take(call, side);
            let rank = self.known.rank;
            if let Some(call) = taken.map_err(|message| at(&*self.shared.script, rank, position, &message))? {
                return Ok(Some((call, position)));
            }
        }
    }
}

impl PartCalls {
    /// What the part has of a call.
    fn take(&mut self, call: Call, side: usize) -> Result<Option<Call>, String> {
        let inside = side == 1;
        self.known.see(&call);
        Ok(match call {
            Call::Send(e, _) => self.keeps(true, &e, side)?.then_some(call),
            Call::Recv(e) => self.keeps(false, &e, side)?.then_some(call),
            Call::Isend(e, _, request) => self.opens(true, &e, request, side)?.then_some(call),
            Call::Irecv(e, request) => self.opens(false, &e, request, side)?.then_some(call),
            Call::SendRecv(sent, received) => {
                match (self.keeps(true, &sent, side)?, self.keeps(false, &received, side)?) {
                    (true, true) => Some(call),
                    (true, false) => Some(Call::Send(sent, Default::default())),
                    (false, true) => Some(Call::Recv(received)),
                    (false, false) => None,
                }
            }
            Call::SendInit(envelope, _, request) => {
                self.requests.insert(request, Open::Persistent { sends: true, envelope, kept: false });
                Some(call)
            }
            Call::RecvInit(envelope, request) => {
                self.requests.insert(request, Open::Persistent { sends: false, envelope, kept: false });
                Some(call)
            }
            Call::Start(requests) => self.start(&requests, side)?,
            Call::RequestFree(request) => {
                let kept = !matches!(self.requests.remove(&request), Some(Open::Left));
                kept.then_some(call)
            }
            Call::Probe(e) => self.probe(&e, side)?.then_some(call),
            Call::Wait(_) | Call::Waitall(_) | Call::Waitany { .. } | Call::Test { .. } => {
                self.wait(call, inside)
            }
            Call::Collective(ref c) => {
                if let Some(request) = c.request {
                    self.requests.insert(request, if inside { Open::Kept } else { Open::Left });
                }
                if self.known.get(c.comm)?.of_all {
                    self.collectives += 1;
                }
                inside.then_some(call)
            }
            Call::Mark(ref mark) => (inside && self.marks(mark)).then_some(call),
            Call::Compute(_) | Call::OneSided(_) => inside.then_some(call),
            // Communicators are there from the beginning of the part.
            Call::CommDup { .. }
            | Call::CommSplit { .. }
            | Call::CommCreate { .. }
            | Call::CommDefine { .. }
            | Call::CommFree(_) => Some(call),
        })
    }

    /// An end of a message goes by: is it in the part?
    fn keeps(&mut self, sends: bool, e: &Envelope, side: usize) -> Result<bool, String> {
        let Some(lane) = lane(&self.known, sends, e)? else { return Ok(side == 1) };
        let k = self.seen.entry((lane, sends)).or_default();
        *k += 1;
        Ok(self.shared.tally.keeps(lane, *k - 1, side))
    }

    fn opens(&mut self, sends: bool, e: &Envelope, request: Request, side: usize) -> Result<bool, String> {
        let kept = self.keeps(sends, e, side)?;
        self.requests.insert(request, if kept { Open::Kept } else { Open::Left });
        Ok(kept)
    }

    fn start(&mut self, requests: &[Request], side: usize) -> Result<Option<Call>, String> {
        let mut started = Vec::new();
        for &request in requests {
            // One that was never made is for the reader behind to report.
            let Some(&Open::Persistent { sends, envelope, .. }) = self.requests.get(&request) else {
                started.extend((side == 1).then_some(request));
                continue;
            };
            let kept = self.keeps(sends, &envelope, side)?;
            self.requests.insert(request, Open::Persistent { sends, envelope, kept });
            started.extend(kept.then_some(request));
        }
        Ok((!started.is_empty()).then(|| Call::Start(started.into())))
    }

    /// A message that is waited for is the next one of its lane.
    fn probe(&mut self, e: &Envelope, side: usize) -> Result<bool, String> {
        let Some(lane) = lane(&self.known, false, e)? else { return Ok(side == 1) };
        let next = self.seen.get(&(lane, false)).copied().unwrap_or(0);
        Ok(side == 1 && self.shared.tally.keeps(lane, next, side))
    }

    /// A request is complete: true if it was in the part. One that was never opened is for the reader behind to report.
    fn completes(&mut self, request: Request, inside: bool) -> bool {
        match self.requests.get_mut(&request) {
            Some(Open::Persistent { kept, .. }) => std::mem::take(kept) && inside,
            Some(&mut open) => {
                self.requests.remove(&request);
                open == Open::Kept && inside
            }
            None => inside,
        }
    }

    /// What is still waited for.
    fn wait(&mut self, call: Call, inside: bool) -> Option<Call> {
        let mut left = |requests: &[Request]| -> Vec<Request> {
            requests.iter().copied().filter(|&request| self.completes(request, inside)).collect()
        };
        match call {
            Call::Wait(request) => left(&[request]).pop().map(Call::Wait),
            Call::Waitall(requests) => {
                let waited = left(&requests);
                (inside && waited.is_empty() == requests.is_empty()).then(|| Call::Waitall(waited.into()))
            }
            Call::Test { completed } => {
                let waited = left(&completed);
                (inside && waited.is_empty() == completed.is_empty())
                    .then(|| Call::Test { completed: waited.into() })
            }
            Call::Waitany { requests, completed } => {
                // If the source does not say which were complete, the first one was.
                let done =
                    if completed.is_empty() { &requests[..requests.len().min(1)] } else { &completed[..] };
                let waited = left(done);
                let asked: Vec<Request> = requests
                    .iter()
                    .copied()
                    .filter(|r| waited.contains(r) || (!done.contains(r) && self.is_kept(*r)))
                    .collect();
                let named = if completed.is_empty() { Vec::new() } else { waited.clone() };
                (inside && !waited.is_empty())
                    .then(|| Call::Waitany { requests: asked.into(), completed: named.into() })
            }
            _ => None,
        }
    }

    fn is_kept(&self, request: Request) -> bool {
        matches!(self.requests.get(&request), Some(Open::Kept | Open::Persistent { kept: true, .. }) | None)
    }

    /// A region that began before the part has no end in it.
    fn marks(&mut self, mark: &Mark) -> bool {
        match mark.kind {
            MarkKind::Instant => true,
            MarkKind::Enter => {
                self.regions += 1;
                true
            }
            MarkKind::Leave => {
                let entered = self.regions > 0;
                self.regions -= u64::from(entered);
                entered
            }
        }
    }
}
