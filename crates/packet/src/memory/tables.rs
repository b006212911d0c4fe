//! Bytes of what is kept for the tables of results: rows that are gathered in the run, and columns that are made of them when it is over.

use crate::{
    measured::{Row, SeriesWindow},
    sample::Sample,
    setup::Setup,
};
use base::index::LinkId;
use model::memory::written;
use ranks::memory::{ends::windows, sent::Sent};
use results::histogram::Moments;

/// Bytes of a packet's row in columns: four of 32 bits, five of 64.
const PACKET: usize = 4 * 4 + 5 * 8;
/// Bytes of a message's row in columns.
const MESSAGE: usize = 4 * 4 + 3 * 8;
/// A pair in its map, whose blocks are half full at worst, and its row in columns.
const PAIR: usize = 2 * (size_of::<Moments>() + 16) + 2 * 4 + 5 * 8 + 8;
/// A number of the series: its time, name, link and value.
const NUMBER: usize = 8 + 4 + 8 + 8;
/// Numbers of a window that are not of a port.
const NUMBERS: usize = 13;

/// Bytes of so many rows.
pub fn size(rows: u64, bytes: usize) -> u64 {
    rows.saturating_mul(bytes as u64)
}

/// Parts of the prediction, for a run that sends so much and whose network holds so many chunks; none for tables that are not asked for.
///
/// Not counted: tables of congestion control and of service classes, and what programs send that are too long to be read.
pub fn parts(setup: &Setup, sent: Option<Sent>, chunks: u64) -> Vec<(&'static str, u64)> {
    let measure = &setup.measure;
    let row = size_of::<Row>();
    let (messages, packets) = sent.map_or((0, 0), |sent| (sent.messages, sent.packets));
    let operations = ranks::memory::sent::recorded(&setup.jobs, measure.operations);
    let mut parts = vec![("tables of operations", operations)];
    // Rows are copied to be sorted, one table after the other.
    let (mut most, mut kept) = (0, 0);
    if measure.packets {
        (most, kept) = (packets, size(packets, row + PACKET));
    }
    if measure.messages {
        (most, kept) = (most.max(messages), kept + size(messages, row + MESSAGE));
    }
    parts.push(("rows of tables", kept + size(most, row) + written(most)));
    if measure.pairs {
        let terminals = u64::from(setup.fabric.terminals());
        let pairs = sent.map_or(0, |sent| sent.pairs.min(sent.messages));
        parts.push(("pairs", size(pairs.min(terminals * terminals), PAIR)));
    }
    if measure.window > 0 {
        let lines = setup.fabric.ports().len() as u64 + u64::from(setup.fabric.terminals());
        // Only ports at which something waits have a number.
        let ports = if measure.per_port { lines.min(chunks) } else { 0 };
        let sums =
            size_of::<Sample>() + size_of::<SeriesWindow>() + setup.jobs.len() * 8 + 32 + NUMBERS * NUMBER;
        let each = size(ports, NUMBER + size_of::<(LinkId, u32)>()) + sums as u64;
        let rate = setup.links.first().map_or(f64::INFINITY, |link| link.bandwidth.bytes_per_s());
        let windows = windows(&setup.jobs, setup.until, measure.window, rate);
        let rows = windows.saturating_mul(ports.saturating_add(NUMBERS as u64));
        parts.push(("series", windows.saturating_mul(each).saturating_add(written(rows))));
    }
    parts
}
