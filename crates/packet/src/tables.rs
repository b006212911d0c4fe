//! Tidy tables of a run: topology, links, series, and on demand pairs, packets and messages.

use super::{
    congestion_control,
    ended::{Carried, Ended, utilisation},
    measured::{Measured, Row},
    network::Network,
};
use crate::{services, setup::Setup};
use base::{
    index::{LinkId, TerminalId},
    time::Ps,
};
use model::{
    names,
    setup::{JobOf, JobSetup},
    topology::{self, LinkRow},
};
use ranks::critical::Causes;
use results::{
    histogram,
    table::{Cell, Column, Table},
};

/// How long a run took in virtual time.
#[derive(Clone, Copy)]
pub struct Times {
    /// Until its end.
    pub simulated: Ps,
    /// Without what packets bypassed the network.
    pub fidelity: Ps,
}

/// All tables that the setup asks for.
#[must_use]
pub fn all(
    setup: &Setup,
    net: &Network,
    ended: &Ended,
    causes: Option<&Causes<'_>>,
    times: Times,
) -> Vec<Table> {
    let Times { simulated, fidelity } = times;
    debug_assert!(fidelity <= simulated, "the network is a part of a run");
    let mut tables = vec![topology(net), links(net, ended, fidelity), series(setup, net, ended)];
    let (packets, messages) = (&ended.observer.latency, &ended.observer.message_latency);
    tables.push(histogram::table(&[("packet", packets), ("message", messages)]));
    let last = |link| ended.sent.get(&link).map_or(0, |carried| carried.bytes);
    tables.extend(ended.loads.as_ref().map(|loads| loads.table(simulated, last)));
    if setup.measure.pairs {
        tables.push(pairs(net, &ended.observer));
    }
    if setup.measure.packets {
        tables.push(rows(net, "packets", &ended.observer.packet_rows, true));
    }
    if setup.measure.messages {
        tables.push(rows(net, "messages", &ended.observer.message_rows, false));
    }
    tables.extend(congestion_control::report::tables(net, &setup.jobs, ended));
    tables.extend(services::report::table(setup, net, &ended.observer, simulated));
    let jobs: Vec<JobOf<'_>> = setup.jobs.iter().map(JobSetup::described).collect();
    tables.extend(ended.observer.tally.tables(&jobs, &net.roster, net.rank.cells(), causes));
    tables
}

fn topology(net: &Network) -> Table {
    let plugged = LinkId::first(net.fabric.links()).filter(|link| !net.fabric.is_unplugged(*link));
    let row = |link| {
        let timing = net.timing_of(link);
        LinkRow {
            link,
            ends: net.fabric.ends_of_link(link),
            class: net.fabric.classes()[usize::from(net.fabric.class_of_link(link))],
            bandwidth: timing.bytes_per_s(),
            latency: timing.latency,
            buffer: Some(u64::from(timing.capacity) * u64::from(net.config.chunk)),
        }
    };
    topology::table(&net.fabric, true, plugged.map(row))
}

/// One row per directed link: chunks carried and utilisation, over the whole run but for the time in which packets bypassed the network.
fn links(net: &Network, ended: &Ended, simulated: Ps) -> Table {
    let mut table = Table::new("links")
        .with("link", Column::u32s())
        .with("chunks", Column::u32s())
        .with("utilisation", Column::f64s());
    let mut plugged = Vec::new();
    for (&link, &Carried { chunks, busy, .. }) in &ended.sent {
        if !net.fabric.is_unplugged(link) {
            plugged.push(link);
            let used = if simulated == 0 { 0.0 } else { utilisation(busy, simulated) };
            table.push(&[Cell::U32(link.number()), Cell::U32(chunks), Cell::F64(used)]);
        }
    }
    names::of_links(table, &net.fabric, &plugged)
}

