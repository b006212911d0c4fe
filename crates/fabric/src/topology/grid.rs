//! Meshes and tori of any number of dimensions.
//!
//! Routers are numbered with dimension 0 fastest: router = x0 + n0 (x1 + n1 (x2 + ..)). Ports: for dimension d the link
//! toward smaller coordinates is port 2 d, toward greater ones port 2 d + 1; then the terminals. Terminal t hangs on
//! router t / p. Ports at the edge of a mesh and those of dimensions of size 1 are not plugged in. A torus' dimension of
//! size 2 has two parallel links: the plus port of either router leads to the minus port of the other.

use super::{Sizes, Wiring};
use crate::{
    graph::Fabric,
    topology::entry::{Constant, Topology},
};
use base::{
    param::{Kind, Param, Problem, Values},
    registry::About,
};

const CLASSES: &[&str] = &["terminal", "local"];
const LOCAL: u8 = 1;
/// Most dimensions that `dims` may have.
const MAX_DIMENSIONS: usize = 32;

const PARAMS: &[Param] = &[
    Param {
        name: "dims",
        kind: Kind::Ints { min: 1, max: 1 << 20 },
        default: None,
        doc: "routers along each dimension, such as [8, 8]",
    },
    Param {
        name: "terminals_per_router",
        kind: Kind::Int { min: 1, max: 1 << 20 },
        default: Some("1"),
        doc: "terminals on a router",
    },
];

/// The registered mesh.
pub const MESH: Topology = Topology {
    about: About {
        name: "mesh",
        summary: "n-dimensional mesh: neighbours along each dimension are linked",
        doc: "Routers at the points of a grid of `dims`, dimension 0 numbered fastest, each linked to its neighbours \
              along every dimension. Ports: dimension d toward smaller coordinates 2 d, toward greater ones 2 d + 1 \
              (unplugged at the edges), then terminals. Link classes: terminal, local.",
        source: "Dally, Towles: Principles and Practices of Interconnection Networks, 2004, chapter 5",
        params: PARAMS,
    },
    classes: CLASSES,
    required: 2,
    sizes,
    build: |values| build(values, false),
    small: &[
        &[("dims", Constant::Ints(&[4, 3])), ("terminals_per_router", Constant::Int(2))],
        &[("dims", Constant::Ints(&[2, 1, 3]))],
        &[("dims", Constant::Ints(&[1]))],
    ],
};

/// The registered torus.
pub const TORUS: Topology = Topology {
    about: About {
        name: "torus",
        summary: "n-dimensional torus (k-ary n-cube): a mesh whose dimensions are closed to rings",
        doc: "A mesh of `dims` with one more link in each dimension, from the last router to the first. A dimension of \
              size 2 has two parallel links, one of size 1 none. Ports: dimension d toward smaller coordinates 2 d, \
              toward greater ones 2 d + 1, then terminals. Link classes: terminal, local.",
        source: "Dally, Towles: Principles and Practices of Interconnection Networks, 2004, chapter 5",
        params: PARAMS,
    },
    classes: CLASSES,
    required: 2,
    sizes,
    build: |values| build(values, true),
    small: &[
        &[("dims", Constant::Ints(&[4, 5]))],
        &[("dims", Constant::Ints(&[3, 2, 1, 4])), ("terminals_per_router", Constant::Int(2))],
    ],
};

/// Geometry of a mesh or torus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GridShape {
    /// Routers along each dimension.
    pub dims: Vec<u32>,
    /// True for a torus.
    pub wraps: bool,
    /// Terminals on a router.
    pub terminals: u32,
}

impl GridShape {
    /// Coordinates of a router, dimension 0 first.
    #[must_use]
    pub fn coordinates(&self, router: u32) -> Vec<u32> {
        let mut rest = router;
        self.dims
            .iter()
            .map(|&n| {
                let x = rest % n;
                rest /= n;
                x
            })
            .collect()
    }

    /// Router at the given coordinates.
    #[must_use]
    pub fn router(&self, coordinates: &[u32]) -> u32 {
        self.dims.iter().zip(coordinates).rev().fold(0, |router, (&n, &x)| router * n + x)
    }
}

fn sizes(values: &Values) -> Result<Sizes, Vec<Problem>> {
    let (dims, terminals) = (values.ints("dims"), values.int("terminals_per_router"));
    if dims.is_empty() || dims.len() > MAX_DIMENSIONS {
        let message = format!("there must be 1 to {MAX_DIMENSIONS} dimensions, not {}", dims.len());
        return Err(vec![Problem::new("dims", message)]);
    }
    let routers = dims.iter().try_fold(1u64, |product, &n| product.checked_mul(n));
    let sizes = routers.and_then(|routers| {
        Some(Sizes {
            routers,
            terminals: routers.checked_mul(terminals)?,
            ports: routers.checked_mul(2 * dims.len() as u64 + terminals)?,
            ends: routers,
        })
    });
    Sizes::within_limits(sizes, "dims")
}

