//! Files that are written beside where they belong and get their name when they are whole.

use crate::{
    error::{Error, ErrorKind},
    ours,
};
use results::claim::Claim;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// The error of a file that cannot be written.
pub(crate) fn unwritable(path: &Path, error: &io::Error) -> Error {
    Error::new(ErrorKind::Output, format!("cannot write `{}`: {error}", path.display()))
}

/// A file that is being written; gone if it is dropped. One process at a time writes it.
pub struct PartFile {
    to: PathBuf,
    part: PathBuf,
    _claim: Option<Claim>,
}

impl PartFile {
    /// A file that will have this name, which is claimed; it is not made yet.
    ///
    /// # Errors
    /// If there is one already, unless it may be replaced; devices and directories never are. If another process writes it.
    pub fn new(to: &Path, force: bool) -> Result<Self, Error> {
        Self::may_replace(to, force)?;
        // Folders above it are not made: without them it cannot be written.
        let folder = to.parent().is_none_or(|folder| folder.as_os_str().is_empty() || folder.is_dir());
        let claim = if folder { ours::claim(to)? } else { None };
        // Another process may have written it until then.
        Self::may_replace(to, force)?;
        // What is called so already is somebody else's, or of a killed process.
        let part = to.with_added_extension("part");
        let own = || to.with_added_extension(format!("part-{}", std::process::id()));
        let part = if part.symlink_metadata().is_ok() { own() } else { part };
        Ok(Self { to: to.to_owned(), part, _claim: claim })
    }

    fn may_replace(to: &Path, force: bool) -> Result<(), Error> {
        if !force && to.exists() {
            let message = format!("`{}` exists already", to.display());
            return Err(Error::new(ErrorKind::Output, message).with_help("--force replaces it"));
        }
        if to.exists() && !to.is_file() {
            let message = format!("`{}` is no file: it cannot be replaced by one", to.display());
            return Err(Error::new(ErrorKind::Output, message));
        }
        Ok(())
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

/// Writes to a pipe or a device. A named FIFO would keep us until somebody reads it.
///
/// # Errors
/// If it is a named FIFO, or cannot be written.
fn write_through(to: &Path, bytes: &[u8]) -> Result<(), Error> {
    if base::input::waits_for_reader(to).map_err(|e| unwritable(to, &e))? {
        let why = "it is a FIFO: name a file";
        return Err(unwritable(to, &io::Error::other(why)));
    }
    fs::write(to, bytes).map_err(|e| unwritable(to, &e))
}

/// Writes a file that a user named, or none of it; what is there stays until it is whole. Pipes and devices are written to, but no named FIFOs.
///
/// # Errors
/// If it is there and may not be replaced, or cannot be written.
pub fn write(to: &Path, bytes: &[u8], force: bool) -> Result<(), Error> {
    if force && to.exists() && !to.is_file() {
        return write_through(to, bytes);
    }
    // A link keeps leading where it does.
    let part = PartFile::new(&to.canonicalize().unwrap_or_else(|_| to.to_owned()), force)?;
    fs::write(part.part(), bytes).and_then(|()| part.keep()).map_err(|e| unwritable(to, &e))
}

impl Drop for PartFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.part);
    }
}

#[cfg(test)]
mod written {
    #![allow(clippy::expect_used, reason = "tests")]

    use super::*;

    /// What cannot be written leaves what was there: the name with which it is begun is too long for this file system.
    #[test]
    fn what_is_there_stays_until_a_file_is_whole() {
        let root = tempfile::tempdir().expect("a directory");
        let (short, long) = (root.path().join("a"), root.path().join("x".repeat(253)));
        for to in [&short, &long] {
            fs::write(to, "old").expect("written");
            assert!(write(to, b"new", false).is_err_and(|e| e.to_string().contains("exists already")));
        }
        write(&short, b"new", true).expect("written");
        assert_eq!(fs::read(&short).expect("read"), b"new");
        assert!(write(&long, b"new", true).is_err());
        assert_eq!(fs::read(&long).expect("read"), b"old");
        assert_eq!(fs::read_dir(root.path()).expect("read").count(), 2);
    }

    /// Nobody reads it, so that opening it would wait for ever.
    #[cfg(unix)]
    #[test]
    fn a_named_fifo_is_refused_at_once() {
        use std::{process::Command, sync::mpsc, time::Duration};
        let root = tempfile::tempdir().expect("a directory");
        let to = root.path().join("fifo");
        assert!(Command::new("mkfifo").arg(&to).status().expect("mkfifo runs").success());
        let (done, end) = mpsc::channel();
        std::thread::spawn(move || done.send(write(&to, b"new", true).map_err(|e| e.to_string())));
        let written = end.recv_timeout(Duration::from_secs(20)).expect("it does not wait");
        assert!(written.is_err_and(|e| e.contains("it is a FIFO")));
        write(Path::new("/dev/null"), b"new", true).expect("devices are written to");
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
