//! Static congestion and clusters from the outside.

use crate::common::netloom;
use netloom::models::MODELS;
use serde_json::Value as Json;
use std::{fs, path::Path};

/// Two leaf switches with two hosts each, two spines, tables of `ftree`.
const TREE: &str = "../fabric/tests/data/tree.dot";

fn out(arguments: &[&str]) -> String {
    let run = netloom(arguments);
    assert_eq!(run.status, 0, "{arguments:?}: {}", run.err);
    run.out
}

fn json(arguments: &[&str]) -> Json {
    let all: Vec<&str> = arguments.iter().chain(&["--format", "json"]).copied().collect();
    serde_json::from_str(&out(&all)).expect("one JSON object")
}

fn count(arguments: &[&str]) -> Json {
    let all: Vec<&str> =
        ["congestion", TREE, "--mapping", "identity"].iter().chain(arguments).copied().collect();
    json(&all)["congestion"].clone()
}

/// By pencil: hosts 0, 1 | 2, 3; to host t from the other leaf by spine t mod 2.
#[test]
fn small_numbers_agree_with_pencil_and_paper() {
    let bisect = count(&["-p", "bisect"]);
    assert_eq!(
        (&bisect["sum_max_cong"], &bisect["edges"], &bisect["edges_used"]),
        (&Json::from(1), &Json::from(16), &Json::from(4))
    );
    let gather = count(&["-p", "gather"]);
    assert_eq!(gather["hist_max_cong"], serde_json::json!({"3": 3}));
    assert_eq!(gather["edge_cong_sum"]["0:S00000->H00000"], 3);
    assert!((gather["bandwidth_fraction"].as_f64().expect("a number") - 1.0 / 3.0).abs() < 1e-12);
    // Bruck: 0>1 1>2 2>3 3>0, then 0>2 1>3 2>0 3>1: no link twice, four messages of two levels by each way.
    let bruck = count(&["-p", "bruck"]);
    assert_eq!(
        (&bruck["hist_max_cong"], &bruck["max_cong_per_level"]),
        (&serde_json::json!({"1": 8}), &serde_json::json!([1, 1]))
    );
    assert_eq!(
        (&bruck["dep_max_delay_orcs2"], &bruck["edge_cong_sum_total"]),
        (&Json::from(2), &Json::from(28))
    );
    // Ring: four levels of one message.
    assert_eq!(count(&["-p", "ring"])["sum_max_cong"], 4);
    assert_eq!(count(&["-p", "ring", "--level", "1"])["sum_max_cong"], 1);
    // 0 and 1 send to host 2: they meet on the link down to it.
    let hot = count(&["-p", "recvs_all_src:1:1:0:linear"]);
    assert_eq!(hot["hist_max_cong"], serde_json::json!({"3": 3}));
}

