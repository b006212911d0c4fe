use super::*;
use crate::{
    engines::{ENGINES, Options, route},
    export::cluster as write,
    subnet::{Exit, Keep, NONE, Speed},
};
use base::registry::find;
use proptest::prelude::*;

fn one(name: &str, text: &str) -> Result<Subnet, Vec<Problem>> {
    read(vec![Source::memory(name, text.as_bytes())])
}

fn many(texts: &[(&str, &[u8])]) -> Result<Subnet, Vec<Problem>> {
    read(texts.iter().map(|(name, text)| Source::memory(name, text)).collect())
}

/// Line and message of the first mistake.
fn mistake(result: Result<Subnet, Vec<Problem>>) -> (u64, String) {
    let problem = result.expect_err("a mistake").swap_remove(0);
    (problem.input.map_or(0, |i| i.line), problem.message)
}

const LISTING: &str = r#"digraph network {
    "S1" -> "H1" [ comment = "H1" ];
    "S1" -> "H2" [ comment = "H2" ];
    "H1" -> "S1" [ comment = "*" ]; // host
    H2 -> S1 [ comment = "H1, H2"; color = red ]
    /* two cables */
    "S1" -> "S11" [ comment = "H5" ];
    "S1" -> "S11" [ comment = "H6" ];
    "S11" -> "S1" [ comment = "H1" ];
    "S11" -> "S1" [ comment = "*" ];
    node [ shape = box ]; rankdir = LR
}
"#;

#[test]
fn dot_keeps_edges_routes_and_stars() {
    let subnet = one("listing.dot", LISTING).unwrap();
    assert_eq!((subnet.hosts.len(), subnet.switches.len(), subnet.edges.len()), (2, 2, 8));
    let tables = subnet.tables.as_ref().unwrap();
    assert_eq!(tables.exits, [Exit::One(2), Exit::One(3)]);
    // From S11 to H1 by the first cable, to H2 by the one with the star.
    let s11 = subnet.place(subnet.edges[4].to);
    assert_eq!([tables.entry(&subnet, 0, s11), tables.entry(&subnet, 1, s11)], [6, 7]);
    assert_eq!([subnet.edges[4].reverse, subnet.edges[5].reverse], [6, 7]);
    assert_eq!(subnet.edge_label(4, &subnet.unique_names()), "4:S1->S11");
}

#[test]
fn bad_dot_is_reported_with_its_line() {
    for (text, line, part) in [
        ("graph x { }", 0, "no file of a cluster"),
        ("digraph x {\n a -- b\n}", 2, "undirected"),
        ("digraph x {\n a -> ;\n}", 2, "end is missing"),
        ("digraph x {\n a -> b [comment = \"x\n", 2, "no end"),
        ("digraph x {\n S1 -> H1\n", 3, "`}` is missing"),
        ("digraph x {\n subgraph y { S1 -> H1\n}", 3, "`}` is missing"),
        ("digraph x {\n S1: -> H1\n}", 2, "port of a node"),
        ("digraph x { a -> b [comment] }", 1, "`=` is missing"),
        ("digraph x { S1 -> S2 }", 0, "no host"),
        ("digraph x { /* ", 1, "no end"),
        ("digraph x { } }", 1, "more after"),
        ("strict digraph x {\n H1 -> S1\n H1 -> S1 [key = b]\n}", 3, "there already"),
        ("digraph x {\n H1 -> S1 [key = a]\n H1 -> S1 [comment = x, key = a]\n}", 3, "there already"),
        ("digraph x { S1 -> H00000000000000a1; S1 -> H00000000000000A1 }", 0, "two nodes"),
    ] {
        let (at, message) = mistake(one("bad.dot", text));
        assert!(at == line && message.contains(part), "{text:?}: line {at}: {message}");
    }
}

