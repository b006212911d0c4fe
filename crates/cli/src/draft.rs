//! Files that are written beside where they belong and get their name when they are whole.

use crate::{exit::Exit, failure::Failure};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// A file that is being written; gone if it is dropped.
pub struct Draft {
    to: PathBuf,
    part: PathBuf,
}

impl Draft {
    /// A file that will have this name. Nothing is made yet.
    ///
    /// # Errors
    /// If there is one already, unless it may be replaced.
    pub fn new(to: &Path, force: bool) -> Result<Self, Failure> {
        if !force && to.exists() {
            let message = format!("`{}` exists already", to.display());
            return Err(Failure::new(Exit::Output, message).with_help("--force replaces it"));
        }
        Ok(Self { to: to.to_owned(), part: to.with_added_extension("part") })
    }

    /// Where to write meanwhile.
    #[must_use]
    pub fn part(&self) -> &Path {
        &self.part
    }

    /// The file is whole: it gets its name.
    ///
    /// # Errors
    /// If that fails.
    pub fn keep(self) -> io::Result<()> {
        fs::rename(&self.part, &self.to)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.part);
    }
}
