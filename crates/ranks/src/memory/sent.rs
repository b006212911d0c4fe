//! What jobs send at most in the time of a run: read from their sources, which are pure, before it begins.

use super::some;
use base::{
    index::{RankId, TerminalId},
    time::Ps,
};
use model::setup::{JobSetup, Measure, Until};
use workload::{
    program::{Batch, Kind, Op, Program, mpi::Mode},
    registry::Work,
    traffic::{Message, Traffic},
};

/// How messages are cut.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// Payload of a packet in bytes.
    pub packet: u64,
    /// Bytes of a chunk.
    pub chunk: u64,
    /// Programs: largest message that is sent without asking. A larger one has a request and a grant beside.
    pub eager: u64,
}

impl Cut {
    /// Not at all: a message is a packet of one chunk, and none is asked for.
    pub const WHOLE: Self = Self { packet: u64::MAX, chunk: u64::MAX, eager: u64::MAX };

    /// True if a send asks before its message goes. Synchronous ones do whatever their size.
    pub(super) fn asks(self, op: &Op) -> bool {
        op.amount > self.eager || op.mode == Mode::Synchronous
    }
}

/// Messages of jobs, cut.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sent {
    /// Messages, requests and grants included.
    pub messages: u64,
    /// Packets of them.
    pub packets: u64,
    /// Chunks of them.
    pub chunks: u64,
    /// Bytes of them; an empty message counts as one.
    pub bytes: u64,
    /// Pairs of ranks that send to each other, one direction each.
    pub pairs: u64,
    /// Operations of programs.
    pub operations: u64,
    /// Chunks between nodes that are far from each other.
    pub far: u64,
    /// Messages that ranks create at one time, each at its worst; not of programs.
    pub at_once: u64,
    /// Of a program that is too long to be read whole: some ranks stand for all.
    pub long: bool,
}

/// Which ends are far from each other, if that is asked.
pub type Far<'a> = &'a dyn Fn(TerminalId, TerminalId) -> bool;

/// Messages that are read at most of a job: some milliseconds.
const READ: u64 = 1 << 16;

/// Operations that are read at most of a program.
const OPERATIONS: u64 = 1 << 19;

/// Messages that are read of a rank at least, before the rest is estimated.
const LEAST: u64 = 1 << 10;

/// Ranks that are read to see how dear one is.
pub(super) const FEW: u32 = 8;

impl Sent {
    /// Adds a message.
    fn add(&mut self, bytes: u64, cut: Cut, far: bool) {
        let whole = bytes / cut.packet;
        let rest = bytes % cut.packet;
        let last = u64::from(rest > 0 || whole == 0);
        self.messages += 1;
        self.packets = self.packets.saturating_add(whole + last);
        let chunks = whole.saturating_mul(cut.packet.div_ceil(cut.chunk));
        let chunks = chunks.saturating_add(last * rest.div_ceil(cut.chunk).max(1));
        self.chunks = self.chunks.saturating_add(chunks);
        self.far = self.far.saturating_add(if far { chunks } else { 0 });
        self.bytes = self.bytes.saturating_add(bytes.max(1));
        debug_assert!(self.packets <= self.chunks, "a packet is a chunk at least");
    }

    /// Adds the messages of a send.
    pub(super) fn send(&mut self, op: &Op, cut: Cut, far: bool) {
        self.add(op.amount, cut, far);
        if cut.asks(op) {
            (0..2).for_each(|_| self.add(1, cut, far));
        }
    }

    /// Less these messages, if it has them.
    pub(super) fn without(self, other: Self) -> Self {
        Self {
            messages: self.messages.saturating_sub(other.messages),
            packets: self.packets.saturating_sub(other.packets),
            chunks: self.chunks.saturating_sub(other.chunks),
            bytes: self.bytes.saturating_sub(other.bytes),
            ..self
        }
    }

