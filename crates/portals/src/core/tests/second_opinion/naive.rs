//! The naive target: plain lists that are looked through from their beginning, as the text of the Portals 4.3 header says (`PtlMEAppend`,
//! `PtlMESearch`, options of entries, kinds of events). It shares nothing with the engine but the types of what goes in and comes out.

use super::asked::{Answered, Fault, Header, Queue, Rules, Table, Wanted};
use crate::core::{
    atomics::op,
    message::{Message, Request},
    types::{
        AckReq, Code, Count, Event, EventKind, Fail, List, Me, NID_ANY, PID_ANY, ProcessId, RANK_ANY,
        UID_ANY, me,
    },
};

/// Where an entry is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    /// On its list.
    Linked,
    /// Automatically unlinked, while headers need it.
    Held,
    /// Used up by headers, not known to be so by who appended it: one call unlinks it.
    Retired,
    /// Neither memory nor name.
    Gone,
}

/// A list entry.
#[derive(Clone, Debug)]
pub struct Entry {
    me: Me,
    ct: Option<usize>,
    list: List,
    pt: usize,
    /// Its name in events.
    pub user_ptr: u64,
    /// Offset that it keeps.
    pub offset: u64,
    life: Life,
}

impl Entry {
    fn has(&self, option: u32) -> bool {
        self.me.options & option != 0
    }
}

/// The process that takes messages.
pub struct Naive {
    /// What the interface is.
    pub rules: Rules,
    /// The portal table.
    pub tables: Vec<Table>,
    /// All entries that ever were, in the order of their appending.
    pub entries: Vec<Entry>,
    /// Queues of events, by number.
    pub queues: Vec<Queue>,
    /// Counters of events, by number.
    pub counts: Vec<Count>,
    /// Dropped, permission violations, operation violations.
    pub status: [i32; 3],
    /// Bytes by address.
    pub memory: Vec<u8>,
    /// Events of this step, each with its queue.
    pub made: Vec<(usize, Event)>,
    /// What is wrong.
    pub fault: Fault,
}

