//! `HyperX`: routers at the points of a grid, fully connected along every dimension.
//!
//! Routers are numbered with dimension 0 fastest. Ports: for dimension d one block of `cables[d]` ports to each other
//! coordinate in ascending order, then the terminals; terminal t hangs on router t / p. The flattened butterfly and the
//! hypercube are built here too, so that all three share [`HyperxShape`] and its routings.

use super::{Sizes, Wiring};
use crate::{
    graph::Fabric,
    topology::entry::{Constant, Topology},
};
use base::{
    param::{Kind, Param, Problem, Values},
    registry::About,
};

/// The terminal class, and one for each of the first dimensions.
pub(crate) const CLASSES: &[&str] =
    &["terminal", "dim-0", "dim-1", "dim-2", "dim-3", "dim-4", "dim-5", "dim-6", "dim-7"];
/// Most dimensions that `dims` may have.
pub(crate) const MAX_DIMENSIONS: usize = 32;
/// Largest value of a parameter.
pub(crate) const MAX: u64 = 1 << 20;

/// The registered `HyperX`.
pub const TOPOLOGY: Topology = Topology {
    about: About {
        name: "hyperx",
        summary: "HyperX (Hamming graph): a grid of routers, fully connected along each dimension",
        doc: "Routers at the points of a grid of `dims`, dimension 0 numbered fastest. Two routers that differ in one \
              coordinate only, that of dimension d, are linked by `cables[d]` parallel cables. The diameter is the \
              number of dimensions larger than 1; halving an even dimension of size S cuts S K / 4 cables per router. \
              Links of dimension d are of class dim-d (dim-7 also stands for all \
              dimensions above); a class without parameters of its own is like dim-0. Ports: dimension by dimension, the \
              other coordinates in ascending order, cables of one pair side by side; then terminals.",
        source: "Ahn, Binkert, Davis, McLaren, Schreiber: HyperX: Topology, Routing, and Packaging of Efficient \
                 Large-Scale Networks, SC 2009, section 2: L, S_k, K_k and T are the length of `dims`, `dims`, `cables` \
                 and `terminals_per_router`",
        params: &[
            Param {
                name: "dims",
                kind: Kind::Ints { min: 1, max: MAX },
                default: None,
                doc: "routers along each dimension, such as [8, 8, 8]",
            },
            Param {
                name: "cables",
                kind: Kind::Ints { min: 1, max: MAX },
                default: Some("[]"),
                doc: "parallel cables between two routers, dimension by dimension; one everywhere if left out",
            },
            Param {
                name: "terminals_per_router",
                kind: Kind::Int { min: 1, max: MAX },
                default: Some("1"),
                doc: "terminals on a router",
            },
        ],
    },
    classes: CLASSES,
    required: 2,
    sizes: |values| sizes(&grid(values)?, "dims"),
    build: |values| build(TOPOLOGY.about.name, CLASSES, &grid(values)?, "dims"),
    small: &[
        &[("dims", Constant::Ints(&[3, 4])), ("terminals_per_router", Constant::Int(2))],
        &[("dims", Constant::Ints(&[2, 1, 3])), ("cables", Constant::Ints(&[1, 2, 3]))],
        &[("dims", Constant::Ints(&[5])), ("cables", Constant::Ints(&[2]))],
    ],
};

/// Geometry of a `HyperX`, flattened butterfly or hypercube.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HyperxShape {
    /// Routers along each dimension, S.
    pub dims: Vec<u32>,
    /// Parallel cables between two routers that differ in this dimension only, K.
    pub cables: Vec<u32>,
    /// Difference in number of two routers that are neighbours in this dimension.
    pub strides: Vec<u32>,
    /// First port of each dimension, and the first terminal's port last.
    pub first: Vec<u32>,
    /// Terminals on a router, T.
    pub terminals: u32,
}

impl HyperxShape {
    /// Coordinate of a router along dimension `d`.
    #[inline]
    #[must_use]
    pub fn coordinate(&self, router: u32, d: usize) -> u32 {
        router / self.strides[d] % self.dims[d]
    }

    /// First of the `cables[d]` ports that lead along dimension `d` from coordinate `from` to the different one `to`.
    #[inline]
    #[must_use]
    pub fn port(&self, d: usize, from: u32, to: u32) -> u32 {
        self.first[d] + (to - u32::from(to > from)) * self.cables[d]
    }

    /// Number of coordinates in which two routers differ: their distance.
    #[must_use]
    pub fn distance(&self, a: u32, b: u32) -> u32 {
        (0..self.dims.len()).filter(|&d| self.coordinate(a, d) != self.coordinate(b, d)).count() as u32
    }
}

/// What is to be built, before it is known to fit.
pub(crate) struct Grid {
    pub(crate) dims: Vec<u64>,
    pub(crate) cables: Vec<u64>,
    pub(crate) terminals: u64,
}

fn grid(values: &Values) -> Result<Grid, Vec<Problem>> {
    let (dims, mut cables) = (values.ints("dims"), values.ints("cables"));
    if dims.is_empty() || dims.len() > MAX_DIMENSIONS {
        let message = format!("there must be 1 to {MAX_DIMENSIONS} dimensions, not {}", dims.len());
        return Err(vec![Problem::new("dims", message)]);
    }
    if cables.is_empty() {
        cables = vec![1; dims.len()];
    }
    if cables.len() != dims.len() {
        let message = format!("`dims` has {} dimensions, `cables` {}", dims.len(), cables.len());
        return Err(vec![Problem::new("cables", message).help("give one number for each dimension")]);
    }
    Ok(Grid { dims, cables, terminals: values.int("terminals_per_router") })
}

