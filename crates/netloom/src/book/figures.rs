//! Examples are run, and what they show is drawn.

use super::examples::{Example, Figure, RUN};
use crate::{Experiment, error::Error};
use model::Finished;
use report::{
    Cells, Grid,
    page::network_still,
    plot::{Axis, Facet, Mark, Plot, Series, Style, Ticks},
};
use results::{table::Table, text};
use std::path::Path;
use workload::{registry::SIZE_DISTRIBUTIONS, size::WHOLE};

/// Width of figures, in points.
const WIDTH: f64 = 400.0;

/// Loads at which latency is shown.
const LOADS: [f64; 4] = [0.1, 0.3, 0.5, 0.7];
/// How long each of these runs is.
const SPAN: &str = "4 us";

/// Ranks whose messages are shown over time.
const RANKS: u32 = 3;

/// A figure: SVG and what it shows.
pub struct Drawn {
    /// The picture as a file of its own.
    pub svg: String,
    /// A line below it.
    pub caption: String,
}

/// What became of an example.
pub struct Ran {
    /// The first lines that `netloom run` prints.
    pub printed: Vec<String>,
    /// Its figure, if it has one.
    pub figure: Option<Drawn>,
}

/// Runs the example of an entry; its files stand in `folder`. Examples of other commands are not run and have no figure.
///
/// # Errors
/// If it cannot be read or run.
pub fn ran(example: &Example, name: &str, folder: &Path) -> Result<Option<Ran>, Error> {
    if example.command != RUN {
        return Ok(None);
    }
    let mut experiment = Experiment::from_file(folder.join("example.toml"))?;
    match example.figure {
        Figure::Matrix => experiment = experiment.set("output.pairs", true),
        Figure::Times => experiment = experiment.set("output.messages", true),
        _ => {}
    }
    let finished = experiment.run()?;
    let printed = text::render(&finished.summary, text::Style::Plain);
    let printed = printed.split("\n\n").next().unwrap_or_default().lines().map(str::to_owned).collect();
    let figure = match example.figure {
        Figure::None => None,
        Figure::Map => map(name, &finished),
        Figure::Matrix => find(&finished, "pairs").and_then(|pairs| matrix(name, pairs)),
        Figure::Times => find(&finished, "messages").and_then(|messages| times(name, messages)),
        Figure::Sizes => sizes(name),
        Figure::Loads => Some(loads(name, folder)?),
    };
    Ok(Some(Ran { printed, figure }))
}

fn find<'a>(finished: &'a Finished, name: &str) -> Option<&'a Table> {
    finished.tables.iter().find(|table| table.name() == name)
}

fn map(name: &str, finished: &Finished) -> Option<Drawn> {
    let svg = network_still(name, &finished.tables, &finished.summary.experiment["fabric"])?;
    let caption = "The network of the example: the darker a line, the more its link carried. A disc is a router; its left half is what \
                   came from its terminals, its right half what went to them."
        .to_owned();
    Some(Drawn { svg, caption })
}

fn matrix(name: &str, pairs: &Table) -> Option<Drawn> {
    let (from, to) = (pairs.u32_column("source")?, pairs.u32_column("destination")?);
    let bytes = pairs.u64_column("bytes")?;
    let side = from.iter().chain(to).max().map_or(0, |most| *most as usize + 1);
    let mut amounts = vec![0.0; side * side];
    for ((&a, &b), &bytes) in from.iter().zip(to).zip(bytes) {
        amounts[a as usize * side + b as usize] += bytes as f64;
    }
    let figure = Cells {
        title: String::new(),
        x: "to node".to_owned(),
        y: "from node".to_owned(),
        what: "B".to_owned(),
        grids: vec![Grid { title: name.to_owned(), side, amounts }],
    };
    let caption =
        format!("Who sent how many bytes to whom in the example, nodes 0 to {}.", side.saturating_sub(1));
    Some(Drawn { svg: figure.svg(), caption })
}

fn times(name: &str, messages: &Table) -> Option<Drawn> {
    let (sources, created) = (messages.u32_column("source")?, messages.u64_column("created_ps")?);
    let series = |rank: u32| {
        let mut when: Vec<u64> =
            sources.iter().zip(created).filter(|(source, _)| **source == rank).map(|(_, at)| *at).collect();
        when.sort_unstable();
        let mark = |(n, at): (usize, &u64)| point(*at as f64 / 1e6, (n + 1) as f64);
        Series { name: rank as usize, marks: when.iter().enumerate().map(mark).collect() }
    };
    let x = Axis { label: "time (\u{b5}s)".to_owned(), min: Some(0.0), ..Axis::default() };
    let y = Axis { label: "messages created".to_owned(), min: Some(0.0), ..Axis::default() };
    let names = (0..RANKS).map(|rank| format!("rank {rank}")).collect();
    let svg = curves(name, x, y, names, (0..RANKS).map(series).collect());
    Some(Drawn {
        svg,
        caption: format!("When the first {RANKS} ranks of the example create their messages."),
    })
}

fn sizes(name: &str) -> Option<Drawn> {
    let entry = SIZE_DISTRIBUTIONS.iter().find(|entry| entry.about.name == name)?;
    let curve = entry.curve();
    let marks = curve
        .points()
        .iter()
        .map(|(bytes, share)| point(*bytes as f64, *share as f64 / WHOLE as f64 * 100.0));
    let x = Axis { label: "bytes".to_owned(), logarithmic: true, ticks: Ticks::Bytes, ..Axis::default() };
    let y = Axis { label: "messages of this size at most (%)".to_owned(), min: Some(0.0), ..Axis::default() };
    let svg = curves(name, x, y, vec![name.to_owned()], vec![Series { name: 0, marks: marks.collect() }]);
    Some(Drawn { svg, caption: "Share of messages that have so many bytes at most.".to_owned() })
}

/// Latency of the example over its load.
fn loads(name: &str, folder: &Path) -> Result<Drawn, Error> {
    let mut marks = Vec::new();
    for load in LOADS {
        let run = Experiment::from_file(folder.join("example.toml"))?
            .set("job.0.load", load)
            .set("experiment.duration", SPAN)
            .run()?;
        if let Some(latency) = &run.summary.latency_ps {
            marks.push(Mark {
                hollow: run.summary.verdict.state.name() != "ok",
                ..point(load, latency.mean / 1e3)
            });
        }
    }
    let x =
        Axis { label: "offered load (fraction of bandwidth)".to_owned(), min: Some(0.0), ..Axis::default() };
    let y = Axis { label: "mean packet latency (ns)".to_owned(), min: Some(0.0), ..Axis::default() };
    let svg = curves(name, x, y, vec![name.to_owned()], vec![Series { name: 0, marks }]);
    let caption =
        "Latency of the example over its load. Hollow marks are beyond saturation, or not yet stationary."
            .to_owned();
    Ok(Drawn { svg, caption })
}

fn point(x: f64, y: f64) -> Mark {
    Mark { x, y, bar: None, hollow: false }
}

fn curves(title: &str, x: Axis, y: Axis, names: Vec<String>, series: Vec<Series>) -> String {
    let style = if series.iter().any(|s| s.marks.len() > 40) { Style::Lines } else { Style::Markers };
    let facets = vec![Facet { title: String::new(), series }];
    Plot { style, title: title.to_owned(), x, y, names, facets, width: WIDTH, ..Plot::default() }.svg()
}
