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
