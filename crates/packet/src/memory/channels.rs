//! Which virtual channels a routing uses on links of a class: buffers of the others stay empty.

use crate::{
    config::{Injects, PacketConfig},
    setup::Setup,
};
use base::{
    index::{ChannelId, TerminalId},
    rng::{Purpose, Stream},
};
use fabric::{
    graph::Peer,
    routing::{Choice, Hop},
};

/// Ways that are walked.
const WALKS: u64 = 1024;

/// Choices that are looked at before no further way is walked.
const CHOICES: usize = 1 << 18;

/// Routers that a way may visit: beyond, the routing goes in circles.
const MOST: u16 = 1024;

/// Virtual channels that packets use, by class of the link between routers: a bit each.
///
/// Random ways, at each router one of all that the routing may choose; all of them count. Where routers or classes of service choose channels
/// themselves, where the network changes, and if a way leads astray, all channels count.
#[must_use]
pub fn used(setup: &Setup) -> Vec<u16> {
    let all = vec![u16::MAX; setup.fabric.classes().len()];
    let PacketConfig { router, pipeline, .. } = &setup.packet;
    let chosen = router.rules.injects == Injects::First && pipeline.is_none();
    if !chosen || setup.services.is_some() || setup.change.is_some() {
        return all;
    }
    walked(setup).unwrap_or(all)
}

fn walked(setup: &Setup) -> Option<Vec<u16>> {
    let fabric = &*setup.fabric;
    let mut used = vec![0u16; fabric.classes().len()];
    let ends: Vec<TerminalId> = fabric.reachable().collect();
    let (mut looked, mut options) = (0, Vec::new());
    for walk in 0..WALKS {
        if looked > CHOICES || ends.len() < 2 {
            break;
        }
        let random = Stream::new(setup.seed, Purpose::Test, walk);
        let mut dice = random.at(1 << 32);
        let mut end = || ends[dice.below(ends.len() as u64) as usize];
        let (source, destination) = (end(), end());
        if fabric.plane_of(source) != fabric.plane_of(destination) || source == destination {
            continue;
        }
        let (router, in_port) = fabric.attached(source);
        let vc = ChannelId::FIRST;
        let mut hop = Hop { router, in_port, vc, visited: 0, source, destination, state: 0, random };
        loop {
            options.clear();
            setup.routing.options(&hop, &mut options);
            looked += options.len();
            let links = fabric.ports_of(hop.router);
            for Choice { port, vc, .. } in &options {
                let link = links.get(port.index())?;
                *used.get_mut(usize::from(link.class))? |= 1 << vc.number();
            }
            let next = options.get(dice.below(options.len().max(1) as u64) as usize)?;
            match links[next.port.index()].peer {
                Peer::Router { router, port } => (hop.router, hop.in_port) = (router, port),
                Peer::Terminal(_) => break,
                Peer::None => return None,
            }
            (hop.vc, hop.state, hop.visited) = (next.vc, next.state, hop.visited + 1);
            if hop.visited == MOST {
                return None;
            }
        }
    }
    Some(used)
}
