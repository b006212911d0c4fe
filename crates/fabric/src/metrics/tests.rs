use super::{
    reach::{neighbours, spread},
    *,
};
use crate::registry::{Constant, TOPOLOGIES, values};
use base::{
    index::{LinkId, RouterId, TerminalId},
    registry::find,
};

fn build(topology: &str, sample: &[(&str, Constant)]) -> Fabric {
    let entry = find(TOPOLOGIES, topology).expect("registered");
    (entry.build)(&values(entry.about.params, sample)).expect("possible")
}

fn grid(topology: &str, dims: &'static [u64]) -> Fabric {
    build(topology, &[("dims", Constant::Ints(dims))])
}

fn dragonfly([g, a, p, h]: [u64; 4]) -> Fabric {
    let sample = [
        ("groups", Constant::Int(g)),
        ("routers_per_group", Constant::Int(a)),
        ("terminals_per_router", Constant::Int(p)),
        ("global_ports_per_router", Constant::Int(h)),
    ];
    build("dragonfly", &sample)
}

fn jellyfish(routers: u64, degree: u64, seed: u64) -> Fabric {
    let sample = [
        ("routers", Constant::Int(routers)),
        ("degree", Constant::Int(degree)),
        ("seed", Constant::Int(seed)),
    ];
    build("jellyfish", &sample)
}

/// Distances one source at a time.
fn plain(fabric: &Fabric) -> (Option<u32>, Vec<u64>) {
    let mut histogram = vec![0; fabric.routers() as usize + 1];
    let mut whole = true;
    for s in TerminalId::first(fabric.terminals()) {
        let from = distances(fabric, fabric.router_at(s));
        for t in TerminalId::first(fabric.terminals()).filter(|&t| t != s) {
            match from[fabric.router_at(t)] {
                u32::MAX => whole = false,
                d => histogram[d as usize] += 1,
            }
        }
    }
    while histogram.last() == Some(&0) {
        histogram.pop();
    }
    (whole.then(|| (histogram.len() as u32).saturating_sub(1)), histogram)
}

#[test]
fn sixty_four_searches_at_once_find_what_one_finds() {
    for entry in TOPOLOGIES {
        for sample in entry.small {
            let fabric = (entry.build)(&values(entry.about.params, sample)).unwrap();
            let (diameter, mut histogram) = plain(&fabric);
            let fast = all_distances(&fabric, u64::MAX);
            if histogram.is_empty() {
                histogram.push(0);
            }
            assert_eq!(
                (fast.diameter, &fast.histogram),
                (diameter, &histogram),
                "{} {sample:?}",
                entry.about.name
            );
            assert_eq!(fast.sources, fast.routers);
        }
    }
}

#[test]
fn networks_larger_than_a_word_and_those_in_two_parts() {
    let mut fabric = grid("mesh", &[10, 13]);
    let fast = all_distances(&fabric, u64::MAX);
    assert_eq!((fast.diameter, fast.histogram.clone()), plain(&fabric));
    // A mesh's mean distance over pairs of different routers is the sum of (n^2 - 1) / (3 n), times N / (N - 1).
    let expected = (99.0 / 30.0 + 168.0 / 39.0) * 130.0 / 129.0;
    assert!((fast.mean - expected).abs() < 1e-12, "{} {expected}", fast.mean);
    // Cut between columns 4 and 5 of dimension 0.
    let mut parts = fabric.parts().clone();
    for port in 0..fabric.router_ports() {
        let router = fabric.router_of(LinkId::new(port));
        if let Peer::Router { router: peer, .. } = fabric.port(LinkId::new(port)).peer
            && (router.number() % 10 < 5) != (peer.number() % 10 < 5)
        {
            parts.ports[LinkId::new(port)].peer = Peer::None;
        }
    }
    fabric = parts.into();
    let fast = all_distances(&fabric, u64::MAX);
    assert_eq!((fast.diameter, fast.histogram), plain(&fabric));
    assert_eq!(fast.diameter, None);
    assert!(shortest_paths(&fabric, u64::MAX).unwrap().least < 0.5, "some pairs have no path");
}

#[test]
fn a_small_budget_takes_some_sources_and_says_so() {
    let fabric = grid("torus", &[20, 20]);
    let all = all_distances(&fabric, u64::MAX);
    let some = all_distances(&fabric, 1);
    assert_eq!((all.sources, some.sources, some.routers), (400, 64, 400));
    // All routers of a torus see the same network.
    assert!((all.mean - some.mean).abs() < 1e-12 && all.diameter == some.diameter);
    assert_eq!(shortest_paths(&fabric, 1).unwrap().sources, 1);
    assert_eq!(disjoint_paths(&fabric, 1).unwrap().pairs, 1);
}

