//! Number of links between any two terminals, kept for look-up.

use super::reach::distances;
use crate::{graph::Fabric, planes, topology::grid::GridShape};
use base::index::{RouterId, TerminalId};

/// Number of links between the routers of two terminals on a shortest path.
#[derive(Clone, Debug)]
pub enum Hops {
    /// No fabric: always 0.
    Flat,
    /// Mesh or torus: by coordinates. Per terminal its router's coordinates, one after another.
    Grid {
        /// Routers along each dimension.
        dims: Vec<u32>,
        /// True for a torus.
        wraps: bool,
        /// Coordinates of each terminal's router.
        coordinates: Vec<u32>,
    },
    /// Anything else: a table of routers with terminals, searched breadth first.
    Table {
        /// Row of each terminal's router.
        row: Vec<u32>,
        /// Number of rows.
        rows: u32,
        /// Distances, row by row; 65535 where there is no path.
        table: Vec<u16>,
    },
}

/// Most entries of a distance table.
const MAX_TABLE: u64 = 1 << 30;

impl Hops {
    /// Distances of a fabric.
    ///
    /// # Errors
    /// If it is no grid and has too many routers with terminals for a table.
    pub fn of(fabric: &Fabric) -> Result<Self, String> {
        if fabric.planes() > 1 {
            return Self::of_planes(fabric);
        }
        if let Some(GridShape { dims, wraps, .. }) = fabric.shape::<GridShape>().filter(|_| fabric.intact()) {
            let shape = fabric.shape::<GridShape>();
            let coordinates = fabric
                .attachments()
                .iter()
                .flat_map(|a| shape.map(|s| s.coordinates(a.0.number())).unwrap_or_default());
            return Ok(Self::Grid { dims: dims.clone(), wraps: *wraps, coordinates: coordinates.collect() });
        }
        Self::table(fabric)
    }

    /// Distances by search.
    fn table(fabric: &Fabric) -> Result<Self, String> {
        let mut ends: Vec<RouterId> = fabric.attachments().iter().map(|a| a.0).collect();
        ends.sort_unstable();
        ends.dedup();
        let rows = ends.len() as u64;
        if rows * rows > MAX_TABLE {
            return Err(format!(
                "distances of {rows} routers to each other do not fit the table of the delay model"
            ));
        }
        let row = fabric.attachments().iter().map(|a| ends.partition_point(|&e| e < a.0) as u32).collect();
        let mut table = Vec::with_capacity((rows * rows) as usize);
        for &from in &ends {
            let all = distances(fabric, from);
            table.extend(ends.iter().map(|&to| u16::try_from(all[to]).unwrap_or(u16::MAX)));
        }
        Ok(Self::Table { row, rows: rows as u32, table })
    }

    /// Distances between nodes: those of one plane if all are alike, else the least over the planes.
    fn of_planes(fabric: &Fabric) -> Result<Self, String> {
        if fabric.intact() {
            return Self::of(&planes::plane(fabric, 0));
        }
        let mut all = (0..fabric.planes()).map(|p| Self::table(&planes::plane(fabric, p)));
        let mut least = all.next().ok_or("a network has a plane")??;
        for other in all {
            if let (Self::Table { table, .. }, Self::Table { table: other, .. }) = (&mut least, other?) {
                table.iter_mut().zip(other).for_each(|(a, b)| *a = b.min(*a));
            }
        }
        Ok(least)
    }

    /// The greatest number of links between two terminals.
    #[must_use]
    pub fn most(&self) -> u32 {
        match self {
            Self::Flat => 0,
            Self::Grid { dims, wraps, .. } => dims.iter().map(|&n| if *wraps { n / 2 } else { n - 1 }).sum(),
            Self::Table { table, .. } => {
                table.iter().filter(|d| **d != u16::MAX).max().map_or(0, |&d| d.into())
            }
        }
    }

    /// Links between the routers of two terminals.
    #[inline]
    #[must_use]
    pub fn between(&self, from: TerminalId, to: TerminalId) -> u32 {
        match self {
            Self::Flat => 0,
            Self::Grid { dims, wraps, coordinates } => {
                let n = dims.len();
                let (a, b) = (&coordinates[from.index() * n..][..n], &coordinates[to.index() * n..][..n]);
                let along = |((&x, &y), &size): ((&u32, &u32), &u32)| {
                    let d = x.abs_diff(y);
                    if *wraps { d.min(size - d) } else { d }
                };
                a.iter().zip(b).zip(dims).map(along).sum()
            }
            Self::Table { row, rows, table } => {
                u32::from(table[(row[from.index()] * rows + row[to.index()]) as usize])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{TOPOLOGIES, values};
    use base::index::TerminalId;

    /// The closed form and the table agree with a search on every small registered fabric.
    #[test]
    fn distances_are_those_of_a_search() {
        for topology in TOPOLOGIES {
            for sample in topology.small {
                let fabric = (topology.build)(&values(topology.about.params, sample)).unwrap();
                let hops = Hops::of(&fabric).unwrap();
                let mut most = 0;
                for a in TerminalId::first(fabric.terminals()) {
                    let all = distances(&fabric, fabric.router_at(a));
                    for b in TerminalId::first(fabric.terminals()) {
                        assert_eq!(hops.between(a, b), all[fabric.router_at(b)]);
                        most = most.max(hops.between(a, b));
                    }
                }
                assert!(hops.most() >= most);
                if matches!(hops, Hops::Grid { .. }) {
                    assert_eq!(hops.most(), most);
                }
            }
        }
    }
}
