//! The solver against water filling flow by flow, without sharers, lists or memory.

use super::*;
use proptest::prelude::*;

/// One flow of the definition.
#[derive(Clone, Debug)]
struct Plain {
    uses: Vec<(usize, f64)>,
    weight: f64,
    cap: f64,
}

/// Raises all levels together; whoever meets a full link or its cap stays there.
fn brute(links: &[f64], flows: &[Plain]) -> Vec<f64> {
    let mut share = vec![None; flows.len()];
    while share.iter().any(Option::is_none) {
        let mut level = f64::INFINITY;
        let mut at = vec![f64::INFINITY; links.len()];
        for (l, &capacity) in links.iter().enumerate() {
            let (mut left, mut open) = (capacity, 0f64);
            for (f, fixed) in flows.iter().zip(&share) {
                let used: f64 = f.uses.iter().filter(|u| u.0 == l).map(|u| u.1).sum();
                match fixed {
                    Some(x) => left -= used * x,
                    None => open += used * f.weight,
                }
            }
            if open > 0.0 {
                at[l] = left.max(0.0) / open;
                level = level.min(at[l]);
            }
        }
        for (f, fixed) in flows.iter().zip(&share) {
            if fixed.is_none() {
                level = level.min(f.cap / f.weight);
            }
        }
        let slack = level * 1.5e-14;
        for (f, fixed) in flows.iter().zip(&mut share) {
            let full = f.uses.iter().any(|u| u.1 > 0.0 && at[u.0] <= level + slack);
            if fixed.is_none() && (full || f.cap / f.weight <= level + slack || level == f64::INFINITY) {
                *fixed = Some(level * f.weight);
            }
        }
    }
    share.into_iter().map(|x| x.unwrap_or(0.0)).collect()
}

/// What happens to a solver.
#[derive(Clone, Debug)]
enum Change {
    Add { route: Vec<(usize, f64)>, weight: f64, cap: f64 },
    Remove(usize),
    Count(usize, u32),
    Weight(usize, f64),
    Cap(usize, f64),
    Capacity(usize, f64),
}

const LINKS: usize = 9;

fn capacity() -> impl Strategy<Value = f64> {
    prop_oneof![Just(1e9), Just(2e9), 1e-3f64..1.0, 1.0f64..1e10]
}

fn weight() -> impl Strategy<Value = f64> {
    prop_oneof![3 => Just(1.0), 1 => 0.1f64..10.0, 1 => Just(1e3)]
}

fn change() -> impl Strategy<Value = Change> {
    let usage = prop_oneof![4 => Just(1.0), 1 => Just(0.05), 1 => Just(1.05)];
    let route = proptest::collection::vec((0..LINKS, usage), 1..5);
    let cap = prop_oneof![3 => Just(f64::INFINITY), 1 => 1e-2f64..1e9];
    prop_oneof![
        5 => (route, weight(), cap).prop_map(|(route, weight, cap)| Change::Add { route, weight, cap }),
        3 => any::<usize>().prop_map(Change::Remove),
        1 => (any::<usize>(), 1u32..5).prop_map(|(n, c)| Change::Count(n, c)),
        1 => (any::<usize>(), weight()).prop_map(|(n, w)| Change::Weight(n, w)),
        1 => (any::<usize>(), prop_oneof![Just(f64::INFINITY), 1e-2f64..1e9]).prop_map(|(n, c)| Change::Cap(n, c)),
        1 => (0..LINKS, capacity()).prop_map(|(l, c)| Change::Capacity(l, c)),
    ]
}

