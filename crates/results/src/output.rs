//! The output directory: manifest, summary and tables, all there or none.
//!
//! Everything is written to a hidden sibling directory which is renamed when complete. Whatever fails, the hidden directory
//! and parents made for it are removed, and a directory that was to be replaced is put back.

pub use crate::manifest::{Input, Manifest};
use crate::{
    gate::{Gate, Gated, LEFT},
    manifest::{MANIFEST, PAGE, entries, foreign, is_ours},
    otf2_out, paraver_out,
    summary::{SCHEMA, Summary},
    table::Table,
    timeline,
};
use base::{process, visible};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// The time line of rank programs, if operations were asked for.
const TIMELINE: &str = "timeline.json";
/// Directory of the simulated trace, if operations were asked for and the model reports its messages.
const OTF2: &str = "otf2";
/// Tables that a page of a run shows.
const SHOWN: &[&str] =
    &["topology", "links", "loads", "series", "latencies", "pairs", "message_sizes", "ranks", "operations"];

/// A run that was stored: its summary, its manifest, and the tables that a page shows.
///
/// # Errors
/// If something of it is missing or cannot be read.
pub fn read_run(dir: &Path) -> Result<(Summary, Manifest, Vec<Table>), String> {
    let text = |name: &str| {
        let path = dir.join(name);
        base::input::read_text(&path).map_err(|e| format!("cannot read `{}`: {e}", path.display()))
    };
    let broken = |name: &str, e: &dyn std::fmt::Display| format!("`{}`: {e}", dir.join(name).display());
    let summary = Summary::from_json(&text("summary.json")?).map_err(|e| broken("summary.json", &e))?;
    if summary.schema != SCHEMA {
        return Err(broken("summary.json", &format!("its schema is {}, not {SCHEMA}", summary.schema)));
    }
    let manifest = serde_json::from_str(&text(MANIFEST)?).map_err(|e| broken(MANIFEST, &e))?;
    // A page without them would look like that of a run without results.
    let unread = |name: &&&str| {
        !dir.join(format!("{name}.parquet")).exists() && dir.join(format!("{name}.csv")).exists()
    };
    if let Some(name) = SHOWN.iter().find(unread) {
        let path = dir.join(format!("{name}.csv"));
        return Err(format!(
            "`{}`: tables are read back from Parquet alone, and these are CSV; the page that the run wrote beside them is whole",
            path.display()
        ));
    }
    let tables = SHOWN.iter().filter_map(|name| read_table(dir, name).transpose());
    Ok((summary, manifest, tables.collect::<Result<_, _>>()?))
}

/// A table that a run stored; none if it has no such table.
fn read_table(dir: &Path, name: &str) -> Result<Option<Table>, String> {
    let path = dir.join(format!("{name}.parquet"));
    if !path.exists() {
        return Ok(None);
    }
    #[cfg(feature = "parquet")]
    {
        let file = base::input::regular(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let read = crate::parquet_out::read(name, file);
        read.map(|(table, _)| Some(table)).map_err(|e| format!("{}: {e}", path.display()))
    }
    #[cfg(not(feature = "parquet"))]
    Err(format!("{}: this netloom was built without Parquet", path.display()))
}

/// The table of messages that a run stored in its output directory; none if it was not asked for.
///
/// # Errors
/// If it is there and cannot be read.
pub fn read_messages(dir: &Path) -> Result<Option<Table>, String> {
    read_table(dir, "messages")
}

/// Why a run could not be stored.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The directory exists and may not be replaced.
    #[error("`{}` exists already", visible::path(.0))]
    Exists(PathBuf),
    /// It may be replaced, but holds something that no run wrote.
    #[error("`{}` is not an output directory of netloom: it is not empty and has no {MANIFEST} of netloom", visible::path(.0))]
    NotOurs(PathBuf),
    /// It may be replaced and is a run's, but somebody put this file into it.
    #[error("`{}` was not written by the run whose directory would be replaced", visible::path(.0))]
    Foreign(PathBuf),
    /// Its name is one of those that lie beside output directories.
    #[error("`{}` cannot be an output: this is how {what} is called", visible::path(dir))]
    Reserved {
        /// The name that was wanted.
        dir: PathBuf,
        /// What is called so.
        what: &'static str,
    },
    /// Another process is about to write it.
    #[error("`{}` is being written by another netloom ({by})", visible::path(dir))]
    Claimed {
        /// The output directory.
        dir: PathBuf,
        /// That process, as far as it said.
        by: String,
    },
    /// The path is a file, or names no directory at all (such as `/`).
    #[error("`{}` cannot be an output directory", visible::path(.0))]
    Unusable(PathBuf),
    /// Whoever shut the gate took the results back.
    #[error("{LEFT}")]
    Left,
    /// The system refused.
    #[error("cannot write `{}`: {source}", visible::path(path))]
    Io {
        /// What was to be written.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A table could not be written.
    #[error("cannot write table `{table}`: {message}")]
    Table {
        /// Name of the table, without an extension.
        table: String,
        /// Why it could not be written.
        message: String,
    },
}

/// Checks before a run whether [`write_run`] would accept the directory.
///
/// # Errors
/// [`OutputError::Exists`], [`OutputError::NotOurs`] or [`OutputError::Unusable`].
pub fn check_target(dir: &Path, force: bool) -> Result<(), OutputError> {
    resolve(dir, force).map(drop)
}

/// What is stored beside manifest and summary.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beside<'a> {
    /// Tables, each a file of its own.
    pub tables: &'a [Table],
    /// The page, if there is one.
    pub page: Option<&'a str>,
    /// Tables also as CSV, where they are Parquet.
    pub csv: bool,
    /// What may keep the results from being put in place.
    pub gate: Option<&'a Gate>,
}

