//! Training of a neural network in a pipeline of stages, with the schedule "one forward, one backward".

use super::{Body, Generator, envelope, grid::ITERATIONS, script};
use crate::{
    program::mpi::{Call, CollectiveKind, Comm, Script, WORLD},
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
    name: "pipeline-step",
    summary: "pipeline-parallel training: micro-batches through stages, one forward one backward",
    doc: "Ranks are S stages of R replicas; replica k of stage s is rank s R + k. Each iteration sends M micro-batches through the stages of every \
          replica. Stage s first does min(S - 1 - s, M) forward passes, then one forward and one backward pass in turn, then the backward \
          passes that remain. Activations go to the next stage, their gradients, of the same size, come back; a send and a receive \
          between two passes with the same neighbour are one exchange. With several replicas the gradients of a stage's weights are then \
          reduced among its replicas.",
    source: "Narayanan et al.: PipeDream, SOSP 2019, section 3.2 (1F1B); Narayanan et al.: Efficient Large-Scale Language Model \
             Training on GPU Clusters, SC 2021, section 2.2 (with flush)",
    params: &[
        Param {
            name: "stages",
            kind: Kind::Int { min: 0, max: u32::MAX as u64 },
            default: Some("0"),
            doc: "stages of the pipeline; 0: as many as ranks",
        },
        Param {
            name: "micro_batches",
            kind: Kind::Int { min: 1, max: 1 << 32 },
            default: Some("8"),
            doc: "micro-batches per iteration",
        },
        Param {
            name: "activation_bytes",
            kind: Kind::Bytes,
            default: Some("1048576 B"),
            doc: "activations of a micro-batch between two stages",
        },
        Param {
            name: "gradient_bytes",
            kind: Kind::Bytes,
            default: Some("102400000 B"),
            doc: "gradients of a stage's weights, reduced among replicas",
        },
        Param {
            name: "forward_time",
            kind: Kind::Time,
            default: Some("0 s"),
            doc: "forward pass of a micro-batch through a stage",
        },
        Param {
            name: "backward_time",
            kind: Kind::Time,
            default: Some("0 s"),
            doc: "backward pass of a micro-batch through a stage",
        },
        Param {
            name: "optimiser_time",
            kind: Kind::Time,
            default: Some("0 s"),
            doc: "update of the weights",
        },
        ITERATIONS,
    ],
};

const FORWARD: u32 = 0;
const BACKWARD: u32 = 1;
/// The replicas of a stage.
const REPLICAS: Comm = 1;

struct Pipeline {
    stages: u32,
    replicas: u32,
    micro_batches: u64,
    activation: u64,
    gradient: u64,
    forward: Ps,
    backward: Ps,
    optimiser: Ps,
    iterations: u64,
}

impl Pipeline {
    fn pass(&self, previous: Option<RankId>, next: Option<RankId>, warmup: u64, body: &mut Body) {
        let bytes = self.activation;
        let recv = |from: Option<RankId>, tag, body: &mut Body| {
            if let Some(from) = from {
                body.recv(from, tag, bytes);
            }
        };
        let send = |to: Option<RankId>, tag, body: &mut Body| {
            if let Some(to) = to {
                body.send(to, tag, bytes);
            }
        };
        // Sends with one tag and receives with the other, from the same neighbour.
        let exchange = |with: Option<RankId>, out, into, body: &mut Body| {
            if let Some(peer) = with {
                body.call(Call::SendRecv(envelope(peer, out, bytes), envelope(peer, into, bytes)));
            }
        };
        body.phase("warm-up");
        body.repeat(warmup, |body| {
            recv(previous, FORWARD, body);
            body.compute(self.forward);
            send(next, FORWARD, body);
        });
        let steady = self.micro_batches - warmup;
        if steady > 0 {
            body.phase("one forward, one backward");
            recv(previous, FORWARD, body);
            let both = |body: &mut Body| {
                body.compute(self.forward);
                exchange(next, FORWARD, BACKWARD, body);
                body.compute(self.backward);
            };
            body.repeat(steady - 1, |body| {
                both(body);
                exchange(previous, BACKWARD, FORWARD, body);
            });
            both(body);
            send(previous, BACKWARD, body);
        }
        body.phase("drain");
        body.repeat(warmup, |body| {
            recv(next, BACKWARD, body);
            body.compute(self.backward);
            send(previous, BACKWARD, body);
        });
    }
}

