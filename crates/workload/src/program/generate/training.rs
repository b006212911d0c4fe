//! Training of a neural network, data-parallel: gradients are reduced in buckets while the backward pass still runs.

use super::{Body, Generator, collective_call, grid::ITERATIONS, script};
use crate::{
    program::mpi::{CollectiveKind, CommRank, Script, WORLD},
    work::{Built, JobContext},
};
use base::{
    index::RankId,
    param::{Kind, Param, Problem, Values},
    registry::About,
    time::Ps,
};
use std::sync::Arc;

pub(crate) const ABOUT: About = About {
    name: "training-step",
    summary: "data-parallel training: gradient buckets reduced while the backward pass runs",
    doc: "Each iteration is a training step: the forward pass; the backward pass in as many equal parts as there are buckets of gradients; \
          then the optimiser. After each part the bucket is reduced to all by a non-blocking MPI_Iallreduce (with `overlap = false` by a \
          blocking one); before the optimiser all are waited for. The last bucket holds what remains. Reductions compete for the network as \
          the model lets them; a library that would run them one after the other is not modelled.",
    source: "Li et al.: PyTorch Distributed: Experiences on Accelerating Data Parallel Training, VLDB 2020, section 3.2",
    params: &[
        Param {
            name: "gradient_bytes",
            kind: Kind::Bytes,
            default: Some("102400000 B"),
            doc: "gradients of the whole model",
        },
        Param {
            name: "bucket_bytes",
            kind: Kind::Bytes,
            default: Some("26214400 B"),
            doc: "gradients per bucket",
        },
        Param { name: "forward_time", kind: Kind::Time, default: Some("0 s"), doc: "forward pass" },
        Param { name: "backward_time", kind: Kind::Time, default: Some("0 s"), doc: "backward pass" },
        Param {
            name: "optimiser_time",
            kind: Kind::Time,
            default: Some("0 s"),
            doc: "update of the weights",
        },
        Param {
            name: "overlap",
            kind: Kind::Bool,
            default: Some("true"),
            doc: "whether reductions go on while the backward pass runs",
        },
        ITERATIONS,
    ],
};

/// Most buckets of a step.
const MOST: u64 = 1 << 16;

struct Training {
    ranks: u32,
    gradients: u64,
    bucket: u64,
    forward: Ps,
    backward: Ps,
    optimiser: Ps,
    overlap: bool,
    iterations: u64,
}

impl Generator for Training {
    fn name(&self) -> &'static str {
        ABOUT.name
    }

    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn chained(&self) -> bool {
        // Overlapped reductions run beside the backward pass.
        !self.overlap
    }

    fn write(&self, _rank: RankId, body: &mut Body) {
        let buckets = self.gradients.div_ceil(self.bucket);
        body.repeat(self.iterations, |body| {
            body.phase("forward");
            body.compute(self.forward);
            body.phase("backward");
            for k in 0..buckets {
                body.compute(self.backward / buckets + if k == 0 { self.backward % buckets } else { 0 });
                let bytes = self.bucket.min(self.gradients - k * self.bucket);
                let request = self.overlap.then_some(k as u32);
                body.call(collective_call(
                    CollectiveKind::Allreduce,
                    WORLD,
                    CommRank::new(0),
                    bytes,
                    request,
                ));
            }
            if self.overlap {
                body.phase("wait for the gradients");
                body.wait_for_all(buckets as u32);
            }
            body.phase("optimiser");
            body.compute(self.optimiser);
        });
    }
}

pub(crate) fn build(context: &JobContext, values: &Values) -> Built<Arc<dyn Script>> {
    context.need_two_ranks()?;
    let (gradients, bucket) = (values.int("gradient_bytes"), values.int("bucket_bytes"));
    if gradients == 0 {
        return Err(vec![Problem::new("gradient_bytes", "a step without gradients communicates nothing")]);
    }
    if bucket == 0 || gradients.div_ceil(bucket) > MOST {
        return Err(vec![Problem::new(
            "bucket_bytes",
            format!("a step would have more than {MOST} buckets"),
        )]);
    }
    let (ranks, overlap, iterations) = (context.ranks, values.bool("overlap"), values.int("iterations"));
    let [forward, backward, optimiser] =
        ["forward_time", "backward_time", "optimiser_time"].map(|key| values.time(key));
    Ok(script(Training { ranks, gradients, bucket, forward, backward, optimiser, overlap, iterations }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{
        generate::testing::{computed, made, run},
        mpi::Call,
    };
    use base::param::Value;

    #[test]
    fn buckets_hold_all_gradients() {
        for overlap in [true, false] {
            let script = made(
                &ABOUT,
                build,
                3,
                &[
                    ("gradient_bytes", Value::Int(1000)),
                    ("bucket_bytes", Value::Int(300)),
                    ("forward_time", Value::Time(50)),
                    ("backward_time", Value::Time(101)),
                    ("overlap", Value::Bool(overlap)),
                    ("iterations", Value::Int(2)),
                ],
            );
            let mut calls = script.open(RankId::new(1));
            let mut sizes = Vec::new();
            while let Some((call, _)) = calls.next().unwrap() {
                if let Call::Collective(c) = call {
                    sizes.push(c.bytes);
                    assert_eq!(c.request.is_some(), overlap);
                }
            }
            assert_eq!(sizes, [300, 300, 300, 100, 300, 300, 300, 100]);
            assert_eq!(computed(script.as_ref(), RankId::new(1)), 302);
            run(script.as_ref());
        }
    }
}
