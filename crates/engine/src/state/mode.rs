//! What a run pays for: whether its changes can be undone, and whether a model's rarely used features are there at all.
//!
//! A mode is a type, so that what a run does without is no branch in its handlers: constants decide, and the compiler drops the rest.
//! Who runs a model chooses one mode per run. Tables of another mode than [`Undo`] cannot record.

use std::fmt::Debug;

/// A choice of what a run pays for.
///
/// Modes are names without values, so that they may cross threads costs nothing and spares users a bound.
pub trait Mode: Copy + Debug + PartialEq + Send + Sync + 'static {
    /// Name, for lists of what is compiled.
    const NAME: &'static str;
    /// Tables can record changes and undo them.
    const JOURNALS: bool;
    /// The model's features are there; which ones a plain run lacks is the model's to say.
    const FEATURES: bool;
}

/// Nothing but the common case: `edit` is plain indexing, and features are absent.
#[derive(Clone, Copy, Debug, PartialEq)]
// Enums without variants: modes are names for the compiler, and no value of them ever exists.
pub enum Plain {}

/// All features, no undo.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Full {}

/// All features, and every change can be undone. What is generic over modes defaults to this one: who does not choose gets all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Undo {}

impl Mode for Plain {
    const NAME: &'static str = "plain";
    const JOURNALS: bool = false;
    const FEATURES: bool = false;
}

impl Mode for Full {
    const NAME: &'static str = "full";
    const JOURNALS: bool = false;
    const FEATURES: bool = true;
}

impl Mode for Undo {
    const NAME: &'static str = "undo";
    const JOURNALS: bool = true;
    const FEATURES: bool = true;
}