#[test]
fn options_do_what_they_say() {
    let hosts = out(&[
        "congestion",
        TREE,
        "--mapping",
        "identity",
        "--ranks",
        "2",
        "--subset",
        "linear_bfs",
        "--print-hosts",
        "--print-pattern",
    ]);
    assert!(
        hosts.contains("rank 0: H00000") && hosts.contains("rank 1: H00001") && hosts.contains("1 -> 0"),
        "{hosts}"
    );
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).display().to_string();
    fs::write(path("map"), "H00003 # last first\n0x0\n").expect("written");
    let run = netloom(&["congestion", TREE, "--mapping", &path("map")]);
    assert!(run.status == 4 && run.err.contains("line 2") && run.err.contains("no host"), "{}", run.err);
    fs::write(path("map"), "H00003 # last first\n0\n").expect("written");
    let mapped = out(&["congestion", TREE, "--mapping", &path("map"), "--print-hosts"]);
    assert!(mapped.contains("rank 0: H00003\nrank 1: H00000"), "{mapped}");
    for file in ["map.svg", "map.dot"] {
        for (colours, ends) in [("safe", ["#d6dbe0", "#3a075c"]), ("green-to-red", ["#00dc00", "#ff0000"])] {
            out(&["congestion", TREE, "--map", &path(file), "--map-colours", colours, "--force"]);
            let text = fs::read_to_string(path(file)).expect("the map");
            assert!(ends.iter().all(|end| text.contains(end)), "{file} has both ends of {colours}");
        }
    }
    let refused = netloom(&["congestion", TREE, "--map", &path("map.png")]);
    assert!(refused.status == 2 && refused.err.contains(".svg, .pdf or .dot"), "{}", refused.err);
    out(&["congestion", TREE, "--map", &path("map.pdf")]);
    assert!(fs::read(path("map.pdf")).expect("the map").starts_with(b"%PDF"));
    let again = netloom(&["congestion", TREE, "--map", &path("map.dot")]);
    assert_eq!(again.status, 7);
    // The map is a network file again.
    assert!(out(&["congestion", &path("map.dot")]).contains("BW: "));
    for metric in [
        "sum_max_cong",
        "hist_max_cong",
        "hist_acc_band",
        "dep_max_delay",
        "get_cable_cong",
        "edge_forwarding_index",
    ] {
        assert!(out(&["congestion", TREE, "-m", metric]).lines().count() > 1, "{metric}");
    }
    let partial = count(&["-p", "gather", "--partial-counts"]);
    assert_eq!(partial["edge_cong_sum"]["0:S00000->H00000"], 6, "1, 2 and 3 messages, one after the other");
    let threads = |n: &str| json(&["congestion", TREE, "-p", "rand", "--runs", "200", "--threads", n]);
    assert_eq!(threads("1"), threads("3"));
}

/// Only some hosts, shuffled; a part with hosts of its own; lists of pairs.
#[test]
fn hosts_and_pairs_are_chosen() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).display().to_string();
    let write = |name: &str, text: &str| {
        fs::write(path(name), text).expect("written");
        path(name)
    };
    let two = write("two", "H00003\nH00001\n");
    let listed = out(&["congestion", TREE, "--hosts", &two, "--mapping", "identity", "--print-hosts"]);
    assert!(listed.contains("rank 0: H00003\nrank 1: H00001\n"), "{listed}");
    let shuffled = json(&["congestion", TREE, "--hosts", &two, "--runs", "40", "-p", "gather"]);
    assert_eq!(
        (&shuffled["congestion"]["ranks"], &shuffled["congestion"]["runs"]),
        (&Json::from(2), &Json::from(40))
    );
    let edges = shuffled["congestion"]["edge_cong_sum"].as_object().expect("links");
    assert!(!edges.contains_key("0:S00000->H00000"), "a host that is not listed takes no part: {edges:?}");
    assert_eq!(edges.len(), 8, "both hosts gather: {edges:?}");
    let merged = ["congestion", TREE, "-p", "bisect::bisect", "--mapping", "identity", "--print-hosts"];
    let part = [&merged[..], &["--part-subset", "guid_order_desc"]].concat();
    assert!(out(&part).contains("rank 0: H00003\nrank 1: H00002\nrank 2: H00000"), "{}", out(&part));
    let ranks = write("ranks", "0 2\n1 3\nlevel\n2 -> 0\n");
    let counted = count(&["-p", &format!("pairs:{ranks}")]);
    assert_eq!(
        (&counted["levels"], &counted["messages"], &counted["ranks"]),
        (&Json::from(2), &Json::from(3), &Json::from(4))
    );
    let hosts = write("hosts", "H00003 -> H00000\nH00001 H00000\n");
    let counted = count(&["-p", &format!("pairs:{hosts}")]);
    assert_eq!(
        (&counted["hist_max_cong"], &counted["ranks"]),
        (&serde_json::json!({"2": 2}), &Json::from(3))
    );
    let run = netloom(&["congestion", TREE, "-p", &format!("pairs:{hosts}"), "--runs", "9"]);
    assert!(run.err.contains("all mappings are the same"), "{}", run.err);
    let bad = write("bad", "0 1\n0 H9\n");
    let outside = write("outside", "H00000\n");
    let none = format!("pairs:{}", write("none", "# nothing\n"));
    for (more, status, part) in [
        (vec!["-p", "bisect", "--part-subset", "rand"], 2, "FIRST::SECOND"),
        (vec!["-p", "bisect::bisect", "--part-subset", "linear_bfs"], 2, "needs --subset linear_bfs"),
        (vec!["--hosts", &two, "--ranks", "3"], 2, "--hosts lists 2 hosts"),
        (vec!["-p", "ring::bisect", "--part-ranks", "1"], 2, "leaves the second some"),
        (vec!["-p", "ring", "--part-ranks", "3"], 2, "only two merged patterns"),
        (vec!["-p", "ring::bisect", "--part-ranks", "4"], 2, "there are 4 ranks"),
        (
            vec!["-p", "gather", "--partial-counts", "-m", "hist_max_cong"],
            2,
            "--partial-counts has no effect",
        ),
        (vec!["--runs", "5", "-m", "edge_forwarding_index"], 2, "--level or --runs has no effect"),
        (vec!["--level", "0", "-m", "edge_forwarding_index"], 2, "--level or --runs has no effect"),
        (vec!["--nodes", "tapes"], 2, "`tapes` is no kind of nodes"),
        (vec!["--hosts", &two, "--mapping", &outside], 2, "--hosts leaves out"),
        (vec!["-p", "gather", "--level", "99"], 2, "counted from 0"),
        (vec!["-p", "bisekt", "-m", "edge_forwarding_index"], 2, "--pattern"),
        (vec!["-p", &none], 4, "none: there is no pair"),
    ] {
        let run = netloom(&[vec!["congestion", TREE], more.clone()].concat());
        assert!(run.status == status && run.err.contains(part), "{more:?}: {} {}", run.status, run.err);
    }
    let run = netloom(&["congestion", TREE, "-p", &format!("pairs:{bad}")]);
    assert!(
        run.status == 4 && run.err.contains("line 2") && run.err.contains("`H9` is no host"),
        "{}",
        run.err
    );
}

