//! Writes any program as GOAL, text or binary.
//!
//! GOAL knows sends, receives and computations. Joins are left out: what waits for one waits for all that it waits for (`joins.rs`), since a computation of no time
//! would wait for the processor. What else a program may hold and GOAL cannot say is written as near as possible and counted in [`Losses`].

use super::{
    binary::{COOKIE, COOKIE_BYTES, HEAD_BYTES, NODE_BYTES},
    joins::Joins,
};
use crate::program::{ANY_RANK, ANY_TAG, Batch, Cursor, Damage, Kind, Op, Program, UNKNOWN_BYTES, mpi::Mode};
use base::{index::RankId, sorted::SortedMap, time::Ps, units::MAX_BYTES};
use std::io::{self, Seek, SeekFrom, Write};

/// New tags of messages by context and tag, for contexts other than the world's.
type Tags = SortedMap<(u32, u32), u32>;

/// What could not be said in GOAL; all zero if the file says exactly what the program does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Computations that are no whole number of units; they were rounded to the nearest.
    pub rounded: u64,
    /// Waits for one of several operations; they became waits for all.
    pub waits_for_any: u64,
    /// Probes, which became computations of no time.
    pub probes: u64,
    /// Sends of another mode than the standard one (synchronous, buffered), which GOAL does not tell apart.
    pub modes: u64,
    /// Receives of any tag beside communicators other than the world, which may now match messages of others.
    pub open_tags: u64,
}

impl Losses {
    /// One line for each kind of loss that there is.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let reported = [
            (self.rounded, "computations were rounded to whole units"),
            (self.waits_for_any, "waits for one of several operations became waits for all of them"),
            (self.probes, "probes were left out"),
            (self.modes, "synchronous or buffered sends became ordinary ones"),
            (self.open_tags, "receives of any tag may now match messages of other communicators"),
        ];
        reported.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect()
    }
}

