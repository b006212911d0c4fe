//! Runs of the study's experiments. Their programs are files, as the programs of any experiment are: with `--out DIR` they and the experiments stay in
//! `DIR/experiments`, where `netloom run` takes them as they are; otherwise they vanish with the study.

use crate::{asked::Asked, files::Files};
use base::scratch::Scratch;
use model::Finished;
use netloom::{
    Error, ErrorKind, Input, Registry, RunOptions, Watcher, execute::execute, prepare::prepare_text,
    watcher::Phases,
};
use report::plot::Plot;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The study's experiments, and where their files are.
pub struct Experiments<'a> {
    files: &'a Files,
    asked: &'a Asked<'a>,
    watcher: &'a dyn Watcher,
    folder: PathBuf,
    /// The folder, if it goes away with this.
    _scratch: Option<Scratch>,
}

impl<'a> Experiments<'a> {
    /// Makes the folder.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn new(files: &'a Files, asked: &'a Asked<'a>, watcher: &'a dyn Watcher) -> Result<Self, Error> {
        if let Some(out) = &asked.out {
            let folder = out.join("experiments");
            fs::create_dir_all(&folder).map_err(|e| unwritable(&folder, &e))?;
            return Ok(Self { files, asked, watcher, folder, _scratch: None });
        }
        let scratch = Scratch::new("mars").map_err(|e| unwritable(&std::env::temp_dir(), &e))?;
        Ok(Self { files, asked, watcher, folder: scratch.path().to_owned(), _scratch: Some(scratch) })
    }

    /// Says what is done now.
    pub fn begin(&self, what: &str) {
        Phases(self.watcher).begin(what);
    }

    /// Writes a program of ranks beside the experiments, and gives the path by which overrides name it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn program(&self, name: &str, text: &str) -> Result<String, Error> {
        let path = self.folder.join(name);
        fs::write(&path, text).map_err(|e| unwritable(&path, &e))?;
        Ok(path.display().to_string())
    }

    /// Runs an experiment with overrides, and those that were asked for after them.
    ///
    /// # Errors
    /// If it has mistakes or fails.
    pub fn run(&self, experiment: &str, set: &[String]) -> Result<Finished, Error> {
        let text = self.files.text(experiment)?;
        let path = self.folder.join(experiment);
        if self.asked.out.is_some() {
            fs::write(&path, &text).map_err(|e| unwritable(&path, &e))?;
        }
        let set = set.iter().chain(&self.asked.set).cloned().collect();
        let input = Input { file: path, set };
        let prepared =
            prepare_text(&Registry::standard(), &input, text, &RunOptions::default(), self.watcher)?;
        execute(&prepared, self.watcher)
    }

    /// Draws a figure as SVG and PDF, if figures go anywhere.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn draw(&self, name: &str, plot: &Plot) -> Result<(), Error> {
        self.write(name, || (plot.svg(), plot.pdf()))
    }

    /// Writes a figure in both forms, if figures go anywhere.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, name: &str, drawn: impl FnOnce() -> (String, Vec<u8>)) -> Result<(), Error> {
        let Some(out) = &self.asked.out else { return Ok(()) };
        let (svg, pdf) = drawn();
        for (ending, bytes) in [("svg", svg.into_bytes()), ("pdf", pdf)] {
            let path = out.join(format!("{name}.{ending}"));
            fs::write(&path, bytes).map_err(|e| unwritable(&path, &e))?;
        }
        Ok(())
    }
}

/// Makespan of a job by its index, in ps.
///
/// # Errors
/// If it did not end: its numbers mean nothing then.
pub fn makespan(finished: &Finished, job: usize) -> Result<f64, Error> {
    let job = finished.summary.jobs.get(job);
    job.and_then(|job| job.makespan_ps).map(|ps| ps as f64).ok_or_else(|| {
        let detail = finished.summary.verdict.detail.join("; ");
        Error::new(ErrorKind::Experiment, format!("a program of the study did not end: {detail}"))
    })
}

fn unwritable(path: &Path, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Output, format!("cannot write `{}`: {error}", path.display()))
}
