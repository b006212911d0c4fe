//! Links of a run from its table `topology`, and the graph of routers that is drawn.

use crate::page::columns::floats;
use base::sorted::SortedMap;
use results::table::Table;

/// Most routers that are drawn one by one, and most lines between them.
const MOST_ROUTERS: usize = 1_200;
const MOST_LINES: usize = 12_000;

/// An end of a directed link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// A router's port.
    Router(u32, u32),
    /// A terminal, by its number.
    Terminal(u32),
    /// Nothing that is known.
    Nowhere,
}

/// A directed link.
#[derive(Clone, Debug)]
pub struct Wire {
    /// Its number in tables.
    pub link: u32,
    /// Where it begins.
    pub from: End,
    /// Where it ends.
    pub to: End,
    /// Bytes per second at most.
    pub bandwidth: f64,
    /// What it is called: names of the fabric's files where they exist.
    pub name: String,
    /// Its link class.
    pub class: String,
}

/// All links of a network.
#[derive(Clone, Debug, Default)]
pub struct Wires {
    /// By their place in the table, which is ascending in link.
    pub all: Vec<Wire>,
    /// Number of its routers.
    pub routers: usize,
    /// Number of its terminals.
    pub terminals: usize,
    /// Names of routers, where files gave some.
    pub names: SortedMap<u32, String>,
}

impl Wires {
    /// Reads the table `topology`.
    pub fn of(table: &Table) -> Option<Self> {
        let [links, from, from_port, to, to_port] =
            ["link", "from", "from_port", "to", "to_port"].map(|name| table.u32_column(name));
        let (links, from, from_port, to, to_port) = (links?, from?, from_port?, to?, to_port?);
        let (from_kind, to_kind) = (table.text_column("from_kind")?, table.text_column("to_kind")?);
        let (class, bandwidth) = (table.text_column("class")?, floats(table, "bandwidth_bytes_per_s")?);
        let ports = ["from_cable_port", "to_cable_port"].map(|name| table.u32_column(name));
        let end = |kind: &str, number, port| match kind {
            "router" => End::Router(number, port),
            "terminal" => End::Terminal(number),
            _ => End::Nowhere,
        };
        let (from_names, to_names) = (all_names(table, "from_name"), all_names(table, "to_name"));
        let mut wires = Self::default();
        let kinds = from_kind.iter().zip(to_kind.iter()).zip(class.iter());
        for (row, ((a, b), class)) in kinds.enumerate() {
            let (start, stop) = (end(a, from[row], from_port[row]), end(b, to[row], to_port[row]));
            for end in [start, stop] {
                match end {
                    End::Router(r, _) => wires.routers = wires.routers.max(r as usize + 1),
                    End::Terminal(t) => wires.terminals = wires.terminals.max(t as usize + 1),
                    End::Nowhere => {}
                }
            }
            let called = |end: End, names: &[String], ports: Option<&[u32]>| {
                let own = names.get(row).filter(|name| !name.is_empty());
                let own = own.map(|name| match ports.and_then(|p| p.get(row)) {
                    Some(port) => format!(" = {name} port {port}"),
                    None => format!(" = {name}"),
                });
                match end {
                    End::Router(r, p) => format!("router {r} port {p}{}", own.unwrap_or_default()),
                    End::Terminal(t) => format!("terminal {t}{}", own.unwrap_or_default()),
                    End::Nowhere => String::new(),
                }
            };
            for (end, names) in [(start, &from_names), (stop, &to_names)] {
                if let (End::Router(r, _), Some(name)) = (end, names.get(row).filter(|n| !n.is_empty())) {
                    wires.names.entry(r).or_insert_with(|| name.clone());
                }
            }
            let (head, tail) = (called(start, &from_names, ports[0]), called(stop, &to_names, ports[1]));
            let name = if head.is_empty() && tail.is_empty() {
                class.to_owned()
            } else {
                format!("{head} \u{2192} {tail}")
            };
            let (link, bandwidth, class) = (links[row], bandwidth[row], class.to_owned());
            wires.all.push(Wire { link, from: start, to: stop, bandwidth, name, class });
        }
        Some(wires)
    }

