//! A program without time: do all ranks come to their ends? Once with sends that never wait for their receives, and once with sends that always do, unless they are
//! buffered. What holds for both holds for any limit of eager messages between.
//!
//! Receives from anybody, probes and waits for any of several meet what is there first, and in a run that may be another message: then the answer is that of one order among
//! many. The operations of all ranks are in memory, so that programs beyond [`MOST`] are not looked at.

use super::{ANY_RANK, ANY_TAG, After, Batch, Damage, Kind, Op, Program, Remark, mpi::Mode};
use base::{
    index::{Column, RankId},
    sorted::SortedMap,
};
use std::collections::VecDeque;

/// Most operations that are looked at.
pub const MOST: usize = 1 << 20;

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untimed {
    /// How the ranks end.
    pub outcome: Outcome,
    /// Messages that nobody receives, where ranks come to their ends.
    pub unreceived: u64,
    /// Which message a rank meets may depend on time.
    pub open: bool,
    /// What the source says of itself, such as collectives that differ.
    pub remarks: Vec<Remark>,
}

/// How the ranks of a program end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It has too many operations to be looked at.
    TooLong,
    /// All come to their ends, whether sends wait or not.
    Ends,
    /// They stop where sends wait for their receives, and come to their ends where they do not.
    NeedsEager(Stopped),
    /// They stop even if no send waits.
    Stops(Stopped),
}

/// Ranks that cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// How many ranks there are that cannot.
    pub ranks: u32,
    /// What the first of them waits for, and where that stands.
    pub first: String,
}

impl Untimed {
    /// Reads all ranks and runs them, up to [`MOST`] operations.
    ///
    /// # Errors
    /// If the source is damaged, or a message is for a rank that there is not.
    pub fn of(program: &dyn Program) -> Result<Self, Damage> {
        let Some(tables) = Tables::read(program)? else {
            return Ok(Self { outcome: Outcome::TooLong, unreceived: 0, open: false, remarks: Vec::new() });
        };
        let remarks = program.remarks();
        let open = tables.ops.iter().any(|op| match op.kind {
            Kind::Recv | Kind::Probe => op.peer == ANY_RANK || op.tag == ANY_TAG,
            Kind::JoinAny => true,
            Kind::Send | Kind::Calc | Kind::Join => false,
        });
        let eager = Walk::of(&tables, true);
        if let Some(stopped) = eager.stopped(program) {
            return Ok(Self { outcome: Outcome::Stops(stopped), unreceived: 0, open, remarks });
        }
        let unreceived = eager.unreceived();
        // A message that nobody receives keeps its sender, too.
        let waiting = Walk::of(&tables, false).stopped(program);
        Ok(Self { outcome: waiting.map_or(Outcome::Ends, Outcome::NeedsEager), unreceived, open, remarks })
    }

    /// True if a run is no run of the whole program, whatever the network: ranks stop, messages are not received, or calls do not fit.
    #[must_use]
    pub fn is_wrong(&self) -> bool {
        self.stops() || self.unreceived > 0 || self.remarks.iter().any(|r| r.missing)
    }

    /// True if ranks stop whatever the network. Where they meet messages from anybody, another order than the one that was tried may do.
    #[must_use]
    pub fn stops(&self) -> bool {
        matches!(self.outcome, Outcome::Stops(_)) && !self.open
    }

    /// A word for it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self.outcome {
            Outcome::TooLong => "not-looked-at",
            Outcome::Ends => "ends",
            Outcome::NeedsEager(_) => "needs-eager-sends",
            Outcome::Stops(_) => "stops",
        }
    }

    /// Sentences for people: how the ranks end first, then what else is wrong.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let among = if self.open { "; receives from anybody were tried in one order" } else { "" };
        let said = |s: &Stopped| {
            format!("{} {} cannot go on: {}", s.ranks, if s.ranks == 1 { "rank" } else { "ranks" }, s.first)
        };
        let mut lines = vec![match &self.outcome {
            Outcome::TooLong => format!("not looked at: the program has more than {MOST} operations"),
            Outcome::Ends => format!("all ranks come to their ends, whether sends wait or not{among}"),
            Outcome::NeedsEager(s) => format!("where sends wait for their receives {}{among}", said(s)),
            Outcome::Stops(s) if self.open => {
                format!("perhaps WRONG: whether sends wait or not {}{among}", said(s))
            }
            Outcome::Stops(s) => format!("WRONG: whether sends wait or not {}{among}", said(s)),
        }];
        if self.unreceived > 0 {
            let messages = if self.unreceived == 1 { "message" } else { "messages" };
            lines.push(format!("WRONG: nobody receives {} {messages}", self.unreceived));
        }
        let wrong = self.remarks.iter().filter(|remark| remark.flag == Remark::MISMATCH);
        lines.extend(wrong.map(|remark| format!("WRONG: {}", remark.text)));
        lines
    }
}

