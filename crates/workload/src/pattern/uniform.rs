//! Uniform random traffic: every message goes to a rank drawn anew.

use super::{COUNT, Destinations, TO_SELF, TOGETHER, open_loop};
use crate::{
    arrival::{place, places},
    work::{JobContext, Work},
};
use base::{
    index::RankId,
    param::{Kind, Param, Problem, Values},
    registry::About,
    rng::{Purpose, Stream},
};

pub(crate) const ABOUT: About = About {
    name: "uniform",
    summary: "every message to a random other rank",
    doc: "Each message goes to a rank drawn independently. `draw = \"unbiased\"` gives every other rank the same \
          chance, and with `to_self` every rank. `draw = \"codes\"` repeats the draw of CODES: from all n ranks, and one that hits the sender goes to \
          the next rank instead, which therefore has twice the chance of the others.",
    source: "Dally & Towles, section 3.2; CODES, model-net-mpi-replay synthetic1",
    params: &[
        Param {
            name: "draw",
            kind: Kind::Choice(&["unbiased", "codes"]),
            default: Some("unbiased"),
            doc: "how a destination is drawn",
        },
        TO_SELF,
        COUNT,
    ],
};

struct Uniform {
    ranks: u32,
    stream: Stream,
    job: u32,
    draw: Draw,
}

/// How a destination is drawn.
#[derive(Clone, Copy, PartialEq)]
enum Draw {
    Others,
    All,
    Codes,
}

impl Uniform {
    /// What is drawn from.
    #[inline]
    fn choices(&self) -> u64 {
        u64::from(self.ranks) - u64::from(self.draw == Draw::Others)
    }

    /// The rank that a draw stands for.
    #[inline]
    fn other(&self, rank: RankId, drawn: u64) -> RankId {
        let (rank, drawn) = (rank.number(), drawn as u32);
        RankId::new(match self.draw {
            Draw::Others => drawn + u32::from(drawn >= rank),
            Draw::Codes if drawn == rank => (rank + 1) % self.ranks,
            Draw::All | Draw::Codes => drawn,
        })
    }
}

impl Destinations for Uniform {
    #[inline]
    fn destination(&self, rank: RankId, index: u64) -> RankId {
        self.other(rank, place(self.stream, self.job, rank, index).below(self.choices()))
    }

    #[inline]
    fn destinations(&self, rank: RankId, index: u64) -> [RankId; TOGETHER] {
        let stream = place(self.stream, self.job, rank, 0);
        let drawn: [u64; TOGETHER] = stream.below_at(places(index), self.choices());
        let mut chosen = [RankId::default(); TOGETHER];
        for (chosen, drawn) in chosen.iter_mut().zip(drawn) {
            *chosen = self.other(rank, drawn);
        }
        chosen
    }

    fn to_itself(&self) -> Option<RankId> {
        (self.draw == Draw::All).then_some(RankId::new(0))
    }
}

/// Every other rank with the same chance.
pub(super) fn others(context: &JobContext) -> impl Destinations + 'static {
    let stream = Stream::new(context.seed, Purpose::Destination, 0);
    Uniform { ranks: context.ranks, stream, job: context.job, draw: Draw::Others }
}

pub(crate) fn build(context: &JobContext, values: &Values) -> Result<Work, Vec<Problem>> {
    context.need_two_ranks()?;
    let draw = match (values.text("draw").as_str(), values.bool(TO_SELF.name)) {
        ("codes", true) => {
            let message =
                "CODES' draw never hits the sender: `to_self` and `draw = \"codes\"` contradict each other";
            return Err(vec![Problem::new(TO_SELF.name, message)]);
        }
        ("codes", false) => Draw::Codes,
        (_, true) => Draw::All,
        (_, false) => Draw::Others,
    };
    let stream = Stream::new(context.seed, Purpose::Destination, 0);
    let rule = Uniform { ranks: context.ranks, stream, job: context.job, draw };
    open_loop(context, values, rule)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{chi_square, context, defaults};
    use base::param::Value;

    fn counts(draw: &str, ranks: u32, rank: RankId, n: u64) -> Vec<u64> {
        let values = defaults(&ABOUT).with("draw", Value::Text(draw.to_owned()));
        let traffic = build(&context(ranks), &values).unwrap().into_traffic().unwrap();
        let mut counts = vec![0; ranks as usize];
        for k in 0..n {
            counts[traffic.message(rank, k, 0).unwrap().destination.index()] += 1;
        }
        counts
    }

    #[test]
    fn unbiased_draw_gives_all_others_the_same_chance() {
        for rank in [0, 4, 9] {
            let c = counts("unbiased", 10, RankId::new(rank), 90_000);
            let weights: Vec<f64> = (0..10).map(|d| f64::from(d != rank)).collect();
            // 8 degrees of freedom, chance below 0.1 %.
            assert!(chi_square(&c, &weights) < 26.2, "{rank}: {c:?}");
        }
    }

    #[test]
    fn codes_draw_gives_the_next_rank_twice_the_chance() {
        for rank in [0, 4, 9] {
            let c = counts("codes", 10, RankId::new(rank), 90_000);
            let weight = |d| {
                if d == rank {
                    0.0
                } else if d == (rank + 1) % 10 {
                    2.0
                } else {
                    1.0
                }
            };
            let weights: Vec<f64> = (0..10).map(weight).collect();
            assert!(chi_square(&c, &weights) < 26.2, "{rank}: {c:?}");
        }
    }

    #[test]
    fn all_ranks_have_the_same_chance_with_to_self() {
        let values = defaults(&ABOUT).with("to_self", Value::Bool(true));
        let traffic = build(&context(10), &values).unwrap().into_traffic().unwrap();
        let mut counts = vec![0; 10];
        (0..90_000)
            .for_each(|k| counts[traffic.message(RankId::new(4), k, 0).unwrap().destination.index()] += 1);
        // 9 degrees of freedom, chance below 0.1 %.
        assert!(chi_square(&counts, &[1.0; 10]) < 27.9, "{counts:?}");
        assert_eq!(traffic.to_itself(), Some(RankId::new(0)));
        let both = values.with("draw", Value::Text("codes".to_owned()));
        assert_eq!(build(&context(10), &both).err().unwrap()[0].key, "to_self");
    }

    #[test]
    fn ranks_jobs_and_seeds_draw_differently() {
        let draw = |job: u32, seed: u64, rank: u32| -> Vec<RankId> {
            let c = JobContext { job, seed, ..context(1000) };
            let traffic = build(&c, &defaults(&ABOUT)).unwrap().into_traffic().unwrap();
            (0..8).map(|k| traffic.message(RankId::new(rank), k, 0).unwrap().destination).collect()
        };
        let first = draw(0, 1, 0);
        assert_ne!(first, draw(1, 1, 0));
        assert_ne!(first, draw(0, 2, 0));
        assert_ne!(first, draw(0, 1, 1));
    }
}
