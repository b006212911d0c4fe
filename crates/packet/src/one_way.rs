//! Where packets between two terminals keep their order by themselves: all of them go one way, through queues that are served in turn. What `--check` then
//! promises is not written into routers or routings: each way of a small network is walked.

use crate::{config::Injects, network::is_plain, setup::Setup};
use base::{
    index::{ChannelId, TerminalId},
    rng::{Purpose, Stream},
};
use fabric::{
    graph::{Fabric, Peer},
    routing::{Hop, Routing},
};

/// Terminals of the largest network whose ways are all walked.
const TERMINALS: u32 = 128;
/// Routers of a way after which it counts as none.
const ROUTERS: u16 = 1024;

/// True if packets of each pair of terminals are delivered in the order in which they were handed over, whatever is sent.
#[must_use]
pub fn keeps_order(setup: &Setup) -> bool {
    let fabric = &setup.fabric;
    // With more channels than one, terminals or routers may choose among them; first ones alone are the routing's own.
    let one_channel = setup.packet.vcs == 1 || setup.packet.router.rules.injects == Injects::First;
    let known = is_plain(setup) && one_channel && setup.rail == Default::default();
    if !known || fabric.terminals() > TERMINALS || !setup.routing.facts().oblivious {
        return false;
    }
    let all = || fabric.reachable();
    all().all(|from| all().all(|to| from == to || is_one_way(fabric, &*setup.routing, from, to)))
}

/// True if a routing has one choice at each router between two terminals.
fn is_one_way(fabric: &Fabric, routing: &dyn Routing, source: TerminalId, destination: TerminalId) -> bool {
    let (mut router, mut in_port) = fabric.attached(source);
    let (mut vc, mut state, mut options) = (ChannelId::FIRST, 0, Vec::new());
    let random = Stream::new(0, Purpose::Route, 0);
    for visited in 0..ROUTERS {
        options.clear();
        routing
            .options(&Hop { router, in_port, vc, visited, source, destination, state, random }, &mut options);
        let Some(&first) = options.first() else { return false };
        if options.iter().any(|&other| other != first) {
            return false;
        }
        match fabric.ports_of(router)[first.port.index()].peer {
            Peer::Terminal(_) => return true,
            Peer::None => return false,
            Peer::Router { router: next, port } => (router, in_port) = (next, port),
        }
        (vc, state) = (first.vc, first.state);
    }
    false
}
