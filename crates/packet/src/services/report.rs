//! What is said of service classes after a run: the summary's block, a table.

use super::classes::Services;
use crate::{measured::Measured, network::Network, setup::Setup};
use base::{index::TerminalId, time::Ps};
use model::{setup::JobSetup, throughput::throughput};
use results::{
    summary::ServiceClass,
    table::{Cell, Column, Table},
};

/// The summary's blocks, a class each; none without classes.
#[must_use]
pub fn blocks(setup: &Setup, measured: &Measured, simulated: Ps) -> Vec<ServiceClass> {
    let Some(services) = &setup.services else { return Vec::new() };
    let (rate, rails) = (setup.links[0].bandwidth.bytes_per_s(), setup.fabric.planes());
    let measured_time = setup.warmup..simulated;
    let each = services.names.iter().zip(&measured.services).enumerate();
    each.map(|(class, (name, sums))| {
        let jobs = of_class(services, &setup.jobs, class);
        let throughput =
            if jobs.is_empty() { None } else { throughput(&jobs, rate, rails, sums.bytes, &measured_time) };
        ServiceClass { name: name.clone(), latency_ps: sums.latency.latency(), throughput }
    })
    .collect()
}

fn of_class(services: &Services, jobs: &[JobSetup], class: usize) -> Vec<JobSetup> {
    let with = jobs.iter().zip(&services.of_job);
    with.filter(|(_, of)| usize::from(**of) == class).map(|(job, _)| job.clone()).collect()
}

/// The same as a table; none without classes.
#[must_use]
pub fn table(setup: &Setup, net: &Network, measured: &Measured, simulated: Ps) -> Option<Table> {
    net.services.as_ref()?;
    let mut table = Table::new("service_classes")
        .with("class", Column::text())
        .with("packets", Column::u64s())
        .with("latency_mean_ps", Column::f64s())
        .with("latency_p99_ps", Column::u64s())
        .with("accepted_fraction", Column::f64s())
        .with("accepted_bytes_per_s", Column::f64s());
    for block in blocks(setup, measured, simulated) {
        let (latency, throughput) = (block.latency_ps, block.throughput);
        table.push(&[
            Cell::Text(&block.name),
            Cell::U64(latency.map_or(0, |l| l.count)),
            Cell::F64(latency.map_or(0.0, |l| l.mean)),
            Cell::U64(latency.map_or(0, |l| l.p99)),
            Cell::F64(throughput.map_or(0.0, |t| t.accepted_fraction)),
            Cell::F64(throughput.map_or(0.0, |t| t.accepted_bytes_per_s)),
        ]);
    }
    Some(table)
}

/// Class of the job that a terminal serves, by terminal.
#[must_use]
pub fn class_of(net: &Network, terminal: TerminalId) -> usize {
    net.services.as_ref().map_or(0, |s| usize::from(s.of_terminal(net.rank[terminal].0)))
}
