//! Rows of a hybrid study: an experiment of model `hybrid` in high fidelity, as `lite` and as `zombies`, and how far they are apart.
//!
//! Per seed five runs: high fidelity; high fidelity with another order of simultaneous events, whose distance to the first is the *floor* that
//! no hybrid can be expected to beat; `lite`, `zombies`, `reheat`. Distance (MAPE): the mean over windows of `output.window`, by delivery time from the last
//! return to the end, of |mean latency - that of high fidelity| / that of high fidelity, in percent. What runs came to in all: `totals.rs`. `wall_s` are elapsed
//! seconds, all other times are the processor's; the time that high fidelity takes between the switches is read at the windows of its own run. Finished runs
//! are kept: `store.rs`.

use crate::{
    asked::Form,
    files::Files,
    line::{Line, number},
    store::{Run, Store, Windows},
    study::Row,
    totals,
};
use base::{time::Ps, units::print_time};
use netloom::{
    Error, ErrorKind, MemoryLimit, RunOptions, Silent, Watcher,
    memory::limit_in_bytes,
    side_by_side::{self, Crew, Heard},
};
use report::{Curve, Dots, Lines, Point, Value, dots::Series};
use results::summary::Phase;
use std::path::Path;

/// A picture with the name of its file.
pub type Picture = (String, Lines);

/// What a row's runs say.
#[derive(Default)]
pub struct Found {
    /// By key, a number per seed; one that is not finite could not be measured.
    values: Vec<(String, Vec<f64>)>,
    /// What the runs were: how long, and when packets bypassed the network.
    measured: String,
}

/// What a curve shows of a window: value and half its error bar.
type Shown = dyn Fn(&[f64; 4]) -> Option<(f64, f64)>;

const TREATMENTS: [&str; 3] = ["lite", "zombies", "reheat"];

/// What a seed is run as, in this order.
const MODES: [&str; 5] = ["high fidelity", "lite", "zombies", "reheat", "floor"];

/// A row to run: its experiment with what it overrides, and seeds from 1 on.
pub struct Case<'a> {
    /// The row of the study's table.
    pub row: &'a Row,
    /// All that overrides values of its experiment.
    pub set: Vec<String>,
    /// How many seeds.
    pub seeds: u32,
    /// How much of the study they are.
    pub form: Form,
}

/// What becomes of a case whose runs have ended: what they say, and pictures of the first seed.
pub type Done<'a> = dyn FnMut(&Case<'_>, Found, Vec<Picture>) -> Result<(), Error> + 'a;

/// Runs cases, so many runs at a time, as far as they are not found in the store; each is `done` once all its runs are, in order.
///
/// # Errors
/// If an experiment has mistakes or fails.
pub fn run(
    cases: &[Case<'_>],
    threads: u32,
    store: &Store,
    files: &Files,
    watcher: &dyn Watcher,
    done: &mut Done<'_>,
) -> Result<(), Error> {
    let runs = cases.iter().enumerate();
    let runs: Vec<Job<'_>> = runs
        .flat_map(|(n, case)| {
            (1..=case.seeds).flat_map(move |seed| MODES.map(|mode| Job { case: n, seed, mode }))
        })
        .collect();
    let together = (threads as usize).min(runs.len()).max(1);
    let share = limit_in_bytes(None).filter(|_| together > 1).map(|bytes| bytes / together as u64);
    let crew = Runs {
        cases,
        runs: &runs,
        store,
        share,
        files,
        watcher: if together == 1 { watcher } else { &Silent },
    };
    let (mut of_seed, mut said) = (Vec::new(), Said::default());
    let mut next = runs.iter();
    side_by_side::run(runs.len(), together, &crew, &mut |heard| {
        let run = match heard {
            Heard::Remark(text) => {
                watcher.remark(&text);
                return Ok(());
            }
            Heard::Result(run) => run,
        };
        of_seed.push(run);
        let Some(&Job { case: n, seed, mode }) = next.next() else { return Ok(()) };
        if mode != MODES[MODES.len() - 1] {
            return Ok(());
        }
        let (case, row, seeds) = (&cases[n], cases[n].row, cases[n].seeds);
        let of_seed = std::mem::take(&mut of_seed);
        said.others += of_seed.iter().filter(|run| store.is_others(run)).count();
        said.seed(case, &of_seed, seed);
        watcher.remark(&format!("row {}: seed {seed} of {seeds} done", row.name));
        if seed < seeds {
            return Ok(());
        }
        let Said { found, pictures, others } = std::mem::take(&mut said);
        if others > 0 {
            let why = "were kept by another revision of this program; remove `runs` to run them anew";
            watcher.remark(&format!("row {}: {others} of its runs {why}", row.name));
        }
        done(&cases[n], found, pictures)
    })
}

/// What the runs of a case have said so far.
#[derive(Default)]
struct Said {
    found: Found,
    pictures: Vec<Picture>,
    /// Runs of other revisions of the program.
    others: usize,
}

impl Said {
    /// Adds the runs of a seed, in the order of [`MODES`].
    fn seed(&mut self, case: &Case<'_>, runs: &[Run], seed: u32) {
        let [plain, hybrids @ .., other] = runs else { return };
        let values = &mut self.found.values;
        measure(plain, other, hybrids, &mut |key, value| match values.iter_mut().find(|f| f.0 == key) {
            Some(known) => known.1.push(value),
            None => values.push((key, vec![value])),
        });
        if seed == 1 {
            self.pictures = draw_row(case.row, plain, hybrids);
            self.found.measured = measured(case, plain, &hybrids[1]);
        }
    }
}

/// A run of a case.
#[derive(Clone, Copy)]
struct Job<'a> {
    /// Number of the case.
    case: usize,
    seed: u32,
    /// One of [`MODES`].
    mode: &'a str,
}

