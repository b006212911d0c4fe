//! The machine that an experiment with a section [portals] describes.

use crate::{
    any::AnySetup,
    experiment::{reader::Section, sections::Experiment},
    models::ModelKind,
};
use base::diag::{Diagnostic, Diagnostics};
use portals::{
    net::Net,
    nic::{self, Params},
};

/// A network, and the parameters of its interfaces.
pub type Machine = (Box<dyn Net>, Params);

/// Ranks of a run at most, and so the nodes of a network that has as many as one likes.
const MOST: u32 = 1 << 16;

/// The machine of an experiment, for so many ranks if they are known; `None` if it has mistakes.
pub fn build(
    (experiment, section): (&Experiment, &Section),
    setup: &AnySetup,
    ranks: Option<u32>,
    diagnostics: &mut Diagnostics,
) -> Option<Machine> {
    refuse(experiment, setup, diagnostics);
    let params = interfaces((section, &experiment.portals_nodes), (setup, ranks), diagnostics);
    if !diagnostics.is_empty() {
        return None;
    }
    let tell = |e: model::failure::Failure| {
        let place = experiment.model.as_ref().map(|m| m.section.place("kind"));
        diagnostics.push(Diagnostic::new(place, e.to_string()));
    };
    Some((setup.net().map_err(tell).ok()?, params))
}

/// Tells what Portals programs cannot have, where it stands.
fn refuse(experiment: &Experiment, setup: &AnySetup, diagnostics: &mut Diagnostics) {
    if let (Some(_), Some(faults)) = (setup.change(), &experiment.faults) {
        let message = "[faults] at: links do not fail while Portals programs run";
        let help = "use `outages` of [portals]: \"3 at 5 us for 2 ms\"; links that fail from the start may be in [faults]";
        diagnostics.push(Diagnostic::new(faults.place("at"), message).help(help));
    }
    let others = [
        (
            &experiment.resilience,
            "[resilience]: interfaces of Portals programs make up for losses themselves",
            "use `loss` and `reliability` of [portals]",
        ),
        (
            &experiment.energy,
            "[energy] is for jobs: it is not told of Portals programs",
            "remove the section",
        ),
    ];
    for (section, message, help) in others {
        if let Some(section) = section {
            diagnostics.push(Diagnostic::new(section.home, message).help(help));
        }
    }
    let planes = setup.fabric().map_or(1, fabric::graph::Fabric::planes);
    if let (Some(model), Some(fabric), 2..) = (&experiment.model, &experiment.fabric, planes)
        && model.entry.kind == ModelKind::Packet
    {
        let message = format!(
            "interfaces of Portals programs have one rail on model \"packet\", and there are {planes}"
        );
        let diagnostic = Diagnostic::new(fabric.section.place("rails"), message);
        diagnostics.push(diagnostic.help("use model \"delay\", or one rail"));
    }
}

/// Parameters of all interfaces: the section's, its outages, and those of nodes of their own.
fn interfaces(
    (section, nodes): (&Section, &[Section]),
    (setup, ranks): (&AnySetup, Option<u32>),
    diagnostics: &mut Diagnostics,
) -> Params {
    let mut params = Params::from_values(&section.values);
    let most = match setup.fabric() {
        Some(fabric) => fabric.nodes(),
        None => ranks.unwrap_or(MOST).div_ceil(params.ranks_per_node),
    };
    match nic::outages(&section.values.texts("outages"), most) {
        Ok(outages) => params.outages = outages,
        Err(problems) => section.tell(problems, diagnostics),
    }
    for own in nodes {
        match nic::nodes(&own.values.text("nodes"), most) {
            Ok(nodes) => {
                let mut values = section.values.clone();
                values.0.extend(own.values.0.clone());
                params.own.push((nodes, Params::from_values(&values)));
            }
            Err(problem) => own.tell(vec![problem], diagnostics),
        }
    }
    params
}
