//! Files that are packed by gzip or zstd.

use base::{
    memory::Watched,
    packed::{Bounded, Counted},
};
use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;
use std::io::{self, BufRead, BufReader, Read};

/// First bytes of what gzip packed.
const GZIP: &[u8] = &[0x1f, 0x8b];

/// First bytes of what zstd packed.
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// True if what begins with these bytes is packed.
pub(super) fn is_packed(head: &[u8]) -> bool {
    head.starts_with(GZIP) || head.starts_with(ZSTD)
}

/// Reads on unpacked if what comes begins with the mark of gzip or zstd, else as it is. It fails where the process outgrows its memory, and
/// where much more comes out than [`base::packed`] allows.
///
/// # Errors
/// If the first bytes cannot be read.
pub(super) fn unpack<'a>(mut raw: Box<dyn BufRead + Send + 'a>) -> io::Result<Box<dyn BufRead + Send + 'a>> {
    let head = raw.fill_buf()?;
    if head.starts_with(GZIP) {
        let (raw, taken) = Counted::new(raw);
        let unpacked = Bounded::new(MultiGzDecoder::new(raw), taken, "gzip -d");
        return Ok(Box::new(Watched(BufReader::new(unpacked))));
    }
    if head.starts_with(ZSTD) {
        let (raw, taken) = Counted::new(raw);
        let unpacked = Bounded::new(Frames { raw: Some(Box::new(raw)), frame: None }, taken, "zstd -d");
        return Ok(Box::new(Watched(BufReader::new(unpacked))));
    }
    Ok(Box::new(Watched(raw)))
}

/// Unpacks the frames of zstd one after the other.
struct Frames<'a> {
    /// What is packed, between two frames.
    raw: Option<Packed<'a>>,
    frame: Option<Box<StreamingDecoder<Packed<'a>, ruzstd::decoding::FrameDecoder>>>,
}

type Packed<'a> = Box<dyn BufRead + Send + 'a>;

impl Read for Frames<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let damaged = |e: String| io::Error::new(io::ErrorKind::InvalidData, e);
        loop {
            if let Some(mut frame) = self.frame.take() {
                let read = frame.read(buffer)?;
                if read > 0 || buffer.is_empty() {
                    self.frame = Some(frame);
                    return Ok(read);
                }
                self.raw = Some(frame.into_inner());
            }
            let Some(mut raw) = self.raw.take() else { return Ok(0) };
            if raw.fill_buf()?.is_empty() {
                return Ok(0);
            }
            let frame = StreamingDecoder::new(raw).map_err(|e| damaged(e.to_string()))?;
            self.frame = Some(Box::new(frame));
        }
    }
}