/// Counts; `key` is blamed if they are too many.
pub(crate) fn sizes(grid: &Grid, key: &str) -> Result<Sizes, Vec<Problem>> {
    let count = || {
        let routers = grid.dims.iter().try_fold(1u64, |product, &n| product.checked_mul(n))?;
        let mut degree = grid.terminals;
        for (n, k) in grid.dims.iter().zip(&grid.cables) {
            degree = degree.checked_add((n - 1).checked_mul(*k)?)?;
        }
        let terminals = routers.checked_mul(grid.terminals)?;
        Some(Sizes { routers, terminals, ports: routers.checked_mul(degree)?, ends: routers })
    };
    Sizes::within_limits(count(), key)
}

fn shape(grid: &Grid) -> HyperxShape {
    let (mut strides, mut first) = (Vec::new(), vec![0]);
    let (mut stride, mut port) = (1, 0);
    for (&n, &k) in grid.dims.iter().zip(&grid.cables) {
        strides.push(stride);
        stride *= n as u32;
        port += (n as u32 - 1) * k as u32;
        first.push(port);
    }
    HyperxShape {
        dims: grid.dims.iter().map(|&n| n as u32).collect(),
        cables: grid.cables.iter().map(|&k| k as u32).collect(),
        strides,
        first,
        terminals: grid.terminals as u32,
    }
}

/// Builds the grid; links of dimension d are of class d + 1, or the last one.
pub(crate) fn build(
    topology: &'static str,
    classes: &'static [&'static str],
    grid: &Grid,
    key: &str,
) -> Result<Fabric, Vec<Problem>> {
    let routers = sizes(grid, key)?.routers as u32;
    let shape = shape(grid);
    let links = shape.first[shape.dims.len()];
    let mut wiring = Wiring::new((0..routers).map(|_| links + shape.terminals));
    for router in 0..routers {
        for (d, &n) in shape.dims.iter().enumerate() {
            let class = (d + 1).min(classes.len() - 1) as u8;
            let from = shape.coordinate(router, d);
            for to in from + 1..n {
                let peer = router + (to - from) * shape.strides[d];
                let ports = (shape.port(d, from, to), shape.port(d, to, from));
                for cable in 0..shape.cables[d] {
                    wiring.link(class, (router, ports.0 + cable), (peer, ports.1 + cable));
                }
            }
        }
        for k in 0..shape.terminals {
            wiring.terminal(router, links + k);
        }
    }
    Ok(wiring.finish(topology, classes, shape))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        metrics::{diameter, distances},
        registry::values,
        topology::testing::{links, peers, simple},
    };
    use base::index::RouterId;

    fn hyperx(dims: &'static [u64], cables: &'static [u64], terminals: u64) -> Result<Fabric, Vec<Problem>> {
        let sample = [
            ("dims", Constant::Ints(dims)),
            ("cables", Constant::Ints(cables)),
            ("terminals_per_router", Constant::Int(terminals)),
        ];
        (TOPOLOGY.build)(&values(TOPOLOGY.about.params, &sample))
    }

    #[test]
    fn counts_and_diameter_follow_their_closed_forms() {
        for (dims, cables) in [
            (&[4u64, 4][..], &[1u64, 1][..]),
            (&[5], &[3]),
            (&[3, 1, 4, 2], &[2, 1, 1, 3]),
            (&[2, 2, 2, 2, 2, 2, 2, 2, 2, 2], &[1, 1, 1, 1, 1, 1, 1, 1, 1, 1]),
        ] {
            let fabric = hyperx(dims, cables, 2).unwrap();
            let routers: u64 = dims.iter().product();
            assert_eq!((u64::from(fabric.routers()), u64::from(fabric.terminals())), (routers, 2 * routers));
            let mut expected = vec![0; CLASSES.len()];
            expected[0] = 2 * routers;
            for (d, (n, k)) in dims.iter().zip(cables).enumerate() {
                expected[(d + 1).min(8)] += routers * (n - 1) * k / 2;
            }
            assert_eq!(links(&fabric), expected, "{dims:?}");
            assert_eq!(simple(&fabric), cables.iter().all(|&k| k == 1));
            assert_eq!(diameter(&fabric), Some(dims.iter().filter(|&&n| n > 1).count() as u32));
        }
    }

    #[test]
    fn ports_lead_to_the_coordinate_that_they_are_for() {
        let fabric = hyperx(&[4, 3], &[1, 2], 1).unwrap();
        let shape = fabric.shape::<HyperxShape>().unwrap();
        // Router 6 is at (2, 1).
        assert_eq!(peers(&fabric, 6), [4, 5, 7, 2, 2, 10, 10]);
        assert_eq!([shape.port(0, 2, 3), shape.port(1, 1, 0), shape.port(1, 1, 2)], [2, 3, 5]);
        let from = distances(&fabric, RouterId::new(6));
        assert!((0..12).all(|r| from[RouterId::new(r)] == shape.distance(6, r)));
    }

    #[test]
    fn impossible_lists_are_refused() {
        let key = |dims, cables| hyperx(dims, cables, 1).err().unwrap()[0].key.clone();
        assert_eq!(key(&[], &[]), "dims");
        assert_eq!(key(&[4, 4], &[1]), "cables");
        assert_eq!(key(&[1 << 20, 1 << 20], &[]), "dims");
        assert_eq!(key(&[1 << 20], &[1 << 20]), "dims");
    }
}
