//! Dimension order on meshes and tori.

use super::{At, Leg, NextPorts, PortSet};
use crate::{graph::Fabric, topology::grid::GridShape};
use base::index::{ChannelId, Column, PortId, RouterId};

/// What a ring does with its second virtual channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dateline {
    /// There is none.
    None,
    /// A packet changes to it on the link that crosses the dateline.
    Link,
    /// A packet that will cross the dateline takes it for the whole dimension.
    Packet,
}

/// Tables of one mesh or torus.
pub(crate) struct GridLeg {
    shape: GridShape,
    dateline: Dateline,
    /// Coordinates of all routers, router by router.
    coordinates: Vec<u32>,
    /// Whether the sum of a router's coordinates is even.
    even: Column<RouterId, bool>,
}

impl GridLeg {
    /// For a mesh or torus; with datelines if it is a torus.
    pub(crate) fn new(fabric: &Fabric) -> Option<Self> {
        let shape = fabric.shape::<GridShape>()?.clone();
        let (mut coordinates, mut even) = (Vec::new(), Column::default());
        for router in RouterId::first(fabric.routers()) {
            let x = shape.coordinates(router.number());
            even.push(x.iter().sum::<u32>() % 2 == 0);
            coordinates.extend(x);
        }
        let dateline = if shape.wraps { Dateline::Link } else { Dateline::None };
        Some(Self { shape, dateline, coordinates, even })
    }

    /// The same without datelines.
    pub(crate) fn without_dateline(self) -> Self {
        Self { dateline: Dateline::None, ..self }
    }

    /// The same with channels by packet, where it has datelines.
    pub(crate) fn by_packet(self) -> Self {
        let dateline = if self.dateline == Dateline::None { Dateline::None } else { Dateline::Packet };
        Self { dateline, ..self }
    }

    /// Port and VC of the next link toward router `to`; `None` if the packet is there.
    #[inline]
    pub(crate) fn next(&self, at: &At, to: RouterId) -> Option<(PortId, ChannelId)> {
        self.next_by(at, to, || self.up_by_destination(to))
    }

    /// The same, where `up` says which way a packet goes that has half a ring before it.
    #[inline]
    pub(crate) fn next_by(
        &self,
        at: &At,
        to: RouterId,
        up: impl FnOnce() -> bool,
    ) -> Option<(PortId, ChannelId)> {
        let n = self.shape.dims.len();
        let row = |router: RouterId| &self.coordinates[router.index() * n..][..n];
        let (here, there) = (row(at.router), row(to));
        for (d, (&from, &to_x)) in here.iter().zip(there).enumerate() {
            if from != to_x {
                return Some(self.step(at, up, d as u32, from, to_x));
            }
        }
        None
    }

    /// True if there are rings in which a destination can be equally far both ways.
    pub(crate) fn has_ties(&self) -> bool {
        self.shape.wraps && self.shape.dims.iter().any(|size| size % 2 == 0)
    }

    /// Whether a packet that both ways are equally long for goes up, by its destination alone.
    #[inline]
    pub(crate) fn up_by_destination(&self, to: RouterId) -> bool {
        self.even[to]
    }

    /// Ports of a router that lead along dimensions: in pairs, down and up.
    pub(crate) fn ports(&self) -> u32 {
        2 * self.shape.dims.len() as u32
    }

    /// True for a torus.
    pub(crate) fn wraps(&self) -> bool {
        self.shape.wraps
    }

    /// Ports of all dimensions that are not yet right, each the shorter way.
    pub(crate) fn minimal(&self, from: RouterId, to: RouterId) -> impl Iterator<Item = PortId> + '_ {
        let n = self.shape.dims.len();
        let row = |router: RouterId| &self.coordinates[router.index() * n..][..n];
        let at = At { router: from, in_port: PortId::new(0), vc: ChannelId::FIRST, begun: false };
        let both = row(from).iter().zip(row(to)).enumerate().filter(|(_, (a, b))| a != b);
        both.map(move |(d, (&from, &to_x))| {
            self.step(&at, || self.up_by_destination(to), d as u32, from, to_x).0
        })
    }

    /// One link along dimension `d`, in which the packet is at coordinate `from` and wants to be at `to_x`.
    #[inline]
    fn step(&self, at: &At, up: impl FnOnce() -> bool, d: u32, from: u32, to_x: u32) -> (PortId, ChannelId) {
        if !self.shape.wraps {
            return (PortId::new(2 * d + u32::from(to_x > from)), ChannelId::FIRST);
        }
        let size = self.shape.dims[d as usize];
        let ahead = if to_x > from { to_x - from } else { to_x + size - from };
        // The remaining way in a ring never is half of it again after the first step, so the tie breaks once.
        let up = 2 * ahead < size || (2 * ahead == size && up());
        let inside = at.begun && at.in_port.number() / 2 == d;
        let second = match self.dateline {
            Dateline::None => false,
            Dateline::Link => from == if up { size - 1 } else { 0 } || inside && at.vc == ChannelId::new(1),
            Dateline::Packet if inside => at.vc == ChannelId::new(1),
            Dateline::Packet => up == (from > to_x),
        };
        (PortId::new(2 * d + u32::from(up)), ChannelId::new(u8::from(second)))
    }
}

impl Leg for GridLeg {
    fn vcs(&self) -> u8 {
        1 + u8::from(self.dateline != Dateline::None)
    }

    #[inline]
    fn next_ports(&self, at: &At, to: RouterId) -> NextPorts<'_> {
        let (port, vc) = self.next(at, to).unwrap_or_default();
        NextPorts { ports: PortSet::Range(port, 1), vc }
    }
}
