//! Rows of a hybrid study: an experiment of model `hybrid` in high fidelity, as `lite` and as `zombies`, and how far they are apart.
//!
//! Per seed five runs: high fidelity; high fidelity with another order of simultaneous events, whose distance to the first is the *floor* that
//! no hybrid can be expected to beat; `lite`, `zombies`, `reheat`. Distance (MAPE): the mean over windows of `output.window`, by delivery time from the last
//! return to the end, of |mean latency - that of high fidelity| / that of high fidelity, in percent. Times are elapsed seconds; the time
//! that high fidelity takes between the switches is read at pauses of its own run.

use super::study::{Line, Row, number};
use crate::{
    args::Input,
    console::Console,
    exit::Exit,
    failure::Failure,
    prepare::{Prepared, Wishes, prepare},
};
use base::time::Ps;
use model::{AnySetup, Finished, run::Watch};
use report::{Curve, Lines, Point};
use results::{
    summary::Phase,
    table::{Column, Table},
};
use std::{collections::BTreeMap, path::Path, time::Instant};

/// A picture with the name of its file.
pub type Picture = (String, Lines);

/// Windows of a run: packets, their latencies' sum and sum of squares (us), bytes in buffers.
type Windows = BTreeMap<Ps, [f64; 4]>;

/// One run.
struct Run {
    windows: Windows,
    wall: f64,
    phases: Vec<Phase>,
    /// Elapsed seconds when pauses were reached.
    passed: Vec<(Ps, f64)>,
}

/// What a curve shows of a window: value and half its error bar.
type Shown = dyn Fn(&[f64; 4]) -> Option<(f64, f64)>;

const TREATMENTS: [&str; 3] = ["lite", "zombies", "reheat"];

/// Runs a row with seeds from 1 on; pictures show the first.
///
/// # Errors
/// If an experiment has mistakes or fails.
pub fn run(
    row: &Row,
    input: &Input,
    seeds: u32,
    console: &mut Console<'_>,
) -> Result<(Vec<Line>, Vec<Picture>), Failure> {
    let mut found: Vec<(String, Vec<f64>)> = Vec::new();
    let mut add = |key: String, value: f64| match found.iter_mut().find(|f| f.0 == key) {
        Some(known) => known.1.push(value),
        None => found.push((key, vec![value])),
    };
    let mut pictures = Vec::new();
    for seed in 1..=seeds {
        let go = |set: &[&str], ties: u64, every: Ps| {
            let mut all = input.set.clone();
            all.push(format!("experiment.seed={seed}"));
            all.extend(set.iter().map(|s| (*s).to_owned()));
            let mut prepared =
                prepare(&Input { file: input.file.clone(), set: all }, &Wishes::default(), console)?;
            if let AnySetup::Packet(setup) = &mut prepared.setup {
                setup.ties = ties;
            }
            simulate(&prepared, every)
        };
        let mut hybrids = Vec::new();
        for treatment in TREATMENTS {
            hybrids.push(go(&[&format!("hybrid.treatment={treatment}")], 0, 0)?);
        }
        let stays: Vec<(Ps, Ps)> = hybrids[0]
            .phases
            .iter()
            .filter(|p| p.mode == "surrogate")
            .map(|p| (p.start_ps, p.end_ps))
            .collect();
        let every = stays.iter().fold(0, |g, &(a, b)| gcd(gcd(g, a), b));
        let plain = go(&["model.kind=packet"], 0, every)?;
        let other = go(&["model.kind=packet"], 1, 0)?;
        let back = stays.last().map_or(0, |s| s.1);
        add("floor.mape_percent".into(), mape(&plain.windows, &other.windows, back));
        for (treatment, run) in TREATMENTS.iter().zip(&hybrids) {
            add(format!("{treatment}.mape_percent"), mape(&plain.windows, &run.windows, back));
        }
        let between: f64 = stays.iter().map(|&(a, b)| plain.at(b) - plain.at(a)).sum();
        let inside: f64 = hybrids[1].stays().map(|p| p.wall_s).sum();
        let packets: u64 = hybrids[1].stays().map(|p| p.packets).sum();
        for (name, run) in ["high-fidelity", "lite", "zombies"].iter().zip([&plain, &hybrids[0], &hybrids[1]])
        {
            add(format!("{name}.wall_s"), run.wall);
        }
        add("lite.speedup".into(), plain.wall / hybrids[0].wall);
        add("zombies.speedup".into(), plain.wall / hybrids[1].wall);
        add("between_switches_s".into(), between);
        add("in_surrogate_s".into(), inside);
        add("surrogate.speedup".into(), between / inside);
        add("surrogate.ns_per_packet".into(), inside * 1e9 / packets.max(1) as f64);
        if seed == 1 {
            pictures = draw_row(row, &plain, &hybrids);
        }
    }
    Ok((lines(row, found), pictures))
}

