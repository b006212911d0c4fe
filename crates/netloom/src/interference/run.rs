//! Runs an experiment with all its jobs, and with each of them alone.

use super::{
    outcome::{Interference, Row},
    taken::{Taken, taken},
};
use crate::{
    error::{Error, ErrorKind},
    execute::execute,
    experiment::{
        self,
        sections::Experiment,
        tree::{Data, Table},
    },
    input::{Input, read_experiment},
    memory::limit_in_bytes,
    networks::Networks,
    options::{MemoryLimit, RunOptions},
    prepare::{NamedFile, no_series, prepare_resolved},
    registry::Registry,
    side_by_side::{self, Crew, Heard},
    watcher::Watcher,
};
use base::{diag::Diagnostics, sorted::SortedSet};
use model::entry::Contention;
use results::summary::Summary;
use std::sync::{
    Mutex,
    atomic::{AtomicBool, AtomicU64, Ordering},
};
use workload::registry::Takes;

/// What is asked beside the experiment.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// Runs at a time; each runs in one thread.
    pub threads: u32,
    /// Memory and checkers.
    pub options: RunOptions,
}

/// Runs an experiment with all its jobs at work, and with each of them alone: in the same places, with the same random streams, while the others are idle.
///
/// # Errors
/// If the file is no experiment with several jobs, or its model has no time; if a run fails.
pub fn interference(
    registry: &Registry,
    input: &Input,
    asked: &Asked,
    watcher: &dyn Watcher,
) -> Result<Interference, Error> {
    let text = read_experiment(&input.file)?;
    let mut diagnostics = Diagnostics::default();
    let name = input.file.display().to_string();
    let read = experiment::read(registry, &name, &text, &input.set, &mut diagnostics);
    if let Some(experiment) = &read {
        no_series(experiment, &name, &diagnostics)?;
    }
    let tree = experiment::parsed(&name, &text, &input.set, &mut Diagnostics::default());
    let (Some(experiment), Some((root, _)), true) = (read, tree, diagnostics.is_empty()) else {
        return Err(Error::experiment(diagnostics));
    };
    let model = judge(&experiment, &name, watcher)?;
    let count = experiment.jobs.len() + 1;
    let together = (asked.threads as usize).clamp(1, count);
    let share = limit_in_bytes(asked.options.memory).filter(|_| together > 1);
    let memory = share.map(|bytes| MemoryLimit::Bytes(bytes / together as u64)).or(asked.options.memory);
    let crew = Runs {
        registry,
        input: Input { set: [&input.set[..], &overrides(&root, &experiment)].concat(), ..input.clone() },
        text,
        networks: Networks::new(1),
        options: RunOptions { threads: 1, memory, ..asked.options },
        watcher,
        done: AtomicU64::new(0),
        count: count as u64,
        stopped: AtomicBool::new(false),
    };
    let (mut runs, mut said) = (Vec::with_capacity(count), SortedSet::new());
    let ran = side_by_side::run(count, together, &crew, &mut |heard| {
        match heard {
            Heard::Remark(text) if said.insert(text.clone()) => watcher.remark(&text),
            Heard::Remark(_) => {}
            Heard::Result(run) => runs.push(run),
        }
        Ok(())
    });
    watcher.ended();
    ran?;
    let mut runs = runs.into_iter();
    let Some(Ran { summary: all, jobs }) = runs.next() else {
        return Err(Error::new(ErrorKind::Internal, "a run left no result"));
    };
    let named = all.jobs.iter().map(|job| (job.name.clone(), job.ranks)).collect::<Vec<_>>();
    let each = runs.enumerate().zip(named).map(|((n, alone), (name, ranks))| {
        Row::new(name, ranks, &all, jobs[n], alone.summary, alone.jobs[n])
    });
    Ok(Interference { input: input.clone(), model, rows: each.collect(), together: all })
}