impl Naive {
    fn is(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    fn post(&mut self, pt: usize, event: Event) {
        if let Some(queue) = self.tables[pt].queue {
            self.queues[queue].push(event);
            self.made.push((queue, event));
        }
    }

    /// An event about an entry itself.
    fn own_event(&mut self, kind: EventKind, of: &Entry) {
        let (user_ptr, list) = (of.user_ptr, of.list);
        self.post(of.pt, Event { kind, user_ptr, list, pt_index: of.pt as u32, ..Event::default() });
    }

    /// "Counting events count events"; with an option "successful bytes", while "failure events always increment the count by one".
    fn count(&mut self, of: &Entry, option: u32, event: &Event) {
        let Some(ct) = of.ct.filter(|_| of.has(option)) else { return };
        let bytes = if self.is(Fault::CountsAsked) { event.rlength } else { event.mlength };
        let count = &mut self.counts[ct];
        match (event.fail == Fail::Ok, of.has(me::CT_BYTES)) {
            (false, _) => count.failure += 1,
            (true, true) => count.success += bytes,
            (true, false) => count.success += 1,
        }
    }

    fn headers(&self) -> usize {
        self.tables.iter().map(|t| t.unexpected.len()).sum()
    }

    /// Entries that take space.
    pub fn living(&self) -> usize {
        self.entries.iter().filter(|e| e.life != Life::Gone).count()
    }

    /// "((incoming_bits ^ match_bits) & ~ignore_bits) == 0", the identifiers with their wildcards, and for entries that refuse to truncate
    /// the memory that is available: "the length of the memory region" less the offset.
    fn matches(&self, e: &Entry, from: ProcessId, bits: u64, offset: u64, length: u64) -> bool {
        let at = if e.has(me::MANAGE_LOCAL) { e.offset } else { offset };
        if e.has(me::NO_TRUNCATE) && length > e.me.length.saturating_sub(at) {
            return false;
        }
        if !self.rules.matching {
            return true;
        }
        let id = e.me.match_id;
        let source = if self.rules.logical {
            id.nid == RANK_ANY || id.nid == from.nid
        } else {
            let node = id.nid == NID_ANY || id.nid == from.nid || self.is(Fault::AnyNode);
            node && (id.pid == PID_ANY || id.pid == from.pid)
        };
        let ignore = e.me.ignore_bits;
        let alike = if self.is(Fault::IgnoreOneSide) {
            bits & !ignore == e.me.match_bits
        } else {
            (bits ^ e.me.match_bits) & !ignore == 0
        };
        source && alike
    }

    fn source(&self, m: &Message) -> ProcessId {
        if self.rules.logical { ProcessId { nid: m.source_rank, pid: 0 } } else { m.source }
    }

    /// A request arrives.
    pub fn receive(&mut self, m: &Message) -> Option<Answered> {
        let reply = matches!(m.request, Request::Get | Request::FetchAtomic | Request::Swap);
        let answer = match self.serve(m) {
            Ok(answer) => Answered { reply, ..answer },
            Err(fail) => Answered { reply, fail, ..Answered::default() },
        };
        (reply || m.ack != AckReq::None).then_some(answer)
    }

    /// The first entry of the priority list that matches, else of the overflow list.
    fn find(&self, m: &Message) -> Option<usize> {
        let table = &self.tables[m.pt as usize];
        let from = self.source(m);
        let mut all = [table.priority.clone(), table.overflow.clone()];
        if self.is(Fault::OverflowFirst) {
            all.reverse();
        }
        let anything = self.is(Fault::TruncatesAll);
        let length = if anything { 0 } else { m.length };
        all.concat()
            .into_iter()
            .find(|&n| self.matches(&self.entries[n], from, m.match_bits, m.remote_offset, length))
    }

    /// Permission: the user, then the operation. Violations are counted, and change nothing else.
    fn permit(&mut self, m: &Message, e: &Entry) -> Result<(), Fail> {
        if e.me.uid != UID_ANY && e.me.uid != m.uid {
            self.status[1] += 1;
            return Err(Fail::PermViolation);
        }
        let put = m.request != Request::Get && !e.has(me::OP_PUT);
        let get = !matches!(m.request, Request::Put | Request::Atomic) && !e.has(me::OP_GET);
        if put || get {
            self.status[2] += 1;
            return Err(Fail::OpViolation);
        }
        Ok(())
    }

    /// A resource is exhausted: with flow control the table entry is disabled and says so, else the message is lost.
    fn exhausted(&mut self, pt: usize, e: Option<&Entry>) -> Fail {
        self.status[0] += 1;
        if !self.tables[pt].flow {
            return Fail::Dropped;
        }
        self.tables[pt].enabled = false;
        if e.is_none_or(|e| !e.has(me::FLOWCTRL_DISABLE)) {
            self.post(pt, Event { kind: EventKind::PtDisabled, pt_index: pt as u32, ..Event::default() });
        }
        Fail::PtDisabled
    }

    fn serve(&mut self, m: &Message) -> Result<Answered, Fail> {
        let pt = m.pt as usize;
        if pt >= self.tables.len() {
            self.status[0] += 1;
            return Err(Fail::Dropped);
        }
        if !self.tables[pt].enabled {
            self.status[0] += 1;
            return Err(Fail::PtDisabled);
        }
        let Some(number) = self.find(m) else { return Err(self.exhausted(pt, None)) };
        let mut e = self.entries[number].clone();
        if !self.is(Fault::RoomFirst) {
            self.permit(m, &e)?;
        }
        let local = e.has(me::MANAGE_LOCAL);
        let offset = if local { e.offset } else { m.remote_offset };
        let length = m.length.min(e.me.length.saturating_sub(offset));
        if local && !self.is(Fault::OffsetStays) {
            e.offset += length;
        }
        let free = e.me.length - e.offset;
        let short = if self.is(Fault::MinFreeSign) { free > e.me.min_free } else { free < e.me.min_free };
        let once = e.has(me::USE_ONCE) && !self.is(Fault::OnceStays);
        let over = once || (local && e.me.min_free > 0 && short);
        let header = e.list == List::Overflow && !e.has(me::UNEXPECTED_HDR_DISABLE);
        let no_header = header && self.headers() >= self.rules.headers && !self.is(Fault::EndlessHeaders);
        if no_header || !self.room(&e, number, over, header) {
            return Err(self.exhausted(pt, Some(&e)));
        }
        if self.is(Fault::RoomFirst) {
            self.permit(m, &e)?;
        }
        let data = self.touch(m, (e.me.start + offset) as usize, length as usize);
        let event = self.event(m, &e, offset, length);
        self.entries[number].offset = e.offset;
        if header {
            self.tables[pt].unexpected.push(Header { event, request: m.request, holder: number });
        }
        self.count(&e, me::CT_COMM, &event);
        let early = over && self.is(Fault::UnlinkFirst);
        if early {
            self.auto_unlink(number);
        }
        if !e.has(me::COMM_DISABLE | me::SUCCESS_DISABLE) {
            self.post(pt, event);
        }
        if over && !early {
            self.auto_unlink(number);
        }
        Ok(Answered { length, offset, list: e.list, data, ..Answered::default() })
    }

    fn event(&self, m: &Message, e: &Entry, offset: u64, length: u64) -> Event {
        Event {
            start: e.me.start + offset,
            user_ptr: e.user_ptr,
            hdr_data: m.hdr_data,
            match_bits: m.match_bits,
            rlength: m.length,
            mlength: length,
            remote_offset: m.remote_offset,
            initiator: self.source(m),
            uid: m.uid,
            pt_index: m.pt,
            kind: match m.request {
                Request::Get => EventKind::Get,
                Request::Atomic => EventKind::Atomic,
                Request::FetchAtomic | Request::Swap => EventKind::FetchAtomic,
                _ => EventKind::Put,
            },
            list: e.list,
            fail: Fail::Ok,
            operation: m.operation.0,
            datatype: m.operation.1,
        }
    }

    /// Older events are overwritten only "if flow control is not enabled": with it all events of a message need room before it is taken.
    fn room(&self, e: &Entry, number: usize, over: bool, header: bool) -> bool {
        let table = &self.tables[e.pt];
        let Some(queue) = table.queue.filter(|_| table.flow) else { return true };
        let comm = !e.has(me::COMM_DISABLE | me::SUCCESS_DISABLE);
        let unlink = over && !e.has(me::UNLINK_DISABLE);
        let empty = !header && table.unexpected.iter().all(|h| h.holder != number);
        let freed = unlink && e.list == List::Overflow && empty;
        let more = if self.is(Fault::RoomForOne) { 0 } else { usize::from(unlink) + usize::from(freed) };
        let queue = &self.queues[queue];
        let taken = if self.is(Fault::DisabledTakesRoom) { queue.waiting.len() } else { queue.ordinary() };
        taken + usize::from(comm) + more <= queue.capacity
    }

    /// Reads and writes memory; gives what was there if that is asked for.
    fn touch(&mut self, m: &Message, at: usize, length: usize) -> Vec<u8> {
        let mut old = Vec::new();
        for n in 0..length {
            let byte = &mut self.memory[at + n];
            if !matches!(m.request, Request::Put | Request::Atomic) {
                old.push(*byte);
            }
            *byte = match (m.request, m.operation.0) {
                (Request::Get, _) => *byte,
                (Request::Atomic | Request::FetchAtomic, op::SUM) => byte.wrapping_add(m.data[n]),
                (Request::Atomic | Request::FetchAtomic, op::MAX) => (*byte).max(m.data[n]),
                (Request::Atomic | Request::FetchAtomic, op::BXOR) => *byte ^ m.data[n],
                _ => m.data[n],
            };
        }
        old
    }

    /// "Automatically unlinked": at once free unless headers need it.
    fn auto_unlink(&mut self, number: usize) {
        let e = self.entries[number].clone();
        let table = &mut self.tables[e.pt];
        table.priority.retain(|&n| n != number);
        table.overflow.retain(|&n| n != number);
        self.entries[number].life = if e.list == List::Overflow { Life::Held } else { Life::Gone };
        if !e.has(me::UNLINK_DISABLE) {
            self.own_event(EventKind::AutoUnlink, &e);
        }
        self.release(number);
    }

    /// "The unexpected list contains no more items associated with this entry": then an unlinked overflow entry is free.
    fn release(&mut self, number: usize) {
        let e = self.entries[number].clone();
        let needed = self.tables[e.pt].unexpected.iter().any(|h| h.holder == number);
        if e.life == Life::Held && !needed {
            self.entries[number].life = Life::Gone;
            if !e.has(me::UNLINK_DISABLE) && !self.is(Fault::NeverFree) {
                self.own_event(EventKind::AutoFree, &e);
            }
        }
    }

    /// Place of the first header from `from` on that an entry matches. No permission is checked.
    fn header(&self, e: &Entry, from: usize) -> Option<usize> {
        let list = &self.tables[e.pt].unexpected;
        let good = |&n: &usize| {
            let h = &list[n].event;
            let length = if self.is(Fault::TruncatesHeaders) { 0 } else { h.rlength };
            let user = !self.is(Fault::HeaderOfUser) || e.me.uid == UID_ANY || e.me.uid == h.uid;
            user && self.matches(e, h.initiator, h.match_bits, h.remote_offset, length)
        };
        if self.is(Fault::NewestHeader) {
            return (from..list.len()).rev().find(good);
        }
        (from..list.len()).find(good)
    }

    /// Tells of a header in the name of the entry that found it.
    fn overflow(&mut self, e: &Entry, h: &Header, search: bool) {
        let kind = match h.request {
            _ if search => EventKind::Search,
            Request::Get => EventKind::GetOverflow,
            Request::Atomic => EventKind::AtomicOverflow,
            Request::FetchAtomic | Request::Swap => EventKind::FetchAtomicOverflow,
            _ => EventKind::PutOverflow,
        };
        self.count(e, me::CT_OVERFLOW, &h.event);
        if !e.has(me::OVER_DISABLE | me::SUCCESS_DISABLE) {
            self.post(e.pt, Event { kind, user_ptr: e.user_ptr, ..h.event });
        }
    }

    /// A header is taken: the entry moves on. True if it is used up.
    fn moved(&self, e: &mut Entry, h: &Header) -> bool {
        if e.has(me::USE_ONCE) {
            return true;
        }
        if !e.has(me::LOCAL_INC_UH_RLENGTH) || !e.has(me::MANAGE_LOCAL) || self.is(Fault::HeadersMoveNothing)
        {
            return false;
        }
        let full = e.offset + h.event.rlength > e.me.length && self.is(Fault::FullIsUsedUp);
        e.offset = (e.offset + h.event.rlength).min(e.me.length);
        full || (e.me.min_free > 0 && e.me.length - e.offset < e.me.min_free)
    }

    fn wanted(&self, of: &Wanted, list: List) -> Entry {
        let Wanted { pt, me, ct, user_ptr } = *of;
        Entry { me, ct, list, pt, user_ptr, offset: 0, life: Life::Linked }
    }

    /// `PtlMEAppend`: the number of the entry.
    pub fn append(&mut self, of: &Wanted, list: List) -> Result<usize, Code> {
        let table = &self.tables[of.pt];
        let size = if list == List::Priority { table.priority.len() } else { table.overflow.len() };
        let mut e = self.wanted(of, list);
        let number = self.entries.len();
        let (mut taken, mut from, mut used_up) = (Vec::new(), 0, false);
        while list == List::Priority
            && !used_up
            && let Some(at) = self.header(&e, from)
        {
            let h = self.tables[of.pt].unexpected[at];
            used_up = self.moved(&mut e, &h);
            taken.push(h);
            from = at + 1;
        }
        // What is not inserted makes no list too long.
        if size >= self.rules.listed && (!used_up || self.is(Fault::UsedUpNeedsPlace)) {
            return Err(Code::ListTooLong);
        }
        if self.living() >= self.rules.entries {
            return Err(Code::NoSpace);
        }
        for h in taken {
            self.tables[of.pt].unexpected.retain(|other| other.event.hdr_data != h.event.hdr_data);
            self.overflow(&e, &h, false);
            self.release(h.holder);
        }
        if used_up {
            e.life = if e.has(me::USE_ONCE) { Life::Gone } else { Life::Retired };
            if !e.has(me::UNLINK_DISABLE) {
                self.own_event(EventKind::AutoUnlink, &e);
            }
            self.entries.push(e);
            return Ok(number);
        }
        let table = &mut self.tables[of.pt];
        if list == List::Priority {
            table.priority.push(number)
        } else {
            table.overflow.push(number)
        }
        if !e.has(me::LINK_DISABLE) {
            self.own_event(EventKind::Link, &e);
        }
        self.entries.push(e);
        Ok(number)
    }

    /// What `PtlMESearch` does.
    pub fn search(&mut self, of: &Wanted, delete: bool) -> Result<(), Code> {
        if self.is(Fault::SearchNeedsPlace) && self.tables[of.pt].priority.len() >= self.rules.listed {
            return Err(Code::ListTooLong);
        }
        let e = self.wanted(of, List::Priority);
        let once = e.has(me::USE_ONCE) || self.is(Fault::SearchOnce);
        let (mut from, mut found) = (0, false);
        while let Some(at) = self.header(&e, from) {
            found = true;
            let h = self.tables[of.pt].unexpected[at];
            if delete || self.is(Fault::SearchTakes) {
                self.tables[of.pt].unexpected.remove(at);
            } else {
                from = at + 1;
            }
            self.overflow(&e, &h, !delete);
            self.release(h.holder);
            if once {
                break;
            }
        }
        // A persistent search ends by finding no more. The reference counts that as a failure.
        if !found || !e.has(me::USE_ONCE) {
            self.count(&e, me::CT_OVERFLOW, &Event { fail: Fail::NoMatch, ..Event::default() });
        }
        if !found && !e.has(me::OVER_DISABLE) {
            let (kind, fail, user_ptr) = (EventKind::Search, Fail::NoMatch, e.user_ptr);
            self.post(of.pt, Event { kind, fail, user_ptr, ..Event::default() });
        }
        Ok(())
    }

    /// What `PtlMEUnlink` does.
    pub fn unlink(&mut self, number: usize) -> Result<(), Code> {
        let e = &self.entries[number];
        if !matches!(e.life, Life::Linked | Life::Retired) {
            return Err(Code::ArgInvalid);
        }
        let table = &mut self.tables[e.pt];
        if table.unexpected.iter().any(|h| h.holder == number) {
            return Err(Code::InUse);
        }
        table.priority.retain(|&n| n != number);
        table.overflow.retain(|&n| n != number);
        self.entries[number].life = Life::Gone;
        Ok(())
    }

    /// All that is in a queue is read.
    pub fn drain(&mut self, queue: usize) -> Vec<Event> {
        std::mem::take(&mut self.queues[queue].waiting)
    }
}
