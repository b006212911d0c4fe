//! Follows the data of every algorithm: who holds what, and whether everybody ends up with what MPI promises.
//!
//! Data is cut into atoms (bytes of a vector, blocks, pairs of an all-to-all). For every rank and atom the simulator keeps the
//! set of ranks whose contribution it contains. A message carries the sets that its sender has when it posts it.

use super::{ALGORITHMS, Algorithm, How, Piece, Sink, Task, Wait};
use crate::program::mpi::{Collective, CollectiveKind, CollectiveKind::*, CommRank, PROC_NULL};
use base::sorted::SortedMap;
use proptest::prelude::*;
use std::collections::VecDeque;

mod traffic;

type Set = u64;

/// A fault to be found: what happens to the n-th transfer of a rank.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Drop,
    WrongPeer,
    Shrink,
}

#[derive(Clone, Copy)]
struct Setting {
    /// A send ends when its receive is posted.
    rendezvous: bool,
    fault: Option<(u32, usize, Fault)>,
}

const EAGER: Setting = Setting { rendezvous: false, fault: None };
const RENDEZVOUS: Setting = Setting { rendezvous: true, fault: None };

struct Message {
    /// Number of the send among those of its rank.
    number: usize,
    piece: Piece,
    bytes: u64,
    sets: Vec<(usize, Set)>,
}

struct Rank {
    task: Task,
    round: u32,
    rounds: u32,
    /// What the round that has begun waits for: places in `outstanding`.
    waits: Option<Vec<usize>>,
    /// Transfers so far.
    posts: usize,
    /// What is passed on, and for scans the result.
    total: Vec<Set>,
    result: Vec<Set>,
    /// What came with the last message that was combined.
    received: Vec<(usize, Set)>,
    outstanding: Vec<Posted>,
}

/// A transfer that no round has waited for.
enum Posted {
    Receive { peer: CommRank, piece: Piece, how: How, message: Option<Message> },
    Send { number: usize, matched: bool },
}

/// What went over the network.
#[derive(Debug, Default, PartialEq, Eq)]
struct Traffic {
    messages: u64,
    bytes: u64,
}

struct Simulator {
    ranks: Vec<Rank>,
    queues: SortedMap<(CommRank, CommRank), VecDeque<Message>>,
    traffic: Traffic,
    algorithm: &'static Algorithm,
    setting: Setting,
}

#[derive(Default)]
struct Posts {
    /// Peer, piece, and for receives what is done with it.
    transfers: Vec<(CommRank, Piece, Option<How>)>,
    wait: Wait,
}

impl Sink for Posts {
    fn recv(&mut self, peer: CommRank, piece: Piece, how: How) {
        self.transfers.push((peer, piece, Some(how)));
    }
    fn send(&mut self, peer: CommRank, piece: Piece) {
        self.transfers.push((peer, piece, None));
    }
    fn wait(&mut self, place: usize) {
        self.wait = Wait::One(place);
    }

    fn open(&mut self) {
        self.wait = Wait::None;
    }
}

fn vector(kind: CollectiveKind) -> bool {
    matches!(kind, Bcast | Reduce | Allreduce | Scan | Exscan)
}

fn pairs(kind: CollectiveKind) -> bool {
    matches!(kind, Alltoall | Alltoallv | Alltoallw)
}

fn atoms(task: &Task, piece: Piece) -> Vec<usize> {
    let p = task.size as usize;
    match piece {
        Piece::Signal if task.kind == Barrier => vec![0],
        Piece::Signal => vec![],
        Piece::Bytes { start, len } if vector(task.kind) => {
            (start as usize..(start + len) as usize).collect()
        }
        // Bytes of all blocks together: a block is there with its last byte.
        Piece::Bytes { start, len } => {
            let end = |b: &usize| {
                task.bytes_of(Piece::Blocks { first: CommRank::new(0), count: *b as u32 + 1 }, true)
            };
            let empty = |b: &usize| task.counts.as_ref().is_some_and(|c| c[*b] == 0);
            (0..p).filter(|b| !empty(b) && (start + 1..=start + len).contains(&end(b))).collect()
        }
        Piece::Part { of, start, len } => {
            let all = task.bytes_of(Piece::Blocks { first: of, count: 1 }, true);
            if start + len == all { vec![of.index()] } else { vec![] }
        }
        Piece::Blocks { first, count } | Piece::Received { first, count } => {
            (0..count as usize).map(|i| (first.index() + i) % p).collect()
        }
        Piece::Pair { from, to } => vec![from.index() * p + to.index()],
        Piece::Neighbour(_) => vec![],
        Piece::Offsets { bit } => {
            let me = task.rank.index();
            let offsets = (1..p).filter(|w| w >> bit & 1 == 1);
            let pair = |offset: usize| {
                let from = (me + p - (offset & ((1 << bit) - 1)) % p) % p;
                from * p + (from + offset) % p
            };
            offsets.map(pair).collect()
        }
    }
}

