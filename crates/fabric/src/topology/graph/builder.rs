//! What a file of a network says, checked and built. Both forms of files come here.

use super::mistake::{Mistake, Place, done};
use crate::{
    graph::Fabric,
    topology::{Sizes, Wiring},
};
use base::mistakes::Mistakes;

/// Names of link classes, the terminals' first.
pub type Classes = &'static [&'static str];

/// The class of a link that names none.
pub(super) const LINK: u8 = 1;
/// Most routers of a file.
pub(super) const MAX_ROUTERS: u64 = 1 << 24;

/// Geometry of a graph: there is none to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphShape;

/// Where a cable ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub(super) router: u64,
    pub(super) port: Option<u64>,
}

impl End {
    /// An end whose port is not given.
    pub(super) fn of(router: u64) -> Self {
        Self { router, port: None }
    }
}

/// Parallel cables between two routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) class: u8,
    pub(super) ends: [End; 2],
    pub(super) count: u64,
    pub(super) place: Place,
}

/// Cables of one end: those of terminals, or one side of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cables {
    pub(super) end: End,
    pub(super) count: u64,
    /// Where the file says so.
    pub(super) place: Place,
}

/// What a file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct GraphBuilder {
    /// Number of routers.
    pub(super) routers: u64,
    /// Ports of each router, if the file says so.
    pub(super) ports: Option<Vec<u64>>,
    pub(super) links: Vec<Link>,
    /// Terminals, of one router each.
    pub(super) terminals: Vec<Cables>,
}

impl GraphBuilder {
    /// Number of a class, or why there is none of that name.
    pub(super) fn class(classes: Classes, name: &str, place: Place) -> Result<u8, Mistake> {
        match classes.iter().position(|c| *c == name) {
            Some(0) => Err(place.mistake("links between routers cannot be of class `terminal`")),
            Some(class) => Ok(class as u8),
            None => {
                let near = base::registry::nearest(name, classes[1..].iter().copied());
                let hint = near.first().map_or_else(String::new, |near| format!(": did you mean `{near}`?"));
                Err(place.mistake(format!("there is no link class `{name}`{hint}")))
            }
        }
    }

    /// Counts, after checking that all routers exist and that the file numbers all ports or none.
    pub(super) fn sizes(&self) -> Result<Sizes, Vec<Mistake>> {
        let mut mistakes = Mistakes::default();
        let n = self.routers;
        if n == 0 || n > MAX_ROUTERS {
            mistakes
                .push(Place::default().mistake(format!("there must be 1 to {MAX_ROUTERS} routers, not {n}")));
        }
        let ends = || {
            let links = self.links.iter().flat_map(|link| link.ends.map(|end| (end, link.place)));
            links.chain(self.terminals.iter().map(|t| (t.end, t.place)))
        };
        for (end, place) in ends().filter(|(end, _)| end.router >= n) {
            let message = format!("there is no router {}: {n} routers are numbered from 0", end.router);
            mistakes.push(place.mistake(message));
        }
        for link in self.links.iter().filter(|link| link.ends[0].router == link.ends[1].router) {
            mistakes.push(link.place.mistake("a link cannot lead from a router to itself"));
        }
        let numbered = ends().next().is_some_and(|(end, _)| end.port.is_some());
        if let Some((_, place)) = ends().find(|(end, _)| end.port.is_some() != numbered) {
            mistakes.push(place.mistake("ports must be given for all links and terminals or for none"));
        }
        for link in self.links.iter().filter(|link| numbered && link.count > 1) {
            mistakes.push(link.place.mistake("cables with ports are listed one by one, without a count"));
        }
        if self.terminals.iter().all(|t| t.count == 0) {
            mistakes.push(Place::default().mistake("the network has no terminal"));
        }
        if mistakes.is_empty() {
            mistakes.extend(self.beyond_ports());
        }
        // Before anything is built: a line of a file can ask for more terminals than there is memory.
        if mistakes.is_empty() {
            mistakes.extend(self.apart());
        }
        done(mistakes)?;
        let terminals = self.terminals.iter().fold(0u64, |sum, t| sum.saturating_add(t.count));
        let ports = self.degrees().iter().fold(0u64, |sum, n| sum.saturating_add(*n));
        Sizes::within_limits(Some(Sizes { routers: n, terminals, ports, ends: 0 }), "file")
            .map_err(|problems| problems.into_iter().map(|p| Place::default().mistake(p.message)).collect())
    }

