//! The topologies and routings that a user can name. A new one is one file and one line here.

use crate::{
    graph::Fabric,
    routing::{self, Routing},
    topology::{self, Sizes},
};
use base::{
    param::{Param, Problem, Value, Values},
    registry::{About, Registered},
};
use std::sync::Arc;

/// A topology as registered.
#[derive(Clone, Copy, Debug)]
pub struct Topology {
    /// Name, documentation and parameters.
    pub about: About,
    /// Names of its link classes, the terminal class first; equal to [`Fabric::classes`].
    pub classes: &'static [&'static str],
    /// How many of the classes, from the first, need parameters for their links in an experiment; a class after them
    /// that is left out is like the last of them. If none is required, links bring their own parameters.
    pub required: usize,
    /// Counts what [`Topology::build`] would build, without building it; refuses what cannot be built. Call it first:
    /// a fabric within the limits may still not fit in memory.
    pub sizes: fn(&Values) -> Result<Sizes, Vec<Problem>>,
    /// Builds it, or says which keys are wrong.
    pub build: fn(&Values) -> Result<Fabric, Vec<Problem>>,
    /// Small sets of parameters that the conformance tests build; keys left out take their defaults.
    pub small: &'static [Sample],
}

/// A set of parameters that can be written as a constant.
pub type Sample = &'static [(&'static str, Constant)];

/// A parameter's value that can be written as a constant.
#[derive(Clone, Copy, Debug)]
pub enum Constant {
    /// See [`Value::Int`].
    Int(u64),
    /// See [`Value::Ints`].
    Ints(&'static [u64]),
    /// See [`Value::Bool`].
    Bool(bool),
    /// See [`Value::Text`].
    Text(&'static str),
}

/// A routing as registered.
#[derive(Clone, Copy, Debug)]
pub struct RoutingEntry {
    /// Name, documentation and parameters.
    pub about: About,
    /// Binds it to a fabric, or says why it cannot be: the key is `algorithm` when the topology does not suit it.
    pub build: fn(Arc<Fabric>, &Values) -> Bound,
    /// Bytes of tables per pair of routers that it will hold at least on one plane, 0 if it has none: to refuse what does not fit before it is
    /// built.
    pub bytes: fn(&Fabric, &Values) -> u64,
}

/// A routing bound to a fabric, or why it cannot be.
pub type Bound = Result<Box<dyn Routing>, Vec<Problem>>;

impl Registered for Topology {
    fn about(&self) -> &About {
        &self.about
    }
}

impl Registered for RoutingEntry {
    fn about(&self) -> &About {
        &self.about
    }
}

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

impl From<Constant> for Value {
    fn from(constant: Constant) -> Self {
        match constant {
            Constant::Int(v) => Self::Int(v),
            Constant::Ints(v) => Self::Ints(v.to_vec()),
            Constant::Bool(v) => Self::Bool(v),
            Constant::Text(v) => Self::Text(v.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
