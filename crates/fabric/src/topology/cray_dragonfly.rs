//! The dragonfly with two-dimensional groups: rows and columns of routers, each fully connected, as in Cray Cascade.
//!
//! Router = (group R + row) C + column for R rows of C routers. Ports: `row_cables` to each other router of the row by
//! ascending column, `column_cables` to each other router of the column by ascending row, the global ports, then terminals.
//! Terminal t hangs on router t / p. Global slot of a group: port j of the router with index i = row C + column is slot i
//! h + j; see [`super::arrangement`] for where slots lead.

use super::{
    Sizes, Wiring,
    arrangement::{self, Arrangement},
};
use crate::{
    graph::Fabric,
    topology::entry::{Constant, Topology},
};
use base::{
    param::{Kind, Param, Problem, Values},
    registry::About,
};

const CLASSES: &[&str] = &["terminal", "row", "column", "global"];
const ROW: u8 = 1;
const COLUMN: u8 = 2;
const GLOBAL: u8 = 3;
const MAX: u64 = 1 << 20;

/// The registered dragonfly of two-dimensional groups.
pub const TOPOLOGY: Topology = Topology {
    about: About {
        name: "cray-dragonfly",
        summary: "dragonfly with 2-D groups (Cray Cascade): rows and columns of routers, every pair of groups linked",
        doc: "G groups of R rows and C columns of routers. Two routers of a row are linked by `row_cables` cables, two of \
              a column by `column_cables`; each router has h global ports and p terminals. Every pair of groups has \
              `global_links_per_pair` links (0: as many as fit, floor(R C h / (G - 1))); other global ports stay unplugged. \
              `arrangement` says which router holds which global link, as in `dragonfly`: with slot s = i h + j for port \
              j of router i = row C + column, `relative` leads from group g to group g + (s mod (G - 1)) + 1 (mod G), \
              `palmtree` to group g - (s mod (G - 1)) - 1, `absolute` to the (s mod (G - 1))-th other group, \
              `circulant` to groups g + 1, g - 1, g + 2, g - 2 and so on. A path between groups takes up to two links in \
              either group. \
              Cray XC is rows = 6 (chassis), columns = 16 (blades), row_cables = 1 (green), column_cables = 3 (black), \
              global_ports_per_router = 10 (blue), terminals_per_router = 4. Ports: row, column, global, terminals. Link \
              classes: terminal, row, column, global.",
        source: "Faanes et al.: Cray Cascade: A Scalable HPC System Based on a Dragonfly Network, SC 2012, section III",
        params: &[
            Param {
                name: "groups",
                kind: Kind::Int { min: 1, max: MAX },
                default: None,
                doc: "number of groups, G",
            },
            Param {
                name: "rows",
                kind: Kind::Int { min: 1, max: MAX },
                default: None,
                doc: "rows of a group, R",
            },
            Param {
                name: "columns",
                kind: Kind::Int { min: 1, max: MAX },
                default: None,
                doc: "columns of a group, C",
            },
            Param {
                name: "terminals_per_router",
                kind: Kind::Int { min: 1, max: MAX },
                default: None,
                doc: "terminals on a router, p",
            },
            Param {
                name: "global_ports_per_router",
                kind: Kind::Int { min: 0, max: MAX },
                default: None,
                doc: "global ports of a router, h",
            },
            Param {
                name: "row_cables",
                kind: Kind::Int { min: 1, max: MAX },
                default: Some("1"),
                doc: "parallel cables between two routers of a row",
            },
            Param {
                name: "column_cables",
                kind: Kind::Int { min: 1, max: MAX },
                default: Some("1"),
                doc: "parallel cables between two routers of a column",
            },
            Param {
                name: "global_links_per_pair",
                kind: Kind::Int { min: 0, max: MAX },
                default: Some("0"),
                doc: "links between two groups; 0 for as many as fit",
            },
            arrangement::PARAM,
        ],
    },
    classes: CLASSES,
    required: 4,
    sizes: |values| shape(values).map(|(_, sizes)| sizes),
    build,
    small: &[
        &[
            ("groups", Constant::Int(4)),
            ("rows", Constant::Int(2)),
            ("columns", Constant::Int(3)),
            ("terminals_per_router", Constant::Int(1)),
            ("global_ports_per_router", Constant::Int(1)),
            ("column_cables", Constant::Int(2)),
        ],
        &[
            ("groups", Constant::Int(3)),
            ("rows", Constant::Int(2)),
            ("columns", Constant::Int(2)),
            ("terminals_per_router", Constant::Int(2)),
            ("global_ports_per_router", Constant::Int(2)),
            ("row_cables", Constant::Int(2)),
            ("global_links_per_pair", Constant::Int(3)),
            ("arrangement", Constant::Text("circulant")),
        ],
        &[
            ("groups", Constant::Int(1)),
            ("rows", Constant::Int(2)),
            ("columns", Constant::Int(3)),
            ("terminals_per_router", Constant::Int(1)),
            ("global_ports_per_router", Constant::Int(0)),
        ],
    ],
};