    /// Adds what others send.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            messages: self.messages.saturating_add(other.messages),
            packets: self.packets.saturating_add(other.packets),
            chunks: self.chunks.saturating_add(other.chunks),
            bytes: self.bytes.saturating_add(other.bytes),
            pairs: self.pairs.saturating_add(other.pairs),
            operations: self.operations.saturating_add(other.operations),
            far: self.far.saturating_add(other.far),
            at_once: self.at_once.saturating_add(other.at_once),
            long: self.long || other.long,
        }
    }

    /// So many times as much, rounded up.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        debug_assert!(factor >= 0.0, "nobody sends less than nothing");
        let times = |n: u64| (n as f64 * factor).ceil() as u64;
        Self {
            messages: times(self.messages),
            packets: times(self.packets),
            chunks: times(self.chunks),
            bytes: times(self.bytes),
            pairs: times(self.pairs),
            operations: times(self.operations),
            far: times(self.far),
            at_once: times(self.at_once),
            long: self.long,
        }
    }
}

/// What a job sends until then; `None` where answers decide it, where routers copy messages, or where even a rank of a program is too long to be read and nothing says how long.
///
/// Sources that are not read to the end are taken to go on at their mean rate, and ranks that are not read to be like those that are, four
/// standard errors above their mean.
#[must_use]
pub fn sent(job: &JobSetup, until: Ps, cut: Cut, far: Far<'_>) -> Option<Sent> {
    match &job.work {
        Work::Program(program) => {
            let place = |rank: RankId| job.placement.get(rank.index()).copied();
            of_program(&**program, cut, &|a, b| place(a).zip(place(b)).is_none_or(|(a, b)| far(a, b)))
        }
        Work::Traffic(traffic) => {
            let answers = traffic.closed_loop() || traffic.members(RankId::new(0)).is_some();
            (!answers).then(|| of_traffic(&**traffic, job, until.saturating_sub(job.start), cut, far))
        }
    }
}

/// Bytes of what is kept of the operations of programs for tables and time lines; 0 if nothing is kept of them. Programs of which a rank is too long to be read, and that do
/// not know how many they have, count as nothing.
#[must_use]
pub fn recorded(jobs: &[JobSetup], kept: bool) -> u64 {
    /// An operation: its row, that of its message, columns of both, and its text in time lines, which is kept twice while it is written.
    const OPERATION: u64 = 800;
    let programs = jobs.iter().filter(|_| kept).filter_map(|job| job.work.program());
    let count = |p: &dyn Program| {
        p.total().or_else(|| of_program(p, Cut::WHOLE, &|_, _| true).map(|sent| sent.operations))
    };
    programs.fold(0, |sum, p| sum.saturating_add(count(&**p).unwrap_or(0).saturating_mul(OPERATION)))
}

/// Bytes of the tables of messages and of pairs that are asked for, of models that know no packets: rows in the run, and columns. What is not known beforehand counts as nothing, as
/// in [`sent`].
#[must_use]
pub fn listed(jobs: &[JobSetup], until: Ps, measure: &Measure) -> u64 {
    /// A message: a row that is gathered, its copy that is sorted, its place in columns.
    const MESSAGE: u64 = 160;
    /// A pair: its sums in a map, and its place in columns.
    const PAIR: u64 = 256;
    if !(measure.messages || measure.pairs) {
        return 0;
    }
    let all = jobs
        .iter()
        .filter_map(|job| sent(job, until, Cut::WHOLE, &|_, _| true))
        .fold(Sent::default(), Sent::and);
    let of = |asked: bool, count: u64, bytes: u64| if asked { count.saturating_mul(bytes) } else { 0 };
    of(measure.messages, all.messages, MESSAGE).saturating_add(of(measure.pairs, all.pairs, PAIR))
}

/// True if tables are asked for whose rows no prediction counts: of messages that answers decide, of copies that routers make, of programs of which a rank is too long to be
/// read, and of windows where the workload ends the run.
#[must_use]
pub fn is_unknown(jobs: &[JobSetup], until: Until, measure: &Measure) -> bool {
    let (Until::Time(end) | Until::WorkloadDone { limit: end }) = until;
    let is_read = |job: &JobSetup| sent(job, end, Cut::WHOLE, &|_, _| true).is_some();
    let is_listed = measure.packets || measure.messages || measure.pairs;
    let unknown = |job: &JobSetup| match job.work.program() {
        Some(program) if !is_listed => measure.operations && program.total().is_none() && !is_read(job),
        _ => is_listed && !is_read(job),
    };
    let ends_with_work = matches!(until, Until::WorkloadDone { .. });
    (measure.window > 0 && ends_with_work && !jobs.is_empty()) || jobs.iter().any(unknown)
}

