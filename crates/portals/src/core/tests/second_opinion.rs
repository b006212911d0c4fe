//! A second opinion on matching: random calls and messages are given to the engine and to a naive target, written from the text of the
//! specification alone. After every step both must show the same.
//!
//! Where the text leaves a thing open, the naive target does as the engine: a full list is told of before full space; headers that use an
//! entry up leave its handle good for one unlink; a link event of a full queue takes the place of its oldest. Memory that cannot be
//! accessed, triggered lists and acknowledgements that entries refuse are not drawn.

mod asked;
mod naive;

use crate::core::{
    atomics::{op, ty},
    message::{Message, Request},
    process::{Out, Process},
    types::{
        AckReq, Answer, CT_NONE, Code, Count, EQ_NONE, Event, EventKind, Fail, Fault as Beyond, Limits, List,
        Me, Memory, NID_ANY, PID_ANY, ProcessId, RANK_ANY, TableEntry, UID_ANY, me, ni, pt,
    },
};
use asked::{Answered, Fault, Queue, Rules, Table, Wanted};
use naive::Naive;
use std::collections::BTreeMap;

const BYTES: usize = 96;

/// Random numbers of splitmix64.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) % n
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    /// True once in so many times.
    fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// Bytes by address.
struct Bytes(Vec<u8>);

impl Memory for Bytes {
    fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), Beyond> {
        let at = address as usize;
        into.copy_from_slice(self.0.get(at..at + into.len()).ok_or(Beyond)?);
        Ok(())
    }
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Beyond> {
        let at = address as usize;
        self.0.get_mut(at..at + bytes.len()).ok_or(Beyond)?.copy_from_slice(bytes);
        Ok(())
    }
}

/// One thing that happens to the target.
#[derive(Clone, Debug)]
enum Step {
    Append(Wanted, List),
    Search(Wanted, bool),
    /// Of the entry with this number.
    Unlink(usize),
    Receive(Box<Message>),
    Enable(usize, bool),
    /// All that is in a queue is read.
    Drain(usize),
}

/// A table entry as it is asked for: with flow control, and its queue.
#[derive(Clone, Copy, Debug)]
struct Asked {
    flow: bool,
    queue: Option<usize>,
}

/// The interface that a case is about.
#[derive(Clone, Debug)]
struct Setting {
    rules: Rules,
    tables: [Asked; 2],
    capacities: [usize; 2],
}

impl Setting {
    fn draw(random: &mut Random) -> Self {
        let mut table = |own: usize| {
            let queue = (!random.once_in(10)).then(|| if random.once_in(3) { 0 } else { own });
            Asked { flow: queue.is_some() && random.once_in(3), queue }
        };
        let tables = [table(0), table(1)];
        let rules = Rules {
            logical: random.once_in(2),
            matching: !random.once_in(6),
            headers: random.of(&[1, 2, 3, 100, 100, 100]) as usize,
            entries: random.of(&[3, 5, 100, 100, 100, 100, 100, 100]) as usize,
            listed: random.of(&[1, 2, 100, 100, 100, 100, 100, 100]) as usize,
        };
        let mut capacity = || random.of(&[1, 2, 3, 5, 100, 100]) as usize;
        Self { rules, tables, capacities: [capacity(), capacity()] }
    }

    fn naive(&self, fault: Fault) -> Naive {
        let table = |a: &Asked| Table { flow: a.flow, queue: a.queue, enabled: true, ..Table::default() };
        Naive {
            rules: self.rules,
            tables: self.tables.iter().map(table).collect(),
            entries: Vec::new(),
            queues: self.capacities.map(Queue::new).to_vec(),
            counts: vec![Count::default(); 2],
            status: [0; 3],
            memory: (0..BYTES).map(|n| n as u8).collect(),
            made: Vec::new(),
            fault,
        }
    }
}

/// What a step shows.
#[derive(Clone, Debug, Default, PartialEq)]
struct Shown {
    code: Option<Code>,
    events: Vec<(usize, Event)>,
    answer: Option<Answered>,
    read: Vec<Event>,
}