/// Geometry of a dragonfly of two-dimensional groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrayDragonflyShape {
    /// Number of groups, G.
    pub groups: u32,
    /// Rows of a group, R.
    pub rows: u32,
    /// Columns of a group, C.
    pub columns: u32,
    /// Terminals on a router, p.
    pub terminals: u32,
    /// Global ports of a router, h; not all need be plugged in.
    pub globals: u32,
    /// Parallel cables between two routers of a row.
    pub row_cables: u32,
    /// Parallel cables between two routers of a column.
    pub column_cables: u32,
    /// Links between each pair of groups.
    pub rounds: u32,
    /// Which slot leads where.
    pub arrangement: Arrangement,
}

impl CrayDragonflyShape {
    /// Group of a router, and its row and column in it.
    #[inline]
    #[must_use]
    pub fn place(&self, router: u32) -> (u32, u32, u32) {
        let line = router / self.columns;
        (line / self.rows, line % self.rows, router % self.columns)
    }

    /// The router at a place.
    #[must_use]
    pub fn router(&self, group: u32, row: u32, column: u32) -> u32 {
        (group * self.rows + row) * self.columns + column
    }

    /// First of the `row_cables` ports that lead along a row from one column to another.
    #[must_use]
    pub fn row_port(&self, from: u32, to: u32) -> u32 {
        (to - u32::from(to > from)) * self.row_cables
    }

    /// First of the `column_cables` ports that lead along a column from one row to another.
    #[must_use]
    pub fn column_port(&self, from: u32, to: u32) -> u32 {
        (self.columns - 1) * self.row_cables + (to - u32::from(to > from)) * self.column_cables
    }

    /// First global port.
    #[must_use]
    pub fn first_global(&self) -> u32 {
        (self.columns - 1) * self.row_cables + (self.rows - 1) * self.column_cables
    }

    /// Slots of `group` that lead to the different group `to`.
    pub fn slots(&self, group: u32, to: u32) -> impl Iterator<Item = u32> + use<> {
        let (first, others) = (self.arrangement.slot(self.groups, group, to), self.groups - 1);
        (0..self.rounds).map(move |round| first + round * others)
    }

    /// Row, column and port of the router that holds a slot.
    #[must_use]
    pub fn holder(&self, slot: u32) -> (u32, u32, u32) {
        let index = slot / self.globals;
        (index / self.columns, index % self.columns, self.first_global() + slot % self.globals)
    }
}