/// Writes `manifest.json`, `summary.json`, the page if there is one, and a file per table (Parquet, with CSV beside it if that is wanted; CSV alone in
/// a build without Parquet) to `dir`, making missing parents.
///
/// With `force` an earlier run's directory (or an empty one) is replaced; anything else never is.
///
/// # Errors
/// See [`OutputError`]; then nothing has changed on disk. One case is different: if only the removal of the replaced run
/// fails, the new one is in place and the error names the hidden directory that holds the old one.
pub fn write_run(
    dir: &Path,
    force: bool,
    manifest: &Manifest,
    summary: &Summary,
    Beside { tables, page, csv, gate }: Beside<'_>,
) -> Result<(), OutputError> {
    let dir = resolve(dir, force)?;
    let mut partial = PartialOutput::begin(&dir)?;
    if gate.is_some_and(|gate| !gate.enter(&partial.path)) {
        return Err(OutputError::Left);
    }
    if let Some(page) = page {
        partial.write(PAGE, page.as_bytes())?;
    }
    partial.write("summary.json", summary.to_json().as_bytes())?;
    for table in tables.iter().filter(|table| !table.is_internal()) {
        #[cfg(feature = "parquet")]
        write_parquet(&partial.path, table, manifest, &summary.experiment, gate)?;
        if csv || cfg!(not(feature = "parquet")) {
            write_csv(&partial.path, table, gate)?;
        }
    }
    let table = |name: &str| tables.iter().find(|t| t.name() == name);
    let markers = table("markers");
    let beside = timeline::Beside { transfers: table("transfers"), path: table("critical_path"), markers };
    let events = |all| timeline::trace_events(all, beside);
    if let Some(events) = table("operations").and_then(events) {
        partial.write(TIMELINE, visible::screen(&events).as_bytes())?;
    }
    if let (Some(operations), Some(transfers)) = (table("operations"), table("transfers")) {
        let path = partial.path.join(OTF2);
        otf2_out::write(&path, operations, transfers, table("order"), markers)
            .map_err(|e| io_error(&path, io::Error::other(e)))?;
        for (name, text) in paraver_out::files(operations, transfers, markers) {
            partial.write(name, text.as_bytes())?;
        }
    }
    // Last, so that a directory with a manifest is complete.
    let files = entries(&partial.path).map_err(|e| io_error(&partial.path, e))?;
    let manifest = Manifest { files, ..manifest.clone() };
    let json = serde_json::to_string_pretty(&manifest).expect("all keys are strings") + "\n";
    partial.write(MANIFEST, visible::screen(&json).as_bytes())?;
    match gate {
        Some(gate) => gate.pass(|| partial.publish(&dir)).unwrap_or(Err(OutputError::Left)),
        None => partial.publish(&dir),
    }
}

/// Finds out whether the directory can be written, by making and removing the hidden directory that results are gathered in.
///
/// # Errors
/// What the system says, of a name that is too long as well.
pub fn check_writable(dir: &Path) -> Result<(), OutputError> {
    if dir.file_name().is_none() {
        return Err(OutputError::Unusable(dir.to_owned()));
    }
    let probe = sibling(dir, "partial");
    fs::create_dir(&probe).and_then(|()| fs::remove_dir(&probe)).map_err(|e| io_error(dir, e))
}

