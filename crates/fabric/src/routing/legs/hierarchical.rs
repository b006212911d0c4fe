//! Direct paths on a hierarchical network: at most one level-3 link, and in each rack at most one of level 2.
//!
//! In the first rack a packet goes to a nearest switch with a link to the right rack, one on its own board if there is
//! any; within a rack over a level-2 link between the two boards, with level-1 links before and behind if need be. Four
//! channels: in the first rack 0 up to the board that has the link and 1 on it (the level-3 link too), in the last
//! rack 2 up to the last board and 3 on it. Each leads only to higher ones, or on channels 0 and 2 from level 1 to level
//! 2: no cycle.

use super::{At, Leg, NextPorts, PortSet};
use crate::{
    graph::{Fabric, Peer},
    topology::hierarchical::HierarchicalShape,
};
use base::index::{ChannelId, PortId, RouterId};

/// Tables of one hierarchical network: they serve all racks alike.
pub(crate) struct HierarchicalLeg {
    shape: HierarchicalShape,
    /// Switches of a rack.
    size: u32,
    /// Row `from * size + to` of switches of a rack: ports on the shortest direct paths.
    inner: Rows,
    /// Row `(2 * (racks after this one - 1) + (1 if the other has the lower number)) * size + from`: ports toward a rack.
    outer: Rows,
    /// By row of `outer`: whether a switch of the same board has a link to that rack.
    on_board: Vec<bool>,
}

/// Lists of ports.
struct Rows {
    begin: Vec<u32>,
    ports: Vec<PortId>,
}

impl Rows {
    fn new() -> Self {
        Self { begin: vec![0], ports: Vec::new() }
    }

    fn push(&mut self, mut ports: Vec<u32>) {
        ports.sort_unstable();
        ports.dedup();
        self.ports.extend(ports.into_iter().map(PortId::new));
        self.begin.push(self.ports.len() as u32);
    }

    #[inline]
    fn row(&self, i: u32) -> &[PortId] {
        &self.ports[self.begin[i as usize] as usize..self.begin[i as usize + 1] as usize]
    }
}

/// Direct paths within a rack, before they are put in rows.
struct Rack<'a> {
    shape: &'a HierarchicalShape,
    size: u32,
    /// Level-2 links of each switch of rack 0: port and switch behind it.
    level_2: Vec<Vec<(u32, u32)>>,
}

impl Rack<'_> {
    fn board(&self, switch: u32) -> u32 {
        switch / self.shape.switches
    }

    /// Links of the shortest path that begins with a level-2 link, if this switch has one to the right board.
    fn across(&self, from: u32, to: u32) -> Option<u32> {
        let behind = self.level_2[from as usize].iter().map(|&(_, peer)| peer);
        let behind = behind.filter(|&peer| self.board(peer) == self.board(to));
        behind.map(|peer| 1 + u32::from(peer != to)).min()
    }

    /// Switches of the board of `from` with the shortest paths across, and their length.
    fn length(&self, from: u32, to: u32) -> u32 {
        if self.board(from) == self.board(to) {
            return u32::from(from != to);
        }
        let first = self.board(from) * self.shape.switches;
        let board = first..first + self.shape.switches;
        let path = |via| self.across(via, to).map(|links| links + u32::from(via != from));
        board.filter_map(path).min().unwrap_or(u32::MAX)
    }

    /// Ports on the shortest paths.
    fn ports(&self, from: u32, to: u32) -> Vec<u32> {
        let index = |switch: u32| switch % self.shape.switches;
        let beside = |other: u32| {
            let first = self.shape.level_1_port(index(from), index(other));
            first..first + self.shape.links[0]
        };
        if from == to {
            return Vec::new();
        }
        if self.board(from) == self.board(to) {
            return beside(to).collect();
        }
        let length = self.length(from, to);
        let straight = self.level_2[from as usize]
            .iter()
            .filter(|&&(_, peer)| self.board(peer) == self.board(to) && 1 + u32::from(peer != to) == length);
        let mut ports: Vec<u32> = straight.map(|&(port, _)| port).collect();
        let first = self.board(from) * self.shape.switches;
        for other in (first..first + self.shape.switches).filter(|&other| other != from) {
            if self.across(other, to).is_some_and(|links| links + 1 == length) {
                ports.extend(beside(other));
            }
        }
        ports
    }

    /// Ports toward the nearest of the switches with a link to another rack, given with their ports for it; and
    /// whether one is on the board.
    fn toward(&self, from: u32, holders: &[(u32, u32)]) -> (Vec<u32>, bool) {
        let own: Vec<u32> = holders.iter().filter(|h| h.0 == from).map(|h| h.1).collect();
        if !own.is_empty() {
            return (own, true);
        }
        let beside = holders.iter().filter(|h| self.board(h.0) == self.board(from));
        let beside: Vec<u32> = beside.flat_map(|h| self.ports(from, h.0)).collect();
        if !beside.is_empty() {
            return (beside, true);
        }
        let nearest = holders.iter().map(|h| self.length(from, h.0)).min();
        let targets = holders.iter().filter(|h| Some(self.length(from, h.0)) == nearest);
        (targets.flat_map(|h| self.ports(from, h.0)).collect(), false)
    }
}

