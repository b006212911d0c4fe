//! The path of a packet through an idle network: a routing is asked hop by hop, and sees empty queues.

use super::{Choice, Congestion, Hop, Routing};
use crate::graph::{Fabric, Peer};
use base::{
    index::{ChannelId, PortId, RouterId, TerminalId},
    rng::{Purpose, Stream},
};

/// A path: ports and channels of its links, that to the terminal last.
pub type Path = Vec<(RouterId, PortId, ChannelId)>;

/// What a router sees of a network where nothing waits.
struct Blind;

impl Congestion for Blind {
    fn backlog(&mut self, _: PortId) -> u64 {
        0
    }
}

/// The first question of a packet; packets of other draws may get other answers.
#[must_use]
pub fn start(fabric: &Fabric, source: TerminalId, destination: TerminalId, draw: u64) -> Hop {
    let (router, in_port) = fabric.attached(source);
    let random = Stream::new(1, Purpose::Route, 0).owned_by(u64::from(source) << 32 | draw);
    Hop { router, in_port, vc: ChannelId::FIRST, visited: 0, source, destination, state: 0, random }
}

/// Where a choice leads: the next question, or nothing if the packet is out.
#[must_use]
pub fn follow(fabric: &Fabric, hop: &Hop, choice: Choice) -> Option<Hop> {
    match fabric.ports_of(hop.router).get(choice.port.index()).map_or(Peer::None, |p| p.peer) {
        Peer::Router { router, port } => Some(Hop {
            router,
            in_port: port,
            vc: choice.vc,
            state: choice.state,
            visited: hop.visited + 1,
            ..*hop
        }),
        _ => None,
    }
}

/// The path that a packet takes; none if it has more than `most` links. `look` is shown each question before it is put.
pub fn walk(
    fabric: &Fabric,
    routing: &dyn Routing,
    start: Hop,
    most: usize,
    look: &mut dyn FnMut(&Hop),
) -> Option<Path> {
    let (mut hop, mut path) = (start, Path::new());
    let base = hop.random;
    loop {
        look(&hop);
        // As models do: each hop has draws of its own.
        hop.random = base.at(u64::from(hop.visited) << 16);
        let choice = routing.route(&mut hop, &mut Blind);
        path.push((hop.router, choice.port, choice.vc));
        let Some(next) = follow(fabric, &hop, choice) else { return Some(path) };
        if path.len() > most {
            return None;
        }
        hop = next;
    }
}
