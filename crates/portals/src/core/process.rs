//! A process's side of the interface: what it opens, asks and frees. Data movement is in [`super::initiate`], lists in [`super::lists`], what arrives
//! in [`super::target`].

use super::{
    message::Message,
    objects::{Action, Counter, Descriptor, Kind, Named, Ni, Places, Queue, Region, Table, handle, parts},
    types::{
        Answer, CT_NONE, Code, Count, EQ_NONE, Event, IOVEC, Limits, Md, Memory, PID_ANY, PID_MAX, PT_ANY,
        ProcessId, RANK_ANY, Slot, md, ni, pt,
    },
};
use std::collections::VecDeque;

/// What a call or an arrival makes the interface do: whoever models its time does it.
#[derive(Clone, Debug)]
pub enum Out {
    /// A message to be sent.
    Send(Box<Message>),
    /// An event to be put into a queue by [`Process::deliver`].
    Event {
        /// Number of the interface within the process, 0 to 3.
        ni: usize,
        /// Where the queue is.
        queue: Slot,
        /// What goes into the queue.
        event: Event,
    },
    /// A counter to be shown to the processor by [`Process::show`].
    Count {
        /// Number of the interface within the process, 0 to 3.
        ni: usize,
        /// Where the counter is.
        counter: Slot,
        /// What it shows.
        value: Count,
        /// [`Counter::epoch`] at the update; of another epoch it is not shown any more.
        epoch: u32,
    },
}

/// A process: its interfaces, and what they have to do for it.
pub struct Process {
    /// Its node, and its number there once an interface is open.
    pub id: ProcessId,
    /// Its number unless it asks for another.
    pub own_pid: u32,
    /// Number of its user, which its messages carry and entries may ask for.
    pub uid: u32,
    /// Most that is granted.
    pub most: Limits,
    /// Times that the library was started.
    pub started: u32,
    /// `PtlAbort` was called.
    pub aborted: bool,
    /// Interfaces: physical or not, matching or not.
    pub nis: [Option<Box<Ni>>; 4],
    /// Places of those that were closed.
    pub closed: [Places; 4],
    /// What is to be done.
    pub out: VecDeque<Out>,
    /// A message that is over: the next one is made in its place.
    pub spare: Option<Box<Message>>,
    /// Bytes of the payload of a put or get that are copied; the rest is not looked at.
    pub copy_most: u64,
}

impl Process {
    /// A process that has opened nothing.
    #[must_use]
    pub fn new(nid: u32, own_pid: u32, uid: u32, most: Limits) -> Self {
        let id = ProcessId { nid, pid: PID_ANY };
        Self {
            id,
            own_pid,
            uid,
            most,
            started: 0,
            aborted: false,
            nis: [None, None, None, None],
            closed: Default::default(),
            out: VecDeque::new(),
            spare: None,
            copy_most: u64::MAX,
        }
    }

    /// An open interface.
    pub(super) fn open(&mut self, index: usize) -> Answer<&mut Ni> {
        debug_assert!(index < 4, "a process has four interfaces");
        if self.started == 0 {
            return Err(Code::NoInit);
        }
        self.nis[index & 3].as_deref_mut().ok_or(Code::ArgInvalid)
    }

    /// The interface of a handle, with the rest of the handle.
    pub(super) fn named(&mut self, handle: u32, kind: Kind) -> Answer<Named> {
        if self.started == 0 {
            return Err(Code::NoInit);
        }
        let named = parts(handle, kind)?;
        self.open(named.ni)?;
        Ok(named)
    }

    /// The interface that a handle of an interface names.
    pub(super) fn interface(&mut self, handle: u32) -> Answer<(usize, &mut Ni)> {
        let Named { ni: index, .. } = self.named(handle, Kind::Ni)?;
        Ok((index, self.open(index)?))
    }