fn of_program(program: &dyn Program, cut: Cut, far: &dyn Fn(RankId, RankId) -> bool) -> Option<Sent> {
    let (mut all, mut left) = (Sent::default(), OPERATIONS);
    for rank in RankId::first(program.ranks()) {
        let (sent, ended) = of_script(program, rank, cut, left, &|to| far(rank, to));
        all = all.and(sent);
        if !ended || (all.operations > OPERATIONS && rank.number() + 1 < program.ranks()) {
            // It may know how many there are.
            let known = program.total().map(|total| all.times(total as f64 / all.operations as f64));
            return known.or_else(|| some_ranks(program, cut, far));
        }
        left = left.saturating_sub(sent.operations);
    }
    Some(all)
}

/// The same by some ranks that are read to their end; `None` if one of them is too long: what others send says nothing of it.
fn some_ranks(program: &dyn Program, cut: Cut, far: &dyn Fn(RankId, RankId) -> bool) -> Option<Sent> {
    let ended = |rank: RankId| {
        let (sent, ended) = of_script(program, rank, cut, OPERATIONS / 4, &|to| far(rank, to));
        ended.then_some(sent)
    };
    let read = |many: u32| some::asked(program.ranks(), many).map(ended).collect::<Option<Vec<_>>>();
    let dear = read(FEW)?.iter().map(|sent| sent.operations).max().unwrap_or(0).max(1);
    let many = (OPERATIONS / dear).clamp(u64::from(FEW), u64::from(some::ASKED)) as u32;
    Some(Sent { long: true, ..extrapolated(&read(many)?, program.ranks()) })
}

/// What a rank of a program sends within so many operations, and whether these are all.
fn of_script(
    program: &dyn Program,
    rank: RankId,
    cut: Cut,
    most: u64,
    far: &dyn Fn(RankId) -> bool,
) -> (Sent, bool) {
    let (mut sent, mut batch) = (Sent::default(), Batch::default());
    let (mut cursor, mut peers) = (program.open(rank), Vec::new());
    loop {
        batch.clear();
        // What is damaged is told by the run.
        let ended = cursor.fill(&mut batch).is_err() || batch.ops.is_empty();
        if ended || sent.operations > most {
            // A grant goes the other way.
            sent.pairs = 2 * distinct(peers);
            return (sent, ended);
        }
        sent.operations += batch.ops.len() as u64;
        for op in batch.ops.iter().filter(|op| op.kind == Kind::Send) {
            sent.send(op, cut, far(op.peer));
            peers.push(op.peer);
        }
    }
}

/// What so many ranks send, of whom these are some: four standard errors above their mean.
fn extrapolated(some: &[Sent], ranks: u32) -> Sent {
    let sum = some.iter().fold(Sent::default(), |sum, &sent| sum.and(sent));
    let (asked, all) = (some.len() as f64, f64::from(ranks));
    if asked >= all {
        return sum;
    }
    let above = |count: fn(&Sent) -> u64| {
        let counts: Vec<f64> = some.iter().map(|sent| count(sent) as f64).collect();
        some::above(&counts, ranks)
    };
    let above = above(|sent| sent.chunks).max(above(|sent| sent.operations));
    sum.times(above * all / asked)
}

fn of_traffic(traffic: &dyn Traffic, job: &JobSetup, until: Ps, cut: Cut, far: Far<'_>) -> Sent {
    let ranks = job.placement.len() as u32;
    let each = (READ / u64::from(ranks.max(1))).max(LEAST);
    let of = |rank: RankId| {
        let from = job.placement[rank.index()];
        let far = |to: RankId| job.placement.get(to.index()).is_none_or(|&to| far(from, to));
        of_rank(traffic, rank, until, each, cut, ranks, &far)
    };
    let dear = some::asked(ranks, FEW).map(|rank| of(rank).1).max().unwrap_or(0).max(1);
    let many = (READ / dear).clamp(u64::from(some::ASKED), u64::from(u32::MAX)) as u32;
    let all: Vec<Sent> = some::asked(ranks, many).map(|rank| of(rank).0).collect();
    extrapolated(&all, ranks)
}

