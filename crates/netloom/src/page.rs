//! The page of runs: of one that has just ended, or of some that were stored.

use crate::{
    error::{Error, ErrorKind},
    part_file,
};
use report::page::{self, Finished as Shown};
use results::{
    output::{Manifest, read_run},
    summary::Summary,
    table::Table,
};
use std::path::{Path, PathBuf};

/// The page of a run that has just ended.
#[must_use]
pub fn of(manifest: &Manifest, finished: &model::Finished) -> String {
    let (summary, tables) = (&finished.summary, finished.tables.as_slice());
    let name = summary.experiment["experiment"]["name"].as_str().unwrap_or("run");
    page::page(&[Shown { name, summary, manifest, tables }])
}

/// A run that was stored.
pub struct Stored {
    name: String,
    summary: Summary,
    manifest: Manifest,
    tables: Vec<Table>,
}

impl Stored {
    fn shown(&self) -> Shown<'_> {
        let Self { name, summary, manifest, tables } = self;
        Shown { name, summary, manifest, tables }
    }
}

/// Reads runs back from their output directories. A run is called as its directory, or as its experiment if it is the only one.
///
/// # Errors
/// If one of them cannot be read.
pub fn load(dirs: &[PathBuf]) -> Result<Vec<Stored>, Error> {
    let load = |dir: &PathBuf| {
        let (summary, manifest, tables) = read_run(dir).map_err(|e| {
            Error::new(ErrorKind::Input, e)
                .with_help("report takes output directories of `netloom run --out`")
        })?;
        let own = summary.experiment["experiment"]["name"].as_str().unwrap_or("run").to_owned();
        let name = if dirs.len() == 1 { own } else { called(dir) };
        Ok(Stored { name, summary, manifest, tables })
    };
    let mut runs: Vec<Stored> = dirs.iter().map(load).collect::<Result<_, Error>>()?;
    // The same last name in different places: the whole path says which.
    let names: Vec<String> = runs.iter().map(|run| run.name.clone()).collect();
    for (run, dir) in runs.iter_mut().zip(dirs) {
        if names.iter().filter(|name| **name == run.name).count() > 1 {
            run.name = dir.display().to_string();
        }
    }
    Ok(runs)
}

fn called(dir: &Path) -> String {
    let name = dir.canonicalize().ok().and_then(|d| Some(d.file_name()?.to_string_lossy().into_owned()));
    name.unwrap_or_else(|| dir.display().to_string())
}

/// The page of stored runs, overlaid.
#[must_use]
pub fn html(runs: &[Stored]) -> String {
    page::page(&runs.iter().map(Stored::shown).collect::<Vec<_>>())
}

/// Makes the page of stored runs: the file `out`, or `report.html` of the first; and the picture of the first run's network, if a file is named for
/// it. Gives the files that were written. The page of one run stands beside it and may always be made anew; all else only with `force`.
///
/// # Errors
/// If a run cannot be read, it has no network to draw, or a file exists or cannot be written.
pub fn write(
    dirs: &[PathBuf],
    out: Option<&Path>,
    svg: Option<&Path>,
    force: bool,
) -> Result<Vec<PathBuf>, Error> {
    let runs = load(dirs)?;
    let picture = svg.map(|path| Ok::<_, Error>((path, network(&runs[0])?))).transpose()?;
    let own = dirs[0].join("report.html");
    let mut written = vec![out.unwrap_or(&own).to_owned()];
    // Both are asked about before either is written.
    may_write(&written[0], force || (out.is_none() && dirs.len() == 1))?;
    if let Some(path) = svg {
        may_write(path, force)?;
        if written[0] == path {
            let message = format!("page and picture cannot both be `{}`", path.display());
            return Err(Error::new(ErrorKind::Output, message).with_help("name another file with --svg"));
        }
    }
    part_file::write(&written[0], html(&runs).as_bytes(), true)?;
    if let Some((path, picture)) = picture {
        part_file::write(path, picture.as_bytes(), true)?;
        written.push(path.to_owned());
    }
    Ok(written)
}

/// The network of a stored run as SVG, moving where loads over time were recorded.
///
/// # Errors
/// If its tables describe no network.
pub fn network(run: &Stored) -> Result<String, Error> {
    page::network_svg(&run.shown()).ok_or_else(|| {
        let message = format!("run `{}` stored no network of routers", run.name);
        Error::new(ErrorKind::Input, message)
            .with_help("models packet, hybrid and flow store the table `topology`")
    })
}

/// An error if a file exists and may not be replaced.
fn may_write(path: &Path, force: bool) -> Result<(), Error> {
    results::claim::check_name(path)?;
    if force || !path.exists() {
        return Ok(());
    }
    let message = format!("`{}` exists already", path.display());
    Err(Error::new(ErrorKind::Output, message).with_help("choose another, or replace it with --force"))
}

#[cfg(test)]
mod tests {
    /// The page reads the fabric of the resolved experiment by name: a topology or key that was renamed would be drawn by levels or forces.
    #[test]
    fn what_the_picture_reads_is_what_topologies_declare() {
        for (name, keys) in report::page::ARRANGED {
            let topology = fabric::registry::TOPOLOGIES.iter().find(|t| t.about.name == *name);
            let params = topology.unwrap_or_else(|| panic!("no topology `{name}`")).about.params;
            for key in *keys {
                assert!(params.iter().any(|p| p.name == *key), "`{name}` has no `{key}`");
            }
        }
    }
}
