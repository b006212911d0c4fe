//! The machine that an experiment with a section [portals] describes.

use crate::experiment::sections::Experiment;
use base::diag::{Diagnostic, Diagnostics};
use model::{Run, messages::MessageNetwork, section::Section};
use portals::nic::{self, Params};

/// A network, and the parameters of its interfaces.
pub type Machine = (Box<dyn MessageNetwork>, Params);

/// Ranks of a run at most, and so the nodes of a network that has as many as one likes.
const MOST: u32 = 1 << 16;

/// The machine of an experiment, for so many ranks if they are known; `None` if it has mistakes.
pub fn build(
    experiment: &Experiment,
    section: &Section,
    run: &dyn Run,
    ranks: Option<u32>,
    diagnostics: &mut Diagnostics,
) -> Option<Machine> {
    refuse(experiment, run, diagnostics);
    let params = interfaces(section, &experiment.portals_nodes, run, ranks, diagnostics);
    if !diagnostics.is_empty() {
        return None;
    }
    let report = |e: model::failure::Failure| {
        let place = experiment.model.as_ref().map(|m| m.section.place("kind"));
        diagnostics.push(Diagnostic::new(place, e.to_string()));
    };
    Some((run.message_network().map_err(report).ok()?, params))
}

/// Refuses what Portals programs cannot have, where it stands.
fn refuse(experiment: &Experiment, run: &dyn Run, diagnostics: &mut Diagnostics) {
    if let (Some(_), Some(faults)) = (run.change(), &experiment.faults) {
        let message = "[faults] at: links do not fail while Portals programs run";
        let help = "use `outages` of [portals]: \"3 at 5 us for 2 ms\"; links that fail from the start may be in [faults]";
        diagnostics.push(Diagnostic::new(faults.place("at"), message).help(help));
    }
    for own in &experiment.own {
        if let Some(refusal) = own.entry.on_portals {
            diagnostics.push(Diagnostic::new(own.section.home, refusal.why).help(refusal.help));
        }
    }
    let planes = run.fabric().map_or(1, fabric::graph::Fabric::planes);
    if let (Some(model), Some(fabric), 2..) = (&experiment.model, &experiment.fabric, planes)
        && run.messages_take_one_rail()
    {
        let name = model.entry.about.name;
        let message = format!(
            "interfaces of Portals programs have one rail on model \"{name}\", and there are {planes}"
        );
        let diagnostic = Diagnostic::new(fabric.section.place("rails"), message);
        diagnostics.push(diagnostic.help("use model \"delay\", or one rail"));
    }
}

/// Parameters of all interfaces: the section's, its outages, and those of nodes of their own.
fn interfaces(
    section: &Section,
    nodes: &[Section],
    run: &dyn Run,
    ranks: Option<u32>,
    diagnostics: &mut Diagnostics,
) -> Params {
    let mut params = Params::from_values(&section.values);
    let most = match run.fabric() {
        Some(fabric) => fabric.nodes(),
        None => ranks.unwrap_or(MOST).div_ceil(params.ranks_per_node),
    };
    match nic::outages(&section.values.texts("outages"), most) {
        Ok(outages) => params.outages = outages,
        Err(problems) => section.report(problems, diagnostics),
    }
    for own in nodes {
        match nic::nodes(&own.values.text("nodes"), most) {
            Ok(nodes) => {
                let mut values = section.values.clone();
                values.0.extend(own.values.0.clone());
                params.own.push((nodes, Params::from_values(&values)));
            }
            Err(problem) => own.report(vec![problem], diagnostics),
        }
    }
    params
}
