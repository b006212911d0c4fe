//! Who writes an output directory: one process at a time, and what a killed one left is tidied by the next.
//!
//! A run claims `DIR` before it simulates: it locks the hidden file `.DIR.lock` beside it. The system drops the lock when the process ends,
//! however it ends, so a lock file that nobody holds is stale and is taken over. What a claim guards is `DIR`, its checkpoint, and the
//! hidden directories of [`crate::output`]: whoever holds it may tidy them.

use crate::{manifest::is_ours, output::OutputError};
use base::{process, visible};
use std::{
    fs::{self, File, TryLockError},
    io::{self, Read, Seek, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The right to write an output directory and what lies beside it; given back when it is dropped.
#[derive(Debug)]
pub struct Claim {
    dir: PathBuf,
    lock: PathBuf,
    /// Locked while it is open; `None` where the file system knows no locks.
    file: Option<File>,
    traces: Traces,
}

/// What a claim puts on disk, which goes away with it, or with a process that a signal ends.
#[derive(Clone, Debug, Default)]
pub struct Traces(Arc<Mutex<Made>>);

/// Files and directories that were made for a claim.
#[derive(Debug, Default)]
struct Made {
    /// The lock file, while it is held.
    lock: Option<PathBuf>,
    /// Directories that were made for it, outermost first.
    parents: Vec<PathBuf>,
}

impl Traces {
    fn made(&self) -> MutexGuard<'_, Made> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes them. Whoever does this while the claim is held must end the process.
    pub fn remove(&self) {
        let mut made = self.made();
        // Removed while it is locked, so that nobody locks a file that is about to go.
        if let Some(lock) = made.lock.take() {
            let _ = fs::remove_file(lock);
        }
        // What is not empty stays: results or a checkpoint are in it.
        for parent in made.parents.drain(..).rev() {
            let _ = fs::remove_dir(parent);
        }
    }
}

impl Claim {
    /// Claims `dir`, which need not exist; missing parents are made, and removed again if they stay empty.
    ///
    /// # Errors
    /// [`OutputError::Claimed`] if another process holds it, and as [`OutputError`] says.
    pub fn take(dir: &Path) -> Result<Self, OutputError> {
        check_name(dir)?;
        let lock = hidden(dir, "lock").ok_or_else(|| OutputError::Unusable(dir.to_owned()))?;
        let mut claim = Self { dir: dir.to_owned(), lock, file: None, traces: Traces::default() };
        claim.make_parents()?;
        let failed = |source| OutputError::Io { path: dir.to_owned(), source };
        loop {
            let opened =
                File::options().read(true).write(true).create(true).truncate(false).open(&claim.lock);
            let file = opened.map_err(|e| match e.kind() {
                io::ErrorKind::IsADirectory => refused(&claim.lock, e),
                _ => failed(e),
            })?;
            match file.try_lock() {
                // Whoever held it before may have removed the file meanwhile: then the lock is on a file that no other process sees.
                Ok(()) if !is_at(&file, &claim.lock) => {}
                Ok(()) => {
                    if !may_be_ours(&file).map_err(failed)? {
                        let why =
                            io::Error::other("a file of this name is in the way: it is no lock of a run");
                        return Err(refused(&claim.lock, why));
                    }
                    write_holder(&file).map_err(failed)?;
                    claim.traces.made().lock = Some(claim.lock.clone());
                    claim.file = Some(file);
                    return Ok(claim);
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(OutputError::Claimed { dir: dir.to_owned(), by: holder(file) });
                }
                Err(TryLockError::Error(e)) if e.kind() == io::ErrorKind::Unsupported => {
                    let _ = fs::remove_file(&claim.lock);
                    return Ok(claim);
                }
                Err(TryLockError::Error(e)) => return Err(failed(e)),
            }
        }
    }

    /// False where the file system knows no locks: then nobody is kept away.
    #[must_use]
    pub fn is_exclusive(&self) -> bool {
        self.file.is_some()
    }

    /// What it put on disk.
    #[must_use]
    pub fn traces(&self) -> Traces {
        self.traces.clone()
    }

    fn make_parents(&self) -> Result<(), OutputError> {
        let above = self.dir.ancestors().skip(1).take_while(|p| !p.as_os_str().is_empty() && !p.exists());
        for parent in above.map(Path::to_owned).collect::<Vec<_>>().into_iter().rev() {
            fs::create_dir(&parent).map_err(|source| OutputError::Io { path: parent.clone(), source })?;
            self.traces.made().parents.push(parent);
        }
        Ok(())
    }

    /// Tidies what killed runs left beside the directory. A run that was replacing another when it was killed is put in place if it was
    /// complete, else the one before is. Says what was done, a line each.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn tidy(&self) -> Result<Vec<String>, OutputError> {
        let mut done = Vec::new();
        if !self.is_exclusive() {
            return Ok(done);
        }
        let left = leftovers(&self.dir)?;
        let of = |kind: &str| left.iter().filter(|l| l.kind == kind).map(|l| &l.path).collect::<Vec<_>>();
        if self.dir.symlink_metadata().is_err() && !of("old").is_empty() {
            let whole = of("partial").into_iter().find(|path| is_ours(path));
            let back = whole.unwrap_or(of("old")[0]);
            fs::rename(back, &self.dir).map_err(|e| refused(back, e))?;
            let what = if whole.is_some() { "its results were complete" } else { "the run before is back" };
            done.push(format!(
                "`{}`: a run was killed while it was replaced; {what}",
                visible::path(&self.dir)
            ));
        }
        for Leftover { path, kind } in left.iter().filter(|l| l.path.symlink_metadata().is_ok()) {
            let (removed, what) = match *kind {
                "checkpoint" => (fs::remove_file(path), "a half checkpoint"),
                "old" => (fs::remove_dir_all(path), "the run that was replaced"),
                _ => (fs::remove_dir_all(path), "half results"),
            };
            removed.map_err(|e| refused(path, e))?;
            done.push(format!("`{}`: {what} of a killed run, removed", visible::path(path)));
        }
        Ok(done)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.traces.remove();
    }
}

/// Something that a killed process left: a hidden directory, or half a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Leftover {
    path: PathBuf,
    kind: &'static str,
}

