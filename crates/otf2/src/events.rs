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
            _ => {}
        }
        kind
    }
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
