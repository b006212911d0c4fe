//! Keys that have no effect with the costs that a file chooses.

use base::param::Unread;
use model::Parts;

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

/// The key from which on all belong to resilient protocols.
const RESILIENT: &str = "protocol";

/// Keys without effect.
pub fn of(parts: &Parts<'_>) -> Vec<Unread> {
    let why = "model \"delay\" counts everything from the start";
    let mut all = Unread::all("experiment", &["warmup"], why);
    all.extend(Unread::all("fabric", &["rails", "rail"], "model \"delay\" knows the paths of one rail"));
    let section = parts.written.model;
    if !section.values.0.contains_key("cost") {
        return all;
    }
    let cost = section.values.text("cost");
    let unread = READ.iter().filter(|(_, costs)| !costs.contains(&cost.as_str())).map(|(key, _)| *key);
    let mut keys: Vec<&'static str> = unread.collect();
    if cost != "resilient" {
        keys.extend(section.params.iter().map(|p| p.name).skip_while(|name| *name != RESILIENT));
    }
    all.extend(Unread::all("model", &keys, format!("`cost = \"{cost}\"` has no use for it")));
    all
}
