use super::*;
use crate::{
    deadlock::{self, Report},
    graph::Peer,
    metrics::distances,
    registry::{Constant, values},
    routing::{given, testing},
};
use base::{
    index::{PortId, RouterId, TerminalId},
    param::Value,
    sorted::SortedSet,
};

fn bind(name: &str, entry: &RoutingEntry, fabric: &Arc<Fabric>, text: &str, set: &[(&str, Value)]) -> Bound {
    let path = std::env::temp_dir().join(format!("netloom-routes-{}-{name}", std::process::id()));
    std::fs::write(&path, text).unwrap();
    let mut values = values(entry.about.params, &[("file", Constant::Text(""))])
        .with("file", Value::Text(path.to_string_lossy().into_owned()));
    for (key, value) in set {
        values = values.with(key, value.clone());
    }
    let bound = (entry.build)(fabric.clone(), &values);
    let _ = std::fs::remove_file(&path);
    bound
}

fn bound(name: &str, fabric: &Arc<Fabric>, text: &str) -> Bound {
    bind(name, &ROUTING, fabric, text, &[])
}

/// The text of every pair's path under a routing without choices, with its channels if `vcs`.
fn routes_of(fabric: &Fabric, routing: &dyn Routing, vcs: bool) -> String {
    let mut text = String::new();
    for (s, d) in testing::pairs(fabric)
        .filter(|&(s, d)| fabric.router_at(TerminalId::new(s)) != fabric.router_at(TerminalId::new(d)))
    {
        text += &format!("{s} {d}");
        let path = testing::path(fabric, routing, s, d, 0);
        for (i, (_, port, vc)) in path.iter().enumerate() {
            let between = i + 1 < path.len();
            text += &if vcs && between { format!(" {port}/{vc}") } else { format!(" {port}") };
        }
        text += "\n";
    }
    text
}

/// One table with one port each, and the same ways as source routes: identical paths and channels, on many fabrics.
#[test]
fn a_table_and_its_source_routes_give_identical_paths() {
    let fabrics = [
        ("mesh", testing::grid(false, &[4, 3])),
        ("torus", testing::grid(true, &[5, 3])),
        ("dragonfly", testing::dragonfly([5, 4, 2, 1])),
        ("dragonfly-plus", testing::dragonfly_plus([5, 2, 2, 2, 2])),
    ];
    for (name, fabric) in fabrics {
        let mut table = String::new();
        for (terminal, &(to, _)) in fabric.attachments().iter().enumerate() {
            let distance = distances(&fabric, to);
            for router in RouterId::first(fabric.routers()).filter(|&r| r != to) {
                let closer = |&(_, peer): &(PortId, RouterId)| distance[peer] + 1 == distance[router];
                let ports: Vec<PortId> =
                    fabric.neighbours(router).filter(closer).map(|(port, _)| port).collect();
                // Not always the first, so that ways of different destinations differ.
                table += &format!("{router} {terminal} {}\n", ports[terminal % ports.len()]);
            }
        }
        let layers = [("deadlock", Value::Text("layers".to_owned()))];
        let hops = bind(&format!("t-{name}"), &given::ROUTING, &fabric, &table, &layers).unwrap();
        for vcs in [false, true] {
            let text = routes_of(&fabric, hops.as_ref(), vcs);
            let source = bind(&format!("s-{name}"), &ROUTING, &fabric, &text, &layers).unwrap();
            assert!(deadlock::check(&fabric, source.as_ref(), u64::MAX).is_free(), "{name}");
            for (s, d) in testing::pairs(&fabric) {
                let (a, b) = (
                    testing::path(&fabric, hops.as_ref(), s, d, 1),
                    testing::path(&fabric, source.as_ref(), s, d, 1),
                );
                let path = |path: &[(u32, u32, u8)]| path.iter().map(|w| (w.0, w.1)).collect::<Vec<_>>();
                assert_eq!(path(&a), path(&b), "{name} {s} -> {d}");
                // Given channels are taken as they are.
                assert!(!vcs || a == b, "{name} {s} -> {d}");
            }
        }
    }
}

/// Paths that no table by destination has: packets of one router to one terminal part by their source.
#[test]
fn routes_may_depend_on_the_source() {
    // A ring of four; port 0 leads down, 1 up, 2 and 3 to terminals.
    let sample = [("dims", Constant::Ints(&[4])), ("terminals_per_router", Constant::Int(2))];
    let fabric = testing::build("torus", &sample);
    let mut text = String::new();
    for (s, d) in testing::pairs(&fabric).filter(|(s, d)| s / 2 != d / 2) {
        let (from, to) = (s / 2, d / 2);
        // Even terminals go up all the way, odd ones down.
        let (port, links) = if s % 2 == 0 { (1, (to + 4 - from) % 4) } else { (0, (from + 4 - to) % 4) };
        text += &format!("{s} {d}{}\n", format!(" {port}").repeat(links as usize));
    }
    let routing = bound("ring", &fabric, &text).unwrap();
    let routers =
        |s, d| testing::path(&fabric, routing.as_ref(), s, d, 0).iter().map(|w| w.0).collect::<Vec<_>>();
    assert_eq!(routers(0, 4), [0, 1, 2]);
    assert_eq!(routers(1, 4), [0, 3, 2]);
    assert_eq!(routers(0, 6), [0, 1, 2, 3]);
    assert_eq!(routers(0, 1), [0]);
    // Both circles are cut by a second layer, and that is proven; with channels all alike it is not.
    assert_eq!(routing.vcs(), 2);
    assert!(deadlock::check(&fabric, routing.as_ref(), u64::MAX).is_free());
    let flat: String = text.lines().map(|l| flat(l) + "\n").collect();
    let open = bound("open", &fabric, &flat).unwrap();
    assert!(matches!(deadlock::check(&fabric, open.as_ref(), u64::MAX), Report::Cycle(_)));
    let one = bind("one", &ROUTING, &fabric, &text, &[("max_vcs", Value::Int(1))]).err().unwrap();
    assert!(one[0].key == "max_vcs" && one[0].message.contains("would close the cycle"), "{one:?}");
    let hops =
        bind("hops", &ROUTING, &fabric, &text, &[("deadlock", Value::Text("hops".to_owned()))]).unwrap();
    assert_eq!(hops.vcs(), 3);
    assert!(deadlock::check(&fabric, hops.as_ref(), u64::MAX).is_free());
}

