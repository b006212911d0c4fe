//! The flattened butterfly (k-ary n-flat): a `HyperX` of n - 1 dimensions of k routers with k terminals each.

use super::{
    Sizes,
    hyperx::{self, CLASSES, Grid, MAX},
};
use crate::{
    graph::Fabric,
    topology::entry::{Constant, Topology},
};
use base::{
    param::{Kind, Param, Problem, Values},
    registry::About,
};

/// The registered flattened butterfly.
pub const TOPOLOGY: Topology = Topology {
    about: About {
        name: "flattened-butterfly",
        summary: "k-ary n-flat: k^n terminals on a grid of routers, fully connected along n - 1 dimensions",
        doc: "The routers of each row of a k-ary n-fly made one: k^(n-1) routers with k terminals each, at the points \
              of a grid of n - 1 dimensions of k routers, linked to all others that differ in one coordinate. Radix n (k \
              - 1) + 1, diameter n - 1, k^n / 4 cables cut in each dimension. It is `hyperx` with dims = [k, .., k] \
              and k terminals per router: ports, link classes and numbering are the same.",
        source: "Kim, Dally, Abts: Flattened Butterfly: A Cost-Efficient Topology for High-Radix Networks, ISCA 2007, \
                 section 2",
        params: &[
            Param {
                name: "k",
                kind: Kind::Int { min: 1, max: MAX },
                default: None,
                doc: "terminals on a router and routers along a dimension, the arity",
            },
            Param {
                name: "n",
                kind: Kind::Int { min: 2, max: 33 },
                default: None,
                doc: "stages of the butterfly, one more than dimensions",
            },
        ],
    },
    classes: CLASSES,
    required: 2,
    sizes,
    build,
    small: &[
        &[("k", Constant::Int(3)), ("n", Constant::Int(3))],
        &[("k", Constant::Int(4)), ("n", Constant::Int(2))],
    ],
};

fn grid(values: &Values) -> Grid {
    let (k, dimensions) = (values.int("k"), values.int("n") as usize - 1);
    Grid { dims: vec![k; dimensions], cables: vec![1; dimensions], terminals: k }
}

fn sizes(values: &Values) -> Result<Sizes, Vec<Problem>> {
    hyperx::sizes(&grid(values), "k")
}

fn build(values: &Values) -> Result<Fabric, Vec<Problem>> {
    hyperx::build(TOPOLOGY.about.name, CLASSES, &grid(values), "k")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{metrics::diameter, registry::values, topology::testing::links};
    use base::index::RouterId;

    fn parameters(k: u64, n: u64) -> Values {
        values(TOPOLOGY.about.params, &[("k", Constant::Int(k)), ("n", Constant::Int(n))])
    }

    #[test]
    fn counts_radix_and_diameter_follow_their_closed_forms() {
        // The 4-ary 2-flat and 2-ary 4-flat are figures of the paper.
        for (k, n) in [(4u32, 2u32), (2, 4), (3, 3), (8, 3)] {
            let fabric = build(&parameters(k.into(), n.into())).unwrap();
            assert_eq!((fabric.routers(), fabric.terminals()), (k.pow(n - 1), k.pow(n)));
            assert!(
                RouterId::first(fabric.routers()).all(|r| fabric.ports_of(r).len() as u32 == n * (k - 1) + 1)
            );
            assert_eq!(
                links(&fabric)[1..].iter().sum::<u64>(),
                u64::from(k.pow(n - 1) * (n - 1) * (k - 1) / 2)
            );
            assert_eq!(diameter(&fabric), Some(n - 1), "k = {k}, n = {n}");
        }
    }

    #[test]
    fn impossible_sizes_are_refused() {
        assert_eq!(sizes(&parameters(1 << 16, 3)).unwrap_err()[0].key, "k");
        assert_eq!(sizes(&parameters(2, 33)).unwrap_err()[0].key, "k");
    }
}
