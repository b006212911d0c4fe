//! What a program or script holds, counted.

use super::{
    ANY_RANK, ANY_TAG, Batch, Damage, Kind, Op, Program,
    file::Content,
    lower::{self, graph::lower_graph},
    mpi::{Call, Collective, Envelope, Mode, PROC_NULL, Script},
    ranks::{collective_name, one_sided_name},
};
use base::{
    hash::hash4,
    index::{Column, RankId},
    sorted::{SortedMap, SortedSet},
    time::Ps,
};
use std::{fmt, sync::Arc};

/// Most calls or operations that are counted of a source with loops, which may have any number of them.
pub const MOST: u64 = 1 << 26;

/// Adds to a sum that ends at 2^64 - 1, and says if it did.
fn add(sum: &mut u64, more: u64, clipped: &mut bool) {
    *clipped |= sum.checked_add(more).is_none();
    *sum = sum.saturating_add(more);
}

/// Numbers of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Operations or calls by name.
    pub kinds: SortedMap<&'static str, u64>,
    /// Dependencies; 0 for scripts.
    pub edges: u64,
    /// Point-to-point messages that are sent, by size: `sizes[0]` counts those without bytes, `sizes[i]` those of 2^(i-1) bytes and more.
    pub sizes: Vec<u64>,
    /// Bytes of these messages.
    pub bytes: u64,
    /// Largest of them.
    pub largest: u64,
    /// Computed time of each rank.
    pub compute: Vec<Ps>,
    /// Number of different ranks to which each rank sends.
    pub peers: Vec<u32>,
    /// Collective calls of all ranks and their bytes by name: what one rank contributes to one call counts once. Programs count operations
    /// instead of calls.
    pub collectives: SortedMap<String, (u64, u64)>,
    /// Of programs, the messages of their collectives by name; counted in `sizes` and `bytes` too.
    pub collective_messages: SortedMap<String, u64>,
    /// Do sends and receives fit together?
    pub matching: Matching,
    /// Counting ended before the program did: after so many calls or operations.
    pub ended_after: Option<u64>,
    /// Some sum is larger than 64 bits hold, and stands at 2^64 - 1.
    pub clipped: bool,
}

/// How sends and receives fit together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Matching {
    /// Every send has a receive of the same ranks, tag and context, and the other way round.
    #[default]
    Exact,
    /// Each rank receives as often as it is sent to, but some receives leave source or tag open, so that more cannot be said.
    Open,
    /// Each rank receives as often as it is sent to, but not from the same ranks or with the same tags.
    Tags,
    /// This rank is sent to so many times, but receives so many times.
    Count {
        /// The first such rank.
        rank: RankId,
        /// Messages to it.
        sent: u64,
        /// Receives that it posts, from any source too; those from the null process do not count.
        received: u64,
    },
    /// Not known: ranks of communicators other than the world.
    Unknown,
    /// Not known: not all messages were counted, or there are more than 2^64 of them.
    Uncounted,
}

impl fmt::Display for Matching {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact => f.write_str("every send has its receive"),
            Self::Open => {
                f.write_str("as many sends as receives at each rank; some receives take any source or tag")
            }
            Self::Tags => f.write_str(
                "WRONG: as many sends as receives at each rank, but of other ranks or with other tags",
            ),
            Self::Count { rank, sent, received } => {
                write!(f, "WRONG: rank {rank} is sent {sent} messages, but receives {received}")
            }
            Self::Unknown => f.write_str("not looked at: messages in communicators other than the world"),
            Self::Uncounted => f.write_str("not looked at: not all messages were counted"),
        }
    }
}

/// Sends and receives on their way to a [`Matching`]: sums of hashes are equal if the sets are.
struct Balance {
    sent: Column<RankId, u64>,
    received: Column<RankId, u64>,
    sum: u128,
    open: bool,
    unknown: bool,
    clipped: bool,
}

/// Bytes that the count of a rank takes at most.
const ROW: u64 = 48;

