//! The fat tree as a k-ary n-tree: n levels of k^(n-1) routers with k ports down and k up.
//!
//! Level 0 holds the leaves. A router is its level l and its word w of n - 1 digits in base k; router number =
//! l k^(n-1) + w. Up port u of (l, w) leads to (l + 1, w with digit l replaced by u), whose down port is the replaced
//! digit. Ports: k down (terminals at the leaves), then k up (none at the top). Terminal t hangs on leaf t / k.

use super::{Sizes, Wiring};
use crate::{
    graph::Fabric,
    topology::entry::{Constant, Topology},
};
use base::{
    param::{Kind, Param, Problem, Values},
    registry::About,
};

const TREE: u8 = 1;

/// The registered fat tree.
pub const TOPOLOGY: Topology = Topology {
    about: About {
        name: "fat-tree",
        summary: "fat tree (k-ary n-tree) of equal routers with full bisection bandwidth",
        doc: "n levels of k^(n-1) routers for k^n terminals. Every router has k ports down and, below the top level, k \
              ports up. Two terminals whose numbers in base k differ in digit j and in no higher one have k^j \
              nearest common ancestors, at level j (level 0 are the leaves). Ports: down 0..k (terminals \
              at level 0), then up. Link classes: terminal, tree.",
        source: "Petrini, Vanneschi: k-ary n-trees: High Performance Networks for Massively Parallel Architectures, \
                 IPPS 1997, section 2",
        params: &[
            Param {
                name: "k",
                kind: Kind::Int { min: 1, max: 1 << 15 },
                default: None,
                doc: "ports down (and up), the arity",
            },
            Param {
                name: "levels",
                kind: Kind::Int { min: 1, max: 32 },
                default: None,
                doc: "levels of routers, n",
            },
        ],
    },
    classes: &["terminal", "tree"],
    required: 2,
    sizes,
    build,
    small: &[
        &[("k", Constant::Int(2)), ("levels", Constant::Int(3))],
        &[("k", Constant::Int(3)), ("levels", Constant::Int(2))],
        &[("k", Constant::Int(4)), ("levels", Constant::Int(1))],
    ],
};

/// Geometry of a k-ary n-tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeShape {
    /// Ports down, k.
    pub arity: u32,
    /// Levels of routers, n.
    pub levels: u32,
    /// Routers in a level, k^(n-1).
    pub width: u32,
}

fn sizes(values: &Values) -> Result<Sizes, Vec<Problem>> {
    let (k, n) = (values.int("k"), values.int("levels"));
    let sizes = k.checked_pow(n as u32 - 1).and_then(|width| {
        let routers = width.checked_mul(n)?;
        // Two k ports each, but for the top level.
        Some(Sizes {
            routers,
            terminals: width.checked_mul(k)?,
            ports: width.checked_mul(k)?.checked_mul(2 * n - 1)?,
            ends: width,
        })
    });
    Sizes::within_limits(sizes, "levels")
}

fn build(values: &Values) -> Result<Fabric, Vec<Problem>> {
    let sizes = sizes(values)?;
    let (k, levels) = (values.u32("k"), values.u32("levels"));
    let width = (sizes.routers / u64::from(levels)) as u32;
    let top = levels - 1;
    let mut wiring =
        Wiring::new((0..levels).flat_map(|l| (0..width).map(move |_| if l < top { 2 * k } else { k })));
    let mut weight = 1;
    for level in 0..top {
        for word in 0..width {
            let digit = word / weight % k;
            for up in 0..k {
                let parent = (level + 1) * width + word - digit * weight + up * weight;
                wiring.link(TREE, (level * width + word, k + up), (parent, digit));
            }
        }
        weight *= k;
    }
    for leaf in 0..width {
        for port in 0..k {
            wiring.terminal(leaf, port);
        }
    }
    Ok(wiring.finish(TOPOLOGY.about.name, TOPOLOGY.classes, TreeShape { arity: k, levels, width }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        graph::Peer,
        metrics::{diameter, distances},
        registry::values,
    };
    use base::index::RouterId;

    fn tree(k: u64, n: u64) -> Fabric {
        let sample = [("k", Constant::Int(k)), ("levels", Constant::Int(n))];
        build(&values(TOPOLOGY.about.params, &sample)).unwrap()
    }

    #[test]
    fn counts_and_diameter_follow_their_closed_forms() {
        for (k, n) in [(2u32, 4u32), (4, 3), (3, 3), (5, 1), (1, 3)] {
            let fabric = tree(k.into(), n.into());
            let width = k.pow(n - 1);
            assert_eq!((fabric.routers(), fabric.terminals()), (n * width, width * k));
            let links =
                fabric.ports().iter().filter(|p| matches!(p.peer, Peer::Router { .. })).count() as u32;
            assert_eq!(links, 2 * (n - 1) * width * k);
            assert_eq!(
                fabric.ports_of(RouterId::new(n * width - 1)).len() as u32,
                k,
                "the top has only down ports"
            );
            let expected = if k == 1 { 0 } else { 2 * (n - 1) };
            assert_eq!(diameter(&fabric), Some(expected), "k = {k}, n = {n}");
        }
    }

    #[test]
    fn leaves_meet_at_the_level_of_their_highest_differing_digit() {
        let fabric = tree(3, 3);
        let from = distances(&fabric, RouterId::new(4));
        for leaf in 0..9 {
            let expected = if leaf == 4 {
                0
            } else if leaf / 3 == 1 {
                2
            } else {
                4
            };
            assert_eq!(from[RouterId::new(leaf)], expected, "leaf {leaf}");
        }
    }

    #[test]
    fn impossible_sizes_are_refused() {
        for (k, n) in [(1 << 15, 32), (2, 31), (1 << 15, 3)] {
            let sample = [("k", Constant::Int(k)), ("levels", Constant::Int(n))];
            assert!(sizes(&values(TOPOLOGY.about.params, &sample)).is_err(), "k = {k}, n = {n}");
        }
    }
}