    /// Place of a link in [`Wires::all`].
    pub fn place(&self, link: u32) -> Option<usize> {
        self.all.binary_search_by_key(&link, |wire| wire.link).ok()
    }
}

fn all_names(table: &Table, column: &str) -> Vec<String> {
    table.text_column(column).map_or_else(Vec::new, |names| names.iter().map(str::to_owned).collect())
}

/// A dot of the picture: a router, or several.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// What it is called.
    pub name: String,
    /// Links from its terminals, by place.
    pub inward: Vec<usize>,
    /// Links to them.
    pub outward: Vec<usize>,
}

impl Node {
    /// True if no terminal is linked to it.
    pub fn is_bare(&self) -> bool {
        self.inward.is_empty() && self.outward.is_empty()
    }
}

/// A line of the picture: the links from one dot to another.
#[derive(Clone, Debug)]
pub struct Line {
    /// Dot where it begins.
    pub from: usize,
    /// Dot where it ends.
    pub to: usize,
    /// Links, by place.
    pub wires: Vec<usize>,
}

/// What is drawn.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// Dots, by number.
    pub nodes: Vec<Node>,
    /// Lines, by their ends.
    pub lines: Vec<Line>,
    /// Routers of each dot: all have as many but the last.
    pub each: usize,
}

impl Graph {
    /// The graph of routers; if there are too many, of blocks of routers with neighbouring numbers, of a multiple of `unit` routers.
    pub fn of(wires: &Wires, unit: usize) -> Self {
        let mut each = 1;
        let mut lines = bundles(wires, each);
        while wires.routers.div_ceil(each) > MOST_ROUTERS || lines.len() > MOST_LINES {
            each = if each == 1 { unit.max(2) } else { each * 2 };
            lines = bundles(wires, each);
        }
        let mut nodes: Vec<Node> = (0..wires.routers.div_ceil(each))
            .map(|n| {
                let (first, last) = (n * each, ((n + 1) * each).min(wires.routers) - 1);
                let own = wires.names.get(&(first as u32)).filter(|_| each == 1);
                let name = match own {
                    Some(name) => format!("router {first} = {name}"),
                    None if first == last => format!("router {first}"),
                    None => format!("routers {first} to {last}"),
                };
                Node { name, ..Node::default() }
            })
            .collect();
        for (place, wire) in wires.all.iter().enumerate() {
            match (wire.from, wire.to) {
                (End::Terminal(_), End::Router(r, _)) => nodes[r as usize / each].inward.push(place),
                (End::Router(r, _), End::Terminal(_)) => nodes[r as usize / each].outward.push(place),
                _ => {}
            }
        }
        let lines = lines.into_iter().map(|((from, to), wires)| Line { from, to, wires }).collect();
        Self { nodes, lines, each }
    }

    /// Neighbours of each dot, each once, ascending.
    pub fn neighbours(&self) -> Vec<Vec<usize>> {
        let mut all = vec![Vec::new(); self.nodes.len()];
        for line in &self.lines {
            all[line.from].push(line.to);
            all[line.to].push(line.from);
        }
        for some in &mut all {
            some.sort_unstable();
            some.dedup();
        }
        all
    }
}

fn bundles(wires: &Wires, each: usize) -> SortedMap<(usize, usize), Vec<usize>> {
    let mut lines = SortedMap::<_, Vec<usize>>::new();
    for (place, wire) in wires.all.iter().enumerate() {
        if let (End::Router(a, _), End::Router(b, _)) = (wire.from, wire.to) {
            let ends = (a as usize / each, b as usize / each);
            if ends.0 != ends.1 {
                lines.entry(ends).or_default().push(place);
            }
        }
    }
    lines
}
