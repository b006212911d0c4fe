//! Reads GOAL text, line by line; memory holds the graph and one rank's labels.

use super::{
    labels::Labels,
    words::{Step, Words},
};
use crate::program::{
    ANY_RANK, ANY_TAG, After, Kind, Op,
    graph::{Builder, Graph, Link, MAX_OPS, Positions, cycle},
    input::{Input, Lines, Mistake, Mistakes},
};
use base::{
    index::RankId,
    param::Problem,
    registry::nearest,
    time::Ps,
    units::{MAX_BYTES, MAX_TIME},
};
use std::ops::Range;

/// Labels that are looked through for the nearest one.
const MAX_PROPOSED: usize = 10_000;

/// Largest processor or interface: their number must fit 8 bits.
const MAX_CPU: u64 = 254;

/// Reads GOAL text (the [module](super) says which), packed by gzip or not. A unit of `calc` is `unit` picoseconds.
///
/// # Errors
/// All that is wrong with the file, up to some twenty mistakes, with their lines.
pub fn read_text(input: &Input<'_>, unit: Ps) -> Result<Graph, Vec<Problem>> {
    let mut lines = Lines::new(input).map_err(|e| vec![input.unreadable(&e)])?;
    let mut reader = Reader::new(unit);
    while !reader.mistakes.is_full() {
        match lines.next_line() {
            Ok(Some((number, text))) => reader.line(number, text),
            Ok(None) => {
                reader.end();
                break;
            }
            Err(e) => {
                let mut problems = reader.mistakes.problems(input);
                problems.push(input.unreadable(&e));
                return Err(problems);
            }
        }
    }
    if !reader.mistakes.is_empty() {
        return Err(reader.mistakes.problems(input));
    }
    let graph = reader.graph.finish(input.name(), Positions::Lines);
    graph.map_err(|message| vec![input.problem(message)])
}

/// A rank that has been read.
struct Read {
    rank: RankId,
    line: u64,
}

/// The rank that is being read.
struct Current {
    /// `None` if the number is wrong; what it holds is then read for its mistakes alone.
    rank: Option<RankId>,
    line: u64,
    span: Range<usize>,
}

/// A dependency on a label that has not been met yet.
struct Later {
    edge: usize,
    is_after: bool,
    label: Range<usize>,
    line: u64,
    span: Range<usize>,
}

struct Reader {
    unit: Ps,
    mistakes: Mistakes,
    ranks: Option<u32>,
    parts: Vec<Read>,
    graph: Builder,
    current: Option<Current>,
    /// Place of the comment that is open.
    comment: Option<(u64, Range<usize>)>,
    ops: Vec<Op>,
    edges: Vec<Link>,
    labels: Labels,
    later: Vec<Later>,
    later_text: Vec<u8>,
}

impl Reader {
    fn new(unit: Ps) -> Self {
        Self {
            unit,
            mistakes: Mistakes::default(),
            ranks: None,
            parts: Vec::new(),
            graph: Builder::default(),
            current: None,
            comment: None,
            ops: Vec::new(),
            edges: Vec::new(),
            labels: Labels::default(),
            later: Vec::new(),
            later_text: Vec::new(),
        }
    }

    fn line(&mut self, number: u64, text: &[u8]) {
        let mut words = Words { text, at: 0, line: number };
        if let Err(mistake) = self.statements(&mut words) {
            self.mistakes.push(mistake);
        }
    }

    /// What stands on a line: braces and at most one statement.
    fn statements(&mut self, words: &mut Words<'_>) -> Step<()> {
        loop {
            if self.comment.is_some() {
                let Some(end) = words.text[words.at..].windows(2).position(|w| w == b"*/") else {
                    return Ok(());
                };
                words.at += end + 2;
                self.comment = None;
            }
            match words.peek() {
                0 => return Ok(()),
                b'/' if words.text[words.at..].starts_with(b"//") => return Ok(()),
                b'/' if words.text[words.at..].starts_with(b"/*") => {
                    self.comment = Some((words.line, words.at..words.at + 2));
                    words.at += 2;
                }
                b'}' => {
                    let span = words.at..words.at + 1;
                    words.at += 1;
                    if self.current.is_none() {
                        return Err(Mistake::new(words.line, span, "no rank is open that this could close"));
                    }
                    self.close();
                }
                _ => {
                    let word = words.word("a statement, such as `a: send 10b to 1` or `b requires a`")?;
                    self.statement(word, words)?;
                    words.expect_end()?;
                }
            }
        }
    }

