//! How many operations ranks have open at a time, and messages under way: some ranks are read, and nothing is over before something must wait for it.
//!
//! So a rank that posts all it has and waits for it in the end has all of it open. A rank that waits for each receive has two messages under way: the one after the receive, and the
//! one before, which others may not have taken yet. Messages that wait longer, because ranks that should take them are far behind, are not foreseen.

use super::{
    sent::{Cut, FEW, Sent},
    some,
};
use base::index::RankId;
use model::setup::JobSetup;
use std::collections::{BTreeSet, VecDeque};
use workload::program::{After, Batch, Kind, Op, Program};

/// Operations that are read of all ranks, and at most of one.
const READ: u64 = 1 << 19;
const OF_RANK: u64 = READ / FEW as u64;

/// Operations of a rank that are read if it posts many messages and waits for none: it may post all it has.
const POSTED: u64 = 1 << 19;

/// The same of all such ranks together: a second or so.
const ALL_POSTED: u64 = 1 << 21;

/// Messages that are many.
const MANY: u64 = 1 << 10;

/// Operations of a rank that are never exceeded by much, whatever is read.
const LEAST_OPEN: u64 = 16;

/// What is open of all ranks at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Open {
    /// Operations that are read and not over, with the batch that is read next.
    pub operations: u64,
    /// Messages that are sent, and of which nobody knows that they have arrived.
    pub messages: u64,
    /// Packets and chunks of them, those included that ask and answer first.
    pub packets: u64,
    /// The same in chunks.
    pub chunks: u64,
    /// Pairs of ranks of which one sends to the other, not only at a time.
    pub pairs: u64,
}

/// What a program has open at a time, all ranks at their worst, if its messages are cut so.
///
/// Of many ranks some stand for all, four standard errors above their mean, and no more than the largest of them; but the first for itself. Of long ranks the beginning stands for the rest.
#[must_use]
pub fn open(program: &dyn Program, cut: Cut) -> Open {
    let few: Vec<u64> =
        some::asked(program.ranks(), FEW).map(|rank| of_rank(program, rank, cut, 0).read).collect();
    let dear = (few.iter().sum::<u64>() / few.len().max(1) as u64).max(1);
    // All ranks of a short program: few may be unlike the others. Of a long one as many as can be read, from all over it.
    let most =
        if dear.saturating_mul(program.ranks().into()) <= READ { program.ranks() } else { some::ASKED };
    let many = ((READ / dear) as u32).clamp((2 * FEW).min(most), most);
    let ranks = || some::asked(program.ranks(), many);
    let mut all: Vec<Asked> = ranks().map(|rank| of_rank(program, rank, cut, 0)).collect();
    // Those that were left in the midst of posting share what may be read besides.
    let posting = all.iter().filter(|asked| asked.posts).count() as u64;
    for (rank, asked) in ranks().zip(&mut all).filter(|(_, asked)| asked.posts) {
        *asked = of_rank(program, rank, cut, POSTED.min(ALL_POSTED / posting));
    }
    // The first is asked in any case, and is often one of its kind: a root, a corner.
    let whole = |count: fn(&Open) -> u64| {
        let counts: Vec<f64> = all.iter().map(|asked| count(&asked.open) as f64).collect();
        let [first, others @ ..] = &counts[..] else { return 0 };
        let largest = others.iter().copied().fold(0.0, f64::max);
        let mean = others.iter().sum::<f64>() / others.len().max(1) as f64;
        let of = program.ranks() - 1;
        let each = (mean * some::above(others, of)).min(largest);
        (first + each * f64::from(of)).ceil() as u64
    };
    Open {
        operations: whole(|open| open.operations.max(LEAST_OPEN)),
        messages: whole(|open| open.messages),
        packets: whole(|open| open.packets),
        chunks: whole(|open| open.chunks),
        pairs: whole(|open| open.pairs),
    }
}

/// The same of each of these jobs; nothing of those that are no programs.
#[must_use]
pub fn of_jobs(jobs: &[JobSetup], cut: Cut) -> Vec<Open> {
    jobs.iter().map(|job| job.work.program().map_or_else(Open::default, |p| open(&**p, cut))).collect()
}