fn shape(values: &Values) -> Result<(CrayDragonflyShape, Sizes), Vec<Problem>> {
    let [g, r, c, h] = ["groups", "rows", "columns", "global_ports_per_router"].map(|key| values.int(key));
    let [p, along_row, along_column, wanted] =
        ["terminals_per_router", "row_cables", "column_cables", "global_links_per_pair"]
            .map(|key| values.int(key));
    let others = g - 1;
    let slots = (r * c).saturating_mul(h);
    let fit = slots.checked_div(others).unwrap_or(0);
    if others > 0 && fit < wanted.max(1) {
        let key = if wanted > 1 { "global_links_per_pair" } else { "groups" };
        let message = format!(
            "each group has {r} x {c} x {h} = {slots} global ports, too few for {} to each of {others} others",
            wanted.max(1)
        );
        let help = match fit {
            0 => format!("at most {} groups", slots + 1),
            _ => format!("at most {fit} links per pair"),
        };
        return Err(vec![Problem::new(key, message).help(help)]);
    }
    let count = || {
        let routers = g.checked_mul(r * c)?;
        let degree = (c - 1) * along_row + (r - 1) * along_column + h + p;
        Some(Sizes {
            routers,
            terminals: routers.checked_mul(p)?,
            ports: routers.checked_mul(degree)?,
            ends: routers,
        })
    };
    let sizes = Sizes::within_limits(count(), "groups")?;
    let shape = CrayDragonflyShape {
        groups: g as u32,
        rows: r as u32,
        columns: c as u32,
        terminals: p as u32,
        globals: h as u32,
        row_cables: along_row as u32,
        column_cables: along_column as u32,
        rounds: if wanted == 0 || others == 0 { fit } else { wanted } as u32,
        arrangement: Arrangement::chosen(values),
    };
    Ok((shape, sizes))
}

fn build(values: &Values) -> Result<Fabric, Vec<Problem>> {
    let (shape, sizes) = shape(values)?;
    let terminals = shape.first_global() + shape.globals;
    let mut wiring = Wiring::new((0..sizes.routers).map(|_| terminals + shape.terminals));
    for router in 0..sizes.routers as u32 {
        wire_router(&mut wiring, &shape, router);
        for k in 0..shape.terminals {
            wiring.terminal(router, terminals + k);
        }
    }
    for (group, to) in (0..shape.groups).flat_map(|g| (g + 1..shape.groups).map(move |to| (g, to))) {
        for (slot, back) in shape.slots(group, to).zip(shape.slots(to, group)) {
            let end = |group, (row, column, port)| (shape.router(group, row, column), port);
            wiring.link(GLOBAL, end(group, shape.holder(slot)), end(to, shape.holder(back)));
        }
    }
    Ok(wiring.finish(TOPOLOGY.about.name, CLASSES, shape))
}

