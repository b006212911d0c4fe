//! What is there: the network's graph, its topologies and routings, and the deadlock check.

pub mod graph;
pub mod routing;