/// What a list holds: of entries their names and local offsets.
type Listed = Vec<(u64, u64)>;

/// What the target is after a step.
#[derive(Clone, Debug, PartialEq)]
struct State {
    enabled: Vec<bool>,
    priority: Vec<Listed>,
    overflow: Vec<Listed>,
    /// Names of messages.
    unexpected: Vec<Vec<u64>>,
    counts: Vec<Count>,
    status: [i32; 3],
    living: usize,
    memory: Vec<u8>,
}

/// An event with nothing in it but what the text defines.
fn defined(e: Event) -> Event {
    match (e.kind, e.fail) {
        (EventKind::Search, Fail::NoMatch) => {
            Event { kind: e.kind, fail: e.fail, user_ptr: e.user_ptr, ..Event::default() }
        }
        (EventKind::PtDisabled, _) => Event { kind: e.kind, pt_index: e.pt_index, ..Event::default() },
        _ => e,
    }
}

/// The engine, with what names its objects.
struct Engine {
    p: Process,
    m: Bytes,
    ni: u32,
    index: usize,
    eqs: Vec<u32>,
    cts: Vec<u32>,
    entries: Vec<u32>,
}

impl Engine {
    fn new(s: &Setting) -> Self {
        let limits = Limits {
            max_unexpected_headers: s.rules.headers as i32,
            max_entries: s.rules.entries as i32,
            max_list_size: s.rules.listed as i32,
            ..Limits::default()
        };
        let mut p = Process::new(0, 100, 7, Limits::default());
        p.started = 1;
        let options = if s.rules.matching { ni::MATCHING } else { ni::NO_MATCHING }
            | if s.rules.logical { ni::LOGICAL } else { ni::PHYSICAL };
        let (ni, _) = p.ni_init(options, PID_ANY, Some(&limits), |_| false).unwrap();
        let index = p.interface(ni).unwrap().0;
        if s.rules.logical {
            p.set_map(ni, vec![ProcessId { nid: 0, pid: 100 }]).unwrap();
        }
        let eqs: Vec<u32> = s.capacities.iter().map(|&c| p.eq_alloc(ni, c as u64).unwrap()).collect();
        let cts = (0..2).map(|_| p.ct_alloc(ni).unwrap()).collect();
        for (n, a) in s.tables.iter().enumerate() {
            let options = if a.flow { pt::FLOWCTRL } else { 0 };
            p.pt_alloc(ni, options, a.queue.map_or(EQ_NONE, |q| eqs[q]), n as u32).unwrap();
        }
        let m = Bytes((0..BYTES).map(|n| n as u8).collect());
        Self { p, m, ni, index, eqs, cts, entries: Vec::new() }
    }

    fn asked(&self, of: &Wanted) -> (TableEntry, Me) {
        let ct = of.ct.map_or(CT_NONE, |ct| self.cts[ct]);
        (TableEntry { ni: self.ni, pt: of.pt as u32 }, Me { ct, ..of.me })
    }

    fn step(&mut self, step: &Step) -> Shown {
        let mut shown = Shown::default();
        let done: Answer = match step {
            Step::Append(of, list) => {
                let (at, me) = self.asked(of);
                let handle = self.p.append(at, &me, *list, of.user_ptr, &mut self.m);
                handle.map(|handle| self.entries.push(handle))
            }
            Step::Search(of, delete) => {
                let (at, me) = self.asked(of);
                self.p.search(at, &me, *delete, of.user_ptr, &mut self.m)
            }
            Step::Unlink(number) => self.p.entry_unlink(self.entries[*number]),
            Step::Receive(m) => {
                let mut m = m.clone();
                m.ni = self.index;
                self.p.receive(&m, &mut self.m);
                Ok(())
            }
            Step::Enable(pt, enabled) => self.p.pt_enable(self.ni, *pt as u32, *enabled),
            Step::Drain(queue) => {
                let eq = self.eqs[*queue];
                shown.read = std::iter::from_fn(|| self.p.eq_get(eq).ok().map(|e| defined(e.0))).collect();
                Ok(())
            }
        };
        shown.code = done.err();
        for out in std::mem::take(&mut self.p.out) {
            match out {
                Out::Send(m) => {
                    assert!(shown.answer.is_none(), "a message has one answer");
                    shown.answer = Some(answered(&m));
                }
                Out::Event { ni, queue, event } => {
                    let number = self.eqs.iter().position(|&eq| eq as u16 == queue.place);
                    shown.events.push((number.expect("one of the queues"), defined(event)));
                    self.p.deliver(ni, queue, event);
                }
                Out::Count { ni, counter, value, epoch } => self.p.show(ni, counter, value, epoch),
            }
        }
        shown
    }

