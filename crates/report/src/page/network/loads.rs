//! What links carried, as shares of their bandwidth: over the whole run, and over time where that was recorded.

use super::graph::{End, Wires};
use crate::page::columns::{find, floats, links};
use base::sorted::SortedMap;
use results::table::Table;

/// Most frames of a page; more are joined.
const MOST_FRAMES: usize = 64;

/// Shares of bandwidth in an interval.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Begin and end, in picoseconds.
    pub span: (f64, f64),
    /// By place of the link.
    pub used: Vec<f64>,
}

/// Loads of all links.
#[derive(Clone, Debug, Default)]
pub struct Loads {
    /// Over the whole run, by place of the link.
    pub mean: Vec<f64>,
    /// Over time; empty if that was not recorded.
    pub frames: Vec<Frame>,
    /// What was delivered to terminals in each frame, in bytes per second; empty if only shares are known.
    pub ejected: Vec<f64>,
    /// Recorded intervals that a frame joins; 0 if there are no frames.
    pub joined: usize,
}

/// Where scales of colour end, as shares of bandwidth: round numbers at or above the busiest link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tops {
    /// Of loads over the whole run.
    pub whole: f64,
    /// Of loads in an interval.
    pub spans: f64,
}

impl Tops {
    /// For pictures that are looked at side by side.
    pub fn of<'a>(all: impl Iterator<Item = &'a Loads> + Clone) -> Self {
        let most = |used: &[f64]| used.iter().copied().fold(0.0, f64::max);
        let whole = all.clone().map(|loads| most(&loads.mean)).fold(0.0, f64::max);
        let spans = all.flat_map(|loads| &loads.frames).map(|f| most(&f.used)).fold(0.0, f64::max);
        Self { whole: round_top(whole), spans: round_top(spans) }
    }
}

/// The least round share that is not below this; 1 for nothing at all.
fn round_top(most: f64) -> f64 {
    const ROUND: [f64; 11] = [0.01, 0.02, 0.03, 0.05, 0.08, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75];
    let round = ROUND.into_iter().find(|top| most <= *top);
    round.filter(|_| most > 0.0).unwrap_or(1.0)
}

impl Loads {
    /// Reads the tables `links`, and `loads` or `series`.
    pub fn of(wires: &Wires, tables: &[Table]) -> Self {
        let mut mean = vec![0.0; wires.all.len()];
        if let Some(table) = find(tables, "links")
            && let (Some(links), Some(used)) = (table.u32_column("link"), floats(table, "utilisation"))
        {
            for (&link, used) in links.iter().zip(used) {
                if let Some(place) = wires.place(link) {
                    mean[place] = used;
                }
            }
        }
        let by_bytes = find(tables, "loads").and_then(|table| recorded(wires, table));
        // One interval says no more than the whole run.
        if let Some(over) = by_bytes.filter(|loads| loads.frames.len() > 1) {
            return Self { mean, ..over };
        }
        let over = find(tables, "series").and_then(|table| shares(wires, table)).unwrap_or_default();
        Self { mean, ..over }
    }
}

