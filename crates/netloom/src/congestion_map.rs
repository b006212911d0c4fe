//! The map of a cluster: its links by congestion, as SVG, PDF or Graphviz.

use crate::error::{Error, ErrorKind};
use congestion::draw;
use fabric::subnet::Subnet;
use report::map::{Link, Map, Node};
use std::path::Path;

pub use report::map::Palette;

/// Refuses names of maps whose ending says no form.
///
/// # Errors
/// If it is another than `.svg`, `.pdf` and `.dot`.
pub fn check_name(file: &Path) -> Result<(), Error> {
    if ["svg", "pdf", "dot"].iter().any(|form| ends(file, form)) {
        return Ok(());
    }
    let message = format!("`{}` does not say which form the map is to have", file.display());
    Err(Error::new(ErrorKind::Usage, message).with_help("let it end with .svg, .pdf or .dot"))
}

fn ends(file: &Path, ending: &str) -> bool {
    file.extension().is_some_and(|e| e.eq_ignore_ascii_case(ending))
}

/// The subnet with the sums of its edges, in the form that the ending of `file` says (see [`check_name`]).
///
/// # Errors
/// If it cannot be written down.
pub fn congestion_map(
    subnet: &Subnet,
    sums: &[u64],
    title: String,
    palette: Palette,
    file: &Path,
) -> Result<Vec<u8>, Error> {
    if ends(file, "svg") || ends(file, "pdf") {
        let map = map(subnet, sums, title, palette);
        return Ok(if ends(file, "svg") { map.svg().into_bytes() } else { map.pdf() });
    }
    let mut bytes = Vec::new();
    draw::dot(subnet, sums, |share| palette.colour(share), &mut bytes)
        .map_err(|e| Error::new(ErrorKind::Internal, format!("cannot draw the network: {e}")))?;
    Ok(bytes)
}

fn map(subnet: &Subnet, sums: &[u64], title: String, palette: Palette) -> Map {
    let (rows, shares) = (draw::rows(subnet), draw::scaled(sums));
    let name = |node: u32| &subnet.nodes[node as usize].name;
    let nodes = (0..subnet.nodes.len() as u32).map(|node| Node {
        name: name(node).clone(),
        row: rows[node as usize],
        is_host: subnet.is_host(node),
    });
    let links = (0..subnet.edges.len()).map(|e| {
        let edge = subnet.edges[e];
        // Parallel cables lie beside each other.
        let before = subnet.out(edge.from).iter().take_while(|&&other| other as usize != e);
        let beside = before.filter(|&&other| subnet.edges[other as usize].to == edge.to).count() as u32;
        Link {
            ends: (edge.from as usize, edge.to as usize),
            share: shares[e],
            beside,
            name: format!("{} to {}: {}", name(edge.from), name(edge.to), sums[e]),
        }
    });
    let most = sums.iter().max().copied().unwrap_or(0);
    let scale = ("unused".to_owned(), format!("most used ({most} messages)"));
    Map { title, nodes: nodes.collect(), links: links.collect(), scale, palette }
}
