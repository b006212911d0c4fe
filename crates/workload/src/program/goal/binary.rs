//! Reads GOAL in its binary form. Nothing in a file is believed: every position, count and number is checked, and what a file
//! claims decides no allocation before the bytes for it are known to be there.
//!
//! Operations go from the file into the tables of the graph, which have its form: those of a rank in order, what they free in one list. Where ranks
//! follow each other, as all writers have them, memory holds the bytes of one at a time.

use super::sections::Sections;
use crate::program::{
    ANY_SOURCE, ANY_TAG, Freed, Kind, Step,
    graph::{Builder, Graph, MAX_OPS, Positions, cycle},
    input::Input,
};
use base::{
    index::RankId,
    mistakes::Mistakes,
    param::Problem,
    time::Ps,
    units::{MAX_BYTES, MAX_TIME},
};

/// First word of a file.
pub(super) const COOKIE: u64 = 4223;
/// First word of a file that a simulation has used up.
const USED_UP: u64 = 2342;
/// Bytes before what positions are relative to.
pub(super) const COOKIE_BYTES: usize = 8;
/// Bytes between the first word and the table of ranks: number of ranks, largest processor, largest interface.
pub(super) const HEAD_BYTES: usize = 6;
/// Bytes of an operation.
pub(super) const NODE_BYTES: usize = 39;

/// True if a file begins as GOAL binaries do, or did before they were used up.
#[must_use]
pub fn is_binary(head: &[u8]) -> bool {
    let word = head.first_chunk().map(|&bytes| u64::from_le_bytes(bytes));
    word.is_some_and(|w| [COOKIE, USED_UP].contains(&w) || [COOKIE, USED_UP].contains(&w.swap_bytes()))
}

/// Reads a GOAL binary (the [module](super) says what it looks like), packed by gzip or not. A unit of computation is `unit` picoseconds.
///
/// # Errors
/// If it is none, or damaged: what is wrong in which rank.
pub fn read_binary(input: &Input<'_>, unit: Ps) -> Result<Graph, Vec<Problem>> {
    let reader = input.open().map_err(|e| vec![input.unreadable(&e)])?;
    let mut sections = Sections::new(reader);
    let read = parse(&mut sections, input, unit);
    if let Some(e) = sections.error {
        return Err(vec![input.unreadable(&e)]);
    }
    read
}

fn parse(sections: &mut Sections<'_>, input: &Input<'_>, unit: Ps) -> Result<Graph, Vec<Problem>> {
    let one = |message: &str| vec![input.problem(message)];
    let cookie = word64(sections.take(COOKIE_BYTES), 0);
    match cookie.ok_or_else(|| one("too short for a GOAL binary"))? {
        COOKIE => {}
        USED_UP => {
            return Err(one(
                "a simulation that saves memory has used this file up; make it again from its text",
            ));
        }
        other if other.swap_bytes() == COOKIE => {
            return Err(one("written on a machine with big-endian numbers"));
        }
        _ => return Err(one("no GOAL binary: it does not begin with 4223")),
    }
    let ranks = word32(sections.take(HEAD_BYTES), 0);
    let ranks = ranks.ok_or_else(|| one("ends before the number of ranks"))? as usize;
    if ranks == 0 {
        return Err(one("a program needs at least one rank"));
    }
    let table = sections.take(16 * ranks);
    if ranks > u32::MAX as usize - 2 || table.len() / 16 < ranks {
        return Err(one(&format!("cut off: it ends within the table of {ranks} ranks")));
    }
    let places = table.chunks_exact(16).map(|c| (word64(c, 0).unwrap_or(0), word64(c, 8).unwrap_or(0)));
    let places: Vec<(u64, u64)> = places.collect();
    let first = (HEAD_BYTES + 16 * ranks) as u64;
    if !places.is_sorted_by(|a, b| a.1 <= b.0) {
        apart(&places).map_err(|message| one(&message))?;
        sections.keep();
    }
    let mut graph = Builder::default();
    let mut reported = Mistakes::default();
    let mut waits = Vec::new();
    for (rank, (start, end)) in places.into_iter().enumerate() {
        graph.begin();
        let read = slice(sections, start, end, first)
            .and_then(|bytes| Section::new(bytes, ranks as u32, unit)?.read(&mut graph, &mut waits));
        reported.extend(read.err().map(|m| input.problem(format!("rank {rank}: {m}"))));
    }
    reported.done(|others| input.problem(others.message).count(others.count))?;
    sections.rest();
    graph.finish(input.name(), Positions::Operations).map_err(|message| one(&message))
}