/// What was left beside one output directory, in the order of names.
fn leftovers(dir: &Path) -> Result<Vec<Leftover>, OutputError> {
    let Some(name) = dir.file_name().map(|n| n.to_string_lossy().into_owned()) else {
        return Ok(Vec::new());
    };
    Ok(all_leftovers(parent(dir))?.into_iter().filter(|(of, _)| *of == name).map(|(_, left)| left).collect())
}

/// How a checkpoint begins; the number of its form follows.
pub const CHECKPOINT: &[u8] = b"netloom checkpoint ";

/// True of a checkpoint, of any form; or of the half of one, if it may be one. A link is neither: none is ever written.
#[must_use]
pub fn is_checkpoint(path: &Path, may_be_half: bool) -> bool {
    let mut first = Vec::new();
    let file = base::input::regular(path).map(|file| file.take(CHECKPOINT.len() as u64));
    let read = file.and_then(|mut file| file.read_to_end(&mut first)).is_ok();
    read && !path.is_symlink()
        && CHECKPOINT.starts_with(&first)
        && (may_be_half || first.len() == CHECKPOINT.len())
}

/// Everything in a directory that killed processes left, each with the name of the output directory that it was for.
fn all_leftovers(folder: &Path) -> Result<Vec<(String, Leftover)>, OutputError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(|e| refused(folder, e))? {
        let path = entry.map_err(|e| refused(folder, e))?.path();
        let Some(name) = path.file_name().and_then(|n| n.to_str()) else { continue };
        if let Some((of, kind, process)) = parse(name)
            && !process::may_be_alive(process, &path)
            && (if kind == "checkpoint" { is_checkpoint(&path, true) } else { is_all_ours(&path) })
        {
            found.push((of.to_owned(), Leftover { path, kind }));
        }
    }
    found.sort_by(|a, b| a.1.path.cmp(&b.1.path));
    Ok(found)
}

