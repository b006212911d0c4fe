//! What a command is at before it simulates, for whoever watches: a line on standard error that moves and goes away.
//!
//! Silent where nobody watches, as the progress of a run is.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Duration;

/// The line; gone when dropped.
pub struct Stages {
    bar: ProgressBar,
}

impl Stages {
    /// A line that shows nothing yet; never anything unless `watched`.
    #[must_use]
    pub fn new(watched: bool) -> Self {
        if !watched {
            return Self { bar: ProgressBar::hidden() };
        }
        let style =
            ProgressStyle::with_template("{spinner} {msg}  {elapsed}").expect("the template is valid");
        let bar =
            ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(5)).with_style(style);
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar }
    }

    /// Says what begins now.
    pub fn tell(&self, stage: impl Into<String>) {
        self.bar.reset_elapsed();
        self.bar.set_message(stage.into());
    }
}

impl Drop for Stages {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