/// Who runs them.
struct Runs<'a> {
    cases: &'a [Case<'a>],
    runs: &'a [Job<'a>],
    store: &'a Store,
    /// Of memory, for each run if there are several at a time.
    share: Option<u64>,
    files: &'a Files,
    /// Hears phases; nobody if several are under way.
    watcher: &'a dyn Watcher,
}

impl Crew<Run> for Runs<'_> {
    fn work(&self, number: usize, remark: &dyn Fn(String)) -> Result<Run, Error> {
        self.store.goes_on()?;
        let Job { case, seed, mode } = self.runs[number];
        let Case { row, set: own, .. } = &self.cases[case];
        let (mode_set, ties) = match mode {
            "high fidelity" => ("model.kind=packet".to_owned(), 0),
            "floor" => ("model.kind=packet".to_owned(), 1),
            treatment => (format!("hybrid.treatment={treatment}"), 0),
        };
        let set = own.iter().cloned().chain([format!("experiment.seed={seed}"), mode_set]).collect();
        let now = limit_in_bytes(None).unwrap_or(u64::MAX);
        let memory = self.share.map(|share| MemoryLimit::Bytes(share.min(now)));
        let options = RunOptions { memory, ..RunOptions::default() };
        let prepared = self.files.prepare(&row.experiment, set, &options, self.watcher);
        let mut prepared = prepared.map_err(|failure| match self.share {
            Some(_) if failure.kind() == ErrorKind::Limit => {
                failure.with_help("fewer --threads leave more to each run")
            }
            _ => failure,
        })?;
        let every = prepared.run.measure().window;
        let name = format!("{}, seed {seed}, {mode}", row.name);
        let remark = |text| remark(format!("row {}: {text}", row.name));
        self.store.run(&name, &mut prepared, ties, every, &remark)
    }

    fn stop(&self) {
        self.store.stop();
    }
}

