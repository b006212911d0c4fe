//! What a routing declares of itself: the lists of them stand above, in [`crate::registry`].

use super::Routing;
use crate::{graph::Fabric, topology::Sizes};
use base::{
    param::{Problem, Values},
    registry::{About, Registered},
};
use std::sync::Arc;

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
    /// As many of them as a network of these sizes has for sure, before anything is built.
    pub least: fn(&Sizes, &Values) -> u64,
}

/// A routing bound to a fabric, or why it cannot be.
pub type Bound = Result<Box<dyn Routing>, Vec<Problem>>;

impl Registered for RoutingEntry {
    fn about(&self) -> &About {
        &self.about
    }
}