/// Refuses ranks that share bytes: they would make a small file a large program.
fn apart(places: &[(u64, u64)]) -> Result<(), String> {
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by_key(|&rank| places[rank]);
    match order.windows(2).find(|pair| places[pair[0]].1 > places[pair[1]].0) {
        Some(pair) => {
            let (a, b) = (pair[0].min(pair[1]), pair[0].max(pair[1]));
            Err(format!("damaged: ranks {a} and {b} overlap"))
        }
        None => Ok(()),
    }
}

/// The bytes of a rank, whose positions count from behind the cookie; people count from the start of the file.
fn slice<'s>(sections: &'s mut Sections<'_>, start: u64, end: u64, first: u64) -> Result<&'s [u8], String> {
    let cookie = COOKIE_BYTES as u64;
    let place = |at: u64| at.saturating_add(cookie);
    if start < first || end < start {
        return Err(format!("damaged: it is said to be at bytes {} to {}", place(start), place(end)));
    }
    let (from, to) = (place(start), place(end));
    match sections.between(from, to) {
        Ok(bytes) => Ok(bytes),
        Err(size) => Err(format!("cut off: it ends at byte {to}, but the file at {size}")),
    }
}

/// The bytes of one rank.
struct Section<'a> {
    roots: &'a [u8],
    nodes: &'a [u8],
    appendix: &'a [u8],
    ranks: u32,
    unit: Ps,
}

impl<'a> Section<'a> {
    fn new(bytes: &'a [u8], ranks: u32, unit: Ps) -> Result<Self, String> {
        let short = || "damaged: its parts do not fit into its bytes".to_owned();
        let nodes = word32(bytes, 0).ok_or_else(short)? as usize;
        let roots = word32(bytes, 4).ok_or_else(short)? as usize;
        if nodes > MAX_OPS {
            return Err("it has too many operations".to_owned());
        }
        let (roots, rest) = bytes[8..].split_at_checked(roots * 4).ok_or_else(short)?;
        let (nodes, appendix) = rest.split_at_checked(nodes * NODE_BYTES).ok_or_else(short)?;
        if appendix.len() % 4 != 0 {
            return Err(short());
        }
        Ok(Self { roots, nodes, appendix, ranks, unit })
    }

    /// Appends the rank to the graph. `waits` is for what is counted, and empty of what it held before.
    fn read(&self, graph: &mut Builder, waits: &mut Vec<u32>) -> Result<(), String> {
        let count = self.nodes.len() / NODE_BYTES;
        waits.clear();
        waits.resize(count, 0);
        let (mut freed, mut forward) = (0, true);
        for (i, node) in self.nodes.chunks_exact(NODE_BYTES).enumerate() {
            let reported = |m: String| format!("operation {i}: {m}");
            graph.step(self.step(i as u32, node).map_err(reported)?);
            for (at, on_start) in [(23, false), (31, true)] {
                let list = self.dependents(node, at, freed).map_err(reported)?;
                for chunk in list.chunks_exact(4) {
                    let after = word32(chunk, 0).unwrap_or(0);
                    let Some(wait) = waits.get_mut(after as usize) else {
                        let message =
                            format!("damaged: operation {after} waits for it, but there are only {count}");
                        return Err(reported(message));
                    };
                    *wait += 1;
                    forward &= i < after as usize;
                    graph.frees(Freed::new(after, on_start));
                }
                freed += list.len() / 4;
            }
        }
        if freed * 4 != self.appendix.len() {
            return Err("damaged: dependencies are left over".to_owned());
        }
        self.check_counts(waits)?;
        if forward { Ok(()) } else { circle(graph.steps().len(), graph) }
    }

