//! What a run is asked for beside its experiment.

use base::units::{UnitError, parse_bytes};
use std::{fs, str::FromStr, thread, time::Duration};

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
    /// Processors that other work leaves, if that is known: no more threads meet in windows where the experiment lets them be spared.
    pub idle: Option<u32>,
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
            idle: None,
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

/// Processors that other work leaves at present, at least 1; `None` where that cannot be known: on other systems than Linux, and in a container that may
/// use a part of the machine only, since what others do on that part is not reported.
///
/// The machine is looked at a few times within a millisecond, and the quietest look counts: work that comes and goes takes no processor away.
#[must_use]
pub fn idle_processors() -> Option<u32> {
    let processors = fs::read_to_string("/proc/stat").ok().map(|text| processors(&text))?;
    let usable = thread::available_parallelism().ok()?.get();
    let look = |n: u32| {
        if n > 0 {
            thread::sleep(Duration::from_micros(200));
        }
        fs::read_to_string("/proc/loadavg").ok().and_then(|text| running(&text))
    };
    let busy = (0..6).filter_map(look).min().filter(|_| usable == processors)?;
    // This thread is one of those that run.
    Some(u32::try_from(processors).ok()?.saturating_sub(busy.saturating_sub(1)).max(1))
}

/// Processors that `/proc/stat` names.
fn processors(stat: &str) -> usize {
    stat.lines()
        .filter(|l| l.strip_prefix("cpu").is_some_and(|l| l.starts_with(|c: char| c.is_ascii_digit())))
        .count()
}

/// Threads that run or could run, which `/proc/loadavg` names before all that there are.
fn running(loadavg: &str) -> Option<u32> {
    loadavg.split(' ').nth(3)?.split_once('/')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_words_are_understood() {
        assert_eq!(processors("cpu  1 2 3\ncpu0 1 2 3\ncpu1 0 0 1\nintr 5\ncpuidle 3\n"), 2);
        assert_eq!(running("1.19 2.65 2.96 3/512 17022\n"), Some(3));
        assert_eq!((running(""), running("1 2 3 x/5 6"), running("1 2 3 5 6")), (None, None, None));
        assert!(idle_processors().is_none_or(|idle| idle >= 1));
    }
}