/// The directory that a path means, links followed; the path itself if there is nothing.
#[must_use]
pub fn real(dir: &Path) -> PathBuf {
    dir.canonicalize().unwrap_or_else(|_| dir.to_owned())
}

/// Checks the target and follows symbolic links, so that a rename replaces the directory and not the link.
fn resolve(dir: &Path, force: bool) -> Result<PathBuf, OutputError> {
    if dir.symlink_metadata().is_err() {
        return match dir.file_name() {
            Some(_) => Ok(dir.to_owned()),
            None => Err(OutputError::Unusable(dir.to_owned())),
        };
    }
    let Ok(real) = dir.canonicalize() else {
        return Err(OutputError::Unusable(dir.to_owned()));
    };
    if !real.is_dir() || real.file_name().is_none() {
        return Err(OutputError::Unusable(dir.to_owned()));
    }
    if !force {
        return Err(OutputError::Exists(dir.to_owned()));
    }
    let mut entries = fs::read_dir(&real).map_err(|e| io_error(&real, e))?;
    if entries.next().is_some() && !is_ours(&real) {
        return Err(OutputError::NotOurs(dir.to_owned()));
    }
    if let Some(name) = foreign(&real) {
        return Err(OutputError::Foreign(dir.join(name)));
    }
    Ok(real)
}

#[cfg(feature = "parquet")]
fn write_parquet(
    dir: &Path,
    table: &Table,
    manifest: &Manifest,
    experiment: &serde_json::Value,
    gate: Option<&Gate>,
) -> Result<(), OutputError> {
    let path = dir.join(format!("{}.parquet", table.name()));
    let file = fs::File::create_new(&path).map_err(|e| io_error(&path, e))?;
    // Only what is the same for every run of an experiment.
    let metadata = [
        ("netloom.version", manifest.version.clone()),
        ("netloom.revision", manifest.revision.clone()),
        ("netloom.fingerprint", manifest.fingerprint.clone()),
        ("netloom.seed", manifest.seed.to_string()),
        ("netloom.experiment", experiment.to_string()),
    ]
    .map(|(k, v)| (k.to_owned(), v));
    let failed = |e: &dyn std::error::Error| OutputError::Table {
        table: table.name().to_owned(),
        message: e.to_string(),
    };
    crate::parquet_out::write(table, &metadata, Gated(&file, gate)).map_err(|e| failed(&e))?;
    file.sync_all().map_err(|e| failed(&e))
}

/// Where a CSV file came from stands in the manifest beside it.
fn write_csv(dir: &Path, table: &Table, gate: Option<&Gate>) -> Result<(), OutputError> {
    let path = dir.join(format!("{}.csv", table.name()));
    let file = fs::File::create_new(&path).map_err(|e| io_error(&path, e))?;
    let written = crate::csv_out::write(table, Gated(&file, gate));
    written.and_then(|()| file.sync_all()).map_err(|e| io_error(&path, e))
}

/// The hidden directory while it is being filled; removed on drop unless published.
pub(crate) struct PartialOutput {
    path: PathBuf,
    /// Whether `path` exists and is to be removed.
    made: bool,
    /// Parents that were made for it and are to be removed, outermost first.
    parents: Vec<PathBuf>,
}

impl PartialOutput {
    /// Makes it, and its parents if they are missing.
    pub(crate) fn begin(dir: &Path) -> Result<Self, OutputError> {
        let mut partial = Self { path: sibling(dir, "partial"), made: false, parents: Vec::new() };
        let above = dir.ancestors().skip(1).take_while(|p| !p.as_os_str().is_empty() && !p.exists());
        for parent in above.collect::<Vec<_>>().into_iter().rev() {
            fs::create_dir(parent).map_err(|e| io_error(parent, e))?;
            partial.parents.push(parent.to_owned());
        }
        fs::create_dir(&partial.path).map_err(|e| io_error(dir, e))?;
        partial.made = true;
        Ok(partial)
    }

