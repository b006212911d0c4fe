//! What is reported while a run goes on, and what it leaves.

use crate::setup::Scheduling;
use base::{threads::Rehearsal, time::Ps, world::World};
use results::{summary::Summary, table::Table};

/// Where a run stands.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Virtual time reached.
    pub now: Ps,
    /// Virtual time of the end; the limit if the workload decides.
    pub end: Ps,
    /// Events so far.
    pub events: u64,
    /// Chunk-hops so far.
    pub chunk_hops: u64,
    /// Partitions of the state.
    pub partitions: u32,
    /// Windows or rounds after which threads met so far; 0 in one thread.
    pub windows: u64,
    /// Shortest time from an event of one partition to what it may send to another; `None` if it sends nothing.
    pub lookahead: Option<Ps>,
    /// What threads would have done side by side so far, if one plays them all.
    pub rehearsal: Option<Rehearsal>,
}

/// What a run leaves.
pub struct Finished {
    /// The summary; its `experiment` block is left to the caller.
    pub summary: Summary,
    /// Tables for the output directory, one observation a row.
    pub tables: Vec<Table>,
}

/// What is done in a pause: given where the run stands and what gives its state as bytes; stops the run by returning false.
pub type Pause<'a> = dyn FnMut(Progress, &mut dyn FnMut() -> Vec<u8>) -> bool + 'a;

/// Who watches a run, and how it can be taken up again.
pub struct Watch<'a> {
    /// Called in every pause, about every quarter of a million events: where the run stands, and what gives its state as bytes.
    /// Stops the run by returning false.
    pub pause: &'a mut Pause<'a>,
    /// Also pause at multiples of this virtual time; 0 for none.
    pub every: Ps,
    /// State to go on from, of the same setup with the same number of partitions and the same build.
    pub resume: Option<&'a [u8]>,
    /// The processes of the run, each of which watches the same run.
    pub world: World,
    /// Another scheduler than the run has; nothing for a model that has none.
    pub scheduling: Option<Scheduling>,
}

impl<'a> Watch<'a> {
    /// Watches a run from its beginning, in this process alone.
    #[must_use]
    pub fn new(pause: &'a mut Pause<'a>) -> Self {
        Self { pause, every: 0, resume: None, world: World::ALONE, scheduling: None }
    }
}