    fn statement(&mut self, word: Range<usize>, words: &mut Words<'_>) -> Step<()> {
        match &words.text[word.clone()] {
            b"num_ranks" => return self.num_ranks(word, words),
            b"rank" => return self.header(word, words),
            _ => {}
        }
        if self.current.is_none() {
            let help = "write `rank 0 {` before it";
            return Err(Mistake::new(words.line, word, "this stands outside of any rank").help(help));
        }
        let text = &words.text[word.clone()];
        if matches!(text, b"send" | b"recv" | b"calc") {
            let op = self.operation(word, words)?;
            return self.push(op, words);
        }
        if words.peek() == b':' {
            words.at += 1;
            return self.labelled(word, words);
        }
        let verb = words.word("`:`, `requires` or `irequires`")?;
        let on_start = match &words.text[verb.clone()] {
            b"requires" => false,
            b"irequires" => true,
            other => {
                let known = ["requires", "irequires", "send", "recv", "calc", "rank", "num_ranks"];
                let proposed = nearest(&String::from_utf8_lossy(text), known.into_iter().skip(2));
                if let Some(near) = proposed.first() {
                    let message = format!("`{}` is no statement", String::from_utf8_lossy(text));
                    return Err(
                        Mistake::new(words.line, word, message).help(format!("did you mean `{near}`?"))
                    );
                }
                let message = format!("`{}` says nothing here", String::from_utf8_lossy(other));
                let help = "after a label come `:` and an operation, `requires` or `irequires`";
                return Err(Mistake::new(words.line, verb, message).help(help));
            }
        };
        let before = words.word("a label")?;
        self.depend(word, before, on_start, words);
        Ok(())
    }

    fn num_ranks(&mut self, word: Range<usize>, words: &mut Words<'_>) -> Step<()> {
        let (ranks, span) = words.number("the number of ranks", u64::from(u32::MAX) - 2)?;
        if ranks == 0 {
            return Err(Mistake::new(words.line, span, "a program needs at least one rank"));
        }
        if self.ranks.is_some() || self.current.is_some() || !self.parts.is_empty() {
            let message = "the number of ranks is given once, before the first rank";
            return Err(Mistake::new(words.line, word, message));
        }
        self.ranks = u32::try_from(ranks).ok();
        Ok(())
    }

    fn header(&mut self, word: Range<usize>, words: &mut Words<'_>) -> Step<()> {
        if let Some(open) = self.current.take() {
            let message = format!("{} is still open here", open.name());
            let help = format!("`}}` is missing; it began on line {}", open.line);
            self.mistakes.push(Mistake::new(words.line, word.clone(), message).help(help));
            self.current = Some(open);
            self.close();
        }
        if self.ranks.is_none() {
            let help = "write `num_ranks N` on the first line";
            let message = "the number of ranks is not known yet";
            self.mistakes.push(Mistake::new(words.line, word.clone(), message).help(help));
            self.ranks = Some(u32::MAX - 2);
        }
        // The rank counts as open whatever is wrong with its number, so that its statements are not mistakes, too.
        self.current = Some(Current { rank: None, line: words.line, span: word });
        let (rank, span) = words.number("the number of a rank", u64::from(u32::MAX))?;
        let ranks = self.ranks.unwrap_or(0);
        let known = u32::try_from(rank).ok().filter(|&r| r < ranks).map(RankId::new);
        self.current = Some(Current { rank: known, line: words.line, span: span.clone() });
        if known.is_none() {
            let message = format!("there is no rank {rank}: the {ranks} ranks count from 0");
            self.mistakes.push(Mistake::new(words.line, span, message));
        }
        if words.peek() != b'{' {
            return Err(words.wanted("`{` on the line of the rank"));
        }
        words.at += 1;
        // A statement may follow, or the end of the line; the caller goes on.
        if matches!(words.peek(), 0 | b'/' | b'}') {
            return Ok(());
        }
        let word = words.word("a statement")?;
        self.statement(word, words)
    }