/// Subgraphs group nodes, and as ends of edges stand for all of theirs.
#[test]
fn subgraphs_are_read_as_their_edges() {
    let grouped = "digraph x { compound=true; subgraph cluster_leaf { label = \"rack 1\"; S1; subgraph { H1 -> S1:p1:n [comment=\"*\"] } H2 }\n\
                   { S1 } -> { H1 H2; H1 } [comment=\"H1\"]; H2 -> subgraph up { S1 } }";
    let plain = "digraph x { S1; H1 -> S1 [comment=\"*\"]; H2; S1 -> H1 [comment=H1]; S1 -> H2 [comment=H1]; H2 -> S1 }";
    assert_eq!(one("grouped.dot", grouped).unwrap(), one("plain.dot", plain).unwrap());
    let deep = format!("digraph x {{ {} S1 -> H1 {} }}", "{".repeat(70), "}".repeat(70));
    assert!(mistake(one("deep.dot", &deep)).1.contains("more than 64 times"));
    let names = |letter: &str| (0..2_000).map(|i| format!("{letter}{i} ")).collect::<String>();
    let many = format!("digraph x {{ {{ {} }} -> {{ {} }} }}", names("S"), names("H"));
    assert!(mistake(one("many.dot", &many)).1.contains("too many edges"));
}

const NET: &str = "Switch 4 \"L0\"\n[1] \"H0\"[1]\n[2] \"H1\"[1]\n[3] \"T0\"[1]\n[4] \"T0\"[2] w=1\n\nHca 1 \"H0\"\n[1] \"L0\"[1]\n\n\
                   Hca 1 \"H1\"\n\nSwitch 4 \"T0\"\n";

#[test]
fn net_files_may_list_a_cable_at_one_end() {
    let subnet = one("small.net", NET).unwrap();
    assert_eq!((subnet.hosts.len(), subnet.switches.len(), subnet.edges.len()), (2, 2, 8));
    let guids: Vec<u64> = subnet.hosts.iter().map(|&h| subnet.nodes[h as usize].port_guid).collect();
    assert_eq!(guids, [0x10_0001, 0x10_0003]);
    let edge = subnet.edge_at(subnet.switches[0], 4).unwrap() as usize;
    assert_eq!(subnet.edges[edge].speed, Speed { width: 1, rate: 0 });
    assert_eq!(subnet.edges[subnet.edges[edge].reverse as usize].port, 2);
}

#[test]
fn bad_net_files_are_reported_with_their_lines() {
    for (text, line, part) in [
        ("Switch 1000000 \"L0\"\n", 1, "claims 1000000 ports"),
        ("Switch x \"L0\"\n", 1, "no number of ports"),
        ("Switch 2 \"L0\"\n[3] \"H0\"[1]\n", 2, "ports 1 to 2"),
        ("Switch 2 \"L0\"\n[1] \"H0\"[1]\n", 0, "no host"),
        ("Switch 2 \"L0\"\nSwitch 2 \"L0\"\n", 2, "record already, on line 1"),
        ("[1] \"L0\"[1]\nSwitch 2 \"L0\"\n", 1, "before the first record"),
        (
            "Switch 2 \"L0\"\n[1] \"H0\"[1]\n[2] \"H0\"[1]\nHca 1 \"H0\"\n",
            3,
            "another cable already, by line 2",
        ),
        ("Switch 2 \"L0\"\n[1] \"H0\"[7]\nHca 1 \"H0\"\n", 2, "ports 1 to 1"),
        ("Switch 2 \"L0\"\nSwich 2 \"L1\"\n", 2, "neither"),
        ("switchguid=0xzz\nSwitch 2 \"L0\"\n", 1, "no GUID"),
        (
            "switchguid=0x5\nSwitch 2 \"L0\"\n[1] \"H0\"[1]\nswitchguid=0x5\nSwitch 2 \"L1\"\nCa 1 \"H0\"\n",
            0,
            "two nodes",
        ),
    ] {
        let (at, message) = mistake(one("bad.net", text));
        assert!(at == line && message.contains(part), "{text:?}: line {at}: {message}");
    }
}