/// Names of the output directories beside which something was left in `folder`, sorted.
///
/// # Errors
/// If the folder cannot be read.
pub fn left_in(folder: &Path) -> Result<Vec<String>, OutputError> {
    let mut names: Vec<String> = all_leftovers(folder)?.into_iter().map(|(of, _)| of).collect();
    // A lock file of a killed run; taking it and giving it back removes it.
    for entry in fs::read_dir(folder).map_err(|e| refused(folder, e))?.flatten() {
        let name = entry.file_name();
        let of = name.to_str().and_then(|n| n.strip_prefix('.')?.strip_suffix(".lock"));
        let ours = || base::input::read(entry.path()).is_ok_and(|text| text.starts_with(b"process "));
        names.extend(of.filter(|of| !of.is_empty() && ours()).map(str::to_owned));
    }
    names.sort();
    names.dedup();
    Ok(names)
}

/// Refuses names of what lies beside output directories: what is called so is taken for a part of another run.
///
/// # Errors
/// [`OutputError::Reserved`] if it is such a name.
pub fn check_name(dir: &Path) -> Result<(), OutputError> {
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    let lock =
        name.strip_prefix('.').is_some_and(|name| name.len() > ".lock".len() && name.ends_with(".lock"));
    let what = match parse(&name) {
        _ if name.ends_with(".checkpoint") => "a run's checkpoint",
        _ if lock => "the lock of a run that is under way",
        Some((_, "checkpoint", _)) => "half a checkpoint",
        Some((_, "old", _)) => "a run that is being replaced",
        Some(_) => "half the results of a run",
        None => return Ok(()),
    };
    Err(OutputError::Reserved { dir: dir.to_owned(), what })
}

/// The output directory that a hidden name belongs to, and what it is: `.DIR.partial-PID-N`, `.DIR.old-PID-N`, `DIR.checkpoint.partial-PID`;
/// of the process its mark, in older versions its number alone. Points of a sweep and runs of a study are not claimed one by one, and theirs are let
/// alone while they work.
fn parse(name: &str) -> Option<(&str, &'static str, &str)> {
    if let Some((of, process)) = name.rsplit_once(".checkpoint.partial-") {
        return Some((of, "checkpoint", process)).filter(|_| !of.is_empty() && process::is_mark(process));
    }
    for kind in ["partial", "old"] {
        if let Some((of, rest)) = name.strip_prefix('.')?.rsplit_once(&format!(".{kind}-"))
            && let Some((process, n)) = rest.split_once('-')
            && process::is_mark(process)
            && n.parse::<u32>().is_ok()
            && !of.is_empty()
        {
            return Some((of, kind, process));
        }
    }
    None
}

/// True of a directory that holds nothing but what a run writes: a foreign one of such a name is let alone.
fn is_all_ours(path: &Path) -> bool {
    let written = |name: &str| {
        name == "otf2"
            || [".json", ".parquet", ".csv", ".html", ".prv", ".pcf", ".row"]
                .iter()
                .any(|end| name.ends_with(end))
    };
    let entry = |e: io::Result<fs::DirEntry>| e.is_ok_and(|e| e.file_name().to_str().is_some_and(written));
    path.symlink_metadata().is_ok_and(|m| m.is_dir())
        && (is_ours(path) || fs::read_dir(path).is_ok_and(|mut entries| entries.all(entry)))
}

/// `.DIR.KIND`, beside `DIR`.
fn hidden(dir: &Path, kind: &str) -> Option<PathBuf> {
    let name = dir.file_name()?.to_string_lossy();
    Some(dir.with_file_name(format!(".{name}.{kind}")))
}

