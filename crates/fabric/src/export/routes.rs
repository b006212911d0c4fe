//! Ways of a routing, written as a table or as source routes, with their virtual channels: what routings `table` and `source-routes` read.
//!
//! What is written is found by asking: a routing that looks at no queues is walked from every terminal to every other one. If the answers hang on the pair
//! alone, the file gives the very same ways. If packets draw their path, all ways that they could draw are written, and whoever reads the file
//! draws among them evenly at the first router, which need not be how the routing draws.

use crate::{
    graph::Fabric,
    routing::{
        Routing,
        walk::{Path, follow, start, walk},
    },
};
use base::{
    index::{ChannelId, PortId, RouterId, TerminalId},
    sorted::{SortedMap, SortedSet},
};
use std::fmt::Write as _;

/// Most links of a path, and most ways of a pair: more are no routing that a file could stand for.
const MOST: usize = 254;

/// Draws that must agree before ways count as drawn by nobody.
const DRAWS: u64 = 16;

/// Why no file is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unwritten {
    /// The routing looks at queues.
    Adaptive,
    /// A table cannot hold ways that hang on where a packet comes from.
    BySource {
        /// Where two packets to one terminal go on differently.
        router: RouterId,
        /// Terminal that both packets are for.
        destination: TerminalId,
    },
    /// A pair has too many ways, or one is too long.
    Many(TerminalId, TerminalId),
    /// Packets leave for this terminal on another channel than the first, which a table cannot say.
    Leaves(TerminalId),
    /// The paths do not fit in memory; how much they need.
    Memory(String),
}

/// The ways of a routing as text, and whether packets draw among them.
pub struct Written {
    /// Lines of the file, a remark before them.
    pub text: String,
    /// Some pair has several ways.
    pub drawn: bool,
}

/// The way that a packet takes.
fn walked(
    fabric: &Fabric,
    routing: &dyn Routing,
    source: TerminalId,
    destination: TerminalId,
    draw: u64,
) -> Result<Path, Unwritten> {
    walk(fabric, routing, start(fabric, source, destination, draw), MOST, &mut |_| {})
        .ok_or(Unwritten::Many(source, destination))
}

/// All ways that a packet of a pair could take.
fn possible(
    fabric: &Fabric,
    routing: &dyn Routing,
    source: TerminalId,
    destination: TerminalId,
) -> Result<SortedSet<Path>, Unwritten> {
    let (mut found, mut open) =
        (SortedSet::new(), vec![(start(fabric, source, destination, 0), Path::new())]);
    let mut options = Vec::new();
    while let Some((hop, path)) = open.pop() {
        options.clear();
        routing.options(&hop, &mut options);
        for &choice in &options {
            let mut longer = path.clone();
            longer.push((hop.router, choice.port, choice.vc));
            match follow(fabric, &hop, choice) {
                None => _ = found.insert(longer),
                Some(next) => open.push((next, longer)),
            }
        }
        if found.len() > MOST || path.len() > MOST || open.len() > MOST * MOST {
            return Err(Unwritten::Many(source, destination));
        }
    }
    Ok(found)
}

/// A source, a destination, and the paths between them.
type Pair = (TerminalId, TerminalId, SortedSet<Path>);

/// Paths of all pairs of terminals on different routers, and whether some are drawn.
fn paths(fabric: &Fabric, routing: &dyn Routing) -> Result<(Vec<Pair>, bool), Unwritten> {
    if !routing.facts().oblivious || routing.facts().escapes.is_some() {
        return Err(Unwritten::Adaptive);
    }
    let ends: Vec<TerminalId> = fabric.reachable().collect();
    let room = |pairs: usize| base::memory::takes(pairs as u64 * PAIR).map_err(Unwritten::Memory);
    room(ends.len() * ends.len() / fabric.planes().max(1) as usize)?;
    let mut all = Vec::new();
    for &source in &ends {
        // Long ways, and many, take more.
        room(ends.len())?;
        // No packet changes its plane.
        let others = ends.iter().filter(|&&d| fabric.plane_of(d) == fabric.plane_of(source));
        for &destination in others.filter(|&&d| fabric.router_at(d) != fabric.router_at(source)) {
            let drawn = (0..DRAWS).map(|draw| walked(fabric, routing, source, destination, draw));
            all.push((source, destination, drawn.collect::<Result<SortedSet<Path>, _>>()?));
        }
    }
    let drawn = all.iter().any(|(.., paths)| paths.len() > 1);
    if drawn {
        for (number, (source, destination, paths)) in all.iter_mut().enumerate() {
            if number.is_multiple_of(1 << 14) {
                room(1 << 14)?;
            }
            *paths = possible(fabric, routing, *source, *destination)?;
        }
    }
    // The text and its rows.
    room(all.len())?;
    Ok((all, drawn))
}