    fn state(&mut self) -> State {
        let counts = self.cts.clone().into_iter().map(|ct| self.p.ct_get(ct).unwrap()).collect();
        let ni = self.p.nis[self.index].as_deref().unwrap();
        let tables = || ni.tables.iter().flatten();
        let list = |list: &std::collections::VecDeque<u16>| {
            list.iter().filter_map(|&n| ni.entries.peek(n)).map(|e| (e.user_ptr, e.local_offset)).collect()
        };
        State {
            enabled: tables().map(|t| t.enabled).collect(),
            priority: tables().map(|t| list(&t.priority)).collect(),
            overflow: tables().map(|t| list(&t.overflow)).collect(),
            unexpected: tables().map(|t| t.unexpected.iter().map(|h| h.event.hdr_data).collect()).collect(),
            counts,
            status: ni.status,
            living: (0..200).filter(|&n| ni.entries.peek(n).is_some()).count(),
            memory: self.m.0.clone(),
        }
    }
}

/// An answer of the engine, with nothing in it but what it says.
fn answered(m: &Message) -> Answered {
    let reply = m.request == Request::Reply;
    if m.fail != Fail::Ok {
        return Answered { reply, fail: m.fail, ..Answered::default() };
    }
    let (length, offset) = (m.length, m.remote_offset);
    Answered { reply, fail: m.fail, length, offset, list: m.list, data: m.data.clone() }
}

fn naive_step(naive: &mut Naive, step: &Step) -> Shown {
    let mut shown = Shown::default();
    let done = match step {
        Step::Append(of, list) => naive.append(of, *list).map(drop),
        Step::Search(of, delete) => naive.search(of, *delete),
        Step::Unlink(number) => naive.unlink(*number),
        Step::Receive(m) => {
            shown.answer = naive.receive(m);
            Ok(())
        }
        Step::Enable(pt, enabled) => {
            naive.tables[*pt].enabled = *enabled;
            Ok(())
        }
        Step::Drain(queue) => {
            shown.read = naive.drain(*queue).into_iter().map(defined).collect();
            Ok(())
        }
    };
    shown.code = done.err();
    shown.events = std::mem::take(&mut naive.made).into_iter().map(|(q, e)| (q, defined(e))).collect();
    shown
}

fn naive_state(naive: &Naive) -> State {
    let list = |list: &Vec<usize>| {
        list.iter().map(|&n| (naive.entries[n].user_ptr, naive.entries[n].offset)).collect()
    };
    let tables = || naive.tables.iter();
    State {
        enabled: tables().map(|t| t.enabled).collect(),
        priority: tables().map(|t| list(&t.priority)).collect(),
        overflow: tables().map(|t| list(&t.overflow)).collect(),
        unexpected: tables().map(|t| t.unexpected.iter().map(|h| h.event.hdr_data).collect()).collect(),
        counts: naive.counts.clone(),
        status: naive.status,
        living: naive.living(),
        memory: naive.memory.clone(),
    }
}

/// Few bits, so that they meet often.
const BITS: [u64; 5] = [0, 1, 2, 3, 1 << 63];

