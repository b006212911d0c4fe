//! Priority and overflow lists, the headers of unexpected messages, and search.

use super::{
    message::Message,
    objects::{Entry, Header, Kind, Named, Ni, Region, handle},
    process::Process,
    types::{
        Answer, Code, Event, EventKind, Fail, IOVEC, List, Me, Memory, NID_ANY, PID_ANY, ProcessId, RANK_ANY,
        TableEntry, me, ni,
    },
};

/// Offset that an entry uses for a message that names one.
#[must_use]
pub fn offset(entry: &Entry, remote: u64) -> u64 {
    if entry.options & me::MANAGE_LOCAL != 0 { entry.local_offset } else { remote }
}

/// True if an entry takes messages of this process with these bits, of so many bytes at this offset.
#[must_use]
pub fn matches(ni: &Ni, entry: &Entry, source: ProcessId, bits: u64, length: u64, remote: u64) -> bool {
    let free = entry.region.length.saturating_sub(offset(entry, remote));
    if entry.options & me::NO_TRUNCATE != 0 && length > free {
        return false;
    }
    if ni.options & ni::NO_MATCHING != 0 {
        return true;
    }
    let id = entry.match_id;
    let process = if ni.options & ni::LOGICAL != 0 {
        id.nid == RANK_ANY || id.nid == source.nid
    } else {
        (id.nid == NID_ANY || id.nid == source.nid) && (id.pid == PID_ANY || id.pid == source.pid)
    };
    process && (entry.match_bits ^ bits) & !entry.ignore_bits == 0
}

/// True if an entry matches the header of an unexpected message. Nobody's permission is checked.
fn matches_header(ni: &Ni, entry: &Entry, header: &Header) -> bool {
    let e = &header.event;
    matches(ni, entry, e.initiator, e.match_bits, e.rlength, e.remote_offset)
}

/// An entry that is appended takes a header. True if that uses it up.
fn take_header(entry: &mut Entry, header: &Header) -> bool {
    if entry.options & me::USE_ONCE != 0 {
        return true;
    }
    if entry.options & me::LOCAL_INC_UH_RLENGTH == 0 || entry.options & me::MANAGE_LOCAL == 0 {
        return false;
    }
    let length = entry.region.length;
    entry.local_offset = entry.local_offset.saturating_add(header.event.rlength).min(length);
    length - entry.local_offset < entry.min_free
}

/// True if unexpected headers use an entry up when it is appended.
fn used_up(ni: &Ni, entry: &Entry) -> bool {
    let table = ni.tables.get(usize::from(entry.pt)).and_then(Option::as_ref);
    let Some(table) = table.filter(|_| entry.list == List::Priority) else { return false };
    let mut entry = entry.clone();
    table.unexpected.iter().any(|h| matches_header(ni, &entry, h) && take_header(&mut entry, h))
}

/// How events name the process that sent a message.
#[must_use]
pub fn initiator(ni: &Ni, m: &Message) -> ProcessId {
    if ni.options & ni::LOGICAL != 0 { ProcessId { nid: m.source_rank, pid: 0 } } else { m.source }
}

impl Process {
    /// An entry of an interface that is on no list yet.
    fn read_entry(
        &mut self,
        TableEntry { ni, pt }: TableEntry,
        me: &Me,
        list: List,
        user_ptr: u64,
        memory: &mut dyn Memory,
    ) -> Answer<(usize, Entry)> {
        let index = self.table(ni, pt)?.0;
        let ct = self.counter_of(index, me.ct)?;
        let ni = self.open(index)?;
        if me.options & !me::ALL_ME != 0 {
            return Err(Code::ArgInvalid);
        }
        debug_assert!(u16::try_from(pt).is_ok(), "an entry of the table has a number of 16 bits");
        let region = Region::new(me.start, me.length, me.options & IOVEC != 0, &ni.limits, memory)?;
        let entry = Entry {
            region,
            options: me.options,
            ct,
            uid: me.uid,
            match_id: me.match_id,
            match_bits: me.match_bits,
            ignore_bits: me.ignore_bits,
            min_free: me.min_free,
            user_ptr,
            local_offset: 0,
            list,
            pt: pt as u16,
            headers: 0,
            linked: false,
        };
        Ok((index, entry))
    }

    /// An entry that is to join its list, now or later: generation and place.
    pub(super) fn make_entry(
        &mut self,
        at: TableEntry,
        me: &Me,
        list: List,
        user_ptr: u64,
        memory: &mut dyn Memory,
    ) -> Answer<(u16, u16)> {
        let (index, entry) = self.read_entry(at, me, list, user_ptr, memory)?;
        let ni = self.open(index)?;
        let table = ni.tables[at.pt as usize].as_ref().ok_or(Code::ArgInvalid)?;
        let on_list = match list {
            List::Priority => table.priority.len(),
            List::Overflow => table.overflow.len(),
        };
        // What unexpected headers use up joins no list.
        if on_list >= ni.limits.max_list_size.max(0) as usize && !used_up(ni, &entry) {
            return Err(Code::ListTooLong);
        }
        ni.entries.insert(entry, ni.limits.max_entries.max(0) as usize)
    }

