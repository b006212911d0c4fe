use super::*;
use crate::{import, registry::Constant, routing::testing, verify::verify};
use base::registry::find;
use std::path::{Path, PathBuf};

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
fn what_can_deadlock_is_told() {
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
fn several_identifiers_take_several_ways() {
    let options = Options { lmc: 1, ..Options::default() };
    let routed = route(&tree(), engine("minhop"), &options).unwrap();
    let tables = routed.tables.as_ref().unwrap();
    assert_eq!(tables.planes, 2);
    let (mut a, mut b) = (Vec::new(), Vec::new());
    tables.walk(&routed, routed.hosts[0], tables.row(15, 0), &mut a).unwrap();
    tables.walk(&routed, routed.hosts[0], tables.row(15, 1), &mut b).unwrap();
    assert_ne!(a, b);
    assert!(verify(&routed, tables).sound());
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
                let mut way = Vec::new();
                tables
                    .walk(
                        &routed,
                        routed.hosts[host as usize],
                        tables.row((host + shift) % hosts, 0),
                        &mut way,
                    )
                    .unwrap();
                way.iter().for_each(|&e| count[e as usize] += 1);
            }
            assert_eq!(count.iter().max(), Some(&1), "{name} shift {shift}");
        }
    }
}

fn data() -> Option<PathBuf> {
    let root = std::env::var_os("NETLOOM_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from);
    let ib = root.join("ib");
    if !ib.is_dir() {
        eprintln!("SKIPPED: {} is not there", ib.display());
        return None;
    }
    Some(ib)
}

fn load(ib: &Path, files: &[&str]) -> Subnet {
    let paths: Vec<String> = files.iter().map(|f| ib.join(f).display().to_string()).collect();
    import::load(&paths).unwrap_or_else(|problems| panic!("{files:?}: {:?}", &problems[..1]))
}

/// Share of entries that our engine sets as OpenSM's of the same name, hosts alone.
fn alike(ib: &Path, fabric: &str, name: &str) -> (f64, crate::verify::Report, crate::verify::Report) {
    let topology = if fabric == "psmn_x5" {
        "real/psmn_x5.ibnetdiscover".to_owned()
    } else {
        format!("net/{fabric}.net")
    };
    let table = if fabric == "psmn_x5" {
        format!("real/psmn_x5.{name}.opensm-lfts.dump.gz")
    } else {
        format!("tables/{fabric}.{name}.opensm-lfts.dump.gz")
    };
    let theirs = load(ib, &[&topology, &table]);
    let ours = route(&theirs, engine(name), &Options::default()).unwrap();
    let (a, b) = (theirs.tables.as_ref().unwrap(), ours.tables.as_ref().unwrap());
    let entries = theirs.hosts.len() * theirs.switches.len();
    let same = a.next[..entries].iter().zip(&b.next[..entries]).filter(|(a, b)| a == b).count();
    let (theirs, ours) = (verify(&theirs, a), verify(&ours, b));
    (same as f64 / entries as f64, theirs, ours)
}

/// Ours beside OpenSM's: as short, and no worse balanced. Which tables are identical is told.
#[test]
fn beside_opensm() {
    let Some(ib) = data() else { return };
    let cases = [
        ("ft2_16", "minhop"),
        ("ft2_16", "updn"),
        ("ft2_16", "dnup"),
        ("ft2_16", "ftree"),
        ("ft2_16", "dor"),
        ("ft2_16", "lash"),
        ("ft2_16", "sssp"),
        ("ft2_16", "dfsssp"),
        ("ft2_16", "nue"),
        ("ft2_324", "minhop"),
        ("ft2_324", "updn"),
        ("ft2_324", "ftree"),
        ("ft2_324", "dfsssp"),
        ("ft2_324", "lash"),
        ("torus444", "minhop"),
        ("torus444", "dor"),
        ("torus444", "lash"),
        ("torus444", "dfsssp"),
        ("rand64", "updn"),
        ("psmn_x5", "minhop"),
        ("psmn_x5", "updn"),
    ];
    for (fabric, name) in cases {
        let (share, theirs, ours) = alike(&ib, fabric, name);
        eprintln!(
            "{fabric:9} {name:7} {:6.2} % alike; max load {} ours, {} OpenSM; mean length {:.3} / {:.3}; sigma {:.2} / {:.2}; lanes {}",
            share * 100.0,
            ours.load.max,
            theirs.load.max,
            ours.mean_length(),
            theirs.mean_length(),
            ours.load.sigma,
            theirs.load.sigma,
            ours.lanes
        );
        assert!(theirs.unreached == 0 && theirs.loops == 0, "{fabric} {name}");
        assert!(ours.unreached == 0 && ours.loops == 0, "{fabric} {name}");
    }
}
