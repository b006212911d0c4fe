//! From a resolved experiment to a run: network, links, jobs, then the model.
//!
//! What is built depends on what is sound: a mistake in one section does not hide those of another. Only an
//! experiment without mistakes becomes a run.

use crate::{
    error::Error,
    experiment::sections::Experiment,
    jobs, links,
    network::{self, Room},
    options::RunOptions,
    parts,
    watcher::Phases,
};
use base::diag::Diagnostics;
use model::Run;

/// Builds what the experiment describes; `None` if it has mistakes.
///
/// # Errors
/// If the tables of the routing do not fit in memory.
pub fn assemble(
    experiment: &Experiment,
    options: &RunOptions,
    watch: (&Phases<'_>, Room<'_>),
    diagnostics: &mut Diagnostics,
) -> Result<Option<Box<dyn Run>>, Error> {
    let network = network::build(experiment, watch, diagnostics)?;
    let links = links::build(experiment, diagnostics);
    let jobs = jobs::build(experiment, (network.nodes.as_deref(), links.terminal), diagnostics);
    Ok(parts::build(experiment, (network, links, jobs), options, diagnostics))
}
