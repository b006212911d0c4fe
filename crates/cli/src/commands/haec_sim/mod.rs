//! What `netloom study haec-sim` computes beside experiments: hops and transfer times of LU.D and BT.D on 4,096 ranks (Tables 3 to 8, Figures
//! 2 to 4), and the verification by a second implementation.
//!
//! All of it follows from what each rank sends, which the generators know in closed form: nothing is simulated but windows of packets.
//! Published numbers stand in `tables.toml` beside the study.

pub mod figure2;
pub mod scenarios;
pub mod second;
pub mod verify;

use super::study::Line;
use crate::{
    args::StudyArgs,
    console::Console,
    exit::Exit,
    experiment::tree::{self, Data, Node, Table},
    failure::{Failure, Outcome},
    prepare::read_file,
    stages::Stages,
};
use base::diag::Diagnostics;
use model::resilient::{Protocol, means::Means};
use scenarios::{APPLICATIONS, MAPPINGS, NODES, Net, Scenario};
use serde_json::{Map, Value as Json, json};
use std::path::Path;

/// The study.
pub const NAME: &str = "haec-sim";
const TABLES: &str = "tables.toml";

const HOPS: &str = "met to the last digit";
const TIMES: &str = "ours is the transfer time of the model (loss 1 %); theirs was measured between send and completed receive, so waiting \
                     for late receivers is in it";

/// What the paper prints.
struct Published {
    messages: Vec<(String, f64)>,
    hops: Vec<(String, f64)>,
    /// Scenario, and rows of greatest size, DOR, PNC, NCD.
    times: Vec<(String, Vec<[f64; 4]>)>,
}

/// Samples of each mean, and rounds of exchanges of our mapping.
fn effort(args: &StudyArgs) -> (u64, u64) {
    match (args.smoke, args.quick) {
        (true, _) => (64, 4),
        (_, true) => (1_000, 100),
        _ => (100_000, 2_000),
    }
}

/// Computes tables and figures.
///
/// # Errors
/// If the published tables cannot be read.
pub fn run(
    directory: &Path,
    args: &StudyArgs,
    console: &mut Console<'_>,
) -> Result<(Vec<Line>, Json), Failure> {
    let published = load(&directory.join(TABLES))?;
    let (samples, rounds) = effort(args);
    let stages = Stages::new(console.err_terminal);
    let nets = scenarios::nets()?;
    let mut all = Vec::new();
    for (application, (name, _)) in APPLICATIONS.iter().enumerate() {
        let program = scenarios::program(application)?;
        for on in nets.iter().enumerate() {
            for (mapping, (called, _)) in MAPPINGS.iter().enumerate() {
                stages.tell(format!("{name}.D.4096 on a {}, mapping {called}", on.1.name));
                all.push(scenarios::scenario((application, program.as_ref()), on, mapping, rounds)?);
            }
        }
    }
    stages.tell("windows of packets");
    let means = verify::means(samples)?;
    let mut lines = counted(&published, &all, &nets);
    lines.extend(timed(&published, &all, &nets, &means));
    let mut object = object(&all, &nets, samples);
    stages.tell("fits of window times");
    let effort = match (args.smoke, args.quick) {
        (true, _) => figure2::Effort { steps: 10, samples: 100, error: 1.0 },
        (_, true) => figure2::Effort { steps: 20, samples: 4_000, error: 0.005 },
        _ => figure2::Effort { steps: 20, samples: 50_000, error: 0.000_5 },
    };
    let (more, fits) = figure2::run(&effort, args.out.as_deref())?;
    lines.extend(more);
    object["fits"] = fits;
    Ok((lines, object))
}

/// `mesh min md LU` and the like.
fn title(s: &Scenario, nets: &[Net]) -> String {
    format!("{} {} {}", nets[s.net].name, MAPPINGS[s.mapping].0, APPLICATIONS[s.application].0)
}

/// Messages, and Tables 7 and 8.
fn counted(published: &Published, all: &[Scenario], nets: &[Net]) -> Vec<Line> {
    let line = |row: String, key: &str, published: f64, ours: u64, why: &str| Line {
        row,
        key: key.to_owned(),
        published: Some(published),
        ours: Some(ours as f64),
        why: why.to_owned(),
    };
    let mut lines = Vec::new();
    for (name, number) in &published.messages {
        if let Some(s) = all.iter().find(|s| APPLICATIONS[s.application].0 == name) {
            lines.push(line(format!("{name}.D.4096"), "messages", *number, s.messages(), HOPS));
        }
    }
    for (name, number) in &published.hops {
        if let Some(s) = all.iter().find(|s| title(s, nets) == *name) {
            let table = if nets[s.net].name == "mesh" { 7 } else { 8 };
            lines.push(line(
                format!("table {table}: {name}"),
                "hops of all messages",
                *number,
                s.total_hops(),
                HOPS,
            ));
        }
    }
    lines
}