/// What the entries of a case may have, besides what each draws.
const OPTIONS: [u32; 16] = [
    me::USE_ONCE,
    me::USE_ONCE,
    me::MANAGE_LOCAL,
    me::MANAGE_LOCAL,
    me::MANAGE_LOCAL | me::LOCAL_INC_UH_RLENGTH,
    me::NO_TRUNCATE,
    me::UNEXPECTED_HDR_DISABLE,
    me::LINK_DISABLE,
    me::COMM_DISABLE,
    me::FLOWCTRL_DISABLE,
    me::SUCCESS_DISABLE,
    me::OVER_DISABLE,
    me::UNLINK_DISABLE,
    me::CT_COMM | me::CT_OVERFLOW,
    me::CT_COMM | me::CT_OVERFLOW | me::CT_BYTES,
    me::IS_ACCESSIBLE | me::MAY_ALIGN,
];

fn wanted(random: &mut Random, rules: &Rules, overflow: bool, name: u64) -> Wanted {
    let mut options = if random.once_in(10) { 0 } else { me::OP_PUT };
    options |= if random.once_in(6) { 0 } else { me::OP_GET };
    for _ in 0..random.below(4) {
        options |= random.of(&OPTIONS);
    }
    if !rules.matching {
        // A list entry without matching has none of them.
        options &= me::ALL_LE;
    }
    let wide = overflow && !random.once_in(5);
    let match_id = if rules.logical {
        ProcessId { nid: random.of(&[RANK_ANY, RANK_ANY, RANK_ANY, 0, 1]), pid: 0 }
    } else {
        ProcessId { nid: random.of(&[NID_ANY, NID_ANY, 0, 1]), pid: random.of(&[PID_ANY, PID_ANY, 100, 101]) }
    };
    let me = Me {
        start: random.below(48),
        length: random.of(&[0, 1, 4, 8, 8, 12, 16, 24]),
        ct: CT_NONE,
        uid: random.of(&[UID_ANY, UID_ANY, UID_ANY, 7, 7, 8]),
        options,
        match_id,
        match_bits: random.of(&BITS),
        ignore_bits: if wide { u64::MAX } else { random.of(&[0, 0, 1, 2, 3, 1 << 63, u64::MAX]) },
        min_free: random.of(&[0, 0, 1, 4, 8, 16]),
    };
    let me = if rules.matching {
        me
    } else {
        Me { match_id: ProcessId::default(), match_bits: 0, ignore_bits: 0, min_free: 0, ..me }
    };
    Wanted {
        pt: random.of(&[0, 0, 0, 0, 0, 1]),
        me,
        ct: random.of(&[None, Some(0), Some(0), Some(1)]),
        user_ptr: name,
    }
}

fn message(random: &mut Random, name: u64) -> Message {
    let request = random.of(&[
        Request::Put,
        Request::Put,
        Request::Put,
        Request::Get,
        Request::Atomic,
        Request::FetchAtomic,
        Request::Swap,
    ]);
    let length = random.of(&[0, 1, 3, 4, 8, 12]);
    let operation = match request {
        Request::Atomic | Request::FetchAtomic => (random.of(&[op::SUM, op::MAX, op::BXOR]), ty::U8),
        Request::Swap => (op::SWAP, ty::U8),
        _ => (0, 0),
    };
    let bytes = if request == Request::Get { 0 } else { length };
    let node = random.below(2) as u32;
    Message {
        request,
        source: ProcessId { nid: node, pid: 100 + random.below(2) as u32 },
        source_rank: node,
        uid: random.of(&[7, 7, 7, 7, 8]),
        pt: if random.once_in(40) { 2 } else { random.of(&[0, 0, 0, 0, 0, 1]) },
        match_bits: random.of(&BITS),
        remote_offset: random.of(&[0, 0, 0, 1, 4, 8, 30]),
        hdr_data: name,
        length,
        ack: random.of(&[AckReq::None, AckReq::Full, AckReq::Counting, AckReq::OperationComplete]),
        operation,
        data: (0..bytes).map(|n| (name * 31 + n * 7) as u8).collect(),
        ..Message::default()
    }
}

