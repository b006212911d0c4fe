//! Faults planted in the state of transports, one at a time, in repetition and in coding: `--check` finds all of them.

use super::{
    Arrival, Datagram, PairState, Peer, Timer, TimerRow, Transfer, TransferRow, Word,
    config::{Ack, Resilience},
};
use crate::{
    losses::Chance,
    planted::{Fault, all_are_found, run},
    pools::RowNumber,
    router::Tested,
    samples,
    setup::Setup,
    state::PacketDomain,
};
use base::{index::TerminalId, param::Value};
use model::setup::Until;
use resilience::Protocol;

type Domain = PacketDomain<Tested>;

const UNTIL: u64 = 200_000_000;

/// Four terminals in a row of routers whose links lose a tenth of the packets; messages of three windows and a half.
fn setup(protocol: Protocol) -> Setup {
    let dims = Value::Ints(vec![4]);
    let fabric = samples::topology("mesh", &[("dims", dims), ("terminals_per_router", samples::int(1))]);
    let routing = samples::routing(&fabric, "dimension-order", &[]);
    let mut links = vec![samples::link(1_000_000_000, 20_000, 10_000, 1 << 15); fabric.classes().len()];
    // Terminals hold few packets, so that others wait.
    links[0].vc_buffer = 2048;
    let traffic = samples::traffic("uniform", &[], "constant", 0.7, (4, 14 * 1024, links[0].bandwidth), 3);
    let mut setup = samples::setup(fabric, routing, links, traffic, 14 * 1024);
    setup.until = Until::Time(UNTIL);
    setup.check = true;
    let mut chances = vec![Chance { loss: 0.1, ..Chance::default() }; setup.fabric.classes().len()];
    chances[0] = Chance::default();
    setup.resilience = Some(Resilience {
        protocol,
        chances,
        window: 4,
        timeout: 40_000_000,
        backoff: true,
        ack: Ack::Packet(41),
        head: 0,
        messages: 4,
        count_duplicates: false,
    });
    setup
}

fn next(terminal: TerminalId) -> TerminalId {
    TerminalId::new((terminal.number() + 1) % 4)
}

/// The first message under way that is wanted: its pair and number, and its row.
fn open(d: &Domain, wanted: impl Fn(&Transfer) -> bool) -> Option<((u64, u32), TransferRow)> {
    let t = &d.state.transport;
    let mut found = Vec::new();
    t.open.each(|key, number, &row| found.push(((key, number), row)));
    found.sort_unstable();
    found.into_iter().find(|(_, row)| wanted(t.transfers.get(*row)))
}

/// Changes the first message under way that is wanted.
fn transfer(
    d: &mut Domain,
    wanted: impl Fn(&Transfer) -> bool,
    change: impl Fn(&mut Transfer),
) -> Option<()> {
    let (_, row) = open(d, wanted)?;
    change(d.state.transport.transfers.edit(row));
    Some(())
}

/// Changes the first message on its way in that is wanted.
fn arrival(d: &mut Domain, wanted: impl Fn(&Arrival) -> bool, change: impl Fn(&mut Arrival)) -> Option<()> {
    let t = &mut d.state.transport;
    let mut found = Vec::new();
    t.arrivals.each(|key, number, row| found.push((key, number, *row)));
    found.sort_unstable_by_key(|f| (f.0, f.1));
    let (key, number, mut row) = found.into_iter().find(|f| wanted(&f.2))?;
    change(&mut row);
    t.arrivals.set(key, number, row);
    Some(())
}

/// Changes what a receiver, or a sender, knows of a pair that has exchanged something.
fn peer(d: &mut Domain, change: impl Fn(&mut Peer)) -> Option<()> {
    let t = &mut d.state.transport;
    let mut found = Vec::new();
    t.peers.each(|key, _, peer| found.push((key, *peer)));
    let (key, mut peer) = found.into_iter().find(|(_, peer)| peer.floor > 0)?;
    change(&mut peer);
    t.peers.set(key, 0, peer);
    Some(())
}

fn flow(d: &mut Domain, change: impl Fn(&mut PairState)) -> Option<()> {
    let t = &mut d.state.transport;
    let mut found = Vec::new();
    t.flows.each(|key, _, flow| found.push((key, *flow)));
    let (key, mut flow) = found.into_iter().find(|(_, flow)| flow.begun > 1)?;
    change(&mut flow);
    t.flows.set(key, 0, flow);
    Some(())
}

