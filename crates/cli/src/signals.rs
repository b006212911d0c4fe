//! SIGTERM and SIGINT ask to save and leave, SIGUSR1 to save. Asked twice to leave, the process ends at once. Once they were heeded signals no
//! longer end the process by themselves, so who saves several runs heeds them once for all.

use netloom::saver::Signals;
use std::sync::Arc;

/// Signals are heeded while this lives.
pub struct Heeded {
    /// What they ask for.
    pub signals: Arc<Signals>,
    #[cfg(unix)]
    heard: Vec<signal_hook::SigId>,
}

/// From now on.
#[cfg(unix)]
#[must_use]
pub fn heed() -> Heeded {
    use signal_hook::{consts, flag};
    let signals = Arc::new(Signals::default());
    let mut heard = Vec::new();
    for signal in [consts::SIGTERM, consts::SIGINT] {
        // In this order: the first signal finds the flag down. A signal that cannot be heeded acts as it always does.
        heard.extend(flag::register_conditional_default(signal, Arc::clone(&signals.leave)));
        heard.extend(flag::register(signal, Arc::clone(&signals.leave)));
    }
    heard.extend(flag::register(consts::SIGUSR1, Arc::clone(&signals.save)));
    Heeded { signals, heard }
}

/// No system, no signals.
#[cfg(not(unix))]
#[must_use]
pub fn heed() -> Heeded {
    Heeded { signals: Arc::default() }
}

#[cfg(unix)]
impl Drop for Heeded {
    fn drop(&mut self) {
        for id in self.heard.drain(..) {
            signal_hook::low_level::unregister(id);
        }
    }
}
