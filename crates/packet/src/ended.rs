//! What a run leaves before it is summed up.

use crate::{
    census::Census, congestion_control::closing::Closing, loads::Loads, measured::Measured, net::Channel,
    rows::Rest, sample::Sample, transport::check::Books,
};
use base::{hash::Fingerprint, index::LinkId, sorted::SortedMap, time::Ps};
use ranks::stuck::Stuck;
use serde::{Deserialize, Serialize};

/// A run that came to its end.
pub struct Ended {
    /// Virtual time at which the run stopped; where the workload decides, the end that counts is [`Measured::last`].
    pub now: Ps,
    /// Nothing was pending any more.
    pub dry: bool,
    /// State of the sources and buffers at the end.
    pub last: Sample,
    /// What each link carried.
    pub sent: SortedMap<LinkId, Carried>,
    /// How each link slept, if links sleep.
    pub rests: SortedMap<LinkId, Rested>,
    /// What was marked, if anything may be.
    pub control: Option<Closing>,
    /// Where each packet is, if that is checked.
    pub census: Option<Census>,
    /// What transports say, if that is checked.
    pub transport: Option<Books>,
    /// Samples at ticks.
    pub samples: Vec<Sample>,
    /// What links carried over time, if asked for.
    pub loads: Option<Loads>,
    /// At half of the time that can be steady, of runs that end at a time.
    pub half: Option<Box<Sample>>,
    /// Measurements of all partitions.
    pub observer: Measured,
    /// Hash of the final state.
    pub fingerprint: Fingerprint,
    /// A cycle of channels that wait for each other.
    pub deadlock: Vec<Channel>,
    /// Where ranks stand: why they cannot go on if the run is dry, and what nobody received.
    pub stuck: Stuck,
    /// What the hybrid did, and true if a window that it learned from was too short.
    pub hybrid: Option<(results::summary::Hybrid, bool)>,
}

impl Ended {
    /// True if something was still to happen or under way when the run stopped.
    #[must_use]
    pub fn is_cut_short(&self) -> bool {
        !self.dry && (self.last.busy || self.last.open > 0)
    }

    /// For how much of `simulated` the network was simulated: links carry nothing while packets bypass them. Where treatment `reheat` fills it, it is.
    #[must_use]
    pub fn fidelity(&self, simulated: Ps, reheat: Ps) -> Ps {
        let Some((hybrid, _)) = &self.hybrid else { return simulated };
        let stays = hybrid.phases.iter().filter(|p| p.is_surrogate());
        let bypassed = |start: Ps, end: Ps| end.min(simulated).saturating_sub(start).saturating_sub(reheat);
        simulated.saturating_sub(stays.map(|p| bypassed(p.start_ps, p.end_ps)).sum())
    }
}

/// What a link carried, whole run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Carried {
    /// Chunks that were put on it, modulo 2^32.
    pub chunks: u32,
    /// Bytes of them.
    pub bytes: u64,
    /// Time that they took, rounded once.
    pub busy: Ps,
}

/// How a link slept, whole run but for its last rest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rested {
    /// Until it last sent.
    pub rest: Rest,
    /// When it was free again after that.
    pub free: Ps,
}

/// Share of `span` for which a link was busy; a chunk that is on it at the end counts up to the end only.
#[must_use]
pub fn utilisation(busy: Ps, span: Ps) -> f64 {
    debug_assert!(span > 0, "a share is of something");
    (busy as f64 / span as f64).min(1.0)
}