const DUMP: &str = r#"admin@login:~$ ibnetdiscover
ibwarn: [7] _do_madrpc: send failed; Invalid argument
vendid=0x2c9
switchguid=0x10(10)
Switch	4 "S-0000000000000010"		# "leaf" enhanced port 0 lid 3 lmc 0
[1]	"H-0000000000000020"[1](21) 		# "node1 HCA-1" lid 5 4xHDR
[2]	"H-0000000000000030"[1](31) 		# "Mellanox Technologies Aggregation Node" lid 6 4xHDR
[3]	"H-0000000000000040"[1](41) 		# "gone" lid 7 4xHDR
[4]	"R-0000000000000050"[1](51) 		# "gateway" lid 8 4x???
src/query_smp.c:197; umad (DR path slid 0; dlid 0; 0) bad status 110; Connection timed out

caguid=0x20
Ca	1 "H-0000000000000020"		# "node1 HCA-1"
[1](21) 	"S-0000000000000010"[1]		# lid 5 lmc 0 "leaf" lid 3 4xHDR

caguid=0x30
Ca	1 "H-0000000000000030"		# "Mellanox Technologies Aggregation Node"
[1](31) 	"S-0000000000000010"[2]		# lid 6 lmc 0 "leaf" lid 3 4xHDR

rtguid=0x50
Rt	1 "R-0000000000000050"		# "gateway"
[1](51) 	"S-0000000000000010"[4]		# lid 8 lmc 0 "leaf" lid 3 4xHDR
"#;

#[test]
fn what_carries_no_ranks_is_left_out_and_reported() {
    let subnet = one("dump", DUMP).unwrap();
    assert_eq!((subnet.hosts.len(), subnet.switches.len(), subnet.edges.len()), (1, 1, 2));
    assert_eq!(
        subnet.left_out.iter().map(|n| (n.port_guid, n.lid)).collect::<Vec<_>>(),
        [(0x31, 6), (0x51, 8)]
    );
    assert_eq!(
        subnet.notes,
        [
            "1 aggregation nodes left out: they carry no ranks",
            "1 routers to other subnets left out: they carry no ranks",
            "1 cables left out: they lead to nodes without a record, the first to \"H-0000000000000040\"",
            "1 cables state an unknown speed, the first \"4x???\": taken for 4xSDR",
            "3 lines skipped that are neither records nor ports, the first on line 1: \"admin@login:~$ ibnetdiscover\"",
        ]
    );
    // Tables may speak of them all the same.
    let lfts = "Unicast lids [0-8] of switch Lid 3 guid 0x0000000000000010 ('leaf'):\n0x0003 000 # Switch portguid 0x10: 'leaf'\n\
                0x0005 001 # Channel Adapter portguid 0x21: 'node1'\n0x0006 002 # Channel Adapter portguid 0x31: 'an'\n0x0008 004 \n4 lids dumped\n";
    let routed = many(&[("dump", DUMP.as_bytes()), ("lfts", lfts.as_bytes())]).unwrap();
    assert!(crate::verify::verify(&routed, routed.tables.as_ref().unwrap()).sound());
}

