//! From a resolved experiment to its network: all planes of the fabric, what fails in it, and its routing.

use crate::{
    ends,
    error::{Error, ErrorKind},
    experiment::sections::Experiment,
    faults::{self, Broken},
    links, routing,
    watcher::Phases,
};
use base::{
    diag::Diagnostics,
    param::{Kind, Problem},
};
use fabric::{
    graph::{Fabric, Port},
    planes,
    registry::{RoutingEntry, Topology},
    routing::Routing,
    topology::{MAX_LINKS, Sizes, imported::ImportedShape},
};
use model::{
    Run,
    entry::Known,
    memory::{BESIDE, FIXED, Prediction},
    section::Chosen,
    setup::{Change, JobSetup, LinkParams},
};
use std::sync::Arc;

/// A network with its routing, as far as it is there and has no mistakes.
#[derive(Clone, Default)]
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
            return Ok(Network::default());
        }
        refuse_by_size(experiment, &sizes, room)?;
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
pub(crate) fn sizes(chosen: &Chosen<Topology>) -> Option<Sizes> {
    chosen.section.complete.then(|| (chosen.entry.sizes)(&chosen.section.values).ok())?
}

/// Sizes of a large network that no file describes, which would have to be read for them.
#[must_use]
pub fn large(experiment: &Experiment) -> Option<Sizes> {
    let chosen = experiment.fabric.as_ref()?;
    let in_file = chosen.entry.about.params.iter().any(|p| p.kind == Kind::File);
    let can_be = |sizes: &Sizes| sizes.ports > LARGE && bytes_of(sizes, experiment.rails).is_some();
    if in_file { None } else { sizes(chosen).filter(can_be) }
}

/// Refuses what the tables of the routing and the model cannot hold, by sizes alone: building it would take time and memory before the same is said.
///
/// # Errors
/// If it does not fit. What the topology itself refuses is left to it.
pub fn refuse_by_size(experiment: &Experiment, sizes: &Sizes, room: Room<'_>) -> Result<(), Error> {
    let Some(bytes) = bytes_of(sizes, experiment.rails) else { return Ok(()) };
    room("the fabric alone", bytes)?;
    if let Some(routing) = &experiment.routing {
        room("the routing's tables alone", tables(routing, sizes))?;
    }
    if let Some(model) = experiment.model.as_ref().filter(|m| m.section.complete)
        && let Some(why) = (model.entry.unfit)(&model.section.values, sizes)
    {
        return Err(Error::new(ErrorKind::Experiment, why));
    }
    room("the run", least(experiment, sizes, &[], &[]))
}

/// Bytes that a run will be predicted to need at least on a network of these sizes, with these jobs and links if they are known.
#[must_use]
pub fn least(experiment: &Experiment, sizes: &Sizes, jobs: &[JobSetup], links: &[LinkParams]) -> u64 {
    let tables = experiment.routing.as_ref().map_or(0, |routing| tables(routing, sizes));
    let Some(model) = experiment.model.as_ref().filter(|m| m.section.complete) else { return tables };
    let all = |count: u64| count.saturating_mul(experiment.rails);
    let Sizes { routers, terminals, ports, ends } = *sizes;
    let sizes =
        Sizes { routers: all(routers), terminals: all(terminals), ports: all(ports), ends: all(ends) };
    let (values, until) = (&model.section.values, ends::until(experiment));
    // Faults leave fewer links, and fewer that take what is sent.
    let links = if experiment.faults.is_some() { &[] } else { links };
    let rows = (model.entry.least)(&Known { values, sizes: &sizes, jobs, links, until });
    let certain = tables.saturating_add(rows);
    certain.saturating_add(certain / BESIDE).saturating_add(FIXED)
}

/// Bytes of the routing's tables for sizes, at least.
fn tables(routing: &Chosen<RoutingEntry>, sizes: &Sizes) -> u64 {
    if routing.section.complete { (routing.entry.least)(sizes, &routing.section.values) } else { 0 }
}

/// What a run is predicted to need: what its model says, its routing's tables, and what the program itself takes.
#[must_use]
pub fn predicted(experiment: &Experiment, run: &dyn Run) -> Prediction {
    let mut memory = run.memory();
    // A model from outside may predict nothing.
    let predicts = !memory.parts.is_empty();
    if let Some((fabric, chosen)) = run.fabric().zip(experiment.routing.as_ref()) {
        let bytes = routing::bytes(fabric, chosen);
        if bytes > 0 {
            memory.add("routing's tables", bytes);
        }
    }
    memory.add("allocator", memory.bytes / BESIDE);
    memory.add("fixed", FIXED);
    debug_assert!(
        !predicts || is_consistent(experiment, run.jobs(), memory.bytes),
        "no run needs less than its network's rows"
    );
    memory
}

/// True unless a run is predicted to need less than what a network of its size needs at least: then one of the two is wrong. Faults leave less of a network.
fn is_consistent(experiment: &Experiment, jobs: &[JobSetup], predicted: u64) -> bool {
    let sizes = experiment.fabric.as_ref().filter(|_| experiment.faults.is_none()).and_then(sizes);
    let links: Option<Vec<LinkParams>> =
        links::build(experiment, &mut Diagnostics::default()).params.into_iter().collect();
    sizes.is_none_or(|sizes| least(experiment, &sizes, jobs, &links.unwrap_or_default()) <= predicted)
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
