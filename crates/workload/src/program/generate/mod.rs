//! Generated rank programs: what well-known applications send, as MPI calls.
//!
//! A generator writes each rank's [`Body`]: calls, and stretches of calls that are repeated, nested like the application's own
//! loops. It has a few dozen entries where the program makes millions of calls. Reading a rank is walking its body; what
//! the rank sends in total is a multiplication ([`Script::sent`]).

pub mod bt;
pub mod collective;
pub mod conjugate_gradient;
pub mod fft;
pub mod grid;
pub mod gups;
pub mod jacobi3d;
pub mod lu;
pub mod milc;
mod nas;
pub mod pipeline;
pub mod ring;
pub mod stencil;
pub mod sweep;
pub mod training;

#[cfg(test)]
pub(crate) mod testing;

use super::{
    Damage, lower,
    matrix::beyond_64_bits,
    mpi::{
        Call, Calls, Collective, CollectiveKind, Comm, CommRank, Counted, Envelope, Mode, PROC_NULL, Request,
        Script, Sent, WORLD,
    },
};
use crate::work::{JobContext, Work};
use base::{index::RankId, param::Built, sorted::SortedMap};
use base::{
    param::{Problem, Unread, Values},
    time::Ps,
};
use std::sync::Arc;

/// How a generator is built: a script from a job and its checked parameters.
pub(crate) type Build = fn(&JobContext, &Values) -> Built<Arc<dyn Script>>;

/// The workload of a generator.
pub(crate) fn work(build: Build, context: &JobContext, values: &Values) -> Built<Work> {
    let script = build(context, values)?;
    let program = lower::lower(script, context.lowering.clone());
    program.map(Work::Program).map_err(|damage| vec![Problem::new("workload", damage.0)])
}

/// An application with its parameters.
pub trait Generator: Send + Sync {
    /// Its registered name.
    fn name(&self) -> &'static str;

    /// Number of ranks.
    fn ranks(&self) -> u32;

    /// Writes what a rank does.
    fn write(&self, rank: RankId, body: &mut Body);

    /// True if ranks make communicators.
    fn makes_communicators(&self) -> bool {
        false
    }

    /// What its script promises by [`Script::chained`]; false if a collective runs beside other calls.
    fn chained(&self) -> bool {
        true
    }

    /// Keys of its own that others make idle, and why.
    fn idle(&self) -> Vec<Unread> {
        Vec::new()
    }
}

/// What one rank does: calls and repeated stretches of calls.
///
/// Point-to-point calls are on the communicator of all ranks.
#[derive(Debug, Default)]
pub struct Body {
    items: Vec<Item>,
    /// First item of each named stretch.
    phases: Vec<(usize, &'static str)>,
}

#[derive(Debug)]
enum Item {
    Call(Call),
    /// The next `length` items, `times` times.
    Repeat {
        times: u64,
        length: usize,
    },
}

impl Body {
    /// Names what follows, for people.
    pub fn phase(&mut self, name: &'static str) {
        self.phases.push((self.items.len(), name));
    }

    /// Adds a call.
    pub fn call(&mut self, call: Call) {
        self.items.push(Item::Call(call));
    }

    /// Adds what `write` adds, to be done `times` times.
    pub fn repeat(&mut self, times: u64, write: impl FnOnce(&mut Self)) {
        let head = self.items.len();
        self.items.push(Item::Repeat { times, length: 0 });
        write(self);
        let length = self.items.len() - head - 1;
        if length == 0 {
            self.items.pop();
        } else {
            self.items[head] = Item::Repeat { times, length };
        }
    }

    /// Adds computation; none if it takes no time.
    pub fn compute(&mut self, time: Ps) {
        if time > 0 {
            self.call(Call::Compute(time));
        }
    }

    /// Adds a blocking send.
    pub fn send(&mut self, peer: RankId, tag: u32, bytes: u64) {
        self.call(Call::Send(envelope(peer, tag, bytes), Mode::Standard));
    }

    /// Adds a blocking receive.
    pub fn recv(&mut self, peer: RankId, tag: u32, bytes: u64) {
        self.call(Call::Recv(envelope(peer, tag, bytes)));
    }

