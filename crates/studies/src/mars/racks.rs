//! Figure 9: 1, 4 and 16 links between each two racks, on the patterns of a weather code.

use super::{
    experiments::{Experiments, makespan},
    indirect::Figure,
    statements::{Judgement, Statement},
};
use netloom::Error;
use report::plot::{Axis, Facet, Mark, Plot, Series, Style, Ticks};
use serde_json::json;
use std::fmt::Write as _;

/// The experiment of the figure.
const FILE: &str = "racks.toml";
/// Links between two racks.
const LINKS: [u32; 3] = [1, 4, 16];
/// A speed-up that counts as significant, and the greatest that counts as negligible.
const BOUNDS: (f64, f64) = (1.25, 1.05);

/// A pattern: what it is called, and the overrides that make it.
type Pattern = (&'static str, &'static [&'static str]);

/// Patterns of the code: transpositions, halos, sums, broadcasts, gathers.
const PATTERNS: &[Pattern] = &[
    ("alltoall 4 KiB", &["job.0.workload=collective", "job.0.operation=alltoall", "job.0.vector=4 KiB"]),
    ("transpositions", &["job.0.workload=fft", "job.0.points=[128, 128, 128]", "job.0.dims=[16, 8]"]),
    ("halo 64 KiB", &["job.0.workload=stencil", "job.0.dims=[16, 8]", "job.0.face_bytes=64 KiB"]),
    ("allgather 16 KiB", &["job.0.workload=collective", "job.0.operation=allgather", "job.0.vector=16 KiB"]),
    ("allreduce 1 MiB", &["job.0.workload=collective", "job.0.operation=allreduce", "job.0.vector=1 MiB"]),
    ("bcast 1 MiB", &["job.0.workload=collective", "job.0.operation=bcast", "job.0.vector=1 MiB"]),
    ("gather 16 KiB", &["job.0.workload=collective", "job.0.operation=gather", "job.0.vector=16 KiB"]),
    ("allreduce 8 B", &["job.0.workload=collective", "job.0.operation=allreduce", "job.0.vector=8 B"]),
];

/// How much is run.
pub struct Effort {
    /// How often each pattern is repeated.
    pub iterations: u32,
}

/// A pattern over all numbers of links.
struct Row {
    name: &'static str,
    /// Run times in us.
    time: [f64; 3],
    /// Bytes delivered in a second.
    rate: [f64; 3],
    /// Use of the busiest link between boards, and between racks.
    busiest: [[f64; 2]; 3],
}

/// Runs and draws it.
///
/// # Errors
/// If a run fails, or a file cannot be written.
pub fn run(experiments: &Experiments<'_>, effort: &Effort) -> Result<Figure, Error> {
    let mut rows = Vec::new();
    for &(name, set) in PATTERNS {
        let mut row = Row { name, time: [0.0; 3], rate: [0.0; 3], busiest: [[0.0; 2]; 3] };
        for (i, links) in LINKS.into_iter().enumerate() {
            experiments.begin(&format!("figure 9: {name}, {links} links"));
            let own =
                [format!("fabric.links_level_3={links}"), format!("job.0.iterations={}", effort.iterations)];
            let set: Vec<String> = set.iter().map(|s| (*s).to_owned()).chain(own).collect();
            let finished = experiments.run(FILE, &set)?;
            let ps = makespan(&finished, 0)?;
            row.time[i] = ps / 1e6;
            let classes = finished.summary.links.iter().flat_map(|links| &links.classes);
            for class in classes {
                match class.class.as_str() {
                    "level-2" => row.busiest[i][0] = class.max_utilisation,
                    "level-3" => row.busiest[i][1] = class.max_utilisation,
                    _ => {}
                }
            }
            row.rate[i] = finished.summary.bytes_delivered as f64 / ps * 1e12;
        }
        rows.push(row);
    }
    experiments.draw(
        "figure-9-run-time",
        &plot(&rows, "run time, 1 link = 1", |row, i| row.time[i] / row.time[0]),
    )?;
    experiments.draw(
        "figure-9-throughput",
        &plot(&rows, "throughput, 1 link = 1", |row, i| row.rate[i] / row.rate[0]),
    )?;
    let cell = |row: &Row| json!({"pattern": row.name, "links": LINKS, "run_time_us": row.time, "bytes_per_s": row.rate, "busiest_levels_2_and_3": row.busiest});
    Ok(Figure { text: table(&rows), object: rows.iter().map(cell).collect(), statements: judged(&rows) })
}

/// Run times with `LINKS[a]` over those with `LINKS[b]`: geometric mean over the patterns.
fn speed_up(rows: &[Row], a: usize, b: usize) -> f64 {
    (rows.iter().map(|row| (row.time[a] / row.time[b]).ln()).sum::<f64>() / rows.len() as f64).exp()
}

fn table(rows: &[Row]) -> String {
    let mut out = String::from(
        "\nFigure 9: patterns of a weather code on 4 racks of 32 nodes, by links between each two racks\n",
    );
    let _ = writeln!(
        out,
        "  {:18} {:>10} {:>10} {:>10}   {:>9} {:>9} {:>9}   busiest level-2, level-3 link in %",
        "pattern", "1: us", "4: us", "16: us", "1: GB/s", "4: GB/s", "16: GB/s"
    );
    for Row { name, time: [a, b, c], rate, busiest } in rows {
        let [d, e, f] = rate.map(|rate| rate / 1e9);
        let busiest: String = busiest
            .iter()
            .map(|[two, three]| format!("  {:>3.0} {:>3.0}", two * 100.0, three * 100.0))
            .collect();
        let _ =
            writeln!(out, "  {name:18} {a:>10.2} {b:>10.2} {c:>10.2}   {d:>9.2} {e:>9.2} {f:>9.2} {busiest}");
    }
    let _ = writeln!(
        out,
        "  speed-up, geometric mean: {:.3} from 1 to 4 links, {:.3} from 4 to 16",
        speed_up(rows, 0, 1),
        speed_up(rows, 1, 2)
    );
    out
}

fn plot(rows: &[Row], label: &str, value: fn(&Row, usize) -> f64) -> Plot {
    let mark = |x: usize, y| Mark { x: x as f64, y, bar: None, hollow: false };
    let series = |name: usize| Series {
        name,
        marks: rows.iter().enumerate().map(|(x, row)| mark(x, value(row, name))).collect(),
    };
    Plot {
        style: Style::Bars,
        title: "Figure 9: patterns of a weather code by links between racks".to_owned(),
        x: Axis {
            label: "pattern".to_owned(),
            ticks: Ticks::Named,
            names: rows.iter().map(|row| row.name.to_owned()).collect(),
            ..Axis::default()
        },
        y: Axis { label: label.to_owned(), min: Some(0.0), ..Axis::default() },
        names: LINKS.iter().map(|links| format!("{links} links")).collect(),
        facets: vec![Facet { title: String::new(), series: (0..LINKS.len()).map(series).collect() }],
        width: 720.0,
        ..Plot::default()
    }
}

fn judged(rows: &[Row]) -> Vec<Statement> {
    let (more, most) = (speed_up(rows, 0, 1), speed_up(rows, 1, 2));
    let furthest = rows.iter().max_by(|a, b| (a.time[1] / a.time[2]).total_cmp(&(b.time[1] / b.time[2])));
    let furthest = furthest.map_or_else(String::new, |row| {
        format!("at most {:.3} times ({})", row.time[1] / row.time[2], row.name)
    });
    let busiest = |level: usize| rows.iter().map(|row| row.busiest[2][level]).fold(0.0, f64::max) * 100.0;
    let statement =
        |says, holds, why| Statement { place: "Figure 9", says, judgement: Judgement::of(holds), why };
    vec![
        statement(
            "four links between racks instead of one are a significant improvement",
            more >= BOUNDS.0,
            format!(
                "{more:.3} times as fast in the geometric mean (significant: from {} on): one link carries what 32 nodes send to 32",
                BOUNDS.0
            ),
        ),
        statement(
            "sixteen links instead of four are a negligible one",
            most <= BOUNDS.1,
            format!(
                "{most:.3} times as fast (negligible: up to {}), {furthest}. With 16 links the busiest link between racks is used by {:.0} % and the busiest between boards by \
                 {:.0} %: the rest of the gain is that more boards hold a link of their own and need no link between boards to get there",
                BOUNDS.1,
                busiest(1),
                busiest(0)
            ),
        ),
    ]
}