/// Why a program was not written.
#[derive(Debug)]
pub enum WriteError {
    /// The file cannot be written.
    Io(io::Error),
    /// The program cannot be read.
    Damage(Damage),
    /// The program is too large for the format: how.
    Unfit(String),
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Damage> for WriteError {
    fn from(damage: Damage) -> Self {
        Self::Damage(damage)
    }
}

impl std::fmt::Display for WriteError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io(e) => write!(f, "{e}"),
            Self::Damage(Damage(message)) | Self::Unfit(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for WriteError {}

/// Writes GOAL text; computations in units of `unit` picoseconds.
///
/// Dependencies stand as early as they can in the order in which operations are freed.
///
/// # Errors
/// If the program cannot be read or the text not be written.
pub fn write_text(program: &dyn Program, unit: Ps, out: &mut dyn Write) -> Result<Losses, WriteError> {
    let mut translator = Translator::new(program, unit)?;
    writeln!(out, "num_ranks {}", program.ranks())?;
    for rank in 0..program.ranks() {
        writeln!(out, "\nrank {rank} {{")?;
        let (mut cursor, mut batch, mut first) = (program.open(RankId::new(rank)), Batch::default(), 0u64);
        let mut joins = Joins::default();
        loop {
            translator.next(&mut *cursor, &mut batch, &mut joins)?;
            let mut edges = batch.edges.iter().peekable();
            for (number, op) in (first..).zip(&batch.ops) {
                text_op(number, op, out)?;
                while let Some(e) = edges.next_if(|e| e.before.max(e.after) <= number) {
                    let word = if e.on_start { "irequires" } else { "requires" };
                    writeln!(out, "l{} {word} l{}", e.after + 1, e.before + 1)?;
                }
            }
            first += batch.ops.len() as u64;
            if batch.ops.is_empty() {
                break;
            }
        }
        writeln!(out, "}}")?;
    }
    Ok(translator.losses)
}

fn text_op(number: u64, op: &Op, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "l{}: ", number + 1)?;
    match op.kind {
        Kind::Send => write!(out, "send {}b to {}", op.amount, op.peer)?,
        Kind::Recv if op.peer == ANY_RANK => write!(out, "recv {}b from -1", op.amount)?,
        Kind::Recv => write!(out, "recv {}b from {}", op.amount, op.peer)?,
        _ => write!(out, "calc {}", op.amount)?,
    }
    match op.tag {
        0 => {}
        ANY_TAG => write!(out, " tag -1")?,
        tag => write!(out, " tag {tag}")?,
    }
    for (name, value) in [("cpu", op.cpu), ("nic", op.nic)] {
        if value > 0 {
            write!(out, " {name} {value}")?;
        }
    }
    writeln!(out)
}

/// Writes a GOAL binary; computations in units of `unit` picoseconds. Memory holds one rank at a time.
///
/// # Errors
/// If the program cannot be read, a rank has 2^32 operations or dependencies, or the file cannot be written.
pub fn write_binary(
    program: &dyn Program,
    unit: Ps,
    out: &mut (impl Write + Seek),
) -> Result<Losses, WriteError> {
    let mut translator = Translator::new(program, unit)?;
    let ranks = program.ranks();
    out.write_all(&COOKIE.to_le_bytes())?;
    out.write_all(&ranks.to_le_bytes())?;
    out.write_all(&[program.cpus().saturating_sub(1), program.nics().saturating_sub(1)])?;
    let mut table = vec![0u8; 16 * ranks as usize];
    out.write_all(&table)?;
    let mut position = (HEAD_BYTES + table.len()) as u64;
    for (rank, entry) in (0..ranks).zip(table.chunks_exact_mut(16)) {
        let mut whole = Batch::default();
        let (mut cursor, mut batch, mut joins) =
            (program.open(RankId::new(rank)), Batch::default(), Joins::default());
        loop {
            translator.next(&mut *cursor, &mut batch, &mut joins)?;
            if batch.ops.is_empty() {
                break;
            }
            whole.ops.append(&mut batch.ops);
            whole.edges.append(&mut batch.edges);
        }
        let bytes = section(&mut whole).ok_or_else(|| {
            WriteError::Unfit(format!(
                "rank {rank} has more operations or dependencies than a GOAL binary can hold"
            ))
        })?;
        out.write_all(&bytes)?;
        entry[..8].copy_from_slice(&position.to_le_bytes());
        position += bytes.len() as u64;
        entry[8..].copy_from_slice(&position.to_le_bytes());
    }
    out.seek(SeekFrom::Start((COOKIE_BYTES + HEAD_BYTES) as u64))?;
    out.write_all(&table)?;
    out.seek(SeekFrom::End(0))?;
    Ok(translator.losses)
}

/// The bytes of a rank; its edges are sorted by what they wait for.
fn section(rank: &mut Batch) -> Option<Vec<u8>> {
    let (nodes, _) = (u32::try_from(rank.ops.len()).ok()?, u32::try_from(rank.edges.len()).ok()?);
    let mut waits = vec![0u32; rank.ops.len()];
    for edge in &rank.edges {
        waits[edge.after as usize] += 1;
    }
    let roots: Vec<u32> = (0u32..).zip(&waits).filter(|(_, w)| **w == 0).map(|(i, _)| i).collect();
    // Stable: the order in which an operation frees others stays.
    rank.edges.sort_by_key(|e| (e.before, e.on_start));
    let mut bytes =
        Vec::with_capacity(8 + 4 * (roots.len() + rank.edges.len()) + NODE_BYTES * rank.ops.len());
    let mut put = |word: u32| bytes.extend_from_slice(&word.to_le_bytes());
    put(nodes);
    put(roots.len() as u32);
    roots.into_iter().for_each(put);
    let mut edges = rank.edges.as_slice();
    let mut first = 0u32;
    for ((number, op), waits) in (0u64..).zip(&rank.ops).zip(waits) {
        bytes.extend_from_slice(&waits.to_le_bytes());
        bytes.push(match op.kind {
            Kind::Send => 1,
            Kind::Recv => 2,
            _ => 3,
        });
        bytes.extend_from_slice(&op.peer.number().to_le_bytes());
        bytes.extend_from_slice(&op.amount.to_le_bytes());
        bytes.extend_from_slice(&op.tag.to_le_bytes());
        bytes.extend_from_slice(&[op.cpu, op.nic]);
        for on_start in [false, true] {
            let n = edges.iter().take_while(|e| e.before == number && e.on_start == on_start).count();
            edges = &edges[n..];
            bytes.extend_from_slice(&(n as u32).to_le_bytes());
            bytes.extend_from_slice(&first.to_le_bytes());
            first += n as u32;
        }
    }
    for edge in &rank.edges {
        bytes.extend_from_slice(&(edge.after as u32).to_le_bytes());
    }
    Some(bytes)
}

/// Says the operations of a program in the words of GOAL.
struct Translator {
    unit: Ps,
    tags: Tags,
    losses: Losses,
}

impl Translator {
    /// Reads the program once if it has other contexts than the world's: their tags get numbers of their own, above those of the world.
    fn new(program: &dyn Program, unit: Ps) -> Result<Self, WriteError> {
        let mut tags = Tags::new();
        let mut largest = 0;
        let mut batch = Batch::default();
        for rank in 0..program.ranks() {
            let mut cursor = program.open(RankId::new(rank));
            loop {
                batch.clear();
                cursor.fill(&mut batch)?;
                if batch.ops.is_empty() {
                    break;
                }
                let messages = batch.ops.iter().filter(|op| matches!(op.kind, Kind::Send | Kind::Recv));
                for op in messages.filter(|op| op.tag != ANY_TAG) {
                    match op.context {
                        0 => largest = largest.max(op.tag),
                        context => _ = tags.insert((context, op.tag), 0),
                    }
                }
            }
        }
        for tag in tags.values_mut() {
            largest = largest.checked_add(1).filter(|&t| t != ANY_TAG).ok_or_else(|| {
                WriteError::Unfit("there are no tags left for the messages of communicators".to_owned())
            })?;
            *tag = largest;
        }
        Ok(Self { unit, tags, losses: Losses::default() })
    }

