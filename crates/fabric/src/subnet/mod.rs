//! A subnet: a cluster's hosts, switches and cables together with its forwarding tables, as files of real machines say
//! them and as [`crate::engines`] compute them.
//!
//! Beside [`crate::graph::Fabric`], of which it is the image (`convert`), a subnet knows names, GUIDs and local
//! identifiers (LIDs), and holds directed *edges*: a cable is two of them. That is the view of static congestion, which
//! counts messages on edges. Switches come with out-edges in the order of their ports. Edges are numbered in the order of a DOT
//! file, otherwise switch by switch and port by port, then host by host.
//!
//! A *host* is an end port: an adapter with two cables is two hosts. Ranks are dealt to hosts in the order of
//! [`Subnet::hosts`]: by name if names distinguish hosts, else by GUID.

mod builder;
mod convert;
mod lanes;
mod names;
mod parts;
mod role;
mod tables;

pub use builder::SubnetBuilder;
pub(crate) use builder::whole;
pub(crate) use convert::CLASSES;
pub use lanes::MAX_MAPPED;
pub use names::Names;
pub use parts::{
    Edge, Exit, Kind, Lanes, MAX_ENTRIES, MAX_PORTS, NONE, Node, Speed, Subnet, Tables, UNKNOWN,
};
pub use role::{Keep, Role};
pub use tables::Lost;