/// Bytes of a pair with one short path.
const PAIR: u64 = 128;

/// Lines `source destination port/vc ..`, for routing `source-routes`.
///
/// # Errors
/// What such lines cannot say.
pub fn source_routes(fabric: &Fabric, routing: &dyn Routing) -> Result<Written, Unwritten> {
    let (all, drawn) = paths(fabric, routing)?;
    let mut text = "# source destination port/vc ..\n".to_owned();
    for (source, destination, paths) in &all {
        for path in paths {
            let _ = write!(text, "{source} {destination}");
            // The port to the terminal goes without saying where its channel is the first.
            let (&(.., last), _) = path.split_last().expect("a way has links");
            let said = path.len() - usize::from(last == ChannelId::FIRST);
            for (_, port, vc) in &path[..said] {
                let _ = write!(text, " {port}/{vc}");
            }
            text.push('\n');
        }
    }
    Ok(Written { text, drawn })
}

/// Lines `router destination port vc`, for routing `table`. It draws at each router, so where two paths of a pair meet it may go on by either.
///
/// # Errors
/// What such lines cannot say.
pub fn table(fabric: &Fabric, routing: &dyn Routing) -> Result<Written, Unwritten> {
    let (all, drawn) = paths(fabric, routing)?;
    // By router and destination: of each source that comes by, how its packets may go on. They must all be the same.
    let mut rows: SortedMap<(RouterId, TerminalId), SortedSet<(PortId, ChannelId)>> = SortedMap::new();
    for (_, destination, paths) in &all {
        let mut own: SortedMap<RouterId, SortedSet<(PortId, ChannelId)>> = SortedMap::new();
        if paths.iter().filter_map(|path| path.last()).any(|(.., vc)| *vc != ChannelId::FIRST) {
            return Err(Unwritten::Leaves(*destination));
        }
        for &(router, port, vc) in paths.iter().flat_map(|path| &path[..path.len() - 1]) {
            own.entry(router).or_default().insert((port, vc));
        }
        for (router, next) in own {
            let known = rows.entry((router, *destination)).or_insert_with(|| next.clone());
            let ports: SortedSet<PortId> = next.iter().map(|n| n.0).collect();
            if *known != next || ports.len() < next.len() {
                return Err(Unwritten::BySource { router, destination: *destination });
            }
        }
    }
    let mut text = "# router destination port vc\n".to_owned();
    for ((router, destination), next) in &rows {
        for (port, vc) in next {
            let _ = writeln!(text, "{router} {destination} {port} {vc}");
        }
    }
    Ok(Written { text, drawn })
}

