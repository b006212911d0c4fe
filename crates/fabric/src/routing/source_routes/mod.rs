//! Source routing: whole paths from a file, one or more for each pair of terminals.
//!
//! `parse` reads the text, this file binds it: every pair of terminals of different routers must have a route. The first router
//! chooses one, whose number travels in [`Hop::state`]; the routers behind it take its next port. Channels that the file
//! does not give are assigned, route by route, to layers (see `layers`) or by counting links; those that it gives are judged
//! by the deadlock check alone.

mod parse;

use super::{
    Choice, Congestion, Facts, Hop, Routing,
    given::{problems_of, read, whole},
    layers,
    select::{SELECT, Select},
    shortest_path::{DEADLOCK, MAX_VCS_PARAM},
};
use crate::{
    graph::Fabric,
    routing::entry::{Bound, RoutingEntry},
};
use base::{
    index::{ChannelId, LinkId, PortId, TerminalId},
    param::{Kind, Param, Problem, Values},
    registry::About,
};
use parse::Route;
use std::sync::Arc;

/// The registered routing.
pub const ROUTING: RoutingEntry = RoutingEntry {
    about: About {
        name: "source-routes",
        summary: "any topology: whole paths from a file, one or more for each pair of terminals",
        doc: "Each line of the file is a route `source destination port port ..`, words separated by blanks: packets from that \
              terminal to that one leave the source's router through the first port, the router behind it through the second, \
              and so on to the destination's router; its port to the terminal may stand last. `#` begins a \
              comment. A port written `port/vc` also gives the virtual channel of its link; this is so for all ports \
              between routers or for none; where it is so, the port to the terminal may give one, too (left out: 0). Several routes of one pair are alternatives, among which `select` chooses at the \
              first router; `least-queue` and `most-credits` look at its ports. Terminals of one router need no route, all others that failures \
              leave do. If no channels are given, each route has one from end to end, the lowest on which no cycle of \
              dependencies closes (`deadlock = \"layers\"`), or a new one on each link (`hops`), whichever needs fewer. \
              Refused are ports without a link, routes that end elsewhere, and routes of more than 254 links. A failed link is \
              no link. Memory: four bytes per link of a route and 32 per route.",
        source: "Boden et al.: Myrinet: A Gigabit-per-Second Local Area Network, IEEE Micro 1995 (source routes); layers: Skeie, \
                 Lysne, Theiss: Layered Shortest Path (LASH) Routing in Irregular System Area Networks, IPDPS 2002; format of our own",
        params: &[
            Param {
                name: "file",
                kind: Kind::File,
                default: None,
                doc: "the routes, one `source destination port[/vc] ..` on a line",
            },
            SELECT,
            DEADLOCK,
            MAX_VCS_PARAM,
        ],
    },
    build,
    bytes: super::no_table_bytes,
    least: super::no_least_bytes,
};

/// Who says which channel a packet takes.
enum Lanes {
    /// The file, link by link.
    Given { vcs: Vec<u8>, outs: Vec<u8>, count: u8 },
    /// One for each route.
    Layers { layers: Vec<u8>, count: u8 },
    /// The number of links crossed so far.
    Hops(u8),
}

/// Routes, by source and destination.
struct SourceRoutes {
    fabric: Arc<Fabric>,
    /// By source terminal: its first route; and one past the last.
    of: Vec<u32>,
    /// By route: its destination.
    destinations: Vec<TerminalId>,
    /// By route: where its ports begin in `ports`; and one past the last.
    begin: Vec<u32>,
    /// Ports of all routes.
    ports: Vec<PortId>,
    lanes: Lanes,
    select: Select,
}

fn build(fabric: Arc<Fabric>, values: &Values) -> Bound {
    let path = values.text("file");
    let text = read(&path)?;
    let routes = parse::parse(&text, &fabric).map_err(|mistakes| problems_of(&path, &text, mistakes))?;
    complete(&fabric, &routes).map_err(|message| whole(&path, message))?;
    let lanes = lanes(&fabric, &routes, values)?;
    let mut of = vec![0u32; fabric.terminals() as usize + 1];
    routes.iter().for_each(|r| of[r.source.index() + 1] += 1);
    (1..of.len()).for_each(|i| of[i] += of[i - 1]);
    let mut begin = vec![0];
    for route in &routes {
        begin.push(begin[begin.len() - 1] + route.ports.len() as u32);
    }
    Ok(Box::new(SourceRoutes {
        of,
        destinations: routes.iter().map(|r| r.destination).collect(),
        begin,
        ports: routes.iter().flat_map(|r| r.ports.iter().copied()).collect(),
        lanes,
        select: Select::from_values(values, SELECT.name),
        fabric,
    }))
}

/// Every pair that needs a route has one; `routes` are sorted.
fn complete(fabric: &Fabric, routes: &[Route]) -> Result<(), String> {
    let ends: Vec<TerminalId> = fabric.reachable().collect();
    let mut at = routes.iter().map(|r| (r.source, r.destination)).peekable();
    let (mut first, mut missing) = (None, 0u64);
    for &source in &ends {
        for &destination in &ends {
            while at.next_if(|&pair| pair < (source, destination)).is_some() {}
            let needed = fabric.router_at(source) != fabric.router_at(destination);
            if needed && at.peek() != Some(&(source, destination)) {
                first.get_or_insert((source, destination));
                missing += 1;
            }
        }
    }
    let Some((source, destination)) = first else { return Ok(()) };
    let others = if missing > 1 { format!(", nor for {} other pairs", missing - 1) } else { String::new() };
    Err(format!("there is no route from terminal {source} to terminal {destination}{others}"))
}

