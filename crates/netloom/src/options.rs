//! What a run is asked for beside its experiment.

use base::units::{UnitError, parse_bytes};
use std::str::FromStr;

/// Memory that a run may need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryLimit {
    /// Any amount; nothing is refused for its size.
    None,
    /// At most so many bytes.
    Bytes(u64),
}

impl FromStr for MemoryLimit {
    type Err = UnitError;

    /// A size with its unit, or `none`.
    ///
    /// ```
    /// use netloom::MemoryLimit;
    ///
    /// assert_eq!("none".parse(), Ok(MemoryLimit::None));
    /// assert_eq!("8 GiB".parse(), Ok(MemoryLimit::Bytes(8 << 30)));
    /// assert!("8".parse::<MemoryLimit>().is_err_and(|e| e.message.contains("no unit")));
    /// ```
    fn from_str(text: &str) -> Result<Self, UnitError> {
        if text == "none" { Ok(Self::None) } else { parse_bytes(text).map(Self::Bytes) }
    }
}

/// What is asked of a run beside the experiment.
#[derive(Clone, Copy, Debug)]
pub struct RunOptions {
    /// Threads among which the run is divided, in each process.
    pub threads: u32,
    /// Processes among which the run is divided.
    pub ranks: u32,
    /// Partitions, whatever the experiment says.
    pub partitions: Option<u32>,
    /// Memory that may be used; left out: what the machine has.
    pub memory: Option<MemoryLimit>,
    /// Run the checkers.
    pub checkers: bool,
    /// Record what links carry over time, for the page of the run.
    pub page: bool,
    /// Keep the table of messages, whether the experiment asks for it or not.
    pub messages: bool,
    /// A machine for Portals programs, without jobs, will do.
    pub machine: bool,
    /// Only this job, by its number, does anything: the others hold their places and are idle.
    pub alone: Option<usize>,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            threads: 1,
            ranks: 1,
            partitions: None,
            memory: None,
            checkers: false,
            page: false,
            messages: false,
            machine: false,
            alone: None,
        }
    }
}
