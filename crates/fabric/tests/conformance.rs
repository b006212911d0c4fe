//! Every topology, routing and pair of them keeps the promises of its trait. New entries are covered by being
//! registered.

use base::{
    hash::mix64,
    index::{ChannelId, PortId, RouterId, TerminalId},
    param::{Kind, Value, Values},
    registry::{About, Registered, find},
    rng::{Purpose, Stream},
    sorted::SortedMap,
};
use fabric::{
    deadlock::{self, Report},
    faults::{Faults, degrade},
    graph::{Fabric, Peer},
    metrics::{diameter, distances},
    registry::{Constant, ROUTINGS, TOPOLOGIES, values},
    routing::{Choice, Congestion, Hop, Routing},
};
use std::collections::BTreeSet;
use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

/// Backlogs at random, with many ties; none for a routing that must not ask.
struct Backlogs {
    seed: u64,
    allowed: bool,
}

impl Congestion for Backlogs {
    fn backlog(&mut self, port: PortId) -> u64 {
        assert!(self.allowed, "an oblivious routing asked for congestion");
        mix64(self.seed ^ u64::from(port) << 32) % 4 * 64
    }
}

/// All small fabrics, with a name for messages.
fn fabrics() -> Vec<(String, Arc<Fabric>)> {
    let mut all = Vec::new();
    for entry in TOPOLOGIES {
        for sample in entry.small {
            let values = values(entry.about.params, sample);
            let fabric = (entry.build)(&values).unwrap_or_else(|p| panic!("{}: {p:?}", entry.about.name));
            assert_eq!(fabric.topology(), entry.about.name);
            assert_eq!(fabric.classes(), entry.classes);
            let sizes = (entry.sizes)(&values).expect("sizes of what was built");
            let built = [fabric.routers().into(), fabric.terminals().into(), fabric.ports().len() as u64];
            assert_eq!([sizes.routers, sizes.terminals, sizes.ports], built, "{}", entry.about.name);
            let ends = fabric.ends().len() as u64;
            assert!(sizes.ends == ends || sizes.ends == 0, "{}: {} of {ends}", entry.about.name, sizes.ends);
            all.push((format!("{} {sample:?}", entry.about.name), Arc::new(fabric)));
        }
    }
    all
}

/// A routing table of all shortest paths.
fn shortest_paths(fabric: &Fabric) -> String {
    let mut text = String::new();
    for (terminal, &(to, _)) in fabric.attachments().iter().enumerate() {
        let distance = distances(fabric, to);
        for router in RouterId::first(fabric.routers()) {
            for (port, peer) in fabric.neighbours(router) {
                if distance[peer] + 1 == distance[router] {
                    text += &format!("{router} {terminal} {port}\n");
                }
            }
        }
    }
    text
}

/// Two shortest routes for every pair of terminals.
fn shortest_routes(fabric: &Fabric) -> String {
    let mut text = String::new();
    for destination in TerminalId::first(fabric.terminals()) {
        let distance = distances(fabric, fabric.router_at(destination));
        for (source, turn) in TerminalId::first(fabric.terminals()).flat_map(|s| [(s, 0), (s, 1)]) {
            let mut router = fabric.router_at(source);
            text += &format!("{source} {destination}");
            while distance[router] > 0 {
                let closer = |&(_, p): &(PortId, RouterId)| distance[p] + 1 == distance[router];
                let paths: Vec<(PortId, RouterId)> = fabric.neighbours(router).filter(closer).collect();
                let (port, next) = paths[(source.number() + turn) as usize % paths.len()];
                text += &format!(" {port}");
                router = next;
            }
            text += "\n";
        }
    }
    text
}

