//! What is written is read again: the same calls, at the same times.

use super::*;
use crate::program::{
    archive::read,
    input::Input,
    mpi::{CollectiveKind as K, CommRank, WORLD},
};
use base::rng::{Purpose, Stream};
use std::{path::PathBuf, sync::Arc};

/// Calls of each rank as if they were recorded.
struct Recording(Vec<Vec<(Call, Option<Recorded>)>>);

struct Played(std::vec::IntoIter<(Call, Option<Recorded>)>, Option<Recorded>, u32);

impl Script for Recording {
    fn ranks(&self) -> u32 {
        self.0.len() as u32
    }

    fn open(&self, rank: RankId) -> Box<dyn Calls> {
        Box::new(Played(self.0[rank.index()].clone().into_iter(), None, 0))
    }

    fn describe(&self, rank: RankId, position: u32) -> String {
        format!("rank {rank}, call {position}")
    }
}

impl Calls for Played {
    fn next(&mut self) -> Result<Option<(Call, u32)>, Damage> {
        let Some((call, recorded)) = self.0.next() else { return Ok(None) };
        (self.1, self.2) = (recorded, self.2 + 1);
        Ok(Some((call, self.2)))
    }

    fn recorded(&self) -> Option<Recorded> {
        self.1
    }
}

fn folder() -> PathBuf {
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    std::env::temp_dir().join(format!("netloom-written-{}-{number}", std::process::id()))
}

/// Calls of each rank with their times, computations without.
type Read = Vec<Vec<(Call, Option<(Ps, Ps)>)>>;

fn timed(script: &dyn Script) -> Read {
    let rank = |rank| {
        let mut calls = script.open_recorded(rank);
        let mut all = Vec::new();
        while let Some((call, _)) = calls.next().unwrap() {
            let time = calls.recorded().map(|r| (r.begin, r.end));
            all.push((call.clone(), time.filter(|_| !matches!(call, Call::Compute(_)))));
        }
        all
    };
    RankId::first(script.ranks()).map(rank).collect()
}

fn again(script: &dyn Script) -> Result<(Read, Vec<String>), String> {
    let folder = folder();
    let losses = write(script, &folder).map_err(|e| match e {
        WriteError::Damage(Damage(message)) => message,
        WriteError::Io(e) => e.to_string(),
    })?;
    let script: Arc<dyn Script> = read(&Input::file(folder.join("traces.otf2"))).unwrap();
    let read = timed(&*script);
    std::fs::remove_dir_all(folder).unwrap();
    Ok((read, losses))
}

fn envelope(peer: u32, tag: u32, bytes: u64) -> Envelope {
    Envelope { peer: CommRank::new(peer), tag, bytes, comm: WORLD }
}

fn collective(kind: K, bytes: u64, root: u32, request: Option<Request>) -> Collective {
    let root = CommRank::new(root);
    Collective { kind, comm: WORLD, root, bytes, counts: None, neighbours: None, request, algorithm: None }
}

/// Rank `rank` of four does something at random; all do the same collectives.
fn random(seed: u64, rank: u32) -> Vec<(Call, Option<Recorded>)> {
    let (mut own, mut common) =
        (Stream::new(seed, Purpose::Test, rank.into()), Stream::new(seed, Purpose::Test, 1 << 20));
    // All ranks begin by the same clock, which is not at 0.
    let (mut all, mut clock) = (Vec::new(), 5_000_000 + if rank == 0 { 0 } else { own.below(1_000) });
    // Requests get their numbers as the reader gives them.
    let (mut open, mut free, mut made) = (Vec::<Request>::new(), Vec::<Request>::new(), 0);
    for step in 0..60 {
        let compute = own.below(3) * own.below(5_000);
        // Functions between two calls that are none of the trace.
        let other = own.below(2) * own.below(700);
        if compute > 0 && step > 0 {
            all.push((Call::Compute(compute), None));
        }
        let begin = clock + if step > 0 { compute + other } else { 0 };
        let end = begin + 1 + own.below(900);
        clock = end;
        let to = envelope(own.below(4) as u32, own.below(9) as u32, own.below(1 << 40));
        let mode = [Mode::Standard, Mode::Synchronous, Mode::Buffered][own.below(3) as usize];
        let mut request = || {
            free.pop().unwrap_or_else(|| {
                made += 1;
                made - 1
            })
        };
        let call = match (step % 5, own.below(5)) {
            (4, _) => {
                let kinds = [
                    K::Barrier,
                    K::Bcast,
                    K::Allreduce,
                    K::Alltoall,
                    K::Gather,
                    K::Scatter,
                    K::Scan,
                    K::Reduce,
                ];
                let kind = kinds[common.below(8) as usize];
                let (bytes, root) = (common.below(1 << 30), common.below(4) as u32);
                let bytes = if kind == K::Barrier { 0 } else { bytes + 1 };
                let rooted = matches!(kind, K::Bcast | K::Gather | K::Scatter | K::Reduce);
                Call::Collective(collective(kind, bytes, if rooted { root } else { 0 }, None))
            }
            (_, 0) => Call::Send(to, mode),
            (_, 1) => Call::Recv(to),
            (_, 2) => {
                let request = request();
                open.push(request);
                Call::Isend(to, mode, request)
            }
            (_, 3) => {
                let request = request();
                open.push(request);
                Call::Irecv(to, request)
            }
            _ if open.is_empty() => Call::Send(to, mode),
            _ => {
                let request = open.swap_remove(own.below(open.len() as u64) as usize);
                free.push(request);
                Call::Wait(request)
            }
        };
        all.push((call, Some(Recorded { begin, end, at: None })));
    }
    while let Some(request) = open.pop() {
        let begin = clock;
        clock += 10;
        all.push((Call::Wait(request), Some(Recorded { begin, end: clock, at: None })));
    }
    all
}

