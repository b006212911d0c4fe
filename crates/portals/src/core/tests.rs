//! Two processes that share a memory of bytes, and messages that arrive at once.

mod second_opinion;

use super::{
    atomics::{op, ty},
    call::Trigger,
    message::Request,
    objects::Queue,
    operation::Op,
    process::{Out, Process},
    types::{
        AckReq, CT_NONE, Code, Count, EQ_NONE, Event, EventKind, Fail, Fault, IOVEC, Limits, List, Md, Me,
        Memory, PID_ANY, PT_ANY, ProcessId, RANK_ANY, TableEntry, UID_ANY, md, me, ni, pt,
    },
};
use proptest::prelude::*;

/// Addresses 0..4096; the last 256 cannot be written, and nothing lies beyond.
struct Bytes(Vec<u8>);

impl Memory for Bytes {
    fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), Fault> {
        let from = self.0.get(address as usize..address as usize + into.len()).ok_or(Fault)?;
        into.copy_from_slice(from);
        Ok(())
    }
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        if address as usize + bytes.len() > 3840 {
            return Err(Fault);
        }
        self.0[address as usize..address as usize + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }
}

struct World {
    p: Vec<Process>,
    m: Bytes,
    ni: u32,
}

impl World {
    fn new(limits: &Limits) -> Self {
        let mut p: Vec<Process> = (0..2).map(|n| Process::new(n, 100, 7, Limits::default())).collect();
        let mut ni = 0;
        for p in &mut p {
            p.started = 1;
            (ni, _) = p.ni_init(ni::MATCHING | ni::LOGICAL, PID_ANY, Some(limits), |_| false).unwrap();
        }
        let map = vec![ProcessId { nid: 0, pid: 100 }, ProcessId { nid: 1, pid: 100 }];
        for p in &mut p {
            p.set_map(ni, map.clone()).unwrap();
        }
        Self { p, m: Bytes((0..4096).map(|n| n as u8).collect()), ni }
    }

    /// Carries all that is to be carried.
    fn run(&mut self) {
        loop {
            let mut quiet = true;
            for n in 0..2 {
                for out in std::mem::take(&mut self.p[n].out) {
                    quiet = false;
                    match out {
                        Out::Send(m) => {
                            let (ni, pending, request) = (m.ni, m.pending, m.request.is_request());
                            self.p[m.target.nid as usize].receive(&m, &mut self.m);
                            if request {
                                self.p[n].sent(ni, pending, Fail::Ok, &mut self.m);
                            }
                        }
                        Out::Event { ni, queue, event } => self.p[n].deliver(ni, queue, event),
                        Out::Count { ni, counter, value, epoch } => self.p[n].show(ni, counter, value, epoch),
                    }
                }
            }
            if quiet {
                return;
            }
        }
    }

    /// Queue and table entry of process 1.
    fn table(&mut self, options: u32, events: u64) -> (u32, u32) {
        let eq = self.p[1].eq_alloc(self.ni, events).unwrap();
        (eq, self.p[1].pt_alloc(self.ni, options, eq, PT_ANY).unwrap())
    }

    fn append(&mut self, pt: u32, entry: &Me, list: List) -> u32 {
        self.p[1].append(TableEntry { ni: self.ni, pt }, entry, list, 77, &mut self.m).unwrap()
    }

    /// Descriptor of all memory of process 0, with queue and counter.
    fn md(&mut self, options: u32) -> (u32, u32, u32) {
        let (eq, ct) = (self.p[0].eq_alloc(self.ni, 64).unwrap(), self.p[0].ct_alloc(self.ni).unwrap());
        let md = Md { start: 0, length: 4096, options, eq, ct };
        (self.p[0].md_bind(self.ni, &md, &mut self.m).unwrap(), eq, ct)
    }

    fn put(&mut self, md: u32, from: u64, length: u64, bits: u64) {
        self.begin(&Op { put: (md, from), length, match_bits: bits, ack: AckReq::Full, ..to_one() });
    }

    fn begin(&mut self, op: &Op) {
        self.p[0].begin(op, &mut self.m).unwrap();
        self.run();
    }

    fn kinds(&mut self, process: usize, eq: u32) -> Vec<EventKind> {
        self.events(process, eq).iter().map(|e| e.kind).collect()
    }

