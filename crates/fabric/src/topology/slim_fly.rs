//! The Slim Fly: McKay-Miller-Siran graphs, of diameter 2 with nearly as many routers as a graph can have.
//!
//! For a prime power q = 4 w + d, d = -1, 0 or 1, there are 2 q^2 routers (s, x, y), s = 0 or 1, x and y in GF(q); router =
//! s q^2 + x q + y. With sets X_0 and X_1 of field elements, equal to their own negatives:
//! (s, x, y) - (s, x, y') if y - y' is in X_s (local), and (0, x, y) - (1, m, c) if y = m x + c (global).
//!
//! Ports: local ones by the element of X_s, ascending, that is added to y; then the global ones by the other end's x; then
//! terminals. Terminal t hangs on router t / p.

use super::{Sizes, Wiring, galois, galois::Field};
use crate::{
    graph::Fabric,
    topology::entry::{Constant, Topology},
};
use base::{
    param::{Kind, Param, Problem, Values},
    registry::About,
};

const CLASSES: &[&str] = &["terminal", "local", "global"];
const LOCAL: u8 = 1;
const GLOBAL: u8 = 2;

/// The registered Slim Fly.
pub const TOPOLOGY: Topology = Topology {
    about: About {
        name: "slim-fly",
        summary: "Slim Fly (MMS graphs): 2 q^2 routers of diameter 2",
        doc: "For a prime power q = 4 w + d with d = -1, 0 or 1 (3, 4, 5, 7, 8, 9, 11, 13, 16 ..): 2 q^2 routers with \
              (3 q - d) / 2 links each, any two at most two links apart. Two halves of q columns of q routers: in a \
              column router y is linked to y + e for each e of a set of (q - d) / 2 field elements (local); router (0, \
              x, y) is linked to (1, m, c) of the other half if y = m x + c in GF(q) (global). `terminals_per_router = 0` \
              puts half as many terminals on a router as it has links, rounded up: all-to-all traffic then just fits. \
              Router = half q^2 + x q + y, the digits of x and y in base p being coefficients. \
              Ports: local, global, then terminals. Link classes: terminal, local, global.",
        source: "Besta, Hoefler: Slim Fly: A Cost Effective Low-Diameter Network Topology, SC 2014, section II-B; \
                 McKay, Miller, Siran: A Note on Large Graphs of Diameter Two and Given Maximum Degree, J. Comb. \
                 Theory B 1998; the sets: Hafner: Geometric Realisation of the Graphs of McKay-Miller-Siran, 2004",
        params: &[
            Param {
                name: "q",
                kind: Kind::Int { min: 3, max: 4096 },
                default: None,
                doc: "prime power, not 2 more than a multiple of 4",
            },
            Param {
                name: "terminals_per_router",
                kind: Kind::Int { min: 0, max: 1 << 20 },
                default: Some("0"),
                doc: "terminals on a router; 0 for half its links",
            },
        ],
    },
    classes: CLASSES,
    required: 3,
    sizes: |values| plan(values).map(|plan| plan.1),
    build,
    small: &[
        &[("q", Constant::Int(3)), ("terminals_per_router", Constant::Int(1))],
        &[("q", Constant::Int(4)), ("terminals_per_router", Constant::Int(1))],
    ],
};

/// Geometry of a Slim Fly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlimFlyShape {
    /// The field GF(q).
    pub field: Field,
    /// The sets X_0 and X_1, ascending.
    pub sets: [Vec<u32>; 2],
    /// Terminals on a router.
    pub terminals: u32,
}

impl SlimFlyShape {
    /// Half, column and position in it of a router.
    #[must_use]
    pub fn place(&self, router: u32) -> (usize, u32, u32) {
        let q = self.field.size();
        ((router / (q * q)) as usize, router / q % q, router % q)
    }

    /// The router at a place.
    #[must_use]
    pub fn router(&self, half: usize, x: u32, y: u32) -> u32 {
        let q = self.field.size();
        half as u32 * q * q + x * q + y
    }

