//! SimGrid's time-independent traces: what each rank does, in operations and bytes instead of seconds.
//!
//! A line is `RANK ACTION ARGUMENTS`. All ranks stand in one file, or a list names a file for each. **Actions** have the arguments that
//! SimGrid's `smpi_replay` reads. All of them are done on the communicator of all ranks, as there. Bytes are a number of elements times the size of a type,
//! which is a byte, or a double if `init` has an argument. **Computation** is in floating-point operations: a [`Scale`] says how many a second takes.
//!
//! **Requests** are named by source, destination and tag, first come first served. Before SimGrid 3.20 a wait named none: it ends the newest, and sends
//! had no tags. Which of the two a trace is shows in its first waits, or sends with two or four arguments.
//!
//! **Tests** say no result. A request that no wait ends is taken to have ended at its last test: the rank's lines are read once more, ahead,
//! when the first test is met.

use super::{
    calls::Shape,
    files::{Listed, RankLines, Ranks},
    notes::{Notes, RankNotes},
    requests::Requests,
    siblings::siblings,
    words::{Scale, computation, wrong},
};
use crate::program::{
    Damage, UNKNOWN_BYTES,
    input::Input,
    mpi::{Call, Calls, CollectiveKind, Dropped, Mode, Script, WORLD},
    place::Place,
};
use ahead::{Name, ended_by_tests, opened};
use arguments::{Arguments, envelope, is_type, times};
use base::{
    index::RankId,
    param::{Built, Unread},
    sorted::SortedSet,
};
use std::{collections::VecDeque, sync::Arc};

mod ahead;
mod arguments;
mod uneven;
mod write;

pub use write::Writer;

/// Every action, in small letters: older traces write some with capitals.
const ACTIONS: [&str; 29] = [
    "init",
    "finalize",
    "comm_size",
    "comm_split",
    "comm_dup",
    "send",
    "isend",
    "recv",
    "irecv",
    "test",
    "wait",
    "waitall",
    "sendrecv",
    "barrier",
    "bcast",
    "reduce",
    "allreduce",
    "alltoall",
    "alltoallv",
    "gather",
    "gatherv",
    "scatter",
    "scatterv",
    "allgather",
    "allgatherv",
    "reducescatter",
    "scan",
    "exscan",
    "compute",
];

/// Bytes of a file in which its first line is looked for.
const HEAD: u64 = 1 << 12;

/// Kinds of [`Notes`].
const SPLIT: u64 = 0;
const UNOPENED: u64 = 1;
const UNDECIDED_COUNTS: u64 = 2;
const UNDECIDED_TAGS: u64 = 3;

/// True if a text begins like such a trace: with the number of a rank and an action.
pub(in crate::program) fn begins(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    let mut words = line.unwrap_or("").split_ascii_whitespace();
    let rank = words.next().is_some_and(|word| word.parse::<u32>().is_ok());
    rank && words.next().is_some_and(is_action)
}

/// The number of the first line of a text and its action, if that begins with the number of a rank and a word that is no action.
pub(in crate::program) fn unknown_action(head: &[u8]) -> Option<(usize, String)> {
    let text = std::str::from_utf8(head).ok()?;
    let says = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let (number, line) = text.lines().enumerate().find(|(_, line)| says(line))?;
    let mut words = line.split_ascii_whitespace();
    let _: u32 = words.next()?.parse().ok()?;
    let action = words.next().filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic()))?;
    (!is_action(action)).then(|| (number + 1, base::visible::name(action).into_owned()))
}

/// The rank of the first line.
fn first_rank(file: &Place) -> Option<u32> {
    let head = Input::at(file.clone()).head(HEAD).ok()?;
    let text = String::from_utf8_lossy(&head);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// A file of all ranks. If it has lines of one rank alone, the files of the others may be found by its name: each has the rank that its name says.
fn named(input: &Input<'_>, whole: Built<Ranks>) -> Built<Ranks> {
    if input.is_alone() || whole.as_ref().is_ok_and(|ranks| ranks.len() > 1) {
        return whole;
    }
    let help = "name one of the files of ranks, which differ in the number of the rank (`t-0.txt`, `t-1.txt`), or a list file: a text with the name of \
                each rank's file in a line";
    let files = siblings(input).map_err(|problem| vec![problem.help(help)])?;
    let own = |(rank, file): (u32, &Place)| first_rank(file) == Some(rank);
    if files.len() > 1 && (0..).zip(&files).all(own) {
        return Ranks::each(input, files);
    }
    whole.map_err(|problems| problems.into_iter().map(|problem| problem.help(help)).collect())
}

fn is_action(word: &str) -> bool {
    let small = word.to_ascii_lowercase();
    ACTIONS.contains(&small.as_str()) || matches!(small.as_str(), "sleep" | "location")
}

/// How requests are named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Naming {
    /// By source, destination and tag.
    #[default]
    Envelope,
    /// Not at all, before SimGrid 3.20.
    Newest,
}

