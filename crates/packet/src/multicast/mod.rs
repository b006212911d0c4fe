//! Multicast by tree: a message for several ranks leaves its source once, and routers copy it where the paths of the routing part.
//!
//! State, rules, invariants and cost are in `MULTICAST.md`.

pub mod limits;
pub mod trees;
