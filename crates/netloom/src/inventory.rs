//! What a cluster's files hold, for people and programs.

use base::sorted::SortedMap;
use fabric::subnet::{Edge, Speed, Subnet};
use serde_json::{Value as Json, json};

/// Cables between switches and to hosts, by speed.
fn speeds(subnet: &Subnet) -> SortedMap<Speed, u64> {
    let mut speeds = SortedMap::new();
    for (e, edge) in (0u32..).zip(&subnet.edges) {
        if e < edge.reverse {
            *speeds.entry(edge.speed).or_insert(0) += 1;
        }
    }
    speeds
}

/// What files tell of a cluster, line by line: nodes by kind, links, speeds, tables, and what readers noted.
#[must_use]
pub fn text(subnet: &Subnet) -> String {
    let between = |e: &&Edge| !subnet.is_host(e.from) && !subnet.is_host(e.to);
    let cables = subnet.edges.iter().filter(between).count() / 2;
    let speeds: Vec<String> = speeds(subnet).iter().map(|(s, n)| format!("{n} {s}")).collect();
    let tables = match &subnet.tables {
        Some(t) => format!("for {} hosts, {} local identifiers each", subnet.hosts.len(), t.planes),
        None => "none".to_owned(),
    };
    let lanes = match &subnet.lanes {
        Some(lanes) => format!("{} in use", lanes.count()),
        None => "not given".to_owned(),
    };
    let lines = [
        ("hosts", subnet.hosts.len().to_string()),
        ("switches", subnet.switches.len().to_string()),
        ("links", format!("{} directed, {cables} cables between switches", subnet.edges.len())),
        ("speeds", speeds.join(", ")),
        ("tables", tables),
        ("lanes", lanes),
    ];
    let kinds = subnet
        .roles()
        .into_iter()
        .filter(|(name, taken, left_out)| left_out + if *name == "hosts" { 0 } else { *taken } > 0);
    let kinds = kinds.map(|(name, taken, left_out)| {
        (name, if taken > 0 { format!("{taken} among the hosts") } else { format!("{left_out} left out") })
    });
    let notes = subnet.notes.iter().map(|note| ("note", note.clone()));
    lines.into_iter().chain(kinds).chain(notes).map(|(name, text)| format!("{name:12}{text}\n")).collect()
}

/// The same as one object.
#[must_use]
pub fn object(subnet: &Subnet) -> Json {
    let speeds: serde_json::Map<String, Json> =
        speeds(subnet).into_iter().map(|(s, n)| (s.to_string(), json!(n))).collect();
    let kinds: serde_json::Map<String, Json> = subnet
        .roles()
        .into_iter()
        .map(|(name, taken, left_out)| (name.to_owned(), json!({"taken": taken, "left_out": left_out})))
        .collect();
    json!({
        "nodes": kinds, "hosts": subnet.hosts.len(), "switches": subnet.switches.len(), "edges": subnet.edges.len(), "cables_by_speed": speeds,
        "local_identifiers": subnet.tables.as_ref().map(|t| t.planes), "lanes": subnet.lanes.as_ref().map(|l| l.count()),
        "notes": subnet.notes,
    })
}