    /// `PtlNIInit`. `taken` says whether another process of the node has a number.
    ///
    /// # Errors
    /// As the interface says.
    pub fn ni_init(
        &mut self,
        options: u32,
        pid: u32,
        desired: Option<&Limits>,
        taken: impl Fn(u32) -> bool,
    ) -> Answer<(u32, Limits)> {
        if self.started == 0 {
            return Err(Code::NoInit);
        }
        let one_of = |a: u32, b: u32| (options & (a | b)).count_ones() == 1;
        if options > 15 || !one_of(ni::MATCHING, ni::NO_MATCHING) || !one_of(ni::LOGICAL, ni::PHYSICAL) {
            return Err(Code::ArgInvalid);
        }
        let index =
            usize::from(options & ni::PHYSICAL != 0) << 1 | usize::from(options & ni::NO_MATCHING != 0);
        if pid != PID_ANY && pid >= PID_MAX {
            return Err(Code::ArgInvalid);
        }
        match self.id.pid {
            PID_ANY => {
                let wish = if pid == PID_ANY { self.own_pid } else { pid };
                if taken(wish) {
                    return Err(Code::PidInUse);
                }
                self.id.pid = wish;
            }
            own if pid != PID_ANY && pid != own => return Err(Code::PidInUse),
            _ => {}
        }
        debug_assert_ne!(self.id.pid, PID_ANY, "a process with an interface has a number");
        let name = handle(Kind::Ni, index, 0, 0);
        if let Some(open) = &mut self.nis[index] {
            debug_assert!(open.references > 0, "an open interface is referred to");
            open.references += 1;
            return Ok((name, open.limits));
        }
        let limits = desired.map_or(self.most, |d| self.most.grant(d));
        let Places { queues, counters, descriptors, entries, pending } =
            std::mem::take(&mut self.closed[index]);
        self.nis[index] = Some(Box::new(Ni {
            options,
            references: 1,
            limits,
            map: None,
            rank: RANK_ANY,
            tables: Vec::new(),
            queues,
            counters,
            descriptors,
            entries,
            pending,
            headers: 0,
            triggered: 0,
            status: [0; 3],
        }));
        Ok((name, limits))
    }

    /// Limits that were granted.
    ///
    /// # Errors
    /// As the interface says.
    pub fn limits(&mut self, ni: u32) -> Answer<Limits> {
        Ok(self.interface(ni)?.1.limits)
    }

    /// `PtlNIFini`: closes an interface with all that it holds.
    ///
    /// # Errors
    /// As the interface says.
    pub fn ni_fini(&mut self, ni: u32) -> Answer {
        let (index, open) = self.interface(ni)?;
        debug_assert!(open.references > 0, "an open interface is referred to");
        open.references -= 1;
        if open.references == 0
            && let Some(ni) = self.nis[index].take()
        {
            self.closed[index] = ni.closed();
        }
        Ok(())
    }

    /// Refuses calls about match list entries on interfaces without matching, and the other way round.
    ///
    /// # Errors
    /// As the interface says.
    pub fn check_matching(&mut self, ni: u32, matching: bool) -> Answer {
        let (_, ni) = self.interface(ni)?;
        if (ni.options & ni::MATCHING != 0) == matching { Ok(()) } else { Err(Code::ArgInvalid) }
    }

    /// `PtlNIStatus`: reads a status register of the interface.
    ///
    /// # Errors
    /// As the interface says.
    pub fn ni_status(&mut self, ni: u32, register: usize) -> Answer<i32> {
        let (_, ni) = self.interface(ni)?;
        ni.status.get(register).copied().ok_or(Code::ArgInvalid)
    }

    /// `PtlNIHandle`: of any handle.
    ///
    /// # Errors
    /// As the interface says.
    pub fn ni_handle(&mut self, any: u32) -> Answer<u32> {
        for kind in [Kind::Eq, Kind::Ct, Kind::Entry, Kind::Md, Kind::Ni] {
            if let Ok(Named { ni: index, generation, place }) = parts(any, kind) {
                let ni = self.open(index)?;
                match kind {
                    Kind::Eq => drop(ni.queues.get(generation, place)?),
                    Kind::Ct => drop(ni.counters.get(generation, place)?),
                    Kind::Entry => drop(ni.entries.get(generation, place)?),
                    Kind::Md => drop(ni.descriptors.get(generation, place)?),
                    Kind::Ni => {}
                }
                return Ok(handle(Kind::Ni, index, 0, 0));
            }
        }
        Err(if self.started == 0 { Code::NoInit } else { Code::ArgInvalid })
    }