fn parent(dir: &Path) -> &Path {
    dir.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn refused(path: &Path, source: io::Error) -> OutputError {
    OutputError::Io { path: path.to_owned(), source }
}

/// True if the open file is the one that the path names.
fn is_at(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let id = |m: fs::Metadata| (m.dev(), m.ino());
        matches!((file.metadata().map(id), fs::metadata(path).map(id)), (Ok(a), Ok(b)) if a == b)
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        path.exists()
    }
}

/// How the text of a lock file begins.
const HOLDER: &str = "process ";

/// True of a lock file: a killed process may have left it empty.
fn may_be_ours(mut file: &File) -> io::Result<bool> {
    let mut first = Vec::new();
    file.take(HOLDER.len() as u64).read_to_end(&mut first)?;
    file.rewind()?;
    Ok(first.is_empty() || first == HOLDER.as_bytes())
}

/// Says in the lock file who holds it, for the message that others get.
fn write_holder(mut file: &File) -> io::Result<()> {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    file.set_len(0)?;
    write!(file, "{HOLDER}{}", std::process::id())?;
    if !host.trim().is_empty() {
        write!(file, " on {}", host.trim())?;
    }
    Ok(())
}

fn holder(file: File) -> String {
    let mut text = String::new();
    let read = file.take(400).read_to_string(&mut text);
    if read.is_ok() && text.starts_with(HOLDER) {
        text.chars().filter(|c| !c.is_control()).collect()
    } else {
        "process unknown".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_one_owner() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("a/b/run");
        let first = Claim::take(&dir).unwrap();
        let Err(OutputError::Claimed { by, .. }) = Claim::take(&dir) else { panic!("held") };
        assert!(by.starts_with(&format!("process {}", std::process::id())), "{by}");
        drop(first);
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0, "parents that stayed empty are gone");
        // A lock file that nobody holds is stale.
        fs::write(root.path().join(".run.lock"), "process 1").unwrap();
        assert!(Claim::take(&root.path().join("run")).unwrap().is_exclusive());
        fs::write(root.path().join(".run.lock"), "").unwrap();
        assert!(Claim::take(&root.path().join("run")).unwrap().is_exclusive());
        // One of somebody else stays, and so does a directory.
        let theirs = root.path().join(".run.lock");
        fs::write(&theirs, "notes").unwrap();
        let taken = Claim::take(&root.path().join("run"));
        assert!(matches!(taken, Err(OutputError::Io { path, .. }) if path == theirs));
        assert_eq!(fs::read_to_string(&theirs).unwrap(), "notes");
        fs::remove_file(&theirs).and_then(|()| fs::create_dir(&theirs)).unwrap();
        let taken = Claim::take(&root.path().join("run"));
        assert!(matches!(taken, Err(OutputError::Io { path, .. }) if path == theirs));
        assert!(matches!(Claim::take(Path::new("/")), Err(OutputError::Unusable(_))));
    }

    #[test]
    fn names_of_leftovers_are_recognised() {
        assert_eq!(parse(".run.partial-12-0"), Some(("run", "partial", "12")));
        assert_eq!(parse(".a.b.old-12-3"), Some(("a.b", "old", "12")));
        assert_eq!(parse("run.checkpoint.partial-7"), Some(("run", "checkpoint", "7")));
        assert_eq!(parse(".run.partial-12.345-0"), Some(("run", "partial", "12.345")));
        assert_eq!(parse("run.checkpoint.partial-7.8"), Some(("run", "checkpoint", "7.8")));
        for other in [
            "run.partial-1-0",
            ".run.partial-1",
            ".run.partial-x-0",
            ".run.partial-1.x-0",
            "run.checkpoint.partial-1.",
            ".partial-1-0",
            "run.checkpoint",
            ".run.lock",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    #[test]
    fn names_of_our_own_are_no_output() {
        let root = tempfile::tempdir().unwrap();
        let taken = |name: &str| Claim::take(&root.path().join(name));
        for name in [
            "b.checkpoint",
            ".checkpoint",
            ".b.lock",
            ".b.partial-12-0",
            ".b.partial-12.345-0",
            ".b.old-12-3",
            "b.checkpoint.partial-7",
        ] {
            assert!(matches!(taken(name), Err(OutputError::Reserved { .. })), "{name}");
        }
        for name in ["checkpoint", "b.checkpoints", "b.lock", ".lock", "b.partial-12-0", ".b.old"] {
            assert!(taken(name).is_ok(), "{name}");
        }
        assert_eq!(names(root.path()), [""; 0]);
    }

    /// Makes a directory that looks like a run, complete or not.
    fn made(root: &Path, name: &str, whole: bool) {
        fs::create_dir(root.join(name)).unwrap();
        fs::write(root.join(name).join("summary.json"), name).unwrap();
        if whole {
            let manifest = serde_json::to_vec(&crate::output::Manifest {
                fingerprint: "00".into(),
                started: "2026-01-01T00:00:00Z".into(),
                ..Default::default()
            });
            fs::write(root.join(name).join("manifest.json"), manifest.unwrap()).unwrap();
        }
    }

    fn names(root: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(root).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_a_killed_run_left_is_tidied_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        fs::write(root.join(".third.lock"), "process 9").unwrap();
        fs::write(root.join(".foreign.lock"), "").unwrap();
        made(root, ".run.partial-4194305-0", false);
        made(root, ".other.partial-4194305-0", false);
        fs::write(root.join("run.checkpoint.partial-4194305"), "netloom che").unwrap();
        fs::write(root.join("run.checkpoint.partial-4194306"), "somebody's").unwrap();
        fs::create_dir(root.join(".run.partial-4194305-1")).unwrap();
        fs::write(root.join(".run.partial-4194305-1/thesis.tex"), "words").unwrap();
        // Of a process that is at work: it will end what it began.
        let own = format!("run.checkpoint.partial-{}", std::process::id());
        let marked = format!("run.checkpoint.partial-{}", process::mark());
        fs::write(root.join(&own), "half").unwrap();
        fs::write(root.join(&marked), "netloom che").unwrap();
        // Of one that had the number of this process before it.
        if marked != own {
            fs::write(root.join(format!("{own}.1")), "netloom che").unwrap();
        }
        assert_eq!(left_in(root).unwrap(), ["other", "run", "third"]);
        let claim = Claim::take(&root.join("run")).unwrap();
        assert_eq!(claim.tidy().unwrap().len(), 2 + usize::from(marked != own));
        drop(claim);
        let foreign = "run.checkpoint.partial-4194306";
        let hidden = [".foreign.lock", ".other.partial-4194305-0", ".run.partial-4194305-1", ".third.lock"];
        let mut left: Vec<&str> = hidden.into_iter().chain([own.as_str(), foreign, &marked]).collect();
        left.sort_unstable();
        left.dedup();
        assert_eq!(names(root), left);
    }

    /// Killed between the two renames of a replacement: the new run if it is whole, else the old one.
    #[test]
    fn a_replacement_that_was_killed_half_way_is_ended() {
        for (whole, expected) in [(true, ".run.partial-4194305-0"), (false, ".run.old-4194305-0")] {
            let root = tempfile::tempdir().unwrap();
            let root = root.path();
            made(root, ".run.old-4194305-0", true);
            made(root, ".run.partial-4194305-0", whole);
            let claim = Claim::take(&root.join("run")).unwrap();
            claim.tidy().unwrap();
            drop(claim);
            assert_eq!(names(root), ["run"]);
            assert_eq!(fs::read_to_string(root.join("run/summary.json")).unwrap(), expected);
        }
    }
}
