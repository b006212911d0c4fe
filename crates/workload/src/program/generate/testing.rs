//! For the tests of generators: building them, adding up what they do, and running them with the strictest semantics.

use super::Build;
use crate::{
    program::lower::Options,
    program::mpi::{Call, Calls, CollectiveKind, Comm, Envelope, PROC_NULL, Request, Script, Sent, WORLD},
    work::JobContext,
};
use base::{
    index::RankId,
    param::{Kind, Value, Values},
    registry::About,
    sorted::SortedMap,
    time::Ps,
};
use std::sync::Arc;

/// A job that asks for so many ranks.
pub(crate) fn asking(ranks: u32) -> JobContext {
    JobContext {
        ranks,
        asked: true,
        seed: 1,
        job: 0,
        message: 0,
        arrival: None,
        shape: Default::default(),
        lowering: Options::default(),
        names: Arc::default(),
    }
}

/// The declared defaults.
pub(crate) fn defaults(about: &About) -> Values {
    about.params.iter().filter(|p| p.default != Some("")).fold(Values::default(), |values, p| {
        let text = p.default.unwrap_or_else(|| panic!("`{}` has no default", p.name));
        let number = |text: &str| -> u64 { text.trim().parse().unwrap() };
        let value = match p.kind {
            Kind::Int { .. } => Value::Int(number(text)),
            Kind::Bytes => Value::Int(number(text.strip_suffix(" B").unwrap())),
            Kind::Time => Value::Time(number(text.strip_suffix(" s").unwrap()) * base::time::S),
            Kind::Bool => Value::Bool(text == "true"),
            Kind::Ints { .. } => {
                let inner = text.trim_matches(['[', ']']).split(',');
                Value::Ints(inner.filter(|t| !t.trim().is_empty()).map(number).collect())
            }
            _ => Value::Text(text.to_owned()),
        };
        values.with(p.name, value)
    })
}

/// A generator's script: defaults, but for what is given.
pub(crate) fn made(about: &About, build: Build, ranks: u32, given: &[(&str, Value)]) -> Arc<dyn Script> {
    let values = given.iter().fold(defaults(about), |values, (key, value)| {
        assert!(values.0.contains_key(*key), "`{key}` is not a parameter of {}", about.name);
        values.with(key, value.clone())
    });
    build(&asking(ranks), &values).unwrap_or_else(|p| panic!("{}: {p:?}", about.name))
}

/// What all ranks send, in closed form.
pub(crate) fn sent(script: &dyn Script) -> impl Iterator<Item = (RankId, Sent)> {
    RankId::first(script.ranks())
        .flat_map(|rank| script.sent(rank, u64::MAX).unwrap().unwrap().into_iter().map(move |s| (rank, s)))
}

/// Number of point-to-point messages.
pub(crate) fn messages(script: &dyn Script) -> u64 {
    sent(script).map(|(_, s)| s.messages).sum()
}

/// Messages by size.
pub(crate) fn sizes(script: &dyn Script) -> SortedMap<u64, u64> {
    let mut sizes = SortedMap::new();
    for (_, s) in sent(script) {
        *sizes.entry(s.bytes).or_default() += s.messages;
    }
    sizes
}

/// Hops of all messages on a mesh or torus, rank r on node `nodes[r]`.
pub(crate) fn hops(script: &dyn Script, dims: &[u32], wraps: bool, nodes: &[u32]) -> u64 {
    let distance = |mut a: u32, mut b: u32| -> u64 {
        let mut sum = 0;
        for &n in dims {
            let d = (a % n).abs_diff(b % n);
            sum += if wraps { d.min(n - d) } else { d };
            (a, b) = (a / n, b / n);
        }
        u64::from(sum)
    };
    sent(script).map(|(from, s)| s.messages * distance(nodes[from.index()], nodes[s.peer.index()])).sum()
}

fn calls(script: &dyn Script, rank: RankId) -> impl Iterator<Item = Call> {
    let mut calls = script.open(rank);
    std::iter::from_fn(move || calls.next().unwrap().map(|(call, _)| call))
}

