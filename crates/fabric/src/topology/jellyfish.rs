//! Jellyfish: a random regular graph of routers.
//!
//! It begins with a ring whose routers are also linked to those 2, 3.. steps ahead, and then swaps the ends of two
//! random links many times, never making a loop or a double link: the graph stays simple and regular, and after many
//! swaps is close to an even draw among all such graphs. If it then falls apart, swaps between parts join them.
//! Ports lead to the other routers in ascending order; then come the terminals; terminal t hangs on router t / p.

use super::{Sizes, Wiring};
use crate::{
    graph::Fabric,
    topology::entry::{Constant, Topology},
};
use base::{
    param::{Kind, Param, Problem, Values},
    registry::About,
    rng::{Purpose, Stream},
};

const CLASSES: &[&str] = &["terminal", "local"];
const LOCAL: u8 = 1;
/// Swaps that are tried for each link.
const SWAPS_PER_LINK: u64 = 20;
/// Tries to join the parts of a graph that fell apart; each succeeds with a fair chance.
const JOINS: u32 = 10_000;

/// The registered Jellyfish.
pub const TOPOLOGY: Topology = Topology {
    about: About {
        name: "jellyfish",
        summary: "Jellyfish: a random regular graph, simple and connected",
        doc: "`routers` routers with `degree` links each to others at random, no two of them parallel, and terminals. \
              The graph is drawn by swapping the ends of random pairs of links of a regular ring-like graph, 20 tries per \
              link, with random numbers of `seed` alone: the same parameters give the same network. It is \
              always simple and connected. routers times degree must be even, and degree below routers. Ports: by the \
              other router's number, then terminals. Link classes: terminal, local.",
        source: "Singla, Hong, Popa, Godfrey: Jellyfish: Networking Data Centers Randomly, NSDI 2012; drawing by swaps: \
                 Cooper, Dyer, Greenhill: Sampling Regular Graphs and a Peer-to-Peer Network, Combinatorics, Probability \
                 and Computing 2007",
        params: &[
            Param {
                name: "routers",
                kind: Kind::Int { min: 1, max: 1 << 24 },
                default: None,
                doc: "number of routers",
            },
            Param {
                name: "degree",
                kind: Kind::Int { min: 0, max: 1 << 16 },
                default: None,
                doc: "links of a router to other routers",
            },
            Param {
                name: "terminals_per_router",
                kind: Kind::Int { min: 1, max: 1 << 20 },
                default: Some("1"),
                doc: "terminals on a router",
            },
            Param {
                name: "seed",
                kind: Kind::Int { min: 0, max: u64::MAX },
                default: Some("1"),
                doc: "seed of the graph; the experiment's own seed does not change it",
            },
        ],
    },
    classes: CLASSES,
    required: 2,
    sizes,
    build,
    small: &[
        &[
            ("routers", Constant::Int(10)),
            ("degree", Constant::Int(3)),
            ("terminals_per_router", Constant::Int(2)),
        ],
        &[("routers", Constant::Int(8)), ("degree", Constant::Int(5)), ("seed", Constant::Int(7))],
        &[("routers", Constant::Int(2)), ("degree", Constant::Int(1))],
    ],
};

/// Geometry of a Jellyfish: there is none to know but its sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JellyfishShape {
    /// Links of a router; its first ports.
    pub degree: u32,
    /// Terminals on a router.
    pub terminals: u32,
}

fn sizes(values: &Values) -> Result<Sizes, Vec<Problem>> {
    let (n, d, p) = (values.int("routers"), values.int("degree"), values.int("terminals_per_router"));
    let refuse = |message: String, help: &str| Err(vec![Problem::new("degree", message).help(help)]);
    if d >= n {
        return refuse(
            format!("{n} routers cannot have {d} links each to different others"),
            "choose a degree below the number of routers",
        );
    }
    if n * d % 2 == 1 {
        return refuse(
            format!("{n} routers of {d} links have {} ends: each link needs two", n * d),
            "make `routers` or `degree` even",
        );
    }
    if d == 0 && n > 1 || d == 1 && n > 2 {
        return refuse(format!("{n} routers of {d} links fall apart"), "choose a degree of 2 or more");
    }
    Sizes::within_limits(Some(Sizes { routers: n, terminals: n * p, ports: n * (d + p), ends: n }), "routers")
}

