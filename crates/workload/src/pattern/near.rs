//! Patterns that prefer what is near, at random: diagonal and taper.

use super::{COUNT, Destinations, TO_SELF, bits::side, open_loop};
use crate::{
    arrival::place,
    work::{Built, JobContext, Work},
};
use base::{
    index::RankId,
    param::{Problem, Values},
    registry::About,
    rng::{Purpose, Stream},
};

pub(crate) const DIAGONAL: About = About {
    name: "diagonal",
    summary: "two messages of three to one rank, the third to the next",
    doc: "With `to_self` two thirds of a rank's messages go to itself and a third to rank i + 1 (mod n): the diagonal load of \
          switches, as in BookSim. Without, all is moved on by one rank: i + 1 and i + 2.",
    source: "BookSim 2, traffic.cpp; Shah, Giaccone, Prabhakar: Efficient Randomized Algorithms for Input-Queued Switch Scheduling, \
             IEEE Micro 2002 (diagonal traffic)",
    params: &[TO_SELF, COUNT],
};

pub(crate) const TAPER: About = About {
    name: "taper",
    summary: "half to the neighbourhood in a square, half to anyone",
    doc: "Ranks stand in rows of sqrt(n). With chance 1/2 a message goes r * dy + dx ranks further (mod n), dx and dy each \
          -1, 0 or 1, and else to any rank: BookSim's taper64 for any square. With `to_self` a rank may be drawn itself, as there; \
          without, the neighbourhood has 8 ranks, and anyone is any other.",
    source: "BookSim 2, traffic.cpp (taper64)",
    params: &[TO_SELF, COUNT],
};

/// What both draw from.
struct Draw {
    ranks: u32,
    to_self: bool,
    stream: Stream,
    job: u32,
}

impl Draw {
    fn new(context: &JobContext, values: &Values) -> Self {
        let stream = Stream::new(context.seed, Purpose::Destination, 0);
        Self { ranks: context.ranks, to_self: values.bool(TO_SELF.name), stream, job: context.job }
    }

    /// So many ranks further, around the end.
    fn on(&self, rank: RankId, by: u64) -> RankId {
        RankId::new(((u64::from(rank) + by) % u64::from(self.ranks)) as u32)
    }
}

struct Diagonal(Draw);

impl Destinations for Diagonal {
    fn destination(&self, rank: RankId, index: u64) -> RankId {
        let draw = &self.0;
        let next = place(draw.stream, draw.job, rank, index).below(3) == 0;
        draw.on(rank, u64::from(next) + u64::from(!draw.to_self))
    }

    fn to_itself(&self) -> Option<RankId> {
        self.0.to_self.then_some(RankId::new(0))
    }
}

struct Taper {
    draw: Draw,
    side: u32,
}

impl Destinations for Taper {
    fn destination(&self, rank: RankId, index: u64) -> RankId {
        let Draw { ranks, to_self, stream, job } = self.draw;
        let mut stream = place(stream, job, rank, index);
        if stream.below(2) == 0 {
            let drawn = stream.below(if to_self { 9 } else { 8 });
            // 0 to 8 without 4, which is the rank itself.
            let cell = drawn + u64::from(!to_self && drawn >= 4);
            let (dx, dy) = (cell % 3, cell / 3);
            // One step down and left from there, so that nothing is negative.
            let back = u64::from(ranks) - u64::from(self.side) - 1;
            return self.draw.on(rank, back + dx + dy * u64::from(self.side));
        }
        let drawn = stream.below(u64::from(ranks) - u64::from(!to_self)) as u32;
        RankId::new(drawn + u32::from(!to_self && drawn >= rank.number()))
    }

    fn to_itself(&self) -> Option<RankId> {
        self.draw.to_self.then_some(RankId::new(0))
    }
}

pub(crate) fn diagonal(context: &JobContext, values: &Values) -> Built<Work> {
    context.need_two_ranks()?;
    let draw = Draw::new(context, values);
    if context.ranks == 2 && !draw.to_self {
        let message = "two ranks have no diagonal but with themselves";
        return Err(vec![Problem::new("ranks", message).help("take 3 or more, or `to_self = true`")]);
    }
    open_loop(context, values, Diagonal(draw))
}

pub(crate) fn taper(context: &JobContext, values: &Values) -> Built<Work> {
    context.need_two_ranks()?;
    let side = side(context, TAPER.name)?;
    open_loop(context, values, Taper { draw: Draw::new(context, values), side })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{chi_square, context, defaults};
    use base::param::Value;

    fn counts(
        build: fn(&JobContext, &Values) -> Built<Work>,
        about: &About,
        (ranks, rank, to_self): (u32, u32, bool),
    ) -> Vec<u64> {
        let values = defaults(about).with("to_self", Value::Bool(to_self));
        let traffic = build(&context(ranks), &values).unwrap().into_traffic().unwrap();
        assert_eq!(traffic.to_itself().is_some(), to_self);
        let mut counts = vec![0; ranks as usize];
        for k in 0..60_000 {
            counts[traffic.message(RankId::new(rank), k, 0).unwrap().destination.index()] += 1;
        }
        counts
    }

    #[test]
    fn two_thirds_and_a_third() {
        for (to_self, shift) in [(true, 0), (false, 1)] {
            let mut weights = [0.0; 5];
            weights[(4 + shift) % 5] = 2.0;
            weights[shift] = 1.0;
            // One degree of freedom, chance below 0.1 %.
            assert!(chi_square(&counts(diagonal, &DIAGONAL, (5, 4, to_self)), &weights) < 10.8);
        }
    }

    /// Rank 0 of 8 x 8 has its neighbours around the ends, rows above and below shifted as BookSim's sum has it.
    #[test]
    fn half_is_near() {
        for to_self in [true, false] {
            let mut weights = [1.0 / if to_self { 64.0 } else { 63.0 }; 64];
            for (dy, dx) in (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| (dy, dx))) {
                weights[(64 + 8 * dy + dx) as usize % 64] += 1.0 / if to_self { 9.0 } else { 8.0 };
            }
            if !to_self {
                weights[0] = 0.0;
            }
            // 63 degrees of freedom, chance below 0.1 %.
            let c = counts(taper, &TAPER, (64, 0, to_self));
            assert!(chi_square(&c, &weights) < 103.4, "{c:?}");
        }
        // The smallest square has no way to hit itself.
        assert_eq!(counts(taper, &TAPER, (4, 2, false))[2], 0);
    }
}
