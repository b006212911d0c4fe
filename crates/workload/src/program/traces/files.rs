//! Files of a trace: one for each rank, or one in which every line begins with its rank.

use super::words::wrong;
use crate::program::{
    Damage,
    input::{Input, Lines},
    packed::{self, unpack},
    place::Place,
};
use base::{
    index::RankId,
    param::{Built, Problem},
    sorted::SortedMap,
};
use std::{
    io::{self, BufRead, Read},
    path::PathBuf,
    sync::Arc,
};

/// Longest line of a trace: one with a count for each of a million ranks.
const MAX_LINE: u64 = 1 << 24;

/// Bytes after which the lines of a rank make a new block.
const BLOCK: u32 = 1 << 16;

/// Most bytes of a packed file of all ranks, unpacked: it is held in memory, since it cannot be read from the middle.
const MAX_HELD: u64 = 1 << 30;

/// Most lines of a list, and of them empty ones before its first name: a small packed file may hold any number of them.
const MAX_LINES: u64 = 1 << 24;
const MAX_EMPTY: u64 = 1 << 10;

/// Reads a file from its start, unpacked.
///
/// # Errors
/// If it is missing or unreadable.
pub(super) fn open(file: &Place) -> io::Result<Box<dyn BufRead + Send>> {
    unpack(file.open_at(0)?)
}

/// Reads a file from some byte on, counted unpacked.
///
/// # Errors
/// If it is missing or unreadable.
pub(super) fn open_at(file: &Place, at: u64) -> io::Result<Box<dyn BufRead + Send>> {
    if !is_packed(file)? {
        return file.open_at(at);
    }
    let mut reader = open(file)?;
    io::copy(&mut reader.by_ref().take(at), &mut io::sink())?;
    Ok(reader)
}

/// True if a file is packed.
///
/// # Errors
/// If it is missing or unreadable.
pub(super) fn is_packed(file: &Place) -> io::Result<bool> {
    file.head(4).map(|head| packed::is_packed(&head))
}

/// The names in a list of files.
pub(in crate::program) struct Listed {
    /// The files that they stand for.
    pub(in crate::program) paths: Vec<Place>,
}

/// Reads a list of files: one name a line. It is one if the first name is that of a file, seen from the list's folder, from the one above
/// that, or from the working directory (the root of an archive); the others are then seen from there.
///
/// # Errors
/// If the list cannot be read, or a file of it is missing.
pub(in crate::program) fn listed(input: &Input<'_>) -> Result<Option<Listed>, Problem> {
    if input.is_alone() {
        return Ok(None);
    }
    let place = input.place();
    let folder = place.folder();
    let mut lines = Lines::new(input).map_err(|e| input.unreadable(&e))?;
    let mut roots = vec![folder.to_owned(), folder.join(".."), PathBuf::new()];
    let mut paths = Vec::new();
    loop {
        let line = match lines.next_line() {
            Ok(Some((number, line))) => (number, std::str::from_utf8(line).map(str::trim)),
            Ok(None) => break,
            // What is no text is no list.
            Err(_) if paths.is_empty() => return Ok(None),
            Err(e) => return Err(input.unreadable(&e)),
        };
        let (number, name) = match line {
            (number, _) if number > MAX_LINES => {
                return Err(input.problem(format!("a list of files has at most {MAX_LINES} lines")));
            }
            (MAX_EMPTY.., Ok("")) if paths.is_empty() => return Ok(None),
            (_, Ok("")) => continue,
            (number, Ok(name)) => (number, name),
            (_, Err(_)) => return Ok(None),
        };
        let seen = |root: &PathBuf| place.other(&root.join(name));
        match roots.iter().enumerate().find_map(|(n, root)| Some((n, seen(root)?))) {
            Some((root, file)) => {
                if paths.is_empty() {
                    roots = vec![roots.swap_remove(root)];
                }
                paths.push(file);
            }
            None if paths.is_empty() => return Ok(None),
            None => return Err(input.problem(format!("line {number}: the file `{name}` is missing"))),
        }
    }
    Ok((!paths.is_empty()).then_some(Listed { paths }))
}

/// Where the lines of ranks stand.
pub(super) enum Ranks {
    /// A file for each.
    Each(Vec<Place>),
    /// One for all.
    All(Whole),
}

/// A file of all ranks.
pub(super) struct Whole {
    name: String,
    held: Held,
    /// Of each rank, in the order of the file.
    blocks: Vec<Vec<Block>>,
}

/// The bytes of a file.
enum Held {
    File(Place),
    Bytes(Vec<u8>),
}

/// Lines of one rank that stand together, and what lies between them.
#[derive(Clone, Copy, Debug)]
struct Block {
    start: u64,
    len: u32,
    /// Number of its first line.
    line: u32,
}