/// Time that a rank computes.
pub(crate) fn computed(script: &dyn Script, rank: RankId) -> Ps {
    calls(script, rank).map(|c| if let Call::Compute(t) = c { t } else { 0 }).sum()
}

/// All-reduces that a rank takes part in.
pub(crate) fn reductions(script: &dyn Script, rank: RankId) -> usize {
    let reduces = |c: &Call| matches!(c, Call::Collective(c) if c.kind == CollectiveKind::Allreduce);
    calls(script, rank).filter(reduces).count()
}

/// Runs a script with every send synchronous: it must end, sends and receives must agree in size, all members must make the same
/// collectives in the same order, requests must be waited for, and [`Script::sent`] must say what was sent.
pub(crate) fn run(script: &dyn Script) {
    let ranks = script.ranks();
    let beside = |c: &Call| matches!(c, Call::Collective(c) if c.request.is_some());
    let chained = RankId::first(ranks).all(|rank| !calls(script, rank).any(|c| beside(&c)));
    assert!(chained || !script.chained(), "a collective runs beside other things");
    let mut world = World::default();
    world.groups.push(RankId::first(ranks).collect());
    let mut processes: Vec<Process> =
        RankId::first(ranks).map(|rank| Process::new(script.open(rank))).collect();
    loop {
        let mut moved = false;
        for rank in RankId::first(ranks) {
            moved |= processes[rank.index()].advance(rank, &mut world);
        }
        if !moved {
            break;
        }
    }
    for (rank, process) in processes.iter().enumerate() {
        assert!(process.ended, "rank {rank} waits for {:?}", process.blocked);
        assert!(process.requests.is_empty(), "rank {rank} does not wait for {:?}", process.requests);
    }
    let mut totals: SortedMap<(RankId, Sent), u64> = SortedMap::new();
    for (&(from, peer, tag), (sends, receives)) in &world.channels {
        assert_eq!(sends, receives, "from {from} to {peer}, tag {tag}");
        for &bytes in sends {
            *totals.entry((from, Sent { peer, bytes, messages: 0 })).or_default() += 1;
        }
    }
    let totals: Vec<_> = totals.into_iter().map(|((r, s), messages)| (r, Sent { messages, ..s })).collect();
    assert_eq!(sent(script).collect::<Vec<_>>(), totals);
    assert!(world.groups.len() == 1 || script.makes_communicators());
}

/// Source, destination and tag.
type Channel = (RankId, RankId, u32);
/// Colours by rank.
type Callers = SortedMap<RankId, Option<u32>>;

/// What ranks have done to each other.
#[derive(Default)]
struct World {
    /// Sizes of sends and of receives by (from, to, tag), in order.
    channels: SortedMap<Channel, (Vec<u64>, Vec<u64>)>,
    /// Members of each communicator.
    groups: Vec<Vec<RankId>>,
    /// Made by the n-th collective of a group, by colour: the new group's number.
    splits: SortedMap<(usize, usize, u32), usize>,
    /// By (group, n): how it was called, and by whom with which colour.
    collectives: SortedMap<(usize, usize), (String, Callers)>,
}

/// What a call waits for.
#[derive(Clone, Copy, Debug)]
enum Pending {
    Sent(Channel, usize),
    Received(Channel, usize),
    Collective(usize, usize),
    Nothing,
}

struct Process {
    calls: Box<dyn Calls>,
    blocked: Vec<Pending>,
    requests: SortedMap<Request, Pending>,
    comms: SortedMap<Comm, usize>,
    /// Collectives called by group.
    called: SortedMap<usize, usize>,
    /// Communicator that the split in progress makes.
    splitting: Option<(Comm, usize, usize, u32)>,
    ended: bool,
}

impl World {
    fn done(&self, pending: Pending) -> bool {
        match pending {
            Pending::Nothing => true,
            Pending::Sent(key, n) => self.channels[&key].1.len() > n,
            Pending::Received(key, n) => self.channels[&key].0.len() > n,
            Pending::Collective(group, n) => {
                self.collectives[&(group, n)].1.len() == self.groups[group].len()
            }
        }
    }
}

impl Process {
    fn new(calls: Box<dyn Calls>) -> Self {
        let comms = [(WORLD, 0)].into();
        let (blocked, requests, called) = Default::default();
        Self { calls, blocked, requests, comms, called, splitting: None, ended: false }
    }

