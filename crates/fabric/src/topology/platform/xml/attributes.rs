//! Which attributes elements have: a misspelt one would be a default without a word.

use super::{Parsed, PlatformReader};
use crate::topology::platform::json::unknown;
use roxmltree::Node;

/// Attributes by element. Others' (disks, properties, storage) are of no interest here.
const KNOWN: &[(&str, &[&str])] = &[
    ("platform", &["version"]),
    ("zone", &["id", "routing"]),
    ("AS", &["id", "routing"]),
    (
        "cluster",
        &[
            "id",
            "prefix",
            "suffix",
            "radical",
            "speed",
            "core",
            "bw",
            "lat",
            "sharing_policy",
            "bb_bw",
            "bb_lat",
            "bb_sharing_policy",
            "router_id",
            "topology",
            "topo_parameters",
            "loopback_bw",
            "loopback_lat",
            "limiter_link",
            "availability_file",
            "state_file",
        ],
    ),
    (
        "host",
        &["id", "speed", "core", "pstate", "coordinates", "speed_file", "availability_file", "state_file"],
    ),
    ("router", &["id", "coordinates"]),
    (
        "link",
        &["id", "bandwidth", "latency", "sharing_policy", "bandwidth_file", "latency_file", "state_file"],
    ),
    ("host_link", &["id", "up", "down"]),
    ("backbone", &["id", "bandwidth", "latency"]),
    ("cabinet", &["id", "prefix", "suffix", "radical", "speed", "bw", "lat"]),
    (
        "peer",
        &["id", "speed", "bw_in", "bw_out", "coordinates", "speed_file", "availability_file", "state_file"],
    ),
    ("bypassRoute", &["src", "dst"]),
    ("bypassZoneRoute", &["src", "dst", "gw_src", "gw_dst"]),
    ("bypassASroute", &["src", "dst", "gw_src", "gw_dst"]),
    ("trace", &["id", "file", "periodicity"]),
    ("trace_connect", &["kind", "trace", "element"]),
    ("route", &["src", "dst", "symmetrical"]),
    ("zoneRoute", &["src", "dst", "gw_src", "gw_dst", "symmetrical"]),
    ("ASroute", &["src", "dst", "gw_src", "gw_dst", "symmetrical"]),
    ("link_ctn", &["id", "direction"]),
];

impl<'a> PlatformReader<'a> {
    /// Refuses attributes that the element does not have.
    pub(super) fn attributes(&self, node: Node<'a, 'a>) -> Parsed<()> {
        let element = node.tag_name().name();
        let Some((_, known)) = KNOWN.iter().find(|(name, _)| *name == element) else { return Ok(()) };
        for attribute in node.attributes() {
            let name = attribute.name();
            if !known.contains(&name) {
                let names = known.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
                let message = unknown(&format!("attribute of <{element}>"), name, names.iter());
                return Err(self.mistake(node, message));
            }
        }
        Ok(())
    }

    /// Counts what a `<config>` says of networks: the rules are the experiment's.
    pub(super) fn config(&mut self, node: Node<'a, 'a>) {
        let properties = node.children().filter(|child| child.tag_name().name() == "prop");
        let network = properties.filter(|p| p.attribute("id").is_some_and(|id| id.starts_with("network/")));
        network.for_each(|_| self.pass_over("settings of networks: see `preset` of [model]"));
    }
}
