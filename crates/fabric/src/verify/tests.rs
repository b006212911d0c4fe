use super::*;
use crate::import::{self, Source};

fn read(text: &str) -> Subnet {
    import::read(vec![Source::memory("test.dot", text.as_bytes())]).unwrap()
}

/// A ring of three switches with a host each, all messages clockwise.
const RING: &str = r#"digraph ring {
  A -> B [comment="HB,HC"]; B -> C [comment="HC,HA"]; C -> A [comment="HA,HB"];
  B -> A; C -> B; A -> C;
  A -> HA [comment=HA]; B -> HB [comment=HB]; C -> HC [comment=HC];
  HA -> A [comment="*"]; HB -> B [comment="*"]; HC -> C [comment="*"];
}"#;

#[test]
fn a_ring_one_way_round_is_a_credit_loop() {
    let ring = read(RING);
    let report = verify(&ring, ring.tables.as_ref().unwrap());
    assert_eq!((report.pairs, report.unreached, report.loops), (6, 0, 0));
    assert_eq!(report.lengths, [0, 0, 0, 3, 3]);
    assert_eq!(report.minimal, 3);
    assert_eq!((report.load.min, report.load.max, report.load.unused), (0, 3, 3));
    let cycle = report.cycle.unwrap();
    assert_eq!(cycle.len(), 3);
    assert!(cycle[0].label(&ring).ends_with("lane 0"), "{}", cycle[0].label(&ring));
}

#[test]
fn a_second_lane_breaks_it() {
    let mut ring = read(RING);
    let mut lanes = crate::subnet::Lanes::new(&ring, 1);
    for target in 0..3 {
        for source in 0..3 {
            // Messages that pass from C to A go by lane 1.
            lanes.set(&ring, target, source, u8::from(source > target));
        }
    }
    ring.lanes = Some(lanes);
    let report = verify(&ring, ring.tables.as_ref().unwrap());
    assert!(report.cycle.is_none() && report.lanes == 2 && report.unknown == 0, "{report:?}");
    let mut partly = ring.clone();
    partly.lanes.as_mut().unwrap().sl[1] = UNKNOWN;
    assert_eq!(verify(&partly, partly.tables.as_ref().unwrap()).unknown, 1);
}

#[test]
fn holes_and_circles_are_reported() {
    let hole = read(&RING.replace("HB,HC", "HC"));
    let report = verify(&hole, hole.tables.as_ref().unwrap());
    assert_eq!(report.unreached, 2);
    assert!(matches!(report.lost[0], LostPair { destination: 1, why: Lost::NoRoute(_), .. }));
    let circle = read(
        &RING
            .replace("C -> B;", "C -> B [comment=HA];")
            .replace("C -> A [comment=\"HA,HB\"]", "C -> A [comment=\"HB\"]"),
    );
    let report = verify(&circle, circle.tables.as_ref().unwrap());
    assert!(report.loops == 2 && !report.sound(), "{report:?}");
}

/// Lanes without levels break no circle: with level 0 there is one, and the tables are not sound.
#[test]
fn lanes_alone_excuse_no_path() {
    let mut ring = read(RING);
    ring.lanes = Some(crate::subnet::Lanes::new(&ring, 1));
    let report = verify(&ring, ring.tables.as_ref().unwrap());
    assert!(!report.sound() && report.any_cycle().is_some_and(|c| c.len() == 3));
    assert!(report.cycle.is_none() && report.unknown == 6 && report.lanes == 1);
}

/// A map that gives lane 15 drops messages, up to the host's link; levels without a map are lanes of their numbers.
#[test]
fn lane_15_carries_nothing() {
    let mut ring = read(RING);
    let mut lanes = crate::subnet::Lanes::new(&ring, 1);
    lanes.sl.fill(15);
    ring.lanes = Some(lanes.clone());
    assert_eq!(verify(&ring, ring.tables.as_ref().unwrap()).unreached, 0);
    let ports = ring.nodes[ring.switches[0] as usize].ports + 1;
    lanes.map[0] = vec![std::array::from_fn(|sl| if sl == 1 { 15 } else { 0 }); (ports * ports) as usize];
    lanes.sl.fill(1);
    ring.lanes = Some(lanes);
    let report = verify(&ring, ring.tables.as_ref().unwrap());
    // From A, to A, and from C through A to B.
    assert_eq!((report.pairs, report.unreached, report.lengths), (6, 5, vec![0, 0, 0, 1]));
    assert!(matches!(report.lost[0].why, Lost::Dropped(at) if at == ring.switches[0]), "{:?}", report.lost);
}

/// A switch with three hosts whose entry for the third leads to the second.
#[test]
fn hosts_do_not_forward() {
    let star = read(
        r#"digraph star { S -> H1 [comment=H1]; S -> H2 [comment="H2,H3"]; S -> H3;
           H1 -> S [comment="*"]; H2 -> S [comment="*"]; H3 -> S [comment="*"] }"#,
    );
    let report = verify(&star, star.tables.as_ref().unwrap());
    assert_eq!((report.unreached, report.loops), (2, 0));
    assert!(
        report.lost.iter().all(|l| matches!(l.why, Lost::Stray(at) if star.nodes[at as usize].name == "H2")
            || matches!(l.why, Lost::NoRoute(_)))
    );
}

/// Two switches with a host each and two cables: of two identifiers per host each takes a cable of its own, and both are in use.
#[test]
fn loads_count_every_identifier() {
    let net = "Switch 3 \"A\"\n[1] \"H0\"[1]\n[2] \"B\"[2]\n[3] \"B\"[3]\nSwitch 3 \"B\"\n[1] \"H1\"[1]\n[2] \"A\"[2]\n[3] \"A\"[3]\n\
               Hca 1 \"H0\"\n[1] \"A\"[1]\nHca 1 \"H1\"\n[1] \"B\"[1]\n";
    let subnet = import::read(vec![Source::memory("test.net", net.as_bytes())]).unwrap();
    let engine = crate::engines::ENGINES.iter().find(|e| e.about.name == "minhop").unwrap();
    let options = crate::engines::Options { lmc: 1, ..Default::default() };
    let routed = crate::engines::route(&subnet, engine, &options).unwrap();
    let report = verify(&routed, routed.tables.as_ref().unwrap());
    assert_eq!((report.pairs, report.load.links, report.load.unused), (4, 4, 0));
    assert_eq!((report.load.min, report.load.max, report.load.mean), (1, 1, 1.0));
    assert!(report.loads.iter().sum::<u64>() == 12, "each of four paths has three links");
}
