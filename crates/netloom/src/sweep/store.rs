//! The directory of a sweep: what ended is kept, and not run again.
//!
//! `points/ID.json` holds a point. ID is a hash of all that its results depend on: the version of the program, the resolved experiment and the
//! files that it names. `sweep.json` says which points belong to the sweep, in order; `points.csv` and `points.parquet` are the table of
//! all of them. Every file appears whole, so that several processes can share the directory.

use crate::{
    error::{Error, ErrorKind},
    execute::without_engine,
    output::{Program, named_inputs},
};
use base::{sorted::SortedMap, visible};
use results::{output::Input, summary::Summary, table::Table};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// Value of [`Record::schema`].
const SCHEMA: &str = "netloom-point-1";

/// The file that marks a directory as a sweep's.
pub const MARK: &str = "sweep.json";

/// In the names of files that are being written; the process and a number follow.
const PARTIAL: &str = ".partial-";

/// State of a point that could not be run.
pub const FAILED: &str = "failed";

/// A point that was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Version of this format.
    pub schema: String,
    /// Hash of all that it depends on.
    pub id: String,
    /// Version of the program that ran it.
    pub version: String,
    /// Revision of the program that ran it.
    pub revision: String,
    /// State of the verdict, or `failed`.
    pub state: String,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What the run says about itself; none if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Summary>,
}

impl Record {
    /// Of a run, or of why there was none.
    #[must_use]
    pub fn new(id: &str, program: &Program, outcome: Result<Summary, String>) -> Self {
        let (summary, error) = match outcome {
            Ok(summary) => (Some(summary), None),
            Err(error) => (None, Some(error)),
        };
        Self {
            schema: SCHEMA.to_owned(),
            id: id.to_owned(),
            version: program.version.to_owned(),
            revision: program.revision.to_owned(),
            state: summary.as_ref().map_or(FAILED, |s| s.verdict.state.name()).to_owned(),
            error,
            summary,
        }
    }
}

/// The directory of a sweep.
pub struct Store {
    path: PathBuf,
    /// Hashes of files that experiments name: each file is read once.
    hashed: Mutex<SortedMap<String, Vec<Input>>>,
    /// Numbers the files that are being written.
    written: AtomicU64,
}

impl Store {
    /// Opens a directory, which is made if it is not there.
    ///
    /// # Errors
    /// If it holds something else, or the system refuses.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let store = Self { path: path.to_owned(), hashed: Mutex::default(), written: AtomicU64::new(0) };
        if path.exists() && !path.join(MARK).is_file() && !path.join("points").is_dir() {
            let mut entries = fs::read_dir(path).map_err(|e| store.refused(path, &e))?;
            if entries.next().is_some() {
                let message = format!("`{}` is no directory of a sweep: it has no {MARK}", path.display());
                let help = "choose another --out, or an empty directory";
                return Err(Error::new(ErrorKind::Output, message).with_help(help));
            }
        }
        let points = path.join("points");
        fs::create_dir_all(&points).map_err(|e| store.refused(&points, &e))?;
        Ok(store)
    }

    /// A directory that a sweep has filled.
    ///
    /// # Errors
    /// If there is none.
    pub fn existing(path: &Path) -> Result<Self, Error> {
        if path.join(MARK).is_file() {
            return Self::open(path);
        }
        let message = format!("`{}` is no directory of a finished sweep: it has no {MARK}", path.display());
        Err(Error::new(ErrorKind::Input, message).with_help("`netloom sweep FILE --out DIR` makes one"))
    }

    fn refused(&self, path: &Path, error: &io::Error) -> Error {
        Error::new(ErrorKind::Output, format!("cannot write `{}`: {error}", path.display()))
    }

    /// Hash of all that the results of an experiment depend on.
    pub fn id(&self, program: &Program, experiment: &Json, checkers: bool) -> String {
        let sections = ["fabric", "routing", "hybrid", "job"].map(|name| &experiment[name]);
        let named = json!(sections).to_string();
        let mut hashed = self.hashed.lock().unwrap_or_else(PoisonError::into_inner);
        let inputs = hashed.entry(named).or_insert_with(|| named_inputs(experiment));
        let all = json!([program.version, without_engine(experiment), inputs, checkers]);
        blake3::hash(all.to_string().as_bytes()).to_hex()[..16].to_owned()
    }

    /// Where a point is saved that has not ended.
    #[must_use]
    pub fn checkpoint(&self, id: &str) -> PathBuf {
        self.path.join("points").join(format!("{id}.checkpoint"))
    }

    /// A point that is kept; what cannot be read is run again.
    #[must_use]
    pub fn load(&self, id: &str) -> Option<Record> {
        let text = base::input::read_text(self.path.join("points").join(format!("{id}.json"))).ok()?;
        serde_json::from_str::<Record>(&text).ok().filter(|r| r.id == id && r.schema == SCHEMA)
    }

    /// Keeps a point.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn keep(&self, record: &Record) -> Result<(), Error> {
        let text = serde_json::to_string_pretty(record).expect("all keys are strings") + "\n";
        let text = visible::screen(&text);
        self.put(&format!("points/{}.json", record.id), &mut |file| file.write_all(text.as_bytes()))
    }

    /// Removes half files of killed processes. Those that others are writing are locked and stay.
    pub fn tidy(&self) {
        for folder in [self.path.clone(), self.path.join("points")] {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let name = entry.file_name();
                let is_half = name.to_str().is_some_and(|name| name.contains(PARTIAL));
                // What cannot be opened or removed does no harm.
                if is_half && fs::File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok()) {
                    let _ = fs::remove_file(entry.path());
                }
            }
        }
    }

    /// Writes a file of the directory: it is there whole, or as it was.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn put(
        &self,
        name: &str,
        write: &mut dyn FnMut(&mut fs::File) -> io::Result<()>,
    ) -> Result<(), Error> {
        let number = self.written.fetch_add(1, Ordering::Relaxed);
        let partial = self.path.join(format!("{name}{PARTIAL}{}-{number}", std::process::id()));
        let path = self.path.join(name);
        let mut attempt = || {
            let mut file = fs::File::create(&partial)?;
            // Where the file system knows no locks, another process may remove it.
            let _ = file.try_lock();
            write(&mut file)?;
            file.sync_all()?;
            fs::rename(&partial, &path)
        };
        // Between its making and its locking another process may have taken it for one of a killed process.
        let written =
            attempt().or_else(|e| if e.kind() == io::ErrorKind::NotFound { attempt() } else { Err(e) });
        written.map_err(|e| {
            // What is left of it would only hide why.
            let _ = fs::remove_file(&partial);
            self.refused(&path, &e)
        })
    }

    /// Writes a table as CSV and, where it can be, as Parquet.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn put_table(&self, table: &Table, metadata: &[(String, String)]) -> Result<(), Error> {
        self.put(&format!("{}.csv", table.name()), &mut |file| results::csv_out::write(table, file))?;
        #[cfg(feature = "parquet")]
        self.put(&format!("{}.parquet", table.name()), &mut |file| {
            results::parquet_out::write(table, metadata, file).map_err(io::Error::other)
        })?;
        #[cfg(not(feature = "parquet"))]
        let _ = metadata;
        Ok(())
    }
}
