//! Failed links and routers: by list, or drawn at random.
//!
//! A failed link is a cable that nobody may use, in both directions: the ports at its ends have nothing plugged in. A
//! failed router loses all its cables to other routers. What is left may fall apart: the part with most terminals counts
//! as the network, and the terminals outside of it, those of failed routers among them, are *cut off*
//! ([`Fabric::cut_off`]). Each plane of a network with several ([`crate::planes`]) is such a network of its own; cables and
//! routers are drawn from all planes together.
//!
//! Cables and routers are drawn in one random order each, which depends on the seed alone: a larger fraction fails
//! what a smaller one fails, and more. Not modelled: failed cables of terminals (fail their routers), links in one
//! direction, slower links, repairs.

pub mod platforms;

use crate::graph::{Fabric, Peer};
use base::{
    index::{Column, PortId, RouterId, TerminalId},
    param::{Problem, Values},
    registry::nearest,
    rng::{Purpose, Stream},
};

/// What shall fail.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Faults {
    /// Links, each named by a router and its port at either end.
    pub links: Vec<(RouterId, PortId)>,
    /// Failed routers, by their number.
    pub routers: Vec<RouterId>,
    /// Share of the cables between routers that fails, 0 to 1, rounded to whole cables.
    pub link_fraction: f64,
    /// Share of the routers that fails, 0 to 1, rounded to whole routers.
    pub router_fraction: f64,
    /// Link classes from which cables are drawn; empty: all between routers.
    pub classes: Vec<String>,
    /// Seed of the draws.
    pub seed: u64,
}

/// A network and what failed in it.
#[derive(Clone)]
pub struct Degraded {
    /// What is left. Routers, ports and terminals keep their numbers.
    pub fabric: Fabric,
    /// Failed links between routers, those of failed routers included, ascending; each named by its lower end.
    pub links: Vec<(RouterId, PortId)>,
    /// Failed routers, ascending.
    pub routers: Vec<RouterId>,
}

/// Streams of the two draws.
const LINKS: u64 = 0;
const ROUTERS: u64 = 1;

impl Faults {
    /// From the keys `links` (texts `"router:port"`), `routers`, `link_fraction`, `router_fraction` and `classes`: what can be
    /// read, and a problem for each link that is not written as `"12:3"`.
    #[must_use]
    pub fn from_values(values: &Values, seed: u64) -> (Self, Vec<Problem>) {
        let mut problems = Vec::new();
        let mut links = Vec::new();
        for text in values.texts("links") {
            let ends = text.split_once(':').map(|(r, p)| (r.trim().parse(), p.trim().parse()));
            match ends {
                Some((Ok(router), Ok(port))) => links.push((RouterId::new(router), PortId::new(port))),
                _ => problems.push(
                    Problem::new("links", format!("{text:?} is no link"))
                        .help("a link is named by a router and its port, such as \"12:3\""),
                ),
            }
        }
        // No router has a number that large: it is refused later, by name.
        let routers = values
            .ints("routers")
            .iter()
            .map(|&r| RouterId::new(u32::try_from(r).unwrap_or(u32::MAX)))
            .collect();
        let (link_fraction, router_fraction) = (values.real("link_fraction"), values.real("router_fraction"));
        let classes = values.texts("classes");
        (Self { links, routers, link_fraction, router_fraction, classes, seed }, problems)
    }
}

/// Takes away what fails.
///
/// # Errors
/// If a named router, port, link or class does not exist.
pub fn degrade(fabric: &Fabric, faults: &Faults) -> Result<Degraded, Vec<Problem>> {
    let mut problems = Vec::new();
    let classes = classes(fabric, faults, &mut problems);
    let mut links = named_links(fabric, faults, &mut problems);
    let mut routers = named_routers(fabric, faults, &mut problems);
    if !problems.is_empty() {
        return Err(problems);
    }
    let cables: Vec<(RouterId, PortId)> =
        cables(fabric).filter(|&(router, port)| classes[class_of(fabric, router, port)]).collect();
    links.extend(drawn(cables, faults.link_fraction, faults.seed, LINKS));
    routers.extend(drawn(
        RouterId::first(fabric.routers()).collect(),
        faults.router_fraction,
        faults.seed,
        ROUTERS,
    ));
    routers.sort_unstable();
    routers.dedup();
    for &router in &routers {
        links.extend(fabric.neighbours(router).filter_map(|(port, _)| lower_end(fabric, router, port)));
    }
    links.sort_unstable();
    links.dedup();
    let mut parts = fabric.parts().clone();
    for &(router, port) in &links {
        let at = fabric.port_index(router, port);
        if let Peer::Router { router, port } = parts.ports[at].peer {
            parts.ports[at].peer = Peer::None;
            parts.ports[fabric.port_index(router, port)].peer = Peer::None;
        }
    }
    for &(router, _) in &links {
        parts.failed[fabric.plane_of_router(router) as usize] += 1;
    }
    let mut left = Fabric::from(parts);
    let cut_off = cut_off(&left, &routers);
    left.set_cut_off(cut_off);
    Ok(Degraded { fabric: left, links, routers })
}

