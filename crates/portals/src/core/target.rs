//! What an interface does with a message that arrives.
//!
//! Requests: the portal table entry, the first entry of its priority list that matches, else of its overflow list; permissions; memory; events and counts;
//! an answer. All happens at the instant of arrival, in the order in which messages are given.

use super::{
    atomics,
    lists::{initiator, matches, offset},
    message::{Message, Request},
    objects::{Entry, Header, Ni},
    process::{Out, Process},
    types::{AckReq, Event, EventKind, Fail, List, Memory, UID_ANY, me, pt},
};

/// Places of the status registers in [`Ni::status`].
const DROPPED: usize = 0;
const PERMISSION: usize = 1;
const OPERATION: usize = 2;

/// What a message found.
struct Found {
    place: u16,
    entry: Entry,
    offset: u64,
    mlength: u64,
}

impl Found {
    /// True if the message uses its entry up.
    fn is_last(&self) -> bool {
        let (options, length) = (self.entry.options, self.entry.region.length);
        let short = || length - (self.offset + self.mlength) < self.entry.min_free;
        options & me::USE_ONCE != 0 || (options & me::MANAGE_LOCAL != 0 && short())
    }
}

impl Process {
    /// Takes a message that is for this process.
    pub fn receive(&mut self, m: &Message, memory: &mut dyn Memory) {
        debug_assert!(m.ni < self.nis.len(), "a message is for one of the interfaces");
        if !m.request.is_request() {
            return self.answered(m, memory);
        }
        let from = self.out.len();
        // Made in the one that is sent: it is too long to be moved about.
        let mut answer = self.spare.take().unwrap_or_default();
        answer.clear();
        let acknowledge = self.serve(m, &mut answer, memory);
        answer.ni = m.ni;
        answer.source = self.id;
        answer.target = m.source;
        answer.pending = m.pending;
        answer.uid = self.uid;
        answer.ack = m.ack;
        let fetches = matches!(m.request, Request::Get | Request::FetchAtomic | Request::Swap);
        answer.request = if fetches { Request::Reply } else { Request::Ack };
        if fetches || (m.ack != AckReq::None && acknowledge) {
            self.out.push_back(Out::Send(answer));
        } else {
            self.spare = Some(answer);
        }
        self.settle(from, memory);
    }

    /// Fills the answer to a request in; whether an acknowledgement may be sent.
    fn serve(&mut self, m: &Message, answer: &mut Message, memory: &mut dyn Memory) -> bool {
        let mut fail = |fail| {
            answer.fail = fail;
            true
        };
        let Some(ni) = self.nis[m.ni & 3].as_deref_mut() else { return fail(Fail::Undeliverable) };
        let Some(table) = ni.tables.get(m.pt as usize).and_then(Option::as_ref) else {
            ni.status[DROPPED] += 1;
            return fail(Fail::Dropped);
        };
        if !table.enabled {
            ni.status[DROPPED] += 1;
            return fail(Fail::PtDisabled);
        }
        let Some(found) = find(ni, m) else {
            return fail(self.no_room(m, me::FLOWCTRL_DISABLE, None));
        };
        if found.entry.uid != UID_ANY && found.entry.uid != m.uid {
            ni.status[PERMISSION] += 1;
            return fail(Fail::PermViolation);
        }
        let needs = match m.request {
            Request::Get => me::OP_GET,
            Request::Put | Request::Atomic => me::OP_PUT,
            _ => me::OP_PUT | me::OP_GET,
        };
        if found.entry.options & needs != needs {
            ni.status[OPERATION] += 1;
            return fail(Fail::OpViolation);
        }
        // Only who may use the entry can exhaust it.
        let header =
            found.entry.list == List::Overflow && found.entry.options & me::UNEXPECTED_HDR_DISABLE == 0;
        let no_header = header && ni.headers >= ni.limits.max_unexpected_headers.max(0) as usize;
        if no_header || !has_events(ni, m, &found, header) {
            return fail(self.no_room(m, me::FLOWCTRL_DISABLE, Some(found.entry.options)));
        }
        self.execute(m, &found, header, answer, memory)
    }