/// Plugs in the links of a router to those of greater number in its group; its global ports wait.
fn wire_router(wiring: &mut Wiring, shape: &CrayDragonflyShape, router: u32) {
    let (group, row, column) = shape.place(router);
    for to in column + 1..shape.columns {
        let ports = (shape.row_port(column, to), shape.row_port(to, column));
        for cable in 0..shape.row_cables {
            wiring.link(ROW, (router, ports.0 + cable), (shape.router(group, row, to), ports.1 + cable));
        }
    }
    for to in row + 1..shape.rows {
        let ports = (shape.column_port(row, to), shape.column_port(to, row));
        for cable in 0..shape.column_cables {
            wiring.link(
                COLUMN,
                (router, ports.0 + cable),
                (shape.router(group, to, column), ports.1 + cable),
            );
        }
    }
    for j in 0..shape.globals {
        wiring.unplugged(GLOBAL, router, shape.first_global() + j);
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

    fn parameters(
        [g, r, c, p, h]: [u64; 5],
        [row, column, pair]: [u64; 3],
        arrangement: &'static str,
    ) -> Values {
        let sample = [
            ("groups", Constant::Int(g)),
            ("rows", Constant::Int(r)),
            ("columns", Constant::Int(c)),
            ("terminals_per_router", Constant::Int(p)),
            ("global_ports_per_router", Constant::Int(h)),
            ("row_cables", Constant::Int(row)),
            ("column_cables", Constant::Int(column)),
            ("global_links_per_pair", Constant::Int(pair)),
            ("arrangement", Constant::Text(arrangement)),
        ];
        values(TOPOLOGY.about.params, &sample)
    }

    #[test]
    fn counts_follow_their_closed_forms_in_every_arrangement() {
        for (sizes, cables, per_pair) in [
            ([9, 2, 4, 2, 2], [1, 3, 0], 2),
            ([5, 3, 3, 1, 4], [2, 1, 5], 5),
            ([2, 1, 4, 1, 1], [1, 1, 0], 4),
        ] {
            for arrangement in ["relative", "absolute", "palmtree", "circulant"] {
                let fabric = build(&parameters(sizes, cables, arrangement)).unwrap();
                let [g, r, c, p, _] = sizes;
                let expected = [
                    g * r * c * p,
                    g * r * (c * (c - 1) / 2) * cables[0],
                    g * c * (r * (r - 1) / 2) * cables[1],
                    g * (g - 1) / 2 * per_pair,
                ];
                assert_eq!(links(&fabric), expected, "{sizes:?} {arrangement}");
                let mut pairs = vec![0; (g * g) as usize];
                let shape = fabric.shape::<CrayDragonflyShape>().unwrap();
                for router in RouterId::first(fabric.routers()) {
                    let (group, row, column) = shape.place(router.number());
                    assert_eq!(shape.router(group, row, column), router.number());
                    for port in fabric.ports_of(router).iter().filter(|p| p.class == GLOBAL) {
                        if let Peer::Router { router: peer, .. } = port.peer {
                            pairs[group as usize * g as usize + shape.place(peer.number()).0 as usize] += 1;
                        }
                    }
                }
                for (i, &count) in pairs.iter().enumerate() {
                    let own = i as u64 / g == i as u64 % g;
                    assert_eq!(count, if own { 0 } else { per_pair }, "{sizes:?} {arrangement} {i}");
                }
            }
        }
    }

    #[test]
    fn a_cray_xc_has_forty_network_ports_a_router() {
        let fabric = build(&parameters([15, 6, 16, 4, 10], [1, 3, 0], "relative")).unwrap();
        // 96 routers a group, 960 global ports for 14 other groups: 68 links a pair, 8 ports spare.
        assert_eq!((fabric.routers(), fabric.terminals()), (1440, 5760));
        let mut near = peers(&fabric, 0);
        assert_eq!(near.len(), 40);
        near.retain(|&peer| peer < 96);
        near.dedup();
        let row = 1..16;
        let column = (1..6).map(|row| row * 16);
        assert_eq!(near, row.chain(column).collect::<Vec<_>>());
        assert_eq!(links(&fabric)[3], 15 * 14 / 2 * 68);
        assert_eq!(fabric.ports().iter().filter(|p| p.peer == Peer::None).count(), 15 * 8);
    }

    #[test]
    fn the_diameter_is_at_most_five() {
        // One link a pair: row, column, global, row, column.
        assert_eq!(diameter(&build(&parameters([13, 3, 4, 1, 1], [1, 1, 0], "relative")).unwrap()), Some(5));
        assert_eq!(diameter(&build(&parameters([1, 3, 4, 1, 0], [1, 1, 0], "relative")).unwrap()), Some(2));
    }

    #[test]
    fn impossible_parameters_name_their_key() {
        let key =
            |sizes, pair| shape(&parameters(sizes, [1, 1, pair], "relative")).unwrap_err()[0].key.clone();
        assert_eq!(key([10, 2, 2, 1, 2], 0), "groups");
        assert_eq!(key([5, 2, 2, 1, 2], 3), "global_links_per_pair");
        assert_eq!(key([MAX, MAX, MAX, MAX, MAX], 0), "groups");
    }
}
