//! The table `topology`: the one place that says which links a network has. Whatever draws a network reads it, never a model.

use crate::names;
use base::{index::LinkId, time::Ps};
use fabric::{graph::Fabric, links::End};
use results::table::{Cell, Column, Table};

/// A directed link as the table shows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkRow<'a> {
    /// Number of the link, as in all other tables.
    pub link: LinkId,
    /// Where it begins and ends; nowhere if the network gives its links no ends.
    pub ends: (End, End),
    /// Name of its class, or its own where links have names.
    pub class: &'a str,
    /// Bytes that it carries in a second.
    pub bandwidth: f64,
    /// Picoseconds from one end to the other.
    pub latency: Ps,
    /// Bytes that a virtual channel's buffer behind it holds; only of models that have buffers.
    pub buffer: Option<u64>,
}

/// One row per directed link: what it connects and what it is like. A column for buffers stands only where `buffers` is set.
///
/// # Panics
/// If a row knows of a buffer and there is no column for it, or the other way round.
#[must_use]
pub fn table<'a>(fabric: &Fabric, buffers: bool, rows: impl IntoIterator<Item = LinkRow<'a>>) -> Table {
    let mut table = Table::new("topology")
        .with("link", Column::u32s())
        .with("from_kind", Column::text())
        .with("from", Column::u32s())
        .with("from_port", Column::u32s())
        .with("to_kind", Column::text())
        .with("to", Column::u32s())
        .with("to_port", Column::u32s())
        .with("class", Column::text())
        .with("bandwidth_bytes_per_s", Column::f64s())
        .with("latency_ps", Column::u64s());
    if buffers {
        table = table.with("vc_buffer_bytes", Column::u64s());
    }
    let mut links = Vec::new();
    for row in rows {
        let (from, to) = (row.ends.0.columns(), row.ends.1.columns());
        let cells = [
            Cell::U32(row.link.number()),
            Cell::Text(from.kind),
            Cell::U32(from.number),
            Cell::U32(from.port),
            Cell::Text(to.kind),
            Cell::U32(to.number),
            Cell::U32(to.port),
            Cell::Text(row.class),
            Cell::F64(row.bandwidth),
            Cell::U64(row.latency),
            Cell::U64(row.buffer.unwrap_or(0)),
        ];
        assert_eq!(row.buffer.is_some(), buffers, "buffers are known of all links or of none");
        table.push(if buffers { &cells } else { &cells[..cells.len() - 1] });
        links.push(row.link);
    }
    names::of_links(table, fabric, &links)
}
