//! Which attributes elements have: a misspelt one would be a default without a word, a profile of a link a network that never changes.

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
    ("route", &["src", "dst", "symmetrical"]),
    ("zoneRoute", &["src", "dst", "gw_src", "gw_dst", "symmetrical"]),
    ("ASroute", &["src", "dst", "gw_src", "gw_dst", "symmetrical"]),
    ("link_ctn", &["id", "direction"]),
];

/// Profiles of links and of hosts that fail, as attributes and as kinds of `trace_connect`. Speeds of hosts are no matter of a network.
const PROFILES: &[&str] = &["bandwidth_file", "latency_file", "state_file"];
const CONNECTED: &[&str] = &["BANDWIDTH", "LATENCY", "LINK_AVAIL", "HOST_AVAIL"];

impl<'a> PlatformReader<'a> {
    /// Refuses attributes that the element does not have, and profiles, which are not modelled.
    pub(super) fn attributes(&self, node: Node<'a, 'a>) -> Parsed<()> {
        let element = node.tag_name().name();
        let not_modelled = |what: String| {
            let message =
                format!("{what} is not modelled; a platform in JSON can list `events` of its links");
            Err(self.mistake(node, message))
        };
        if element == "trace_connect" {
            let kind = node.attribute("kind").unwrap_or("HOST_AVAIL");
            return if CONNECTED.contains(&kind) {
                not_modelled(format!("a profile of kind {kind}"))
            } else {
                Ok(())
            };
        }
        let Some((_, known)) = KNOWN.iter().find(|(name, _)| *name == element) else { return Ok(()) };
        for attribute in node.attributes() {
            let name = attribute.name();
            if !known.contains(&name) {
                let names = known.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
                let message = unknown(&format!("attribute of <{element}>"), name, names.iter());
                return Err(self.mistake(node, message));
            }
            if PROFILES.contains(&name) && !attribute.value().is_empty() {
                return not_modelled(format!("`{name}`"));
            }
        }
        Ok(())
    }

    /// Refuses what a `<config>` says of networks: the rules are the experiment's.
    pub(super) fn config(&self, node: Node<'a, 'a>) -> Parsed<()> {
        let mut properties = node.children().filter(|child| child.tag_name().name() == "prop");
        match properties.find_map(|p| p.attribute("id").filter(|id| id.starts_with("network/"))) {
            Some(id) => {
                Err(self.mistake(node, format!("`{id}` is not read here: say it in [model], by `preset`")))
            }
            None => Ok(()),
        }
    }
}
