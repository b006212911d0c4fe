//! The hierarchical direct network: full connection at each of three levels.
//!
//! Switches form boards (level 1), boards racks (level 2), racks the system (level 3); switch = (rack B + board) S + index
//! for B boards of S switches. All pairs of switches of a board, of boards of a rack and of racks are linked, each level by
//! its own number of parallel links per pair. Which switch holds which end is the business of [`Bundle`], twice.
//!
//! Ports: level 1 by the other switch's index, cables side by side; then level 2, level 3, terminals. Terminal t hangs on
//! switch t / p.

use super::{Sizes, Wiring};
use crate::{
    graph::Fabric,
    topology::entry::{Constant, Topology},
};
use base::{
    param::{Kind, Param, Problem, Values},
    registry::About,
};

const CLASSES: &[&str] = &["terminal", "level-1", "level-2", "level-3"];
const MAX: u64 = 1 << 20;

/// The registered hierarchical direct network.
pub const TOPOLOGY: Topology = Topology {
    about: About {
        name: "hierarchical",
        summary: "hierarchical direct network: switches, boards and racks, fully connected at each of the three levels",
        doc: "Every pair of switches of a board has `links_level_1` parallel links, every pair of boards of a rack \
              `links_level_2`, every pair of racks `links_level_3`. The ends are dealt to the switches of a board (level 2) \
              or rack (level 3, board by board in turn) one after another, so that their numbers per switch differ by one at \
              most: the c-th link from a board to the o-th one after it (counted around) ends at switch (o links_level_2 + \
              c) mod S. At the board with the higher number \
              each whole round of S links is turned by one switch more than the round before, so that S^2 links \
              join every switch with every other; likewise for racks. A path between racks may need links of level 1 and \
              2 to get to the switch with the level-3 link, and again behind it. \
              PERCS (IBM Power 775) is switches_per_board = 8 (hubs of a drawer), boards_per_rack = 4 (drawers of a \
              supernode), up to 512 racks, links_level_1 = 1, links_level_2 = 64 (each hub to all hubs of the other \
              drawers), links_level_3 = floor(512 / (racks - 1)), terminals_per_switch = 4. Ports: level by \
              level, then terminals. Link classes: terminal, level-1, level-2, level-3.",
        source: "Denzel, Li, Walker, Jin: A Framework for End-to-end Simulation of High-performance Computing Systems, \
                 SIMUTools 2008, section 3.1 and figure 6; PERCS: Arimilli et al.: The PERCS High-Performance \
                 Interconnect, Hot Interconnects 2010",
        params: &[
            Param {
                name: "racks",
                kind: Kind::Int { min: 1, max: MAX },
                default: None,
                doc: "racks (groups of level 2, supernodes)",
            },
            Param {
                name: "boards_per_rack",
                kind: Kind::Int { min: 1, max: MAX },
                default: None,
                doc: "boards in a rack (groups of level 1, drawers), B",
            },
            Param {
                name: "switches_per_board",
                kind: Kind::Int { min: 1, max: MAX },
                default: None,
                doc: "switches on a board (hubs), S",
            },
            Param {
                name: "terminals_per_switch",
                kind: Kind::Int { min: 1, max: MAX },
                default: Some("1"),
                doc: "terminals on a switch, p",
            },
            Param {
                name: "links_level_1",
                kind: Kind::Int { min: 1, max: MAX },
                default: Some("1"),
                doc: "links between two switches of a board",
            },
            Param {
                name: "links_level_2",
                kind: Kind::Int { min: 1, max: MAX },
                default: Some("1"),
                doc: "links between two boards of a rack",
            },
            Param {
                name: "links_level_3",
                kind: Kind::Int { min: 1, max: MAX },
                default: Some("1"),
                doc: "links between two racks",
            },
        ],
    },
    classes: CLASSES,
    required: 4,
    sizes: |values| shape(values).map(|(_, sizes)| sizes),
    build,
    small: &[
        &[
            ("racks", Constant::Int(3)),
            ("boards_per_rack", Constant::Int(2)),
            ("switches_per_board", Constant::Int(2)),
            ("terminals_per_switch", Constant::Int(2)),
        ],
        &[
            ("racks", Constant::Int(4)),
            ("boards_per_rack", Constant::Int(2)),
            ("switches_per_board", Constant::Int(2)),
            ("links_level_1", Constant::Int(2)),
            ("links_level_2", Constant::Int(4)),
            ("links_level_3", Constant::Int(2)),
        ],
        &[
            ("racks", Constant::Int(1)),
            ("boards_per_rack", Constant::Int(3)),
            ("switches_per_board", Constant::Int(3)),
            ("links_level_2", Constant::Int(3)),
        ],
    ],
};