    fn write(&mut self, name: &str, contents: &[u8]) -> Result<(), OutputError> {
        use io::Write;
        let path = self.path.join(name);
        let written = fs::File::create_new(&path)
            .and_then(|mut file| file.write_all(contents).and_then(|()| file.sync_all()));
        written.map_err(|e| io_error(&path, e))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Puts it in place of `dir`.
    pub(crate) fn publish(mut self, dir: &Path) -> Result<(), OutputError> {
        let old = dir.exists().then(|| sibling(dir, "old"));
        if let Some(old) = &old {
            fs::rename(dir, old).map_err(|e| io_error(dir, e))?;
        }
        if let Err(e) = fs::rename(&self.path, dir) {
            if let Some(old) = &old {
                // If this fails too, the old results are still there under the hidden name.
                let _ = fs::rename(old, dir);
            }
            return Err(io_error(dir, e));
        }
        self.made = false;
        self.parents.clear();
        match &old {
            Some(old) => fs::remove_dir_all(old).map_err(|e| io_error(old, e)),
            None => Ok(()),
        }
    }
}

impl Drop for PartialOutput {
    fn drop(&mut self) {
        // Errors here would only hide the one that led here.
        if self.made {
            let _ = fs::remove_dir_all(&self.path);
        }
        for parent in self.parents.iter().rev() {
            let _ = fs::remove_dir(parent);
        }
    }
}

/// A hidden, unused name beside `dir`.
fn sibling(dir: &Path, purpose: &str) -> PathBuf {
    let name = dir.file_name().expect("checked by `resolve`").to_string_lossy();
    let mark = process::mark();
    let path = |n: u32| dir.with_file_name(format!(".{name}.{purpose}-{mark}-{n}"));
    (0..).map(path).find(|p| p.symlink_metadata().is_err()).expect("some name is free")
}

fn io_error(path: &Path, source: io::Error) -> OutputError {
    OutputError::Io { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{summary::tests::full, table::tests::sample};

    fn manifest() -> Manifest {
        Manifest {
            version: "0.1.0".into(),
            fingerprint: full().fingerprint,
            seed: 7,
            started: "2026-01-01T00:00:00Z".into(),
            inputs: vec![Input::new("a.toml", b"abc")],
            ..Manifest::default()
        }
    }

    fn write(dir: &Path, force: bool) -> Result<(), OutputError> {
        write_run(dir, force, &manifest(), &full(), Beside { tables: &[sample(3)], ..Beside::default() })
    }

    #[test]
    fn tables_of_text_are_refused_where_they_would_be_missed() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("run");
        write(&dir, false).unwrap();
        assert!(read_run(&dir).is_ok());
        fs::write(dir.join("links.csv"), "link\n").unwrap();
        let refused = read_run(&dir).unwrap_err();
        assert!(refused.contains("links.csv") && refused.contains("CSV"), "{refused}");
    }

    /// Names in a directory, sorted.
    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_run_is_written_with_its_parents() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("a/b/run");
        check_target(&dir, false).unwrap();
        write(&dir, false).unwrap();
        let table = if cfg!(feature = "parquet") { "sample.parquet" } else { "sample.csv" };
        assert_eq!(names(&dir), ["manifest.json", table, "summary.json"]);
        assert_eq!(names(dir.parent().unwrap()), ["run"]);
        assert_eq!(fs::read_to_string(dir.join("summary.json")).unwrap(), full().to_json());
        let m: serde_json::Value =
            serde_json::from_slice(&fs::read(dir.join("manifest.json")).unwrap()).unwrap();
        assert_eq!(m["seed"], 7);
        // Published test vector: BLAKE3 of "abc".
        assert_eq!(
            m["inputs"][0]["blake3"],
            "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85"
        );
    }

