//! What `fabric::metrics` measured of a network, as text and as JSON.

use crate::faults;
use fabric::{graph::Fabric, metrics::Metrics};
use serde_json::{Map, Value as Json, json};

/// Every plane by itself, or one for all that are alike.
#[must_use]
pub fn planes_text(fabric: &Fabric, measured: &[(Fabric, Metrics)]) -> String {
    let (count, nodes) = (fabric.planes(), fabric.nodes());
    let mut all = format!("{:12}{count}: each node has a link to each plane; {nodes} nodes\n", "rails");
    for (p, (plane, m)) in measured.iter().enumerate() {
        let what = if measured.len() == 1 { "each, all alike".to_owned() } else { p.to_string() };
        all += &format!("\n{:12}{what}\n{}", "plane", text(plane, m));
    }
    all
}

/// Distances of which the pairs are listed.
const DISTANCES_SHOWN: usize = 24;

/// A mean number of paths; those on large grids have hundreds of digits.
fn paths(mean: f64) -> String {
    if mean < 1e9 { format!("{mean:.3}") } else { format!("{mean:.3e}") }
}

/// `12 local, 8 global`, without what there is none of.
fn by_class(counts: &[(&'static str, u64)]) -> String {
    let there = counts.iter().filter(|(_, n)| *n > 0);
    let parts: Vec<String> = there.map(|(class, n)| format!("{n} {class}")).collect();
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}

fn each(count: u64, terminals: u32) -> f64 {
    count as f64 / f64::from(terminals.max(1))
}

/// A network's measures, a line each.
#[must_use]
pub fn text(fabric: &Fabric, m: &Metrics) -> String {
    let mut lines = vec![("topology", fabric.topology().to_owned())];
    lines.push(("terminals", m.terminals.to_string()));
    let routers =
        format!("{} with up to {} ports; {} ports without a cable", m.routers, m.radix, m.unplugged);
    lines.push(("routers", routers));
    lines.push(("cables", by_class(&m.cables)));
    if let Some(failed) = faults::left_text(fabric) {
        lines.push(("faults", failed));
    }
    let all: u64 = m.cables.iter().map(|(_, n)| n).sum();
    let (routers, cables) = (each(m.routers.into(), m.terminals), each(all, m.terminals));
    lines.push(("cost", format!("{routers:.3} routers and {cables:.3} cables per terminal")));
    let d = &m.distances;
    let sample = if d.sources < d.routers {
        format!(" (a sample: from {} of {} routers)", d.sources, d.routers)
    } else {
        String::new()
    };
    let diameter = d.diameter.map_or_else(|| "none: some pairs have no path".to_owned(), |d| d.to_string());
    lines.push(("diameter", format!("{diameter}{sample}")));
    lines.push(("distance", format!("{:.3} links between routers in the mean{sample}", d.mean)));
    let rows: Vec<(usize, u64)> = d.histogram.iter().copied().enumerate().filter(|(_, n)| *n > 0).collect();
    let shown = rows.iter().take(DISTANCES_SHOWN).map(|(d, n)| format!("{d}: {n}"));
    let more = if rows.len() > DISTANCES_SHOWN { ", .. (all with --format json)" } else { "" };
    lines.push(("", format!("{} pairs{more}", shown.collect::<Vec<_>>().join(", "))));
    if let Some(b) = &m.bisection {
        let half = b.halves[0].min(b.halves[1]).max(1);
        let share = b.cables as f64 / half as f64;
        let cut = format!(
            "{} cables at most ({}), {share:.3} per terminal of a half{}",
            b.cables,
            by_class(&b.classes),
            if b.improved { "" } else { "; a coarse bound, for the network is large" }
        );
        lines.push(("bisection", cut));
    }
    if let Some(s) = &m.shortest {
        let sources = format!("from {} of {} routers", s.sources, d.routers);
        lines.push((
            "shortest",
            format!("{} paths in the mean, {} at least, {sources}", paths(s.mean), s.least),
        ));
    }
    if let Some(p) = &m.disjoint {
        let pairs = format!("over {} pairs of routers", p.pairs);
        lines.push(("disjoint", format!("{:.3} paths in the mean, {} at least, {pairs}", p.mean, p.least)));
    }
    lines.iter().map(|(name, text)| format!("{name:12}{text}\n")).collect()
}

fn counts(counts: &[(&'static str, u64)]) -> Json {
    Json::Object(counts.iter().map(|(class, n)| ((*class).to_owned(), json!(n))).collect::<Map<_, _>>())
}

/// The same as an object.
#[must_use]
pub fn object(fabric: &Fabric, m: &Metrics) -> Json {
    let d = &m.distances;
    let all: u64 = m.cables.iter().map(|(_, n)| n).sum();
    let mut object = json!({
        "topology": fabric.topology(),
        "terminals": m.terminals,
        "routers": m.routers,
        "radix": m.radix,
        "ports_without_cable": m.unplugged,
        "cables": counts(&m.cables),
        "cost": {
            "routers_per_terminal": each(m.routers.into(), m.terminals),
            "cables_per_terminal": each(all, m.terminals),
        },
        "distances": {
            "diameter": d.diameter, "mean": d.mean, "pairs_by_distance": d.histogram,
            "sources": d.sources, "routers": d.routers,
        },
    });
    if !fabric.intact() {
        object["faults"] = faults::left_object(fabric);
    }
    if let Some(b) = &m.bisection {
        object["bisection"] = json!({
            "cables_at_most": b.cables, "classes": counts(&b.classes), "halves": b.halves, "start": b.start,
            "improved": b.improved,
        });
    }
    if let Some(s) = &m.shortest {
        object["shortest_paths"] = json!({"mean": s.mean, "least": s.least, "sources": s.sources});
    }
    if let Some(p) = &m.disjoint {
        object["disjoint_paths"] = json!({"mean": p.mean, "least": p.least, "pairs": p.pairs});
    }
    object
}
