//! Random placement: ranks on terminals drawn without replacement.

use super::PlacementContext;
use base::{
    index::TerminalId,
    param::{Problem, Values},
    registry::About,
    rng::{Purpose, Stream},
};

pub(crate) const ABOUT: About = About {
    name: "random",
    summary: "ranks on random free terminals",
    doc: "Each rank gets a free terminal drawn without replacement, from the run's seed and the job's index.",
    source: "CODES, random node allocation",
    params: &[],
};

pub(crate) fn build(context: &PlacementContext<'_>, _: &Values) -> Result<Vec<TerminalId>, Vec<Problem>> {
    let ranks = context.need_room()?;
    let mut terminals = context.free.to_vec();
    Stream::new(context.seed, Purpose::Placement, u64::from(context.job)).shuffle(&mut terminals);
    terminals.truncate(ranks);
    Ok(terminals)
}
