//! Files under names that this program chose: each says who made it, or one of a set does, and only what says so is replaced.

use crate::error::{Error, ErrorKind};
use results::{
    claim::Claim,
    output::{OutputError, check_writable, real},
};
use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

/// What stands in every such file, in a comment at its beginning or end.
pub const MARK: &str = "made by netloom, which replaces it";

/// Bytes at each end of a file in which the mark is looked for.
const ENDS: u64 = 4096;

/// The mark as a line of Markdown or of XML, to be put behind a text.
pub const COMMENT: &str = "<!-- made by netloom, which replaces it -->\n";

/// A file in PDF with the mark in a comment, before the line that says where its table is.
#[must_use]
pub fn pdf(mut bytes: Vec<u8>) -> Vec<u8> {
    let table = b"startxref";
    let at = bytes.windows(table.len()).rposition(|window| window == table);
    debug_assert!(at.is_some(), "a file in PDF ends with the place of its table");
    let at = at.unwrap_or(bytes.len());
    bytes.splice(at..at, format!("% {MARK}\n").into_bytes());
    bytes
}

/// Claims a directory before files are put there, so that no other process writes it meanwhile. Where nobody may write beside it there is no claim:
/// its lock has no place.
///
/// # Errors
/// If another process writes the directory, or the system refuses.
pub fn claim(directory: &Path) -> Result<Option<Claim>, Error> {
    let no_place = [io::ErrorKind::PermissionDenied, io::ErrorKind::ReadOnlyFilesystem];
    match Claim::take(&real(directory)) {
        Ok(claim) => Ok(Some(claim)),
        Err(OutputError::Io { source, .. }) if no_place.contains(&source.kind()) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

/// Files that one command writes into a directory, and replaces together.
#[derive(Clone, Copy, Debug)]
pub struct FileSet {
    /// All names. Tables in CSV have no place for a mark.
    pub names: &'static [&'static str],
    /// The one that says who made them. It is written first, so that what a killed process left is known.
    pub known_by: &'static str,
    /// What it says, at its beginning or end.
    pub mark: &'static str,
}

impl FileSet {
    /// Claims a directory before a long run, and finds out whether the files can be put there.
    ///
    /// # Errors
    /// If another process writes it, one of the names is somebody's, or the system refuses.
    pub fn claim(&self, directory: &Path) -> Result<Option<Claim>, Error> {
        self.may_replace(directory)?;
        let claim = claim(directory)?;
        check_writable(&real(directory))?;
        Ok(claim)
    }

    /// Refuses to replace what this program did not make.
    fn may_replace(&self, directory: &Path) -> Result<(), Error> {
        if has(&directory.join(self.known_by), self.mark).unwrap_or(false) {
            return Ok(());
        }
        let foreign = |name: &&&str| directory.join(name).symlink_metadata().is_ok();
        self.names.iter().find(foreign).map_or(Ok(()), |name| Err(in_the_way(&directory.join(name))))
    }
}

/// True of a regular file that has a mark at one of its ends.
fn has(path: &Path, mark: &str) -> io::Result<bool> {
    if !path.symlink_metadata()?.is_file() {
        return Ok(false);
    }
    let mut file = File::open(path)?;
    let (mut first, mut last) = (Vec::new(), Vec::new());
    file.by_ref().take(ENDS).read_to_end(&mut first)?;
    let end = file.metadata()?.len().saturating_sub(ENDS);
    file.seek(SeekFrom::Start(end))?;
    file.take(ENDS).read_to_end(&mut last)?;
    let found = |bytes: &[u8]| bytes.windows(mark.len()).any(|window| window == mark.as_bytes());
    Ok(found(&first) || found(&last))
}

/// True if nothing is at a path, or a file that this program made.
#[must_use]
pub fn is_free(path: &Path) -> bool {
    path.symlink_metadata().is_err() || has(path, MARK).unwrap_or(false)
}

/// Refuses to replace what this program did not make.
///
/// # Errors
/// If something else is at the path.
pub fn may_replace(path: &Path) -> Result<(), Error> {
    if is_free(path) {
        return Ok(());
    }
    Err(in_the_way(path))
}

/// The error of a file that is somebody's.
fn in_the_way(path: &Path) -> Error {
    let message = format!("`{}` exists, and does not say that netloom made it", path.display());
    Error::new(ErrorKind::Output, message).with_help("name another directory, or move that file away")
}

/// A directory that goes away with this value.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Has manual pages (roff) written, and puts them into a directory, which is made if it is missing.
///
/// # Errors
/// If the system refuses, or a page would replace what this program did not make; then none is put there.
pub fn manual(directory: &Path, write: &dyn Fn(&Path) -> io::Result<()>) -> Result<(), Error> {
    let failed =
        |e: io::Error| Error::new(ErrorKind::Output, format!("cannot write to {}: {e}", directory.display()));
    let _claim = claim(directory)?;
    let scratch = Scratch(directory.join(format!(".man-{}", std::process::id())));
    let made = fs::create_dir_all(directory).and_then(|()| fs::create_dir(&scratch.0));
    made.and_then(|()| write(&scratch.0)).map_err(failed)?;
    let pages = fs::read_dir(&scratch.0).and_then(Iterator::collect::<Result<Vec<_>, _>>).map_err(failed)?;
    pages.iter().try_for_each(|page| may_replace(&directory.join(page.file_name())))?;
    for page in pages {
        let text = fs::read_to_string(page.path()).map_err(failed)?;
        fs::write(directory.join(page.file_name()), format!(".\\\" {MARK}\n{text}")).map_err(failed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_says_so_is_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        assert!(is_free(&at("nothing")) && COMMENT.contains(MARK));
        let long = format!("{}{COMMENT}", "x".repeat(1 << 20));
        let begun = format!("{MARK}{}", "x".repeat(1 << 20));
        for (text, ours) in
            [(long.as_str(), true), (&begun, true), (MARK, true), ("", false), ("mine", false)]
        {
            fs::write(at("file"), text).expect("it is written");
            assert_eq!(is_free(&at("file")), ours, "{} bytes", text.len());
        }
        fs::create_dir(at("folder")).expect("a folder");
        assert_eq!(may_replace(&at("folder")).expect_err("it is none").kind(), ErrorKind::Output);
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(at("nowhere"), at("link")).expect("a link");
            assert!(!is_free(&at("link")));
        }
    }

    #[test]
    fn a_set_is_replaced_if_one_of_it_says_so() {
        let set = FileSet { names: &["a.csv", "b.json"], known_by: "b.json", mark: "\"set-1\"" };
        let folder = tempfile::tempdir().expect("a folder");
        let directory = folder.path().join("set");
        let claim = set.claim(&directory).expect("there is nothing yet");
        assert!(set.claim(&directory).is_err(), "somebody writes it");
        drop(claim);
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0, "nothing is left of a claim");
        fs::create_dir(&directory).expect("a folder");
        fs::write(directory.join("other.txt"), "mine").expect("it is written");
        set.claim(&directory).expect("no name of the set is taken");
        for name in set.names {
            fs::write(directory.join(name), "mine").expect("it is written");
            assert!(set.claim(&directory).expect_err("it is somebody's").to_string().contains(name));
            fs::remove_file(directory.join(name)).expect("it goes");
        }
        set.names.iter().for_each(|name| fs::write(directory.join(name), set.mark).expect("it is written"));
        set.claim(&directory).expect("all are ours");
        fs::write(directory.join(set.known_by), "mine").expect("it is written");
        set.claim(&directory).expect_err("nothing says whose they are");
    }

    #[test]
    fn manual_pages_replace_their_own_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let (one, two) = (folder.path().join("one.1"), folder.path().join("two.1"));
        let write = |text: &'static str| {
            move |scratch: &Path| {
                fs::write(scratch.join("one.1"), text).and_then(|()| fs::write(scratch.join("two.1"), text))
            }
        };
        manual(folder.path(), &write("first")).expect("there is nothing yet");
        manual(folder.path(), &write("second")).expect("both are ours");
        assert!(fs::read_to_string(&one).expect("a page").ends_with("second"));
        fs::write(&two, "mine").expect("it is written");
        manual(folder.path(), &write("third")).expect_err("one is not");
        assert!(fs::read_to_string(&one).expect("a page").ends_with("second"));
        assert_eq!(fs::read_to_string(&two).expect("a page"), "mine");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 2);
    }
}
