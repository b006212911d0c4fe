//! Bandwidths that change while a run is under way, on fabrics with link classes. Platforms have events of their own.

use base::{
    index::{LinkId, PortId, RouterId, TerminalId},
    param::Problem,
    time::Ps,
    units::{parse_bandwidth, parse_time},
};
use fabric::graph::{Fabric, Peer};

/// A directed link has another bandwidth from some time on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BandwidthChange {
    /// Virtual time at which it happens.
    pub at: Ps,
    /// Index of the port that the link leaves, or the number of ports plus the terminal.
    pub link: LinkId,
    /// Bytes per second; zero for a link that stands still.
    pub bandwidth: f64,
}

/// The key of model `flow`.
pub const KEY: &str = "changes";

/// Reads `"12:3 at 5 us = 1 GB/s"` (the cable at port 3 of router 12, both directions) and `"local at 5 us = 0"` (all links of a class).
///
/// # Errors
/// All texts that say nothing, and links that do not exist.
pub fn read(texts: &[String], fabric: &Fabric) -> Result<Vec<BandwidthChange>, Vec<Problem>> {
    let mut changes = Vec::new();
    let mut problems = Vec::new();
    for text in texts {
        match one(text, fabric) {
            Ok((at, bandwidth, links)) => {
                changes.extend(links.into_iter().map(|link| BandwidthChange { at, link, bandwidth }));
            }
            Err((why, help)) => problems.push(Problem::new(KEY, format!("{text:?} {why}")).help(help)),
        }
    }
    if problems.is_empty() { Ok(changes) } else { Err(problems) }
}

type Read = (Ps, f64, Vec<LinkId>);

fn one(text: &str, fabric: &Fabric) -> Result<Read, (String, String)> {
    let form = || {
        let help = "write \"ROUTER:PORT at TIME = BANDWIDTH\" or \"CLASS at TIME = BANDWIDTH\", such as \"12:3 at 5 us = 1 GB/s\"";
        ("is no change of a bandwidth".to_owned(), help.to_owned())
    };
    let (place, rest) = text.split_once(" at ").ok_or_else(form)?;
    let (time, bandwidth) = rest.split_once('=').ok_or_else(form)?;
    let at = parse_time(time.trim())
        .map_err(|e| (format!("has no time: {e}"), "times have a unit, such as 5 us".to_owned()))?;
    let bandwidth = match bandwidth.trim() {
        "0" => 0.0,
        some => parse_bandwidth(some)
            .map_err(|e| {
                (
                    format!("has no bandwidth: {e}"),
                    "write 1 GB/s, or 0 for a link that stands still".to_owned(),
                )
            })?
            .bytes_per_s(),
    };
    let links = links(place.trim(), fabric).ok_or_else(|| {
        let classes = fabric.classes().join(", ");
        (
            "names no link of this network".to_owned(),
            format!("it has {} routers and the classes {classes}", fabric.routers()),
        )
    })?;
    Ok((at, bandwidth, links))
}

/// Directed links of a cable or a class.
fn links(place: &str, fabric: &Fabric) -> Option<Vec<LinkId>> {
    if let Some((router, port)) = place.split_once(':') {
        let (router, port): (u32, u32) = (router.trim().parse().ok()?, port.trim().parse().ok()?);
        let (id, port) = (RouterId::new(router), PortId::new(port));
        if router >= fabric.routers() || port.index() >= fabric.ports_of(id).len() {
            return None;
        }
        let link = fabric.port_index(id, port);
        let other = match fabric.port(link).peer {
            Peer::Router { router, port } => fabric.port_index(router, port),
            Peer::Terminal(terminal) => fabric.injection(terminal),
            Peer::None => return None,
        };
        return Some(vec![link, other]);
    }
    let class = fabric.classes().iter().position(|c| *c == place)?;
    let here = |&link: &LinkId| {
        let port = fabric.port(link);
        usize::from(port.class) == class && port.peer != Peer::None
    };
    let mut links: Vec<LinkId> = LinkId::first(fabric.router_ports()).filter(here).collect();
    if class == 0 {
        links.extend(TerminalId::first(fabric.terminals()).map(|t| fabric.injection(t)));
    }
    Some(links)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::samples::{int, topology};

    #[test]
    fn links_are_named_by_port_or_class() {
        let fabric = topology("fat-tree", &[("k", int(2)), ("levels", int(2))]);
        let ports = fabric.router_ports();
        let read = |text: &str| read(&[text.to_owned()], &fabric);
        let cable = read("0:0 at 5 us = 1 GB/s").unwrap_or_default();
        let (first, second) = (cable[0], cable[1]);
        assert_eq!((first.at, first.bandwidth, first.link), (5_000_000, 1e9, LinkId::new(0)));
        assert!(second.link.number() >= ports, "terminals come first at a leaf");
        assert_eq!(read("terminal at 1 ns = 0").map(|c| c.len()), Ok(8));
        assert_eq!(read("tree at 1 ns = 0").map(|c| c.len()), Ok(8));
        for wrong in [
            "",
            "0:0",
            "0:0 at 5 = 1 GB/s",
            "0:0 at 5 us",
            "0:9 at 5 us = 0",
            "9:0 at 5 us = 0",
            "tre at 1 us = 0",
            "0:0 at 1 us = fast",
        ] {
            assert!(read(wrong).is_err_and(|p| p[0].key == KEY), "{wrong}");
        }
    }
}
