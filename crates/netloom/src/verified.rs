//! What verification of forwarding tables finds, for people and programs.

use crate::counting::by_count;
use fabric::{
    subnet::{Lost, Subnet},
    verify::{LostPair, Report, verify},
};
use serde_json::{Value as Json, json};

fn lost(subnet: &Subnet, pair: &LostPair) -> String {
    let host = |h: u32| subnet.label(subnet.hosts[h as usize]);
    let why = match pair.why {
        Lost::NoRoute(node) => format!("{} knows no path", subnet.label(node)),
        Lost::Loop(node) => format!("goes round in a circle at {}", subnet.label(node)),
        Lost::Stray(node) => format!("ends at {}", subnet.label(node)),
        Lost::Dropped(node) => format!("{} drops it: lane 15 of its service level", subnet.label(node)),
    };
    format!("{} to {}: {why}", host(pair.source), host(pair.destination))
}

/// What a load counts if hosts have several local identifiers.
fn times(planes: u32) -> String {
    if planes < 2 { String::new() } else { format!(", over {planes} local identifiers of each host") }
}

fn lengths(report: &Report) -> Vec<(usize, u64)> {
    report.lengths.iter().copied().enumerate().filter(|(_, n)| *n > 0).collect()
}

/// What was found, line by line: the verdict first.
#[must_use]
pub fn text(subnet: &Subnet, r: &Report) -> String {
    let verdict = if r.sound() { "sound: all arrive, no credit loop" } else { "NOT SOUND" };
    let mut lines = vec![("verdict", verdict.to_owned())];
    let planes = subnet.tables.as_ref().map_or(1, |t| t.planes);
    let pairs = format!("{} (hosts {}, local identifiers {planes})", r.pairs, subnet.hosts.len());
    lines.push(("pairs", pairs));
    lines.push(("unreached", r.unreached.to_string()));
    lines.push(("loops", r.loops.to_string()));
    lines.extend(r.lost.iter().map(|l| ("", lost(subnet, l))));
    let by: Vec<String> = lengths(r).iter().map(|(l, n)| format!("{l}: {n}")).collect();
    lines.push(("links", format!("{:.3} in the mean; {}", r.mean_length(), by.join(", "))));
    let arrived = (r.pairs - r.unreached - r.loops).max(1);
    lines.push(("minimal", format!("{} ({:.2} %)", r.minimal, r.minimal as f64 * 100.0 / arrived as f64)));
    let load = &r.load;
    lines.push((
        "load",
        format!(
            "pairs per directed link between switches{}: {} to {}, mean {:.2}, sigma {:.2}; {} of {} unused",
            times(planes),
            load.min,
            load.max,
            load.mean,
            load.sigma,
            load.unused,
            load.links
        ),
    ));
    let unknown = match r.unknown {
        0 => String::new(),
        paths => format!("; {paths} paths without a service level use level 0"),
    };
    lines.push(("lanes", format!("{}{unknown}", r.lanes)));
    let of = if r.cycle.is_some() { "" } else { " where paths without a service level use level 0" };
    match r.any_cycle() {
        None => lines.push(("credit loop", "none".to_owned())),
        Some(cycle) => {
            lines.push(("credit loop", format!("{} channels wait for each other{of}:", cycle.len())));
            lines.extend(cycle.iter().map(|c| ("", c.label(subnet))));
        }
    }
    lines.iter().map(|(name, text)| format!("{name:12}{text}\n")).collect()
}

/// The same as one object.
#[must_use]
pub fn object(subnet: &Subnet, r: &Report) -> Json {
    let by: serde_json::Map<String, Json> =
        lengths(r).iter().map(|(l, n)| (l.to_string(), json!(n))).collect();
    let cycle: Option<Vec<String>> = r.any_cycle().map(|c| c.iter().map(|c| c.label(subnet)).collect());
    let planes = subnet.tables.as_ref().map_or(1, |t| t.planes);
    let lost: Vec<String> = r.lost.iter().map(|l| lost(subnet, l)).collect();
    json!({
        "sound": r.sound(), "pairs": r.pairs, "local_identifiers": planes, "unreached": r.unreached, "loops": r.loops, "lost": lost,
        "mean_length": r.mean_length(), "pairs_by_length": by, "minimal": r.minimal,
        "load": {"links": r.load.links, "unused": r.load.unused, "min": r.load.min, "max": r.load.max, "mean": r.load.mean,
                 "sigma": r.load.sigma},
        "lanes": r.lanes, "unknown_paths": r.unknown, "credit_loop": cycle,
        "credit_loop_by_unknown_paths": r.cycle_at_level_0.is_some(),
    })
}

/// A warning if messages between some hosts do not arrive, for those who write tables and see no report.
#[must_use]
pub fn warning(subnet: &Subnet) -> Option<String> {
    let report = verify(subnet, subnet.tables.as_ref()?);
    let lost = report.unreached + report.loops;
    debug_assert!(lost <= report.pairs, "only pairs of hosts are lost");
    (lost > 0).then(|| {
        let first = report
            .lost
            .first()
            .map_or_else(String::new, |pair| format!(", the first: {}", self::lost(subnet, pair)));
        format!("warning: {lost} of {} messages do not arrive{first}", report.pairs)
    })
}

/// The edge forwarding index, the links with most pairs first: those between switches and those of hosts.
#[must_use]
pub fn index_text(subnet: &Subnet, r: &Report) -> String {
    debug_assert!(r.loads.len() == subnet.edges.len(), "every link has a load");
    let load = &r.load;
    let planes = subnet.tables.as_ref().map_or(1, |t| t.planes);
    let of_hosts =
        || subnet.edges.iter().zip(&r.loads).filter(|(e, _)| subnet.is_host(e.from) || subnet.is_host(e.to));
    let least = of_hosts().map(|(_, n)| n).min().unwrap_or(&0);
    let most = of_hosts().map(|(_, n)| n).max().unwrap_or(&0);
    let text = format!(
        "edge forwarding index over {} directed links between switches{}: {} to {}, mean {:.3}, sigma {:.3}, {} unused\n\
         {} directed links of hosts, listed with them: {least} to {most}\n",
        load.links,
        times(planes),
        load.min,
        load.max,
        load.mean,
        load.sigma,
        load.unused,
        of_hosts().count()
    );
    text + &by_count(subnet, &r.loads)
}

/// The same as one object, links by their labels.
#[must_use]
pub fn index_object(subnet: &Subnet, r: &Report) -> Json {
    let (load, names) = (&r.load, subnet.unique_names());
    let used = (0u32..).zip(&r.loads).filter(|(_, n)| **n > 0);
    let by: serde_json::Map<String, Json> =
        used.map(|(edge, n)| (subnet.edge_label(edge, &names), json!(n))).collect();
    json!({
        "metric": "edge_forwarding_index", "local_identifiers": subnet.tables.as_ref().map_or(1, |t| t.planes), "min": load.min,
        "max": load.max, "mean": load.mean, "sigma": load.sigma, "links_between_switches": load.links, "unused": load.unused, "edges": by,
    })
}
