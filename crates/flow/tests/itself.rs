//! Messages of a terminal to itself: through its router and back on fabrics, over what a platform's file names or its loopback.

mod common;

use base::{index::TerminalId, registry::Registered, time::Ps};
use common::{US, list, setup};
use fabric::{
    graph::Fabric,
    registry::{ROUTINGS, TOPOLOGIES, values},
    routing::Routing,
    topology::platform::{fabric, parse},
};
use flow::{FlowConfig, FlowSetup, rules::Rules, simulate};
use results::{summary::State, table::Table};
use std::sync::Arc;
use workload::{
    program::list::{List, Rank, recv, send},
    registry::Work,
};

/// Each rank on a fabric sends itself one message of so many bytes.
fn itself(fabric: &Fabric, bytes: u64) -> Work {
    let ranks = fabric.reachable().count() as u32;
    list((0..ranks).map(|rank| (0, rank, rank, bytes)).collect())
}

/// Latencies of all messages, in any order.
fn latencies(setup: &FlowSetup, name: &str) -> Vec<Ps> {
    let done = simulate(setup, &mut |_| true).unwrap_or_else(|e| panic!("{name}: {e}"));
    assert_eq!(done.summary.verdict.state, State::Ok, "{name}: {:?}", done.summary.verdict);
    let table: Option<&Table> = done.tables.iter().find(|t| t.name() == "messages");
    table.and_then(|t| t.u64_column("latency_ps")).expect("asked for").to_vec()
}

/// Every routing of every topology: to the router and back over the terminal's own link, which nobody else needs. With cross-traffic the
/// acknowledgements take 5 % of both directions.
#[test]
fn a_terminal_reaches_itself_through_its_router() {
    let mut pairs = 0;
    // Hosts of platforms follow their files.
    for topology in TOPOLOGIES.iter().filter(|t| t.about.name != "platform") {
        for sample in topology.small {
            let built = (topology.build)(&values(topology.about.params, sample));
            let fabric = Arc::new(built.unwrap_or_else(|p| panic!("{p:?}")));
            for entry in ROUTINGS.iter().filter(|r| r.about().params.iter().all(|p| p.default.is_some())) {
                let Ok(routing) = (entry.build)(Arc::clone(&fabric), &values(entry.about.params, &[])) else {
                    continue;
                };
                let name = format!("{} {}", topology.about.name, entry.about.name);
                let routing: Arc<dyn Routing> = Arc::from(routing);
                for (rules, each) in [(Rules::plain(), 1000), (Rules::cm02(), 1050)] {
                    let config = FlowConfig { router_delay: 90_000, ..FlowConfig::new(rules) };
                    let work = itself(&fabric, 100_000);
                    let setup = setup(&fabric, Some(Arc::clone(&routing)), work, config);
                    let all = latencies(&setup, &name);
                    assert_eq!(all.len(), fabric.reachable().count(), "{name}");
                    let expected = 2 * US + 90_000 + 100_000 * each;
                    assert!(all.iter().all(|&l| l == expected), "{name}: {all:?}, not {expected}");
                }
                pairs += 1;
            }
        }
    }
    assert!(pairs > 60, "{pairs}");
}

