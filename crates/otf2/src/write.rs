//! Writing an archive: definitions, and events location by location in any interleaving.
//!
//! Each location keeps a small buffer; when it is full it is appended to the location's file, which is open only for that. When a chunk is full, it is
//! padded and its head, which counts its events, is corrected.

use crate::{
    Anchor, Error, Result,
    bytes::{put_number, put_record, put_reference},
    definitions::Definitions,
    events::EventKind,
    markers::{self, Marker},
};
use std::{
    fs::{self, File, OpenOptions},
    io::{Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

/// Bytes of chunks of events and of definitions: the least and the usual ones of the official library.
const EVENT_CHUNK: u64 = 1 << 20;
const DEFINITION_CHUNK: u64 = 4 << 20;
/// Bytes that a location keeps before they are written.
const BUFFER: usize = 1 << 14;
/// The end of a file.
const END: [u8; 2] = [2, 1];

/// Writes an archive into a directory.
pub struct Writer {
    directory: PathBuf,
    creator: String,
}

/// Writes the events of a location, in the order of time.
pub struct LocationWriter {
    path: PathBuf,
    buffer: Vec<u8>,
    /// Bytes of the file so far, without the buffer.
    written: u64,
    time: Option<u64>,
    events: u64,
    /// First event of the present chunk.
    first: u64,
    scratch: Vec<u8>,
}

impl Writer {
    /// Begins an archive: `directory/traces.otf2` and what belongs to it.
    ///
    /// # Errors
    /// If directories cannot be made.
    pub fn create(directory: &Path, creator: &str) -> Result<Self> {
        let events = directory.join("traces");
        fs::create_dir_all(&events).map_err(|e| Error::file(&events, e))?;
        Ok(Self { directory: directory.to_owned(), creator: creator.to_owned() })
    }

    /// Begins a location's events.
    ///
    /// # Errors
    /// If its files cannot be made.
    pub fn location(&self, number: u64) -> Result<LocationWriter> {
        let path = self.directory.join(format!("traces/{number}.evt"));
        let mut empty = head(1, 0).to_vec();
        empty.extend_from_slice(&END);
        let local = path.with_extension("def");
        fs::write(&local, empty).map_err(|e| Error::file(&local, e))?;
        File::create(&path).map_err(|e| Error::file(&path, e))?;
        Ok(LocationWriter {
            path,
            buffer: head(1, 0).to_vec(),
            written: 0,
            time: None,
            events: 0,
            first: 1,
            scratch: Vec::new(),
        })
    }

    /// Writes markers beside the events, in a file of their own.
    ///
    /// # Errors
    /// If the file cannot be written, or a marker exceeds a chunk.
    pub fn markers(&self, markers: &[Marker]) -> Result<()> {
        let path = self.directory.join("traces.marker");
        fs::write(&path, in_chunks(&path, &markers::records(markers))?).map_err(|e| Error::file(&path, e))
    }

    /// Ends the archive with its definitions. Numbers of events in them must be what the locations wrote.
    ///
    /// # Errors
    /// If files cannot be written, or a definition exceeds a chunk.
    pub fn finish(self, definitions: &Definitions) -> Result<()> {
        let records = definitions.records();
        let path = self.directory.join("traces.def");
        fs::write(&path, in_chunks(&path, &records)?).map_err(|e| Error::file(&path, e))?;
        let locations = definitions.locations.len() as u64;
        let length = records.len() as u64;
        let anchor = Anchor::new(EVENT_CHUNK, DEFINITION_CHUNK, locations, length, &self.creator, 1);
        let path = self.directory.join("traces.otf2");
        fs::write(&path, anchor.bytes()).map_err(|e| Error::file(&path, e))
    }
}

/// Records that are no events, in chunks; none is cut.
fn in_chunks(path: &Path, records: &[Vec<u8>]) -> Result<Vec<u8>> {
    let mut bytes = head(1, 0).to_vec();
    for record in records {
        let room = DEFINITION_CHUNK - bytes.len() as u64 % DEFINITION_CHUNK;
        if record.len() as u64 + END.len() as u64 > room {
            bytes.resize(bytes.len() + room as usize, 0);
            bytes.extend_from_slice(&head(1, 0));
        }
        if record.len() as u64 > DEFINITION_CHUNK - 64 {
            return Err(Error::damaged(path, bytes.len() as u64, "a record exceeds a chunk"));
        }
        bytes.extend_from_slice(record);
    }
    bytes.extend_from_slice(&END);
    Ok(bytes)
}

fn head(first: u64, last: u64) -> [u8; 18] {
    let mut head = [0; 18];
    head[..2].copy_from_slice(b"\x03B");
    head[2..10].copy_from_slice(&first.to_le_bytes());
    head[10..].copy_from_slice(&last.to_le_bytes());
    head
}

impl LocationWriter {
    /// Writes an event at a time, with 64-bit attributes: (attribute, value).
    ///
    /// # Errors
    /// If the file cannot be written, or the time lies before the last one's.
    pub fn write(&mut self, time: u64, kind: &EventKind, attributes: &[(u32, u64)]) -> Result<()> {
        if self.time.is_some_and(|last| time < last) {
            return Err(Error::damaged(
                &self.path,
                self.written,
                format!("an event at {time} comes too late"),
            ));
        }
        let mut record = std::mem::take(&mut self.scratch);
        record.clear();
        if self.time != Some(time) {
            put_time(&mut record, time);
        }
        body(&mut record, kind, attributes);
        let place = self.written + self.buffer.len() as u64;
        // A chunk is never left full: its last byte may stay empty.
        let left = EVENT_CHUNK - place % EVENT_CHUNK;
        if record.len() as u64 + END.len() as u64 > left {
            self.close_chunk(left)?;
            record.clear();
            put_time(&mut record, time);
            body(&mut record, kind, attributes);
        }
        self.buffer.extend_from_slice(&record);
        self.scratch = record;
        self.time = Some(time);
        self.events += 1;
        if self.buffer.len() >= BUFFER {
            self.flush()?;
        }
        Ok(())
    }

    /// Number of events so far.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Ends the file; returns the number of events.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self) -> Result<u64> {
        self.buffer.extend_from_slice(&END);
        self.flush()?;
        self.correct_head(self.written - 1)?;
        Ok(self.events)
    }

    fn close_chunk(&mut self, left: u64) -> Result<()> {
        self.buffer.resize(self.buffer.len() + left as usize, 0);
        self.flush()?;
        self.correct_head(self.written - 1)?;
        self.first = self.events + 1;
        self.buffer.extend_from_slice(&head(self.first, 0));
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let reported = |e| Error::file(&self.path, e);
        let mut file = OpenOptions::new().append(true).open(&self.path).map_err(reported)?;
        file.write_all(&self.buffer).map_err(reported)?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Writes the numbers of its events into the head of the chunk that a place is in.
    fn correct_head(&self, place: u64) -> Result<()> {
        let reported = |e| Error::file(&self.path, e);
        let mut file = OpenOptions::new().write(true).open(&self.path).map_err(reported)?;
        file.seek(SeekFrom::Start(place / EVENT_CHUNK * EVENT_CHUNK)).map_err(reported)?;
        file.write_all(&head(self.first, self.events)).map_err(reported)
    }
}

fn put_time(out: &mut Vec<u8>, time: u64) {
    out.push(5);
    out.extend_from_slice(&time.to_le_bytes());
}

fn body(out: &mut Vec<u8>, kind: &EventKind, attributes: &[(u32, u64)]) {
    let mut b = Vec::with_capacity(48);
    if !attributes.is_empty() {
        put_number(&mut b, attributes.len() as u64);
        for &(attribute, value) in attributes {
            put_number(&mut b, attribute.into());
            // An unsigned integer of 64 bits.
            b.push(4);
            put_number(&mut b, value);
        }
        put_record(out, 6, &b);
        b.clear();
    }
    // What consists of one number has no length of its own.
    let alone = match *kind {
        EventKind::Enter { region } => Some((0x0c, region.into())),
        EventKind::Leave { region } => Some((0x0d, region.into())),
        EventKind::IsendComplete { request } => Some((0x10, request)),
        EventKind::IrecvRequest { request } => Some((0x11, request)),
        EventKind::Cancelled { request } => Some((0x15, request)),
        _ => None,
    };
    if let Some((kind, number)) = alone {
        out.push(kind);
        return put_number(out, number);
    }
    let mut numbers = |all: &[u64]| all.iter().for_each(|&n| put_number(&mut b, n));
    let kind = match *kind {
        EventKind::Send { receiver, comm, tag, bytes } => {
            numbers(&[receiver.into(), comm.into(), tag.into(), bytes]);
            0x0e
        }
        EventKind::Isend { receiver, comm, tag, bytes, request } => {
            numbers(&[receiver.into(), comm.into(), tag.into(), bytes, request]);
            0x0f
        }
        EventKind::Recv { sender, comm, tag, bytes } => {
            numbers(&[sender.into(), comm.into(), tag.into(), bytes]);
            0x12
        }
        EventKind::Irecv { sender, comm, tag, bytes, request } => {
            numbers(&[sender.into(), comm.into(), tag.into(), bytes, request]);
            0x13
        }
        EventKind::CollectiveBegin => 0x16,
        EventKind::CollectiveEnd { operation, comm, root, sent, received } => {
            put_collective(&mut b, operation, comm, root, &[sent, received]);
            0x17
        }
        EventKind::CollectiveRequest { request } => {
            numbers(&[request]);
            0x55
        }
        EventKind::CollectiveComplete { operation, comm, root, sent, received, request } => {
            put_collective(&mut b, operation, comm, root, &[sent, received, request]);
            0x56
        }
        EventKind::Other(kind) => kind,
        ref of_windows => match one_sided(&mut b, of_windows) {
            Some(kind) => kind,
            None => return,
        },
    };
    put_record(out, kind, &b);
}

/// Writes what has to do with windows; nothing of others.
fn one_sided(b: &mut Vec<u8>, kind: &EventKind) -> Option<u8> {
    fn numbers(b: &mut Vec<u8>, all: &[u64]) {
        all.iter().for_each(|&n| put_number(b, n));
    }
    fn of(b: &mut Vec<u8>, record: u8, win: u32, more: &[u64]) -> u8 {
        put_number(b, win.into());
        numbers(b, more);
        record
    }
    fn locked(b: &mut Vec<u8>, record: u8, [win, remote]: [u32; 2], lock: u64, kind: u8) -> u8 {
        of(b, record, win, &[remote.into(), lock]);
        b.push(kind);
        record
    }
    let record = match *kind {
        EventKind::RmaWinCreate { win } => of(b, 35, win, &[]),
        EventKind::RmaWinDestroy { win } => of(b, 36, win, &[]),
        EventKind::RmaCollectiveBegin => 37,
        EventKind::RmaCollectiveEnd { operation, sync, win, root, sent, received } => {
            b.push(operation);
            numbers(b, &[sync.into(), win.into()]);
            put_reference(b, (root != u32::MAX).then_some(root));
            numbers(b, &[sent, received]);
            38
        }
        EventKind::RmaGroupSync { sync, win, group } => {
            numbers(b, &[sync.into(), win.into(), group.into()]);
            39
        }
        EventKind::RmaRequestLock { win, remote, lock, kind } => locked(b, 40, [win, remote], lock, kind),
        EventKind::RmaAcquireLock { win, remote, lock, kind } => locked(b, 41, [win, remote], lock, kind),
        EventKind::RmaTryLock { win, remote, lock, kind } => locked(b, 42, [win, remote], lock, kind),
        EventKind::RmaReleaseLock { win, remote, lock } => of(b, 43, win, &[remote.into(), lock]),
        EventKind::RmaSync { win, remote, kind } => {
            of(b, 44, win, &[remote.into()]);
            b.push(kind);
            44
        }
        EventKind::RmaWaitChange { win } => of(b, 45, win, &[]),
        EventKind::RmaPut { win, remote, bytes, id } => of(b, 46, win, &[remote.into(), bytes, id]),
        EventKind::RmaGet { win, remote, bytes, id } => of(b, 47, win, &[remote.into(), bytes, id]),
        EventKind::RmaAtomic { win, remote, kind, sent, received, id } => {
            of(b, 48, win, &[remote.into()]);
            b.push(kind);
            numbers(b, &[sent, received, id]);
            48
        }
        EventKind::RmaCompleteBlocking { win, id } => of(b, 49, win, &[id]),
        EventKind::RmaCompleteNonBlocking { win, id } => of(b, 50, win, &[id]),
        EventKind::RmaTest { win, id } => of(b, 51, win, &[id]),
        EventKind::RmaCompleteRemote { win, id } => of(b, 52, win, &[id]),
        _ => return None,
    };
    Some(record)
}

fn put_collective(out: &mut Vec<u8>, operation: u8, comm: u32, root: u32, numbers: &[u64]) {
    out.push(operation);
    put_number(out, comm.into());
    put_reference(out, (root != u32::MAX).then_some(root));
    numbers.iter().for_each(|&n| put_number(out, n));
}
