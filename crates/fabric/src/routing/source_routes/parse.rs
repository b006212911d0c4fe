//! Reads the text of source routes, and follows each through the fabric.

use super::super::given::parse::{MAX_VCS, Mistake, Word, number, words};
use crate::graph::{Fabric, Peer};
use base::{
    index::{LinkId, PortId, TerminalId},
    mistakes::Mistakes,
};

/// Most links of a route: chunks count the routers that they visit up to 255.
const MAX_LINKS: usize = 254;

/// A route between terminals of different routers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Route {
    pub(super) source: TerminalId,
    pub(super) destination: TerminalId,
    /// Ports of one router after another.
    pub(super) ports: Box<[PortId]>,
    /// Their channels; empty if none are given.
    pub(super) vcs: Box<[u8]>,
    /// Channel of the link to the destination.
    pub(super) out: u8,
}

impl Route {
    /// Its links, by the output ports that feed them.
    pub(super) fn links(&self, fabric: &Fabric) -> Box<[LinkId]> {
        let mut router = fabric.router_at(self.source);
        let link = |&port: &PortId| {
            let link = fabric.port_index(router, port);
            router = fabric.next_router(router, port).unwrap_or(router);
            link
        };
        self.ports.iter().map(link).collect()
    }
}

/// The routes, sorted by source and destination, each once.
pub(super) fn parse(text: &str, fabric: &Fabric) -> Result<Vec<Route>, Vec<Mistake>> {
    let (mut routes, mut mistakes) = (Vec::new(), Mistakes::default());
    let mut first: Option<bool> = None;
    for (line, text) in (1u64..).zip(text.lines()) {
        let words = words(text);
        match route(&words, fabric, &mut first) {
            Ok(Some(route)) => routes.push(route),
            Ok(None) => {}
            Err((word, message)) => {
                mistakes.push(Mistake::new(line, word, message));
            }
        }
    }
    mistakes.done(Mistake::others)?;
    routes.sort_unstable();
    routes.dedup();
    Ok(routes)
}

/// The route of a line; `None` if there is none to follow.
fn route<'a>(
    words: &[Word<'a>],
    fabric: &Fabric,
    first: &mut Option<bool>,
) -> Result<Option<Route>, (Word<'a>, String)> {
    let [from, rest @ ..] = words else { return Ok(None) };
    let [to, hops @ ..] = rest else {
        let message = "a route is `source destination port port ..`: there is no destination";
        return Err((*from, message.to_owned()));
    };
    let source = TerminalId::new(number(*from, "terminal", fabric.terminals())?);
    let destination = TerminalId::new(number(*to, "terminal", fabric.terminals())?);
    let (mut router, end) = (fabric.router_at(source), fabric.router_at(destination));
    let (mut ports, mut vcs) = (Vec::new(), Vec::new());
    let mut out = None;
    for &word in hops {
        if out.is_some() {
            return Err((word, format!("the route has reached terminal {destination} already")));
        }
        let (port, vc) = hop(word, fabric.ports_of(router).len() as u32)?;
        match fabric.ports_of(router)[port.index()].peer {
            Peer::Router { router: next, .. } => {
                if *first.get_or_insert(vc.is_some()) != vc.is_some() {
                    let message = match vc {
                        Some(_) => "earlier ports give no virtual channel",
                        None => "earlier ports give a virtual channel, this one does not",
                    };
                    return Err((word, message.to_owned()));
                }
                ports.push(port);
                vcs.extend(vc);
                router = next;
            }
            Peer::Terminal(terminal) if terminal == destination => out = Some(vc.unwrap_or(0)),
            Peer::Terminal(terminal) => {
                return Err((word, format!("port {port} of router {router} leads to terminal {terminal}")));
            }
            Peer::None => return Err((word, format!("port {port} of router {router} has no link"))),
        }
        if ports.len() > MAX_LINKS {
            return Err((word, format!("a route may have {MAX_LINKS} links, not more")));
        }
    }
    let last = hops.last().copied().unwrap_or(*to);
    if router != end {
        return Err((
            last,
            format!("the route ends at router {router}, terminal {destination} is on router {end}"),
        ));
    }
    // Between terminals of one router packets go straight out.
    let needed = fabric.router_at(source) != end;
    let out = out.unwrap_or(0);
    Ok(needed.then(|| Route { source, destination, ports: ports.into(), vcs: vcs.into(), out }))
}

/// `port` or `port/vc`.
fn hop<'a>(word: Word<'a>, ports: u32) -> Result<(PortId, Option<u8>), (Word<'a>, String)> {
    let Some((port, vc)) = word.1.split_once('/') else {
        return Ok((PortId::new(number(word, "port of this router", ports)?), None));
    };
    let port_number = number((word.0, port), "port of this router", ports)?;
    let vc = number((word.0 + port.len() + 1, vc), "virtual channel", MAX_VCS)?;
    Ok((PortId::new(port_number), Some(vc as u8)))
}