/// A rank as far as it was read.
struct Asked {
    open: Open,
    /// How many of its operations were read.
    read: u64,
    /// It goes on, and was left in the midst of posting many messages.
    posts: bool,
}

/// What a rank has open: it is read up to [`OF_RANK`], and for so many operations more while it posts many messages.
fn of_rank(program: &dyn Program, rank: RankId, cut: Cut, more: u64) -> Asked {
    let mut reader = Reader::new(cut);
    let mut cursor = program.open(rank);
    let mut batch = Batch::default();
    // What is damaged is told by the run.
    let mut ended = false;
    while !ended && reader.read < OF_RANK + if reader.posts() { more } else { 0 } {
        batch.clear();
        ended = cursor.fill(&mut batch).is_err() || batch.ops.is_empty();
        if !ended {
            reader.batch(&batch);
        }
    }
    let open = Open { pairs: reader.peers.len() as u64, ..reader.most };
    Asked { open, read: reader.read, posts: !ended && reader.posts() }
}

/// A rank as far as it is read.
struct Reader {
    cut: Cut,
    read: u64,
    /// Operations of the batch before: their rows go back when the next one is read.
    last: u64,
    /// Operations that started and are not over.
    started: Started,
    /// To whom it sends.
    peers: BTreeSet<RankId>,
    /// Sent since a receive was waited for, and between that and the one before.
    now: Sent,
    before: Sent,
    most: Open,
}

impl Reader {
    fn new(cut: Cut) -> Self {
        let (started, peers) = (Started::default(), BTreeSet::new());
        let (now, before) = (Sent::default(), Sent::default());
        Self { cut, read: 0, last: 0, started, peers, now, before, most: Open::default() }
    }

    /// In the midst of posting more messages than at any time before, or half as many.
    fn posts(&self) -> bool {
        self.now.messages >= MANY.max(self.most.messages / 2)
    }

    fn batch(&mut self, batch: &Batch) {
        let first = self.read;
        let (open, new) = (self.started.open, batch.ops.len() as u64);
        self.most.operations = self.most.operations.max(open.max(self.last) + new);
        self.last = new;
        let mut edges =
            batch.edges.iter().filter(|edge| !edge.on_start).map(|e| (e.after, e.before)).collect::<Vec<_>>();
        edges.sort_unstable();
        let mut edges = edges.into_iter().peekable();
        for (n, op) in (first..).zip(&batch.ops) {
            while let Some((_, before)) = edges.next_if(|&(after, _)| after <= n) {
                self.finish(before);
            }
            if op.after == After::Finish && n > 0 {
                self.finish(n - 1);
            }
            match op.kind {
                Kind::Send => {
                    self.now.send(op, self.cut, true);
                    self.peers.insert(op.peer);
                }
                Kind::Recv | Kind::Probe => {}
                // What computes is over before long.
                Kind::Calc | Kind::Join | Kind::JoinAny => continue,
            }
            self.started.add(n, *op);
            let (most, sum) = (&mut self.most, self.before.and(self.now));
            most.messages = most.messages.max(sum.messages);
            most.packets = most.packets.max(sum.packets);
            most.chunks = most.chunks.max(sum.chunks);
        }
        self.read += batch.ops.len() as u64;
        debug_assert!(self.started.open <= self.read, "what started was read");
    }

    /// Something waits for it.
    fn finish(&mut self, number: u64) {
        let Some(op) = self.started.take(number) else { return };
        match op.kind {
            // Several that are waited for together are one step.
            Kind::Recv if self.now.messages > 0 => (self.before, self.now) = (self.now, Sent::default()),
            // It has arrived.
            Kind::Send if self.cut.asks(&op) => {
                let mut arrived = Sent::default();
                arrived.send(&op, self.cut, true);
                self.now = self.now.without(arrived);
            }
            _ => {}
        }
    }
}

/// Operations by number, added in ascending order: a queue from the first that is not over, in which the others leave gaps.
#[derive(Default)]
struct Started {
    /// Number of the queue's first.
    first: u64,
    queue: VecDeque<Option<Op>>,
    /// How many are not over.
    open: u64,
}

