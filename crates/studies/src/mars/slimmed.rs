//! Figure 7: fat trees whose levels have 25, 50 and 75 % less bandwidth than the level below, of three sizes of switches, with ranks in order and shuffled.
//!
//! A switch of `2 k` ports has `k` down and `k` up; a level is slimmed by leaving out switches above, so that fewer of the `k` are plugged in.

use super::{
    experiments::{Experiments, makespan},
    indirect::Figure,
    statements::{Judgement, Statement},
    traces::Application,
};
use model::Finished;
use netloom::Error;
use report::plot::{Axis, Facet, Mark, Plot, Series};
use serde_json::json;
use std::fmt::Write as _;

/// The experiment of the figure.
const FILE: &str = "tree.toml";
/// Quarters of the bandwidth that are left out at each level.
const LESS: [u32; 4] = [0, 1, 2, 3];
/// Placements: what the paper calls them, and their names here.
const PLACEMENTS: [(&str, &str); 2] = [("sequential", "linear"), ("shuffled", "random")];
/// A delay that is more than so many times another is significantly worse.
const WORSE: f64 = 1.25;

/// How much is run.
pub struct Effort {
    /// Grid of the application's ranks.
    pub grid: [u32; 3],
    /// Steps of the application.
    pub steps: u32,
    /// Children of the switches of each level: trees of all nodes for `k` of 4, 8 and 16.
    pub trees: [&'static [u32]; 3],
    /// Applications that are run.
    pub applications: &'static [Application],
}

/// One tree and placement over all reductions.
struct Row {
    /// Ports of a switch that lead down.
    down: u32,
    /// Index in [`PLACEMENTS`].
    placement: usize,
    /// Mean delay of packets in us by reduction.
    delay: [f64; 4],
    /// Run times in ms.
    run: [f64; 4],
    /// Share of the packets that go up to each level and no further, in percent.
    levels: Vec<f64>,
    /// Mean delay in us of packets that stay below their leaf in the full tree.
    leaf: f64,
}

impl Row {
    fn name(&self) -> String {
        format!("{0}x{0}", 2 * self.down)
    }