    fn labelled(&mut self, label: Range<usize>, words: &mut Words<'_>) -> Step<()> {
        let name = &words.text[label.clone()];
        let result = match words.word("`send`, `recv` or `calc`") {
            Ok(word) => self.operation(word, words),
            Err(mistake) => Err(mistake),
        };
        let op = *result.as_ref().unwrap_or(&Op { origin: line32(words.line), ..CALC });
        let number = self.ops.len() as u32;
        if let Err(known) = self.labels.insert(name, number) {
            let line = self.ops.get(known as usize).map_or(0, |op| op.origin);
            let name = String::from_utf8_lossy(name);
            let message = format!("the label `{name}` stands for the operation of line {line} already");
            self.mistakes.push(Mistake::new(words.line, label, message));
        }
        self.push(op, words)?;
        result.map(|_| ())
    }

    fn push(&mut self, op: Op, words: &Words<'_>) -> Step<()> {
        if self.ops.len() >= MAX_OPS {
            return Err(Mistake::new(words.line, 0..words.text.len(), "a rank has too many operations"));
        }
        self.ops.push(op);
        Ok(())
    }

    /// An operation from behind its first word.
    fn operation(&self, word: Range<usize>, words: &mut Words<'_>) -> Step<Op> {
        let mut op = Op { origin: line32(words.line), ..CALC };
        match &words.text[word.clone()] {
            b"calc" => {
                let (units, span) = words.number("a number of units of time", u64::MAX)?;
                op.amount = units.checked_mul(self.unit).filter(|&ps| ps <= MAX_TIME).ok_or_else(|| {
                    let message = "this computation is longer than 2^62 ps, about 53 days";
                    Mistake::new(words.line, span, message).help("is the unit of time right?")
                })?;
            }
            verb @ (b"send" | b"recv") => {
                let send = verb == b"send";
                op.kind = if send { Kind::Send } else { Kind::Recv };
                (op.amount, _) = words.number("a number of bytes", MAX_BYTES)?;
                if words.peek() != b'b' || words.text.get(words.at + 1).is_some_and(u8::is_ascii_alphanumeric)
                {
                    return Err(words.wanted("`b` for bytes, such as `10b`"));
                }
                words.at += 1;
                words.keyword(if send { "to" } else { "from" })?;
                op.peer = self.peer(send, words)?;
            }
            other => {
                let other = String::from_utf8_lossy(other);
                let mut mistake = Mistake::new(words.line, word, format!("`{other}` is no operation"));
                mistake.help = Some(match nearest(&other, ["send", "recv", "calc"]).first() {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "there are `send`, `recv` and `calc`".to_owned(),
                });
                return Err(mistake);
            }
        }
        attributes(&mut op, words)?;
        Ok(op)
    }

    fn peer(&self, send: bool, words: &mut Words<'_>) -> Step<RankId> {
        if words.peek() == b'-' {
            let span = words.minus_one("a rank")?;
            if send {
                return Err(Mistake::new(words.line, span, "only receives may leave the other rank open"));
            }
            return Ok(ANY_RANK);
        }
        let (rank, span) = words.number("a rank", u64::from(u32::MAX))?;
        let ranks = self.ranks.unwrap_or(0);
        match u32::try_from(rank) {
            Ok(peer) if peer < ranks || (peer == ANY_RANK.number() && !send) => Ok(RankId::new(peer)),
            _ => {
                let message = format!("there is no rank {rank}: the {ranks} ranks count from 0");
                Err(Mistake::new(words.line, span, message))
            }
        }
    }

