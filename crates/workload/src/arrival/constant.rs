//! Constant arrival: every rank sends its k-th message at round(k * interval), all ranks in phase.

use super::{Arrival, ArrivalContext};
use crate::interval::Interval;
use base::{
    index::RankId,
    param::{Problem, Values},
    registry::About,
    time::Ps,
};
use std::sync::Arc;

pub(crate) const ABOUT: About = About {
    name: "constant",
    summary: "equal intervals, all sources in phase",
    doc: "The first message of every rank is created at time 0, the k-th (from 0) at k * message / (load * bandwidth), \
          exact and rounded once to a picosecond: no jitter and no drift. All ranks send in lockstep without end.",
    source: "CODES, model-net-mpi-replay synthetic jobs",
    params: &[],
};

struct Constant(Interval);

impl Arrival for Constant {
    #[inline]
    fn time(&self, _rank: RankId, index: u64, _previous: Ps) -> Option<Ps> {
        self.0.times(index)
    }

    fn times(&self, _rank: RankId, index: u64, _previous: Ps, into: &mut [Ps]) -> usize {
        self.0.times_from(index, into)
    }

    fn period(&self) -> Option<Interval> {
        Some(self.0)
    }
}

pub(crate) fn build(context: &ArrivalContext, _: &Values) -> Result<Arc<dyn Arrival>, Vec<Problem>> {
    Ok(Arc::new(Constant(context.interval()?)))
}
