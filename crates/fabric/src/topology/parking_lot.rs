//! The parking lot: routers in a line, the classical test of fairness.

use super::{Sizes, Wiring, grid::GridShape};
use crate::{
    graph::Fabric,
    topology::entry::{Constant, Topology},
};
use base::{
    param::{Kind, Param, Problem, Values},
    registry::About,
};

const CLASSES: &[&str] = &["terminal", "lane"];
const LANE: u8 = 1;

/// The registered parking lot.
pub const TOPOLOGY: Topology = Topology {
    about: About {
        name: "parking-lot",
        summary: "routers in a line with one lane between neighbours: a test of fairness",
        doc: "Router i is linked to routers i - 1 and i + 1. When every router has one terminal and all send to that of \
              router 0, router i merges its own packets with those of all routers behind it. Arbiters that give each input \
              port its turn then leave router i a share of 2^-i of the exit (the last router as much as the one before \
              it); arbiters that go by age (`age`) give all the same. It is the mesh of one dimension with a link class of \
              its own. Ports: toward router 0, away from it, then terminals. Link classes: terminal, lane.",
        source: "Dally, Towles: Principles and Practices of Interconnection Networks, 2004, section 15.4.1",
        params: &[
            Param {
                name: "routers",
                kind: Kind::Int { min: 1, max: 1 << 20 },
                default: None,
                doc: "number of routers",
            },
            Param {
                name: "terminals_per_router",
                kind: Kind::Int { min: 1, max: 1 << 20 },
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
        &[("routers", Constant::Int(5))],
        &[("routers", Constant::Int(2)), ("terminals_per_router", Constant::Int(3))],
    ],
};

fn sizes(values: &Values) -> Result<Sizes, Vec<Problem>> {
    let (routers, p) = (values.int("routers"), values.int("terminals_per_router"));
    let sizes = Sizes { routers, terminals: routers * p, ports: routers * (2 + p), ends: routers };
    Sizes::within_limits(Some(sizes), "routers")
}

fn build(values: &Values) -> Result<Fabric, Vec<Problem>> {
    let routers = sizes(values)?.routers as u32;
    let terminals = values.u32("terminals_per_router");
    let mut wiring = Wiring::new((0..routers).map(|_| 2 + terminals));
    wiring.unplugged(LANE, 0, 0);
    wiring.unplugged(LANE, routers - 1, 1);
    for router in 0..routers {
        if router + 1 < routers {
            wiring.link(LANE, (router, 1), (router + 1, 0));
        }
        for k in 0..terminals {
            wiring.terminal(router, 2 + k);
        }
    }
    let shape = GridShape { dims: vec![routers], wraps: false, terminals };
    Ok(wiring.finish(TOPOLOGY.about.name, CLASSES, shape))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        metrics::{bisection, diameter},
        registry::values,
        topology::{grid, testing::links},
    };

    fn parameters(routers: u64, terminals: u64) -> Values {
        let sample =
            [("routers", Constant::Int(routers)), ("terminals_per_router", Constant::Int(terminals))];
        values(TOPOLOGY.about.params, &sample)
    }

    #[test]
    fn it_is_a_mesh_of_one_dimension() {
        let fabric = build(&parameters(6, 2)).unwrap();
        let sample = [("dims", Constant::Ints(&[6])), ("terminals_per_router", Constant::Int(2))];
        let mesh = (grid::MESH.build)(&values(grid::MESH.about.params, &sample)).unwrap();
        assert!(fabric.ports() == mesh.ports() && fabric.attachments() == mesh.attachments());
        assert_eq!((links(&fabric), diameter(&fabric)), (vec![12, 5], Some(5)));
        assert_eq!(bisection(&fabric).unwrap().cables, 1);
        assert_eq!(diameter(&build(&parameters(1, 1)).unwrap()), Some(0));
    }

    #[test]
    fn impossible_sizes_are_refused() {
        assert_eq!(sizes(&parameters(1 << 20, 1 << 20)).unwrap_err()[0].key, "routers");
    }
}
