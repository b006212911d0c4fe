//! From a resolved experiment to a run: network, links, jobs, then the model.
//!
//! What is built depends on what is sound: a mistake in one section does not hide those of another. Only an
//! experiment without mistakes becomes a run.

use crate::{
    error::Error,
    experiment::sections::Experiment,
    jobs, links,
    network::{self, Network, Room},
    networks::Networks,
    options::RunOptions,
    parts,
    watcher::Phases,
};
use base::diag::Diagnostics;
use model::{Run, setup::JobSetup};

/// Builds what the experiment describes; `None` if it has mistakes.
///
/// # Errors
/// If the tables of the routing do not fit in memory.
pub fn assemble(
    experiment: &Experiment,
    options: &RunOptions,
    phases: &Phases<'_>,
    room: Room<'_>,
    diagnostics: &mut Diagnostics,
) -> Result<Option<Box<dyn Run>>, Error> {
    let network = network::build(experiment, phases, room, diagnostics)?;
    Ok(with_network(experiment, network, options, diagnostics))
}

/// The same with other jobs than the experiment's, on its network.
///
/// # Errors
/// As [`assemble`].
pub fn assemble_jobs(
    experiment: &Experiment,
    jobs: Vec<JobSetup>,
    options: &RunOptions,
    phases: &Phases<'_>,
    room: Room<'_>,
    diagnostics: &mut Diagnostics,
) -> Result<Option<Box<dyn Run>>, Error> {
    let network = network::build(experiment, phases, room, diagnostics)?;
    let links = links::build(experiment, diagnostics);
    Ok(parts::build(experiment, network, links, jobs, options, diagnostics))
}

/// The same on a network that others of its description share.
///
/// # Errors
/// As [`assemble`].
pub fn assemble_shared(
    experiment: &Experiment,
    options: &RunOptions,
    networks: &Networks,
    phases: &Phases<'_>,
    room: Room<'_>,
    diagnostics: &mut Diagnostics,
) -> Result<Option<Box<dyn Run>>, Error> {
    let key = Networks::key(experiment);
    let network = match networks.get(&key) {
        Some(network) => network,
        None => {
            let before = diagnostics.len();
            let network = network::build(experiment, phases, room, diagnostics)?;
            // One that was left out for mistakes elsewhere is not kept for others.
            if diagnostics.len() == before && network.fabric.is_some() {
                networks.keep(key, &network);
            }
            network
        }
    };
    Ok(with_network(experiment, network, options, diagnostics))
}

fn with_network(
    experiment: &Experiment,
    network: Network,
    options: &RunOptions,
    diagnostics: &mut Diagnostics,
) -> Option<Box<dyn Run>> {
    let links = links::build(experiment, diagnostics);
    let mut jobs = jobs::build(experiment, network.nodes.as_deref(), links.terminal, diagnostics);
    if let Some(alone) = options.alone {
        let others = |(n, job): (usize, JobSetup)| if n == alone { job } else { job.idle() };
        jobs = jobs.into_iter().enumerate().map(others).collect();
    }
    parts::build(experiment, network, links, jobs, options, diagnostics)
}
