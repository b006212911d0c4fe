//! From a resolved `[routing]` to the routing on a network, and on what failures leave of it.

use crate::faults::Broken;
use base::{diag::Diagnostics, param::Problem};
use fabric::{
    graph::Fabric,
    planes,
    registry::RoutingEntry,
    routing::{Routing, up_down},
};
use model::{section::Chosen, setup::Change};
use std::sync::Arc;

/// The routing on a whole network, and the change to what links that fail `later` leave of it.
pub fn build(
    chosen: &Chosen<RoutingEntry>,
    whole: &Arc<Fabric>,
    later: Option<Broken>,
    diagnostics: &mut Diagnostics,
) -> (Option<Arc<dyn Routing>>, Option<Change>) {
    if !chosen.section.complete {
        return (None, None);
    }
    let mut report = |problems| chosen.section.report(problems, diagnostics);
    let change = later.and_then(|broken| change(chosen, broken).map_err(&mut report).ok());
    (bind(chosen, whole).map_err(&mut report).ok(), change)
}

fn bind(chosen: &Chosen<RoutingEntry>, fabric: &Arc<Fabric>) -> Result<Arc<dyn Routing>, Vec<Problem>> {
    planes::bind(fabric, |plane| (chosen.entry.build)(plane, &chosen.section.values)).map(Arc::from)
}

/// The failure during the run, with the routing on what is left.
fn change(chosen: &Chosen<RoutingEntry>, broken: Broken) -> Result<Change, Vec<Problem>> {
    let routing = bind(chosen, &broken.fabric)?;
    let detour = Arc::from(planes::bind(&broken.fabric, up_down::detour)?);
    Ok(Change { at: broken.at, fabric: broken.fabric, routing, detour })
}

/// Bytes that the tables of a routing will take at least, over all planes that differ.
#[must_use]
pub fn bytes(fabric: &Fabric, chosen: &Chosen<RoutingEntry>) -> u64 {
    if !chosen.section.complete {
        return 0;
    }
    let of = |plane: &Fabric| (chosen.entry.bytes)(plane, &chosen.section.values);
    match fabric.planes() {
        1 => of(fabric),
        planes => {
            let different = if fabric.intact() { 1 } else { planes };
            of(&planes::plane(fabric, 0)).saturating_mul(u64::from(different))
        }
    }
}
