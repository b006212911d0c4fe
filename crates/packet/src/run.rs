//! Runs a setup from start to results: with the routers that it names.

use crate::{network::Network, router::registry, setup::Setup, simulation};
use model::{Finished, Progress, Watch, failure::Failure};
use std::sync::Arc;

/// Simulates. `progress` is called every quarter of a million events or so; it stops the run by returning false.
///
/// # Errors
/// A setup that cannot be simulated, a stop by `progress`, or a broken invariant.
pub fn simulate(setup: &Setup, progress: &mut dyn FnMut(Progress) -> bool) -> Result<Finished, Failure> {
    watch(setup, Watch::new(&mut |at, _| progress(at)))
}

/// Simulates; whoever watches is asked at every pause, and may save or stop the run.
///
/// # Errors
/// A setup that cannot be simulated, a stop, a damaged state, or a broken invariant.
pub fn watch(setup: &Setup, watch: Watch<'_>) -> Result<Finished, Failure> {
    registry::chosen(&setup.packet).run(setup, watch)
}

/// Refuses, before a run, what the rules of the model exclude.
///
/// # Errors
/// [`Failure::Setup`] with the reason.
pub fn validate(setup: &Setup) -> Result<(), Failure> {
    (registry::chosen(&setup.packet).refuse)(setup)?;
    simulation::refuse(setup, &Arc::new(Network::new(setup, 1)))
}