/// The same network in the other form: what is left out keeps its identifiers, speeds that nobody knows are counted.
#[test]
fn lists_of_ends_leave_out_the_same() {
    let end = |word: &str, guid: u32, name: &str, lid: u32, port: u32, ports: u32| {
        format!(
            "{{ {word} Ports:{ports:02} SystemGUID:{guid:x} NodeGUID:{guid:016x} PortGUID:{:016x} VenID:0 DevID:0 Rev:0 {{{name}}} LID:{lid:04x} PN:{port:02} }}",
            guid + u32::from(word != "SW") * port
        )
    };
    let cable = |a: String, b: String, speed: &str| format!("{a} {b} PHY=4x LOG=ACT SPD={speed}\n");
    let leaf = |port| end("SW", 0x10, "leaf", 3, port, 4);
    let list = cable(leaf(1), end("CA", 0x20, "node1 HCA-1", 5, 1, 1), "??")
        + &cable(leaf(2), end("CA", 0x30, "Mellanox Technologies Aggregation Node", 6, 1, 1), "50")
        + &cable(leaf(3), end("Rt", 0x50, "gateway", 8, 1, 2), "50")
        + &cable(leaf(4), end("Rt", 0x50, "gateway", 9, 2, 2), "50");
    let subnet = one("list", &list).unwrap();
    assert_eq!(
        subnet.notes,
        [
            "1 aggregation nodes left out: they carry no ranks",
            "1 routers to other subnets left out: they carry no ranks",
            "1 cables state an unknown speed, the first \"??\": taken for 4xSDR",
        ]
    );
    // Nodes without identifiers get them from the list, those left out too: tables by identifier alone then skip them.
    let bare = DUMP.replace(" lid 3", "").replace(" lid 5", "").replace(" lid 6", "").replace(" lid 8", "");
    let fdbs = "dump_ucast_routes: Switch 0x0000000000000010\nLID    : Port : Hops : Optimal\n0x0003 : 000  : 00   : yes\n\
                0x0005 : 001  : 01   : yes\n0x0006 : 002  : 01   : yes\n";
    let files = [("dump", bare.as_bytes()), ("list", list.as_bytes()), ("fdbs", fdbs.as_bytes())];
    let routed = many(&files).unwrap();
    assert!(crate::verify::verify(&routed, routed.tables.as_ref().unwrap()).sound());
}

#[test]
fn identifiers_that_two_nodes_claim_are_reported() {
    let twice = DUMP.replace("lid 5", "lid 3");
    let subnet = one("dump", &twice).unwrap();
    assert_eq!(subnet.notes.last().unwrap(), "local identifier 3 belongs to two nodes: leaf and node1 HCA-1");
}

/// What no subnet manager gives is a mistake; all bits set say that none has seen the port.
#[test]
fn identifiers_are_unicast_ones() {
    let problems = one("dump", &DUMP.replace("lid 5", "lid 49152")).unwrap_err();
    assert!(problems[0].message.contains("a unicast LID is from 1 to 0xbfff, not 49152"), "{problems:?}");
    let end = |word: &str, guid: u32, lid: &str| {
        format!(
            "{{ {word} Ports:01 SystemGUID:{guid:x} NodeGUID:{guid:016x} PortGUID:{guid:016x} VenID:0 DevID:0 Rev:0 {{n{guid}}} LID:{lid} PN:01 }}"
        )
    };
    let line = format!("{} {} PHY=4x LOG=ACT SPD=2.5", end("CA", 1, "0001"), end("SW", 2, "C000"));
    let problems = one("subnet.lst", &line).unwrap_err();
    assert!(problems[0].message.contains("a unicast LID is from 1 to 0xbfff, not 49152"), "{problems:?}");
    let unseen = one("dump", &DUMP.replace("lid 5", "lid 65535")).unwrap();
    assert!(unseen.nodes.iter().all(|node| [0, 3].contains(&node.lid)));
}

/// A switch without an LID gets a free one; what the file said stays, so that tables written are read back beside it.
#[test]
fn identifiers_that_are_there_stay() {
    let zero = DUMP.replace("lid 3", "lid 0");
    let subnet = one("dump", &zero).unwrap();
    let routed =
        route(&subnet, find(ENGINES, "minhop").unwrap(), &Options::default()).unwrap().identified().unwrap();
    assert_eq!(routed.nodes.iter().map(|n| n.lid).collect::<Vec<_>>(), [1, 5]);
    let mut lfts = Vec::new();
    write::lfts(&routed, routed.tables.as_ref().unwrap(), &mut lfts).unwrap();
    let again = many(&[("dump", zero.as_bytes()), ("lfts", &lfts)]).unwrap();
    assert!(crate::verify::verify(&again, again.tables.as_ref().unwrap()).sound());
}

