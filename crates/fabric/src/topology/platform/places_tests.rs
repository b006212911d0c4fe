//! Cabinets, peers, coordinates, routes that go before others, profiles.

#![allow(clippy::float_cmp, reason = "numbers are read, not computed")]

use super::{parse, parse_with, tests::check};
use crate::platform::Change;
use base::index::TerminalId;

#[test]
fn cabinets_and_host_links_meet_at_a_backbone() {
    let xml = r#"<platform version="4.1"><zone id="w" routing="Full"><zone id="c" routing="Cluster">
        <cabinet id="one" prefix="h" suffix="" radical="0-1" speed="1Gf" bw="1GBps" lat="1us"/>
        <host id="x" speed="2Gf,1Mf" pstate="1"/><link id="l" bandwidth="1GBps"/><host_link id="x" up="l" down="l"/>
        <backbone id="b" bandwidth="4GBps" latency="2us"/><router id="r"/></zone>
        <zone id="d" routing="None"><host id="y" speed="1"/></zone><link id="out" bandwidth="1GBps"/>
        <zoneRoute src="c" dst="d" gw_src="r" gw_dst="y"><link_ctn id="out"/></zoneRoute></zone></platform>"#;
    let p = parse(xml, false).unwrap();
    check(&p, "h0", "h1", &["link_h0_UP", "b", "link_h1_DOWN"]);
    check(&p, "h1", "x", &["link_h1_UP", "b", "l"]);
    // Up and down are one link, and the backbone is crossed once.
    check(&p, "x", "x", &["l", "b"]);
    check(&p, "h1", "y", &["link_h1_UP", "b", "out"]);
    check(&p, "y", "h0", &["out", "b", "link_h0_DOWN"]);
}

#[test]
fn peers_are_as_far_apart_as_their_coordinates() {
    let peer = |id: &str, at: &str| {
        format!("<peer id=\"{id}\" speed=\"1Gf\" bw_in=\"2GBps\" bw_out=\"1GBps\" coordinates=\"{at}\"/>")
    };
    let inside = format!(
        "{}<zone id=\"z\" routing=\"Full\"><router id=\"router_z\" coordinates=\"0 0 5\"/><host id=\"c\"/>\
         <link id=\"zl\" bandwidth=\"1GBps\"/><route src=\"c\" dst=\"router_z\"><link_ctn id=\"zl\"/></route></zone>\
         <zone id=\"y\" routing=\"None\"><router id=\"router_y\" coordinates=\"0 12 0\"/></zone>",
        peer("a", "0 0 1") + &peer("b", "3 4 -2")
    );
    let xml =
        format!("<platform version=\"4.1\"><zone id=\"w\" routing=\"Vivaldi\">{inside}</zone></platform>");
    let p = parse(&xml, false).unwrap();
    check(&p, "a", "b", &["link_a_UP", "link_b_DOWN"]);
    let passage = p.passage(TerminalId::new(0), TerminalId::new(1)).unwrap();
    assert!((passage.between - 0.008).abs() < 1e-12);
    assert_eq!((p.links[0].bandwidth, p.links[1].bandwidth), (1e9, 2e9));
    // A zone is left by the router of its name: to a peer's own zone there is no route.
    let both = xml.replace(
        "<router id=\"router_y\" coordinates=\"0 12 0\"/>",
        "<host id=\"router_y\" coordinates=\"0 12 0\"/>",
    );
    let p = parse(&both, false).unwrap();
    check(&p, "c", "router_y", &["zl"]);
    let passage = p.passage(TerminalId::new(2), TerminalId::new(3)).unwrap();
    assert!((passage.between - 0.017).abs() < 1e-12, "{passage:?}");
    assert_eq!(p.passage(TerminalId::new(0), TerminalId::new(2)), None);
}

