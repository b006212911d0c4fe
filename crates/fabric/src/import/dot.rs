//! DOT with routes in edge comments (ORCS, TR-675, section 2.1, listing 1).
//!
//! Nodes whose name begins with `H` are hosts, all others switches. An edge's `comment` lists, separated by commas or blanks, the hosts
//! to which a message that has come to the edge's tail leaves by this edge; `*` stands for any. Of several edges that match, that counts
//! whose head the file names first, then the first in the file: so has graphviz a node's out-edges, and so ORCS takes them. Parallel edges are parallel cables: the k-th edge from a to b is the reverse of the k-th from b to
//! a. Destinations that are no node of the graph are ignored (listing 1 has some). Edges keep the order of the file and
//! hosts have ranks in the order of their names.
//!
//! Read: `digraph`, node and edge statements, chains `a -> b -> c`, quoted and bare names, attributes, default attributes (those of edges
//! hold from there to the end of the graph or subgraph; those of nodes say nothing), comments, ports of nodes (`a:1 -> b:2`, ignored), subgraphs: these group nodes, and as an end of an edge stand for each of
//! theirs. Refused: undirected graphs. A file streams: one token is held at a time, and four
//! bytes for each destination of a comment.

mod build;
mod graph;

use super::lines::Lines;
use crate::subnet::{MAX_ENTRIES, NONE, Subnet};
use base::{param::Problem, sorted::SortedSet};
use graph::{ANY, Graph};
use std::{io::BufRead, rc::Rc};

/// How deep subgraphs may lie within each other.
const DEEPEST: u32 = 64;
/// Most edges, times their destinations, that one arrow between subgraphs may stand for.
const MAX_PRODUCT: u64 = 1 << 20;
/// The same of all arrows of a file.
const MAX_PRODUCTS: u64 = 1 << 22;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    /// A name, number or quoted text; it is in [`Reader::word`].
    Word,
    /// `->` between two nodes: a directed edge.
    Arrow,
    /// One of `{}[]=;,:`.
    Sign(u8),
    End,
}

struct Reader<'a> {
    lines: &'a mut Lines,
    word: String,
    /// Bytes of the present word.
    raw: Vec<u8>,
    /// True if the word was quoted.
    quoted: bool,
    /// Line of the token.
    line: u64,
    peeked: Option<Token>,
    /// Destinations of edges without a comment: the default where the reader is.
    default: Rc<[u32]>,
    /// Key of the edges at hand: of two with equal ends and keys Graphviz makes one.
    key: Option<u32>,
}

/// Reads a graph with its routes.
pub(super) fn read(lines: &mut Lines) -> Result<Subnet, Vec<Problem>> {
    lines.number = 1;
    let mut reader = Reader {
        lines,
        word: String::new(),
        raw: Vec::new(),
        quoted: false,
        line: 1,
        peeked: None,
        key: None,
        default: Rc::new([]),
    };
    let mut graph = Graph::default();
    if let Err(message) = reader.file(&mut graph) {
        let (line, word) = (reader.line, reader.word.clone());
        reader.lines.at(line, &word, message);
    }
    lines.done()?;
    let name = lines.name.clone();
    build::build(&graph, &name)
}

type Parsed<T> = Result<T, String>;