    fn depend(&mut self, after: Range<usize>, before: Range<usize>, on_start: bool, words: &Words<'_>) {
        let mut find = |span: Range<usize>, is_after| {
            let label = &words.text[span.clone()];
            self.labels.get(label).unwrap_or_else(|| {
                let start = self.later_text.len();
                self.later_text.extend_from_slice(label);
                let label = start..self.later_text.len();
                self.later.push(Later { edge: self.edges.len(), is_after, label, line: words.line, span });
                0
            })
        };
        let after = find(after, true);
        let before = find(before, false);
        self.edges.push(Link::new(before, after, on_start));
    }

    /// Ends a rank.
    fn close(&mut self) {
        let Some(current) = self.current.take() else { return };
        let sound = self.resolve() && self.has_room(&current);
        if sound && let Some(circle) = cycle(self.ops.len(), &self.edges) {
            self.report_circle(&circle);
        }
        if let Some(rank) = current.rank {
            self.parts.push(Read { rank, line: current.line });
            if sound && self.mistakes.is_empty() {
                self.graph.add(rank, &self.ops, &self.edges);
            }
        }
        self.ops.clear();
        self.edges.clear();
        self.labels.clear();
        self.later.clear();
        self.later_text.clear();
    }

    /// False if the graph and what orders it outgrow the memory that is left: a rank is added as a whole.
    fn has_room(&mut self, current: &Current) -> bool {
        let bytes = Builder::bytes(self.ops.len(), self.edges.len());
        let room = base::memory::takes(bytes);
        if let Err(message) = &room {
            self.mistakes.push(Mistake::new(current.line, current.span.clone(), message.as_str()));
        }
        room.is_ok()
    }

    /// Finds the labels that were used before they were defined; true if there are all.
    fn resolve(&mut self) -> bool {
        let mut sound = true;
        for later in &self.later {
            let label = &self.later_text[later.label.clone()];
            if let Some(op) = self.labels.get(label) {
                let edge = &mut self.edges[later.edge];
                *edge = if later.is_after {
                    Link::new(edge.before(), op, edge.on_start())
                } else {
                    Link::new(op, edge.after(), edge.on_start())
                };
                continue;
            }
            sound = false;
            if self.mistakes.is_full() {
                break;
            }
            let label = String::from_utf8_lossy(label);
            let message = format!("no operation of this rank has the label `{label}`");
            let mut mistake = Mistake::new(later.line, later.span.clone(), message);
            let names = self.labels.names().take(MAX_PROPOSED).filter_map(|n| std::str::from_utf8(n).ok());
            if let Some(near) = nearest(&label, names).first() {
                mistake.help = Some(format!("did you mean `{near}`?"));
            }
            self.mistakes.push(mistake);
        }
        sound
    }

    fn report_circle(&mut self, circle: &[u32]) {
        const SHOWN: usize = 8;
        let name = |op: u32| {
            let line = self.ops[op as usize].origin;
            let label = self.labels.of(op).map(|l| String::from_utf8_lossy(l).into_owned());
            format!("`{}` (line {line})", label.unwrap_or_default())
        };
        let mut reported: Vec<String> = circle.iter().take(SHOWN).map(|&op| name(op)).collect();
        if circle.len() > SHOWN {
            reported.push(format!("{} more", circle.len() - SHOWN));
        }
        reported.push(name(circle[0]));
        let line = self.ops[circle[0] as usize].origin;
        let message = format!("{} can never start: they wait for each other", operations(circle.len()));
        let help = format!("the circle is {}", reported.join(" requires "));
        self.mistakes.push(Mistake::new(line.into(), 0..usize::MAX, message).help(help));
    }

