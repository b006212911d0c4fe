//! The edge list: one statement per line. See [`super::TOPOLOGY`] for its rules.

use super::{
    builder::{Cables, Classes, End, GraphBuilder, LINK, Link, MAX_ROUTERS, apart},
    mistake::{Mistake, Place, done},
};
use base::{mistakes::Mistakes, sorted::SortedSet};

/// A word of a line.
#[derive(Clone, Copy)]
struct Word<'a> {
    text: &'a str,
    place: Place,
}

impl Word<'_> {
    fn number(self) -> Result<u64, Mistake> {
        let digits = !self.text.is_empty() && self.text.bytes().all(|b| b.is_ascii_digit());
        match self.text.parse() {
            Ok(number) if digits => Ok(number),
            _ if digits => Err(self.place.mistake(format!("{} is too large", self.text))),
            _ => Err(self.place.mistake(format!("a number is expected, not `{}`", self.text))),
        }
    }

    /// The number of a router, which is not larger than any may be.
    fn router(self) -> Result<u64, Mistake> {
        match self.number()? {
            n if n < MAX_ROUTERS => Ok(n),
            n => Err(self
                .place
                .mistake(format!("router {n} cannot be: routers are numbered below {MAX_ROUTERS}"))),
        }
    }

    /// N of `xN`.
    fn count(self) -> Option<Result<u64, Mistake>> {
        let digits = self.text.strip_prefix('x').filter(|d| d.starts_with(|c: char| c.is_ascii_digit()))?;
        Some(match digits.parse() {
            Ok(n @ 1..) => Ok(n),
            _ => Err(self.place.mistake(format!("`{}` is no number of cables", self.text))),
        })
    }
}

/// What was said about terminals and routers so far.
#[derive(Default)]
struct Said {
    routers: Option<u64>,
    everywhere: Option<(u64, Place)>,
    here: Vec<Cables>,
    links: Vec<Link>,
}

pub(super) fn read(text: &str, classes: Classes) -> Result<GraphBuilder, Vec<Mistake>> {
    let (mut said, mut mistakes) = (Said::default(), Mistakes::default());
    for (index, line) in text.lines().enumerate() {
        let words = words(line, index as u64 + 1);
        if let Err(mistake) = statement(classes, &words, &mut said) {
            mistakes.push(mistake);
        }
    }
    done(mistakes)?;
    let ends = said.links.iter().flat_map(|link| link.ends.map(|end| end.router));
    let greatest = ends.chain(said.here.iter().map(|t| t.end.router)).max();
    let routers = said.routers.or(greatest.map(|n| n.saturating_add(1))).unwrap_or(0);
    let (usual, place) = match said.everywhere {
        Some(said) => said,
        None => (u64::from(said.here.is_empty()), Place::default()),
    };
    // The last word on a router counts.
    let mut here = said.here;
    here.reverse();
    here.sort_by_key(|t| t.end.router);
    here.dedup_by_key(|t| t.end.router);
    // So many routers cannot all have a cable, and those without have terminals as well: nothing is laid out for them.
    let cabled = 2 * said.links.len() as u64 + here.len() as u64;
    if usual > 0 && routers > cabled + 1 && routers <= MAX_ROUTERS {
        let ends: SortedSet<u64> = said.links.iter().flat_map(|l| l.ends.map(|end| end.router)).collect();
        let named = |n: &u64| ends.contains(n) || here.binary_search_by_key(n, |t| t.end.router).is_ok();
        let alone = (0..routers).filter(|n| !named(n)).take(2).collect::<Vec<_>>();
        return Err(vec![apart(alone[0], alone[1])]);
    }
    let mut terminals = Vec::new();
    let mut special = here.iter().copied().peekable();
    // More routers than there may be are reported with the rest.
    for router in 0..if routers > MAX_ROUTERS { 0 } else { routers } {
        let own = special.next_if(|t| t.end.router == router);
        let terminal = own.unwrap_or(Cables { end: End::of(router), count: usual, place });
        if terminal.count > 0 {
            terminals.push(terminal);
        }
    }
    // What is left speaks of routers that do not exist: reported with the rest.
    terminals.extend(special);
    Ok(GraphBuilder { routers, ports: None, links: said.links, terminals })
}

/// The words of a line without its comment.
fn words(line: &str, number: u64) -> Vec<Word<'_>> {
    let code = line.split('#').next().unwrap_or("");
    let mut words = Vec::new();
    let mut rest = 0;
    while let Some(skip) = code[rest..].find(|c: char| !c.is_whitespace()) {
        let start = rest + skip;
        let length = code[start..].find(char::is_whitespace).unwrap_or(code.len() - start);
        rest = start + length;
        words.push(Word { text: &code[start..rest], place: Place { line: number, start, end: rest } });
    }
    words
}

fn statement(classes: Classes, words: &[Word<'_>], said: &mut Said) -> Result<(), Mistake> {
    let Some(first) = words.first() else { return Ok(()) };
    let whole = Place { end: words.last().map_or(0, |w| w.place.end), ..first.place };
    match (first.text, &words[1..]) {
        ("routers", [n]) => {
            if said.routers.replace(n.number()?).is_some() {
                return Err(whole.mistake("the number of routers was given already"));
            }
        }
        ("terminals", [n]) => {
            if let Some((_, before)) = said.everywhere.replace((n.number()?, whole)) {
                let message = format!("line {} has given the terminals of every router already", before.line);
                return Err(whole.mistake(message));
            }
        }
        ("terminals", [router, n]) => {
            let end = End::of(router.router()?);
            said.here.push(Cables { end, count: n.number()?, place: whole });
        }
        ("routers", _) => return Err(whole.mistake("write `routers N`")),
        ("terminals", _) => return Err(whole.mistake("write `terminals N` or `terminals ROUTER N`")),
        (_, rest) => {
            let a = first.router()?;
            let [b, details @ ..] = rest else {
                return Err(whole.mistake("a link needs two routers: `A B`, `A B CLASS` or `A B CLASS xN`"));
            };
            let b = b.router()?;
            let (class, count) = match *details {
                [] => (LINK, 1),
                [word] => match word.count() {
                    Some(count) => (LINK, count?),
                    None => (GraphBuilder::class(classes, word.text, word.place)?, 1),
                },
                [class, count] => {
                    let class = GraphBuilder::class(classes, class.text, class.place)?;
                    let wrong = || Err(count.place.mistake("the number of parallel cables is written as x4"));
                    (class, count.count().unwrap_or_else(wrong)?)
                }
                [_, _, more, ..] => return Err(more.place.mistake("nothing is expected here")),
            };
            let ends = [a, b].map(End::of);
            said.links.push(Link { class, ends, count, place: whole });
        }
    }
    Ok(())
}
