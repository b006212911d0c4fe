//! Memory: how much may be used, and what does not fit.

use crate::{
    error::{Error, ErrorKind},
    options::MemoryLimit,
};
pub use base::memory::rounded;
use model::memory::FIXED;
use std::io;

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

/// Reads files and builds what is in them, within the limit: readers stop where the process outgrows it. As a prediction does, the limit holds what every
/// run takes ([`FIXED`]); what a process has beyond that beforehand is not the run's.
///
/// # Errors
/// If they did.
pub fn within<T>(limit: Option<u64>, build: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let own = base::memory::resident().unwrap_or(0).min(FIXED);
    match base::memory::within(Some(limit.map_or(u64::MAX, |limit| limit.saturating_sub(own))), build) {
        (_, Some(message)) => Err(too_large(message)),
        (built, None) => built,
    }
}

/// A text that is written in memory: where no more of it fits, writing fails, and the process goes on.
#[derive(Debug, Default)]
pub struct Sheet(pub Vec<u8>);

impl io::Write for Sheet {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (has, length) = (self.0.len(), bytes.len());
        if has + length > self.0.capacity() {
            let refused = || {
                let message = format!("there is no memory for more than {} of it", rounded(has as u64));
                io::Error::new(io::ErrorKind::OutOfMemory, message)
            };
            // Twice as much if there is room for that.
            let grows = |part: usize| {
                let more = (has / part).max(1 << 16).max(length);
                base::memory::takes((has + more) as u64).map_err(|_| refused())?;
                self.0.try_reserve_exact(more).map_err(|_| refused())
            };
            [1, 4, 16].into_iter().map(grows).reduce(Result::or).unwrap_or(Ok(()))?;
        }
        self.0.extend_from_slice(bytes);
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Why a network was not written: no more of it fits, or a fault of ours.
#[must_use]
pub fn unwritten(error: &io::Error) -> Error {
    let large = error.kind() == io::ErrorKind::OutOfMemory;
    let kind = if large { ErrorKind::Limit } else { ErrorKind::Internal };
    Error::new(kind, format!("cannot write the network: {error}"))
}

fn too_large(message: String) -> Error {
    let help = "choose something smaller; `netloom run` takes --memory-limit SIZE or --memory-limit none";
    Error::new(ErrorKind::Limit, message).with_help(help)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn a_text_ends_where_memory_does() {
        let written = |limit: u64| {
            let mut sheet = Sheet::default();
            let write = || (0..1 << 20).try_for_each(|_| sheet.write_all(&[b'x'; 64]));
            let (ended, said) = base::memory::within(Some(limit), write);
            (ended.map_err(|e| e.kind()), said.is_some(), sheet.0.len())
        };
        assert_eq!(written(8 << 30), (Ok(()), false, 64 << 20));
        if base::memory::available().is_some() {
            let (ended, said, length) = written(8 << 20);
            assert_eq!((ended, said), (Err(io::ErrorKind::OutOfMemory), true));
            assert!((1 << 20..=8 << 20).contains(&length), "{length}");
        }
    }
}
