//! What waits in pipelined routers shows in the fingerprint of the final state.

use super::*;
use crate::{
    planted::run,
    router::registry::{clocked, named},
    samples,
};
use engine::state::mode::Undo;

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
