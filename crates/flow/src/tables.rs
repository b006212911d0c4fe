//! Tidy tables of a run: topology, links, series, and on demand pairs, messages and operations.

use super::{
    context::{Context, FlowSetup},
    ended::{Ended, LinkUse},
};
use base::{index::LinkId, time::Ps};
use fabric::{links::End, platform::Platform};
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

/// All tables that the setup asks for.
#[must_use]
pub fn all(
    setup: &FlowSetup,
    cx: &Context,
    ended: &Ended,
    causes: Option<&Causes<'_>>,
    uses: &[LinkUse],
) -> Vec<Table> {
    let mut tables = vec![topology(cx, uses), links(cx, uses), series(cx, ended)];
    tables.push(histogram::table(&[("message", &ended.observer.latency)]));
    if cx.measure.pairs {
        tables.push(pairs(cx, ended));
    }
    if cx.measure.messages {
        tables.push(messages(ended));
    }
    let jobs: Vec<JobOf<'_>> = setup.jobs.iter().map(JobSetup::described).collect();
    tables.extend(ended.observer.tally.tables(&jobs, &cx.roster, cx.rank.cells(), causes));
    tables
}

/// A platform's links have a name and no ends.
fn topology(cx: &Context, uses: &[LinkUse]) -> Table {
    let row = |u: &LinkUse| {
        let link = LinkId::new(u.link);
        let (class, bandwidth, latency) = match (cx.platform(), u.class) {
            (None, Some(class)) => {
                let params = &cx.links[usize::from(class)];
                (cx.fabric.classes()[usize::from(class)], params.bandwidth.bytes_per_s(), params.latency)
            }
            (Some(platform), _) => {
                let link = &platform.links[u.link as usize];
                (link.name.as_str(), link.bandwidth, (link.latency * 1e12).round() as Ps)
            }
            _ => ("", 0.0, 0),
        };
        let ends = match cx.platform() {
            Some(_) => (End::Nowhere, End::Nowhere),
            None => cx.fabric.ends_of_link(link),
        };
        LinkRow { link, ends, class, bandwidth, latency, buffer: None }
    };
    topology::table(&cx.fabric, false, uses.iter().map(row))
}

fn numbers(uses: &[LinkUse]) -> Vec<LinkId> {
    uses.iter().map(|u| LinkId::new(u.link)).collect()
}

/// One row per directed link: bytes and utilisation over the whole run.
fn links(cx: &Context, uses: &[LinkUse]) -> Table {
    let mut table = Table::new("links")
        .with("link", Column::u32s())
        .with("bytes", Column::f64s())
        .with("utilisation", Column::f64s());
    for u in uses {
        table.push(&[Cell::U32(u.link), Cell::F64(u.bytes), Cell::F64(u.utilisation)]);
    }
    names::of_links(table, &cx.fabric, &numbers(uses))
}

/// Long form: time, quantity, link (none: all links together), value.
fn series(cx: &Context, ended: &Ended) -> Table {
    let mut table = Table::new("series")
        .with("time_ps", Column::u64s())
        .with("quantity", Column::text())
        .with("link", Column::maybe())
        .with("value", Column::f64s());
    let length = cx.measure.window;
    // What hosts of a platform send to themselves is on no link of its file.
    let listed = cx.platform().map_or(u32::MAX, Platform::loopback);
    for u in &ended.domain.sharing.usage.by_window {
        for &(link, bytes) in u.links.iter().filter(|used| used.0 < listed) {
            let most = ended.domain.sharing.bandwidth(link) * length as f64 * 1e-12;
            let used = if most > 0.0 { bytes / most } else { 0.0 };
            let time = Cell::U64(u.window * length);
            table.push(&[time, Cell::Text("link_utilisation"), Cell::U32(link), Cell::F64(used)]);
        }
    }
    for (n, w) in ended.observer.windows.iter().enumerate() {
        for (what, value) in
            [("messages_created", w.begun), ("messages_delivered", w.delivered), ("bytes_delivered", w.bytes)]
        {
            let time = Cell::U64(n as u64 * length);
            table.push(&[time, Cell::Text(what), Cell::Missing, Cell::F64(value as f64)]);
        }
    }
    table
}

/// One row per pair of terminals with messages.
fn pairs(cx: &Context, ended: &Ended) -> Table {
    let mut table = Table::new("pairs")
        .with("source", Column::u32s())
        .with("destination", Column::u32s())
        .with("messages", Column::u64s())
        .with("bytes", Column::u64s())
        .with("latency_min_ps", Column::u64s())
        .with("latency_mean_ps", Column::f64s())
        .with("latency_max_ps", Column::u64s());
    for (&(source, destination), p) in &ended.observer.pairs {
        table.push(&[
            Cell::U32(source.number()),
            Cell::U32(destination.number()),
            Cell::U64(p.latency.count),
            Cell::U64(p.bytes),
            Cell::U64(p.latency.min),
            Cell::F64(p.latency.mean().unwrap_or(0.0)),
            Cell::U64(p.latency.max),
        ]);
    }
    let pairs: Vec<_> = ended.observer.pairs.keys().copied().collect();
    names::of_pairs(table, &cx.fabric, &pairs)
}

/// One row per message, by time of delivery. `delivered_exact_ps` is the time before it was rounded.
fn messages(ended: &Ended) -> Table {
    let mut rows: Vec<_> = ended.observer.rows.iter().collect();
    rows.sort_by_key(|r| (r.delivered, r.source, r.number));
    let u32s = |f: fn(&super::observe::Row) -> u32| Column::U32(rows.iter().map(|r| f(r)).collect());
    let u64s = |f: fn(&super::observe::Row) -> u64| Column::U64(rows.iter().map(|r| f(r)).collect());
    Table::new("messages")
        .with("source", u32s(|r| r.source.number()))
        .with("number", u32s(|r| r.number))
        .with("destination", u32s(|r| r.destination.number()))
        .with("created_ps", u64s(|r| r.created))
        .with("delivered_ps", u64s(|r| r.delivered))
        .with("latency_ps", u64s(|r| r.delivered - r.created))
        .with("bytes", u64s(|r| r.bytes))
        .with("delivered_exact_ps", Column::F64(rows.iter().map(|r| r.exact).collect()))
}
