//! What a scheme of congestion control decides: which packets routers mark, when a destination notifies a source, and how fast that sends.
//!
//! A scheme is a set of pure functions. What changes lies in rows of the model: a count by output, a [`Pace`] by flow.

use base::{
    param::{Problem, Values},
    registry::{About, Registered},
    rng::Stream,
    time::Ps,
};
use serde::{Deserialize, Serialize};
use std::{fmt, sync::Arc};

/// One million parts: a rate as a share of the terminal's link is given in them.
pub const WHOLE: u32 = 1_000_000;

/// How fast a flow sends: seven words whose meaning its scheme alone knows. All zero for one that was never notified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pace(pub [u64; 7]);

/// What a router sees of an output when the head of a packet leaves for it.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Bytes that wait in the router for the output behind the packet, in full chunks, counted as far as [`Scheme::reach`].
    pub queue: u64,
    /// Bytes of the buffer of a virtual channel behind the output's link.
    pub buffer: u64,
    /// Another chunk could follow on the packet's virtual channel at once: the output is held back by its link, not by lack of credits.
    pub credits: bool,
    /// The link leads to a terminal.
    pub out: bool,
    /// Payload of the packet.
    pub bytes: u32,
    /// Packets that passed this output since the last mark, see [`Mark::Passed`].
    pub passed: u32,
    /// Chance that belongs to the packet and the link.
    pub random: Stream,
}

/// What a router does with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Nothing: there is no congestion, or the packet does not count.
    Clear,
    /// It could have been marked and was not: it counts in [`Seen::passed`].
    Passed,
    /// It is marked, and the count begins anew.
    Marked,
}

/// Where a pace stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gauge {
    /// Share of the terminal's link that the flow may use, in millionths.
    pub rate: u32,
    /// What the scheme calls [`Scheme::level`].
    pub level: u32,
}

/// The packet that was handed over last.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Its payload in bytes.
    pub bytes: u32,
    /// Its time on the terminal's link.
    pub own: Ps,
    /// When it was handed over.
    pub at: Ps,
}

/// A scheme of congestion control.
pub trait Scheme: Send + Sync + fmt::Debug {
    /// Routers mark packets at all.
    fn is_marking(&self) -> bool {
        true
    }

    /// Bytes up to which a queue must be counted, of an output whose buffers behind the link have so many.
    fn reach(&self, buffer: u64) -> u64;

    /// What a router does with a packet.
    fn mark(&self, seen: &Seen) -> Mark;

    /// All flows of a terminal share one pace.
    fn is_shared(&self) -> bool {
        false
    }

    /// Least time between two notifications of one flow; 0: every marked packet is answered.
    fn interval(&self) -> Ps {
        0
    }

    /// A notification for the flow is there.
    fn notified(&self, pace: &mut Pace, at: Ps);

    /// A packet of the flow was handed over: how long after it the next one may be.
    fn sent(&self, pace: &mut Pace, sent: Sent) -> Ps;

    /// Where the pace stands at an instant not before the last change.
    fn gauge(&self, pace: &Pace, at: Ps) -> Gauge;

    /// What [`Gauge::level`] counts, for columns of tables; none if it counts nothing.
    fn level(&self) -> Option<&'static str> {
        None
    }

    /// The pace is again as it was before the first notification: nobody needs to remember it.
    fn is_recovered(&self, pace: &Pace, at: Ps) -> bool;
}

/// What a scheme is built for.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// Bytes per second of the terminals' links.
    pub rate: u64,
}

/// A scheme, or what is wrong with its values.
pub type Built = Result<Arc<dyn Scheme>, Vec<Problem>>;

/// A scheme that a user can name.
pub struct SchemeEntry {
    /// Name, documentation, parameters.
    pub about: About,
    /// Makes it from checked values.
    pub build: fn(&Values, Context) -> Built,
}

impl Registered for SchemeEntry {
    fn about(&self) -> &About {
        &self.about
    }
}
