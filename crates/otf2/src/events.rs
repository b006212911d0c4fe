//! Events of a location, in order.

use crate::{Result, bytes::Bytes, chunks::Chunks, local::Local};

/// What happened. Regions and communicators are global numbers; ranks are those of the communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are named after MPI's arguments")]
pub enum EventKind {
    /// A region is entered.
    Enter { region: u32 },
    /// A region is left.
    Leave { region: u32 },
    /// A blocking send.
    Send { receiver: u32, comm: u32, tag: u32, bytes: u64 },
    /// A non-blocking send is posted.
    Isend { receiver: u32, comm: u32, tag: u32, bytes: u64, request: u64 },
    /// A non-blocking send is complete.
    IsendComplete { request: u64 },
    /// A non-blocking receive is posted.
    IrecvRequest { request: u64 },
    /// A blocking receive is complete.
    Recv { sender: u32, comm: u32, tag: u32, bytes: u64 },
    /// A non-blocking receive is complete.
    Irecv { sender: u32, comm: u32, tag: u32, bytes: u64, request: u64 },
    /// A request is cancelled.
    Cancelled { request: u64 },
    /// A collective begins.
    CollectiveBegin,
    /// A collective ends; `operation` as OTF2 numbers them, `root` all ones if there is none; bytes that this rank sent and received.
    CollectiveEnd { operation: u8, comm: u32, root: u32, sent: u64, received: u64 },
    /// A non-blocking collective is posted.
    CollectiveRequest { request: u64 },
    /// A non-blocking collective is complete; else as `CollectiveEnd`.
    CollectiveComplete { operation: u8, comm: u32, root: u32, sent: u64, received: u64, request: u64 },
    /// A window of one-sided communication is made.
    RmaWinCreate { win: u32 },
    /// A window is given back.
    RmaWinDestroy { win: u32 },
    /// A collective call on windows begins.
    RmaCollectiveBegin,
    /// It ends; `operation`, `sync` and `root` as of other collectives and as OTF2 numbers them.
    RmaCollectiveEnd { operation: u8, sync: u32, win: u32, root: u32, sent: u64, received: u64 },
    /// Ranks of a group synchronise on a window.
    RmaGroupSync { sync: u32, win: u32, group: u32 },
    /// A lock is asked for; its kind is 0 if it is exclusive, 1 if it is shared.
    RmaRequestLock { win: u32, remote: u32, lock: u64, kind: u8 },
    /// A lock is held from now on.
    RmaAcquireLock { win: u32, remote: u32, lock: u64, kind: u8 },
    /// A lock was asked for and not given.
    RmaTryLock { win: u32, remote: u32, lock: u64, kind: u8 },
    /// A lock is given back.
    RmaReleaseLock { win: u32, remote: u32, lock: u64 },
    /// One rank synchronises with another; 0 is of memory, 1 and 2 are notifications in and out.
    RmaSync { win: u32, remote: u32, kind: u8 },
    /// A rank has waited for its own memory to change.
    RmaWaitChange { win: u32 },
    /// Bytes go to another's memory.
    RmaPut { win: u32, remote: u32, bytes: u64, id: u64 },
    /// Bytes come from another's memory.
    RmaGet { win: u32, remote: u32, bytes: u64, id: u64 },
    /// Another's memory is changed in one step, and perhaps fetched; kinds as OTF2 numbers them.
    RmaAtomic { win: u32, remote: u32, kind: u8, sent: u64, received: u64, id: u64 },
    /// A transfer has ended, and the call with it.
    RmaCompleteBlocking { win: u32, id: u64 },
    /// A transfer that did not block has ended here.
    RmaCompleteNonBlocking { win: u32, id: u64 },
    /// A transfer was asked for and had not ended.
    RmaTest { win: u32, id: u64 },
    /// A transfer has ended at the other end, too.
    RmaCompleteRemote { win: u32, id: u64 },
    /// Anything else; its record type.
    Other(u8),
}

/// An event with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Ticks of the archive's clock; offsets of the location's clock are applied.
    pub time: u64,
    /// What happened, with numbers of global definitions.
    pub kind: EventKind,
}

