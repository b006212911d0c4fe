//! SIGTERM and SIGINT ask to save and leave, SIGUSR1 to save. Asked twice to leave, the process ends at once. Once they were heeded signals no
//! longer end the process by themselves, so who saves several runs heeds them once for all.

use netloom::saver::Signals;
use std::sync::{Arc, atomic::Ordering};

/// Signals are heeded while this lives.
pub struct Heeded {
    /// What they ask for.
    pub signals: Arc<Signals>,
    #[cfg(unix)]
    heard: Vec<signal_hook::SigId>,
}

/// Two signals never end a run, also where nobody heeds them: one that asks to save, and one that a limit on the size of files sends, which writers report.
#[cfg(unix)]
pub fn endure() {
    let nobody = Arc::default();
    for signal in [signal_hook::consts::SIGUSR1, signal_hook::consts::SIGXFSZ] {
        let _ = signal_hook::flag::register(signal, Arc::clone(&nobody));
    }
}

/// From now on; with `early`, a signal to leave ends the process at once until a run is under way.
#[cfg(unix)]
#[must_use]
pub fn heed(early: bool) -> Heeded {
    use signal_hook::{consts, flag};
    let signals = Arc::new(Signals::default());
    signals.early.store(early, Ordering::Relaxed);
    let mut heard: Vec<_> = flag::register(consts::SIGUSR1, Arc::clone(&signals.save)).into_iter().collect();
    for signal in [consts::SIGTERM, consts::SIGINT] {
        // In this order: the first signal finds the flag down. A signal that cannot be heeded acts as it always does.
        let ends = [&signals.early, &signals.leave];
        heard.extend(ends.iter().flat_map(|f| flag::register_conditional_default(signal, Arc::clone(f))));
        heard.extend(flag::register(signal, Arc::clone(&signals.leave)));
    }
    Heeded { signals, heard }
}

/// From now on, for work that cannot be saved and must be cleared away: a terminal that goes away asks to leave as well, unless `nohup`
/// said that it is not to be heeded. However often it is asked, the process lives until it is done.
#[cfg(unix)]
#[must_use]
pub fn ending() -> Heeded {
    use signal_hook::{consts, flag};
    let signals = Arc::new(Signals::default());
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask =
        status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    let ignored = |signal: i32| mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1);
    let all =
        [consts::SIGTERM, consts::SIGINT, consts::SIGHUP].into_iter().filter(|signal| !ignored(*signal));
    let heard = all.flat_map(|signal| flag::register(signal, Arc::clone(&signals.leave))).collect();
    Heeded { signals, heard }
}

#[cfg(not(unix))]
pub fn ending() -> Heeded {
    Heeded { signals: Arc::default() }
}

#[cfg(not(unix))]
pub fn heed(_: bool) -> Heeded {
    ending()
}

#[cfg(not(unix))]
pub fn endure() {}

#[cfg(unix)]
impl Drop for Heeded {
    fn drop(&mut self) {
        for id in self.heard.drain(..) {
            signal_hook::low_level::unregister(id);
        }
    }
}
