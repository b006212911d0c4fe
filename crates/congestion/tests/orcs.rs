//! Static congestion against results of ORCS 2.0 and of an independent implementation of its paper. The files are not in this tree:
//! `NETLOOM_DATA` names the directory that holds `ib/`, by default `../shared/data` beside it. Without them these tests say so and
//! pass; `small_fabrics` needs none.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod common;

use base::world::World;
use common::{ALL, count};
use congestion::{
    Plan, TableRoutes, Task, Want, mapping, metrics,
    routes::Multipath,
    run::{Sends, simulate_over},
    simulate,
};
use fabric::{
    engines::{self, ENGINES},
    import,
    subnet::Subnet,
};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use workload::levels::LevelPattern;

fn data() -> Option<PathBuf> {
    let root = std::env::var_os("NETLOOM_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from);
    let ib = root.join("ib");
    if ib.is_dir() {
        return Some(ib);
    }
    eprintln!("SKIPPED: {} is not there", ib.display());
    None
}

fn load(paths: &[PathBuf]) -> Subnet {
    let paths: Vec<String> = paths.iter().map(|p| p.display().to_string()).collect();
    import::load(&paths).unwrap()
}

fn json(path: &Path) -> Json {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Every number of a check file, whatever it is called.
#[test]
fn check_files_agree() {
    let Some(ib) = data() else { return };
    for name in ["listing1", "ft2_16.ftree", "ft2_16.ftree.lcg1"] {
        let check = json(&ib.join(format!("orcs/{name}.check.json")));
        let subnet = load(&[ib.join("orcs").join(check["dot"].as_str().unwrap())]);
        assert_eq!(check["hosts"], subnet.hosts.len());
        let hosts = match mapping::from_text(&subnet, &check.to_string()) {
            Ok(hosts) => hosts,
            Err(_) => (0..subnet.hosts.len() as u32).collect(),
        };
        for (pattern, expected) in check["patterns"].as_object().unwrap() {
            let ours = serde_json::to_value(count(&subnet, pattern, 2, &hosts, ALL)).unwrap();
            assert_eq!(ours["edges"], check["edges"]);
            for (key, value) in expected.as_object().unwrap() {
                let key = if key == "BW" { "bandwidth_fraction" } else { key };
                match (value.as_f64(), ours[key].as_f64()) {
                    (Some(a), Some(b)) => assert!((a - b).abs() < 1e-12, "{name} {pattern} {key}: {a} {b}"),
                    _ => assert_eq!(&ours[key], value, "{name} {pattern} {key}"),
                }
            }
        }
    }
}

/// Every number of the files that ORCS 2.0 itself wrote.
#[test]
fn orcs_agrees() {
    let Some(ib) = data() else { return };
    for name in ["ft2_16.ftree", "ft2_16.ftree.lcg1"] {
        let orcs = json(&ib.join(format!("orcs/{name}.orcs.json")));
        let check = json(&ib.join(format!("orcs/{name}.check.json")));
        let subnet = load(&[ib.join("orcs/ft2_16.ftree.dot")]);
        let hosts = mapping::from_text(&subnet, &check.to_string()).unwrap_or_else(|_| (0..16).collect());
        for (key, by_metric) in orcs.as_object().unwrap() {
            if let Some(pattern) = key.strip_prefix("dep_max_delay ") {
                let part = by_metric["part_commsize"].as_u64().unwrap() as u32;
                let ours = count(&subnet, pattern, part, &hosts, ALL);
                assert_eq!(
                    ours.dep_max_delay_orcs2.unwrap().as_u64(),
                    by_metric["result"][0][0].as_u64(),
                    "{name} {key}"
                );
                continue;
            }
            let ours = count(&subnet, key, 2, &hosts, ALL);
            assert_eq!(
                ours.sum_max_cong.as_u64(),
                by_metric["sum_max_cong"]["result"][0][0].as_u64(),
                "{name} {key}"
            );
            let histogram = serde_json::to_value(&ours.hist_max_cong).unwrap();
            assert_eq!(histogram, by_metric["hist_max_cong"]["result"], "{name} {key}");
            let reported = by_metric["hist_max_cong"]["BW"].as_f64().unwrap();
            assert!((ours.bandwidth_fraction.unwrap() - reported).abs() < 6e-7, "{name} {key}");
            let bin: f64 = by_metric["hist_acc_band"]["result"][0]
                .as_str()
                .unwrap()
                .split_whitespace()
                .next()
                .unwrap()
                .parse()
                .unwrap();
            assert_eq!(ours.hist_acc_band.0, [(format!("{bin:.2}"), 1)], "{name} {key}");
            assert_eq!(by_metric["get_cable_cong"]["edges"], ours.edges);
        }
    }
}

/// The same tables from a dump and a network file, in place of DOT.
#[test]
fn dumps_give_what_dot_gives() {
    let Some(ib) = data() else { return };
    let dot = load(&[ib.join("orcs/ft2_16.ftree.dot")]);
    let all: Vec<u32> = (0..16).collect();
    for (topology, table) in [
        ("net/ft2_16.net", "tables/ft2_16.ftree.opensm-lfts.dump.gz"),
        ("net/ft2_16.ibnetdiscover.gz", "tables/ft2_16.ftree.opensm-lfts.dump.gz"),
        ("net/ft2_16.ibnetdiscover.gz", "tables/ft2_16.ftree.opensm.fdbs.gz"),
        ("net/ft2_16.opensm-subnet.lst.gz", "tables/ft2_16.ftree.opensm.fdbs.gz"),
    ] {
        let subnet = load(&[ib.join(table), ib.join(topology)]);
        for pattern in ["bisect_fb_sym", "bruck", "neighbor:4"] {
            let (a, b) = (count(&dot, pattern, 2, &all, ALL), count(&subnet, pattern, 2, &all, ALL));
            assert_eq!(
                (a.hist_max_cong, a.sum_max_cong, a.edge_cong_hist),
                (b.hist_max_cong, b.sum_max_cong, b.edge_cong_hist),
                "{topology} {pattern}"
            );
        }
    }
}

/// Figure 3 on a 16-host tree with OpenSM's tables: the mean of 1,000 matchings is the measured effective bisection bandwidth.
#[test]
fn effective_bisection_bandwidth_is_the_measured_one() {
    let Some(ib) = data() else { return };
    for (files, measured) in [
        (vec!["orcs/ft2_16.ftree.dot"], 0.906),
        (vec!["net/ft2_324.net", "tables/ft2_324.ftree.opensm-lfts.dump.gz"], 0.822),
        (vec!["net/torus444.net", "tables/torus444.minhop.opensm-lfts.dump.gz"], 0.788),
        (vec!["net/ft2_324.net", "tables/ft2_324.lash.opensm-lfts.dump.gz"], 0.148),
    ] {
        let subnet = load(&files.iter().map(|f| ib.join(f)).collect::<Vec<_>>());
        let routes = TableRoutes {
            subnet: &subnet,
            tables: subnet.tables.as_ref().unwrap(),
            multipath: Multipath::First,
        };
        let hosts = (0..subnet.hosts.len() as u32).collect();
        let sends = Sends::Levels(LevelPattern::Bisect);
        let task = Task { sends, hosts, fixed: 0, part: 0, shuffle: true, level: None };
        let plan = |threads| Plan {
            tasks: vec![task.clone()],
            runs: 4000,
            seed: 5,
            want: Want::default(),
            watched: None,
            threads,
        };
        let one = simulate(&routes, &plan(1), &mut |_| true).unwrap();
        let (mean, half) = one.totals.effective().unwrap();
        assert!((mean - measured).abs() < 0.01, "{files:?}: {mean} +- {half:?}");
        assert_eq!(one, simulate(&routes, &plan(3), &mut |_| true).unwrap(), "threads change the result");
        // More ranks than some have mappings for, too.
        for (ranks, runs) in [(3, 4000), (4, 3)] {
            let plan = Plan { runs, want: Want { edges: true, ..Want::default() }, ..plan(2) };
            let one = simulate(&routes, &plan, &mut |_| true).unwrap();
            let rank = |world: World| simulate_over(&world, &routes, &plan, &mut |_| true).unwrap();
            let rank = &rank;
            let all: Vec<_> = std::thread::scope(|scope| {
                let start = |world| scope.spawn(move || rank(world));
                let ranks: Vec<_> = World::of_threads(ranks).into_iter().map(start).collect();
                ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
            });
            assert!(all.iter().all(|outcome| *outcome == one), "{ranks} ranks change the result");
        }
        assert_eq!(one.totals.bins().iter().sum::<u64>(), 4000);
    }
    assert_eq!(metrics::bandwidth(&[0, 1]), Some(1.0));
}

/// Effective bisection bandwidth of our updn on the real cluster: as good as OpenSM's tables, whose roots are its own choice.
#[test]
fn roots_are_as_good_as_those_of_opensm() {
    let Some(ib) = data() else { return };
    let files = ["real/psmn_x5.ibnetdiscover", "real/psmn_x5.updn.opensm-lfts.dump.gz"].map(|f| ib.join(f));
    let theirs = load(&files);
    let updn = base::registry::find(ENGINES, "updn").unwrap();
    let ours = engines::route(&theirs, updn, &engines::Options::default()).unwrap();
    let measured = |subnet: &Subnet| {
        let tables = subnet.tables.as_ref().unwrap();
        let routes = TableRoutes { subnet, tables, multipath: Multipath::First };
        let hosts = (0..subnet.hosts.len() as u32 & !1).collect();
        let sends = Sends::Levels(LevelPattern::Bisect);
        let tasks = vec![Task { sends, hosts, fixed: 0, part: 0, shuffle: true, level: None }];
        let plan = Plan { tasks, runs: 500, seed: 5, want: Want::default(), watched: None, threads: 1 };
        simulate(&routes, &plan, &mut |_| true).unwrap().totals.effective().unwrap().0
    };
    let (ours, theirs) = (measured(&ours), measured(&theirs));
    assert!(ours > theirs + 0.1, "{ours} {theirs}");
}