fn build(values: &Values) -> Result<Fabric, Vec<Problem>> {
    let sizes = sizes(values)?;
    let (degree, terminals) = (values.u32("degree"), values.u32("terminals_per_router"));
    let mut random = Stream::new(values.int("seed"), Purpose::Setup, 0);
    let mut graph = Graph::ring(sizes.routers as u32, degree);
    graph.mix(&mut random);
    if !graph.join(&mut random) {
        let message = "no connected graph was found with this seed";
        return Err(vec![Problem::new("seed", message).help("choose another one")]);
    }
    let mut wiring = Wiring::new((0..sizes.routers).map(|_| degree + terminals));
    graph.links.iter_mut().for_each(|(a, b)| (*a, *b) = ((*a).min(*b), (*a).max(*b)));
    graph.links.sort_unstable();
    // In this order each router meets the others in ascending order: first as the greater end, then as the lesser.
    let mut used = vec![0; sizes.routers as usize];
    for &(a, b) in &graph.links {
        wiring.link(LOCAL, (a, used[a as usize]), (b, used[b as usize]));
        used[a as usize] += 1;
        used[b as usize] += 1;
    }
    for (router, k) in (0..sizes.routers as u32).flat_map(|r| (0..terminals).map(move |k| (r, k))) {
        wiring.terminal(router, degree + k);
    }
    Ok(wiring.finish(TOPOLOGY.about.name, CLASSES, JellyfishShape { degree, terminals }))
}

/// A regular graph under way.
struct Graph {
    degree: usize,
    links: Vec<(u32, u32)>,
    /// The other ends of each router's links, `degree` per router, in no order.
    near: Vec<u32>,
}

impl Graph {
    /// Each of `n` routers linked to those up to `degree / 2` steps away around a ring, and to the opposite one if
    /// `degree` is odd.
    fn ring(n: u32, degree: u32) -> Self {
        let half = degree / 2;
        let mut links: Vec<(u32, u32)> =
            (0..n).flat_map(|r| (1..=half).map(move |step| (r, (r + step) % n))).collect();
        if degree % 2 == 1 {
            links.extend((0..n / 2).map(|r| (r, r + n / 2)));
        }
        let mut near = vec![Vec::new(); n as usize];
        for &(a, b) in &links {
            near[a as usize].push(b);
            near[b as usize].push(a);
        }
        Self { degree: degree as usize, links, near: near.concat() }
    }

    fn near(&self, router: u32) -> &[u32] {
        &self.near[router as usize * self.degree..][..self.degree]
    }

    /// Tries many swaps.
    fn mix(&mut self, random: &mut Stream) {
        // Of a complete graph no two links can be swapped.
        if self.near.len() == self.degree * (self.degree + 1) {
            return;
        }
        let count = self.links.len() as u64;
        for _ in 0..SWAPS_PER_LINK * count {
            let (i, k) = (random.below(count) as usize, random.below(count) as usize);
            let turn = random.below(2) == 1;
            self.swap(i, k, turn);
        }
    }

    /// Makes links (a, b) and (c, d) (or (d, c)) to (a, c) and (b, d), if that makes no loop and no double link.
    fn swap(&mut self, i: usize, k: usize, turn: bool) -> bool {
        let ((a, b), (c, d)) = (self.links[i], self.links[k]);
        let (c, d) = if turn { (d, c) } else { (c, d) };
        if i == k || a == c || b == d || self.near(a).contains(&c) || self.near(b).contains(&d) {
            return false;
        }
        for (router, old, new) in [(a, b, c), (b, a, d), (c, d, a), (d, c, b)] {
            let first = router as usize * self.degree;
            if let Some(end) = self.near[first..][..self.degree].iter_mut().find(|end| **end == old) {
                *end = new;
            }
        }
        (self.links[i], self.links[k]) = ((a, c), (b, d));
        true
    }

