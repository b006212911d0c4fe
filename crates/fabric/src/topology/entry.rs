//! What a topology declares of itself: the list of them stands above, in [`crate::registry`].

use super::Sizes;
use crate::graph::Fabric;
use base::{
    param::{Problem, Value, Values},
    registry::{About, Registered},
};

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

impl Registered for Topology {
    fn about(&self) -> &About {
        &self.about
    }
}

/// A set of parameters that can be written as a constant.
pub type Sample = &'static [(&'static str, Constant)];

/// A parameter's value that can be written as a constant.
#[derive(Clone, Copy, Debug)]
pub enum Constant {
    /// A whole number or bytes, as [`Value::Int`].
    Int(u64),
    /// A list of whole numbers, as [`Value::Ints`].
    Ints(&'static [u64]),
    /// True or false, as [`Value::Bool`].
    Bool(bool),
    /// A word or any text, as [`Value::Text`].
    Text(&'static str),
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
