//! Traces of SST's DUMPI: a description in text, and a binary file for each rank with a record of every call of MPI.
//!
//! **Computation** is the time between two calls, by the wall clock. **Sizes** of types, those of the program too, are in each rank's file. **Tests** and
//! waits for any or some say what they found, so requests end where they did; receives from anybody that had a status get who it was. **Communicators**
//! have numbers of the rank's own; groups and Cartesian grids that make them are followed (`comms.rs`). Records have no length, so all
//! functions' are known (`signatures.rs`), also those without a use here.
//!
//! Records are read once from front to back, packed files too. A file is damaged where its index says otherwise than its records.

use super::{
    files::{self, Listed},
    notes::Notes,
    siblings::siblings,
};
use crate::program::{
    Damage,
    input::{Input, Lines},
    mpi::{Call, Calls, Dropped, Recorded, Script},
    place::Place,
};
use base::{
    index::RankId,
    param::Built,
    sorted::SortedMap,
    time::{Ps, S},
};
use comms::Comms;
use file::{Index, MAGIC};
use kinds::{FOREIGN, THREADS, UNOPENED, UNUSED};
use maker::Maker;
use record::Records;
use signatures::Signatures;
use std::{path::Path, sync::Arc};

mod comms;
mod file;
mod kinds;
mod maker;
mod record;
mod signatures;
#[cfg(test)]
mod tests;
mod windows;

/// True if this begins like a description, or like the file of a rank.
pub(in crate::program) fn begins(head: &[u8]) -> bool {
    head.starts_with(&MAGIC.to_be_bytes()) || describes(head)
}

/// True if this begins like a description.
pub(in crate::program) fn describes(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(&head[..head.len().min(1 << 12)]);
    let has =
        |key: &str| text.lines().any(|line| line.strip_prefix(key).is_some_and(|rest| rest.starts_with('=')));
    has("numprocs") && has("fileprefix")
}

/// Reads a trace by its description, a list of files, or the name of one of them.
///
/// # Errors
/// If a file is missing or damaged.
pub(in crate::program) fn read(input: &Input<'_>, listed: Option<Listed>) -> Built<Arc<dyn Script>> {
    let refused = |Damage(message): Damage| vec![input.problem(message)];
    let head = input.head(8).map_err(|e| vec![input.unreadable(&e)])?;
    let paths = match listed {
        Some(listed) => listed.paths,
        None if head == MAGIC.to_be_bytes() => siblings(input).map_err(|problem| vec![problem])?,
        None => described(input)?,
    };
    for path in &paths {
        if let Err(e) = files::open(path) {
            let message = format!("the file of a rank, `{path}`, cannot be read: {e}");
            return Err(vec![input.problem(message)]);
        }
    }
    let signatures = Arc::new(Signatures::new());
    // Communicators are first made of the one of all ranks, so that rank 0 shows whether there are any.
    let mut records =
        Records::new(Arc::new(Index::read(&paths[0]).map_err(refused)?), Arc::clone(&signatures))
            .map_err(refused)?;
    let mut makes = false;
    while let Some(record) = records.next().map_err(refused)? {
        makes |= Comms::makes(record.name);
    }
    let since = records.since;
    Ok(Arc::new(Dumpi { paths: paths.into(), makes, since, signatures, notes: Arc::default() }))
}

/// The files that a description stands for.
fn described(input: &Input<'_>) -> Built<Vec<Place>> {
    let refused = |message: String| vec![input.problem(message)];
    let mut lines = Lines::new(input).map_err(|e| vec![input.unreadable(&e)])?;
    let mut keys = SortedMap::new();
    while let Some((_, line)) = lines.next_line().map_err(|e| vec![input.unreadable(&e)])? {
        if let Some((key, value)) = String::from_utf8_lossy(line).split_once('=') {
            keys.insert(key.trim().to_owned(), value.trim().to_owned());
        }
    }
    let count = keys.get("numprocs").map_or("", String::as_str);
    let ranks: u32 = count
        .parse()
        .ok()
        .filter(|&n| n > 0 && n < 1 << 28)
        .ok_or_else(|| refused(format!("`numprocs={count}`: this is no number of ranks")))?;
    let place = input.place();
    // A prefix may name the folder where the trace was written; a trace that was renamed has the description's name.
    let prefix = Path::new(keys.get("fileprefix").map_or("", String::as_str));
    let named = [prefix.file_name(), place.path().file_stem()].into_iter().flatten();
    let names: Vec<String> = named.map(|name| name.to_string_lossy().into_owned()).collect();
    for name in &names {
        for suffix in ["bin", "bin.gz", "bin.zst"] {
            let path = |rank: u32| place.folder().join(format!("{name}-{rank:04}.{suffix}"));
            let files: Vec<Place> = (0..ranks).map_while(|rank| place.other(&path(rank))).collect();
            let rank = files.len() as u32;
            if rank == ranks {
                return Ok(files);
            }
            if rank > 0 {
                let missing = path(rank);
                return Err(refused(format!(
                    "the file of rank {rank}, `{}`, is missing: there are {ranks} ranks",
                    missing.display()
                )));
            }
        }
    }
    Err(refused(format!(
        "the files of the ranks are missing: `{}-0000.bin` and so on",
        names.join("-0000.bin`, `")
    )))
}