impl Balance {
    fn new(ranks: u32) -> Result<Self, Damage> {
        base::memory::takes(u64::from(ranks) * ROW).map_err(Damage)?;
        let zero = Column::filled(ranks as usize, 0);
        Ok(Self { sent: zero.clone(), received: zero, sum: 0, open: false, unknown: false, clipped: false })
    }

    /// Messages of a kind, so many times.
    fn send(&mut self, [from, to]: [RankId; 2], tag: u32, context: u32, times: u64) -> Result<(), Damage> {
        let ranks = self.sent.len();
        let sent = self.sent.cells_mut().get_mut(to.index());
        let sent =
            sent.ok_or_else(|| Damage(format!("rank {from} sends to rank {to}, but there are {ranks}")))?;
        add(sent, times, &mut self.clipped);
        let hash = hash4(from.into(), to.into(), tag.into(), context.into());
        self.sum = self.sum.wrapping_add(hash.wrapping_mul(times.into()));
        Ok(())
    }

    /// Receives of a kind, so many times.
    fn receive(&mut self, [from, to]: [RankId; 2], tag: u32, context: u32, times: u64) {
        add(&mut self.received[to], times, &mut self.clipped);
        self.open |= from == ANY_RANK || tag == ANY_TAG;
        let hash = hash4(from.into(), to.into(), tag.into(), context.into());
        self.sum = self.sum.wrapping_sub(hash.wrapping_mul(times.into()));
    }

    fn matching(&self) -> Matching {
        let both = self.sent.iter().zip(self.received.cells());
        let wrong = both.map(|((rank, &sent), &received)| (rank, sent, received)).find(|(_, s, r)| s != r);
        match wrong {
            _ if self.clipped => Matching::Uncounted,
            _ if self.unknown => Matching::Unknown,
            Some((rank, sent, received)) => Matching::Count { rank, sent, received },
            None if self.open => Matching::Open,
            None if self.sum == 0 => Matching::Exact,
            None => Matching::Tags,
        }
    }
}

impl Census {
    /// Counts everything; reads all of it once. Repetitions that are all the same are multiplied. Of a source with loops no more than [`MOST`] calls
    /// are looked at.
    ///
    /// # Errors
    /// If it is damaged.
    pub fn of(content: &Content) -> Result<Self, Damage> {
        match content {
            Content::Program(program) => Self::of_program(&**program, u64::MAX),
            Content::Script(script) => Self::of_script(&**script, most(content)),
            Content::Graph(graph) => {
                Self::of_program(&*lower_graph(Arc::clone(graph), lower::Options::default()), u64::MAX)
            }
        }
    }

    /// Counts the operations that a source became; of one with loops no more than [`MOST`] at least.
    ///
    /// # Errors
    /// If it is damaged.
    pub fn of_expanded(content: &Content, program: &dyn Program) -> Result<Self, Damage> {
        Self::of_program(program, most(content))
    }

    fn of_program(program: &dyn Program, most: u64) -> Result<Self, Damage> {
        let mut looked = 0;
        let mut census = Self::default();
        let mut balance = Balance::new(program.ranks())?;
        let mut batch = Batch::default();
        for rank in RankId::first(program.ranks()) {
            let (mut cursor, mut peers, mut compute) = (program.open(rank), SortedSet::new(), 0u64);
            loop {
                batch.clear();
                cursor.fill(&mut batch)?;
                if batch.ops.is_empty() || looked >= most {
                    census.ended_after = (!batch.ops.is_empty()).then_some(looked).or(census.ended_after);
                    break;
                }
                looked += batch.ops.len() as u64;
                census.edges += batch.edges.len() as u64;
                for op in &batch.ops {
                    let place =
                        |Damage(m): Damage| Damage(format!("{}: {m}", program.describe(rank, op.origin)));
                    census.operation(rank, op, &mut balance).map_err(place)?;
                    match op.kind {
                        Kind::Send => _ = peers.insert(op.peer),
                        Kind::Calc => add(&mut compute, op.amount, &mut census.clipped),
                        _ => {}
                    }
                    let name =
                        usize::from(op.collective).checked_sub(1).and_then(|i| program.collectives().get(i));
                    if let Some(name) = name {
                        let entry = census.collectives.entry(name.clone()).or_default();
                        entry.0 += 1;
                        if op.kind == Kind::Send {
                            add(&mut entry.1, op.amount, &mut census.clipped);
                            *census.collective_messages.entry(name.clone()).or_default() += 1;
                        }
                    }
                }
            }
            census.compute.push(compute);
            census.peers.push(peers.len() as u32);
            if census.ended_after.is_some() {
                break;
            }
        }
        census.conclude(&balance);
        Ok(census)
    }

