//! The 55 functions of the interface, as C programs call them.

use super::{
    guard::{get, put},
    idle_polls,
    threads::Reason,
    world::{self, enter, leave, wait_for_step, with},
};
use crate::{
    core::{
        atomics,
        call::{Call, Trigger},
        message::Request,
        operation::Op,
        process::Process,
        types::{
            AckReq, Answer, CT_NONE, Code, Count, EQ_NONE, Event, INVALID, Iovec, Le, Limits, List, Md, Me,
            ProcessId, RANK_ANY, TIME_FOREVER, TableEntry, me,
        },
    },
    nic::size,
    record::{Asked, Step},
};
use base::time::{MS, Ps};
use std::ffi::c_int;

/// What an interface's call returns.
fn number(answer: Answer) -> c_int {
    answer.map_or_else(|code| code as c_int, |()| 0)
}

/// Asks the interface; a command crosses the bus before it takes effect.
fn ask(call: &Call) -> Answer<u32> {
    enter(|p| if call.commands() { p.control_time(size::COMMAND) } else { 0 });
    with(|w, rank| {
        let answer = w.machine.ask(rank, call, &mut w.memory);
        w.asked(rank, call, answer);
        w.measure();
        answer
    })
}

/// Asks for something that has no handle.
fn issue(call: &Call) -> c_int {
    let answer = ask(call);
    debug_assert!(answer.is_err() || answer == Ok(INVALID), "what has no handle gives none");
    number(answer.map(drop))
}

/// Frees something: threads that wait for it look again, and find it gone.
fn free(call: &Call) -> c_int {
    let code = issue(call);
    if code == 0 {
        with(|w, rank| w.wake_rank(rank));
    }
    code
}

/// What a look that was refused means: what a thread has begun to wait for was there, so another thread has freed it since.
fn refused(code: Code, waited: bool) -> Code {
    if waited && matches!(code, Code::ArgInvalid | Code::NoInit) { Code::Interrupted } else { code }
}

/// Asks for something that has a handle or a number.
fn make(call: &Call, to: *mut u32) -> c_int {
    let answer = ask(call);
    debug_assert!(answer != Ok(INVALID), "what is made has a handle or a number");
    number(answer.and_then(|made| write(to, made)))
}

/// The same with arguments that may not be readable: the command then has none.
fn with_arguments(call: &Answer<Call>, commands: bool) -> Answer<u32> {
    match call {
        Ok(call) => ask(call),
        Err(code) => ask(&Call::Nothing(commands)).and(Err(*code)),
    }
}

/// Looks at the interface: that takes the time of a call, and changes nothing.
fn look(f: impl FnOnce(&mut Process) -> Answer) -> c_int {
    number(ask(&Call::Nothing(false)).and_then(|_| with(|w, rank| f(&mut w.machine.processes[rank]))))
}

/// Reads what a pointer points to.
fn read<T: Copy + Default>(from: *const T) -> Answer<T> {
    get(from).ok_or(Code::ArgInvalid)
}

/// Writes to where a pointer points.
fn write<T: Copy>(to: *mut T, value: T) -> Answer {
    if put(to, value) { Ok(()) } else { Err(Code::ArgInvalid) }
}

impl Default for Md {
    fn default() -> Self {
        Self { start: 0, length: 0, options: 0, eq: EQ_NONE, ct: CT_NONE }
    }
}

/// A list entry as a match list entry that matches everything, unless it has options that it cannot have.
fn as_me(le: &Le) -> Answer<Me> {
    if le.options & !me::ALL_LE != 0 {
        return Err(Code::ArgInvalid);
    }
    let match_id = ProcessId { nid: RANK_ANY, pid: 0 };
    let Le { start, length, ct, uid, options } = *le;
    Ok(Me { start, length, ct, uid, options, match_id, match_bits: 0, ignore_bits: u64::MAX, min_free: 0 })
}

/// True if a search deletes what it finds.
fn deletes(how: c_int) -> Answer<bool> {
    match how & 0xff {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Code::ArgInvalid),
    }
}

