//! What can be wrong with an archive.

use std::path::{Path, PathBuf};

/// What is wrong with an archive.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Path of the file that is meant.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The bytes of a file are not what they should be.
    #[error("{}: byte {offset}: {message}", path.display())]
    Damaged {
        /// Path of the file that is meant.
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
