//! The page of finished runs: one file of HTML that needs nothing else, with the network drawn and moving.
//!
//! What is on it comes from summaries, manifests and tables; nothing is simulated or measured here, and nothing depends on the time or the machine:
//! the same results give the same bytes. Names that users gave are text and never markup. A style sheet and a script are part of the file, and it
//! forbids itself to load anything else.

mod chart;
mod columns;
mod curves;
mod lanes;
mod models;
pub(crate) mod network;
mod overview;
mod run;
mod tables;
mod words;

/// Topologies that are drawn in a way of their own, and the keys that they need.
pub use models::{Compared, Words, compared};
pub use network::READ as ARRANGED;
pub use run::Finished;

use chart::data;
use network::{Loads, Picture, Tops, Wires};
use results::table::Table;
use serde_json::Value as Json;
use std::fmt::Write;
use words::{escaped, percent};

/// Most runs of one page.
pub const MOST_RUNS: usize = 8;

/// Most networks that are drawn on one page.
const MOST_NETWORKS: usize = 4;

/// A run's network, if its tables describe one.
fn drawn(run: &Finished<'_>) -> Option<(Wires, Loads)> {
    let wires = Wires::of(columns::find(run.tables, "topology")?)?;
    let loads = Loads::of(&wires, run.tables);
    Some((wires, loads))
}

/// The network of a run as a file of SVG that moves where loads were recorded over time; `None` if its tables describe no routers.
#[must_use]
pub fn network_svg(run: &Finished<'_>) -> Option<String> {
    let (wires, loads) = drawn(run).filter(|(wires, _)| wires.routers > 0)?;
    let tops = Tops::of(std::iter::once(&loads));
    let picture = network::picture(&wires, &loads, tops, &run.summary.experiment["fabric"]);
    Some(network::animated(&picture, run.name))
}

/// The network of a run as a file of SVG that stands still, coloured by what its links carried in the whole run; `fabric` is the resolved section
/// of that name. `None` if the tables describe no routers.
#[must_use]
pub fn network_still(name: &str, tables: &[Table], fabric: &Json) -> Option<String> {
    let wires = Wires::of(columns::find(tables, "topology")?).filter(|wires| wires.routers > 0)?;
    let loads = Loads { frames: Vec::new(), joined: 0, ..Loads::of(&wires, tables) };
    let picture = network::picture(&wires, &loads, Tops::of(std::iter::once(&loads)), fabric);
    Some(network::animated(&picture, name))
}

/// The page of some runs, as HTML; those beyond [`MOST_RUNS`] are left out, and the page says so.
#[must_use]
pub fn page(runs: &[Finished<'_>]) -> String {
    let (shown, title) = (&runs[..runs.len().min(MOST_RUNS)], title(runs));
    let networks: Vec<Option<(Wires, Loads)>> = shown.iter().map(drawn).collect();
    let mut text = head(&title);
    let _ = writeln!(text, "<header><h1><bdi>{}</bdi></h1>", escaped(&title));
    for run in shown {
        text += &overview::verdict(run, shown.len() > 1);
    }
    if shown.len() < runs.len() {
        let _ = write!(
            text,
            "<p>{} more runs are left out: a page shows {MOST_RUNS}.</p>",
            runs.len() - shown.len()
        );
    }
    text += "</header>\n<main id=\"content\">\n";
    section(&mut text, "numbers", "Numbers", &overview::numbers(shown));
    section(&mut text, "network", "Network", &pictures(shown, &networks));
    let charts = curves::latencies(shown).iter().fold(String::new(), |text, c| text + &c.html());
    section(&mut text, "latency", "Latency", &charts);
    let loads: Vec<Option<&Loads>> = networks.iter().map(|n| n.as_ref().map(|n| &n.1)).collect();
    let over = curves::over(shown, &loads);
    let charts = over.iter().fold(String::new(), |text, c| text + &c.html());
    let hint = "<p class=\"hint\">More is recorded with <code>window = \"10 us\"</code> in <code>[output]</code>.</p>";
    // Models without a series have nothing more to record.
    let more = shown.iter().any(|run| columns::find(run.tables, "links").is_some());
    let hint = if more && over.iter().all(|c| c.id != "latency-time") { hint } else { "" };
    section(&mut text, "time", "Over time", &(charts + hint));
    section(&mut text, "links", "Links", &links(shown, &networks));
    let mut traffic = each(shown, tables::matrix);
    if traffic.is_empty() {
        traffic = "<p class=\"hint\">The traffic matrix is recorded with <code>pairs = true</code> in <code>[output]</code>.</p>".to_owned();
    }
    traffic += &curves::sizes(shown).map_or_else(String::new, |chart| chart.html());
    section(&mut text, "traffic", "Traffic", &traffic);
    section(&mut text, "jobs", "Jobs and ranks", &jobs(shown));
    let phases = each(shown, lanes::phases);
    section(&mut text, "hybrid", "Hybrid", &phases);
    let made = shown.iter().map(overview::provenance).fold(String::new(), |text, p| text + &p);
    let volatile = "<p class=\"hint\">When, where and how fast it ran stands in manifest.json and summary.json: this page has the same bytes for every run of the experiment.</p>\n";
    section(&mut text, "made", "How this was made", &(made + volatile));
    text + &close()
}

/// What ends a page.
fn close() -> String {
    let script = include_str!("page.js");
    format!(
        "</main>\n<div id=\"tip\" role=\"status\" aria-live=\"polite\" hidden></div>\n<script>\n{script}</script>\n</body></html>\n"
    )
}

fn title(runs: &[Finished<'_>]) -> String {
    let name = |run: &Finished<'_>| {
        run.summary.experiment["experiment"]["name"].as_str().unwrap_or("run").to_owned()
    };
    match runs {
        [one] => name(one),
        _ => runs.iter().map(|run| run.name).collect::<Vec<_>>().join(", "),
    }
}

fn head(title: &str) -> String {
    let (style, light, dark) = (include_str!("page.css"), network::rules(false), network::rules(true));
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{} \u{2013} netloom</title>\n\
         <style>\n{style}\n{light}\n@media screen and (prefers-color-scheme: dark) {{\n{dark}\n}}\n</style></head>\n<body>\n\
         <a class=\"skip\" href=\"#content\">To the content</a>\n",
        escaped(title)
    )
}