    fn conclude(&mut self, balance: &Balance) {
        self.clipped |= balance.clipped;
        let whole = self.ended_after.is_none();
        self.matching = if whole { balance.matching() } else { Matching::Uncounted };
    }

    fn operation(&mut self, rank: RankId, op: &Op, balance: &mut Balance) -> Result<(), Damage> {
        let name = match op.kind {
            Kind::Send => "send",
            Kind::Recv => "recv",
            Kind::Calc => "calc",
            Kind::Join => "join",
            Kind::JoinAny => "join-any",
            Kind::Probe => "probe",
        };
        *self.kinds.entry(name).or_default() += 1;
        match op.kind {
            Kind::Send => {
                self.message(op.amount, 1);
                balance.send([rank, op.peer], op.tag, op.context, 1)?;
            }
            Kind::Recv => balance.receive([op.peer, rank], op.tag, op.context, 1),
            _ => {}
        }
        Ok(())
    }

    /// Messages of a size, so many times.
    fn message(&mut self, bytes: u64, times: u64) {
        let bin = (u64::BITS - bytes.leading_zeros()) as usize;
        if self.sizes.len() <= bin {
            self.sizes.resize(bin + 1, 0);
        }
        add(&mut self.sizes[bin], times, &mut self.clipped);
        self.clipped |= bytes.checked_mul(times).is_none();
        add(&mut self.bytes, bytes.saturating_mul(times), &mut self.clipped);
        self.largest = self.largest.max(bytes);
    }

    fn of_script(script: &dyn Script, most: u64) -> Result<Self, Damage> {
        let mut looked = 0;
        let mut census = Self::default();
        let mut balance = Balance::new(script.ranks())?;
        for rank in RankId::first(script.ranks()) {
            let (mut calls, mut peers, mut compute) = (script.open(rank), SortedSet::new(), 0u64);
            // What persistent requests do when they are started.
            let mut prepared = SortedMap::new();
            while let Some((call, position, times)) = calls.counted()? {
                if looked >= most {
                    census.ended_after = Some(looked);
                    break;
                }
                looked += 1;
                let place = |Damage(m): Damage| Damage(format!("{}: {m}", script.describe(rank, position)));
                add(census.kinds.entry(name(&call)).or_default(), times, &mut census.clipped);
                let mut send = |e: &Envelope, census: &mut Self, balance: &mut Balance| {
                    if e.peer == PROC_NULL {
                        return Ok(());
                    }
                    census.message(e.bytes, times);
                    peers.insert(e.peer);
                    balance.unknown |= e.comm != super::mpi::WORLD;
                    balance.send([rank, e.peer.of_world()], e.tag, e.comm, times)
                };
                let receive = |e: &Envelope, balance: &mut Balance| {
                    if e.peer != PROC_NULL {
                        balance.unknown |= e.comm != super::mpi::WORLD;
                        balance.receive([e.peer.of_world(), rank], e.tag, e.comm, times);
                    }
                };
                match &call {
                    Call::Compute(ps) => {
                        census.clipped |= ps.checked_mul(times).is_none();
                        add(&mut compute, ps.saturating_mul(times), &mut census.clipped);
                    }
                    Call::Send(e, _) | Call::Isend(e, ..) => {
                        send(e, &mut census, &mut balance).map_err(place)?;
                    }
                    Call::Recv(e) | Call::Irecv(e, _) => receive(e, &mut balance),
                    Call::SendRecv(s, r) => {
                        send(s, &mut census, &mut balance).map_err(place)?;
                        receive(r, &mut balance);
                    }
                    Call::SendInit(e, _, r) => _ = prepared.insert(*r, (*e, true)),
                    Call::RecvInit(e, r) => _ = prepared.insert(*r, (*e, false)),
                    Call::Start(list) => {
                        for r in list.iter() {
                            match prepared.get(r) {
                                Some((e, true)) => send(e, &mut census, &mut balance).map_err(place)?,
                                Some((e, false)) => receive(e, &mut balance),
                                None => {}
                            }
                        }
                    }
                    Call::Collective(c) => census.collective(c, times),
                    _ => {}
                }
            }
            census.compute.push(compute);
            census.peers.push(peers.len() as u32);
            if census.ended_after.is_some() {
                break;
            }
        }
        census.conclude(&balance);
        Ok(census)
    }

