//! What stands within a line: calls, quantities, expressions, lists, names.

use super::{
    expression::{Expression, Operator},
    lexer::{Kind, Step, Tokens},
    statement::{Call, Collective, Counts, End, Group, Peer, Quantity},
    words::{COLLECTIVES, ONE_SIDED, Word},
};
use crate::program::{
    input::Mistake,
    mpi::{Comm, MarkKind, Mode, Request, WORLD, Window},
};
use base::{
    registry::nearest,
    sorted::SortedMap,
    units::{Family, UnitError, parse_bytes, parse_time},
};
use std::{ops::Range, sync::Arc};

/// Most operators and parentheses of an expression.
const MAX_DEPTH: usize = 64;

/// Words that begin a statement, beside the collectives.
const STATEMENTS: &[&str] = &[
    "all",
    "bsend",
    "compute",
    "create",
    "define",
    "dup",
    "enter",
    "free",
    "free_comm",
    "ibsend",
    "irecv",
    "isend",
    "issend",
    "leave",
    "mark",
    "probe",
    "rank",
    "ranks",
    "recv",
    "recv_init",
    "repeat",
    "send",
    "send_init",
    "bsend_init",
    "ssend_init",
    "sendrecv",
    "split",
    "ssend",
    "start",
    "test",
    "wait",
    "waitall",
    "waitany",
];

/// The names that are known on a line.
#[derive(Default)]
pub(super) struct Phrases {
    /// Number of ranks, once it is known.
    pub(super) ranks: Option<u32>,
    /// Names of the variables of the loops that are open; empty for none.
    pub(super) loops: Vec<String>,
    pub(super) requests: SortedMap<String, Request>,
    pub(super) comms: SortedMap<String, Comm>,
    pub(super) windows: SortedMap<String, Window>,
    pub(super) makes_communicators: bool,
    /// Something is marked.
    pub(super) marks: bool,
    /// True if something was read that a rank may do beside others, or that anybody's message can end.
    pub(super) loose: bool,
}

impl Phrases {
    /// A call from behind its first word, which stands at `span`.
    pub(super) fn call(&mut self, word: &str, span: Range<usize>, tokens: &mut Tokens<'_>) -> Step<Call> {
        let mode = |word: &str| match word.as_bytes().first() {
            Some(b's') if word.starts_with("ss") => Mode::Synchronous,
            Some(b'b') => Mode::Buffered,
            _ => Mode::Standard,
        };
        Ok(match word {
            "compute" => Call::Compute(self.quantity(tokens, Family::Time)?),
            "send" | "ssend" | "bsend" => Call::Send(self.end_of(tokens, "to")?, mode(word)),
            "recv" => Call::Recv(self.end_of(tokens, "from")?),
            "isend" | "issend" | "ibsend" => {
                Call::Isend(self.end_of(tokens, "to")?, mode(&word[1..]), self.new_request(tokens)?)
            }
            "irecv" => Call::Irecv(self.end_of(tokens, "from")?, self.new_request(tokens)?),
            "sendrecv" => {
                let send = self.end_of(tokens, "to")?;
                tokens.expect("recv")?;
                Call::SendRecv(send, self.end_of(tokens, "from")?)
            }
            "send_init" | "ssend_init" | "bsend_init" => {
                let end = self.end_of(tokens, "to")?;
                Call::SendInit(end, mode(word), self.named(tokens)?)
            }
            "recv_init" => Call::RecvInit(self.end_of(tokens, "from")?, self.named(tokens)?),
            "start" => Call::Start(self.some_requests(tokens)?),
            "free" => Call::Free(self.request(tokens)?),
            "wait" => Call::Wait(self.request(tokens)?),
            "waitall" if tokens.take("[") => {
                tokens.expect("]")?;
                Call::Waitall(Some(Arc::default()))
            }
            "waitall" => {
                let list = self.list_of_requests(tokens)?;
                Call::Waitall(if list.is_empty() { None } else { Some(list) })
            }
            "waitany" => {
                let all = self.some_requests(tokens)?;
                let done = if tokens.take("done") { self.some_requests(tokens)? } else { Arc::default() };
                self.loose |= done.is_empty();
                Call::Waitany(all, done)
            }
            "test" => Call::Test(self.list_of_requests(tokens)?),
            "leave" => Call::Mark(MarkKind::Leave, Arc::default(), None),
            "mark" | "enter" => {
                self.marks = true;
                let kind = if word == "mark" { MarkKind::Instant } else { MarkKind::Enter };
                let name = tokens.quoted("a name in quotes")?.into();
                let ends = matches!(tokens.peek(), (Kind::End, _) | (_, "}"));
                Call::Mark(kind, name, if ends { None } else { Some(self.expression(tokens)?) })
            }
            "probe" => {
                self.loose = true;
                Call::Probe(self.end_of(tokens, "from")?)
            }
            "dup" | "split" | "create" | "free_comm" => self.communicator(word, tokens)?,
            "define" => {
                self.makes_communicators = true;
                Call::Define { group: self.group(tokens)?, new: self.new_comm(tokens)? }
            }
            _ => match self.one_sided(word, tokens)? {
                Some(call) => call,
                None => self.collective(word, span, tokens)?,
            },
        })
    }

