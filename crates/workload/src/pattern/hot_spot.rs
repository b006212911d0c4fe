//! Hot spots: some ranks receive more than others.

use super::{COUNT, Destinations, TO_SELF, open_loop};
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

pub(crate) const ABOUT: About = About {
    name: "hot-spot",
    summary: "to a list of hot ranks by their weights; the rest to anyone",
    doc: "With chance `share` a message goes to one of the `hot` ranks, drawn by their weights, else to any other rank. A hot rank \
          leaves itself out of the draw, and sends to any other if it is the only one; with `to_self` it may draw itself.",
    source: "Pfister, Norton: Hot Spot Contention and Combining in Multistage Interconnection Networks, IEEE Transactions on \
             Computers 1985; BookSim 2, traffic.cpp (hotspot)",
    params: &[
        Param {
            name: "hot",
            kind: Kind::Ints { min: 0, max: u32::MAX as u64 },
            default: Some("[0]"),
            doc: "the hot ranks",
        },
        Param {
            name: "weights",
            kind: Kind::Ints { min: 1, max: 1 << 32 },
            default: Some("[]"),
            doc: "their relative shares; [] for equal ones",
        },
        Param {
            name: "share",
            kind: Kind::Real { min: 0.0, max: 1.0 },
            default: Some("1.0"),
            doc: "chance that a message goes to a hot rank",
        },
        TO_SELF,
        COUNT,
    ],
};

struct HotSpot {
    ranks: u32,
    /// Hot ranks and the sums of their weights up to and with each.
    hot: Vec<(RankId, u64)>,
    share: f64,
    to_self: bool,
    stream: Stream,
    job: u32,
}

impl HotSpot {
    /// A hot rank that `rank` sends to, if there is one.
    fn one(&self, rank: RankId, stream: &mut Stream) -> Option<RankId> {
        let all = self.hot.last()?.1;
        let own = self.hot.iter().position(|&(hot, _)| hot == rank).filter(|_| !self.to_self);
        // Its own stretch of the weights is cut out.
        let (from, to) =
            own.map_or((all, all), |i| (if i == 0 { 0 } else { self.hot[i - 1].1 }, self.hot[i].1));
        let left = all - (to - from);
        if left == 0 {
            return None;
        }
        let drawn = stream.below(left);
        let at = if drawn >= from { drawn + (to - from) } else { drawn };
        Some(self.hot[self.hot.partition_point(|&(_, sum)| sum <= at)].0)
    }
}

impl Destinations for HotSpot {
    fn destination(&self, rank: RankId, index: u64) -> RankId {
        let mut stream = place(self.stream, self.job, rank, index);
        let hot = if stream.unit_open() <= self.share { self.one(rank, &mut stream) } else { None };
        hot.unwrap_or_else(|| {
            let drawn = stream.below(u64::from(self.ranks) - 1) as u32;
            RankId::new(drawn + u32::from(drawn >= rank.number()))
        })
    }

    fn to_itself(&self) -> Option<RankId> {
        self.hot.first().map(|h| h.0).filter(|_| self.to_self)
    }
}

pub(crate) fn build(context: &JobContext, values: &Values) -> Built<Work> {
    context.need_two_ranks()?;
    let (ranks, weights) = (values.ints("hot"), values.ints("weights"));
    let refuse = |key: &str, message: String| Err(vec![Problem::new(key, message)]);
    if ranks.is_empty() {
        return refuse("hot", "there must be a hot rank".to_owned());
    }
    if let Some(rank) = ranks.iter().find(|&&rank| rank >= u64::from(context.ranks)) {
        return refuse("hot", format!("there is no rank {rank}: the job has {}, from 0", context.ranks));
    }
    if let Some(twice) = (1..ranks.len()).find(|&i| ranks[..i].contains(&ranks[i])) {
        return refuse("hot", format!("rank {} is there twice", ranks[twice]));
    }
    if !weights.is_empty() && weights.len() != ranks.len() {
        return refuse("weights", format!("{} hot ranks have {} weights", ranks.len(), weights.len()));
    }
    let mut sum = 0;
    let hot = (0..ranks.len()).map(|i| {
        sum += weights.get(i).copied().unwrap_or(1);
        (RankId::new(ranks[i] as u32), sum)
    });
    let rule = HotSpot {
        ranks: context.ranks,
        hot: hot.collect(),
        share: values.real("share"),
        to_self: values.bool(TO_SELF.name),
        stream: Stream::new(context.seed, Purpose::Destination, 0),
        job: context.job,
    };
    open_loop(context, values, rule)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{chi_square, context, defaults};
    use base::param::Value;

    fn values(hot: &[u64], weights: &[u64], share: f64, to_self: bool) -> Values {
        defaults(&ABOUT)
            .with("hot", Value::Ints(hot.to_vec()))
            .with("weights", Value::Ints(weights.to_vec()))
            .with("share", Value::Real(share))
            .with("to_self", Value::Bool(to_self))
    }

    fn counts(values: &Values, rank: u32) -> Vec<u64> {
        let rank = RankId::new(rank);
        let traffic = build(&context(6), values).unwrap().into_traffic().unwrap();
        let mut counts = vec![0; 6];
        for k in 0..60_000 {
            counts[traffic.message(rank, k, 0).unwrap().destination.index()] += 1;
        }
        counts
    }

    #[test]
    fn weights_are_kept() {
        let all = values(&[1, 4, 3], &[1, 2, 5], 1.0, false);
        // Two degrees of freedom, chance below 0.1 %.
        assert!(chi_square(&counts(&all, 0), &[0.0, 1.0, 0.0, 5.0, 2.0, 0.0]) < 13.8);
        assert!(chi_square(&counts(&all, 4), &[0.0, 1.0, 0.0, 5.0, 0.0, 0.0]) < 10.8);
        let itself = values(&[1, 4, 3], &[1, 2, 5], 1.0, true);
        assert!(chi_square(&counts(&itself, 4), &[0.0, 1.0, 0.0, 5.0, 2.0, 0.0]) < 13.8);
        let half = values(&[2], &[], 0.5, false);
        assert!(chi_square(&counts(&half, 0), &[0.0, 1.0, 6.0, 1.0, 1.0, 1.0]) < 18.5);
        // The only hot rank sends to all others alike.
        assert!(chi_square(&counts(&half, 2), &[1.0, 1.0, 0.0, 1.0, 1.0, 1.0]) < 18.5);
    }

    #[test]
    fn lists_that_make_no_sense_are_refused() {
        for (hot, weights, key) in [
            (&[][..], &[][..], "hot"),
            (&[6], &[], "hot"),
            (&[1, 2, 1], &[], "hot"),
            (&[1, 2], &[1], "weights"),
        ] {
            let refused = build(&context(6), &values(hot, weights, 1.0, false)).err().unwrap();
            assert_eq!(refused[0].key, key);
        }
    }
}
