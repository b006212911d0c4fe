//! Minimal paths on a dragonfly: local, global, local.
//!
//! Two channels: 1 in the group of the leg's end, 0 before. Local links lead to global ones on channel 0, global links
//! to local ones on channel 1, and those nowhere: no cycle.

use super::{At, Leg, NextPorts, PortSet};
use crate::{graph::Fabric, routing::dragonfly::Tables};
use base::index::{ChannelId, PortId, RouterId};

/// Tables of one dragonfly.
pub(crate) struct DragonflyLeg {
    tables: Tables,
}

impl DragonflyLeg {
    /// For a dragonfly.
    pub(crate) fn new(fabric: &Fabric) -> Option<Self> {
        Some(Self { tables: Tables::new(fabric)? })
    }
}

impl Leg for DragonflyLeg {
    fn vcs(&self) -> u8 {
        2
    }

    #[inline]
    fn next_ports(&self, at: &At, to: RouterId) -> NextPorts<'_> {
        let ((group, index), (to_group, to_index)) = (self.tables.place(at.router), self.tables.place(to));
        if group == to_group {
            let port = self.tables.shape.local_port(index, to_index);
            return NextPorts { ports: PortSet::Range(PortId::new(port), 1), vc: ChannelId::new(1) };
        }
        NextPorts { ports: PortSet::List(self.tables.toward(group, index, to_group)), vc: ChannelId::FIRST }
    }

    fn area(&self, router: RouterId) -> u32 {
        self.tables.place(router).0
    }

    fn areas(&self) -> Option<u32> {
        Some(self.tables.shape.groups)
    }

    fn member(&self, area: u32) -> RouterId {
        RouterId::new(area * self.tables.shape.routers)
    }
}
