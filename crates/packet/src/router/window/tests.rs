//! What waits in routers of windows shows in the fingerprint of the final state.

use super::*;
use crate::{planted::run, samples};
use engine::state::mode::Undo;

fn fingerprint(n: &Net<WindowRouter<Undo>>, cx: &Static) -> u128 {
    let mut sum = Fingerprint::default();
    (0..n.ports.rows().len() as u32).for_each(|u| WindowRouter::hash(n, cx, LocalPort::new(u), &mut sum));
    sum.0
}

/// Two states that differ in the virtual channel in which chunks wait have different fingerprints.
#[test]
fn the_channel_of_what_waits_shows() {
    let mut run = run::<WindowRouter<Undo>>(&samples::dragonfly(72, "minimal", "constant", 1.0), 5_000_000);
    let domain = &mut run.partitions[0].domain.carrier;
    let (cx, n) = (&domain.cx, &mut domain.state.net);
    let sound = fingerprint(n, cx);
    let ports = (0..n.ports.rows().len() as u32).map(LocalPort::new);
    let pairs = ports.flat_map(|u| {
        let channels: Vec<VcRow> = n.vcs_of(u).map(|(_, v)| v).collect();
        channels.windows(2).map(|w| (w[0], w[1])).collect::<Vec<_>>()
    });
    let alone = |&(a, b): &(VcRow, VcRow)| !n.vcs.get(a).own.is_empty() && n.vcs.get(b).own.is_empty();
    let (from, to) = pairs.collect::<Vec<_>>().into_iter().find(alone).expect("packets wait at full load");
    let list = std::mem::take(&mut n.vcs.edit(from).own);
    assert_ne!(fingerprint(n, cx), sound, "what waits");
    n.vcs.edit(to).own = list;
    assert_ne!(fingerprint(n, cx), sound, "the virtual channel");
}
