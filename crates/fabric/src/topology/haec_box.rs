//! The HAEC box: boards of nodes with optical links on a board and wireless links between adjacent boards.
//!
//! Router = (board Y + y) X + x for boards of Y rows of X nodes; terminal t hangs on router t / p. With `wireless =
//! "facing"` the ports are those of a three-dimensional mesh (x, y, board), and so is the geometry: [`GridShape`]. With
//! `wireless = "all"` ports 0 to 3 lead along the board (-x, +x, -y, +y), then come one port to each node of the board
//! below and one to each of the board above, then the terminals; the geometry is [`HaecBoxShape`].

use super::{Sizes, Wiring, grid::GridShape};
use crate::{
    graph::Fabric,
    topology::entry::{Constant, Topology},
};
use base::{
    param::{Kind, Param, Problem, Values},
    registry::About,
};

const CLASSES: &[&str] = &["terminal", "optical", "wireless"];
const OPTICAL: u8 = 1;
const WIRELESS: u8 = 2;
const MAX: u64 = 1 << 20;

/// The registered HAEC box.
pub const TOPOLOGY: Topology = Topology {
    about: About {
        name: "haec-box",
        summary: "HAEC box: boards that are meshes of optical links, adjacent boards joined by wireless links",
        doc: "`boards` boards, stacked, each a mesh of `columns` by `rows` nodes. Neighbours on a board are linked \
              optically. Between adjacent boards `wireless = \"facing\"` links each node with the one it faces, so that \
              the whole is a three-dimensional mesh of two kinds of links, which dimension-order routing knows; \
              `wireless = \"all\"` links each node with every node of the adjacent boards, as beams that can be steered \
              do. Not modelled: links that share a frequency, the time to steer a beam, and rates that depend on distance. \
              Ports: -x, +x, -y, +y, then the boards below and above, then terminals. Link classes: terminal, optical, \
              wireless.",
        source: "Bielert, Ciorba, Feldhoff, Ilsche, Nagel: HAEC-SIM: A Simulation Framework for Highly Adaptive \
                 Energy-Efficient Computing Platforms, SIMUTools 2015; Fettweis, Nagel, Lehner: Pathways to Servers of \
                 the Future, DATE 2012",
        params: &[
            Param {
                name: "boards",
                kind: Kind::Int { min: 1, max: MAX },
                default: Some("4"),
                doc: "boards in the box",
            },
            Param {
                name: "columns",
                kind: Kind::Int { min: 1, max: MAX },
                default: Some("4"),
                doc: "nodes along the first side of a board, X",
            },
            Param {
                name: "rows",
                kind: Kind::Int { min: 1, max: MAX },
                default: Some("4"),
                doc: "nodes along the other side of a board, Y",
            },
            Param {
                name: "wireless",
                kind: Kind::Choice(&["facing", "all"]),
                default: Some("facing"),
                doc: "which nodes of an adjacent board a node is linked to",
            },
            Param {
                name: "terminals_per_router",
                kind: Kind::Int { min: 1, max: MAX },
                default: Some("1"),
                doc: "terminals on a node's router, p",
            },
        ],
    },
    classes: CLASSES,
    required: 3,
    sizes: |values| shape(values).map(|(_, sizes)| sizes),
    build,
    small: &[
        &[("boards", Constant::Int(3)), ("columns", Constant::Int(3)), ("rows", Constant::Int(2))],
        &[
            ("boards", Constant::Int(3)),
            ("columns", Constant::Int(2)),
            ("rows", Constant::Int(2)),
            ("wireless", Constant::Text("all")),
        ],
        &[
            ("boards", Constant::Int(1)),
            ("columns", Constant::Int(2)),
            ("rows", Constant::Int(2)),
            ("wireless", Constant::Text("all")),
            ("terminals_per_router", Constant::Int(2)),
        ],
    ],
};

/// Geometry of a HAEC box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HaecBoxShape {
    /// Nodes along the first side of a board, X.
    pub columns: u32,
    /// Nodes along the other side, Y.
    pub rows: u32,
    /// Number of boards, one above the other.
    pub boards: u32,
    /// Terminals on a router.
    pub terminals: u32,
    /// Wireless ports to either adjacent board: 1 or X Y.
    pub beams: u32,
}

impl HaecBoxShape {
    /// Nodes on a board.
    #[must_use]
    pub fn board(&self) -> u32 {
        self.columns * self.rows
    }

    /// Column, row and board of a router.
    #[must_use]
    pub fn place(&self, router: u32) -> (u32, u32, u32) {
        (router % self.columns, router / self.columns % self.rows, router / self.board())
    }

    /// Port to the node with index `node` (row X + column) of the board above (`up`) or below, with `wireless = "all"`.
    #[must_use]
    pub fn beam(&self, up: bool, node: u32) -> u32 {
        4 + u32::from(up) * self.beams + node
    }
}