/// Tables 3 to 6: means over the messages of a class of sizes.
fn timed(published: &Published, all: &[Scenario], nets: &[Net], means: &[Means]) -> Vec<Line> {
    let mut lines = Vec::new();
    for (name, rows) in &published.times {
        let Some(s) = all.iter().find(|s| title(s, nets) == *name) else { continue };
        let table = 3 + 2 * s.application + s.net;
        let mut low = 0;
        for &[high, times @ ..] in rows {
            let high = high as u64;
            let class = s.counts.iter().filter(|(k, _)| low < k.0 && k.0 <= high);
            for ((protocol, means), theirs) in Protocol::PAPER.into_iter().zip(means).zip(times) {
                let (sum, count) =
                    class.clone().fold((0u128, 0u128), |(sum, count), (&(bytes, hops), &n)| {
                        (sum + u128::from(means.delay(hops, bytes)) * u128::from(n), count + u128::from(n))
                    });
                lines.push(Line {
                    row: format!("table {table}: {name}, up to {high} B, {}", protocol.name()),
                    key: "transfer time us".to_owned(),
                    published: Some(theirs),
                    ours: (count > 0).then(|| sum as f64 / count as f64 / 1e6),
                    why: TIMES.to_owned(),
                });
            }
            low = high;
        }
    }
    lines
}

/// Exact counts: totals, histograms of hops (Figures 3 and 4), and our mapping beside theirs.
fn object(all: &[Scenario], nets: &[Net], samples: u64) -> Json {
    let (mut totals, mut figures) = (Map::new(), Map::new());
    for s in all {
        totals.insert(title(s, nets), json!(s.total_hops()));
        let histogram: Map<String, Json> =
            s.histogram().into_iter().map(|(h, n)| (h.to_string(), json!(n))).collect();
        figures.insert(title(s, nets), Json::Object(histogram));
    }
    let messages: Map<String, Json> = (0..APPLICATIONS.len())
        .filter_map(|a| all.iter().find(|s| s.application == a))
        .map(|s| (APPLICATIONS[s.application].0.to_owned(), json!(s.messages())))
        .collect();
    json!({"nodes": NODES, "messages": messages, "total_hops": totals, "messages_by_hops": figures, "samples": samples})
}

/// Verifies (`--verify`).
///
/// # Errors
/// If what is verified cannot be kept.
pub fn verify(args: &StudyArgs, console: &mut Console<'_>) -> Outcome {
    let stages = Stages::new(console.err_terminal);
    stages.tell("windows of packets, mappings");
    let (nets, means) = (scenarios::nets()?, verify::means(effort(args).0.min(10_000))?);
    let verification = verify::Verification::new(&nets, &means)?;
    // Every so many ranks.
    let every = match (args.smoke, args.quick) {
        (true, _) => 1021,
        (_, true) => 64,
        _ => 1,
    };
    let tell = |done: u32, of: u32| stages.tell(format!("{done} of {of} blocks of ranks verified"));
    let verified = verification.run(every, args.out.as_deref(), &tell)?;
    drop(stages);
    let object = json!({
        "study": NAME,
        "scenarios": 24,
        "ranks_of_each": NODES.div_ceil(every),
        "messages": verified.messages,
        "deviations": verified.deviations,
        "worst_ps": verified.worst_ps,
    });
    match args.format {
        crate::args::Format::Json => console.print_json(&object)?,
        crate::args::Format::Text => console.print(&format!(
            "{} messages of 24 scenarios ({} ranks of each) computed twice: {} deviations, the greatest {} ps\n",
            verified.messages,
            NODES.div_ceil(every),
            verified.deviations,
            verified.worst_ps
        ))?,
    }
    Ok(if verified.deviations == 0 { Exit::Done } else { Exit::Differences })
}

fn load(path: &Path) -> Result<Published, Failure> {
    let text = read_file(path)?;
    let mut diagnostics = Diagnostics::default();
    let source = diagnostics.add_source(path.display().to_string(), text);
    let root = tree::parse(source, &mut diagnostics);
    let Some(root) = root.filter(|_| diagnostics.is_empty()) else {
        return Err(Failure::Experiment(Box::new(diagnostics)));
    };
    let all = || {
        Some(Published {
            messages: numbers(&root, "messages")?,
            hops: numbers(&root, "hops")?,
            times: times(&root)?,
        })
    };
    all().ok_or_else(|| {
        let message = "messages, hops or times are missing or not as they should be";
        Failure::new(Exit::Input, format!("`{}`: {message}", path.display()))
    })
}

fn number(data: &Data) -> Option<f64> {
    match data {
        Data::Real(x) => Some(*x),
        Data::Integer(n) => n.map(|n| n as f64),
        _ => None,
    }
}

fn numbers(root: &Table, key: &str) -> Option<Vec<(String, f64)>> {
    let Data::Table(table) = &root.get(key)?.node.data else { return None };
    table.entries.iter().map(|e| Some((e.key.clone(), number(&e.node.data)?))).collect()
}

fn times(root: &Table) -> Option<Vec<(String, Vec<[f64; 4]>)>> {
    let Data::List(entries) = &root.get("times")?.node.data else { return None };
    let row = |node: &Node| match &node.data {
        Data::List(row) => row.iter().map(|n| number(&n.data)).collect::<Option<Vec<_>>>()?.try_into().ok(),
        _ => None,
    };
    let one = |entry: &Node| {
        let Data::Table(entry) = &entry.data else { return None };
        let (Data::Text(name), Data::List(rows)) =
            (&entry.get("scenario")?.node.data, &entry.get("rows")?.node.data)
        else {
            return None;
        };
        Some((name.clone(), rows.iter().map(row).collect::<Option<Vec<_>>>()?))
    };
    entries.iter().map(one).collect()
}
