//! Linear placement: ranks in the order of terminals.

use super::PlacementContext;
use base::{
    index::TerminalId,
    param::{Problem, Values},
    registry::About,
};

pub(crate) const ABOUT: About = About {
    name: "linear",
    summary: "rank i on the i-th free terminal",
    doc: "Ranks fill the terminals in their order; those of earlier jobs are passed over.",
    source: "CODES, contiguous allocation",
    params: &[],
};

pub(crate) fn build(context: &PlacementContext<'_>, _: &Values) -> Result<Vec<TerminalId>, Vec<Problem>> {
    Ok(context.free[..context.need_room()?].to_vec())
}
