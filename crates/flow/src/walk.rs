//! One packet's way through a fabric, as its routing leads it.

use base::{
    index::{ChannelId, LinkId, PortId, RouterId, TerminalId},
    rng::Stream,
};
use fabric::{
    graph::{Fabric, Peer},
    routing::{Congestion, Hop, Routing},
};

/// What a message that goes over a link as a whole counts as there.
pub const WHOLE: u32 = 32;

/// What a whole message on a link counts as, for a routing that asks for the backlog.
pub const BACKLOG: u64 = 4096;

/// Routers that a way may visit: beyond, the routing goes in circles.
const MAX_HOPS: u16 = 4096;

/// A fabric and the routing that holds there.
#[derive(Clone, Copy)]
pub struct Routed<'a> {
    /// Routers and links.
    pub fabric: &'a Fabric,
    /// Asked at each router.
    pub routing: &'a dyn Routing,
}

/// What is on the links, by the solver's numbers.
#[derive(Clone, Copy)]
pub struct Loads<'a> {
    /// Solver's link of each directed link.
    pub shared: &'a [u32],
    /// Messages on each of the solver's links, in parts of [`WHOLE`].
    pub parts: &'a [u32],
}

/// What routers see of the links that leave them: bytes that wait.
pub trait Waits {
    /// Bytes that wait at a link.
    fn bytes(&self, link: LinkId) -> u64;
}

impl Waits for Option<Loads<'_>> {
    fn bytes(&self, link: LinkId) -> u64 {
        let on = |l: &Loads<'_>| l.parts[l.shared[link.index()] as usize];
        self.as_ref().map_or(0, |loads| u64::from(on(loads)) * (BACKLOG / u64::from(WHOLE)))
    }
}

/// A path through a fabric.
#[derive(Clone, Debug, Default)]
pub struct Path {
    /// Directed links in their order.
    pub links: Vec<u32>,
    /// Routers that it visits.
    pub routers: u32,
    /// Some router on it could have chosen another port.
    pub spreads: bool,
    /// Seconds that it takes beside links and routers.
    pub between: f64,
}

/// What a router sees of its ports' links.
struct View<'a, W> {
    fabric: &'a Fabric,
    router: RouterId,
    waits: &'a W,
}

impl<W: Waits> Congestion for View<'_, W> {
    fn backlog(&mut self, port: PortId) -> u64 {
        self.published(self.fabric.port_index(self.router, port))
    }

    fn published(&mut self, link: LinkId) -> u64 {
        self.waits.bytes(link)
    }
}

/// Follows a routing from terminal to terminal; returns whether it had no choice on the path. `None` if it goes astray.
#[must_use]
pub fn walk(
    routed: Routed<'_>,
    source: TerminalId,
    destination: TerminalId,
    random: Stream,
    loads: Option<Loads<'_>>,
) -> Option<(Path, bool)> {
    let (mut links, mut fixed, mut spreads) = (Vec::with_capacity(8), true, false);
    let mut options = Vec::new();
    let mut look = |hop: &Hop| {
        if fixed || !spreads {
            options.clear();
            routed.routing.options(hop, &mut options);
            fixed &= options.windows(2).all(|w| w[0] == w[1]);
            spreads |= options.windows(2).any(|w| w[0].port != w[1].port);
        }
    };
    let routers = follow(routed, source, destination, random, &loads, &mut links, &mut look)?;
    Some((Path { links, routers, spreads, between: 0.0 }, fixed))
}

/// Follows a routing from terminal to terminal and appends the links. Returns the number of routers; `None` if it goes astray. `look` is shown each
/// hop before it is decided.
pub fn follow(
    Routed { fabric, routing }: Routed<'_>,
    source: TerminalId,
    destination: TerminalId,
    random: Stream,
    waits: &impl Waits,
    links: &mut Vec<u32>,
    look: &mut dyn FnMut(&Hop),
) -> Option<u32> {
    let (router, in_port) = fabric.attached(source);
    let mut hop =
        Hop { router, in_port, vc: ChannelId::FIRST, visited: 0, source, destination, state: 0, random };
    links.push(fabric.injection(source).number());
    while hop.visited < MAX_HOPS {
        look(&hop);
        hop.random = random.at(u64::from(hop.visited) << 16);
        let mut view = View { fabric, router: hop.router, waits };
        let choice = routing.route(&mut hop, &mut view);
        let link = fabric.port_index(hop.router, choice.port);
        links.push(link.number());
        match fabric.ports().get(link.index())?.peer {
            Peer::Router { router, port } => (hop.router, hop.in_port) = (router, port),
            Peer::Terminal(terminal) => {
                return (terminal == destination).then_some(u32::from(hop.visited) + 1);
            }
            Peer::None => return None,
        }
        (hop.vc, hop.state) = (choice.vc, choice.state);
        hop.visited += 1;
    }
    None
}
