//! The parts of a message that cross each link, where a routing spreads packets over several paths.
//!
//! At each router the choices that the routing names share what arrives there equally, intermediate routers included. So every packet's chance to cross a link
//! is known, and a message that flows at x takes that part of x from the link.

use super::walk::Routed;
use base::{
    index::{ChannelId, PortId, RouterId, TerminalId},
    rng::Stream,
};
use fabric::{graph::Peer, routing::Hop};

/// Routers that a path may visit.
const MAX_HOPS: u16 = 64;

/// Places that packets of a message may be at; beyond, the message takes one path.
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

/// Why a message takes one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Single {
    /// There is one path, or what takes each cannot be found out.
    Undivided,
    /// A division would have too many links, or packets be at too many places.
    Wide,
}

/// Divides what goes from one terminal to another over so many links at most.
///
/// # Errors
/// Why it is not divided: paths are too many, too long, or end elsewhere.
pub fn divide(
    Routed { fabric, routing }: Routed<'_>,
    source: TerminalId,
    destination: TerminalId,
    random: Stream,
    most: usize,
) -> Result<Division, Single> {
    let (router, in_port) = fabric.attached(source);
    let mut whole = Summed::new(fabric.links());
    whole.add(fabric.injection(source).number(), 1.0);
    let mut here: Vec<(Place, f64)> = vec![((router, in_port, ChannelId::FIRST, 0), 1.0)];
    let (mut routers, mut lengths, mut places) = (0.0, 0, 0);
    let (mut next, mut crossed, mut options) = (Vec::new(), Vec::new(), Vec::new());
    for visited in 0..MAX_HOPS {
        let mut arrived = 0.0;
        for &((router, in_port, vc, state), part) in &here {
            let hop = Hop { router, in_port, vc, visited, source, destination, state, random };
            options.clear();
            routing.options(&hop, &mut options);
            let each = part / options.len() as f64;
            for choice in &options {
                let link = fabric.port_index(router, choice.port);
                crossed.push((link.number(), each));
                match fabric.ports().get(link.index()).map_or(Peer::None, |port| port.peer) {
                    Peer::Router { router, port } => {
                        next.push(((router, port, choice.vc, choice.state), each));
                    }
                    Peer::Terminal(terminal) if terminal == destination => arrived += each,
                    Peer::Terminal(_) | Peer::None => return Err(Single::Undivided),
                }
            }
        }
        // Packets that reach a link after different hops are counted together.
        merge(&mut crossed);
        crossed.drain(..).for_each(|(link, part)| whole.add(link, part));
        if whole.parts.len() > most {
            return Err(Single::Wide);
        }
        merge(&mut next);
        routers += arrived * f64::from(visited + 1);
        lengths += u32::from(arrived > 0.0);
        places += next.len();
        if places > MAX_PLACES {
            return Err(Single::Wide);
        }
        if next.is_empty() {
            return Ok(Division { links: whole.parts, routers, alike: lengths == 1 });
        }
        std::mem::swap(&mut here, &mut next);
        next.clear();
    }
    Err(Single::Undivided)
}

/// Sorts parts by where they are, and adds up those of one place in the order in which they came: a sum's last digit depends on it.
// Valiant's packets are at thousands of places: a map would be searched for each part that comes.
fn merge<K: Ord>(parts: &mut Vec<(K, f64)>) {
    parts.sort_by(|a, b| a.0.cmp(&b.0));
    parts.dedup_by(|later, first| {
        let same = later.0 == first.0;
        if same {
            first.1 += later.1;
        }
        same
    });
}

/// Parts by link, in the order in which links are first reached.
struct Summed {
    parts: Vec<(u32, f64)>,
    /// By link, where it is among the parts, if it is there at all.
    places: Vec<u32>,
}

impl Summed {
    fn new(links: u32) -> Self {
        Self { parts: Vec::new(), places: vec![0; links as usize] }
    }

    fn add(&mut self, link: u32, part: f64) {
        let place = &mut self.places[link as usize];
        match self.parts.get_mut(*place as usize) {
            Some(sum) if sum.0 == link => sum.1 += part,
            _ => {
                *place = self.parts.len() as u32;
                self.parts.push((link, part));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::rng::Purpose;
    use fabric::{graph::Fabric, routing::Routing};
    use model::samples::{int, routing, topology};

    fn within(
        most: usize,
        fabric: &Fabric,
        routing: &dyn Routing,
        ends: (u32, u32),
    ) -> Result<Division, Single> {
        let (from, to) = (TerminalId::new(ends.0), TerminalId::new(ends.1));
        divide(Routed { fabric, routing }, from, to, Stream::new(1, Purpose::Route, 0), most)
    }

    fn division(fabric: &Fabric, routing: &dyn Routing, ends: (u32, u32)) -> Option<Division> {
        within(usize::MAX, fabric, routing, ends).ok()
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
        assert_eq!(within(10, &fabric, &*up, (0, 15)), Ok(d));
        assert_eq!(within(9, &fabric, &*up, (0, 15)), Err(Single::Wide));
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
        let mut once: Vec<u32> = d.links.iter().map(|l| l.0).collect();
        once.sort_unstable();
        assert!(once.windows(2).all(|w| w[0] < w[1]), "each link once: {once:?}");
    }
}