/// A name that several switches have is none of them.
#[test]
fn a_name_of_several_switches_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("net").display().to_string();
    let head = |guid: u32, ports: &str| {
        format!("switchguid=0x{guid:x}\nSwitch 4 \"S-{guid:x}\" # \"SW\"\n{ports}\n")
    };
    let text = head(1, "[1] \"H-1\"[1] # \"h1\"\n[2] \"S-2\"[2] # \"SW\"")
        + &head(2, "[1] \"H-2\"[1] # \"h2\"\n[2] \"S-1\"[2] # \"SW\"")
        + "Ca 1 \"H-1\" # \"h1\"\n[1] \"S-1\"[1]\nCa 1 \"H-2\" # \"h2\"\n[1] \"S-2\"[1]\n";
    fs::write(&file, text).expect("written");
    let run = netloom(&["fabric", "route", &file, "--engine", "updn", "--fail", "SW"]);
    assert!(run.status == 2 && run.err.contains("2 switches are called `SW`"), "{} {}", run.status, run.err);
}

/// Switches and cables fail by name or GUID, and what is left is routed and counted.
#[test]
fn what_fails_is_named() {
    let fail = |what: &[&str]| {
        let failing: Vec<&str> = what.iter().flat_map(|w| ["--fail", *w]).collect();
        json(&[&["fabric", "route", TREE, "--engine", "updn"], &failing[..]].concat())
    };
    let spine = fail(&["S00002"]);
    assert_eq!(
        (&spine["failed"], &spine["unreached"]),
        (&Json::from("2 cables, 1 switches; 0 hosts cut off and left out"), &Json::from(0))
    );
    assert_eq!(fail(&["S00000"])["failed"], "2 cables, 1 switches; 2 hosts cut off and left out");
    let bruck =
        ["congestion", TREE, "-p", "bruck", "--mapping", "identity", "--engine", "updn", "--ranks", "4"];
    let counted = json(&[&bruck[..], &["--fail", "S00003"]].concat());
    assert_eq!(counted["congestion"]["hist_max_cong"], serde_json::json!({"1": 4, "2": 4}));
    for (more, part) in [
        (vec!["--fail", "S9"], "NAME:PORT"),
        (vec!["--fail", "S00000:1"], "no cable to another switch"),
        (vec!["--fail", "S00000:9"], "no cable to another switch"),
    ] {
        let run = netloom(&[vec!["fabric", "route", TREE, "--engine", "updn"], more.clone()].concat());
        assert!(run.status == 2 && run.err.contains(part), "{more:?}: {} {}", run.status, run.err);
    }
    let run = netloom(&["congestion", TREE, "--fail", "S00002"]);
    assert!(run.status == 2 && run.err.contains("need --engine"), "{}", run.err);
}