/// What `start` and `length` of an entry mean to searches: nothing.
fn headless(me: Me) -> Me {
    Me { start: 0, length: 0, options: me.options & !crate::core::types::IOVEC, ct: me.ct, ..me }
}

fn list(number: c_int) -> Answer<List> {
    match number & 0xff {
        0 => Ok(List::Priority),
        1 => Ok(List::Overflow),
        _ => Err(Code::ArgInvalid),
    }
}

/// A data movement: the processor writes small payloads of volatile descriptors itself.
fn begin(call: &Answer<Call>) -> c_int {
    if let Ok(Call::Begin(op)) = call {
        let span = with(|w, rank| w.machine.written_time(rank, op));
        if span > 0 {
            world::pause(span);
        }
    }
    number(with_arguments(call, true).map(drop))
}

/// Number of an acknowledgement, as C passes a byte.
fn ack(number: c_int) -> Answer<AckReq> {
    AckReq::from_number(number as u8)
}

/// Begins or ends the use of the interface, which takes no time at all.
fn at_once(call: Call) -> c_int {
    debug_assert!(matches!(call, Call::Init | Call::Fini | Call::Abort), "others take time");
    with(|w, rank| {
        let answer = w.machine.ask(rank, &call, &mut w.memory);
        w.asked(rank, &call, answer);
    });
    0
}

/// A portal table entry as a call names it.
#[derive(Clone, Copy)]
struct PortalEntry {
    /// Handle of its interface.
    ni: u32,
    /// Its index in the table.
    pt: u32,
    /// The call is one about match list entries, so the interface must have matching.
    matching: bool,
}

/// Appends an entry to an interface with or without matching.
fn append(
    PortalEntry { ni, pt, matching }: PortalEntry,
    me: Answer<Me>,
    which: c_int,
    user_ptr: u64,
    on: Option<Trigger>,
    handle: *mut u32,
) -> c_int {
    let call = of_kind(ni, matching, me).and_then(|me| {
        let (at, list) = (TableEntry { ni, pt }, list(which)?);
        Ok(match on {
            None => Call::Append { at, me, list, user_ptr },
            Some(on) => Call::TriggeredAppend { at, me, list, user_ptr, on },
        })
    });
    number(with_arguments(&call, true).and_then(|made| write(handle, made)))
}

fn search(PortalEntry { ni, pt, matching }: PortalEntry, me: Answer<Me>, how: c_int, user_ptr: u64) -> c_int {
    let call = of_kind(ni, matching, me).and_then(|me| {
        let at = TableEntry { ni, pt };
        Ok(Call::Search { at, me: headless(me), delete: deletes(how)?, user_ptr })
    });
    number(with_arguments(&call, true).map(drop))
}

/// An entry, if it is of the kind that an interface has.
fn of_kind(ni: u32, matching: bool, me: Answer<Me>) -> Answer<Me> {
    with(|w, rank| w.machine.processes[rank].check_matching(ni, matching)).and(me)
}

/// Reads the operand of a swap, for operations that have one.
fn operand(op: Op, from: *const u8) -> Answer<Op> {
    let (operation, datatype) = op.operation;
    let mut bytes = [0; 32];
    if operation != atomics::op::SWAP {
        for (n, b) in bytes.iter_mut().enumerate().take(atomics::size(datatype)?) {
            *b = read(from.wrapping_add(n))?;
        }
    }
    Ok(Op { operand: bytes, ..op })
}

/// A look found nothing: time passes.
fn missed(call: &'static str) {
    idle_polls::looked(call);
    world::pause(with(|w, rank| w.machine.miss_time(rank, &mut w.ranks[rank].misses)));
}

fn hit() {
    with(|w, rank| w.ranks[rank].misses = 0);
}

/// When a time-out in milliseconds is over.
fn deadline(timeout: u32) -> Option<Ps> {
    (timeout != TIME_FOREVER).then(|| with(|w, _| w.machine.now) + u64::from(timeout) * MS)
}