fn everybody(task: &Task) -> Set {
    Set::MAX >> (64 - task.size)
}

/// What a rank holds before.
fn before(task: &Task) -> Vec<Set> {
    let (p, me, mine) = (task.size as usize, task.rank.index(), 1 << task.rank.number());
    let is_root = task.rank == task.root;
    match task.kind {
        Barrier => vec![mine],
        Bcast => vec![if is_root { mine } else { 0 }; task.bytes as usize],
        kind if vector(kind) => vec![mine; task.bytes as usize],
        ReduceScatter | ReduceScatterBlock => vec![mine; p],
        Scatter | Scatterv => vec![if is_root { mine } else { 0 }; p],
        kind if pairs(kind) => (0..p * p).map(|a| if a / p == me { mine } else { 0 }).collect(),
        _ => (0..p).map(|b| if b == me { mine } else { 0 }).collect(),
    }
}

/// What a rank must hold afterwards; `None` where it does not matter.
fn after(task: &Task) -> Vec<Option<Set>> {
    let (p, me) = (task.size as usize, task.rank.index());
    let (all, root) = (everybody(task), 1 << task.root.number());
    let is_root = task.rank == task.root;
    let block = |b: usize| task.counts.as_ref().is_none_or(|c| c[b] > 0);
    match task.kind {
        Barrier => vec![Some(all)],
        Bcast => vec![Some(root); task.bytes as usize],
        Allreduce => vec![Some(all); task.bytes as usize],
        Reduce => vec![is_root.then_some(all); task.bytes as usize],
        Scan => vec![Some(all >> (p - 1 - me)); task.bytes as usize],
        Exscan => vec![(me > 0).then_some((1 << me) - 1); task.bytes as usize],
        Gather | Gatherv => (0..p).map(|b| (is_root && block(b)).then_some(1 << b)).collect(),
        Allgather | Allgatherv => (0..p).map(|b| block(b).then_some(1 << b)).collect(),
        Scatter | Scatterv => (0..p).map(|b| (b == me && block(b)).then_some(root)).collect(),
        ReduceScatter | ReduceScatterBlock => (0..p).map(|b| (b == me && block(b)).then_some(all)).collect(),
        Alltoall => (0..p * p).map(|a| (a % p == me).then_some(1 << (a / p))).collect(),
        Alltoallv | Alltoallw => {
            let counts = task.counts.as_ref().unwrap();
            let needed = |a: usize| a % p == me && (a / p == me || counts[p + a / p] > 0);
            (0..p * p).map(|a| needed(a).then_some(1 << (a / p))).collect()
        }
        NeighborAllgather | NeighborAlltoall => vec![None; p],
    }
}

impl Simulator {
    fn new(algorithm: &'static Algorithm, tasks: Vec<Task>, setting: Setting) -> Self {
        let rank = |task: Task| {
            let total = before(&task);
            let result = if task.kind == Exscan { vec![0; total.len()] } else { total.clone() };
            let rounds = if task.is_empty() { 0 } else { (algorithm.rounds)(&task) };
            Rank {
                round: 0,
                rounds,
                waits: None,
                posts: 0,
                total,
                result,
                received: vec![],
                outstanding: vec![],
                task,
            }
        };
        let ranks = tasks.into_iter().map(rank).collect();
        Self { ranks, queues: SortedMap::new(), traffic: Traffic::default(), algorithm, setting }
    }

    fn run(mut self) -> Result<Traffic, String> {
        loop {
            let mut progress = false;
            for me in 0..self.ranks.len() {
                progress |= self.begin(me)?;
                progress |= self.match_receives(me)?;
                progress |= self.end(me)?;
            }
            if !progress {
                break;
            }
        }
        self.judge()
    }

