//! Objects of an interface and the handles that name them.
//!
//! A handle has 3 bits of kind, 2 of interface, 11 of generation and 16 of place, so that a handle of something that is gone names nothing.

use super::{
    operation::{Op, Pending},
    types::{Answer, Code, Count, Event, EventKind, Fault, INVALID, Iovec, Limits, List, Memory, ProcessId},
};
use std::collections::VecDeque;

/// What a handle names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "objects of the interface")]
pub enum Kind {
    Eq = 1,
    Ct = 2,
    Entry = 3,
    Md = 4,
    Ni = 5,
}

/// Makes a handle.
#[must_use]
pub fn handle(kind: Kind, ni: usize, generation: u16, place: u16) -> u32 {
    debug_assert!(ni < 4, "a process has four interfaces");
    debug_assert!(generation < 0x800, "a generation has 11 bits");
    (kind as u32) << 29 | (ni as u32) << 27 | u32::from(generation & 0x7ff) << 16 | u32::from(place)
}

/// What a handle of a kind names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    /// The interface, by its number within the process.
    pub ni: usize,
    /// Generation of the place: how often it was used before, modulo 2048.
    pub generation: u16,
    /// Place among the objects of the kind.
    pub place: u16,
}

/// Takes a handle apart.
///
/// # Errors
/// [`Code::ArgInvalid`] if it is of another kind.
pub fn parts(handle: u32, kind: Kind) -> Answer<Named> {
    if handle >> 29 != kind as u32 || handle == INVALID {
        return Err(Code::ArgInvalid);
    }
    let (ni, generation) = ((handle >> 27 & 3) as usize, (handle >> 16 & 0x7ff) as u16);
    Ok(Named { ni, generation, place: handle as u16 })
}

/// Objects by place, each with the generation of its handle.
#[derive(Clone, Debug)]
pub struct Slab<T> {
    slots: Vec<(u16, Option<T>)>,
    free: Vec<u16>,
    /// Places that hold an object.
    used: usize,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), used: 0 }
    }
}

impl<T> Slab<T> {
    /// Places beyond this are never used: handles that end in ones mean "none".
    const MOST: usize = 0xfff0;

    /// Without objects. Places go on counting generations, so that what named an object before names none of those to come.
    #[must_use]
    pub fn emptied(mut self) -> Self {
        for (generation, object) in &mut self.slots {
            if object.take().is_some() {
                *generation = (*generation + 1) & 0x7ff;
            }
        }
        self.free = (0..self.slots.len() as u16).rev().collect();
        self.used = 0;
        self
    }

    /// Adds an object unless there are `most`; gives generation and place.
    ///
    /// # Errors
    /// [`Code::NoSpace`].
    pub fn insert(&mut self, object: T, most: usize) -> Answer<(u16, u16)> {
        if self.used >= most.min(Self::MOST) {
            return Err(Code::NoSpace);
        }
        let place = self.free.pop().unwrap_or_else(|| {
            self.slots.push((0, None));
            (self.slots.len() - 1) as u16
        });
        let slot = &mut self.slots[usize::from(place)];
        debug_assert!(slot.1.is_none(), "a free place holds nothing");
        debug_assert!(usize::from(place) < Self::MOST, "handles that end in ones mean none");
        slot.1 = Some(object);
        self.used += 1;
        let generation = slot.0;
        debug_assert_eq!(self.used + self.free.len(), self.slots.len(), "a place is used or free");
        Ok((generation, place))
    }

    /// The object with this generation and place.
    ///
    /// # Errors
    /// [`Code::ArgInvalid`] if it is gone.
    pub fn get(&mut self, generation: u16, place: u16) -> Answer<&mut T> {
        match self.slots.get_mut(usize::from(place)) {
            Some((g, Some(object))) if *g == generation => Ok(object),
            _ => Err(Code::ArgInvalid),
        }
    }

    /// The object at a place that is known to be taken.
    #[must_use]
    pub fn at(&mut self, place: u16) -> Option<&mut T> {
        self.slots.get_mut(usize::from(place))?.1.as_mut()
    }

    /// The same to look at.
    #[must_use]
    pub fn peek(&self, place: u16) -> Option<&T> {
        self.slots.get(usize::from(place))?.1.as_ref()
    }