/// A timer that runs for a message under way and its window in hand.
fn timer(d: &Domain) -> Option<TimerRow> {
    let t = &d.state.transport;
    (0..t.timers.in_use()).map(TimerRow::new).find(|&row| {
        let Timer { terminal, destination, number, word, .. } = *t.timers.get(row);
        let Some(&from) = d.cx.local.terminals.get(terminal as usize) else { return false };
        let open = t.open.get(crate::places::pair(from, destination), number);
        open.is_some_and(|open| t.transfers.get(open).window == Word(word).window())
    })
}

const MESSAGES: &[Fault<Tested>] = &[
    ("a message under way is forgotten", |d| {
        let ((key, number), _) = open(d, |_| true)?;
        d.state.transport.open.remove(key, number).map(drop)
    }),
    ("a message goes elsewhere", |d| transfer(d, |_| true, |t| t.destination = next(t.destination))),
    ("a message takes another number", |d| transfer(d, |_| true, |t| t.number += 1)),
    ("a message is shorter", |d| transfer(d, |_| true, |t| t.bytes -= 1024)),
    ("a message has a packet more", |d| transfer(d, |_| true, |t| t.packets += 1)),
    ("a window is left out", |d| transfer(d, |t| t.window < 2, |t| t.window += 1)),
    ("a window is sent again", |d| transfer(d, |t| t.window > 0, |t| t.window -= 1)),
    // All else is as the last acknowledgement of a message leaves it, which is on its way back.
    ("a message that has arrived goes on beyond its last window", |d| {
        let t = &d.state.transport;
        let mut found = Vec::new();
        t.open.each(|key, number, &row| found.push((key, number, row)));
        let arrived = |&(key, number, _): &(u64, u32, TransferRow)| {
            t.peers.get(key, 0).is_some_and(|peer| number < peer.floor)
                || t.arrivals.get(key, number).is_some_and(|row| row.complete)
        };
        let (_, _, row) = found.into_iter().find(arrived)?;
        d.state.transport.transfers.edit(row).window += 100;
        Some(())
    }),
    ("a terminal counts a message more", |d| {
        d.state.transport.senders.edit(0).open += 1;
        Some(())
    }),
    ("a terminal counts a message less", |d| {
        let i = (0..4).find(|&i| d.state.transport.senders.get(i).open > 0)?;
        d.state.transport.senders.edit(i).open -= 1;
        Some(())
    }),
    ("a pair has begun a message more", |d| flow(d, |flow| flow.begun += 1)),
    ("a pair has begun a message less", |d| flow(d, |flow| flow.begun -= 1)),
    ("an alarm is not set", |d| {
        d.state.transport.senders.edit(0).due = 2 * UNTIL + 777;
        Some(())
    }),
];

const PACKETS: &[Fault<Tested>] = &[
    ("a packet that waits loses a byte", |d| {
        let row = waiting(d)?;
        d.state.transport.datagrams.edit(row).bytes -= 1;
        Some(())
    }),
    ("a packet that waits goes elsewhere", |d| {
        let row = waiting(d)?;
        let to = d.state.transport.datagrams.get(row).destination;
        let from = d.cx.local.terminals[0];
        let (once, twice) = (next(to), next(next(to)));
        d.state.transport.datagrams.edit(row).destination = if once == from { twice } else { once };
        d.state.transport.datagrams.edit(row).number += 100;
        Some(())
    }),
    ("a packet that waits is another message's", |d| {
        let row = waiting(d)?;
        d.state.transport.datagrams.edit(row).number += 100;
        Some(())
    }),
    ("a packet more waits, of a message that never began", |d| {
        let row = waiting(d)?;
        let t = &mut d.state.transport;
        let i = (0..4).find(|&i| t.senders.get(i).packets.head == row)?;
        let copy = *t.datagrams.get(row);
        let copy = Datagram { number: copy.number + 100, next: super::DatagramRow::NIL, ..copy };
        let copy = t.datagrams.take(copy);
        t.senders.edit(i).packets.push(&mut t.datagrams, copy);
        Some(())
    }),
    ("a packet that waits is of no window", |d| {
        let row = waiting(d)?;
        d.state.transport.datagrams.edit(row).word += 100;
        Some(())
    }),
    ("a timer is another terminal's", |d| {
        let row = timer(d)?;
        d.state.transport.timers.edit(row).terminal += 4;
        Some(())
    }),
    ("a timer is of a message that never began", |d| {
        let row = timer(d)?;
        d.state.transport.timers.edit(row).number += 100;
        Some(())
    }),
    ("a timer's row is given back", |d| {
        let row = timer(d)?;
        d.state.transport.timers.give(row);
        Some(())
    }),
];

