//! Clusters from the outside: what verification, engines and experiments make of the same files.

use crate::common::netloom;
use serde_json::Value as Json;
use std::fs;

/// Two leaf switches with two hosts each, two spines, tables of `ftree`.
const TREE: &str = "../fabric/tests/data/tree.dot";

/// Status, and the object that was printed.
fn json(arguments: &[&str]) -> (u8, Json) {
    let all: Vec<&str> = arguments.iter().chain(&["--format", "json"]).copied().collect();
    let run = netloom(&all);
    (run.status, serde_json::from_str(&run.out).unwrap_or_else(|e| panic!("{e}: {}", run.err)))
}

/// Files in a directory of their own.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn write(&self, name: &str, text: &str) -> String {
        fs::write(self.path(name), text).expect("written");
        self.path(name)
    }

    /// What the arguments print, as a file.
    fn of(&self, name: &str, arguments: &[&str]) -> String {
        let run = netloom(arguments);
        assert_eq!(run.status, 0, "{arguments:?}: {}", run.err);
        self.write(name, &run.out)
    }
}

/// An experiment on a cluster's files.
fn experiment(files: &Files, cluster: &str, more: &str) -> String {
    let link =
        "{ bandwidth = \"4 GB/s\", latency = \"30 ns\", credit_delay = \"10 ns\", vc_buffer = \"32 KiB\" }";
    let text = format!(
        "[experiment]\nduration = \"1 us\"\n[fabric]\ntopology = \"imported\"\nfile = \"{cluster}\"\nlink.terminal = {link}\nlink.link = {link}\n{more}\n\
         [[job]]\nworkload = \"uniform\"\nmessage = \"4 KiB\"\nload = 0.1\n[model]\nkind = \"packet\"\npacket = \"4 KiB\"\nchunk = \"1 KiB\"\n"
    );
    files.write("experiment.toml", &text)
}

/// Lanes without levels excuse nothing: minhop's circle on a torus stays one, for verification and for an experiment.
#[test]
fn lanes_without_levels_hide_no_circle() {
    let files = Files::new();
    let torus = files.write("torus.toml", "[fabric]\ntopology = \"torus\"\ndims = [4, 4]\n");
    let cluster = files.of("cluster", &["fabric", "import", &torus, "--to", "ibnetdiscover"]);
    let tables = files.of("tables", &["fabric", "route", &cluster, "--engine", "minhop", "--to", "lfts"]);
    let lanes = files.of("lanes", &["fabric", "route", &cluster, "--engine", "torus", "--to", "sl2vl"]);
    let levels = files.write("levels", "1 2 0x1\n");
    for more in [vec![], vec![lanes.as_str()], vec![levels.as_str()], vec![lanes.as_str(), &levels]] {
        let given = [&["fabric", "verify", &cluster, &tables], &more[..]].concat();
        let (status, report) = json(&given);
        assert!(status == 5 && report["sound"] == false && report["credit_loop"].is_array(), "{report}");
        let unknown = report["unknown_paths"].as_u64().expect("a number");
        assert!(unknown == 0 && more.is_empty() || unknown >= 239, "{report}");
        assert_eq!(report["credit_loop_by_unknown_paths"], unknown > 0, "{report}");
    }
    let run = netloom(&["fabric", "verify", &cluster, &tables, &lanes]);
    assert!(run.out.contains("wait for each other where paths without a service level use level 0:"));
    assert!(run.out.contains("240 paths without a service level use level 0"), "{}", run.out);
    let routing = "tables = \"TABLES\"\nlanes = \"LANES\"\n[routing]\nalgorithm = \"forwarding\"\n";
    let path = experiment(&files, &cluster, &routing.replace("TABLES", &tables).replace("LANES", &lanes));
    let run = netloom(&["check", &path]);
    assert!(
        run.status == 3 && run.err.contains("240 paths have no service level"),
        "{} {}",
        run.status,
        run.err
    );
}

/// An experiment that imports a cluster has its names and GUIDs: what fails, roots, tables and counts are those of the file.
#[test]
fn experiments_have_the_names_of_their_cluster() {
    let files = Files::new();
    let named =
        fs::read_to_string(TREE).expect("the tree").replace("S0000", "leaf-").replace("H0000", "Hnode");
    let dot = files.write("named.dot", &named);
    let net = files.of("named.net", &["fabric", "import", &dot, "--to", "net"]);
    let cluster = files.of("cluster", &["fabric", "import", &net, "--to", "ibnetdiscover"]);
    let other = fs::read_to_string(&cluster).expect("it was written").replace("2000", "abc0");
    let cluster = files.write("cluster", &other);
    let path = experiment(&files, &cluster, "[routing]\nalgorithm = \"forwarding\"\nengine = \"ftree\"\n");
    for arguments in [
        &["fabric", "route", "--engine", "minhop", "--fail", "leaf-2"][..],
        &["fabric", "route", "--engine", "updn", "--root", "leaf-3", "--to", "lfts"],
        &["fabric", "import", "--to", "net"],
        &["congestion", "--engine", "minhop", "-m", "edge_forwarding_index"],
        &["congestion", "--engine", "ftree", "-p", "gather", "-m", "get_cable_cong", "--mapping", "identity"],
    ] {
        let with = |network: &str| {
            let all: Vec<&str> = arguments.iter().copied().chain([network]).collect();
            let run = netloom(&all);
            assert!(
                run.status == 0 && run.out.contains("leaf-") | run.out.contains("failed"),
                "{all:?}: {} {}",
                run.out,
                run.err
            );
            run.out
        };
        assert_eq!(with(&path), with(&cluster), "{arguments:?}");
    }
    let tables = files.of("tables", &["fabric", "route", &path, "--engine", "ftree", "--to", "lfts"]);
    assert_eq!(json(&["fabric", "verify", &cluster, &tables]).0, 0);
    let exported = files.of("exported", &["fabric", "export", &path, "--to", "lfts", "--engine", "ftree"]);
    assert_eq!(json(&["fabric", "verify", &cluster, &exported]).0, 0);
}