    /// Goes on until it must wait; false if it could do nothing.
    fn advance(&mut self, rank: RankId, world: &mut World) -> bool {
        let mut moved = false;
        while !self.ended && self.blocked.iter().all(|&p| world.done(p)) {
            self.blocked.clear();
            if let Some((new, group, n, color)) = self.splitting.take() {
                let count = world.groups.len();
                let colors = &world.collectives[&(group, n)].1;
                let members = colors.iter().filter(|(_, c)| **c == Some(color)).map(|(&r, _)| r).collect();
                let made = *world.splits.entry((group, n, color)).or_insert(count);
                if made == count {
                    world.groups.push(members);
                }
                self.comms.insert(new, made);
            }
            match self.calls.next().unwrap() {
                None => self.ended = true,
                Some((call, _)) => self.make(rank, call, world),
            }
            moved = true;
        }
        moved
    }

    fn request(&mut self, request: Request, pending: Pending) {
        assert!(self.requests.insert(request, pending).is_none(), "request {request} is in use");
    }

    fn make(&mut self, rank: RankId, call: Call, world: &mut World) {
        let send = |e: Envelope, world: &mut World| {
            assert!(e.comm == WORLD && e.peer.of_world() != rank, "rank {rank} sends {e:?}");
            if e.peer == PROC_NULL {
                return Pending::Nothing;
            }
            let to = e.peer.of_world();
            let sends = &mut world.channels.entry((rank, to, e.tag)).or_default().0;
            sends.push(e.bytes);
            Pending::Sent((rank, to, e.tag), sends.len() - 1)
        };
        let receive = |e: Envelope, world: &mut World| {
            assert!(e.comm == WORLD && e.peer.of_world() != rank, "rank {rank} receives {e:?}");
            if e.peer == PROC_NULL {
                return Pending::Nothing;
            }
            let from = e.peer.of_world();
            let receives = &mut world.channels.entry((from, rank, e.tag)).or_default().1;
            receives.push(e.bytes);
            Pending::Received((from, rank, e.tag), receives.len() - 1)
        };
        match call {
            Call::Compute(_) => {}
            Call::Send(e, _) => self.blocked.push(send(e, world)),
            Call::Recv(e) => self.blocked.push(receive(e, world)),
            Call::SendRecv(out, into) => self.blocked = vec![send(out, world), receive(into, world)],
            Call::Isend(e, _, r) => self.request(r, send(e, world)),
            Call::Irecv(e, r) => self.request(r, receive(e, world)),
            Call::Wait(r) => self.wait(r),
            Call::Waitall(list) => list.iter().for_each(|&r| self.wait(r)),
            Call::Collective(c) => {
                let how = format!("{:?} {} {}", c.kind, c.root, c.bytes);
                let pending = self.collective(rank, c.comm, how, None, world);
                match c.request {
                    Some(r) => self.request(r, pending),
                    None => self.blocked.push(pending),
                }
            }
            Call::CommSplit { comm, color, new, .. } => {
                let pending = self.collective(rank, comm, format!("split {new}"), color, world);
                if let (Some(color), Pending::Collective(group, n)) = (color, pending) {
                    self.splitting = Some((new, group, n, color));
                }
                self.blocked.push(pending);
            }
            other => panic!("generators do not use {other:?}"),
        }
    }

    fn wait(&mut self, request: Request) {
        let pending = self.requests.remove(&request);
        self.blocked.push(pending.unwrap_or_else(|| panic!("request {request} is not in use")));
    }

    fn collective(
        &mut self,
        rank: RankId,
        comm: Comm,
        how: String,
        color: Option<u32>,
        world: &mut World,
    ) -> Pending {
        let group = self.comms[&comm];
        let n = self.called.entry(group).or_default();
        let (first, callers) =
            world.collectives.entry((group, *n)).or_insert_with(|| (how.clone(), SortedMap::new()));
        assert_eq!(*first, how, "rank {rank}");
        callers.insert(rank, color);
        *n += 1;
        Pending::Collective(group, *n - 1)
    }
}
