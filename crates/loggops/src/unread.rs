//! Keys that have no effect with the costs that a file chooses.

use base::param::Unread;
use fabric::graph::Fabric;
use model::{Parts, section::Section};
use std::sync::Arc;

/// Keys of `[model]` by the costs that read them, beside `cost`, `ties` and what paths are derived from.
const READ: &[(&str, &[&str])] = &[
    ("latency", &["loggops", "loggp", "pure"]),
    ("hop_latency", &["loggops", "loggp", "pure"]),
    ("byte_time", &["pure"]),
    ("overhead", &["loggops", "loggp"]),
    ("byte_overhead", &["loggops"]),
    ("gap", &["loggops", "loggp"]),
    ("byte_gap", &["loggops", "loggp"]),
    ("eager", &["loggops"]),
    ("ties", &["loggops", "loggp"]),
];

/// Threshold of the cost `loggops` where a file gives neither it nor a network; with a network it is that of the other models.
const S: u64 = 65_535;

/// The key from which on all belong to resilient protocols.
const RESILIENT: &str = "protocol";

/// Keys without effect.
pub fn of(parts: &Parts<'_>) -> Vec<Unread> {
    let why = "model \"delay\" counts everything from the start";
    let mut all = Unread::all("experiment", &["warmup"], why);
    let absent = "model \"delay\" has no packets, no buffers and no ticks";
    all.extend(Unread::all("output", &["per_port", "packets", "slow_down", "engine"], absent));
    // As parameters are derived: from a network whose links are all given.
    let given = |fabric: &Arc<Fabric>| parts.links.iter().flatten().count() == fabric.classes().len();
    let usual = if parts.fabric.as_ref().is_some_and(given) { ranks::unread::usual() } else { S };
    all.extend(ranks::unread::of(parts, false, usual));
    all.extend(ranks::node::unread(parts));
    all.extend(Unread::all("fabric", &["rails", "rail"], "model \"delay\" knows the paths of one rail"));
    if parts.fabric.is_none() {
        let why = "there is no [fabric] whose paths give a latency";
        all.extend(Unread::all("model", &["router_delay", "chunk", "control"], why));
    }
    if let Some(routing) = parts.written.routing {
        let keys: Vec<&'static str> = routing.section.params.iter().map(|p| p.name).collect();
        all.extend(Unread::all("routing", &keys, "delays follow shortest paths, whatever the routing"));
    }
    let section = parts.written.model;
    if !section.values.0.contains_key("cost") {
        return all;
    }
    let cost = section.values.text("cost");
    let unread = READ.iter().filter(|(_, costs)| !costs.contains(&cost.as_str())).map(|(key, _)| *key);
    let mut keys: Vec<&'static str> = unread.collect();
    if cost == "resilient" {
        keys.extend(["router_delay", "chunk", "control"]);
        all.extend(of_protocol(section));
    } else {
        keys.extend(section.params.iter().map(|p| p.name).skip_while(|name| *name != RESILIENT));
    }
    all.extend(Unread::all("model", &keys, format!("`cost = \"{cost}\"` has no use for it")));
    all
}

/// Keys of resilient protocols that the chosen one, or its constants, do not read.
fn of_protocol(section: &Section) -> Vec<Unread> {
    let mut all = Vec::new();
    if section.values.text("protocol") != "ncd" {
        all.extend(Unread::all("model", &["estimate"], "only protocol \"ncd\" estimates"));
    }
    // A link that is busy for its bytes needs its bandwidth, whatever the constants.
    if section.values.text("constants") == "table2" && section.values.text("occupancy") == "hop" {
        all.extend(Unread::all(
            "model",
            &["link_bandwidth"],
            "`constants = \"table2\"` brings the delays of a hop",
        ));
    }
    all
}