/// Refuses what has no interference to tell; the name of the model.
fn judge(experiment: &Experiment, name: &str, watcher: &dyn Watcher) -> Result<&'static str, Error> {
    let refuse =
        |message: String, help: &str| Err(Error::new(ErrorKind::Experiment, message).with_help(help));
    let Some(model) = experiment.model.as_ref().map(|m| m.entry) else {
        return refuse(format!("`{name}` names no model"), "add `[model] kind`");
    };
    let kind = model.about.name;
    if !model.needs.time {
        let message = format!("model \"{kind}\" has no time: it cannot say how much longer a job takes");
        return refuse(message, "use model \"flow\" or \"packet\"");
    }
    if experiment.jobs.len() < 2 {
        let message = format!("jobs slow each other down, and `{name}` has {}", experiment.jobs.len());
        return refuse(message, "add another [[job]], or `copies = 2` to the one");
    }
    if model.contention == Contention::Unseen {
        watcher.remark(&format!(
            "note: on model \"{kind}\" messages do not meet in the network: jobs cannot slow each other down"
        ));
    }
    Ok(kind)
}

/// Takes out what costs time and changes no result, and asks for the messages of traffic.
fn overrides(root: &Table, experiment: &Experiment) -> Vec<String> {
    let mut set: Vec<String> = root.get("output").map(|_| "output=".to_owned()).into_iter().collect();
    if let Some(Data::Table(engine)) = root.get("engine").map(|entry| &entry.node.data) {
        let saving = ["checkpoint", "checkpoint_wall"].into_iter().filter(|key| engine.get(key).is_some());
        set.extend(saving.map(|key| format!("engine.{key}=")));
    }
    let traffic = experiment.jobs.iter().any(|j| j.workload.is_some_and(|w| w.takes != Takes::Program));
    set.extend(traffic.then(|| "output.messages=true".to_owned()));
    set
}

/// What a run left.
struct Ran {
    summary: Summary,
    jobs: Vec<Taken>,
}

/// The runs: all jobs together, then each alone.
struct Runs<'a> {
    registry: &'a Registry,
    input: Input,
    text: String,
    networks: Networks,
    options: RunOptions,
    watcher: &'a dyn Watcher,
    done: AtomicU64,
    count: u64,
    stopped: AtomicBool,
}

impl Crew<Ran> for Runs<'_> {
    fn work(&self, number: usize, remark: &dyn Fn(String)) -> Result<Ran, Error> {
        let options = RunOptions { alone: number.checked_sub(1), ..self.options };
        let name = self.input.file.display().to_string();
        let mut diagnostics = Diagnostics::default();
        let read = experiment::read(self.registry, &name, &self.text, &self.input.set, &mut diagnostics);
        let Some(experiment) = read else { return Err(Error::experiment(diagnostics)) };
        let file = NamedFile { name, text: self.text.clone(), input: &self.input };
        let heard = Heeding { remarks: Mutex::default(), stopped: &self.stopped, watcher: self.watcher };
        let prepared =
            prepare_resolved(&experiment, file, &options, Some(&self.networks), &heard, diagnostics);
        let ran = prepared.and_then(|prepared| {
            let finished = execute(&prepared, &heard)?;
            Ok(Ran { jobs: taken(&finished, prepared.run.jobs()), summary: finished.summary })
        });
        heard.remarks.into_inner().unwrap_or_default().into_iter().for_each(remark);
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        self.watcher.points(done, self.count);
        ran
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

/// Keeps remarks until a run has ended; leaves when another run has failed, or whoever watches leaves.
struct Heeding<'a> {
    remarks: Mutex<Vec<String>>,
    stopped: &'a AtomicBool,
    watcher: &'a dyn Watcher,
}

impl Watcher for Heeding<'_> {
    fn leaves(&self) -> bool {
        self.stopped.load(Ordering::Relaxed) || self.watcher.leaves()
    }

    fn remark(&self, text: &str) {
        if let Ok(mut remarks) = self.remarks.lock() {
            remarks.push(text.to_owned());
        }
    }
}
