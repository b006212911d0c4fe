//! Operations that a process begins, at once or by a counter, and the answers that come back.

use super::{
    atomics,
    call::Trigger,
    message::{Message, Request},
    objects::{Action, Kind, Named, handle},
    operation::{Op, Pending},
    process::{Out, Process},
    types::{
        AckReq, Answer, Code, Count, Event, EventKind, Fail, List, Me, Memory, ProcessId, Slot, TableEntry,
        md, ni,
    },
};

impl Process {
    /// Checks an operation; gives the interface and the target's number.
    fn check(&mut self, op: &Op) -> Answer<(usize, ProcessId)> {
        let mut index = None;
        for (wanted, (name, offset)) in [(op.sends(), op.put), (op.fetches(), op.get)] {
            if !wanted {
                continue;
            }
            let Named { ni: own, generation, place } = self.named(name, Kind::Md)?;
            let region = &self.open(own)?.descriptors.get(generation, place)?.region;
            if offset.checked_add(op.length).is_none_or(|end| end > region.length)
                || index.is_some_and(|i| i != own)
            {
                return Err(Code::ArgInvalid);
            }
            index = Some(own);
        }
        let index = index.ok_or(Code::ArgInvalid)?;
        let ni = self.open(index)?;
        let most = match op.request {
            Request::Put | Request::Get => ni.limits.max_msg_size,
            Request::Atomic => ni.limits.max_atomic_size,
            // Both limits are those of an atomic that returns what was there.
            _ => ni.limits.max_fetch_atomic_size.min(ni.limits.max_atomic_size),
        };
        if matches!(op.request, Request::Atomic | Request::FetchAtomic | Request::Swap) {
            let (operation, datatype) = op.operation;
            atomics::check(operation, datatype, op.length, op.request == Request::Swap)?;
        }
        if op.length > most || op.pt > ni.limits.max_pt_index.max(0) as u32 {
            return Err(Code::ArgInvalid);
        }
        let target = match (&ni.map, ni.options & ni::LOGICAL != 0) {
            (_, false) => op.target,
            (Some(map), true) => *map.get(op.target.nid as usize).ok_or(Code::ArgInvalid)?,
            (None, true) => return Err(Code::ArgInvalid),
        };
        Ok((index, target))
    }

    /// Begins an operation: its message is among what is to be done.
    ///
    /// # Errors
    /// As the interface says.
    pub fn begin(&mut self, op: &Op, memory: &mut dyn Memory) -> Answer {
        let (index, target) = self.check(op)?;
        let (uid, source, most) = (self.uid, self.id, self.copy_most);
        let mut message = self.spare.take().unwrap_or_default();
        let ni = self.open(index)?;
        let slot = |name: u32| Slot { place: name as u16, generation: (name >> 16 & 0x7ff) as u16 };
        let mut data = std::mem::take(&mut message.data);
        data.clear();
        let mut md_options = 0;
        if op.sends() {
            let Slot { place, generation } = slot(op.put.0);
            let descriptor = ni.descriptors.get(generation, place)?;
            md_options = descriptor.options;
            let copied = if op.request == Request::Put { op.length.min(most) } else { op.length };
            data.resize(copied as usize, 0);
            if descriptor.region.read(op.put.1, &mut data, memory).is_err() {
                self.fail_locally(index, op);
                return Ok(());
            }
        }
        debug_assert!(data.len() as u64 <= op.length, "no more is copied than is sent");
        debug_assert!(op.sends() || op.fetches(), "an operation moves data one way at least");
        let pending = Pending {
            put: op.sends().then(|| slot(op.put.0)),
            get: op.fetches().then(|| slot(op.get.0)),
            get_offset: op.get.1,
            user_ptr: op.user_ptr,
            length: op.length,
            unsent: op.sends(),
            unanswered: op.fetches() || op.ack != AckReq::None,
        };
        let (generation, row) = ni.pending.insert(pending, usize::MAX)?;
        *message = Message {
            request: op.request,
            ni: index,
            source,
            source_rank: ni.rank,
            target,
            uid,
            pt: op.pt,
            match_bits: op.match_bits,
            remote_offset: op.remote_offset,
            hdr_data: op.hdr_data,
            length: op.length,
            ack: op.ack,
            operation: op.operation,
            operand: op.operand,
            data,
            pending: Slot { place: row, generation },
            fail: Fail::Ok,
            list: List::Priority,
            md_options,
        };
        self.out.push_back(Out::Send(message));
        Ok(())
    }

