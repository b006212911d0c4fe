//! Memory: how much may be used, and what does not fit.

use crate::{
    error::{Error, ErrorKind},
    options::MemoryLimit,
};
pub use base::memory::rounded;

/// The limit in bytes; `None` if there is none or the machine does not say.
#[must_use]
pub fn limit_in_bytes(limit: Option<MemoryLimit>) -> Option<u64> {
    match limit {
        Some(MemoryLimit::None) => None,
        Some(MemoryLimit::Bytes(bytes)) => Some(bytes),
        None => base::memory::available(),
    }
}

/// Refuses what needs more memory than may be used.
///
/// # Errors
/// If it needs more.
pub fn fits(what: &str, bytes: u64, limit: Option<u64>) -> Result<(), Error> {
    match limit {
        Some(limit) if bytes > limit => {
            let (needs, has) = (rounded(bytes), rounded(limit));
            Err(too_large(format!("{what} may need {needs} of memory, but only {has} may be used")))
        }
        _ => Ok(()),
    }
}

/// Reads files and builds what is in them, within the limit: readers stop where the process outgrows it.
///
/// # Errors
/// If they did.
pub fn within<T>(limit: Option<u64>, build: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    match base::memory::within(Some(limit.unwrap_or(u64::MAX)), build) {
        (_, Some(message)) => Err(too_large(message)),
        (built, None) => built,
    }
}

fn too_large(message: String) -> Error {
    let help = "choose something smaller; `netloom run` takes --memory-limit SIZE or --memory-limit none";
    Error::new(ErrorKind::Limit, message).with_help(help)
}
