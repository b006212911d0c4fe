//! Directors: when to switch. One file each; the slice [`DIRECTORS`] is what a user can name.

pub mod automatic;
mod registry;
pub mod times;

pub use super::{Built, DirectorEntry, Frame};
pub use registry::DIRECTORS;

use super::{
    learn::{Forget, Seen},
    sketch::Sketch,
};
use base::time::Ps;

/// What is done at a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing: whoever delivers now goes on.
    Stay,
    /// What was learned so far counts no longer: neither latencies nor the pace of sources.
    Learn,
    /// From high fidelity to the surrogate.
    Enter,
    /// Copies of predicted packets begin to fill the network.
    Reheat,
    /// Back to high fidelity.
    Return,
}

/// What a director sees of the whole machine at a tick.
#[derive(Clone, Copy, Debug, Default)]
pub struct View<'a> {
    /// Virtual time of the tick.
    pub now: Ps,
    /// Packets created since the start.
    pub created: u64,
    /// Packets that the network delivered since the start.
    pub network: Seen,
    /// Packets delivered by prediction since the start.
    pub predicted: Seen,
    /// Chunks in buffers and queues of the network.
    pub occupied: u64,
    /// What was handed over since the last tick at which the strategy [took](Strategy::sketches) it.
    pub sketch: Option<&'a Sketch>,
}

/// Decides when to switch. All it remembers is in [`Strategy::memory`].
pub trait Strategy: Send + Sync {
    /// The next instant after `now` at which it wants to look, `NEVER` for none.
    fn next_tick(&self, now: Ps) -> Ps;

    /// True if it may enter the surrogate at `now`: then partitions report what is in the network.
    fn may_enter(&self, now: Ps) -> bool;

    /// True if it will enter at `now` and nothing can change that: then what was learned is handed over instead of copied.
    fn enters(&self, _now: Ps) -> bool {
        false
    }

    /// True if it takes a sketch of what was handed over since it last took one. Of a director that says so of itself only.
    fn sketches(&self, _now: Ps) -> bool {
        false
    }

    /// What learners forget at `now`, after they were asked.
    fn forget(&self, now: Ps) -> Forget;

    /// Decides at a tick of its own.
    fn decide(&mut self, view: &View<'_>) -> Step;

    /// What it remembers.
    fn memory(&self) -> Vec<u64>;

    /// Remembers it again; false if these are not its words.
    fn recall(&mut self, memory: &[u64]) -> bool;
}