impl Reader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = self.peek_byte()?;
        self.lines.bytes.consume(1);
        if byte == b'\n' {
            self.lines.number += 1;
        }
        Some(byte)
    }

    fn peek_byte(&mut self) -> Option<u8> {
        self.lines.bytes.fill_buf().ok()?.first().copied()
    }

    fn skip_line(&mut self) {
        while let Some(b) = self.byte() {
            if b == b'\n' {
                break;
            }
        }
    }

    /// Skips blanks and comments.
    fn skip(&mut self) -> Parsed<()> {
        while let Some(b) = self.peek_byte() {
            match b {
                b' ' | b'\t' | b'\r' | b'\n' => drop(self.byte()),
                b'#' => self.skip_line(),
                b'/' => {
                    self.byte();
                    match self.byte() {
                        Some(b'/') => self.skip_line(),
                        Some(b'*') => {
                            let mut last = 0;
                            loop {
                                match self.byte() {
                                    Some(b'/') if last == b'*' => break,
                                    Some(b) => last = b,
                                    None => return Err("this comment has no end".to_owned()),
                                }
                            }
                        }
                        _ => return Err("a single / means nothing".to_owned()),
                    }
                }
                _ => break,
            }
        }
        Ok(())
    }

    fn peek(&mut self) -> Parsed<Token> {
        if self.peeked.is_none() {
            self.peeked = Some(self.scan()?);
        }
        Ok(self.peeked.unwrap_or(Token::End))
    }

    fn next(&mut self) -> Parsed<Token> {
        match self.peeked.take() {
            Some(token) => Ok(token),
            None => self.scan(),
        }
    }

    fn scan(&mut self) -> Parsed<Token> {
        self.skip()?;
        self.line = self.lines.number;
        let Some(b) = self.peek_byte() else { return Ok(Token::End) };
        match b {
            b'{' | b'}' | b'[' | b']' | b'=' | b';' | b',' | b':' => {
                self.byte();
                Ok(Token::Sign(b))
            }
            b'-' => {
                self.byte();
                match self.byte() {
                    Some(b'>') => Ok(Token::Arrow),
                    Some(b'-') => Err("an undirected edge: write both directions with ->".to_owned()),
                    _ => Err("a single - means nothing here".to_owned()),
                }
            }
            b'"' => self.quoted(),
            b if b.is_ascii_alphanumeric() || b == b'_' || b == b'.' || b >= 0x80 => {
                self.raw.clear();
                while let Some(b) = self.peek_byte() {
                    if !(b.is_ascii_alphanumeric() || b == b'_' || b == b'.' || b >= 0x80) {
                        break;
                    }
                    self.byte();
                    self.raw.push(b);
                }
                self.take_word(false);
                Ok(Token::Word)
            }
            other => Err(format!("`{}` means nothing here", char::from(other).escape_default())),
        }
    }

    fn quoted(&mut self) -> Parsed<Token> {
        self.byte();
        self.raw.clear();
        loop {
            // Whole stretches up to the next quote or backslash, since comments are long.
            let buffer = self.lines.bytes.fill_buf().unwrap_or_default();
            if buffer.is_empty() {
                return Err("this text in quotes has no end".to_owned());
            }
            let stop = buffer.iter().position(|b| matches!(b, b'"' | b'\\'));
            let taken = stop.unwrap_or(buffer.len());
            self.raw.extend_from_slice(&buffer[..taken]);
            self.lines.number += buffer[..taken].iter().filter(|&&b| b == b'\n').count() as u64;
            self.lines.bytes.consume(taken);
            if stop.is_none() {
                continue;
            }
            match self.byte() {
                Some(b'"') => break,
                _ => match self.byte() {
                    Some(b'"') => self.raw.push(b'"'),
                    // A line that goes on.
                    Some(b'\n') => {}
                    Some(b) => self.raw.extend([b'\\', b]),
                    None => return Err("this text in quotes has no end".to_owned()),
                },
            }
        }
        self.take_word(true);
        Ok(Token::Word)
    }

    fn take_word(&mut self, quoted: bool) {
        self.word.clear();
        self.word.push_str(&String::from_utf8_lossy(&self.raw));
        self.quoted = quoted;
    }

    fn keyword(&self, word: &str) -> bool {
        !self.quoted && self.word.eq_ignore_ascii_case(word)
    }

    fn expect(&mut self, sign: u8) -> Parsed<()> {
        match self.next()? {
            Token::Sign(s) if s == sign => Ok(()),
            _ => Err(format!("`{}` is missing here", char::from(sign))),
        }
    }

    fn file(&mut self, graph: &mut Graph) -> Parsed<()> {
        let mut token = self.next()?;
        if token == Token::Word && self.keyword("strict") {
            graph.strict = true;
            token = self.next()?;
        }
        if token != Token::Word || !self.keyword("digraph") {
            return Err("a network is a directed graph: the file must begin with `digraph`".to_owned());
        }
        if self.peek()? == Token::Word {
            self.next()?;
        }
        self.expect(b'{')?;
        self.block(graph, 0, &mut Vec::new())?;
        match self.next()? {
            Token::End => Ok(()),
            _ => Err("there is more after the graph's end; one file holds one graph".to_owned()),
        }
    }

    /// Statements up to the `}` that ends them; the nodes that they name go to `nodes`.
    fn block(&mut self, graph: &mut Graph, depth: u32, nodes: &mut Vec<u32>) -> Parsed<()> {
        if depth > DEEPEST {
            return Err(format!("subgraphs lie within each other more than {DEEPEST} times"));
        }
        // What a subgraph sets holds within it.
        let outer = Rc::clone(&self.default);
        loop {
            match self.next()? {
                Token::Sign(b';' | b',') => {}
                Token::Sign(b'}') => {
                    self.default = outer;
                    return Ok(());
                }
                Token::End => return Err("the graph has no end: `}` is missing".to_owned()),
                token => self.statement(token, graph, depth, nodes)?,
            }
        }
    }

    fn statement(&mut self, token: Token, graph: &mut Graph, depth: u32, nodes: &mut Vec<u32>) -> Parsed<()> {
        if token == Token::Word && !self.keyword("subgraph") {
            let defaults = ["node", "edge", "graph"].iter().any(|w| self.keyword(w));
            // Peeking at another word would overwrite this one.
            let name = self.word.clone();
            match self.peek()? {
                Token::Sign(b'[') if defaults => {
                    return self.defaults(name.eq_ignore_ascii_case("edge"), graph);
                }
                Token::Sign(b'=') => {
                    self.next()?;
                    return match self.next()? {
                        Token::Word => Ok(()),
                        _ => Err("a value is missing after `=`".to_owned()),
                    };
                }
                _ => {}
            }
            let first = vec![graph.node(&name)];
            return self.chain(first, graph, depth, nodes);
        }
        let first = self.end_of_edge(token, graph, depth, "a statement begins with a node's name")?;
        self.chain(first, graph, depth, nodes)
    }

    /// A node, or the nodes of a subgraph, each once.
    fn end_of_edge(
        &mut self,
        token: Token,
        graph: &mut Graph,
        depth: u32,
        otherwise: &str,
    ) -> Parsed<Vec<u32>> {
        let mut nodes = Vec::new();
        match token {
            Token::Word if self.keyword("subgraph") => {
                if self.peek()? == Token::Word {
                    self.next()?;
                }
                self.expect(b'{')?;
                self.block(graph, depth + 1, &mut nodes)?;
            }
            Token::Sign(b'{') => self.block(graph, depth + 1, &mut nodes)?,
            Token::Word => nodes.push(graph.node(&self.word)),
            _ => return Err(otherwise.to_owned()),
        }
        if nodes.len() > 1 {
            let mut first = SortedSet::new();
            nodes.retain(|&node| first.insert(node));
        }
        Ok(nodes)
    }

    /// `:port` or `:port:n` behind a node, which say nothing here.
    fn port(&mut self) -> Parsed<()> {
        while self.peek()? == Token::Sign(b':') {
            self.next()?;
            if self.next()? != Token::Word {
                return Err("the port of a node is missing after `:`".to_owned());
            }
        }
        Ok(())
    }

    /// What follows the first end of a chain of edges, which may be that end alone.
    fn chain(&mut self, first: Vec<u32>, graph: &mut Graph, depth: u32, nodes: &mut Vec<u32>) -> Parsed<()> {
        let mut chain = vec![first];
        let line = self.line;
        self.port()?;
        while self.peek()? == Token::Arrow {
            self.next()?;
            let token = self.next()?;
            chain.push(self.end_of_edge(token, graph, depth, "an edge's end is missing after `->`")?);
            self.port()?;
        }
        let mut own = None;
        self.key = None;
        while self.peek()? == Token::Sign(b'[') {
            self.attributes(&mut own, graph)?;
        }
        let default = Rc::clone(&self.default);
        let routes = own.as_deref().unwrap_or(&default);
        // One destination of a default is no more than the arrow's bytes.
        let given = own.is_none() && routes.len() > 1;
        for pair in chain.windows(2) {
            // Few bytes may stand for many edges.
            let edges = pair[0].len() as u64 * pair[1].len() as u64;
            if edges > 1 || chain.len() > 2 || given {
                let product = edges * (1 + routes.len() as u64);
                graph.products += product;
                if product > MAX_PRODUCT || graph.products > MAX_PRODUCTS {
                    return Err("these subgraphs and chains have too many edges between them".to_owned());
                }
            }
            for (&a, &b) in pair[0].iter().flat_map(|a| pair[1].iter().map(move |b| (a, b))) {
                graph.count(a, b, self.key).inspect_err(|_| self.line = line)?;
                graph.edges.push((a, b));
                graph.routes.extend_from_slice(routes);
                graph.ends.push(graph.routes.len() as u64);
            }
        }
        // Nobody asks for the nodes of the whole graph.
        if depth > 0 {
            chain.iter().for_each(|end| nodes.extend_from_slice(end));
        }
        if graph.edges.len() as u64 >= u64::from(NONE) || graph.routes.len() as u64 >= MAX_ENTRIES {
            return Err("the graph is too large".to_owned());
        }
        Ok(())
    }

    /// `[ .. ]` behind `edge`, `node` or `graph`.
    fn defaults(&mut self, of_edges: bool, graph: &mut Graph) -> Parsed<()> {
        let mut routes = None;
        self.attributes(&mut routes, graph)?;
        if let Some(routes) = routes.filter(|_| of_edges) {
            self.default = routes.into();
        }
        Ok(())
    }

    /// `[ a = b, c = d; .. ]`; collects the destinations of `comment`, if there is one.
    fn attributes(&mut self, routes: &mut Option<Vec<u32>>, graph: &mut Graph) -> Parsed<()> {
        self.expect(b'[')?;
        loop {
            match self.next()? {
                Token::Sign(b']') => return Ok(()),
                Token::Sign(b',' | b';') => {}
                Token::Word => {
                    let comment = self.word.eq_ignore_ascii_case("comment");
                    let key = self.word.eq_ignore_ascii_case("key");
                    self.expect(b'=')?;
                    if self.next()? != Token::Word {
                        return Err(
                            "an attribute's value is missing; quote it if it is no plain word".to_owned()
                        );
                    }
                    if key {
                        self.key = Some(graph.name(&self.word));
                    }
                    if comment {
                        let routes = routes.insert(Vec::new());
                        if self.word.trim() == "*" {
                            routes.push(ANY);
                        } else {
                            let parts =
                                self.word.split([',', ' ', '\t', '\n', '\r']).filter(|t| !t.is_empty());
                            routes.extend(parts.map(|name| graph.name(name)));
                        }
                    }
                }
                _ => return Err("an attribute is written name = value".to_owned()),
            }
        }
    }
}
