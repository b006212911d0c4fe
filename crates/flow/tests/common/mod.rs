//! What tests of the flow model are made of.

use base::{index::RankId, time::Ps};
use fabric::{graph::Fabric, routing::Routing};
use flow::{FlowConfig, FlowSetup};
use model::setup::{JobSetup, Measure, Until};
use packet::samples;
use std::sync::Arc;
use workload::{
    registry::Work,
    traffic::{Message, Traffic},
};

pub const US: Ps = 1_000_000;

/// Messages one by one: time, source, destination, bytes.
pub struct List(pub Vec<(Ps, u32, u32, u64)>);

impl Traffic for List {
    fn message(&self, rank: RankId, index: u64, _: Ps) -> Option<Message> {
        let of = self.0.iter().filter(|m| m.1 == rank.number()).nth(index as usize)?;
        Some(Message { time: of.0, destination: RankId::new(of.2), bytes: of.3 })
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

/// One job on all terminals, until it is done. All links of a fabric 1 GB/s and 1 us; a platform, which has no routing, has its own.
pub fn setup(
    fabric: &Arc<Fabric>,
    routing: Option<Arc<dyn Routing>>,
    work: Work,
    config: FlowConfig,
) -> FlowSetup {
    let link = samples::link(1_000_000_000, US, 2, 1024);
    FlowSetup {
        fabric: Arc::clone(fabric),
        change: None,
        links: if routing.is_some() { vec![link; fabric.classes().len()] } else { Vec::new() },
        routing,
        jobs: vec![JobSetup {
            name: "job".to_owned(),
            work,
            placement: fabric.reachable().collect(),
            message: None,
            start: 0,
            compute_ppb: JobSetup::COMPUTE_AS_IS,
        }],
        config,
        seed: 1,
        until: Until::WorkloadDone { limit: 1 << 58 },
        warmup: 0,
        measure: Measure { messages: true, pairs: true, ..Measure::default() },
        check: true,
        energy: None,
        node: None,
    }
}