    /// Takes an object out.
    pub fn remove(&mut self, place: u16) -> Option<T> {
        let slot = self.slots.get_mut(usize::from(place))?;
        let object = slot.1.take()?;
        slot.0 = (slot.0 + 1) & 0x7ff;
        self.free.push(place);
        debug_assert!(self.used > 0, "what is taken out was there");
        self.used -= 1;
        debug_assert_eq!(self.used + self.free.len(), self.slots.len(), "a place is used or free");
        Some(object)
    }

    /// Generation of a place.
    #[must_use]
    pub fn generation(&self, place: u16) -> u16 {
        self.slots.get(usize::from(place)).map_or(0, |s| s.0)
    }
}

/// Memory of a descriptor or an entry.
#[derive(Clone, Debug)]
pub struct Region {
    /// Bytes in all.
    pub length: u64,
    start: u64,
    /// Pieces of a scatter-gather list; empty for one piece.
    pieces: Vec<Iovec>,
}

impl Region {
    /// Reads the scatter-gather list if there is one.
    ///
    /// # Errors
    /// [`Code::ArgInvalid`] if it is too long or cannot be read.
    pub fn new(
        start: u64,
        length: u64,
        vector: bool,
        limits: &Limits,
        memory: &mut dyn Memory,
    ) -> Answer<Self> {
        if !vector {
            return Ok(Self { length, start, pieces: Vec::new() });
        }
        if length > limits.max_iovecs.max(0) as u64 {
            return Err(Code::ArgInvalid);
        }
        let mut pieces = Vec::new();
        for n in 0..length {
            let mut bytes = [0; 16];
            memory.read(start.wrapping_add(n * 16), &mut bytes).map_err(|_| Code::ArgInvalid)?;
            let word = |at: usize| bytes[at..at + 8].iter().rev().fold(0u64, |w, &b| w << 8 | u64::from(b));
            pieces.push(Iovec { base: word(0), length: word(8) });
        }
        let length =
            pieces.iter().try_fold(0u64, |sum, p| sum.checked_add(p.length)).ok_or(Code::ArgInvalid)?;
        Ok(Self { length, start, pieces })
    }

    /// Address of the byte at an offset.
    #[must_use]
    pub fn address(&self, offset: u64) -> u64 {
        let mut left = offset;
        for p in &self.pieces {
            if left < p.length {
                return p.base.wrapping_add(left);
            }
            left -= p.length;
        }
        self.start.wrapping_add(offset)
    }

    /// Calls `with` for each piece of `offset .. offset + length`: address and the range of the whole.
    fn each(
        &self,
        offset: u64,
        length: usize,
        mut with: impl FnMut(u64, std::ops::Range<usize>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let end = offset.saturating_add(length as u64);
        debug_assert!(length == 0 || end <= self.length, "what is touched lies within the region");
        if self.pieces.is_empty() {
            return if length == 0 { Ok(()) } else { with(self.start.wrapping_add(offset), 0..length) };
        }
        let (mut skip, mut done) = (offset, 0);
        for p in &self.pieces {
            if done == length {
                break;
            }
            if skip >= p.length {
                skip -= p.length;
                continue;
            }
            let take = (p.length - skip).min((length - done) as u64) as usize;
            with(p.base.wrapping_add(skip), done..done + take)?;
            done += take;
            skip = 0;
        }
        debug_assert_eq!(done, length, "pieces are as long as the region");
        Ok(())
    }

    /// Reads from an offset.
    ///
    /// # Errors
    /// If memory cannot be read.
    pub fn read(&self, offset: u64, into: &mut [u8], memory: &mut dyn Memory) -> Result<(), Fault> {
        self.each(offset, into.len(), |address, range| memory.read(address, &mut into[range]))
    }

    /// Writes at an offset.
    ///
    /// # Errors
    /// If memory cannot be written.
    pub fn write(&self, offset: u64, bytes: &[u8], memory: &mut dyn Memory) -> Result<(), Fault> {
        self.each(offset, bytes.len(), |address, range| memory.write(address, &bytes[range]))
    }
}

/// A memory descriptor.
#[derive(Clone, Debug)]
pub struct Descriptor {
    /// Memory that data are sent from and come back to.
    pub region: Region,
    /// Options of the call: bits of [`md`](super::types::md), and `IOVEC`.
    pub options: u32,
    /// Queue of its events.
    pub eq: Option<u16>,
    /// Place of the counter that its operations count on; none: they are not counted.
    pub ct: Option<u16>,
}

/// A list entry, with or without matching.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Memory that messages read and write.
    pub region: Region,
    /// Options of the call: bits of [`me`](super::types::me), and `IOVEC`.
    pub options: u32,
    /// Place of the counter that messages count on; none: they are not counted.
    pub ct: Option<u16>,
    /// Who may use it.
    pub uid: u32,
    /// Whose messages match.
    pub match_id: ProcessId,
    /// Bits that must agree.
    pub match_bits: u64,
    /// Bits that need not.
    pub ignore_bits: u64,
    /// Fewest free bytes.
    pub min_free: u64,
    /// Returned in events.
    pub user_ptr: u64,
    /// Offset that the entry keeps.
    pub local_offset: u64,
    /// Which list of its portal table entry it was appended to.
    pub list: List,
    /// Its portal table entry.
    pub pt: u16,
    /// Headers on the unexpected list whose data it holds.
    pub headers: u32,
    /// It is on its list: not before a triggered append, nor after an automatic unlink.
    pub linked: bool,
}