/// What a rank sends until then, and how many messages were read.
fn of_rank(
    traffic: &dyn Traffic,
    rank: RankId,
    until: Ps,
    most: u64,
    cut: Cut,
    ranks: u32,
    far: &dyn Fn(RankId) -> bool,
) -> (Sent, u64) {
    let (mut sent, mut peers, mut last) = (Sent::default(), Vec::new(), 0);
    let (mut at_once, mut same) = (0, 0);
    let mut block = [Message::default(); 64];
    while sent.messages < most {
        let count = traffic.messages(rank, sent.messages, last, &mut block);
        let before = block[..count].iter().take_while(|m| m.time <= until);
        let mut taken = 0;
        for message in before {
            sent.add(message.bytes, cut, far(message.destination));
            peers.push(message.destination);
            same = if message.time == last { same + 1 } else { 1 };
            at_once = at_once.max(same);
            (last, taken) = (message.time, taken + 1);
        }
        if taken < block.len() {
            (sent.pairs, sent.at_once) = (distinct(peers), at_once);
            return (sent, sent.messages);
        }
    }
    let read = sent.messages;
    let more = until as f64 / last.max(1) as f64;
    let seen = distinct(peers);
    let rest = sent.times(more.max(1.0));
    // Few partners many times each: these are all.
    let pairs = if seen * 8 < read { seen } else { rest.messages.min(u64::from(ranks)) };
    // What comes at one time goes to others, and may go on beyond those that were read.
    let at_once = if same == read { u64::from(ranks) } else { at_once };
    (Sent { pairs, at_once, ..rest }, read)
}

