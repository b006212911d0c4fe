//! What stretches of a run cost the machine that simulates.

use model::performance::thread_time;
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// What a stretch of a run costs.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Cost {
    /// Seconds of the wall clock that went by.
    pub wall_s: f64,
    /// Seconds of the processor for this thread, where the system says.
    pub cpu_s: Option<f64>,
}

impl Cost {
    /// Adds what another stretch cost.
    pub fn add(&mut self, more: Cost) {
        self.wall_s += more.wall_s;
        self.cpu_s = more.cpu_s.map(|s| s + self.cpu_s.unwrap_or(0.0));
    }
}

/// An instant of the clocks of the machine that simulates.
pub struct Since(Instant, Option<f64>);

impl Since {
    /// The present instant, of both clocks.
    #[must_use]
    pub fn now() -> Self {
        Self(Instant::now(), thread_time())
    }

    /// What was spent since then.
    #[must_use]
    pub fn cost(&self) -> Cost {
        let cpu_s = thread_time().zip(self.1).map(|(now, then)| now - then);
        Cost { wall_s: self.0.elapsed().as_secs_f64(), cpu_s }
    }
}
