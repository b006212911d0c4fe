//! The topologies and routings that a user can name. A new one is one file and one line here.

use crate::{routing, topology};
pub use crate::{
    routing::entry::{Bound, RoutingEntry},
    topology::entry::{Constant, Sample, Topology},
};
use base::param::{Param, Value, Values};

/// All topologies, in the order in which they are listed. Here a graph from a file has its own link classes only.
const LISTED: &[Topology] = &[
    topology::dragonfly::TOPOLOGY,
    topology::cray_dragonfly::TOPOLOGY,
    topology::dragonfly_plus::TOPOLOGY,
    topology::grid::MESH,
    topology::grid::TORUS,
    topology::tree::TOPOLOGY,
    topology::xgft::TOPOLOGY,
    topology::hyperx::TOPOLOGY,
    topology::flattened_butterfly::TOPOLOGY,
    topology::hypercube::TOPOLOGY,
    topology::slim_fly::TOPOLOGY,
    topology::hierarchical::TOPOLOGY,
    topology::jellyfish::TOPOLOGY,
    topology::haec_box::TOPOLOGY,
    topology::parking_lot::TOPOLOGY,
    topology::graph::TOPOLOGY,
    topology::imported::TOPOLOGY,
    topology::platform::TOPOLOGY,
    topology::switch::TOPOLOGY,
];

/// All topologies, in the order in which they are listed.
pub const TOPOLOGIES: &[Topology] = &{
    let mut all = [GRAPH; LISTED.len()];
    let mut i = 0;
    while i < all.len() {
        if !same(LISTED[i].about.name, GRAPH.about.name) {
            all[i] = LISTED[i];
        }
        i += 1;
    }
    all
};

/// A graph from a file, whose links may be of any topology's classes.
const GRAPH: Topology = Topology {
    classes: LINK_CLASSES,
    sizes: |values| topology::graph::sizes(values, LINK_CLASSES),
    build: |values| topology::graph::build(values, LINK_CLASSES),
    ..topology::graph::TOPOLOGY
};

/// The link classes of all topologies: those that a graph cannot do without, then each at its first place in the list, those that a
/// graph may leave out at the end.
pub const LINK_CLASSES: &[&str] = {
    const WITH_HOLES: Names = link_classes();
    WITH_HOLES.all.split_at(WITH_HOLES.count).0
};

/// Most link classes of all topologies together: a port's class is a `u8`.
const MOST_CLASSES: usize = 256;

/// Names as they are gathered, each once.
struct Names {
    /// The names, with room for more behind them.
    all: [&'static str; MOST_CLASSES],
    /// How many of them there are.
    count: usize,
}

/// The names behind [`LINK_CLASSES`].
const fn link_classes() -> Names {
    let graph = topology::graph::TOPOLOGY;
    let (needed, free) = graph.classes.split_at(graph.required);
    let mut known = Names { all: [""; MOST_CLASSES], count: 0 };
    known = with(known, needed);
    let mut i = 0;
    while i < LISTED.len() {
        if !same(LISTED[i].about.name, graph.about.name) {
            known = with(known, LISTED[i].classes);
        }
        i += 1;
    }
    with(known, free)
}

/// Adds the names that are not there yet.
const fn with(known: Names, more: &[&'static str]) -> Names {
    let Names { mut all, mut count } = known;
    let mut i = 0;
    while i < more.len() {
        let mut at = 0;
        while at < count && !same(all[at], more[i]) {
            at += 1;
        }
        if at == count {
            all[count] = more[i];
            count += 1;
        }
        i += 1;
    }
    Names { all, count }
}

/// `a == b`, which constants cannot ask.
const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

/// All routings, in the order in which they are listed.
pub const ROUTINGS: &[RoutingEntry] = &[
    routing::minimal::ROUTING,
    routing::dimension_order::ROUTING,
    routing::nearest_common_ancestor::ROUTING,
    routing::mod_k::DESTINATION,
    routing::mod_k::BY_SOURCE,
    routing::progressive_adaptive::ROUTING,
    routing::shortest_path::ROUTING,
    routing::up_down::ROUTING,
    routing::given::ROUTING,
    routing::source_routes::ROUTING,
    routing::forwarding::ROUTING,
    routing::valiant::ROUTING,
    routing::ugal::LOCAL,
    routing::ugal::GLOBAL,
    routing::dragonfly_ugal::ROUTING,
    routing::hierarchical::ROUTING,
    routing::minimal_adaptive::ROUTING,
    routing::dimension_adaptive::ROUTING,
    routing::mesh_orders::O1TURN,
    routing::planar_adaptive::ROUTING,
    routing::mesh_orders::ROMM,
];

/// The values of a [`Sample`], completed by the defaults of `params`.
///
/// # Panics
/// If a mandatory key is missing or a default does not fit its declaration: samples and defaults are ours.
#[must_use]
pub fn values(params: &[Param], sample: &[(&str, Constant)]) -> Values {
    let given = |name: &str| sample.iter().find(|(key, _)| *key == name);
    Values::complete(params, |name| given(name).map(|&(_, constant)| Value::from(constant)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::registry::About;

    #[test]
    fn names_are_unique_and_documented() {
        let abouts: Vec<&About> =
            TOPOLOGIES.iter().map(|t| &t.about).chain(ROUTINGS.iter().map(|r| &r.about)).collect();
        for (i, a) in abouts.iter().enumerate() {
            assert!(!a.summary.is_empty() && !a.doc.is_empty() && !a.source.is_empty(), "{}", a.name);
            assert!(abouts[..i].iter().all(|b| b.name != a.name), "{} twice", a.name);
            assert!(a.params.iter().all(|p| !p.doc.is_empty()), "{}", a.name);
        }
        for t in TOPOLOGIES {
            let graph = topology::graph::TOPOLOGY.about.name;
            assert!(t.about.name == graph || t.classes.iter().all(|c| LINK_CLASSES.contains(c)));
            assert!((0..=t.classes.len()).contains(&t.required), "{}", t.about.name);
        }
    }
}