fn over(deadline: Option<Ps>) -> bool {
    deadline.is_some_and(|d| with(|w, _| w.machine.now) >= d)
}

/// Looks into queues until one has an event or time is up.
fn events(
    eqs: *const u32,
    count: u32,
    timeout: u32,
    to: *mut Event,
    which: *mut u32,
    why: &'static str,
) -> c_int {
    let until = deadline(timeout);
    let mut waited = false;
    enter(|_| 0);
    let result = loop {
        let mut found = Err(if count == 0 { Code::ArgInvalid } else { Code::EqEmpty });
        for n in 0..count {
            let got = read(eqs.wrapping_add(n as usize)).and_then(|eq| {
                with(|w, rank| {
                    let process = &mut w.machine.processes[rank];
                    if process.aborted { Err(Code::Aborted) } else { process.eq_get(eq) }
                })
            });
            if got != Err(Code::EqEmpty) {
                found = got.map(|(event, gap)| (n, event, gap));
                break;
            }
        }
        match found {
            Err(Code::EqEmpty) if !over(until) => {
                wait_for_step(Reason::of(why, u64::from(get(eqs).unwrap_or(0))), until);
                waited = true;
            }
            other => break other.map_err(|code| refused(code, waited)),
        }
    };
    with(|w, rank| {
        if result.is_ok() {
            w.active();
            w.ranks[rank].misses = 0;
        }
        w.record(|r| match result {
            Ok(_) | Err(Code::EqEmpty) => r.events(rank, list_of(eqs, count), timeout, result.is_ok()),
            Err(_) => r.step(rank, nothing()),
        });
        w.measure();
    });
    match result {
        Ok((n, event, gap)) => {
            if !put(to, event) || (!which.is_null() && !put(which, n)) {
                return Code::ArgInvalid as c_int;
            }
            if gap { Code::EqDropped as c_int } else { 0 }
        }
        Err(code) => code as c_int,
    }
}

/// Looks at counters until one has reached its test or failed, or time is up.
fn counts(
    cts: *const u32,
    tests: *const u64,
    count: u32,
    timeout: u32,
    why: &'static str,
) -> Answer<(u32, Count)> {
    let until = deadline(timeout);
    let mut waited = false;
    enter(|_| 0);
    let result = loop {
        let mut found = Err(if count == 0 { Code::ArgInvalid } else { Code::CtNoneReached });
        for n in 0..count {
            let at = n as usize;
            let pair = read(cts.wrapping_add(at)).and_then(|ct| Ok((ct, read(tests.wrapping_add(at))?)));
            let value = pair.and_then(|(ct, test)| {
                let value = with(|w, rank| {
                    let process = &mut w.machine.processes[rank];
                    if process.aborted { Err(Code::Aborted) } else { process.ct_get(ct) }
                })?;
                Ok(Some(value).filter(|v| v.success >= test || v.failure > 0))
            });
            if let Some(value) = value.transpose() {
                found = value.map(|value| (n, value));
                break;
            }
        }
        match found {
            Err(Code::CtNoneReached) if !over(until) => {
                let handle = u64::from(get(cts).unwrap_or(0));
                wait_for_step(Reason { call: why, what: handle, goal: get(tests).unwrap_or(0) }, until);
                waited = true;
            }
            other => break other.map_err(|code| refused(code, waited)),
        }
    };
    leave();
    with(|w, rank| {
        if result.is_ok() {
            w.active();
        }
        w.record(|r| match result {
            Ok(_) | Err(Code::CtNoneReached) => {
                let pairs = list_of(cts, count).into_iter().zip(list_of(tests, count)).collect();
                r.counts(rank, pairs, timeout, result.is_ok());
            }
            Err(_) => r.step(rank, nothing()),
        });
    });
    if timeout == 0 && result == Err(Code::CtNoneReached) {
        missed(why);
    }
    result
}

