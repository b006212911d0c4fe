use super::*;
use crate::{registry::Constant, routing::testing, verify::verify};
use base::registry::find;

fn engine(name: &str) -> &'static Engine {
    find(ENGINES, name).unwrap()
}

fn torus() -> Subnet {
    Subnet::from_fabric(&testing::grid(true, &[4, 5]))
}

fn tree() -> Subnet {
    Subnet::from_fabric(&testing::build("fat-tree", &[("k", Constant::Int(4)), ("levels", Constant::Int(3))]))
}

fn random_graph() -> Subnet {
    let sample = [
        ("routers", Constant::Int(24)),
        ("degree", Constant::Int(4)),
        ("terminals_per_router", Constant::Int(2)),
    ];
    Subnet::from_fabric(&testing::build("jellyfish", &sample))
}

fn fabrics() -> Vec<(&'static str, Subnet)> {
    let dragonfly = Subnet::from_fabric(&testing::dragonfly([9, 4, 2, 2]));
    vec![("torus", torus()), ("tree", tree()), ("random", random_graph()), ("dragonfly", dragonfly)]
}

/// Every engine on every fabric: all arrive, and what claims to be free is; shortest where it is said.
#[test]
fn what_engines_claim_is_verified() {
    for (name, subnet) in fabrics() {
        let mut routed = Vec::new();
        for engine in ENGINES {
            let Ok(done) = route(&subnet, engine, &Options::default()) else { continue };
            let report = verify(&done, done.tables.as_ref().unwrap());
            let engine_name = engine.about.name;
            assert_eq!((report.unreached, report.loops), (0, 0), "{engine_name} on {name}: {report:?}");
            assert!(!engine.free || report.cycle.is_none(), "{engine_name} on {name}: {report:?}");
            if !["updn", "nue", "torus", "dnup"].contains(&engine_name) {
                assert_eq!(report.minimal, report.pairs, "{engine_name} on {name}");
            }
            routed.push(engine_name);
        }
        let tree_only = ["ftree", "d-mod-k", "s-mod-k"];
        for engine in ENGINES.iter().map(|e| e.about.name) {
            let expected = match engine {
                "torus" => name == "torus",
                e if tree_only.contains(&e) => name == "tree",
                _ => true,
            };
            assert_eq!(routed.contains(&engine), expected, "{engine} on {name}");
        }
    }
}

#[test]
fn what_can_deadlock_is_reported() {
    for name in ["minhop", "dor", "sssp"] {
        let routed = route(&torus(), engine(name), &Options::default()).unwrap();
        let report = verify(&routed, routed.tables.as_ref().unwrap());
        assert!(report.cycle.is_some_and(|c| c.len() > 2), "{name}");
    }
}

#[test]
fn nue_needs_one_lane_and_dfsssp_says_when_more_are_needed() {
    for subnet in [torus(), random_graph()] {
        for lanes in [1, 2, 4] {
            let options = Options { lanes, ..Options::default() };
            let routed = route(&subnet, engine("nue"), &options).unwrap();
            let report = verify(&routed, routed.tables.as_ref().unwrap());
            assert!(report.sound() && report.lanes <= lanes, "{report:?}");
        }
    }
    let one = Options { lanes: 1, ..Options::default() };
    let problems = route(&torus(), engine("dfsssp"), &one).unwrap_err();
    assert!(problems[0].message.contains("1 lanes do not suffice"), "{problems:?}");
}