    /// A message finds no entry or no room for its header or event: flow control disables the portal table entry, else the message is dropped.
    fn no_room(&mut self, m: &Message, quiet: u32, options: Option<u32>) -> Fail {
        let Some(ni) = self.nis[m.ni & 3].as_deref_mut() else { return Fail::Dropped };
        ni.status[DROPPED] += 1;
        let Some(table) = ni.tables.get_mut(m.pt as usize).and_then(Option::as_mut) else {
            return Fail::Dropped;
        };
        if table.options & pt::FLOWCTRL == 0 {
            return Fail::Dropped;
        }
        debug_assert!(table.enabled, "a disabled entry looks at no message");
        table.enabled = false;
        let eq = table.eq;
        let event =
            Event { kind: EventKind::PtDisabled, pt_index: m.pt, fail: Fail::PtDisabled, ..Event::default() };
        if let Some(eq) = eq.filter(|_| options.is_none_or(|o| o & quiet == 0)) {
            self.post_event(m.ni, eq, event);
        }
        Fail::PtDisabled
    }

    /// Moves the data of a request and reports it; whether an acknowledgement may be sent.
    fn execute(
        &mut self,
        m: &Message,
        found: &Found,
        header: bool,
        answer: &mut Message,
        memory: &mut dyn Memory,
    ) -> bool {
        let Found { place, entry, offset, mlength } = found;
        let (offset, mlength) = (*offset, *mlength);
        debug_assert!(entry.linked, "messages find entries that are on a list");
        debug_assert!(mlength <= m.length, "no more is moved than was asked for");
        debug_assert!(answer.data.is_empty(), "an answer has no data yet");
        (answer.length, answer.remote_offset, answer.list) = (mlength, offset, entry.list);
        let copied = if m.request == Request::Get { mlength.min(self.copy_most) } else { mlength };
        if touch(m, entry, offset, copied as usize, answer, memory).is_err() {
            answer.fail = Fail::Segv;
            answer.data.clear();
        }
        let Some(ni) = self.nis[m.ni & 3].as_deref_mut() else { return true };
        let event = Event {
            start: entry.region.address(offset),
            user_ptr: entry.user_ptr,
            hdr_data: m.hdr_data,
            match_bits: m.match_bits,
            rlength: m.length,
            mlength,
            remote_offset: m.remote_offset,
            initiator: initiator(ni, m),
            uid: m.uid,
            pt_index: m.pt,
            kind: event_of(m.request).0,
            list: entry.list,
            fail: answer.fail,
            operation: m.operation.0,
            datatype: m.operation.1,
        };
        if header && answer.fail == Fail::Ok {
            let row = Header { kind: event_of(m.request).1, event, entry: *place };
            if let Some(table) = ni.tables.get_mut(m.pt as usize).and_then(Option::as_mut) {
                table.unexpected.push_back(row);
            }
            ni.headers += 1;
            let listed = |ni: &Ni| ni.tables.iter().flatten().map(|t| t.unexpected.len()).sum::<usize>();
            debug_assert_eq!(ni.headers, listed(ni), "headers on all lists are counted");
            if let Some(entry) = ni.entries.at(*place) {
                entry.headers += 1;
            }
        }
        if let Some(ct) = entry.ct.filter(|_| entry.options & me::CT_COMM != 0) {
            let bytes = entry.options & me::CT_BYTES != 0;
            self.count(m.ni, ct, answer.fail, if bytes { mlength } else { 1 });
        }
        let success = answer.fail == Fail::Ok;
        let quiet = if success { me::COMM_DISABLE | me::SUCCESS_DISABLE } else { me::COMM_DISABLE };
        if let Some(eq) = self.queue_at(m.ni, entry.pt).filter(|_| entry.options & quiet == 0) {
            self.post_event(m.ni, eq, event);
        }
        self.use_up(m.ni, found);
        entry.options & me::ACK_DISABLE == 0
    }