impl Generator for Pipeline {
    fn name(&self) -> &'static str {
        ABOUT.name
    }

    fn ranks(&self) -> u32 {
        self.stages * self.replicas
    }

    fn write(&self, rank: RankId, body: &mut Body) {
        let stage = rank.number() / self.replicas;
        let previous = (stage > 0).then(|| RankId::new(rank.number() - self.replicas));
        let next = (stage + 1 < self.stages).then(|| rank.plus(self.replicas));
        let warmup = u64::from(self.stages - 1 - stage).min(self.micro_batches);
        if self.makes_communicators() {
            body.phase("communicators");
            body.call(Call::CommSplit {
                comm: WORLD,
                color: Some(stage),
                key: rank.number().into(),
                new: REPLICAS,
            });
        }
        body.repeat(self.iterations, |body| {
            self.pass(previous, next, warmup, body);
            if self.makes_communicators() {
                body.phase("gradients");
                body.collective(CollectiveKind::Allreduce, REPLICAS, self.gradient);
            }
            body.phase("optimiser");
            body.compute(self.optimiser);
        });
    }

    fn makes_communicators(&self) -> bool {
        self.replicas > 1
    }
}

pub(crate) fn build(context: &JobContext, values: &Values) -> Built<Arc<dyn Script>> {
    context.need_two_ranks()?;
    let (ranks, given) = (context.ranks, values.u32("stages"));
    let stages = if given == 0 { ranks } else { given };
    if !ranks.is_multiple_of(stages) {
        return Err(vec![Problem::new(
            "stages",
            format!("{ranks} ranks are not a multiple of {stages} stages"),
        )]);
    }
    let [forward, backward, optimiser] =
        ["forward_time", "backward_time", "optimiser_time"].map(|key| values.time(key));
    Ok(script(Pipeline {
        stages,
        replicas: ranks / stages,
        micro_batches: values.int("micro_batches"),
        activation: values.int("activation_bytes"),
        gradient: values.int("gradient_bytes"),
        forward,
        backward,
        optimiser,
        iterations: values.int("iterations"),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::generate::testing::{asking, computed, defaults, made, messages, run};
    use base::param::Value;

    /// Each micro-batch crosses each boundary of stages twice, and is computed twice by each stage.
    #[test]
    fn every_micro_batch_goes_there_and_back() {
        for (ranks, stages, batches) in [(4, 4, 8), (4, 4, 2), (6, 3, 5), (2, 1, 3), (8, 4, 1)] {
            let script = made(
                &ABOUT,
                build,
                ranks,
                &[
                    ("stages", Value::Int(stages)),
                    ("micro_batches", Value::Int(batches)),
                    ("forward_time", Value::Time(10)),
                    ("backward_time", Value::Time(20)),
                    ("iterations", Value::Int(3)),
                ],
            );
            let replicas = u64::from(ranks) / stages;
            assert_eq!(messages(script.as_ref()), 3 * 2 * batches * (stages - 1) * replicas);
            assert!((0..ranks).all(|rank| computed(script.as_ref(), RankId::new(rank)) == 3 * 30 * batches));
            run(script.as_ref());
        }
    }

    #[test]
    fn stages_must_divide_the_ranks() {
        let values = defaults(&ABOUT).with("stages", Value::Int(3));
        assert_eq!(build(&asking(8), &values).err().unwrap()[0].key, "stages");
    }
}