    /// The memory to be sent cannot be read: the operation ends here.
    fn fail_locally(&mut self, index: usize, op: &Op) {
        let descriptor = Slot { place: op.put.0 as u16, generation: (op.put.0 >> 16 & 0x7ff) as u16 };
        let event =
            Event { user_ptr: op.user_ptr, kind: EventKind::Send, fail: Fail::Segv, ..Event::default() };
        self.report_to_initiator(index, descriptor, event, md::CT_SEND);
    }

    /// An event of a descriptor, and its count if the option `counts` is set.
    fn report_to_initiator(
        &mut self,
        index: usize,
        Slot { place, generation }: Slot,
        event: Event,
        counts: u32,
    ) {
        let Some(ni) = self.nis[index & 3].as_deref_mut() else { return };
        let Ok(descriptor) = ni.descriptors.get(generation, place) else { return };
        let (options, eq, ct) = (descriptor.options, descriptor.eq, descriptor.ct);
        if let Some(ct) = ct.filter(|_| options & counts != 0) {
            let bytes = options & md::CT_BYTES != 0;
            self.count(index, ct, event.fail, if bytes { event.mlength } else { 1 });
        }
        let quiet = match event.kind {
            EventKind::Send => md::SUCCESS_DISABLE | md::SEND_DISABLE,
            _ => md::SUCCESS_DISABLE,
        };
        if let Some(eq) = eq.filter(|_| event.fail != Fail::Ok || options & quiet == 0) {
            self.post_event(index, eq, event);
        }
    }

    /// Puts an event under way to a queue.
    pub(super) fn post_event(&mut self, index: usize, place: u16, event: Event) {
        let Some(ni) = self.nis[index & 3].as_deref_mut() else { return };
        let generation = ni.queues.generation(place);
        if let Some(queue) = ni.queues.at(place) {
            queue.reserve();
            self.out.push_back(Out::Event { ni: index, queue: Slot { place, generation }, event });
        }
    }

    /// Counts a success of so much, or a failure, and fires what waits for it. Memory is read by those who fire, later: see [`Process::settle`].
    pub(super) fn count(&mut self, index: usize, place: u16, fail: Fail, much: u64) {
        let Some(ni) = self.nis[index & 3].as_deref_mut() else { return };
        let generation = ni.counters.generation(place);
        let Some(counter) = ni.counters.at(place) else { return };
        if fail == Fail::Ok {
            counter.value.success = counter.value.success.wrapping_add(much);
        } else {
            counter.value.failure = counter.value.failure.wrapping_add(1);
        }
        let (value, epoch) = (counter.value, counter.epoch);
        self.out.push_back(Out::Count { ni: index, counter: Slot { place, generation }, value, epoch });
    }

    /// Fires what the counts in `out` since `from` have reached. Every entry point that may count calls it last.
    pub(super) fn settle(&mut self, from: usize, memory: &mut dyn Memory) {
        debug_assert!(from <= self.out.len(), "nothing that was to be done is gone");
        let mut at = from;
        while at < self.out.len() {
            if let Out::Count { ni, counter, .. } = self.out[at] {
                self.fire(ni, counter.place, memory);
            }
            at += 1;
        }
    }

    /// Does what waits for a counter and has its threshold reached, in order.
    pub(super) fn fire(&mut self, index: usize, place: u16, memory: &mut dyn Memory) {
        loop {
            let Some(ni) = self.nis[index & 3].as_deref_mut() else { return };
            let Some(counter) = ni.counters.at(place) else { return };
            let total = counter.value.success.wrapping_add(counter.value.failure);
            if counter.waiting.front().is_none_or(|w| w.0 > total) {
                return;
            }
            let Some((_, action)) = counter.waiting.pop_front() else { return };
            debug_assert!(ni.triggered > 0, "what waits was counted");
            ni.triggered -= 1;
            self.act(index, action, memory);
        }
    }