impl Ranks {
    /// Files of ranks, in their order.
    ///
    /// # Errors
    /// If one cannot be opened.
    pub(super) fn each(input: &Input<'_>, paths: Vec<Place>) -> Built<Self> {
        for path in &paths {
            if let Err(e) = open(path) {
                let message = format!("the file of a rank, `{path}`, cannot be read: {e}");
                return Err(vec![input.problem(message)]);
            }
        }
        Ok(Self::Each(paths))
    }

    /// A file of all ranks, which is read once to find them; `see` is shown each line.
    ///
    /// # Errors
    /// If it cannot be read, a line does not begin with a rank, or a rank has no line.
    pub(super) fn all(input: &Input<'_>, mut see: impl FnMut(&str)) -> Built<Self> {
        let refused = |message: String| vec![input.problem(message)];
        let mut blocks: SortedMap<u32, Vec<Block>> = SortedMap::new();
        let (mut at, mut number, mut rank_before) = (0u64, 0u32, None);
        let held = hold(input).map_err(|e| vec![input.unreadable(&e)])?;
        let mut reader = input.open().map_err(|e| vec![input.unreadable(&e)])?;
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = reader.by_ref().take(MAX_LINE + 1).read_until(b'\n', &mut line);
            let read = read.map_err(|e| vec![input.unreadable(&e)])?;
            if read == 0 {
                break;
            }
            number = number.saturating_add(1);
            if read as u64 > MAX_LINE {
                return Err(refused(format!(
                    "line {number} is longer than {MAX_LINE} bytes: this is no text"
                )));
            }
            let text =
                std::str::from_utf8(&line).map_err(|_| refused(format!("line {number} is no text")))?;
            see(text);
            let first = text.split_ascii_whitespace().next().filter(|word| !word.starts_with('#'));
            let rank = match (first, rank_before) {
                (Some(word), _) => word.parse().map(Some).map_err(|_| {
                    refused(format!(
                        "line {number} does not begin with the number of a rank, but with `{word}`"
                    ))
                })?,
                (None, before) => before,
            };
            if let Some(rank) = rank {
                let list = blocks.entry(rank).or_default();
                match list.last_mut().filter(|last| rank_before == Some(rank) && last.len < BLOCK) {
                    Some(last) => last.len += read as u32,
                    None => list.push(Block { start: at, len: read as u32, line: number }),
                }
            }
            (rank_before, at) = (rank, at + read as u64);
        }
        if let Some((expected, _)) = blocks.keys().enumerate().find(|&(n, &rank)| n as u32 != rank) {
            return Err(refused(format!("rank {expected} has no line, but a later one has")));
        }
        if blocks.is_empty() {
            return Err(refused("there is no line of any rank".to_owned()));
        }
        let name = input.name().to_owned();
        Ok(Self::All(Whole { name, held, blocks: blocks.into_values().collect() }))
    }

    /// How many ranks there are.
    pub(super) fn len(&self) -> u32 {
        match self {
            Self::Each(paths) => paths.len() as u32,
            Self::All(whole) => whole.blocks.len() as u32,
        }
    }

    /// Name of the file of a rank.
    pub(super) fn name(&self, rank: RankId) -> String {
        match self {
            Self::Each(paths) => paths[rank.index()].to_string(),
            Self::All(whole) => whole.name.clone(),
        }
    }
}