fn distinct(mut peers: Vec<RankId>) -> u64 {
    peers.sort_unstable();
    peers.dedup();
    peers.len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::samples::open_loop;
    use std::sync::Arc;
    use workload::program::{
        Cursor, Damage, Op,
        list::{List, Rank, calc, recv, send},
    };

    /// Each rank sends this many bytes every ten picoseconds to the rank after the one before; every other rank stops after so many messages.
    fn beat(ranks: u32, bytes: u64, odd: u64) -> Work {
        open_loop(move |rank, index, _| {
            let to = (u64::from(rank.number()) + 1 + index) % u64::from(ranks);
            let goes_on = rank.number().is_multiple_of(2) || index < odd;
            let (time, destination) = (10 * (index + 1), RankId::new(to as u32));
            goes_on.then_some(Message { time, destination, bytes })
        })
    }

    fn of(ranks: u32, bytes: u64, odd: u64, until: Ps) -> Sent {
        let job = JobSetup {
            name: "job".to_owned(),
            work: beat(ranks, bytes, odd),
            placement: (0..ranks).map(TerminalId::new).collect(),
            message: None,
            start: 0,
            compute_ppb: JobSetup::COMPUTE_AS_IS,
        };
        sent(&job, until, Cut { packet: 100, chunk: 10, eager: 0 }, &|_, _| true).expect("it answers nothing")
    }

    /// Of programs operations count, and messages above the eager limit are asked for and granted.
    #[test]
    fn operations_of_programs_are_counted() {
        let (mut from, mut to) = (Rank::default(), Rank::default());
        [calc(5), send(1, 250, 0), send(1, 40, 0)].into_iter().for_each(|op| _ = from.push(op));
        [recv(0, 250, 0), recv(0, 40, 0)].into_iter().for_each(|op| _ = to.push(op));
        let program = List::new(vec![from, to]);
        let of = |eager| {
            of_program(&program, Cut { packet: 100, chunk: 10, eager }, &|_, _| true).expect("it is short")
        };
        let all = of(1000);
        assert_eq!((all.operations, all.messages, all.packets, all.bytes), (5, 2, 4, 290));
        let asked = of(100);
        assert_eq!((asked.operations, asked.messages, asked.pairs), (5, 4, 2));
        let mut synchronous = Rank::default();
        _ = synchronous.push(Op { mode: Mode::Synchronous, ..send(1, 40, 0) });
        let mut receiver = Rank::default();
        _ = receiver.push(recv(0, 40, 0));
        let program = List::new(vec![synchronous, receiver]);
        let asked = of_program(&program, Cut { packet: 100, chunk: 10, eager: 1000 }, &|_, _| true)
            .expect("it is short");
        assert_eq!(asked.messages, 3, "a synchronous send asks below the threshold, too");
    }

    /// A program that does not say how long it is.
    struct Silent(Arc<List>);

    /// Its ranks, and ranks that never end.
    enum Read {
        Listed(Box<dyn Cursor>),
        Endless,
    }

    impl Cursor for Read {
        fn fill(&mut self, batch: &mut Batch) -> Result<(), Damage> {
            match self {
                Self::Listed(cursor) => cursor.fill(batch)?,
                Self::Endless => batch.ops.extend([calc(5); 64]),
            }
            Ok(())
        }
    }

    impl Program for Silent {
        fn ranks(&self) -> u32 {
            self.0.ranks().max(1)
        }

        fn open(&self, rank: RankId) -> Box<dyn Cursor> {
            Box::new(if self.0.ranks() > 0 { Read::Listed(self.0.open(rank)) } else { Read::Endless })
        }

        fn describe(&self, rank: RankId, origin: u32) -> String {
            self.0.describe(rank, origin)
        }
    }

    /// Of a long program some ranks are read: all operations are found, and messages too, though ranks differ. One of which no rank is read to its end is unknown.
    #[test]
    fn long_programs_are_estimated() {
        let program = |ranks: u32, each: u32| {
            let ranks = (0..ranks).map(|r| {
                let mut rank = Rank::default();
                (0..each)
                    .for_each(|n| _ = rank.push(if n % (2 + r % 2) == 0 { send(1, 8, 0) } else { calc(5) }));
                rank
            });
            Silent(Arc::new(List::new(ranks.collect())))
        };
        let cut = Cut { packet: 100, chunk: 10, eager: 1000 };
        let found = of_program(&program(600, 2000), cut, &|_, _| true).expect("its ranks are short");
        let within = |found: u64, real: f64| (1.0..1.25).contains(&(found as f64 / real));
        assert!(found.long && within(found.operations, 1.2e6), "{found:?}");
        assert!(within(found.messages, 300.0 * 2000.0 * (1.0 / 2.0 + 1.0 / 3.0)), "{found:?}");
        assert!(!of_program(&program(100, 2000), cut, &|_, _| true).expect("it is short").long);
        let endless = || program(0, 0);
        assert_eq!(of_program(&endless(), cut, &|_, _| true), None);
        let job = |program| JobSetup {
            name: "job".to_owned(),
            work: Work::Program(Arc::new(program)),
            placement: (0..2).map(TerminalId::new).collect(),
            message: None,
            start: 0,
            compute_ppb: JobSetup::COMPUTE_AS_IS,
        };
        let asked = Measure { operations: true, ..Measure::default() };
        assert!(is_unknown(&[job(endless())], Until::Time(100), &asked));
        assert!(!is_unknown(&[job(program(2, 100))], Until::Time(100), &asked));
        assert!(!is_unknown(&[job(endless())], Until::Time(100), &Measure::default()));
    }

    /// Few ranks are read whole, and what is sent at the end itself counts: ten messages of three packets each, of 10, 10 and 5 chunks.
    #[test]
    fn few_ranks_are_counted() {
        let all = of(4, 250, u64::MAX, 100);
        assert_eq!((all.messages, all.packets, all.chunks, all.bytes), (40, 120, 1000, 10_000));
        assert_eq!((all.far, all.operations), (1000, 0));
        assert_eq!(of(4, 250, u64::MAX, 99).messages, 36);
        let (one, two) = (Sent { operations: 3, pairs: 5, ..all }, Sent { operations: 4, pairs: 6, ..all });
        assert_eq!((one.and(two).operations, one.and(two).pairs, one.and(two).bytes), (7, 11, 20_000));
    }

    /// Of many ranks some are read: what all send is more than estimated hardly ever, and never much less.
    #[test]
    fn many_ranks_are_estimated_closely() {
        let (ranks, until) = (1 << 17, 20);
        let real = f64::from(ranks) * 1.5;
        let found = of(ranks, 100_000, 1, until).messages as f64 / real;
        assert!((1.0..1.03).contains(&found), "{found} times what is sent");
    }

    /// A rank that is not read to its end has as many partners as messages, and no more than there are ranks.
    #[test]
    fn partners_are_as_many_as_messages_or_ranks() {
        let pairs = |messages: u64| of(3000, 1, u64::MAX, 10 * messages).pairs;
        assert_eq!(pairs(2000), 3000 * 2000);
        assert_eq!(pairs(5000), 3000 * 3000);
    }
}