#[test]
fn mistakes_are_reported() {
    for (arguments, status, part) in [
        (vec!["congestion", TREE, "-p", "bisekt"], 2, "did you mean bisect"),
        (vec!["congestion", TREE, "--ranks", "9"], 2, "4 hosts"),
        (vec!["congestion", TREE, "--engine", "minhopp"], 2, "did you mean `minhop`"),
        (vec!["congestion", TREE, TREE], 4, "already holds"),
        (vec!["congestion", "nowhere.dot"], 4, "cannot be read"),
        (vec!["congestion", "tests/good.toml", TREE], 2, "stands alone"),
        (vec!["congestion", "tests/fabric-only.toml"], 2, "no routes"),
        (vec!["fabric", "route", TREE, "--engine", "torus"], 3, "cannot route this network"),
        (vec!["fabric", "route", TREE, "--engine", "s-mod-k", "--to", "lfts"], 3, "depend on the source"),
        (vec!["fabric", "import", TREE, "--to", "path-sl"], 2, "service levels"),
        (vec!["fabric", "opensm", TREE, "--engine", "fastest"], 2, "no engine"),
    ] {
        let run = netloom(&arguments);
        assert!(run.status == status && run.err.contains(part), "{arguments:?}: {} {}", run.status, run.err);
    }
}

#[test]
fn clusters_are_read_written_verified_and_routed() {
    let columns = json(&["fabric", "import", TREE]);
    assert_eq!(
        (&columns["hosts"], &columns["switches"], &columns["edges"]),
        (&Json::from(4), &Json::from(4), &Json::from(16))
    );
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).display().to_string();
    for form in ["net", "ibnetdiscover", "lfts", "orcs", "json", "edge-list"] {
        out(&["fabric", "import", TREE, "--to", form, "--out", &path(form)]);
    }
    let dot = out(&["fabric", "import", TREE, "--to", "orcs"]);
    assert_eq!(dot, fs::read_to_string(TREE).expect("the tree"), "DOT is written as it was read");
    for topology in ["net", "ibnetdiscover"] {
        let report = json(&["fabric", "verify", &path(topology), "--tables", &path("lfts")]);
        assert_eq!((&report["sound"], &report["minimal"]), (&Json::from(true), &Json::from(12)));
    }
    for engine in ["minhop", "updn", "ftree", "dfsssp", "nue"] {
        let routed = json(&["fabric", "route", &path("net"), "--engine", engine, "--fail-links", "1"]);
        assert_eq!(routed["unreached"], 0, "{engine}");
        assert!(routed["failed"].as_str().is_some_and(|f| f.starts_with("1 cables")), "{routed}");
    }
    let bare = json(&["fabric", "verify", &path("net")]);
    assert_eq!((&bare["connected"], &bare["slow_cables"]), (&Json::from(true), &serde_json::json!([])));
    let routing = out(&["fabric", "verify", "tests/good.toml"]);
    assert!(routing.starts_with("routing"), "{routing}");
    let ring = path("ring.dot");
    let text = "digraph r { A -> B [comment=\"HB,HC\"]; B -> C [comment=\"HC,HA\"]; C -> A [comment=\"HA,HB\"]; B -> A; C -> B; A -> C;\n\
                A -> HA [comment=HA]; B -> HB [comment=HB]; C -> HC [comment=HC]; HA -> A [comment=\"*\"]; HB -> B [comment=\"*\"]; HC -> C [comment=\"*\"] }";
    fs::write(&ring, text).expect("written");
    let run = netloom(&["fabric", "verify", &ring]);
    assert!(
        run.status == 5
            && run.out.contains("3 channels wait for each other")
            && run.out.contains("A[1]->B[2] lane 0"),
        "{}",
        run.out
    );
}