    /// Two routers with terminals between which no cables lead, if there are such.
    fn apart(&self) -> Option<Mistake> {
        let mut parts: Vec<u32> = (0..self.routers as u32).collect();
        for link in self.links.iter().filter(|link| link.count > 0) {
            let [a, b] = link.ends.map(|end| part_of(&mut parts, end.router as u32));
            // Always toward the smaller number: parts do not depend on the order of lines.
            parts[a.max(b) as usize] = a.min(b);
        }
        let mut used = self.terminals.iter().filter(|t| t.count > 0).map(|t| t.end.router as u32);
        let first = used.next()?;
        let part = part_of(&mut parts, first);
        let lost = used.find(|&router| part_of(&mut parts, router) != part)?;
        Some(apart(first.into(), lost.into()))
    }

    /// Ends of cables, links first.
    fn ends(&self) -> impl Iterator<Item = Cables> + '_ {
        let of = |link: &Link| link.ends.map(|end| Cables { end, count: link.count, place: link.place });
        let links = self.links.iter().flat_map(of);
        links.chain(self.terminals.iter().copied())
    }

    /// Ports that each router needs for the cables in hand, after each end in turn: end, place, ports.
    fn needs(&self) -> impl Iterator<Item = (End, Place, u64)> + '_ {
        let mut needed = vec![0u64; self.routers as usize];
        self.ends().map(move |Cables { end, count, place }| {
            let needed = &mut needed[end.router as usize];
            *needed = match end.port {
                Some(port) => (*needed).max(port.saturating_add(1)),
                None => needed.saturating_add(count),
            };
            (end, place, *needed)
        })
    }

    /// Ends of cables that are beyond the ports which the file gives their router, each router once.
    fn beyond_ports(&self) -> Vec<Mistake> {
        let mut left = self.ports.clone().unwrap_or_else(|| vec![u64::MAX; self.routers as usize]);
        let mut mistakes = Vec::new();
        for (end, place, needed) in self.needs() {
            let ports = &mut left[end.router as usize];
            if needed > *ports {
                let message =
                    format!("router {} has {ports} ports by `ports`, and this needs {needed}", end.router);
                mistakes.push(place.mistake(message));
                *ports = u64::MAX;
            }
        }
        mistakes
    }

    /// Ports of each router.
    fn degrees(&self) -> Vec<u64> {
        let mut degrees = self.ports.clone().unwrap_or_default();
        degrees.resize(self.routers as usize, 0);
        for (end, _, needed) in self.needs() {
            let degree = &mut degrees[end.router as usize];
            *degree = (*degree).max(needed);
        }
        degrees
    }

    /// The network; [`GraphBuilder::sizes`] has found nothing wrong.
    pub(super) fn build(&self, topology: &'static str, classes: Classes) -> Result<Fabric, Vec<Mistake>> {
        let degrees = self.degrees();
        let mut wiring = Wiring::new(degrees.iter().map(|&n| n as u32));
        let mut taken: Vec<Vec<bool>> = degrees.iter().map(|&n| vec![false; n as usize]).collect();
        let mut next = vec![0; degrees.len()];
        let mut mistakes = Mistakes::default();
        let mut take = |end: End, place: Place| {
            let router = end.router as usize;
            let port = end.port.unwrap_or_else(|| {
                next[router] += 1;
                next[router] - 1
            });
            let free = !std::mem::replace(&mut taken[router][port as usize], true);
            if !free {
                mistakes.push(place.mistake(format!("port {port} of router {router} has a cable already")));
            }
            free.then_some((end.router as u32, port as u32))
        };
        for link in &self.links {
            for _ in 0..link.count {
                let [a, b] = link.ends.map(|end| take(end, link.place));
                if let (Some(a), Some(b)) = (a, b) {
                    wiring.link(link.class, a, b);
                }
            }
        }
        for &Cables { end, count, place } in &self.terminals {
            for _ in 0..count {
                if let Some((router, port)) = take(end, place) {
                    wiring.terminal(router, port);
                }
            }
        }
        done(mistakes).map(|()| wiring.finish(topology, classes, GraphShape))
    }
}

/// The network is no network: these two have terminals, and no cable leads from one to the other.
pub(super) fn apart(one: u64, other: u64) -> Mistake {
    Place::default().mistake(format!(
        "the network falls apart: no path leads from router {one} to router {other}, and both have terminals"
    ))
}

/// The part that a router belongs to; the way there is halved for the next who asks.
fn part_of(parts: &mut [u32], mut router: u32) -> u32 {
    while parts[router as usize] != router {
        let above = parts[parts[router as usize] as usize];
        parts[router as usize] = above;
        router = above;
    }
    router
}