    /// Posts the next round of a rank that waits for nothing.
    fn begin(&mut self, me: usize) -> Result<bool, String> {
        let rank = &mut self.ranks[me];
        if rank.waits.is_some() || rank.round == rank.rounds {
            return Ok(false);
        }
        let mut posts = Posts::default();
        (self.algorithm.round)(&rank.task, rank.round, &mut posts);
        if posts.wait == Wait::All && posts.transfers.windows(2).any(|w| w[0].2.is_none() && w[1].2.is_some())
        {
            return Err("a receive is posted after a send".to_owned());
        }
        rank.round += 1;
        let size = rank.task.size;
        for (peer, piece, how) in posts.transfers {
            let Some((peer, piece)) = hurt(self.setting.fault, me, &mut rank.posts, size, peer, piece) else {
                // Places stay what they are.
                rank.outstanding.push(Posted::Send { number: usize::MAX, matched: true });
                continue;
            };
            if peer == rank.task.rank || peer.number() >= size {
                return Err(format!("{me} exchanges with {peer}"));
            }
            if let Some(how) = how {
                rank.outstanding.push(Posted::Receive { peer, piece, how, message: None });
                continue;
            }
            let held = |a| match piece {
                Piece::Received { .. } => rank.received.iter().find(|r| r.0 == a).map_or(0, |r| r.1),
                _ => rank.total[a],
            };
            let sets: Vec<_> = atoms(&rank.task, piece).into_iter().map(|a| (a, held(a))).collect();
            if sets.iter().any(|&(_, s)| s == 0) {
                return Err(format!("{me} sends {piece:?}, which it has not"));
            }
            let (bytes, number) = (rank.task.bytes_of(piece, true), rank.posts);
            self.traffic.messages += 1;
            self.traffic.bytes += bytes;
            rank.outstanding.push(Posted::Send { number, matched: false });
            let queue = self.queues.entry((CommRank::from_index(me), peer)).or_default();
            queue.push_back(Message { number, piece, bytes, sets });
        }
        rank.waits = Some(match if rank.round < rank.rounds { posts.wait } else { Wait::All } {
            Wait::All => (0..rank.outstanding.len()).collect(),
            Wait::One(place) => vec![place],
            Wait::None => vec![],
        });
        Ok(true)
    }

    fn match_receives(&mut self, me: usize) -> Result<bool, String> {
        let mut sends = Vec::new();
        let rank = &mut self.ranks[me];
        for posted in &mut rank.outstanding {
            let Posted::Receive { peer, piece, message: slot @ None, .. } = posted else { continue };
            let queue = self.queues.entry((*peer, CommRank::from_index(me))).or_default();
            let Some(message) = queue.pop_front() else { continue };
            let bytes = rank.task.bytes_of(*piece, false);
            let neighbour = matches!(piece, Piece::Neighbour(_));
            if (message.piece != *piece && !neighbour) || message.bytes != bytes {
                return Err(format!("{me} expects {piece:?} from {peer}, gets {:?}", message.piece));
            }
            sends.push((*peer, message.number));
            *slot = Some(message);
        }
        for &(peer, sent) in &sends {
            for posted in &mut self.ranks[peer.index()].outstanding {
                if let Posted::Send { number, matched } = posted {
                    *matched |= *number == sent;
                }
            }
        }
        Ok(!sends.is_empty())
    }

    /// Ends the round of a rank if what it waits for has come.
    fn end(&mut self, me: usize) -> Result<bool, String> {
        let rank = &mut self.ranks[me];
        let Some(waits) = &rank.waits else { return Ok(false) };
        let done = |place: &usize| match &rank.outstanding[*place] {
            Posted::Receive { message, .. } => message.is_some(),
            Posted::Send { matched, .. } => *matched || !self.setting.rendezvous,
        };
        if !waits.iter().all(done) {
            return Ok(false);
        }
        let waits = rank.waits.take().unwrap();
        for (gone, place) in waits.into_iter().enumerate() {
            let Posted::Receive { peer, piece, how, message } = rank.outstanding.remove(place - gone) else {
                continue;
            };
            let sets = message.map(|m| m.sets).unwrap_or_default();
            for &(atom, set) in &sets {
                let (total, result) = (&mut rank.total[atom], &mut rank.result[atom]);
                if rank.task.kind == Barrier {
                    *total |= set;
                } else if how == How::Store {
                    *total = set;
                } else {
                    if *total & set != 0 {
                        return Err(format!("{me} combines {piece:?} from {peer} twice"));
                    }
                    *total |= set;
                    if how == How::Combine {
                        *result |= set;
                    }
                }
            }
            if how == How::Combine {
                rank.received = sets;
            }
        }
        Ok(true)
    }