    /// Adds a non-blocking send.
    pub fn isend(&mut self, peer: RankId, tag: u32, bytes: u64, request: Request) {
        self.call(Call::Isend(envelope(peer, tag, bytes), Mode::Standard, request));
    }

    /// Adds a non-blocking receive.
    pub fn irecv(&mut self, peer: RankId, tag: u32, bytes: u64, request: Request) {
        self.call(Call::Irecv(envelope(peer, tag, bytes), request));
    }

    /// Adds a wait for the requests `0..count`; none if there are none.
    pub fn wait_for_all(&mut self, count: Request) {
        if count > 0 {
            self.call(Call::Waitall((0..count).collect()));
        }
    }

    /// Adds a blocking collective.
    pub fn collective(&mut self, kind: CollectiveKind, comm: Comm, bytes: u64) {
        self.call(collective_call(kind, comm, CommRank::new(0), bytes, None));
    }

    /// Adds a reduction to all ranks.
    pub fn allreduce(&mut self, bytes: u64) {
        self.collective(CollectiveKind::Allreduce, WORLD, bytes);
    }

    /// What the point-to-point calls send, by peer and size.
    fn sent(&self) -> Counted {
        let mut totals: SortedMap<(RankId, u64), u64> = SortedMap::new();
        // Ends of the repeated stretches around the item, with the number of times that the item is done in all; none beyond 64 bits.
        let mut around: Vec<(usize, Option<u64>)> = Vec::new();
        for (at, item) in self.items.iter().enumerate() {
            while around.last().is_some_and(|&(end, _)| end == at) {
                around.pop();
            }
            let times = around.last().map_or(Some(1), |&(_, times)| times);
            match item {
                Item::Repeat { times: 0, length } => around.push((at + 1 + length, Some(0))),
                Item::Repeat { times: inner, length } => {
                    around.push((at + 1 + length, times.and_then(|times| times.checked_mul(*inner))));
                }
                Item::Call(
                    Call::Send(e, _) | Call::Isend(e, _, _) | Call::SendInit(e, _, _) | Call::SendRecv(e, _),
                ) if e.peer != PROC_NULL => {
                    let total = totals.entry((e.peer.of_world(), e.bytes)).or_default();
                    let sum = times.and_then(|times| total.checked_add(times));
                    *total = sum.ok_or_else(beyond_64_bits)?;
                }
                Item::Call(_) => {}
            }
        }
        let sent = |((peer, bytes), messages)| Sent { peer, bytes, messages };
        Ok(totals.into_iter().map(sent).filter(|s| s.messages > 0).collect())
    }

    fn phase_at(&self, item: usize) -> &'static str {
        let before = self.phases.partition_point(|&(first, _)| first <= item);
        before.checked_sub(1).map_or("start", |i| self.phases[i].1)
    }
}

fn envelope(peer: RankId, tag: u32, bytes: u64) -> Envelope {
    Envelope { peer: CommRank::in_world(peer), tag, bytes, comm: WORLD }
}

fn collective_call(
    kind: CollectiveKind,
    comm: Comm,
    root: CommRank,
    bytes: u64,
    request: Option<Request>,
) -> Call {
    Call::Collective(Collective {
        kind,
        comm,
        root,
        bytes,
        counts: None,
        neighbours: None,
        request,
        algorithm: None,
    })
}

/// A generator as a script. Positions of calls are places in the rank's body.
struct Generated<G>(G);

/// The script of a generator.
pub(crate) fn script(generator: impl Generator + 'static) -> Arc<dyn Script> {
    Arc::new(Generated(generator))
}

impl<G: Generator> Generated<G> {
    fn body(&self, rank: RankId) -> Body {
        let mut body = Body::default();
        self.0.write(rank, &mut body);
        body
    }
}

impl<G: Generator> Script for Generated<G> {
    fn ranks(&self) -> u32 {
        self.0.ranks()
    }

    fn open(&self, rank: RankId) -> Box<dyn Calls> {
        let items = self.body(rank).items.into_boxed_slice();
        let all = Frame { first: 0, end: items.len(), left: 1 };
        Box::new(Walk { items, at: 0, frames: vec![all] })
    }

    fn describe(&self, rank: RankId, position: u32) -> String {
        format!("{}, {}", self.0.name(), self.body(rank).phase_at(position as usize))
    }

    fn makes_communicators(&self) -> bool {
        self.0.makes_communicators()
    }