    /// `PtlSetMap`: says which process each logical rank is.
    ///
    /// # Errors
    /// As the interface says; [`Code::Ignored`] if there is a map.
    pub fn set_map(&mut self, ni: u32, map: Vec<ProcessId>) -> Answer {
        let own = self.id;
        let (_, ni) = self.interface(ni)?;
        if ni.options & ni::LOGICAL == 0 || map.is_empty() {
            return Err(Code::ArgInvalid);
        }
        if ni.map.is_some() {
            return Err(Code::Ignored);
        }
        debug_assert_eq!(ni.rank, RANK_ANY, "there is no rank without a map");
        ni.rank = map.iter().position(|&p| p == own).map_or(RANK_ANY, |rank| rank as u32);
        ni.map = Some(map);
        Ok(())
    }

    /// `PtlGetMap`: which process each logical rank is.
    ///
    /// # Errors
    /// As the interface says.
    pub fn get_map(&mut self, ni: u32) -> Answer<&[ProcessId]> {
        let (_, ni) = self.interface(ni)?;
        if ni.options & ni::LOGICAL == 0 {
            return Err(Code::ArgInvalid);
        }
        ni.map.as_deref().ok_or(Code::NoSpace)
    }

    /// `PtlGetPhysId`: node and process number of the caller.
    ///
    /// # Errors
    /// As the interface says.
    pub fn phys_id(&mut self, ni: u32) -> Answer<ProcessId> {
        self.interface(ni)?;
        Ok(self.id)
    }

    /// `PtlGetId`: the rank on a logical interface.
    ///
    /// # Errors
    /// As the interface says.
    pub fn get_id(&mut self, ni: u32) -> Answer<ProcessId> {
        let own = self.id;
        let (_, ni) = self.interface(ni)?;
        Ok(if ni.options & ni::LOGICAL == 0 { own } else { ProcessId { nid: ni.rank, pid: 0 } })
    }

    /// `PtlGetUid`: the user of the caller.
    ///
    /// # Errors
    /// As the interface says.
    pub fn get_uid(&mut self, ni: u32) -> Answer<u32> {
        self.interface(ni)?;
        Ok(self.uid)
    }

    /// The queue of a handle, or none.
    fn queue_of(&mut self, index: usize, eq: u32) -> Answer<Option<u16>> {
        if eq == EQ_NONE {
            return Ok(None);
        }
        let Named { ni: own, generation, place } = self.named(eq, Kind::Eq)?;
        self.open(index)?.queues.get(generation, place)?;
        if own == index { Ok(Some(place)) } else { Err(Code::ArgInvalid) }
    }

    /// The counter of a handle, or none.
    pub(super) fn counter_of(&mut self, index: usize, ct: u32) -> Answer<Option<u16>> {
        if ct == CT_NONE {
            return Ok(None);
        }
        let Named { ni: own, generation, place } = self.named(ct, Kind::Ct)?;
        self.open(index)?.counters.get(generation, place)?;
        if own == index { Ok(Some(place)) } else { Err(Code::ArgInvalid) }
    }

    /// `PtlPTAlloc`: opens an entry of the portal table.
    ///
    /// # Errors
    /// As the interface says.
    pub fn pt_alloc(&mut self, ni: u32, options: u32, eq: u32, wish: u32) -> Answer<u32> {
        let index = self.interface(ni)?.0;
        let eq = self.queue_of(index, eq)?;
        let ni = self.open(index)?;
        let most = ni.limits.max_pt_index.max(0) as u32;
        if options & !pt::ALL != 0 || (wish != PT_ANY && wish > most) {
            return Err(Code::ArgInvalid);
        }
        if options & pt::FLOWCTRL != 0 && eq.is_none() {
            return Err(Code::PtEqNeeded);
        }
        let free = |n: u32| ni.tables.get(n as usize).is_none_or(Option::is_none);
        let place = if wish == PT_ANY {
            (0..=most).find(|&n| free(n)).ok_or(Code::PtFull)?
        } else if free(wish) {
            wish
        } else {
            return Err(Code::PtInUse);
        };
        if ni.tables.len() <= place as usize {
            ni.tables.resize_with(place as usize + 1, || None);
        }
        debug_assert!(place <= most, "the table is no longer than was granted");
        let enabled = options & pt::ALLOC_DISABLED == 0;
        ni.tables[place as usize] = Some(Table { options, eq, enabled, ..Table::default() });
        Ok(place)
    }

    /// A portal table entry that is there.
    pub(super) fn table(&mut self, ni: u32, place: u32) -> Answer<(usize, &mut Table)> {
        let (index, ni) = self.interface(ni)?;
        let table = ni.tables.get_mut(place as usize).and_then(Option::as_mut).ok_or(Code::ArgInvalid)?;
        Ok((index, table))
    }

