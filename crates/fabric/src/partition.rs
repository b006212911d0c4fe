//! Routers in parts of about equal load with few links between them, for threads that share the work.
//!
//! Routers are lined up, by number and by breadth-first search, and the line is cut into pieces of equal weight; then routers at the
//! borders go over to a neighbouring part as long as that saves links and keeps the balance (the gain of Kernighan and Lin 1970 for
//! single moves, as Fiduccia and Mattheyses 1982). The better of the two lines is taken. Costs a few passes over the links.

use crate::graph::Fabric;
use base::index::{Column, RouterId};

/// Passes over the borders at most.
const PASSES: usize = 8;

/// The part of each router, from 0; no part is empty if a plane has as many routers as parts. A router and its likes in the other
/// planes are in one part, since they share terminals.
///
/// A router weighs as much as it has links: what it does grows with the chunks that pass it.
#[must_use]
pub fn split(fabric: &Fabric, parts: u32) -> Column<RouterId, u32> {
    let routers = fabric.routers_per_plane();
    let parts = parts.clamp(1, routers.max(1));
    if parts == 1 {
        return Column::filled(fabric.routers() as usize, 0);
    }
    let weights: Column<RouterId, u64> =
        RouterId::first(routers).map(|r| 1 + fabric.ports_of(r).len() as u64).collect();
    let lines = [RouterId::first(routers).collect(), breadth_first(fabric)];
    let pieces = lines.map(|line: Vec<RouterId>| {
        let mut of = cut(&line, &weights, parts);
        refine(fabric, &weights, parts, &mut of);
        of
    });
    let [by_number, by_search] = pieces;
    let searched = links_between(fabric, &by_search) < links_between(fabric, &by_number);
    let plane = if searched { by_search } else { by_number };
    plane.cells().iter().copied().cycle().take(fabric.routers() as usize).collect()
}

/// Number of directed links of the first plane between routers of different parts.
#[must_use]
pub fn links_between(fabric: &Fabric, of: &Column<RouterId, u32>) -> u64 {
    let cut = |r: &RouterId| fabric.neighbours(*r).filter(|&(_, n)| of[n] != of[*r]).count();
    RouterId::first(fabric.routers_per_plane()).map(|r| cut(&r) as u64).sum()
}

/// Routers as a search finds them that starts at a router far from the first; what is not connected follows.
fn breadth_first(fabric: &Fabric) -> Vec<RouterId> {
    let far = search(fabric, RouterId::new(0)).last().copied().unwrap_or_default();
    let mut line = search(fabric, far);
    let mut found = Column::filled(fabric.routers_per_plane() as usize, false);
    line.iter().for_each(|&r| found[r] = true);
    line.extend(RouterId::first(fabric.routers_per_plane()).filter(|&r| !found[r]));
    line
}

fn search(fabric: &Fabric, from: RouterId) -> Vec<RouterId> {
    let mut found = Column::filled(fabric.routers_per_plane() as usize, false);
    let mut line = Vec::with_capacity(found.len());
    let mut reach = |r: RouterId, line: &mut Vec<RouterId>| {
        if !std::mem::replace(&mut found[r], true) {
            line.push(r);
        }
    };
    reach(from, &mut line);
    let mut at = 0;
    while at < line.len() {
        for (_, next) in fabric.neighbours(line[at]) {
            reach(next, &mut line);
        }
        at += 1;
    }
    line
}

/// Cuts a line of routers into pieces of equal weight, none empty.
fn cut(line: &[RouterId], weights: &Column<RouterId, u64>, parts: u32) -> Column<RouterId, u32> {
    let total: u64 = weights.cells().iter().sum();
    let (mut part, mut sum) = (0, 0);
    let mut of = Column::filled(line.len(), 0);
    for (place, &router) in line.iter().enumerate() {
        let half = weights[router] / 2;
        let full = (sum + half) * u64::from(parts) >= total * u64::from(part + 1);
        let forced = (line.len() - place) as u32 + part + 1 == parts;
        if place > 0 && part + 1 < parts && (full || forced) {
            part += 1;
        }
        sum += weights[router];
        of[router] = part;
    }
    of
}

/// Moves routers over borders while that saves links; no part gets lighter than 31/32 or heavier than 33/32 of its share by it.
fn refine(fabric: &Fabric, weights: &Column<RouterId, u64>, parts: u32, of: &mut Column<RouterId, u32>) {
    let mut sums = vec![0u64; parts as usize];
    of.cells().iter().zip(weights.cells()).for_each(|(&p, w)| sums[p as usize] += w);
    let share = weights.cells().iter().sum::<u64>() / u64::from(parts);
    let (least, most) = (share - share / 32, share + share / 32);
    let mut links: Vec<(u32, u32)> = Vec::new();
    for _ in 0..PASSES {
        let mut moved = false;
        for router in RouterId::first(fabric.routers_per_plane()) {
            let (own, weight) = (of[router], weights[router]);
            links.clear();
            for (_, next) in fabric.neighbours(router) {
                let part = of[next];
                match links.iter_mut().find(|l| l.0 == part) {
                    Some(link) => link.1 += 1,
                    None => links.push((part, 1)),
                }
            }
            let kept = links.iter().find(|l| l.0 == own).map_or(0, |l| l.1);
            let fits = |p: u32| sums[p as usize] + weight <= most && sums[own as usize] >= least + weight;
            let better = links.iter().filter(|&&(p, n)| p != own && n > kept && fits(p));
            if let Some(&(part, _)) = better.max_by_key(|&&(p, n)| (n, std::cmp::Reverse(p))) {
                sums[own as usize] -= weight;
                sums[part as usize] += weight;
                of[router] = part;
                moved = true;
            }
        }
        if !moved {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::testing;

    fn loads(fabric: &Fabric, of: &Column<RouterId, u32>, parts: u32) -> Vec<u64> {
        let mut sums = vec![0; parts as usize];
        of.iter().for_each(|(r, &p)| sums[p as usize] += 1 + fabric.ports_of(r).len() as u64);
        sums
    }

    #[test]
    fn a_torus_is_cut_into_slabs() {
        let fabric = testing::grid(true, &[8, 16]);
        let of = split(&fabric, 2);
        // Two borders of 8 cables.
        assert_eq!(links_between(&fabric, &of), 2 * 2 * 8);
        assert_eq!(loads(&fabric, &of, 2), [64 * 6, 64 * 6]);
    }

    /// Every number of parts up to one router each: none empty, loads even, and fewer links cut than by dealing routers out.
    #[test]
    fn parts_of_a_dragonfly_are_even_and_close() {
        let fabric = testing::dragonfly([9, 4, 2, 2]);
        for parts in 1..=36 {
            let of = split(&fabric, parts);
            let sums = loads(&fabric, &of, parts);
            assert!(sums.iter().all(|&s| s > 0), "{parts} parts: {sums:?}");
            assert!(sums.iter().max() <= sums.iter().min().map(|m| m + 2 * 8).as_ref(), "{sums:?}");
            let dealt: Column<RouterId, u32> = (0..36).map(|r| r % parts).collect();
            let (ours, theirs) = (links_between(&fabric, &of), links_between(&fabric, &dealt));
            assert!(
                ours < theirs || parts == 1 || parts == 36,
                "{parts} parts: {ours} links, {theirs} dealt"
            );
        }
    }
}
