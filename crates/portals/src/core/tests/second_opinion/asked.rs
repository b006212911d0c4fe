//! What the naive target is asked and what it answers, its tables and queues, and the faults that can be planted in it.

use crate::core::{
    message::Request,
    types::{Event, EventKind, Fail, List, Me},
};

/// Faults that can be planted in the naive target: whatever tells one of them from the engine would tell the same fault in the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing is wrong.
    None,
    /// The overflow list is looked through before the priority list.
    OverflowFirst,
    /// Ignore bits mask the bits of the message alone.
    IgnoreOneSide,
    /// Any node is taken, whatever the entry says.
    AnyNode,
    /// A locally managed offset does not move.
    OffsetStays,
    /// An entry that is used once stays on its list.
    OnceStays,
    /// Of several unexpected headers the newest is found first.
    NewestHeader,
    /// An entry is unlinked when more than the least free space is left.
    MinFreeSign,
    /// Messages that do not fit match, though the entry refuses to truncate.
    TruncatesAll,
    /// Headers of messages that do not fit match, though the entry refuses to truncate.
    TruncatesHeaders,
    /// A search without deletion deletes.
    SearchTakes,
    /// A persistent search ends with its first header.
    SearchOnce,
    /// Nobody is told that an overflow entry is free.
    NeverFree,
    /// Bytes that were asked for are counted.
    CountsAsked,
    /// An unexpected header is only given to who may use the entry.
    HeaderOfUser,
    /// Lack of room disables the table entry though the message had no permission.
    RoomFirst,
    /// Room is asked for the event of the message alone, not for those of unlinking.
    RoomForOne,
    /// Events that say that the table entry was disabled take the room of others.
    DisabledTakesRoom,
    /// Headers are not limited.
    EndlessHeaders,
    /// An entry that is unlinked says so before it tells of the message.
    UnlinkFirst,
    /// Headers do not move the offset of an entry that is appended.
    HeadersMoveNothing,
    /// With no least free space, headers that fill an entry use it up.
    FullIsUsedUp,
    /// Searches need a place on the priority list.
    SearchNeedsPlace,
    /// An entry that a header uses up needs a place on its list.
    UsedUpNeedsPlace,
}

impl Fault {
    /// All but none.
    pub const ALL: [Self; 23] = [
        Self::OverflowFirst,
        Self::IgnoreOneSide,
        Self::AnyNode,
        Self::OffsetStays,
        Self::OnceStays,
        Self::NewestHeader,
        Self::MinFreeSign,
        Self::TruncatesAll,
        Self::TruncatesHeaders,
        Self::SearchTakes,
        Self::SearchOnce,
        Self::NeverFree,
        Self::CountsAsked,
        Self::HeaderOfUser,
        Self::RoomFirst,
        Self::RoomForOne,
        Self::DisabledTakesRoom,
        Self::EndlessHeaders,
        Self::UnlinkFirst,
        Self::HeadersMoveNothing,
        Self::FullIsUsedUp,
        Self::SearchNeedsPlace,
        Self::UsedUpNeedsPlace,
    ];
}

/// What the interface is.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Processes are ranks.
    pub logical: bool,
    /// Entries have match bits.
    pub matching: bool,
    /// Most unexpected headers on all lists.
    pub headers: usize,
    /// Most entries of the interface.
    pub entries: usize,
    /// Most entries of a list.
    pub listed: usize,
}

/// What an entry is made of: the call's arguments.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Entry of the table.
    pub pt: usize,
    /// The structure that is passed; its counter is in `ct`.
    pub me: Me,
    /// Number of the counter.
    pub ct: Option<usize>,
    /// Name in events.
    pub user_ptr: u64,
}

/// The answer to a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answered {
    /// It carries data, else it acknowledges.
    pub reply: bool,
    /// How the request fared. Of a failure nothing else is said.
    pub fail: Fail,
    /// Bytes that were moved.
    pub length: u64,
    /// Offset that was used.
    pub offset: u64,
    /// List of the entry.
    pub list: List,
    /// What was there.
    pub data: Vec<u8>,
}

/// An event queue: at most so many events, the newest.
#[derive(Clone, Debug)]
pub struct Queue {
    /// Events that it has room for, besides those of flow control.
    pub capacity: usize,
    /// What lies in it, the oldest first.
    pub waiting: Vec<Event>,
}

impl Queue {
    /// An empty one.
    pub fn new(capacity: usize) -> Self {
        Self { capacity, waiting: Vec::new() }
    }

    /// Events that take its room.
    pub fn ordinary(&self) -> usize {
        self.waiting.iter().filter(|e| e.kind != EventKind::PtDisabled).count()
    }

    /// One more; the oldest gives way.
    pub fn push(&mut self, event: Event) {
        if event.kind != EventKind::PtDisabled && self.ordinary() == self.capacity {
            let oldest = self.waiting.iter().position(|e| e.kind != EventKind::PtDisabled);
            self.waiting.remove(oldest.expect("a full queue has an oldest event"));
        }
        self.waiting.push(event);
    }
}

/// Entry of the portal table.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// With flow control.
    pub flow: bool,
    /// Number of its queue.
    pub queue: Option<usize>,
    /// It takes messages.
    pub enabled: bool,
    /// Numbers of entries, first to last.
    pub priority: Vec<usize>,
    /// The same of the other list.
    pub overflow: Vec<usize>,
    /// Headers, oldest first.
    pub unexpected: Vec<Header>,
}

/// Header of a message that an overflow entry took.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    /// As the entry that took it told of it.
    pub event: Event,
    /// What the message asked for.
    pub request: Request,
    /// Number of that entry.
    pub holder: usize,
}
