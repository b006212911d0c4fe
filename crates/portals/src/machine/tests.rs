//! Interfaces on a network of one delay: random programs that must end whatever is lost, with however few entries.

use super::*;
use crate::core::{
    atomics,
    message::Request,
    types::{
        AckReq, CT_NONE, EQ_NONE, Fault, List, Md, Me, PT_ANY, RANK_ANY, TableEntry, UID_ANY, md, me, ni,
    },
};
use base::time::{NS, US};
use model::messages::Message as Sent;

/// Carries each message in 500 ns and its bytes at 10 GB/s.
#[derive(Default)]
struct Net {
    due: SortedMap<(Ps, u64), u32>,
    sent: u64,
    seed: u64,
}

impl MessageNetwork for Net {
    fn terminals(&self) -> u32 {
        64
    }
    fn end(&self) -> Ps {
        1 << 62
    }
    fn seed(&self) -> u64 {
        self.seed
    }
    fn send(&mut self, now: Ps, _source: TerminalId, _destination: TerminalId, message: Sent) -> bool {
        self.sent += 1;
        self.due.insert((now + 500 * NS + 100 * message.bytes, self.sent), message.tag);
        true
    }
    fn next(&mut self) -> Option<Ps> {
        self.due.keys().next().map(|k| k.0)
    }
    fn advance(&mut self, until: Ps, arrived: &mut Vec<u32>) -> Ps {
        let Some(first) = self.next().filter(|&t| t <= until) else { return until };
        while self.next() == Some(first) {
            arrived.extend(self.due.pop_first().map(|(_, tag)| tag));
        }
        first
    }
}

/// Memory in which nothing is kept: what matters here is who is told what.
struct Nowhere;

impl Memory for Nowhere {
    fn read(&mut self, _address: u64, into: &mut [u8]) -> Result<(), Fault> {
        into.fill(0);
        Ok(())
    }
    fn write(&mut self, _address: u64, _bytes: &[u8]) -> Result<(), Fault> {
        Ok(())
    }
}

/// A machine whose ranks have an entry each for all they are sent, and a descriptor with a counter of answers.
struct Ranks {
    machine: Machine,
    /// Descriptor and counter of each.
    own: Vec<(u32, u32)>,
    /// Answers that each rank waits for.
    expected: Vec<u64>,
}

impl Ranks {
    fn new(count: u32, params: Params, seed: u64) -> Self {
        let net = Net { seed, ..Net::default() };
        let mut machine = Machine::new(Box::new(net), params, count, &Limits::default()).expect("room");
        let map: Vec<ProcessId> = (0..count).map(|r| ProcessId { nid: r + 1, pid: 100 }).collect();
        let mut own = Vec::new();
        for rank in RankId::first(count) {
            let mut ask = |call| machine.ask(rank, &call, &mut Nowhere).expect("granted");
            ask(Call::Init);
            let ni = ask(Call::NiInit { options: ni::LOGICAL | ni::MATCHING, pid: PID_ANY, desired: None });
            ask(Call::SetMap(ni, map.clone()));
            let pt = ask(Call::PtAlloc { ni, options: 0, eq: EQ_NONE, wish: PT_ANY });
            assert_eq!(pt, 0, "all have the same");
            let match_id = ProcessId { nid: RANK_ANY, pid: 0 };
            let options = me::OP_PUT | me::OP_GET;
            let me = Me {
                start: 0,
                length: 1 << 40,
                ct: CT_NONE,
                uid: UID_ANY,
                options,
                match_id,
                match_bits: 0,
                ignore_bits: u64::MAX,
                min_free: 0,
            };
            ask(Call::Append { at: TableEntry { ni, pt }, me, list: List::Priority, user_ptr: 0 });
            let ct = ask(Call::CtAlloc(ni));
            let options = md::CT_ACK | md::CT_REPLY;
            own.push((ask(Call::MdBind(ni, Md { start: 0, length: 1 << 40, options, eq: EQ_NONE, ct })), ct));
        }
        Self { machine, own, expected: vec![0; count as usize] }
    }

    fn begin(&mut self, from: usize, op: Op) {
        let handle = (self.own[from].0, 0);
        let op = match op.request {
            Request::Get => Op { get: handle, ..op },
            Request::FetchAtomic => Op { get: handle, put: handle, ..op },
            _ => Op { put: handle, ..op },
        };
        self.expected[from] += u64::from(op.fetches() || op.ack != AckReq::None);
        self.machine.ask(RankId::from_index(from), &Call::Begin(op), &mut Nowhere).expect("begun");
    }