    fn collective(&mut self, c: &Collective, times: u64) {
        let bytes =
            c.counts.as_ref().map_or(c.bytes, |counts| counts.iter().fold(0, |a, b| a.saturating_add(*b)));
        let entry = self.collectives.entry(collective_name(c.kind).to_owned()).or_default();
        add(&mut entry.0, times, &mut self.clipped);
        self.clipped |= bytes.checked_mul(times).is_none();
        add(&mut entry.1, bytes.saturating_mul(times), &mut self.clipped);
    }

    /// Point-to-point messages that are sent.
    #[must_use]
    pub fn messages(&self) -> u64 {
        self.sizes.iter().fold(0, |sum, n| sum.saturating_add(*n))
    }

    /// What of the numbers is not to be taken as it stands, a line each.
    #[must_use]
    pub fn caveats(&self) -> Vec<String> {
        let ended = self.ended_after.map(|after| {
            format!("what comes after the first {after}: loops have more, and the numbers are of these alone")
        });
        let clipped = "a sum does not fit 64 bits: where 2^64 - 1 or more is due, that number stands";
        ended.into_iter().chain(self.clipped.then(|| clipped.to_owned())).collect()
    }
}

/// Calls or operations of a source that are looked at.
fn most(content: &Content) -> u64 {
    match content {
        Content::Script(script) if script.has_loops() => MOST,
        _ => u64::MAX,
    }
}