impl HierarchicalLeg {
    /// For a hierarchical network.
    pub(crate) fn new(fabric: &Fabric) -> Option<Self> {
        let shape = *fabric.shape::<HierarchicalShape>()?;
        let size = shape.boards * shape.switches;
        let level_2 = (0..size)
            .map(|switch| {
                let ports =
                    (0u32..).zip(fabric.ports_of(RouterId::new(switch))).filter(|(_, p)| p.class == 2);
                ports
                    .filter_map(|(port, p)| match p.peer {
                        Peer::Router { router, .. } => Some((port, router.number())),
                        _ => None,
                    })
                    .collect()
            })
            .collect();
        let rack = Rack { shape: &shape, size, level_2 };
        let mut inner = Rows::new();
        for (from, to) in (0..size).flat_map(|from| (0..size).map(move |to| (from, to))) {
            inner.push(rack.ports(from, to));
        }
        let (mut outer, mut on_board) = (Rows::new(), Vec::new());
        for (after, lower) in (1..shape.racks).flat_map(|after| [(after, false), (after, true)]) {
            // Any two racks that far apart, counted around, and in that order of numbers.
            let (here, there) = if lower { (shape.racks - after, 0) } else { (0, after) };
            let holders: Vec<(u32, u32)> = (0..shape.links[2])
                .map(|c| shape.level_3_end(here, there, c))
                .map(|((board, index), port)| (board * shape.switches + index, port))
                .collect();
            for from in 0..rack.size {
                let (ports, near) = rack.toward(from, &holders);
                outer.push(ports);
                on_board.push(near);
            }
        }
        Some(Self { shape, size, inner, outer, on_board })
    }
}

impl Leg for HierarchicalLeg {
    fn vcs(&self) -> u8 {
        4
    }

    fn next_ports(&self, at: &At, to: RouterId) -> NextPorts<'_> {
        let (rack, switch) = (at.router.number() / self.size, at.router.number() % self.size);
        let (to_rack, to_switch) = (to.number() / self.size, to.number() % self.size);
        if rack == to_rack {
            let same_board = switch / self.shape.switches == to_switch / self.shape.switches;
            let ports = PortSet::List(self.inner.row(switch * self.size + to_switch));
            return NextPorts { ports, vc: ChannelId::new(2 + u8::from(same_board)) };
        }
        let after = if to_rack > rack { to_rack - rack } else { to_rack + self.shape.racks - rack };
        let row = (2 * (after - 1) + u32::from(rack > to_rack)) * self.size + switch;
        NextPorts {
            ports: PortSet::List(self.outer.row(row)),
            vc: ChannelId::new(self.on_board[row as usize].into()),
        }
    }

    fn area(&self, router: RouterId) -> u32 {
        router.number() / self.size
    }

    fn areas(&self) -> Option<u32> {
        Some(self.shape.racks)
    }

    fn member(&self, area: u32) -> RouterId {
        RouterId::new(area * self.size)
    }
}
