//! SIGTERM and SIGINT ask to save and leave, SIGUSR1 to save. Asked twice to leave, the process ends at once. Once they were heeded signals no
//! longer end the process by themselves, so who saves several runs heeds them once for all.

use netloom::saver::Signals;
use results::claim::Traces;
#[cfg(unix)]
use signal_hook::{consts, iterator::Handle};
use std::sync::{Arc, atomic::Ordering};

/// Signals are heeded while this lives.
pub struct Heeded {
    /// What they ask for.
    pub signals: Arc<Signals>,
    #[cfg(unix)]
    heard: Option<Handle>,
}

/// A thread does what signals ask for. Those that cannot be heeded act as they always do.
#[cfg(unix)]
fn hear(signals: Arc<Signals>, asked: &[i32], act: impl Fn(&Signals, i32) + Send + 'static) -> Heeded {
    let heard = signal_hook::iterator::Signals::new(asked).ok().and_then(|mut heard| {
        let (handle, own) = (heard.handle(), Arc::clone(&signals));
        let hear = move || heard.forever().for_each(|signal| act(&own, signal));
        std::thread::Builder::new().spawn(hear).ok().map(|_| handle)
    });
    Heeded { signals, heard }
}

/// Two signals never end a run, also where nobody heeds them: one that asks to save, and one that a limit on the size of files sends, which writers report.
#[cfg(unix)]
pub fn endure() {
    let nobody = Arc::default();
    for signal in [consts::SIGUSR1, consts::SIGXFSZ] {
        let _ = signal_hook::flag::register(signal, Arc::clone(&nobody));
    }
}

/// From now on; with `early`, a signal to leave ends the process at once until a run is under way. With a process that ends at once `traces` go.
#[cfg(unix)]
#[must_use]
pub fn heed(early: bool, traces: Traces) -> Heeded {
    let signals = Arc::new(Signals::default());
    signals.early.store(early, Ordering::Relaxed);
    hear(signals, &[consts::SIGUSR1, consts::SIGTERM, consts::SIGINT], move |own, signal| {
        if signal == consts::SIGUSR1 {
            own.save.store(true, Ordering::Relaxed);
        } else if own.early.load(Ordering::Relaxed) || own.leave.swap(true, Ordering::Relaxed) {
            traces.remove();
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    })
}

/// From now on, for work that cannot be saved and must be cleared away: a terminal that goes away asks to leave as well, unless `nohup`
/// said that it is not to be heeded. However often it is asked, the process lives until it is done.
#[cfg(unix)]
#[must_use]
pub fn ending() -> Heeded {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|l| u64::from_str_radix(l.strip_prefix("SigIgn:")?.trim(), 16).ok());
    let mut all = vec![consts::SIGTERM, consts::SIGINT, consts::SIGHUP];
    all.retain(|signal| mask.is_none_or(|mask| mask >> (signal - 1) & 1 == 0));
    hear(Arc::default(), &all, |own, _| own.leave.store(true, Ordering::Relaxed))
}

#[cfg(not(unix))]
pub fn ending() -> Heeded {
    Heeded { signals: Arc::default() }
}

#[cfg(not(unix))]
pub fn heed(_: bool, _: Traces) -> Heeded {
    ending()
}

#[cfg(not(unix))]
pub fn endure() {}

#[cfg(unix)]
impl Drop for Heeded {
    fn drop(&mut self) {
        self.heard.iter().for_each(Handle::close);
    }
}