impl Started {
    fn add(&mut self, number: u64, op: Op) {
        if self.queue.is_empty() {
            self.first = number;
        }
        let gap = (number - self.first) as usize;
        debug_assert!(gap >= self.queue.len(), "numbers ascend");
        self.queue.resize(gap, None);
        self.queue.push_back(Some(op));
        self.open += 1;
    }

    fn take(&mut self, number: u64) -> Option<Op> {
        let op = self.queue.get_mut(number.checked_sub(self.first)? as usize)?.take()?;
        self.open -= 1;
        while let Some(None) = self.queue.front() {
            self.queue.pop_front();
            self.first += 1;
        }
        Some(op)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::rng::{Purpose, Stream};
    use std::collections::BTreeMap;
    use workload::program::list::{List, Rank, calc, recv, send};

    const CUT: Cut = Cut { packet: 1000, chunk: 100, eager: 500 };

    /// Ranks that are alike.
    fn of(ranks: u32, rank: impl Fn(u32) -> Rank) -> Open {
        open(&List::new((0..ranks).map(rank).collect()).in_batches(64), CUT)
    }

    /// The queue against a plain map.
    #[test]
    fn what_started_is_a_map() {
        for seed in 0..40 {
            let mut draw = Stream::new(seed, Purpose::Test, 0);
            let (mut started, mut naive, mut next) = (Started::default(), BTreeMap::new(), 0);
            for _ in 0..1000 {
                next += 1 + draw.below(3);
                let op = send(1, next, 0);
                started.add(next, op);
                naive.insert(next, op);
                let number = next.saturating_sub(draw.below(1 + 40 * (seed % 3)));
                assert_eq!(started.take(number), naive.remove(&number), "seed {seed}: {number}");
                assert_eq!(started.open, naive.len() as u64, "seed {seed}");
            }
        }
    }

    /// Each posts its receives and sends, and waits for all of them before it computes: all are open, and all messages under way.
    #[test]
    fn what_is_waited_for_in_the_end_is_open_until_then() {
        let posts = |count: u32| {
            move |_: u32| {
                let mut rank = Rank::default();
                for n in 0..count {
                    for op in [recv(1 + n % 2, 300, n), send(1 + n % 2, 300, n)] {
                        rank.push(Op { after: After::Nothing, ..op });
                    }
                }
                let last = rank.push(Op { after: After::Nothing, ..calc(5) });
                (0..last).for_each(|before| rank.requires(last, before));
                (0..100).for_each(|_| _ = rank.push(calc(1)));
                rank
            }
        };
        let found = of(3, posts(400));
        assert!((3 * 800..=3 * 901).contains(&found.operations), "{found:?}");
        let expected =
            Open { operations: found.operations, messages: 1200, packets: 1200, chunks: 3600, pairs: 6 };
        assert_eq!(found, expected);
    }

    /// A rank that waits for each message has two under way, however many it sends; one that waits for large messages which ask has one.
    #[test]
    fn what_is_waited_for_at_once_is_not_open_for_long() {
        let chain = |ops: &[Op]| {
            let mut rank = Rank::default();
            for op in std::iter::repeat_n(ops, 1000).flatten() {
                rank.push(Op { after: After::Finish, ..*op });
            }
            rank
        };
        assert_eq!(of(2, |_| chain(&[send(1, 300, 0), recv(1, 300, 0)])).messages, 4);
        // The message, its request and its grant: 5 + 2 packets of 50 + 2 chunks.
        let found = of(2, |_| chain(&[send(1, 5000, 0)]));
        assert_eq!((found.messages, found.packets, found.chunks), (2 * 3, 2 * 7, 2 * 52));
        // Small ones go at once, and nobody says that they arrived.
        assert_eq!(of(2, |_| chain(&[send(1, 50, 0)])).messages, 2000);
    }

    /// A rank that waits for nobody is read further than others: all that it posts is under way.
    #[test]
    fn all_that_a_rank_posts_without_waiting_is_under_way() {
        let posts = |count: u32, first: Op| {
            let mut rank = Rank::default();
            rank.push(first);
            (0..count).for_each(|_| _ = rank.push(Op { after: After::Finish, ..send(1, 50, 0) }));
            rank
        };
        let count = 3 * OF_RANK as u32;
        assert_eq!(of(1, |_| posts(count, send(1, 50, 0))).messages, u64::from(count) + 1);
        assert_eq!(of(1, |_| posts(count, recv(1, 50, 0))).messages, u64::from(count));
        // Of those that wait now and then the beginning stands for the rest.
        let steps = |_| {
            let mut rank = posts(OF_RANK as u32, send(1, 50, 0));
            for n in 0..8 * OF_RANK as u32 {
                let op = if n % 100 == 0 { recv(1, 50, 0) } else { send(1, 50, 0) };
                rank.push(Op { after: After::Finish, ..op });
            }
            rank
        };
        assert!(of(1, steps).messages < 2 * OF_RANK);
    }

    /// Long ranks are asked all over the program: the first half waits for each receive, the second posts all it has.
    #[test]
    fn long_ranks_of_all_places_are_asked() {
        let count = OF_RANK as u32;
        let rank = |r: u32| {
            let mut rank = Rank::default();
            for _ in 0..count {
                let op = if r < 8 { recv(r + 8, 50, 0) } else { send(r - 8, 50, 0) };
                rank.push(Op { after: After::Finish, ..op });
            }
            rank
        };
        let (found, real) = (of(16, rank).messages, 8 * u64::from(count));
        assert!((real..=2 * real).contains(&found), "{found}, {real} are posted");
    }

    /// A root sends to each of many ranks, which send nothing: it stands for itself.
    #[test]
    fn a_root_stands_for_itself() {
        let root = |r: u32| {
            let mut rank = Rank::default();
            let peers = if r == 0 { 1..5000 } else { 0..0 };
            peers.for_each(|peer| _ = rank.push(Op { after: After::Nothing, ..send(peer, 100, 0) }));
            rank
        };
        let found = of(5000, root);
        assert_eq!((found.messages, found.pairs), (4999, 4999));
    }

    /// Ranks on the edge of a grid have fewer neighbours than those within, and ranks in steps of a row are all on an edge. A batch is all of a rank here.
    #[test]
    fn the_sample_meets_the_inside_of_a_grid() {
        let side = 64;
        let column = |r: u32| r % side;
        let inside = |r: u32| (1..side - 1).contains(&column(r)) && (side..side * (side - 1)).contains(&r);
        let rank = |r: u32| {
            let mut rank = Rank::default();
            (0..if inside(r) { 400 } else { 300 }).for_each(|_| _ = rank.push(send(0, 8, 0)));
            rank
        };
        let ranks: Vec<Rank> = (0..side * side).map(rank).collect();
        let found = open(&List::new(ranks), CUT);
        let real = 400 * u64::from((side - 2) * (side - 2)) + 300 * u64::from(4 * (side - 1));
        assert!((real..=400 * u64::from(side * side)).contains(&found.operations), "{found:?}");
    }

    /// A short program is read whole: one rank of many has all of it.
    #[test]
    fn one_of_many_is_found() {
        let one = |r: u32| {
            let mut rank = Rank::default();
            (0..if r == 300 { 5000 } else { 0 }).for_each(|n| _ = rank.push(send(n % 300, 100, 0)));
            rank
        };
        let found = of(512, one);
        assert!(found.messages >= 5000, "{found:?}");
    }

    /// Receives that are waited for together are one step: what was sent before them may be on its way still.
    #[test]
    fn several_receives_are_one_step() {
        let steps = |_| {
            let mut rank = Rank::default();
            for n in 0..100 {
                let sent = rank.push(send(1, 100, n));
                let receives = [rank.push(recv(1, 100, n)), rank.push(recv(1, 100, n))];
                let next = rank.push(calc(1));
                [sent, receives[0], receives[1]].into_iter().for_each(|before| rank.requires(next, before));
                rank.requires(next + 1, next);
            }
            rank.push(calc(1));
            rank
        };
        assert_eq!(of(2, steps).messages, 4);
    }
}