fn build(values: &Values, wraps: bool) -> Result<Fabric, Vec<Problem>> {
    let routers = sizes(values)?.routers as u32;
    let dims: Vec<u32> = values.ints("dims").iter().map(|&n| n as u32).collect();
    let shape = GridShape { dims, wraps, terminals: values.u32("terminals_per_router") };
    let links = 2 * shape.dims.len() as u32;
    let mut wiring = Wiring::new((0..routers).map(|_| links + shape.terminals));
    for router in 0..routers {
        let mut stride = 1;
        for (d, &n) in shape.dims.iter().enumerate() {
            let (minus, plus) = (2 * d as u32, 2 * d as u32 + 1);
            let x = router / stride % n;
            if x + 1 < n {
                wiring.link(LOCAL, (router, plus), (router + stride, minus));
            } else if wraps && n > 1 {
                wiring.link(LOCAL, (router, plus), (router - x * stride, minus));
            } else {
                wiring.unplugged(LOCAL, router, plus);
                wiring.unplugged(LOCAL, router - x * stride, minus);
            }
            stride *= n;
        }
        for k in 0..shape.terminals {
            wiring.terminal(router, links + k);
        }
    }
    let name = if wraps { TORUS.about.name } else { MESH.about.name };
    Ok(wiring.finish(name, CLASSES, shape))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        graph::Peer,
        metrics::{diameter, distances},
        registry::values,
    };
    use base::index::{PortId, RouterId};

    fn grid(wraps: bool, dims: &'static [u64], terminals: u64) -> Fabric {
        let sample = [("dims", Constant::Ints(dims)), ("terminals_per_router", Constant::Int(terminals))];
        build(&values(PARAMS, &sample), wraps).unwrap()
    }

    fn plugged(fabric: &Fabric) -> usize {
        fabric.ports().iter().filter(|p| matches!(p.peer, Peer::Router { .. })).count()
    }

    #[test]
    fn counts_and_diameter_follow_their_closed_forms() {
        for dims in [&[8u64, 8][..], &[5], &[4, 3, 2], &[2, 2, 2, 2], &[7, 1, 3]] {
            let routers: u64 = dims.iter().product();
            let links = |n: u64, wraps: bool| if wraps && n > 1 { n } else { n - 1 };
            for wraps in [false, true] {
                let dims: &'static [u64] = Box::leak(dims.to_vec().into_boxed_slice());
                let fabric = grid(wraps, dims, 3);
                assert_eq!(u64::from(fabric.routers()), routers);
                assert_eq!(u64::from(fabric.terminals()), 3 * routers);
                let expected: u64 = dims.iter().map(|&n| 2 * links(n, wraps) * routers / n).sum();
                assert_eq!(plugged(&fabric) as u64, expected, "{dims:?} {wraps}");
                let span: u64 = dims.iter().map(|&n| if wraps { n / 2 } else { n - 1 }).sum();
                assert_eq!(diameter(&fabric), Some(span as u32), "{dims:?} {wraps}");
            }
        }
    }

    #[test]
    fn distance_is_the_sum_over_dimensions() {
        let fabric = grid(true, &[5, 4], 1);
        let shape = fabric.shape::<GridShape>().unwrap();
        let from = distances(&fabric, RouterId::new(7));
        let a = shape.coordinates(7);
        for router in 0..20 {
            let b = shape.coordinates(router);
            assert_eq!(shape.router(&b), router);
            let ring = |d: usize| a[d].abs_diff(b[d]).min(shape.dims[d] - a[d].abs_diff(b[d]));
            assert_eq!(from[RouterId::new(router)], ring(0) + ring(1));
        }
    }

    #[test]
    fn a_ring_of_two_has_two_parallel_links() {
        let fabric = grid(true, &[2], 1);
        assert_eq!(
            fabric.ports_of(RouterId::new(0))[0].peer,
            Peer::Router { router: RouterId::new(1), port: PortId::new(1) }
        );
        assert_eq!(
            fabric.ports_of(RouterId::new(0))[1].peer,
            Peer::Router { router: RouterId::new(1), port: PortId::new(0) }
        );
    }

    #[test]
    fn impossible_sizes_are_refused() {
        for dims in [&[][..], &[1 << 20, 1 << 20, 1 << 20, 1 << 20], &[1 << 20, 1 << 11]] {
            let problems = sizes(&values(PARAMS, &[("dims", Constant::Ints(dims))])).unwrap_err();
            assert_eq!(problems[0].key, "dims");
        }
    }
}
