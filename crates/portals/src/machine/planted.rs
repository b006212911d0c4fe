//! Faults planted in the state of interfaces under load, with reliability and losses, one at a time: `--check` finds all of them.

use super::{Due, Flight, Item, Machine};
use crate::{
    core::{
        message::Request,
        operation::Op,
        types::{AckReq, CT_NONE, Fault as Beyond, Limits, List, Md, Me, Memory, PID_ANY, PT_ANY},
        types::{ProcessId, RANK_ANY, TableEntry, UID_ANY, me, ni},
    },
    nic::Params,
};
use base::{
    index::{RankId, TerminalId},
    sorted::SortedSet,
    time::Ps,
};
use model::messages::{self, MessageNetwork};
use std::{cmp::Reverse, collections::VecDeque};

const RANKS: u32 = 4;
const US: Ps = 1_000_000;

/// Every message takes 2 us, in order.
struct Straight(VecDeque<(Ps, u32)>);

impl MessageNetwork for Straight {
    fn terminals(&self) -> u32 {
        RANKS
    }
    fn end(&self) -> Ps {
        1 << 58
    }
    fn seed(&self) -> u64 {
        3
    }
    fn send(&mut self, now: Ps, _: TerminalId, _: TerminalId, message: messages::Message) -> bool {
        self.0.push_back((now + 2 * US, message.tag));
        true
    }
    fn next(&mut self) -> Option<Ps> {
        self.0.front().map(|m| m.0)
    }
    fn advance(&mut self, until: Ps, arrived: &mut Vec<u32>) -> Ps {
        let Some((at, tag)) = self.0.pop_front_if(|m| m.0 <= until) else { return until };
        arrived.push(tag);
        at
    }
}

/// A memory of zeros, whose writes are forgotten.
struct Zeros;

impl Memory for Zeros {
    fn read(&mut self, _: u64, into: &mut [u8]) -> Result<(), Beyond> {
        into.fill(0);
        Ok(())
    }
    fn write(&mut self, _: u64, _: &[u8]) -> Result<(), Beyond> {
        Ok(())
    }
}

/// Every rank puts and gets many times at two others, through interfaces that lose a twentieth of the messages.
fn busy() -> Machine {
    let params = Params {
        reliability: true,
        entries: 6,
        timeout: 30 * US,
        loss: 0.05,
        rx_engines: 1,
        put_time: 900_000,
        check: true,
        ..Params::default()
    };
    let net = Box::new(Straight(VecDeque::new()));
    let mut machine = Machine::new(net, params, RANKS, &Limits::default()).expect("it fits");
    let mut ids = Vec::new();
    let mut handle = 0;
    for rank in RankId::first(RANKS) {
        machine.processes[rank].started = 1;
        (handle, _) = machine.ni_init(rank, ni::MATCHING | ni::LOGICAL, PID_ANY, None).expect("it is there");
        ids.push(machine.processes[rank].id);
    }
    for rank in RankId::first(RANKS) {
        let p = &mut machine.processes[rank];
        p.set_map(handle, ids.clone()).expect("a map");
        let eq = p.eq_alloc(handle, 4096).expect("a queue");
        let pt = p.pt_alloc(handle, 0, eq, PT_ANY).expect("an entry of the table");
        let match_id = ProcessId { nid: RANK_ANY, pid: 0 };
        let (options, uid) = (me::OP_PUT | me::OP_GET, UID_ANY);
        let entry = Me {
            start: 0,
            length: 1 << 20,
            ct: CT_NONE,
            uid,
            options,
            match_id,
            match_bits: 5,
            ignore_bits: 0,
            min_free: 0,
        };
        p.append(TableEntry { ni: handle, pt }, &entry, List::Priority, 0, &mut Zeros).expect("a list entry");
        let md = Md { start: 0, length: 1 << 20, options: 0, eq, ct: CT_NONE };
        let md = p.md_bind(handle, &md, &mut Zeros).expect("a descriptor");
        for n in 0..24u32 {
            let nid = (rank.number() + 1 + n % 2) % RANKS;
            let (put, get) = ((md, 0), (md, 0));
            let request = if n % 5 == 4 { Request::Get } else { Request::Put };
            let length = [0, 40, 300, 5_000][n as usize % 4];
            let ack = if n % 3 == 0 { AckReq::None } else { AckReq::Full };
            let target = ProcessId { nid, pid: 0 };
            let op = Op { request, put, get, length, ack, target, pt, match_bits: 5, ..Op::default() };
            p.begin(&op, &mut Zeros).expect("it can be asked for");
        }
        machine.flush(rank);
    }
    machine
}

