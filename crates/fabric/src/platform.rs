//! Platforms: hosts, links and the routes between hosts, given one by one instead of following from a graph.
//!
//! [`crate::topology::platform`] reads them from files. A fabric made of a platform is one router with all hosts around it; the platform is its
//! [`crate::graph::Fabric::shape`], and only models that follow explicit routes can use it.

mod passage;
pub mod zone;

use base::{index::TerminalId, sorted::SortedMap};
pub use passage::Passage;
use zone::Zones;

/// How a link's bandwidth is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// All flows together get the bandwidth: their sum stays within it.
    Shared,
    /// Every flow can get the bandwidth: the largest stays within it, a backbone that nobody fills. For all of its sharers the link is full
    /// at the level at which the first of them has reached the bandwidth.
    FatPipe,
}

/// A link. One of each direction is two links.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Its name, as users write and read it.
    pub name: String,
    /// Bytes per second.
    pub bandwidth: f64,
    /// Time from end to end in seconds.
    pub latency: f64,
    /// How it is shared.
    pub policy: Policy,
}

/// A bandwidth that changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// When, in seconds.
    pub time: f64,
    /// Index of the link in [`Platform::links`].
    pub link: u32,
    /// Bytes per second from then on; zero for a link that is down.
    pub bandwidth: f64,
}

/// What changes of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// Its bandwidth in bytes per second.
    Bandwidth(f64),
    /// Its latency in seconds.
    Latency(f64),
    /// It is up, or down: then it has no bandwidth, whatever that changes to meanwhile.
    Up(bool),
}

/// What changes of a link in the course of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Index of the link in [`Platform::links`].
    pub link: u32,
    /// When, in seconds, and what, in order of time.
    pub changes: Vec<(f64, Change)>,
    /// After so many seconds all of it happens again, if it does; above zero.
    pub period: Option<f64>,
}

/// Hosts, links, routes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Platform {
    /// Names of the hosts, which are the fabric's terminals.
    pub hosts: Vec<String>,
    /// The links, by their number.
    pub links: Vec<Link>,
    /// Routes given one by one, by source and destination.
    pub routes: SortedMap<(u32, u32), Vec<u32>>,
    /// Zones that make routes by rule.
    pub zones: Option<Zones>,
    /// Changes of bandwidth, in the order of the file.
    pub events: Vec<Event>,
    /// Changes of links in the course of time, which may come again and again.
    pub profiles: Vec<Profile>,
    /// What the file says and nobody simulates, with how often it does.
    pub passed: Vec<String>,
}

impl Platform {
    /// The link by which a host reaches itself where its file names no way, as in SimGrid: a fat pipe that takes 10 GB/s of each message, without
    /// latency. It is none of [`Platform::links`]; [`Platform::loopback`] is its number.
    #[must_use]
    pub fn loopback_link() -> Link {
        Link { name: "loopback".to_owned(), bandwidth: 1e10, latency: 0.0, policy: Policy::FatPipe }
    }

    /// Number of the link by which hosts reach themselves: the one after all others.
    #[must_use]
    pub fn loopback(&self) -> u32 {
        self.links.len() as u32
    }

    /// Links from one host to another, in order; `None` if there is no route: see [`Platform::passage`].
    #[must_use]
    pub fn route(&self, from: TerminalId, to: TerminalId) -> Option<Vec<u32>> {
        self.passage(from, to).map(|passage| passage.links)
    }

    /// The way from one host to another; `None` if there is no route. A host reaches itself by [`Platform::loopback`], unless there is a route.
    #[must_use]
    pub fn passage(&self, from: TerminalId, to: TerminalId) -> Option<Passage> {
        let (from, to) = (from.number(), to.number());
        if let Some(route) = self.routes.get(&(from, to)) {
            return Some(Passage { links: route.clone(), between: 0.0 });
        }
        let zones = self.zones.as_ref().and_then(|z| z.passage(from, to));
        zones.or_else(|| (from == to).then(|| Passage { links: vec![self.loopback()], between: 0.0 }))
    }

    /// Name of a host.
    #[must_use]
    pub fn host(&self, terminal: TerminalId) -> &str {
        self.hosts.get(terminal.index()).map_or("?", String::as_str)
    }
}