/// What a seed's runs say, by key.
fn measure(plain: &Run, other: &Run, hybrids: &[Run], add: &mut impl FnMut(String, f64)) {
    let back = hybrids.iter().flat_map(Run::stays).map(|p| p.end_ps).max().unwrap_or(0);
    add("floor.mape_percent".into(), mape(&plain.windows, &other.windows, back));
    for (treatment, run) in TREATMENTS.iter().zip(hybrids) {
        add(format!("{treatment}.mape_percent"), mape(&plain.windows, &run.windows, back));
    }
    let [lite, zombies, ..] = hybrids else { return };
    let modes = [("high-fidelity", plain), ("lite", lite), ("zombies", zombies)];
    totals::measure(&modes.map(|(name, run)| (name, run.totals)), add);
    for (name, run) in modes {
        add(format!("{name}.wall_s"), run.cost.wall);
        add(format!("{name}.cpu_s"), run.cost.cpu);
    }
    add("lite.speedup".into(), plain.cost.cpu / lite.cost.cpu);
    add("zombies.speedup".into(), plain.cost.cpu / zombies.cost.cpu);
    let between: f64 = zombies.stays().map(|p| plain.at(p.end_ps) - plain.at(p.start_ps)).sum();
    let inside: f64 = zombies.stays().map(|p| p.cpu_s.unwrap_or(p.wall_s)).sum();
    let packets: u64 = zombies.stays().map(|p| p.packets).sum();
    add("between_switches_s".into(), between);
    add("in_surrogate_s".into(), inside);
    add("surrogate.speedup".into(), between / inside);
    let per_packet = if inside > 0.0 { inside * 1e9 / packets.max(1) as f64 } else { f64::NAN };
    add("surrogate.ns_per_packet".into(), per_packet);
}

/// What a case's runs were, in words: how long they lasted, and when packets bypassed the network.
fn measured(case: &Case<'_>, plain: &Run, zombies: &Run) -> String {
    let form = match case.form {
        Form::Smoke => "smoke form",
        Form::Quick => "quick form",
        Form::Whole | Form::Full => "whole form",
    };
    let stay = |p: &Phase| format!("{} to {}", print_time(p.start_ps), print_time(p.end_ps));
    let stays = match zombies.stays().map(stay).collect::<Vec<_>>().as_slice() {
        [] => "never".to_owned(),
        stays => format!("from {}", stays.join(", from ")),
    };
    let length = plain.totals.map_or_else(String::new, |t| format!(" of {}", print_time(t.simulated_ps)));
    let seeds = if case.seeds == 1 { "1 seed".to_owned() } else { format!("{} seeds", case.seeds) };
    format!("{form}, {seeds}{length}, packets bypass the network {stays}")
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

/// Why there is no quotient of seconds.
const NO_SECONDS: &str = "none: packets bypassed the network for less than the clock of the processor tells";

/// The case's lines of the table: means over seeds, errors of each seed below.
pub fn lines(case: &Case<'_>, found: &Found) -> Vec<Line> {
    let mut lines = Vec::new();
    let row = case.row;
    let line = |key: String, published: Option<f64>, ours: f64, why: String| Line {
        row: row.name.clone(),
        key,
        published,
        ours: Some(ours).filter(|ours| ours.is_finite()),
        why,
    };
    let mean =
        |(key, values): &(String, Vec<f64>)| (key.clone(), values.iter().sum::<f64>() / values.len() as f64);
    let means: Vec<(String, f64)> = found.values.iter().map(mean).collect();
    for ((key, values), (_, mean)) in found.values.iter().zip(&means) {
        let published = row.published.iter().find(|p| p.0 == *key).map(|p| p.1);
        let is_error = key.contains("mape");
        let why = match totals::why(key, *mean, &means) {
            Some(why) => why,
            None if key == "floor.mape_percent" => "two orders of simultaneous events".to_owned(),
            None if is_error => [&found.measured, row.why(case.form)].join(": "),
            None if !mean.is_finite() => NO_SECONDS.to_owned(),
            None => String::new(),
        };
        lines.push(line(key.clone(), published, *mean, why));
        if values.len() > 1 && is_error {
            for (n, value) in values.iter().enumerate() {
                lines.push(line(format!("{key}, seed {}", n + 1), None, *value, String::new()));
            }
        }
    }
    lines
}

/// A row in one line.
pub fn reported(lines: &[Line]) -> String {
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
        let y = if full {
            "mean packet latency, us (bars: a fifth of the standard deviation)"
        } else {
            "bytes in routers' buffers, kB"
        };
        let what =
            name.trim_end_matches("-latency").trim_end_matches("-occupancy").replace("figure-", "Figure ");
        let lines = Lines {
            title: format!("{what}: {} (seed 1; shaded: packets bypass the network)", row.name),
            shaded: hybrids[1].stays().map(|p| (p.start_ps as f64 / 1e9, p.end_ps as f64 / 1e9)).collect(),
            x: "virtual time, ms".to_owned(),
            y: y.to_owned(),
            curves: runs.iter().map(|(label, run)| curve(label, run, point)).collect(),
        };
        (name.clone(), lines)
    };
    row.figures.iter().map(figure).collect()
}

