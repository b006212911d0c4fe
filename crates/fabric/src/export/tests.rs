use super::*;
use crate::{
    metrics::all_distances,
    registry::{Constant, LINK_CLASSES, TOPOLOGIES, values},
    topology::graph,
};
use base::registry::find;

fn written(write: impl Fn(&Fabric, &mut Vec<u8>) -> io::Result<()>, fabric: &Fabric) -> String {
    let mut out = Vec::new();
    write(fabric, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn fabrics() -> impl Iterator<Item = Fabric> {
    TOPOLOGIES.iter().flat_map(|entry| {
        entry.small.iter().map(|sample| (entry.build)(&values(entry.about.params, sample)).unwrap())
    })
}

/// Peer and class name of each port; a port without a cable has no class.
fn described(fabric: &Fabric) -> Vec<(Peer, &'static str)> {
    let class = |port: &crate::graph::Port| match port.peer {
        Peer::None => "",
        _ => fabric.classes()[usize::from(port.class)],
    };
    fabric.ports().iter().map(|port| (port.peer, class(port))).collect()
}

#[test]
fn json_is_read_back_as_the_same_network() {
    for fabric in fabrics() {
        let text = written(json, &fabric);
        let back =
            graph::parse(&text, LINK_CLASSES).unwrap_or_else(|m| panic!("{}: {m:?}", fabric.topology()));
        assert_eq!(back.parts().port_base, fabric.parts().port_base, "{}", fabric.topology());
        assert_eq!(back.attachments(), fabric.attachments(), "{}", fabric.topology());
        assert_eq!(described(&back), described(&fabric), "{}", fabric.topology());
        let again = written(json, &back);
        assert_eq!(again.replace("\"graph\"", &format!("\"{}\"", fabric.topology())), text);
    }
}

#[test]
fn edge_lists_are_read_back_with_the_same_links_and_distances() {
    for fabric in fabrics() {
        let back = graph::parse(&written(edge_list, &fabric), LINK_CLASSES).unwrap();
        let ends = |fabric: &Fabric| {
            let mut ends: Vec<_> = cables(fabric).map(|(class, a, b)| (class, a.0, b.0)).collect();
            ends.sort_unstable();
            ends
        };
        assert_eq!(ends(&back), ends(&fabric), "{}", fabric.topology());
        assert_eq!(all_distances(&back, u64::MAX), all_distances(&fabric, u64::MAX), "{}", fabric.topology());
        let at = |fabric: &Fabric| fabric.attachments().iter().map(|a| a.0).collect::<Vec<_>>();
        assert_eq!(at(&back), at(&fabric), "{}", fabric.topology());
    }
}

#[test]
fn graphviz_has_a_node_for_each_end_and_an_edge_for_each_cable() {
    let entry = find(TOPOLOGIES, "torus").unwrap();
    let fabric = (entry.build)(&values(entry.about.params, &[("dims", Constant::Ints(&[2, 3]))])).unwrap();
    let text = written(dot, &fabric);
    assert!(text.starts_with("graph \"torus\" {\n") && text.ends_with("}\n"));
    // Six terminals; a ring of two has two cables, a ring of three three.
    assert_eq!(text.matches(" -- t").count(), 6);
    assert_eq!(text.matches(" -- r").count(), 3 * 2 + 2 * 3);
    assert_eq!(text.matches("  r0 -- r1 [class=\"local\", color=2,").count(), 2);
    assert_eq!(text.matches(";\n").count(), 2 + 6 + 2 * 6 + 12);
}