    fn judge(self) -> Result<Traffic, String> {
        for (me, rank) in self.ranks.iter().enumerate() {
            if rank.waits.is_some() || rank.round < rank.rounds {
                return Err(format!("{me} waits without end in round {}", rank.round));
            }
            let held = if matches!(rank.task.kind, Scan | Exscan) { &rank.result } else { &rank.total };
            let wanted = after(&rank.task);
            // Of blocks without a byte nobody can tell who holds them.
            let moved = rank.task.kind == Barrier || (rank.task.weight() > 0 && !rank.task.is_empty());
            for (atom, want) in wanted.iter().enumerate().filter(|_| moved) {
                if want.is_some_and(|w| w != held[atom]) {
                    return Err(format!("{me} ends with {:b} at {atom}, not {want:?}", held[atom]));
                }
            }
        }
        match self.queues.iter().find(|(_, q)| !q.is_empty()) {
            Some(((from, to), _)) => Err(format!("a message from {from} to {to} is left")),
            None => Ok(self.traffic),
        }
    }
}

fn hurt(
    fault: Option<(u32, usize, Fault)>,
    me: usize,
    posts: &mut usize,
    size: u32,
    peer: CommRank,
    piece: Piece,
) -> Option<(CommRank, Piece)> {
    *posts += 1;
    match fault {
        Some((rank, n, fault)) if rank as usize == me && n + 1 == *posts => match (fault, piece) {
            (Fault::Drop, _) => None,
            (Fault::WrongPeer, _) => Some((CommRank::new((peer.number() + 1) % size), piece)),
            (Fault::Shrink, Piece::Bytes { start, len }) if len > 0 => {
                Some((peer, Piece::Bytes { start, len: len - 1 }))
            }
            (Fault::Shrink, _) => None,
        },
        _ => Some((peer, piece)),
    }
}

/// All ranks' parts of a call. `bytes` of the vector or a block; in v-variants block sizes go 0, bytes, 2 bytes.
fn tasks(kind: CollectiveKind, size: u32, root: u32, bytes: u64, segment: u64, radix: u32) -> Vec<Task> {
    let count = |from: u32, to: u32| u64::from((from + 2 * to) % 3) * bytes;
    let one = |rank: u32| {
        let counts: Option<Vec<u64>> = match kind {
            Gatherv | Scatterv | Allgatherv | ReduceScatter => Some((0..size).map(|b| count(b, 0)).collect()),
            Alltoallv | Alltoallw => {
                let out = (0..size).map(|to| count(rank, to));
                Some(out.chain((0..size).map(|from| count(from, rank))).collect())
            }
            _ => None,
        };
        let at = |distance| CommRank::new((rank + distance) % size);
        let ring = vec![at(size - 1), PROC_NULL, at(1)];
        let neighbours = matches!(kind, NeighborAllgather | NeighborAlltoall).then(|| ring.into());
        let counts = counts.map(Into::into);
        let call = Collective {
            kind,
            comm: 0,
            root: CommRank::new(root),
            bytes,
            counts,
            neighbours,
            request: None,
            algorithm: None,
        };
        let task = Task::new(&call, CommRank::new(rank), size).unwrap();
        Task { segment, radix, within: Some(&super::smpi_ompi::WITHIN), ..task }
    };
    (0..size).map(one).collect()
}

fn simulate(algorithm: &'static Algorithm, tasks: Vec<Task>, setting: Setting) -> Result<Traffic, String> {
    Simulator::new(algorithm, tasks, setting).run()
}

fn find(kind: CollectiveKind, name: &str) -> &'static Algorithm {
    ALGORITHMS.iter().find(|a| a.about.name == name && a.kinds.contains(&kind)).unwrap()
}