    /// The next operations of a rank and all their dependencies; nothing if there are no more.
    fn next(
        &mut self,
        cursor: &mut dyn Cursor,
        batch: &mut Batch,
        joins: &mut Joins,
    ) -> Result<(), WriteError> {
        loop {
            batch.clear();
            cursor.fill(batch)?;
            if batch.ops.is_empty() {
                return Ok(());
            }
            joins.leave_out(batch);
            // A batch of joins leaves nothing.
            if !batch.ops.is_empty() {
                break;
            }
        }
        for op in &mut batch.ops {
            self.translate(op);
        }
        Ok(())
    }

    fn translate(&mut self, op: &mut Op) {
        match op.kind {
            Kind::Send | Kind::Recv => {
                self.losses.modes += u64::from(op.kind == Kind::Send && op.mode != Mode::Standard);
                if op.tag == ANY_TAG {
                    self.losses.open_tags += u64::from(op.context != 0 || !self.tags.is_empty());
                } else if let Some(&tag) = self.tags.get(&(op.context, op.tag)) {
                    op.tag = tag;
                }
                if op.kind == Kind::Recv && op.amount == UNKNOWN_BYTES {
                    op.amount = MAX_BYTES;
                }
                return;
            }
            Kind::Calc => {
                let (units, rest) = (op.amount / self.unit, op.amount % self.unit);
                self.losses.rounded += u64::from(rest > 0);
                op.amount = units + u64::from(rest > 0 && rest >= self.unit - rest);
            }
            Kind::Join => op.amount = 0,
            Kind::JoinAny => {
                self.losses.waits_for_any += 1;
                op.amount = 0;
            }
            Kind::Probe => {
                self.losses.probes += 1;
                op.amount = 0;
            }
        }
        (op.kind, op.peer, op.tag) = (Kind::Calc, RankId::new(0), 0);
    }
}