    /// Ends the file.
    fn end(&mut self) {
        if let Some((line, span)) = self.comment.take() {
            self.mistakes.push(Mistake::new(line, span, "this comment is never closed"));
        }
        if let Some(open) = &self.current {
            let message = format!("the file ends within {}", open.name());
            let help = "`}` is missing: is the file complete?";
            self.mistakes.push(Mistake::new(open.line, open.span.clone(), message).help(help));
            self.close();
        }
        let Some(ranks) = self.ranks else {
            if !self.mistakes.is_empty() {
                return;
            }
            let help = "GOAL text begins with `num_ranks N`";
            return self.mistakes.push(Mistake::new(0, 0..0, "the number of ranks is missing").help(help));
        };
        self.parts.sort_by_key(|p| (p.rank, p.line));
        for pair in self.parts.windows(2).filter(|pair| pair[0].rank == pair[1].rank) {
            let message = format!("rank {} was described on line {} already", pair[1].rank, pair[0].line);
            self.mistakes.push(Mistake::new(pair[1].line, 0..usize::MAX, message));
        }
        if self.mistakes.is_empty() && self.parts.len() < ranks as usize {
            let missing = ranks as usize - self.parts.len();
            let first = RankId::first(ranks).zip(&self.parts).find(|(rank, p)| *rank != p.rank);
            let first = first.map_or(self.parts.len(), |(rank, _)| rank.index());
            let message = match missing {
                1 => format!("rank {first} is missing"),
                _ => format!("{missing} of {ranks} ranks are missing, the first is rank {first}"),
            };
            let help = format!("a rank that does nothing is written `rank {first} {{` and `}}`");
            self.mistakes.push(Mistake::new(0, 0..0, message).help(help));
        }
    }
}

impl Current {
    fn name(&self) -> String {
        self.rank.map_or_else(|| "a rank".to_owned(), |r| format!("rank {r}"))
    }
}

/// A computation of no time.
pub(super) const CALC: Op = Op {
    kind: Kind::Calc,
    cpu: 0,
    nic: 0,
    after: After::Nothing,
    peer: RankId::new(0),
    tag: 0,
    context: 0,
    mode: crate::program::mpi::Mode::Standard,
    amount: 0,
    origin: 0,
    collective: 0,
};

/// `tag`, `cpu` and `nic`, each at most once.
fn attributes(op: &mut Op, words: &mut Words<'_>) -> Step<()> {
    let mut seen = [false; 3];
    while words.peek().is_ascii_alphabetic() {
        let word = words.word("`tag`, `cpu` or `nic`")?;
        let which = match &words.text[word.clone()] {
            b"tag" if op.kind != Kind::Calc => 0,
            b"cpu" => 1,
            b"nic" => 2,
            other => {
                let other = String::from_utf8_lossy(other);
                let known = if op.kind == Kind::Calc { "`cpu`" } else { "`tag`, `cpu` or `nic`" };
                let message = format!("`{other}` says nothing here");
                let help = format!("what may follow is {known}, or the end of the line");
                return Err(Mistake::new(words.line, word, message).help(help));
            }
        };
        if std::mem::replace(&mut seen[which], true) {
            return Err(Mistake::new(words.line, word, "this is said twice"));
        }
        match which {
            0 if words.peek() == b'-' => {
                let span = words.minus_one("a tag")?;
                op.tag = ANY_TAG;
                no_open_tag(op, span, words.line)?;
            }
            0 => {
                let (tag, span) = words.number("a tag", u64::from(u32::MAX))?;
                op.tag = tag as u32;
                no_open_tag(op, span, words.line)?;
            }
            1 => op.cpu = words.number("a processor", MAX_CPU)?.0 as u8,
            _ => op.nic = words.number("a network interface", MAX_CPU)?.0 as u8,
        }
    }
    Ok(())
}

fn no_open_tag(op: &Op, span: Range<usize>, line: u64) -> Step<()> {
    if op.kind == Kind::Send && op.tag == ANY_TAG {
        return Err(Mistake::new(line, span, "only receives may leave the tag open"));
    }
    Ok(())
}

fn line32(line: u64) -> u32 {
    u32::try_from(line).unwrap_or(u32::MAX)
}

fn operations(n: usize) -> String {
    if n == 1 { "an operation".to_owned() } else { format!("{n} operations") }
}
