//! What the routings of a dragonfly share: where terminals are, the ports toward a group, and the virtual channels.
//!
//! By symmetry the ports toward a group depend only on the router's index in its group and on the slot that leads there
//! (see [`DragonflyShape::slot`]), so one small table serves all groups.

use super::Hop;
use crate::{graph::Fabric, topology::dragonfly::DragonflyShape};
use base::index::{ChannelId, Column, PortId, RouterId, TerminalId};

/// Virtual channels that the dragonfly's routings use.
pub(crate) const VCS: u8 = 4;
const INTERMEDIATE_VC: u8 = 2;
const DESTINATION_VC: u8 = 3;

/// Tables of one dragonfly.
pub(crate) struct Tables {
    pub(crate) shape: DragonflyShape,
    /// Where each terminal is.
    ends: Column<TerminalId, End>,
    /// Group and index within it of each router.
    place: Column<RouterId, (u32, u32)>,
    /// Row `index in the group * (groups - 1) + slot`: where its candidates begin in `ports`; they end where the next
    /// row begins.
    begin: Vec<u32>,
    /// Candidates, all of one class.
    ports: Vec<PortId>,
}

/// Where a terminal is.
#[derive(Clone, Copy)]
struct End {
    router: RouterId,
    port: PortId,
    group: u32,
    /// Index of the router in its group.
    index: u32,
}

/// A packet's whereabouts.
#[derive(Clone, Copy)]
pub(crate) struct View {
    /// This router's group.
    pub(crate) group: u32,
    /// This router's index in its group.
    pub(crate) index: u32,
    /// The destination's router.
    pub(crate) router: RouterId,
    /// The destination's port at its router.
    pub(crate) ejection: PortId,
    /// The destination's group.
    pub(crate) to_group: u32,
    /// Port of this router to the destination's router, if both share a group but are not the same.
    local: PortId,
    /// VC of the link that leaves this router.
    pub(crate) vc: ChannelId,
}

impl View {
    /// The only port, unless the destination is in another group.
    #[inline]
    pub(crate) fn single(&self, hop: &Hop) -> Option<PortId> {
        if self.router == hop.router {
            Some(self.ejection)
        } else if self.group == self.to_group {
            Some(self.local)
        } else {
            None
        }
    }
}

impl Tables {
    /// Tables of `fabric`, or `None` if it is no dragonfly.
    pub(crate) fn new(fabric: &Fabric) -> Option<Self> {
        let shape = *fabric.shape::<DragonflyShape>()?;
        let place: Column<_, _> = RouterId::first(fabric.routers())
            .map(|r| (r.number() / shape.routers, r.number() % shape.routers))
            .collect();
        let end = |&(router, port): &(RouterId, PortId)| {
            let (group, index) = place[router];
            End { router, port, group, index }
        };
        let ends = fabric.attachments().iter().map(end).collect();
        let (mut begin, mut ports) = (vec![0], Vec::new());
        for index in 0..shape.routers {
            for slot in 0..shape.groups - 1 {
                candidates(&shape, index, slot, &mut ports);
                begin.push(ports.len() as u32);
            }
        }
        Some(Self { shape, ends, place, begin, ports })
    }

    /// Group of a terminal.
    #[inline]
    pub(crate) fn group_of(&self, terminal: TerminalId) -> u32 {
        self.ends[terminal].group
    }

    /// Group of a router and its index in it.
    #[inline]
    pub(crate) fn place(&self, router: RouterId) -> (u32, u32) {
        self.place[router]
    }

    /// Looks up all that a decision needs.
    #[inline]
    pub(crate) fn view(&self, hop: &Hop) -> View {
        let End { router, port: ejection, group: to_group, index: to_index } = self.ends[hop.destination];
        let (group, index) = self.place[hop.router];
        let vc = if group == self.group_of(hop.source) {
            u8::from(hop.visited > 0)
        } else if group == to_group {
            DESTINATION_VC
        } else {
            INTERMEDIATE_VC
        };
        let local = PortId::new(self.shape.local_port(index, to_index));
        View { group, index, router, ejection, to_group, local, vc: ChannelId::new(vc) }
    }

    /// Ports of the router at (group, index) toward another group: its own global links there if it has any, else for
    /// each such link of the group the local link to the router that has it (twice, if that router has two).
    #[inline]
    pub(crate) fn toward(&self, group: u32, index: u32, to: u32) -> &[PortId] {
        let row = (index * (self.shape.groups - 1) + self.shape.slot(group, to)) as usize;
        &self.ports[self.begin[row] as usize..self.begin[row + 1] as usize]
    }

    /// What the routings read of a hop beyond router, state and destination: see [`super::Routing::memory`].
    pub(crate) fn memory(&self, hop: &Hop) -> u64 {
        u64::from(self.group_of(hop.source)) << 1 | u64::from(hop.visited > 0)
    }

    /// True if the port is no local one: a global one, or a terminal's, which lie behind them.
    #[inline]
    pub(crate) fn is_global(&self, port: PortId) -> bool {
        port.number() >= self.shape.routers - 1
    }
}

/// Appends the ports of the router `index` toward the group behind `slot`.
fn candidates(shape: &DragonflyShape, index: u32, slot: u32, ports: &mut Vec<PortId>) {
    let others = shape.groups - 1;
    let holders = || (0..shape.rounds).map(|round| shape.holder(slot + round * others));
    if holders().any(|(holder, _)| holder == index) {
        ports.extend(holders().filter(|&(holder, _)| holder == index).map(|(_, port)| PortId::new(port)));
        return;
    }
    ports.extend(holders().map(|(holder, _)| PortId::new(shape.local_port(index, holder))));
}