    /// `PtlPTFree`: closes an entry of the portal table.
    ///
    /// # Errors
    /// As the interface says; [`Code::InUse`] if a list is not empty.
    pub fn pt_free(&mut self, ni: u32, place: u32) -> Answer {
        let (index, table) = self.table(ni, place)?;
        if !(table.priority.is_empty() && table.overflow.is_empty() && table.unexpected.is_empty()) {
            return Err(Code::InUse);
        }
        self.open(index)?.tables[place as usize] = None;
        Ok(())
    }

    /// `PtlPTEnable` and `PtlPTDisable`. Messages are taken at an instant, so there are none in progress.
    ///
    /// # Errors
    /// As the interface says.
    pub fn pt_enable(&mut self, ni: u32, place: u32, enabled: bool) -> Answer {
        self.table(ni, place)?.1.enabled = enabled;
        Ok(())
    }

    /// `PtlMDBind`: describes memory that operations read or write.
    ///
    /// # Errors
    /// As the interface says.
    pub fn md_bind(&mut self, ni: u32, md: &Md, memory: &mut dyn Memory) -> Answer<u32> {
        let index = self.interface(ni)?.0;
        let (eq, ct) = (self.queue_of(index, md.eq)?, self.counter_of(index, md.ct)?);
        if md.options & !(md::ALL | IOVEC) != 0 {
            return Err(Code::ArgInvalid);
        }
        let ni = self.open(index)?;
        let region = Region::new(md.start, md.length, md.options & IOVEC != 0, &ni.limits, memory)?;
        let most = ni.limits.max_mds.max(0) as usize;
        let (generation, place) =
            ni.descriptors.insert(Descriptor { region, options: md.options, eq, ct }, most)?;
        Ok(handle(Kind::Md, index, generation, place))
    }

    /// `PtlMDRelease`. Events of operations that are not over are lost.
    ///
    /// # Errors
    /// As the interface says.
    pub fn md_release(&mut self, md: u32) -> Answer {
        let Named { ni: index, generation, place } = self.named(md, Kind::Md)?;
        let ni = self.open(index)?;
        ni.descriptors.get(generation, place)?;
        ni.descriptors.remove(place);
        Ok(())
    }

    /// Options of a memory descriptor; none if there is no such.
    pub fn md_options(&mut self, md: u32) -> u32 {
        let Ok(Named { ni: index, generation, place }) = self.named(md, Kind::Md) else { return 0 };
        let ni = self.open(index).ok();
        ni.and_then(|ni| ni.descriptors.get(generation, place).ok()).map_or(0, |d| d.options)
    }

    /// `PtlEQAlloc`: makes an event queue.
    ///
    /// # Errors
    /// As the interface says.
    pub fn eq_alloc(&mut self, ni: u32, count: u64) -> Answer<u32> {
        let (index, ni) = self.interface(ni)?;
        let capacity = usize::try_from(count).map_err(|_| Code::ArgInvalid)?;
        let most = ni.limits.max_eqs.max(0) as usize;
        let (generation, place) = ni.queues.insert(Queue::new(capacity), most)?;
        Ok(handle(Kind::Eq, index, generation, place))
    }

    /// `PtlEQFree`: removes an event queue; its events are lost.
    ///
    /// # Errors
    /// As the interface says.
    pub fn eq_free(&mut self, eq: u32) -> Answer {
        let Named { ni: index, generation, place } = self.named(eq, Kind::Eq)?;
        let ni = self.open(index)?;
        ni.queues.get(generation, place)?;
        ni.queues.remove(place);
        Ok(())
    }

    /// `PtlEQGet`: an event, and whether some before it were lost.
    ///
    /// # Errors
    /// As the interface says; [`Code::EqEmpty`].
    pub fn eq_get(&mut self, eq: u32) -> Answer<(Event, bool)> {
        let Named { ni: index, generation, place } = self.named(eq, Kind::Eq)?;
        self.open(index)?.queues.get(generation, place)?.pop().ok_or(Code::EqEmpty)
    }

    /// `PtlCTAlloc`: makes a counting event.
    ///
    /// # Errors
    /// As the interface says.
    pub fn ct_alloc(&mut self, ni: u32) -> Answer<u32> {
        let (index, ni) = self.interface(ni)?;
        let most = ni.limits.max_cts.max(0) as usize;
        let (generation, place) = ni.counters.insert(Counter::default(), most)?;
        Ok(handle(Kind::Ct, index, generation, place))
    }

