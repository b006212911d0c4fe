//! From text to blocks of statements.

use super::{
    Ranks,
    expression::Expression,
    file::{Chosen, File},
    lexer::{Kind, Step, Tokens},
    phrase::{Phrases, integer},
    run::Run,
    statement::Statement,
};
use crate::program::{
    input::{Input, Lines, Mistake, Mistakes},
    mpi::WORLD,
};
use base::{index::RankId, param::Problem, registry::nearest, sorted::SortedMap};
use std::sync::Arc;

/// Calls that are run at load, over all ranks, to find mistakes.
const CHECKED_CALLS: u64 = 4_000_000;

/// Deepest nesting of loops.
const MAX_DEPTH: usize = 64;

/// Most ranks of a file.
const MAX_RANKS: u64 = 1 << 26;

/// Reads a program (the [module](super) says how it looks), packed by gzip or not.
///
/// # Errors
/// All that is wrong with the file, up to some twenty mistakes, with their lines.
pub fn read(input: &Input<'_>) -> Result<Ranks, Vec<Problem>> {
    let mut lines = Lines::new(input).map_err(|e| vec![input.unreadable(&e)])?;
    let mut parser = Parser::default();
    parser.phrases.comms.insert("world".to_owned(), WORLD);
    while !parser.mistakes.is_full() {
        match lines.next_line() {
            Ok(Some((number, bytes))) => parser.line(number, bytes),
            Ok(None) => break,
            Err(e) => {
                let mut problems = parser.mistakes.problems(input);
                problems.push(input.unreadable(&e));
                return Err(problems);
            }
        }
    }
    if !parser.mistakes.is_full() {
        parser.end();
    }
    if !parser.mistakes.is_empty() {
        return Err(parser.mistakes.problems(input));
    }
    let file = Arc::new(parser.file(input.name()));
    let mut mistakes = Mistakes::default();
    try_run(&file, &mut mistakes);
    if mistakes.is_empty() { Ok(Ranks(file)) } else { Err(mistakes.problems(input)) }
}

/// Runs every rank, as far as that takes few calls, and reports the first fault of each line.
fn try_run(file: &Arc<File>, mistakes: &mut Mistakes) {
    let mut reported = base::sorted::SortedSet::new();
    let mut left = CHECKED_CALLS;
    for rank in RankId::first(file.ranks) {
        if left == 0 || mistakes.is_full() {
            break;
        }
        let mut run = Run::new(Arc::clone(file), rank, true);
        while left > 0 {
            left -= 1;
            match run.step() {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(fault) => {
                    if reported.insert(fault.line) {
                        let message = format!("rank {rank}: {}", fault.message);
                        mistakes.push(Mistake::new(fault.line.into(), 0..usize::MAX, message));
                    }
                    break;
                }
            }
        }
    }
}

/// Which ranks a block is for, from each first to each last one.
type Selector = Vec<(RankId, RankId)>;

enum Frame {
    Block { selector: Selector, line: u64, body: Vec<Statement> },
    Repeat { line: u64, count: Expression, body: Vec<Statement> },
}

#[derive(Default)]
struct Parser {
    mistakes: Mistakes,
    blocks: Vec<(Selector, Vec<Statement>)>,
    open: Vec<Frame>,
    missing: Vec<(String, u64)>,
    phrases: Phrases,
}

