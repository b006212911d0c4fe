//! Routes by hand, and mistakes with their lines.

#![allow(clippy::float_cmp, reason = "numbers are read, not computed")]

use super::*;
use base::index::TerminalId;

const STAR: &str = include_str!("../../../tests/data/star.platform.json");
const CLUSTERS: &str = include_str!("../../../tests/data/cluster.xml");

/// Names of the links between two hosts.
fn path(platform: &Platform, from: &str, to: &str) -> Option<Vec<String>> {
    let host = |name: &str| platform.hosts.iter().position(|h| h == name).expect("a host") as u32;
    let links = platform.route(TerminalId::new(host(from)), TerminalId::new(host(to)))?;
    Some(links.iter().map(|&l| platform.links[l as usize].name.clone()).collect())
}

#[track_caller]
pub(super) fn check(platform: &Platform, from: &str, to: &str, links: &[&str]) {
    assert_eq!(path(platform, from, to).expect("a route"), links, "{from} to {to}");
}

#[test]
fn json_routes_go_back_in_reverse() {
    let p = parse(STAR, false).unwrap();
    assert_eq!(p.hosts, ["a", "b", "c"]);
    check(&p, "a", "b", &["up_UP", "pipe"]);
    check(&p, "b", "a", &["pipe", "up_DOWN"]);
    check(&p, "c", "b", &["far", "pipe"]);
    assert_eq!(p.route(TerminalId::new(0), TerminalId::new(0)), Some(vec![p.loopback()]));
    assert_eq!(p.events.len(), 1);
    let fabric = fabric(p);
    assert_eq!((fabric.routers(), fabric.terminals()), (1, 3));
}

#[test]
fn zones_meet_at_their_gateways() {
    let p = parse(CLUSTERS, false).unwrap();
    assert_eq!(p.hosts.len(), 12);
    check(&p, "l0", "l3", &["left_link_0_UP", "left_backbone", "left_link_3_DOWN"]);
    check(&p, "l1", "l1", &["left_link_1_UP", "left_backbone", "left_link_1_DOWN"]);
    check(&p, "r0", "r7", &["right_link_0_UP", "right_link_7_DOWN"]);
    check(&p, "l2", "r5", &["left_link_2_UP", "left_backbone", "between_UP", "right_link_5_DOWN"]);
    check(&p, "r5", "l2", &["right_link_5_UP", "between_DOWN", "left_backbone", "left_link_2_DOWN"]);
    let link = |name: &str| p.links.iter().find(|l| l.name == name).expect("a link");
    assert_eq!(link("right_link_0_UP").bandwidth, 1.25e9);
    assert_eq!(link("left_backbone").latency, 1e-6);
}

/// A platform with one cluster.
fn cluster(attributes: &str, simgrid: bool) -> Platform {
    let xml = format!(
        "<platform version=\"4.1\"><cluster id=\"c\" prefix=\"n\" suffix=\"\" speed=\"1Gf\" bw=\"1GBps\" lat=\"1us\" {attributes}/></platform>"
    );
    parse(&xml, simgrid).unwrap_or_else(|m| panic!("{m:?}"))
}

#[test]
fn a_torus_goes_the_short_way_dimension_by_dimension() {
    let p = cluster("radical=\"0-11\" topology=\"TORUS\" topo_parameters=\"4,3\"", false);
    check(&p, "n0", "n1", &["c_link_from_0_to_1_dim_0_UP"]);
    check(&p, "n0", "n3", &["c_link_from_3_to_0_dim_0_DOWN"]);
    check(
        &p,
        "n1",
        "n11",
        &["c_link_from_1_to_2_dim_0_UP", "c_link_from_2_to_3_dim_0_UP", "c_link_from_11_to_3_dim_1_DOWN"],
    );
    assert_eq!(
        p.route(TerminalId::new(0), TerminalId::new(0)),
        Some(vec![p.loopback()]),
        "a host reaches itself"
    );
}

#[test]
fn a_fat_tree_climbs_as_far_as_needed() {
    let p = cluster("radical=\"0-15\" topology=\"FAT_TREE\" topo_parameters=\"2;4,4;1,2;1,2\"", false);
    let hops = |a: &str, b: &str| path(&p, a, b).unwrap().len();
    assert_eq!((hops("n0", "n3"), hops("n0", "n4"), hops("n0", "n0")), (2, 4, 2));
    // Two parents with two cables each: the destination's number chooses upward, the source's the cable downward.
    check(&p, "n0", "n5", &["c_link_0_0_0_UP", "c_link_1_0_1_UP", "c_link_1_1_1_DOWN", "c_link_0_5_0_DOWN"]);
    check(&p, "n1", "n5", &["c_link_0_1_0_UP", "c_link_1_0_1_UP", "c_link_1_1_3_DOWN", "c_link_0_5_0_DOWN"]);
}