/// What a line says about [`Naming`].
fn naming(line: &str) -> Option<Naming> {
    let mut words = line.split_ascii_whitespace().skip(1);
    let action = words.next()?;
    match (action, words.clone().count()) {
        ("wait" | "test", 0) => Some(Naming::Newest),
        ("wait" | "test", _) => Some(Naming::Envelope),
        ("send" | "isend" | "recv" | "irecv" | "Isend" | "Irecv", 2) => Some(Naming::Newest),
        ("send" | "isend" | "recv" | "irecv", 4) => Some(Naming::Envelope),
        // A size and a type, or a tag and a size: what is no type is a size.
        ("send" | "isend" | "recv" | "irecv", 3) if !words.nth(2).is_some_and(is_type) => {
            Some(Naming::Envelope)
        }
        _ => None,
    }
}

/// Reads a trace: a list of files with one rank each, or a file of all ranks.
///
/// # Errors
/// If a file is missing or no trace.
pub(in crate::program) fn read(
    input: &Input<'_>,
    listed: Option<Listed>,
    scale: Scale,
) -> Built<Arc<dyn Script>> {
    let mut found = None;
    let all = |input: &Input<'_>, found: &mut Option<Naming>| {
        Ranks::all(input, |line| *found = found.or_else(|| naming(line)))
    };
    let ranks = Arc::new(match listed.map(|l| l.paths) {
        None => {
            let whole = all(input, &mut found);
            named(input, whole)?
        }
        Some(paths) if paths.len() == 1 => all(&Input::at(paths[0].clone()), &mut found)?,
        Some(paths) => Ranks::each(input, paths)?,
    });
    if let Ranks::Each(_) = &*ranks {
        found = None;
        // The first rank may have no transfers, but few of them have none.
        'ranks: for rank in RankId::first(ranks.len().min(16)) {
            let mut lines = RankLines::new(&ranks, rank);
            while let Some((number, line)) = lines.next_line().map_err(|Damage(m)| vec![input.problem(m)])? {
                found = naming(line);
                if found.is_some() {
                    break 'ranks;
                }
                if number >= 100_000 {
                    break;
                }
            }
        }
    }
    Ok(Arc::new(Ti { ranks, naming: found, scale, notes: Arc::default() }))
}

struct Ti {
    ranks: Arc<Ranks>,
    /// Nothing if no line tells it.
    naming: Option<Naming>,
    scale: Scale,
    notes: Arc<Notes>,
}

impl Script for Ti {
    fn ranks(&self) -> u32 {
        self.ranks.len()
    }

    fn unread(&self) -> Vec<Unread> {
        Unread::all("job", &["unit"], "its trace counts operations, not units")
    }

    fn open(&self, rank: RankId) -> Box<dyn Calls> {
        let maker = Maker {
            ranks: Arc::clone(&self.ranks),
            rank,
            naming: self.naming.unwrap_or_default(),
            undecided: self.naming.is_none(),
            scale: self.scale,
            notes: Arc::clone(&self.notes),
            met: RankNotes::new(rank),
            ready: VecDeque::new(),
            at: 0,
            requests: Requests::new(),
            default: 1,
            tested: None,
        };
        Box::new(Reader { lines: RankLines::new(&self.ranks, rank), maker })
    }

    fn describe(&self, rank: RankId, position: u32) -> String {
        format!("{}:{position}", self.ranks.name(rank))
    }

    fn makes_communicators(&self) -> bool {
        false
    }

    fn noted(&self) -> Vec<u64> {
        self.notes.words()
    }

    fn note(&self, noted: &[u64]) {
        self.notes.add(noted);
    }

    fn dropped(&self) -> Vec<Dropped> {
        let text = |kind: u64, n: u64| match kind {
            SPLIT => format!(
                "{n} calls that split communicators have no effect: a time-independent trace does not say on which one a call is, so all are done \
                 by all ranks"
            ),
            UNDECIDED_COUNTS => format!(
                "{n} calls of gatherv or scatterv are taken to have the caller's own count, a root and types, but these could be the counts of all ranks"
            ),
            UNDECIDED_TAGS => format!(
                "{n} messages are taken to have a tag and a size, but these could be a size and a type: no line shows whether the trace is from before \
                 SimGrid 3.20"
            ),
            _ => format!("{n} waits name a request that is not open and are passed over"),
        };
        let dropped = |(kind, n)| Dropped { text: text(kind, n), messages: kind == SPLIT };
        self.notes.totals().into_iter().map(dropped).collect()
    }
}