impl Parser {
    fn line(&mut self, number: u64, bytes: &[u8]) {
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(e) => {
                let at = e.valid_up_to();
                return self.mistakes.push(Mistake::new(number, at..at + 1, "this is not UTF-8 text"));
            }
        };
        let mut tokens = Tokens::new(text, number);
        while tokens.peek().0 != Kind::End && !self.mistakes.is_full() {
            let depth = self.open.len();
            if let Err(mistake) = self.statement(&mut tokens) {
                self.mistakes.push(mistake);
                // The rest of the line is not read, but its braces count. One may belong to the block whose head is wrong.
                let mut awaited = self.open.len() > depth;
                let mut within = 0;
                for brace in tokens.braces() {
                    match brace {
                        "{" if awaited => awaited = false,
                        "{" => within += 1,
                        _ if within > 0 => within -= 1,
                        _ => self.close(),
                    }
                }
                return;
            }
        }
    }

    /// One statement, or one brace.
    fn statement(&mut self, tokens: &mut Tokens<'_>) -> Step<()> {
        if tokens.is("}") {
            if self.open.is_empty() {
                return Err(tokens.mistake("nothing is open that this could close"));
            }
            tokens.skip();
            self.close();
            return Ok(());
        }
        match tokens.peek().1 {
            "ranks" => self.number_of_ranks(tokens)?,
            "all" | "rank" => return self.block(tokens),
            "missing" if self.open.is_empty() => {
                tokens.skip();
                let count = integer(tokens, "a number of calls")?;
                let name = tokens.peek().1.to_owned();
                tokens.word("the name of a call")?;
                self.missing.push((name, count));
            }
            _ if self.open.is_empty() => {
                let word = tokens.peek().1;
                let mut mistake = tokens.mistake(format!("`{word}` stands outside of any block"));
                let near = nearest(word, ["ranks", "rank", "all"]);
                mistake.help = Some(match near.first() {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "open one with `all {` or `rank 0-3 {`".to_owned(),
                });
                return Err(mistake);
            }
            "repeat" => return self.repeat(tokens),
            _ => {
                let line = u32::try_from(tokens.line).unwrap_or(u32::MAX);
                let span = tokens.span();
                let word = tokens.word("a statement")?;
                let call = self.phrases.call(word, span, tokens)?;
                self.add(Statement::Call(line, call));
            }
        }
        if tokens.peek().0 != Kind::End && !tokens.is("}") {
            return Err(tokens.wanted("the end of the line"));
        }
        Ok(())
    }

    fn add(&mut self, statement: Statement) {
        if let Some(Frame::Block { body, .. } | Frame::Repeat { body, .. }) = self.open.last_mut() {
            body.push(statement);
        }
    }

    fn number_of_ranks(&mut self, tokens: &mut Tokens<'_>) -> Step<()> {
        if self.phrases.ranks.is_some() || !self.open.is_empty() || !self.blocks.is_empty() {
            return Err(tokens.mistake("the number of ranks is given once, before the first block"));
        }
        tokens.skip();
        let span = tokens.span();
        let ranks = integer(tokens, "the number of ranks")?;
        if ranks == 0 || ranks > MAX_RANKS {
            return Err(Mistake::new(tokens.line, span, format!("the number of ranks is 1 to {MAX_RANKS}")));
        }
        self.phrases.ranks = u32::try_from(ranks).ok();
        Ok(())
    }

    fn block(&mut self, tokens: &mut Tokens<'_>) -> Step<()> {
        let line = tokens.line;
        if let Some(Frame::Block { line: open, .. } | Frame::Repeat { line: open, .. }) = self.open.first() {
            let message = format!("the block of line {open} is still open: `}}` is missing");
            self.mistakes.push(tokens.mistake(message));
            while !self.open.is_empty() {
                self.close();
            }
        }
        if self.phrases.ranks.is_none() {
            let help = "write `ranks N` on the first line";
            self.mistakes.push(tokens.mistake("the number of ranks is not known yet").help(help));
            self.phrases.ranks = u32::try_from(MAX_RANKS).ok();
        }
        // The block is open whatever is wrong with its ranks, so that what it holds is no mistake, too.
        self.open.push(Frame::Block { selector: Selector::new(), line, body: Vec::new() });
        let mut selected = Selector::new();
        if tokens.take("all") {
            selected.push((RankId::new(0), RankId::new(self.phrases.ranks.unwrap_or(1) - 1)));
        } else {
            tokens.skip();
            loop {
                let from = self.selected(tokens)?;
                let to = if tokens.take("-") { self.selected(tokens)? } else { from };
                selected.push((from, to));
                if !tokens.take(",") {
                    break;
                }
            }
        }
        if let Some(Frame::Block { selector, .. }) = self.open.last_mut() {
            *selector = selected;
        }
        tokens.expect("{")
    }

    fn selected(&self, tokens: &mut Tokens<'_>) -> Step<RankId> {
        let span = tokens.span();
        let rank = integer(tokens, "a rank")?;
        let ranks = self.phrases.ranks.unwrap_or(0);
        u32::try_from(rank).ok().filter(|&r| r < ranks).map(RankId::new).ok_or_else(|| {
            let message = format!("there is no rank {rank}: the {ranks} ranks count from 0");
            Mistake::new(tokens.line, span, message)
        })
    }

    fn repeat(&mut self, tokens: &mut Tokens<'_>) -> Step<()> {
        if self.open.len() >= MAX_DEPTH {
            return Err(tokens.mistake("the loops are nested too deeply"));
        }
        let line = tokens.line;
        tokens.skip();
        let header = (|| {
            let count = self.phrases.expression(tokens)?;
            let name = if tokens.take("as") { self.variable(tokens)? } else { String::new() };
            tokens.expect("{").map(|()| (count, name))
        })();
        let (count, name) = header.clone().unwrap_or((Expression::Number(0), String::new()));
        self.open.push(Frame::Repeat { line, count, body: Vec::new() });
        self.phrases.loops.push(name);
        header.map(|_| ())
    }

    fn variable(&self, tokens: &mut Tokens<'_>) -> Step<String> {
        let name = tokens.peek().1.to_owned();
        if ["rank", "size"].contains(&name.as_str()) || self.phrases.loops.contains(&name) {
            return Err(tokens.mistake(format!("`{name}` has a meaning already")));
        }
        tokens.word("a name").map(|_| name)
    }

    fn close(&mut self) {
        match self.open.pop() {
            Some(Frame::Repeat { line, count, body }) => {
                self.phrases.loops.pop();
                let line = u32::try_from(line).unwrap_or(u32::MAX);
                self.add(Statement::Repeat { line, count, body });
            }
            Some(Frame::Block { selector, body, .. }) => self.blocks.push((selector, body)),
            None => {}
        }
    }

    fn end(&mut self) {
        let open = self.open.last().filter(|_| self.mistakes.is_empty());
        if let Some(Frame::Block { line, .. } | Frame::Repeat { line, .. }) = open {
            let help = "`}` is missing: is the file complete?";
            self.mistakes.push(Mistake::new(*line, 0..usize::MAX, "the file ends within this").help(help));
        }
        if self.phrases.ranks.is_none() && self.mistakes.is_empty() {
            let help = "a program begins with `ranks N`";
            self.mistakes.push(Mistake::new(0, 0..0, "the number of ranks is missing").help(help));
        }
    }

    fn file(self, name: &str) -> File {
        let mut chosen = Chosen::default();
        let mut blocks = Vec::with_capacity(self.blocks.len());
        for (index, (selector, body)) in (0u32..).zip(self.blocks) {
            selector.into_iter().for_each(|(from, to)| chosen.add(index, from, to));
            blocks.push(body);
        }
        chosen.single.sort_unstable();
        let names = |map: SortedMap<String, u32>| {
            let mut names = vec![String::new(); map.len()];
            map.into_iter().for_each(|(name, number)| names[number as usize] = name);
            names
        };
        File {
            name: name.to_owned(),
            ranks: self.phrases.ranks.unwrap_or(0),
            blocks,
            chosen,
            requests: names(self.phrases.requests),
            comms: names(self.phrases.comms),
            windows: names(self.phrases.windows),
            missing: self.missing,
            makes_communicators: self.phrases.makes_communicators,
            marks: self.phrases.marks,
            chained: !self.phrases.loose,
        }
    }
}