/// Down cables of SimGrid 3.32, by the number of the cable at each host, from hosts 0 to 5 (lines) to each of them. From another leaf the switch at
/// the leaf goes on in its list where the one above has found, so that the source does not count.
#[test]
fn several_cables_to_a_host_are_chosen_as_in_simgrid() {
    let trees = [
        ("2;3,2;1,1;2,1", ["000110", "111110", "000110", "100111", "100000", "100111"]),
        ("2;2,3;1,1;3,1", ["001121", "111121", "102221", "100021", "101111", "101122"]),
    ];
    for (parameters, expected) in trees {
        let tree = format!("topology=\"FAT_TREE\" topo_parameters=\"{parameters}\"");
        let p = cluster(&format!("radical=\"0-5\" {tree}"), false);
        let down = |from: u32, to: u32| {
            let links = path(&p, &format!("n{from}"), &format!("n{to}"))?;
            links.last()?.strip_suffix("_DOWN")?.chars().last()
        };
        for (from, line) in (0..).zip(expected) {
            let found = (0..6).map(|to| down(from, to)).collect::<Option<String>>();
            assert_eq!(found.as_deref(), Some(line), "{parameters}, from {from}");
        }
    }
    // A second tree counts its hosts on from those of the first: three come before, so that its first host takes the second cable.
    let tree = |id: &str| {
        format!(
            "<cluster id=\"{id}\" prefix=\"{id}\" suffix=\"\" radical=\"0-2\" speed=\"1Gf\" bw=\"1GBps\" lat=\"1us\" topology=\"FAT_TREE\" topo_parameters=\"1;3;1;2\"/>"
        )
    };
    let both =
        format!("<platform version=\"4.1\"><zone id=\"w\">{}{}</zone></platform>", tree("c"), tree("d"));
    let p = parse(&both, false).unwrap();
    check(&p, "c0", "c1", &["c_link_0_0_1_UP", "c_link_0_1_0_DOWN"]);
    check(&p, "d0", "d1", &["d_link_0_0_0_UP", "d_link_0_1_1_DOWN"]);
}

/// Three groups, three chassis, four blades, two nodes.
const DRAGONFLY: &str = "radical=\"0-71\" topology=\"DRAGONFLY\" topo_parameters=\"3,4;3,2;4,1;2\"";

