//! What tests of routings share.

use super::{Congestion, Hop};
use crate::{
    graph::Fabric,
    registry::{Constant, TOPOLOGIES, values},
};
use base::{
    registry::find,
    rng::{Purpose, Stream},
};
use std::{collections::BTreeMap, sync::Arc};

/// Panics when asked.
pub(super) struct Never;

impl Congestion for Never {
    fn backlog(&mut self, port: u32) -> u64 {
        panic!("asked for the backlog of port {port}")
    }
}

/// Backlog by port; others are idle.
pub(super) struct Backlogs(pub(super) BTreeMap<u32, u64>);

impl Congestion for Backlogs {
    fn backlog(&mut self, port: u32) -> u64 {
        self.0.get(&port).copied().unwrap_or(0)
    }
}

pub(super) fn build(topology: &str, sample: &[(&str, Constant)]) -> Arc<Fabric> {
    let entry = find(TOPOLOGIES, topology).expect("registered");
    Arc::new((entry.build)(&values(entry.about.params, sample)).expect("possible"))
}

pub(super) fn dragonfly([g, a, p, h]: [u64; 4]) -> Arc<Fabric> {
    let sample = [
        ("groups", Constant::Int(g)),
        ("routers_per_group", Constant::Int(a)),
        ("terminals_per_router", Constant::Int(p)),
        ("global_ports_per_router", Constant::Int(h)),
    ];
    build("dragonfly", &sample)
}

pub(super) fn grid(wraps: bool, dims: &'static [u64]) -> Arc<Fabric> {
    build(if wraps { "torus" } else { "mesh" }, &[("dims", Constant::Ints(dims))])
}

/// A packet at its first router.
pub(super) fn hop(fabric: &Fabric, source: u32, destination: u32, seed: u64) -> Hop {
    let (router, in_port) = fabric.attach[source as usize];
    let random = Stream::new(seed, Purpose::Route, 0);
    Hop { router, in_port, vc: 0, visited: 0, source, destination, state: 0, random }
}