/// Table 3's errors of all rows: means over seeds, bars from the least to the greatest seed; rings are published.
pub fn table(title: &str, rows: &[(&Row, Found)]) -> Dots {
    let of = |key: &str, values: &dyn Fn(&Row, &[f64]) -> Option<Value>| {
        rows.iter()
            .map(|(row, found)| {
                values(row, found.values.iter().find(|f| f.0 == key).map_or(&[], |f| f.1.as_slice()))
            })
            .collect()
    };
    let mut series = Vec::new();
    for name in ["floor", "lite", "zombies", "reheat"] {
        let key = format!("{name}.mape_percent");
        let ours = |_: &Row, values: &[f64]| {
            let (low, high) = values.iter().fold((f64::MAX, 0.0f64), |(l, h), &v| (l.min(v), h.max(v)));
            (!values.is_empty()).then(|| Value {
                middle: values.iter().sum::<f64>() / values.len() as f64,
                low,
                high,
            })
        };
        series.push(Series { label: name.to_owned(), values: of(&key, &ours), hollow: false });
    }
    for name in ["lite", "zombies"] {
        let key = format!("{name}.mape_percent");
        let reported = |row: &Row, _: &[f64]| {
            let middle = row.published.iter().find(|p| p.0 == key)?.1;
            Some(Value { middle, low: middle, high: middle })
        };
        series.push(Series {
            label: format!("{name}, published"),
            values: of(&key, &reported),
            hollow: true,
        });
    }
    Dots {
        title: title.to_owned(),
        y: "MAPE of latency after the return, percent".to_owned(),
        rows: rows.iter().map(|r| r.0.name.clone()).collect(),
        series,
        least: 0.001,
    }
}

/// Writes pictures into a directory.
///
/// # Errors
/// If one cannot be written.
pub fn draw(directory: &Path, pictures: &[Picture]) -> Result<(), Error> {
    pictures.iter().try_for_each(|(name, lines)| write(directory, name, &lines.svg()))
}

/// Writes a picture into a directory, which is made if it is not there.
///
/// # Errors
/// If it cannot be written.
pub fn write(directory: &Path, name: &str, svg: &str) -> Result<(), Error> {
    let path = directory.join(format!("{name}.svg"));
    std::fs::create_dir_all(directory)
        .and_then(|()| std::fs::write(path, svg))
        .map_err(|e| Error::new(ErrorKind::Output, format!("cannot write in `{}`: {e}", directory.display())))
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

    /// A quotient of no seconds is absent, and says why; errors say what was run.
    #[test]
    fn what_cannot_be_measured_has_a_reason() {
        let row = Row { name: "a".to_owned(), why: "because".to_owned(), ..Row::default() };
        let case = Case { row: &row, set: Vec::new(), seeds: 2, form: Form::Quick };
        let phase = |start_ps, end_ps| Phase {
            mode: "surrogate".to_owned(),
            start_ps,
            end_ps,
            wall_s: 0.0,
            cpu_s: Some(0.0),
            packets: 0,
        };
        let run = |phases| Run {
            windows: Windows::new(),
            cost: crate::store::Cost::default(),
            phases,
            passed: Vec::new(),
            totals: Some(totals::Totals { simulated_ps: 3_000_000, ..Default::default() }),
            revision: String::new(),
        };
        let plain = run(Vec::new());
        let hybrids = [0; 3].map(|_| run(vec![phase(1_000_000, 2_000_000)]));
        let mut found = Found { measured: measured(&case, &plain, &hybrids[1]), ..Found::default() };
        measure(&plain, &plain, &hybrids, &mut |key, value| found.values.push((key, vec![value])));
        let lines = lines(&case, &found);
        let of = |key: &str| lines.iter().find(|l| l.key == key).unwrap();
        for key in ["surrogate.speedup", "zombies.speedup", "surrogate.ns_per_packet"] {
            assert_eq!((of(key).ours, of(key).why.as_str()), (None, NO_SECONDS), "{key}");
        }
        let why = "quick form, 2 seeds of 3 us, packets bypass the network from 1 us to 2 us: because";
        assert_eq!(of("zombies.mape_percent").why, why);
        assert!(measured(&case, &plain, &plain).ends_with("never"));
    }
}
