//! Writing an archive: definitions, and events location by location in any interleaving.
//!
//! Each location keeps a small buffer; when it is full it is appended to the location's file, which is open only for that. When a chunk is full, it is
//! padded and its head, which counts its events, is corrected.

use crate::{
    Anchor, Error, Result,
    bytes::{put_number, put_record, put_reference},
    definitions::Definitions,
    events::EventKind,
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

    /// Ends the archive with its definitions. Numbers of events in them must be what the locations wrote.
    ///
    /// # Errors
    /// If files cannot be written, or a definition exceeds a chunk.
    pub fn finish(self, definitions: &Definitions) -> Result<()> {
        let records = definitions.records();
        let path = self.directory.join("traces.def");
        let mut bytes = head(1, 0).to_vec();
        for record in &records {
            let room = DEFINITION_CHUNK - bytes.len() as u64 % DEFINITION_CHUNK;
            if record.len() as u64 + END.len() as u64 > room {
                bytes.resize(bytes.len() + room as usize, 0);
                bytes.extend_from_slice(&head(1, 0));
            }
            if record.len() as u64 > DEFINITION_CHUNK - 64 {
                return Err(Error::damaged(&path, bytes.len() as u64, "a definition exceeds a chunk"));
            }
            bytes.extend_from_slice(record);
        }
        bytes.extend_from_slice(&END);
        fs::write(&path, bytes).map_err(|e| Error::file(&path, e))?;
        let locations = definitions.locations.len() as u64;
        let chunks = (EVENT_CHUNK, DEFINITION_CHUNK);
        let anchor = Anchor::new(chunks, locations, records.len() as u64, &self.creator, 1);
        let path = self.directory.join("traces.otf2");
        fs::write(&path, anchor.bytes()).map_err(|e| Error::file(&path, e))
    }
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
            put_collective(&mut b, operation, (comm, root), &[sent, received]);
            0x17
        }
        EventKind::CollectiveRequest { request } => {
            numbers(&[request]);
            0x55
        }
        EventKind::CollectiveComplete { operation, comm, root, sent, received, request } => {
            put_collective(&mut b, operation, (comm, root), &[sent, received, request]);
            0x56
        }
        EventKind::Other(kind) => kind,
        _ => return,
    };
    put_record(out, kind, &b);
}

fn put_collective(out: &mut Vec<u8>, operation: u8, (comm, root): (u32, u32), numbers: &[u64]) {
    out.push(operation);
    put_number(out, comm.into());
    put_reference(out, (root != u32::MAX).then_some(root));
    numbers.iter().for_each(|&n| put_number(out, n));
}
