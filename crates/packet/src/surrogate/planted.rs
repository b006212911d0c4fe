//! Faults planted in hybrid runs, in a stay and after it, one at a time: `--check` finds all of them.

use super::{Mode, Predicted};
use crate::{
    identity::PacketId,
    planted::{Fault, all_are_found},
    pools::{List, PacketRow},
    router::Tested,
    samples,
    setup::Setup,
    state::PacketDomain,
};
use base::{
    index::TerminalId,
    param::Value,
    time::{NEVER, Ps},
};
use model::setup::Until;

type Domain = PacketDomain<Tested>;

const US: Ps = 1_000_000;

/// A dragonfly of 72 terminals, away from its network between 20 and 40 us; what is predicted waits in a list.
fn setup() -> Setup {
    let mut setup = samples::dragonfly(72, "minimal", "constant", 0.7);
    setup.check = true;
    setup.until = Until::Time(60 * US);
    let times = [20 * US, 40 * US].iter().map(|t| format!("{t} ps")).collect();
    let given = [
        ("switch", Value::Texts(times)),
        ("treatment", Value::Text("zombies".to_owned())),
        ("window", Value::Time(10 * US)),
    ];
    samples::hybrid(setup, "mean", "times", &given)
}

/// Changes the first packet that is planned.
fn planned(d: &mut Domain, change: impl Fn(&mut (Ps, Predicted))) -> Option<()> {
    assert!(d.cx.net.runs_by_tick() && d.state.surrogate.phase().held > 1);
    change(d.state.surrogate.held.edit(0));
    Some(())
}

fn next(terminal: TerminalId) -> TerminalId {
    TerminalId::new((terminal.number() + 1) % 72)
}

/// The first packet on a link that is a zombie, or is none.
fn packet(d: &Domain, zombie: bool) -> Option<PacketRow> {
    let (net, surrogate) = (&d.state.net, &d.state.surrogate);
    let flights = d.cx.local.lines.iter().flat_map(|(u, _)| net.ports.get(u).flight.iter(&net.flights));
    let packets = flights.map(|f| net.chunks.get(net.flights.get(f).chunk).packet);
    let mut wanted = packets.filter(|&p| surrogate.is_zombie(net.packets.get(p).created) == zombie);
    wanted.next()
}

/// Loses all that is on the first link that has something.
fn lose_a_link(d: &mut Domain) -> Option<()> {
    let mut ports = d.cx.local.lines.iter().map(|(u, _)| u);
    let u = ports.find(|&u| !d.state.net.ports.get(u).flight.is_empty())?;
    d.state.net.ports.edit(u).flight = List::default();
    Some(())
}

const IN_A_STAY: &[Fault<Tested>] = &[
    ("a planned packet is lost", |d| {
        d.state.surrogate.phase.edit(0).held -= 1;
        Some(())
    }),
    ("all planned packets are lost", |d| {
        d.state.surrogate.phase.edit(0).held = 0;
        Some(())
    }),
    ("a planned packet is planned twice", |d| {
        let again = *d.state.surrogate.held.get(1);
        planned(d, |first| *first = again)
    }),
    ("a planned packet loses a byte", |d| planned(d, |p| p.1.bytes -= 1)),
    ("a planned packet gains a byte", |d| planned(d, |p| p.1.bytes += 1)),
    ("a planned packet goes elsewhere", |d| planned(d, |p| p.1.destination = next(p.1.destination))),
    ("a planned packet takes another's number", |d| planned(d, |p| p.1.id = p.1.id.plus(1 << 20))),
    ("a planned packet is another terminal's", |d| {
        planned(d, |p| p.1.id = PacketId::new(next(p.1.source()), p.1.id.number() + 1_000_000))
    }),
    ("a planned packet stands for two", |d| planned(d, |p| p.1.packets = 2)),
    ("a planned packet stands for none", |d| planned(d, |p| p.1.packets = 0)),
    ("a planned packet arrives before it is sent", |d| planned(d, |p| p.0 = p.1.created - 1)),
    ("the network delivers while it stands still", |d| {
        d.state.surrogate.phase.edit(0).mode = Mode::Fidelity;
        Some(())
    }),
    ("zombies are forgotten", |d| {
        d.state.surrogate.phase.edit(0).ghosts = 0;
        Some(())
    }),
    ("some zombies are taken for packets", |d| {
        let row = packet(d, true)?;
        let created = d.state.net.packets.get(row).created;
        d.state.surrogate.ghosts.edit(0).0 = created + 1;
        Some(())
    }),
    ("intervals of zombies are turned around", |d| {
        *d.state.surrogate.ghosts.edit(0) = (30 * US, 10 * US);
        Some(())
    }),
    ("zombies on a link are lost with their buffers", lose_a_link),
];

const AFTER_A_STAY: &[Fault<Tested>] = &[
    ("a packet becomes a zombie", |d| {
        let row = packet(d, false)?;
        let created = d.state.net.packets.get(row).created;
        d.state.surrogate.ghosts.edit(0).1 = created + 1;
        Some(())
    }),
    ("all packets become zombies", |d| {
        d.state.surrogate.ghosts.edit(0).1 = NEVER;
        Some(())
    }),
    ("a zombie becomes a packet", |d| {
        let row = packet(d, true)?;
        d.state.net.packets.edit(row).created = 39 * US;
        Some(())
    }),
    ("a packet of the network loses a byte", |d| {
        let row = packet(d, false)?;
        d.state.net.packets.edit(row).bytes -= 1;
        Some(())
    }),
    ("a packet of the network goes elsewhere", |d| {
        let row = packet(d, false)?;
        let to = d.state.net.packets.get(row).destination;
        d.state.net.packets.edit(row).destination = next(to);
        Some(())
    }),
    ("a packet of the network takes another's number", |d| {
        let row = packet(d, false)?;
        let id = d.state.net.packets.get(row).id;
        d.state.net.packets.edit(row).id = id.plus(1 << 20);
        Some(())
    }),
    ("a chunk is lost on a link and its credit returned", |d| {
        let row = packet(d, false)?;
        let net = &d.state.net;
        let (u, first) = d.cx.local.lines.iter().find_map(|(u, _)| {
            let first = net.ports.get(u).flight.head;
            let here = !net.ports.get(u).flight.is_empty()
                && net.chunks.get(net.flights.get(first).chunk).packet == row;
            here.then(|| (u, *net.flights.get(first)))
        })?;
        d.state.net.ports.edit(u).flight.head = first.next;
        let v = d.state.net.vc_row(u, first.vc);
        d.state.net.vcs.edit(v).occupancy -= 1;
        d.state.net.ports.edit(u).backlog -= 1;
        Some(())
    }),
];

#[test]
fn planted_faults_are_found() {
    assert!(IN_A_STAY.len() + AFTER_A_STAY.len() >= 20);
    // Shortly before the return: what is due after it is planned.
    all_are_found(&setup(), &[40 * US - US / 5], IN_A_STAY);
    // Soon after the return, when some zombies are still there.
    all_are_found(&setup(), &[40 * US + US / 2, 41 * US], AFTER_A_STAY);
}