impl std::fmt::Display for Unwritten {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Adaptive => write!(f, "the routing goes by queues, so it has no paths of its own"),
            Self::BySource { router, destination } => write!(
                f,
                "at router {router} packets to terminal {destination} go on differently by where they come from, which a table cannot say"
            ),
            Self::Many(source, destination) => write!(
                f,
                "terminal {source} has more paths to terminal {destination}, or longer ones, than a file should hold ({MOST})"
            ),
            Self::Memory(why) => write!(f, "the paths of all pairs do not fit: {why}"),
            Self::Leaves(destination) => {
                write!(
                    f,
                    "packets leave for terminal {destination} on another virtual channel than the first"
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        registry::{Constant, ROUTINGS, values},
        routing::testing,
    };
    use base::{
        param::{Value, Values},
        registry::find,
    };
    use std::sync::Arc;

    fn routing(name: &str, fabric: &Arc<Fabric>, sample: &[(&str, Constant)]) -> Box<dyn Routing> {
        let entry = find(ROUTINGS, name).expect("registered");
        (entry.build)(fabric.clone(), &values(entry.about.params, sample)).expect("it routes the network")
    }

    /// Another routing, from a file with a text.
    fn read(name: &str, fabric: &Arc<Fabric>, text: &str, who: &str) -> Box<dyn Routing> {
        let file = std::env::temp_dir().join(format!("netloom-ways-{}-{who}", std::process::id()));
        std::fs::write(&file, text).expect("a file is written");
        let entry = find(ROUTINGS, name).expect("registered");
        let path = file.display().to_string();
        let given = |key: &str| (key == "file").then(|| Value::Text(path.clone()));
        let routing = (entry.build)(fabric.clone(), &Values::complete(entry.about.params, given));
        std::fs::remove_file(&file).expect("the file goes");
        routing.unwrap_or_else(|p| panic!("{p:?}"))
    }

    fn all(fabric: &Fabric, routing: &dyn Routing) -> Vec<Vec<(u32, u32, u8)>> {
        testing::pairs(fabric).map(|(s, d)| testing::path(fabric, routing, s, d, 1)).collect()
    }

    #[test]
    fn what_is_written_is_read_back() {
        let dragonfly = testing::dragonfly([9, 4, 2, 2]);
        let torus = testing::grid(true, &[5, 4]);
        let mesh = testing::grid(false, &[4, 3]);
        let mut tables = 0;
        for (n, (fabric, name)) in [
            (&dragonfly, "minimal"),
            (&torus, "dimension-order"),
            (&mesh, "dimension-order"),
            (&torus, "up-down"),
        ]
        .into_iter()
        .enumerate()
        {
            let select: &[(&str, Constant)] =
                if name == "up-down" { &[("select", Constant::Text("static"))] } else { &[] };
            let bound = routing(name, fabric, select);
            let written = source_routes(fabric, bound.as_ref()).expect("it can be written");
            assert!(!written.drawn, "{name}");
            let again = read("source-routes", fabric, &written.text, &format!("s{n}"));
            assert_eq!(all(fabric, again.as_ref()), all(fabric, bound.as_ref()), "{name}");
            if let Ok(written) = table(fabric, bound.as_ref()) {
                let again = read("table", fabric, &written.text, &format!("t{n}"));
                assert_eq!(all(fabric, again.as_ref()), all(fabric, bound.as_ref()), "{name}");
                tables += 1;
            }
        }
        assert!(tables > 0, "a mesh in dimension order goes by router and destination alone");
    }

    #[test]
    fn a_line_moves_one_pair() {
        let mesh = testing::grid(false, &[3, 3]);
        let bound = routing("dimension-order", &mesh, &[]);
        let text = source_routes(&mesh, bound.as_ref()).expect("it can be written").text;
        // From a corner to the one across: dimension 1 first.
        let edited = text.replace("\n0 8 1/0 1/0 3/0 3/0\n", "\n0 8 3/0 3/0 1/0 1/0\n");
        assert_ne!(edited, text);
        let again = read("source-routes", &mesh, &edited, "edited");
        let (before, after) = (all(&mesh, bound.as_ref()), all(&mesh, again.as_ref()));
        let moved: Vec<usize> = (0..before.len()).filter(|&n| before[n] != after[n]).collect();
        assert_eq!(moved, [8]);
    }

    #[test]
    fn drawn_paths_are_all_written() {
        let mesh = testing::grid(false, &[3, 3]);
        let written =
            source_routes(&mesh, routing("o1turn", &mesh, &[]).as_ref()).expect("it can be written");
        assert!(written.drawn);
        assert_eq!(written.text.lines().filter(|l| l.starts_with("0 8 ")).count(), 2);
    }

    #[test]
    fn what_cannot_be_written_says_why() {
        let mesh = testing::grid(false, &[3, 3]);
        let adaptive = source_routes(&mesh, routing("minimal-adaptive", &mesh, &[]).as_ref());
        assert_eq!(adaptive.err(), Some(Unwritten::Adaptive));
        let large = testing::grid(false, &[12, 12]);
        let written = |limit| {
            let write = || source_routes(&large, routing("dimension-order", &large, &[]).as_ref());
            base::memory::within(Some(limit), write).0.map(|written| written.drawn)
        };
        if base::memory::available().is_some() {
            assert!(matches!(written(1 << 10), Err(Unwritten::Memory(_))));
        }
        assert_eq!(written(8 << 30), Ok(false));
        let torus = testing::grid(true, &[5, 5]);
        let by_source = table(&torus, routing("dimension-order", &torus, &[]).as_ref());
        assert!(matches!(by_source.err(), Some(Unwritten::BySource { .. })));
    }
}