#[test]
fn a_dragonfly_routes_minimally_and_as_simgrid_if_asked() {
    let (p, s) = (cluster(DRAGONFLY, false), cluster(DRAGONFLY, true));
    let colours = |p: &Platform, a: &str, b: &str| {
        let links = path(p, a, b).unwrap();
        links.iter().map(|l| l.split('_').nth(1).unwrap()[..2].to_owned()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(colours(&p, "n0", "n1"), "lo lo");
    // Chassis 1, blade 0 to 1: node 8 is blade 0, node 10 blade 1.
    assert_eq!(colours(&p, "n8", "n10"), "lo gr lo");
    assert_eq!(colours(&s, "n8", "n10"), "lo gr bl lo");
    // From chassis 1 to chassis 0 another blade: both colours, which SimGrid misses.
    assert_eq!(colours(&p, "n8", "n2"), "lo gr bl lo");
    assert_eq!(colours(&s, "n8", "n2"), "lo gr lo");
    // In chassis 0 there is no difference; every pair has a route of at most 7 links.
    for (a, b) in (0..72).flat_map(|a| (0..72).map(move |b| (a, b))) {
        let (ours, theirs) = (
            p.route(TerminalId::new(a), TerminalId::new(b)).unwrap(),
            s.route(TerminalId::new(a), TerminalId::new(b)).unwrap(),
        );
        assert!(ours.len() <= 7, "{a} {b}");
        if a % 24 < 8 && b % 24 < 8 {
            assert_eq!(ours, theirs);
        }
    }
    let wide = p.links.iter().find(|l| l.name == "c_blue_link_0_UP").unwrap();
    assert_eq!(wide.bandwidth, 4e9);
}

#[test]
fn loopbacks_and_limiters_are_crossed() {
    let p =
        cluster("radical=\"0-3\" loopback_bw=\"10GBps\" loopback_lat=\"1ns\" limiter_link=\"2GBps\"", false);
    check(&p, "n1", "n1", &["c_link_1_loopback"]);
    check(&p, "n1", "n2", &["c_link_1_limiter", "c_link_1_UP", "c_link_2_DOWN", "c_link_2_limiter"]);
}

#[test]
fn shortest_routes_have_the_fewest_links() {
    let xml = r#"<platform version="4"><zone id="z" routing="Floyd">
        <host id="a"/><host id="b"/><router id="r"/><router id="q"/>
        <link id="l1" bandwidth="1GBps"/><link id="l2" bandwidth="1GBps"/><link id="l3" bandwidth="1GBps"/><link id="l4" bandwidth="1GBps"/>
        <route src="a" dst="r"><link_ctn id="l1"/></route>
        <route src="r" dst="b"><link_ctn id="l2"/></route>
        <route src="a" dst="q"><link_ctn id="l3"/></route>
        <route src="q" dst="r"><link_ctn id="l4"/></route>
        </zone></platform>"#;
    for routing in ["Floyd", "Dijkstra"] {
        let p = parse(&xml.replace("Floyd", routing), false).unwrap();
        check(&p, "a", "b", &["l1", "l2"]);
        check(&p, "b", "a", &["l2", "l1"]);
        // A listed route of three links is longer than two of one.
        let direct = "<route src=\"a\" dst=\"b\"><link_ctn id=\"l3\"/><link_ctn id=\"l4\"/><link_ctn id=\"l2\"/></route></zone>";
        let p = parse(&xml.replace("Floyd", routing).replace("</zone>", direct), false).unwrap();
        check(&p, "a", "b", &["l1", "l2"]);
    }
}

/// Zones in a row: what lies between two gateways of the one in the middle is crossed.
#[test]
fn routes_go_through_zones() {
    let cluster = |id: &str| {
        format!(
            "<cluster id=\"{id}\" prefix=\"{id}\" suffix=\"\" radical=\"0-3\" speed=\"1Gf\" bw=\"1GBps\" lat=\"1us\" router_id=\"{id}r\"/>"
        )
    };
    let link = |id: &str| format!("<link id=\"{id}\" bandwidth=\"1GBps\" latency=\"1us\"/>");
    let joint = |a: &str, b: &str, from: &str, to: &str| {
        format!(
            "<zoneRoute src=\"{a}\" dst=\"{b}\" gw_src=\"{from}\" gw_dst=\"{to}\"><link_ctn id=\"{a}{b}\"/></zoneRoute>"
        )
    };
    for routing in ["Floyd", "Dijkstra"] {
        let xml = format!(
            "<platform version=\"4.1\"><zone id=\"w\" routing=\"{routing}\">{}{}{}{}{}{}{}</zone></platform>",
            cluster("a"),
            cluster("b"),
            cluster("c"),
            link("ab"),
            link("bc"),
            joint("a", "b", "ar", "br"),
            joint("b", "c", "b1", "cr")
        );
        let p = parse(&xml, false).unwrap();
        let path = ["a_link_2_UP", "ab", "b_link_1_DOWN", "bc", "c_link_3_DOWN"];
        check(&p, "a2", "c3", &path);
        check(&p, "c3", "a2", &["c_link_3_UP", "bc", "b_link_1_UP", "ab", "a_link_2_DOWN"]);
        check(&p, "b1", "c0", &["bc", "c_link_0_DOWN"]);
        let full = xml.replace(routing, "Full");
        assert_eq!(super::tests::path(&parse(&full, false).unwrap(), "a2", "c3"), None, "Full lists all");
    }
}

/// First mistake of a text: its line, what is marked, and the message.
fn mistake(text: &str) -> (u64, String) {
    let mistakes = parse(text, false).unwrap_err();
    let m = &mistakes[0];
    (m.line, m.message.clone())
}

#[test]
fn mistakes_are_reported_with_their_lines() {
    for (from, to, line, why) in [
        ("\"version\": 1", "\"version\": 2", 0, "version 1 can be read"),
        ("1e9", "-1e9", 6, "must be above zero"),
        ("\"fat-pipe\"", "\"fatpipe\"", 7, "did you mean `fat-pipe`?"),
        ("\"to\": \"b\"", "\"to\": \"bb\"", 11, "there is no host `bb`"),
        ("\"up_UP\"", "\"up\"", 11, "there is no link `up`"),
        ("\"from\": \"b\"", "\"from\": \"a\"", 13, "comes twice"),
        ("0.5", "-0.5", 15, "must not be negative"),
        ("\"hosts\": [\"a\", \"b\", \"c\"]", "\"hosts\": [\"a\", \"b\", \"a\"]", 0, "host `a` comes twice"),
        ("1e-6", "fast", 6, "expected"),
    ] {
        let (at, message) = mistake(&STAR.replacen(from, to, 1));
        assert!(message.contains(why), "{from}: {message}");
        assert_eq!(at, line, "{from}: {message}");
    }
    for (from, to, line, why) in [
        ("version=\"4.1\"", "version=\"3\"", 3, "versions 4 and 4.1"),
        ("platform version=\"4.1\"", "platform", 3, "does not state its version"),
        ("bw=\"1.25GBps\"", "bw=\"-1.25GBps\"", 5, "must be above zero"),
        ("bw=\"10Gbps\"", "bw=\"10G\"", 6, "no unit of bandwidth"),
        ("radical=\"0-3\"", "radical=\"3-0\"", 5, "0-15,20"),
        ("id=\"between\" direction", "id=\"betwen\" direction", 9, "there is no link `betwen_UP`"),
        ("direction=\"UP\"", "", 9, "needs a `direction`"),
        ("dst=\"right\"", "dst=\"rihgt\"", 8, "did you mean `right`?"),
        ("</zone>", "", 12, "this is no XML"),
        ("routing=\"Full\"", "routing=\"Wifi\"", 4, "Vivaldi and None can be read"),
        ("simgrid.dtd\">", "simgrid.dtd\" [<!ENTITY a \"b\">]>", 2, "entities are not read"),
        ("bw=\"1.25GBps\" lat", "bw=\"1.25GBps\" latt", 5, "did you mean `lat`?"),
        ("<zoneRoute ", "<zoneRoute symetrical=\"NO\" ", 8, "did you mean `symmetrical`?"),
        ("<link id=\"between\"", "<link id=\"between\" bandwidth_file=\"x\"", 7, "`x` is not at hand"),
        ("<link id=\"between\"", "<trace_connect kind=\"LATENCY\"/><link id=\"between\"", 7, "lacks `trace`"),
        (
            "<link id=\"between\"",
            "<peer id=\"p\" bw_in=\"1\" bw_out=\"1\"/><link id=\"between\"",
            7,
            "lacks `coordinates`",
        ),
        (
            "<link id=\"between\"",
            "<cabinet id=\"p\" radical=\"0-1\" bw=\"1Bps\"/><link id=\"between\"",
            7,
            "routing Cluster only",
        ),
        ("speed=\"1Gf\"", "speed=\"1GHz\"", 5, "is no speed"),
    ] {
        let (at, message) = mistake(&CLUSTERS.replacen(from, to, 1));
        assert!(message.contains(why), "{from}: {message}");
        assert!(at == line || why == "this is no XML", "{from}: line {at}, {message}");
    }
}

/// The parser's time grows with the square of an element's attributes: they are counted before.
#[test]
fn elements_of_thousands_of_attributes_are_refused() {
    let attributes: String = (0..2000).map(|n| format!(" a{n}=\"\"")).collect();
    let (at, message) = mistake(&CLUSTERS.replacen("<link id", &format!("<link{attributes} id"), 1));
    assert_eq!((at, message.as_str()), (7, "this element has more than 1000 attributes"));
}

/// A few words of a file can mean gigabytes: they are refused before these are taken.
#[test]
fn parameters_of_clusters_take_no_memory() {
    let file = |rest: &str| {
        format!(
            "<?xml version=\"1.0\"?>\n<platform version=\"4.1\">\n<cluster id=\"c\" prefix=\"n\" suffix=\"\" speed=\"1Gf\" bw=\"1GBps\" lat=\"1us\" {rest}/></platform>"
        )
    };
    let ones = vec!["1"; 100_000].join(",");
    for (rest, why) in [
        (format!("radical=\"0-9\" topology=\"TORUS\" topo_parameters=\"10,{ones}\""), "64 numbers at most"),
        (
            format!("radical=\"0-0\" topology=\"FAT_TREE\" topo_parameters=\"65000;{ones};{ones};{ones}\""),
            "64 numbers at most",
        ),
        ("radical=\"0-999999999\"".to_owned(), "hosts at most"),
        ("radical=\"0-1048575,2000000-3000000\"".to_owned(), "hosts at most"),
    ] {
        let (_, message) = mistake(&file(&rest));
        assert!(message.contains(why), "{message}");
    }
    // What may be built is built only where there is room for it.
    let [torus, star] = ["topology=\"TORUS\" topo_parameters=\"1024,1024\"", ""]
        .map(|shape| file(&format!("radical=\"0-1048575\" {shape}")));
    for (large, bytes) in [(&torus, 1), (&torus, 300), (&star, 1), (&star, 300)] {
        let (bytes, why) = (bytes << 20, "takes");
        let (read, said) = base::memory::within(Some(bytes), || parse(large, false));
        let mistakes = read.expect_err("there is no room");
        assert!(mistakes[0].message.contains(why), "{}", mistakes[0].message);
        assert!(said.is_some_and(|said| said.contains("may be used")));
    }
}
