//! The checkers find what they are for: each fault is planted in the state of a sound run.

use base::index::{PortId, TerminalId};
use engine::executor::{Executor, Options};
use fabric::{
    graph::{Fabric, Peer},
    routing::{Choice, Congestion, Facts, Hop, Routing},
};
use model::setup::{Scheduling, Until};
use packet::router::{registry::named, window::WindowRouter};
use packet::{
    Setup,
    census::Census,
    check,
    identity::PacketId,
    ledger::Ledger,
    net::Router,
    network::Network,
    places::{LocalPort, VcRow},
    rows::{NO_CREDIT, Packet},
    samples,
    state::{PacketDomain, Record},
};
use std::sync::Arc;

type Run = Executor<PacketDomain<WindowRouter>, Vec<Record>>;

/// A saturated dragonfly with small buffers.
fn setup() -> Setup {
    let mut setup = samples::dragonfly(72, "minimal", "constant", 1.0);
    for link in &mut setup.links {
        link.vc_buffer = 256;
    }
    setup
}

/// Settled at 20 us.
fn run(partitions: u32) -> Run {
    run_of(&setup(), partitions)
}

fn run_of(setup: &Setup, partitions: u32) -> Run {
    let net = Arc::new(Network::new(setup, partitions));
    let parts = (0..partitions).map(|p| (PacketDomain::new(Arc::clone(&net), p), Vec::new()));
    let mut run = Executor::new(parts, Options { tie_seed: 1, wheel_shift: 8 });
    run.run_until(20_000_000, u64::MAX);
    run.settle();
    run
}

fn credits<R: Router>(run: &Executor<PacketDomain<R>, Vec<Record>>) -> Result<(), String> {
    let domains: Vec<&PacketDomain<R>> = run.partitions.iter().map(|p| &p.domain).collect();
    let pending: Vec<_> = run.partitions.iter().map(|p| p.agenda.pending()).collect();
    check::credits(&domains, &pending, run.now()).map_err(|e| e.to_string())
}

