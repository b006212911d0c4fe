//! What a run leaves on disk: its output directory, and the checkpoint beside it while it is under way.

use crate::{
    checkpoint::{self, Header},
    error::{Error, ErrorKind},
    page,
    prepare::Prepared,
    saver::{Saver, Signals},
};
use model::Finished;
use results::output::{Input, Manifest, OutputError, check_target, write_run};
use std::{io, path::Path, sync::Arc};

/// The program that runs, as it is reported in results.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Version and revision in one: what tells builds apart.
    pub build: &'static str,
    /// Version of the release.
    pub version: &'static str,
    /// Revision of its sources; empty if it is not known.
    pub revision: &'static str,
}

/// Where results go.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// Directory that is made, or replaced by `force`.
    pub directory: &'a Path,
    /// It may be replaced.
    pub force: bool,
}

impl Target<'_> {
    /// Finds out before a long run whether results can be stored.
    ///
    /// # Errors
    /// If there is something in the way, an unfinished run's checkpoint included, or the system refuses.
    pub fn check(&self) -> Result<(), Error> {
        check_target(self.directory, self.force).map_err(|e| failure(&e))?;
        check_writable(self.directory)?;
        check_unfinished(self.directory, self.force)
    }

    /// Stores what a run left; its checkpoint is then of no more use and goes away.
    ///
    /// # Errors
    /// If it cannot be stored.
    pub fn store(&self, manifest: &Manifest, finished: &Finished) -> Result<(), Error> {
        let wanted = finished.summary.experiment["output"]["report"].as_bool().unwrap_or(true);
        let page = wanted.then(|| page::of(manifest, finished));
        let beside = (finished.tables.as_slice(), page.as_deref());
        write_run(self.directory, self.force, manifest, &finished.summary, beside)
            .map_err(|e| failure(&e))?;
        // What cannot be removed is refused by name when a run wants the directory again.
        let _ = std::fs::remove_file(checkpoint::path_of(self.directory)?);
        Ok(())
    }
}

fn failure(error: &OutputError) -> Error {
    let failure = Error::new(ErrorKind::Output, error.to_string());
    match error {
        OutputError::Exists(_) => failure.with_help("choose another --out, or replace it with --force"),
        OutputError::NotOurs(_) => {
            failure.with_help("choose another --out; --force replaces only earlier runs")
        }
        _ => failure,
    }
}

/// Finds out before a long run whether the directory can be made: makes and removes one beside it.
fn check_writable(dir: &Path) -> Result<(), Error> {
    let here = Path::new(".");
    let above = |p: &Path| if p.as_os_str().is_empty() { here.to_owned() } else { p.to_owned() };
    let parent = dir.ancestors().skip(1).map(above).find(|p| p.exists()).unwrap_or_else(|| here.to_owned());
    let probe = parent.join(format!(".netloom-probe-{}", std::process::id()));
    let made = if parent.is_dir() {
        std::fs::create_dir(&probe).and_then(|()| std::fs::remove_dir(&probe))
    } else {
        Err(io::Error::from(io::ErrorKind::NotADirectory))
    };
    made.map_err(|e| Error::new(ErrorKind::Output, format!("cannot write in `{}`: {e}", parent.display())))
}

/// Refuses to lose the checkpoint of a run that did not end.
fn check_unfinished(dir: &Path, force: bool) -> Result<(), Error> {
    let path = checkpoint::path_of(dir)?;
    if force || !path.exists() {
        return Ok(());
    }
    let message = format!("an unfinished run left its checkpoint `{}`", path.display());
    let help = format!("`netloom resume {}` goes on with it; --force begins anew", dir.display());
    Err(Error::new(ErrorKind::Output, message).with_help(help))
}

/// When a run began, and what it reads.
#[derive(Clone, Debug)]
pub struct Begun {
    /// Wall time (RFC 3339).
    pub started: String,
    /// The files; see [`inputs`].
    pub inputs: Vec<Input>,
}

