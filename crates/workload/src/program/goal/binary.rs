//! Reads GOAL in its binary form. Nothing in a file is believed: every position, count and number is checked, and what a file
//! claims decides no allocation before the bytes for it are known to be there.

use crate::program::{
    ANY_SOURCE, ANY_TAG, After, Kind, Op,
    graph::{Graph, Link, MAX_OPS, Part, Positions, cycle},
    input::Input,
};
use base::{
    index::RankId,
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

/// Most mistakes reported of one file.
const MAX_REPORTED: usize = 10;

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
    let mut bytes = Vec::new();
    let read = input.open().and_then(|mut reader| reader.read_to_end(&mut bytes));
    read.map_err(|e| vec![input.unreadable(&e)])?;
    parse(&bytes, input.name(), unit)
        .map_err(|reported| reported.into_iter().map(|m| input.problem(m)).collect())
}

fn parse(bytes: &[u8], name: &str, unit: Ps) -> Result<Graph, Vec<String>> {
    let one = |message: &str| vec![message.to_owned()];
    let cookie = word64(bytes, 0).ok_or_else(|| one("too short for a GOAL binary"))?;
    match cookie {
        COOKIE => {}
        USED_UP => {
            return Err(one(
                "a simulation that saves memory has used this file up; make it again from its text",
            ));
        }
        _ if cookie.swap_bytes() == COOKIE => {
            return Err(one("written on a machine with big-endian numbers"));
        }
        _ => return Err(one("no GOAL binary: it does not begin with 4223")),
    }
    let body = &bytes[COOKIE_BYTES..];
    let ranks = word32(body, 0).ok_or_else(|| one("ends before the number of ranks"))? as usize;
    if ranks == 0 {
        return Err(one("a program needs at least one rank"));
    }
    if ranks > u32::MAX as usize - 2 || (body.len().saturating_sub(HEAD_BYTES)) / 16 < ranks {
        return Err(vec![format!("cut off: it ends within the table of {ranks} ranks")]);
    }
    let table = &body[HEAD_BYTES..HEAD_BYTES + 16 * ranks];
    let places = table.chunks_exact(16).map(|c| (word64(c, 0).unwrap_or(0), word64(c, 8).unwrap_or(0)));
    let places: Vec<(u64, u64)> = places.collect();
    apart(&places)?;
    let mut parts = Vec::with_capacity(ranks);
    let mut reported = Vec::new();
    for (rank, (start, end)) in places.into_iter().enumerate() {
        let part = slice(body, start, end, HEAD_BYTES + table.len())
            .and_then(|bytes| Section::new(bytes, ranks as u32, unit)?.part())
            .map_err(|m| reported.push(format!("rank {rank}: {m}")));
        if reported.len() >= MAX_REPORTED {
            return Err(reported);
        }
        parts.extend(part);
    }
    if reported.is_empty() { Ok(Graph::new(name, Positions::Operations, parts)) } else { Err(reported) }
}

/// Refuses ranks that share bytes: they would make a small file a large program.
fn apart(places: &[(u64, u64)]) -> Result<(), Vec<String>> {
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by_key(|&rank| places[rank]);
    match order.windows(2).find(|pair| places[pair[0]].1 > places[pair[1]].0) {
        Some(pair) => {
            let (a, b) = (pair[0].min(pair[1]), pair[0].max(pair[1]));
            Err(vec![format!("damaged: ranks {a} and {b} overlap")])
        }
        None => Ok(()),
    }
}

