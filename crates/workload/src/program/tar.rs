//! Archives of files as tar writes them, packed or not: of each file the name and where it is. Nothing is unpacked under a name from the archive.
//!
//! An archive that is not packed is read where it lies. A packed one cannot be read from the middle: its files go one after the other into a file
//! without a name in the directory for temporary files, which vanishes with the process. So an archive takes one open file and memory for its names.
//!
//! The forms are those of 1979, ustar, pax and GNU. Whatever could stand for another file, or for a file of another size than it has, is refused: links,
//! devices, holes, names that lead elsewhere, names that occur twice. A library for tar would read extended headers into memory without a bound, and most
//! of it unpacks; what is needed is the two pages here.

use super::packed::{is_packed, unpack};
use header::{BLOCK, Extended, Header, text};
use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write},
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

mod header;
#[cfg(test)]
pub(super) mod tests;

/// Bytes behind the end of an archive that are looked at: archivers fill up to 10 KiB with zeros, tapes more.
const BEHIND: u64 = 1 << 20;

/// What an archive may have at most.
#[derive(Clone, Copy)]
struct Limits {
    files: usize,
    /// Bytes of all names.
    names: usize,
    /// Bytes of one name.
    name: usize,
    /// Bytes of an extended header.
    header: u64,
    /// Bytes of all files, if the archive is packed.
    unpacked: u64,
}

const LIMITS: Limits =
    Limits { files: 1 << 20, names: 1 << 26, name: 1 << 12, header: 1 << 20, unpacked: 1 << 34 };

/// True if this begins like an archive.
pub(super) fn begins(head: &[u8]) -> bool {
    let Some(block) = head.first_chunk::<BLOCK>() else { return false };
    let header = Header(block);
    !header.is_end() && (header.is_marked() || header.is_sound())
}

/// An archive whose headers are read: where each of its files is.
#[derive(Debug)]
pub(super) struct Tar {
    archive: String,
    file: Mutex<File>,
    /// By their names.
    members: Vec<Member>,
}

/// A file of an archive.
#[derive(Debug)]
struct Member {
    name: Box<str>,
    /// Its first byte in the file that holds it.
    at: u64,
    len: u64,
}

impl Tar {
    /// Reads the headers of an archive.
    ///
    /// # Errors
    /// What is wrong with it: it is damaged, or holds what is not read.
    pub(super) fn open(path: &Path) -> Result<Self, String> {
        Self::within(path, LIMITS)
    }

    fn within(path: &Path, limits: Limits) -> Result<Self, String> {
        let mut reading = Reading::begin(path, limits).map_err(|e| unreadable(&e))?;
        let mut members = reading.members()?;
        members.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        if let Some(two) = members.windows(2).find(|two| two[0].name == two[1].name) {
            return Err(format!("the archive holds `{}` twice", two[0].name));
        }
        let file = match reading.from {
            From::Plain(file, _) => file.into_inner(),
            From::Packed(_, spool) => spool,
        };
        Ok(Self { archive: path.display().to_string(), file: Mutex::new(file), members })
    }

    /// Name of the archive.
    pub(super) fn archive(&self) -> &str {
        &self.archive
    }

    /// Names of its files, ascending.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|member| &*member.name)
    }

    /// Name of a file.
    pub(super) fn name(&self, number: usize) -> &str {
        &self.members[number].name
    }

    /// The number of a file by its name.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.members.binary_search_by(|member| (*member.name).cmp(name)).ok()
    }

    /// Bytes of a file.
    pub(super) fn len(&self, number: usize) -> u64 {
        self.members[number].len
    }

    /// Reads bytes of a file from some byte on; none at its end.
    pub(super) fn read_at(&self, number: usize, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let member = &self.members[number];
        let left = member.len.saturating_sub(at).min(buffer.len() as u64) as usize;
        if left == 0 {
            return Ok(0);
        }
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(member.at + at))?;
        match file.read(&mut buffer[..left])? {
            0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the archive became shorter")),
            read => Ok(read),
        }
    }
}

fn unreadable(error: &io::Error) -> String {
    format!("cannot be read: {error}")
}

/// Where an archive comes from.
enum From {
    /// The file, and its bytes.
    Plain(BufReader<File>, u64),
    /// What is unpacked, and where files are kept.
    Packed(Box<dyn BufRead + Send>, File),
}

