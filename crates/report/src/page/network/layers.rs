//! Levels of a tree-like network: routers with terminals below, then those one link away, and so on.

use super::graph::Graph;

/// Level of each dot; `None` if all have terminals, so that there are no levels, or some are not reached.
pub fn levels(graph: &Graph, neighbours: &[Vec<usize>]) -> Option<Vec<usize>> {
    let mut level: Vec<Option<usize>> =
        graph.nodes.iter().map(|n| (!n.inward.is_empty() || !n.outward.is_empty()).then_some(0)).collect();
    let mut border: Vec<usize> = (0..level.len()).filter(|&n| level[n].is_some()).collect();
    let mut depth = 0;
    while !border.is_empty() {
        depth += 1;
        let mut next = Vec::new();
        for &node in &border {
            for &other in &neighbours[node] {
                if level[other].is_none() {
                    level[other] = Some(depth);
                    next.push(other);
                }
            }
        }
        border = next;
    }
    let level: Option<Vec<usize>> = level.into_iter().collect();
    level.filter(|level| level.iter().any(|l| *l > 0))
}

/// Order of the dots within each level, lowest first: by number, then so that linked dots stand near each other (the mean place of the neighbours,
/// swept up and down a few times; Sugiyama, Tagawa, Toda 1981).
pub fn ordered(level: &[usize], neighbours: &[Vec<usize>], sort: bool) -> Vec<Vec<usize>> {
    let count = level.iter().max().map_or(0, |most| most + 1);
    let mut rows = vec![Vec::new(); count];
    level.iter().enumerate().for_each(|(node, l)| rows[*l].push(node));
    if !sort {
        return rows;
    }
    let mut place = vec![0.0; level.len()];
    let set = |rows: &[Vec<usize>], place: &mut [f64]| {
        for row in rows {
            row.iter().enumerate().for_each(|(n, node)| place[*node] = (n as f64 + 0.5) / row.len() as f64);
        }
    };
    set(&rows, &mut place);
    for sweep in 0..6 {
        let order: Vec<usize> =
            if sweep % 2 == 0 { (1..count).collect() } else { (0..count).rev().collect() };
        for l in order {
            let mean = |node: usize| {
                let near: Vec<f64> =
                    neighbours[node].iter().filter(|n| level[**n] != l).map(|n| place[*n]).collect();
                if near.is_empty() { place[node] } else { near.iter().sum::<f64>() / near.len() as f64 }
            };
            let mut keyed: Vec<(f64, usize)> = rows[l].iter().map(|&node| (mean(node), node)).collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            rows[l] = keyed.into_iter().map(|k| k.1).collect();
            set(&rows, &mut place);
        }
    }
    rows
}
