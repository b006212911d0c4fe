//! The topologies and routings that a user can name. A new one is one file and one line here.

use crate::{routing, topology};
pub use crate::{
    routing::entry::{Bound, RoutingEntry},
    topology::entry::{Constant, Sample, Topology},
};
use base::param::{Param, Value, Values};

/// All topologies, in the order in which they are listed.
pub const TOPOLOGIES: &[Topology] = &[
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
    routing::hierarchical::ROUTING,
    routing::minimal_adaptive::ROUTING,
    routing::dimension_adaptive::ROUTING,
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
            assert!((0..=t.classes.len()).contains(&t.required), "{}", t.about.name);
        }
    }
}
