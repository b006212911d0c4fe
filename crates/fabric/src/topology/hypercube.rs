//! The binary hypercube: a `HyperX` of dimensions of two routers.

use super::{
    Sizes,
    hyperx::{self, Grid, MAX},
};
use crate::{
    graph::Fabric,
    topology::entry::{Constant, Topology},
};
use base::{
    param::{Kind, Param, Problem, Values},
    registry::About,
};

const CLASSES: &[&str] = &["terminal", "local"];

/// The registered hypercube.
pub const TOPOLOGY: Topology = Topology {
    about: About {
        name: "hypercube",
        summary: "binary hypercube: 2^n routers, linked if their numbers differ in one bit",
        doc: "2^n routers; port d of a router leads to the one whose number differs in bit d, on `cables` parallel \
              cables. Diameter n; each bit cuts 2^(n-1) pairs. Ports: bit by bit from the lowest, cables of one pair \
              side by side; then terminals. Link classes: terminal, local.",
        source: "Dally, Towles: Principles and Practices of Interconnection Networks, 2004, section 5.1 (2-ary n-cube; \
                 unlike in `torus`, a dimension of size 2 has one link)",
        params: &[
            Param {
                name: "dimensions",
                kind: Kind::Int { min: 1, max: 31 },
                default: None,
                doc: "dimensions, n",
            },
            Param {
                name: "cables",
                kind: Kind::Int { min: 1, max: MAX },
                default: Some("1"),
                doc: "parallel cables between two neighbours",
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
    sizes,
    build,
    small: &[
        &[("dimensions", Constant::Int(4))],
        &[
            ("dimensions", Constant::Int(2)),
            ("cables", Constant::Int(2)),
            ("terminals_per_router", Constant::Int(3)),
        ],
    ],
};

fn grid(values: &Values) -> Grid {
    let n = values.int("dimensions") as usize;
    Grid {
        dims: vec![2; n],
        cables: vec![values.int("cables"); n],
        terminals: values.int("terminals_per_router"),
    }
}

fn sizes(values: &Values) -> Result<Sizes, Vec<Problem>> {
    hyperx::sizes(&grid(values), "dimensions")
}

fn build(values: &Values) -> Result<Fabric, Vec<Problem>> {
    hyperx::build(TOPOLOGY.about.name, CLASSES, &grid(values), "dimensions")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        metrics::{diameter, distances},
        registry::values,
        topology::testing::{links, peers},
    };
    use base::index::RouterId;

    fn parameters(n: u64, cables: u64) -> Values {
        values(TOPOLOGY.about.params, &[("dimensions", Constant::Int(n)), ("cables", Constant::Int(cables))])
    }

    #[test]
    fn neighbours_differ_in_one_bit_and_distance_counts_bits() {
        let fabric = build(&parameters(5, 1)).unwrap();
        assert_eq!((fabric.routers(), links(&fabric), diameter(&fabric)), (32, vec![32, 80], Some(5)));
        for router in 0..32 {
            assert_eq!(peers(&fabric, router), [1, 2, 4, 8, 16].map(|bit| router ^ bit));
        }
        let from = distances(&fabric, RouterId::new(13));
        assert!((0..32u32).all(|r| from[RouterId::new(r)] == (r ^ 13).count_ones()));
    }

    #[test]
    fn parallel_cables_multiply_the_links() {
        let fabric = build(&parameters(3, 4)).unwrap();
        assert_eq!(links(&fabric), [8, 48]);
    }

    #[test]
    fn impossible_sizes_are_refused() {
        assert_eq!(sizes(&parameters(31, 1)).unwrap_err()[0].key, "dimensions");
        assert!(sizes(&parameters(20, 1)).is_ok());
    }
}