struct Reader {
    lines: RankLines,
    maker: Maker,
}

/// Makes calls of a rank's lines.
struct Maker {
    ranks: Arc<Ranks>,
    rank: RankId,
    naming: Naming,
    /// No line of the trace tells its naming.
    undecided: bool,
    scale: Scale,
    notes: Arc<Notes>,
    met: RankNotes,
    /// Calls that are made and not handed over.
    ready: VecDeque<(Call, u32)>,
    /// Number of the present line.
    at: u64,
    requests: Requests<Name>,
    /// Bytes of an element without a type.
    default: u64,
    /// Lines of tests at which a request ended; read when the first test is met.
    tested: Option<SortedSet<u64>>,
}

impl Calls for Reader {
    fn next(&mut self) -> Result<Option<(Call, u32)>, Damage> {
        loop {
            if let Some(call) = self.maker.ready.pop_front() {
                return Ok(Some(call));
            }
            let Some((number, line)) = self.lines.next_line()? else { return Ok(None) };
            self.maker.at = number;
            self.maker.line(line)?;
        }
    }
}

impl Maker {
    fn line(&mut self, line: &str) -> Result<(), Damage> {
        let mut words = line.split_ascii_whitespace();
        let Some(rank) = words.next().filter(|word| !word.starts_with('#')) else { return Ok(()) };
        if rank.parse() != Ok(self.rank.number()) {
            return Err(
                self.wrong(format!("this is of rank {rank}, but a line of rank {} stands here", self.rank))
            );
        }
        let action = words.next().ok_or_else(|| self.wrong("an action is missing".to_owned()))?;
        let mut small = String::new();
        let action = if action.bytes().any(|b| b.is_ascii_uppercase()) {
            small.push_str(action);
            small.make_ascii_lowercase();
            &small
        } else {
            action
        };
        let mut arguments = Arguments { words, default: self.default };
        let done = match action {
            "send" | "isend" | "recv" | "irecv" => self.transfer(action, &mut arguments),
            "compute" | "sleep" | "test" | "wait" | "waitall" => self.local(action, &mut arguments),
            "init" => {
                self.default = if arguments.words.next().is_some() { 8 } else { 1 };
                Ok(())
            }
            "finalize" | "comm_size" | "comm_dup" | "location" => Ok(()),
            "comm_split" => {
                self.met.met(SPLIT, &self.notes);
                Ok(())
            }
            "sendrecv" => self.sendrecv(&mut arguments),
            _ => self.collective(action, &mut arguments),
        };
        done.map_err(|what| self.wrong(format!("{action}: {what}")))
    }

    #[cold]
    fn wrong(&self, what: String) -> Damage {
        wrong(&self.ranks.name(self.rank), self.at, what)
    }

    fn push(&mut self, call: Call) {
        self.ready.push_back((call, u32::try_from(self.at).unwrap_or(u32::MAX)));
    }

    fn compute(&mut self, flops: f64) -> Result<(), String> {
        let time = computation(flops / self.scale.speed)?;
        if time > 0 {
            self.push(Call::Compute(time));
        }
        Ok(())
    }

    fn local(&mut self, action: &str, arguments: &mut Arguments<'_>) -> Result<(), String> {
        match action {
            "compute" => {
                let flops = arguments.real("operations")?;
                self.compute(flops)?;
            }
            "sleep" => {
                let time = computation(arguments.real("seconds")?)?;
                self.push(Call::Compute(time));
            }
            "waitall" => {
                let all = self.requests.close_all();
                self.push(Call::Waitall(all.into()));
            }
            "wait" if self.naming == Naming::Newest => match self.requests.close_newest(&(0, 0, 0)) {
                Some(request) => self.push(Call::Wait(request)),
                None => self.met.met(UNOPENED, &self.notes),
            },
            "test" if self.naming == Naming::Newest => {}
            "wait" => {
                let name = arguments.name()?;
                match self.opened(name).and_then(|name| self.requests.close(&name)) {
                    Some(request) => self.push(Call::Wait(request)),
                    None => self.met.met(UNOPENED, &self.notes),
                }
            }
            _ => {
                let name = arguments.name()?;
                if self.tested.is_none() {
                    let mut lines = RankLines::new(&self.ranks, self.rank);
                    self.tested = Some(ended_by_tests(&mut lines, self.rank).map_err(|Damage(m)| m)?);
                }
                if self.tested.as_ref().is_some_and(|lines| lines.contains(&self.at))
                    && let Some(request) = self.opened(name).and_then(|name| self.requests.close(&name))
                {
                    self.push(Call::Test { completed: [request].into() });
                }
            }
        }
        Ok(())
    }