#[test]
fn bad_tables_are_reported_with_their_lines() {
    let net = ("small.net", NET.as_bytes());
    let head = "Unicast lids [0-4] of switch Lid 1 guid 0x0000000000200000 ('L0'):\n";
    let hosts = "0x0002 001 # Channel Adapter portguid 0x100001: 'H0'\n0x0003 002 # Channel Adapter portguid 0x100003: 'H1'\n";
    for (tail, line, part) in [
        ("0x0002 009 # Channel Adapter portguid 0x100001: 'H0'\n", 2, "ports 1 to 4"),
        ("0x0002 001 # Channel Adapter portguid 0x77: 'H0'\n", 2, "does not have"),
        ("0x0002 0x1 # Channel Adapter portguid 0x100001: 'H0'\n", 2, "no port"),
        (
            "0x0002 001 # Channel Adapter portguid 0x100001: 'H0'\n0x0002 001 # Switch portguid 0x200001: 'T0'\n",
            3,
            "belonged to",
        ),
        ("0xffff 001 # Channel Adapter portguid 0x100001: 'H0'\n", 2, "unicast LID"),
        ("garbage\n", 2, "no line of a forwarding table"),
        ("0x0002 001 # Channel Adapter portguid 0x100001: 'H0'\n", 0, "has no LID"),
        ("0x0002 000 # Channel Adapter portguid 0x100001: 'H0'\n", 2, "not its own"),
    ] {
        let text = format!("{head}{tail}");
        let (at, message) = mistake(many(&[net, ("bad.dump", text.as_bytes())]));
        assert!(at == line && message.contains(part), "{tail:?}: line {at}: {message}");
    }
    let two_ports = format!("{head}{hosts}0x0002 002 # Channel Adapter portguid 0x100001: 'H0'\n");
    assert!(mistake(many(&[net, ("x", two_ports.as_bytes())])).1.contains("by two ports"));
    let stranger = format!("{}{hosts}", head.replace("200000", "200009"));
    assert_eq!(mistake(many(&[net, ("x", stranger.as_bytes())])).0, 1);
    let good = format!("{head}{hosts}");
    assert!(many(&[net, ("x", good.as_bytes())]).is_ok());
    assert!(mistake(many(&[("x", good.as_bytes())])).1.contains("does not hold nodes"));
    assert!(mistake(many(&[net, net])).1.contains("already holds"));
}

#[test]
fn what_is_written_is_read_again() {
    let fabric = crate::routing::testing::grid(true, &[4, 3]);
    let subnet = Subnet::from_fabric(&fabric).identified().unwrap();
    let engine = |name| find(ENGINES, name).unwrap();
    let options = Options { lmc: 1, ..Options::default() };
    let routed = route(&subnet, engine("minhop"), &options).unwrap().identified().unwrap();
    let tables = routed.tables.as_ref().unwrap();
    let bytes = |with: &dyn Fn(&mut Vec<u8>)| {
        let mut out = Vec::new();
        with(&mut out);
        out
    };
    let net = bytes(&|out| write::net(&routed, out).unwrap());
    let discover = bytes(&|out| write::ibnetdiscover(&routed, out).unwrap());
    let lfts = bytes(&|out| write::lfts(&routed, tables, out).unwrap());
    for topology in [&net, &discover] {
        let again = many(&[("topology", topology), ("lfts", &lfts)]).unwrap();
        let read = again.tables.as_ref().unwrap();
        assert_eq!(read.planes, 2);
        for host in 0..12 {
            for (plane, source) in [(0, 0), (1, 5), (0, 11)] {
                let path = |s: &Subnet, t: &crate::subnet::Tables| {
                    let mut path = Vec::new();
                    t.walk(s, s.hosts[source as usize], t.row(host, plane), &mut path).unwrap();
                    path.iter()
                        .map(|&e| {
                            (
                                s.nodes[s.edges[e as usize].from as usize].name.clone(),
                                s.edges[e as usize].port,
                            )
                        })
                        .collect::<Vec<_>>()
                };
                assert_eq!(path(&routed, tables), path(&again, read));
            }
        }
    }
    let first = route(&subnet, engine("torus"), &Options::default()).unwrap();
    let dot = bytes(&|out| write::dot(&first, out).unwrap());
    let again = many(&[("dot", &dot)]).unwrap();
    let (a, b) = (first.tables.as_ref().unwrap(), again.tables.as_ref().unwrap());
    // Switches are numbered as they appear, edges as they stand.
    for (source, target) in [(0, 7), (3, 11), (10, 2)] {
        let (mut x, mut y) = (Vec::new(), Vec::new());
        a.walk(&first, first.hosts[source], target, &mut x).unwrap();
        b.walk(&again, again.hosts[source], target, &mut y).unwrap();
        assert_eq!(x, y);
    }
    let first = first.identified().unwrap();
    let lfts = bytes(&|out| write::lfts(&first, a, out).unwrap());
    let discover = bytes(&|out| write::ibnetdiscover(&first, out).unwrap());
    let (maps, levels) = (
        bytes(&|out| write::sl2vl(&first, out).unwrap()),
        bytes(&|out| write::path_sl(&first, out).unwrap()),
    );
    let again = many(&[("net", &discover), ("lfts", &lfts), ("maps", &maps), ("levels", &levels)]).unwrap();
    let report = crate::verify::verify(&again, again.tables.as_ref().unwrap());
    assert!(report.sound() && report.lanes == 2 && report.unknown == 0, "{report:?}");
}