    fn communicator(&mut self, word: &str, tokens: &mut Tokens<'_>) -> Step<Call> {
        let comm = self.comm(tokens)?;
        if word == "free_comm" {
            return Ok(Call::FreeComm(comm));
        }
        self.makes_communicators = true;
        Ok(match word {
            "dup" => Call::Dup(comm, self.new_comm(tokens)?),
            "split" => {
                tokens.expect("color")?;
                let color = if tokens.take("none") { None } else { Some(self.expression(tokens)?) };
                let key = if tokens.take("key") { self.expression(tokens)? } else { Expression::Number(0) };
                Call::Split { comm, color, key, new: self.new_comm(tokens)? }
            }
            _ => {
                tokens.expect("group")?;
                let group = self.group(tokens)?;
                Call::Create { comm, group, new: self.new_comm(tokens)? }
            }
        })
    }

    fn collective(&mut self, word: &str, at: Range<usize>, tokens: &mut Tokens<'_>) -> Step<Call> {
        let known = |word: &str| COLLECTIVES.iter().find(|c| c.word == word);
        let found = known(word).map(|c| (c, false)).or_else(|| Some((known(word.strip_prefix('i')?)?, true)));
        let Some((takes, immediate)) = found else {
            let mut mistake = Mistake::new(tokens.line, at, format!("`{word}` is no statement"));
            let names = STATEMENTS.iter().copied().chain(COLLECTIVES.iter().map(|c| c.word)).chain(ONE_SIDED);
            if let Some(near) = nearest(word, names).first() {
                mistake.help = Some(format!("did you mean `{near}`?"));
            }
            return Err(mistake);
        };
        let bytes = if takes.size { Some(self.quantity(tokens, Family::Bytes)?) } else { None };
        let span = tokens.span();
        let counts = if takes.counts { Some(self.counts(takes, tokens)?) } else { None };
        let mut call = Collective {
            kind: takes.kind,
            comm: WORLD,
            root: None,
            bytes,
            counts,
            neighbours: None,
            request: None,
        };
        if takes.neighbours {
            tokens.expect("with")?;
            call.neighbours = Some(self.group(tokens)?);
        }
        if takes.root && tokens.take("root") {
            call.root = Some(self.expression(tokens)?);
        }
        if tokens.take("comm") {
            call.comm = self.comm(tokens)?;
        }
        if immediate {
            self.loose = true;
            call.request = Some(self.new_request(tokens)?);
        }
        if call.comm == WORLD
            && let Some(counts) = &call.counts
        {
            self.check_length(takes, counts).map_err(|m| Mistake::new(tokens.line, span, m))?;
        }
        Ok(Call::Collective(Box::new(call)))
    }

    /// The world's size is known, so that lists by rank can be checked if their length does not depend on the rank.
    fn check_length(&self, takes: &Word, counts: &Counts) -> Result<(), String> {
        let mut length = 0u64;
        for (_, times) in &counts.0 {
            let Expression::Number(n) = times else { return Ok(()) };
            length = length.saturating_add(u64::try_from(*n).unwrap_or(0));
        }
        let lists = if takes.kind.has_two_lists() { 2 } else { 1 };
        let wanted = u64::from(self.ranks.unwrap_or(0)) * lists;
        if length == wanted {
            return Ok(());
        }
        Err(format!("this list has {length} entries, but {wanted} are wanted"))
    }

    /// One end of a message: `1 KiB to 3 tag 5 comm half`.
    fn end_of(&mut self, tokens: &mut Tokens<'_>, preposition: &str) -> Step<End> {
        let bytes = self.quantity(tokens, Family::Bytes)?;
        tokens.expect(preposition)?;
        let receive = preposition == "from";
        let peer = if tokens.take("null") {
            Peer::Null
        } else if receive && tokens.take("any") {
            self.loose = true;
            Peer::Any
        } else {
            Peer::Is(self.expression(tokens)?)
        };
        let mut tag = Some(Expression::Number(0));
        if tokens.take("tag") {
            let any = receive && tokens.take("any");
            self.loose |= any;
            tag = if any { None } else { Some(self.expression(tokens)?) };
        }
        let comm = if tokens.take("comm") { self.comm(tokens)? } else { WORLD };
        Ok(End { peer, tag, bytes, comm })
    }

