//! From a resolved experiment to its network: all planes of the fabric, what fails in it, and its routing.

use crate::{
    error::{Error, ErrorKind},
    experiment::sections::Experiment,
    faults::{self, Broken},
    routing,
    watcher::Phases,
};
use base::{diag::Diagnostics, param::Problem};
use fabric::{
    graph::{Fabric, Port},
    planes,
    registry::Topology,
    routing::Routing,
    topology::{MAX_LINKS, Sizes, imported::ImportedShape},
};
use model::{section::Chosen, setup::Change};
use std::sync::Arc;

/// A network with its routing, as far as it is there and has no mistakes.
#[derive(Clone)]
pub struct Network {
    /// As the run begins with it.
    pub fabric: Option<Arc<Fabric>>,
    /// The nodes that are left when everything has failed, where ranks may live.
    pub nodes: Option<Arc<Fabric>>,
    /// Finds paths on `fabric`; `None` if the experiment names no routing or has a mistake there.
    pub routing: Option<Arc<dyn Routing>>,
    /// What fails while the run is under way.
    pub change: Option<Change>,
}

/// Router ports of a network that is not built where other sections have mistakes: they are reported at once, and what it would say later.
const LARGE: u64 = 1 << 16;

/// What refuses a thing that needs so many bytes.
pub type Room<'a> = &'a dyn Fn(&str, u64) -> Result<(), Error>;

/// The network of an experiment.
///
/// # Errors
/// If the tables of the routing do not fit in memory.
pub fn build(
    experiment: &Experiment,
    phases: &Phases<'_>,
    room: Room<'_>,
    diagnostics: &mut Diagnostics,
) -> Result<Network, Error> {
    if let Some(sizes) = experiment.fabric.as_ref().and_then(sizes) {
        if !diagnostics.is_empty() && sizes.ports > LARGE {
            return Ok(Network { fabric: None, nodes: None, routing: None, change: None });
        }
        if let Some(bytes) = bytes_of(&sizes, experiment.rails) {
            room("the fabric alone", bytes)?;
            refuse_by_size(experiment, &sizes, room)?;
        }
    }
    phases.begin("building the network");
    let (fabric, later) = match fabric(experiment, diagnostics) {
        None => (None, None),
        Some(whole) => match faults::broken(experiment, &whole, diagnostics) {
            None => (Some(whole), None),
            Some(Broken { at: 0, fabric }) => (Some(fabric), None),
            Some(broken) => (Some(whole), Some(broken)),
        },
    };
    if let Some(imported) = fabric.as_ref().and_then(|f| f.shape::<ImportedShape>()) {
        imported.subnet.notes.iter().for_each(|note| phases.0.remark(&format!("note: [fabric]: {note}")));
    }
    let left = later.as_ref().map(|b| &b.fabric).or(fabric.as_ref());
    let nodes = left.map(planes::nodes);
    let (Some(chosen), Some(whole)) = (&experiment.routing, &fabric) else {
        return Ok(Network { fabric, nodes, routing: None, change: None });
    };
    room("the routing's tables alone", routing::bytes(whole, chosen))?;
    let name = chosen.entry.about.name;
    phases.begin(format!("finding the paths of {name} on {} routers", whole.routers()));
    let (routing, change) = routing::build(chosen, whole, later, diagnostics);
    Ok(Network { fabric, nodes, routing, change })
}

/// Sizes of the network that an experiment describes, if it does.
fn sizes(chosen: &Chosen<Topology>) -> Option<Sizes> {
    chosen.section.complete.then(|| (chosen.entry.sizes)(&chosen.section.values).ok())?
}

/// Refuses what the tables of the routing and the model cannot hold, by sizes alone: building it would take time and memory before the same is said.
fn refuse_by_size(experiment: &Experiment, sizes: &Sizes, room: Room<'_>) -> Result<(), Error> {
    if let Some(routing) = experiment.routing.as_ref().filter(|r| r.section.complete) {
        room("the routing's tables alone", (routing.entry.least)(sizes, &routing.section.values))?;
    }
    if let Some(model) = experiment.model.as_ref().filter(|m| m.section.complete)
        && let Some(why) = (model.entry.unfit)(&model.section.values, sizes)
    {
        return Err(Error::new(ErrorKind::Experiment, why));
    }
    room("the run", least(experiment, sizes))
}

/// Bytes that the model of an experiment needs at least on a network of these sizes.
fn least(experiment: &Experiment, sizes: &Sizes) -> u64 {
    let model = experiment.model.as_ref().filter(|m| m.section.complete);
    let one = model.map_or(0, |m| (m.entry.least)(&m.section.values, sizes));
    one.saturating_mul(experiment.rails)
}

/// True unless a run is predicted to need less than what a network of its size needs at least: then one of the two is wrong.
#[must_use]
pub fn is_consistent(experiment: &Experiment, predicted: u64) -> bool {
    let sizes = experiment.fabric.as_ref().and_then(sizes);
    sizes.is_none_or(|sizes| least(experiment, &sizes) <= predicted)
}

fn fabric(experiment: &Experiment, diagnostics: &mut Diagnostics) -> Option<Arc<Fabric>> {
    let chosen = experiment.fabric.as_ref().filter(|f| f.section.complete)?;
    planes_of(chosen, experiment.rails)
        .map(Arc::new)
        .map_err(|problems| chosen.section.report(problems, diagnostics))
        .ok()
}

/// Bytes that a fabric's graph will take on so many rails; `None` if it cannot be built.
#[must_use]
pub fn fabric_bytes(chosen: &Chosen<Topology>, rails: u64) -> Option<u64> {
    bytes_of(&sizes(chosen)?, rails)
}

fn bytes_of(sizes: &Sizes, rails: u64) -> Option<u64> {
    // Twice: while it is built its tables grow, and are copied when they are whole.
    let one = 2 * (sizes.ports * size_of::<Port>() as u64 + sizes.routers * 4 + sizes.terminals * 8);
    ((sizes.ports + sizes.terminals).saturating_mul(rails) <= MAX_LINKS).then(|| one.saturating_mul(rails))
}

/// The fabric that a section describes, all planes of it: one for each rail.
///
/// # Errors
/// What the topology refuses, and too many links.
pub fn planes_of(chosen: &Chosen<Topology>, rails: u64) -> Result<Fabric, Vec<Problem>> {
    let values = &chosen.section.values;
    let sizes = (chosen.entry.sizes)(values)?;
    let links = (sizes.ports + sizes.terminals).saturating_mul(rails);
    if links > MAX_LINKS {
        let message = format!("the network would have more than {MAX_LINKS} links on {rails} rails");
        return Err(vec![Problem::new("rails", message).help("choose fewer rails or a smaller network")]);
    }
    let one = (chosen.entry.build)(values)?;
    Ok(planes::stack(&one, u32::try_from(rails).expect("the declared range is small")))
}