    fn act(&mut self, index: usize, action: Action, memory: &mut dyn Memory) {
        match action {
            // A descriptor that is gone by now makes the operation void.
            Action::Move(op) => drop(self.begin(&op, memory)),
            Action::CtInc(place, by) | Action::CtSet(place, by) => {
                let set = matches!(action, Action::CtSet(..));
                let Some(ni) = self.nis[index & 3].as_deref_mut() else { return };
                let generation = ni.counters.generation(place);
                let Some(counter) = ni.counters.at(place) else { return };
                let old = if set { Count::default() } else { counter.value };
                counter.value = Count {
                    success: old.success.wrapping_add(by.success),
                    failure: old.failure.wrapping_add(by.failure),
                };
                let (value, epoch) = (counter.value, counter.epoch);
                self.out.push_back(Out::Count {
                    ni: index,
                    counter: Slot { place, generation },
                    value,
                    epoch,
                });
                self.fire(index, place, memory);
            }
            Action::Link(entry) => self.link(index, entry),
            Action::Unlink(generation, entry) => drop(self.unlink(index, generation, entry)),
        }
    }

    /// Lets an action wait for a counter, or does it if its threshold is reached.
    pub(super) fn wait_for(
        &mut self,
        index: usize,
        on: Trigger,
        action: Action,
        memory: &mut dyn Memory,
    ) -> Answer {
        let place = self.counter_of(index, on.counter)?.ok_or(Code::ArgInvalid)?;
        let ni = self.open(index)?;
        if ni.triggered >= ni.limits.max_triggered_ops.max(0) as usize {
            return Err(Code::NoSpace);
        }
        ni.triggered += 1;
        if let Some(counter) = ni.counters.at(place) {
            let after = counter.waiting.partition_point(|w| w.0 <= on.threshold);
            counter.waiting.insert(after, (on.threshold, action));
            let ascending = counter.waiting.iter().is_sorted_by_key(|w| w.0);
            debug_assert!(ascending, "what waits is in the order of thresholds");
        }
        self.fire(index, place, memory);
        Ok(())
    }

    /// `PtlTriggeredPut` and its like.
    ///
    /// # Errors
    /// As the interface says; [`Code::NoSpace`] if too many wait.
    pub fn triggered(&mut self, op: Op, on: Trigger, memory: &mut dyn Memory) -> Answer {
        let (index, _) = self.check(&op)?;
        self.wait_for(index, on, Action::Move(Box::new(op)), memory)
    }

    /// `PtlTriggeredCTInc` and `PtlTriggeredCTSet`.
    ///
    /// # Errors
    /// As the interface says; [`Code::NoSpace`] if too many wait.
    pub fn triggered_ct(
        &mut self,
        ct: u32,
        by: Count,
        set: bool,
        on: Trigger,
        memory: &mut dyn Memory,
    ) -> Answer {
        let Named { ni: index, generation, place } = self.named(ct, Kind::Ct)?;
        self.open(index)?.counters.get(generation, place)?;
        let action = if set { Action::CtSet(place, by) } else { Action::CtInc(place, by) };
        self.wait_for(index, on, action, memory)
    }

    /// `PtlTriggeredMEAppend`: the handle is valid at once, the entry is linked later.
    ///
    /// # Errors
    /// As the interface says; [`Code::NoSpace`] if too many wait.
    pub fn triggered_append(
        &mut self,
        at: TableEntry,
        me: &Me,
        list: List,
        user_ptr: u64,
        on: Trigger,
        memory: &mut dyn Memory,
    ) -> Answer<u32> {
        let index = self.interface(at.ni)?.0;
        self.counter_of(index, on.counter)?.ok_or(Code::ArgInvalid)?;
        let (generation, place) = self.make_entry(at, me, list, user_ptr, memory)?;
        if let Err(code) = self.wait_for(index, on, Action::Link(place), memory) {
            self.open(index)?.entries.remove(place);
            return Err(code);
        }
        Ok(handle(Kind::Entry, index, generation, place))
    }

