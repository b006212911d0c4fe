//! Directed links by number: first those that leave the ports of routers, in the order of ports, then those that leave terminals.

use crate::graph::{Fabric, Peer};
use base::index::{LinkId, PortId, RouterId, TerminalId};

/// Where a directed link begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// At a port of a router.
    Router {
        /// Router whose port it is.
        router: RouterId,
        /// The port of it that is meant.
        port: PortId,
    },
    /// At a terminal.
    Terminal(TerminalId),
    /// Nothing is plugged in.
    Nowhere,
}

impl End {
    /// As tables name it.
    #[must_use]
    pub fn columns(&self) -> EndColumns {
        let (kind, number, port) = match *self {
            Self::Router { router, port } => ("router", router.number(), port.number()),
            Self::Terminal(terminal) => ("terminal", terminal.number(), 0),
            Self::Nowhere => ("none", 0, 0),
        };
        EndColumns { kind, number, port }
    }
}

/// The end of a link in the columns of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndColumns {
    /// `router`, `terminal`, or `none` where nothing is plugged in.
    pub kind: &'static str,
    /// Number of the router or terminal; 0 where there is none.
    pub number: u32,
    /// Port of the router; 0 at terminals, which have one.
    pub port: u32,
}

impl Fabric {
    /// Number of directed links.
    #[must_use]
    pub fn links(&self) -> u32 {
        self.router_ports() + self.terminals()
    }

    /// The link from a terminal to its router.
    #[inline]
    #[must_use]
    pub fn injection(&self, terminal: TerminalId) -> LinkId {
        LinkId::new(self.router_ports() + terminal.number())
    }

    /// The terminal whose injection link this is; `None` if a router's port feeds it.
    #[inline]
    #[must_use]
    pub fn injected_by(&self, link: LinkId) -> Option<TerminalId> {
        link.number().checked_sub(self.router_ports()).map(TerminalId::new)
    }

    /// Router and port that feed a link; it must not be an injection link.
    #[must_use]
    pub fn output(&self, link: LinkId) -> (RouterId, PortId) {
        let router = self.router_of(link);
        (router, PortId::new(link.number() - self.first_port(router).number()))
    }

    /// True for the output of a port that nothing is plugged into.
    #[must_use]
    pub fn is_unplugged(&self, link: LinkId) -> bool {
        self.ports().get(link.index()).is_some_and(|p| p.peer == Peer::None)
    }

    /// Class of a directed link; terminals' links have the first.
    #[must_use]
    pub fn class_of_link(&self, link: LinkId) -> u8 {
        self.ports().get(link.index()).map_or(0, |p| p.class)
    }

    /// Upstream and downstream end of a directed link.
    #[must_use]
    pub fn ends_of_link(&self, link: LinkId) -> (End, End) {
        if let Some(terminal) = self.injected_by(link) {
            let (router, port) = self.attached(terminal);
            return (End::Terminal(terminal), End::Router { router, port });
        }
        let (router, port) = self.output(link);
        let from = End::Router { router, port };
        let to = match self.port(link).peer {
            Peer::Router { router, port } => End::Router { router, port },
            Peer::Terminal(terminal) => End::Terminal(terminal),
            Peer::None => End::Nowhere,
        };
        (from, to)
    }
}
