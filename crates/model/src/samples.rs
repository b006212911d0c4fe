//! Ready-made networks and workloads for tests, benchmarks and programs that embed a model.

use crate::setup::LinkParams;
use base::{
    index::RankId,
    param::{Built, Param, Value, Values},
    rate::Bandwidth,
    registry::{Registered, find},
    time::Ps,
};
use fabric::{
    graph::Fabric,
    registry::{ROUTINGS, TOPOLOGIES},
    routing::Routing,
};
use std::sync::Arc;
use workload::{
    registry::{ARRIVALS, ArrivalChoice, JobContext, Shape, WORKLOADS, Work},
    traffic::{Message, Traffic},
};

/// A value for a strategy's parameters.
#[must_use]
pub fn int(value: u64) -> Value {
    Value::Int(value)
}

/// Declared defaults, overridden by `given`.
///
/// # Panics
/// If a name is not registered, or a mandatory key is not given.
fn values(entry: &impl Registered, given: &[(&str, Value)]) -> Values {
    complete(entry.about().params.iter(), given)
}

/// Declared defaults of these parameters, overridden by `given`.
///
/// # Panics
/// If a parameter without a default is not given.
pub fn complete<'a>(params: impl Iterator<Item = &'a Param>, given: &[(&str, Value)]) -> Values {
    Values::complete(params, |name| given.iter().find(|(key, _)| *key == name).map(|(_, v)| v.clone()))
}

/// A registered topology built from parameters.
///
/// # Panics
/// If it is refused.
#[must_use]
pub fn topology(name: &str, given: &[(&str, Value)]) -> Arc<Fabric> {
    let entry = find(TOPOLOGIES, name).expect("a registered topology");
    let fabric: Fabric = (entry.build)(&values(entry, given)).unwrap_or_else(|p| panic!("{p:?}"));
    debug_assert!(fabric.terminals() > 0, "a network has terminals");
    Arc::new(fabric)
}

/// A registered routing bound to a fabric.
///
/// # Panics
/// If it is refused.
#[must_use]
pub fn routing(fabric: &Arc<Fabric>, name: &str, given: &[(&str, Value)]) -> Arc<dyn Routing> {
    let entry = find(ROUTINGS, name).expect("a registered routing");
    Arc::from((entry.build)(Arc::clone(fabric), &values(entry, given)).unwrap_or_else(|p| panic!("{p:?}")))
}

/// The job of a sample workload.
#[derive(Clone, Copy, Debug)]
pub struct SampleJob {
    /// Number of its ranks.
    pub ranks: u32,
    /// Bytes of a message, where the workload asks for a size.
    pub message: u64,
    /// Of a terminal's link: what a load is relative to.
    pub bandwidth: Bandwidth,
}

impl From<(u32, u64, Bandwidth)> for SampleJob {
    fn from((ranks, message, bandwidth): (u32, u64, Bandwidth)) -> Self {
        Self { ranks, message, bandwidth }
    }
}

/// A registered workload over the ranks of `job`.
///
/// # Panics
/// If it is refused.
#[must_use]
pub fn traffic(
    name: &str,
    given: &[(&str, Value)],
    arrival: &str,
    load: f64,
    job: impl Into<SampleJob>,
    seed: u64,
) -> Work {
    try_traffic(name, given, arrival, load, job, seed).unwrap_or_else(|p| panic!("{p:?}"))
}

/// The same, where a number of ranks may be refused.
///
/// # Errors
/// What the workload refuses.
///
/// # Panics
/// If there is no such workload or arrival.
pub fn try_traffic(
    name: &str,
    given: &[(&str, Value)],
    arrival: &str,
    load: f64,
    job: impl Into<SampleJob>,
    seed: u64,
) -> Built<Work> {
    let SampleJob { ranks, message, bandwidth } = job.into();
    debug_assert!(ranks > 0, "a job has a rank");
    let entry = find(WORKLOADS, name).expect("a registered workload");
    let arrivals = find(ARRIVALS, arrival).expect("a registered arrival");
    let choice = ArrivalChoice { entry: arrivals, values: values(arrivals, &[]), load, bandwidth };
    let arrival = entry.takes.arrivals().then_some(choice);
    let part = (1..=ranks / 2).rev().find(|part| ranks.is_multiple_of(*part));
    let shape = Shape { group: part, leaf: part };
    let lowering = Default::default();
    let context = JobContext {
        ranks,
        asked: true,
        seed,
        job: 0,
        message,
        arrival,
        lowering,
        shape,
        names: Arc::default(),
    };
    (entry.build)(&context, &values(entry, given))
}

/// Traffic whose messages a function gives, by rank, index and the time of the one before; nobody answers them.
#[must_use]
pub fn open_loop(message: impl Fn(RankId, u64, Ps) -> Option<Message> + Send + Sync + 'static) -> Work {
    Work::Traffic(Arc::new(OpenLoop(message)))
}

struct OpenLoop<F>(F);

impl<F: Fn(RankId, u64, Ps) -> Option<Message> + Send + Sync> Traffic for OpenLoop<F> {
    fn message(&self, rank: RankId, index: u64, previous: Ps) -> Option<Message> {
        let message = (self.0)(rank, index, previous)?;
        debug_assert!(message.time >= previous, "times never decrease with the index");
        Some(message)
    }
    fn reply(&self, _: RankId, _: RankId, _: u64) -> Option<(RankId, u64)> {
        None
    }
    fn closed_loop(&self) -> bool {
        false
    }
    fn offered_bytes_per_s(&self) -> Option<f64> {
        None
    }
}

/// A link class.
///
/// # Panics
/// If the rate is zero.
#[must_use]
pub fn link(bytes_per_s: u64, latency: Ps, credit_delay: Ps, vc_buffer: u64) -> LinkParams {
    let bandwidth = Bandwidth::new(bytes_per_s, 1).expect("a positive rate");
    LinkParams { bandwidth, latency, credit_delay, vc_buffer }
}
