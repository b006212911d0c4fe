//! What the deadlock check may find.

#[cfg(doc)]
use crate::routing::Routing;
use base::index::{ChannelId, PortId, RouterId, TerminalId};
use std::fmt;

/// One VC of a link between routers, named by the output port that feeds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Router that the link leaves.
    pub router: RouterId,
    /// The port of it that is meant.
    pub port: PortId,
    /// Virtual channel of the link, counted from 0.
    pub vc: ChannelId,
    /// Router that the link enters.
    pub to: RouterId,
}

/// What is wrong with a single choice of a routing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The routing has no choice at all.
    NoChoice,
    /// The router has no such port, or nothing is plugged in there.
    Unplugged,
    /// The VC is not below [`Routing::vcs`].
    NoSuchVc,
    /// The port leads to a terminal that is not the destination.
    WrongTerminal,
    /// A head may ask for no escape channel, though the routing has such.
    NoEscape,
    /// A packet may leave the escape channels, so that what it waits for there is not known.
    LeavesEscape,
    /// A packet may come by again and again, or visit more routers than a route should.
    Endless,
}

/// A choice that cannot be right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Astray {
    /// What is wrong.
    pub fault: Fault,
    /// Where the choice is made.
    pub router: RouterId,
    /// Chosen port (0 for [`Fault::NoChoice`] and [`Fault::Endless`]).
    pub port: PortId,
    /// Chosen VC (likewise).
    pub vc: ChannelId,
    /// Terminal that sends the packet.
    pub source: TerminalId,
    /// Terminal that the packet goes to.
    pub destination: TerminalId,
}

/// What the check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// No cycle among the routes that were walked.
    Free {
        /// Situations (router, incoming channel, routing's state) that were looked at.
        states: u64,
        /// True if they were all there are; false if the budget allowed for a sample of destinations only.
        exhaustive: bool,
    },
    /// Channels each of which can wait for the next, the last one for the first.
    Cycle(Vec<Channel>),
    /// A choice that cannot be right.
    Astray(Astray),
}

impl Report {
    /// True if nothing wrong was found.
    #[must_use]
    pub fn is_free(&self) -> bool {
        matches!(self, Self::Free { .. })
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "router {} port {} (to router {}) VC {}", self.router, self.port, self.to, self.vc)
    }
}

impl fmt::Display for Astray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { fault, router, port, vc, source, destination } = self;
        match fault {
            Fault::NoChoice => write!(f, "router {router} has no path")?,
            Fault::Unplugged => {
                write!(f, "router {router} chooses port {port}, where nothing is plugged in,")?
            }
            Fault::NoSuchVc => {
                write!(
                    f,
                    "router {router} chooses VC {vc} on port {port}, which the routing does not have,"
                )?;
            }
            Fault::WrongTerminal => write!(f, "router {router} chooses port {port}, another terminal's,")?,
            Fault::NoEscape => write!(f, "a head at router {router} may ask for no escape channel")?,
            Fault::LeavesEscape => {
                write!(f, "router {router} chooses VC {vc} on port {port} out of an escape channel")?;
            }
            Fault::Endless => write!(f, "a route through router {router} may never end")?,
        }
        write!(f, " from terminal {source} to terminal {destination}")
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Free { states, exhaustive: true } => write!(f, "free of deadlock ({states} states)"),
            Self::Free { states, exhaustive: false } => {
                write!(f, "no deadlock found in a sample of destinations ({states} states)")
            }
            Self::Cycle(channels) => {
                for channel in channels {
                    write!(f, "{channel} -> ")?;
                }
                match channels.first() {
                    Some(first) => write!(f, "{first}"),
                    None => Ok(()),
                }
            }
            Self::Astray(astray) => astray.fmt(f),
        }
    }
}