/// Header of a message that the overflow list took.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    /// Kind of event that a match makes.
    pub kind: EventKind,
    /// The event, but for what the matching entry adds.
    pub event: Event,
    /// Entry that holds its data.
    pub entry: u16,
}

/// A portal table entry.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Options of the call: bits of [`pt`](super::types::pt).
    pub options: u32,
    /// Queue of its events.
    pub eq: Option<u16>,
    /// It takes messages.
    pub enabled: bool,
    /// Entries that wait for messages.
    pub priority: VecDeque<u16>,
    /// Entries that take what nobody waits for.
    pub overflow: VecDeque<u16>,
    /// Headers of what the overflow list took, oldest first.
    pub unexpected: VecDeque<Header>,
}

/// An event queue: a ring. Where there is no room, an event takes the place of the oldest, and the one that is then the oldest says so.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    /// Events that it holds; those of flow control have places of their own.
    pub capacity: usize,
    events: VecDeque<(Event, bool)>,
    /// Events among them that say that an entry of the portal table was disabled: these are never lost.
    disabled: usize,
    /// Events on their way.
    coming: usize,
    /// An event was lost that no event in the queue tells of: the next does.
    lost: bool,
}

impl Queue {
    /// A queue of so many events.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self { capacity, ..Self::default() }
    }

    /// True if so many more events have room. Those of flow control have places of their own.
    #[must_use]
    pub fn has_room(&self, events: usize) -> bool {
        debug_assert!(self.disabled <= self.events.len(), "they are among its events");
        self.events.len() - self.disabled + self.coming + events <= self.capacity
    }

    /// An event is on its way.
    pub fn reserve(&mut self) {
        self.coming += 1;
    }

    /// An event that was on its way is there.
    pub fn push(&mut self, event: Event) {
        self.coming = self.coming.saturating_sub(1);
        if event.kind == EventKind::PtDisabled {
            self.disabled += 1;
        } else if self.capacity == 0 {
            self.lost = true;
            return;
        } else if self.events.len() - self.disabled >= self.capacity {
            self.overwrite();
        }
        self.events.push_back((event, std::mem::take(&mut self.lost)));
        debug_assert!(
            self.events.len() <= self.capacity + self.disabled,
            "a full queue has lost its oldest event"
        );
    }

    /// The oldest event that may be lost makes room. The one behind it says so, or else the next that comes.
    fn overwrite(&mut self) {
        let oldest = self.events.iter().position(|(event, _)| event.kind != EventKind::PtDisabled);
        debug_assert!(oldest.is_some(), "a full queue has events that may be lost");
        if let Some(at) = oldest {
            self.events.remove(at);
            match self.events.get_mut(at) {
                Some((_, gap)) => *gap = true,
                None => self.lost = true,
            }
        }
    }

    /// The oldest event, and whether some before it were lost.
    pub fn pop(&mut self) -> Option<(Event, bool)> {
        let event = self.events.pop_front()?;
        debug_assert!(self.disabled <= self.events.len() + 1, "they are among its events");
        self.disabled -= usize::from(event.0.kind == EventKind::PtDisabled);
        Some(event)
    }
}