/// Names that break lines or end quotations break no file that is written.
#[test]
fn names_that_act_are_written_harmless() {
    let mut subnet =
        one("a.net", "Switch 4 \"S0\"\n[1] \"H1\"[1]\n[2] \"H2\"[1]\n\nHca 1 \"H1\"\n\nHca 1 \"H2\"\n")
            .unwrap();
    for (node, name) in subnet.nodes.iter_mut().zip(["S\r[9]\t\"x\"[1]", "H\u{2028}1", "H\"2\" lid 7"]) {
        name.clone_into(&mut node.name);
    }
    let subnet = subnet.identified().unwrap();
    let (mut net, mut discover) = (Vec::new(), Vec::new());
    write::net(&subnet, &mut net).unwrap();
    write::ibnetdiscover(&subnet, &mut discover).unwrap();
    for out in [net, discover] {
        let text = String::from_utf8(out).unwrap();
        assert!(!text.contains(['\r', '\u{2028}']), "{text}");
        let again = one("again.net", &text).unwrap();
        assert_eq!((again.nodes.len(), again.hosts.len(), again.edges.len()), (3, 2, 4), "{text}");
    }
}

/// Adapters with two cables are two hosts, and one record when written.
#[test]
fn adapters_with_two_cables_are_two_hosts() {
    let text =
        "Switch 4 \"S0\"\n[1] \"HA\"[1]\n[2] \"HA\"[2]\n[3] \"HB\"[1]\n\nHca 2 \"HA\"\n\nHca 1 \"HB\"\n";
    let subnet = one("two.net", text).unwrap();
    assert_eq!(subnet.hosts.len(), 3);
    let mut out = Vec::new();
    write::net(&subnet, &mut out).unwrap();
    let again = one("again.net", &String::from_utf8(out).unwrap()).unwrap();
    assert_eq!((again.hosts.len(), again.edges.len()), (3, 6));
    assert!(again.edges.iter().all(|e| e.reverse != NONE));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any text is read or refused; a damaged file never panics.
    #[test]
    fn damaged_files_are_read_or_refused(kind in 0usize..4, at in 0usize..600, byte: u8, cut: bool) {
        let lfts = "Unicast lids [0-4] of switch Lid 1 guid 0x0000000000200000 ('L0'):\n\
                    0x0002 001 # Channel Adapter portguid 0x100001: 'H0'\n0x0003 002 # Channel Adapter portguid 0x100003: 'H1'\n2 lids dumped\n";
        let lst = "{ CA Ports:01 SystemGUID:1 NodeGUID:0000000000100000 PortGUID:0000000000100001 VenID:0 DevID:0 Rev:0 {H0} LID:0001 PN:01 } \
                   { SW Ports:08 SystemGUID:2 NodeGUID:0000000000200000 PortGUID:0000000000200000 VenID:0 DevID:0 Rev:0 {L0} LID:0002 PN:01 } \
                   PHY=4x LOG=ACT SPD=2.5\n";
        let text = [LISTING, NET, lfts, lst][kind];
        let mut bytes = text.as_bytes().to_vec();
        let at = at % bytes.len();
        bytes[at] = byte;
        if cut {
            bytes.truncate(at);
        }
        let files: Vec<(&str, &[u8])> = if kind == 2 { vec![("net", NET.as_bytes()), ("x", &bytes)] } else { vec![("x", &bytes)] };
        if let Err(problems) = many(&files) {
            prop_assert!(!problems.is_empty());
        }
    }
}