/// How all pairs of equal groups are linked: which member of a group holds which end.
///
/// The ends of a group are its *slots*: link c of `links` to the o-th group after this one (counted around, from 0) has a
/// slot in the block o links .. (o + 1) links. Slot s is held by member s mod members, on its port s / members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// Groups, all linked with each other.
    pub groups: u32,
    /// Members of a group.
    pub members: u32,
    /// Links between two groups.
    pub links: u32,
}

impl Bundle {
    /// Ports of a member for these links; some members may have one less plugged in.
    #[must_use]
    pub fn ports(&self) -> u32 {
        ((self.groups - 1) * self.links).div_ceil(self.members)
    }

    /// Member of `group` that holds link `c` to the different group `to`, and on which of its ports for these links.
    #[must_use]
    pub fn end(&self, group: u32, to: u32, c: u32) -> (u32, u32) {
        let after = if to > group { to - group - 1 } else { to + self.groups - group - 1 };
        let (round, place) = (c / self.members, c % self.members);
        let whole = (round + 1) * self.members <= self.links;
        let turned = if group > to && whole { (place + round) % self.members } else { place };
        let slot = after * self.links + round * self.members + turned;
        (slot % self.members, slot / self.members)
    }
}

/// Geometry of a hierarchical direct network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HierarchicalShape {
    /// Number of racks.
    pub racks: u32,
    /// Boards in a rack, B.
    pub boards: u32,
    /// Switches on a board, S.
    pub switches: u32,
    /// Terminals on a switch, p.
    pub terminals: u32,
    /// Links between two switches of a board, two boards of a rack, two racks.
    pub links: [u32; 3],
}

impl HierarchicalShape {
    /// Rack of a switch, its board in the rack and its index on the board.
    #[must_use]
    pub fn place(&self, router: u32) -> (u32, u32, u32) {
        let board = router / self.switches;
        (board / self.boards, board % self.boards, router % self.switches)
    }

    /// The switch at a place.
    #[must_use]
    pub fn router(&self, rack: u32, board: u32, index: u32) -> u32 {
        (rack * self.boards + board) * self.switches + index
    }

    /// First port of levels 1, 2, 3 and of the terminals.
    #[must_use]
    pub fn first_ports(&self) -> [u32; 4] {
        let one = (self.switches - 1) * self.links[0];
        let two = one + self.level_2().ports();
        [0, one, two, two + self.level_3().ports()]
    }

    /// First of the `links[0]` ports from one switch of a board to another, by their indices.
    #[must_use]
    pub fn level_1_port(&self, from: u32, to: u32) -> u32 {
        (to - u32::from(to > from)) * self.links[0]
    }

    /// The links between boards of a rack; members are indices on the board.
    #[must_use]
    pub fn level_2(&self) -> Bundle {
        Bundle { groups: self.boards, members: self.switches, links: self.links[1] }
    }

    /// The links between racks; members are places in the rack, see [`HierarchicalShape::member`].
    #[must_use]
    pub fn level_3(&self) -> Bundle {
        Bundle { groups: self.racks, members: self.boards * self.switches, links: self.links[2] }
    }

    /// Board and index of a member of a rack: boards take turns.
    #[must_use]
    pub fn member(&self, member: u32) -> (u32, u32) {
        (member % self.boards, member / self.boards)
    }

    /// Index of the switch on `board` that holds link `c` to board `to` of its rack, and the port.
    #[must_use]
    pub fn level_2_end(&self, board: u32, to: u32, c: u32) -> (u32, u32) {
        let (index, port) = self.level_2().end(board, to, c);
        (index, self.first_ports()[1] + port)
    }

    /// Board and index of the switch in `rack` that holds link `c` to the rack `to`, and the port.
    #[must_use]
    pub fn level_3_end(&self, rack: u32, to: u32, c: u32) -> ((u32, u32), u32) {
        let (member, port) = self.level_3().end(rack, to, c);
        (self.member(member), self.first_ports()[2] + port)
    }
}