    /// Runs until nothing is due: everybody must have been told everything.
    fn finish(mut self) -> Counts {
        while self.machine.next(&mut Nowhere).is_some() {}
        for (from, &(_, ct)) in self.own.iter().enumerate() {
            let count = self.machine.processes[RankId::from_index(from)].ct_get(ct).expect("a counter");
            assert_eq!((count.success, count.failure), (self.expected[from], 0), "answers of rank {from}");
        }
        for nic in self.machine.nics.cells() {
            let left = nic.tx.iter().map(|w| (w.fresh.len(), w.free.len(), w.busy, w.open));
            assert!(
                left.clone().all(|w| w == (0, 0, 0, 0)),
                "waits without end: {:?}",
                left.collect::<Vec<_>>()
            );
        }
        assert!(self.machine.held.is_empty(), "some wait for their turn without end");
        self.machine.counts
    }
}

fn to(rank: u64, length: u64, request: Request, ack: AckReq) -> Op {
    Op {
        request,
        length,
        ack,
        target: ProcessId { nid: rank as u32, pid: 0 },
        operation: (atomics::op::SUM, atomics::ty::I64),
        ..Op::default()
    }
}

fn reliable(entries: u32, loss: f64) -> Params {
    Params { reliability: true, entries, loss, timeout: 40 * US, retries: 1000, ..Params::default() }
}

/// Random operations among two to four ranks, with one to eight entries, one or two engines, and losses of nothing, 3 and 20 %.
#[test]
fn whatever_is_lost_every_operation_is_answered() {
    let stream = Stream::new(11, Purpose::Route, 3);
    for case in 0..200u64 {
        let draw = |n: u64, below: u64| stream.at(case << 16 | n).below(below);
        let (ranks, entries) = (2 + draw(0, 3), 1 + draw(1, 8) as u32);
        let params = Params {
            tx_engines: 1 + draw(2, 2) as u32,
            bus: draw(3, 2) == 0,
            ..reliable(entries, [0.0, 0.03, 0.2][draw(4, 3) as usize])
        };
        let mut all = Ranks::new(ranks as u32, params, case);
        for n in 0..20 + draw(5, 60) {
            let draw = |what: u64, below| draw(16 + n * 8 + what, below);
            let request =
                [Request::Put, Request::Get, Request::Atomic, Request::FetchAtomic][draw(0, 4) as usize];
            let atomic = matches!(request, Request::Atomic | Request::FetchAtomic);
            let length = if atomic { 8 } else { [0, 8, 64, 5000][draw(1, 4) as usize] };
            let ack = [AckReq::None, AckReq::Counting][draw(2, 2) as usize];
            all.begin(draw(3, ranks) as usize, to(draw(4, ranks), length, request, ack));
        }
        let counts = all.finish();
        assert_eq!(counts.given_up, 0, "case {case}");
    }
}

/// Two ranks that put to each other more often than there are entries, all at once.
#[test]
fn puts_each_way_need_no_more_entries_than_there_are() {
    for (entries, count) in [(1, 200), (4, 200), (8192, 20_000)] {
        let params = Params { timeout: 1_000_000 * US, ..reliable(entries, 0.0) };
        let mut all = Ranks::new(2, params, 1);
        for n in 0..2 * count {
            all.begin(n % 2, to(1 - n as u64 % 2, 8, Request::Put, AckReq::Counting));
        }
        assert_eq!(all.finish().sent_again, 0);
    }
}

/// Puts of a pair that wait for the one engine of their target, and a get of the same pair right behind them, and one of another pair.
#[test]
fn a_get_is_served_after_the_puts_of_its_pair_before_it() {
    let params = Params { put_time: 10 * US, rx_engines: 1, check: true, ..Params::default() };
    let mut all = Ranks::new(3, params, 1);
    for _ in 0..3 {
        all.begin(0, to(1, 8, Request::Put, AckReq::None));
    }
    all.begin(0, to(1, 8, Request::Get, AckReq::None));
    all.begin(2, to(1, 8, Request::Get, AckReq::None));
    let (mut own, mut other) = (0, 0);
    let answers = |all: &mut Ranks, rank: usize| {
        all.machine.processes[RankId::from_index(rank)].ct_get(all.own[rank].1).expect("a counter").success
    };
    while all.machine.next(&mut Nowhere).is_some() {
        assert_eq!(all.machine.faults(), Vec::<String>::new());
        let now = all.machine.now;
        own = if own == 0 && answers(&mut all, 0) > 0 { now } else { own };
        other = if other == 0 && answers(&mut all, 2) > 0 { now } else { other };
    }
    assert!(
        own > 30 * US,
        "three puts take 30 us in the engine, the get behind them was answered at {own} ps"
    );
    assert!(other > 0 && other < 10 * US, "nobody of its pair is before it: {other} ps");
    all.finish();
}