/// Times of an archive count from the first event of any rank.
fn expected(script: &Recording) -> Read {
    let times = |list: &[(Call, Option<Recorded>)]| list.iter().find_map(|(_, r)| r.map(|r| r.begin));
    let first = script.0.iter().filter_map(|list| times(list)).min().unwrap();
    let shifted = |(call, recorded): &(Call, Option<Recorded>)| {
        (call.clone(), recorded.map(|r| (r.begin - first, r.end - first)))
    };
    script.0.iter().map(|list| list.iter().map(shifted).collect()).collect()
}

#[test]
fn random_calls_come_back_at_their_times() {
    for seed in 0..60 {
        let script = Recording((0..4).map(|rank| random(seed, rank)).collect());
        let (read, losses) = again(&script).unwrap();
        assert!(losses.is_empty(), "{losses:?}");
        for (rank, (read, expected)) in read.iter().zip(expected(&script)).enumerate() {
            assert_eq!(*read, expected, "seed {seed}, rank {rank}");
        }
    }
}

fn at(begin: Ps, end: Ps) -> Option<Recorded> {
    Some(Recorded { begin, end, at: None })
}

#[test]
fn what_an_archive_says_otherwise_is_counted() {
    let any = [0, 1];
    let calls = |rank: u32| {
        let peer = 1 - rank;
        vec![
            (Call::SendInit(envelope(peer, 1, 8), Mode::Synchronous, 0), at(0, 1)),
            (Call::RecvInit(envelope(peer, 1, 8), 1), at(2, 3)),
            (Call::Start(any.into()), at(4, 5)),
            (Call::Waitany { requests: any.into(), completed: [1].into() }, at(6, 7)),
            (Call::Wait(0), at(8, 9)),
            (Call::Probe(envelope(peer, 2, 0)), at(10, 11)),
            (Call::SendRecv(envelope(peer, 3, 5), envelope(peer, 3, 6)), at(12, 20)),
            (Call::Irecv(envelope(peer, 4, 7), 2), at(21, 22)),
            (Call::Send(Envelope { peer: PROC_NULL, ..envelope(0, 0, 9) }, Mode::Standard), at(23, 24)),
            (Call::Send(envelope(peer, 4, 7), Mode::Standard), at(25, 26)),
        ]
    };
    let (read, losses) = again(&Recording(vec![calls(0), calls(1)])).unwrap();
    let all = losses.join("; ");
    for part in [
        "nobody were left out: 2",
        "probes were left out: 2",
        "waits for any of several became waits for those that were complete: 2",
        "persistent sends that were synchronous or buffered became ordinary ones: 2",
        "receives and collectives that nobody waited for are over at the end: 2",
    ] {
        assert!(all.contains(part), "{part}: {all}");
    }
    let sent = |list: &[(Call, Option<(Ps, Ps)>)]| {
        let bytes = |(call, _): &(Call, Option<(Ps, Ps)>)| match call {
            Call::Send(e, _) | Call::Isend(e, ..) => Some(e.bytes),
            _ => None,
        };
        list.iter().filter_map(bytes).collect::<Vec<_>>()
    };
    assert_eq!(read.iter().map(|list| sent(list)).collect::<Vec<_>>(), [[8, 5, 7], [8, 5, 7]]);
    assert_eq!(read[0].last().map(|last| last.1), Some(Some((25, 26))));
}

#[test]
fn what_an_archive_cannot_say_is_refused() {
    let one = |call: Call, recorded| again(&Recording(vec![vec![(call, recorded)]])).unwrap_err();
    let from = |peer, tag, bytes| Call::Recv(Envelope { peer, tag, bytes, comm: WORLD });
    let neighbours = collective(K::NeighborAlltoall, 8, 0, None);
    for (call, part) in [
        (from(ANY_PEER, 1, 8), "from whom"),
        (from(CommRank::new(0), ANY_TAG, 8), "with which tag"),
        (from(CommRank::new(0), 1, UNKNOWN_BYTES), "how much"),
        (Call::Collective(neighbours), "among neighbours"),
    ] {
        let refused = one(call, at(0, 1));
        assert!(refused.contains(part) && refused.starts_with("rank 0, call 1: "), "{refused}");
    }
    assert!(one(Call::Send(envelope(0, 0, 8), Mode::Standard), None).contains("no recorded time"));
}
