//! Ready-made setups for tests, benchmarks and programs that embed the model.

use crate::{config::FlowConfig, context::FlowSetup};
use base::time::Ps;
use fabric::{graph::Fabric, routing::Routing};
use model::{
    samples::link,
    setup::{JobSetup, Measure, Until},
};
use std::sync::Arc;
use workload::registry::Work;

/// Latency of the links, 1 us; they have 1 GB/s.
pub const LATENCY: Ps = 1_000_000;

/// One job on all terminals, until it is done. A platform has links of its own and no routing.
#[must_use]
pub fn setup(
    fabric: &Arc<Fabric>,
    routing: Option<Arc<dyn Routing>>,
    work: Work,
    config: FlowConfig,
) -> FlowSetup {
    let link = link(1_000_000_000, LATENCY, 2, 1024);
    debug_assert!(link.latency > 0 && config.max_flows > 0, "messages take time, and some may be under way");
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
        measure: Measure::default(),
        check: false,
        energy: None,
        node: None,
    }
}