fn gcd(a: Ps, b: Ps) -> Ps {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl Run {
    fn stays(&self) -> impl Iterator<Item = &Phase> {
        self.phases.iter().filter(|p| p.mode == "surrogate")
    }

    /// Elapsed seconds at an instant of virtual time.
    fn at(&self, time: Ps) -> f64 {
        self.passed.iter().find(|p| p.0 >= time).map_or(self.wall, |p| p.1)
    }
}

fn simulate(prepared: &Prepared, every: Ps) -> Result<Run, Failure> {
    let begun = Instant::now();
    let mut passed = Vec::new();
    let mut pause = |at: model::Progress, _: &mut dyn FnMut() -> Vec<u8>| {
        passed.push((at.now, begun.elapsed().as_secs_f64()));
        true
    };
    let finished = prepared.setup.watch(Watch { pause: &mut pause, every, resume: None });
    let wall = begun.elapsed().as_secs_f64();
    let Finished { summary, tables } = finished.map_err(|e| Failure::new(Exit::Experiment, e.to_string()))?;
    let series = tables.iter().find(|t| t.name() == "series").map(windows).unwrap_or_default();
    Ok(Run { windows: series, wall, phases: summary.hybrid.map_or_else(Vec::new, |h| h.phases), passed })
}

/// The series by window.
fn windows(series: &Table) -> Windows {
    let mut all = Windows::new();
    let (Some(Column::U64(times)), Some(Column::Text(names)), Some(Column::F64(values))) =
        (series.column("time_ps"), series.column("quantity"), series.column("value"))
    else {
        return all;
    };
    for ((&time, name), &value) in times.iter().zip(names.iter()).zip(values) {
        let row = all.entry(time).or_default();
        match name {
            "packets_delivered" => row[0] = value,
            "latency_sum_ps" => row[1] = value / 1e6,
            "latency_squares_ps2" => row[2] = value / 1e12,
            "buffered_bytes" | "queued_bytes" => row[3] += value,
            _ => {}
        }
    }
    all
}

/// See the head of this file.
fn mape(plain: &Windows, hybrid: &Windows, back: Ps) -> f64 {
    let mean = |w: &[f64; 4]| (w[0] > 0.0).then(|| w[1] / w[0]);
    let differences = plain.range(back..).filter_map(|(time, p)| {
        let (p, h) = (mean(p)?, mean(hybrid.get(time)?)?);
        Some((h - p).abs() / p * 100.0)
    });
    let differences: Vec<f64> = differences.collect();
    differences.iter().sum::<f64>() / differences.len().max(1) as f64
}

fn lines(row: &Row, found: Vec<(String, Vec<f64>)>) -> Vec<Line> {
    let mut lines = Vec::new();
    let line = |key: String, published: Option<f64>, ours: f64, why: &str| Line {
        row: row.name.clone(),
        key,
        published,
        ours: Some(ours),
        why: why.to_owned(),
    };
    for (key, values) in found {
        let published = row.published.iter().find(|p| p.0 == key).map(|p| p.1);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let why = if key.contains("mape") && published.is_some() { row.why.as_str() } else { "" };
        lines.push(line(key.clone(), published, mean, why));
        if values.len() > 1 && key.contains("mape") {
            for (n, value) in values.iter().enumerate() {
                lines.push(line(format!("{key}, seed {}", n + 1), None, *value, ""));
            }
        }
    }
    lines
}

/// A row in one line.
pub fn told(lines: &[Line]) -> String {
    let mape = |l: &&Line| l.key.ends_with("mape_percent");
    let one = |l: &Line| {
        format!("{} {}", l.key.trim_end_matches(".mape_percent"), l.ours.map_or_else(String::new, number))
    };
    format!("MAPE in percent: {}", lines.iter().filter(mape).map(one).collect::<Vec<_>>().join(", "))
}

/// Occupancy and latency over time; error bars are a fifth of the standard deviation, as in the paper.
fn draw_row(row: &Row, plain: &Run, hybrids: &[Run]) -> Vec<Picture> {
    let runs: Vec<(&str, &Run)> =
        [("high fidelity", plain)].into_iter().chain(TREATMENTS.into_iter().zip(hybrids)).collect();
    let curve = |label: &str, run: &Run, point: &Shown| Curve {
        label: label.to_owned(),
        points: run
            .windows
            .iter()
            .filter_map(|(&time, w)| point(w).map(|(y, error)| Point { x: time as f64 / 1e9, y, error }))
            .collect(),
    };
    let occupancy = |w: &[f64; 4]| Some((w[3] / 1e3, 0.0));
    let latency = |w: &[f64; 4]| {
        (w[0] > 0.0).then(|| {
            let mean = w[1] / w[0];
            (mean, 0.2 * (w[2] / w[0] - mean * mean).max(0.0).sqrt())
        })
    };
    let figure = |name: &String| {
        let full = name.ends_with("latency");
        let point: &Shown = if full { &latency } else { &occupancy };
        let y = if full { "mean packet latency, us" } else { "bytes in buffers, kB" };
        let lines = Lines {
            title: format!("{name}: {}", row.name),
            x: "virtual time, ms".to_owned(),
            y: y.to_owned(),
            curves: runs.iter().map(|(label, run)| curve(label, run, point)).collect(),
        };
        (name.clone(), lines)
    };
    row.figures.iter().map(figure).collect()
}

/// Writes pictures into a directory, which is made if it is not there.
///
/// # Errors
/// If one cannot be drawn or written.
pub fn draw(directory: &Path, pictures: &[Picture]) -> Result<(), Failure> {
    let failed =
        |e: String| Failure::new(Exit::Output, format!("cannot write in `{}`: {e}", directory.display()));
    std::fs::create_dir_all(directory).map_err(|e| failed(e.to_string()))?;
    for (name, lines) in pictures {
        let svg = lines.svg().map_err(failed)?;
        std::fs::write(directory.join(format!("{name}.svg")), svg).map_err(|e| failed(e.to_string()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_means_over_windows_after_the_return() {
        let of = |means: [f64; 4]| -> Windows {
            means.iter().enumerate().map(|(n, m)| (n as Ps * 10, [2.0, 2.0 * m, 0.0, 0.0])).collect()
        };
        let (plain, mut other) = (of([1.0, 2.0, 4.0, 5.0]), of([9.0, 9.0, 5.0, 4.0]));
        assert!((mape(&plain, &other, 20) - 22.5).abs() < 1e-12);
        other.insert(30, [0.0; 4]);
        assert!((mape(&plain, &other, 20) - 25.0).abs() < 1e-12, "windows without packets are left out");
    }
}