fn lanes(fabric: &Fabric, routes: &[Route], values: &Values) -> Result<Lanes, Vec<Problem>> {
    if routes.iter().any(|r| !r.vcs.is_empty()) {
        let vcs: Vec<u8> = routes.iter().flat_map(|r| r.vcs.iter().copied()).collect();
        let outs: Vec<u8> = routes.iter().map(|r| r.out).collect();
        let count = 1 + vcs.iter().chain(&outs).copied().max().unwrap_or(0);
        return Ok(Lanes::Given { vcs, outs, count });
    }
    let (most, rule) = (values.u32("max_vcs") as u8, values.text(DEADLOCK.name));
    let hops = routes.iter().map(|r| r.ports.len()).max().unwrap_or(0).max(1);
    let by_hops = rule != "layers" && hops <= usize::from(most);
    if rule == "hops" && !by_hops {
        let message =
            format!("the longest route has {hops} links, more than {most} virtual channels can count");
        return Err(vec![Problem::new("max_vcs", message)]);
    }
    if rule == "hops" {
        return Ok(Lanes::Hops(hops as u8));
    }
    let links: Vec<Box<[LinkId]>> = routes.iter().map(|r| r.links(fabric)).collect();
    match layers::assign_routes(fabric, &links, if by_hops { hops as u8 } else { most }) {
        Ok((layers, count)) => Ok(Lanes::Layers { layers, count }),
        Err(_) if by_hops => Ok(Lanes::Hops(hops as u8)),
        Err((route, cycle)) => {
            let Route { source, destination, .. } = routes[route];
            let cycle: Vec<String> = cycle.iter().map(ToString::to_string).collect();
            let message = format!(
                "{most} virtual channels do not suffice: the route from terminal {source} to terminal {destination} would \
                 close the cycle {}",
                cycle.join(" -> ")
            );
            Err(vec![Problem::new("max_vcs", message)])
        }
    }
}

impl SourceRoutes {
    /// The routes of a pair: the first and how many.
    fn routes(&self, source: TerminalId, destination: TerminalId) -> (u32, u32) {
        let (from, to) = (self.of[source.index()], self.of[source.index() + 1]);
        let own = &self.destinations[from as usize..to as usize];
        let first = own.partition_point(|&d| d < destination);
        let count = own[first..].partition_point(|&d| d == destination);
        (from + first as u32, count as u32)
    }

    /// Port and channel of a route's link number `at`.
    #[inline]
    fn link(&self, route: u32, at: u16) -> (PortId, ChannelId) {
        let i = self.begin[route as usize] as usize + usize::from(at);
        let vc = match &self.lanes {
            Lanes::Given { vcs, .. } => vcs[i],
            Lanes::Layers { layers, .. } => layers[route as usize],
            Lanes::Hops(_) => at as u8,
        };
        (self.ports[i], ChannelId::new(vc))
    }

    /// The port to the destination, at its router once the route is over.
    #[inline]
    fn out(&self, hop: &Hop) -> Option<Choice> {
        let (router, port) = self.fabric.attached(hop.destination);
        let route = hop.state as usize;
        let over = hop.visited == 0 || u32::from(hop.visited) == self.begin[route + 1] - self.begin[route];
        let vc = match &self.lanes {
            Lanes::Given { outs, .. } if hop.visited > 0 => ChannelId::new(outs[route]),
            _ => ChannelId::FIRST,
        };
        (router == hop.router && over).then_some(Choice { port, vc, state: 0 })
    }

    fn choice(&self, route: u32, at: u16) -> Choice {
        let (port, vc) = self.link(route, at);
        Choice { port, vc, state: route }
    }
}

impl Routing for SourceRoutes {
    fn vcs(&self) -> u8 {
        match &self.lanes {
            Lanes::Given { count, .. } | Lanes::Layers { count, .. } | Lanes::Hops(count) => *count,
        }
    }

    fn route(&self, hop: &mut Hop, congestion: &mut dyn Congestion) -> Choice {
        if let Some(out) = self.out(hop) {
            return out;
        }
        if hop.visited > 0 {
            return self.choice(hop.state, hop.visited);
        }
        let (first, count) = self.routes(hop.source, hop.destination);
        let path = |i: u32| self.link(first + i, 0);
        let chosen = self.select.choose(count, path, hop, congestion);
        self.choice(first + chosen, 0)
    }

    fn options(&self, hop: &Hop, out: &mut Vec<Choice>) {
        if let Some(choice) = self.out(hop) {
            out.push(choice);
        } else if hop.visited > 0 {
            out.push(self.choice(hop.state, hop.visited));
        } else {
            let (first, count) = self.routes(hop.source, hop.destination);
            out.extend((first..first + count).map(|route| self.choice(route, 0)));
        }
    }

    fn facts(&self) -> Facts {
        Facts { oblivious: self.select.oblivious(), ..Facts::ADAPTIVE }
    }

    /// Where a packet is on its route; before that, whose it is.
    fn memory(&self, hop: &Hop) -> u64 {
        match hop.visited {
            0 => u64::from(hop.source) << 16,
            visited => u64::from(visited),
        }
    }
}

#[cfg(test)]
mod tests;