    pub(super) fn quantity(&mut self, tokens: &mut Tokens<'_>, family: Family) -> Step<Quantity> {
        let parse = |text: &str| match family {
            Family::Time => parse_time(text),
            _ => parse_bytes(text),
        };
        let (start, line) = (tokens.span().start, tokens.line);
        let refuse = |tokens: &Tokens<'_>, e: UnitError| {
            let mut mistake = Mistake::new(line, start..tokens.end(), e.message);
            mistake.help = e.help;
            mistake
        };
        if tokens.take("(") {
            let number = self.sum(tokens, 0, 1)?;
            tokens.expect(")")?;
            let unit = tokens.word(&format!("a unit such as `{}`", family.usual_unit()))?;
            let unit = parse(&format!("1 {unit}")).map_err(|e| refuse(tokens, e))?;
            return Ok(Quantity { number, unit });
        }
        let (Kind::Number, number) = tokens.peek() else {
            return Err(tokens.wanted(&format!("{} such as `10 {}`", family.noun(), family.usual_unit())));
        };
        tokens.skip();
        // `8 to 3` lacks its unit: what follows is taken for one only if it is none of our words.
        let unit = match tokens.peek() {
            (Kind::Word, word)
                if !matches!(word, "to" | "from" | "root" | "comm" | "as" | "with" | "x" | "win") =>
            {
                word
            }
            _ => "",
        };
        if !unit.is_empty() {
            tokens.skip();
        }
        let value = parse(&format!("{number} {unit}")).map_err(|e| refuse(tokens, e))?;
        let value =
            i64::try_from(value).map_err(|_| Mistake::new(line, start..tokens.end(), "this is too large"))?;
        Ok(Quantity { number: Expression::Number(value), unit: 1 })
    }

    /// A number that may depend on the rank and on loops.
    pub(super) fn expression(&self, tokens: &mut Tokens<'_>) -> Step<Expression> {
        self.sum(tokens, 0, 0)
    }

    /// Operators that bind at least as tightly as `level`.
    fn sum(&self, tokens: &mut Tokens<'_>, level: u8, depth: usize) -> Step<Expression> {
        let mut left = self.operand(tokens, depth)?;
        let mut length = 0;
        loop {
            let operator = match tokens.peek().1 {
                "+" => Operator::Add,
                "-" => Operator::Subtract,
                "*" => Operator::Multiply,
                "/" => Operator::Divide,
                "%" => Operator::Remainder,
                "<<" => Operator::ShiftLeft,
                ">>" => Operator::ShiftRight,
                "^" => Operator::Xor,
                _ => return Ok(left),
            };
            if operator.level() < level {
                return Ok(left);
            }
            length += 1;
            if depth + length > MAX_DEPTH {
                return Err(tokens.mistake("this expression is too long"));
            }
            tokens.skip();
            let right = self.sum(tokens, operator.level() + 1, depth + 1)?;
            left = Expression::Binary(Box::new(left), operator, Box::new(right));
        }
    }

    fn operand(&self, tokens: &mut Tokens<'_>, depth: usize) -> Step<Expression> {
        if depth > MAX_DEPTH {
            return Err(tokens.mistake("this expression is too long"));
        }
        match tokens.peek() {
            (Kind::Number, _) => {
                let span = tokens.span();
                let value = integer(tokens, "a whole number")?;
                let number =
                    i64::try_from(value).map_err(|_| Mistake::new(tokens.line, span, "this is too large"))?;
                Ok(Expression::Number(number))
            }
            (Kind::Sign, "-") => {
                tokens.skip();
                let operand = Box::new(self.operand(tokens, depth + 1)?);
                Ok(match *operand {
                    Expression::Number(n) => Expression::Number(-n),
                    _ => Expression::Binary(Box::new(Expression::Number(0)), Operator::Subtract, operand),
                })
            }
            (Kind::Sign, "(") => {
                tokens.skip();
                let inner = self.sum(tokens, 0, depth + 1)?;
                tokens.expect(")").map(|()| inner)
            }
            (Kind::Word, name) => {
                let found = match name {
                    "rank" => Some(Expression::Rank),
                    "size" => Some(Expression::Size),
                    _ => self.loops.iter().position(|l| l == name).map(Expression::Loop),
                };
                let found = found.ok_or_else(|| {
                    let known = self.loops.iter().map(String::as_str).chain(["rank", "size"]);
                    let known: Vec<&str> = known.filter(|n| !n.is_empty()).collect();
                    let help = format!("there are {}", known.join(", "));
                    tokens.mistake(format!("`{name}` is no number")).help(help)
                })?;
                tokens.skip();
                Ok(found)
            }
            _ => Err(tokens.wanted("a number")),
        }
    }

    /// `[0, 2, 4 to 7]`
    pub(super) fn group(&self, tokens: &mut Tokens<'_>) -> Step<Group> {
        let mut group = Group(Vec::new());
        list(tokens, |tokens| {
            let from = self.expression(tokens)?;
            let to = if tokens.take("to") { self.expression(tokens)? } else { from.clone() };
            group.0.push((from, to));
            Ok(())
        })?;
        Ok(group)
    }

    /// `counts [1 KiB, 8 B x 15]`, or `sends [..] receives [..]`.
    fn counts(&mut self, takes: &Word, tokens: &mut Tokens<'_>) -> Step<Counts> {
        let mut counts = Counts(Vec::new());
        let words: &[&str] = if takes.kind.has_two_lists() { &["sends", "receives"] } else { &["counts"] };
        for word in words {
            tokens.expect(word)?;
            list(tokens, |tokens| {
                let quantity = self.quantity(tokens, Family::Bytes)?;
                let times = if tokens.take("x") { self.expression(tokens)? } else { Expression::Number(1) };
                counts.0.push((quantity, times));
                Ok(())
            })?;
        }
        Ok(counts)
    }

    pub(super) fn comm(&self, tokens: &mut Tokens<'_>) -> Step<Comm> {
        let name = tokens.peek().1;
        let known = self.comms.get(name).copied().ok_or_else(|| {
            let mistake = tokens.wanted("a communicator");
            match nearest(name, self.comms.keys().map(String::as_str)).first() {
                Some(near) => mistake.help(format!("did you mean `{near}`?")),
                None => {
                    mistake.help("there is `world`; others are made by `dup`, `split`, `create` and `define`")
                }
            }
        })?;
        tokens.skip();
        Ok(known)
    }

    fn new_comm(&mut self, tokens: &mut Tokens<'_>) -> Step<Comm> {
        tokens.expect("as")?;
        if tokens.is("world") {
            return Err(tokens.mistake("`world` is the communicator of all ranks"));
        }
        let name = tokens.word("a name")?;
        let next = self.comms.len() as u32;
        Ok(*self.comms.entry(name.to_owned()).or_insert(next))
    }

    fn new_request(&mut self, tokens: &mut Tokens<'_>) -> Step<Option<Request>> {
        if tokens.is("as") { self.named(tokens).map(Some) } else { Ok(None) }
    }

    pub(super) fn named(&mut self, tokens: &mut Tokens<'_>) -> Step<Request> {
        tokens.expect("as")?;
        let name = tokens.word("a name")?;
        let next = self.requests.len() as u32;
        Ok(*self.requests.entry(name.to_owned()).or_insert(next))
    }

    fn request(&self, tokens: &mut Tokens<'_>) -> Step<Request> {
        let (kind, name) = tokens.peek();
        if kind != Kind::Word {
            return Err(tokens.wanted("a request"));
        }
        let known = self.requests.get(name).copied().ok_or_else(|| {
            let mistake = tokens.mistake(format!("no request was called `{name}`"));
            match nearest(name, self.requests.keys().map(String::as_str)).first() {
                Some(near) => mistake.help(format!("did you mean `{near}`?")),
                None => mistake.help("requests get their names by `as`: `isend 8 B to 1 as r`"),
            }
        })?;
        tokens.skip();
        Ok(known)
    }

    fn list_of_requests(&self, tokens: &mut Tokens<'_>) -> Step<Arc<[Request]>> {
        let mut list = Vec::new();
        while tokens.peek().0 == Kind::Word && !tokens.is("done") {
            list.push(self.request(tokens)?);
        }
        Ok(list.into())
    }

    fn some_requests(&self, tokens: &mut Tokens<'_>) -> Step<Arc<[Request]>> {
        let list = self.list_of_requests(tokens)?;
        if list.is_empty() { Err(tokens.wanted("a request")) } else { Ok(list) }
    }
}

/// Items between brackets, with commas between them.
fn list(tokens: &mut Tokens<'_>, mut item: impl FnMut(&mut Tokens<'_>) -> Step<()>) -> Step<()> {
    tokens.expect("[")?;
    if tokens.take("]") {
        return Ok(());
    }
    loop {
        item(tokens)?;
        if !tokens.take(",") {
            return tokens.expect("]");
        }
    }
}

/// A whole number.
pub(super) fn integer(tokens: &mut Tokens<'_>, what: &str) -> Step<u64> {
    let (Kind::Number, text) = tokens.peek() else { return Err(tokens.wanted(what)) };
    let value = text.parse().map_err(|_| tokens.mistake(format!("{what} is a whole number below 2^64")))?;
    tokens.skip();
    Ok(value)
}
