//! Archives are written here as an independent archiver would, block by block, and damaged.

use super::*;
use flate2::{Compression, write::GzEncoder};
use std::path::PathBuf;

/// An archive that is being written.
#[derive(Default)]
pub(in crate::program) struct Archive(pub(in crate::program) Vec<u8>);

impl Archive {
    /// Adds a header of ustar with any kind and size, and what follows it.
    fn entry(mut self, name: &[u8], kind: u8, size: &[u8], bytes: &[u8]) -> Self {
        let mut block = [0u8; BLOCK];
        block[..name.len().min(100)].copy_from_slice(&name[..name.len().min(100)]);
        block[100..107].copy_from_slice(b"0000644");
        block[124..124 + size.len()].copy_from_slice(size);
        block[156] = kind;
        block[257..265].copy_from_slice(b"ustar\x0000");
        sum(&mut block);
        self.0.extend(block);
        self.0.extend(bytes);
        self.0.resize(self.0.len().next_multiple_of(BLOCK), 0);
        self
    }

    /// Adds a header of some kind.
    fn kind(self, name: &str, kind: u8, bytes: &[u8]) -> Self {
        self.entry(name.as_bytes(), kind, format!("{:011o}", bytes.len()).as_bytes(), bytes)
    }

    /// Adds a file.
    pub(in crate::program) fn file(self, name: &str, bytes: &[u8]) -> Self {
        self.kind(name, b'0', bytes)
    }

    /// The bytes with the archive's end.
    pub(in crate::program) fn end(mut self) -> Vec<u8> {
        self.0.extend([0; 2 * BLOCK]);
        self.0
    }
}

/// The check sum of a header.
fn sum(block: &mut [u8; BLOCK]) {
    block[148..156].fill(b' ');
    let sum: u32 = block.iter().map(|&byte| u32::from(byte)).sum();
    block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
}

