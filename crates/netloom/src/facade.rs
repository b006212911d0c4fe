//! An experiment in a few lines: from its text, or a file, to results.

use crate::{
    error::Error,
    execute::execute,
    input::{Input, read_experiment},
    options::RunOptions,
    prepare::{Prepared, prepare_text},
    registry::Registry,
    watcher::{Silent, Watcher},
};
use model::Finished;
use std::{fmt::Display, path::Path};

/// An experiment to run: its text, what overrides it, and what its names mean.
///
/// ```
/// let text = r#"
///     experiment = { duration = "20 us" }
///     routing = { algorithm = "shortest-path" }
///     job = [{ workload = "uniform", message = "512 B", load = 0.3 }]
///     model = { kind = "packet", packet = "512 B", chunk = "64 B" }
///     [fabric]
///     topology = "single-switch"
///     terminals = 4
///     link.terminal = { bandwidth = "12.5 GB/s", latency = "10 ns", credit_delay = "10 ns", vc_buffer = "8 KiB" }
/// "#;
/// let results = netloom::Experiment::from_text(text).set("job.0.load", 0.5).run()?;
/// assert!(results.summary.bytes_delivered > 0);
/// # Ok::<(), netloom::Error>(())
/// ```
#[derive(Clone)]
pub struct Experiment {
    registry: Registry,
    text: String,
    input: Input,
    options: RunOptions,
}

impl Experiment {
    /// An experiment from the text of its file (TOML).
    #[must_use]
    pub fn from_text(text: impl Into<String>) -> Self {
        let input = Input { file: "experiment".into(), set: Vec::new() };
        Self { registry: Registry::standard(), text: text.into(), input, options: RunOptions::default() }
    }

    /// An experiment from its file; names of files in it are meant from there.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, Error> {
        let file = path.as_ref().to_owned();
        Ok(Self {
            input: Input { file, set: Vec::new() },
            ..Self::from_text(read_experiment(path.as_ref())?)
        })
    }

    /// Names are looked up here: [`Registry::standard`] with a user's own entries.
    #[must_use]
    pub fn with_registry(mut self, registry: Registry) -> Self {
        self.registry = registry;
        self
    }

    /// Overrides a value: `"job.0.load"`, numbers addressing entries of lists. Values are TOML, or text where they are none: `"10 us"`.
    #[must_use]
    pub fn set(mut self, path: &str, value: impl Display) -> Self {
        self.input.set.push(format!("{path}={value}"));
        self
    }

    /// What is asked for beside the experiment: threads, memory, checkers.
    #[must_use]
    pub fn options(mut self, options: RunOptions) -> Self {
        self.options = options;
        self
    }

    /// Reads, assembles and checks it: what the run needs is known before it starts.
    ///
    /// ```
    /// # let text = r#"
    /// #     experiment = { duration = "20 us" }
    /// #     routing = { algorithm = "shortest-path" }
    /// #     job = [{ workload = "uniform", message = "512 B", load = 0.3 }]
    /// #     model = { kind = "packet", packet = "512 B", chunk = "64 B" }
    /// #     [fabric]
    /// #     topology = "single-switch"
    /// #     terminals = 4
    /// #     link.terminal = { bandwidth = "12.5 GB/s", latency = "10 ns", credit_delay = "10 ns", vc_buffer = "8 KiB" }
    /// # "#;
    /// let prepared = netloom::Experiment::from_text(text).prepare(&netloom::Silent)?;
    /// assert_eq!(prepared.model.about.name, "packet");
    /// assert!(prepared.routing.is_some(), "a model with buffers has its routing checked for deadlocks");
    /// # Ok::<(), netloom::Error>(())
    /// ```
    ///
    /// # Errors
    /// All its mistakes at once ([`Error::Experiment`]), or that it needs more memory than it may use.
    pub fn prepare(&self, watcher: &dyn Watcher) -> Result<Prepared, Error> {
        prepare_text(&self.registry, &self.input, self.text.clone(), &self.options, watcher)
    }

    /// Runs it, watched by nobody.
    ///
    /// # Errors
    /// As [`Experiment::prepare`], and if a checker finds a violated invariant.
    pub fn run(&self) -> Result<Finished, Error> {
        self.watched(&Silent)
    }

    /// Runs it; the watcher hears how far it is.
    ///
    /// # Errors
    /// As [`Experiment::run`].
    pub fn watched(&self, watcher: &dyn Watcher) -> Result<Finished, Error> {
        execute(&self.prepare(watcher)?, watcher)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{error::ErrorKind, samples::TEXT, watcher::Watcher};
    use model::Progress;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    fn endless() -> String {
        TEXT.replace("4 us", "10 s").replace("load = 0.3", "load = 0.5")
    }

    /// Leaves when it has heard of so many pauses.
    struct Leaver {
        pauses: AtomicUsize,
        left: AtomicBool,
    }

    impl Watcher for Leaver {
        fn progress(&self, _: &Progress) {
            let before = self.pauses.fetch_sub(1, Ordering::Relaxed);
            self.left.store(before == 1, Ordering::Relaxed);
        }

        fn leaves(&self) -> bool {
            self.left.load(Ordering::Relaxed)
        }
    }

    /// Without the watcher's wish this would take hours.
    #[test]
    fn a_watcher_can_leave() {
        for settings in
            [&["engine.scheduler=sequential"][..], &["engine.scheduler=auto", "engine.partitions=2"]]
        {
            let leave = |left, pauses| {
                let leaver = Leaver { pauses: AtomicUsize::new(pauses), left: AtomicBool::new(left) };
                let options = RunOptions { threads: settings.len() as u32, ..RunOptions::default() };
                let mut experiment = Experiment::from_text(endless()).options(options);
                experiment.input.set = settings.iter().map(|&set| set.to_owned()).collect();
                let error = experiment.watched(&leaver).map(drop).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Interrupted);
                error.to_string()
            };
            assert_eq!(leave(true, 0), "interrupted before the simulation began");
            for pauses in [1, 3] {
                let said = leave(false, pauses);
                assert!(said.starts_with("interrupted at ") && said.contains("virtual time"), "{said}");
            }
        }
    }

    #[test]
    fn mistakes_are_reported_with_their_lines() {
        let error = Experiment::from_text("[experiment]\nduratoin = \"1 us\"\n").run().map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Experiment);
        assert!(error.to_string().contains("experiment:2:1: [experiment] has no key `duratoin`"), "{error}");
    }
}
