//! Shortest paths by tables: legs on any graph.

use super::{At, Leg, NextPorts, PortSet};
use crate::{
    graph::Fabric,
    routing::{
        shortest_path::{self, Channels},
        table::Table,
    },
};
use base::{index::RouterId, param::Problem};

/// Tables of one fabric.
pub(crate) struct TableLeg {
    table: Table,
    channels: Channels,
}

impl TableLeg {
    /// All shortest paths, counted in links, with at most `most` channels; `key` is what a user should look at.
    pub(crate) fn new(fabric: &Fabric, most: u8, key: &str) -> Result<Self, Vec<Problem>> {
        let table = shortest_path::shortest(fabric, &vec![1; fabric.classes().len()], 0)?;
        let channels = shortest_path::channels(fabric, &table, "auto", most, key)?;
        Ok(Self { table, channels })
    }
}

impl Leg for TableLeg {
    fn vcs(&self) -> u8 {
        self.channels.count()
    }

    #[inline]
    fn next_ports(&self, at: &At, to: RouterId) -> NextPorts<'_> {
        let end = self.table.end(to);
        let source = if at.begun { 0 } else { self.table.end(at.router) };
        let vc = self.channels.next(at.begun.then_some(at.vc), 0, source, end);
        NextPorts { ports: PortSet::List(self.table.ports(0, end, at.router)), vc }
    }
}
