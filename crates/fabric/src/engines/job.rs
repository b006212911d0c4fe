//! What every engine works on and what it gives.

use crate::{graph::Fabric, metrics::distances};
use base::{
    index::{Column, RouterId, TerminalId},
    param::Problem,
};
use std::sync::Arc;

/// Entry of a router that has no path to the destination.
pub(crate) const NO_PORT: u16 = u16::MAX;

/// What an engine is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Each host has 2^lmc local identifiers, each with paths of its own.
    pub lmc: u8,
    /// Most lanes that may be used, 1 to 16.
    pub lanes: u8,
    /// Routers at the top of updn.
    pub roots: Vec<RouterId>,
    /// Seed of random choices.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { lmc: 0, lanes: 8, roots: Vec::new(), seed: 1 }
    }
}

/// What an engine works on.
pub(crate) struct Job<'a> {
    pub(crate) fabric: &'a Arc<Fabric>,
    pub(crate) options: &'a Options,
    pub(crate) planes: u32,
    /// Routers in the order of the manager's table.
    pub(crate) routers: Vec<RouterId>,
    /// Hosts in the order in which they are routed.
    pub(crate) order: Vec<TerminalId>,
}

/// What an engine gives.
pub(crate) struct Ports {
    /// Port by row (host, plane) and router; [`NO_PORT`] for no path.
    pub(crate) next: Vec<u16>,
    /// Service level by row and source router; none if one lane will do.
    pub(crate) level: Option<Vec<u8>>,
    /// Lane by (input dimension and direction, ..) as switches map levels; none if each level is its own lane.
    pub(crate) map: Option<Vec<Vec<[u8; 16]>>>,
}

impl Job<'_> {
    /// No paths yet.
    pub(crate) fn blank(&self) -> Vec<u16> {
        vec![NO_PORT; (self.fabric.terminals() * self.planes) as usize * self.fabric.routers() as usize]
    }

    /// Rows of a host, by plane, within a blank.
    pub(crate) fn row(&self, host: TerminalId, plane: u32) -> std::ops::Range<usize> {
        let routers = self.fabric.routers() as usize;
        let begin = (host.number() * self.planes + plane) as usize * routers;
        begin..begin + routers
    }

    /// Calls `with` for every host in order, with the distances of all routers to its router.
    pub(crate) fn each(&self, mut with: impl FnMut(TerminalId, &Column<RouterId, u32>)) {
        let mut known = None;
        for &host in &self.order {
            let router = self.fabric.router_at(host);
            let far = match known.take() {
                Some((of, far)) if of == router => far,
                _ => distances(self.fabric, router),
            };
            with(host, &far);
            known = Some((router, far));
        }
    }

    /// The error of an engine that does not suit the fabric.
    pub(crate) fn unsuited(name: &str, why: impl std::fmt::Display) -> Problem {
        Problem::new("engine", format!("`{name}` cannot route this network: {why}"))
    }
}