/// The first packet that waits in a terminal.
fn waiting(d: &Domain) -> Option<super::DatagramRow> {
    let t = &d.state.transport;
    (0..4).map(|i| t.senders.get(i).packets.head).find(|row| !row.is_nil())
}

const RECEIVERS: &[Fault<Tested>] = &[
    ("a packet that never came is there", |d| {
        arrival(d, |a| !a.complete && a.got & 8 == 0, |a| a.got += 1 << (a.got & 3).count_ones().min(3))
    }),
    ("a packet that came is forgotten", |d| arrival(d, |a| !a.complete && a.got > 0, |a| a.got = 0)),
    ("a window comes in that was not sent", |d| arrival(d, |a| !a.complete, |a| a.window += 1)),
    ("a message is complete too soon", |d| arrival(d, |a| !a.complete, |a| a.complete = true)),
    ("a message that comes in is forgotten", |d| {
        let t = &mut d.state.transport;
        let mut found = None;
        t.arrivals.each(|key, number, row| {
            if !row.complete && row.got > 0 {
                found = Some((key, number));
            }
        });
        let (key, number) = found?;
        t.arrivals.remove(key, number).map(drop)
    }),
    ("a message counts as complete that is not", |d| peer(d, |peer| peer.floor += 1)),
    ("a complete message counts as open", |d| peer(d, |peer| peer.floor -= 1)),
];

/// What only coding knows: how many packets of a round have not left.
const CODED: &[Fault<Tested>] = &[("packets that wait are lost", |d| {
    let t = &d.state.transport;
    let of_round = |i: &u32| {
        let from = d.cx.local.terminals[*i as usize];
        t.senders.get(*i).packets.iter(&t.datagrams).any(|row| {
            let datagram = t.datagrams.get(row);
            let open = t.open.get(crate::places::pair(from, datagram.destination), datagram.number);
            open.is_some_and(|open| t.transfers.get(open).window == Word(datagram.word).window())
        })
    };
    let i = (0..4).find(of_round)?;
    d.state.transport.senders.edit(i).packets = crate::pools::List::default();
    Some(())
})];

/// What only repetition knows: which packets of a window are there.
const REPEATED: &[Fault<Tested>] = &[("a packet is acknowledged that did not arrive", |d| {
    let t = &d.state.transport;
    let mut found = Vec::new();
    t.open.each(|key, number, &row| found.push((key, number, row)));
    let lacks = |&(key, number, row): &(u64, u32, TransferRow)| {
        let there = t.arrivals.get(key, number).unwrap_or_default();
        let transfer = t.transfers.get(row);
        there.window == transfer.window && !there.complete && there.got & 1 == 0
    };
    let (_, _, row) = found.into_iter().find(lacks)?;
    d.state.transport.transfers.edit(row).acked |= 1;
    Some(())
})];

#[test]
fn planted_faults_are_found() {
    for protocol in Protocol::PAPER {
        let more = if protocol == Protocol::Dor { REPEATED } else { CODED };
        let faults: Vec<Fault<Tested>> =
            [MESSAGES, PACKETS, RECEIVERS, more].into_iter().flatten().copied().collect();
        assert!(faults.len() >= 20);
        let times: Vec<u64> = (0..24).map(|n| UNTIL - n * 3_100_000).collect();
        all_are_found(&setup(protocol), &times, &faults);
    }
}

/// A terminal takes the next packet while its buffer is not full, so it holds a packet less a chunk beyond it at most.
#[test]
fn terminals_hold_no_more_than_their_buffer() {
    for protocol in Protocol::PAPER {
        let mut setup = setup(protocol);
        // Four chunks to a packet, eight to a buffer.
        setup.packet.chunk = setup.packet.packet / 4;
        // Routers take a tenth of what terminals give, and hold as little.
        setup.links[1..].fill(samples::link(100_000_000, 20_000, 10_000, 2048));
        let (mut held, mut bound) = (0, 0);
        for n in 0..20 {
            let run = run::<Tested>(&setup, UNTIL - n * 3_100_000);
            let d = &run.partitions[0].domain.carrier;
            let chunk = d.cx.net.config.chunk;
            let packet = d.cx.net.config.packet.div_ceil(chunk);
            let most = d.cx.net.injection_buffer.div_ceil(chunk.into()) as u32 - 1 + packet;
            for i in 0..4 {
                let queued = d.state.terminals.get(i).queued;
                assert!(queued <= most, "{protocol:?}: {queued} chunks of {most}");
                held = held.max(queued);
            }
            bound = most;
        }
        assert_eq!(held, bound, "{protocol:?}: as much waits as there is room for");
    }
}
