//! The anchor file: what an archive consists of.

use crate::{
    Error, Result,
    bytes::{Bytes, Order, put_text},
};
use std::{fs, path::Path};

/// Largest anchor file: it holds a page of properties.
const MAX_BYTES: u64 = 16 << 20;

/// Version of the library whose format is written.
const VERSION: [u8; 3] = [3, 0, 0];

/// What the anchor file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// Version of the library that wrote the archive.
    pub version: [u8; 3],
    /// Bytes of a chunk of events.
    pub event_chunk: u64,
    /// Bytes of a chunk of definitions.
    pub definition_chunk: u64,
    /// Number of locations.
    pub locations: u64,
    /// Number of global definitions.
    pub definitions: u64,
    /// Machine, creator, description.
    pub texts: [String; 3],
    /// Properties by name.
    pub properties: Vec<(String, String)>,
    /// Identifier of the trace.
    pub trace: u64,
}

impl Anchor {
    /// True if bytes begin like an anchor file.
    #[must_use]
    pub fn begins(bytes: &[u8]) -> bool {
        bytes.len() >= 6 && bytes[0] == 3 && bytes[2..6] == *b"OTF2"
    }

    pub(crate) fn read(path: &Path) -> Result<Self> {
        let length = fs::metadata(path).map_err(|e| Error::file(path, e))?.len();
        if length > MAX_BYTES {
            return Err(Error::damaged(path, 0, format!("an anchor file of {length} bytes")));
        }
        // A FIFO would keep us for ever.
        if fs::metadata(path).is_ok_and(|m| !m.is_file()) {
            return Err(Error::file(path, std::io::Error::other("it is not a regular file")));
        }
        Self::parse(path, &fs::read(path).map_err(|e| Error::file(path, e))?)
    }

    pub(crate) fn parse(path: &Path, all: &[u8]) -> Result<Self> {
        if !Self::begins(all) {
            return Err(Error::damaged(path, 0, "this is no OTF2 anchor file: it does not begin with OTF2"));
        }
        let Some(order) = Order::of(all[1]) else {
            return Err(Error::damaged(path, 1, "the byte order is neither `B` nor `#`"));
        };
        let mut b = Bytes::new(path, 0, all, order);
        b.take(6)?;
        b.take(3)?;
        let version = [b.u8()?, b.u8()?, b.u8()?];
        let (event_chunk, definition_chunk) = (b.u64()?, b.u64()?);
        for chunk in [event_chunk, definition_chunk] {
            if !(64..=1 << 30).contains(&chunk) {
                return b.wrong(format!("chunks of {chunk} bytes"));
            }
        }
        match b.u8()? {
            1 => {}
            2 => return b.wrong("the archive is in the SION substrate, which is not read here"),
            n => return b.wrong(format!("unknown substrate {n}")),
        }
        if b.u8()? != 1 {
            return b.wrong("the archive is compressed, which is not read here");
        }
        let (locations, definitions) = (b.u64()?, b.u64()?);
        let texts = [b.text()?, b.text()?, b.text()?];
        let count = b.u32()?;
        let mut properties = Vec::new();
        for _ in 0..count {
            properties.push((b.text()?, b.text()?));
        }
        let trace = b.u64()?;
        Ok(Self { version, event_chunk, definition_chunk, locations, definitions, texts, properties, trace })
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = b"\x03BOTF2\x00\x03\x02".to_vec();
        out.extend_from_slice(&self.version);
        out.extend_from_slice(&self.event_chunk.to_le_bytes());
        out.extend_from_slice(&self.definition_chunk.to_le_bytes());
        out.extend_from_slice(&[1, 1]);
        out.extend_from_slice(&self.locations.to_le_bytes());
        out.extend_from_slice(&self.definitions.to_le_bytes());
        self.texts.iter().for_each(|text| put_text(&mut out, text));
        out.extend_from_slice(&(self.properties.len() as u32).to_le_bytes());
        for (name, value) in &self.properties {
            put_text(&mut out, name);
            put_text(&mut out, value);
        }
        out.extend_from_slice(&self.trace.to_le_bytes());
        out.extend_from_slice(&[0; 8]);
        out.extend_from_slice(&[2, 1, 0]);
        out
    }

    /// The anchor of an archive that is written here.
    pub(crate) fn new(
        event_chunk: u64,
        definition_chunk: u64,
        locations: u64,
        definitions: u64,
        creator: &str,
        trace: u64,
    ) -> Self {
        Self {
            version: VERSION,
            event_chunk,
            definition_chunk,
            locations,
            definitions,
            texts: [String::new(), creator.to_owned(), String::new()],
            properties: Vec::new(),
            trace,
        }
    }
}