fn shape(values: &Values) -> Result<(HierarchicalShape, Sizes), Vec<Problem>> {
    let [racks, boards, switches, terminals] =
        ["racks", "boards_per_rack", "switches_per_board", "terminals_per_switch"].map(|key| values.int(key));
    let links = ["links_level_1", "links_level_2", "links_level_3"].map(|key| values.int(key));
    let count = || {
        let rack = boards.checked_mul(switches)?;
        let routers = racks.checked_mul(rack)?;
        let degree = (switches - 1).checked_mul(links[0])?
            + ((boards - 1).checked_mul(links[1])?).div_ceil(switches)
            + ((racks - 1).checked_mul(links[2])?).div_ceil(rack)
            + terminals;
        Some(Sizes {
            routers,
            terminals: routers.checked_mul(terminals)?,
            ports: routers.checked_mul(degree)?,
            ends: routers,
        })
    };
    let sizes = Sizes::within_limits(count(), "racks")?;
    let shape = HierarchicalShape {
        racks: racks as u32,
        boards: boards as u32,
        switches: switches as u32,
        terminals: terminals as u32,
        links: links.map(|n| n as u32),
    };
    Ok((shape, sizes))
}

fn build(values: &Values) -> Result<Fabric, Vec<Problem>> {
    let (shape, sizes) = shape(values)?;
    let [_, two, three, terminals] = shape.first_ports();
    let mut wiring = Wiring::new((0..sizes.routers).map(|_| terminals + shape.terminals));
    for router in 0..sizes.routers as u32 {
        (two..three).for_each(|port| wiring.unplugged(2, router, port));
        (three..terminals).for_each(|port| wiring.unplugged(3, router, port));
        for k in 0..shape.terminals {
            wiring.terminal(router, terminals + k);
        }
    }
    for rack in 0..shape.racks {
        for board in 0..shape.boards {
            wire_board(&mut wiring, &shape, rack, board);
        }
        for (to, c) in (rack + 1..shape.racks).flat_map(|to| (0..shape.links[2]).map(move |c| (to, c))) {
            let (here, there) = (shape.level_3_end(rack, to, c), shape.level_3_end(to, rack, c));
            let end = |rack, ((board, index), port)| (shape.router(rack, board, index), port);
            wiring.link(3, end(rack, here), end(to, there));
        }
    }
    Ok(wiring.finish(TOPOLOGY.about.name, CLASSES, shape))
}

