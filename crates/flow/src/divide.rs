//! The parts of a message that cross each link, where a routing spreads packets over several paths.
//!
//! At each router the choices that the routing names share what arrives there equally, intermediate routers included. So every packet's chance to cross a link
//! is known, and a message that flows at x takes that part of x from the link.

use base::{
    index::{ChannelId, PortId, RouterId, TerminalId},
    rng::Stream,
};
use fabric::{
    graph::{Fabric, Peer},
    routing::{Hop, Routing},
};
use std::collections::BTreeMap;

/// Routers that a path may visit.
const MAX_HOPS: u16 = 64;

/// Places that packets of a message may be at; beyond, each message takes one path.
const MAX_PLACES: usize = 20_000;

/// A message's way over several paths.
#[derive(Clone, Debug, PartialEq)]
pub struct Division {
    /// Directed links in the order in which they are reached, with the part of the message that crosses each.
    pub links: Vec<(u32, f64)>,
    /// Routers on the way, in the mean over all packets.
    pub routers: f64,
    /// All paths visit as many routers.
    pub alike: bool,
}

/// Where a packet is: what the routing may know of it, in the order in which places are looked at.
type Place = (RouterId, PortId, ChannelId, u32);

/// Divides what goes from one terminal to another. None if paths are too many, too long, or end elsewhere.
#[must_use]
pub fn divide(
    fabric: &Fabric,
    routing: &dyn Routing,
    (source, destination): (TerminalId, TerminalId),
    random: Stream,
) -> Option<Division> {
    let (router, in_port) = fabric.attached(source);
    let mut links: BTreeMap<(u16, u32), f64> =
        BTreeMap::from([((0, fabric.injection(source).number()), 1.0)]);
    let mut here: BTreeMap<Place, f64> = BTreeMap::from([((router, in_port, ChannelId::FIRST, 0), 1.0)]);
    let (mut routers, mut lengths, mut places) = (0.0, 0, 0);
    let mut options = Vec::new();
    for visited in 0..MAX_HOPS {
        let mut next: BTreeMap<Place, f64> = BTreeMap::new();
        let mut arrived = 0.0;
        for (&(router, in_port, vc, state), &part) in &here {
            let hop = Hop { router, in_port, vc, visited, source, destination, state, random };
            options.clear();
            routing.options(&hop, &mut options);
            let each = part / options.len() as f64;
            for choice in &options {
                let link = fabric.port_index(router, choice.port);
                *links.entry((visited + 1, link.number())).or_default() += each;
                match fabric.ports().get(link.index())?.peer {
                    Peer::Router { router, port } => {
                        *next.entry((router, port, choice.vc, choice.state)).or_default() += each;
                    }
                    Peer::Terminal(terminal) if terminal == destination => arrived += each,
                    Peer::Terminal(_) | Peer::None => return None,
                }
            }
        }
        routers += arrived * f64::from(visited + 1);
        lengths += u32::from(arrived > 0.0);
        places += next.len();
        if next.is_empty() {
            // Packets that reach a link after different hops are counted together.
            let mut summed: Vec<(u32, f64)> = Vec::new();
            let mut place: BTreeMap<u32, usize> = BTreeMap::new();
            for ((_, link), part) in links {
                match place.get(&link) {
                    Some(&at) => summed[at].1 += part,
                    None => {
                        place.insert(link, summed.len());
                        summed.push((link, part));
                    }
                }
            }
            return Some(Division { links: summed, routers, alike: lengths == 1 });
        }
        if places > MAX_PLACES {
            return None;
        }
        here = next;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::rng::Purpose;
    use model::samples::{int, routing, topology};

    fn division(fabric: &Fabric, routing: &dyn Routing, ends: (u32, u32)) -> Option<Division> {
        let ends = (TerminalId::new(ends.0), TerminalId::new(ends.1));
        divide(fabric, routing, ends, Stream::new(1, Purpose::Route, 0))
    }

    /// What enters a router leaves it, and all ancestors get the same.
    #[test]
    fn a_fat_tree_spreads_evenly_over_its_ancestors() {
        let fabric = topology("fat-tree", &[("k", int(4)), ("levels", int(2))]);
        let up = routing(&fabric, "nearest-common-ancestor", &[]);
        let d = division(&fabric, &*up, (0, 15)).expect("few paths");
        let parts: Vec<f64> = d.links.iter().map(|l| l.1).collect();
        assert_eq!(parts, [1.0, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 1.0]);
        assert_eq!((d.routers, d.alike), (3.0, true));
        // Below one leaf there is one path.
        assert_eq!(division(&fabric, &*up, (0, 1)).map(|d| d.links.len()), Some(2));
    }

    #[test]
    fn valiant_visits_all_routers_alike() {
        let sizes = [
            ("groups", 9),
            ("routers_per_group", 4),
            ("terminals_per_router", 2),
            ("global_ports_per_router", 2),
        ];
        let fabric = topology("dragonfly", &sizes.map(|(name, n)| (name, int(n))));
        let valiant = routing(&fabric, "valiant", &[]);
        let d = division(&fabric, &*valiant, (0, 60)).expect("few paths");
        assert!(!d.alike && d.routers > 4.0, "{d:?}");
        let (mut sum, first, last) = (0.0, d.links[0].1, d.links.last().map_or(0.0, |l| l.1));
        d.links.iter().for_each(|l| sum += l.1);
        // A packet crosses a link after each router, and the one before the first.
        assert!((sum - d.routers - 1.0).abs() < 1e-9, "{sum}");
        assert!(first >= 1.0 && last <= 1.0);
        assert!(d.links.iter().all(|l| l.1 <= 1.0 + 1e-9));
    }
}