/// Where a file is that is read at many places, or what it holds if it is packed.
fn hold(input: &Input<'_>) -> io::Result<Held> {
    if let Some(file) = input.plain()? {
        return Ok(Held::File(file.clone()));
    }
    let mut bytes = Vec::new();
    input.open()?.take(MAX_HELD + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_HELD {
        let message = "a packed file of all ranks has more than 1 GiB: unpack it, or give each rank a file";
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    Ok(Held::Bytes(bytes))
}

/// Reads the lines of one rank.
pub(super) struct RankLines {
    ranks: Arc<Ranks>,
    rank: RankId,
    state: State,
}

enum State {
    /// Before the first line.
    Closed,
    Lines(Lines<'static>),
    Blocks(Within),
}

/// A place within the blocks of a rank.
#[derive(Default)]
struct Within {
    /// Number of the next block.
    next: usize,
    bytes: Vec<u8>,
    /// Bytes of the block that are read.
    at: usize,
    line: u64,
}

impl RankLines {
    pub(super) fn new(ranks: &Arc<Ranks>, rank: RankId) -> Self {
        Self { ranks: Arc::clone(ranks), rank, state: State::Closed }
    }

    /// The number and text of the next line; `None` at the end.
    pub(super) fn next_line(&mut self) -> Result<Option<(u64, &str)>, Damage> {
        let Self { ranks, rank, state } = self;
        let name = || ranks.name(*rank);
        let unreadable = |e: io::Error| Damage(format!("{}: cannot be read: {e}", name()));
        if let State::Closed = state {
            *state = match &**ranks {
                Ranks::Each(paths) => {
                    State::Lines(Lines::of(open(&paths[rank.index()]).map_err(unreadable)?, MAX_LINE))
                }
                Ranks::All(_) => State::Blocks(Within::default()),
            };
        }
        let line = match (state, &**ranks) {
            (State::Lines(lines), _) => lines.next_line().map_err(unreadable)?,
            (State::Blocks(within), Ranks::All(whole)) => {
                within.next_line(whole, &whole.blocks[rank.index()]).map_err(unreadable)?
            }
            _ => None,
        };
        let Some((number, line)) = line else { return Ok(None) };
        match std::str::from_utf8(line) {
            Ok(text) => Ok(Some((number, text))),
            Err(_) => Err(wrong(&name(), number, "this is no text")),
        }
    }
}

impl Within {
    fn next_line(&mut self, whole: &Whole, blocks: &[Block]) -> io::Result<Option<(u64, &[u8])>> {
        while self.at >= self.bytes.len() {
            let Some(block) = blocks.get(self.next) else { return Ok(None) };
            self.next += 1;
            self.bytes.resize(block.len as usize, 0);
            match &whole.held {
                Held::File(file) => file.read_exact_at(block.start, &mut self.bytes)?,
                Held::Bytes(bytes) => {
                    let start = block.start as usize;
                    self.bytes.copy_from_slice(&bytes[start..start + block.len as usize]);
                }
            }
            (self.at, self.line) = (0, u64::from(block.line));
        }
        let rest = &self.bytes[self.at..];
        let len = rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
        self.at += len + 1;
        self.line += 1;
        Ok(Some((self.line - 1, &rest[..len])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(ranks: &Arc<Ranks>, rank: u32) -> Vec<(u64, String)> {
        let mut reader = RankLines::new(ranks, RankId::new(rank));
        std::iter::from_fn(|| reader.next_line().unwrap().map(|(n, text)| (n, text.to_owned()))).collect()
    }

    #[test]
    fn ranks_of_one_file_are_read_apart() {
        let text = "# all\n0 a\n\n1 b\n0 c\n0 d\n2 e";
        let ranks = Arc::new(Ranks::all(&Input::bytes("x", text.as_bytes()), |_| ()).unwrap());
        assert_eq!(ranks.len(), 3);
        let owned = |all: &[(u64, &str)]| -> Vec<(u64, String)> {
            all.iter().map(|&(n, text)| (n, text.to_owned())).collect()
        };
        assert_eq!(lines(&ranks, 0), owned(&[(2, "0 a"), (3, ""), (5, "0 c"), (6, "0 d")]));
        assert_eq!(lines(&ranks, 1), owned(&[(4, "1 b")]));
        assert_eq!(lines(&ranks, 2), owned(&[(7, "2 e")]));
        for (bad, part) in [("0 a\n2 b", "rank 1 has no line"), ("0 a\nx b", "line 2"), ("", "no line")] {
            let refused = Ranks::all(&Input::bytes("x", bad.as_bytes()), |_| ()).err().unwrap();
            assert!(refused[0].message.contains(part), "{}", refused[0].message);
        }
    }

    #[test]
    fn lists_name_their_files_from_three_places() {
        let folder = std::env::temp_dir().join(format!("netloom-listed-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("sub")).unwrap();
        std::fs::write(folder.join("sub/a0"), "0 init\n0 x\n").unwrap();
        std::fs::write(folder.join("sub/a1"), "1 init\n").unwrap();
        for (list, text) in
            [("list", "sub/a0\n\nsub/a1\n"), ("sub/beside", "a0\na1"), ("sub/above", "sub/a0")]
        {
            std::fs::write(folder.join(list), text).unwrap();
            let listed = listed(&Input::file(folder.join(list))).unwrap().unwrap();
            assert_eq!(std::fs::read(listed.paths[0].path()).unwrap(), b"0 init\n0 x\n");
        }
        let of = |text: &str| {
            std::fs::write(folder.join("list"), text).unwrap();
            listed(&Input::file(folder.join("list"))).map(|l| l.map(|l| l.paths))
        };
        assert!(of("0 init\n").unwrap().is_none());
        assert!(of("sub/a0\nsub/a9\n").unwrap_err().message.contains("line 2: the file `sub/a9` is missing"));
        let paths = of("sub/a0\nsub/a1").unwrap().unwrap();
        let input = Input::file(folder.join("list"));
        let ranks = Arc::new(Ranks::each(&input, paths).unwrap());
        assert_eq!(lines(&ranks, 0).len(), 2);
        assert_eq!(lines(&ranks, 1), [(1, "1 init".to_owned())]);
        assert!(Ranks::each(&input, vec![Place::File(folder.join("none"))]).is_err());
        // A packed file of some kilobytes may hold any number of empty lines.
        let empty = |lines: u64| "\n".repeat(lines as usize);
        assert_eq!(of(&(empty(MAX_EMPTY - 1) + "sub/a0")).unwrap().unwrap().len(), 1);
        assert!(of(&(empty(MAX_EMPTY) + "sub/a0")).unwrap().is_none());
        assert!(of(&("sub/a0".to_owned() + &empty(MAX_LINES + 1))).unwrap_err().message.contains("lines"));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
