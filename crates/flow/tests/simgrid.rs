//! SimGrid itself as an oracle: random platforms and flows, drawn anew by seed, must end at its times.
//!
//! Needs SimGrid 3.32 (Debian's `libsimgrid-dev`) and a C++ compiler; without them the test says that it is skipped. `NETLOOM_LONG=1` draws ten times
//! as many cases. Pipes that limit each flow alone (FATPIPE) are left out: there SimGrid's shares are not max-min fair (`FLOW.md`).

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use base::{
    index::TerminalId,
    rng::{Purpose, Stream},
};
use flow::scenarios::{Flow, Scenario, rules};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Sets of rules, as [`rules`] names them, with what they are in SimGrid.
const RULES: [(&str, &str); 5] = [
    (
        "maxmin_nocross",
        "network/model:CM02 network/crosstraffic:0 network/TCP-gamma:1e30 network/bandwidth-factor:1 \
         network/latency-factor:1 network/weight-S:0",
    ),
    ("CM02_nocross", "network/model:CM02 network/crosstraffic:0"),
    ("CM02_default", "network/model:CM02 network/crosstraffic:1"),
    ("LV08_nocross", "network/model:LV08 network/crosstraffic:0"),
    ("LV08", "network/model:LV08 network/crosstraffic:1"),
];

/// Most that an end may be off, as a share of its time: SimGrid counts what is left of a flow to 1e-9 of a second.
const BOUND: f64 = 1e-6;

/// The oracle, compiled; none where there is no SimGrid.
fn oracle(directory: &Path) -> Option<PathBuf> {
    let made = directory.join("oracle");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/simgrid/oracle.cpp");
    let done = Command::new("c++")
        .args(["-std=c++17", "-O1", "-o"])
        .arg(&made)
        .arg(source)
        .arg("-lsimgrid")
        .output();
    done.is_ok_and(|output| output.status.success()).then_some(made)
}

/// A bandwidth in bytes per second, or a latency in seconds, with digits that meet no other's.
fn near(random: &mut Stream, middle: f64) -> f64 {
    middle * (0.5 + random.below(1_000_003) as f64 / 1_000_003.0)
}

/// Speeds as attributes of a cluster's links.
fn links(random: &mut Stream) -> String {
    let policy = ["SPLITDUPLEX", "SHARED"][random.below(2) as usize];
    let (bandwidth, latency) = (near(random, 1e9), near(random, 1e-6));
    format!("bw=\"{bandwidth:.1}Bps\" lat=\"{latency:.10}s\" sharing_policy=\"{policy}\"")
}

/// A cluster of hosts `NAME0`, `NAME1`, ..
fn cluster(random: &mut Stream, name: &str) -> String {
    let (radical, more) = match random.below(4) {
        0 => (12, String::new()),
        1 => {
            let (bandwidth, latency) = (near(random, 2e9), near(random, 1e-6));
            (12, format!("bb_bw=\"{bandwidth:.1}Bps\" bb_lat=\"{latency:.10}s\""))
        }
        2 => (16, "topology=\"FAT_TREE\" topo_parameters=\"2;4,4;1,2;1,2\"".to_owned()),
        _ => (24, "topology=\"TORUS\" topo_parameters=\"4,3,2\"".to_owned()),
    };
    format!(
        "<cluster id=\"{name}\" prefix=\"{name}\" suffix=\"\" radical=\"0-{}\" speed=\"1Gf\" {} {more}/>",
        radical - 1,
        links(random)
    )
}