/// Every cable between routers once, by its lower end, ascending.
fn cables(fabric: &Fabric) -> impl Iterator<Item = (RouterId, PortId)> + '_ {
    let of = move |router| fabric.neighbours(router).map(move |(port, _)| (router, port));
    RouterId::first(fabric.routers())
        .flat_map(of)
        .filter(move |&(r, p)| lower_end(fabric, r, p) == Some((r, p)))
}

/// The end of a cable between routers whose router and port come first; `None` if there is none at this port.
fn lower_end(fabric: &Fabric, router: RouterId, port: PortId) -> Option<(RouterId, PortId)> {
    match fabric.ports_of(router).get(port.index())?.peer {
        Peer::Router { router: peer, port: peer_port } => Some((router, port).min((peer, peer_port))),
        _ => None,
    }
}

fn class_of(fabric: &Fabric, router: RouterId, port: PortId) -> usize {
    usize::from(fabric.port(fabric.port_index(router, port)).class)
}

/// So many of the items as the fraction says, in random order.
fn drawn<T>(mut items: Vec<T>, fraction: f64, seed: u64, owner: u64) -> Vec<T> {
    Stream::new(seed, Purpose::Fault, owner).shuffle(&mut items);
    items.truncate((fraction * items.len() as f64).round() as usize);
    items
}

/// Which classes cables are drawn from.
fn classes(fabric: &Fabric, faults: &Faults, problems: &mut Vec<Problem>) -> Vec<bool> {
    let between = fabric.classes().iter().copied().skip(1);
    for name in faults.classes.iter().filter(|name| !between.clone().any(|c| c == name.as_str())) {
        let message =
            format!("topology \"{}\" has no link class `{name}` between routers", fabric.topology());
        let near = nearest(name, between.clone());
        let help = match near.first() {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("its classes are {}", between.clone().collect::<Vec<_>>().join(", ")),
        };
        problems.push(Problem::new("classes", message).help(help));
    }
    let chosen = |name: &&str| faults.classes.is_empty() || faults.classes.iter().any(|c| c == name);
    fabric.classes().iter().map(chosen).collect()
}

/// The listed links by their lower ends.
fn named_links(fabric: &Fabric, faults: &Faults, problems: &mut Vec<Problem>) -> Vec<(RouterId, PortId)> {
    let mut links = Vec::new();
    for &(router, port) in &faults.links {
        if router.number() >= fabric.routers() {
            problems.push(no_router("links", fabric, router));
        } else if let Some(end) = lower_end(fabric, router, port) {
            links.push(end);
        } else {
            let message = match fabric.ports_of(router).get(port.index()).map(|p| p.peer) {
                None => format!("router {router} has no port {port}"),
                Some(Peer::Terminal(t)) => format!("port {port} of router {router} leads to terminal {t}"),
                Some(_) => format!("nothing is plugged into port {port} of router {router}"),
            };
            let ports: Vec<String> = fabric.neighbours(router).map(|(port, _)| port.to_string()).collect();
            let help = match ports.as_slice() {
                [] => "it has no links to other routers".to_owned(),
                _ => format!("its links to other routers are on ports {}", ports.join(", ")),
            };
            problems.push(Problem::new("links", message).help(help));
        }
    }
    links
}

fn named_routers(fabric: &Fabric, faults: &Faults, problems: &mut Vec<Problem>) -> Vec<RouterId> {
    let (known, unknown): (Vec<RouterId>, Vec<RouterId>) =
        faults.routers.iter().partition(|r| r.number() < fabric.routers());
    problems.extend(unknown.into_iter().map(|r| no_router("routers", fabric, r)));
    known
}

fn no_router(key: &str, fabric: &Fabric, router: RouterId) -> Problem {
    let last = fabric.routers().saturating_sub(1);
    Problem::new(key, format!("there is no router {router}"))
        .help(format!("routers are numbered 0 to {last}"))
}

/// Terminals outside the part of their plane with most terminals (the one with the lowest router if equal). A failed
/// router is no part of it.
fn cut_off(fabric: &Fabric, failed: &[RouterId]) -> Vec<TerminalId> {
    const NONE: usize = usize::MAX;
    let mut part = Column::filled(fabric.routers() as usize, NONE);
    let mut parts = 0;
    for start in RouterId::first(fabric.routers()).filter(|r| failed.binary_search(r).is_err()) {
        if part[start] != NONE {
            continue;
        }
        let mut todo = vec![start];
        part[start] = parts;
        while let Some(router) = todo.pop() {
            for (_, peer) in fabric.neighbours(router) {
                if std::mem::replace(&mut part[peer], parts) == NONE {
                    todo.push(peer);
                }
            }
        }
        parts += 1;
    }
    let mut terminals = vec![0u32; parts];
    for &(router, _) in fabric.attachments() {
        if part[router] != NONE {
            terminals[part[router]] += 1;
        }
    }
    // Parts are numbered plane by plane.
    let mut networks = vec![NONE; fabric.planes() as usize];
    for (router, &p) in part.iter().filter(|(_, p)| **p != NONE) {
        let network = &mut networks[fabric.plane_of_router(router) as usize];
        if *network == NONE || terminals[p] > terminals[*network] {
            *network = p;
        }
    }
    let off = |&t: &TerminalId| {
        let network = networks[fabric.plane_of(t) as usize];
        part[fabric.router_at(t)] != network || network == NONE
    };
    TerminalId::first(fabric.terminals()).filter(off).collect()
}

#[cfg(test)]
mod tests;
