//! Routings: which port and virtual channel a packet (or chunk) takes next.
//!
//! A routing is pure: it reads the fabric, the [`Hop`] and, if adaptive, the [`Congestion`] view; all its memory of a
//! packet travels in [`Hop::state`].

pub mod dimension_adaptive;
pub mod dimension_order;
pub(crate) mod dragonfly;
pub mod dragonfly_ugal;
pub mod entry;
pub(crate) mod fat_tree;
pub mod forwarding;
pub mod given;
pub mod hierarchical;
pub(crate) mod layers;
pub(crate) mod legs;
pub mod mesh_orders;
pub mod minimal;
pub mod minimal_adaptive;
mod minimal_escape;
pub mod mod_k;
pub mod nearest_common_ancestor;
pub mod planar_adaptive;
pub mod progressive_adaptive;
mod progressive_adaptive_legs;
pub(crate) mod select;
pub mod shortest_path;
pub mod source_routes;
pub(crate) mod table;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod two_legs;
pub mod ugal;
pub mod up_down;
pub mod valiant;
pub mod walk;

use crate::{graph::Fabric, topology::Sizes};
use base::{
    index::{ChannelId, LinkId, PortId, RouterId, TerminalId},
    param::{Problem, Unread},
    registry::About,
    rng::Stream,
};
use serde::{Deserialize, Serialize};

/// The question put to a routing: a packet (or chunk) is at `router` and wants to get to `destination`.
#[derive(Clone, Copy, Debug)]
pub struct Hop {
    /// Where it is.
    pub router: RouterId,
    /// Port through which it came in (a terminal's port at the first router).
    pub in_port: PortId,
    /// Virtual channel in which it came in (0 from a terminal).
    pub vc: ChannelId,
    /// Routers visited before this one.
    pub visited: u16,
    /// Terminal that sent it.
    pub source: TerminalId,
    /// Terminal that it goes to.
    pub destination: TerminalId,
    /// What the routing noted at earlier hops; 0 at the first router.
    pub state: u32,
    /// Random stream of this decision: same packet, chunk and hop give the same draws.
    pub random: Stream,
}

/// A routing's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Choice {
    /// Output port of the router.
    pub port: PortId,
    /// Virtual channel on the link behind it.
    pub vc: ChannelId,
    /// Carried to the next router.
    pub state: u32,
}

/// What an adaptive routing may know of the router it is asked at.
pub trait Congestion {
    /// Bytes that wait or hold buffer space at the output `port` of the asking router, over all its VCs: occupancy of
    /// the window or downstream buffer plus what is queued for it.
    fn backlog(&mut self, port: PortId) -> u64;

    /// Bytes of free buffer for virtual channel `vc` behind the output `port` of the asking router, as far as its
    /// credits say. A view that knows no buffers by channel answers with the complement of the backlog.
    fn credits(&mut self, port: PortId, vc: ChannelId) -> u64 {
        let _ = vc;
        u64::MAX - self.backlog(port)
    }

    /// Backlog, as [`Congestion::backlog`] counts it, that the router of any output last published; `link` is the
    /// output's global port index ([`Fabric::port_index`](crate::graph::Fabric::port_index)). How old it is, the model
    /// says. Only asked by routings with [`Facts::needs_published`]; a view without published state answers 0.
    fn published(&mut self, link: LinkId) -> u64 {
        let _ = link;
        0
    }
}

