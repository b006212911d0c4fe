//! What `netloom study haec-sim` computes beside experiments: hops and transfer times of LU.D and BT.D on 4,096 ranks (Tables 1 and 3 to 8, Figures
//! 2 to 4), and the verification by a second implementation.
//!
//! Hops and model times follow from what each rank sends, which the generators know in closed form; [`replay`] simulates the ranks.
//! Published numbers stand in `tables.toml` beside the study.

pub mod figure2;
pub mod replay;
pub mod scenarios;
pub mod second;
pub mod tables;
pub mod verify;

use super::study::Line;
use crate::{
    args::StudyArgs,
    console::Console,
    exit::Exit,
    failure::{Failure, Outcome},
    stages::Stages,
};
use report::{Bars, Lines, Panel};
use resilience::Protocol;
use scenarios::{APPLICATIONS, MAPPINGS, NODES, Net, Scenario, title};
use serde_json::{Map, Value as Json, json};
use std::{fs, path::Path};

/// The study.
pub const NAME: &str = "haec-sim";
const TABLES: &str = "tables.toml";

/// What the study computes.
pub struct Computed {
    /// Rows of the table.
    pub lines: Vec<Line>,
    /// Rows that are told with the others as JSON, and in `text` else.
    pub more: Vec<Line>,
    /// Tables 3 to 6 and the mappings.
    pub text: String,
    /// All counts.
    pub object: Json,
}

/// Samples of each mean, rounds of exchanges of our mapping, and what is replayed.
fn effort(args: &StudyArgs) -> (u64, u64, replay::Effort) {
    let replay = |iterations, samples, only| replay::Effort { iterations, samples, only };
    match (args.smoke, args.quick, args.full) {
        // BT on the torus, xyz, DOR_r.
        (true, ..) => (64, 4, replay([1, 1], 64, Some(((1, 1, 0), Protocol::Dor)))),
        (_, true, _) => (1_000, 100, replay([1, 1], 1_000, None)),
        (.., full) => (100_000, 2_000, replay(if full { [0, 0] } else { [3, 10] }, 10_000, None)),
    }
}

/// Computes tables and figures.
///
/// # Errors
/// If the published tables cannot be read, or figures not be written.
pub fn run(directory: &Path, args: &StudyArgs, console: &mut Console<'_>) -> Result<Computed, Failure> {
    let published = tables::load(&directory.join(TABLES))?;
    let (samples, rounds, replayed) = effort(args);
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
    let tell = |s: &Scenario, protocol: Protocol| {
        stages.tell(format!("replay of {}, {}", title(s, &nets), protocol.name()));
    };
    let replays = replay::run(&published, &all, &nets, &replayed, &tell)?;
    let mut lines = tables::shares(&published, &all, &nets, &replays);
    lines.extend(tables::counted(&published, &all, &nets));
    let cells = tables::timed(&published, &all, &nets, &means, &replays);
    let mut object = object(&all, &nets, samples);
    object["replays"] = tables::object(&all, &nets, &replays);
    stages.tell("fits of window times");
    let effort = match (args.smoke, args.quick) {
        (true, _) => figure2::Effort { steps: 10, samples: 100, error: 1.0 },
        (_, true) => figure2::Effort { steps: 10, samples: 4_000, error: 0.003 },
        _ => figure2::Effort { steps: 10, samples: 50_000, error: 0.000_5 },
    };
    let (more, fits, pictures) = figure2::run(&effort, args.out.as_deref())?;
    lines.extend(more);
    object["fits"] = fits;
    if let Some(out) = &args.out {
        draw(out, &pictures, &all, &nets)?;
    }
    let text = tables::text(&cells) + &tables::mappings(&all, &nets, &replays);
    Ok(Computed { lines, more: cells.iter().flat_map(tables::Cell::lines).collect(), text, object })
}

/// Figures 2 to 4.
fn draw(out: &Path, pictures: &[(String, Lines)], all: &[Scenario], nets: &[Net]) -> Result<(), Failure> {
    fs::create_dir_all(out).map_err(|e| unwritable(out, &e))?;
    let write = |name: &str, svg: Result<String, String>| {
        let path = out.join(name);
        fs::write(&path, svg.map_err(|m| scenarios::ours(&m))?).map_err(|e| unwritable(&path, &e))
    };
    for (name, lines) in pictures {
        write(name, lines.svg())?;
    }
    for (application, (name, _)) in APPLICATIONS.iter().enumerate() {
        // The paper's two mappings, side by side.
        let of = all.iter().filter(|s| s.application == application && s.mapping < 2);
        let panel = |s: &Scenario| Panel {
            title: format!("3D {}, {}", nets[s.net].name, MAPPINGS[s.mapping].0),
            bars: s.histogram().into_iter().map(|(hops, n)| (hops, n as f64 / 1e6)).collect(),
        };
        let figure = Bars {
            title: format!("Figure {}: messages of {name}.D.4096 by hops", 3 + application),
            x: "hops".to_owned(),
            y: "messages / 10^6".to_owned(),
            panels: of.map(panel).collect(),
        };
        write(&format!("figure-{}.svg", 3 + application), figure.svg())?;
    }
    Ok(())
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(Exit::Output, format!("cannot write `{}`: {error}", path.display()))
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
    let tell = |done: u32, of: u32| {
        stages.tell(format!("{done} of {of} blocks of ranks verified"));
        true
    };
    let verified = verification.run((0, every), args.out.as_deref(), &tell)?;
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
