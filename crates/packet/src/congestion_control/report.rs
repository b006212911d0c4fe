//! Congestion control in results: the block of the summary, tables `marks` and `injection`.

use super::{by_job::JobSums, closing::Held, config::CongestionControl, scheme::WHOLE};
use crate::{ended::Ended, network::Network};
use base::time::Ps;
use model::{names, setup::JobSetup};
use results::{
    summary::{CongestionControl as Block, ControlledJob},
    table::{Cell, Column, Table},
};

/// A rate in millionths as a fraction.
fn fraction(rate: u64, of: u64) -> f64 {
    rate as f64 / (of * u64::from(WHOLE)) as f64
}

/// The block of the summary; `span` is the measured time, if there is any.
#[must_use]
pub fn block(control: &CongestionControl, jobs: &[JobSetup], ended: &Ended, span: Option<Ps>) -> Block {
    let seconds = span.filter(|&span| span > 0).map(|span| span as f64 / 1e12);
    let each = jobs.iter().zip(&ended.observer.controlled).enumerate();
    let row = |(n, (job, sums)): (usize, (&JobSetup, &JobSums))| {
        let held = over_time(ended, n);
        let (latency, message) = (&sums.latency, &sums.message_latency);
        ControlledJob {
            name: job.name.clone(),
            packets: sums.packets,
            bytes: sums.bytes,
            accepted_bytes_per_s: seconds.map(|s| sums.bytes as f64 / s),
            latency_mean_ps: latency.mean(),
            latency_max_ps: (latency.count > 0).then_some(latency.max),
            message_latency_mean_ps: message.mean(),
            message_latency_max_ps: (message.count > 0).then_some(message.max),
            notifications: sums.notifications,
            held_rate_mean: (held.flows > 0).then(|| fraction(held.rates, held.flows)),
            held_rate_min: (held.flows > 0).then(|| fraction(held.least.into(), 1)),
        }
    };
    Block {
        scheme: control.name.to_owned(),
        marked: ended.control.as_ref().map_or(0, |c| c.marks()),
        notifications: ended.control.as_ref().map_or(0, |c| c.notifications()),
        jobs: each.map(row).collect(),
    }
}

/// Flows of a job that were held back, all samples together.
fn over_time(ended: &Ended, job: usize) -> Held {
    let mut all = Held::default();
    ended.samples.iter().filter_map(|s| s.held.get(job)).for_each(|held| all.merge(*held));
    all
}

/// Tables `marks` and `injection`.
#[must_use]
pub fn tables(net: &Network, jobs: &[JobSetup], ended: &Ended) -> Vec<Table> {
    let Some(control) = &net.control else { return Vec::new() };
    let mut marks = Table::new("marks").with("link", Column::u32s()).with("packets", Column::u32s());
    let mut links = Vec::new();
    for (&link, &packets) in ended.control.iter().flat_map(|c| &c.marked) {
        links.push(link);
        marks.push(&[Cell::U32(link.number()), Cell::U32(packets)]);
    }
    let marks = names::of_links(marks, &net.fabric, &links);
    let mut injection = Table::new("injection")
        .with("time_ps", Column::u64s())
        .with("job", Column::text())
        .with("held_flows", Column::u64s())
        .with("rate_mean", Column::f64s())
        .with("rate_min", Column::f64s());
    let level = control.scheme.level();
    if let Some(level) = level {
        injection = injection
            .with(&format!("{level}_mean"), Column::f64s())
            .with(&format!("{level}_max"), Column::u32s());
    }
    for sample in &ended.samples {
        for (job, held) in jobs.iter().zip(&sample.held).filter(|(_, held)| held.flows > 0) {
            let mut cells = vec![
                Cell::U64(sample.time),
                Cell::Text(&job.name),
                Cell::U64(held.flows),
                Cell::F64(fraction(held.rates, held.flows)),
                Cell::F64(fraction(held.least.into(), 1)),
            ];
            if level.is_some() {
                let mean = held.levels as f64 / held.flows as f64;
                cells.extend([Cell::F64(mean), Cell::U32(held.most)]);
            }
            injection.push(&cells);
        }
    }
    vec![marks, injection]
}