/// Path of a new file with this text.
fn file(text: &str) -> String {
    static FILES: AtomicU32 = AtomicU32::new(0);
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let path = format!("{}/table-{}-{number}.txt", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    std::fs::write(&path, text).expect("a place for temporary files");
    path
}

/// Combinations of a routing's words and booleans, other parameters at their defaults: all if they are few, else each
/// word with the others at their defaults and again with the others' last words.
fn variants(about: &About, fabric: &Fabric) -> Vec<Values> {
    let params = about.params;
    const FEW: usize = 8;
    let choices: Vec<(&str, Vec<Value>)> = params
        .iter()
        .filter_map(|param| match param.kind {
            Kind::Bool => Some((param.name, vec![Value::Bool(false), Value::Bool(true)])),
            Kind::Choice(words) => {
                Some((param.name, words.iter().map(|w| Value::Text((*w).to_owned())).collect()))
            }
            _ => None,
        })
        .collect();
    let mut plain = values(params, &[("file", Constant::Text(""))]);
    if params.iter().any(|param| param.kind == Kind::File) {
        let source = about.name == "source-routes";
        let text = if source { shortest_routes(fabric) } else { shortest_paths(fabric) };
        plain = plain.with("file", Value::Text(file(&text)));
    }
    if choices.iter().map(|(_, c)| c.len()).product::<usize>() <= FEW {
        return choices.iter().fold(vec![plain], |all, (name, choices)| {
            all.iter().flat_map(|v| choices.iter().map(|c| v.clone().with(name, c.clone()))).collect()
        });
    }
    let last = choices.iter().fold(plain.clone(), |v, (name, c)| v.with(name, c[c.len() - 1].clone()));
    let mut all: Vec<Values> = Vec::new();
    for (base, (name, choices)) in [plain, last].iter().flat_map(|b| choices.iter().map(move |c| (b, c))) {
        for choice in choices {
            let values = base.clone().with(name, choice.clone());
            if !all.contains(&values) {
                all.push(values);
            }
        }
    }
    all
}

/// Name, fabric, routing and the routing's parameters.
type Pair = (String, Arc<Fabric>, Box<dyn Routing>, Values);

/// All pairs that can be bound.
fn pairs() -> Vec<Pair> {
    let mut all = Vec::new();
    for (name, fabric) in fabrics() {
        let before = all.len();
        for entry in ROUTINGS {
            let variants = variants(entry.about(), &fabric);
            // All variants read the same file.
            let table = variants[0].0.get("file").cloned();
            for values in variants {
                match (entry.build)(fabric.clone(), &values) {
                    Ok(routing) => {
                        all.push((
                            format!("{} on {name}", entry.about.name),
                            fabric.clone(),
                            routing,
                            values,
                        ));
                    }
                    Err(problems) => {
                        let known = |key: &str| {
                            key == "algorithm" || entry.about.params.iter().any(|p| p.name == key)
                        };
                        assert!(
                            !problems.is_empty() && problems.iter().all(|p| known(&p.key)),
                            "{problems:?}"
                        );
                    }
                }
            }
            if let Some(Value::Text(path)) = table {
                std::fs::remove_file(path).expect("the file that was written");
            }
        }
        assert!(all.len() > before, "no routing knows {name}");
    }
    all
}

/// What a routing sees decides what it is worth: each that looks at the load has a sentence about it.
#[test]
fn routings_that_look_at_the_load_say_what_they_read() {
    let page = |name: &str| {
        let about = find(ROUTINGS, name).expect("registered").about;
        about.params.iter().fold(about.doc.to_owned(), |page, param| page + " " + param.doc)
    };
    let mut seen = BTreeSet::new();
    for (name, _, _, values) in pairs().iter().filter(|(_, _, routing, _)| !routing.facts().oblivious) {
        let name = name.split(' ').next().expect("the routing's name comes first");
        seen.insert(name.to_owned());
        let page = page(name);
        assert!(page.contains("Reads: ") || page.contains("Reads, where "), "{name} with {values:?}: {page}");
    }
    assert!(seen.len() >= 10, "{seen:?}");
}

#[test]
fn links_are_symmetric_and_terminals_attached() {
    for (name, fabric) in fabrics() {
        let mut plugged = 0;
        for router in RouterId::first(fabric.routers()) {
            for (port, here) in (0..).map(PortId::new).zip(fabric.ports_of(router)) {
                assert!(usize::from(here.class) < fabric.classes().len(), "{name}");
                assert_eq!(fabric.router_of(fabric.port_index(router, port)), router);
                match here.peer {
                    Peer::Router { router: peer, port: peer_port } => {
                        let there = fabric.ports_of(peer)[peer_port.index()];
                        assert_eq!(there.peer, Peer::Router { router, port }, "{name}");
                        assert_eq!(there.class, here.class, "{name}");
                        assert!(here.class > 0 && (peer, peer_port) != (router, port), "{name}");
                    }
                    Peer::Terminal(terminal) => {
                        plugged += 1;
                        assert_eq!(fabric.attached(terminal), (router, port), "{name}");
                        assert_eq!(here.class, 0, "{name}");
                    }
                    Peer::None => {}
                }
            }
        }
        assert_eq!(plugged, fabric.terminals(), "{name}");
        assert!(diameter(&fabric).is_some(), "{name}: some terminals cannot reach each other");
    }
}

#[test]
fn pairs_are_free_of_deadlock_unless_asked_not_to_be() {
    for (name, fabric, routing, values) in pairs() {
        let report = deadlock::check(&fabric, routing.as_ref(), u64::MAX);
        let asked = values.0.get("dateline") == Some(&Value::Bool(false));
        match report {
            Report::Free { exhaustive, .. } => assert!(exhaustive, "{name}"),
            Report::Cycle(_) if asked => {}
            _ => panic!("{name}: {report}"),
        }
    }
}

/// A routing that binds to a network with failures finds its way in what is left, without deadlock; the others refuse it.
#[test]
fn what_binds_to_a_network_with_failures_copes_with_them() {
    let mut bound = 0;
    for (name, intact) in fabrics() {
        let faults = Faults { link_fraction: 0.1, router_fraction: 0.1, seed: 7, ..Faults::default() };
        let left = degrade(&intact, &faults).expect("fractions are never refused").fabric;
        if left.intact() || left.ends().len() < 2 {
            continue;
        }
        let left = Arc::new(left);
        // Tables from files are made for one network.
        for entry in ROUTINGS.iter().filter(|e| e.about.params.iter().all(|p| p.default.is_some())) {
            // Which of the two it does is documented.
            let refuses = entry.about.doc.contains("failed links is refused");
            let routing = match (entry.build)(Arc::clone(&left), &values(entry.about.params, &[])) {
                Ok(routing) => routing,
                Err(problems) => {
                    let avoid = problems[0].message.contains("cannot avoid");
                    assert!(!avoid || refuses, "{} on {name}: {problems:?}", entry.about.name);
                    continue;
                }
            };
            assert!(!refuses && entry.about.doc.contains("ailed"), "{}: say what it does", entry.about.name);
            bound += 1;
            let report = deadlock::check(&left, routing.as_ref(), u64::MAX);
            assert!(report.is_free(), "{} on {name} with failures: {report}", entry.about.name);
        }
        assert!(
            (find(ROUTINGS, "up-down").expect("registered").build)(left, &values_of("up-down")).is_ok(),
            "{name}"
        );
    }
    assert!(bound > 20, "{bound}");
}

fn values_of(routing: &str) -> Values {
    values(find(ROUTINGS, routing).expect("registered").about.params, &[])
}

/// One packet's path: its length in links between routers, after checking every step.
fn walk(
    fabric: &Fabric,
    routing: &dyn Routing,
    source: TerminalId,
    destination: TerminalId,
    seed: u64,
    options: &mut SortedMap<[u64; 6], Vec<Choice>>,
) -> u32 {
    let (router, in_port) = fabric.attached(source);
    let random = Stream::new(seed, Purpose::Route, u64::from(source) << 32 | u64::from(destination));
    let mut hop =
        Hop { router, in_port, vc: ChannelId::FIRST, visited: 0, source, destination, state: 0, random };
    loop {
        assert!(u32::from(hop.visited) <= 4 * fabric.routers(), "{source} -> {destination} never ends");
        let mut allowed = Vec::new();
        routing.options(&hop, &mut allowed);
        allowed.sort();
        allowed.dedup();
        let from = u64::from(hop.router) << 32 | u64::from(hop.in_port);
        let key = [from, hop.vc.into(), hop.state.into(), routing.memory(&hop), destination.into(), 0];
        let known = options.entry(key).or_insert_with(|| allowed.clone());
        assert_eq!(*known, allowed, "memory {} does not tell all: {hop:?}", key[3]);

        let mut congestion =
            Backlogs { seed: mix64(seed ^ u64::from(hop.router)), allowed: !routing.facts().oblivious };
        let choice = routing.route(&mut hop, &mut congestion);
        assert!(allowed.contains(&choice), "{choice:?} is not among {allowed:?} for {hop:?}");
        assert!(choice.vc < ChannelId::new(routing.vcs()));
        match fabric.ports_of(hop.router)[choice.port.index()].peer {
            Peer::Router { router, port } => {
                (hop.router, hop.in_port, hop.vc, hop.state) = (router, port, choice.vc, choice.state);
                hop.visited += 1;
            }
            Peer::Terminal(terminal) => {
                assert_eq!(terminal, destination);
                return u32::from(hop.visited);
            }
            Peer::None => panic!("{choice:?} leads nowhere: {hop:?}"),
        }
    }
}

/// How long a routing's paths may be.
enum Length {
    /// As the graph's distance.
    Shortest,
    /// At most this many links.
    UpTo(u32),
}

/// The rule of each routing. On a dragonfly minimal means at most one global link, which may be longer than two global
/// links; up*/down* may be forced on a long detour; the rest takes at most two minimal paths.
fn length(routing: &str, fabric: &Fabric) -> Length {
    match routing {
        "dimension-order"
        | "nearest-common-ancestor"
        | "d-mod-k"
        | "s-mod-k"
        | "shortest-path"
        | "table"
        | "source-routes"
        | "minimal-adaptive"
        | "o1turn"
        | "romm"
        | "planar-adaptive" => Length::Shortest,
        _ if fabric.topology() == "single-switch" => Length::Shortest,
        "up-down" | "forwarding" => Length::UpTo(fabric.routers()),
        // A path through two-dimensional groups may have two links in each of two groups.
        _ if fabric.topology() == "cray-dragonfly" => Length::UpTo(2 * 5),
        _ => Length::UpTo(2 * diameter(fabric).expect("connected")),
    }
}

#[test]
fn all_pairs_are_delivered_along_the_options() {
    for (name, fabric, routing, _) in pairs() {
        let rule = length(name.split(' ').next().unwrap_or(""), &fabric);
        let mut options = SortedMap::new();
        for source in TerminalId::first(fabric.terminals()) {
            let distance = distances(&fabric, fabric.router_at(source));
            for destination in TerminalId::first(fabric.terminals()) {
                let least = distance[fabric.router_at(destination)];
                for seed in 0..8 {
                    let length = walk(&fabric, routing.as_ref(), source, destination, seed, &mut options);
                    let right = match rule {
                        Length::Shortest => length == least,
                        Length::UpTo(bound) => (least..=bound).contains(&length),
                    };
                    assert!(right, "{name}: {source} -> {destination}: {length} links, distance {least}");
                }
            }
        }
    }
}

#[test]
fn terminals_said_to_be_alike_are() {
    for (name, fabric, routing, _) in pairs().into_iter().filter(|p| p.2.facts().terminals_alike) {
        for (t, u) in TerminalId::first(fabric.terminals()).zip(TerminalId::first(fabric.terminals()).skip(1))
        {
            if fabric.router_at(t) != fabric.router_at(u) {
                continue;
            }
            for router in RouterId::first(fabric.routers()).filter(|&r| r != fabric.router_at(t)) {
                for other in TerminalId::first(fabric.terminals()) {
                    let ask = |source: TerminalId, destination: TerminalId| {
                        let (_, in_port) = fabric.attachments()[0];
                        let random = Stream::new(0, Purpose::Route, 0);
                        let hop = Hop {
                            router,
                            in_port,
                            vc: ChannelId::FIRST,
                            visited: 1,
                            source,
                            destination,
                            state: 0,
                            random,
                        };
                        let mut out = Vec::new();
                        routing.options(&hop, &mut out);
                        (routing.memory(&hop), out)
                    };
                    assert_eq!(ask(t, other), ask(u, other), "{name}: sources {t} and {u}");
                    assert_eq!(ask(other, t), ask(other, u), "{name}: destinations {t} and {u}");
                }
            }
        }
    }
}