/// Reads an archive from front to back.
struct Reading {
    from: From,
    limits: Limits,
    /// Bytes that were read, unpacked.
    at: u64,
    /// Bytes that were kept of a packed archive.
    kept: u64,
}

impl Reading {
    fn begin(path: &Path, limits: Limits) -> io::Result<Self> {
        let mut file = BufReader::new(base::input::open(path)?);
        let from = if is_packed(file.fill_buf()?) {
            From::Packed(unpack(Box::new(file))?, nameless()?)
        } else {
            let len = file.get_ref().metadata()?.len();
            From::Plain(file, len)
        };
        Ok(Self { from, limits, at: 0, kept: 0 })
    }

    fn reader(&mut self) -> &mut dyn BufRead {
        match &mut self.from {
            From::Plain(file, _) => file,
            From::Packed(unpacked, _) => unpacked,
        }
    }

    /// Passes bytes over; false if there are not so many.
    fn skip(&mut self, bytes: u64) -> io::Result<bool> {
        let end = self.at.saturating_add(bytes);
        let whole = match &mut self.from {
            From::Plain(file, len) => {
                let within = end <= *len;
                if within {
                    file.seek_relative(bytes as i64)?;
                }
                within
            }
            From::Packed(unpacked, _) => io::copy(&mut unpacked.take(bytes), &mut io::sink())? == bytes,
        };
        self.at = end;
        Ok(whole)
    }

    /// Passes over what fills up the last block.
    fn pad(&mut self, bytes: u64) -> io::Result<bool> {
        self.skip(bytes.next_multiple_of(BLOCK as u64) - bytes)
    }