    /// Which part of the graph each router is in, and the number of parts.
    fn parts(&self, routers: usize) -> (Vec<u32>, u32) {
        let (mut part, mut parts) = (vec![u32::MAX; routers], 0);
        for start in 0..routers {
            if part[start] != u32::MAX {
                continue;
            }
            part[start] = parts;
            let mut open = vec![start as u32];
            while let Some(router) = open.pop() {
                for &peer in self.near(router) {
                    if part[peer as usize] == u32::MAX {
                        part[peer as usize] = parts;
                        open.push(peer);
                    }
                }
            }
            parts += 1;
        }
        (part, parts)
    }

    /// Joins the parts by swaps of a link of one with a link of another; such a swap never adds a part. False if that
    /// did not end well.
    fn join(&mut self, random: &mut Stream) -> bool {
        let routers = self.near.len().checked_div(self.degree).unwrap_or(1);
        let (mut part, mut parts) = self.parts(routers);
        for _ in 0..JOINS {
            if parts == 1 {
                return true;
            }
            let count = self.links.len() as u64;
            let first: Vec<usize> =
                (0..self.links.len()).filter(|&i| part[self.links[i].0 as usize] == 0).collect();
            let i = first[random.below(first.len() as u64) as usize];
            let k = random.below(count) as usize;
            if part[self.links[k].0 as usize] != 0 && self.swap(i, k, false) {
                (part, parts) = self.parts(routers);
            }
        }
        parts == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        metrics::diameter,
        registry::values,
        topology::testing::{links, peers, simple},
    };

    fn parameters(n: u64, d: u64, seed: u64) -> Values {
        let sample =
            [("routers", Constant::Int(n)), ("degree", Constant::Int(d)), ("seed", Constant::Int(seed))];
        values(TOPOLOGY.about.params, &sample)
    }

    #[test]
    fn always_simple_regular_and_connected() {
        for (n, d) in
            [(1, 0), (2, 1), (3, 2), (4, 3), (6, 2), (9, 2), (40, 2), (8, 7), (9, 4), (64, 3), (50, 7)]
        {
            for seed in 0..20 {
                let fabric = build(&parameters(n, d, seed)).unwrap();
                assert_eq!(links(&fabric), [n, n * d / 2]);
                assert!(simple(&fabric), "{n} {d} {seed}");
                assert!(diameter(&fabric).is_some(), "{n} {d} {seed}");
                for router in 0..n as u32 {
                    let near = peers(&fabric, router);
                    assert!(near.len() as u64 == d && near.is_sorted());
                }
            }
        }
    }

    #[test]
    fn the_seed_and_nothing_else_decides() {
        let ports = |seed| build(&parameters(64, 5, seed)).unwrap().ports().to_vec();
        assert!(ports(3) == ports(3) && ports(3) != ports(4));
    }

    #[test]
    fn all_rings_of_five_are_drawn_alike() {
        let mut counts = base::sorted::SortedMap::new();
        for seed in 0..3600 {
            let fabric = build(&parameters(5, 2, seed)).unwrap();
            let rows: Vec<Vec<u32>> = (0..5).map(|router| peers(&fabric, router)).collect();
            *counts.entry(rows).or_insert(0) += 1;
        }
        // (5 - 1)! / 2 rings of five labelled routers.
        assert_eq!(counts.len(), 12);
        assert!(counts.values().all(|n| (225..375).contains(n)), "{:?}", counts);
    }

    #[test]
    fn random_graphs_are_shallow() {
        // Moore's bound allows 1 + 8 + 56 + 392 routers within 3 links; a random graph of 200 needs no more than 4.
        let fabric = build(&parameters(200, 8, 1)).unwrap();
        assert!(matches!(diameter(&fabric), Some(3 | 4)));
    }

    #[test]
    fn impossible_degrees_are_refused() {
        for (n, d, word) in [(4, 4, "different"), (5, 3, "ends"), (4, 1, "apart"), (4, 0, "apart")] {
            let problems = sizes(&parameters(n, d, 1)).unwrap_err();
            assert_eq!(problems[0].key, "degree");
            assert!(problems[0].message.contains(word), "{problems:?}");
        }
        assert_eq!(sizes(&parameters(1 << 24, 1 << 10, 1)).unwrap_err()[0].key, "routers");
    }
}
