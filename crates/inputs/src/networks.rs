//! Networks and routes of our own forms, and SimGrid's platforms.

use crate::text;
use base::{
    index::TerminalId,
    param::{Value, Values},
};
use fabric::{
    export::{self, routes},
    graph::Fabric,
    registry::{ROUTINGS, TOPOLOGIES},
    routing::{Routing, entry::RoutingEntry},
    topology::{entry::Topology, graph, platform},
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Largest number in a file of a network that is built: counts make large networks from few bytes, as they should.
const MOST: u64 = 1_000;

/// True if a word of a text is a number that asks for much.
fn asks_for_much(text: &str) -> bool {
    let numbers = text.split(|c: char| !c.is_ascii_digit()).filter(|word| !word.is_empty());
    numbers.map(|word| word.parse().unwrap_or(u64::MAX)).any(|n| n > MOST)
}

fn topology(name: &str) -> &'static Topology {
    TOPOLOGIES.iter().find(|t| t.about.name == name).expect("it is registered")
}

fn values(file: &Path) -> Values {
    Values::default().with("file", Value::Text(file.display().to_string()))
}

/// An edge list or JSON of a graph: written in both forms it is read again as the same network.
pub fn graph(files: &[PathBuf]) -> Result<(), String> {
    let (topology, values) = (topology("graph"), values(&files[0]));
    let sizes = (topology.sizes)(&values).map_err(text::of_problems)?;
    if sizes.routers + sizes.terminals + sizes.ports > 20 * MOST {
        return Ok(());
    }
    let fabric = (topology.build)(&values).map_err(text::of_problems)?;
    let mut json = Vec::new();
    export::json(&fabric, &mut json).expect("memory takes it");
    let again = String::from_utf8(json).expect("JSON is text");
    let again = graph::parse(&again, topology.classes)
        .unwrap_or_else(|e| panic!("what is written can be read: {e:?}"));
    same(&fabric, &again);
    let mut list = Vec::new();
    export::edge_list(&fabric, &mut list).expect("memory takes it");
    let list = String::from_utf8(list).expect("an edge list is text");
    let again = graph::parse(&list, topology.classes)
        .unwrap_or_else(|e| panic!("what is written can be read: {e:?}\n{list}"));
    assert_eq!((fabric.routers(), fabric.terminals()), (again.routers(), again.terminals()));
    Ok(())
}

fn same(a: &Fabric, b: &Fabric) {
    assert_eq!((a.routers(), a.terminals(), a.links()), (b.routers(), b.terminals(), b.links()));
    assert!(
        TerminalId::first(a.terminals()).all(|t| a.attached(t) == b.attached(t)),
        "terminals are where they were"
    );
}

/// A platform, JSON or XML: every route between its first hosts is one of its links.
pub fn platform(files: &[PathBuf]) -> Result<(), String> {
    let bytes = std::fs::read(&files[0]).expect("the folder is ours");
    // The text alone says how large a cluster is, before anything is built.
    if asks_for_much(&String::from_utf8_lossy(&bytes))
        && bytes.windows(7).any(|w| w == b"radical" || w == b"cluster")
    {
        return Ok(());
    }
    let dragonfly = bytes.len().is_multiple_of(2);
    let values = values(&files[0]).with("simgrid_dragonfly", Value::Bool(dragonfly));
    (topology("platform").sizes)(&values).map_err(text::of_problems)?;
    let text = String::from_utf8(bytes).expect("what is no text is refused");
    let beside = |name: &str| platform::read_beside(&files[0].to_string_lossy(), name);
    let read = platform::parse_with(&text, dragonfly, &beside).expect("it was read before");
    let hosts = TerminalId::first((read.hosts.len() as u32).min(16));
    for (from, to) in hosts.clone().flat_map(|a| hosts.clone().map(move |b| (a, b))) {
        for link in read.route(from, to).unwrap_or_default() {
            let loopback = from == to && link == read.loopback();
            assert!(loopback || (link as usize) < read.links.len(), "a route is made of links");
        }
    }
    Ok(())
}

/// Three routers in a ring, one terminal at each.
fn ring() -> Arc<Fabric> {
    let topology = topology("graph");
    Arc::new(graph::parse("0 1\n1 2\n2 0\n", topology.classes).expect("it is well formed"))
}

fn entry(name: &str) -> &'static RoutingEntry {
    ROUTINGS.iter().find(|r| r.about.name == name).expect("it is registered")
}

fn bound(name: &str, file: &Path) -> Result<Box<dyn Routing>, String> {
    let mut values = values(file);
    for param in entry(name).about.params {
        if let Some(value) = param.default_value() {
            values = values.with(param.name, value);
        }
    }
    (entry(name).build)(ring(), &values).map_err(text::of_problems)
}

/// What writes the paths of a routing.
type Write = fn(&Fabric, &dyn Routing) -> Result<routes::Written, routes::Unwritten>;

/// Paths of a file, written and read again, are written as the same text.
fn routed(name: &str, file: &Path, write: Write) -> Result<(), String> {
    let routing = bound(name, file)?;
    let Ok(written) = write(&ring(), &*routing) else { return Ok(()) };
    let again = file.with_file_name("again");
    std::fs::write(&again, &written.text).expect("the folder is ours");
    let routing =
        bound(name, &again).unwrap_or_else(|e| panic!("what is written can be read: {e}\n{}", written.text));
    let twice =
        write(&ring(), &*routing).unwrap_or_else(|e| panic!("what was written can be written: {e:?}"));
    if !written.drawn {
        assert_eq!(written.text, twice.text);
    }
    Ok(())
}

/// A table of next hops.
pub fn routing_table(files: &[PathBuf]) -> Result<(), String> {
    routed("table", &files[0], routes::table)
}

/// Whole paths from terminal to terminal.
pub fn source_routes(files: &[PathBuf]) -> Result<(), String> {
    routed("source-routes", &files[0], routes::source_routes)
}
