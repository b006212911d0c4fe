use super::*;
use crate::{
    deadlock,
    metrics::{diameter, distances},
    registry::{Constant, ROUTINGS, values},
    routing::testing,
};
use base::{
    index::{PortId, RouterId, TerminalId},
    param::Value,
    registry::find,
};
use proptest::prelude::*;
use std::sync::Arc;

fn dragonfly() -> Arc<Fabric> {
    testing::dragonfly([9, 4, 2, 2])
}

fn drawn_faults(link_fraction: f64, router_fraction: f64, seed: u64) -> Faults {
    Faults { link_fraction, router_fraction, seed, ..Faults::default() }
}

#[test]
fn nothing_fails_unless_asked() {
    let fabric = dragonfly();
    let same = degrade(&fabric, &Faults::default()).unwrap();
    assert!(same.links.is_empty() && same.routers.is_empty() && same.fabric.intact());
    assert_eq!(same.fabric.ports(), fabric.ports());
}

#[test]
fn a_listed_link_is_gone_at_both_ends_however_it_is_named() {
    let fabric = dragonfly();
    let (port, peer) = fabric.neighbours(RouterId::new(5)).last().unwrap();
    let Peer::Router { port: there, .. } = fabric.ports_of(RouterId::new(5))[port.index()].peer else {
        panic!()
    };
    let one =
        degrade(&fabric, &Faults { links: vec![(RouterId::new(5), port)], ..Faults::default() }).unwrap();
    let both = Faults { links: vec![(peer, there), (RouterId::new(5), port)], ..Faults::default() };
    let both = degrade(&fabric, &both).unwrap();
    assert_eq!((one.links.len(), &one.links, one.fabric.failed_links()), (1, &both.links, 1));
    assert_eq!(one.fabric.ports(), both.fabric.ports());
    assert_eq!(one.fabric.next_router(RouterId::new(5), port), None);
    assert_eq!(one.fabric.next_router(peer, there), None);
    let changed = one.fabric.ports().iter().zip(fabric.ports()).filter(|(a, b)| a != b).count();
    assert_eq!(changed, 2);
    assert!(one.fabric.cut_off().is_empty());
}

#[test]
fn a_failed_router_loses_its_links_and_its_terminals() {
    let fabric = dragonfly();
    let left =
        degrade(&fabric, &Faults { routers: vec![RouterId::new(7), RouterId::new(7)], ..Faults::default() })
            .unwrap();
    // 3 local links and 2 global ones; terminals 14 and 15.
    assert_eq!((left.links.len(), left.routers.as_slice()), (5, &[RouterId::new(7)][..]));
    assert_eq!(left.fabric.cut_off(), [14, 15].map(TerminalId::new));
    assert_eq!(left.fabric.neighbours(RouterId::new(7)).count(), 0);
    assert_eq!(left.fabric.ends().len(), 35);
    assert_eq!(left.fabric.attachments(), fabric.attachments(), "terminals keep their numbers");
}

#[test]
fn the_smaller_part_is_cut_off() {
    // A line of five routers, cut between the second and the third.
    let line = testing::grid(false, &[5]);
    let (port, _) = line.neighbours(RouterId::new(1)).find(|&(_, peer)| peer == RouterId::new(2)).unwrap();
    let left =
        degrade(&line, &Faults { links: vec![(RouterId::new(1), port)], ..Faults::default() }).unwrap();
    assert_eq!(left.fabric.cut_off(), [0, 1].map(TerminalId::new));
    assert_eq!(diameter(&left.fabric), Some(2));
    // Of two parts of equal size the one with the lowest router is the network.
    let left = degrade(&line, &Faults { routers: vec![RouterId::new(2)], ..Faults::default() }).unwrap();
    assert_eq!(left.fabric.cut_off(), [2, 3, 4].map(TerminalId::new));
    let all = degrade(&line, &Faults { router_fraction: 1.0, ..Faults::default() }).unwrap();
    assert_eq!(all.fabric.cut_off(), [0, 1, 2, 3, 4].map(TerminalId::new));
}

#[test]
fn a_network_of_one_router_can_lose_it() {
    let switch = testing::build("single-switch", &[("terminals", Constant::Int(3))]);
    let left = degrade(&switch, &Faults { routers: vec![RouterId::new(0)], ..Faults::default() }).unwrap();
    assert_eq!((left.fabric.failed_links(), left.fabric.cut_off().len()), (0, 3));
    assert!(!left.fabric.intact());
}

#[test]
fn a_fraction_fails_so_many_and_a_larger_one_the_same_and_more() {
    let fabric = dragonfly();
    // 9 x 6 local and 36 global cables.
    let mut before: Vec<(RouterId, PortId)> = Vec::new();
    for (fraction, count) in [(0.0, 0), (0.01, 1), (0.1, 9), (0.5, 45), (1.0, 90)] {
        let links = degrade(&fabric, &drawn_faults(fraction, 0.0, 3)).unwrap().links;
        assert_eq!(links.len(), count);
        assert!(before.iter().all(|l| links.contains(l)));
        before = links;
    }
    let routers = |seed| degrade(&fabric, &drawn_faults(0.0, 0.25, seed)).unwrap().routers;
    assert_eq!(routers(1).len(), 9);
    assert_ne!(routers(1), routers(2));
    assert_eq!(routers(1), routers(1));
}

#[test]
fn only_chosen_classes_fail() {
    let fabric = dragonfly();
    let faults = Faults { classes: vec!["global".into()], ..drawn_faults(0.5, 0.0, 1) };
    let left = degrade(&fabric, &faults).unwrap();
    assert_eq!(left.links.len(), 18);
    assert!(left.links.iter().all(|&(router, port)| class_of(&fabric, router, port) == 2));
}