    fn events(&mut self, process: usize, eq: u32) -> Vec<Event> {
        self.run();
        std::iter::from_fn(|| self.p[process].eq_get(eq).ok().map(|e| e.0)).collect()
    }
}

fn to_one() -> Op {
    Op { target: ProcessId { nid: 1, pid: 0 }, ..Op::default() }
}

fn entry(start: u64, length: u64, options: u32) -> Me {
    let match_id = ProcessId { nid: RANK_ANY, pid: 0 };
    Me {
        start,
        length,
        ct: CT_NONE,
        uid: UID_ANY,
        options,
        match_id,
        match_bits: 5,
        ignore_bits: 0,
        min_free: 0,
    }
}

use EventKind as E;

#[test]
fn a_put_moves_bytes_and_is_reported_at_both_ends() {
    let mut w = World::new(&Limits::default());
    let (eq1, pt) = w.table(0, 8);
    w.append(pt, &entry(2048, 16, me::OP_PUT), List::Priority);
    let (md, eq0, ct) = w.md(md::CT_ACK);
    w.put(md, 10, 8, 5);
    assert_eq!(w.m.0[2048..2056], [10, 11, 12, 13, 14, 15, 16, 17]);
    assert_eq!(w.kinds(0, eq0), [E::Send, E::Ack]);
    assert_eq!(w.p[0].ct_get(ct).unwrap(), Count { success: 1, failure: 0 });
    let reported = w.events(1, eq1);
    assert_eq!(reported.iter().map(|e| e.kind).collect::<Vec<_>>(), [E::Link, E::Put]);
    let put = reported[1];
    assert_eq!((put.mlength, put.start, put.initiator.nid, put.user_ptr), (8, 2048, 0, 77));
    // Truncation: 16 bytes of 20 fit.
    w.put(md, 0, 20, 5);
    assert_eq!((w.events(1, eq1)[0].mlength, w.events(0, eq0)[1].mlength), (16, 16));
}

#[test]
fn failures_are_reported_to_the_initiator_and_counted() {
    let mut w = World::new(&Limits::default());
    let (_, pt) = w.table(0, 8);
    let (md, eq0, _) = w.md(0);
    let last = |w: &mut World| w.events(0, eq0).last().map(|e| (e.kind, e.fail));
    w.put(md, 0, 4, 5);
    assert_eq!(last(&mut w), Some((E::Ack, Fail::Dropped)), "no entry");
    let get_only = w.append(pt, &entry(2048, 16, me::OP_GET), List::Priority);
    w.put(md, 0, 4, 5);
    assert_eq!(last(&mut w), Some((E::Ack, Fail::OpViolation)));
    w.p[1].entry_unlink(get_only).unwrap();
    let other = w.append(pt, &Me { uid: 8, ..entry(2048, 16, me::OP_PUT) }, List::Priority);
    w.put(md, 0, 4, 5);
    assert_eq!(last(&mut w), Some((E::Ack, Fail::PermViolation)));
    w.p[1].entry_unlink(other).unwrap();
    w.append(pt, &entry(3900, 16, me::OP_PUT), List::Priority);
    w.put(md, 0, 4, 5);
    assert_eq!(last(&mut w), Some((E::Ack, Fail::Segv)));
    w.p[1].pt_enable(w.ni, pt, false).unwrap();
    w.put(md, 0, 4, 5);
    assert_eq!(last(&mut w), Some((E::Ack, Fail::PtDisabled)));
    let status = |w: &mut World, r| w.p[1].ni_status(w.ni, r).unwrap();
    assert_eq!([status(&mut w, 0), status(&mut w, 1), status(&mut w, 2)], [2, 1, 1]);
    let op = Op { put: (md, 4090), length: 10, ..to_one() };
    assert_eq!(w.p[0].begin(&op, &mut w.m), Err(Code::ArgInvalid), "beyond the descriptor");
}

