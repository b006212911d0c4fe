//! Reader and writer of OTF2 archives (Open Trace Format 2, as Score-P and EZTrace write it): traces of parallel programs.
//!
//! An archive is a directory with an anchor file (`traces.otf2`), global definitions (`traces.def`) and, by location (a thread), local definitions
//! and events (`traces/N.def`, `traces/N.evt`). [`Archive::open`] reads anchor and definitions, [`Archive::events`] streams a location;
//! [`Writer`] writes an archive. Files are opened for each piece that is read or written and closed at once, so thousands of locations need a handful
//! of open files. Records that are not known are skipped. Bytes are described in `FORMAT.md`. Not supported: the SION substrate, compressed
//! files, snapshots and thumbnails, markers.

mod anchor;
mod archive;
mod bytes;
mod chunks;
mod definitions;
mod events;
mod local;
mod shares;
mod write;

pub use anchor::Anchor;
pub use archive::Archive;
pub use definitions::{
    Attribute, Clock, Comm, Definitions, Group, GroupType, Location, LocationGroup, Region, SystemTreeNode,
    paradigm,
};
pub use events::{Event, EventKind, Events};
pub use shares::{Shares, shares};
pub use write::{LocationWriter, Writer};

use std::path::{Path, PathBuf};

/// What is wrong with an archive.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The bytes of a file are not what they should be.
    #[error("{}: byte {offset}: {message}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where, from 0.
        offset: u64,
        /// What is wrong.
        message: String,
    },
}

impl Error {
    pub(crate) fn file(path: &Path, source: std::io::Error) -> Self {
        Self::File { path: path.to_owned(), source }
    }

    pub(crate) fn damaged(path: &Path, offset: u64, message: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_owned(), offset, message: message.into() }
    }
}

/// What reading gives.
pub type Result<T> = std::result::Result<T, Error>;
