//! What is there: the network's graph, its topologies and routings, and the deadlock check.
//!
//! `graph` is the network, `topology` builds it, `routing` finds the path through it, `registry` names both for users,
//! `deadlock` proves that a routing cannot block itself, `metrics` measures the graph and `paths` its shortest paths,
//! `partition` shares routers out to threads, `faults` takes links and routers away, `planes` lays several copies of a network
//! side by side, `platform` holds hosts, links and routes that no graph describes, `export` writes the graph for other programs.

pub mod deadlock;
pub mod engines;
pub mod export;
pub mod faults;
pub mod graph;
pub mod import;
pub mod links;
pub mod metrics;
pub mod partition;
pub mod paths;
pub mod planes;
pub mod platform;
pub mod registry;
pub mod routing;
pub mod subnet;
pub mod topology;
pub mod verify;
