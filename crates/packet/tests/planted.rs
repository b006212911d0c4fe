//! Faults planted in the state of running networks, one at a time, for every router architecture: all are found by what `--check` looks at.
//!
//! A fault is planted between two events and looked for at once, so that no assertion of a test build finds it first.

use crate::checkers::books_and_packets;
use base::index::{ChannelId, TerminalId};
use engine::executor::{Executor, Options};
use packet::{
    Setup,
    effects::Record,
    net::Router,
    network::Network,
    places::{LocalPort, VcRow},
    pools::{ChunkRow, CreditRow, List, RowNumber},
    router::{
        input_queued::InputQueued, output_queued::OutputQueued, pipelined::Pipelined, registry::named,
        window::WindowRouter,
    },
    rows::{Chunk, NO_CREDIT, credit},
    samples,
    state::{PacketDomain, State},
};
use std::sync::Arc;

type Run<R> = Executor<PacketDomain<R>, Vec<Record>>;

/// A dragonfly whose sources have more to send than their links carry, in packets of several chunks, settled at 20 us.
fn run<R: Router>(router: &str) -> Run<R> {
    let mut setup: Setup = samples::dragonfly(72, "minimal", "constant", 2.0);
    setup.links.iter_mut().for_each(|link| link.vc_buffer = 256);
    // Terminals hold several packets.
    setup.links[0].vc_buffer = 8192;
    setup.packet.router = named(router);
    let net = Arc::new(Network::new(&setup, 1));
    let parts = [(PacketDomain::new(net, 0), Vec::new())];
    let mut run = Executor::new(parts, Options { tie_seed: 1, wheel_shift: 8 });
    run.run_until(20_100_000, u64::MAX);
    run.settle();
    run
}

/// The first port of a router or terminal that `wanted` accepts.
fn port<R: Router>(domain: &PacketDomain<R>, wanted: impl Fn(&State<R>, LocalPort) -> bool) -> LocalPort {
    let mut ports = domain.cx.local.lines.iter().map(|(u, _)| u);
    ports.find(|&u| wanted(&domain.state, u)).expect("a busy network has one")
}

/// A port with at least `n` chunks on its link.
fn busy<R: Router>(domain: &PacketDomain<R>, n: usize) -> LocalPort {
    port(domain, |s, u| s.net.ports.get(u).flight.iter(&s.net.flights).count() >= n)
}

/// The first chunk on a link, and its row.
fn chunk<R: Router>(domain: &PacketDomain<R>) -> (ChunkRow, Chunk) {
    let net = &domain.state.net;
    let first = net.ports.get(busy(domain, 1)).flight.head;
    let c = net.flights.get(first).chunk;
    (c, *net.chunks.get(c))
}

/// A terminal that `wanted` accepts, by the chunks of its first packet that were sent and the number of its packets.
fn terminal<R: Router>(domain: &PacketDomain<R>, wanted: impl Fn(u16, usize) -> bool) -> u32 {
    let (terminals, packets) = (&domain.state.terminals, &domain.state.net.packets);
    let is = |i: &u32| wanted(terminals.get(*i).sent, terminals.get(*i).queue.iter(packets).count());
    (0..terminals.len() as u32).find(is).expect("sources wait")
}

/// The port of a credit on its way.
fn owed<R: Router>(domain: &PacketDomain<R>) -> LocalPort {
    port(domain, |s, u| s.net.ports.get(u).first_credit != NO_CREDIT)
}

/// Row of a virtual channel that holds something.
fn held<R: Router>(domain: &PacketDomain<R>) -> (LocalPort, VcRow) {
    let of = |s: &State<R>, u| s.net.vcs_of(u).map(|(_, v)| v).find(|&v| s.net.vcs.get(v).occupancy > 0);
    let u = port(domain, |s, u| of(s, u).is_some());
    (u, of(&domain.state, u).expect("it holds something"))
}

/// The terminal after this one, as a wrong destination.
fn next(terminal: TerminalId) -> TerminalId {
    TerminalId::new((terminal.number() + 1) % 72)
}