/// Something that waits for a counter.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "operations of the interface")]
pub enum Action {
    Move(Box<Op>),
    CtInc(u16, Count),
    CtSet(u16, Count),
    Link(u16),
    Unlink(u16, u16),
}

/// A counter, and the triggered operations that wait for it.
#[derive(Clone, Debug, Default)]
pub struct Counter {
    /// As the interface has it.
    pub value: Count,
    /// As the processor sees it: updates travel.
    pub seen: Count,
    /// Updates under way; a set makes those before it void.
    pub epoch: u32,
    /// By threshold, then age.
    pub waiting: VecDeque<(u64, Action)>,
}

/// A network interface.
#[derive(Clone, Debug)]
pub struct Ni {
    /// Bits of [`ni`](super::types::ni): matching or not, logical or physical.
    pub options: u32,
    /// Times it was opened.
    pub references: u32,
    /// What was granted.
    pub limits: Limits,
    /// Processes by rank.
    pub map: Option<Vec<ProcessId>>,
    /// Own rank in the map, as programs see it: [`RANK_ANY`](super::types::RANK_ANY) without one.
    pub rank: u32,
    /// Portal table by index; none where no entry is allocated.
    pub tables: Vec<Option<Table>>,
    /// Event queues; handles of kind [`Kind::Eq`] name them.
    pub queues: Slab<Queue>,
    /// Counters; handles of kind [`Kind::Ct`] name them.
    pub counters: Slab<Counter>,
    /// Memory descriptors; handles of kind [`Kind::Md`] name them.
    pub descriptors: Slab<Descriptor>,
    /// List entries of the whole portal table; handles of kind [`Kind::Entry`] name them.
    pub entries: Slab<Entry>,
    /// Operations of which not all events are reported.
    pub pending: Slab<Pending>,
    /// Headers on all unexpected lists.
    pub headers: usize,
    /// Operations that wait for counters.
    pub triggered: usize,
    /// Dropped, permission violations, operation violations.
    pub status: [i32; 3],
}

/// Places of a closed interface: what comes late for one of its objects finds nothing in the interface that is opened next.
#[derive(Default)]
pub struct Places {
    /// Places of event queues.
    pub queues: Slab<Queue>,
    /// Places of counters.
    pub counters: Slab<Counter>,
    /// Places of memory descriptors.
    pub descriptors: Slab<Descriptor>,
    /// Places of list entries.
    pub entries: Slab<Entry>,
    /// Places of operations under way.
    pub pending: Slab<Pending>,
}

impl Ni {
    /// Drops all that the interface holds.
    #[must_use]
    pub fn closed(self) -> Places {
        Places {
            queues: self.queues.emptied(),
            counters: self.counters.emptied(),
            descriptors: self.descriptors.emptied(),
            entries: self.entries.emptied(),
            pending: self.pending.emptied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who asks whether events have room is told of those on their way as well.
    #[test]
    fn events_on_their_way_take_room() {
        let mut queue = Queue::new(3);
        assert!(queue.has_room(3) && !queue.has_room(4));
        queue.reserve();
        queue.reserve();
        assert!(queue.has_room(1) && !queue.has_room(2));
        queue.push(Event::default());
        assert!(queue.has_room(1) && !queue.has_room(2), "one is there, one on its way");
        assert!(queue.pop().is_some() && queue.has_room(2));
    }

    /// Names of objects that were there name none of those that come, whether they had been taken out or not, as often as the places are emptied.
    #[test]
    fn old_names_name_nothing_in_emptied_places() {
        let mut slab = Slab::default();
        let mut old = Vec::new();
        for round in 0..20 {
            let names: Vec<_> = (0..5).map(|n| slab.insert((round, n), 5).unwrap()).collect();
            assert_eq!(names.iter().map(|(_, place)| *place).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
            for &(generation, place) in &old {
                assert_eq!(slab.get(generation, place), Err(Code::ArgInvalid), "round {round}");
            }
            assert!(slab.insert((0, 0), 5).is_err(), "five are the most");
            slab.remove(names[round % 5].1);
            old.extend(names);
            slab = slab.emptied();
        }
    }
}
