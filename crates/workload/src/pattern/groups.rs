//! Patterns that follow groups of ranks: adversaries of dragonflies and fat trees.

use super::{COUNT, Destinations, TO_SELF, open_loop, partners};
use crate::{
    arrival::place,
    work::{Built, JobContext, Work},
};
use base::{
    index::RankId,
    param::{Kind, Param, Problem, Values},
    registry::About,
    rng::{Purpose, Stream},
};

/// Ranks of a group.
const GROUP: Param = Param {
    name: "group",
    kind: Kind::Int { min: 0, max: u32::MAX as u64 },
    default: Some("0"),
    doc: "ranks of a group; 0: the terminals of a group of the network, which a job on all terminals in order (`linear`) shares its groups with",
};

pub(crate) const NEAREST: About = About {
    name: "nearest-group",
    summary: "rank i to rank i + g, g being the ranks of a group",
    doc: "Every rank has its partner at its own place of the next group (mod n). On a dragonfly all of a group's traffic wants the one link to \
          the next.",
    source: "CODES, model-net-synthetic-dragonfly-all (nearest_group)",
    params: &[GROUP, COUNT],
};

pub(crate) const SHIFT: About = About {
    name: "group-shift",
    summary: "to a random rank of the group so many further",
    doc: "A message of group i goes to a rank of group i + `shift` (mod the number of groups), each with the same chance. Shift 1 is \
          `bad-dragon`; shifts by multiples of h are worst for Valiant routing on some arrangements of global links.",
    source: "Kim, Dally, Scott, Abts: Technology-Driven, Highly-Scalable Dragonfly Topology, ISCA 2008, section 4.2; Garcia et al.: \
             On-the-Fly Adaptive Routing in High-Radix Hierarchical Networks, ICPP 2012 (ADV+n)",
    params: &[
        GROUP,
        Param {
            name: "shift",
            kind: Kind::Int { min: 1, max: u32::MAX as u64 },
            default: Some("1"),
            doc: "groups further",
        },
        COUNT,
    ],
};

pub(crate) const BAD_DRAGON: About = About {
    name: "bad-dragon",
    summary: "to a random rank of the next group",
    doc: "A message of group i goes to a rank of group i + 1 (mod the number of groups), each with the same chance: the worst case of minimal routing on a \
          dragonfly, whose groups share one link.",
    source: "BookSim 2, traffic.cpp (bad_dragon); Kim, Dally, Scott, Abts, ISCA 2008, section 4.2",
    params: &[GROUP, COUNT],
};

pub(crate) const OTHER: About = About {
    name: "random-other-group",
    summary: "to a random rank of any other group",
    doc: "Every rank of the other groups has the same chance; none of the own group is drawn.",
    source: "CODES, model-net-synthetic-dragonfly-all (random_other_group)",
    params: &[GROUP, COUNT],
};

pub(crate) const FAT_TREE: About = About {
    name: "worst-case-fat-tree",
    summary: "ranks of a leaf to ranks that its routing sends up one link",
    doc: "Rank p of leaf l, of L leaves with m ranks each, sends to rank p * L + l. Where m divides L, all ranks of a leaf have destinations of one \
          remainder modulo m: routing by that remainder (`d-mod-k`) sends them up one link, and each gets 1/m of its bandwidth. A permutation: an \
          adaptive routing carries it whole on a full fat tree. Ranks that are their own partners send nothing, or to themselves with \
          `to_self`.",
    source: "follows from the rule of `d-mod-k`",
    params: &[
        Param {
            name: "leaf",
            kind: Kind::Int { min: 0, max: u32::MAX as u64 },
            default: Some("0"),
            doc: "ranks of a leaf; 0: the terminals of a router of the network",
        },
        TO_SELF,
        COUNT,
    ],
};

/// Ranks of a part: what the key says, else what the network has.
fn part(context: &JobContext, values: &Values, key: &str, of_network: Option<u32>) -> Built<u32> {
    context.need_two_ranks()?;
    let given = values.u32(key);
    let Some(part) = Some(given).filter(|&g| g > 0).or(of_network) else {
        let message =
            format!("the network does not give the ranks of a {key}: it has none, or of several sizes");
        return Err(vec![Problem::new(key, message).help(format!("write it, such as `{key} = 8`"))]);
    };
    if part < context.ranks {
        return Ok(part);
    }
    let message = format!("{} ranks with {part} in a {key} are in one: there is no other", context.ranks);
    Err(vec![Problem::new(if given > 0 { key } else { "ranks" }, message)])
}

/// Where a message may go.
enum Where {
    /// So many groups further.
    Further(u32),
    /// Any group but the own.
    Other,
}

struct Random {
    ranks: u32,
    group: u32,
    to: Where,
    stream: Stream,
    job: u32,
}

impl Destinations for Random {
    fn destination(&self, rank: RankId, index: u64) -> RankId {
        let mut stream = place(self.stream, self.job, rank, index);
        let own = rank.number() / self.group;
        // Ranks of a group; the last may have fewer.
        let of = |g: u32| {
            (g * self.group, (u64::from(g + 1) * u64::from(self.group)).min(u64::from(self.ranks)) as u32)
        };
        let to = match self.to {
            Where::Further(shift) => {
                let groups = self.ranks.div_ceil(self.group);
                let (from, to) = of(((u64::from(own) + u64::from(shift)) % u64::from(groups)) as u32);
                from + stream.below(u64::from(to - from)) as u32
            }
            Where::Other => {
                let (from, to) = of(own);
                let drawn = stream.below(u64::from(self.ranks - (to - from))) as u32;
                if drawn >= from { drawn + (to - from) } else { drawn }
            }
        };
        RankId::new(to)
    }
}