    fn chained(&self) -> bool {
        self.0.chained()
    }

    fn unread(&self) -> Vec<Unread> {
        let mut all = Unread::all("job", &["unit", "speed"], "its computations are times");
        all.extend(self.0.idle());
        all
    }

    fn sent(&self, rank: RankId, _: u64) -> Option<Counted> {
        Some(self.body(rank).sent())
    }
}

/// A place in a body.
struct Walk {
    items: Box<[Item]>,
    at: usize,
    /// The repeated stretches around the place, outermost first; the first is the body itself, done once.
    frames: Vec<Frame>,
}

struct Frame {
    first: usize,
    end: usize,
    /// Times that it is still to be done, the current one included.
    left: u64,
}

impl Walk {
    /// Place of the next call.
    #[inline]
    fn step(&mut self) -> Option<usize> {
        loop {
            let frame = self.frames.last_mut()?;
            if self.at == frame.end {
                frame.left -= 1;
                if frame.left > 0 {
                    self.at = frame.first;
                } else {
                    self.frames.pop();
                }
                continue;
            }
            let at = self.at;
            self.at += 1;
            match self.items[at] {
                Item::Call(_) => return Some(at),
                Item::Repeat { times: 0, length } => self.at += length,
                Item::Repeat { times, length } => {
                    self.frames.push(Frame { first: at + 1, end: at + 1 + length, left: times });
                }
            }
        }
    }
}

impl Calls for Walk {
    fn next(&mut self) -> Result<Option<(Call, u32)>, Damage> {
        let mut held = None;
        let next = self.look(&mut held)?;
        Ok(next.map(|(call, position)| (call.clone(), position)))
    }

