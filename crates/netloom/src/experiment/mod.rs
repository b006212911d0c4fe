//! From the text of an experiment file to a resolved experiment.
//!
//! Text -> [`tree`] (TOML with places) -> [`overrides`] (`--set`) -> [`sections`] (names, types, units, ranges,
//! defaults; [`network`] and [`jobs`] are parts of it; declared in [`keys`] and by models, driven by [`reader`] and
//! [`value`]; `buffers` gives link classes what a preset has for them) -> [`resolved`] (the same experiment with nothing left out, as JSON). All of it is pure: no file, clock or environment.

pub(crate) mod buffers;
mod file;
pub mod jobs;
pub mod keys;
pub mod level;
pub mod network;
pub mod overrides;
mod own;
pub mod plot;
mod portals;
pub mod reader;
pub mod resolved;
pub mod sections;
pub mod series;
pub mod sweep;
pub mod tree;
pub mod value;

use crate::registry::Registry;
use base::diag::{Diagnostics, Place};
use keys::Choices;
use network::FabricOnly;
use sections::Experiment;
use tree::Table;

/// Reads an experiment from its text; `name` is how diagnostics call it. `None` if it is not TOML at all; else the
/// experiment, which is fit for use only if there are no diagnostics.
pub fn read(
    registry: &Registry,
    name: &str,
    text: &str,
    options: &[String],
    diagnostics: &mut Diagnostics,
) -> Option<Experiment> {
    let (root, end) = parsed(name, text, options, diagnostics)?;
    Some(sections::resolve(&root, end, &Choices::of(registry), diagnostics))
}

/// Reads the fabric of an experiment and what fails in it; nothing else need be there, and mistakes elsewhere are not reported.
pub fn read_fabric(
    registry: &Registry,
    name: &str,
    text: &str,
    options: &[String],
    diagnostics: &mut Diagnostics,
) -> Option<FabricOnly> {
    let (root, end) = parsed(name, text, options, diagnostics)?;
    Some(network::resolve_fabric(&root, end, &Choices::of(registry), diagnostics))
}

/// The tree with its overrides, and the end of the text.
pub(crate) fn parsed(
    name: &str,
    text: &str,
    options: &[String],
    diagnostics: &mut Diagnostics,
) -> Option<(Table, Place)> {
    let source = diagnostics.add_source(name, text);
    let mut root = tree::parse(source, diagnostics)?;
    for option in options {
        overrides::apply(&mut root, option, diagnostics);
    }
    Some((root, Place { source, start: text.trim_end().len(), end: text.trim_end().len() }))
}
