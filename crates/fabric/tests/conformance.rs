//! Every topology, routing and pair of them keeps the promises of its trait. New entries are covered by being
//! registered.

use base::{
    hash::mix64,
    param::{Kind, Param, Value, Values},
    registry::Registered,
    rng::{Purpose, Stream},
};
use fabric::{
    deadlock::{self, Report},
    graph::{Fabric, Peer},
    metrics::{diameter, distances},
    registry::{ROUTINGS, TOPOLOGIES, values},
    routing::{Choice, Congestion, Hop, Routing},
};
use std::{collections::BTreeMap, sync::Arc};

/// Backlogs at random, with many ties; none for a routing that must not ask.
struct Backlogs {
    seed: u64,
    allowed: bool,
}

impl Congestion for Backlogs {
    fn backlog(&mut self, port: u32) -> u64 {
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
            assert_eq!(fabric.topology, entry.about.name);
            assert_eq!(fabric.classes, entry.classes);
            let sizes = (entry.sizes)(&values).expect("sizes of what was built");
            let built = [fabric.routers().into(), fabric.terminals().into(), fabric.ports.len() as u64];
            assert_eq!([sizes.routers, sizes.terminals, sizes.ports], built, "{}", entry.about.name);
            all.push((format!("{} {sample:?}", entry.about.name), Arc::new(fabric)));
        }
    }
    all
}

/// All combinations of a routing's words and booleans; other parameters at their defaults.
fn variants(params: &[Param]) -> Vec<Values> {
    let mut all = vec![values(params, &[])];
    for param in params {
        let choices: Vec<Value> = match param.kind {
            Kind::Bool => vec![Value::Bool(false), Value::Bool(true)],
            Kind::Choice(words) => words.iter().map(|w| Value::Text((*w).to_owned())).collect(),
            _ => continue,
        };
        all =
            all.iter().flat_map(|v| choices.iter().map(|c| v.clone().with(param.name, c.clone()))).collect();
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
            for values in variants(entry.about().params) {
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
        }
        // Removed as soon as every topology has its routing.
        let _ = before;
    }
    all
}

#[test]
fn links_are_symmetric_and_terminals_attached() {
    for (name, fabric) in fabrics() {
        let mut plugged = 0;
        for router in 0..fabric.routers() {
            for (port, here) in fabric.ports_of(router).iter().enumerate() {
                assert!(usize::from(here.class) < fabric.classes.len(), "{name}");
                assert_eq!(fabric.router_of(fabric.port_index(router, port as u32)), router);
                match here.peer {
                    Peer::Router { router: peer, port: peer_port } => {
                        let there = fabric.ports_of(peer)[peer_port as usize];
                        assert_eq!(there.peer, Peer::Router { router, port: port as u32 }, "{name}");
                        assert_eq!(there.class, here.class, "{name}");
                        assert!(here.class > 0 && (peer, peer_port) != (router, port as u32), "{name}");
                    }
                    Peer::Terminal(terminal) => {
                        plugged += 1;
                        assert_eq!(fabric.attach[terminal as usize], (router, port as u32), "{name}");
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

/// One packet's way: its length in links between routers, after checking every step.
fn walk(
    fabric: &Fabric,
    routing: &dyn Routing,
    source: u32,
    destination: u32,
    seed: u64,
    options: &mut BTreeMap<[u64; 6], Vec<Choice>>,
) -> u32 {
    let (router, in_port) = fabric.attach[source as usize];
    let random = Stream::new(seed, Purpose::Route, u64::from(source) << 32 | u64::from(destination));
    let mut hop = Hop { router, in_port, vc: 0, visited: 0, source, destination, state: 0, random };
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
            Backlogs { seed: mix64(seed ^ u64::from(hop.router)), allowed: !routing.oblivious() };
        let choice = routing.route(&mut hop, &mut congestion);
        assert!(allowed.contains(&choice), "{choice:?} is not among {allowed:?} for {hop:?}");
        assert!(choice.vc < routing.vcs());
        match fabric.ports_of(hop.router)[choice.port as usize].peer {
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

/// Whether the lengths of a routing's ways are the graph's distances. On a dragonfly minimal means at most one global
/// link, which may be longer than two global links.
fn shortest(routing: &str, topology: &str) -> bool {
    matches!(routing, "dimension-order" | "nearest-common-ancestor") || topology == "single-switch"
}

#[test]
fn all_pairs_are_delivered_along_the_options() {
    for (name, fabric, routing, _) in pairs() {
        let minimal = shortest(name.split(' ').next().unwrap_or(""), fabric.topology);
        let bound = 2 * diameter(&fabric).unwrap();
        let mut options = BTreeMap::new();
        for source in 0..fabric.terminals() {
            let distance = distances(&fabric, fabric.router_at(source));
            for destination in 0..fabric.terminals() {
                let least = distance[fabric.router_at(destination) as usize];
                for seed in 0..8 {
                    let length = walk(&fabric, routing.as_ref(), source, destination, seed, &mut options);
                    assert!(
                        length >= least && length <= bound,
                        "{name}: {source} -> {destination}: {length}"
                    );
                    assert!(!minimal || length == least, "{name}: {source} -> {destination}: {length}");
                }
            }
        }
    }
}

#[test]
fn terminals_said_to_be_alike_are() {
    for (name, fabric, routing, _) in pairs().into_iter().filter(|p| p.2.terminals_alike()) {
        for (t, u) in (1..fabric.terminals()).map(|u| (u - 1, u)) {
            if fabric.router_at(t) != fabric.router_at(u) {
                continue;
            }
            for router in (0..fabric.routers()).filter(|&r| r != fabric.router_at(t)) {
                for other in 0..fabric.terminals() {
                    let ask = |source: u32, destination: u32| {
                        let (_, in_port) = fabric.attach[0];
                        let random = Stream::new(0, Purpose::Route, 0);
                        let hop =
                            Hop { router, in_port, vc: 0, visited: 1, source, destination, state: 0, random };
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