/// What is true of a bound routing whatever it is asked: models and checks leave out what it does not need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// False if [`Choice::state`] is always 0: the model then stores none.
    pub stateful: bool,
    /// True if [`Routing::route`] never looks at congestion.
    pub oblivious: bool,
    /// True if [`Routing::route`] looks at [`Congestion::published`]: the model must then publish queues.
    pub needs_published: bool,
    /// True if the terminals of a router are routed alike, as sources and as destinations, but for the last port: the
    /// deadlock check then looks at one terminal per router.
    pub terminals_alike: bool,
    /// Of a routing whose heads must ask for all of [`Routing::options`] at once and take what they get: virtual channels below this one are escape channels, which every
    /// head may have and no packet leaves; the others may form cycles. Only routers whose heads can ask for several outputs take it.
    pub escapes: Option<u8>,
    /// Of a routing that uses one virtual channel of each ring of a torus, so that a ring is a cycle: ports below this number come in pairs, down and up a dimension, and who leaves by
    /// the other of the pair by which it came in goes on in its ring. Only routers that keep a bubble in each ring take it.
    pub rings: Option<u32>,
    /// True if its user asked for virtual channels that are known to form a cycle: the deadlock check then tells it, and refuses nothing.
    pub may_deadlock: bool,
}

impl Facts {
    /// What assumes least of a routing that looks at its router's queues.
    pub const ADAPTIVE: Self = Self {
        stateful: true,
        oblivious: false,
        needs_published: false,
        terminals_alike: false,
        escapes: None,
        rings: None,
        may_deadlock: false,
    };
    /// What assumes least of a routing that looks at no queues.
    pub const OBLIVIOUS: Self = Self { oblivious: true, ..Self::ADAPTIVE };

    /// What is true of two routings of which a packet may follow either.
    #[must_use]
    pub fn either(self, other: Self) -> Self {
        Self {
            stateful: self.stateful || other.stateful,
            oblivious: self.oblivious && other.oblivious,
            needs_published: self.needs_published || other.needs_published,
            terminals_alike: self.terminals_alike && other.terminals_alike,
            escapes: self.escapes.max(other.escapes),
            rings: self.rings.max(other.rings),
            may_deadlock: self.may_deadlock || other.may_deadlock,
        }
    }
}

/// A routing bound to one fabric.
pub trait Routing: Send + Sync {
    /// Virtual channels it needs on every link.
    fn vcs(&self) -> u8;

    /// Decides the next hop.
    fn route(&self, hop: &mut Hop, congestion: &mut dyn Congestion) -> Choice;

    /// Every choice that [`Routing::route`] could make for this hop, over all random draws and congestion: for the
    /// deadlock check. Appends to `out`; duplicates are allowed.
    fn options(&self, hop: &Hop, out: &mut Vec<Choice>);

    /// What holds for every hop. Models ask once, when a run begins.
    fn facts(&self) -> Facts;

    /// Keys of `[routing]` that have no effect on this fabric with the other keys.
    fn unread(&self) -> Vec<Unread> {
        Vec::new()
    }

    /// A summary of the hop's source, visited count and whatever else [`Routing::options`] reads of it besides router,
    /// port, VC, state and destination: hops that agree in all of these must have the same options now and at every
    /// later hop. The fewer its values, the faster the deadlock check; the default assumes nothing.
    fn memory(&self, hop: &Hop) -> u64 {
        u64::from(hop.source) << 16 | u64::from(hop.visited)
    }
}

/// For routings without tables per pair of routers.
fn no_table_bytes(_: &Fabric, _: &base::param::Values) -> u64 {
    0
}

/// For them, and for routings whose tables depend on more than sizes.
fn no_least_bytes(_: &Sizes, _: &base::param::Values) -> u64 {
    0
}

/// Refuses a fabric with failed links: for routings that follow the topology's structure and cannot detour.
fn intact(about: &About, fabric: &Fabric) -> Result<(), Vec<Problem>> {
    if fabric.intact() {
        return Ok(());
    }
    let message = format!("`{}` cannot avoid the {} failed links", about.name, fabric.failed_links());
    Err(vec![Problem::new("algorithm", message).help("shortest-path and up-down find paths around them")])
}

/// The refusal of a topology that a routing does not know.
fn unsuited(about: &About, topology: &str, known: &[&str]) -> Vec<Problem> {
    vec![
        Problem::new("algorithm", format!("`{}` cannot route on topology `{topology}`", about.name))
            .help(format!("it knows {}", known.join(", "))),
    ]
}
