//! Any network, from a file: an edge list for people or JSON as `export::json` writes it.
//!
//! Both readers, `text` and `json`, make a `GraphBuilder`; checking it and turning it into a fabric is the same for both. All mistakes
//! of a file are reported at once, each with its line.

mod builder;
mod json;
mod mistake;
mod text;

pub use builder::{Classes, GraphShape};

pub(super) use json::{Lines, plain};
pub use mistake::Mistake;
pub(super) use mistake::{Place, done, problems_of, read_text};

use super::Sizes;
use crate::{
    graph::Fabric,
    topology::entry::{Constant, Topology},
};
use base::{
    param::{Kind, Param, Problem, Values},
    registry::About,
};
use builder::GraphBuilder;

/// Link classes of its own. Those that need no parameters, from the third on, mean nothing.
const CLASSES: Classes = &["terminal", "link", "a", "b", "c", "d"];

/// The graph, with link classes of its own only: the registry adds those of all other topologies.
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
    sizes: |values| sizes(values, CLASSES),
    build: |values| build(values, CLASSES),
    small: &[
        &[("file", Constant::Text(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/kite.graph")))],
        &[("file", Constant::Text(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/mesh.json")))],
    ],
};

/// Builds the network that a file's text describes, whose links may be of these classes.
///
/// # Errors
/// All mistakes, in the order of lines; of more than a hundred the number of the others.
pub fn parse(text: &str, classes: Classes) -> Result<Fabric, Vec<Mistake>> {
    let builder = builder(text, classes)?;
    builder.sizes()?;
    builder.build(TOPOLOGY.about.name, classes)
}

fn builder(text: &str, classes: Classes) -> Result<GraphBuilder, Vec<Mistake>> {
    if text.trim_start().starts_with('{') { json::read(text, classes) } else { text::read(text, classes) }
}

/// The file's text, what it says and how much that is.
fn read(values: &Values, classes: Classes) -> Result<(String, GraphBuilder, Sizes), Vec<Problem>> {
    let (path, text) = read_text(values)?;
    match builder(&text, classes).and_then(|builder| builder.sizes().map(|sizes| (builder, sizes))) {
        Ok((builder, sizes)) => Ok((text, builder, sizes)),
        Err(mistakes) => Err(problems_of(&path, &text, mistakes)),
    }
}

/// [`Topology::sizes`] of a file whose links may be of these classes.
pub(crate) fn sizes(values: &Values, classes: Classes) -> Result<Sizes, Vec<Problem>> {
    read(values, classes).map(|(_, _, sizes)| sizes)
}

/// [`Topology::build`] of such a file.
pub(crate) fn build(values: &Values, classes: Classes) -> Result<Fabric, Vec<Problem>> {
    let (text, builder, _) = read(values, classes)?;
    builder
        .build(TOPOLOGY.about.name, classes)
        .map_err(|mistakes| problems_of(&values.text("file"), &text, mistakes))
}

#[cfg(test)]
mod tests;