/// On large networks cuts stay as they start: still a bound from above, and on grids the right one.
#[test]
fn coarse_bisections_are_bounds_and_say_so() {
    for dims in [&[8, 6][..], &[4, 4, 4]] {
        let torus = grid("torus", dims);
        let (fine, coarse) = (bisection(&torus).unwrap(), super::bisection::bounded(&torus, 0).unwrap());
        assert!(fine.improved && !coarse.improved);
        assert_eq!((fine.cables, fine.halves), (coarse.cables, coarse.halves), "{dims:?}");
    }
    let random = jellyfish(60, 5, 2);
    let (fine, coarse) = (bisection(&random).unwrap(), super::bisection::bounded(&random, 0).unwrap());
    assert!(coarse.cables >= fine.cables && coarse.halves[0].abs_diff(coarse.halves[1]) <= 1);
}

#[test]
fn bisections_equal_their_closed_forms() {
    let cut = |fabric: &Fabric| bisection(fabric).unwrap().cables;
    assert_eq!(cut(&grid("mesh", &[8, 8])), 8);
    assert_eq!(cut(&grid("mesh", &[4, 6, 4])), 16);
    assert_eq!(cut(&grid("torus", &[8, 8])), 16);
    assert_eq!(cut(&grid("torus", &[6, 4])), 8);
    assert_eq!(cut(&grid("hyperx", &[4, 4])), 16);
    assert_eq!(cut(&grid("hyperx", &[8])), 16);
    assert_eq!(cut(&build("hypercube", &[("dimensions", Constant::Int(6))])), 32);
    assert_eq!(cut(&build("flattened-butterfly", &[("k", Constant::Int(4)), ("n", Constant::Int(3))])), 16);
    for (k, n) in [(2u64, 3u64), (2, 4), (4, 2), (4, 3)] {
        let tree = build("fat-tree", &[("k", Constant::Int(k)), ("levels", Constant::Int(n))]);
        assert_eq!(cut(&tree), k.pow(n as u32) / 2, "full bisection, k = {k}, n = {n}");
    }
    // Half the parents at level 2: half the bandwidth.
    let slim = [("children", Constant::Ints(&[4, 4])), ("parents", Constant::Ints(&[1, 2]))];
    assert_eq!(cut(&build("xgft", &slim)), 4);
    // Two groups: nothing but the links between them.
    let two = bisection(&dragonfly([2, 4, 2, 1])).unwrap();
    assert_eq!((two.cables, two.halves), (4, [8, 8]));
    assert_eq!(two.classes, [("terminal", 0), ("local", 0), ("global", 4)]);
    // Each of 4 groups of 4 routers on one side: 2 x 2 pairs of groups with 5 links each.
    assert!(cut(&dragonfly([4, 4, 2, 4])) <= 4 * 5);
}

/// The least over all halves of at most 12 routers with one terminal each.
fn least_cut(fabric: &Fabric) -> u64 {
    let n = fabric.routers();
    let cut = |mask: u32| {
        let here = |r: u32| mask >> r & 1 == 1;
        let leaving =
            |r: u32| neighbours(fabric, RouterId::new(r)).filter(|&p| !here(p.number())).count() as u64;
        (0..n).filter(|&r| here(r)).map(leaving).sum::<u64>()
    };
    (0..1u32 << n).filter(|mask| mask.count_ones() == n / 2).map(cut).min().unwrap()
}

#[test]
fn small_random_graphs_are_cut_at_their_narrowest() {
    for seed in 0..12 {
        for (n, d) in [(10, 3), (12, 3), (11, 4)] {
            let fabric = jellyfish(n, d, seed);
            let found = bisection(&fabric).unwrap();
            let [a, b] = found.halves;
            assert!(a.abs_diff(b) <= 1 && a + b == n);
            assert_eq!(found.cables, least_cut(&fabric), "{n} routers, degree {d}, seed {seed}");
        }
    }
}

#[test]
fn shortest_paths_are_counted() {
    // Between corners of a hypercube at distance d there are d! ways.
    let cube = build("hypercube", &[("dimensions", Constant::Int(3))]);
    let counted = shortest_paths(&cube, u64::MAX).unwrap();
    assert_eq!((counted.mean, counted.least, counted.sources), ((3.0 + 3.0 * 2.0 + 6.0) / 7.0, 1.0, 8));
    // Parallel cables are paths of their own: 2 along one dimension, 2 orders of 2 x 2 along both.
    let sample = [("dims", Constant::Ints(&[2, 2])), ("cables", Constant::Ints(&[2, 2]))];
    let mean = |fabric: &Fabric| shortest_paths(fabric, u64::MAX).unwrap().mean;
    assert!((mean(&build("hyperx", &sample)) - 4.0).abs() < 1e-12);
    // k^2 nearest common ancestors at the top of a tree of three levels.
    let tree = build("fat-tree", &[("k", Constant::Int(3)), ("levels", Constant::Int(3))]);
    assert!((mean(&tree) - (2.0 * 3.0 + 6.0 * 9.0) / 8.0).abs() < 1e-12);
}

