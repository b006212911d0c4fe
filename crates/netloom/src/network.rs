//! From a resolved `[fabric]` to its network: all planes of it, and what it and the tables of a routing will take of memory.

use crate::experiment::reader::Chosen;
use base::param::Problem;
use fabric::{
    graph::{Fabric, Port},
    planes,
    registry::{RoutingEntry, Topology},
    topology::MAX_LINKS,
};

/// Bytes that a fabric's graph will take; `None` if it cannot be built.
#[must_use]
pub fn fabric_bytes(chosen: &Chosen<Topology>) -> Option<u64> {
    let sizes = chosen.section.complete.then(|| (chosen.entry.sizes)(&chosen.section.values).ok())??;
    let one = sizes.ports * size_of::<Port>() as u64 + sizes.routers * 4 + sizes.terminals * 8;
    let rails = chosen.section.values.int("rails");
    ((sizes.ports + sizes.terminals).saturating_mul(rails) <= MAX_LINKS).then(|| one.saturating_mul(rails))
}

/// The fabric that a section describes, all planes of it.
///
/// # Errors
/// What the topology refuses, and too many links.
pub fn planes_of(chosen: &Chosen<Topology>) -> Result<Fabric, Vec<Problem>> {
    let values = &chosen.section.values;
    let (sizes, rails) = ((chosen.entry.sizes)(values)?, values.int("rails"));
    let links = (sizes.ports + sizes.terminals).saturating_mul(rails);
    if links > MAX_LINKS {
        let message = format!("the network would have more than {MAX_LINKS} links on {rails} rails");
        return Err(vec![Problem::new("rails", message).help("choose fewer rails or a smaller network")]);
    }
    let one = (chosen.entry.build)(values)?;
    Ok(planes::stack(&one, u32::try_from(rails).expect("the declared range is small")))
}

/// Bytes that the tables of a routing will take at least, over all planes that differ.
#[must_use]
pub fn routing_bytes(fabric: &Fabric, chosen: &Chosen<RoutingEntry>) -> u64 {
    if !chosen.section.complete {
        return 0;
    }
    let bytes = |plane: &Fabric| (chosen.entry.bytes)(plane, &chosen.section.values);
    match fabric.planes() {
        1 => bytes(fabric),
        planes => {
            let different = if fabric.intact() { 1 } else { planes };
            bytes(&planes::plane(fabric, 0)).saturating_mul(u64::from(different))
        }
    }
}