fn slice(body: &[u8], start: u64, end: u64, first: usize) -> Result<&[u8], String> {
    // The file counts from behind its cookie; people count from its start.
    let place = |at: u64| at.saturating_add(COOKIE_BYTES as u64);
    let (Ok(from), Ok(to)) = (usize::try_from(start), usize::try_from(end)) else {
        return Err(format!("damaged: it is said to end at byte {}", place(end)));
    };
    if from < first || to < from {
        return Err(format!("damaged: it is said to be at bytes {} to {}", place(start), place(end)));
    }
    let size = place(body.len() as u64);
    body.get(from..to)
        .ok_or_else(|| format!("cut off: it ends at byte {}, but the file at {size}", place(end)))
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

    fn part(&self) -> Result<Part, String> {
        let count = self.nodes.len() / NODE_BYTES;
        let mut ops = Vec::with_capacity(count);
        let mut edges = Vec::with_capacity(self.appendix.len() / 4);
        for (i, node) in self.nodes.chunks_exact(NODE_BYTES).enumerate() {
            let reported = |m: String| format!("operation {i}: {m}");
            ops.push(self.op(i as u32, node).map_err(reported)?);
            for (at, on_start) in [(23, false), (31, true)] {
                self.dependents(i as u32, count, node, at, on_start, &mut edges).map_err(reported)?;
            }
        }
        if edges.len() * 4 != self.appendix.len() {
            return Err("damaged: dependencies are left over".to_owned());
        }
        self.check_counts(&edges)?;
        if let Some(circle) = cycle(count, &edges) {
            let shown: Vec<String> = circle.iter().take(8).map(u32::to_string).collect();
            let more = if circle.len() > 8 { ", .." } else { "" };
            let list = shown.join(", ") + more;
            return Err(format!(
                "operations {list} can never start: each waits for the next, the last for the first"
            ));
        }
        Ok(Part { ops: ops.into(), edges: edges.into() })
    }

    fn op(&self, number: u32, node: &[u8]) -> Result<Op, String> {
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
        let after = After::Nothing;
        Ok(Op {
            kind,
            cpu,
            nic,
            after,
            peer: RankId::new(op_peer),
            tag: op_tag,
            context: 0,
            mode: crate::program::mpi::Mode::Standard,
            amount,
            origin: number,
            collective: 0,
        })
    }

    /// Reads a list of those that wait for operation `before`. Lists follow each other without gap, as all writers do it.
    fn dependents(
        &self,
        before: u32,
        count: usize,
        node: &[u8],
        at: usize,
        on_start: bool,
        edges: &mut Vec<Link>,
    ) -> Result<(), String> {
        let n = word32(node, at).unwrap_or(0) as usize;
        let first = word32(node, at + 4).unwrap_or(0) as usize;
        if n == 0 {
            return Ok(());
        }
        if first != edges.len() {
            return Err("damaged: its dependencies are not where they should be".to_owned());
        }
        let list = self.appendix.get(first * 4..(first + n) * 4);
        let list = list.ok_or("damaged: its dependencies lie outside of the rank")?;
        for chunk in list.chunks_exact(4) {
            let after = word32(chunk, 0).unwrap_or(0);
            if after as usize >= count {
                return Err(format!("damaged: operation {after} waits for it, but there are only {count}"));
            }
            edges.push(Link::new(before, after, on_start));
        }
        Ok(())
    }

    /// Compares what operations say of their dependencies with the dependencies that there are.
    fn check_counts(&self, edges: &[Link]) -> Result<(), String> {
        let count = self.nodes.len() / NODE_BYTES;
        let mut waits = vec![0u32; count];
        for edge in edges {
            waits[edge.after() as usize] += 1;
        }
        for (i, node) in self.nodes.chunks_exact(NODE_BYTES).enumerate() {
            let said = word32(node, 0).unwrap_or(0);
            if said != waits[i] {
                let is = waits[i];
                return Err(format!("operation {i}: said to wait for {said} others, but there are {is}"));
            }
        }
        let mut roots = self.roots.chunks_exact(4).map(|c| word32(c, 0).unwrap_or(0));
        let mut free = (0u32..).zip(&waits).filter(|(_, waits)| **waits == 0).map(|(i, _)| i);
        loop {
            match (roots.next(), free.next()) {
                (None, None) => return Ok(()),
                (Some(a), Some(b)) if a == b => {}
                _ => return Err("damaged: the list of operations that start at once is wrong".to_owned()),
            }
        }
    }
}

fn word32(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|&b| u32::from_le_bytes(b))
}

fn word64(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|&b| u64::from_le_bytes(b))
}
