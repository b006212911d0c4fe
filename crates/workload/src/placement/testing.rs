//! For the tests of placements: small fabrics, and placing on all of their terminals.

use super::PlacementContext;
use crate::program::Program;
use base::{
    index::TerminalId,
    param::{Problem, Values},
    registry::find,
};
use fabric::{
    graph::Fabric,
    registry::{Constant, TOPOLOGIES, values},
};

type Build = fn(&PlacementContext<'_>, &Values) -> Result<Vec<TerminalId>, Vec<Problem>>;

fn topology(name: &str, sample: &[(&str, Constant)]) -> Fabric {
    let entry = find(TOPOLOGIES, name).unwrap();
    (entry.build)(&values(entry.about.params, sample)).unwrap()
}

/// A mesh or torus.
pub(crate) fn grid(name: &str, dims: &'static [u64], per_router: u64) -> Fabric {
    let sample = [("dims", Constant::Ints(dims)), ("terminals_per_router", Constant::Int(per_router))];
    topology(name, &sample)
}

/// Nine groups of four routers of two terminals.
pub(crate) fn dragonfly() -> Fabric {
    let sample = [
        ("groups", Constant::Int(9)),
        ("routers_per_group", Constant::Int(4)),
        ("terminals_per_router", Constant::Int(2)),
        ("global_ports_per_router", Constant::Int(2)),
    ];
    topology("dragonfly", &sample)
}

/// Places ranks when all terminals are free; terminals by plain numbers.
pub(crate) fn place(
    fabric: &Fabric,
    build: Build,
    values: &Values,
    ranks: u32,
) -> Result<Vec<u32>, Vec<Problem>> {
    place_program(fabric, build, values, ranks, None)
}

/// Places the ranks of a program when all terminals are free; likewise.
pub(crate) fn place_program(
    fabric: &Fabric,
    build: Build,
    values: &Values,
    ranks: u32,
    program: Option<&dyn Program>,
) -> Result<Vec<u32>, Vec<Problem>> {
    let free: Vec<TerminalId> = TerminalId::first(fabric.terminals()).collect();
    let context = PlacementContext { ranks, fabric, free: &free, seed: 1, job: 0, program, each: 1 };
    Ok(build(&context, values)?.into_iter().map(TerminalId::number).collect())
}