/// A log of a terminal: colours, prompts before and behind, tabs that are spaces or lost, a record that nobody has.
#[test]
fn logs_of_terminals_are_read() {
    let clean = one("dump", DUMP).unwrap();
    let prompts = format!(
        "\u{feff}// welcome //\n\x1b[1m[root@login ~]# \x1b[0mibnetdiscover\n{DUMP}\n[root@login ~]# exit\nlogout\n"
    );
    for text in
        [prompts.clone(), prompts.replace('\t', "  "), prompts.replace('\t', ""), DUMP.replace('\n', "\r\n")]
    {
        let subnet = one("log", &text).unwrap();
        assert_eq!((&subnet.nodes, &subnet.edges), (&clean.nodes, &clean.edges), "{text}");
    }
    let subnet = one("log", &prompts).unwrap();
    let skipped =
        "7 lines skipped that are neither records nor ports, the first on line 1: \"// welcome //\"";
    assert_eq!(subnet.notes.last().unwrap(), skipped);
}

/// What the file knows no better stays a host if it is asked for.
#[test]
fn kinds_of_nodes_take_part_if_asked() {
    let text = DUMP.replace("node1 HCA-1", "oss1 HCA-1");
    let all =
        read_keeping(vec![Source::memory("dump", text.as_bytes())], Keep::parse("all").unwrap()).unwrap();
    assert_eq!((all.hosts.len(), all.left_out.len()), (3, 0));
    assert_eq!(all.roles(), [("hosts", 0, 0), ("storage", 1, 0), ("aggregation", 1, 0), ("routers", 1, 0)]);
    let keep = Keep::parse("storage").unwrap();
    let storage = read_keeping(vec![Source::memory("dump", text.as_bytes())], keep).unwrap();
    assert_eq!(
        storage.roles(),
        [("hosts", 0, 0), ("storage", 1, 0), ("aggregation", 0, 1), ("routers", 0, 1)]
    );
    let (_, message) = mistake(one("dump", &text));
    assert!(message.contains("no host"), "{message}");
}

/// Tables that were computed for a network are read beside its file, whatever local identifiers that has.
#[test]
fn own_tables_are_read_back() {
    let twice = DUMP.replace("lid 5", "lid 3");
    let zero = DUMP.replace("lid 3", "lid 0").replace("lid 5", "lid 0");
    for (text, lmc) in [(&twice, 0), (&twice, 2), (&zero, 0), (&zero, 1), (&DUMP.to_owned(), 3)] {
        let subnet = one("dump", text).unwrap();
        let options = Options { lmc, ..Options::default() };
        let routed =
            route(&subnet, find(ENGINES, "minhop").unwrap(), &options).unwrap().identified().unwrap();
        let mut lfts = Vec::new();
        write::lfts(&routed, routed.tables.as_ref().unwrap(), &mut lfts).unwrap();
        let again = many(&[("dump", text.as_bytes()), ("lfts", &lfts)]).unwrap();
        let tables = again.tables.as_ref().unwrap();
        assert_eq!(tables, routed.tables.as_ref().unwrap());
        assert!(crate::verify::verify(&again, tables).sound());
    }
    let notes = one("dump", &zero).unwrap().notes;
    let note = notes.iter().find(|n| n.contains("identifier")).unwrap();
    assert_eq!(
        note,
        "2 nodes have local identifier 0, the first leaf: free ones stand in where tables are written"
    );
}

