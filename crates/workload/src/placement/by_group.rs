//! By group: the groups of a fabric filled one after the other, so many ranks in each.

use super::{PlacementContext, groups};
use base::{
    index::TerminalId,
    param::{Kind, Param, Problem, Values},
    registry::About,
};

pub(crate) const ABOUT: About = About {
    name: "by-group",
    summary: "groups (or routers) filled one after the other, so many ranks in each",
    doc: "The first `per_group` ranks go to the lowest free terminals of the first group, the next to the second, and so on; a group with fewer \
          free terminals gets fewer. When all groups have had their turn and ranks remain, a second round begins.",
    source: "Jain, Bhatele, Ni, Wright, Kale: Maximizing Throughput on a Dragonfly Network, SC 2014, section 4 (job placement)",
    params: &[
        groups::OVER,
        Param {
            name: "per_group",
            kind: Kind::Int { min: 0, max: u32::MAX as u64 },
            default: Some("0"),
            doc: "ranks in a group before the next group's turn; 0: as many as fit",
        },
    ],
};

pub(crate) fn build(
    context: &PlacementContext<'_>,
    values: &Values,
) -> Result<Vec<TerminalId>, Vec<Problem>> {
    let free = context.is_free();
    let mut groups = groups::terminals(context.fabric, values);
    groups.iter_mut().for_each(|g| g.retain(|&t| free[t]));
    let longest = groups.iter().map(Vec::len).max().unwrap_or(0).max(1);
    let turn = match values.int("per_group") as usize {
        0 => longest,
        n => n,
    };
    let rounds = longest.div_ceil(turn);
    let turns = (0..rounds)
        .flat_map(|k| groups.iter().flat_map(move |g| g.iter().skip(k * turn).take(turn).copied()));
    context.first_free(turns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::testing::{dragonfly, place};
    use base::param::Value;

    #[test]
    fn each_group_gets_its_ranks() {
        let fabric = dragonfly();
        let values = |over: &str, n| {
            Values::default().with("over", Value::Text(over.into())).with("per_group", Value::Int(n))
        };
        let whole = place(&fabric, build, &values("groups", 0), 72).unwrap();
        assert!(whole.iter().copied().eq(0..72));
        let three = place(&fabric, build, &values("groups", 3), 72).unwrap();
        assert_eq!(three[..7], [0, 1, 2, 8, 9, 10, 16]);
        assert_eq!(three[27..31], [3, 4, 5, 11], "the second round");
        assert_eq!(three[54..58], [6, 7, 14, 15], "the third holds what remains");
        let one = place(&fabric, build, &values("routers", 1), 72).unwrap();
        assert_eq!(one[..3], [0, 2, 4]);
    }
}