/// What an array of a program holds, as far as it can be read.
fn list_of<T: Copy + Default>(from: *const T, count: u32) -> Vec<T> {
    (0..count as usize).map_while(|n| get(from.wrapping_add(n))).collect()
}

/// A call that was refused, for a record.
fn nothing() -> Step {
    Step::Ask { call: Box::new(Asked(Call::Nothing(false))), made: INVALID, pieces: Vec::new() }
}

/// The codes of operation and datatype, as C passes bytes.
fn pair(operation: c_int, datatype: c_int) -> (u8, u8) {
    (operation as u8, datatype as u8)
}

super::calls::calls! {
    outside = Code::NoInit as c_int;
    fn PtlInit() -> c_int { at_once(Call::Init) }
    fn PtlFini() -> c_int {
        at_once(Call::Fini);
        with(|w, r| w.wake_rank(r));
        0
    }
    fn PtlAbort() -> c_int {
        at_once(Call::Abort);
        with(|w, r| w.wake_rank(r));
        0
    }
    fn PtlNIInit(interface: u32, options: u32, pid: u32, desired: *const Limits, actual: *mut Limits, ni: *mut u32) -> c_int {
        let wish = if desired.is_null() { Ok(None) } else { read(desired).map(Some) };
        let known = interface == 0 || interface == u32::MAX;
        let call = wish.and_then(|desired| if known { Ok(Call::NiInit { options, pid, desired }) } else { Err(Code::ArgInvalid) });
        number(with_arguments(&call, false).and_then(|handle| {
            let limits = with(|w, r| w.machine.processes[r].limits(handle))?;
            if !actual.is_null() {
                write(actual, limits)?;
            }
            write(ni, handle)
        }))
    }
    fn PtlNIFini(ni: u32) -> c_int { free(&Call::NiFini(ni)) }
    fn PtlNIStatus(ni: u32, register: c_int, status: *mut c_int) -> c_int {
        look(|p| write(status, p.ni_status(ni, register as usize)?))
    }
    fn PtlNIHandle(any: u32, ni: *mut u32) -> c_int {
        look(|p| write(ni, p.ni_handle(any)?))
    }
    fn PtlSetMap(ni: u32, count: u64, map: *const ProcessId) -> c_int {
        let map: Answer<Vec<ProcessId>> = (0..count as usize).map(|n| read(map.wrapping_add(n))).collect();
        number(with_arguments(&map.map(|map| Call::SetMap(ni, map)), false).map(drop))
    }
    fn PtlGetMap(ni: u32, count: u64, map: *mut ProcessId, actual: *mut u64) -> c_int {
        look(|p| {
            let own = p.get_map(ni)?;
            for (n, &id) in own.iter().enumerate().take(count as usize) {
                write(map.wrapping_add(n), id)?;
            }
            if actual.is_null() { Ok(()) } else { write(actual, own.len() as u64) }
        })
    }
    fn PtlPTAlloc(ni: u32, options: u32, eq: u32, wish: u32, index: *mut u32) -> c_int {
        make(&Call::PtAlloc { ni, options, eq, wish }, index)
    }
    fn PtlPTFree(ni: u32, index: u32) -> c_int { issue(&Call::PtFree(ni, index)) }
    fn PtlPTDisable(ni: u32, index: u32) -> c_int {
        issue(&Call::PtEnable { ni, pt: index, enabled: false })
    }
    fn PtlPTEnable(ni: u32, index: u32) -> c_int {
        issue(&Call::PtEnable { ni, pt: index, enabled: true })
    }
    fn PtlGetUid(ni: u32, uid: *mut u32) -> c_int { look(|p| write(uid, p.get_uid(ni)?)) }
    fn PtlGetId(ni: u32, id: *mut ProcessId) -> c_int {
        look(|p| write(id, p.get_id(ni)?))
    }
    fn PtlGetPhysId(ni: u32, id: *mut ProcessId) -> c_int {
        look(|p| write(id, p.phys_id(ni)?))
    }
    fn PtlMDBind(ni: u32, md: *const Md, handle: *mut u32) -> c_int {
        number(with_arguments(&read(md).map(|md| Call::MdBind(ni, md)), false).and_then(|made| write(handle, made)))
    }
    fn PtlMDRelease(handle: u32) -> c_int { issue(&Call::MdRelease(handle)) }
    fn PtlLEAppend(ni: u32, pt: u32, le: *const Le, which: c_int, user: u64, handle: *mut u32) -> c_int {
        append(PortalEntry { ni, pt, matching: false }, read(le).and_then(|le| as_me(&le)), which, user, None, handle)
    }
    fn PtlMEAppend(ni: u32, pt: u32, me: *const Me, which: c_int, user: u64, handle: *mut u32) -> c_int {
        append(PortalEntry { ni, pt, matching: true }, read(me), which, user, None, handle)
    }
    fn PtlLEUnlink(handle: u32) -> c_int { issue(&Call::Unlink(handle)) }
    fn PtlMEUnlink(handle: u32) -> c_int { issue(&Call::Unlink(handle)) }
    fn PtlLESearch(ni: u32, pt: u32, le: *const Le, how: c_int, user: u64) -> c_int {
        search(PortalEntry { ni, pt, matching: false }, read(le).and_then(|le| as_me(&le)), how, user)
    }
    fn PtlMESearch(ni: u32, pt: u32, me: *const Me, how: c_int, user: u64) -> c_int {
        search(PortalEntry { ni, pt, matching: true }, read(me), how, user)
    }
    fn PtlCTAlloc(ni: u32, ct: *mut u32) -> c_int { make(&Call::CtAlloc(ni), ct) }
    fn PtlCTFree(ct: u32) -> c_int { free(&Call::CtFree(ct)) }
    fn PtlCTCancelTriggered(ct: u32) -> c_int { issue(&Call::CtCancel(ct)) }
    fn PtlCTGet(ct: u32, value: *mut Count) -> c_int {
        missed("PtlCTGet");
        enter(|_| 0);
        let shown = with(|w, rank| {
            let shown = w.machine.processes[rank].ct_get(ct);
            w.record(|r| match shown {
                Ok(shown) => r.count(rank, ct, shown),
                Err(_) => r.count(rank, ct, Count::default()),
            });
            shown
        });
        leave();
        number(shown.and_then(|shown| write(value, shown)))
    }
    fn PtlCTWait(ct: u32, test: u64, value: *mut Count) -> c_int {
        let found = counts(&raw const ct, &raw const test, 1, TIME_FOREVER, "PtlCTWait");
        number(found.and_then(|(_, v)| { hit(); write(value, v) }))
    }
    fn PtlCTPoll(cts: *const u32, tests: *const u64, size: u32, timeout: u32, value: *mut Count, which: *mut u32) -> c_int {
        let found = counts(cts, tests, size, timeout, "PtlCTPoll");
        number(found.and_then(|(n, v)| {
            write(value, v)?;
            if which.is_null() { Ok(()) } else { write(which, n) }
        }))
    }
    fn PtlCTSet(ct: u32, value: Count) -> c_int {
        issue(&Call::CtChange { ct, by: value, set: true })
    }
    fn PtlCTInc(ct: u32, value: Count) -> c_int {
        issue(&Call::CtChange { ct, by: value, set: false })
    }
    fn PtlPut(md: u32, offset: u64, length: u64, acks: c_int, target: ProcessId, pt: u32, match_bits: u64, remote_offset: u64, user_ptr: u64, hdr_data: u64) -> c_int {
        begin(&ack(acks).map(|ack| Call::Begin(Op { put: (md, offset), length, ack, target, pt, match_bits, remote_offset, user_ptr, hdr_data, ..Op::default() })))
    }
    fn PtlGet(md: u32, offset: u64, length: u64, target: ProcessId, pt: u32, match_bits: u64, remote_offset: u64, user_ptr: u64) -> c_int {
        begin(&Ok(Call::Begin(Op { request: Request::Get, get: (md, offset), length, target, pt, match_bits, remote_offset, user_ptr, ..Op::default() })))
    }
    fn PtlAtomic(md: u32, offset: u64, length: u64, acks: c_int, target: ProcessId, pt: u32, match_bits: u64, remote_offset: u64, user_ptr: u64, hdr_data: u64, operation: c_int, datatype: c_int) -> c_int {
        let operation = pair(operation, datatype);
        begin(&ack(acks).map(|ack| Call::Begin(Op { request: Request::Atomic, put: (md, offset), length, ack, target, pt, match_bits, remote_offset, user_ptr, hdr_data, operation, ..Op::default() })))
    }
    fn PtlFetchAtomic(get: u32, get_offset: u64, md: u32, offset: u64, length: u64, target: ProcessId, pt: u32, match_bits: u64, remote_offset: u64, user_ptr: u64, hdr_data: u64, operation: c_int, datatype: c_int) -> c_int {
        let operation = pair(operation, datatype);
        begin(&Ok(Call::Begin(Op { request: Request::FetchAtomic, put: (md, offset), get: (get, get_offset), length, target, pt, match_bits, remote_offset, user_ptr, hdr_data, operation, ..Op::default() })))
    }
    fn PtlSwap(get: u32, get_offset: u64, md: u32, offset: u64, length: u64, target: ProcessId, pt: u32, match_bits: u64, remote_offset: u64, user_ptr: u64, hdr_data: u64, with: *const u8, operation: c_int, datatype: c_int) -> c_int {
        let operation = pair(operation, datatype);
        begin(&operand(Op { request: Request::Swap, put: (md, offset), get: (get, get_offset), length, target, pt, match_bits, remote_offset, user_ptr, hdr_data, operation, ..Op::default() }, with).map(Call::Begin))
    }
    fn PtlAtomicSync() -> c_int {
        // Who polls memory calls it in a loop: time passes.
        missed("PtlAtomicSync");
        enter(|_| 0);
        let started = with(|w, rank| {
            let served = Count { success: w.machine.served[rank], failure: 0 };
            w.record(|r| r.count(rank, INVALID, served));
            w.machine.processes[rank].started > 0
        });
        leave();
        number(if started { Ok(()) } else { Err(Code::NoInit) })
    }
    fn PtlEQAlloc(ni: u32, count: u64, eq: *mut u32) -> c_int {
        make(&Call::EqAlloc(ni, count), eq)
    }
    fn PtlEQFree(eq: u32) -> c_int { free(&Call::EqFree(eq)) }
    fn PtlEQGet(eq: u32, event: *mut Event) -> c_int {
        let code = events(&raw const eq, 1, 0, event, std::ptr::null_mut(), "PtlEQGet");
        if code == Code::EqEmpty as c_int {
            missed("PtlEQGet");
        }
        code
    }
    fn PtlEQWait(eq: u32, event: *mut Event) -> c_int {
        events(&raw const eq, 1, TIME_FOREVER, event, std::ptr::null_mut(), "PtlEQWait")
    }
    fn PtlEQPoll(eqs: *const u32, size: u32, timeout: u32, event: *mut Event, which: *mut u32) -> c_int {
        let code = events(eqs, size, timeout, event, which, "PtlEQPoll");
        if timeout == 0 && code == Code::EqEmpty as c_int {
            missed("PtlEQPoll");
        }
        code
    }
    fn PtlTriggeredPut(md: u32, offset: u64, length: u64, acks: c_int, target: ProcessId, pt: u32, match_bits: u64, remote_offset: u64, user_ptr: u64, hdr_data: u64, ct: u32, threshold: u64) -> c_int {
        begin(&ack(acks).map(|ack| Call::Triggered(Op { put: (md, offset), length, ack, target, pt, match_bits, remote_offset, user_ptr, hdr_data, ..Op::default() }, Trigger { counter: ct, threshold })))
    }
    fn PtlTriggeredGet(md: u32, offset: u64, length: u64, target: ProcessId, pt: u32, match_bits: u64, remote_offset: u64, user_ptr: u64, ct: u32, threshold: u64) -> c_int {
        begin(&Ok(Call::Triggered(Op { request: Request::Get, get: (md, offset), length, target, pt, match_bits, remote_offset, user_ptr, ..Op::default() }, Trigger { counter: ct, threshold })))
    }
    fn PtlTriggeredAtomic(md: u32, offset: u64, length: u64, acks: c_int, target: ProcessId, pt: u32, match_bits: u64, remote_offset: u64, user_ptr: u64, hdr_data: u64, operation: c_int, datatype: c_int, ct: u32, threshold: u64) -> c_int {
        let operation = pair(operation, datatype);
        begin(&ack(acks).map(|ack| Call::Triggered(Op { request: Request::Atomic, put: (md, offset), length, ack, target, pt, match_bits, remote_offset, user_ptr, hdr_data, operation, ..Op::default() }, Trigger { counter: ct, threshold })))
    }
    fn PtlTriggeredFetchAtomic(get: u32, get_offset: u64, md: u32, offset: u64, length: u64, target: ProcessId, pt: u32, match_bits: u64, remote_offset: u64, user_ptr: u64, hdr_data: u64, operation: c_int, datatype: c_int, ct: u32, threshold: u64) -> c_int {
        let operation = pair(operation, datatype);
        begin(&Ok(Call::Triggered(Op { request: Request::FetchAtomic, put: (md, offset), get: (get, get_offset), length, target, pt, match_bits, remote_offset, user_ptr, hdr_data, operation, ..Op::default() }, Trigger { counter: ct, threshold })))
    }
    fn PtlTriggeredSwap(get: u32, get_offset: u64, md: u32, offset: u64, length: u64, target: ProcessId, pt: u32, match_bits: u64, remote_offset: u64, user_ptr: u64, hdr_data: u64, with: *const u8, operation: c_int, datatype: c_int, ct: u32, threshold: u64) -> c_int {
        let operation = pair(operation, datatype);
        begin(&operand(Op { request: Request::Swap, put: (md, offset), get: (get, get_offset), length, target, pt, match_bits, remote_offset, user_ptr, hdr_data, operation, ..Op::default() }, with).map(|op| Call::Triggered(op, Trigger { counter: ct, threshold })))
    }
    fn PtlTriggeredCTInc(ct: u32, by: Count, on: u32, threshold: u64) -> c_int {
        issue(&Call::TriggeredCt { ct, by, set: false, on: Trigger { counter: on, threshold } })
    }
    fn PtlTriggeredCTSet(ct: u32, to: Count, on: u32, threshold: u64) -> c_int {
        issue(&Call::TriggeredCt { ct, by: to, set: true, on: Trigger { counter: on, threshold } })
    }
    fn PtlTriggeredMEAppend(ni: u32, pt: u32, me: *const Me, which: c_int, user: u64, handle: *mut u32, on: u32, threshold: u64) -> c_int {
        append(PortalEntry { ni, pt, matching: true }, read(me), which, user, Some(Trigger { counter: on, threshold }), handle)
    }
    fn PtlTriggeredMEUnlink(handle: u32, on: u32, threshold: u64) -> c_int {
        issue(&Call::TriggeredUnlink(handle, Trigger { counter: on, threshold }))
    }
    fn PtlStartBundle(ni: u32) -> c_int { look(|p| p.phys_id(ni).map(drop)) }
    fn PtlEndBundle(ni: u32) -> c_int { look(|p| p.phys_id(ni).map(drop)) }
    fn PtlHandleIsEqual(one: u32, other: u32) -> c_int { c_int::from(one == other) }
}

/// The structures are plain numbers.
const _: () = {
    assert!(size_of::<Md>() == 32 && size_of::<Le>() == 32 && size_of::<Me>() == 64);
    assert!(size_of::<Event>() == 80 && size_of::<Limits>() == 96 && size_of::<Iovec>() == 16);
};
