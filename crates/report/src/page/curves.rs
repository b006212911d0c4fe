//! Charts of latencies and of what happens over time; a curve for each run.

use super::{
    chart::{Caption, Chart, wide},
    columns::{find, floats},
    network::Loads,
    run::Finished,
    words::time_unit,
};
use crate::plot::{Axis, Facet, Mark, Plot, Series, Style, Ticks};
use results::{summary::LatencyParts, table::Table};

/// Most points of a curve.
const MOST_POINTS: usize = 300;

/// A point without an error bar.
fn mark(x: f64, y: f64) -> Mark {
    Mark { x, y, bar: None, hollow: false }
}

/// A curve with its name.
type Curve = (String, Vec<(f64, f64)>);

/// Curves of a chart.
type Curves = Vec<Curve>;

/// A chart of curves; `None` if there are none.
fn chart(
    runs: &[Finished<'_>],
    Caption { id, title, note }: Caption<'_>,
    x: Axis,
    y: Axis,
    style: Style,
    curves: Curves,
) -> Option<Chart> {
    let least = usize::from(style == Style::Lines);
    // A run looks the same on all charts, also where others have no curve.
    let curve = |name: &str| curves.iter().find(|c| c.0 == name && c.1.len() > least).map(|c| &c.1);
    let of: Vec<Option<&Vec<(f64, f64)>>> = runs.iter().map(|run| curve(run.name)).collect();
    if of.iter().all(Option::is_none) {
        return None;
    }
    let series = |(name, points): (usize, &Option<&Vec<(f64, f64)>>)| {
        let points = points.map_or(&[][..], Vec::as_slice);
        let every = points.len().div_ceil(MOST_POINTS).max(1);
        let kept = points.iter().enumerate().filter(|(n, _)| n % every == 0 || n + 1 == points.len());
        Series { name, marks: kept.map(|(_, &(x, y))| mark(x, y)).collect() }
    };
    let facet = Facet { title: String::new(), series: of.iter().enumerate().map(series).collect() };
    let (drawn, all) = (facet.series.iter().map(|s| s.marks.len()), of.iter().flatten().map(|p| p.len()));
    let (drawn, all): (usize, usize) = (drawn.sum(), all.sum());
    let mut note = note.to_owned();
    if drawn < all {
        note += &format!(" {drawn} of {all} points are drawn.");
    }
    let without = runs.iter().zip(&of).filter(|r| r.1.is_none()).map(|r| r.0.name);
    let without: Vec<&str> = without.collect();
    if !without.is_empty() {
        note += &format!(" Without these numbers: {}.", without.join(", "));
    }
    let names = runs.iter().map(|run| run.name.to_owned()).collect();
    let plot = Plot { x, y, names, facets: vec![facet], ..wide(style) };
    Some(Chart { id: id.to_owned(), title: title.to_owned(), note, plot })
}

fn axis(label: impl Into<String>) -> Axis {
    Axis { label: label.into(), ..Axis::default() }
}

/// Distribution of a latency: the share of packets that were there within a time.
fn distribution(runs: &[Finished<'_>], of: &str, id: &str) -> Option<Chart> {
    let cells = |table: &Table| -> Option<Vec<(f64, f64)>> {
        let (whose, to, count) =
            (table.text_column("of")?, table.u64_column("to_ps")?, table.u64_column("count")?);
        let rows: Vec<usize> = whose.iter().enumerate().filter(|w| w.1 == of).map(|w| w.0).collect();
        let all: f64 = rows.iter().map(|&row| count[row] as f64).sum();
        let mut sum = 0.0;
        let step = |&row: &usize| {
            sum += count[row] as f64;
            (to[row] as f64, sum / all)
        };
        Some(rows.iter().map(step).collect())
    };
    let all: Vec<(&Finished<'_>, Vec<(f64, f64)>)> = runs
        .iter()
        .filter_map(|run| Some((run, find(run.tables, "latencies").and_then(cells)?)))
        .filter(|(_, points)| !points.is_empty())
        .collect();
    let most = all.iter().flat_map(|c| &c.1).map(|p| p.0).fold(0.0, f64::max);
    let least = all.iter().flat_map(|c| &c.1).map(|p| p.0).fold(f64::INFINITY, f64::min);
    let (unit, size) = time_unit(most / 4.0);
    let logarithmic = most > 20.0 * least;
    let curves = all
        .into_iter()
        .map(|(run, points)| (run.name.to_owned(), points.into_iter().map(|(x, y)| (x / size, y)).collect()));
    let x = Axis { logarithmic, ..axis(format!("{of} latency ({unit})")) };
    let y = Axis { min: Some(0.0), max: Some(1.0), ..axis(format!("share of {of}s")) };
    let note = format!(
        "Share of {of}s that were delivered within a time. Steep is even; a long tail to the right is a few that waited."
    );
    let caption = Caption { id, title: &format!("Latency of {of}s"), note: &note };
    chart(runs, caption, x, y, Style::Lines, curves.collect())
}

/// Where packets spend their time, a row of bars for each run.
fn parts(runs: &[Finished<'_>]) -> Option<Chart> {
    let with: Vec<_> = runs.iter().filter_map(|r| Some((r.name, r.summary.latency_parts_ps?))).collect();
    let most = with.iter().flat_map(|(_, p)| p.to_array()).fold(0.0, f64::max);
    let (unit, size) = time_unit(most);
    let curves = with.iter().map(|(name, parts)| {
        let points = parts.to_array().iter().enumerate().map(|(n, ps)| (n as f64, ps / size)).collect();
        ((*name).to_owned(), points)
    });
    let names = ["source", "adapter", "hop queue", "serial.", "router", "wire", "reorder"].map(str::to_owned);
    debug_assert_eq!(names.len(), LatencyParts::COUNT);
    let x = Axis { ticks: Ticks::Named, names: names.to_vec(), ..axis("part of the path") };
    let y = axis(format!("mean per packet ({unit})"));
    let note = "The parts sum to the mean latency. Queues (at the source, at hops) are what load adds.";
    let caption = Caption { id: "parts", title: "Where packets spend their time", note };
    chart(runs, caption, x, y, Style::Bars, curves.collect())
}

/// Packets by routers visited.
fn hops(runs: &[Finished<'_>]) -> Option<Chart> {
    let curves = runs.iter().map(|run| {
        let all: f64 = run.summary.latency_by_hops.iter().map(|h| h.count as f64).sum();
        let share = |count: u64| count as f64 / all.max(1.0);
        let points = run.summary.latency_by_hops.iter().map(|h| (f64::from(h.hops), share(h.count)));
        (run.name.to_owned(), points.collect())
    });
    let note = "More routers than the network's shortest paths need are detours of an adaptive routing.";
    let (x, y) = (axis("routers visited"), Axis { min: Some(0.0), ..axis("share of packets") });
    let caption = Caption { id: "hops", title: "Length of paths", note };
    chart(runs, caption, whole(x, runs), y, Style::Bars, curves.collect())
}

/// Ends of the axis of hops half a bar beyond them.
fn whole(axis: Axis, runs: &[Finished<'_>]) -> Axis {
    let hops = || runs.iter().flat_map(|run| &run.summary.latency_by_hops).map(|h| f64::from(h.hops));
    let (least, most) = (hops().fold(f64::INFINITY, f64::min), hops().fold(0.0, f64::max));
    if least > most { axis } else { Axis { min: Some(least - 0.6), max: Some(most + 0.6), ..axis } }
}

/// Messages by size, of runs that count them.
pub fn sizes(runs: &[Finished<'_>]) -> Option<Chart> {
    let mut labels: Vec<u64> = Vec::new();
    let read = |run: &Finished<'_>| -> Option<(String, Vec<(u64, f64)>)> {
        let table = find(run.tables, "message_sizes")?;
        let (from, count) = (table.u64_column("from_bytes")?, table.u64_column("messages")?);
        Some((run.name.to_owned(), from.iter().zip(count).map(|(&f, &c)| (f, c as f64)).collect()))
    };
    let all: Vec<_> = runs.iter().filter_map(read).collect();
    all.iter().flat_map(|run| &run.1).for_each(|(from, _)| labels.push(*from));
    labels.sort_unstable();
    labels.dedup();
    let place = |from: u64| labels.iter().position(|label| *label == from).unwrap_or(0) as f64;
    let curves =
        all.iter().map(|(name, points)| (name.clone(), points.iter().map(|&(f, c)| (place(f), c)).collect()));
    let short = |from: &u64| super::words::bytes(*from as f64).replace(' ', "");
    // Every other name where they are many, so that they do not touch.
    let every = labels.len().div_ceil(9).max(1);
    let names = labels
        .iter()
        .enumerate()
        .map(|(n, l)| if n % every == 0 { short(l) } else { String::new() })
        .collect();
    let x = Axis { ticks: Ticks::Named, names, ..axis("size of message, from (to twice as much)") };
    let caption = Caption { id: "sizes", title: "Sizes of messages", note: "" };
    chart(runs, caption, x, axis("messages"), Style::Bars, curves.collect())
}

/// A quantity of the series that is about all links together.
fn series(run: &Finished<'_>, quantity: &str) -> Vec<(f64, f64)> {
    let read = || {
        let table = find(run.tables, "series")?;
        let (times, what) = (table.u64_column("time_ps")?, table.text_column("quantity")?);
        let values = floats(table, "value")?;
        let rows = what.iter().enumerate().filter(|w| w.1 == quantity);
        Some(rows.map(|(row, _)| (times[row] as f64, values[row])).collect())
    };
    read().unwrap_or_default()
}

/// Length of the windows of a series.
fn window(points: &[(f64, f64)]) -> f64 {
    points.windows(2).map(|w| w[1].0 - w[0].0).fold(f64::INFINITY, f64::min)
}

/// Delivered bytes per second: by windows of the series, or by what links to terminals carried.
fn throughput(run: &Finished<'_>, loads: Option<&Loads>) -> Vec<(f64, f64)> {
    let points = series(run, "bytes_delivered");
    let length = window(&points);
    if length.is_finite() {
        return points.iter().map(|p| (p.0 + length / 2.0, p.1 / (length * 1e-12))).collect();
    }
    let frames = loads.map_or(&[][..], |loads| &loads.frames);
    let ejected = loads.map_or(&[][..], |loads| &loads.ejected);
    frames.iter().zip(ejected).map(|(f, &rate)| ((f.span.0 + f.span.1) / 2.0, rate)).collect()
}

/// A chart over time.
fn over_time(
    runs: &[Finished<'_>],
    caption: Caption<'_>,
    label: &str,
    divisor: f64,
    of: &dyn Fn(usize) -> Vec<(f64, f64)>,
) -> Option<Chart> {
    let most = runs.iter().map(|run| run.summary.simulated_ps as f64).fold(0.0, f64::max);
    let (unit, size) = time_unit(most);
    let curves = runs.iter().enumerate().map(|(n, run)| {
        (run.name.to_owned(), of(n).into_iter().map(|(t, v)| (t / size, v / divisor)).collect())
    });
    let low = Axis { min: Some(0.0), ..axis(label) };
    chart(
        runs,
        caption,
        Axis { min: Some(0.0), max: Some(most / size), ..axis(format!("simulated time ({unit})")) },
        low,
        Style::Lines,
        curves.collect(),
    )
}

/// Charts of the distribution of latencies.
pub fn latencies(runs: &[Finished<'_>]) -> Vec<Chart> {
    let packets = distribution(runs, "packet", "cdf-packet");
    let messages = distribution(runs, "message", "cdf-message");
    [packets, messages, parts(runs), hops(runs)].into_iter().flatten().collect()
}

/// Charts over time; `loads` by run.
pub fn over(runs: &[Finished<'_>], loads: &[Option<&Loads>]) -> Vec<Chart> {
    let rates = |n: usize| throughput(&runs[n], loads[n]);
    let most = (0..runs.len()).flat_map(rates).map(|p| p.1).fold(0.0, f64::max);
    let (rate_unit, rate_size) = [("MB/s", 1e6), ("GB/s", 1e9), ("TB/s", 1e12)]
        .into_iter()
        .rfind(|u| most >= u.1)
        .unwrap_or(("kB/s", 1e3));
    let label = format!("delivered ({rate_unit})");
    let delivered = over_time(
        runs,
        Caption {
            id: "throughput",
            title: "Throughput over time",
            note: "What all terminals together received.",
        },
        &label,
        rate_size,
        &rates,
    );
    let held = |n: usize| series(&runs[n], "buffered_bytes");
    let most = (0..runs.len()).flat_map(held).map(|p| p.1).fold(0.0, f64::max);
    let (unit, size) = if most >= 2.0 * 1_048_576.0 { ("MiB", 1_048_576.0) } else { ("KiB", 1024.0) };
    let label = format!("in buffers ({unit})");
    let occupied = over_time(
        runs,
        Caption {
            id: "occupancy",
            title: "Occupancy over time",
            note: "Bytes in the buffers of all routers. Growth to the end means that more comes than leaves.",
        },
        &label,
        size,
        &held,
    );
    let mean = |n: usize| -> Vec<(f64, f64)> {
        let (sums, counts) = (series(&runs[n], "latency_sum_ps"), series(&runs[n], "packets_delivered"));
        let length = window(&sums);
        let both = sums.iter().zip(&counts).filter(|(_, c)| c.1 > 0.0);
        both.map(|(s, c)| (s.0 + length / 2.0, s.1 / c.1)).collect()
    };
    let most = (0..runs.len()).flat_map(mean).map(|p| p.1).fold(0.0, f64::max);
    let (unit, size) = time_unit(most);
    let label = format!("mean packet latency ({unit})");
    let latency = over_time(
        runs,
        Caption {
            id: "latency-time",
            title: "Latency over time",
            note: "Mean of the packets delivered in a window.",
        },
        &label,
        size,
        &mean,
    );
    [delivered, occupied, latency].into_iter().flatten().collect()
}