/// Plugs in the links on a board and from it to boards of higher numbers of its rack.
fn wire_board(wiring: &mut Wiring, shape: &HierarchicalShape, rack: u32, board: u32) {
    let switch = |board, index| shape.router(rack, board, index);
    for (i, k) in (0..shape.switches).flat_map(|i| (i + 1..shape.switches).map(move |k| (i, k))) {
        let ports = (shape.level_1_port(i, k), shape.level_1_port(k, i));
        for c in 0..shape.links[0] {
            wiring.link(1, (switch(board, i), ports.0 + c), (switch(board, k), ports.1 + c));
        }
    }
    for (to, c) in (board + 1..shape.boards).flat_map(|to| (0..shape.links[1]).map(move |c| (to, c))) {
        let (here, there) = (shape.level_2_end(board, to, c), shape.level_2_end(to, board, c));
        wiring.link(2, (switch(board, here.0), here.1), (switch(to, there.0), there.1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        graph::Peer,
        metrics::diameter,
        registry::values,
        topology::testing::{links, peers},
    };
    use base::index::RouterId;

    fn parameters([racks, boards, switches, p]: [u64; 4], [one, two, three]: [u64; 3]) -> Values {
        let sample = [
            ("racks", Constant::Int(racks)),
            ("boards_per_rack", Constant::Int(boards)),
            ("switches_per_board", Constant::Int(switches)),
            ("terminals_per_switch", Constant::Int(p)),
            ("links_level_1", Constant::Int(one)),
            ("links_level_2", Constant::Int(two)),
            ("links_level_3", Constant::Int(three)),
        ];
        values(TOPOLOGY.about.params, &sample)
    }

    fn pairs(n: u64) -> u64 {
        n * (n - 1) / 2
    }

    #[test]
    fn counts_follow_their_closed_forms_and_ends_are_spread_evenly() {
        for (sizes, per_pair) in [
            ([5, 2, 4, 1], [1, 1, 1]),
            ([5, 4, 3, 2], [2, 3, 16]),
            ([9, 3, 5, 1], [1, 7, 4]),
            ([2, 1, 1, 1], [1, 1, 3]),
            ([1, 1, 6, 1], [1, 1, 1]),
        ] {
            let fabric = build(&parameters(sizes, per_pair)).unwrap();
            let [r, b, s, p] = sizes;
            let expected = [
                r * b * s * p,
                r * b * pairs(s) * per_pair[0],
                r * pairs(b) * per_pair[1],
                pairs(r) * per_pair[2],
            ];
            assert_eq!(links(&fabric), expected, "{sizes:?}");
            for class in [2, 3] {
                let of = |router| {
                    let plugged = |p: &&crate::graph::Port| p.class == class && p.peer != Peer::None;
                    fabric.ports_of(router).iter().filter(plugged).count()
                };
                let counts: Vec<usize> = RouterId::first(fabric.routers()).map(of).collect();
                let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
                assert!(most - least <= 1, "{sizes:?} {per_pair:?} level {class}: {counts:?}");
            }
        }
    }

    #[test]
    fn every_pair_of_boards_and_racks_has_its_links() {
        let fabric = build(&parameters([5, 3, 2, 1], [1, 5, 4])).unwrap();
        let shape = fabric.shape::<HierarchicalShape>().unwrap();
        let (mut boards, mut racks) = (vec![0; 15 * 15], vec![0; 25]);
        for router in RouterId::first(fabric.routers()) {
            let (rack, board, index) = shape.place(router.number());
            assert_eq!(shape.router(rack, board, index), router.number());
            for port in fabric.ports_of(router) {
                let Peer::Router { router: peer, .. } = port.peer else { continue };
                let (to_rack, to_board, _) = shape.place(peer.number());
                match port.class {
                    1 => assert_eq!((rack, board), (to_rack, to_board)),
                    2 => {
                        assert_eq!(rack, to_rack);
                        boards[((rack * 3 + board) * 15 + to_rack * 3 + to_board) as usize] += 1;
                    }
                    _ => racks[(rack * 5 + to_rack) as usize] += 1,
                }
            }
        }
        for (a, b) in (0..15).flat_map(|a| (0..15).map(move |b| (a, b))) {
            assert_eq!(boards[a * 15 + b], if a != b && a / 3 == b / 3 { 5 } else { 0 });
        }
        assert!((0..25).all(|i| racks[i] == if i / 5 == i % 5 { 0 } else { 4 }));
    }

    #[test]
    fn percs_links_every_hub_to_all_others_of_its_supernode() {
        let fabric = build(&parameters([17, 4, 8, 4], [1, 64, 32])).unwrap();
        // 32 hubs a supernode, 4 chips a hub; 7 L-local, 24 L-remote and 32 * 16 / 32 = 16 D links a hub.
        assert_eq!(fabric.terminals(), 17 * 32 * 4);
        for router in RouterId::first(fabric.routers()) {
            let of = |class| {
                fabric.ports_of(router).iter().filter(|p| p.class == class && p.peer != Peer::None).count()
            };
            assert_eq!([0, 1, 2, 3].map(of), [4, 7, 24, 16], "{router}");
            let mut near = peers(&fabric, router.number());
            near.retain(|peer| peer / 32 == router.number() / 32);
            near.sort_unstable();
            let number = router.number();
            let others: Vec<u32> = (number / 32 * 32..).take(32).filter(|&r| r != number).collect();
            assert_eq!(near, others, "router {router}");
        }
        // Every hub has a D link to every other supernode; with fewer of them: local, D, local.
        assert_eq!(diameter(&fabric), Some(2));
        let fewer = build(&parameters([5, 4, 8, 1], [1, 64, 1])).unwrap();
        assert_eq!(diameter(&fewer), Some(3));
        let full = (TOPOLOGY.sizes)(&parameters([512, 4, 8, 4], [1, 64, 1])).unwrap();
        assert_eq!((full.routers, full.terminals, full.ports), (16_384, 65_536, 16_384 * (7 + 24 + 16 + 4)));
    }

    #[test]
    fn straight_boards_are_five_links_across() {
        // Level-2 links join switches of the same index: L1 L2 L3 L2 L1, as in the figure.
        let fabric = build(&parameters([33, 8, 4, 1], [1, 4, 1])).unwrap();
        assert_eq!(diameter(&fabric), Some(5));
    }

    #[test]
    fn impossible_sizes_are_refused() {
        assert_eq!(
            (TOPOLOGY.sizes)(&parameters([MAX, MAX, MAX, MAX], [MAX, MAX, MAX])).unwrap_err()[0].key,
            "racks"
        );
        assert!((TOPOLOGY.sizes)(&parameters([MAX, 8, 8, 64], [1, 1, 1])).is_err());
    }
}