    /// `PtlMEAppend`, and `PtlLEAppend` with what only an ME has left zero.
    ///
    /// # Errors
    /// As the interface says.
    pub fn append(
        &mut self,
        at: TableEntry,
        me: &Me,
        list: List,
        user_ptr: u64,
        memory: &mut dyn Memory,
    ) -> Answer<u32> {
        let index = self.interface(at.ni)?.0;
        let (generation, entry) = self.make_entry(at, me, list, user_ptr, memory)?;
        let from = self.out.len();
        self.link(index, entry);
        self.settle(from, memory);
        Ok(handle(Kind::Entry, index, generation, entry))
    }

    /// Puts an entry on its list, unless unexpected messages use it up.
    pub(super) fn link(&mut self, index: usize, place: u16) {
        let Some(ni) = self.nis[index & 3].as_deref_mut() else { return };
        let Some(entry) = ni.entries.at(place).cloned() else { return };
        debug_assert!(!entry.linked, "an entry joins its list once");
        debug_assert_eq!(entry.headers, 0, "an entry takes no message before it is on its list");
        let used_up = entry.list == List::Priority && self.take_unexpected(index, place, &entry);
        let Some(ni) = self.nis[index & 3].as_deref_mut() else { return };
        let event = Event {
            user_ptr: entry.user_ptr,
            pt_index: u32::from(entry.pt),
            list: entry.list,
            ..Event::default()
        };
        let Some(table) = ni.tables.get_mut(usize::from(entry.pt)).and_then(Option::as_mut) else {
            ni.entries.remove(place);
            return;
        };
        let eq = table.eq;
        if used_up {
            if entry.options & me::USE_ONCE != 0 {
                ni.entries.remove(place);
            } else if let Some(entry) = ni.entries.at(place) {
                // Its handle is good for an unlink, which a program that does not know must be able to ask for.
                entry.linked = true;
            }
            if let Some(eq) = eq.filter(|_| entry.options & me::UNLINK_DISABLE == 0) {
                self.post_event(index, eq, Event { kind: EventKind::AutoUnlink, ..event });
            }
            return;
        }
        match entry.list {
            List::Priority => table.priority.push_back(place),
            List::Overflow => table.overflow.push_back(place),
        }
        if let Some(entry) = ni.entries.at(place) {
            entry.linked = true;
        }
        if let Some(eq) = eq.filter(|_| entry.options & me::LINK_DISABLE == 0) {
            self.post_event(index, eq, Event { kind: EventKind::Link, ..event });
        }
    }

    /// Headers that a new entry matches make overflow events. True if they use it up.
    fn take_unexpected(&mut self, index: usize, place: u16, entry: &Entry) -> bool {
        let mut entry = entry.clone();
        while let Some((header, _)) = self.find_header(index, &entry, true, 0) {
            self.overflow_event(index, &entry, &header, header.kind);
            self.release_header(index, &header);
            if take_header(&mut entry, &header) {
                return true;
            }
        }
        if let Some(ni) = self.nis[index & 3].as_deref_mut()
            && let Some(own) = ni.entries.at(place)
        {
            own.local_offset = entry.local_offset;
        }
        false
    }

    /// The first unexpected header at or after `from` that an entry matches, with its place; takes it out if asked to.
    fn find_header(
        &mut self,
        index: usize,
        entry: &Entry,
        remove: bool,
        from: usize,
    ) -> Option<(Header, usize)> {
        let ni = self.nis[index & 3].as_deref_mut()?;
        let table = ni.tables.get(usize::from(entry.pt))?.as_ref()?;
        debug_assert!(from <= table.unexpected.len(), "a search goes on behind what it found");
        let at = from + table.unexpected.iter().skip(from).position(|h| matches_header(ni, entry, h))?;
        let table = ni.tables.get_mut(usize::from(entry.pt))?.as_mut()?;
        let header = table.unexpected[at];
        if remove {
            table.unexpected.remove(at);
            debug_assert!(ni.headers > 0, "headers on all lists are counted");
            ni.headers -= 1;
        }
        Some((header, at))
    }

    /// An event about a header that was found, in the name of the entry that found it.
    fn overflow_event(&mut self, index: usize, entry: &Entry, header: &Header, kind: EventKind) {
        if let Some(ct) = entry.ct.filter(|_| entry.options & me::CT_OVERFLOW != 0) {
            let bytes = entry.options & me::CT_BYTES != 0;
            self.count(index, ct, header.event.fail, if bytes { header.event.mlength } else { 1 });
        }
        let quiet = if header.event.fail == Fail::Ok {
            me::OVER_DISABLE | me::SUCCESS_DISABLE
        } else {
            me::OVER_DISABLE
        };
        let list = List::Overflow;
        let event = Event { kind, list, user_ptr: entry.user_ptr, ..header.event };
        if let Some(eq) = self.queue_at(index, entry.pt).filter(|_| entry.options & quiet == 0) {
            self.post_event(index, eq, event);
        }
    }

