//! Checkpoints on disk: the state of a run in one file beside its output directory, `DIR.checkpoint`.
//!
//! The file is written under another name and renamed when it is complete and on the disk: whatever happens meanwhile, the one before
//! is still there. It holds the experiment as it was read, so that a run goes on as it began, and a hash of everything before it. It
//! belongs to the build that wrote it; any other build refuses it.

use crate::{
    error::{Error, ErrorKind},
    input::Input as Given,
    options::{MemoryLimit, RunOptions},
};
use base::process;
use model::Finished;
use results::{
    claim::CHECKPOINT,
    output::{Input, Manifest},
    raw::{self, Put},
    summary::Summary,
};
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

/// First bytes of the file.
const MAGIC: &[u8; 21] = b"netloom checkpoint 1\n";
/// Bytes of the hash at the end.
const HASH: usize = 32;

/// What a run needs beside its state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Version and revision of the build.
    pub build: String,
    /// Name of the experiment file, and its text.
    pub file: (PathBuf, String),
    /// Values of `--set`.
    pub set: Vec<String>,
    /// Directory that relative names are meant from.
    pub directory: PathBuf,
    /// Other files that the run reads.
    pub inputs: Vec<Input>,
    /// Partitions of the state; set when it is stored, as `now`.
    pub partitions: u32,
    /// Threads among which the run is divided.
    pub threads: u32,
    /// The checkers run.
    pub checkers: bool,
    /// The output directory may be replaced.
    pub force: bool,
    /// Wall time of the run's start (RFC 3339).
    pub started: String,
    /// Virtual time of the state, in picoseconds.
    pub now: u64,
    /// The run has ended, and the state is what it left: [`Ended`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ended: bool,
}

/// What a run left that has no files yet.
pub struct Ended {
    /// What is reported beside its results.
    pub manifest: Manifest,
    /// Its summary and its tables.
    pub finished: Finished,
}

impl Ended {
    /// What stands in a checkpoint of which the header says that its run has ended.
    ///
    /// # Errors
    /// If that is something else.
    pub fn read(state: &[u8], path: &Path) -> Result<Self, Error> {
        let read = || {
            let mut rest = state;
            let manifest = serde_json::from_slice(part(&mut rest)?).ok()?;
            let summary = Summary::from_json(str::from_utf8(part(&mut rest)?).ok()?).ok()?;
            let tables = raw::read(rest)?;
            Some(Self { manifest, finished: Finished { summary, tables } })
        };
        let message = || format!("checkpoint `{}` is damaged: what it keeps are no results", path.display());
        read().ok_or_else(|| Error::new(ErrorKind::Input, message()))
    }

    fn write(&self, put: &mut Put<'_>) -> io::Result<()> {
        for text in [serde_json::to_string(&self.manifest)?, self.finished.summary.to_json()] {
            put(&(text.len() as u64).to_le_bytes())?;
            put(text.as_bytes())?;
        }
        raw::write(&self.finished.tables, put)
    }
}

impl Header {
    /// The experiment as it was given.
    #[must_use]
    pub fn input(&self) -> Given {
        Given { file: self.file.0.clone(), set: self.set.clone() }
    }

    /// How the run goes on in this process: with as many threads as before if none are asked for.
    #[must_use]
    pub fn options(&self, threads: Option<u32>, memory: Option<MemoryLimit>) -> RunOptions {
        RunOptions {
            threads: threads.unwrap_or(self.threads),
            partitions: Some(self.partitions),
            memory,
            checkers: self.checkers,
            page: true,
            ..RunOptions::default()
        }
    }
}

/// Where the checkpoint of a run with this output directory lies.
///
/// # Errors
/// If the path names no directory.
pub fn path_of(out: &Path) -> Result<PathBuf, Error> {
    let Some(name) = out.file_name() else {
        let message = format!("`{}` cannot be an output directory", out.display());
        return Err(Error::new(ErrorKind::Output, message));
    };
    let mut name = name.to_owned();
    name.push(".checkpoint");
    Ok(out.with_file_name(name))
}

/// A file, not there yet, that can keep a checkpoint that cannot be where it belongs: one per output directory, process and attempt.
#[must_use]
pub fn elsewhere(path: &Path) -> PathBuf {
    let directory = results::rescue::elsewhere(&path.with_extension(""));
    let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let at = |n: u32| directory.with_file_name(format!("{name}.{n}.checkpoint"));
    (0..).map(at).find(|path| path.symlink_metadata().is_err()).unwrap_or_else(|| at(0))
}

/// The output directory that a user means: who names the checkpoint itself means the directory that it belongs to.
#[must_use]
pub fn directory_of(given: &Path) -> PathBuf {
    let is_checkpoint = given.extension().is_some_and(|e| e == "checkpoint") && given.is_file();
    if is_checkpoint { given.with_extension("") } else { given.to_owned() }
}

