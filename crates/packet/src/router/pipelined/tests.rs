//! What waits in pipelined routers shows in the fingerprint of the final state, and faults planted in copies are found.

use super::*;
use crate::{
    planted::{all_are_found, run},
    router::registry::{clocked, named},
    samples,
    setup::Setup,
    state::PacketDomain,
};
use base::param::Value;
use engine::state::mode::Undo;
use model::samples::int;

fn fingerprint(n: &Net<Pipelined<Undo>>, cx: &Static) -> u128 {
    let mut sum = Fingerprint::default();
    (0..n.ports.rows().len() as u32).for_each(|u| Pipelined::hash(n, cx, LocalPort::new(u), &mut sum));
    sum.0
}

/// Two states that differ in one number of a waiting packet, its output or its virtual channel, have different fingerprints.
#[test]
fn every_number_of_what_waits_shows() {
    let mut setup = samples::dragonfly(72, "minimal", "constant", 1.0);
    setup.packet.router = clocked(named("combined"));
    setup.packet.pipeline = Some(Pipeline::of("combined"));
    let mut run = run::<Pipelined<Undo>>(&setup, 5_000_000);
    let domain = &mut run.partitions[0].domain.carrier;
    let (cx, n) = (&domain.cx, &mut domain.state.net);
    let sound = fingerprint(n, cx);
    let inputs = (0..n.ports.rows().len() as u32).map(LocalPort::new).filter(|&u| cx.local.is_routers(u));
    let units: Vec<u32> = inputs.flat_map(|u| n.router.busy_units(u).collect::<Vec<_>>()).collect();
    let routed = units.into_iter().find(|&unit| n.router.units.get(unit).stage != Stage::Idle);
    let unit = routed.expect("packets wait at full load");
    let row = *n.router.units.get(unit);
    n.router.units.edit(unit).out = LocalPort::new(if row.out.number() == 0 { 1 } else { 0 });
    assert_ne!(fingerprint(n, cx), sound, "the output");
    *n.router.units.edit(unit) = Unit { vc: ChannelId::new(row.vc.number() ^ 1), ..row };
    assert_ne!(fingerprint(n, cx), sound, "the virtual channel");
    *n.router.units.edit(unit) = Unit { fifo: List::default(), ..row };
    assert_ne!(fingerprint(n, cx), sound, "what waits");
    *n.router.units.edit(unit) = row;
    assert_eq!(fingerprint(n, cx), sound);
}

/// Everybody sends to everybody by tree, more than links carry, in packets that just fit into buffers.
fn multicast() -> Setup {
    let fabric = samples::topology("mesh", &[("dims", Value::Ints(vec![3, 3]))]);
    let routing = samples::routing(&fabric, "dimension-order", &[]);
    let links = vec![samples::link(64_000_000_000, 3_000, 4_000, 256); fabric.classes().len()];
    let given = [("replication", Value::Text("routers".to_owned())), ("bursts", int(20))];
    let job = (fabric.terminals(), 256, links[0].bandwidth);
    let traffic = samples::traffic("multicast", &given, "constant", 2.0, job, 1);
    let mut setup = samples::setup(fabric, routing, links, traffic, 256);
    setup.packet.packet = 256;
    setup.packet.vcs = 2;
    setup.packet.router = clocked(named("input-queued"));
    setup.packet.pipeline = Some(Pipeline::DEFAULT);
    setup
}

/// A queue of copies with a chunk in front that `wanted` accepts, with its input.
fn queue(
    d: &PacketDomain<Pipelined<Undo>>,
    wanted: impl Fn(&Net<Pipelined<Undo>>, LocalPort, u32) -> bool,
) -> Option<u32> {
    let (net, cx) = (&d.state.net, &d.cx);
    let inputs = LocalPort::first(cx.local.router_ports());
    let queues = inputs.flat_map(|u| net.router.busy_units(u).map(move |unit| (u, unit)));
    let mut copies = queues.filter(|&(u, unit)| net.router.entry_of(u, unit) != unit);
    copies.find(|&(u, unit)| wanted(net, u, unit)).map(|found| found.1)
}

#[test]
fn faults_in_copies_are_found() {
    let times = [100_000, 150_000, 200_000, 300_000, 500_000];
    all_are_found::<Pipelined<Undo>>(
        &multicast(),
        &times,
        &[
            ("the copy that stands for a buffer is lost", |d| {
                let cx = d.cx.clone();
                let unit = queue(d, |net, u, unit| net.stands_for_buffers(&cx, u, unit))?;
                d.state.net.router.units.edit(unit).fifo.pop(&d.state.net.chunks)?;
                Some(())
            }),
            ("a copy that shares its buffer is lost", |d| {
                let cx = d.cx.clone();
                let unit = queue(d, |net, u, unit| !net.stands_for_buffers(&cx, u, unit))?;
                d.state.net.router.units.edit(unit).fifo.pop(&d.state.net.chunks)?;
                Some(())
            }),
            ("a chunk is copied twice", |d| {
                let cx = d.cx.clone();
                let unit = queue(d, |net, u, unit| !net.stands_for_buffers(&cx, u, unit))?;
                let net = &mut d.state.net;
                let front = *net.chunks.get(net.router.units.get(unit).fifo.head);
                let again = net.chunks.take(front);
                net.router.units.edit(unit).fifo.push(&mut net.chunks, again);
                Some(())
            }),
        ],
    );
}