#[test]
fn what_does_not_exist_is_refused_by_name() {
    let fabric = dragonfly();
    let reported_on = |fabric: &Fabric, faults: Faults| degrade(fabric, &faults).err().unwrap().remove(0);
    let reported = |faults| reported_on(&fabric, faults);
    for (faults, key, message) in [
        (
            Faults { routers: vec![RouterId::new(36)], ..Faults::default() },
            "routers",
            "there is no router 36",
        ),
        (
            Faults { links: vec![(RouterId::new(99), PortId::new(0))], ..Faults::default() },
            "links",
            "there is no router 99",
        ),
        (
            Faults { links: vec![(RouterId::new(3), PortId::new(70))], ..Faults::default() },
            "links",
            "router 3 has no port 70",
        ),
        (
            Faults { links: vec![(RouterId::new(3), PortId::new(5))], ..Faults::default() },
            "links",
            "port 5 of router 3 leads to terminal 6",
        ),
        (Faults { classes: vec!["globl".into()], ..Faults::default() }, "classes", "no link class `globl`"),
        (
            Faults { classes: vec!["terminal".into()], ..Faults::default() },
            "classes",
            "no link class `terminal`",
        ),
    ] {
        let problem = reported(faults);
        assert_eq!(problem.key, key);
        assert!(problem.message.contains(message), "{}", problem.message);
    }
    let mesh = testing::grid(false, &[3]);
    let port = mesh.ports_of(RouterId::new(0)).iter().position(|p| p.peer == Peer::None).unwrap() as u32;
    let problem = reported_on(
        &mesh,
        Faults { links: vec![(RouterId::new(0), PortId::new(port))], ..Faults::default() },
    );
    assert!(problem.message.contains(&format!("nothing is plugged into port {port}")), "{}", problem.message);
}

#[test]
fn links_are_read_as_router_and_port() {
    let values = |link: &str| {
        Values::default()
            .with("links", Value::Texts(vec![link.to_owned()]))
            .with("routers", Value::Ints(vec![4]))
            .with("link_fraction", Value::Real(0.25))
            .with("router_fraction", Value::Real(0.0))
            .with("classes", Value::Texts(Vec::new()))
    };
    let faults = Faults::from_values(&values("12: 3"), 9).0;
    assert_eq!(
        (faults.links, faults.routers, faults.seed),
        (vec![(RouterId::new(12), PortId::new(3))], vec![RouterId::new(4)], 9)
    );
    for wrong in ["12", "12:", ":3", "a:3", "1:2:3", "-1:0"] {
        assert_eq!(Faults::from_values(&values(wrong), 1).1[0].key, "links", "{wrong}");
    }
}

#[test]
fn a_failed_router_cannot_be_a_root() {
    let ring = testing::grid(true, &[5]);
    let left = degrade(&ring, &Faults { routers: vec![RouterId::new(2)], ..Faults::default() }).unwrap();
    let entry = find(ROUTINGS, "up-down").unwrap();
    let bind = |root| {
        (entry.build)(
            Arc::new(left.fabric.clone()),
            &values(entry.about.params, &[("root", Constant::Text(root))]),
        )
    };
    assert_eq!(bind("2").err().unwrap()[0].key, "root");
    assert!(bind("3").is_ok() && bind("centre").is_ok());
}

proptest! {
    /// Whatever fails: the rest is symmetric and connected but for those cut off, and the general routings deliver
    /// everything on it without deadlock.
    #[test]
    fn what_is_left_is_a_network(links in 0.0f64..0.4, routers in 0.0f64..0.3, seed in any::<u64>(), which in 0usize..4) {
        let intact = match which {
            0 => dragonfly(),
            1 => testing::grid(true, &[4, 4]),
            2 => testing::grid(false, &[5, 3]),
            _ => testing::build("fat-tree", &[("k", Constant::Int(3)), ("levels", Constant::Int(3))]),
        };
        let left = degrade(&intact, &drawn_faults(links, routers, seed)).unwrap();
        let fabric = Arc::new(left.fabric);
        let gone = intact.ports().iter().zip(fabric.ports()).filter(|(a, b)| a != b).count();
        prop_assert_eq!(gone, 2 * left.links.len());
        let ends = fabric.ends();
        if let Some(&first) = ends.first() {
            let distance = distances(&fabric, first);
            for t in TerminalId::first(fabric.terminals()) {
                let reached = distance[fabric.router_at(t)] != u32::MAX;
                prop_assert_eq!(reached, !fabric.is_cut_off(t));
            }
        }
        let mut bound = 0;
        for name in ["shortest-path", "up-down"] {
            let entry = find(ROUTINGS, name).unwrap();
            let routing = match (entry.build)(Arc::clone(&fabric), &values(entry.about.params, &[])) {
                Ok(routing) => routing,
                // Shortest paths may need more virtual channels than there are; up*/down* always works.
                Err(_) if name == "shortest-path" => continue,
                Err(problems) => panic!("{problems:?}"),
            };
            bound += 1;
            prop_assert!(deadlock::check(&fabric, routing.as_ref(), u64::MAX).is_free());
            let pairs = testing::pairs(&fabric).filter(|&(s, d)| !fabric.is_cut_off(TerminalId::new(s)) && !fabric.is_cut_off(TerminalId::new(d)));
            for (s, d) in pairs {
                testing::path(&fabric, routing.as_ref(), s, d, seed);
            }
        }
        prop_assert!(bound >= 1);
    }
}