#[test]
fn unexpected_messages_wait_for_their_entry() {
    let mut w = World::new(&Limits::default());
    let (eq1, pt) = w.table(0, 32);
    let all = Me { ignore_bits: u64::MAX, min_free: 8, ..entry(2048, 16, me::OP_PUT | me::MANAGE_LOCAL) };
    let overflow = w.append(pt, &all, List::Overflow);
    let (md, ..) = w.md(0);
    w.put(md, 0, 8, 5);
    assert_eq!(w.p[1].entry_unlink(overflow), Err(Code::InUse));
    w.put(md, 8, 4, 6);
    assert_eq!(w.kinds(1, eq1), [E::Link, E::Put, E::Put, E::AutoUnlink], "4 bytes left are fewer than 8");
    // Searching says, deleting takes; bits 6 stay.
    let at = TableEntry { ni: w.ni, pt };
    w.p[1].search(at, &entry(0, 0, 0), false, 9, &mut w.m).unwrap();
    w.p[1].search(at, &Me { match_bits: 7, ..entry(0, 0, 0) }, false, 9, &mut w.m).unwrap();
    let reported = w.events(1, eq1);
    assert_eq!(
        reported.iter().map(|e| (e.kind, e.fail, e.user_ptr)).collect::<Vec<_>>(),
        [(E::Search, Fail::Ok, 9), (E::Search, Fail::NoMatch, 9)]
    );
    w.append(pt, &entry(1024, 64, me::OP_PUT | me::USE_ONCE), List::Priority);
    let reported = w.events(1, eq1);
    assert_eq!(reported.iter().map(|e| e.kind).collect::<Vec<_>>(), [E::PutOverflow, E::AutoUnlink]);
    assert_eq!((reported[0].start, reported[0].mlength, reported[0].list), (2048, 8, List::Overflow));
    w.append(pt, &Me { match_bits: 6, ..entry(1024, 64, me::OP_PUT) }, List::Priority);
    assert_eq!(w.kinds(1, eq1), [E::PutOverflow, E::AutoFree, E::Link]);
    assert_eq!(w.p[1].pt_free(w.ni, pt), Err(Code::InUse));
}

/// Messages that came before their entry use it up as if it had been there: with 32 of its 64 bytes gone fewer than 40 are left.
#[test]
fn lengths_of_unexpected_messages_move_an_entry_on() {
    for (min_free, last) in [(40, E::AutoUnlink), (32, E::Link)] {
        let mut w = World::new(&Limits::default());
        let (eq1, pt) = w.table(0, 32);
        w.append(pt, &entry(2048, 64, me::OP_PUT | me::MANAGE_LOCAL), List::Overflow);
        let (md, ..) = w.md(0);
        w.put(md, 0, 16, 5);
        w.put(md, 16, 16, 5);
        w.events(1, eq1);
        let options = me::OP_PUT | me::MANAGE_LOCAL | me::LOCAL_INC_UH_RLENGTH;
        w.append(pt, &Me { min_free, ..entry(1024, 64, options) }, List::Priority);
        assert_eq!(w.kinds(1, eq1), [E::PutOverflow, E::PutOverflow, last], "{min_free} B must be free");
    }
}

/// A put from pieces into pieces: 6 bytes from the third on, where the first piece has 5, one has none and the last has 7.
#[test]
fn pieces_of_memory_are_one_region() {
    let mut w = World::new(&Limits::default());
    let mut list = |at: usize, pieces: &[(u64, u64)]| {
        let words = pieces.iter().flat_map(|&(base, length)| [base, length]);
        let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        w.m.0[at..at + bytes.len()].copy_from_slice(&bytes);
    };
    list(512, &[(100, 5), (200, 0), (300, 7)]);
    list(640, &[(2048, 1), (2060, 2), (2070, 9)]);
    let (eq1, pt) = w.table(0, 8);
    w.append(pt, &entry(640, 3, me::OP_PUT | IOVEC), List::Priority);
    let (eq, ct) = (w.p[0].eq_alloc(w.ni, 64).unwrap(), w.p[0].ct_alloc(w.ni).unwrap());
    let md = Md { start: 512, length: 3, options: IOVEC, eq, ct };
    let md = w.p[0].md_bind(w.ni, &md, &mut w.m).unwrap();
    w.put(md, 2, 6, 5);
    assert_eq!(w.kinds(1, eq1), [E::Link, E::Put]);
    let there = [w.m.0[2048], w.m.0[2060], w.m.0[2061], w.m.0[2070], w.m.0[2071], w.m.0[2072], w.m.0[2073]];
    assert_eq!(there, [102, 103, 104, 300, 301, 302, 2073].map(|n: u32| n as u8));
}