/// Hosts of zones by rule: what a message of 1 MB to itself takes in picoseconds, under `cm02`.
#[test]
fn a_host_of_a_platform_reaches_itself() {
    let cluster = |more: &str| {
        format!(
            "<cluster id=\"c\" prefix=\"c\" suffix=\"\" radical=\"0-3\" speed=\"1Gf\" bw=\"1GBps\" lat=\"1us\" {more}/>"
        )
    };
    let hosts = "<host id=\"a\" speed=\"1Gf\"/><host id=\"b\" speed=\"1Gf\"/><link id=\"l\" bandwidth=\"1GBps\" latency=\"10us\"/>";
    let zone =
        |routing: &str, routes: &str| format!("<zone id=\"w\" routing=\"{routing}\">{hosts}{routes}</zone>");
    let route = "<route src=\"a\" dst=\"b\"><link_ctn id=\"l\"/></route>";
    let own = "<route src=\"a\" dst=\"a\"><link_ctn id=\"l\"/></route><route src=\"b\" dst=\"b\"><link_ctn id=\"l\"/></route>";
    let cases = [
        // SimGrid's loopback: 10 GB/s for each message, without latency.
        (zone("Full", route), 100 * US),
        (zone("Floyd", route), 100 * US),
        (zone("Dijkstra", route), 100 * US),
        // A route that the file names, which both hosts share: 5 % more for acknowledgements.
        (zone("Full", own), 2 * 1050 * US + 10 * US),
        (cluster(""), 1050 * US + 2 * US),
        (cluster("sharing_policy=\"SHARED\""), 1050 * US + US),
        (cluster("loopback_bw=\"2GBps\" loopback_lat=\"3us\""), 500 * US + 3 * US),
        (cluster("topology=\"FAT_TREE\" topo_parameters=\"1;4;1;1\""), 1050 * US + 2 * US),
        (cluster("topology=\"DRAGONFLY\" topo_parameters=\"2,1;1,1;2,1;1\""), 1050 * US + 2 * US),
        // SimGrid has no way; with a limiter it crosses that.
        (cluster("topology=\"TORUS\" topo_parameters=\"2,2\""), 100 * US),
        (cluster("topology=\"TORUS\" topo_parameters=\"2,2\" limiter_link=\"2GBps\""), 525 * US),
    ];
    for (body, expected) in cases {
        let text = format!("<platform version=\"4.1\">{body}</platform>");
        let platform = parse(&text, false).unwrap_or_else(|m| panic!("{m:?}\n{text}"));
        let (own, fabric) = (platform.links.len(), Arc::new(fabric(platform)));
        let work = itself(&fabric, 1_000_000);
        let mut setup = setup(&fabric, None, work, FlowConfig::new(Rules::cm02()));
        let all = latencies(&setup, &text);
        assert!(all.iter().all(|&l| l == expected), "{text}: {all:?}, not {expected}");
        // Tables have the links of the file alone.
        setup.measure.window = 100 * US;
        let done = simulate(&setup, &mut |_| true).unwrap_or_else(|e| panic!("{e}"));
        for table in done.tables.iter().filter(|t| t.name() == "links" || t.name() == "topology") {
            assert_eq!(table.rows(), own, "{text}");
        }
    }
}

/// Under SMPI's rules a rank's message to itself, or to a rank beside it, takes the host's way to itself, with 16 B before it.
#[test]
fn messages_within_a_host_take_time_under_rules_of_smpi() {
    let text = "<platform version=\"4.1\"><zone id=\"w\" routing=\"Full\"><host id=\"a\" speed=\"1Gf\"/><host id=\"b\" speed=\"1Gf\"/></zone></platform>";
    let bytes = 10_000_000 - 16;
    for (from, to) in [(0, 0), (0, 1)] {
        let platform = parse(text, false).unwrap_or_else(|m| panic!("{m:?}"));
        let mut ranks = vec![Rank::default(), Rank::default()];
        let asked = ranks[to].push(recv(from as u32, bytes, 7));
        ranks[from].push(send(to as u32, bytes, 7));
        assert_eq!(asked, 0, "the receive is the first operation");
        let work = Work::Program(Arc::new(List::new(ranks)));
        let config = FlowConfig { direct: Some(16), ..FlowConfig::new(Rules::plain()) };
        let mut setup = setup(&Arc::new(fabric(platform)), None, work, config);
        setup.jobs[0].placement = vec![TerminalId::new(0); 2];
        let done = simulate(&setup, &mut |_| true).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(done.summary.verdict.state, State::Ok, "{:?}", done.summary.verdict);
        assert_eq!(done.summary.jobs[0].makespan_ps, Some(1000 * US), "{from} to {to}");
    }
}
