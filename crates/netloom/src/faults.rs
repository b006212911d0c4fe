//! What `[faults]` does to a network: from the section to what is left of the fabric, and how that is reported.

use crate::experiment::sections::Experiment;
use base::{
    diag::{Diagnostic, Diagnostics},
    index::TerminalId,
    param::Problem,
    time::Ps,
    units::print_time,
};
use fabric::{
    faults::{Faults, degrade, platforms as platform_faults},
    graph::Fabric,
    platform::Platform,
    topology::platform::fabric as platform_fabric,
};
use model::{Run, section::Section};
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// A fabric that loses links, and when.
pub struct Broken {
    /// Virtual time of the failure; 0 for from the start.
    pub at: Ps,
    /// What is left.
    pub fabric: Arc<Fabric>,
}

/// What `[faults]` leaves of a fabric; `None` if there is no such section or it has mistakes.
pub fn broken(experiment: &Experiment, fabric: &Fabric, diagnostics: &mut Diagnostics) -> Option<Broken> {
    let section = experiment.faults.as_ref().filter(|f| f.complete)?;
    let at = section.values.time("at");
    if let (Some(end), 1..) = (experiment.general.end(), at)
        && at >= end
    {
        let message = format!("links fail at {}, when the run is over", print_time(at));
        diagnostics.push(Diagnostic::new(section.place("at"), message).label("after the end"));
        return None;
    }
    if let Some(platform) = fabric.shape::<Platform>() {
        let seed = experiment.general.seed;
        let down = platform_faults::down(&section.values, platform, seed, at as f64 * 1e-12);
        let down = down.map_err(|problems| section.report(problems, diagnostics)).ok()?;
        // The links are there, and carry nothing from then on: routes are as the file gives them.
        return Some(Broken { at: 0, fabric: Arc::new(platform_fabric(down)) });
    }
    Some(Broken { at, fabric: Arc::new(left(section, experiment.general.seed, fabric, diagnostics)?) })
}

/// What the section leaves of a fabric once everything has failed; `None` if it has mistakes.
pub fn left(section: &Section, seed: u64, fabric: &Fabric, diagnostics: &mut Diagnostics) -> Option<Fabric> {
    if !section.complete {
        return None;
    }
    let (faults, mut problems) = Faults::from_values(&section.values, seed);
    let left = degrade(fabric, &faults).map(|d| d.fabric).map_err(|more| problems.extend(more)).ok();
    if let Some(left) = &left
        && problems.is_empty()
        && left.usable_nodes().is_empty()
    {
        let keys = ["router_fraction", "routers", "link_fraction", "links"];
        let given = keys.into_iter().find(|key| section.places.contains_key(*key)).unwrap_or(keys[0]);
        let message =
            format!("nothing is left of the network: all {} terminals are cut off", left.terminals());
        problems.push(Problem::new(given, message).help("let fewer routers fail"));
    }
    let sound = problems.is_empty();
    section.report(problems, diagnostics);
    left.filter(|_| sound)
}

/// The network once everything has failed, and when that is.
fn finally(run: &dyn Run) -> Option<(&Fabric, Ps)> {
    let change = run.change().map(|change| (change.fabric.as_ref(), change.at));
    change.or_else(|| Some((run.fabric()?, 0))).filter(|(fabric, _)| !fabric.intact())
}

/// What fails, in words; `None` if nothing does.
#[must_use]
pub fn text(run: &dyn Run) -> Option<String> {
    let (fabric, at) = finally(run)?;
    let when = if at == 0 { "from the start".to_owned() } else { format!("at {}", print_time(at)) };
    left_text(fabric).map(|text| format!("{when}: {text}"))
}

/// What failed in a fabric, in words; `None` if nothing did.
#[must_use]
pub fn left_text(fabric: &Fabric) -> Option<String> {
    /// Terminals given by number.
    const LISTED: usize = 8;
    if fabric.intact() {
        return None;
    }
    let failed = fabric.failed_links();
    let mut text = format!("{failed} link{} between routers failed", if failed == 1 { "" } else { "s" });
    let listed = |off: &[TerminalId]| {
        let names: Vec<String> = off.iter().take(LISTED).map(ToString::to_string).collect();
        format!("{}{}", names.join(", "), if off.len() > LISTED { ", .." } else { "" })
    };
    let (off, all) = (fabric.cut_off(), fabric.terminals());
    if fabric.planes() == 1 && !off.is_empty() {
        text += &format!("; {} of {all} terminals are cut off and carry no rank: {}", off.len(), listed(off));
    } else if !off.is_empty() {
        let lost = nodes_lost(fabric);
        text += &format!("; {} of {all} terminals are cut off from their plane: {}", off.len(), listed(off));
        let (count, nodes) = (lost.len(), fabric.nodes());
        text += &match count {
            0 => "; every node has a rail left".to_owned(),
            _ => format!("; {count} of {nodes} nodes carry no rank: {}", listed(&lost)),
        };
    }
    Some(text)
}

/// Nodes that no rank may live on.
fn nodes_lost(fabric: &Fabric) -> Vec<TerminalId> {
    let usable = fabric.usable_nodes();
    TerminalId::first(fabric.nodes()).filter(|n| usable.binary_search(n).is_err()).collect()
}

/// The same as JSON.
#[must_use]
pub fn object(run: &dyn Run) -> Option<Json> {
    let (fabric, at) = finally(run)?;
    let mut object = left_object(fabric);
    object["at"] = json!(print_time(at));
    Some(object)
}

/// What failed in a fabric, as JSON.
#[must_use]
pub fn left_object(fabric: &Fabric) -> Json {
    let mut object = json!({"links": fabric.failed_links(), "terminals_cut_off": fabric.cut_off()});
    if fabric.planes() > 1 {
        object["nodes_without_rank"] = json!(nodes_lost(fabric));
    }
    object
}