/// The operations of all ranks, numbered through.
struct Tables {
    ops: Vec<Op>,
    /// Rank of each.
    ranks: Vec<RankId>,
    /// Where those that an operation frees begin in `freed`; one more than there are operations.
    first: Vec<u32>,
    /// Operations, and whether the start frees them.
    freed: Vec<(u32, bool)>,
    /// How many free each.
    waits: Vec<u32>,
    size: u32,
}

impl Tables {
    /// `None` if there are too many.
    fn read(program: &dyn Program) -> Result<Option<Self>, Damage> {
        let size = program.ranks();
        let most = MOST as u64;
        if u64::from(size) > most || program.total().is_some_and(|total| total > most) {
            return Ok(None);
        }
        let (mut ops, mut ranks, mut edges) = (Vec::<Op>::new(), Vec::new(), Vec::<(u32, u32, bool)>::new());
        let mut batch = Batch::default();
        for rank in RankId::first(size) {
            let base = ops.len() as u64;
            let mut cursor = program.open(rank);
            loop {
                batch.clear();
                cursor.fill(&mut batch)?;
                if batch.ops.is_empty() {
                    break;
                }
                for op in &batch.ops {
                    let number = ops.len() as u32;
                    if op.kind == Kind::Send && op.peer.number() >= size {
                        let place = program.describe(rank, op.origin);
                        let to = op.peer;
                        return Err(Damage(format!(
                            "{place}: rank {rank} sends to rank {to}, but there are {size}"
                        )));
                    }
                    if op.after != After::Nothing && u64::from(number) > base {
                        edges.push((number - 1, number, op.after == After::Start));
                    }
                    ops.push(*op);
                    ranks.push(rank);
                }
                edges.extend(
                    batch
                        .edges
                        .iter()
                        .map(|e| ((base + e.before) as u32, (base + e.after) as u32, e.on_start)),
                );
                if ops.len() > MOST || edges.len() > 4 * MOST {
                    return Ok(None);
                }
            }
        }
        edges.sort_by_key(|edge| edge.0);
        let (mut first, mut waits) = (vec![0u32; ops.len() + 1], vec![0u32; ops.len()]);
        for &(before, after, _) in &edges {
            first[before as usize + 1] += 1;
            waits[after as usize] += 1;
        }
        for n in 0..ops.len() {
            first[n + 1] += first[n];
            if ops[n].kind == Kind::JoinAny {
                waits[n] = waits[n].min(1);
            }
        }
        let freed = edges.into_iter().map(|(_, after, on_start)| (after, on_start)).collect();
        Ok(Some(Self { ops, ranks, first, freed, waits, size }))
    }
}

/// Sender, tag and context.
type Key = (RankId, u32, u32);

/// What waits at a rank, each with its place in the order of all.
#[derive(Clone, Default)]
struct Waiting {
    posted: SortedMap<Key, VecDeque<(u64, u32)>>,
    /// Receives that leave something open.
    open: Vec<(u64, u32)>,
    probes: Vec<u32>,
    messages: SortedMap<Key, VecDeque<(u64, u32)>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    Started,
    Finished,
}

/// A run of all ranks.
struct Walk<'a> {
    tables: &'a Tables,
    eager: bool,
    states: Vec<State>,
    waits: Vec<u32>,
    ready: VecDeque<u32>,
    at: Column<RankId, Waiting>,
    /// Things that waited so far.
    count: u64,
}

impl<'a> Walk<'a> {
    /// Goes as far as it goes.
    fn of(tables: &'a Tables, eager: bool) -> Self {
        let free = |n: &u32| tables.waits[*n as usize] == 0;
        let mut walk = Self {
            tables,
            eager,
            states: vec![State::Waiting; tables.ops.len()],
            waits: tables.waits.clone(),
            ready: (0..tables.ops.len() as u32).filter(free).collect(),
            at: Column::filled(tables.size as usize, Waiting::default()),
            count: 0,
        };
        while let Some(number) = walk.ready.pop_front() {
            if walk.states[number as usize] == State::Waiting {
                walk.start(number);
            }
        }
        walk
    }

    fn start(&mut self, number: u32) {
        let op = self.tables.ops[number as usize];
        self.states[number as usize] = State::Started;
        self.free(number, true);
        self.count += 1;
        match op.kind {
            Kind::Calc | Kind::Join | Kind::JoinAny => self.finish(number),
            Kind::Send => self.send(number, &op),
            Kind::Recv => match self.message(number, &op, true) {
                Some(send) => {
                    self.finish(number);
                    self.finish(send);
                }
                None => self.post(number, &op),
            },
            Kind::Probe => match self.message(number, &op, false) {
                Some(_) => self.finish(number),
                None => self.at[self.tables.ranks[number as usize]].probes.push(number),
            },
        }
    }

    fn finish(&mut self, number: u32) {
        let before = std::mem::replace(&mut self.states[number as usize], State::Finished);
        if before != State::Finished {
            self.free(number, false);
        }
    }