#[test]
fn disjoint_paths_are_as_many_as_links_of_a_regular_graph() {
    for (fabric, expected) in [
        (grid("torus", &[4, 4]), 4),
        (build("hypercube", &[("dimensions", Constant::Int(5))]), 5),
        (grid("hyperx", &[3, 4]), 5),
        (build("slim-fly", &[("q", Constant::Int(5))]), 7),
    ] {
        let found = disjoint_paths(&fabric, u64::MAX).unwrap();
        assert_eq!((found.least, found.mean), (expected, f64::from(expected)), "{}", fabric.topology());
        assert!(
            found.pairs == 64
                || u64::from(found.pairs) == u64::from(fabric.routers() * (fabric.routers() - 1) / 2)
        );
    }
    // From corner to corner of a mesh 2, elsewhere more.
    let mesh = disjoint_paths(&grid("mesh", &[3, 3]), u64::MAX).unwrap();
    assert!(mesh.least == 2 && mesh.mean > 2.0 && mesh.pairs == 36);
}

/// Menger: as many as the cables of the narrowest cut between the two. Second opinion: all cuts of small networks, some with parallel cables.
#[test]
fn disjoint_paths_are_as_many_as_the_narrowest_cut_has_cables() {
    let parallel = [("dims", Constant::Ints(&[2, 4])), ("cables", Constant::Ints(&[3, 2]))];
    let random = (0..8).flat_map(|seed| [jellyfish(10, 3, seed), jellyfish(9, 4, seed)]);
    for fabric in random.chain([build("hyperx", &parallel), dragonfly([2, 4, 1, 3]), grid("mesh", &[2, 5])]) {
        let n = fabric.routers();
        let leaving = |mask: u32| {
            let here = |r: &u32| mask >> r & 1 == 1;
            let out = |r| neighbours(&fabric, RouterId::new(r)).filter(|p| !here(&p.number())).count() as u32;
            (0..n).filter(here).map(out).sum::<u32>()
        };
        let cuts: Vec<u32> = (0..1u32 << n).map(leaving).collect();
        let cut = |(a, b): (u32, u32)| {
            let apart = (0..1u32 << n).filter(|mask| mask >> a & 1 == 1 && mask >> b & 1 == 0);
            apart.map(|mask| cuts[mask as usize]).min().unwrap()
        };
        let all: Vec<u32> = (1..n).flat_map(|a| (0..a).map(move |b| (a, b))).map(cut).collect();
        let found = disjoint_paths(&fabric, u64::MAX).unwrap();
        assert_eq!((found.pairs as usize, Some(found.least)), (all.len(), all.iter().min().copied()));
        let mean = f64::from(all.iter().sum::<u32>()) / all.len() as f64;
        assert!((found.mean - mean).abs() < 1e-12, "{}: {} for {mean}", fabric.topology(), found.mean);
    }
}

#[test]
fn cost_counts_cables_and_ports() {
    let metrics = measure(&dragonfly([9, 4, 2, 2]));
    assert_eq!((metrics.routers, metrics.terminals, metrics.radix, metrics.unplugged), (36, 72, 7, 0));
    assert_eq!(metrics.cables, [("terminal", 72), ("local", 54), ("global", 36)]);
    assert_eq!(metrics.distances.diameter, Some(3));
    assert_eq!(metrics.switches, [(7, 36)]);
    // Two levels of routers with eight ports, a top with four.
    let tree = build("fat-tree", &[("k", Constant::Int(4)), ("levels", Constant::Int(3))]);
    assert_eq!(measure(&tree).switches, [(4, 16), (8, 32)]);
    let mesh = measure(&grid("mesh", &[4, 3]));
    assert_eq!((mesh.cables[1].1, mesh.unplugged), (17, 14));
    // One router with all terminals: nothing to cut, nothing to go.
    let switch = measure(&build("single-switch", &[("terminals", Constant::Int(5))]));
    assert_eq!((switch.distances.diameter, switch.distances.mean), (Some(0), 0.0));
    assert_eq!((switch.bisection, switch.shortest, switch.disjoint), (None, None, None));
}

#[test]
fn an_order_visits_each_number_once() {
    for n in 0..200 {
        let mut order: Vec<usize> = spread(n).collect();
        order.sort_unstable();
        assert_eq!(order, (0..n).collect::<Vec<_>>());
    }
}

#[test]
fn the_same_fabric_gives_the_same_numbers() {
    let fabric = jellyfish(100, 6, 3);
    assert_eq!(measure(&fabric), measure(&fabric));
}
