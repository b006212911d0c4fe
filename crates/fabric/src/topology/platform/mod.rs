//! Platforms from files: JSON of our own, or SimGrid's platform XML.
//!
//! Both readers, `json` and `xml`, make a [`Platform`]; the fabric is one router with all hosts around it. All mistakes of a file are reported at once,
//! each with its line.

mod json;
mod limits;
mod xml;

use super::{
    Sizes, Wiring,
    graph::{Mistake, problems_of, read_text},
};
use crate::{
    graph::Fabric,
    platform::Platform,
    topology::entry::{Constant, Topology},
};
use base::{
    param::{Kind, Param, Problem, Values},
    registry::About,
};
use limits::MAX_PROFILE;
use std::{fs::File, io::Read, path::Path};

/// The registered platform.
pub const TOPOLOGY: Topology = Topology {
    about: About {
        name: "platform",
        summary: "hosts, links and routes from a file; also SimGrid's platform XML",
        doc: "Links and the routes between hosts are listed one by one or by zones, and only model `flow` follows them: it needs no [routing] and no \
              `link.CLASS` here (`link.terminal` may be given: loads are fractions of its bandwidth). The file is JSON or, if its first character is <, XML. JSON: {\"format\": \
              \"netloom-platform\", \"version\": 1, \"hosts\": [\"a\", ..], \"links\": [{\"name\": \"l\", \"bandwidth_bytes_per_s\": 1e9, \
              \"latency_s\": 1e-6, \"sharing\": \"shared\"}, ..], \"routes\": [{\"from\": \"a\", \"to\": \"b\", \"links\": [\"l\", ..], \
              \"symmetric\": true}, ..], \"events\": [{\"time_s\": 0.5, \"link\": \"l\", \"bandwidth_bytes_per_s\": 5e8}, ..]}. `sharing` is `shared` (if left \
              out), `fat-pipe` or `split-duplex`, which makes two links, l_UP and l_DOWN. `symmetric` gives the route back too, reversed, \
              with UP and DOWN exchanged. XML: versions 4 and 4.1 of SimGrid's format, with zones (routing Full, Floyd, Dijkstra, None, Cluster, Vivaldi; Floyd and Dijkstra take the fewest links, through other zones too), hosts, peers, cabinets, routers, links, routes, \
              zoneRoutes with gateways, bypassing routes, and clusters (flat with backbone, FAT_TREE, TORUS, DRAGONFLY), their loopbacks and limiters. A host without any way to itself has SimGrid's loopback: 10 GB/s for each message, no latency. Profiles of bandwidths, latencies and states of links are read, also from files beside it: \
              flows on a link that is down stand still. Disks and properties are passed over; profiles of hosts and settings of networks are named in the verdict; attributes that do not exist and entities are refused. Hosts are terminals in the order of the file. A dragonfly's routes are minimal; \
              SimGrid 3.32 takes wrong links inside groups, which `simgrid_dragonfly = true` takes too. Not modelled: the \
              CPUs of hosts, Wi-Fi zones, links that are drawn from distributions, messages that fail with their link.",
        source: "SimGrid platform description format 4.1; JSON of our own",
        params: &[
            Param { name: "file", kind: Kind::File, default: None, doc: "the platform" },
            Param {
                name: "simgrid_dragonfly",
                kind: Kind::Bool,
                default: Some("false"),
                doc: "route inside the groups of dragonfly clusters as SimGrid 3.32 does, with its error",
            },
        ],
    },
    classes: &["terminal"],
    required: 0,
    sizes: |values| {
        let platform = load(values)?;
        let hosts = platform.hosts.len() as u64;
        Sizes::within_limits(Some(Sizes { routers: 1, terminals: hosts, ports: hosts, ends: 1 }), "file")
    },
    build: |values| Ok(fabric(load(values)?)),
    small: &[
        &[("file", Constant::Text(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/star.platform.json")))],
        &[("file", Constant::Text(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/cluster.xml")))],
    ],
};

/// Reads a platform from the text of a file; `simgrid` reproduces a mistake of SimGrid's dragonfly routing.
///
/// # Errors
/// All mistakes, in the order of lines; of more than a hundred the number of the others.
pub fn parse(text: &str, simgrid: bool) -> Result<Platform, Vec<Mistake>> {
    parse_with(text, simgrid, &|name| Err(format!("`{name}` is not at hand: there is no folder to look in")))
}

/// The same; `files` gives the text of a file that the platform names, or says why it cannot.
///
/// # Errors
/// All mistakes, in the order of lines; of more than a hundred the number of the others.
pub fn parse_with(
    text: &str,
    simgrid: bool,
    files: &dyn Fn(&str) -> Result<String, String>,
) -> Result<Platform, Vec<Mistake>> {
    let platform =
        if text.trim_start().starts_with('<') { xml::read(text, simgrid, files)? } else { json::read(text)? };
    if platform.hosts.is_empty() {
        return Err(vec![Mistake {
            line: 0,
            start: 0,
            end: 0,
            message: "the platform has no host".to_owned(),
            count: 1,
        }]);
    }
    Ok(platform)
}

/// The fabric of a platform: one router.
#[must_use]
pub fn fabric(platform: Platform) -> Fabric {
    let hosts = platform.hosts.len() as u32;
    let mut wiring = Wiring::new([hosts]);
    for port in 0..hosts {
        wiring.terminal(0, port);
    }
    wiring.finish(TOPOLOGY.about.name, &["terminal"], platform)
}

fn load(values: &Values) -> Result<Platform, Vec<Problem>> {
    let (path, text) = read_text(values)?;
    let beside = |name: &str| read_beside(&path, name);
    parse_with(&text, values.bool("simgrid_dragonfly"), &beside)
        .map_err(|mistakes| problems_of(&path, &text, mistakes))
}

/// Reads a profile that a platform in a file names, by a path from that file's folder.
///
/// # Errors
/// It cannot be read, or is too long.
pub fn read_beside(platform: &str, name: &str) -> Result<String, String> {
    let path = Path::new(platform).parent().unwrap_or(Path::new("")).join(name);
    let shown = path.display();
    let file = File::open(&path).map_err(|e| format!("`{shown}` cannot be read: {e}"))?;
    let mut text = String::new();
    let read = file.take(MAX_PROFILE + 1).read_to_string(&mut text);
    read.map_err(|e| format!("`{shown}` cannot be read: {e}"))?;
    if text.len() as u64 > MAX_PROFILE {
        return Err(format!("`{shown}` is longer than {MAX_PROFILE} bytes"));
    }
    Ok(text)
}

#[cfg(test)]
mod places_tests;
#[cfg(test)]
mod tests;
