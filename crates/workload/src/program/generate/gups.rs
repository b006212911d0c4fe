//! GUPS: updates of a distributed table at random places.
//!
//! Destinations and sources of updates must be known to both sides: in round k, rank x sends its update to the rank that follows it in
//! the k-th of a series of random cycles through all ranks, and expects one from the rank before it.

use crate::{
    pattern::random_permutation::{RandomPermutation, rule},
    program::{
        Damage,
        mpi::{Call, Calls, Counted, Mode, Script, Sent},
    },
    work::{Built, JobContext},
};
use base::{
    index::RankId,
    param::{Kind, Param, Values},
    registry::About,
    sorted::SortedMap,
    time::Ps,
};
use std::sync::Arc;

use super::{
    envelope,
    grid::{COMPUTE_TIME, ITERATIONS},
};

pub(crate) const ABOUT: About = About {
    name: "gups",
    summary: "giga updates per second: small messages to random ranks, a window at a time",
    doc: "In each iteration a rank starts `window` updates and as many receives, waits for all of them, then computes (applies the updates). The \
          k-th update of all ranks together is a random cycle through all ranks, drawn anew for each k: every destination other than the rank \
          itself is equally likely, and each rank gets exactly one update per round. Two updates of the same round thus never meet at one rank, \
          which makes the pattern slightly gentler than independent draws; updates of different rounds do. Updates are not sorted or \
          combined into buckets.",
    source: "HPC Challenge, MPIRandomAccess; MARS, section 3.4",
    params: &[
        Param { name: "update_bytes", kind: Kind::Bytes, default: Some("8 B"), doc: "message of an update" },
        Param {
            name: "window",
            kind: Kind::Int { min: 1, max: 1 << 20 },
            default: Some("1024"),
            doc: "updates of a rank in flight at once",
        },
        ITERATIONS,
        COMPUTE_TIME,
    ],
};

struct Gups {
    ranks: u32,
    bytes: u64,
    window: u32,
    iterations: u64,
    compute: Ps,
    cycles: RandomPermutation,
    /// All requests of an iteration.
    requests: Arc<[u32]>,
}

/// The shared program: cursors outlive the borrow.
struct Shared(Arc<Gups>);

impl Script for Shared {
    fn ranks(&self) -> u32 {
        self.0.ranks
    }

    fn open(&self, rank: RankId) -> Box<dyn Calls> {
        Box::new(Updates { program: Arc::clone(&self.0), rank, iteration: 0, step: 0 })
    }

    fn describe(&self, _rank: RankId, position: u32) -> String {
        format!("{}, iteration {position}", ABOUT.name)
    }

    fn makes_communicators(&self) -> bool {
        false
    }

    fn chained(&self) -> bool {
        true
    }

    fn sent(&self, rank: RankId, most: u64) -> Option<Counted> {
        let program = &self.0;
        let rounds = program.iterations * u64::from(program.window);
        if rounds > most {
            let why = format!("each rank sends {rounds} updates, which are not counted by receiver");
            return Some(Err(Damage(why)));
        }
        let mut to: SortedMap<RankId, u64> = SortedMap::new();
        for round in 0..rounds {
            *to.entry(program.cycles.partner(round, rank)).or_default() += 1;
        }
        let sent = |(peer, messages)| Sent { peer, bytes: program.bytes, messages };
        Some(Ok(to.into_iter().map(sent).collect()))
    }
}

/// One rank's place: `step` counts receives, then sends, then the wait and the computation of an iteration.
struct Updates {
    program: Arc<Gups>,
    rank: RankId,
    iteration: u64,
    step: u32,
}

impl Calls for Updates {
    fn next(&mut self) -> Result<Option<(Call, u32)>, Damage> {
        let program = &self.program;
        let window = program.window;
        if self.step > 2 * window {
            self.step = 0;
            self.iteration += 1;
            if program.compute > 0 {
                let done = (self.iteration - 1) as u32;
                return Ok(Some((Call::Compute(program.compute), done)));
            }
        }
        if self.iteration == program.iterations {
            return Ok(None);
        }
        let step = self.step;
        self.step += 1;
        let round = self.iteration * u64::from(window) + u64::from(step % window);
        let call = if step < window {
            let from = program.cycles.origin(round, self.rank);
            Call::Irecv(envelope(from, 0, program.bytes), step)
        } else if step < 2 * window {
            let to = program.cycles.partner(round, self.rank);
            Call::Isend(envelope(to, 0, program.bytes), Mode::Standard, step)
        } else {
            Call::Waitall(Arc::clone(&program.requests))
        };
        Ok(Some((call, self.iteration as u32)))
    }
}

pub(crate) fn build(context: &JobContext, values: &Values) -> Built<Arc<dyn Script>> {
    context.need_two_ranks()?;
    let (window, iterations) = (values.u32("window"), values.int("iterations"));
    Ok(Arc::new(Shared(Arc::new(Gups {
        ranks: context.ranks,
        bytes: values.int("update_bytes"),
        window,
        iterations,
        compute: values.time("compute_time"),
        cycles: rule(context, 0),
        requests: (0..2 * window).collect(),
    }))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        program::generate::testing::{computed, made, messages, run},
        testing::chi_square,
    };
    use base::param::Value;

    #[test]
    fn every_update_is_expected() {
        for ranks in [2, 3, 17] {
            let given = [("window", Value::Int(7)), ("compute_time", Value::Time(3))];
            let script = made(&ABOUT, build, ranks, &given);
            assert_eq!(messages(script.as_ref()), 70 * u64::from(ranks));
            assert_eq!(computed(script.as_ref(), RankId::new(1)), 30);
            run(script.as_ref());
        }
    }

    /// The bound is that of a chance of 0.1 % for 14 degrees of freedom.
    #[test]
    fn all_others_are_equally_likely() {
        let script = made(&ABOUT, build, 16, &[("window", Value::Int(1500))]);
        let sent = script.sent(RankId::new(3), 15_000).unwrap().unwrap();
        let counts: Vec<u64> = sent.iter().map(|s| s.messages).collect();
        assert_eq!(counts.len(), 15);
        assert!(chi_square(&counts, &[1.0; 15]) < 36.1, "{counts:?}");
        // Each is drawn, so that counting takes as long as they are many.
        let refused = script.sent(RankId::new(3), 14_999).unwrap().unwrap_err();
        assert_eq!(refused.0, "each rank sends 15000 updates, which are not counted by receiver");
    }
}