const MACHINE: &str = r#"
[experiment]
seed = 3
[fabric]
topology = "imported"
file = "TREE"
link.terminal = { bandwidth = "2 GiB/s", latency = "30 ns", credit_delay = "4 ns", vc_buffer = "16 KiB" }
link.link = { bandwidth = "2 GiB/s", latency = "30 ns", credit_delay = "4 ns", vc_buffer = "16 KiB" }
[routing]
algorithm = "forwarding"
[[job]]
workload = "bisect_fb_sym"
message = "1 KiB"
load = 0.9
runs = 50
[model]
kind = "KIND"
vcs = 4
"#;

/// One file, two models: the cluster's tables under `packet` and under `congestion`, which gives what the command gives.
#[test]
fn an_imported_cluster_runs_under_every_model() {
    let directory = tempfile::tempdir().expect("a directory");
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join(TREE).display().to_string();
    let write = |kind: &str, head: &str| {
        let path = directory.path().join(format!("{kind}.toml")).display().to_string();
        let text = MACHINE
            .replace("TREE", &tree)
            .replace("KIND", kind)
            .replace("seed = 3", &format!("seed = 3\n{head}"));
        fs::write(&path, text).expect("written");
        path
    };
    let still = json(&["run", &write("congestion", "")]);
    let block = &still["congestion"];
    assert_eq!(
        (&block["pattern"], &block["runs"], &block["messages"]),
        (&Json::from("bisect_fb_sym"), &Json::from(50), &Json::from(200))
    );
    let command = json(&["congestion", TREE, "-p", "bisect_fb_sym", "--runs", "50", "--seed", "3"]);
    assert_eq!(block["hist_acc_band"], command["congestion"]["hist_acc_band"]);
    assert_eq!(block["edge_cong_hist"], command["congestion"]["edge_cong_hist"]);
    let moving = json(&["run", &write("packet", "duration = \"20 us\""), "--check"]);
    assert!(moving["packets"]["delivered"].as_u64() > Some(100));
    assert_eq!(moving["verdict"]["state"], "ok");
    assert!(out(&["run", &write("congestion", "")]).contains("of the peak"));
    // Every model of the registry takes the file: with time, a program on the same fabric and tables.
    for model in MODELS.iter().filter(|m| m.needs.time) {
        let path = write(model.about.name, "until = \"workload-done\"");
        let text = fs::read_to_string(&path).expect("the file");
        let program =
            text.replace("\"bisect_fb_sym\"", "\"ring\"").replace("message = \"1 KiB\"\nload = 0.9\n", "");
        fs::write(&path, program).expect("written");
        let run = json(&["run", &path]);
        assert_eq!(
            (&run["verdict"]["state"], &run["messages"]["in_flight"]),
            (&Json::from("ok"), &Json::from(0)),
            "{}",
            model.about.name
        );
    }
}

#[test]
fn fabrics_of_experiments_are_counted_in_closed_form_and_by_tables() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("tree.toml").display().to_string();
    let text = "[fabric]\ntopology = \"xgft\"\nchildren = [4, 8]\nparents = [1, 4]\n[routing]\nalgorithm = \"d-mod-k\"\n";
    fs::write(&path, text).expect("written");
    let closed = json(&["congestion", &path, "-p", "bruck", "--runs", "20"]);
    let tables = json(&["congestion", &path, "-p", "bruck", "--runs", "20", "--engine", "d-mod-k"]);
    assert_eq!(closed, tables, "the closed form and the engine of the same name agree");
    let backwards = json(&["congestion", &path, "-p", "bruck", "--runs", "20", "--engine", "s-mod-k"]);
    let by_source =
        json(&["congestion", &path, "-p", "bruck", "--runs", "20", "--set", "routing.algorithm=s-mod-k"]);
    assert_eq!(backwards, by_source);
}