    #[inline]
    fn step(&self, number: u32, node: &[u8]) -> Result<Step, String> {
        let field32 = |at: usize| word32(node, at).unwrap_or(0);
        let (peer, size, tag) = (field32(5), word64(node, 9).unwrap_or(0), field32(17));
        let (cpu, nic) = (node[21], node[22]);
        let kind = match node[4] {
            1 => Kind::Send,
            2 => Kind::Recv,
            3 => Kind::Calc,
            other => return Err(format!("damaged: there is no kind {other}")),
        };
        if cpu == u8::MAX || nic == u8::MAX {
            return Err("processors and interfaces are at most 254".to_owned());
        }
        let (mut op_peer, mut op_tag, mut amount) = (peer, tag, size);
        if kind == Kind::Calc {
            (op_peer, op_tag) = (0, 0);
            amount = size.checked_mul(self.unit).filter(|&ps| ps <= MAX_TIME).ok_or_else(|| {
                format!("a computation of {size} units is longer than 2^62 ps, about 53 days")
            })?;
        } else {
            if peer >= self.ranks && (kind == Kind::Send || peer != ANY_SOURCE) {
                return Err(format!("there is no rank {peer}: the {} ranks count from 0", self.ranks));
            }
            if kind == Kind::Send && tag == ANY_TAG {
                return Err("only receives may leave the tag open".to_owned());
            }
            if size > MAX_BYTES {
                return Err(format!("a message of {size} bytes: at most {MAX_BYTES} are possible"));
            }
        }
        let (peer, tag, waits) = (RankId::new(op_peer), op_tag, field32(0));
        Ok(Step { amount, peer, tag, origin: number, waits, kind, cpu, nic, ..Step::NONE })
    }

    /// The list of those that wait for an operation. Lists follow each other without gap, as all writers do it: this one begins behind `before` others.
    #[inline]
    fn dependents(&self, node: &[u8], at: usize, before: usize) -> Result<&'a [u8], String> {
        let n = word32(node, at).unwrap_or(0) as usize;
        let first = word32(node, at + 4).unwrap_or(0) as usize;
        if n == 0 {
            return Ok(&[]);
        }
        if first != before {
            return Err("damaged: its dependencies are not where they should be".to_owned());
        }
        let list = self.appendix.get(first * 4..(first + n) * 4);
        list.ok_or_else(|| "damaged: its dependencies lie outside of the rank".to_owned())
    }

    /// Compares what operations say of their dependencies with the dependencies that there are.
    fn check_counts(&self, waits: &[u32]) -> Result<(), String> {
        for (i, node) in self.nodes.chunks_exact(NODE_BYTES).enumerate() {
            let said = word32(node, 0).unwrap_or(0);
            if said != waits[i] {
                let is = waits[i];
                return Err(format!("operation {i}: said to wait for {said} others, but there are {is}"));
            }
        }
        let mut roots = self.roots.chunks_exact(4).map(|c| word32(c, 0).unwrap_or(0));
        let mut free = (0u32..).zip(waits).filter(|(_, waits)| **waits == 0).map(|(i, _)| i);
        loop {
            match (roots.next(), free.next()) {
                (None, None) => return Ok(()),
                (Some(a), Some(b)) if a == b => {}
                _ => return Err("damaged: the list of operations that start at once is wrong".to_owned()),
            }
        }
    }
}

/// Refuses operations that wait for each other in a circle.
#[cold]
fn circle(count: usize, graph: &mut Builder) -> Result<(), String> {
    let links = graph.links();
    let Some(circle) = cycle(count, &links) else { return Ok(()) };
    let shown: Vec<String> = circle.iter().take(8).map(u32::to_string).collect();
    let more = if circle.len() > 8 { ", .." } else { "" };
    let list = shown.join(", ") + more;
    Err(format!("operations {list} can never start: each waits for the next, the last for the first"))
}

fn word32(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|&b| u32::from_le_bytes(b))
}

fn word64(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|&b| u64::from_le_bytes(b))
}