#[test]
fn everybody_gets_what_mpi_promises() {
    for algorithm in ALGORITHMS {
        for &kind in algorithm.kinds {
            for size in (1..=17).chain([32, 33, 64]) {
                let bytes = if vector(kind) { &[0, 1, 5, 64, 129][..] } else { &[0, 1, 3][..] };
                let rooted = matches!(kind, Bcast | Reduce | Gather | Gatherv | Scatter | Scatterv);
                let mut roots = if rooted { vec![0, size / 2, size - 1] } else { vec![0] };
                roots.dedup();
                for &root in &roots {
                    for &bytes in bytes {
                        for (n, (segment, radix)) in [(0, 2), (13, 3), (64, 4)].into_iter().enumerate() {
                            // Of larger sizes one each, in turns.
                            if size > 8 && n as u32 != size % 3 {
                                continue;
                            }
                            let mut tasks = tasks(kind, size, root, bytes, segment, radix);
                            // As some libraries do.
                            tasks.iter_mut().for_each(|task| task.sends_empty = (size + root) % 2 == 0);
                            for setting in [EAGER, RENDEZVOUS] {
                                if let Err(e) = simulate(algorithm, tasks.clone(), setting) {
                                    let name = algorithm.about.name;
                                    panic!(
                                        "{name} {kind:?} P={size} root={root} {bytes} B segment={segment} \
                                         radix={radix} rendezvous={}: {e}",
                                        setting.rendezvous
                                    );
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn a_round_posts_few_transfers_even_in_large_calls() {
    for algorithm in ALGORITHMS {
        for &kind in algorithm.kinds {
            for rank in [0, 1, 999] {
                let mut task = tasks(kind, 1000, 0, 1 << 10, 0, 2).swap_remove(rank);
                (task.segment, task.radix) = (algorithm.segment, algorithm.radix);
                for round in 0..(algorithm.rounds)(&task) {
                    let mut posts = Posts::default();
                    (algorithm.round)(&task, round, &mut posts);
                    assert!(posts.transfers.len() <= 64, "{} {kind:?}", algorithm.about.name);
                }
            }
        }
    }
}

proptest! {
    /// Any transfer dropped, sent elsewhere or cut is found.
    #[test]
    fn a_fault_is_found(
        which in 0..ALGORITHMS.len(),
        size in 3u32..20,
        victim in 0u32..20,
        transfer in 0usize..8,
        fault in prop::sample::select(vec![Fault::Drop, Fault::WrongPeer, Fault::Shrink]),
        rendezvous: bool,
    ) {
        let algorithm = &ALGORITHMS[which];
        let kind = algorithm.kinds[0];
        let rank = victim % size;
        let tasks = tasks(kind, size, 0, 50, 20, 2);
        let posts = {
            let (mut all, task) = (Posts::default(), &tasks[rank as usize]);
            (0..(algorithm.rounds)(task)).for_each(|r| (algorithm.round)(task, r, &mut all));
            all.transfers.len()
        };
        prop_assume!(posts > 0);
        let hit = Some((rank, transfer % posts, fault));
        let found = simulate(algorithm, tasks, Setting { rendezvous, fault: hit });
        prop_assert!(found.is_err(), "{} {hit:?}", algorithm.about.name);
    }
}

#[test]
fn mistakes_in_calls_are_reported() {
    let call = |kind, root, counts: Option<Vec<u64>>, neighbours: Option<Vec<u32>>| {
        let neighbours = neighbours.map(|all| all.into_iter().map(CommRank::new).collect());
        let (root, counts) = (CommRank::new(root), counts.map(Into::into));
        let call =
            Collective { kind, comm: 0, root, bytes: 8, counts, neighbours, request: None, algorithm: None };
        Task::new(&call, CommRank::new(0), 4).map(|_| ()).unwrap_err()
    };
    assert_eq!(call(Bcast, 4, None, None), "root 4 is not among the 4 ranks of the communicator");
    assert_eq!(call(Gatherv, 0, None, None), "the counts of this collective are missing");
    assert_eq!(call(Alltoallv, 0, Some(vec![1; 4]), None), "8 counts are needed, 4 are given");
    assert_eq!(call(NeighborAlltoall, 0, None, None), "a neighbourhood collective needs its neighbours");
    let message = "neighbour 7 is not among the 4 ranks of the communicator";
    assert_eq!(call(NeighborAlltoall, 0, None, Some(vec![1, 7])), message);
}
