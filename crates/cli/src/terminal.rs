//! What is under way, for whoever watches: a line on standard error that moves and goes away. Silent where nobody watches.

use crate::console::Console;
use base::time::{Ps, display};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use model::Progress;
use netloom::Watcher;
use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// A bar over `len` things; silent unless a person watches. What is told last is cut where the terminal ends.
pub fn bar(watched: bool, len: u64, template: &str) -> ProgressBar {
    let target = if watched { ProgressDrawTarget::stderr_with_hz(5) } else { ProgressDrawTarget::hidden() };
    let style = ProgressStyle::with_template(template).expect("the template is valid");
    ProgressBar::with_draw_target(Some(len), target).with_style(style)
}

/// Shows on a console what the library reports.
pub struct Terminal<'a, 'c>(Mutex<State<'a, 'c>>);

struct State<'a, 'c> {
    console: &'a mut Console<'c>,
    line: Option<Line>,
    /// Since when the console is as it is, or since the last thing ended.
    since: Instant,
}

/// The line that moves: a spinner for a stage, or a bar for a run or for points.
enum Line {
    Stage(ProgressBar),
    Run(ProgressBar),
    Points(ProgressBar),
}

impl Line {
    fn bar(&self) -> &ProgressBar {
        match self {
            Self::Stage(bar) | Self::Run(bar) | Self::Points(bar) => bar,
        }
    }
}

impl<'a, 'c> Terminal<'a, 'c> {
    /// Shows nothing yet.
    pub fn new(console: &'a mut Console<'c>) -> Self {
        Self(Mutex::new(State { console, line: None, since: Instant::now() }))
    }

    fn state(&self) -> MutexGuard<'_, State<'a, 'c>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State<'_, '_> {
    fn end(&mut self) {
        if let Some(line) = self.line.take() {
            line.bar().finish_and_clear();
        }
        self.since = Instant::now();
    }
}

impl Watcher for Terminal<'_, '_> {
    fn phase(&self, what: &str) {
        let mut state = self.state();
        if state.console.manner.verbose {
            let at = state.console.begun.elapsed().as_secs_f64();
            state.line.take().inspect(|line| line.bar().finish_and_clear());
            state.console.remark(&format!("{at:9.3} s  {what}"));
        }
        if !state.console.shows_progress() {
            return;
        }
        if !matches!(state.line, Some(Line::Stage(_))) {
            state.end();
            state.line = Some(Line::Stage(spinner()));
        }
        if let Some(Line::Stage(bar)) = &state.line {
            bar.reset_elapsed();
            bar.set_message(what.to_owned());
        }
    }

    fn progress(&self, progress: &Progress) {
        let mut state = self.state();
        if !state.console.shows_progress() {
            return;
        }
        if !matches!(state.line, Some(Line::Run(_))) {
            let since = state.since;
            state.end();
            state.since = since;
            let bar = bar(true, 0, "{bar:24} {percent:>3} %  {eta} left  {wide_msg}");
            state.line = Some(Line::Run(bar));
        }
        if let Some(Line::Run(bar)) = &state.line {
            show(bar, progress, state.since);
        }
    }

    fn points(&self, done: u64, all: u64) {
        let mut state = self.state();
        if !state.console.shows_progress() {
            return;
        }
        if !matches!(state.line, Some(Line::Points(_))) {
            state.end();
            state.line =
                Some(Line::Points(bar(true, all, "{bar:24} {pos} of {len} points  {per_sec}  {eta} left")));
        }
        if let Some(Line::Points(bar)) = &state.line {
            bar.set_position(done);
        }
    }

    fn remark(&self, text: &str) {
        let State { console, line, .. } = &mut *self.state();
        match line {
            Some(line) => line.bar().suspend(|| console.remark(text)),
            None => console.remark(text),
        }
    }

    fn ended(&self) {
        self.state().end();
    }
}

impl Drop for Terminal<'_, '_> {
    fn drop(&mut self) {
        self.ended();
    }
}

fn spinner() -> ProgressBar {
    let style =
        ProgressStyle::with_template("{spinner} {elapsed}  {wide_msg}").expect("the template is valid");
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(5)).with_style(style);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

fn show(bar: &ProgressBar, progress: &Progress, start: Instant) {
    let seconds = start.elapsed().as_secs_f64().max(1e-3);
    let rate = progress.events as f64 / seconds / 1e6;
    bar.set_length(progress.end);
    bar.set_position(progress.now);
    bar.set_message(format!("{}  {rate:.1} M events/s", at(progress.now, progress.end)));
}

fn at(now: Ps, end: Ps) -> String {
    format!("{} of {}", display(now), display(end))
}