    /// Port to the router of the same half and column at position `to`, if there is such a link.
    #[must_use]
    pub fn local_port(&self, half: usize, from: u32, to: u32) -> Option<u32> {
        self.sets[half].binary_search(&self.field.sub(to, from)).ok().map(|port| port as u32)
    }

    /// Port to the router in column `x` of the other half: every router has one there.
    #[must_use]
    pub fn global_port(&self, x: u32) -> u32 {
        self.sets[0].len() as u32 + x
    }

    /// Position of the router in column `x` of the other half that a router is linked to.
    #[must_use]
    pub fn across(&self, half: usize, column: u32, y: u32, x: u32) -> u32 {
        let product = self.field.mul(column, x);
        if half == 0 { self.field.sub(y, product) } else { self.field.add(y, product) }
    }
}

/// q, links and terminals of a router, and the sizes they give.
fn plan(values: &Values) -> Result<([u32; 3], Sizes), Vec<Problem>> {
    let (q, p) = (values.int("q"), values.int("terminals_per_router"));
    if q % 4 == 2 || galois::prime_power(q as u32).is_none() {
        let fits = |q: &u64| q % 4 != 2 && galois::prime_power(*q as u32).is_some();
        let below = (3..q).rev().find(fits).map(|n| n.to_string());
        let above = (q + 1..q + 100).find(fits).map(|n| n.to_string());
        let near: Vec<String> = below.into_iter().chain(above).collect();
        return Err(vec![
            Problem::new("q", format!("{q} is not a prime power of the form 4 w - 1, 4 w or 4 w + 1"))
                .help(format!("near it are {}", near.join(" and "))),
        ]);
    }
    let degree = match q % 4 {
        0 => 3 * q / 2,
        1 => (3 * q - 1) / 2,
        _ => (3 * q).div_ceil(2),
    };
    let p = if p == 0 { degree.div_ceil(2) } else { p };
    let routers = 2 * q * q;
    let sizes = Sizes { routers, terminals: routers * p, ports: routers * (degree + p), ends: routers };
    let sizes = Sizes::within_limits(Some(sizes), "q")?;
    Ok(([q, degree, p].map(|n| n as u32), sizes))
}

/// The sets X_0 and X_1, as powers of the primitive element.
fn sets(field: &Field) -> [Vec<u32>; 2] {
    let q = field.size();
    let (even, odd): (Vec<u32>, Vec<u32>) = match q % 4 {
        0 | 1 => ((0..q / 2).map(|i| 2 * i).collect(), (0..q / 2).map(|i| 2 * i + 1).collect()),
        _ => {
            // q = 4 w - 1: w even exponents, then w odd ones; for X_1 all exponents one higher.
            let w = q.div_ceil(4);
            let exponents: Vec<u32> =
                (0..w).map(|i| 2 * i).chain((0..w).map(|i| 2 * w - 1 + 2 * i)).collect();
            (exponents.clone(), exponents.iter().map(|e| e + 1).collect())
        }
    };
    [even, odd].map(|exponents| {
        let mut set: Vec<u32> = exponents.into_iter().map(|e| field.power(e)).collect();
        set.sort_unstable();
        set
    })
}