/// A message knows the options of the descriptor that it is sent from: the network treats it by them.
#[test]
fn messages_carry_the_options_of_their_descriptor() {
    for options in [0, md::UNORDERED, md::VOLATILE | md::UNRELIABLE] {
        let mut w = World::new(&Limits::default());
        let (md, ..) = w.md(options);
        w.p[0].begin(&Op { put: (md, 0), length: 8, ..to_one() }, &mut w.m).unwrap();
        let carried = |out: &Out| if let Out::Send(m) = out { Some(m.md_options) } else { None };
        let sent: Vec<u32> = w.p[0].out.iter().filter_map(carried).collect();
        assert_eq!(sent, [options]);
    }
}

#[test]
fn flow_control_disables_instead_of_losing() {
    let mut w = World::new(&Limits { max_unexpected_headers: 1, ..Limits::default() });
    let (eq1, pt) = w.table(pt::FLOWCTRL, 2);
    w.append(pt, &entry(2048, 16, me::OP_PUT | me::LINK_DISABLE), List::Priority);
    let (md, eq0, _) = w.md(0);
    for _ in 0..4 {
        w.put(md, 0, 1, 5);
    }
    let fails: Vec<Fail> = w.events(0, eq0).iter().filter(|e| e.kind == E::Ack).map(|e| e.fail).collect();
    assert_eq!(fails, [Fail::Ok, Fail::Ok, Fail::PtDisabled, Fail::PtDisabled]);
    assert_eq!(w.kinds(1, eq1), [E::Put, E::Put, E::PtDisabled], "its event has a place of its own");
    w.p[1].pt_enable(w.ni, pt, true).unwrap();
    w.put(md, 0, 1, 5);
    assert_eq!(w.kinds(1, eq1), [E::Put]);
    assert_eq!(w.p[1].pt_alloc(w.ni, pt::FLOWCTRL, EQ_NONE, PT_ANY), Err(Code::PtEqNeeded));
    // Nothing matches and headers run out: the same.
    w.put(md, 0, 1, 6);
    assert_eq!(w.kinds(1, eq1), [E::PtDisabled]);
}

#[test]
fn without_flow_control_a_full_queue_loses_its_oldest_events() {
    let mut w = World::new(&Limits::default());
    for capacity in 0..=4u64 {
        let (eq1, pt) = w.table(0, capacity);
        w.append(pt, &entry(2048, 16, me::OP_PUT | me::LINK_DISABLE), List::Priority);
        let (md, ..) = w.md(0);
        for puts in [2, 5, 1] {
            for length in 1..=puts {
                w.begin(&Op { put: (md, 0), length, match_bits: 5, pt, ..to_one() });
            }
            let all: Vec<_> = std::iter::from_fn(|| w.p[1].eq_get(eq1).ok())
                .map(|(event, gap)| (event.mlength, gap))
                .collect();
            let first = (puts - puts.min(capacity)) + 1;
            let newest: Vec<_> = (first..=puts).map(|n| (n, n == first && first > 1)).collect();
            assert_eq!(all, newest, "{puts} events in a queue of {capacity}");
        }
    }
}

#[test]
fn answers_name_the_list_of_the_entry_that_took_the_request() {
    let mut w = World::new(&Limits::default());
    for list in [List::Overflow, List::Priority] {
        let (_, pt) = w.table(0, 8);
        w.append(pt, &entry(2048, 16, me::OP_PUT | me::OP_GET), list);
        let (md, eq0, _) = w.md(0);
        w.begin(&Op { put: (md, 0), length: 4, match_bits: 5, ack: AckReq::Full, pt, ..to_one() });
        w.begin(&Op { request: Request::Get, get: (md, 0), length: 4, match_bits: 5, pt, ..to_one() });
        let reported = w.events(0, eq0);
        let answers: Vec<_> =
            reported.iter().map(|e| (e.kind, e.list)).filter(|(kind, _)| *kind != E::Send).collect();
        assert_eq!(answers, [(E::Ack, list), (E::Reply, list)]);
    }
}