fn shape(values: &Values) -> Result<(HaecBoxShape, Sizes), Vec<Problem>> {
    let [boards, columns, rows, terminals] =
        ["boards", "columns", "rows", "terminals_per_router"].map(|key| values.int(key));
    let board = columns * rows;
    let beams = if values.text("wireless") == "all" { board } else { 1 };
    let count = || {
        let routers = board.checked_mul(boards)?;
        let degree = 4 + beams.checked_mul(2)? + terminals;
        Some(Sizes {
            routers,
            terminals: routers.checked_mul(terminals)?,
            ports: routers.checked_mul(degree)?,
            ends: routers,
        })
    };
    let sizes = Sizes::within_limits(count(), "boards")?;
    let [columns, rows, boards, terminals, beams] =
        [columns, rows, boards, terminals, beams].map(|n| n as u32);
    Ok((HaecBoxShape { columns, rows, boards, terminals, beams }, sizes))
}

fn build(values: &Values) -> Result<Fabric, Vec<Problem>> {
    let (shape, sizes) = shape(values)?;
    let first = 4 + 2 * shape.beams;
    let mut wiring = Wiring::new((0..sizes.routers).map(|_| first + shape.terminals));
    for router in 0..sizes.routers as u32 {
        (0..4).for_each(|port| wiring.unplugged(OPTICAL, router, port));
        (4..first).for_each(|port| wiring.unplugged(WIRELESS, router, port));
        for k in 0..shape.terminals {
            wiring.terminal(router, first + k);
        }
    }
    let all = values.text("wireless") == "all";
    for router in 0..sizes.routers as u32 {
        wire_router(&mut wiring, &shape, all, router);
    }
    let name = TOPOLOGY.about.name;
    if all {
        return Ok(wiring.finish(name, CLASSES, shape));
    }
    let dims = vec![shape.columns, shape.rows, shape.boards];
    Ok(wiring.finish(name, CLASSES, GridShape { dims, wraps: false, terminals: shape.terminals }))
}

/// Plugs in a router's links to greater columns, rows and the board above.
fn wire_router(wiring: &mut Wiring, shape: &HaecBoxShape, all: bool, router: u32) {
    let (x, y, board) = shape.place(router);
    if x + 1 < shape.columns {
        wiring.link(OPTICAL, (router, 1), (router + 1, 0));
    }
    if y + 1 < shape.rows {
        wiring.link(OPTICAL, (router, 3), (router + shape.columns, 2));
    }
    if board + 1 == shape.boards {
        return;
    }
    if !all {
        wiring.link(WIRELESS, (router, 5), (router + shape.board(), 4));
        return;
    }
    for node in 0..shape.board() {
        let peer = (board + 1) * shape.board() + node;
        wiring.link(
            WIRELESS,
            (router, shape.beam(true, node)),
            (peer, shape.beam(false, router % shape.board())),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        metrics::{bisection, diameter},
        registry::values,
        topology::{
            grid,
            testing::{links, simple},
        },
    };

    fn haec([boards, columns, rows]: [u64; 3], wireless: &'static str) -> Fabric {
        let sample = [
            ("boards", Constant::Int(boards)),
            ("columns", Constant::Int(columns)),
            ("rows", Constant::Int(rows)),
            ("wireless", Constant::Text(wireless)),
        ];
        build(&values(TOPOLOGY.about.params, &sample)).unwrap()
    }

    #[test]
    fn counts_and_diameter_follow_their_closed_forms() {
        for [b, x, y] in [[4u64, 4, 4], [3, 5, 2], [1, 3, 3], [2, 1, 1]] {
            let optical = b * ((x - 1) * y + x * (y - 1));
            for (wireless, links_between) in [("facing", x * y), ("all", x * y * x * y)] {
                let fabric = haec([b, x, y], wireless);
                assert_eq!(links(&fabric), [b * x * y, optical, (b - 1) * links_between], "{wireless}");
                assert!(simple(&fabric));
                let far = |n: u64| n - 1;
                // By beams a neighbouring board costs one link wherever one goes, and two links lead back.
                let expected = match (wireless, b) {
                    ("all", 2..) => far(b).max((far(x) + far(y)).min(2)),
                    _ => far(x) + far(y) + far(b),
                };
                assert_eq!(diameter(&fabric), Some(expected as u32), "{b} {x} {y} {wireless}");
            }
        }
    }

    #[test]
    fn facing_boards_are_a_mesh() {
        let fabric = haec([4, 4, 4], "facing");
        let sample = [("dims", Constant::Ints(&[4, 4, 4]))];
        let mesh = (grid::MESH.build)(&values(grid::MESH.about.params, &sample)).unwrap();
        let ends = |fabric: &Fabric| fabric.ports().iter().map(|p| p.peer).collect::<Vec<_>>();
        assert_eq!(ends(&fabric), ends(&mesh));
        assert_eq!(fabric.shape::<GridShape>(), mesh.shape::<GridShape>());
        assert_eq!(bisection(&fabric).unwrap().cables, 16);
    }

    #[test]
    fn impossible_sizes_are_refused() {
        let sample =
            [("boards", Constant::Int(MAX)), ("columns", Constant::Int(MAX)), ("rows", Constant::Int(MAX))];
        assert_eq!(shape(&values(TOPOLOGY.about.params, &sample)).unwrap_err()[0].key, "boards");
    }
}