struct Dumpi {
    paths: Arc<[Place]>,
    makes: bool,
    /// Second of the wall clock that rank 0 counts from.
    since: u32,
    signatures: Arc<Signatures>,
    notes: Arc<Notes>,
}

impl Script for Dumpi {
    fn ranks(&self) -> u32 {
        self.paths.len() as u32
    }

    fn open(&self, rank: RankId) -> Box<dyn Calls> {
        Box::new(Reader {
            file: self.paths[rank.index()].clone(),
            signatures: Arc::clone(&self.signatures),
            ranks: self.ranks(),
            since: self.since,
            rank,
            notes: Arc::clone(&self.notes),
            state: None,
        })
    }

    fn describe(&self, rank: RankId, position: u32) -> String {
        format!("{}, call {position}", self.paths[rank.index()])
    }

    fn makes_communicators(&self) -> bool {
        self.makes
    }

    fn noted(&self) -> Vec<u64> {
        self.notes.words()
    }

    fn note(&self, noted: &[u64]) {
        self.notes.add(noted);
    }

    fn dropped(&self) -> Vec<Dropped> {
        let text = |kind: u64, n: u64| match kind {
            UNOPENED => format!("{n} requests that calls wait for are not open there"),
            FOREIGN => {
                format!("{n} calls on communicators or windows whose making is not replayed are left out")
            }
            THREADS => {
                format!(
                    "{n} calls of further threads are replayed as if one thread had made them all, in their order"
                )
            }
            _ => format!("{n} calls of MPI_{} are left out", UNUSED.get(kind as usize).unwrap_or(&"")),
        };
        let dropped =
            |(kind, n)| Dropped { text: text(kind, n), messages: !matches!(kind, UNOPENED | THREADS) };
        self.notes.totals().into_iter().map(dropped).collect()
    }
}

struct Reader {
    file: Place,
    signatures: Arc<Signatures>,
    ranks: u32,
    since: u32,
    rank: RankId,
    notes: Arc<Notes>,
    /// Nothing before the first call.
    state: Option<(Records, Maker)>,
}

/// Seconds that a rank may begin to count before rank 0 does: the clocks of machines differ.
const BEFORE: u64 = 3600;

impl Reader {
    /// A time of the rank's file by rank 0's clock, an hour later.
    fn common(&self, records: &Records, time: Ps) -> Ps {
        let seconds = (u64::from(records.since) + BEFORE).saturating_sub(self.since.into());
        time.saturating_add(seconds.saturating_mul(S))
    }
}

impl Calls for Reader {
    fn time(&self) -> Option<Ps> {
        let (records, maker) = self.state.as_ref()?;
        Some(self.common(records, maker.resumed()?))
    }

    fn recorded(&self) -> Option<Recorded> {
        let (records, maker) = self.state.as_ref()?;
        let [begin, end] = [maker.begun(), maker.resumed()?].map(|time| self.common(records, time));
        Some(Recorded { begin, end, at: None })
    }

    fn next(&mut self) -> Result<Option<(Call, u32)>, Damage> {
        let (records, maker) = match &mut self.state {
            Some(state) => state,
            None => {
                let index = Arc::new(Index::read(&self.file)?);
                let records = Records::new(Arc::clone(&index), Arc::clone(&self.signatures))?;
                let maker = Maker::new(index, self.rank, self.ranks, Arc::clone(&self.notes));
                self.state.insert((records, maker))
            }
        };
        loop {
            if let Some(call) = maker.ready.pop_front() {
                return Ok(Some(call));
            }
            let Some(record) = records.next()? else { return Ok(None) };
            maker.record(record).map_err(|what| {
                let (file, name, number) = (&self.file, record.name, record.number);
                Damage(format!("{file}: call {number}, MPI_{name}: {what}"))
            })?;
        }
    }
}