#[test]
fn an_interface_grants_the_least_that_the_specification_demands_and_no_feature_unasked() {
    let most = Limits::default();
    let nothing =
        Limits { features: 0, max_pt_index: 0, max_waw_ordered_size: 0, max_war_ordered_size: 0, ..most };
    let granted = most.grant(&Limits { max_fetch_atomic_size: 0, ..nothing });
    assert_eq!(
        (granted.max_pt_index, granted.max_waw_ordered_size, granted.max_war_ordered_size),
        (63, 64, 8)
    );
    assert_eq!((granted.max_fetch_atomic_size, granted.features), (32, 0));
    assert_eq!(most.grant(&Limits { features: 2, max_pt_index: 100, ..most }).features, 2);
    // Nothing said of triggered operations and atomics is no wish to have none.
    let silent = most.grant(&Limits { max_triggered_ops: 0, max_atomic_size: 0, ..nothing });
    assert_eq!(
        (silent.max_triggered_ops, silent.max_atomic_size),
        (most.max_triggered_ops, most.max_atomic_size)
    );
    let little = most.grant(&Limits { max_triggered_ops: 1, max_atomic_size: 4, ..nothing });
    assert_eq!((little.max_triggered_ops, little.max_atomic_size), (1, 4));
    assert_eq!(most.grant(&most), most);
}

#[test]
fn counters_trigger_in_the_order_of_thresholds() {
    let mut w = World::new(&Limits { max_triggered_ops: 3, ..Limits::default() });
    let (eq1, pt) = w.table(0, 32);
    w.append(pt, &entry(2048, 64, me::OP_PUT | me::MANAGE_LOCAL | me::LINK_DISABLE), List::Priority);
    let (md, _, _) = w.md(0);
    let ct = w.p[0].ct_alloc(w.ni).unwrap();
    let other = w.p[0].ct_alloc(w.ni).unwrap();
    for (from, threshold) in [(2, 2), (1, 1)] {
        let op = Op { put: (md, from), length: 1, match_bits: 5, hdr_data: from, ..to_one() };
        w.p[0].triggered(op, Trigger { counter: ct, threshold }, &mut w.m).unwrap();
    }
    let one = Count { success: 1, failure: 0 };
    w.p[0].triggered_ct(ct, one, false, Trigger { counter: other, threshold: 1 }, &mut w.m).unwrap();
    let op = Op { put: (md, 0), length: 1, ..to_one() };
    assert_eq!(
        w.p[0].triggered(op.clone(), Trigger { counter: ct, threshold: 9 }, &mut w.m),
        Err(Code::NoSpace)
    );
    w.p[0].ct_change(ct, one, false, &mut w.m).unwrap();
    assert_eq!(w.events(1, eq1).iter().map(|e| e.hdr_data).collect::<Vec<_>>(), [1]);
    // The other counter raises this one, which sends the second.
    w.p[0].ct_change(other, one, false, &mut w.m).unwrap();
    assert_eq!(w.events(1, eq1).iter().map(|e| e.hdr_data).collect::<Vec<_>>(), [2]);
    // A threshold that is reached fires at once; what is cancelled never does.
    w.p[0].triggered(op.clone(), Trigger { counter: ct, threshold: 2 }, &mut w.m).unwrap();
    w.p[0].triggered(op, Trigger { counter: ct, threshold: 3 }, &mut w.m).unwrap();
    w.p[0].ct_cancel(ct).unwrap();
    w.p[0].ct_change(ct, one, false, &mut w.m).unwrap();
    w.run();
    assert_eq!(
        w.p[1].ni_status(w.ni, 0).unwrap(),
        1,
        "the first found no entry with bits 0, the second was never sent"
    );
}

#[test]
fn fetching_atomics_return_what_was_there() {
    let mut w = World::new(&Limits::default());
    let (_, pt) = w.table(0, 32);
    w.append(pt, &entry(2048, 64, me::OP_PUT | me::OP_GET), List::Priority);
    let (md, eq0, _) = w.md(0);
    w.m.0[2048..2052].copy_from_slice(&40u32.to_le_bytes());
    w.m.0[0..4].copy_from_slice(&2u32.to_le_bytes());
    let fetch = Op {
        request: Request::FetchAtomic,
        put: (md, 0),
        get: (md, 100),
        length: 4,
        match_bits: 5,
        operation: (op::SUM, ty::U32),
        ..to_one()
    };
    w.begin(&fetch);
    assert_eq!((w.m.0[2048], w.m.0[100]), (42, 40));
    let mut operand = [0; 32];
    operand[0] = 42;
    w.begin(&Op { request: Request::Swap, operation: (op::CSWAP, ty::U32), operand, ..fetch.clone() });
    assert_eq!((w.m.0[2048], w.m.0[100]), (2, 42));
    assert_eq!(w.kinds(0, eq0), [E::Send, E::Reply, E::Send, E::Reply]);
    w.begin(&Op { request: Request::Get, get: (md, 200), length: 4, match_bits: 5, ..to_one() });
    assert_eq!(w.m.0[200], 2);
}