fn name(call: &Call) -> &'static str {
    match call {
        Call::Compute(_) => "compute",
        Call::Send(_, Mode::Standard) => "send",
        Call::Send(_, Mode::Synchronous) => "ssend",
        Call::Send(_, Mode::Buffered) => "bsend",
        Call::Isend(_, Mode::Standard, _) => "isend",
        Call::Isend(_, Mode::Synchronous, _) => "issend",
        Call::Isend(_, Mode::Buffered, _) => "ibsend",
        Call::Recv(_) => "recv",
        Call::Irecv(..) => "irecv",
        Call::SendRecv(..) => "sendrecv",
        Call::SendInit(..) => "send_init",
        Call::RecvInit(..) => "recv_init",
        Call::Start(_) => "start",
        Call::RequestFree(_) => "free",
        Call::Wait(_) => "wait",
        Call::Waitall(_) => "waitall",
        Call::Waitany { .. } => "waitany",
        Call::Test { .. } => "test",
        Call::Probe(_) => "probe",
        Call::Collective(_) => "collective",
        Call::CommDup { .. } => "dup",
        Call::CommSplit { .. } => "split",
        Call::CommCreate { .. } => "create",
        Call::CommDefine { .. } => "define",
        Call::CommFree(_) => "free_comm",
        Call::OneSided(call) => one_sided_name(call),
        Call::Mark(_) => "mark",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{input::Input, traces::Scale};

    fn census(text: &str) -> Census {
        let (_, content) = Content::read(&Input::bytes("x", text.as_bytes()), Scale::DEFAULT).unwrap();
        Census::of(&content).unwrap()
    }

    #[test]
    fn graphs() {
        let all = census(
            "num_ranks 3\nrank 0 {\na: send 0b to 1\nb: send 5b to 2\nb requires a\ncalc 7\n}\n\
            rank 1 {\nrecv 0b from 0\n}\nrank 2 {\nrecv 5b from 0\n}\n",
        );
        assert_eq!(all.kinds, SortedMap::from([("calc", 1), ("recv", 2), ("send", 2)]));
        assert_eq!((all.edges, all.bytes, all.largest, all.matching), (1, 5, 5, Matching::Exact));
        assert_eq!((all.sizes, all.compute, all.peers), (vec![1, 0, 0, 1], vec![7_000, 0, 0], vec![2, 0, 0]));
    }

    #[test]
    fn scripts() {
        let all = census(
            "ranks 2\nall {\nrepeat 3 { sendrecv 1 KiB to 1-rank recv 1 KiB from 1-rank }\n\
            send_init 8 B to 1 - rank as s\nrecv_init 8 B from 1 - rank as r\nrepeat 2 { start s r\nwaitall }\n\
            send 1 B to null\nallreduce 8 B\nallgatherv counts [1 B, 2 B]\ncompute 5 us\n}\n",
        );
        assert_eq!((all.kinds["sendrecv"], all.kinds["start"], all.kinds["collective"]), (6, 4, 4));
        assert_eq!((all.bytes, all.matching), (6 * 1024 + 4 * 8, Matching::Exact));
        assert_eq!((all.sizes[4], all.sizes[11]), (4, 6));
        assert_eq!(
            all.collectives,
            SortedMap::from([("allgatherv".into(), (2, 6)), ("allreduce".into(), (2, 16))])
        );
        assert_eq!((all.compute, all.peers), (vec![5_000_000; 2], vec![1; 2]));
    }

    /// Loops are multiplied, whatever their counts: every kind of body gives what running it gives.
    #[test]
    fn loops_are_multiplied() {
        // Lines are written with semicolons between them.
        let census = |text: &str| census(&text.replace(';', "\n"));
        let bodies = [
            "send 3 B to 1 - rank; recv 3 B from 1 - rank; compute 2 ns; allreduce 8 B",
            "isend 1 B to 1 - rank; irecv 1 B from 1 - rank; waitall",
            "isend 1 B to 1 - rank as a; irecv 1 B from 1 - rank as b; wait a; wait b",
            "sendrecv (i) B to 1 - rank recv (i) B from 1 - rank",
            "repeat 5 {; send 1 B to 1 - rank; }; repeat 5 as j {; recv 1 B from 1 - rank tag j; }",
            "repeat 4 as j {; repeat j {; sendrecv 8 B to 1 - rank recv 8 B from 1 - rank; }; }",
            "repeat i {; sendrecv 8 B to 1 - rank recv 8 B from 1 - rank; }",
            "dup world as c; barrier comm c; free_comm c",
            "send_init 8 B to 1 - rank as s; start s; wait s; free s; recv 8 B from 1 - rank",
            "mark \"x\"; repeat 0 {; barrier; }; compute 1 ns",
        ];
        for body in bodies {
            let text = |first: &str| format!("ranks 2;all {{;repeat 7 as i {{;{first};{body};}};}};");
            let fast = census(&text("barrier"));
            // A variable that is asked for keeps each repetition its own.
            let mut slow = census(&text("barrier;send (i) B to null"));
            *slow.kinds.entry("send").or_default() -= 14;
            slow.kinds.retain(|_, n| *n > 0);
            assert_eq!(fast, slow, "{body}");
            assert!(fast.caveats().is_empty());
        }
        let many = census(
            "ranks 2\nall {\nrepeat 1000000000000 { sendrecv 1 KiB to 1 - rank recv 1 KiB from 1 - rank }\n}\n",
        );
        assert_eq!((many.kinds["sendrecv"], many.bytes), (2_000_000_000_000, 2_048_000_000_000_000));
        assert_eq!((many.matching, many.caveats().len()), (Matching::Exact, 0));
        // Sums end, and say so.
        let loops = "repeat 1000000000000 {;repeat 1000000000000 {;compute 1 s;send 1 MiB to 1 - rank;};}";
        let sums = census(&format!("ranks 2\nall {{\n{loops}\n}}\n"));
        assert_eq!((sums.bytes, sums.matching), (u64::MAX, Matching::Uncounted));
        assert!(sums.clipped && sums.caveats()[0].contains("64 bits"), "{sums:?}");
    }

    /// What cannot be multiplied is counted up to a number, and the census says so.
    #[test]
    fn counting_ends() {
        let text = "ranks 2\nall {\nrepeat 1000000000000 as i { send (i % 9) B to 1 - rank }\n}\n";
        let (_, content) = Content::read(&Input::bytes("x", text.as_bytes()), Scale::DEFAULT).unwrap();
        assert_eq!(most(&content), MOST);
        let Content::Script(script) = &content else { panic!("calls") };
        let some = Census::of_script(&**script, 1000).unwrap();
        assert_eq!((some.kinds["send"], some.ended_after), (1000, Some(1000)));
        assert!(some.caveats()[0].contains("first 1000"), "{some:?}");
        assert_eq!(some.matching, Matching::Uncounted);
        let program = content.clone().program(&Input::bytes("x", b""), lower::Options::default()).unwrap();
        let some = Census::of_program(&*program, 5000).unwrap();
        assert!(some.ended_after.is_some_and(|n| n >= 5000), "{some:?}");
    }

    #[test]
    fn ranks_that_do_not_fit_are_not_counted() {
        let text = b"ranks 67108864\nall {\n barrier\n}\n";
        let (_, content) = Content::read(&Input::bytes("x", text), Scale::DEFAULT).unwrap();
        let (census, said) = base::memory::within(Some(1 << 20), || Census::of(&content));
        assert!(census.is_err_and(|e| e.0.contains("takes 3.0 GiB")) && said.is_some());
    }

    #[test]
    fn a_send_to_nobody_is_reported() {
        let error = Balance::new(2).unwrap().send([RankId::new(0), RankId::new(5)], 0, 0, 1).unwrap_err();
        assert_eq!(error.0, "rank 0 sends to rank 5, but there are 2");
        let (_, content) =
            Content::read(&Input::bytes("x", b"0 init\n0 send 7 0 8\n1 init\n"), Scale::DEFAULT).unwrap();
        let error = Census::of(&content).unwrap_err();
        assert_eq!(error.0, "x:2: rank 0 sends to rank 7, but there are 2");
    }

    #[test]
    fn what_does_not_fit_together() {
        let of = |one: &str, two: &str| {
            census(&format!("num_ranks 2\nrank 0 {{\n{one}\n}}\nrank 1 {{\n{two}\n}}\n")).matching
        };
        assert_eq!(of("send 1b to 1 tag 1", "recv 1b from 0 tag 1"), Matching::Exact);
        assert_eq!(of("send 1b to 1 tag 1", "recv 1b from 0 tag 2"), Matching::Tags);
        assert_eq!(of("send 1b to 1 tag 1", "recv 1b from -1 tag 2"), Matching::Open);
        let count = Matching::Count { rank: RankId::new(1), sent: 1, received: 0 };
        assert_eq!(of("send 1b to 1 tag 1", ""), count);
        assert_eq!(
            census("ranks 2\nall {\ndup world as c\nsend 1 B to 0 comm c\n}").matching,
            Matching::Unknown
        );
    }
}