type Fault<R> = (&'static str, fn(&mut PacketDomain<R>));

fn on_links<R: Router>() -> Vec<Fault<R>> {
    vec![
        ("a chunk is lost on a link", |d| {
            let u = busy(d, 2);
            let next = d.state.net.flights.get(d.state.net.ports.get(u).flight.head).next;
            d.state.net.ports.edit(u).flight.head = next;
        }),
        ("a chunk is lost and its credit returned", |d| {
            let u = busy(d, 2);
            let first = *d.state.net.flights.get(d.state.net.ports.get(u).flight.head);
            d.state.net.ports.edit(u).flight.head = first.next;
            let v = d.state.net.vc_row(u, first.vc);
            d.state.net.vcs.edit(v).occupancy -= 1;
            d.state.net.ports.edit(u).backlog -= 1;
        }),
        ("all that is on a link is lost", |d| {
            let u = busy(d, 1);
            d.state.net.ports.edit(u).flight = List::default();
        }),
        ("a chunk arrives twice", |d| {
            let u = busy(d, 1);
            let head = d.state.net.ports.get(u).flight.head;
            let first = *d.state.net.flights.get(head);
            let again = d.state.net.flights.take(packet::rows::Flight { next: head, ..first });
            d.state.net.ports.edit(u).flight.head = again;
            let v = d.state.net.vc_row(u, first.vc);
            d.state.net.vcs.edit(v).occupancy += 1;
            d.state.net.ports.edit(u).backlog += 1;
        }),
        ("a chunk changes its virtual channel", |d| {
            let u = busy(d, 1);
            let first = d.state.net.ports.get(u).flight.head;
            let vc = d.state.net.flights.get(first).vc;
            d.state.net.flights.edit(first).vc = ChannelId::new((vc.number() + 1) % d.state.net.width);
        }),
        ("two links swap what is on them", |d| {
            let u = busy(d, 2);
            let w = port(d, |s, w| w != u && s.net.ports.get(w).flight.iter(&s.net.flights).count() == 1);
            let (a, b) = (d.state.net.ports.get(u).flight, d.state.net.ports.get(w).flight);
            d.state.net.ports.edit(u).flight = b;
            d.state.net.ports.edit(w).flight = a;
        }),
    ]
}

fn in_credits<R: Router>() -> Vec<Fault<R>> {
    vec![
        ("a credit is lost", |d| {
            let u = owed(d);
            d.state.net.ports.edit(u).first_credit = NO_CREDIT;
        }),
        ("a credit is another channel's", |d| {
            let u = owed(d);
            let code = d.state.net.ports.get(u).first_credit;
            let vc = ((code & 15) as u8 + 1) % d.state.net.width;
            d.state.net.ports.edit(u).first_credit = credit(code >> 4, ChannelId::new(vc));
        }),
        ("a credit is returned twice", |d| {
            let u = owed(d);
            let (code, more) = (d.state.net.ports.get(u).first_credit, *d.state.net.more_credits.get(u));
            let again = d.state.net.credits.take(packet::rows::Credit { code, next: CreditRow::NIL });
            let mut more = more;
            more.push(&mut d.state.net.credits, again);
            *d.state.net.more_credits.edit(u) = more;
            d.state.net.ports.edit(u).more_credits = true;
        }),
        ("an occupancy is one too low", |d| {
            let (_, v) = held(d);
            d.state.net.vcs.edit(v).occupancy -= 1;
        }),
        ("an occupancy is one too high", |d| {
            let (_, v) = held(d);
            d.state.net.vcs.edit(v).occupancy += 1;
        }),
        ("two channels swap their occupancies", |d| {
            let (u, v) = held(d);
            let here = d.state.net.vcs.get(v).occupancy;
            let mut others = d.state.net.vcs_of(u).map(|(_, w)| w);
            let w = others.find(|&w| d.state.net.vcs.get(w).occupancy != here).expect("they differ");
            let there = d.state.net.vcs.get(w).occupancy;
            d.state.net.vcs.edit(v).occupancy = there;
            d.state.net.vcs.edit(w).occupancy = here;
        }),
        ("a backlog is one too high", |d| {
            let (u, _) = held(d);
            d.state.net.ports.edit(u).backlog += 1;
        }),
        ("a backlog is one too low", |d| {
            let (u, _) = held(d);
            d.state.net.ports.edit(u).backlog -= 1;
        }),
    ]
}

fn in_packets<R: Router>() -> Vec<Fault<R>> {
    vec![
        ("a chunk becomes another packet's", |d| {
            let (c, row) = chunk(d);
            let u = port(d, |s, u| {
                let mut flights = s.net.ports.get(u).flight.iter(&s.net.flights);
                flights.any(|f| s.net.chunks.get(s.net.flights.get(f).chunk).packet != row.packet)
            });
            let net = &mut d.state.net;
            let mut flights = net.ports.get(u).flight.iter(&net.flights);
            let other = flights.find_map(|f| {
                let packet = net.chunks.get(net.flights.get(f).chunk).packet;
                (packet != row.packet).then_some(packet)
            });
            net.chunks.edit(c).packet = other.expect("it was found");
        }),
        ("a chunk becomes another of its packet", |d| {
            let (c, row) = chunk(d);
            let index = row.index() ^ 1;
            *d.state.net.chunks.edit(c) = Chunk::new(row.packet, index, row.is_last());
        }),
        ("a chunk is taken for the last", |d| {
            let (c, row) = chunk(d);
            *d.state.net.chunks.edit(c) = Chunk::new(row.packet, row.index(), !row.is_last());
        }),
        ("a packet is led elsewhere", |d| {
            let (_, row) = chunk(d);
            let to = d.state.net.packets.get(row.packet).destination;
            d.state.net.packets.edit(row.packet).destination = next(to);
        }),
        ("a packet loses a byte", |d| {
            let (_, row) = chunk(d);
            d.state.net.packets.edit(row.packet).bytes -= 1;
        }),
        ("a packet takes another's name", |d| {
            let (_, row) = chunk(d);
            let id = &mut d.state.net.packets.edit(row.packet).id;
            *id = id.plus(1 << 20);
        }),
        ("a delivered chunk is counted twice", |d| {
            let (_, row) = chunk(d);
            d.state.net.packets.edit(row.packet).delivered += 1;
        }),
        ("a chunk that is here is not counted", |d| {
            let (_, row) = chunk(d);
            d.state.net.packets.edit(row.packet).here -= 1;
        }),
        ("a packet grows by a chunk", |d| {
            let (_, row) = chunk(d);
            d.state.net.packets.edit(row.packet).chunks += 1;
        }),
    ]
}

fn in_terminals<R: Router>() -> Vec<Fault<R>> {
    vec![
        ("two packets swap their payloads' ends", |d| {
            let (_, row) = chunk(d);
            let i = terminal(d, |_, packets| packets >= 2);
            let first = d.state.terminals.get(i).queue.head;
            let second = d.state.net.packets.get(first).next;
            let (a, b) = (
                d.state.net.packets.get(row.packet).destination,
                d.state.net.packets.get(second).destination,
            );
            d.state.net.packets.edit(row.packet).destination = b;
            d.state.net.packets.edit(second).destination = if a == b { next(a) } else { a };
        }),
        ("a packet vanishes from its terminal", |d| {
            let i = terminal(d, |_, packets| packets >= 2);
            let first = d.state.terminals.get(i).queue.head;
            let second = d.state.net.packets.get(first).next;
            let third = d.state.net.packets.get(second).next;
            d.state.net.packets.edit(first).next = third;
        }),
        ("a chunk is never sent", |d| {
            let i = terminal(d, |sent, _| sent > 0);
            d.state.terminals.edit(i).sent += 1;
        }),
        ("a chunk is sent twice", |d| {
            let i = terminal(d, |sent, _| sent > 0);
            d.state.terminals.edit(i).sent -= 1;
        }),
    ]
}

fn all_are_found<R: Router>(router: &str, more: Vec<Fault<R>>) {
    assert_eq!(books_and_packets(&run::<R>(router)), Vec::<String>::new(), "{router}");
    let faults: Vec<Fault<R>> =
        [on_links(), in_credits(), in_packets(), more].into_iter().flatten().collect();
    assert!(faults.len() >= 20, "{}", faults.len());
    let sound = run::<R>(router);
    let missed: Vec<&str> = faults
        .iter()
        .filter(|(_, plant)| {
            let mut run = run::<R>(router);
            plant(&mut run.partitions[0].domain);
            books_and_packets(&run).is_empty()
        })
        .map(|(name, _)| *name)
        .collect();
    assert_eq!(books_and_packets(&sound), Vec::<String>::new(), "{router}");
    assert!(missed.is_empty(), "{router}: {missed:?}");
}

#[test]
fn faults_of_window_routers_are_found() {
    all_are_found::<WindowRouter>("window", in_terminals());
}

#[test]
fn faults_of_input_queued_routers_are_found() {
    all_are_found::<InputQueued>("input-queued", in_terminals());
}

#[test]
fn faults_of_output_queued_routers_are_found() {
    // Their queues take whatever comes, so nothing waits in terminals.
    all_are_found::<OutputQueued>("output-queued", Vec::new());
}

#[test]
fn faults_of_combined_routers_are_found() {
    all_are_found::<Pipelined>("combined", in_terminals());
}
