//! Uniform random traffic: every message goes to a rank drawn anew.

use super::{COUNT, Destinations, TOGETHER, open_loop};
use crate::{
    arrival::{place, places},
    work::{JobContext, Work},
};
use base::{
    param::{Kind, Param, Problem, Values},
    registry::About,
    rng::{Purpose, Stream},
};

pub(crate) const ABOUT: About = About {
    name: "uniform",
    summary: "every message to a random other rank",
    doc: "Each message goes to a rank drawn independently. `draw = \"unbiased\"` gives every other rank the same \
          chance. `draw = \"codes\"` repeats the draw of CODES: from all n ranks, and one that hits the sender goes to \
          the next rank instead, which therefore has twice the chance of the others.",
    source: "Dally & Towles, section 3.2; CODES, model-net-mpi-replay synthetic1",
    params: &[
        Param {
            name: "draw",
            kind: Kind::Choice(&["unbiased", "codes"]),
            default: Some("unbiased"),
            doc: "how a destination is drawn",
        },
        COUNT,
    ],
};

struct Uniform {
    ranks: u32,
    stream: Stream,
    job: u32,
    codes: bool,
}

impl Uniform {
    /// What is drawn from.
    #[inline]
    fn choices(&self) -> u64 {
        u64::from(self.ranks) - u64::from(!self.codes)
    }

    /// The rank that a draw stands for.
    #[inline]
    fn other(&self, rank: u32, drawn: u64) -> u32 {
        let drawn = drawn as u32;
        match self.codes {
            true if drawn == rank => (rank + 1) % self.ranks,
            true => drawn,
            false => drawn + u32::from(drawn >= rank),
        }
    }
}

impl Destinations for Uniform {
    #[inline]
    fn destination(&self, rank: u32, index: u64) -> u32 {
        self.other(rank, place(self.stream, self.job, rank, index).below(self.choices()))
    }

    #[inline]
    fn destinations(&self, rank: u32, index: u64) -> [u32; TOGETHER] {
        let stream = place(self.stream, self.job, rank, 0);
        let drawn: [u64; TOGETHER] = stream.below_at(places(index), self.choices());
        let mut chosen = [0; TOGETHER];
        for (chosen, drawn) in chosen.iter_mut().zip(drawn) {
            *chosen = self.other(rank, drawn);
        }
        chosen
    }
}

pub(crate) fn build(context: &JobContext, values: &Values) -> Result<Work, Vec<Problem>> {
    context.need_two_ranks()?;
    let codes = values.text("draw") == "codes";
    let stream = Stream::new(context.seed, Purpose::Destination, 0);
    let rule = Uniform { ranks: context.ranks, stream, job: context.job, codes };
    open_loop(context, values, rule)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{chi_square, context, defaults};
    use base::param::Value;

    fn counts(draw: &str, ranks: u32, rank: u32, n: u64) -> Vec<u64> {
        let values = defaults(&ABOUT).with("draw", Value::Text(draw.to_owned()));
        let traffic = build(&context(ranks), &values).unwrap().into_traffic().unwrap();
        let mut counts = vec![0; ranks as usize];
        for k in 0..n {
            counts[traffic.message(rank, k, 0).unwrap().destination as usize] += 1;
        }
        counts
    }

    #[test]
    fn unbiased_draw_gives_all_others_the_same_chance() {
        for rank in [0, 4, 9] {
            let c = counts("unbiased", 10, rank, 90_000);
            let weights: Vec<f64> = (0..10).map(|d| f64::from(d != rank)).collect();
            // 8 degrees of freedom, chance below 0.1 %.
            assert!(chi_square(&c, &weights) < 26.2, "{rank}: {c:?}");
        }
    }

    #[test]
    fn codes_draw_gives_the_next_rank_twice_the_chance() {
        for rank in [0, 4, 9] {
            let c = counts("codes", 10, rank, 90_000);
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
    fn ranks_jobs_and_seeds_draw_differently() {
        let draw = |job: u32, seed: u64, rank: u32| -> Vec<u32> {
            let c = JobContext { job, seed, ..context(1000) };
            let traffic = build(&c, &defaults(&ABOUT)).unwrap().into_traffic().unwrap();
            (0..8).map(|k| traffic.message(rank, k, 0).unwrap().destination).collect()
        };
        let first = draw(0, 1, 0);
        assert_ne!(first, draw(1, 1, 0));
        assert_ne!(first, draw(0, 2, 0));
        assert_ne!(first, draw(0, 1, 1));
    }
}
