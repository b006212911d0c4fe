//! What a run leaves on disk: its output directory, and the checkpoint beside it while it is under way.

use crate::{
    checkpoint::{self, Header},
    error::{Error, ErrorKind},
    experiment::resolved::as_written,
    page,
    prepare::Prepared,
    saver::{Saver, Signals},
    watcher::Watcher,
};
use base::{scratch, visible};
use model::Finished;
use results::{
    claim::is_checkpoint,
    claim::{Claim, left_in},
    gate::Gate,
    output::{Beside, Input, Manifest, OutputError, check_target, check_writable, real, write_run},
    rescue::{self, Unplaced},
    summary::Summary,
};
use std::{path::Path, sync::Arc};

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
    /// Claims the directory before a long run, and finds out whether results can be stored. Nobody else writes it, or its checkpoint, while
    /// the claim is held; what killed runs left is tidied. A `resumed` run is the one that left the checkpoint.
    ///
    /// # Errors
    /// If another process holds it, there is something in the way, an unfinished run's checkpoint included, or the system refuses.
    pub fn claim(&self, resumed: bool, watcher: &dyn Watcher) -> Result<Claim, Error> {
        let free = || check_target(self.directory, self.force).map_err(Error::from);
        // First of all without a trace: what is refused changes nothing on disk. Then again, since tidying may bring a run back.
        if !resumed {
            free()?;
        }
        let claim = Claim::take(&real(self.directory))?;
        if !claim.is_exclusive() {
            watcher.remark(
                "note: this file system knows no locks: see to it that no other run writes the same directory",
            );
        }
        for done in claim.tidy()? {
            watcher.remark(&format!("note: {done}"));
        }
        if !resumed {
            free()?;
            check_unfinished(self.directory, self.force)?;
        }
        check_writable(&real(self.directory))?;
        Ok(claim)
    }

    /// Stores what a run left; its checkpoint is then of no more use and goes away. What cannot be written there is kept elsewhere.
    ///
    /// # Errors
    /// If it cannot be stored where it was wanted; the error names the place where it is kept, if there is one.
    pub fn store(&self, manifest: &Manifest, finished: &Finished) -> Result<(), Error> {
        self.put(manifest, finished, None).map_err(|lost| self.last_resort(lost, || None))
    }

    /// The same through a gate that may be shut.
    pub(crate) fn put(
        &self,
        manifest: &Manifest,
        finished: &Finished,
        gate: Option<&Gate>,
    ) -> Result<(), Unstored> {
        let output = &finished.summary.experiment["output"];
        let page = output["report"].as_bool().unwrap_or(true).then(|| page::of(manifest, finished));
        let csv = output["csv"].as_bool().unwrap_or(false);
        let beside = Beside { tables: &finished.tables, page: page.as_deref(), csv, gate };
        let write =
            |directory: &Path, force| write_run(directory, force, manifest, &finished.summary, beside);
        let Err(error) = write(self.directory, self.force) else {
            self.without_checkpoint();
            return Ok(());
        };
        if gate.is_some_and(Gate::is_shut) {
            return Err(Unstored { error: error.into(), kept: true });
        }
        Err(self.rescued(&error, |directory| write(directory, false)))
    }

    /// Removes the checkpoint of a run that is stored. What cannot be removed is refused by name when a run wants the directory again.
    pub(crate) fn without_checkpoint(&self) {
        let _ = checkpoint::path_of(self.directory).map(std::fs::remove_file);
    }

    /// Keeps results elsewhere that could not be written for `error`; gives the error with what became of them.
    fn rescued(&self, error: &OutputError, write: impl Fn(&Path) -> Result<(), OutputError>) -> Unstored {
        let kept = rescue::elsewhere(self.directory);
        let directory = std::path::absolute(self.directory).unwrap_or_else(|_| self.directory.to_owned());
        let unplaced = Unplaced { directory, force: self.force };
        if let Err(again) = write(&kept).and_then(|()| rescue::note(&kept, &unplaced)) {
            // Without its note nobody could put it in place.
            let _ = std::fs::remove_dir_all(&kept);
            let message = format!("{error}; nor can the results be kept elsewhere: {again}");
            return Unstored { error: Error::new(ErrorKind::Output, message), kept: false };
        }
        let message = format!("{error}; the results are whole in `{}`", kept.display());
        let help = format!("`netloom resume {}` puts them in place when there is room", kept.display());
        Unstored { error: Error::new(ErrorKind::Output, message).with_help(help), kept: true }
    }

    /// What is left of results that are kept nowhere as files: what `keep` does with them, else the last checkpoint. Gives the error that says so.
    pub(crate) fn last_resort(
        &self,
        Unstored { error, kept }: Unstored,
        keep: impl FnOnce() -> Option<Result<(), Error>>,
    ) -> Error {
        let path = checkpoint::path_of(self.directory).unwrap_or_default();
        if kept {
            return error;
        }
        let directory = self.directory.display();
        let (message, help) = match keep() {
            Some(Ok(())) => (
                format!("{error}; they are kept in `{}`", path.display()),
                format!("`netloom resume {directory}` writes them when there is room"),
            ),
            _ if is_checkpoint(&path, false) => (
                format!("{error}; the last checkpoint is `{}`", path.display()),
                format!("`netloom resume {directory}` goes on from there when there is room"),
            ),
            _ => (error.to_string(), "the summary above is what is left".to_owned()),
        };
        Error::new(ErrorKind::Output, message).with_help(help)
    }
}

