//! The network's links by congestion, to be drawn: Graphviz, and what a picture needs.
//!
//! A link's sum over levels and mappings is scaled by the greatest. DOT is the network's own file with two attributes more, as ORCS writes it. A
//! picture puts nodes in rows by their distance from the hosts.

use fabric::subnet::Subnet;
use std::{collections::VecDeque, io};

/// Sums as shares of the greatest.
#[must_use]
pub fn scaled(sums: &[u64]) -> Vec<f64> {
    let most = sums.iter().copied().max().unwrap_or(0).max(1) as f64;
    sums.iter().map(|&sum| sum as f64 / most).collect()
}

/// The subnet as DOT, each edge with `congestion` (0 to 1), its sum and `color`, which `colour` says of a share.
///
/// # Errors
/// If writing fails.
pub fn dot(
    subnet: &Subnet,
    sums: &[u64],
    colour: impl Fn(f64) -> [u8; 3],
    out: &mut impl io::Write,
) -> io::Result<()> {
    debug_assert_eq!(sums.len(), subnet.edges.len(), "there is a sum for each edge");
    let shares = scaled(sums);
    fabric::export::cluster::dot_with(subnet, out, &|edge| {
        let (share, sum) = (shares[edge as usize], sums[edge as usize]);
        let [r, g, b] = colour(share);
        format!(", congestion = \"{share:.6}\", sum = \"{sum}\", color = \"#{r:02x}{g:02x}{b:02x}\"")
    })
}

/// Row of each node in a picture: its distance from the nearest host.
#[must_use]
pub fn rows(subnet: &Subnet) -> Vec<u32> {
    let mut rows = vec![u32::MAX; subnet.nodes.len()];
    let mut queue: VecDeque<u32> = subnet.hosts.iter().copied().collect();
    for &host in &subnet.hosts {
        rows[host as usize] = 0;
    }
    while let Some(node) = queue.pop_front() {
        for &edge in subnet.out(node) {
            let to = subnet.edges[edge as usize].to as usize;
            if rows[to] == u32::MAX {
                rows[to] = rows[node as usize] + 1;
                queue.push_back(to as u32);
            }
        }
    }
    rows.into_iter().map(|r| if r == u32::MAX { 0 } else { r }).collect()
}
