//! Recording of real MPI programs: a small library in C, built by the machine's own MPI, stands between an unmodified program and MPI, and each rank writes
//! what it calls. Afterwards the ranks become one program of MPI calls (`*.ranks`).

use crate::{
    conversion::written,
    error::{Error, ErrorKind},
    ours,
    part_file::{PartFile, unwritable},
};
use base::sorted::SortedMap;
use std::{
    env,
    ffi::OsString,
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::Command,
};

/// The sources of the library.
const SOURCES: [(&str, &str); 7] = [
    ("record.h", include_str!("record/record.h")),
    ("record.c", include_str!("record/record.c")),
    ("communicators.c", include_str!("record/communicators.c")),
    ("messages.c", include_str!("record/messages.c")),
    ("collectives.c", include_str!("record/collectives.c")),
    ("missing.c", include_str!("record/missing.c")),
    ("windows.c", include_str!("record/windows.c")),
];

/// File name of the library.
pub const LIBRARY: &str = "libnetloom-record.so";

/// The variable that says to the library where to write.
const FOLDER: &str = "NETLOOM_RECORD";

/// A program to be recorded.
#[derive(Clone, Debug)]
pub struct Recording<'a> {
    /// The command that starts it, such as `mpirun -n 16 ./app`.
    pub command: &'a [String],
    /// File to write; packed if its name ends with .gz.
    pub out: &'a Path,
    /// The library that [`build`] made; left out, one is built for this recording.
    pub library: Option<&'a Path>,
    /// The file may be replaced if it exists.
    pub force: bool,
}

/// What was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Ranks of the program.
    pub ranks: u32,
    /// Lines of all ranks: calls, and computations between them.
    pub lines: u64,
    /// Calls that could not be written, by name, and how often.
    pub missing: SortedMap<String, u64>,
}

/// Builds the library in a directory, which is made if it is missing, with the compiler of MPI: the environment's MPICC, or mpicc.
///
/// # Errors
/// If there is no such compiler, it refuses the sources, or they cannot be written.
pub fn build(directory: &Path) -> Result<PathBuf, Error> {
    let _claim = ours::claim(directory)?;
    fs::create_dir_all(directory).map_err(|e| unwritable(directory, &e))?;
    for (name, text) in SOURCES {
        let path = directory.join(name);
        fs::write(&path, text).map_err(|e| unwritable(&path, &e))?;
    }
    let compiler = env::var("MPICC").unwrap_or_else(|_| "mpicc".to_owned());
    let sources = SOURCES.iter().map(|s| s.0).filter(|name| name.ends_with(".c"));
    let status = Command::new(&compiler)
        .current_dir(directory)
        .args(["-shared", "-fPIC", "-O2", "-std=gnu11", "-o", LIBRARY])
        .args(sources)
        .arg("-ldl")
        .status()
        .map_err(|e| {
            let help = "install MPI's compiler (Debian: libopenmpi-dev or libmpich-dev), or name it in the environment's MPICC";
            Error::new(ErrorKind::Input, format!("cannot run `{compiler}`: {e}")).with_help(help)
        })?;
    if !status.success() {
        return Err(Error::new(ErrorKind::Input, format!("`{compiler}` cannot build the recorder")));
    }
    Ok(directory.join(LIBRARY))
}

/// A directory that is removed at the end.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs a program to its end and writes what its ranks called. Until then their files lie beside the result, in a directory with `.record` behind its name: ranks on
/// other machines need to see it.
///
/// # Errors
/// If the program cannot be started or fails, a rank did not come to `MPI_Finalize`, or the result cannot be written.
pub fn record(asked: &Recording<'_>) -> Result<Recorded, Error> {
    let part_file = PartFile::new(asked.out, asked.force)?;
    let absolute = |path: &Path| std::path::absolute(path).map_err(|e| unwritable(path, &e));
    let folder = absolute(&asked.out.with_added_extension("record"))?;
    fs::create_dir(&folder).map_err(|e| unwritable(&folder, &e))?;
    let scratch = Scratch(folder);
    let library = match asked.library {
        Some(library) if library.is_file() => absolute(library)?,
        Some(library) => {
            let message = format!("there is no library `{}`", library.display());
            let help = "`netloom record build DIR` makes one";
            return Err(Error::new(ErrorKind::Input, message).with_help(help));
        }
        None => build(&scratch.0)?,
    };
    run(asked.command, &library, &scratch.0)?;
    let packed = asked.out.extension().is_some_and(|e| e == "gz");
    let recorded = written(part_file.part(), packed, |out| gather(&scratch.0, asked.out, out))?;
    part_file.keep().map_err(|e| unwritable(asked.out, &e))?;
    Ok(recorded)
}