    /// `PtlTriggeredMEUnlink`: the entry leaves its list once the count is reached.
    ///
    /// # Errors
    /// As the interface says; [`Code::NoSpace`] if too many wait.
    pub fn triggered_unlink(&mut self, entry: u32, on: Trigger, memory: &mut dyn Memory) -> Answer {
        let Named { ni: index, generation, place } = self.named(entry, Kind::Entry)?;
        self.open(index)?.entries.get(generation, place)?;
        self.wait_for(index, on, Action::Unlink(generation, place), memory)
    }

    /// The data of an operation have left: its SEND event, if that was not reported.
    pub fn sent(
        &mut self,
        index: usize,
        Slot { place, generation }: Slot,
        fail: Fail,
        memory: &mut dyn Memory,
    ) {
        let from = self.out.len();
        let Some(ni) = self.nis[index & 3].as_deref_mut() else { return };
        let Ok(pending) = ni.pending.get(generation, place) else { return };
        if !std::mem::take(&mut pending.unsent) {
            return;
        }
        let (put, user_ptr, length) = (pending.put, pending.user_ptr, pending.length);
        debug_assert!(put.is_some(), "what is sent comes from a descriptor");
        if !pending.unanswered {
            ni.pending.remove(place);
        }
        if let Some(put) = put {
            let event = Event { user_ptr, mlength: length, kind: EventKind::Send, fail, ..Event::default() };
            self.report_to_initiator(index, put, event, md::CT_SEND);
        }
        self.settle(from, memory);
    }

    /// An acknowledgement or a reply is there.
    pub(super) fn answered(&mut self, m: &Message, memory: &mut dyn Memory) {
        debug_assert!(!m.request.is_request(), "a request is no answer");
        self.sent(m.ni, m.pending, Fail::Ok, memory);
        let from = self.out.len();
        let Some(ni) = self.nis[m.ni & 3].as_deref_mut() else { return };
        let Ok(pending) = ni.pending.get(m.pending.generation, m.pending.place) else { return };
        if !pending.unanswered {
            return;
        }
        let Pending { put, get, get_offset, user_ptr, .. } = *pending;
        ni.pending.remove(m.pending.place);
        let mut event = Event {
            user_ptr,
            mlength: m.length,
            remote_offset: m.remote_offset,
            fail: m.fail,
            kind: if m.request == Request::Ack { EventKind::Ack } else { EventKind::Reply },
            list: m.list,
            ..Event::default()
        };
        match (m.request, put, get) {
            (Request::Ack, Some(put), _) => match m.ack {
                AckReq::Full => self.report_to_initiator(m.ni, put, event, md::CT_ACK),
                // These count, and nothing else.
                _ => self.count_ack(m.ni, put, &event, m.ack),
            },
            (Request::Reply, _, Some(get)) => {
                if let Ok(descriptor) = ni.descriptors.get(get.generation, get.place)
                    && m.fail == Fail::Ok
                {
                    event.start = descriptor.region.address(get_offset);
                    if descriptor.region.write(get_offset, &m.data, memory).is_err() {
                        event.fail = Fail::Segv;
                    }
                }
                self.report_to_initiator(m.ni, get, event, md::CT_REPLY);
            }
            _ => {}
        }
        self.settle(from, memory);
    }

    fn count_ack(&mut self, index: usize, Slot { place, generation }: Slot, event: &Event, ack: AckReq) {
        let Some(ni) = self.nis[index & 3].as_deref_mut() else { return };
        let Ok(descriptor) = ni.descriptors.get(generation, place) else { return };
        let bytes = descriptor.options & md::CT_BYTES != 0 && ack == AckReq::Counting;
        if let Some(ct) = descriptor.ct.filter(|_| descriptor.options & md::CT_ACK != 0) {
            // Operation-complete acknowledgements say that the operation is over, not how it fared.
            let fail = if ack == AckReq::OperationComplete { Fail::Ok } else { event.fail };
            self.count(index, ct, fail, if bytes { event.mlength } else { 1 });
        }
    }
}