/// Why results were not stored where they were wanted.
pub(crate) struct Unstored {
    error: Error,
    /// The error says where they are, or they are somebody else's business.
    kept: bool,
}

impl From<Error> for Unstored {
    fn from(error: Error) -> Self {
        Self { error, kept: false }
    }
}

/// Puts results in place that `netloom resume` finds in a directory where they do not belong; none if there are none. Gives the summary, and its
/// text as it was stored.
///
/// # Errors
/// If they cannot be put there; then they stay where they are.
pub fn place(kept: &Path, watcher: &dyn Watcher) -> Result<Option<(Summary, String)>, Error> {
    let Some(unplaced) = rescue::unplaced(kept) else { return Ok(None) };
    let directory = rescue::place(kept, &unplaced)?;
    let _ = std::fs::remove_file(checkpoint::path_of(&directory)?);
    watcher.remark(&format!("note: the results are now in `{}`", visible::path(&directory)));
    let path = directory.join("summary.json");
    let unread = |e: &dyn std::fmt::Display| {
        Error::new(ErrorKind::Output, format!("cannot read `{}`: {e}", path.display()))
    };
    let text = base::input::read_text(&path).map_err(|e| unread(&e))?;
    let summary = Summary::from_json(&text).map_err(|e| unread(&e))?;
    Ok(Some((summary, text)))
}

/// Tidies what killed runs left in a folder, for every output directory that nobody writes now, and what killed processes left where temporary files go. Gives a line for each thing that was done or
/// let alone.
///
/// # Errors
/// If the system refuses.
pub fn clean(folder: &Path) -> Result<Vec<String>, Error> {
    let mut lines = Vec::new();
    for place in [std::env::temp_dir(), "/dev/shm".into()] {
        let left = scratch::remove_left(&place).into_iter();
        lines.extend(
            left.map(|path| format!("`{}`: files of a killed process, removed", visible::path(&path))),
        );
    }
    for name in left_in(folder)? {
        match Claim::take(&folder.join(name)) {
            Ok(claim) if claim.is_exclusive() => lines.extend(claim.tidy()?),
            Ok(_) => {
                let message = format!(
                    "the file system of `{}` knows no locks: runs may be under way",
                    folder.display()
                );
                return Err(Error::new(ErrorKind::Output, message));
            }
            Err(held @ (OutputError::Claimed { .. } | OutputError::Reserved { .. })) => {
                lines.push(format!("{held}: let alone"))
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(lines)
}

/// Refuses to lose the checkpoint of a run that did not end.
fn check_unfinished(dir: &Path, force: bool) -> Result<(), Error> {
    let path = checkpoint::path_of(dir)?;
    if path.symlink_metadata().is_ok() && !is_checkpoint(&path, false) {
        let message =
            format!("`{}` was not written by netloom, and stands where a checkpoint belongs", path.display());
        return Err(Error::new(ErrorKind::Output, message).with_help("move it away, or choose another --out"));
    }
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
    let header = header(target, program, prepared, begun)?;
    let path = checkpoint::path_of(target.directory)?;
    Ok(Saver::new(path, header, prepared.intervals, signals).over(&prepared.world))
}

/// What a checkpoint of a run says of it.
///
/// # Errors
/// If the present directory cannot be determined.
pub fn header(
    target: &Target<'_>,
    program: &Program,
    prepared: &Prepared,
    begun: &Begun,
) -> Result<Header, Error> {
    let here = std::env::current_dir()
        .map_err(|e| Error::new(ErrorKind::Input, format!("cannot find the present directory: {e}")))?;
    Ok(Header {
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
        ended: false,
    })
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
        experiment: as_written(&prepared.experiment, &prepared.input.file),
        inputs: begun.inputs,
        host: host(),
        started: begun.started,
        ended,
        warnings: finished.summary.verdict.flags.clone(),
        files: Vec::new(),
    }
}

/// The command that repeats a run, without what changes no result (section `engine`); empty if the experiment came from standard input.
#[must_use]
pub fn command(input: &crate::input::Input) -> String {
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
        if let Some(bytes) = small.then(|| base::input::read(path).ok()).flatten() {
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
