//! Reads the text of a routing table, and checks each entry against the fabric.

use crate::graph::{Fabric, Peer};
use base::{
    index::{ChannelId, PortId, RouterId, TerminalId},
    mistakes::{Mistakes, Others},
};

/// Virtual channels that a table may use.
pub(in crate::routing) const MAX_VCS: u32 = 16;

/// An entry: where packets to a destination leave a router. Sorted by destination first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    /// Terminal that packets go to.
    pub(super) destination: TerminalId,
    pub(super) router: RouterId,
    pub(super) port: PortId,
    pub(super) vc: Option<ChannelId>,
}

/// A mistake and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::routing) struct Mistake {
    /// Number of the line, from 1; 0 if the whole file is meant.
    pub(in crate::routing) line: u64,
    /// First byte in the line.
    pub(in crate::routing) start: usize,
    /// One past the last byte.
    pub(in crate::routing) end: usize,
    pub(in crate::routing) message: String,
    /// How many mistakes it stands for.
    pub(in crate::routing) count: usize,
}

impl Mistake {
    /// What is wrong with a word of a line.
    pub(in crate::routing) fn new(line: u64, word: Word<'_>, message: String) -> Self {
        Self { line, start: word.0, end: word.0 + word.1.len(), message, count: 1 }
    }

    /// Those of a file that are counted only.
    pub(in crate::routing) fn others(Others { count, message }: Others) -> Self {
        Self { line: 0, start: 0, end: 0, message, count }
    }
}

/// A word of a line and where it begins.
pub(in crate::routing) type Word<'a> = (usize, &'a str);

/// The entries, sorted by destination and router, each once.
pub(super) fn parse(text: &str, fabric: &Fabric) -> Result<Vec<Entry>, Vec<Mistake>> {
    let (mut entries, mut mistakes) = (Vec::new(), Mistakes::default());
    let mut first: Option<bool> = None;
    for (number, line) in (1u64..).zip(text.lines()) {
        let words = words(line);
        let reported = |(word, message): (Word<'_>, String)| Mistake::new(number, word, message);
        match entry(&words, fabric).and_then(|e| alike(&words, e, &mut first)) {
            Ok(Some(entry)) => entries.push(entry),
            Ok(None) => {}
            Err(mistake) => mistakes.push(reported(mistake)),
        }
    }
    mistakes.done(Mistake::others)?;
    entries.sort_unstable();
    entries.dedup();
    Ok(entries)
}

/// Words of a line up to a comment.
pub(in crate::routing) fn words(line: &str) -> Vec<Word<'_>> {
    let line = line.split('#').next().unwrap_or("");
    let place = |word: &str| word.as_ptr() as usize - line.as_ptr() as usize;
    line.split_ascii_whitespace().map(|word| (place(word), word)).collect()
}

/// All entries give a channel or none does.
fn alike<'a>(
    words: &[Word<'a>],
    entry: Option<Entry>,
    first: &mut Option<bool>,
) -> Result<Option<Entry>, (Word<'a>, String)> {
    let Some(entry) = entry else { return Ok(None) };
    let given = entry.vc.is_some();
    if *first.get_or_insert(given) != given {
        let message = if given {
            "earlier entries give no virtual channel"
        } else {
            "earlier entries give a virtual channel, this one does not"
        };
        return Err((words[words.len() - 1], message.to_owned()));
    }
    Ok(Some(entry))
}

/// The entry of a line; `None` if it is empty.
fn entry<'a>(words: &[Word<'a>], fabric: &Fabric) -> Result<Option<Entry>, (Word<'a>, String)> {
    let Some(&last) = words.last() else { return Ok(None) };
    if !(3..=4).contains(&words.len()) {
        let message =
            format!("an entry is `router destination port [vc]`: 3 or 4 numbers, not {}", words.len());
        return Err((if words.len() > 4 { words[4] } else { last }, message));
    }
    let router = RouterId::new(number(words[0], "router", fabric.routers())?);
    let destination = TerminalId::new(number(words[1], "terminal", fabric.terminals())?);
    let ports = fabric.ports_of(router);
    let port = PortId::new(number(words[2], "port of this router", ports.len() as u32)?);
    match ports[port.index()].peer {
        Peer::Router { .. } => {}
        Peer::Terminal(terminal) if terminal == destination => {}
        Peer::Terminal(terminal) => {
            return Err((words[2], format!("port {port} of router {router} leads to terminal {terminal}")));
        }
        Peer::None => return Err((words[2], format!("port {port} of router {router} has no link"))),
    }
    let vc =
        words.get(3).map(|&word| number(word, "virtual channel", MAX_VCS)).transpose()?.map(|vc| vc as u8);
    Ok(Some(Entry { destination, router, port, vc: vc.map(ChannelId::new) }))
}

/// A number below `count`.
pub(in crate::routing) fn number<'a>(
    word: Word<'a>,
    what: &str,
    count: u32,
) -> Result<u32, (Word<'a>, String)> {
    match word.1.parse() {
        Ok(n) if n < count => Ok(n),
        Ok(_) => {
            Err((word, format!("there is no {what} {}: they are 0 to {}", word.1, i64::from(count) - 1)))
        }
        Err(_) => Err((word, format!("the {what} must be a number, not `{}`", word.1))),
    }
}