/// Stores a state; the file before stays until this one is complete.
///
/// # Errors
/// If the system refuses; then the file before is still there.
pub fn store(path: &Path, header: &Header, state: &[u8]) -> Result<(), Error> {
    replace(path, header, &mut |put| {
        put(&(state.len() as u64).to_le_bytes())?;
        put(state)
    })
}

/// Stores what a run left in the place of its checkpoint; it goes through no copy in memory.
///
/// # Errors
/// As [`store`].
pub fn store_ended(path: &Path, header: &Header, ended: &Ended) -> Result<(), Error> {
    let now = ended.finished.summary.simulated_ps;
    replace(path, &Header { ended: true, now, ..header.clone() }, &mut |put| ended.write(put))
}

/// The error of a checkpoint that could not be stored at `path` and is kept as `kept`.
pub(crate) fn kept_elsewhere(error: &Error, kept: &Path, path: &Path) -> Error {
    let message = format!("{error}; it is kept as `{}`", kept.display());
    let help = format!(
        "when there is room: mv '{}' '{}', and `netloom resume` goes on",
        kept.display(),
        path.display()
    );
    Error::new(ErrorKind::Output, message).with_help(help)
}

/// What puts a state into a file.
type State<'a> = dyn FnMut(&mut Put<'_>) -> io::Result<()> + 'a;

fn replace(path: &Path, header: &Header, state: &mut State<'_>) -> Result<(), Error> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(format!(".partial-{}", process::mark()));
    let partial = PathBuf::from(partial);
    let written =
        write(&partial, header, state).and_then(|()| fs::rename(&partial, path)).and_then(|()| sync(path));
    written.map_err(|e| {
        // Half a checkpoint is of no use; failing to remove it would only hide the error.
        let _ = fs::remove_file(&partial);
        let before = if path.exists() { "; the one before is still there" } else { "" };
        Error::new(ErrorKind::Output, format!("cannot write checkpoint `{}`: {e}{before}", path.display()))
    })
}

fn write(path: &Path, header: &Header, state: &mut State<'_>) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut file = File::create(path)?;
    let mut hasher = blake3::Hasher::new();
    let mut put = |bytes: &[u8]| {
        hasher.update(bytes);
        file.write_all(bytes)
    };
    let header = serde_json::to_vec(header)?;
    put(MAGIC)?;
    put(&(header.len() as u64).to_le_bytes())?;
    put(&header)?;
    state(&mut put)?;
    file.write_all(hasher.finalize().as_bytes())?;
    file.sync_all()
}

/// Sees to it that the renamed file is found after a crash of the machine.
fn sync(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if cfg!(unix) { File::open(parent)?.sync_all() } else { Ok(()) }
}

/// Reads a checkpoint that the program `build` wrote.
///
/// # Errors
/// If there is none, it is damaged, or another program or build wrote it.
pub fn load(path: &Path, build: &str) -> Result<(Header, Vec<u8>), Error> {
    let refuse = |why: &str| Error::new(ErrorKind::Input, format!("checkpoint `{}` {why}", path.display()));
    let mut bytes = Vec::new();
    let read = base::input::regular(path).and_then(|mut file| file.read_to_end(&mut bytes));
    read.map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => {
            Error::new(ErrorKind::Input, format!("there is no checkpoint `{}`", path.display()))
                .with_help("a run leaves one if it is asked to: [engine] checkpoint, SIGTERM or SIGUSR1")
        }
        _ => refuse(&format!("cannot be read: {e}")),
    })?;
    if !bytes.starts_with(MAGIC) {
        let ours = bytes.starts_with(CHECKPOINT);
        return Err(refuse(if ours {
            "has the form of another version"
        } else {
            "is no checkpoint of netloom"
        }));
    }
    let damaged = || refuse("is damaged: it is cut off, or not what was written");
    let body = bytes.len().checked_sub(HASH).filter(|&n| n >= MAGIC.len()).ok_or_else(damaged)?;
    if blake3::hash(&bytes[..body]).as_bytes() != &bytes[body..] {
        return Err(damaged());
    }
    let mut rest = &bytes[MAGIC.len()..body];
    let header = part(&mut rest).ok_or_else(damaged)?;
    // The build is read apart: the rest of the header may look otherwise in another build.
    let wrote = serde_json::from_slice::<serde_json::Value>(header).map_err(|_| damaged())?["build"].take();
    if wrote != build {
        let theirs = wrote.as_str().unwrap_or("an unknown build").to_owned();
        let message = format!("was written by netloom {theirs}, and this is {build}");
        return Err(refuse(&message).with_help("go on with the build that wrote it, or start anew"));
    }
    let header: Header = serde_json::from_slice(header).map_err(|_| damaged())?;
    let state = if header.ended { Some(rest) } else { part(&mut rest) };
    Ok((header, state.ok_or_else(damaged)?.to_vec()))
}