/// The same route with channel 0 on every link.
fn flat(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let ports: Vec<String> = words[2..].iter().map(|p| format!("{p}/0")).collect();
    format!("{} {} {}", words[0], words[1], ports.join(" "))
}

#[test]
fn alternatives_are_chosen_among() {
    // Two routers joined by two cables; port 2 is the terminal.
    let fabric = testing::grid(true, &[2]);
    let routing = bound("two", &fabric, "0 1 0\n0 1 1\n0 1 1 2 # once more\n1 0 0\n").unwrap();
    let ports: SortedSet<u32> =
        (0..20).map(|seed| testing::path(&fabric, routing.as_ref(), 0, 1, seed)[0].1).collect();
    assert_eq!(ports, [0, 1].into());
    let mut options = Vec::new();
    routing.options(&testing::hop(&fabric, 0, 1, 0), &mut options);
    assert_eq!(options.len(), 2, "a route given twice counts once: {options:?}");
}

/// A route may pass its destination's router and come back: it ends where its ports end.
#[test]
fn a_route_ends_with_its_ports() {
    let fabric = testing::grid(false, &[3]);
    let text = "0 1 1 1 0\n0 2 1 1\n1 0 0\n1 2 1\n2 0 0 0\n2 1 0\n";
    let routing = bound("there-and-back", &fabric, text).unwrap();
    let path = testing::path(&fabric, routing.as_ref(), 0, 1, 0);
    assert_eq!(path.iter().map(|w| w.0).collect::<Vec<_>>(), [0, 1, 2, 1]);
}

#[test]
fn mistakes_are_reported_with_their_places() {
    let fabric = testing::grid(false, &[3]);
    let wrong = |text: &str| -> Vec<(u64, usize, usize, String)> {
        let problems = bound("mistake", &fabric, text).err().unwrap();
        let place = |p: Problem| {
            assert_eq!(p.key, "file");
            let input = p.input.unwrap();
            (input.line, input.start, input.end, p.message)
        };
        problems.into_iter().map(place).collect()
    };
    let cases = [
        ("3 0 0", (1, 0, 1, "there is no terminal 3: they are 0 to 2")),
        ("0", (1, 0, 1, "a route is `source destination port port ..`: there is no destination")),
        ("\n 0 9 1", (2, 3, 4, "there is no terminal 9: they are 0 to 2")),
        ("0 2 1 9", (1, 6, 7, "there is no port of this router 9: they are 0 to 2")),
        ("0 2 0", (1, 4, 5, "port 0 of router 0 has no link")),
        ("0 2 1 2", (1, 6, 7, "port 2 of router 1 leads to terminal 1")),
        ("0 2 one", (1, 4, 7, "the port of this router must be a number, not `one`")),
        ("0 2 1/16 1", (1, 6, 8, "there is no virtual channel 16: they are 0 to 15")),
        ("0 2 1/0 1", (1, 8, 9, "earlier ports give a virtual channel, this one does not")),
        ("0 1 1\n0 2 1/0 1/0", (2, 4, 7, "earlier ports give no virtual channel")),
        ("0 2 1", (1, 4, 5, "the route ends at router 1, terminal 2 is on router 2")),
        ("0 2", (1, 2, 3, "the route ends at router 0, terminal 2 is on router 2")),
        ("0 1 1 2 0", (1, 8, 9, "the route has reached terminal 1 already")),
    ];
    for (text, (line, start, end, message)) in cases {
        assert_eq!(wrong(text), [(line, start, end, message.to_owned())], "{text:?}");
    }
    assert_eq!(wrong("9 0 0\n0 9 0").len(), 2, "all mistakes at once");
    let missing = "there is no route from terminal 1 to terminal 0, nor for 3 other pairs";
    assert_eq!(wrong("0 1 1\n0 2 1 1"), [(0, 0, 0, missing.to_owned())]);
    let endless = format!("0 1{}", " 1 0".repeat(128));
    assert!(wrong(&endless)[0].3.starts_with("a route may have 254 links"));
}

/// A failed link is no link; terminals that failures cut off need no route.
#[test]
fn failed_links_are_refused_by_line() {
    let mut fabric = (*testing::grid(false, &[3])).clone();
    testing::fail(&mut fabric, 1, 1);
    fabric.set_cut_off(vec![TerminalId::new(2)]);
    assert!(matches!(fabric.ports_of(RouterId::new(1))[1].peer, Peer::None));
    let fabric = Arc::new(fabric);
    assert!(bound("left", &fabric, "0 1 1\n1 0 0\n").is_ok());
    let problem = &bound("broken", &fabric, "0 1 1\n1 0 0\n0 2 1 1\n").err().unwrap()[0];
    assert_eq!(problem.message, "port 1 of router 1 has no link");
}