    fn opened(&self, name: Name) -> Option<Name> {
        opened(name, |name| self.requests.is_open(name))
    }

    fn transfer(&mut self, action: &str, arguments: &mut Arguments<'_>) -> Result<(), String> {
        let sends = matches!(action, "send" | "isend");
        let partner = arguments.whole("partner")?;
        if self.undecided && arguments.words.clone().count() == 2 {
            self.met.met(UNDECIDED_TAGS, &self.notes);
        }
        let tag = if self.naming == Naming::Envelope || arguments.words.clone().count() > 2 {
            arguments.whole("tag")?
        } else {
            0
        };
        // Receives whose size is not known have a negative one.
        let unknown = !sends && arguments.words.clone().next().is_some_and(|word| word.starts_with('-'));
        let bytes = if unknown {
            UNKNOWN_BYTES
        } else {
            let elements = arguments.count("size")?;
            arguments.bytes(elements)?
        };
        let envelope = envelope(partner, tag, bytes, sends)?;
        let me = i64::from(self.rank.number());
        let name = match (self.naming, sends) {
            (Naming::Newest, _) => (0, 0, 0),
            (_, true) => (me, partner, tag),
            (_, false) => (partner, me, tag),
        };
        let call = match action {
            "send" => Call::Send(envelope, Mode::Standard),
            "recv" => Call::Recv(envelope),
            "isend" => Call::Isend(envelope, Mode::Standard, self.requests.open(name)),
            _ => Call::Irecv(envelope, self.requests.open(name)),
        };
        self.push(call);
        Ok(())
    }

    fn sendrecv(&mut self, arguments: &mut Arguments<'_>) -> Result<(), String> {
        let (sent, to) = (arguments.count("size")?, arguments.whole("destination")?);
        let (received, from) = (arguments.count("size")?, arguments.whole("source")?);
        let (sent, received) = (arguments.bytes(sent)?, arguments.bytes(received)?);
        self.push(Call::SendRecv(envelope(to, 0, sent, true)?, envelope(from, 0, received, false)?));
        Ok(())
    }

    fn collective(&mut self, action: &str, a: &mut Arguments<'_>) -> Result<(), String> {
        use CollectiveKind as K;
        let size = self.ranks.len();
        let shape = |kind, bytes: u64| Shape::new(kind, WORLD, bytes);
        let mut flops = 0.0;
        let shape = match action {
            "barrier" => shape(K::Barrier, 0),
            "bcast" => {
                let elements = a.count("size")?;
                let root = a.root()?;
                shape(K::Bcast, a.bytes(elements)?).root(root)
            }
            "reduce" => {
                let elements = a.count("size")?;
                flops = a.real("operations")?;
                let root = a.root()?;
                shape(K::Reduce, a.bytes(elements)?).root(root)
            }
            "allreduce" | "scan" | "exscan" => {
                let elements = a.count("size")?;
                flops = a.real("operations")?;
                let kind = match action {
                    "allreduce" => K::Allreduce,
                    "scan" => K::Scan,
                    _ => K::Exscan,
                };
                shape(kind, a.bytes(elements)?)
            }
            "alltoall" | "allgather" => {
                let (sent, _) = (a.count("size sent")?, a.count("size received")?);
                shape(if action == "alltoall" { K::Alltoall } else { K::Allgather }, a.bytes(sent)?)
            }
            "gather" => {
                let (sent, _) = (a.count("size sent")?, a.count("size received")?);
                let root = a.root()?;
                shape(K::Gather, a.bytes(sent)?).root(root)
            }
            "scatter" => {
                let (_, received) = (a.count("size sent")?, a.count("size received")?);
                let root = a.root()?;
                a.size_of_type()?;
                shape(K::Scatter, a.bytes(received)?).root(root)
            }
            "reducescatter" => {
                let counts = a.counts(size)?;
                flops = a.real("operations")?;
                let size = a.size_of_type()?;
                shape(K::ReduceScatter, 0).counts(times(counts, size)?)
            }
            _ => self.uneven(action, a)?,
        };
        self.push(shape.call());
        self.compute(flops)
    }
}

#[cfg(test)]
mod round_trips;
#[cfg(test)]
mod tests;
