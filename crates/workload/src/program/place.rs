//! Where a file is: in a file system, or within an archive of files.

use super::tar::Tar;
use std::{
    fmt,
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom},
    path::{Component, Path, PathBuf},
    sync::Arc,
};

/// Bytes that are read at a time.
const PIECE: usize = 1 << 14;

/// The place of a file.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// A file of its own, which need not exist.
    File(PathBuf),
    /// A file within an archive, by its number there.
    Member(Arc<Tar>, usize),
}

impl Place {
    /// The path; within an archive it begins at the archive's root.
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::File(path) => path,
            Self::Member(tar, number) => Path::new(tar.name(*number)),
        }
    }

    /// The folder that it lies in.
    pub(super) fn folder(&self) -> &Path {
        self.path().parent().unwrap_or(Path::new(""))
    }

    /// The file of another path in the same archive or file system, if it exists.
    pub(super) fn other(&self, path: &Path) -> Option<Self> {
        match self {
            Self::File(_) => path.is_file().then(|| Self::File(path.to_owned())),
            Self::Member(tar, _) => {
                let number = tar.find(&plain(path)?)?;
                Some(Self::Member(Arc::clone(tar), number))
            }
        }
    }

    /// True if a file of the same folder has a name of this kind.
    pub(super) fn any_beside(&self, mut is_one: impl FnMut(&str) -> bool) -> bool {
        match self {
            Self::File(path) => {
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
                let Ok(entries) = folder.unwrap_or(Path::new(".")).read_dir() else { return false };
                entries.flatten().any(|entry| entry.file_name().to_str().is_some_and(&mut is_one))
            }
            Self::Member(tar, _) => {
                let folder = self.folder();
                let beside = tar.names().map(Path::new).filter(|path| path.parent() == Some(folder));
                beside.filter_map(|path| path.file_name()?.to_str()).any(is_one)
            }
        }
    }

    /// Number of bytes, as they are stored.
    ///
    /// # Errors
    /// If it is missing or unreadable.
    pub(super) fn len(&self) -> io::Result<u64> {
        match self {
            Self::File(path) => File::open(path)?.metadata().map(|about| about.len()),
            Self::Member(tar, number) => Ok(tar.len(*number)),
        }
    }

    /// Reads bytes from some byte on, as they are stored; none at the end.
    ///
    /// # Errors
    /// If it is missing or unreadable.
    pub(super) fn read_at(&self, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(path) => {
                let mut file = File::open(path)?;
                file.seek(SeekFrom::Start(at))?;
                file.read(buffer)
            }
            Self::Member(tar, number) => tar.read_at(*number, at, buffer),
        }
    }

    /// Reads all of some bytes, as they are stored.
    ///
    /// # Errors
    /// If it is missing or unreadable, or ends before.
    pub(super) fn read_exact_at(&self, at: u64, buffer: &mut [u8]) -> io::Result<()> {
        Pieces { place: self.clone(), at }.read_exact(buffer)
    }

    /// The first bytes, at most `n`, as they are stored.
    ///
    /// # Errors
    /// If it is missing or unreadable, or a FIFO.
    pub(super) fn head(&self, n: u64) -> io::Result<Vec<u8>> {
        let mut head = Vec::new();
        match self {
            Self::File(path) => base::input::open(path)?.take(n).read_to_end(&mut head)?,
            Self::Member(..) => Pieces { place: self.clone(), at: 0 }.take(n).read_to_end(&mut head)?,
        };
        Ok(head)
    }

    /// Reads from some byte on, as it is stored. The file is open only while a piece of it is read, so that there may be more than may be open.
    ///
    /// # Errors
    /// None yet: a file that is missing shows when it is read.
    pub(super) fn open_at(&self, at: u64) -> io::Result<Box<dyn BufRead + Send>> {
        Ok(Box::new(BufReader::with_capacity(PIECE, Pieces { place: self.clone(), at })))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Member(tar, number) => write!(f, "{}: {}", tar.archive(), tar.name(*number)),
        }
    }
}

/// Reads a file piece by piece.
struct Pieces {
    place: Place,
    at: u64,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.place.read_at(self.at, buffer)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// A path within an archive without `.` and `..`; none if it leads out of it or is no text.
fn plain(path: &Path) -> Option<String> {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(parts.pop()?),
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(parts.join("/"))
}
