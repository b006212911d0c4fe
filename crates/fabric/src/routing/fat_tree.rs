//! What the routings of fat trees share: where a packet must go down, and where it may go up.
//!
//! A k-ary n-tree is the generalised tree of children (k, .., k) and parents (1, k, .., k), with the same numbers of
//! routers and ports, so one geometry serves both topologies.

use super::Hop;
use crate::{
    graph::Fabric,
    topology::{tree::TreeShape, xgft::XgftShape},
};
use base::{
    index::{Column, PortId, RouterId},
    param::Problem,
    registry::About,
};
use std::sync::Arc;

/// Tables of one fat tree.
pub(crate) struct Climb {
    fabric: Arc<Fabric>,
    pub(crate) shape: XgftShape,
    /// Level of each router, from 1, and the subtree that it is above.
    place: Column<RouterId, (u32, u32)>,
    /// `[(level - 1) * leaves + leaf]`: subtree of this level that a leaf is in.
    subtree: Vec<u32>,
    leaves: u32,
    /// Ports up from a router of level l at l - 1: the first and how many.
    up: Vec<(u32, u32)>,
}

/// Ports that a packet may take: they follow each other.
#[derive(Clone, Copy)]
pub(crate) struct Ports {
    pub(crate) first: PortId,
    pub(crate) count: u32,
    /// Level of the router.
    pub(crate) level: u32,
    /// True if they lead up, to different parents or over parallel cables; false if they are parallel cables down, or
    /// the terminal's port.
    pub(crate) up: bool,
}

impl Climb {
    /// Tables of `fabric`, unless it is no fat tree or has failed links.
    pub(crate) fn new(fabric: Arc<Fabric>, about: &About) -> Result<Self, Vec<Problem>> {
        super::intact(about, &fabric)?;
        let shape = match (fabric.shape::<XgftShape>(), fabric.shape::<TreeShape>()) {
            (Some(shape), _) => shape.clone(),
            (None, Some(tree)) => generalised(tree),
            (None, None) => return Err(super::unsuited(about, fabric.topology(), &["fat-tree", "xgft"])),
        };
        let place = |router: RouterId| {
            let router = router.number();
            let level = shape.level(router);
            (level, shape.place(level, router).0)
        };
        let place = RouterId::first(fabric.routers()).map(place).collect();
        let leaves = shape.first.get(1).copied().unwrap_or(0);
        let terminals = shape.below[1];
        let subtree = (1..=shape.levels())
            .flat_map(|level| (0..leaves).map(move |leaf| (level, leaf * terminals)))
            .map(|(level, terminal)| shape.subtree(level, terminal))
            .collect();
        let up = (1..=shape.levels()).map(|level| shape.up_ports(level)).map(|(a, b)| (a, b - a)).collect();
        Ok(Self { fabric, shape, place, subtree, leaves, up })
    }

    /// Where a packet may go next.
    #[inline]
    pub(crate) fn ports(&self, hop: &Hop) -> Ports {
        let (leaf, ejection) = self.fabric.attached(hop.destination);
        let (level, subtree) = self.place[hop.router];
        let row = ((level - 1) * self.leaves + leaf.number()) as usize;
        let above = self.subtree[row];
        if above != subtree {
            let (first, count) = self.up[level as usize - 1];
            return Ports { first: PortId::new(first), count, level, up: true };
        }
        if level == 1 {
            return Ports { first: ejection, count: 1, level, up: false };
        }
        let child =
            self.subtree[row - self.leaves as usize] - above * self.shape.children[level as usize - 1];
        let cables = self.shape.cables[level as usize - 1];
        Ports { first: PortId::new(child * cables), count: cables, level, up: false }
    }
}

/// A k-ary n-tree as a generalised tree.
fn generalised(tree: &TreeShape) -> XgftShape {
    let n = tree.levels as usize;
    let power = |i: usize| tree.arity.pow(i as u32);
    XgftShape {
        children: vec![tree.arity; n],
        parents: (0..n).map(|l| if l == 0 { 1 } else { tree.arity }).collect(),
        cables: vec![1; n],
        first: (0..=n as u32).map(|l| l * tree.width).collect(),
        below: (0..=n).map(power).collect(),
        words: (0..=n).map(|l| power(l.saturating_sub(1))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{registry::Constant, routing::testing};

    #[test]
    fn a_k_ary_tree_is_a_generalised_tree() {
        let tree = testing::build("fat-tree", &[("k", Constant::Int(3)), ("levels", Constant::Int(3))]);
        let sample = [("children", Constant::Ints(&[3, 3, 3])), ("parents", Constant::Ints(&[1, 3, 3]))];
        let xgft = testing::build("xgft", &sample);
        let shape = xgft.shape::<XgftShape>().unwrap();
        assert_eq!(generalised(tree.shape().unwrap()), *shape);
        assert_eq!(tree.attachments(), xgft.attachments());
        let peers = |fabric: &Fabric| fabric.ports().iter().map(|p| p.peer).collect::<Vec<_>>();
        assert_eq!(peers(&tree), peers(&xgft));
    }
}
