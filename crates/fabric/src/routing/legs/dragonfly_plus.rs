//! Minimal paths on a dragonfly+: up to a spine, over a global link, down to a leaf.
//!
//! A leg that begins at a spine without a link to the right group first goes down to any leaf. Two channels: 1 in the
//! group of the leg's end, 0 before. On channel 0 down leads to up, up to global links; those lead to down on channel 1; on
//! channel 1 up leads to down and down nowhere: no cycle.

use super::{At, Leg, NextPorts, PortSet};
use crate::{graph::Fabric, topology::dragonfly_plus::DragonflyPlusShape};
use base::index::{ChannelId, PortId, RouterId};

/// Tables of one dragonfly+.
pub(crate) struct DragonflyPlusLeg {
    pub(crate) shape: DragonflyPlusShape,
    /// By slot of the first round: where the ports up to the spines that hold a link begin in `ports`, one row for leaves.
    up: Rows,
    /// By spine and slot of the first round: its global ports to the group behind the slot.
    across: Rows,
}

/// Lists of ports.
#[derive(Default)]
struct Rows {
    begin: Vec<u32>,
    ports: Vec<PortId>,
}

impl Rows {
    fn push(&mut self, ports: impl IntoIterator<Item = u32>) {
        if self.begin.is_empty() {
            self.begin.push(0);
        }
        self.ports.extend(ports.into_iter().map(PortId::new));
        self.begin.push(self.ports.len() as u32);
    }

    #[inline]
    fn row(&self, i: u32) -> &[PortId] {
        &self.ports[self.begin[i as usize] as usize..self.begin[i as usize + 1] as usize]
    }
}

impl DragonflyPlusLeg {
    /// For a dragonfly+.
    pub(crate) fn new(fabric: &Fabric) -> Option<Self> {
        let shape = *fabric.shape::<DragonflyPlusShape>()?;
        let (mut up, mut across) = (Rows::default(), Rows::default());
        let others = shape.groups - 1;
        let held = |slot: u32| (0..shape.rounds).map(move |round| shape.holder(slot + round * others));
        for slot in 0..others {
            // A spine that holds two links is listed twice: the draw is even over links.
            up.push(held(slot).flat_map(|(spine, _)| {
                let first = shape.up_port(spine);
                first..first + shape.cables
            }));
        }
        for (spine, slot) in (0..shape.spines).flat_map(|spine| (0..others).map(move |slot| (spine, slot))) {
            across.push(held(slot).filter(|&(holder, _)| holder == spine).map(|(_, port)| port));
        }
        Some(Self { shape, up, across })
    }
}

impl Leg for DragonflyPlusLeg {
    fn vcs(&self) -> u8 {
        2
    }

    fn next_ports(&self, at: &At, to: RouterId) -> NextPorts<'_> {
        let shape = &self.shape;
        let ((group, index), (to_group, to_index)) =
            (shape.place(at.router.number()), shape.place(to.number()));
        let spine = shape.is_spine(index);
        if group == to_group {
            let ports = if spine {
                PortSet::Range(PortId::new(shape.down_port(to_index)), shape.cables)
            } else {
                PortSet::Range(PortId::new(0), shape.spines * shape.cables)
            };
            return NextPorts { ports, vc: ChannelId::new(1) };
        }
        let slot = shape.arrangement.slot(shape.groups, group, to_group);
        let ports = if spine {
            match self.across.row((index - shape.leaves) * (shape.groups - 1) + slot) {
                [] => PortSet::Range(PortId::new(0), shape.leaves * shape.cables),
                links => PortSet::List(links),
            }
        } else {
            PortSet::List(self.up.row(slot))
        };
        NextPorts { ports, vc: ChannelId::FIRST }
    }

    fn area(&self, router: RouterId) -> u32 {
        self.shape.place(router.number()).0
    }

    fn areas(&self) -> Option<u32> {
        Some(self.shape.groups)
    }

    fn member(&self, area: u32) -> RouterId {
        RouterId::new(area * (self.shape.leaves + self.shape.spines))
    }
}
