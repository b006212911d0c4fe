//! Memory: how much may be used, and what does not fit.

use crate::{
    error::{Error, ErrorKind},
    options::MemoryLimit,
};

/// The limit in bytes; `None` if there is none or the machine does not say.
#[must_use]
pub fn limit_in_bytes(limit: Option<MemoryLimit>) -> Option<u64> {
    match limit {
        Some(MemoryLimit::None) => None,
        Some(MemoryLimit::Bytes(bytes)) => Some(bytes),
        None => available_memory(),
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
            let message = format!("{what} may need {needs} of memory, but only {has} may be used");
            let help =
                "choose something smaller; `netloom run` takes --memory-limit SIZE or --memory-limit none";
            Err(Error::new(ErrorKind::Limit, message).with_help(help))
        }
        _ => Ok(()),
    }
}

/// Bytes with one decimal, for people.
#[must_use]
pub fn rounded(bytes: u64) -> String {
    for (shift, unit) in [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")] {
        if bytes >> shift > 0 {
            let tenths = (u128::from(bytes) * 10 + (1 << (shift - 1))) >> shift;
            return format!("{}.{} {unit}", tenths / 10, tenths % 10);
        }
    }
    format!("{bytes} B")
}

/// Memory that this machine can give without swapping; `None` where it does not say.
fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}
