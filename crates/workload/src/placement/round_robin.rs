//! Round robin: consecutive ranks in different groups or routers.

use super::{PlacementContext, groups};
use base::{
    index::TerminalId,
    param::{Problem, Values},
    registry::About,
};

pub(crate) const ABOUT: About = About {
    name: "round-robin",
    summary: "consecutive ranks in different groups or on different routers",
    doc: "Ranks are dealt to the groups (or routers) in turn, each getting its lowest free terminal; those that are full are passed over.",
    source: "MARS, section 2 (round-robin placement); Slurm, cyclic distribution",
    params: &[groups::OVER],
};

pub(crate) fn build(
    context: &PlacementContext<'_>,
    values: &Values,
) -> Result<Vec<TerminalId>, Vec<Problem>> {
    let free = context.is_free();
    let mut groups = groups::terminals(context.fabric, values);
    groups.iter_mut().for_each(|g| g.retain(|&t| free[t]));
    let longest = groups.iter().map(Vec::len).max().unwrap_or(0);
    context.first_free((0..longest).flat_map(|k| groups.iter().filter_map(move |g| g.get(k).copied())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::testing::{dragonfly, place};
    use base::param::Value;

    /// 9 groups of 4 routers of 2 terminals.
    #[test]
    fn consecutive_ranks_are_apart() {
        let fabric = dragonfly();
        for (over, distance) in [("groups", 8), ("routers", 2)] {
            let values = Values::default().with("over", Value::Text(over.into()));
            let placed = place(&fabric, build, &values, 72).unwrap();
            assert_eq!(placed[..3], [0, distance, 2 * distance], "{over}");
            assert_eq!(placed[(72 / distance) as usize], 1, "the second round");
        }
    }
}
