//! The network's links coloured by congestion: Graphviz and SVG.
//!
//! A link's sum over levels and mappings is scaled by the greatest, so that colours run from green (0) to red (1). DOT is the
//! network's own file with two attributes more, as ORCS writes it; SVG needs no other program: nodes stand in rows by
//! their distance from the hosts.

use base::visible::markup;
use fabric::subnet::Subnet;
use std::{collections::VecDeque, fmt::Write as _, io};

/// Colour from green over yellow to red.
#[must_use]
pub fn colour(share: f64) -> String {
    debug_assert!(!share.is_nan(), "a share is a number");
    let share = share.clamp(0.0, 1.0);
    let (red, green) = ((share * 2.0).min(1.0), (2.0 - share * 2.0).min(1.0));
    format!("#{:02x}{:02x}00", (red * 255.0).round() as u8, (green * 220.0).round() as u8)
}

fn scaled(sums: &[u64]) -> Vec<f64> {
    let most = sums.iter().copied().max().unwrap_or(0).max(1) as f64;
    sums.iter().map(|&sum| sum as f64 / most).collect()
}

/// The subnet as DOT, each edge with `congestion` (0 to 1), its sum and `color`.
///
/// # Errors
/// If writing fails.
pub fn dot(subnet: &Subnet, sums: &[u64], out: &mut impl io::Write) -> io::Result<()> {
    debug_assert_eq!(sums.len(), subnet.edges.len(), "there is a sum for each edge");
    let shares = scaled(sums);
    fabric::export::cluster::dot_with(subnet, out, &|edge| {
        let at = edge as usize;
        format!(
            ", congestion = \"{:.6}\", sum = \"{}\", color = \"{}\"",
            shares[at],
            sums[at],
            colour(shares[at])
        )
    })
}

/// Width of the picture.
const WIDTH: f64 = 1_600.0;
/// Distance of two rows.
const ROW: f64 = 220.0;
/// Space on each side of the drawing, in the picture's units.
const MARGIN: f64 = 40.0;

/// The subnet as SVG: hosts below, switches above in rows by their distance from hosts; links used more are drawn thicker.
#[must_use]
pub fn svg(subnet: &Subnet, sums: &[u64], title: &str) -> String {
    debug_assert_eq!(sums.len(), subnet.edges.len(), "there is a sum for each edge");
    let rows = rows(subnet);
    let most = rows.iter().copied().max().unwrap_or(0);
    let mut count = vec![0u32; most as usize + 1];
    let order: Vec<u32> = rows
        .iter()
        .map(|&r| {
            count[r as usize] += 1;
            count[r as usize] - 1
        })
        .collect();
    let place = |node: u32| {
        let (row, at) = (rows[node as usize], order[node as usize]);
        let x =
            MARGIN + (f64::from(at) + 0.5) * (WIDTH - 2.0 * MARGIN) / f64::from(count[row as usize].max(1));
        (x, MARGIN + 30.0 + f64::from(most - row) * ROW)
    };
    let height = 2.0 * MARGIN + 60.0 + f64::from(most) * ROW;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"14\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"{MARGIN}\" y=\"28\" font-size=\"18\">{}</text>\n",
        markup(title)
    );
    let shares = scaled(sums);
    let mut drawn: Vec<usize> = (0..subnet.edges.len()).collect();
    drawn.sort_by(|&a, &b| shares[a].total_cmp(&shares[b]));
    let mut seen = vec![0u32; subnet.edges.len()];
    for e in drawn {
        let edge = subnet.edges[e];
        // Parallel cables and the two directions lie beside each other.
        let beside = subnet.out(edge.from).iter().take_while(|&&o| o as usize != e);
        seen[e] = beside.filter(|&&o| subnet.edges[o as usize].to == edge.to).count() as u32;
        let ((ax, ay), (bx, by)) = (place(edge.from), place(edge.to));
        let length = (bx - ax).hypot(by - ay).max(1.0);
        let off = 2.0 + 4.0 * f64::from(seen[e]);
        let (dx, dy) = (-(by - ay) / length * off, (bx - ax) / length * off);
        let bow = if edge.from == edge.to || rows[edge.from as usize] == rows[edge.to as usize] {
            60.0
        } else {
            0.0
        };
        let _ = writeln!(
            text,
            "<path d=\"M{:.1} {:.1} Q{:.1} {:.1} {:.1} {:.1}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{:.2}\"><title>{} to {}: {}</title></path>",
            ax + dx,
            ay + dy,
            (ax + bx) / 2.0 + dx,
            (ay + by) / 2.0 + dy - bow,
            bx + dx,
            by + dy,
            colour(shares[e]),
            0.6 + 2.4 * shares[e],
            markup(&subnet.nodes[edge.from as usize].name),
            markup(&subnet.nodes[edge.to as usize].name),
            sums[e]
        );
    }
    for node in 0..subnet.nodes.len() as u32 {
        let ((x, y), name) = (place(node), markup(&subnet.nodes[node as usize].name));
        let (fill, side) = if subnet.is_host(node) { ("#dddddd", 8.0) } else { ("#ffffff", 14.0) };
        let _ = writeln!(
            text,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{side}\" height=\"{side}\" fill=\"{fill}\" stroke=\"black\"><title>{name}</title></rect>",
            x - side / 2.0,
            y - side / 2.0
        );
    }
    let _ = writeln!(
        text,
        "<text x=\"{MARGIN}\" y=\"{:.0}\">green: unused, red: most used ({} messages)</text>",
        height - 12.0,
        sums.iter().max().copied().unwrap_or(0)
    );
    text + "</svg>\n"
}

/// Row of each node: its distance from the nearest host.
fn rows(subnet: &Subnet) -> Vec<u32> {
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