fn close(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

/// A solution by following the change, even where nobody meets; none if that was given up.
fn follow(mut solver: Solver) -> Option<Solver> {
    solver.epoch += 1;
    solver.water = 0.0;
    solver.changed.clear();
    solver.solve_changed().then_some(solver)
}

/// Levels, and who is listed as changed. Of several links that would be full at the same level any may be the one that limits.
fn bits(solver: &Solver) -> (Vec<u64>, Vec<u32>) {
    let active = solver.sharers.iter().filter(|s| s.count > 0);
    (active.map(|s| s.level.to_bits()).collect(), solver.changed.clone())
}

/// Both solvers under the same changes.
struct Pair {
    links: Vec<f64>,
    solver: Solver,
    active: Vec<(u32, u32, Plain)>,
    /// Which of 64 solutions in turn find all levels anew.
    whole: u64,
}

impl Pair {
    fn new(links: &[f64], whole: u64) -> Self {
        let mut solver = Solver::new();
        for &capacity in links {
            solver.link(capacity);
        }
        Self { links: links.to_vec(), solver, active: Vec::new(), whole }
    }

    fn apply(&mut self, change: &Change) {
        let pick = |n: usize, active: &[(u32, u32, Plain)]| (!active.is_empty()).then(|| n % active.len());
        match change {
            Change::Add { route, weight, cap } => {
                let uses = route.iter().map(|&(l, u)| (l as u32, u));
                let row = self.solver.add(uses, *weight, *cap);
                self.active.push((row, 1, Plain { uses: route.clone(), weight: *weight, cap: *cap }));
            }
            Change::Remove(n) => {
                if let Some(n) = pick(*n, &self.active) {
                    let (row, _, _) = self.active.swap_remove(n);
                    self.solver.set_count(row, 0);
                }
            }
            Change::Count(n, count) => {
                if let Some(n) = pick(*n, &self.active) {
                    self.active[n].1 = *count;
                    self.solver.set_count(self.active[n].0, *count);
                }
            }
            Change::Weight(n, weight) => {
                if let Some(n) = pick(*n, &self.active) {
                    self.active[n].2.weight = *weight;
                    self.solver.set_weight(self.active[n].0, *weight);
                }
            }
            Change::Cap(n, cap) => {
                if let Some(n) = pick(*n, &self.active) {
                    self.active[n].2.cap = *cap;
                    self.solver.set_cap(self.active[n].0, *cap);
                }
            }
            Change::Capacity(link, capacity) => {
                self.links[*link] = *capacity;
                self.solver.set_capacity(*link as u32, *capacity);
            }
        }
    }

    /// Shares agree, and whoever is not listed as changed kept its share to the bit.
    fn check(&mut self) -> Result<(), TestCaseError> {
        let before: Vec<f64> = self.active.iter().map(|l| self.solver.share(l.0)).collect();
        self.solver.whole = self.whole & 1 > 0;
        self.whole = self.whole.rotate_right(1);
        let followed = (!self.solver.whole).then(|| follow(self.solver.clone()));
        let mut changed = self.solver.solve().to_vec();
        match followed {
            Some(Some(followed)) => prop_assert_eq!(bits(&followed), bits(&self.solver)),
            Some(None) => prop_assert!(self.links.len() > LINKS, "changes of a few are not given up"),
            None => {}
        }
        let listed = changed.len();
        changed.sort_unstable();
        changed.dedup();
        prop_assert_eq!(listed, changed.len());
        let mut flows = Vec::new();
        for (_, count, plain) in &self.active {
            flows.extend(std::iter::repeat_n(plain.clone(), *count as usize));
        }
        let exact = brute(&self.links, &flows);
        let mut at = 0;
        for ((row, count, plain), before) in self.active.iter().zip(before) {
            let share = self.solver.share(*row);
            // What others leave of a large link is known to the digits of that link.
            let large = plain.uses.iter().map(|u| self.links[u.0]).fold(0.0, f64::max);
            let close = close(share, exact[at]) || (share - exact[at]).abs() <= 1e-14 * large;
            prop_assert!(close, "{share} {} {plain:?} {:?}", exact[at], self.links);
            prop_assert!(changed.binary_search(row).is_ok() || share.to_bits() == before.to_bits());
            at += *count as usize;
        }
        for (l, &capacity) in self.links.iter().enumerate() {
            prop_assert!(self.solver.load(l as u32) <= capacity * (1.0 + 1e-9));
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// After every change, and after several at once.
    #[test]
    fn agrees_with_the_definition(
        links in proptest::collection::vec(capacity(), LINKS),
        changes in proptest::collection::vec((change(), any::<bool>()), 1..60),
        whole in any::<u64>(),
    ) {
        let mut pair = Pair::new(&links, whole);
        for (change, solve) in &changes {
            pair.apply(change);
            if *solve {
                pair.check()?;
            }
        }
        pair.check()?;
    }

    /// Equal capacities and weights make ties everywhere.
    #[test]
    fn ties_are_no_trouble(
        changes in proptest::collection::vec((proptest::collection::vec(0..LINKS, 1..4), any::<u8>()), 1..60),
        whole in any::<u64>(),
    ) {
        let mut pair = Pair::new(&[12.0; LINKS], whole);
        for (route, kind) in &changes {
            if *kind < 100 {
                pair.apply(&Change::Remove(usize::from(*kind)));
            } else {
                let route = route.iter().map(|&l| (l, 1.0)).collect();
                pair.apply(&Change::Add { route, weight: 1.0, cap: f64::INFINITY });
            }
            pair.check()?;
        }
    }
}

/// Blocks of links that are mostly used alike, in routes that are proposed or not.
fn divided() -> impl Strategy<Value = (Vec<(usize, f64)>, bool)> {
    let blocks = proptest::collection::vec((0..4usize, prop_oneof![Just(0.5), Just(0.25)]), 1..4);
    let odd = proptest::option::weighted(0.2, (0..12usize, Just(0.125)));
    (blocks, odd, any::<bool>()).prop_map(|(mut blocks, odd, proposed)| {
        blocks.sort_by_key(|b| b.0);
        blocks.dedup_by_key(|b| b.0);
        let all =
            blocks.into_iter().flat_map(|(block, usage)| (3 * block..3 * block + 3).map(move |l| (l, usage)));
        let mut route: Vec<(usize, f64)> = all.filter(|u| odd.is_none_or(|o| o.0 != u.0)).collect();
        route.extend(odd);
        (route, proposed)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// Groups that are made, split and taken apart change no share.
    #[test]
    fn links_that_are_used_alike_are_as_each_by_itself(
        changes in proptest::collection::vec((divided(), change(), 0..4u8), 1..60),
        whole in any::<u64>(),
    ) {
        let mut pair = Pair::new(&[12.0; 12], whole);
        for ((route, proposed), change, kind) in &changes {
            match (kind, change) {
                (0, Change::Add { .. }) | (1.., _) => {
                    let uses: Vec<(u32, f64)> = route.iter().map(|&(l, u)| (l as u32, u)).collect();
                    if *proposed {
                        pair.solver.unite(&uses);
                    }
                    pair.apply(&Change::Add { route: route.clone(), weight: 1.0, cap: f64::INFINITY });
                }
                (0, _) => pair.apply(change),
            }
            pair.check()?;
        }
    }
}

/// A group that a route divides and that is not split: the comparison with water filling shows it.
#[test]
fn a_group_that_is_not_split_is_found() {
    let add = |links: std::ops::Range<usize>, usage: f64| Change::Add {
        route: links.map(|l| (l, usage)).collect(),
        weight: 1.0,
        cap: f64::INFINITY,
    };
    for planted in [false, true] {
        let mut pair = Pair::new(&[12.0; 4], 0);
        pair.solver.unite(&[(0, 0.25), (1, 0.25), (2, 0.25), (3, 0.25)]);
        pair.apply(&add(0..4, 0.25));
        assert!(pair.check().is_ok());
        if planted {
            pair.solver.alike.groups[0].clear();
        }
        pair.apply(&add(3..4, 1.0));
        assert_eq!(pair.check().is_err(), planted);
    }
}

/// Groups last as long as everybody takes all of their links alike.
#[test]
fn groups_split_for_good() {
    let mut solver = Solver::new();
    for _ in 0..8 {
        solver.link(12.0);
    }
    let uses = |links: std::ops::Range<u32>, usage: f64| links.map(move |l| (l, usage)).collect::<Vec<_>>();
    let all = uses(0..8, 0.25);
    solver.unite(&all);
    let first = solver.add(all.iter().copied(), 1.0, f64::INFINITY);
    solver.solve();
    assert_eq!((solver.spared(), solver.share(first), solver.load(7)), (7, 48.0, 12.0));
    let second = solver.add(uses(0..4, 0.5), 1.0, f64::INFINITY);
    solver.solve();
    assert_eq!((solver.spared(), solver.share(first), solver.share(second)), (6, 16.0, 16.0));
    assert_eq!((solver.load(3), solver.load(5)), (12.0, 4.0));
    solver.set_capacity(6, 2.0);
    solver.solve();
    assert_eq!((solver.spared(), solver.share(first), solver.share(second)), (5, 8.0, 20.0));
    for sharer in [first, second] {
        solver.set_count(sharer, 0);
    }
    solver.unite(&all);
    assert_eq!(solver.spared(), 5, "what was used is not united again");
    let visits = solver.visits;
    let third = solver.add(uses(0..4, 0.25), 1.0, f64::INFINITY);
    solver.solve();
    assert_eq!(solver.share(third), 48.0);
    assert!(solver.visits - visits <= 4, "one link in place of four");
}

#[test]
fn a_single_flow_costs_its_route_whatever_else_there_is() {
    let mut solver = Solver::new();
    for _ in 0..10_000 {
        solver.link(1e9);
    }
    for n in 0..2_000 {
        solver.add([(3 * n, 1.0), (3 * n + 1, 1.0)], 1.0, f64::INFINITY);
    }
    solver.solve();
    let before = solver.visits;
    let isolated = solver.add((9_000..9_005).map(|l| (l, 1.0)), 1.0, f64::INFINITY);
    assert_eq!(solver.solve(), [isolated]);
    assert!(solver.visits - before <= 10, "{}", solver.visits - before);
    assert_eq!(solver.share(isolated), 1e9);
}

#[test]
fn nine_orders_of_magnitude_keep_their_digits() {
    let mut solver = Solver::new();
    let (slow, fast) = (solver.link(1.0), solver.link(1e9));
    let a = solver.add([(slow, 1.0), (fast, 1.0)], 1.0, f64::INFINITY);
    let b = solver.add([(fast, 1.0)], 1.0, f64::INFINITY);
    solver.solve();
    assert_eq!((solver.share(a), solver.share(b)), (1.0, 999_999_999.0));
    // Weights too: a flow without latency beside one with 1 ns, as one link's only users.
    let link = solver.link(1e9);
    let light = solver.add([(link, 1.0)], 1.0, f64::INFINITY);
    let heavy = solver.add([(link, 1.0)], 1e9, f64::INFINITY);
    solver.solve();
    assert!(close(solver.share(light), 1e9 / 1_000_000_001.0));
    assert!(close(solver.share(heavy), 1e18 / 1_000_000_001.0));
    solver.set_count(heavy, 0);
    solver.solve();
    assert_eq!(solver.share(light), 1e9);
}

#[test]
fn a_flow_without_links_has_its_cap() {
    let mut solver = Solver::new();
    let capped = solver.add([], 1.0, 5.0);
    let free = solver.add([], 1.0, f64::INFINITY);
    solver.solve();
    assert_eq!((solver.share(capped), solver.share(free)), (5.0, f64::INFINITY));
}

/// Flows that all meet are soon solved all at once, and lone ones not.
/// A sharer comes and goes before its share is found, and its row is that of one that stays detached: it has the share that it has there, however others are
/// found.
#[test]
fn the_row_of_a_detached_sharer_is_left_alone() {
    for others in [0, 2, 40] {
        let mut solver = Solver::new();
        (0..4).for_each(|_| _ = solver.link(1e9));
        for n in 0..others {
            solver.add([(n % 2, 1.0)], 1.0, f64::INFINITY);
        }
        let first = solver.add([(0, 1.0), (2, 1.0)], 1.0, f64::INFINITY);
        solver.set_count(first, 0);
        let detached = solver.add_detached(&[(3, 1.0)], 1.0, f64::INFINITY);
        assert_eq!(first, detached, "the row is used again");
        assert_eq!(solver.share_detached(detached, &[(3, 1.0)]), 1e9);
        assert!(!solver.solve().contains(&detached), "{others} others");
        assert_eq!(solver.share(detached), 1e9, "{others} others");
    }
}

#[test]
fn what_changes_cost_decides_how_levels_are_found() {
    let mut solver = Solver::new();
    for _ in 0..64 {
        solver.link(1e9);
    }
    let route = |n: u32| [(n / 32, 1.0), (32 + n % 32, 1.0)];
    let all: Vec<u32> = (0..1024).map(|n| solver.add(route(n), 1.0, f64::INFINITY)).collect();
    solver.solve();
    assert!(!solver.whole, "a first solution tells nothing");
    let mut whole = 0;
    for n in 0..64 {
        solver.set_count(all[n * 37 % 1024], 0);
        solver.solve();
        whole += u32::from(solver.whole);
    }
    assert!(whole > 32, "{whole}");
    let alone = solver.link(1e9);
    for _ in 0..40 {
        let isolated = solver.add([(alone, 1.0)], 1.0, f64::INFINITY);
        solver.solve();
        assert_eq!(solver.share(isolated), 1e9);
        solver.set_count(isolated, 0);
    }
    assert!(!solver.whole);
}

/// Hundreds of sharers on a hundred links, followed through thousands of changes: shares stay those of all levels found anew.
#[test]
fn a_long_history_changes_nothing() {
    let draw = |n: u64, below: u64| base::hash::mix64(n) % below;
    let mut solver = Solver::new();
    for n in 0..100u64 {
        solver.link(1e9 * (1.0 + draw(n, 3) as f64));
    }
    let mut alive: Vec<u32> = Vec::new();
    let mut followed = 0;
    for step in 0..4_000u64 {
        let dice = |what: u64, below: u64| draw(step << 8 | what | 1 << 40, below);
        if alive.len() < 300 || (alive.len() < 900 && dice(0, 2) > 0) {
            let route: Vec<(u32, f64)> =
                (0..2 + dice(1, 4)).map(|l| (dice(10 + l, 100) as u32, 1.0)).collect();
            let cap = if dice(2, 4) > 0 { f64::INFINITY } else { 1e6 * (1 + dice(3, 100)) as f64 };
            alive.push(solver.add(route, [1.0, 1.0, 2.5][dice(4, 3) as usize], cap));
        } else {
            let gone = alive.swap_remove(dice(5, alive.len() as u64) as usize);
            solver.set_count(gone, 0);
        }
        let mut anew = solver.clone();
        anew.whole = true;
        anew.solve();
        solver.whole = step % 500 == 0;
        followed += u32::from(!solver.whole);
        solver.solve();
        for &sharer in &alive {
            let (a, b) = (solver.share(sharer), anew.share(sharer));
            assert!((a - b).abs() <= 1e-9 * b, "{step}: {a} {b}");
        }
    }
    assert!(followed > 3_900);
}