    #[cfg(feature = "parquet")]
    #[test]
    fn tables_carry_where_they_came_from() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("run");
        write(&dir, false).unwrap();
        let file = fs::File::open(dir.join("sample.parquet")).unwrap();
        let (table, metadata) = crate::parquet_out::read("sample", file).unwrap();
        assert_eq!(table, sample(3));
        assert!(metadata.contains(&("netloom.fingerprint".to_owned(), full().fingerprint)));
        assert!(metadata.contains(&("netloom.seed".to_owned(), "7".to_owned())));
    }

    #[test]
    fn tables_are_csv_beside_parquet_where_that_is_wanted() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("run");
        let beside = Beside { tables: &[sample(3)], csv: true, ..Beside::default() };
        write_run(&dir, false, &manifest(), &full(), beside).unwrap();
        let parquet = cfg!(feature = "parquet").then_some("sample.parquet");
        let all: Vec<&str> = ["manifest.json", "sample.csv"].into_iter().chain(parquet).collect();
        assert_eq!(names(&dir), [&all[..], &["summary.json"]].concat());
        let mut expected = Vec::new();
        crate::csv_out::write(&sample(3), &mut expected).unwrap();
        assert_eq!(fs::read(dir.join("sample.csv")).unwrap(), expected);
    }

    #[test]
    fn an_existing_run_is_replaced_only_by_force() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("run");
        write(&dir, false).unwrap();
        fs::write(dir.join("report.html"), "old").unwrap();
        for refused in [check_target(&dir, false), write(&dir, false)] {
            assert!(matches!(refused, Err(OutputError::Exists(_))));
        }
        assert!(dir.join("report.html").exists());
        check_target(&dir, true).unwrap();
        write(&dir, true).unwrap();
        assert!(!dir.join("report.html").exists());
        assert!(dir.join("summary.json").exists());
        assert_eq!(names(root.path()), ["run"]);
    }

    #[test]
    fn what_a_user_put_into_a_run_is_not_lost() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("run");
        write(&dir, false).unwrap();
        fs::write(dir.join("notes.md"), "words").unwrap();
        for refused in [check_target(&dir, true), write(&dir, true)] {
            assert!(matches!(refused, Err(OutputError::Foreign(path)) if path.ends_with("notes.md")));
        }
        fs::rename(dir.join("notes.md"), root.path().join("notes.md")).unwrap();
        write(&dir, true).unwrap();
    }

    #[test]
    fn a_directory_that_is_not_ours_is_never_replaced() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("thesis");
        fs::create_dir(&dir).unwrap();
        assert!(matches!(write(&dir, false), Err(OutputError::Exists(_))));
        fs::write(dir.join("chapter.tex"), "words").unwrap();
        assert!(matches!(write(&dir, true), Err(OutputError::NotOurs(_))));
        assert_eq!(names(&dir), ["chapter.tex"]);
        fs::remove_file(dir.join("chapter.tex")).unwrap();
        write(&dir, true).unwrap();
        assert!(dir.join("manifest.json").exists());
        assert_eq!(names(root.path()), ["thesis"]);
    }

    #[test]
    fn files_and_roots_are_no_directories() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("file");
        fs::write(&file, "x").unwrap();
        for path in [&file, Path::new("/"), Path::new(""), Path::new("nowhere/..")] {
            for force in [false, true] {
                let refused = write(path, force);
                assert!(matches!(refused, Err(OutputError::Unusable(_))), "{path:?}: {refused:?}");
            }
        }
        assert!(matches!(write(&file.join("below"), false), Err(OutputError::Io { .. })));
        assert_eq!(fs::read_to_string(&file).unwrap(), "x");
    }

    /// A name that fits a path component only without the hidden directory's suffix cannot be written beside.
    #[test]
    fn a_failure_leaves_nothing_behind() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("made/for").join("x".repeat(250));
        assert!(matches!(write(&dir, false), Err(OutputError::Io { .. })));
        assert!(names(root.path()).is_empty());
        // Two tables of one name: the second fails after the first was written.
        let twice = [sample(1), sample(1)];
        let dir = root.path().join("made/run");
        assert!(
            write_run(&dir, false, &manifest(), &full(), Beside { tables: &twice, ..Beside::default() })
                .is_err()
        );
        assert!(names(root.path()).is_empty());
    }

    #[test]
    fn a_failed_replacement_keeps_the_old_run() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("run");
        write(&dir, false).unwrap();
        fs::write(dir.join("mark"), "old").unwrap();
        let twice = [sample(1), sample(1)];
        assert!(
            write_run(&dir, true, &manifest(), &full(), Beside { tables: &twice, ..Beside::default() })
                .is_err()
        );
        assert_eq!(fs::read_to_string(dir.join("mark")).unwrap(), "old");
        assert_eq!(names(root.path()), ["run"]);
    }

    #[cfg(unix)]
    #[test]
    fn force_through_a_link_replaces_the_directory_behind_it() {
        let root = tempfile::tempdir().unwrap();
        let (real, link) = (root.path().join("real"), root.path().join("link"));
        write(&real, false).unwrap();
        fs::write(real.join("report.html"), "old").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        write(&link, true).unwrap();
        assert!(
            link.is_symlink() && !link.join("report.html").exists() && link.join("summary.json").exists()
        );
        assert_eq!(names(root.path()), ["link", "real"]);
    }
}
