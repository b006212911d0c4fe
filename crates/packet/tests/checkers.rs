//! The checkers find what they are for: each fault is planted in the state of a sound run.

use engine::executor::{Executor, Options};
use packet::router::window::WindowRouter;
use packet::{
    Setup,
    check::{self, Ledger},
    network::Network,
    places::LocalPort,
    rows::{NO_CREDIT, Packet},
    samples,
    state::{PacketDomain, Record},
};
use std::sync::Arc;

type Run = Executor<PacketDomain<WindowRouter>, Vec<Record>>;

/// A saturated dragonfly with small buffers.
fn setup() -> Setup {
    let mut setup = samples::dragonfly(72, "minimal", ("constant", 1.0));
    for link in &mut setup.links {
        link.vc_buffer = 256;
    }
    setup
}

/// Settled at 20 us.
fn run(partitions: u32) -> Run {
    let net = Arc::new(Network::new(&setup(), partitions));
    let parts = (0..partitions).map(|p| (PacketDomain::new(Arc::clone(&net), p), Vec::new()));
    let mut run = Executor::new(parts, Options { tie_seed: 1, wheel_shift: 8 });
    run.run_until(20_000_000, u64::MAX);
    run.settle();
    run
}

fn credits(run: &Run) -> Result<(), String> {
    let domains: Vec<&PacketDomain<WindowRouter>> = run.partitions.iter().map(|p| &p.domain).collect();
    let pending: Vec<_> = run.partitions.iter().map(|p| p.agenda.pending()).collect();
    check::credits(&domains, &pending, run.now()).map_err(|e| e.to_string())
}

/// First (port, VC row) of the first partition that `wanted` accepts.
fn find(run: &Run, wanted: impl Fn(&PacketDomain<WindowRouter>, LocalPort, u32) -> bool) -> (LocalPort, u32) {
    let domain = &run.partitions[0].domain;
    let vcs = u32::from(domain.cx.net.config.vcs);
    let ports = domain.cx.local.ports_of_routers();
    let all = ports.flat_map(|u| (0..vcs).map(move |vc| (u, u.number() * vcs + vc)));
    all.into_iter().find(|&(u, v)| wanted(domain, u, v)).expect("a saturated network has one")
}

#[test]
fn books_of_a_sound_run_balance() {
    for partitions in [1, 3] {
        assert_eq!(credits(&run(partitions)), Ok(()));
    }
}

#[test]
fn a_lost_or_invented_credit_is_found() {
    for by in [1, u32::MAX] {
        let mut run = run(2);
        let (_, v) = find(&run, |d, _, v| d.state.net.vcs.get(v).occupancy > 0);
        let row = run.partitions[0].domain.state.net.vcs.edit(v);
        row.occupancy = row.occupancy.wrapping_add(by);
        assert!(credits(&run).is_err_and(|e| e.contains("hold its buffer")), "{:?}", credits(&run));
    }
}

#[test]
fn a_lost_chunk_or_credit_is_found() {
    let mut run = run(1);
    let (_, v) = find(&run, |d, _, v| !d.state.net.vcs.get(v).own.is_empty());
    let state = &mut run.partitions[0].domain.state.net;
    state.vcs.edit(v).own.pop(&state.chunks);
    assert!(credits(&run).is_err());
    let mut run = self::run(1);
    let (_, v) = find(&run, |d, _, v| !d.state.net.router.queued.get(v).is_empty());
    let state = &mut run.partitions[0].domain.state.net;
    state.router.queued.edit(v).pop(&state.chunks);
    assert!(credits(&run).is_err());
    let mut run = self::run(1);
    let (u, _) = find(&run, |d, u, _| d.state.net.credits_of(u).count() > 0);
    run.partitions[0].domain.state.net.ports.edit(u).first_credit = NO_CREDIT;
    assert!(credits(&run).is_err(), "a credit was lost on its way");
}

/// The same books judged by a network with other buffers.
#[test]
fn an_overfull_buffer_and_an_idle_queue_are_found() {
    for (bytes, words) in [(128, "its buffer 2"), (320, "has room for 1 chunks")] {
        let mut run = run(1);
        let mut setup = setup();
        setup.links.iter_mut().for_each(|link| link.vc_buffer = bytes);
        run.partitions[0].domain.cx.net = Arc::new(Network::new(&setup, 1));
        assert!(credits(&run).is_err_and(|e| e.contains(words)), "{:?}", credits(&run));
    }
}

fn packet(id: u64) -> Packet {
    let run = run(1);
    let found = run.partitions[0].observer.iter().find_map(Record::delivered);
    Packet { id, ..found.expect("something was delivered").1 }
}

#[test]
fn the_ledger_wants_every_packet_once() {
    let packet = packet(7);
    let mut sound = Ledger::new(false);
    sound.created(7);
    sound.created(8);
    assert!(!sound.clone().verdict(0).is_empty(), "two packets are missing");
    sound.delivered(&packet);
    assert!(sound.clone().verdict(1).is_empty());
    assert!(!sound.clone().verdict(0).is_empty(), "one packet is missing");
    let mut twice = sound.clone();
    twice.delivered(&packet);
    assert!(!twice.verdict(1).is_empty(), "delivered twice");
    let mut partly = sound.clone();
    partly.created(9);
    partly.delivered(&Packet { id: 9, delivered: packet.chunks - 1, ..packet });
    assert!(!partly.verdict(1).is_empty(), "delivered in part");
    // In another partition it was delivered once more.
    let mut other = Ledger::new(false);
    other.delivered(&packet);
    sound.merge(other);
    assert!(!sound.verdict(1).is_empty(), "delivered in two partitions");
}

#[test]
fn the_ledger_wants_order_where_it_is_promised() {
    let overtaken = Packet { disordered: true, ..packet(7) };
    for (promised, faults) in [(true, 1), (false, 0)] {
        let mut ledger = Ledger::new(promised);
        ledger.created(7);
        ledger.delivered(&overtaken);
        assert_eq!(ledger.verdict(0).len(), faults);
    }
}