fn random(context: &JobContext, values: &Values, to: Where) -> Built<Work> {
    let group = part(context, values, GROUP.name, context.shape.group)?;
    if let Where::Further(shift) = to
        && shift.is_multiple_of(context.ranks.div_ceil(group))
    {
        let groups = context.ranks.div_ceil(group);
        let message = format!("{shift} groups further, of {groups}, is the own group");
        return Err(vec![Problem::new("shift", message)]);
    }
    let stream = Stream::new(context.seed, Purpose::Destination, 0);
    open_loop(context, values, Random { ranks: context.ranks, group, to, stream, job: context.job })
}

pub(crate) fn nearest(context: &JobContext, values: &Values) -> Built<Work> {
    let group = part(context, values, GROUP.name, context.shape.group)?;
    partners(context, values, |rank| ((u64::from(rank) + u64::from(group)) % u64::from(context.ranks)) as u32)
}

pub(crate) fn shift(context: &JobContext, values: &Values) -> Built<Work> {
    random(context, values, Where::Further(values.u32("shift")))
}

pub(crate) fn bad_dragon(context: &JobContext, values: &Values) -> Built<Work> {
    random(context, values, Where::Further(1))
}

pub(crate) fn other(context: &JobContext, values: &Values) -> Built<Work> {
    random(context, values, Where::Other)
}

pub(crate) fn fat_tree(context: &JobContext, values: &Values) -> Built<Work> {
    let leaf = part(context, values, "leaf", context.shape.leaf)?;
    if leaf < 2 || !context.ranks.is_multiple_of(leaf) {
        let message = format!("{} ranks do not fill leaves of {leaf}, at least 2", context.ranks);
        let key = if values.u32("leaf") > 0 { "leaf" } else { "ranks" };
        return Err(vec![Problem::new(key, message)]);
    }
    let leaves = context.ranks / leaf;
    partners(context, values, |rank| rank % leaf * leaves + rank / leaf)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        testing::{chi_square, context, defaults},
        work::Shape,
    };
    use base::param::Value;

    type Build = fn(&JobContext, &Values) -> Built<Work>;

    fn with_groups(ranks: u32, group: u32) -> JobContext {
        JobContext { shape: Shape { group: Some(group), leaf: Some(group) }, ..context(ranks) }
    }

    fn counts(build: Build, values: &Values, c: &JobContext, rank: u32) -> Vec<u64> {
        let rank = RankId::new(rank);
        let traffic = build(c, values).unwrap().into_traffic().unwrap();
        let mut counts = vec![0; c.ranks as usize];
        for k in 0..30_000 {
            counts[traffic.message(rank, k, 0).unwrap().destination.index()] += 1;
        }
        counts
    }

    /// Ten ranks in groups of four: the last group has two.
    #[test]
    fn groups_are_drawn_evenly() {
        let c = with_groups(10, 4);
        let weigh = |hot: std::ops::Range<usize>| -> Vec<f64> {
            (0..10).map(|r| f64::from(u8::from(hot.contains(&r)))).collect()
        };
        for (rank, next) in [(0, 4..8), (3, 4..8), (4, 8..10), (9, 0..4)] {
            assert!(chi_square(&counts(bad_dragon, &defaults(&BAD_DRAGON), &c, rank), &weigh(next)) < 16.3);
        }
        let two = defaults(&SHIFT).with("shift", Value::Int(2));
        assert!(chi_square(&counts(shift, &two, &c, 1), &weigh(8..10)) < 10.8);
        let others = [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0];
        assert!(chi_square(&counts(other, &defaults(&OTHER), &c, 5), &others) < 20.5);
    }

    #[test]
    fn permutations_by_hand() {
        let to = |build: Build, about: &About, c: &JobContext| -> Vec<Option<u32>> {
            let traffic = build(c, &defaults(about)).unwrap().into_traffic().unwrap();
            let to = |rank| traffic.message(rank, 0, 0).map(|m| m.destination.number());
            RankId::first(c.ranks).map(to).collect()
        };
        let six = with_groups(6, 2);
        assert_eq!(to(nearest, &NEAREST, &six), [2, 3, 4, 5, 0, 1].map(Some));
        // Leaves of 2: ranks 0 and 1 go to 0 (itself) and 3, both with remainder .. of leaf 0 modulo 3.
        assert_eq!(to(fat_tree, &FAT_TREE, &six), [None, Some(3), Some(1), Some(4), Some(2), None]);
        // Of a full two-level tree with 4 ranks on a leaf, all destinations of a leaf have one remainder modulo 4.
        for (rank, to) in (0u32..).zip(to(fat_tree, &FAT_TREE, &with_groups(16, 4))) {
            assert!(to.is_none_or(|to| to % 4 == rank / 4));
        }
    }

    #[test]
    fn groups_that_cannot_be_are_refused() {
        let refused =
            |build: Build, values: Values, c: &JobContext| build(c, &values).err().unwrap()[0].key.clone();
        let group = |n| defaults(&NEAREST).with("group", Value::Int(n));
        assert_eq!(refused(nearest, group(6), &with_groups(6, 2)), "group");
        assert_eq!(refused(nearest, group(0), &with_groups(6, 6)), "ranks");
        assert_eq!(
            refused(nearest, group(0), &JobContext { shape: Shape::default(), ..context(6) }),
            "group"
        );
        let shifted = defaults(&SHIFT).with("shift", Value::Int(6));
        assert_eq!(refused(shift, shifted, &with_groups(6, 2)), "shift");
        assert_eq!(refused(fat_tree, defaults(&FAT_TREE), &with_groups(7, 2)), "ranks");
        let leaf = defaults(&FAT_TREE).with("leaf", Value::Int(4));
        assert_eq!(refused(fat_tree, leaf, &with_groups(6, 2)), "leaf");
    }
}