#[test]
fn bypassing_routes_go_before_all_others() {
    let zone = |id: &str, more: &str| {
        format!(
            "<zone id=\"{id}\" routing=\"Full\"><host id=\"{id}0\"/><host id=\"{id}1\"/><link id=\"{id}l\" bandwidth=\"1GBps\"/>\
                 <route src=\"{id}0\" dst=\"{id}1\"><link_ctn id=\"{id}l\"/></route>{more}</zone>"
        )
    };
    let own = "<link id=\"short\" bandwidth=\"1GBps\"/><bypassRoute src=\"a0\" dst=\"a1\"><link_ctn id=\"short\"/></bypassRoute>";
    let inner = format!("<zone id=\"o\" routing=\"None\">{}</zone>", zone("b", ""));
    let link = "<link id=\"near\" bandwidth=\"1GBps\"/><link id=\"far\" bandwidth=\"1GBps\"/>";
    let across =
        "<zoneRoute src=\"a\" dst=\"o\" gw_src=\"a0\" gw_dst=\"b0\"><link_ctn id=\"far\"/></zoneRoute>";
    let xml = |bypass: &str| {
        format!(
            "<platform version=\"4.1\"><zone id=\"w\" routing=\"Full\">{}{inner}{link}{across}{bypass}</zone></platform>",
            zone("a", own)
        )
    };
    let p = parse(&xml(""), false).unwrap();
    check(&p, "a0", "a1", &["short"]);
    check(&p, "a1", "a0", &["al"]);
    check(&p, "a1", "b1", &["al", "far", "bl"]);
    let p = parse(
        &xml(
            "<bypassZoneRoute src=\"a\" dst=\"b\" gw_src=\"a1\" gw_dst=\"b1\"><link_ctn id=\"near\"/></bypassZoneRoute>",
        ),
        false,
    );
    let p = p.unwrap();
    check(&p, "a1", "b1", &["near"]);
    check(&p, "a0", "b0", &["short", "near", "bl"]);
    check(&p, "b0", "a1", &["far", "short"]);
}

#[test]
fn profiles_come_from_files_and_from_the_text() {
    let xml = r#"<platform version="4.1"><zone id="w" routing="Full"><host id="a" state_file="gone"/><host id="b"/>
        <link id="l" bandwidth="1GBps" bandwidth_file="b.txt" sharing_policy="SPLITDUPLEX"/>
        <link id="k" bandwidth="1GBps" latency_file="" state_file="s.txt"/>
        <route src="a" dst="b"><link_ctn id="l" direction="UP"/><link_ctn id="k"/></route>
        <trace id="t" periodicity="2">0 0.5
        1 0.25</trace><trace_connect kind="LATENCY" trace="t" element="k"/></zone></platform>"#;
    let files = |name: &str| match name {
        "b.txt" => Ok("1 5e8\n".to_owned()),
        "s.txt" => Ok("PERIODICITY 3\n1 0\n2 1\n".to_owned()),
        _ => Err(format!("no {name}")),
    };
    let p = parse_with(xml, false, &files).unwrap();
    let all: Vec<_> = p.profiles.iter().map(|p| (p.link, p.period, p.changes.len())).collect();
    assert_eq!(all, [(0, None, 1), (1, None, 1), (2, Some(3.0), 2), (2, Some(2.0), 2)]);
    assert_eq!(p.profiles[0].changes, [(1.0, Change::Bandwidth(5e8))]);
    assert_eq!(p.profiles[2].changes, [(1.0, Change::Up(false)), (2.0, Change::Up(true))]);
    assert_eq!(p.profiles[3].changes[1], (1.0, Change::Latency(0.25)));
    assert_eq!(p.passed, ["profiles of the states of hosts (1)"]);
    let missing = parse_with(xml, false, &|name| Err(format!("no {name}"))).unwrap_err();
    assert_eq!((missing[0].line, missing[0].message.as_str()), (2, "no b.txt"));
}

/// Sixty thousand blades would have 1.8 thousand million links among them.
#[test]
fn clusters_that_are_too_large_are_refused_before_they_are_made() {
    for (hosts, topology) in [
        (60_000, "topology=\"DRAGONFLY\" topo_parameters=\"1,1;1,1;60000,1;1\""),
        (60_000, "topology=\"DRAGONFLY\" topo_parameters=\"1,1;60000,1;1,1;1\""),
        (1000, "topology=\"FAT_TREE\" topo_parameters=\"1;1000;300;60000\""),
    ] {
        let xml = format!(
            "<platform version=\"4.1\"><cluster id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-{}\" speed=\"1Gf\" bw=\"1GBps\" lat=\"1us\" {topology}/></platform>",
            hosts - 1
        );
        let mistakes = parse(&xml, false).unwrap_err();
        assert!(mistakes[0].message.contains("is the most"), "{mistakes:?}");
    }
}