/// Three leaf switches with a host each and two spines. Engines go by GUIDs, so those of a simulation have to see the file's: its paths are those of `fabric route` on the file.
#[test]
fn engines_of_a_simulation_see_the_guids_of_the_cluster() {
    let files = Files::new();
    let leaf = |n: u32, name: char| {
        format!("Switch 3 \"{name}\"\n[1] \"H{n}\"[1]\n[2] \"D\"[{0}]\n[3] \"E\"[{0}]\n", n + 1)
    };
    let leaves: String = (0..).zip(['A', 'B', 'C']).map(|(n, name)| leaf(n, name)).collect();
    let net = files.write(
        "net",
        &format!("{leaves}Switch 3 \"D\"\nSwitch 3 \"E\"\nHca 1 \"H0\"\nHca 1 \"H1\"\nHca 1 \"H2\"\n"),
    );
    let invented = files.of("invented", &["fabric", "import", &net, "--to", "ibnetdiscover"]);
    let text = fs::read_to_string(&invented).expect("it was written");
    let own = files.write("own", &text.replace("200001", "2000ff"));
    let paths = |cluster: &str| {
        let engine = "[routing]\nalgorithm = \"forwarding\"\nengine = \"minhop\"\n";
        let computed =
            files.of("computed", &["fabric", "route", &experiment(&files, cluster, engine), "--to", "table"]);
        let tables = files.of("tables", &["fabric", "route", cluster, "--engine", "minhop", "--to", "lfts"]);
        let followed = format!("tables = \"{tables}\"\n[routing]\nalgorithm = \"forwarding\"\n");
        let followed = files
            .of("followed", &["fabric", "route", &experiment(&files, cluster, &followed), "--to", "table"]);
        let [computed, followed] =
            [computed, followed].map(|path| fs::read_to_string(path).expect("written"));
        assert_eq!(computed, followed, "{cluster}");
        computed
    };
    assert_ne!(paths(&own), paths(&invented), "the order of GUIDs says who is balanced first");
}

/// A cut that splits the network is unsound, whether it is a what-if or in the file; tables of it are written with a warning.
#[test]
fn what_splits_a_network_is_not_sound() {
    let cut = ["fabric", "route", TREE, "--engine", "minhop", "--fail", "S00000:3", "--fail", "S00000:4"];
    let (status, report) = json(&cut);
    assert_eq!((status, &report["pairs"], &report["unreached"]), (5, &Json::from(12), &Json::from(8)));
    let failed = report["failed"].as_str().expect("a text");
    assert!(failed.ends_with("the network falls apart: 2 hosts cannot reach the others"), "{failed}");
    let run = netloom(&[&cut[..], &["--to", "lfts"]].concat());
    assert!(run.status == 0 && run.err.contains("warning: 8 of 12 messages do not arrive"), "{}", run.err);
    // Hosts of a switch that fails are gone with it.
    let (status, report) = json(&["fabric", "route", TREE, "--engine", "minhop", "--fail", "S00000"]);
    assert_eq!((status, &report["pairs"], &report["unreached"]), (0, &Json::from(2), &Json::from(0)));
}

/// What only engines heed is refused or named where there is none.
#[test]
fn options_of_engines_need_one() {
    for (arguments, part) in [
        (vec!["fabric", "verify", TREE, "--lmc", "1"], "for engines"),
        (vec!["congestion", TREE, "--root", "S00002"], "for engines"),
        (vec!["fabric", "route", TREE, "--lmc", "1"], "for engines"),
        (vec!["fabric", "route", TREE, "--root", "S00002", "--to", "table"], "for engines"),
        (vec!["fabric", "route", TREE, "--engine", "minhop", "--root", "S00002"], "has no roots"),
        (vec!["congestion", TREE, "-p", "bisekt"], "pairs:FILE"),
    ] {
        let run = netloom(&arguments);
        assert!(run.status == 2 && run.err.contains(part), "{arguments:?}: {} {}", run.status, run.err);
    }
    let run = netloom(&["congestion", TREE, "-p", "ring", "--multipath", "random"]);
    assert!(run.status == 0 && run.err.contains("one local identifier each"), "{}", run.err);
    let run =
        netloom(&["congestion", TREE, "-m", "edge_forwarding_index", "--engine", "minhop", "--lmc", "1"]);
    assert!(run.out.contains("over 2 local identifiers of each host: "), "{}", run.out);
    assert!(run.out.contains("8 directed links of hosts, listed with them: 6 to 6"), "{}", run.out);
}
