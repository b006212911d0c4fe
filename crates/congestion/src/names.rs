//! What `netloom congestion --metric` can show, by ORCS' names.

use base::registry::About;

const fn metric(name: &'static str, summary: &'static str, doc: &'static str) -> About {
    About { name, summary, doc, source: ORCS, params: &[] }
}

const ORCS: &str =
    "Schneider, Hoefler, Lumsdaine: ORCS, Indiana University TR-675, 2009, section 4; ORCS 2.0";

/// The metrics, in the order of the documents. Every summary as JSON holds all but the last.
pub const METRICS: &[About] = &[
    metric(
        "sum_max_cong",
        "sum over levels of the highest congestion, by mapping",
        "The congestion of a message is the highest number of messages on any link of its path, itself included. Of each level of the pattern the \
         highest counts, and levels follow one another. Each line is a sum and the number of mappings that have it. In `summary.json`: \
         `hist_sum_max_cong`, `sum_max_cong`.",
    ),
    metric(
        "hist_max_cong",
        "messages by congestion, and the fraction of the peak bandwidth",
        "A message of congestion w gets a w-th of the peak bandwidth; `BW` is the mean of that over all messages. In `summary.json`: \
         `hist_max_cong`, `bandwidth_fraction`.",
    ),
    metric(
        "hist_acc_band",
        "mappings by their fraction of the peak bandwidth, and its mean",
        "With pattern `bisect` the mean is the effective bisection bandwidth. From 30 mappings on it has an interval of 95 % by the normal law. \
         In `summary.json`: `hist_acc_band`, `effective_bandwidth`, `effective_bandwidth_half_width`.",
    ),
    metric(
        "dep_max_delay",
        "longest chain of dependent messages, by mapping",
        "A message waits for what its sender sent and received in earlier levels, and takes as long as its congestion. ORCS 2.0 follows only some of these \
         dependencies, so both numbers are shown. In `summary.json`: `hist_dep_max_delay`, `hist_dep_max_delay_all_deps`.",
    ),
    metric(
        "get_cable_cong",
        "sum of congestion of each link: the hottest cables",
        "Messages of all levels and mappings that cross each link, the hottest first, with names, GUIDs and ports of both ends where the network has them. \
         `get_cong_map` is another name; `--map` draws it. ORCS 2.0 adds partial counts after every message, as `--partial-counts` does.",
    ),
    metric(
        "edge_forwarding_index",
        "pairs of hosts that cross each link when all send to all",
        "It needs forwarding tables, and reads no pattern. Links between switches count. `routequal` is another name.",
    ),
];
