//! What tests of the flow model are made of.

use base::{index::RankId, time::Ps};
use fabric::{graph::Fabric, routing::Routing};
use flow::{FlowConfig, FlowSetup, samples};
use model::{samples::open_loop, setup::Measure};
use std::sync::Arc;
use workload::{registry::Work, traffic::Message};

pub const US: Ps = 1_000_000;

/// Messages one by one: time, source, destination, bytes.
pub fn list(messages: Vec<(Ps, u32, u32, u64)>) -> Work {
    open_loop(move |rank, index, _| {
        let of = messages.iter().filter(|m| m.1 == rank.number()).nth(index as usize)?;
        Some(Message { time: of.0, destination: RankId::new(of.2), bytes: of.3 })
    })
}

/// A setup that is checked and keeps messages and pairs. All links of a fabric have 1 GB/s and 1 us.
pub fn setup(
    fabric: &Arc<Fabric>,
    routing: Option<Arc<dyn Routing>>,
    work: Work,
    config: FlowConfig,
) -> FlowSetup {
    let measure = Measure { messages: true, pairs: true, ..Measure::default() };
    FlowSetup { measure, check: true, ..samples::setup(fabric, routing, work, config) }
}
