//! Files that are written beside where they belong and get their name when they are whole.

use crate::error::{Error, ErrorKind};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// The error of a file that cannot be written.
pub(crate) fn unwritable(path: &Path, error: &io::Error) -> Error {
    Error::new(ErrorKind::Output, format!("cannot write `{}`: {error}", path.display()))
}

/// A file that is being written; gone if it is dropped.
pub struct PartFile {
    to: PathBuf,
    part: PathBuf,
}

impl PartFile {
    /// A file that will have this name. Nothing is made yet.
    ///
    /// # Errors
    /// If there is one already, unless it may be replaced; devices and directories never are.
    pub fn new(to: &Path, force: bool) -> Result<Self, Error> {
        if !force && to.exists() {
            let message = format!("`{}` exists already", to.display());
            return Err(Error::new(ErrorKind::Output, message).with_help("--force replaces it"));
        }
        if to.exists() && !to.is_file() {
            let message = format!("`{}` is no file: it cannot be replaced by one", to.display());
            return Err(Error::new(ErrorKind::Output, message));
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

impl Drop for PartFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.part);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "tests")]
    use super::*;

    #[test]
    fn files_come_whole_or_not_at_all() {
        let folder = tempfile::tempdir().expect("a directory");
        let to = folder.path().join("result");
        let write = |text: &str, force| -> Result<PartFile, ErrorKind> {
            let file = PartFile::new(&to, force).map_err(|f| f.kind())?;
            fs::write(file.part(), text).expect("written");
            Ok(file)
        };
        drop(write("cut", false));
        assert_eq!(fs::read_dir(&folder).expect("a directory").count(), 0);
        write("one", false).expect("a file").keep().expect("renamed");
        assert_eq!(write("two", false).err(), Some(ErrorKind::Output));
        write("two", true).expect("a file").keep().expect("renamed");
        assert_eq!(fs::read_to_string(&to).expect("it is there"), "two");
        assert!(
            PartFile::new(Path::new("/dev/null"), true).is_err()
                && PartFile::new(folder.path(), true).is_err()
        );
    }
}
