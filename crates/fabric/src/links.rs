//! Directed links by number: first those that leave the ports of routers, in the order of ports, then those that leave terminals.

use crate::graph::{Fabric, Peer};

/// Where a directed link begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// At a port of a router.
    Router {
        /// The router.
        router: u32,
        /// The port of it that is meant.
        port: u32,
    },
    /// At a terminal.
    Terminal(u32),
    /// Nothing is plugged in.
    Nowhere,
}

impl End {
    /// As tables name it: kind, number and port.
    #[must_use]
    pub fn columns(&self) -> (&'static str, u32, u32) {
        match *self {
            Self::Router { router, port } => ("router", router, port),
            Self::Terminal(terminal) => ("terminal", terminal, 0),
            Self::Nowhere => ("none", 0, 0),
        }
    }
}

impl Fabric {
    /// Number of directed links.
    #[must_use]
    pub fn links(&self) -> u32 {
        self.router_ports() + self.terminals()
    }

    /// True for the output of a port that nothing is plugged into.
    #[must_use]
    pub fn is_unplugged(&self, link: u32) -> bool {
        self.ports().get(link as usize).is_some_and(|p| p.peer == Peer::None)
    }

    /// Class of a directed link; terminals' links have the first.
    #[must_use]
    pub fn class_of_link(&self, link: u32) -> u8 {
        self.ports().get(link as usize).map_or(0, |p| p.class)
    }

    /// Upstream and downstream end of a directed link.
    #[must_use]
    pub fn ends_of_link(&self, link: u32) -> (End, End) {
        let ports = self.router_ports();
        if link >= ports {
            let (router, port) = self.attached(link - ports);
            return (End::Terminal(link - ports), End::Router { router, port });
        }
        let router = self.router_of(link);
        let from = End::Router { router, port: link - self.first_port(router) };
        let to = match self.port(link).peer {
            Peer::Router { router, port } => End::Router { router, port },
            Peer::Terminal(terminal) => End::Terminal(terminal),
            Peer::None => End::Nowhere,
        };
        (from, to)
    }
}