    /// The next block; none if the archive ends.
    fn block(&mut self) -> io::Result<Option<[u8; BLOCK]>> {
        let mut block = [0; BLOCK];
        match self.reader().read_exact(&mut block) {
            Ok(()) => {
                self.at += BLOCK as u64;
                Ok(Some(block))
            }
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// The bytes of an extended header.
    fn extension(&mut self, size: u64) -> Result<Vec<u8>, String> {
        if size > self.limits.header {
            return Err(format!("byte {}: a header of {size} bytes is longer than any", self.at));
        }
        let mut bytes = Vec::new();
        self.reader().take(size).read_to_end(&mut bytes).map_err(|e| unreadable(&e))?;
        self.at += bytes.len() as u64;
        if bytes.len() as u64 == size && self.pad(size).map_err(|e| unreadable(&e))? {
            Ok(bytes)
        } else {
            Err(CUT.to_owned())
        }
    }

    /// Where a file of so many bytes is; none if the archive ends within it.
    fn keep(&mut self, size: u64) -> Result<Option<u64>, String> {
        let (begin, limit) = (self.at, self.limits.unpacked);
        let whole = match &mut self.from {
            From::Plain(..) => {
                return self.skip(size).map_err(|e| unreadable(&e)).map(|whole| whole.then_some(begin));
            }
            From::Packed(unpacked, spool) => {
                if size > limit - self.kept {
                    return Err(format!("the packed archive holds more than {} GiB: unpack it", limit >> 30));
                }
                let mut from = unpacked.take(size);
                let full = |e: &io::Error| {
                    format!("cannot be read, or not be unpacked to {}: {e}", std::env::temp_dir().display())
                };
                io::copy(&mut from, spool).and_then(|n| spool.flush().map(|()| n)).map_err(|e| full(&e))?
                    == size
            }
        };
        let place = self.kept;
        (self.at, self.kept) = (begin + size, place + size);
        Ok(whole.then_some(place))
    }

    /// All files, in their order.
    fn members(&mut self) -> Result<Vec<Member>, String> {
        let (mut members, mut names) = (Vec::new(), 0);
        let mut extended = Extended::default();
        loop {
            let at = self.at;
            let block = self.block().map_err(|e| unreadable(&e))?.ok_or(CUT)?;
            let header = Header(&block);
            if header.is_end() {
                if extended != Extended::default() {
                    return Err(format!("byte {at}: an extended header has no file behind it"));
                }
                break;
            }
            let size = header.size().filter(|_| header.is_sound());
            let size = size.ok_or_else(|| format!("byte {at}: this is no header of a file in an archive"))?;
            if self.extends(header.kind(), size, &mut extended)? {
                continue;
            }
            let said = std::mem::take(&mut extended);
            let size = said.size.unwrap_or(size);
            let name = name(said.name.unwrap_or_else(|| header.name()), self.limits.name)?;
            if let Some(what) = refused(header.kind(), said.sparse) {
                return Err(format!(
                    "the archive's `{name}` is {what}, which is not read: pack the files themselves"
                ));
            }
            // The form of 1979 knows folders by their names.
            if header.kind() == b'5' || name.ends_with('/') {
                continue;
            }
            if name.is_empty() {
                return Err(format!("byte {at}: a file has no name"));
            }
            names += name.len();
            if members.len() == self.limits.files || names > self.limits.names {
                return Err("the archive holds more files than a trace has".to_owned());
            }
            let whole = self.keep(size)?;
            let at = whole.filter(|_| self.pad(size).unwrap_or(false)).ok_or_else(|| {
                format!("the archive ends within `{name}`, which is said to have {size} bytes")
            })?;
            members.push(Member { name: name.into(), at, len: size });
        }
        self.nothing_behind()?;
        Ok(members)
    }

    /// Reads what is no file but says more of the one behind it; false if it is a file.
    fn extends(&mut self, kind: u8, size: u64, extended: &mut Extended) -> Result<bool, String> {
        if !matches!(kind, b'x' | b'g' | b'L' | b'K') {
            return Ok(false);
        }
        let at = self.at;
        let bytes = self.extension(size)?;
        match kind {
            b'L' => extended.name = Some(text(&bytes).to_vec()),
            // The target of a link, which is refused.
            b'K' => {}
            _ => {
                let read = Extended::read(&bytes)
                    .ok_or_else(|| format!("byte {at}: the records of an extended header are damaged"))?;
                if kind == b'x' {
                    *extended = read;
                } else if read != Extended::default() {
                    return Err(format!("byte {at}: a header for all files gives them one name or size"));
                }
            }
        }
        Ok(true)
    }

    /// Only zeros may follow the end: not another archive, whose files nobody would see.
    fn nothing_behind(&mut self) -> Result<(), String> {
        let mut behind = Vec::new();
        self.reader().take(BEHIND).read_to_end(&mut behind).map_err(|e| unreadable(&e))?;
        match behind.iter().position(|&byte| byte != 0) {
            None => Ok(()),
            Some(n) => Err(format!("byte {}: something follows the end of the archive", self.at + n as u64)),
        }
    }
}

const CUT: &str = "the archive is cut off: its end is missing";

/// What is not read; none for plain files and folders.
fn refused(kind: u8, sparse: bool) -> Option<&'static str> {
    match kind {
        b'0' | 0 | b'7' if sparse => Some("stored with holes"),
        b'0' | 0 | b'7' | b'5' => None,
        b'1' => Some("a hard link"),
        b'2' => Some("a symbolic link"),
        b'3' | b'4' => Some("a device"),
        b'6' => Some("a FIFO"),
        b'S' => Some("stored with holes"),
        b'M' | b'V' => Some("part of an archive of several volumes"),
        _ => Some("of an unknown type"),
    }
}

/// A name that leads nowhere but into the archive, without `.`; that of a folder may end with a slash or be empty.
fn name(bytes: Vec<u8>, longest: usize) -> Result<String, String> {
    let shown: String =
        String::from_utf8_lossy(&bytes).chars().take(100).flat_map(char::escape_debug).collect();
    let refused = |what: &str| Err(format!("the archive's name `{shown}` {what}"));
    let Ok(name) = String::from_utf8(bytes) else { return refused("is no text in UTF-8") };
    if name.len() > longest {
        return refused("is longer than any");
    }
    if name.chars().any(char::is_control) {
        return refused("has control characters");
    }
    if name.starts_with('/') {
        return refused("begins at the root of the file system");
    }
    if name.split('/').any(|part| part == "..") {
        return refused("leads out of its folder");
    }
    let parts: Vec<&str> = name.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let slash = if name.ends_with('/') && !parts.is_empty() { "/" } else { "" };
    Ok(parts.join("/") + slash)
}

/// A file without a name in the directory for temporary files: nobody else can open it, and it vanishes when it is closed.
fn nameless() -> io::Result<File> {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let folder = std::env::temp_dir();
    loop {
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("netloom-tar-{}-{number}", std::process::id()));
        let mut options = File::options();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(&path) {
            Ok(file) => return fs::remove_file(&path).map(|()| file),
            // Another process of this number may have left it.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => {
                return Err(io::Error::new(
                    e.kind(),
                    format!("cannot unpack it to {}: {e}", folder.display()),
                ));
            }
        }
    }
}