/// A record of an extended header.
fn record(key: &str, value: &str) -> Vec<u8> {
    let rest = format!(" {key}={value}\n");
    let len = (rest.len()..).find(|len| len.to_string().len() + rest.len() == *len).unwrap_or_default();
    format!("{len}{rest}").into_bytes()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

struct Scratch(PathBuf);

impl Scratch {
    fn new(bytes: &[u8]) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("netloom-tar-test-{}-{number}", std::process::id()));
        fs::write(&path, bytes).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Names and bytes of an archive's files, or why it is refused; the same packed and not.
fn read(bytes: &[u8]) -> Result<Vec<(String, Vec<u8>)>, String> {
    let [plain, packed] = [bytes, &gzip(bytes)].map(|bytes| {
        let scratch = Scratch::new(bytes);
        Tar::open(&scratch.0).map(|tar| {
            let file = |number: usize| {
                let (mut all, mut piece) = (Vec::new(), [0; 700]);
                loop {
                    match tar.read_at(number, all.len() as u64, &mut piece).unwrap() {
                        0 => break,
                        read => all.extend(&piece[..read]),
                    }
                }
                (tar.name(number).to_owned(), all)
            };
            (0..tar.names().count()).map(file).collect::<Vec<_>>()
        })
    });
    assert_eq!(plain, packed);
    plain
}

fn pairs(files: &[(&str, &[u8])]) -> Vec<(String, Vec<u8>)> {
    files.iter().map(|&(name, bytes)| (name.to_owned(), bytes.to_vec())).collect()
}

#[test]
fn files_are_found_under_their_names() {
    let long = format!("{}/{}", "d".repeat(120), "n".repeat(130));
    let header = [record("mtime", "1.5"), record("path", &long)].concat();
    let sized = [record("size", "3")].concat();
    let bytes = Archive::default()
        .kind("./", b'5', b"")
        .file("./b", &[7; 1000])
        .kind("pax_global_header", b'g', &record("comment", "of a commit"))
        .file("a", b"")
        .kind("x", b'x', &header)
        .file("cut off", b"long by pax")
        .kind("@LongLink", b'L', format!("gnu/{long}\0").as_bytes())
        .file("cut off", b"long by GNU")
        .kind("x", b'x', &sized)
        .entry(b"c", b'0', b"00000000000", b"abc")
        .entry(b"big", b'0', &[&[0x80][..], &[0; 10], &[2]].concat(), b"xy")
        .kind("folder/", 0, b"")
        .end();
    let gnu = format!("gnu/{long}");
    let mut expected = pairs(&[
        ("a", b""),
        ("b", &[7; 1000]),
        ("big", b"xy"),
        ("c", b"abc"),
        (&long, b"long by pax"),
        (&gnu, b"long by GNU"),
    ]);
    expected.sort();
    assert!(begins(&bytes) && !begins(&bytes[..511]) && !begins(&[0; 512]));
    // Bytes of another file: with a sign, and blanks for the field of the sum, they add up to nothing.
    let mut nothing = [0; 512];
    nothing[..2].fill(0x80);
    assert!(!begins(&nothing));
    assert_eq!(read(&bytes), Ok(expected));
    // The form of 1979 has no mark, and folders of ustar a field of their own.
    let mut old = Archive::default().file("old", b"text").end();
    old[257..265].fill(0);
    sum(old.first_chunk_mut().unwrap());
    assert!(begins(&old));
    assert_eq!(read(&old), Ok(pairs(&[("old", b"text")])));
    let mut split = Archive::default().file("name", b"text").end();
    split[345..348].copy_from_slice(b"e/f");
    sum(split.first_chunk_mut().unwrap());
    assert_eq!(read(&split), Ok(pairs(&[("e/f/name", b"text")])));
}

#[test]
fn what_could_mislead_is_refused_by_name() {
    let one = || Archive::default().file("a", b"text");
    let cases: [(Vec<u8>, &str); 28] = [
        (one().file("../b", b"").end(), "`../b` leads out of its folder"),
        (one().file("c/../../b", b"").end(), "leads out of its folder"),
        (one().file("/etc/passwd", b"").end(), "`/etc/passwd` begins at the root"),
        (one().kind("x", b'x', &record("path", "/b")).file("b", b"").end(), "`/b` begins at the root"),
        (one().kind("b", b'1', b"").end(), "`b` is a hard link"),
        (one().kind("b", b'2', b"").end(), "`b` is a symbolic link"),
        (one().kind("l", b'K', b"target\0").kind("b", b'2', b"").end(), "`b` is a symbolic link"),
        (one().kind("b", b'3', b"").end(), "`b` is a device"),
        (one().kind("b", b'6', b"").end(), "`b` is a FIFO"),
        (one().kind("b", b'S', b"").end(), "`b` is stored with holes"),
        (
            one().kind("x", b'x', &record("GNU.sparse.major", "1")).file("b", b"").end(),
            "`b` is stored with holes",
        ),
        (one().kind("b", b'M', b"").end(), "several volumes"),
        (one().kind("b", b'Z', b"").end(), "`b` is of an unknown type"),
        (one().file("a", b"other").end(), "holds `a` twice"),
        (one().file("./a", b"other").end(), "holds `a` twice"),
        (one().file("b\u{1b}[2J", b"").end(), "`b\\u{1b}[2J` has control characters"),
        (one().entry(b"b\xff", b'0', b"0", b"").end(), "is no text in UTF-8"),
        (one().file("./.", b"x").end(), "byte 1024: a file has no name"),
        (
            one().entry(b"b", b'0', b"00000010000", b"x").end(),
            "ends within `b`, which is said to have 4096 bytes",
        ),
        (one().entry(b"b", b'0', &[0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0], b"x").end(), "`b`"),
        (one().entry(b"b", b'0', b"0000000009x", b"x").end(), "no header of a file"),
        (one().kind("x", b'g', &record("path", "b")).end(), "a header for all files"),
        (one().kind("x", b'x', b"8 path=b\n").end(), "records of an extended header are damaged"),
        (one().entry(b"x", b'L', b"77777777777", b"").end(), "a header of 8589934591 bytes"),
        (one().kind("@LongLink", b'L', &[b'n'; 5000]).file("b", b"").end(), "is longer than any"),
        ([one().end(), one().end()].concat(), "something follows the end of the archive"),
        (one().0, "the archive is cut off: its end is missing"),
        (one().kind("x", b'x', &record("path", "b")).end(), "an extended header has no file behind it"),
    ];
    for (bytes, part) in cases {
        let refused = read(&bytes).unwrap_err();
        assert!(refused.contains(part), "{refused}: {part}");
    }
}

#[test]
fn an_archive_has_limits() {
    let files = (0..40).fold(Archive::default(), |all, n| all.file(&format!("rank-{n}"), b"some text")).end();
    let within = |limits: Limits, packed: bool| {
        let scratch = Scratch::new(&if packed { gzip(&files) } else { files.clone() });
        Tar::within(&scratch.0, limits).map(|tar| tar.names().count())
    };
    assert_eq!(within(Limits { files: 40, unpacked: 360, ..LIMITS }, true), Ok(40));
    for (limits, packed, part) in [
        (Limits { files: 39, ..LIMITS }, false, "more files than a trace has"),
        (Limits { names: 100, ..LIMITS }, false, "more files than a trace has"),
        (Limits { unpacked: 359, ..LIMITS }, true, "unpack it"),
    ] {
        let refused = within(limits, packed).unwrap_err();
        assert!(refused.contains(part), "{refused}");
    }
    // What is not packed takes no room.
    assert_eq!(within(Limits { unpacked: 0, ..LIMITS }, false), Ok(40));
}

/// Every cut, and seeded changes of single bytes: an archive is refused, or holds what it held but for what was changed.
#[test]
fn damaged_archives_are_refused_or_whole() {
    let whole = Archive::default().file("a-0", &[1; 600]).file("a-1", &[2; 3]).end();
    let files = read(&whole).unwrap();
    for len in (0..whole.len()).step_by(37) {
        match read(&whole[..len]) {
            // One block of zeros is an end, too.
            Ok(read) => assert!(len >= whole.len() - BLOCK && read == files, "{len}"),
            Err(why) => assert!(!why.is_empty()),
        }
    }
    // Within headers every byte counts, by the check sum.
    for at in (0..BLOCK).chain(3 * BLOCK..4 * BLOCK) {
        let mut changed = whole.clone();
        changed[at] ^= 0x41;
        match read(&changed) {
            // Blanks and zeros around digits say nothing, nor do those in the sum's own field.
            Ok(read) => assert!((148..156).contains(&(at % BLOCK)) && read == files, "byte {at}"),
            Err(why) => assert!(why.contains("header"), "byte {at}: {why}"),
        }
    }
}
