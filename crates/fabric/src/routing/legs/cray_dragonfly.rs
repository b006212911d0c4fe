//! Minimal paths on a dragonfly of two-dimensional groups: to a nearest router with a link to the right group, across, and
//! to the end; in a group by one link along a row, a column, or both, the row first.
//!
//! Two channels: 1 in the group of the leg's end, 0 before. On either, rows lead to columns and those to no row; on
//! channel 0 both lead to global links, and those to channel 1: no cycle.

use super::{At, Leg, NextPorts, PortSet};
use crate::{graph::Fabric, topology::cray_dragonfly::CrayDragonflyShape};
use base::index::{ChannelId, PortId, RouterId};

/// Tables of one such dragonfly: they serve all groups alike.
pub(crate) struct CrayDragonflyLeg {
    shape: CrayDragonflyShape,
    /// Row `slot of the first round * routers of a group + index`: where its ports begin in `ports`.
    begin: Vec<u32>,
    /// Ports toward the group behind the slot.
    ports: Vec<PortId>,
}

impl CrayDragonflyLeg {
    /// For a dragonfly of two-dimensional groups.
    pub(crate) fn new(fabric: &Fabric) -> Option<Self> {
        let shape = *fabric.shape::<CrayDragonflyShape>()?;
        let others = shape.groups - 1;
        let (mut begin, mut ports) = (vec![0], Vec::new());
        for slot in 0..others {
            let holders: Vec<_> =
                (0..shape.rounds).map(|round| shape.holder(slot + round * others)).collect();
            for (row, column) in (0..shape.rows).flat_map(|r| (0..shape.columns).map(move |c| (r, c))) {
                let away = |h: &&(u32, u32, u32)| u32::from(h.0 != row) + u32::from(h.1 != column);
                let nearest = holders.iter().map(|h| away(&h)).min();
                let mut row_of: Vec<u32> = holders
                    .iter()
                    .filter(|h| Some(away(h)) == nearest)
                    .flat_map(|&(r, c, port)| {
                        let (port, count) = within(&shape, (row, column), (r, c)).unwrap_or((port, 1));
                        port..port + count
                    })
                    .collect();
                row_of.sort_unstable();
                row_of.dedup();
                ports.extend(row_of.into_iter().map(PortId::new));
                begin.push(ports.len() as u32);
            }
        }
        Some(Self { shape, begin, ports })
    }
}

/// The parallel ports of the next link within a group: the first and how many; `None` if the packet is there.
fn within(shape: &CrayDragonflyShape, from: (u32, u32), to: (u32, u32)) -> Option<(u32, u32)> {
    if from.1 != to.1 {
        Some((shape.row_port(from.1, to.1), shape.row_cables))
    } else if from.0 != to.0 {
        Some((shape.column_port(from.0, to.0), shape.column_cables))
    } else {
        None
    }
}

impl Leg for CrayDragonflyLeg {
    fn vcs(&self) -> u8 {
        2
    }

    fn next_ports(&self, at: &At, to: RouterId) -> NextPorts<'_> {
        let shape = &self.shape;
        let ((group, row, column), (to_group, to_row, to_column)) =
            (shape.place(at.router.number()), shape.place(to.number()));
        if group == to_group {
            let (first, count) = within(shape, (row, column), (to_row, to_column)).unwrap_or((0, 1));
            return NextPorts { ports: PortSet::Range(PortId::new(first), count), vc: ChannelId::new(1) };
        }
        let slot = shape.arrangement.slot(shape.groups, group, to_group);
        let entry = ((slot * shape.rows + row) * shape.columns + column) as usize;
        let ports = &self.ports[self.begin[entry] as usize..self.begin[entry + 1] as usize];
        NextPorts { ports: PortSet::List(ports), vc: ChannelId::FIRST }
    }

    fn area(&self, router: RouterId) -> u32 {
        router.number() / (self.shape.rows * self.shape.columns)
    }

    fn areas(&self) -> Option<u32> {
        Some(self.shape.groups)
    }

    fn member(&self, area: u32) -> RouterId {
        RouterId::new(area * self.shape.rows * self.shape.columns)
    }
}