    #[inline]
    fn look<'a>(&'a mut self, _: &'a mut Option<Call>) -> Result<Option<(&'a Call, u32)>, Damage> {
        let Some(at) = self.step() else { return Ok(None) };
        match &self.items[at] {
            Item::Call(call) => Ok(Some((call, at as u32))),
            Item::Repeat { .. } => unreachable!("a step ends at a call"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{testing::*, *};
    use crate::registry::{Takes, WORKLOADS};
    use base::{
        param::{Kind, Value},
        registry::About,
    };

    struct GeneratorEntry {
        about: About,
        build: Build,
    }

    /// Every registered program but `trace`, in the order of [`WORKLOADS`].
    const GENERATORS: &[GeneratorEntry] = &[
        GeneratorEntry { about: lu::ABOUT, build: lu::build },
        GeneratorEntry { about: bt::ABOUT, build: bt::build },
        GeneratorEntry { about: stencil::ABOUT, build: stencil::build },
        GeneratorEntry { about: jacobi3d::ABOUT, build: jacobi3d::build },
        GeneratorEntry { about: milc::ABOUT, build: milc::build },
        GeneratorEntry { about: sweep::ABOUT, build: sweep::build },
        GeneratorEntry { about: fft::ABOUT, build: fft::build },
        GeneratorEntry { about: gups::ABOUT, build: gups::build },
        GeneratorEntry { about: conjugate_gradient::ABOUT, build: conjugate_gradient::build },
        GeneratorEntry { about: training::ABOUT, build: training::build },
        GeneratorEntry { about: pipeline::ABOUT, build: pipeline::build },
        GeneratorEntry { about: ring::ABOUT, build: ring::build },
        GeneratorEntry { about: collective::ABOUT, build: collective::build },
    ];

    #[test]
    fn every_registered_program_is_tested_here() {
        let registered = WORKLOADS.iter().filter(|e| e.takes == Takes::Program).map(|e| e.about.name);
        assert!(registered.filter(|&n| n != "trace").eq(GENERATORS.iter().map(|g| g.about.name)));
    }

    /// Parameters that make the default problem small.
    const SMALL: &[(&str, u64)] = &[("window", 8), ("cg_iterations", 3), ("iterations", 3)];

    fn small(entry: &GeneratorEntry, ranks: u32) -> Arc<dyn Script> {
        let mut given: Vec<(&str, Value)> = Vec::new();
        for param in entry.about.params {
            if let Some(&(key, value)) = SMALL.iter().find(|(key, _)| *key == param.name) {
                given.push((key, Value::Int(value)));
            }
            match (param.name, param.kind) {
                ("class", _) => given.push(("class", Value::Text("S".into()))),
                ("points", _) if param.default.is_some_and(|d| d.matches(',').count() == 3) => {
                    given.push(("points", Value::Ints(vec![13, 14, 15, 16])));
                }
                ("points", _) => given.push(("points", Value::Ints(vec![33, 34, 35]))),
                (key, Kind::Time) => given.push((key, Value::Time(1_000_003))),
                _ => {}
            }
        }
        made(&entry.about, entry.build, ranks, &given)
    }

    /// Every generator ends even if all sends are synchronous, sends what is received, and knows what it sends.
    #[test]
    fn every_generator_is_lawful() {
        for entry in GENERATORS {
            for ranks in [4, 16] {
                if entry.about.name == "nas-lu" && ranks == 16 {
                    continue;
                }
                let script = small(entry, ranks);
                assert_eq!(script.ranks(), ranks, "{}", entry.about.name);
                run(script.as_ref());
                assert!(script.describe(RankId::new(1), 1).starts_with(entry.about.name));
            }
        }
    }

    #[test]
    fn a_job_of_one_rank_is_refused() {
        for entry in GENERATORS {
            for ranks in [0, 1] {
                let refused = (entry.build)(&asking(ranks), &defaults(&entry.about)).err().unwrap();
                assert_eq!(refused[0].key, "ranks", "{}", entry.about.name);
            }
        }
    }

    /// Grids of all kinds of neighbours and exchanges, where neighbours coincide too.
    #[test]
    fn stencils_of_all_kinds_are_lawful() {
        for dims in [vec![4], vec![2, 2], vec![4, 1], vec![2, 1, 2], vec![1, 2, 2, 1]] {
            for exchange in ["non-blocking", "overlapped", "sendrecv"] {
                for (neighbours, periodic) in
                    [("faces", false), ("faces", true), ("all", false), ("all", true)]
                {
                    let given = [
                        ("dims", Value::Ints(dims.clone())),
                        ("neighbours", Value::Text(neighbours.into())),
                        ("periodic", Value::Bool(periodic)),
                        ("exchange", Value::Text(exchange.into())),
                    ];
                    run(made(&stencil::ABOUT, stencil::build, 4, &given).as_ref());
                }
            }
        }
    }

    #[test]
    fn repeated_stretches_nest() {
        let mut body = Body::default();
        body.repeat(2, |body| {
            body.compute(1);
            body.repeat(0, |body| body.compute(100));
            body.repeat(3, |body| body.send(RankId::new(1), 0, 8));
        });
        body.repeat(5, |_| {});
        body.compute(10);
        assert_eq!(body.sent().unwrap(), [Sent { peer: RankId::new(1), bytes: 8, messages: 6 }]);
        let items = body.items.into_boxed_slice();
        let all = Frame { first: 0, end: items.len(), left: 1 };
        let mut walk = Walk { items, at: 0, frames: vec![all] };
        let mut order = Vec::new();
        while let Some((call, _)) = walk.next().unwrap() {
            order.push(if let Call::Compute(t) = call { t } else { 0 });
        }
        assert_eq!(order, [1, 0, 0, 0, 1, 0, 0, 0, 10]);
        assert!(walk.next().unwrap().is_none());
    }

    /// Sums beyond 64 bits are said, none is wrong; what is done no times is none.
    #[test]
    fn more_messages_than_64_bits_hold_are_not_counted() {
        let nested = |innermost: u64, before: u64| {
            let mut body = Body::default();
            body.repeat(1 << 32, |body| {
                body.repeat(1 << 31, |body| {
                    body.repeat(innermost, |body| body.send(RankId::new(1), 0, 8));
                    body.compute(1);
                });
            });
            body.repeat(before, |body| body.send(RankId::new(1), 0, 8));
            body.sent().map(|sent| sent.iter().map(|s| s.messages).collect::<Vec<_>>())
        };
        assert_eq!(nested(1, (1 << 63) - 1), Ok(vec![u64::MAX]));
        assert_eq!(nested(1, 1 << 63), Err(beyond_64_bits()));
        assert_eq!(nested(2, 0), Err(beyond_64_bits()));
        assert_eq!(nested(0, 3), Ok(vec![3]));
    }
}