fn build(values: &Values) -> Result<Fabric, Vec<Problem>> {
    let ([q, degree, terminals], sizes) = plan(values)?;
    let Some(field) = Field::new(q) else {
        return Err(vec![Problem::new("q", format!("there is no field of {q} elements"))]);
    };
    let sets = sets(&field);
    let shape = SlimFlyShape { field, sets, terminals };
    let mut wiring = Wiring::new((0..sizes.routers).map(|_| degree + terminals));
    for router in 0..sizes.routers as u32 {
        let (half, x, y) = shape.place(router);
        for (port, &element) in shape.sets[half].iter().enumerate() {
            let to = shape.field.add(y, element);
            if to > y
                && let Some(back) = shape.local_port(half, to, y)
            {
                wiring.link(LOCAL, (router, port as u32), (shape.router(half, x, to), back));
            }
        }
        if half == 0 {
            for m in 0..q {
                let peer = shape.router(1, m, shape.across(half, x, y, m));
                wiring.link(GLOBAL, (router, shape.global_port(m)), (peer, shape.global_port(x)));
            }
        }
        for k in 0..terminals {
            wiring.terminal(router, degree + k);
        }
    }
    Ok(wiring.finish(TOPOLOGY.about.name, CLASSES, shape))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        graph::Peer,
        metrics::diameter,
        registry::values,
        topology::testing::{links, peers, simple},
    };
    use base::index::RouterId;

    fn parameters(q: u64, terminals: u64) -> Values {
        let sample = [("q", Constant::Int(q)), ("terminals_per_router", Constant::Int(terminals))];
        values(TOPOLOGY.about.params, &sample)
    }

    #[test]
    fn counts_degree_and_diameter_follow_their_closed_forms() {
        for (q, d) in [(3u64, -1i64), (4, 0), (5, 1), (7, -1), (8, 0), (9, 1), (11, -1), (13, 1), (16, 0)] {
            let fabric = build(&parameters(q, 1)).unwrap();
            let routers = 2 * q * q;
            let global = q * q * q;
            let local = routers * (q as i64 - d) as u64 / 2 / 2;
            assert_eq!(links(&fabric), [routers, local, global], "q = {q}");
            assert!(fabric.ports().iter().all(|p| p.peer != Peer::None), "q = {q}");
            assert!(simple(&fabric), "q = {q}");
            assert_eq!(diameter(&fabric), Some(2), "q = {q}");
        }
    }

    #[test]
    fn the_smallest_with_five_is_the_hoffman_singleton_graph() {
        let fabric = build(&parameters(5, 1)).unwrap();
        assert_eq!(fabric.routers(), 50);
        // Degree 7, and two routers have one common neighbour if they are not linked, else none: 1 + 7 + 42 = 50.
        for a in 0..50 {
            let near = peers(&fabric, a);
            assert_eq!(near.len(), 7);
            for b in (0..50).filter(|&b| b != a) {
                let common = peers(&fabric, b).iter().filter(|r| near.contains(r)).count();
                assert_eq!(common, usize::from(!near.contains(&b)));
            }
        }
    }

    #[test]
    fn published_sizes() {
        // The paper's example: q = 19, 722 routers of 29 links and 15 terminals.
        let sizes = (TOPOLOGY.sizes)(&parameters(19, 0)).unwrap();
        assert_eq!((sizes.routers, sizes.terminals, sizes.ports), (722, 10_830, 722 * 44));
    }

    #[test]
    fn ports_lead_where_the_shape_says() {
        let fabric = build(&parameters(9, 2)).unwrap();
        let shape = fabric.shape::<SlimFlyShape>().unwrap();
        let at = |router: u32, port: u32| match fabric.ports_of(RouterId::new(router))[port as usize].peer {
            Peer::Router { router, .. } => router,
            _ => panic!("no router"),
        };
        for router in RouterId::first(fabric.routers()) {
            let (half, x, y) = shape.place(router.number());
            assert_eq!(shape.router(half, x, y), router.number());
            for to in (0..9).filter(|&to| to != y) {
                if let Some(port) = shape.local_port(half, y, to) {
                    assert_eq!(at(router.number(), port), RouterId::new(shape.router(half, x, to)));
                }
            }
            for column in 0..9 {
                let there = shape.router(1 - half, column, shape.across(half, x, y, column));
                assert_eq!(at(router.number(), shape.global_port(column)), RouterId::new(there));
            }
        }
    }

    #[test]
    fn other_numbers_are_refused_with_their_neighbours() {
        for (q, near) in [(6, "5 and 7"), (10, "9 and 11"), (15, "13 and 16"), (12, "11 and 13")] {
            let problems = (TOPOLOGY.sizes)(&parameters(q, 1)).unwrap_err();
            assert_eq!(problems[0].key, "q");
            assert!(problems[0].help.as_ref().unwrap().contains(near), "{problems:?}");
        }
        assert_eq!((TOPOLOGY.sizes)(&parameters(4093, 1 << 20)).unwrap_err()[0].key, "q");
    }
}