    /// Moves the local offset and unlinks an entry that is used up.
    fn use_up(&mut self, index: usize, found: &Found) {
        let Some(ni) = self.nis[index & 3].as_deref_mut() else { return };
        let Some(entry) = ni.entries.at(found.place) else { return };
        if entry.options & me::MANAGE_LOCAL != 0 {
            entry.local_offset += found.mlength;
            debug_assert!(entry.local_offset <= entry.region.length, "a local offset stays in the region");
        }
        if !found.is_last() {
            return;
        }
        entry.linked = false;
        let holds = entry.list == List::Overflow;
        let empty = entry.headers == 0;
        if let Some(table) = ni.tables.get_mut(usize::from(found.entry.pt)).and_then(Option::as_mut) {
            let list = if holds { &mut table.overflow } else { &mut table.priority };
            if let Some(at) = list.iter().position(|&e| e == found.place) {
                list.remove(at);
            }
        }
        let event = Event {
            kind: EventKind::AutoUnlink,
            user_ptr: found.entry.user_ptr,
            pt_index: u32::from(found.entry.pt),
            list: found.entry.list,
            ..Event::default()
        };
        if let Some(eq) =
            self.queue_at(index, found.entry.pt).filter(|_| found.entry.options & me::UNLINK_DISABLE == 0)
        {
            self.post_event(index, eq, event);
        }
        if holds && empty {
            self.free_entry(index, found.place);
        } else if !holds && let Some(ni) = self.nis[index & 3].as_deref_mut() {
            ni.entries.remove(found.place);
        }
    }
}

/// The first entry that takes a message.
fn find(ni: &Ni, m: &Message) -> Option<Found> {
    let source = initiator(ni, m);
    let table = ni.tables.get(m.pt as usize)?.as_ref()?;
    let mut all = table.priority.iter().chain(&table.overflow);
    all.find_map(|&place| {
        let entry = ni.entries.peek(place)?;
        debug_assert_eq!(u32::from(entry.pt), m.pt, "a list holds entries of its own table");
        let offset = offset(entry, m.remote_offset);
        let free = entry.region.length.saturating_sub(offset);
        let taken = matches(ni, entry, source, m.match_bits, m.length, m.remote_offset);
        taken.then(|| Found { place, entry: entry.clone(), offset, mlength: m.length.min(free) })
    })
}

/// With flow control, all events of a message need room before it is taken.
fn has_events(ni: &Ni, m: &Message, found: &Found, header: bool) -> bool {
    let Some(table) = ni.tables.get(m.pt as usize).and_then(Option::as_ref) else { return true };
    let (flow, eq) = (table.options & pt::FLOWCTRL != 0, table.eq);
    let Some(queue) = eq.filter(|_| flow).and_then(|eq| ni.queues.peek(eq)) else { return true };
    let entry = &found.entry;
    let comm = entry.options & (me::COMM_DISABLE | me::SUCCESS_DISABLE) == 0;
    let unlink = entry.options & me::UNLINK_DISABLE == 0 && found.is_last();
    let free = unlink && entry.list == List::Overflow && entry.headers == 0 && !header;
    queue.has_room(usize::from(comm) + usize::from(unlink) + usize::from(free))
}

/// Events of a request: of the entry that takes it, and of one that finds its header.
fn event_of(request: Request) -> (EventKind, EventKind) {
    match request {
        Request::Get => (EventKind::Get, EventKind::GetOverflow),
        Request::Atomic => (EventKind::Atomic, EventKind::AtomicOverflow),
        Request::FetchAtomic | Request::Swap => (EventKind::FetchAtomic, EventKind::FetchAtomicOverflow),
        _ => (EventKind::Put, EventKind::PutOverflow),
    }
}

/// Reads and writes the memory of an entry for a request.
fn touch(
    m: &Message,
    entry: &Entry,
    offset: u64,
    length: usize,
    answer: &mut Message,
    memory: &mut dyn Memory,
) -> Result<(), super::types::Fault> {
    debug_assert!(length as u64 <= m.length, "no more is touched than was asked for");
    let region = &entry.region;
    match m.request {
        Request::Get => {
            answer.data.resize(length, 0);
            region.read(offset, &mut answer.data, memory)
        }
        Request::Atomic | Request::FetchAtomic | Request::Swap => {
            let mut bytes = vec![0; length];
            region.read(offset, &mut bytes, memory)?;
            if m.request != Request::Atomic {
                answer.data.clone_from(&bytes);
            }
            let (operation, datatype) = m.operation;
            atomics::apply(operation, datatype, &mut bytes, &m.data, &m.operand);
            region.write(offset, &bytes, memory)
        }
        _ => region.write(offset, &m.data[..length.min(m.data.len())], memory),
    }
}
