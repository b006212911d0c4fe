//! Directories for what is needed for a while. Each goes away with its owner; what a killed process left the next one removes.

use crate::process::{is_alive, is_mark, mark, may_be_alive};
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

/// What they are for: part of their names, `netloom-KIND-MARK-N`, with a mark of the [`process`](crate::process).
pub const KINDS: &[&str] =
    &["scenarios", "mars", "simgrid", "files", "example", "opensm", "headers", "program", "ranks"];

/// Lies in each of them: a directory of somebody else may have such a name.
const MARKER: &str = ".netloom-scratch";

/// Files that mark results: nothing with one of them is for a while.
const RESULTS: [&str; 2] = ["manifest.json", "unplaced.json"];

/// Directories made so far: no two of a process have one name, also after one is gone.
static MADE: AtomicU32 = AtomicU32::new(0);

/// A directory that is removed with this.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes one where temporary files go, and removes what is [`left`] there.
    ///
    /// # Errors
    /// If the system refuses.
    ///
    /// # Panics
    /// If the kind is none of [`KINDS`]: our bug.
    pub fn new(kind: &str) -> io::Result<Self> {
        Self::within(&std::env::temp_dir(), kind)
    }

    /// The same in another directory.
    ///
    /// # Errors
    /// If the system refuses.
    ///
    /// # Panics
    /// As [`Scratch::new`].
    pub fn within(parent: &Path, kind: &str) -> io::Result<Self> {
        assert!(KINDS.contains(&kind), "`{kind}` is no kind of directory that is removed later");
        remove_left(parent);
        let mark = mark();
        for _ in 0..10_000 {
            let number = MADE.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("netloom-{kind}-{mark}-{number}"));
            match fs::create_dir(&path) {
                Ok(()) => {
                    let scratch = Self(path);
                    fs::write(scratch.0.join(MARKER), "")?;
                    return Ok(scratch);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A directory that stays is no reason to fail.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Removes what processes that ended left in a directory; says which.
pub fn remove_left(parent: &Path) -> Vec<PathBuf> {
    let mut all = left(parent);
    all.retain(|path| fs::remove_dir_all(path).is_ok());
    all
}

/// What processes that ended left in a directory, sorted; nothing where the system does not say who lives.
#[must_use]
pub fn left(parent: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let mut all: Vec<PathBuf> = entries
        .filter(|entry| {
            entry.file_name().to_str().and_then(owner).is_some_and(|mark| !may_be_alive(mark, &entry.path()))
        })
        .map(|entry| entry.path())
        .filter(|path| path.symlink_metadata().is_ok_and(|meta| meta.is_dir()))
        .filter(|path| path.join(MARKER).symlink_metadata().is_ok_and(|meta| meta.is_file()))
        .filter(|path| !RESULTS.iter().any(|name| path.join(name).symlink_metadata().is_ok()))
        .filter(|_| is_alive(&mark()))
        .collect();
    all.sort();
    all
}

/// The mark in the name of such a directory.
fn owner(name: &str) -> Option<&str> {
    let (kind, rest) = name.strip_prefix("netloom-")?.split_once('-')?;
    let (mark, number) = rest.split_once('-')?;
    (KINDS.contains(&kind) && number.parse::<u32>().is_ok() && is_mark(mark)).then_some(mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_go_away_with_their_owner_or_later() {
        let root = tempfile::tempdir().expect("a directory");
        let root = root.path();
        let dead = ["netloom-scenarios-4194305-0", "netloom-mars-4194305-3", "netloom-opensm-4194305.7-0"];
        // Those of others, of a process that lives, of a kind of its own, and results that nobody has put in place.
        let working = format!("netloom-mars-{}-0", std::process::id());
        let kept =
            ["netloom-own-4194305-0", "netloom-mars-4194305", "netloom-mars-notes-0", "mars-4194305-0"];
        let placed = ["netloom-mars-4194305-4", "netloom-mars-4194305-5"];
        for name in dead.iter().chain(&kept).chain(&placed).copied().chain([working.as_str()]) {
            fs::create_dir(root.join(name)).expect("a new one");
            fs::write(root.join(name).join("a.toml"), "").expect("a file");
            fs::write(root.join(name).join(MARKER), "").expect("a file");
        }
        // What somebody called so has no marker; what another machine wrote may be at work.
        let foreign = ["netloom-files-2026-1", "netloom-headers-2.1-0", "netloom-mars-4194305.7.0-1"];
        for (name, marked) in foreign.iter().zip([false, false, true]) {
            fs::create_dir(root.join(name)).expect("a new one");
            fs::write(root.join(name).join(if marked { MARKER } else { "notes.txt" }), "").expect("a file");
        }
        for (name, file) in placed.iter().zip(RESULTS) {
            fs::write(root.join(name).join(file), "{}").expect("a file");
        }
        fs::write(root.join("netloom-mars-4194305-9"), "a file").expect("a file");
        let own = Scratch::within(root, "mars").expect("a directory");
        if is_alive(&mark()) {
            assert!(dead.iter().all(|name| !root.join(name).exists()));
        }
        assert!(own.path().is_dir() && root.join(&working).is_dir());
        let others = kept.iter().chain(&placed).chain(&foreign).chain(&["netloom-mars-4194305-9"]);
        assert!(others.into_iter().all(|name| root.join(name).exists()));
        let path = own.path().to_owned();
        drop(own);
        assert!(!path.exists() && remove_left(root).is_empty());
    }
}