    /// What waited for the start or the end of an operation.
    fn free(&mut self, number: u32, on_start: bool) {
        let tables = self.tables;
        let range = tables.first[number as usize] as usize..tables.first[number as usize + 1] as usize;
        for &(after, _) in tables.freed[range].iter().filter(|freed| freed.1 == on_start) {
            let waits = &mut self.waits[after as usize];
            *waits = waits.saturating_sub(1);
            if *waits == 0 {
                self.ready.push_back(after);
            }
        }
    }

    fn post(&mut self, number: u32, op: &Op) {
        let at = &mut self.at[self.tables.ranks[number as usize]];
        if op.peer == ANY_RANK || op.tag == ANY_TAG {
            at.open.push((self.count, number));
        } else {
            at.posted.entry((op.peer, op.tag, op.context)).or_default().push_back((self.count, number));
        }
    }

    /// The first message that is there for a receive or probe; a receive takes it.
    fn message(&mut self, number: u32, op: &Op, takes: bool) -> Option<u32> {
        let messages = &mut self.at[self.tables.ranks[number as usize]].messages;
        let key = if op.peer == ANY_RANK || op.tag == ANY_TAG {
            let fits = |key: &Key| meets(op, key);
            let first = messages.iter().filter(|(key, _)| fits(key));
            first.filter_map(|(key, list)| Some((list.front()?.0, *key))).min().map(|found| found.1)?
        } else {
            (op.peer, op.tag, op.context)
        };
        let list = messages.get_mut(&key)?;
        let found = if takes { list.pop_front() } else { list.front().copied() };
        if list.is_empty() {
            messages.remove(&key);
        }
        found.map(|(_, send)| send)
    }

    fn send(&mut self, number: u32, op: &Op) {
        let goes_on = match op.mode {
            Mode::Standard => self.eager,
            Mode::Synchronous => false,
            Mode::Buffered => true,
        };
        let key = (self.tables.ranks[number as usize], op.tag, op.context);
        let ops = &self.tables.ops;
        let at = &mut self.at[op.peer];
        let exact = at.posted.get(&key).and_then(|list| list.front().copied());
        let fits = |&(_, receive): &(u64, u32)| meets(&ops[receive as usize], &key);
        let open = at.open.iter().position(fits).map(|place| (place, at.open[place]));
        let receive = match (exact, open) {
            (Some(exact), Some((_, open))) if exact.0 < open.0 => Some(exact.1),
            (_, Some((place, open))) => {
                at.open.remove(place);
                Some(open.1)
            }
            (exact, None) => exact.map(|exact| exact.1),
        };
        let Some(receive) = receive else {
            let probes = std::mem::take(&mut at.probes);
            at.messages.entry(key).or_default().push_back((self.count, number));
            let (met, left): (Vec<u32>, Vec<u32>) =
                probes.into_iter().partition(|&probe| meets(&ops[probe as usize], &key));
            self.at[op.peer].probes = left;
            met.into_iter().for_each(|probe| self.finish(probe));
            if goes_on {
                self.finish(number);
            }
            return;
        };
        if exact.is_some_and(|exact| exact.1 == receive)
            && let Some(list) = at.posted.get_mut(&key)
        {
            list.pop_front();
        }
        self.finish(receive);
        self.finish(number);
    }

    fn unreceived(&self) -> u64 {
        self.at.cells().iter().flat_map(|at| at.messages.values()).map(|list| list.len() as u64).sum()
    }

    /// Ranks that have not come to their ends, if there are such.
    fn stopped(&self, program: &dyn Program) -> Option<Stopped> {
        let left = |n: &usize| self.states[*n] != State::Finished;
        let mut ranks: Vec<RankId> =
            (0..self.states.len()).filter(left).map(|n| self.tables.ranks[n]).collect();
        ranks.dedup();
        let first = (0..self.states.len()).find(|&n| self.states[n] == State::Started)?;
        let (op, rank) = (&self.tables.ops[first], self.tables.ranks[first]);
        let from = if op.peer == ANY_RANK { "any rank".to_owned() } else { format!("rank {}", op.peer) };
        let tag = if op.tag == ANY_TAG { "any tag".to_owned() } else { format!("tag {}", op.tag) };
        let what = match op.kind {
            Kind::Send => format!("waits until rank {} receives its message, {tag}", op.peer),
            _ => format!("waits for a message from {from}, {tag}"),
        };
        let place = program.describe(rank, op.origin);
        Some(Stopped { ranks: ranks.len() as u32, first: format!("rank {rank} {what} ({place})") })
    }
}

/// True if a receive or probe fits a message.
fn meets(receive: &Op, key: &Key) -> bool {
    let &(from, tag, context) = key;
    receive.context == context
        && (receive.peer == from || receive.peer == ANY_RANK)
        && (receive.tag == tag || receive.tag == ANY_TAG)
}

#[cfg(test)]
mod tests;
