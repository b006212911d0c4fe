//! What is wrong with a source of rank programs, found while it is read.

/// Why a source cannot be read further: a message with file and position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage(pub String);