const TIME: u8 = 5;
const ATTRIBUTES: u8 = 6;
const ENTER: u8 = 0x0c;
const LEAVE: u8 = 0x0d;
const SEND: u8 = 0x0e;
const ISEND: u8 = 0x0f;
const ISEND_COMPLETE: u8 = 0x10;
const IRECV_REQUEST: u8 = 0x11;
const RECV: u8 = 0x12;
const IRECV: u8 = 0x13;
const CANCELLED: u8 = 0x15;
const COLLECTIVE_BEGIN: u8 = 0x16;
const COLLECTIVE_END: u8 = 0x17;
/// The first and the last record of one-sided communication.
const RMA: u8 = 35;
const RMA_END: u8 = 52;
const COLLECTIVE_REQUEST: u8 = 0x55;
const COLLECTIVE_COMPLETE: u8 = 0x56;

/// Reads the events of a location; an iterator that ends after the first mistake.
pub struct Events {
    chunks: Chunks,
    local: Local,
    time: u64,
    failed: bool,
}

/// A record of an event file.
enum Record {
    Time(u64),
    Attributes,
    Event(EventKind),
}

impl Events {
    pub(crate) fn new(chunks: Chunks, local: Local) -> Self {
        Self { chunks, local, time: 0, failed: false }
    }

    /// Place in the file of the next record: for reporting errors.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.chunks.offset()
    }

    /// The event file of the location: for reporting errors.
    #[must_use]
    pub fn path(&self) -> &std::path::Path {
        self.chunks.path()
    }

    fn read(&mut self) -> Result<Option<Event>> {
        loop {
            match self.chunks.next(record)? {
                None => return Ok(None),
                Some(Record::Time(time)) => self.time = self.local.time(time),
                Some(Record::Attributes) => {}
                Some(Record::Event(kind)) => {
                    return Ok(Some(Event { time: self.time, kind: self.global(kind) }));
                }
            }
        }
    }

    /// The same with global numbers.
    #[inline]
    fn global(&self, mut kind: EventKind) -> EventKind {
        match &mut kind {
            EventKind::Enter { region } | EventKind::Leave { region } => *region = self.local.region(*region),
            EventKind::Send { comm, .. }
            | EventKind::Isend { comm, .. }
            | EventKind::Recv { comm, .. }
            | EventKind::Irecv { comm, .. }
            | EventKind::CollectiveEnd { comm, .. }
            | EventKind::CollectiveComplete { comm, .. } => *comm = self.local.comm(*comm),
            _ => self.of_windows(&mut kind),
        }
        kind
    }
}

impl Events {
    /// Global numbers of what has to do with windows.
    fn of_windows(&self, kind: &mut EventKind) {
        if let EventKind::RmaGroupSync { group, .. } = kind {
            *group = self.local.group(*group);
        }
        match kind {
            EventKind::RmaWinCreate { win }
            | EventKind::RmaWinDestroy { win }
            | EventKind::RmaCollectiveEnd { win, .. }
            | EventKind::RmaGroupSync { win, .. }
            | EventKind::RmaRequestLock { win, .. }
            | EventKind::RmaAcquireLock { win, .. }
            | EventKind::RmaTryLock { win, .. }
            | EventKind::RmaReleaseLock { win, .. }
            | EventKind::RmaSync { win, .. }
            | EventKind::RmaWaitChange { win }
            | EventKind::RmaPut { win, .. }
            | EventKind::RmaGet { win, .. }
            | EventKind::RmaAtomic { win, .. }
            | EventKind::RmaCompleteBlocking { win, .. }
            | EventKind::RmaCompleteNonBlocking { win, .. }
            | EventKind::RmaTest { win, .. }
            | EventKind::RmaCompleteRemote { win, .. } => *win = self.local.window(*win),
            _ => {}
        }
    }
}

