//! Any network, from a file: an edge list for people or JSON as `export::json` writes it.
//!
//! Both readers, `text` and `json`, make a `Draft`; checking it and turning it into a fabric is the same for both. All mistakes
//! of a file are told at once, each with its line.

mod json;
mod text;

pub(super) use json::{Lines, plain};

use super::{Sizes, Wiring};
use crate::{
    graph::Fabric,
    registry::{Constant, Topology},
};
use base::{
    param::{Excerpt, Kind, Param, Problem, Values},
    registry::About,
};

/// The names that links of a file may have: those of all other topologies, and some without a meaning.
const CLASSES: &[&str] = &[
    "terminal", "link", "local", "global", "tree", "row", "column", "lane", "optical", "wireless", "level-1",
    "level-2", "level-3", "level-4", "level-5", "level-6", "level-7", "level-8", "dim-0", "dim-1", "dim-2",
    "dim-3", "dim-4", "dim-5", "dim-6", "dim-7", "a", "b", "c", "d",
];
/// The class of a link that names none.
const LINK: u8 = 1;
/// Most routers of a file.
const MAX_ROUTERS: u64 = 1 << 24;
/// Mistakes that are told; a file with more has another problem.
const MAX_MISTAKES: usize = 100;

/// The registered graph.
pub const TOPOLOGY: Topology = Topology {
    about: About {
        name: "graph",
        summary: "any network: routers, links and terminals from a file",
        doc: "The file is an edge list or JSON; a file whose first character is { is JSON. An edge list has one \
              statement per line; what follows # is a comment. `A B` links routers A and B (numbers from 0); `A B CLASS` \
              gives the link a class, `A B CLASS xN` or `A B xN` makes it N parallel cables. `routers N` says how many \
              there are (else the greatest number says it). `terminals N` puts N on every router, `terminals A N` on \
              router A; without either, every router has one. Ports of a router are numbered by the lines of its \
              links, then its terminals; terminals are numbered router by router. \
              JSON is what `netloom fabric export` writes: {\"format\": \"netloom-graph\", \"version\": 1, \"routers\": N, \
              \"links\": [..], \"terminals\": [..]}. A link is {\"class\": \"local\", \"a\": [router, port], \"b\": [router, \
              port]}, a terminal [router, port]; a plain number in place of [router, port] leaves the choice of ports to \
              the reader, for all of the file or none of it, and then \"count\": N makes parallel cables. \"ports\": [..] gives the \
              ports of each router, if some have no cable. \
              Link classes are those of the other topologies and a, b, c, d; a class without parameters of its own \
              is like `link`. All terminals must reach each other.",
        source: "own format",
        params: &[Param { name: "file", kind: Kind::File, default: None, doc: "the network" }],
    },
    classes: CLASSES,
    required: 2,
    sizes: |values| read(values).map(|(_, _, sizes)| sizes),
    build,
    small: &[
        &[("file", Constant::Text(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/kite.graph")))],
        &[("file", Constant::Text(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/mesh.json")))],
    ],
};

/// Geometry of a graph: there is none to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphShape;

/// A mistake in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Number of the line, from 1; 0 if no single line is to blame.
    pub line: u64,
    /// First byte of the mistake in its line.
    pub start: usize,
    /// One past its last byte.
    pub end: usize,
    /// What is wrong.
    pub message: String,
}

/// Builds the network that a file's text describes.
///
/// # Errors
/// All mistakes, in the order of lines; at most a hundred.
pub fn parse(text: &str) -> Result<Fabric, Vec<Mistake>> {
    let draft = draft(text)?;
    draft.sizes()?;
    draft.build()
}

fn draft(text: &str) -> Result<Draft, Vec<Mistake>> {
    if text.trim_start().starts_with('{') { json::read(text) } else { text::read(text) }
}

/// Path and text of the file that `file` names.
pub(super) fn read_text(values: &Values) -> Result<(String, String), Vec<Problem>> {
    let path = values.text("file");
    let whole = |message| {
        let excerpt = Excerpt { file: path.clone(), ..Excerpt::default() };
        vec![Problem::new("file", message).at(excerpt)]
    };
    let bytes =
        base::input::read(&path).map_err(|error| whole(format!("the file cannot be read: {error}")))?;
    let text = String::from_utf8(bytes).map_err(|_| whole("the file is not UTF-8 text".to_owned()))?;
    Ok((path, text))
}

/// The file's text, what it says and how much that is.
fn read(values: &Values) -> Result<(String, Draft, Sizes), Vec<Problem>> {
    let (path, text) = read_text(values)?;
    match draft(&text).and_then(|draft| draft.sizes().map(|sizes| (draft, sizes))) {
        Ok((draft, sizes)) => Ok((text, draft, sizes)),
        Err(mistakes) => Err(tell(&path, &text, mistakes)),
    }
}

fn build(values: &Values) -> Result<Fabric, Vec<Problem>> {
    let (text, draft, _) = read(values)?;
    draft.build().map_err(|mistakes| tell(&values.text("file"), &text, mistakes))
}

/// Mistakes as problems with the lines that they are in.
pub(super) fn tell(path: &str, text: &str, mistakes: Vec<Mistake>) -> Vec<Problem> {
    let lines: Vec<&str> = text.lines().collect();
    let told = mistakes.into_iter().map(|m| {
        let line = m.line.checked_sub(1).and_then(|i| lines.get(i as usize)).copied().unwrap_or("");
        let excerpt = Excerpt {
            file: path.to_owned(),
            line: m.line,
            text: line.to_owned(),
            start: m.start,
            end: m.end,
        };
        Problem::new("file", m.message).at(excerpt)
    });
    told.collect()
}

/// A stretch of a line that a statement or a part of it stands in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) line: u64,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Place {
    pub(super) fn mistake(self, message: impl Into<String>) -> Mistake {
        Mistake { line: self.line, start: self.start, end: self.end, message: message.into() }
    }
}

/// Where a cable ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct End {
    router: u64,
    port: Option<u64>,
}

/// Parallel cables between two routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Link {
    class: u8,
    ends: [End; 2],
    count: u64,
    place: Place,
}

/// What a file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Draft {
    /// Number of routers.
    routers: u64,
    /// Ports of each router, if the file says so.
    ports: Option<Vec<u64>>,
    links: Vec<Link>,
    /// Terminals of one router each: where, how many.
    terminals: Vec<(End, u64, Place)>,
}

impl Draft {
    /// Number of a class, or why there is none of that name.
    fn class(name: &str, place: Place) -> Result<u8, Mistake> {
        match CLASSES.iter().position(|c| *c == name) {
            Some(0) => Err(place.mistake("links between routers cannot be of class `terminal`")),
            Some(class) => Ok(class as u8),
            None => {
                let near = base::registry::nearest(name, CLASSES[1..].iter().copied());
                let hint = near.first().map_or_else(String::new, |near| format!(": did you mean `{near}`?"));
                Err(place.mistake(format!("there is no link class `{name}`{hint}")))
            }
        }
    }

    /// Counts, after checking that all routers exist and that the file numbers all ports or none.
    fn sizes(&self) -> Result<Sizes, Vec<Mistake>> {
        let mut mistakes = Vec::new();
        let n = self.routers;
        if n == 0 || n > MAX_ROUTERS {
            mistakes
                .push(Place::default().mistake(format!("there must be 1 to {MAX_ROUTERS} routers, not {n}")));
        }
        let ends = || {
            let links = self.links.iter().flat_map(|link| link.ends.map(|end| (end, link.place)));
            links.chain(self.terminals.iter().map(|&(end, _, place)| (end, place)))
        };
        for (end, place) in ends().filter(|(end, _)| end.router >= n) {
            let message = format!("there is no router {}: {n} routers are numbered from 0", end.router);
            mistakes.push(place.mistake(message));
        }
        for link in self.links.iter().filter(|link| link.ends[0].router == link.ends[1].router) {
            mistakes.push(link.place.mistake("a link cannot lead from a router to itself"));
        }
        let numbered = ends().next().is_some_and(|(end, _)| end.port.is_some());
        if let Some((_, place)) = ends().find(|(end, _)| end.port.is_some() != numbered) {
            mistakes.push(place.mistake("ports must be given for all links and terminals or for none"));
        }
        for link in self.links.iter().filter(|link| numbered && link.count > 1) {
            mistakes.push(link.place.mistake("cables with ports are told one by one, without a count"));
        }
        if self.terminals.iter().all(|&(_, count, _)| count == 0) {
            mistakes.push(Place::default().mistake("the network has no terminal"));
        }
        if mistakes.is_empty() {
            mistakes = self.beyond_ports();
        }
        mistakes.truncate(MAX_MISTAKES);
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        let terminals = self.terminals.iter().fold(0u64, |sum, &(_, count, _)| sum.saturating_add(count));
        let ports = self.degrees().iter().fold(0u64, |sum, n| sum.saturating_add(*n));
        Sizes::within_limits(Some(Sizes { routers: n, terminals, ports }), "file")
            .map_err(|problems| problems.into_iter().map(|p| Place::default().mistake(p.message)).collect())
    }

    /// Ends of cables with how many of them and where they are told, links first.
    fn ends(&self) -> impl Iterator<Item = (End, u64, Place)> + '_ {
        let links = self.links.iter().flat_map(|link| link.ends.map(|end| (end, link.count, link.place)));
        links.chain(self.terminals.iter().copied())
    }

    /// Ports that each router needs for the cables in hand, after each end in turn: end, place, ports.
    fn needs(&self) -> impl Iterator<Item = (End, Place, u64)> + '_ {
        let mut needed = vec![0u64; self.routers as usize];
        self.ends().map(move |(end, count, place)| {
            let needed = &mut needed[end.router as usize];
            *needed = match end.port {
                Some(port) => (*needed).max(port.saturating_add(1)),
                None => needed.saturating_add(count),
            };
            (end, place, *needed)
        })
    }

    /// Ends of cables that are beyond the ports which the file gives their router, each router once.
    fn beyond_ports(&self) -> Vec<Mistake> {
        let mut left = self.ports.clone().unwrap_or_else(|| vec![u64::MAX; self.routers as usize]);
        let mut mistakes = Vec::new();
        for (end, place, needed) in self.needs() {
            let ports = &mut left[end.router as usize];
            if needed > *ports {
                let message =
                    format!("router {} has {ports} ports by `ports`, and this needs {needed}", end.router);
                mistakes.push(place.mistake(message));
                *ports = u64::MAX;
            }
        }
        mistakes
    }

    /// Ports of each router.
    fn degrees(&self) -> Vec<u64> {
        let mut degrees = self.ports.clone().unwrap_or_default();
        degrees.resize(self.routers as usize, 0);
        for (end, _, needed) in self.needs() {
            let degree = &mut degrees[end.router as usize];
            *degree = (*degree).max(needed);
        }
        degrees
    }

    /// The network; [`Draft::sizes`] has found nothing wrong.
    fn build(&self) -> Result<Fabric, Vec<Mistake>> {
        let degrees = self.degrees();
        let mut wiring = Wiring::new(degrees.iter().map(|&n| n as u32));
        let mut taken: Vec<Vec<bool>> = degrees.iter().map(|&n| vec![false; n as usize]).collect();
        let mut next = vec![0; degrees.len()];
        let mut mistakes = Vec::new();
        let mut take = |end: End, place: Place| {
            let router = end.router as usize;
            let port = end.port.unwrap_or_else(|| {
                next[router] += 1;
                next[router] - 1
            });
            let free = !std::mem::replace(&mut taken[router][port as usize], true);
            if !free && mistakes.len() < MAX_MISTAKES {
                mistakes.push(place.mistake(format!("port {port} of router {router} has a cable already")));
            }
            free.then_some((end.router as u32, port as u32))
        };
        for link in &self.links {
            for _ in 0..link.count {
                let [a, b] = link.ends.map(|end| take(end, link.place));
                if let (Some(a), Some(b)) = (a, b) {
                    wiring.link(link.class, a, b);
                }
            }
        }
        for &(end, count, place) in &self.terminals {
            for _ in 0..count {
                if let Some((router, port)) = take(end, place) {
                    wiring.terminal(router, port);
                }
            }
        }
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        connected(wiring.finish(TOPOLOGY.about.name, CLASSES, GraphShape))
    }
}

/// The fabric, if all its terminals reach each other.
fn connected(fabric: Fabric) -> Result<Fabric, Vec<Mistake>> {
    let from = crate::metrics::distances(&fabric, fabric.router_at(0));
    let lost = (0..fabric.terminals()).find(|&t| from[fabric.router_at(t) as usize] == u32::MAX);
    match lost {
        None => Ok(fabric),
        Some(t) => Err(vec![Place::default().mistake(format!(
            "the network falls apart: no way leads from router {} to router {}, and both have terminals",
            fabric.router_at(0),
            fabric.router_at(t)
        ))]),
    }
}

#[cfg(test)]
mod tests;
