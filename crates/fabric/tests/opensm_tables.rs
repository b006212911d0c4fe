//! Engines and verification beside real OpenSM tables. The files are not in this tree: `NETLOOM_DATA` names the directory that holds
//! `ib/`, by default `../shared/data` beside it. Without them these tests say so and pass.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use base::registry::find;
use fabric::{
    engines::{ENGINES, Engine, Options, route},
    import,
    subnet::Subnet,
    verify::{Report, verify},
};
use std::path::{Path, PathBuf};

fn engine(name: &str) -> &'static Engine {
    find(ENGINES, name).unwrap()
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
fn alike(ib: &Path, fabric: &str, name: &str) -> (f64, Report, Report) {
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

/// Tables that are OpenSM's, entry by entry.
const IDENTICAL: &[(&str, &str)] = &[
    ("ft2_16", "minhop"),
    ("ft2_16", "updn"),
    ("ft2_16", "dnup"),
    ("ft2_16", "ftree"),
    ("ft2_16", "dor"),
    ("ft2_16", "lash"),
    ("ft2_324", "minhop"),
    ("ft2_324", "updn"),
    ("ft2_324", "ftree"),
    ("ft2_324", "lash"),
    ("torus444", "minhop"),
    ("torus444", "dor"),
    ("torus444", "lash"),
    ("psmn_x5", "minhop"),
    ("ft2_16", "sssp"),
    ("ft2_16", "dfsssp"),
    ("ft2_324", "dfsssp"),
    ("torus444", "dfsssp"),
];

/// Tables that differ.
const OTHERS: &[(&str, &str)] = &[("ft2_16", "nue"), ("psmn_x5", "updn")];

#[test]
fn tables_of_simple_engines_are_those_of_opensm() {
    let Some(ib) = data() else { return };
    for (fabric, name) in IDENTICAL {
        let (share, _, ours) = alike(&ib, fabric, name);
        assert!(share >= 1.0 && ours.unreached == 0, "{fabric} {name}: {share}");
    }
}

#[test]
fn other_engines_are_as_short_and_no_worse_balanced() {
    let Some(ib) = data() else { return };
    for (fabric, name) in OTHERS {
        let (_, theirs, ours) = alike(&ib, fabric, name);
        assert_eq!(
            (ours.unreached, ours.loops, theirs.unreached, theirs.loops),
            (0, 0, 0, 0),
            "{fabric} {name}"
        );
        assert!(ours.mean_length() <= theirs.mean_length() + 1e-9, "{fabric} {name}");
        assert!(ours.load.max <= theirs.load.max, "{fabric} {name}: {:?} {:?}", ours.load, theirs.load);
    }
}

#[test]
fn our_updn_is_free_where_opensm_is_not() {
    let Some(ib) = data() else { return };
    let file = |name: &str| ib.join(name).display().to_string();
    let theirs =
        import::load(&[file("net/rand64.net"), file("tables/rand64.updn.opensm-lfts.dump.gz")]).unwrap();
    let report = verify(&theirs, theirs.tables.as_ref().unwrap());
    assert!(report.cycle.is_some_and(|c| c.len() > 2), "OpenSM's updn has a credit loop on this graph");
    let updn = find(ENGINES, "updn").unwrap();
    let ours = route(&theirs, updn, &Options::default()).unwrap();
    assert!(verify(&ours, ours.tables.as_ref().unwrap()).sound());
    for table in ["minhop", "updn"] {
        let table = file(&format!("real/psmn_x5.{table}.opensm-lfts.dump.gz"));
        let real = import::load(&[table, file("real/psmn_x5.ibnetdiscover")]).unwrap();
        assert!(verify(&real, real.tables.as_ref().unwrap()).sound());
    }
    // Sampled service levels of the torus: no loop on (link, lane), as the engines claim.
    for engine in ["dfsssp", "lash", "torus-2QoS"] {
        let mut files = vec![file("net/torus444.ibnetdiscover.gz")];
        files.push(file(&format!("tables/torus444.{engine}.opensm-lfts.dump.gz")));
        files.push(file(&format!("tables/torus444.{engine}.opensm-sl2vl.dump.gz")));
        let levels = file(&format!("tables/torus444.{engine}.path_sl.txt"));
        let sampled = std::path::Path::new(&levels).is_file();
        files.extend(sampled.then_some(levels));
        let torus = import::load(&files).unwrap();
        let report = verify(&torus, torus.tables.as_ref().unwrap());
        assert!(report.cycle.is_none() && (!sampled || report.unknown < report.pairs), "{engine} {report:?}");
    }
}

/// The same tables in three forms, and with several identifiers for each host.
#[test]
fn forms_of_one_table_agree() {
    let Some(ib) = data() else { return };
    let net = "net/ft2_16.ibnetdiscover.gz";
    let lfts = load(&ib, &[net, "tables/ft2_16.minhop.opensm-lfts.dump.gz"]);
    for other in ["tables/ft2_16.minhop.dump_fts.txt", "tables/ft2_16.minhop.opensm.fdbs.gz"] {
        assert_eq!(load(&ib, &[net, other]).tables, lfts.tables, "{other}");
    }
    for engine in ["minhop", "updn"] {
        let dump = format!("tables/ft2_16.{engine}.lmc2.opensm-lfts.dump.gz");
        let several = load(&ib, &["net/ft2_16.net", &dump]);
        let tables = several.tables.as_ref().unwrap();
        assert_eq!((tables.planes, verify(&several, tables).sound()), (4, true));
    }
}

/// Four identifiers for each host: every one of them goes OpenSM's way.
#[test]
fn several_identifiers_go_the_paths_of_opensm() {
    let Some(ib) = data() else { return };
    for name in ["minhop", "updn"] {
        let dump = format!("tables/ft2_16.{name}.lmc2.opensm-lfts.dump.gz");
        let theirs = load(&ib, &["net/ft2_16.net", &dump]);
        let options = Options { lmc: 2, ..Options::default() };
        let ours = route(&theirs, engine(name), &options).unwrap();
        let entries = 4 * theirs.hosts.len() * theirs.switches.len();
        let (a, b) = (theirs.tables.as_ref().unwrap(), ours.tables.as_ref().unwrap());
        assert_eq!(a.next[..entries], b.next[..entries], "{name}");
    }
}