/// A part that is preceded by its length.
fn part<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, after) = rest.split_first_chunk::<8>()?;
    let (part, after) = after.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    *rest = after;
    Some(part)
}

/// The results of a run that was killed between storing them and taking its checkpoint away: read, and as they were stored.
#[must_use]
pub fn ended(dir: &Path, header: &Header) -> Option<(Summary, String)> {
    let read = |name: &str| base::input::read_text(dir.join(name)).ok();
    let manifest: serde_json::Value = serde_json::from_str(&read("manifest.json")?).ok()?;
    if manifest["started"].as_str() != Some(&header.started) {
        return None;
    }
    let stored = read("summary.json")?;
    Some((Summary::from_json(&stored).ok()?, stored))
}

/// Refuses files that are not what they were.
///
/// # Errors
/// If one has changed.
pub fn same_inputs(path: &Path, header: &Header, now: &[Input]) -> Result<(), Error> {
    let changed = header.inputs.iter().find(|then| !now.contains(then));
    let Some(changed) = changed else { return Ok(()) };
    let message = format!("`{}` has changed since checkpoint `{}` was written", changed.path, path.display());
    Err(Error::new(ErrorKind::Input, message)
        .with_help("put the old file back, or start anew with `netloom run --force`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUILD: &str = "0.1.0 (of a test)";

    fn header() -> Header {
        Header {
            build: BUILD.to_owned(),
            file: ("a.toml".into(), "[fabric]".into()),
            set: vec!["a.b=1".into()],
            directory: "/".into(),
            inputs: Vec::new(),
            partitions: 3,
            threads: 2,
            checkers: true,
            force: false,
            started: "2026-01-01T00:00:00Z".into(),
            now: 77,
            ended: false,
        }
    }

    fn message(path: &Path) -> String {
        load(path, BUILD).unwrap_err().to_string()
    }

    #[test]
    fn what_is_stored_comes_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = path_of(&dir.path().join("new/run")).unwrap();
        assert!(message(&path).contains("there is no checkpoint"));
        for state in [&b"abc"[..], b""] {
            store(&path, &header(), state).unwrap();
            assert_eq!(load(&path, BUILD).unwrap(), (header(), state.to_vec()));
        }
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing else is left");
    }

    #[test]
    fn damaged_foreign_and_older_ones_are_refused_with_the_reason() {
        let dir = tempfile::tempdir().unwrap();
        let path = path_of(&dir.path().join("run")).unwrap();
        store(&path, &header(), b"state").unwrap();
        let good = fs::read(&path).unwrap();
        for length in [0, 5, MAGIC.len(), good.len() - 1] {
            fs::write(&path, &good[..length]).unwrap();
            let text = message(&path);
            assert!(
                text.contains("damaged") || text.contains("no checkpoint of netloom"),
                "{length}: {text}"
            );
        }
        for at in MAGIC.len()..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 4;
            fs::write(&path, &bad).unwrap();
            assert!(message(&path).contains("damaged"), "byte {at}");
        }
        fs::write(&path, good.iter().map(|&b| if b == b'1' { b'0' } else { b }).collect::<Vec<_>>()).unwrap();
        assert!(message(&path).contains("another version"), "{}", message(&path));
        store(&path, &Header { build: "0.0.9 (abc)".into(), ..header() }, b"state").unwrap();
        assert!(message(&path).contains("written by netloom 0.0.9 (abc)"), "{}", message(&path));
    }

    #[test]
    fn a_refused_write_keeps_the_one_before() {
        let dir = tempfile::tempdir().unwrap();
        let path = path_of(&dir.path().join("run")).unwrap();
        store(&path, &header(), b"state").unwrap();
        // A directory in the way of the new file stands for a disk that takes no more.
        let mut partial = path.as_os_str().to_owned();
        partial.push(format!(".partial-{}", process::mark()));
        fs::create_dir(&partial).unwrap();
        let text = store(&path, &header(), b"later").unwrap_err().to_string();
        assert!(text.contains("the one before is still there"), "{text}");
        assert_eq!(load(&path, BUILD).unwrap().1, b"state");
    }

    /// Names with dots are whole, and what is there is not replaced.
    #[test]
    fn what_is_kept_elsewhere_replaces_nothing() {
        let kept = ["a.1", "a.2", "a"].map(|name| elsewhere(&path_of(Path::new(name)).unwrap()));
        assert!(kept[0] != kept[1] && kept[1] != kept[2], "{kept:?}");
        std::fs::write(&kept[0], "").unwrap();
        let again = elsewhere(Path::new("a.1.checkpoint"));
        std::fs::remove_file(&kept[0]).unwrap();
        assert_ne!(again, kept[0]);
    }
}
