//! The manifest of a run: where its results came from, which directories runs wrote, and what in them is somebody's.

use serde::{Deserialize, Serialize};
use std::{fs, io, path::Path};

/// The page that shows a run.
pub(crate) const PAGE: &str = "report.html";
/// File that marks a directory as ours.
pub(crate) const MANIFEST: &str = "manifest.json";

/// Where a run came from: enough to repeat it. The only file with wall times and host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of Netloom.
    pub version: String,
    /// Revision of its source, with a mark if it was changed; empty if unknown.
    pub revision: String,
    /// Fingerprint of the run.
    pub fingerprint: String,
    /// The command that repeats the run; empty if none is known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub command: String,
    /// Seed of all random streams.
    pub seed: u64,
    /// The resolved experiment.
    pub experiment: serde_json::Value,
    /// Files that were read.
    pub inputs: Vec<Input>,
    /// Name of the machine.
    pub host: String,
    /// Wall time of the start (RFC 3339).
    pub started: String,
    /// Wall time of the end (RFC 3339).
    pub ended: String,
    /// Warnings that the user was shown.
    pub warnings: Vec<String>,
    /// What else the run wrote into its directory, by name; empty in directories of older versions.
    #[serde(default)]
    pub files: Vec<String>,
}

/// A file that an experiment read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// As the experiment names it.
    pub path: String,
    /// Length of its contents in bytes.
    pub bytes: u64,
    /// BLAKE3 hash of its contents, hexadecimal.
    pub blake3: String,
}

impl Input {
    /// Describes a file by the contents that were read.
    #[must_use]
    pub fn new(path: impl Into<String>, contents: &[u8]) -> Self {
        let blake3 = blake3::hash(contents).to_hex().to_string();
        Self { path: path.into(), bytes: contents.len() as u64, blake3 }
    }
}

/// The manifest of a directory that a run filled: it is one of ours, complete with fingerprint and start. Others' folders have a file of that name too.
fn manifest(dir: &Path) -> Option<Manifest> {
    let text = base::input::read_text(dir.join(MANIFEST)).ok()?;
    let manifest: Manifest = serde_json::from_str(&text).ok()?;
    (!manifest.fingerprint.is_empty() && !manifest.started.is_empty()).then_some(manifest)
}

/// True of a directory that a run filled.
pub(crate) fn is_ours(dir: &Path) -> bool {
    manifest(dir).is_some()
}

/// Names in a directory, ascending; what is no text is passed over.
pub(crate) fn entries(dir: &Path) -> io::Result<Vec<String>> {
    let names = fs::read_dir(dir)?.map(|entry| Ok(entry?.file_name().into_string().ok()));
    let mut names: Vec<String> = names.filter_map(io::Result::transpose).collect::<io::Result<_>>()?;
    names.sort();
    Ok(names)
}

/// Something in a run's directory that the run did not write, if its manifest lists what it did. A page may be drawn later.
pub(crate) fn foreign(dir: &Path) -> Option<String> {
    let written = manifest(dir)?.files;
    let is_known = |name: &String| [MANIFEST, PAGE].contains(&name.as_str()) || written.contains(name);
    let mut names = entries(dir).ok().filter(|_| !written.is_empty())?.into_iter();
    names.find(|name| !is_known(name))
}