/// A section, if it has something.
fn section(text: &mut String, id: &str, title: &str, content: &str) {
    if !content.is_empty() {
        let _ = writeln!(text, "<section id=\"{id}\"><h2>{title}</h2>\n{content}</section>");
    }
}

/// A figure of each run that has one; identifiers of all but the first run's say whose they are. Names are escaped, so that none holds a quote.
fn each(runs: &[Finished<'_>], figure: fn(&Finished<'_>) -> Option<String>) -> String {
    let with = runs.iter().enumerate().filter_map(|(n, run)| Some((n, figure(run)?)));
    with.fold(String::new(), |text, (n, figure)| match n {
        0 => text + &figure,
        _ => text + &figure.replace(" id=\"", &format!(" id=\"run{n}-")),
    })
}

/// Pictures of the networks of the first runs.
fn pictures(runs: &[Finished<'_>], networks: &[Option<(Wires, Loads)>]) -> String {
    let mut text = String::new();
    let with =
        runs.iter().zip(networks).filter_map(|(run, n)| Some((run, n.as_ref().filter(|n| n.0.routers > 0)?)));
    // The same colours mean the same on all pictures of a page.
    let tops = Tops::of(networks.iter().flatten().map(|n| &n.1));
    for (n, (run, (wires, loads))) in with.enumerate().take(MOST_NETWORKS) {
        let picture = network::picture(wires, loads, tops, &run.summary.experiment["fabric"]);
        text += &map(run, n, &picture, wires.routers, wires.terminals, tops);
    }
    let drawable = networks.iter().flatten().filter(|n| n.0.routers > 0).count();
    if drawable > MOST_NETWORKS {
        let _ = writeln!(
            text,
            "<p class=\"hint\">Networks of {} more runs are not drawn: a page draws {MOST_NETWORKS}.</p>",
            drawable - MOST_NETWORKS
        );
    }
    if text.is_empty() && networks.iter().any(Option::is_some) {
        text = "<p class=\"hint\">This platform names its links but not what they connect, so that no picture can be drawn.</p>\n".to_owned();
    }
    text
}

fn map(
    run: &Finished<'_>,
    n: usize,
    picture: &Picture<'_>,
    routers: usize,
    terminals: usize,
    tops: Tops,
) -> String {
    let name = escaped(run.name);
    let frames = picture.data["frames"].as_array().map_or(1, Vec::len);
    let (scale, top) = (network::scale(), percent(tops.whole));
    let control = if frames > 1 {
        format!(
            "<div class=\"control\"><button type=\"button\" aria-pressed=\"false\">Play</button>\
             <label>Time <input type=\"range\" min=\"0\" max=\"{}\" value=\"0\" step=\"1\" aria-valuetext=\"whole run\"></label> <output>whole run</output></div>",
            frames - 1
        )
    } else {
        "<p class=\"hint\">Loads over time were not recorded: a run that ends at a <code>duration</code>, or with a <code>window</code> in <code>[output]</code>, has them; models packet and hybrid up to 131\u{2009}072 links.</p>".to_owned()
    };
    let predicted = if run.summary.hybrid.as_ref().is_some_and(|h| h.predicted_share > Some(0.0)) {
        " While a run predicts, nothing passes its links: shares of the whole run count that time as idle."
    } else {
        ""
    };
    format!(
        "<figure class=\"chart wide map\" id=\"map{n}\"><figcaption><h3>{routers} routers, {terminals} terminals: <bdi>{name}</bdi></h3>\n\
         <p>{} A cable is two lines, one for each direction: that to the right of the direction. Discs: left half what comes from a router's terminals, right half what goes to them; an empty one has no terminals.{predicted}</p></figcaption>\n\
         <div class=\"guide\">{control}<p class=\"scale\">share of bandwidth: 0 % {scale} <span class=\"top\">{top}</span>; the scale ends at or above the busiest link</p></div>\n\
         <div class=\"picture\" role=\"group\" tabindex=\"0\" aria-label=\"Network: arrow keys go through its links, busiest first\">\n{}</div>\n\
         <script type=\"application/json\">{}</script></figure>\n",
        escaped(&picture.how),
        picture.svg,
        data(&picture.data)
    )
}

fn links(runs: &[Finished<'_>], networks: &[Option<(Wires, Loads)>]) -> String {
    let mut text = String::new();
    for (run, network) in runs.iter().zip(networks) {
        text += &tables::classes(run);
        if let Some((wires, loads)) = network {
            text += &tables::ranking(run, wires, loads);
        }
    }
    text
}

fn jobs(runs: &[Finished<'_>]) -> String {
    let mut text = tables::jobs(runs);
    text += &each(runs, lanes::timeline);
    text + &each(runs, lanes::ranks)
}
