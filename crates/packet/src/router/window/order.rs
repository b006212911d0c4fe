//! Faults in the order of packets, planted while a run is under way: found when the later packet of a pair has come before the earlier one.

use super::WindowRouter;
use crate::{
    one_way::keeps_order,
    planted::{faults, run_on},
    samples::{self, int},
    setup::Setup,
    state::PacketDomain,
};
use base::{param::Value, time::US};
use model::setup::Until;

type Domain = PacketDomain<WindowRouter>;

/// Packets of one chunk along a line, all between mirrored terminals, more than its middle can carry.
fn line(algorithm: &str, topology: &str, given: &[(&str, Value)]) -> Setup {
    let fabric = samples::topology(topology, given);
    let routing = samples::routing(&fabric, algorithm, &[]);
    let links = vec![samples::link(1_000_000_000, 50_000, 50_000, 2048); fabric.classes().len()];
    let (ranks, bandwidth) = (fabric.terminals(), links[0].bandwidth);
    let work = samples::traffic("bit-complement", &[], "constant", 0.9, (ranks, 64, bandwidth), 1);
    let mut setup = samples::setup(fabric, routing, links, work, 64);
    setup.packet.packet = 64;
    setup.until = Until::Time(400 * US);
    setup.check = true;
    setup
}

fn mesh() -> Setup {
    line("dimension-order", "mesh", &[("dims", Value::Ints(vec![8]))])
}

/// Two packets of a flow change places in a virtual channel of a router.
fn swapped_in_a_channel(d: &mut Domain) -> Option<()> {
    let net = &mut d.state.net;
    let pair = |net: &crate::net::Net<WindowRouter>, c| {
        let packet = net.packets.get(net.chunks.get(c).packet);
        (packet.source(), packet.destination)
    };
    let ports: Vec<_> = d.cx.local.ports_of_routers().collect();
    let all = ports.iter().flat_map(|&u| net.vcs_of(u).map(|(_, v)| v)).collect::<Vec<_>>();
    let (a, b) = all.into_iter().find_map(|v| {
        let queue: Vec<_> = net.router.queued.get(v).iter(&net.chunks).collect();
        let later = |&i: &usize| (i + 1..queue.len()).find(|&j| pair(net, queue[i]) == pair(net, queue[j]));
        (0..queue.len()).find_map(|i| later(&i).map(|j| (queue[i], queue[j])))
    })?;
    let (first, second) = (net.chunks.get(a).packet, net.chunks.get(b).packet);
    net.chunks.edit(a).packet = second;
    net.chunks.edit(b).packet = first;
    Some(())
}

/// A packet overtakes the one before it in its terminal.
fn overtaken_in_a_terminal(d: &mut Domain) -> Option<()> {
    let (terminals, packets) = (&d.state.terminals, &mut d.state.net.packets);
    let queues =
        (0..terminals.len() as u32).map(|i| terminals.get(i).queue.iter(packets).collect::<Vec<_>>());
    let (a, b) = queues.into_iter().find_map(|queue| Some((*queue.get(1)?, *queue.get(2)?)))?;
    let (first, second) = (packets.get(a).id, packets.get(b).id);
    packets.edit(a).id = second;
    packets.edit(b).id = first;
    Some(())
}

#[test]
fn paths_are_one_where_a_routing_has_no_choice() {
    let torus: &[(&str, Value)] = &[("dims", Value::Ints(vec![4, 4]))];
    let tree: &[(&str, Value)] = &[("k", int(2)), ("levels", int(3))];
    for (algorithm, topology, given, one) in [
        ("dimension-order", "mesh", torus, true),
        ("dimension-order", "torus", torus, true),
        ("d-mod-k", "fat-tree", tree, true),
        ("nearest-common-ancestor", "fat-tree", tree, false),
        ("shortest-path", "mesh", torus, false),
    ] {
        assert_eq!(keeps_order(&line(algorithm, topology, given)), one, "{algorithm} on {topology}");
    }
    let mut wide = mesh();
    wide.packet.router = crate::router::registry::named("input-queued");
    assert!(keeps_order(&wide));
    wide.packet.vcs = 2;
    assert!(!keeps_order(&wide), "terminals take the channel that has room");
}

#[test]
fn faults_in_the_order_of_packets_are_found() {
    let setup = mesh();
    assert!(keeps_order(&setup));
    let sound = run_on::<WindowRouter>(&setup, 30 * US, 390 * US, |_| Some(()));
    assert_eq!(sound.map(|run| faults(&run)), Some(Vec::new()));
    for (what, plant) in [
        ("swapped in a channel", swapped_in_a_channel as fn(&mut Domain) -> Option<()>),
        ("overtaken in a terminal", overtaken_in_a_terminal),
    ] {
        let run = run_on::<WindowRouter>(&setup, 30 * US, 390 * US, plant).expect("there is a place for it");
        let found = faults(&run);
        assert!(
            found.iter().any(|fault| fault.contains("after one that was sent later")),
            "{what}: {found:?}"
        );
    }
}