#[test]
fn several_identifiers_take_several_paths() {
    let options = Options { lmc: 1, ..Options::default() };
    let routed = route(&tree(), engine("minhop"), &options).unwrap();
    let tables = routed.tables.as_ref().unwrap();
    assert_eq!(tables.planes, 2);
    let (mut a, mut b) = (Vec::new(), Vec::new());
    tables.walk(&routed, routed.hosts[0], tables.row(15, 0), &mut a).unwrap();
    tables.walk(&routed, routed.hosts[0], tables.row(15, 1), &mut b).unwrap();
    assert_ne!(a, b);
    assert!(verify(&routed, tables).sound());
    // On two levels the first identifiers alone are balanced.
    let two = testing::build("fat-tree", &[("k", Constant::Int(4)), ("levels", Constant::Int(2))]);
    let routed = route(&Subnet::from_fabric(&two), engine("minhop"), &options).unwrap();
    let load = verify(&routed, routed.tables.as_ref().unwrap()).load;
    assert_eq!(load.min, load.max, "{load:?}");
}

#[test]
fn full_trees_carry_shifts_without_collision() {
    for name in ["ftree", "d-mod-k"] {
        let subnet = tree();
        let routed = route(&subnet, engine(name), &Options::default()).unwrap();
        let tables = routed.tables.as_ref().unwrap();
        let hosts = subnet.hosts.len() as u32;
        for shift in 1..hosts {
            let mut count = vec![0; subnet.edges.len()];
            for host in 0..hosts {
                let mut path = Vec::new();
                tables
                    .walk(
                        &routed,
                        routed.hosts[host as usize],
                        tables.row((host + shift) % hosts, 0),
                        &mut path,
                    )
                    .unwrap();
                path.iter().for_each(|&e| count[e as usize] += 1);
            }
            assert_eq!(count.iter().max(), Some(&1), "{name} shift {shift}");
        }
    }
}

/// Hosts at both ends and in the middle of a line, switches without hosts between: the switches farthest from hosts as roots leave the ends
/// without a path, and so do ranks from the hosts. A cut beside it parts a host from the others, which then stay connected.
#[test]
fn up_and_down_connect_all_that_is_connected() {
    let line = "Switch 4 \"P\"\n[1] \"A\"[3]\n[2] \"B\"[3]\nSwitch 4 \"Q\"\n[1] \"B\"[4]\n[2] \"C\"[3]\nSwitch 4 \"A\"\nSwitch 4 \"B\"\nSwitch 4 \"C\"\n\
                Hca 1 \"H0\"\n[1] \"A\"[1]\nHca 1 \"H1\"\n[1] \"B\"[1]\nHca 1 \"H2\"\n[1] \"C\"[1]\n";
    let apart = format!(
        "{line}Switch 2 \"D\"\nHca 1 \"H3\"\n[1] \"D\"[1]\nSwitch 2 \"E\"\n[2] \"D\"[2]\nHca 1 \"H4\"\n[1] \"E\"[1]\n"
    );
    for (text, lost) in [(line, 0), (apart.as_str(), 12)] {
        let source = crate::import::Source::memory("line.net", text.as_bytes());
        let subnet = crate::import::read(vec![source]).unwrap();
        for name in ["updn", "dnup"] {
            let routed = route(&subnet, engine(name), &Options::default()).unwrap();
            let report = verify(&routed, routed.tables.as_ref().unwrap());
            assert_eq!((report.unreached, report.loops), (lost, 0), "{name}: {report:?}");
            assert!(name == "dnup" || report.cycle.is_none(), "{report:?}");
        }
    }
}

/// Whatever fails of a tree: updn connects what is connected, without a circle.
#[test]
fn updn_connects_what_failures_leave_connected() {
    let whole = tree();
    for seed in 0..24 {
        let faults = crate::faults::Faults { link_fraction: 0.3, seed, ..Default::default() };
        let (left, degraded) = whole.degraded(&faults).unwrap();
        let name = |name| {
            let routed = route(&left, engine(name), &Options::default()).unwrap();
            verify(&routed, routed.tables.as_ref().unwrap())
        };
        let (ours, shortest) = (name("updn"), name("minhop"));
        assert_eq!((ours.unreached, ours.loops), (shortest.unreached, 0), "seed {seed}");
        assert!(ours.cycle.is_none() && (shortest.unreached > 0) != degraded.fabric.cut_off().is_empty());
    }
}