/// Starts the program with the library before all others, and waits for its end.
fn run(command: &[String], library: &Path, folder: &Path) -> Result<(), Error> {
    let [program, arguments @ ..] = command else {
        return Err(Error::new(ErrorKind::Usage, "there is no program to record"));
    };
    let mut preloaded = OsString::from(library);
    if let Some(others) = env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        preloaded.push(":");
        preloaded.push(others);
    }
    let started =
        Command::new(program).args(arguments).env("LD_PRELOAD", preloaded).env(FOLDER, folder).status();
    let status = started.map_err(|e| Error::new(ErrorKind::Input, format!("cannot run `{program}`: {e}")))?;
    if status.success() {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Program, format!("`{program}` failed ({status}): nothing is kept of it")))
}

/// Writes the ranks' files as one program.
fn gather(folder: &Path, name: &Path, out: &mut dyn Write) -> Result<Recorded, Error> {
    let fails = |e| unwritable(name, &e);
    let mut recorded = Recorded { ranks: 1, lines: 0, missing: SortedMap::new() };
    let mut rank = 0;
    while rank < recorded.ranks {
        let path = folder.join(format!("{rank}.calls"));
        let file = base::input::regular(&path).map_err(|_| unseen(rank))?;
        let mut whole = false;
        for line in BufReader::new(file).lines() {
            let line = line.map_err(|e| damaged(&path, &e.to_string()))?;
            if line.starts_with(' ') {
                recorded.lines += 1;
                writeln!(out, "{line}").map_err(fails)?;
            } else if let Some(ranks) = line.strip_prefix("# ranks ") {
                let ranks = ranks.parse().map_err(|_| damaged(&path, &line))?;
                if rank == 0 {
                    recorded.ranks = ranks;
                    writeln!(out, "ranks {ranks}").map_err(fails)?;
                }
                writeln!(out, "\nrank {rank} {{").map_err(fails)?;
            } else if let Some(words) = line.strip_prefix("missing ") {
                let words = words.split_once(' ').and_then(|(n, name)| Some((n.parse::<u64>().ok()?, name)));
                let (count, name) = words.ok_or_else(|| damaged(&path, &line))?;
                *recorded.missing.entry(name.to_owned()).or_default() += count;
            } else if line == "# end" {
                whole = true;
            }
        }
        if !whole {
            let message = format!("rank {rank} did not come to MPI_Finalize: nothing is kept of it");
            return Err(Error::new(ErrorKind::Program, message));
        }
        writeln!(out, "}}").map_err(fails)?;
        rank += 1;
    }
    for (name, count) in &recorded.missing {
        writeln!(out, "missing {count} {name}").map_err(fails)?;
    }
    Ok(recorded)
}

fn unseen(rank: u32) -> Error {
    let message = if rank == 0 {
        "no rank was recorded".to_owned()
    } else {
        format!("rank {rank} was not recorded, others were")
    };
    let help = "the recorder sees programs in C, C++ or Fortran that load MPI as a shared library, built for the MPI whose mpicc built the recorder; ranks on \
                other machines need LD_PRELOAD and NETLOOM_RECORD (Open MPI: `mpirun -x LD_PRELOAD -x NETLOOM_RECORD`) and the directory of the result";
    Error::new(ErrorKind::Program, message).with_help(help)
}

fn damaged(path: &Path, what: &str) -> Error {
    Error::new(ErrorKind::Input, format!("{}: {what}", path.display()))
}
