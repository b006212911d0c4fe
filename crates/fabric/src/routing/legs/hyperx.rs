//! Dimension order on the `HyperX` family: one link per dimension.

use super::{At, Leg, NextPorts, PortSet};
use crate::{graph::Fabric, topology::hyperx::HyperxShape};
use base::index::{ChannelId, PortId, RouterId};

/// Geometry of one `HyperX`, flattened butterfly or hypercube.
pub(crate) struct HyperxLeg {
    pub(crate) shape: HyperxShape,
}

impl HyperxLeg {
    /// For a fabric of the family.
    pub(crate) fn new(fabric: &Fabric) -> Option<Self> {
        Some(Self { shape: fabric.shape::<HyperxShape>()?.clone() })
    }

    /// First of the parallel ports of the next link toward router `to`, and how many; `None` if the packet is there.
    #[inline]
    pub(crate) fn next(&self, router: RouterId, to: RouterId) -> Option<(PortId, u32)> {
        let (shape, router, to) = (&self.shape, router.number(), to.number());
        (0..shape.dims.len()).find_map(|d| {
            let (from, to) = (shape.coordinate(router, d), shape.coordinate(to, d));
            (from != to).then(|| (PortId::new(shape.port(d, from, to)), shape.cables[d]))
        })
    }
}

impl Leg for HyperxLeg {
    fn vcs(&self) -> u8 {
        1
    }

    #[inline]
    fn next_ports(&self, at: &At, to: RouterId) -> NextPorts<'_> {
        let (first, count) = self.next(at.router, to).unwrap_or((PortId::new(0), 1));
        NextPorts { ports: PortSet::Range(first, count), vc: ChannelId::FIRST }
    }
}