/// A platform: one cluster, or several of one level behind links of their own.
fn platform(random: &mut Stream) -> String {
    let clusters = 1 + random.below(3);
    let mut body = String::new();
    let flat = |random: &mut Stream, name: &str| {
        let hosts = 8 + random.below(5);
        format!(
            "<cluster id=\"{name}\" prefix=\"{name}\" suffix=\"\" radical=\"0-{}\" speed=\"1Gf\" {} router_id=\"{name}router\"/>",
            hosts - 1,
            links(random)
        )
    };
    if clusters == 1 {
        body = cluster(random, "a");
    } else {
        let names = ["a", "b", "c"];
        for name in &names[..clusters as usize] {
            body += &flat(random, name);
        }
        for n in 1..clusters as usize {
            let (from, to) = (names[n - 1], names[n]);
            let (bandwidth, latency) = (near(random, 2e9), near(random, 1e-4));
            body += &format!(
                "<link id=\"{from}{to}\" bandwidth=\"{bandwidth:.1}Bps\" latency=\"{latency:.10}s\" sharing_policy=\"SHARED\"/>"
            );
        }
        for n in 1..clusters as usize {
            let (from, to) = (names[n - 1], names[n]);
            body += &format!(
                "<zoneRoute src=\"{from}\" dst=\"{to}\" gw_src=\"{from}router\" gw_dst=\"{to}router\"><link_ctn id=\"{from}{to}\"/></zoneRoute>"
            );
        }
    }
    let routing = ["Floyd", "Dijkstra"][random.below(2) as usize];
    let routing = if clusters == 1 { "Full" } else { routing };
    format!(
        "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n\
         <platform version=\"4.1\"><zone id=\"w\" routing=\"{routing}\">{body}</zone></platform>\n"
    )
}

/// A scenario on the platform of this XML, with random flows between different hosts.
fn scenario(random: &mut Stream, xml: &str) -> Scenario {
    let platform = fabric::topology::platform::parse(xml, false).unwrap();
    let hosts = platform.hosts.len() as u64;
    let mut reverse = BTreeMap::new();
    let flows = (0..5 + random.below(60)).map(|_| {
        let source = random.below(hosts);
        let destination = (source + 1 + random.below(hosts - 1)) % hosts;
        let [a, b] = [source, destination].map(|host| TerminalId::new(host as u32));
        let names = [a, b].map(|host| platform.hosts[host.index()].clone());
        let route = |a, b| platform.route(a, b).unwrap_or_else(|| panic!("no route {names:?}\n{xml}"));
        reverse.insert((names[1].clone(), names[0].clone()), route(b, a));
        let route = route(a, b);
        let [source, destination] = names.clone();
        let start = [0.0, near(random, 1e-3)][random.below(2) as usize];
        let bytes = 1 + (near(random, 1.0) * 10f64.powi(random.below(8) as i32)) as u64;
        Flow { start, source, destination, bytes, route, rate: None }
    });
    let flows = flows.collect();
    Scenario {
        name: String::new(),
        links: platform.links,
        flows,
        reverse,
        events: Vec::new(),
        completion: Vec::new(),
    }
}

#[test]
fn random_flows_end_when_simgrid_says() {
    let directory = tempfile::tempdir().unwrap();
    let Some(oracle) = oracle(directory.path()) else {
        eprintln!("SKIPPED: no SimGrid: apt-get install libsimgrid-dev g++");
        return;
    };
    let at = |name: &str| directory.path().join(name);
    let cases = if std::env::var_os("NETLOOM_LONG").is_some() { 400 } else { 40 };
    for seed in 0..cases {
        let mut random = Stream::new(seed, Purpose::Test, 31);
        let xml = platform(&mut random);
        let scenario = scenario(&mut random, &xml);
        fs::write(at("platform.xml"), &xml).unwrap();
        let line = |f: &Flow| format!("{} {} {} {}\n", f.start, f.source, f.destination, f.bytes);
        let flows: String = scenario.flows.iter().map(line).collect();
        fs::write(at("flows"), &flows).unwrap();
        for (name, configuration) in RULES {
            let mut command = Command::new(&oracle);
            command.arg(at("platform.xml")).arg(at("flows")).args(["--log=root.thres:critical"]);
            // Its default, Lazy, leaves shares as they were where flows meet others' acknowledgements alone: up to 2 % off.
            command.args([
                "--cfg=network/optim:Full",
                "--cfg=surf/precision:1e-9",
                "--cfg=maxmin/precision:1e-9",
            ]);
            command.args(configuration.split(' ').map(|word| format!("--cfg={word}")));
            let output = command.output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let theirs: Vec<f64> =
                String::from_utf8(output.stdout).unwrap().lines().map(|line| line.parse().unwrap()).collect();
            let rules = rules(name).unwrap();
            let ours = scenario.run(rules);
            assert_eq!(ours.len(), theirs.len());
            for ((flow, ours), theirs) in scenario.flows.iter().zip(ours).zip(theirs) {
                let off = (ours - theirs).abs() / theirs;
                assert!(
                    off <= BOUND,
                    "seed {seed}, {name}, {flow:?}: {ours} beside {theirs}, {off:e}\n{xml}\n{flows}"
                );
            }
        }
    }
}
