//! What becomes of results that cannot be written where they were wanted: they are kept whole elsewhere, and put in place later.
//!
//! A long run must not be lost because a disk is full at its end. Its results then go to the directory for temporary files, as a directory
//! like any other run's and with a note that says where they belong; [`place`] moves them there.

use crate::{
    claim::Claim,
    manifest::is_ours,
    output::{OutputError, PartialOutput, check_target, real},
};
use serde::{Deserialize, Serialize};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// File that says where results belong.
const NOTE: &str = "unplaced.json";

/// Where results belong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unplaced {
    /// The output directory that was wanted, from the root on.
    pub directory: PathBuf,
    /// It may be replaced.
    pub force: bool,
}

/// A directory, not there yet, that can keep the results that `wanted` cannot.
#[must_use]
pub fn elsewhere(wanted: &Path) -> PathBuf {
    let name = wanted.file_name().unwrap_or_default().to_string_lossy();
    let short: String = name.chars().take(40).collect();
    let path = |n: u32| std::env::temp_dir().join(format!("netloom-{short}-{}-{n}", std::process::id()));
    (0..).map(path).find(|p| p.symlink_metadata().is_err()).expect("some name is free")
}

/// Says in the directory `kept` where its results belong.
///
/// # Errors
/// If it cannot be written.
pub fn note(kept: &Path, unplaced: &Unplaced) -> Result<(), OutputError> {
    let path = kept.join(NOTE);
    let text = serde_json::to_string_pretty(unplaced).expect("paths are text") + "\n";
    fs::write(&path, text).map_err(|source| OutputError::Io { path, source })
}

/// Where the results in a directory belong, if they are not there yet.
#[must_use]
pub fn unplaced(kept: &Path) -> Option<Unplaced> {
    let text = base::input::read_text(kept.join(NOTE)).ok()?;
    serde_json::from_str(&text).ok().filter(|_| is_ours(kept))
}

/// Puts the results that are kept in `kept` where they belong, and removes them there. Gives the directory.
///
/// # Errors
/// As for a run that ends; then they are still in `kept`.
pub fn place(kept: &Path, unplaced: &Unplaced) -> Result<PathBuf, OutputError> {
    let dir = &unplaced.directory;
    check_target(dir, unplaced.force)?;
    let dir = real(dir);
    let _claim = Claim::take(&dir)?;
    let partial = PartialOutput::begin(&dir)?;
    copy(kept, partial.path())?;
    partial.publish(&dir)?;
    fs::remove_dir_all(kept).map_err(|source| OutputError::Io { path: kept.to_owned(), source })?;
    Ok(dir)
}

/// Copies what is in a directory, but for the note.
fn copy(from: &Path, to: &Path) -> Result<(), OutputError> {
    let refused = |path: &Path, source: io::Error| OutputError::Io { path: path.to_owned(), source };
    for entry in fs::read_dir(from).map_err(|e| refused(from, e))? {
        let entry = entry.map_err(|e| refused(from, e))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            fs::create_dir(&target).map_err(|e| refused(&target, e))?;
            copy(&source, &target)?;
        } else if entry.file_name() != NOTE {
            fs::copy(&source, &target).map_err(|e| refused(&target, e))?;
            fs::File::open(&target).and_then(|file| file.sync_all()).map_err(|e| refused(&target, e))?;
        }
    }
    Ok(())
}