/// A record of one-sided communication.
fn one_sided(kind: u8, b: &mut Bytes<'_>) -> Result<EventKind> {
    if kind == 37 {
        return Ok(EventKind::RmaCollectiveBegin);
    }
    if kind == 38 {
        let (operation, sync, win, root) = (b.u8()?, b.number32()?, b.number32()?, b.number32()?);
        let (sent, received) = (b.number()?, b.number()?);
        return Ok(EventKind::RmaCollectiveEnd { operation, sync, win, root, sent, received });
    }
    if kind == 39 {
        let (sync, win, group) = (b.number32()?, b.number32()?, b.number32()?);
        return Ok(EventKind::RmaGroupSync { sync, win, group });
    }
    let win = b.number32()?;
    Ok(match kind {
        35 => EventKind::RmaWinCreate { win },
        36 => EventKind::RmaWinDestroy { win },
        40 => EventKind::RmaRequestLock { win, remote: b.number32()?, lock: b.number()?, kind: b.u8()? },
        41 => EventKind::RmaAcquireLock { win, remote: b.number32()?, lock: b.number()?, kind: b.u8()? },
        42 => EventKind::RmaTryLock { win, remote: b.number32()?, lock: b.number()?, kind: b.u8()? },
        43 => EventKind::RmaReleaseLock { win, remote: b.number32()?, lock: b.number()? },
        44 => EventKind::RmaSync { win, remote: b.number32()?, kind: b.u8()? },
        45 => EventKind::RmaWaitChange { win },
        46 => EventKind::RmaPut { win, remote: b.number32()?, bytes: b.number()?, id: b.number()? },
        47 => EventKind::RmaGet { win, remote: b.number32()?, bytes: b.number()?, id: b.number()? },
        48 => {
            let (remote, kind) = (b.number32()?, b.u8()?);
            let (sent, received, id) = (b.number()?, b.number()?, b.number()?);
            EventKind::RmaAtomic { win, remote, kind, sent, received, id }
        }
        49 => EventKind::RmaCompleteBlocking { win, id: b.number()? },
        50 => EventKind::RmaCompleteNonBlocking { win, id: b.number()? },
        51 => EventKind::RmaTest { win, id: b.number()? },
        _ => EventKind::RmaCompleteRemote { win, id: b.number()? },
    })
}

#[inline]
fn record(bytes: &mut Bytes<'_>) -> Result<Record> {
    let kind = bytes.u8()?;
    match kind {
        TIME => return Ok(Record::Time(bytes.u64()?)),
        ENTER => return Ok(Record::Event(EventKind::Enter { region: bytes.number32()? })),
        LEAVE => return Ok(Record::Event(EventKind::Leave { region: bytes.number32()? })),
        ISEND_COMPLETE => return Ok(Record::Event(EventKind::IsendComplete { request: bytes.number()? })),
        IRECV_REQUEST => return Ok(Record::Event(EventKind::IrecvRequest { request: bytes.number()? })),
        CANCELLED => return Ok(Record::Event(EventKind::Cancelled { request: bytes.number()? })),
        _ => {}
    }
    let mut b = bytes.body()?;
    if kind == ATTRIBUTES {
        return Ok(Record::Attributes);
    }
    Ok(Record::Event(match kind {
        SEND => EventKind::Send {
            receiver: b.number32()?,
            comm: b.number32()?,
            tag: b.number32()?,
            bytes: b.number()?,
        },
        ISEND => EventKind::Isend {
            receiver: b.number32()?,
            comm: b.number32()?,
            tag: b.number32()?,
            bytes: b.number()?,
            request: b.number()?,
        },
        RECV => EventKind::Recv {
            sender: b.number32()?,
            comm: b.number32()?,
            tag: b.number32()?,
            bytes: b.number()?,
        },
        IRECV => EventKind::Irecv {
            sender: b.number32()?,
            comm: b.number32()?,
            tag: b.number32()?,
            bytes: b.number()?,
            request: b.number()?,
        },
        COLLECTIVE_BEGIN => EventKind::CollectiveBegin,
        COLLECTIVE_END => EventKind::CollectiveEnd {
            operation: b.u8()?,
            comm: b.number32()?,
            root: b.number32()?,
            sent: b.number()?,
            received: b.number()?,
        },
        COLLECTIVE_REQUEST => EventKind::CollectiveRequest { request: b.number()? },
        COLLECTIVE_COMPLETE => EventKind::CollectiveComplete {
            operation: b.u8()?,
            comm: b.number32()?,
            root: b.number32()?,
            sent: b.number()?,
            received: b.number()?,
            request: b.number()?,
        },
        RMA..=RMA_END => one_sided(kind, &mut b)?,
        other => EventKind::Other(other),
    }))
}

impl Iterator for Events {
    type Item = Result<Event>;

    #[inline]
    fn next(&mut self) -> Option<Result<Event>> {
        if self.failed {
            return None;
        }
        let next = self.read().transpose();
        self.failed = matches!(next, None | Some(Err(_)));
        next
    }
}