/// Long form: time, quantity, link (none: all links together), value.
fn series(setup: &Setup, net: &Network, ended: &Ended) -> Table {
    let mut table = Table::new("series")
        .with("time_ps", Column::u64s())
        .with("quantity", Column::text())
        .with("link", Column::maybe())
        .with("value", Column::f64s());
    let chunk = u64::from(net.config.chunk);
    for s in &ended.samples {
        let mut push = |what: &str, link: Cell<'_>, value: f64| {
            table.push(&[Cell::U64(s.time), Cell::Text(what), link, Cell::F64(value)]);
        };
        push("buffered_bytes", Cell::Missing, (s.occupied * chunk) as f64);
        push("queued_bytes", Cell::Missing, (s.queued * chunk) as f64);
        push("chunk_hops_total", Cell::Missing, s.chunk_hops as f64);
        push("lagging_sources", Cell::Missing, s.lagging as f64);
        for &(link, backlog) in &s.ports {
            push("port_backlog_bytes", Cell::U32(link.number()), (u64::from(backlog) * chunk) as f64);
        }
    }
    for (n, w) in ended.observer.windows.iter().enumerate() {
        let time = n as u64 * setup.measure.window;
        let mut push = |what: &str, value: f64| {
            table.push(&[Cell::U64(time), Cell::Text(what), Cell::Missing, Cell::F64(value)]);
        };
        push("packets_created", w.created as f64);
        push("packets_delivered", w.latency.count as f64);
        push("bytes_delivered", w.bytes as f64);
        if net.distances.is_some() {
            push("packets_detoured", w.detoured as f64);
        }
        push("latency_sum_ps", w.latency.sum as f64);
        push("latency_squares_ps2", w.latency.squares as f64);
        if w.latency.count > 0 {
            push("latency_min_ps", w.latency.min as f64);
            push("latency_max_ps", w.latency.max as f64);
        }
    }
    table
}

/// One row per pair of nodes with traffic.
fn pairs(net: &Network, observer: &Measured) -> Table {
    let mut table = Table::new("pairs")
        .with("source", Column::u32s())
        .with("destination", Column::u32s())
        .with("packets", Column::u64s())
        .with("bytes", Column::u64s())
        .with("latency_min_ps", Column::u64s())
        .with("latency_mean_ps", Column::f64s())
        .with("latency_max_ps", Column::u64s());
    for (&(source, destination), (m, bytes)) in &observer.pairs {
        table.push(&[
            Cell::U32(source.number()),
            Cell::U32(destination.number()),
            Cell::U64(m.count),
            Cell::U64(*bytes),
            Cell::U64(m.min),
            Cell::F64(m.mean().unwrap_or(0.0)),
            Cell::U64(m.max),
        ]);
    }
    let pairs: Vec<_> = observer.pairs.keys().copied().collect();
    names::of_pairs(table, &net.fabric, &pairs)
}

/// One row per packet or message, by time of delivery. Sources and destinations are nodes; with several planes, `rail` says the
/// terminals, and `number` counts the messages of one.
fn rows(net: &Network, name: &str, rows: &[Row], packets: bool) -> Table {
    let mut sorted = rows.to_vec();
    sorted.sort_unstable();
    let u32s = |f: fn(&Row) -> u32| Column::U32(sorted.iter().map(f).collect());
    let u64s = |f: fn(&Row) -> u64| Column::U64(sorted.iter().map(f).collect());
    let node = |f: fn(&Row) -> TerminalId| {
        Column::U32(sorted.iter().map(|r| net.fabric.node_of(f(r)).number()).collect())
    };
    let mut table = Table::new(name)
        .with("source", node(|r| r.source))
        .with("number", u32s(|r| r.number))
        .with("destination", node(|r| r.destination))
        .with("created_ps", u64s(|r| r.created))
        .with("delivered_ps", u64s(|r| r.delivered))
        .with("latency_ps", u64s(|r| r.delivered - r.created));
    if net.rails.several() {
        let rail = sorted.iter().map(|r| net.fabric.plane_of(r.source)).collect();
        table = table.with("rail", Column::U32(rail));
    }
    if !packets {
        return table;
    }
    table
        .with("message_created_ps", u64s(|r| r.message_created))
        .with("bytes", u32s(|r| r.bytes))
        .with("hops", u32s(|r| u32::from(r.hops)))
}