/// Frames of the table `loads`, neighbours joined if they are many; and what reached terminals.
fn recorded(wires: &Wires, table: &Table) -> Option<Loads> {
    let (begins, ends) = (table.u64_column("time_ps")?, table.u64_column("until_ps")?);
    let (links, bytes) = (table.u32_column("link")?, table.u64_column("bytes")?);
    let mut spans: Vec<(u64, u64)> = Vec::new();
    for (&begin, &end) in begins.iter().zip(ends) {
        let last = spans.last().map_or(0, |span| span.1);
        // The table has no rows of intervals in which no link carried anything.
        if begin > last {
            spans.push((last, begin));
        }
        if spans.last() != Some(&(begin, end)) {
            spans.push((begin, end));
        }
    }
    let joined = spans.len().div_ceil(MOST_FRAMES).max(1);
    let spans: Vec<(u64, u64)> = spans.chunks(joined).map(|c| (c[0].0, c[c.len() - 1].1)).collect();
    let mut sums = vec![vec![0.0; wires.all.len()]; spans.len()];
    for ((&begin, &link), &bytes) in begins.iter().zip(links).zip(bytes) {
        let frame = spans.partition_point(|span| span.0 <= begin).checked_sub(1)?;
        if let Some(place) = wires.place(link) {
            sums[frame][place] += bytes as f64;
        }
    }
    let mut ejected = Vec::new();
    let frames = spans.iter().zip(sums).map(|(&(begin, end), sums)| {
        let seconds = (end - begin).max(1) as f64 * 1e-12;
        let out = |place: usize| matches!(wires.all[place].to, End::Terminal(_));
        ejected.push(sums.iter().enumerate().filter(|s| out(s.0)).map(|s| s.1).sum::<f64>() / seconds);
        let used = sums.iter().zip(&wires.all).map(|(b, wire)| share(b / seconds, wire.bandwidth)).collect();
        Frame { span: (begin as f64, end as f64), used }
    });
    let frames = frames.collect();
    Some(Loads { mean: Vec::new(), frames, ejected, joined })
}

/// More than 1 by a chunk at most where bytes count when their sending begins.
fn share(rate: f64, bandwidth: f64) -> f64 {
    if bandwidth > 0.0 { rate / bandwidth } else { 0.0 }
}

/// Frames of shares in the table `series`, as the model of flows writes them.
fn shares(wires: &Wires, table: &Table) -> Option<Loads> {
    let (times, what) = (table.u64_column("time_ps")?, table.text_column("quantity")?);
    let (of, values) = (links(table)?, floats(table, "value")?);
    let mut frames = SortedMap::<u64, Vec<f64>>::new();
    for (row, _) in what.iter().enumerate().filter(|w| w.1 == "link_utilisation") {
        if let Some(place) = of[row].and_then(|link| wires.place(link)) {
            frames.entry(times[row]).or_insert_with(|| vec![0.0; wires.all.len()])[place] = values[row];
        }
    }
    let times: Vec<u64> = frames.keys().copied().collect();
    let step = times.windows(2).map(|w| w[1] - w[0]).min().or_else(|| times.first().copied())?.max(1);
    let all: Vec<Frame> = frames
        .into_iter()
        .map(|(time, used)| Frame { span: (time as f64, (time + step) as f64), used })
        .collect();
    let joined = all.len().div_ceil(MOST_FRAMES).max(1);
    let frames = all.chunks(joined).map(join).collect();
    Some(Loads { frames, joined, ..Loads::default() })
}

/// The mean of neighbouring frames.
fn join(frames: &[Frame]) -> Frame {
    let count = frames.len() as f64;
    let of = |place: usize| frames.iter().map(|f| f.used[place]).sum::<f64>() / count;
    let used = (0..frames[0].used.len()).map(of).collect();
    Frame { span: (frames[0].span.0, frames[frames.len() - 1].span.1), used }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_end_at_round_shares() {
        let loads = |mean: f64, span: f64| Loads {
            mean: vec![0.0, mean],
            frames: vec![Frame { span: (0.0, 1.0), used: vec![span] }],
            ..Loads::default()
        };
        let tops = |all: &[Loads]| Tops::of(all.iter());
        assert_eq!(tops(&[loads(0.031, 0.4)]), Tops { whole: 0.05, spans: 0.5 });
        assert_eq!(tops(&[loads(0.031, 0.4), loads(0.92, 0.1)]), Tops { whole: 1.0, spans: 0.5 });
        assert_eq!(tops(&[loads(0.0, 1.2)]), Tops { whole: 1.0, spans: 1.0 });
        assert_eq!(tops(&[]), Tops { whole: 1.0, spans: 1.0 });
    }
}
