//! A ring: everybody passes something on.

use super::{
    Body, Generator, envelope,
    grid::{COMPUTE_TIME, ITERATIONS},
    script,
};
use crate::{
    program::mpi::{Call, Script},
    work::{Built, JobContext},
};
use base::{
    index::RankId,
    param::{Kind, Param, Values},
    registry::About,
    time::Ps,
};
use std::sync::Arc;

pub(crate) const ABOUT: About = About {
    name: "ring",
    summary: "each rank passes a message to the next, all at once or one after the other",
    doc: "In each iteration rank i sends to rank i + 1 (mod n) and receives from rank i - 1. `turns = \"together\"`: all do so at \
          once, by MPI_Sendrecv, and then compute. `turns = \"token\"`: one message goes round; rank 0 starts it, every rank computes \
          before it passes it on.",
    source: "the usual first program; token rings of the latency benchmarks",
    params: &[
        Param {
            name: "hop_bytes",
            kind: Kind::Bytes,
            default: Some("1024 B"),
            doc: "message to the next rank",
        },
        Param {
            name: "turns",
            kind: Kind::Choice(&["together", "token"]),
            default: Some("together"),
            doc: "whether all send at once or a token goes round",
        },
        ITERATIONS,
        COMPUTE_TIME,
    ],
};

struct Ring {
    ranks: u32,
    bytes: u64,
    token: bool,
    iterations: u64,
    compute: Ps,
}

impl Generator for Ring {
    fn name(&self) -> &'static str {
        ABOUT.name
    }

    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn write(&self, rank: RankId, body: &mut Body) {
        let (n, rank) = (self.ranks, rank.number());
        let next = RankId::new(if rank + 1 == n { 0 } else { rank + 1 });
        let previous = RankId::new((if rank == 0 { n } else { rank }) - 1);
        body.phase("ring");
        body.repeat(self.iterations, |body| {
            if !self.token {
                let (out, into) = (envelope(next, 0, self.bytes), envelope(previous, 0, self.bytes));
                body.call(Call::SendRecv(out, into));
                body.compute(self.compute);
            } else if rank == 0 {
                body.compute(self.compute);
                body.send(next, 0, self.bytes);
                body.recv(previous, 0, self.bytes);
            } else {
                body.recv(previous, 0, self.bytes);
                body.compute(self.compute);
                body.send(next, 0, self.bytes);
            }
        });
    }
}

pub(crate) fn build(context: &JobContext, values: &Values) -> Built<Arc<dyn Script>> {
    context.need_two_ranks()?;
    let (ranks, bytes, token) = (context.ranks, values.int("hop_bytes"), values.text("turns") == "token");
    let (iterations, compute) = (values.int("iterations"), values.time("compute_time"));
    Ok(script(Ring { ranks, bytes, token, iterations, compute }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::generate::testing::{made, messages, run};
    use base::param::Value;

    #[test]
    fn each_rank_sends_once_per_iteration() {
        for turns in ["together", "token"] {
            for ranks in [2, 5] {
                let script = made(&ABOUT, build, ranks, &[("turns", Value::Text(turns.into()))]);
                assert_eq!(messages(script.as_ref()), 10 * u64::from(ranks));
                run(script.as_ref());
            }
        }
    }
}