fn draw(random: &mut Random, rules: &Rules, appended: usize, name: u64) -> Step {
    match random.below(32) {
        0..3 => Step::Append(wanted(random, rules, true, name), List::Overflow),
        3..9 => Step::Append(wanted(random, rules, false, name), List::Priority),
        9..13 => Step::Search(wanted(random, rules, false, name), random.once_in(2)),
        13..15 if appended > 0 => Step::Unlink(random.below(appended as u64) as usize),
        15..17 => Step::Enable(random.below(2) as usize, !random.once_in(8)),
        17..19 => Step::Drain(random.below(2) as usize),
        _ => Step::Receive(Box::new(message(random, name))),
    }
}

/// How often what happened.
type Tally = BTreeMap<String, u64>;

/// One case: what is wrong, if anything. What happens in it is counted.
fn case(seed: u64, fault: Fault, tally: Option<&mut Tally>) -> Result<(), String> {
    let mut random = Random(seed.wrapping_mul(0x1000_0000_01b3));
    let setting = Setting::draw(&mut random);
    let (mut engine, mut naive) = (Engine::new(&setting), setting.naive(fault));
    let steps = 4 + random.below(20);
    let mut past = Vec::new();
    let mut all = Vec::new();
    for name in 1..=steps {
        let step = if name == 1 {
            Step::Append(wanted(&mut random, &setting.rules, true, name), List::Overflow)
        } else {
            draw(&mut random, &setting.rules, engine.entries.len(), name)
        };
        let (own, theirs) = (naive_step(&mut naive, &step), engine.step(&step));
        let (after, there) = (naive_state(&naive), engine.state());
        past.push(step);
        if own != theirs || after != there {
            let shown = format!("naive: {own:?}\n{after:?}\nengine: {theirs:?}\n{there:?}");
            let lines: Vec<String> = past.iter().map(|step| format!("{step:?}")).collect();
            return Err(format!("seed {seed}, {setting:?}\n{}\n{shown}", lines.join("\n")));
        }
        all.push(own);
    }
    if let Some(tally) = tally {
        let mut count = |what: String| *tally.entry(what).or_default() += 1;
        for shown in all {
            shown.code.iter().for_each(|code| count(format!("{code:?}")));
            shown.events.iter().for_each(|(_, e)| count(format!("{:?} {:?}", e.kind, e.fail)));
            shown.answer.iter().for_each(|a| count(format!("answer {:?}", a.fail)));
        }
    }
    Ok(())
}

/// What must occur once in 200 cases at least.
const OCCURS: [&str; 23] = [
    "ArgInvalid",
    "InUse",
    "ListTooLong",
    "NoSpace",
    "Get Ok",
    "GetOverflow Ok",
    "Put Ok",
    "PutOverflow Ok",
    "Atomic Ok",
    "AtomicOverflow Ok",
    "FetchAtomic Ok",
    "FetchAtomicOverflow Ok",
    "Link Ok",
    "AutoUnlink Ok",
    "AutoFree Ok",
    "PtDisabled Ok",
    "Search Ok",
    "Search NoMatch",
    "answer Ok",
    "answer Dropped",
    "answer PtDisabled",
    "answer PermViolation",
    "answer OpViolation",
];

/// 20,000 cases; with `NETLOOM_LONG=1` a million. All kinds of events, failures and codes occur.
#[test]
fn a_naive_target_does_the_same() {
    let cases = if std::env::var_os("NETLOOM_LONG").is_some() { 1_000_000 } else { 20_000 };
    let mut tally = Tally::new();
    for seed in 0..cases {
        if let Err(wrong) = case(seed, Fault::None, Some(&mut tally)) {
            panic!("{wrong}");
        }
    }
    if std::env::var_os("NETLOOM_LONG").is_some() {
        println!("{tally:#?}");
    }
    let least = cases / 200;
    for what in OCCURS {
        let times = tally.get(what).copied().unwrap_or(0);
        assert!(times >= least, "{what}: {times} times in {cases} cases");
    }
}

/// Each is told from the engine within some thousand cases.
#[test]
fn planted_faults_are_found() {
    for fault in Fault::ALL {
        let found = (0..20_000).find(|&seed| case(seed, fault, None).is_err());
        assert!(found.is_some(), "{fault:?} is found");
    }
}