/// Goes on until a fault can be planted.
type Fault = (&'static str, fn(&mut Machine) -> Option<()>);

fn in_use(m: &Machine, wanted: impl Fn(&Flight) -> bool) -> Option<u32> {
    let free: SortedSet<u32> = m.free.iter().copied().collect();
    (0..m.flights.len() as u32).find(|p| !free.contains(p) && wanted(&m.flights[*p as usize]))
}

/// A message that was posted and has not been served.
fn posted(m: &mut Machine) -> Option<&mut Flight> {
    let place = in_use(m, |f| !f.low_level && !f.served && !f.over)?;
    Some(&mut m.flights[place as usize])
}

/// The first node whose interface is wanted.
fn node(m: &Machine, wanted: impl Fn(&super::Nic) -> bool) -> Option<TerminalId> {
    TerminalId::first(RANKS).find(|&node| wanted(&m.nics[node]))
}

/// Takes out of what is due the first that is wanted.
fn due(m: &mut Machine, wanted: impl Fn(&Due) -> bool) -> Option<Item> {
    let all: Vec<Item> = std::iter::from_fn(|| m.due.pop().map(|item| item.0)).collect();
    let found = all.iter().position(|item| wanted(&item.due));
    let item = found.map(|n| all[n]);
    all.into_iter().filter(|other| Some(*other) != item).for_each(|other| m.due.push(Reverse(other)));
    item
}

const MESSAGES: &[Fault] = &[
    ("a message has other bits", |m| posted(m).map(|f| f.message.match_bits += 1)),
    ("a message is longer", |m| posted(m).map(|f| f.message.length += 1)),
    ("a message goes to another entry", |m| posted(m).map(|f| f.message.pt += 1)),
    ("a message loses a byte", |m| {
        let place = in_use(m, |f| !f.low_level && !f.served && !f.message.data.is_empty())?;
        m.flights[place as usize].message.data.pop().map(drop)
    }),
    ("a byte of a message changes", |m| {
        let place = in_use(m, |f| !f.low_level && !f.served && !f.message.data.is_empty())?;
        m.flights[place as usize].message.data[0] ^= 1;
        Some(())
    }),
    ("a message is another rank's", |m| {
        let f = posted(m)?;
        f.from = RankId::new((f.from.number() + 1) % RANKS);
        Some(())
    }),
    ("a message is for another rank", |m| {
        let f = posted(m)?;
        f.to = f.to.map(|to| RankId::new((to.number() + 1) % RANKS));
        Some(())
    }),
    ("a message reaches another node", |m| {
        let f = posted(m)?;
        f.ends.1 = TerminalId::new((f.ends.1.number() + 1) % RANKS);
        Some(())
    }),
    ("a message takes another turn", |m| {
        let place = in_use(m, |f| !f.served && f.order.is_some())?;
        let order = m.flights[place as usize].order.as_mut()?;
        order.1 += 1;
        Some(())
    }),
    ("a message takes another's name", |m| posted(m).map(|f| f.serial += 1 << 40)),
    ("a message is taken for served", |m| {
        let place = in_use(m, |f| !f.served && !f.low_level && f.order.is_some())?;
        m.flights[place as usize].served = true;
        Some(())
    }),
    ("a message that was served is not", |m| {
        let place = in_use(m, |f| f.served && !f.low_level && f.copies > 0)?;
        m.flights[place as usize].served = false;
        let serial = m.flights[place as usize].serial;
        // Once its engine is done with it.
        m.books.as_mut()?.given_up(serial);
        Some(())
    }),
    ("a copy is not counted", |m| {
        let place = in_use(m, |f| f.copies > 0)?;
        m.flights[place as usize].copies -= 1;
        Some(())
    }),
    ("a copy is counted twice", |m| {
        let place = in_use(m, |f| f.copies > 0)?;
        m.flights[place as usize].copies += 1;
        Some(())
    }),
    ("a flight in use is free", |m| {
        let place = in_use(m, |f| f.copies > 0)?;
        m.free.push(place);
        Some(())
    }),
];

const INTERFACES: &[Fault] = &[
    ("a message that waits to be sent is lost", |m| {
        let node = node(m, |nic| !nic.tx[0].fresh.is_empty())?;
        m.nics[node].tx[0].fresh.pop_back().map(drop)
    }),
    ("a message waits to be sent twice", |m| {
        let node = node(m, |nic| !nic.tx[0].fresh.is_empty())?;
        let &flight = m.nics[node].tx[0].fresh.front()?;
        m.nics[node].tx[0].fresh.push_back(flight);
        Some(())
    }),
    ("a message that waits to be received is lost", |m| {
        let node = node(m, |nic| !nic.rx[0].0.is_empty())?;
        m.nics[node].rx[0].0.pop_front().map(drop)
    }),
    ("an engine that sends is forgotten", |m| {
        let node = node(m, |nic| nic.tx[0].busy > 0)?;
        m.nics[node].tx[0].busy -= 1;
        Some(())
    }),
    ("an engine receives nothing", |m| {
        m.nics[TerminalId::new(0)].rx[0].1 += 1;
        Some(())
    }),
    ("an open message is not counted", |m| {
        let node = node(m, |nic| nic.tx[0].open > 0)?;
        m.nics[node].tx[0].open -= 1;
        Some(())
    }),
    ("an event that crosses the bus is lost", |m| {
        let node = node(m, |nic| !nic.controls.is_empty())?;
        m.nics[node].controls.pop_front().map(drop)
    }),
    ("an event crosses the bus twice", |m| {
        let node = node(m, |nic| !nic.controls.is_empty())?;
        let &control = m.nics[node].controls.front()?;
        m.nics[node].controls.push_back(control);
        Some(())
    }),
    ("timers are forgotten", |m| {
        let node = node(m, |nic| !nic.timers.is_empty())?;
        m.nics[node].timers.clear();
        Some(())
    }),
    ("timers do not ring", |m| {
        let node = node(m, |nic| nic.armed)?;
        m.nics[node].armed = false;
        Some(())
    }),
    ("a message is never launched", |m| due(m, |d| matches!(d, Due::Launch(_))).map(drop)),
    ("a message is launched twice", |m| {
        let item = due(m, |d| matches!(d, Due::Launch(_)))?;
        m.due.push(Reverse(item));
        m.due.push(Reverse(Item { age: item.age + (1 << 40), ..item }));
        Some(())
    }),
    ("an engine never ends", |m| due(m, |d| matches!(d, Due::Received(_))).map(drop)),
    ("a message that waits for its turn is lost", |m| m.held.pop_first().map(drop)),
    ("a get that waits for puts is lost", |m| m.behind.pop_first().map(drop)),
    ("a get waits for one put less", |m| {
        let ((pair, before), flight) = m.behind.pop_first()?;
        m.behind.insert((pair, before - 1), flight);
        Some(())
    }),
    ("a get passes the puts before it", |m| {
        let &(pair, before) = m.behind.keys().next()?;
        m.received[pair as usize].1 = before;
        Some(())
    }),
    ("a turn is passed over", |m| {
        let pair = m.order.iter().position(|o| o.1 < o.0)?;
        m.order[pair].1 += 1;
        Some(())
    }),
    ("a turn comes again", |m| {
        let pair = m.order.iter().position(|o| o.1 > 0)?;
        m.order[pair].1 -= 1;
        Some(())
    }),
];

#[test]
fn planted_faults_are_found() {
    let mut sound = busy();
    assert_eq!(sound.faults(), Vec::<String>::new());
    while sound.next(&mut Zeros).is_some() {
        assert_eq!(sound.faults(), Vec::<String>::new(), "at {} ps", sound.now);
    }
    assert!(sound.counts.sent_again > 0 && sound.counts.lost > 0 && sound.counts.given_up == 0);
    let missed: Vec<&str> = MESSAGES
        .iter()
        .chain(INTERFACES)
        .filter(|(name, plant)| {
            let mut machine = busy();
            while plant(&mut machine).is_none() {
                assert!(machine.next(&mut Zeros).is_some(), "{name}: it can be planted");
            }
            machine.faults().is_empty()
        })
        .map(|(name, _)| *name)
        .collect();
    assert!(MESSAGES.len() + INTERFACES.len() >= 20 && missed.is_empty(), "{missed:?}");
}