    /// The queue of a portal table entry.
    pub(super) fn queue_at(&self, index: usize, pt: u16) -> Option<u16> {
        self.nis[index & 3].as_deref()?.tables.get(usize::from(pt))?.as_ref()?.eq
    }

    /// A header is gone: the overflow entry that holds its data may be free now.
    fn release_header(&mut self, index: usize, header: &Header) {
        let Some(ni) = self.nis[index & 3].as_deref_mut() else { return };
        let Some(entry) = ni.entries.at(header.entry) else { return };
        debug_assert!(entry.headers > 0, "an entry is there as long as headers need it");
        entry.headers = entry.headers.saturating_sub(1);
        if entry.headers == 0 && !entry.linked {
            self.free_entry(index, header.entry);
        }
    }

    /// An overflow entry that was unlinked holds nothing more.
    pub(super) fn free_entry(&mut self, index: usize, place: u16) {
        let Some(ni) = self.nis[index & 3].as_deref_mut() else { return };
        let Some(entry) = ni.entries.remove(place) else { return };
        debug_assert!(!entry.linked && entry.headers == 0, "nobody needs an entry that is freed");
        debug_assert_eq!(entry.list, List::Overflow, "only overflow lists keep entries for their headers");
        let event = Event {
            kind: EventKind::AutoFree,
            user_ptr: entry.user_ptr,
            pt_index: u32::from(entry.pt),
            list: List::Overflow,
            ..Event::default()
        };
        if let Some(eq) = self.queue_at(index, entry.pt).filter(|_| entry.options & me::UNLINK_DISABLE == 0) {
            self.post_event(index, eq, event);
        }
    }

    /// `PtlMESearch` and `PtlLESearch`.
    ///
    /// # Errors
    /// As the interface says.
    pub fn search(
        &mut self,
        at: TableEntry,
        me: &Me,
        delete: bool,
        user_ptr: u64,
        memory: &mut dyn Memory,
    ) -> Answer {
        // It takes neither a place on the list nor space: it is never linked.
        let (index, entry) = self.read_entry(at, me, List::Priority, user_ptr, memory)?;
        let from = self.out.len();
        let (mut next, mut found) = (0, false);
        while let Some((header, found_at)) = self.find_header(index, &entry, delete, next) {
            found = true;
            next = if delete { found_at } else { found_at + 1 };
            let kind = if delete { header.kind } else { EventKind::Search };
            self.overflow_event(index, &entry, &header, kind);
            if delete {
                self.release_header(index, &header);
            }
            if entry.options & me::USE_ONCE != 0 {
                break;
            }
        }
        // A search that is not over with its first header ends by finding no more, which counts as a failure.
        if (!found || entry.options & me::USE_ONCE == 0)
            && let Some(ct) = entry.ct.filter(|_| entry.options & me::CT_OVERFLOW != 0)
        {
            self.count(index, ct, Fail::NoMatch, 1);
        }
        if !found {
            let event = Event {
                kind: EventKind::Search,
                fail: Fail::NoMatch,
                user_ptr,
                pt_index: at.pt,
                ..Event::default()
            };
            if let Some(eq) = self.queue_at(index, entry.pt).filter(|_| entry.options & me::OVER_DISABLE == 0)
            {
                self.post_event(index, eq, event);
            }
        }
        self.settle(from, memory);
        Ok(())
    }

    /// `PtlMEUnlink` and `PtlLEUnlink`.
    ///
    /// # Errors
    /// As the interface says; [`Code::InUse`] if unexpected headers need it.
    pub fn entry_unlink(&mut self, entry: u32) -> Answer {
        let Named { ni: index, generation, place } = self.named(entry, Kind::Entry)?;
        self.unlink(index, generation, place)
    }

    pub(super) fn unlink(&mut self, index: usize, generation: u16, place: u16) -> Answer {
        let ni = self.open(index)?;
        let entry = ni.entries.get(generation, place)?;
        if !entry.linked {
            return Err(Code::ArgInvalid);
        }
        if entry.headers > 0 {
            return Err(Code::InUse);
        }
        let (pt, list) = (usize::from(entry.pt), entry.list);
        if let Some(table) = ni.tables.get_mut(pt).and_then(Option::as_mut) {
            match list {
                List::Priority => table.priority.retain(|&e| e != place),
                List::Overflow => table.overflow.retain(|&e| e != place),
            }
        }
        ni.entries.remove(place);
        Ok(())
    }
}