/// First (port, VC row) of the first partition that `wanted` accepts.
fn find(
    run: &Run,
    wanted: impl Fn(&PacketDomain<WindowRouter>, LocalPort, VcRow) -> bool,
) -> (LocalPort, VcRow) {
    let domain = &run.partitions[0].domain;
    let ports = domain.cx.local.ports_of_routers();
    let all = ports.flat_map(|u| domain.state.net.vcs_of(u).map(move |(_, v)| (u, v)));
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

/// The packet of terminal 0 with a number.
fn numbered(number: u32) -> PacketId {
    PacketId::new(TerminalId::new(0), number)
}

fn packet(number: u32) -> Packet {
    let run = run(1);
    let found = run.partitions[0].observer.iter().find_map(Record::delivered);
    Packet { id: numbered(number), ..found.expect("something was delivered").1 }
}

#[test]
fn the_ledger_wants_every_packet_once() {
    let packet = packet(7);
    let (bytes, to) = (packet.bytes, packet.destination);
    let mut sound = Ledger::new(false);
    sound.handed_over(numbered(7), bytes, to);
    sound.handed_over(numbered(8), bytes, to);
    assert!(!sound.clone().verdict(0, None).is_empty(), "two packets are missing");
    sound.delivered(&packet, to);
    assert!(sound.clone().verdict(1, None).is_empty());
    assert!(!sound.clone().verdict(0, None).is_empty(), "one packet is missing");
    let mut twice = sound.clone();
    twice.delivered(&packet, to);
    assert!(!twice.verdict(1, None).is_empty(), "delivered twice");
    let mut partly = sound.clone();
    partly.handed_over(numbered(9), bytes, to);
    partly.delivered(&Packet { id: numbered(9), delivered: packet.chunks - 1, ..packet }, to);
    assert!(!partly.verdict(1, None).is_empty(), "delivered in part");
    let next = TerminalId::new(to.number() + 1);
    let mut elsewhere = sound.clone();
    elsewhere.handed_over(numbered(9), bytes, to);
    elsewhere.delivered(&Packet { id: numbered(9), ..packet }, next);
    assert!(!elsewhere.verdict(1, None).is_empty(), "delivered to a neighbour");
    for changed in [Packet { bytes: bytes - 1, ..packet }, Packet { destination: next, ..packet }] {
        let mut other = sound.clone();
        other.handed_over(numbered(9), bytes, to);
        // Where it arrives, it looks right.
        let mut there = Ledger::new(false);
        there.delivered(&Packet { id: numbered(9), ..changed }, changed.destination);
        other.merge(there);
        assert!(!other.verdict(1, None).is_empty(), "changed on its way");
    }
    // In another partition it was delivered once more.
    let mut other = Ledger::new(false);
    other.delivered(&packet, to);
    sound.merge(other);
    assert!(!sound.verdict(1, None).is_empty(), "delivered in two partitions");
}

/// What the books of buffers and the ledger say of a run.
pub fn books_and_packets<R: Router>(run: &Executor<PacketDomain<R>, Vec<Record>>) -> Vec<String> {
    credits(run).err().into_iter().chain(packets(run)).collect()
}

/// What the ledger says of a run, with the packets counted where they are.
fn packets<R: Router>(run: &Executor<PacketDomain<R>, Vec<Record>>) -> Vec<String> {
    let (mut ledger, mut in_flight) = (Ledger::new(true), 0);
    let mut census: Option<Census> = None;
    for part in &run.partitions {
        for record in &part.observer {
            if let Record::Created { id, bytes, destination, .. } = *record {
                ledger.handed_over(id, bytes, destination);
                in_flight += 1;
            } else if let Some((_, packet)) = record.delivered() {
                ledger.delivered(&packet, packet.destination);
                in_flight -= 1;
            }
        }
        let here = Census::of(&part.domain, &part.agenda.pending());
        match &mut census {
            Some(census) => census.merge(here),
            None => census = Some(here),
        }
    }
    ledger.verdict(in_flight, census.as_ref())
}

#[test]
fn all_packets_of_a_sound_run_are_found() {
    for partitions in [1, 3] {
        assert_eq!(packets(&run(partitions)), Vec::<String>::new());
    }
}

/// Of two chunks one has arrived, and the other waits in its terminal for a credit: no chunk of the packet is in the network.
#[test]
fn a_packet_whose_next_chunk_waits_for_a_credit_is_whole() {
    let fabric = samples::topology("single-switch", &[("terminals", samples::int(2))]);
    let routing = samples::routing(&fabric, "minimal", &[]);
    // Buffers of one chunk, whose credits take 30 us.
    let links = vec![samples::link(1_000_000_000, 1_000, 30_000_000, 64)];
    let work = samples::traffic("uniform", &[], "constant", 0.5, (2, 128, links[0].bandwidth), 1);
    let mut setup = samples::setup(fabric, routing, links, work, 128);
    let run = run_of(&setup, 1);
    let state = &run.partitions[0].domain.state;
    let front = state.net.packets.get(state.terminals.get(0).queue.head);
    assert_eq!((state.terminals.get(0).sent, front.delivered, front.here), (1, 1, 1));
    assert_eq!(packets(&run), Vec::<String>::new());
    // The same for all routers and in several partitions.
    setup.check = true;
    setup.until = Until::Time(20_000_000);
    for (router, partitions) in [("window", 2), ("input-queued", 1), ("output-queued", 1), ("combined", 1)] {
        setup.packet.router = named(router);
        setup.scheduling = Scheduling::Sequential { partitions };
        let done = packet::simulate(&setup, &mut |_| true).unwrap_or_else(|e| panic!("{router}: {e}"));
        assert!(done.summary.packets.is_some_and(|p| p.in_flight > 0), "{router}");
    }
}

/// The books balance, and go on to balance, but a packet lacks a chunk.
#[test]
fn a_chunk_that_was_dropped_with_its_credit_returned_is_found() {
    for partitions in [1, 2] {
        // With buffers that let several chunks wait for a link.
        let mut run = run_of(&samples::dragonfly(72, "minimal", "constant", 1.0), partitions);
        let (u, v) = find(&run, |d, _, v| d.state.net.vcs.get(v).own.iter(&d.state.net.chunks).count() > 1);
        let net = &mut run.partitions[0].domain.state.net;
        let chunk = net.vcs.edit(v).own.pop(&net.chunks).expect("it holds two");
        let id = net.packets.get(net.chunks.get(chunk).packet).id;
        net.chunks.give(chunk);
        net.vcs.edit(v).occupancy -= 1;
        net.ports.edit(u).backlog -= 1;
        for more in [0, 20_000_000] {
            let until = run.now() + more;
            run.run_until(until, u64::MAX);
            run.settle();
            let faults = packets(&run);
            // Of the packet as a whole, and of its row as long as it has chunks in the network.
            assert!(matches!(faults.len(), 1 | 2), "{faults:?}");
            assert!(faults.iter().all(|fault| fault.contains(&format!("packet {id} "))), "{faults:?}");
        }
    }
}

#[test]
fn a_packet_that_vanished_from_its_terminal_is_found() {
    let mut run = run(1);
    let state = &mut run.partitions[0].domain.state;
    let i = (0..72).find(|&i| state.terminals.get(i).queue.iter(&state.net.packets).count() > 1);
    let i = i.expect("sources of a saturated network wait");
    // The second: of the first some chunks may be under way.
    let first = state.terminals.get(i).queue.head;
    let second = state.net.packets.get(first).next;
    let after = state.net.packets.get(second).next;
    let id = state.net.packets.get(second).id;
    state.net.packets.edit(first).next = after;
    let faults = packets(&run);
    assert_eq!(faults, [format!("packet {id} is neither delivered nor in any queue or buffer or on a link")]);
}

/// Leads packets for some terminals to their neighbours.
struct Misled(Arc<dyn Routing>, Arc<Fabric>);

impl Routing for Misled {
    fn vcs(&self) -> u8 {
        self.0.vcs()
    }

    fn route(&self, hop: &mut Hop, congestion: &mut dyn Congestion) -> Choice {
        let choice = self.0.route(hop, congestion);
        let ports = self.1.ports_of(hop.router);
        let is_out = |port: PortId| matches!(ports[port.number() as usize].peer, Peer::Terminal(_));
        let mut others =
            (0..ports.len() as u32).map(PortId::new).filter(|&port| port != choice.port && is_out(port));
        let other = others.next_back().filter(|_| is_out(choice.port) && hop.destination.number() % 9 == 4);
        Choice { port: other.unwrap_or(choice.port), ..choice }
    }

    fn options(&self, hop: &Hop, out: &mut Vec<Choice>) {
        self.0.options(hop, out);
    }

    fn facts(&self) -> Facts {
        self.0.facts()
    }
}

/// In builds without debug assertions, too.
#[test]
fn a_packet_at_the_wrong_terminal_ends_a_checked_run() {
    for router in ["window", "input-queued", "output-queued", "combined"] {
        let mut setup = setup();
        setup.packet.router = named(router);
        setup.check = true;
        setup.until = Until::Time(20_000_000);
        assert!(packet::simulate(&setup, &mut |_| true).is_ok(), "{router}");
        setup.routing = Arc::new(Misled(Arc::clone(&setup.routing), Arc::clone(&setup.fabric)));
        let Err(failure) = packet::simulate(&setup, &mut |_| true) else { panic!("{router}") };
        assert!(failure.to_string().contains("arrived at terminal"), "{failure}");
    }
}

#[test]
fn the_ledger_wants_order_where_it_is_promised() {
    let overtaken = Packet { disordered: true, ..packet(7) };
    for (promised, faults) in [(true, 1), (false, 0)] {
        let mut ledger = Ledger::new(promised);
        ledger.handed_over(numbered(7), overtaken.bytes, overtaken.destination);
        ledger.delivered(&overtaken, overtaken.destination);
        assert_eq!(ledger.verdict(0, None).len(), faults);
    }
}