#[test]
fn handles_of_what_is_gone_name_nothing() {
    let mut w = World::new(&Limits { max_cts: 1, ..Limits::default() });
    let ct = w.p[0].ct_alloc(w.ni).unwrap();
    assert_eq!(w.p[0].ct_alloc(w.ni), Err(Code::NoSpace));
    w.p[0].ct_free(ct).unwrap();
    let new = w.p[0].ct_alloc(w.ni).unwrap();
    assert_ne!(new, ct);
    assert_eq!(w.p[0].ct_get(ct), Err(Code::ArgInvalid));
    assert_eq!(w.p[0].ni_handle(new), Ok(w.ni));
    assert_eq!(w.p[0].eq_get(new), Err(Code::ArgInvalid), "a counter is no queue");
    assert_eq!(Process::new(0, 1, 1, Limits::default()).ni_fini(w.ni), Err(Code::NoInit));
}

proptest! {
    /// A queue beside plain arithmetic: of numbered events it holds the last that fit, and one that is taken out tells of a loss where its number does not
    /// follow that of the one before.
    #[test]
    fn a_queue_holds_the_last_events_and_tells_of_gaps(capacity in 1usize..6, steps in prop::collection::vec(0u8..5, 1..80)) {
        let mut queue = Queue::new(capacity);
        let (mut pushed, mut next) = (0u64, 0u64);
        for step in steps {
            if step < 3 {
                queue.reserve();
                queue.push(Event { hdr_data: pushed, kind: E::Put, ..Event::default() });
                pushed += 1;
            } else {
                let oldest = next.max(pushed.saturating_sub(capacity as u64));
                let expected = (oldest < pushed).then_some((oldest, oldest != next));
                prop_assert_eq!(queue.pop().map(|(event, gap)| (event.hdr_data, gap)), expected);
                next = if oldest < pushed { oldest + 1 } else { next };
            }
        }
    }

    /// Whatever the order of messages, entries and searches: every message is reported exactly once at the target, as taken by an entry or as dropped,
    /// and an overflow buffer is free when its last header is gone.
    #[test]
    fn every_message_is_accounted_for(steps in prop::collection::vec((0u8..4, 5u64..8), 1..60)) {
        let mut w = World::new(&Limits::default());
        let (eq1, pt) = w.table(0, 1000);
        let all = Me { ignore_bits: u64::MAX, min_free: 4, ..entry(2048, 64, me::OP_PUT | me::MANAGE_LOCAL | me::LINK_DISABLE) };
        let (md, ..) = w.md(0);
        let at = TableEntry { ni: w.ni, pt };
        let (mut sent, mut overflows) = (0, 0);
        for (what, bits) in steps {
            let bits_entry = Me { match_bits: bits, ..entry(1024, 64, me::OP_PUT | me::USE_ONCE | me::LINK_DISABLE) };
            match what {
                0 => { w.append(pt, &bits_entry, List::Priority); }
                1 => { w.append(pt, &all, List::Overflow); overflows += 1; }
                2 => { w.p[1].search(at, &bits_entry, true, 0, &mut w.m).unwrap(); }
                _ => { w.put(md, 0, 4, bits); sent += 1; }
            }
        }
        // Take all headers.
        let any = Me { ignore_bits: u64::MAX, ..entry(0, 0, 0) };
        w.p[1].search(at, &any, true, 0, &mut w.m).unwrap();
        let reported = w.events(1, eq1);
        let count = |kind| reported.iter().filter(|e| e.kind == kind && e.fail == Fail::Ok).count();
        let dropped = w.p[1].ni_status(w.ni, 0).unwrap() as usize;
        prop_assert_eq!(count(E::Put) + dropped, sent);
        let unexpected = reported.iter().filter(|e| e.kind == E::Put && e.list == List::Overflow).count();
        prop_assert_eq!(count(E::PutOverflow), unexpected);
        let unlinked = reported.iter().filter(|e| e.kind == E::AutoUnlink && e.list == List::Overflow).count();
        prop_assert_eq!(count(E::AutoFree), unlinked);
        prop_assert!(unlinked <= overflows);
    }
}