    /// The counter that a handle names.
    pub(super) fn counter(&mut self, ct: u32) -> Answer<&mut Counter> {
        let Named { ni: index, generation, place } = self.named(ct, Kind::Ct)?;
        self.open(index)?.counters.get(generation, place)
    }

    /// `PtlCTFree`; what waits for it never happens.
    ///
    /// # Errors
    /// As the interface says.
    pub fn ct_free(&mut self, ct: u32) -> Answer {
        self.ct_cancel(ct)?;
        let Named { ni: index, place, .. } = self.named(ct, Kind::Ct)?;
        let counter = self.open(index)?.counters.remove(place);
        debug_assert!(
            counter.is_some_and(|c| c.waiting.is_empty()),
            "nothing waits for a counter that is gone"
        );
        Ok(())
    }

    /// `PtlCTCancelTriggered`: drops what waits for a counter.
    ///
    /// # Errors
    /// As the interface says.
    pub fn ct_cancel(&mut self, ct: u32) -> Answer {
        let Named { ni: index, generation, place } = self.named(ct, Kind::Ct)?;
        let ni = self.open(index)?;
        let waiting = std::mem::take(&mut ni.counters.get(generation, place)?.waiting);
        debug_assert!(ni.triggered >= waiting.len(), "what waits was counted");
        ni.triggered -= waiting.len();
        for (_, action) in waiting {
            if let Action::Link(entry) = action {
                let waited = ni.entries.remove(entry);
                debug_assert!(waited.is_some_and(|e| !e.linked), "an entry that waits is on no list yet");
            }
        }
        Ok(())
    }

    /// `PtlCTGet`: as the processor sees it.
    ///
    /// # Errors
    /// As the interface says.
    pub fn ct_get(&mut self, ct: u32) -> Answer<Count> {
        Ok(self.counter(ct)?.seen)
    }

    /// `PtlCTSet` (`set`) and `PtlCTInc`: at once, for interface and processor.
    ///
    /// # Errors
    /// As the interface says.
    pub fn ct_change(&mut self, ct: u32, by: Count, set: bool, memory: &mut dyn Memory) -> Answer {
        if !set && by.success != 0 && by.failure != 0 {
            return Err(Code::ArgInvalid);
        }
        let Named { ni: index, generation, place } = self.named(ct, Kind::Ct)?;
        let counter = self.open(index)?.counters.get(generation, place)?;
        if set {
            (counter.value, counter.seen) = (by, by);
            counter.epoch += 1;
        } else {
            for value in [&mut counter.value, &mut counter.seen] {
                value.success = value.success.wrapping_add(by.success);
                value.failure = value.failure.wrapping_add(by.failure);
            }
            counter.epoch += 1;
            counter.seen = counter.value;
        }
        self.fire(index, place, memory);
        Ok(())
    }

    /// An event that was on its way is in its queue.
    pub fn deliver(&mut self, ni: usize, queue: Slot, event: Event) {
        debug_assert!(ni < self.nis.len(), "an event is of one of the interfaces");
        if let Some(ni) = self.nis[ni & 3].as_deref_mut()
            && let Ok(queue) = ni.queues.get(queue.generation, queue.place)
        {
            queue.push(event);
        }
    }

    /// What a call itself has counted is seen when it returns.
    pub fn show_counts(&mut self) {
        if !self.out.iter().any(|out| matches!(out, Out::Count { .. })) {
            return;
        }
        for out in std::mem::take(&mut self.out) {
            if let Out::Count { ni, counter, value, epoch } = out {
                self.show(ni, counter, value, epoch);
            } else {
                self.out.push_back(out);
            }
        }
    }

    /// The processor sees a counter's change.
    pub fn show(&mut self, ni: usize, counter: Slot, value: Count, epoch: u32) {
        debug_assert!(ni < self.nis.len(), "a count is of one of the interfaces");
        if let Some(ni) = self.nis[ni & 3].as_deref_mut()
            && let Ok(counter) = ni.counters.get(counter.generation, counter.place)
            && counter.epoch == epoch
            && counter.seen.success.wrapping_add(counter.seen.failure)
                <= value.success.wrapping_add(value.failure)
        {
            counter.seen = value;
        }
    }
}