    /// Delay with so many quarters less, as a multiple of that of the full tree.
    fn grown(&self, quarters: usize) -> f64 {
        self.delay[quarters] / self.delay[0]
    }
}

/// Parents of a node of each level of a tree of switches with `down` ports that lead down: the levels above the leaves have so many quarters less.
fn parents(levels: usize, down: u32, quarters: u32) -> Vec<u32> {
    std::iter::once(1).chain(std::iter::repeat_n(down * (4 - quarters) / 4, levels - 1)).collect()
}

/// Runs and draws it.
///
/// # Errors
/// If a run fails, or a file cannot be written.
pub fn run(experiments: &Experiments<'_>, effort: &Effort) -> Result<Figure, Error> {
    let (mut text, mut objects, mut statements) = (String::new(), Vec::new(), Vec::new());
    for &application in effort.applications {
        let rows = rows(experiments, application, effort)?;
        let name = application.name();
        experiments.draw(&format!("figure-7-{name}"), &plot(&rows, name))?;
        text += &table(&rows, name);
        let row = |row: &Row| {
            json!({"application": name, "switch": row.name(), "placement": PLACEMENTS[row.placement].0, "less": LESS.map(|quarters| quarters * 25),
                   "delay_us": row.delay, "run_ms": row.run, "packets_by_level_percent": row.levels})
        };
        objects.extend(rows.iter().map(row));
        if statements.is_empty() {
            statements = judged(&rows);
        }
    }
    Ok(Figure { text, object: json!(objects), statements })
}

fn rows(experiments: &Experiments<'_>, application: Application, effort: &Effort) -> Result<Vec<Row>, Error> {
    experiments.program("application.ranks", &application.program(effort.grid, effort.steps, 500))?;
    let mut rows = Vec::new();
    for (placement, (called, name)) in PLACEMENTS.into_iter().enumerate() {
        for (down, children) in [4, 8, 16].into_iter().zip(effort.trees) {
            let mut row =
                Row { down, placement, delay: [0.0; 4], run: [0.0; 4], levels: Vec::new(), leaf: 0.0 };
            for (i, quarters) in LESS.into_iter().enumerate() {
                let percent = quarters * 25;
                let what = application.name();
                experiments.begin(&format!("figure 7: {what}, {called}, {}, {percent} % less", row.name()));
                let set = [
                    format!("fabric.children={children:?}"),
                    format!("fabric.parents={:?}", parents(children.len(), down, quarters)),
                    format!("job.0.placement={name}"),
                ];
                let finished = experiments.run(FILE, &set)?;
                row.run[i] = makespan(&finished, 0)? / 1e9;
                row.delay[i] = finished.summary.latency_ps.as_ref().map_or(f64::NAN, |l| l.mean / 1e6);
                if i == 0 {
                    row.levels = levels(&finished, children.len());
                    let below = finished.summary.latency_by_hops.iter().find(|of| of.hops == 1);
                    row.leaf = below.map_or(f64::NAN, |of| of.mean_ps / 1e6);
                }
            }
            rows.push(row);
        }
    }
    Ok(rows)
}

/// Share of the packets by the highest level that they reach: one router up to level 1, three to level 2, and so on.
fn levels(finished: &Finished, levels: usize) -> Vec<f64> {
    let by = &finished.summary.latency_by_hops;
    let all: u64 = by.iter().map(|of| of.count).sum();
    let at = |level: usize| {
        let here = by.iter().filter(|of| of.hops as usize == 2 * level + 1);
        here.map(|of| of.count).sum::<u64>() as f64 * 100.0 / all.max(1) as f64
    };
    (0..levels).map(at).collect()
}

fn table(rows: &[Row], application: &str) -> String {
    let mut out = format!(
        "\nFigure 7: mean delay of packets in slimmed fat trees, {application} application (us), run time (ms), and packets by the highest level that they reach\n"
    );
    let _ = writeln!(
        out,
        "  {:10} {:6} {:>8} {:>8} {:>8} {:>8}   {:>8} {:>8} {:>8} {:>8}   levels, %",
        "placement", "switch", "full", "-25 %", "-50 %", "-75 %", "full", "-25 %", "-50 %", "-75 %"
    );
    for row in rows {
        let cells = |values: [f64; 4]| values.map(|v| format!(" {v:>8.2}")).concat();
        let levels: String = row.levels.iter().map(|share| format!(" {share:>5.1}")).collect();
        let (placement, switch) = (PLACEMENTS[row.placement].0, row.name());
        let _ =
            writeln!(out, "  {placement:10} {switch:6}{}  {}  {levels}", cells(row.delay), cells(row.run));
    }
    out
}

fn plot(rows: &[Row], application: &str) -> Plot {
    let facet = |(placement, (called, _)): (usize, (&str, &str))| {
        let of = rows.iter().filter(|row| row.placement == placement).enumerate();
        let marks = |row: &Row| {
            let mark =
                |(quarters, y): (u32, f64)| Mark { x: f64::from(quarters * 25), y, bar: None, hollow: false };
            LESS.into_iter().zip(row.delay).map(mark).collect()
        };
        Facet {
            title: format!("{called} placement"),
            series: of.map(|(name, row)| Series { name, marks: marks(row) }).collect(),
        }
    };
    Plot {
        title: format!("Figure 7: delay of packets in slimmed fat trees, {application} application"),
        x: Axis {
            label: "bandwidth less than the level below (%)".to_owned(),
            min: Some(0.0),
            ..Axis::default()
        },
        y: Axis { label: "mean delay (us)".to_owned(), min: Some(0.0), ..Axis::default() },
        names: rows.iter().filter(|row| row.placement == 0).map(Row::name).collect(),
        facets: PLACEMENTS.into_iter().enumerate().map(facet).collect(),
        width: 720.0,
        ..Plot::default()
    }
}

/// Something of each row of a placement, one after the other.
fn listed(rows: &[Row], placement: usize, each: impl Fn(&Row) -> String) -> String {
    let of = rows.iter().filter(|row| row.placement == placement);
    of.map(|row| format!("{} {}", row.name(), each(row))).collect::<Vec<_>>().join(", ")
}

fn statement(says: &'static str, holds: bool, why: String) -> Statement {
    Statement { place: "Figure 7", says, judgement: Judgement::of(holds), why }
}

fn judged(rows: &[Row]) -> Vec<Statement> {
    let of = |placement: usize| rows.iter().filter(move |row| row.placement == placement);
    let grown = |placement, quarters| listed(rows, placement, |row| format!("{:.2}", row.grown(quarters)));
    let ordered = |placement: usize, quarters: usize| {
        let all: Vec<f64> = of(placement).map(|row| row.grown(quarters)).collect();
        all.windows(2).all(|pair| pair[1] <= pair[0] * 1.02)
    };
    let mut all = vec![
        statement(
            "delay does not fall when levels are slimmed",
            rows.iter().all(|row| row.delay.windows(2).all(|pair| pair[1] >= pair[0] * 0.98)),
            format!("75 % less: sequential {}; shuffled {} times the full tree's", grown(0, 3), grown(1, 3)),
        ),
        statement(
            "half the bandwidth less at each level is feasible with switches larger than 8x8",
            of(0).skip(1).all(|row| row.grown(2) <= WORSE),
            format!(
                "sequential {} times the delay of the full tree (significant: from {WORSE}), run times {} times: with larger switches some us more for a packet are a small part of a step",
                grown(0, 2),
                listed(rows, 0, |row| format!("{:.2}", row.run[2] / row.run[0]))
            ),
        ),
        statement(
            "the larger the switches, the more reduction is tolerable",
            ordered(0, 2) && ordered(0, 3),
            format!("sequential, 50 % less: {}; 75 % less: {}", grown(0, 2), grown(0, 3)),
        ),
        statement(
            "this does not depend on the placement",
            ordered(1, 2) && ordered(1, 3),
            format!("shuffled, 50 % less: {}; 75 % less: {}", grown(1, 2), grown(1, 3)),
        ),
    ];
    all.extend(placements(rows));
    all
}

/// What the paper says of both placements.
fn placements(rows: &[Row]) -> Vec<Statement> {
    let of = |placement: usize| rows.iter().filter(move |row| row.placement == placement);
    let both = || of(0).zip(of(1));
    let top =
        |placement| listed(rows, placement, |row| format!("{:.0} %", row.levels.last().unwrap_or(&0.0)));
    let above = |row: &Row| row.levels.last().is_some_and(|share| *share > 50.0);
    let times: Vec<String> = both()
        .map(|(ordered, mixed)| format!("{} {:.2} times", ordered.name(), mixed.delay[0] / ordered.delay[0]))
        .collect();
    let faster = both().flat_map(|(a, b)| a.run.iter().zip(&b.run)).filter(|(a, b)| **b < **a * 0.98).count();
    vec![
        statement(
            "delay is significantly worse with shuffled ranks",
            both().all(|(ordered, mixed)| mixed.delay[0] >= ordered.delay[0] * WORSE),
            format!(
                "{} in the full tree (significant: from {WORSE}). In order, packets that do not leave their leaf take {} us: bursts at terminals are a part of both delays",
                times.join(", "),
                listed(rows, 0, |row| format!("{:.1}", row.leaf))
            ),
        ),
        statement(
            "most packets of shuffled ranks climb to the top, and most of sequential ones do not",
            of(1).all(above) && !of(0).any(above),
            format!(
                "shuffled {}; sequential {}; the short blocks from everybody to everybody are packets like the long messages' here",
                top(1),
                top(0)
            ),
        ),
        statement(
            "ranks in order are the best placement on fat trees",
            faster == 0,
            format!(
                "shuffled runs are faster by more than 2 % on {faster} of {} trees",
                both().count() * LESS.len()
            ),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_level_has_its_part_of_the_one_below() {
        assert_eq!(parents(3, 8, 0), [1, 8, 8]);
        assert_eq!(parents(3, 8, 1), [1, 6, 6]);
        assert_eq!(parents(4, 4, 3), [1, 1, 1, 1]);
        assert_eq!(parents(2, 16, 2), [1, 8]);
    }
}