/// A file that says LIDs, all of them 0, is told of as one where some are; one that says none is not.
#[test]
fn dumps_without_any_identifier_are_reported() {
    let zero =
        ["lid 3", "lid 5", "lid 6", "lid 8"].iter().fold(DUMP.to_owned(), |t, lid| t.replace(lid, "lid 0"));
    let notes = |text: &str| one("dump", text).unwrap().notes.join("\n");
    assert!(notes(&zero).contains("2 nodes have local identifier 0, the first leaf"), "{}", notes(&zero));
    let none = zero.replace(" lid 0", "").replace(" lid 7", "");
    assert!(!notes(&none).contains("identifier"), "{}", notes(&none));
    assert!(!notes(DUMP).contains("identifier"));
}

/// A cable that both of its ends tell counts once.
#[test]
fn unknown_speeds_count_by_cables() {
    let dump = |of_switch: &str, of_host: &str| {
        format!(
            "switchguid=0x10(10)\nSwitch\t4 \"S-0000000000000010\"\t\t# \"leaf\" enhanced port 0 lid 3 lmc 0\n\
             [1]\t\"H-0000000000000020\"[1](21)\t\t# \"node1\" lid 5 {of_switch}\n\
             [2]\t\"H-0000000000000030\"[1](31)\t\t# \"node2\" lid 6 {of_switch}\n\n\
             caguid=0x20\nCa\t1 \"H-0000000000000020\"\t\t# \"node1\"\n\
             [1](21)\t\"S-0000000000000010\"[1]\t\t# lid 5 lmc 0 \"leaf\" lid 3 {of_host}\n\n\
             caguid=0x30\nCa\t1 \"H-0000000000000030\"\t\t# \"node2\"\n\
             [1](31)\t\"S-0000000000000010\"[2]\t\t# lid 6 lmc 0 \"leaf\" lid 3 {of_host}\n"
        )
    };
    let counted = |text: &str| {
        let subnet = one("dump", text).unwrap();
        let note = subnet.notes.iter().find(|n| n.contains("unknown speed"));
        (note.map(|n| n.split(' ').next().unwrap().to_owned()), subnet.edges[0].speed.to_string())
    };
    let usual = crate::subnet::Speed::USUAL.to_string();
    assert_eq!(counted(&dump("4x???", "4x???")), (Some("2".to_owned()), usual.clone()));
    for half in [dump("4x???", ""), dump("", "4x???"), dump("4x???", "4xHDR")] {
        assert_eq!(counted(&half), (Some("2".to_owned()), usual.clone()));
    }
    // The line that tells a cable first says its speed.
    for known in [dump("4xHDR", "4x???"), dump("4xHDR", "4xHDR"), dump("4xHDR", "")] {
        assert_eq!(counted(&known), (None, "4xHDR".to_owned()));
    }
}

/// A few bytes of DOT stand for few edges, in a chain as between subgraphs; and DOT tells of hosts alone.
#[test]
fn chains_of_dot_are_bounded() {
    let stars = "*,".repeat(20_000);
    let chain = "S -> T -> ".repeat(5_000);
    let text = format!("digraph x {{ {chain} S [comment=\"{stars}\"]; S -> H1; H1 -> S; }}");
    let problems = read(vec![Source::memory("dot", text.as_bytes())]).unwrap_err();
    assert!(problems[0].message.contains("too many edges"), "{problems:?}");
    let plain = "digraph x { S -> H1; H1 -> S; S -> H2; H2 -> S }";
    let none = read_keeping(vec![Source::memory("dot", plain.as_bytes())], Keep::parse("storage").unwrap());
    assert!(none.unwrap_err()[0].message.contains("hosts alone"));
}