/// Who saves a run whose results go to `target`.
///
/// # Errors
/// If the present directory cannot be determined, or the target names no directory.
pub fn saver(
    target: &Target<'_>,
    program: &Program,
    prepared: &Prepared,
    begun: &Begun,
    signals: Arc<Signals>,
) -> Result<Saver, Error> {
    let here = std::env::current_dir()
        .map_err(|e| Error::new(ErrorKind::Input, format!("cannot tell the present directory: {e}")))?;
    let header = Header {
        build: program.build.to_owned(),
        file: (prepared.input.file.clone(), prepared.file.1.clone()),
        set: prepared.input.set.clone(),
        directory: here,
        inputs: begun.inputs.clone(),
        partitions: 0,
        threads: prepared.options.threads,
        checkers: prepared.options.checkers,
        force: target.force,
        started: begun.started.clone(),
        now: 0,
    };
    let path = checkpoint::path_of(target.directory)?;
    Ok(Saver::new(path, header, prepared.intervals, signals).over(&prepared.world))
}

/// What is reported of a run beside its results; `ended` is a wall time as that of its begin.
#[must_use]
pub fn manifest(
    program: &Program,
    prepared: &Prepared,
    finished: &Finished,
    begun: Begun,
    ended: String,
) -> Manifest {
    Manifest {
        version: program.version.to_owned(),
        revision: program.revision.to_owned(),
        fingerprint: finished.summary.fingerprint.clone(),
        command: command(&prepared.input),
        seed: prepared.run.seed(),
        experiment: prepared.experiment.clone(),
        inputs: begun.inputs,
        host: host(),
        started: begun.started,
        ended,
        warnings: finished.summary.verdict.flags.clone(),
    }
}

/// The command that repeats a run, without what changes no result (section `engine`); empty if the experiment came from standard input.
fn command(input: &crate::input::Input) -> String {
    if input.file == Path::new("-") {
        return String::new();
    }
    let engine = |set: &str| set.split(['.', '=']).next().is_some_and(|section| section.trim() == "engine");
    let sets = input.set.iter().filter(|set| !engine(set)).map(|set| format!(" --set {}", quoted(set)));
    let file = quoted(&input.file.display().to_string());
    format!("netloom run {file}{}", sets.collect::<String>())
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Largest input file that is hashed.
const MAX_HASHED: u64 = 1 << 30;

/// The experiment file and the files that it names, as far as they are not too large to hash.
#[must_use]
pub fn inputs(prepared: &Prepared) -> Vec<Input> {
    let mut inputs = vec![Input::new(prepared.file.0.as_str(), prepared.file.1.as_bytes())];
    inputs.extend(named_inputs(&prepared.experiment));
    inputs
}

/// The files that a resolved experiment names, as far as they are not too large to hash.
#[must_use]
pub fn named_inputs(experiment: &serde_json::Value) -> Vec<Input> {
    let mut inputs = Vec::new();
    let jobs = experiment["job"].as_array().into_iter().flatten();
    let sections = ["fabric", "routing", "hybrid"].map(|name| &experiment[name]);
    for path in sections.into_iter().chain(jobs).filter_map(|section| section["file"].as_str()) {
        let small = std::fs::metadata(path).is_ok_and(|m| m.len() <= MAX_HASHED);
        if let Some(bytes) = small.then(|| std::fs::read(path).ok()).flatten() {
            inputs.push(Input::new(path, &bytes));
        }
    }
    inputs
}

/// Name of the machine, where it says.
fn host() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .map_or_else(|_| String::new(), |s| s.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_one_that_a_shell_takes() {
        let of = |file: &str, set: &[&str]| {
            let set = set.iter().map(|s| (*s).to_owned()).collect();
            command(&crate::input::Input { file: file.into(), set })
        };
        assert_eq!(of("a b.toml", &["seed=1", "engine.threads=4"]), "netloom run 'a b.toml' --set seed=1");
        assert_eq!(of("a.toml", &["x='y'"]), r"netloom run a.toml --set 'x='\''y'\'''");
        assert_eq!(of("-", &[]), "", "standard input cannot be had again");
    }
}
