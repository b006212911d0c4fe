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

use crate::{
    asked::{Asked, Form},
    computed::{Computed, Special, Verified},
    files::Files,
};
use netloom::{Error, ErrorKind, Watcher, watcher::Phases};
use report::{Bars, Lines, Panel};
use resilience::Protocol;
use scenarios::{APPLICATIONS, MAPPINGS, NODES, Net, Scenario, title};
use serde_json::{Map, Value as Json, json};
use std::{fs, path::Path};

/// Name of the study.
const NAME: &str = "haec-sim";

/// This study among those that compute something.
pub const SPECIAL: Special = Special { name: NAME, compute: run, verify: Some(verify) };

/// How much a form computes.
struct Effort {
    /// Samples of each mean.
    samples: u64,
    /// Rounds of exchanges of our mapping.
    rounds: u64,
    replay: replay::Effort,
}

fn effort(form: Form) -> Effort {
    let of = |samples, rounds, replay| Effort { samples, rounds, replay };
    let replay = |iterations, samples, only| replay::Effort { iterations, samples, only };
    match form {
        // BT on the torus, xyz, DOR_r.
        Form::Smoke => {
            let only = replay::Only { application: 1, net: 1, mapping: 0, protocol: Protocol::Dor };
            of(64, 4, replay([1, 1], 64, Some(only)))
        }
        Form::Quick => of(1_000, 100, replay([1, 1], 1_000, None)),
        Form::Whole => of(100_000, 2_000, replay([3, 10], 10_000, None)),
        Form::Full => of(100_000, 2_000, replay([0, 0], 10_000, None)),
    }
}

/// Computes tables and figures.
///
/// # Errors
/// If the published tables cannot be read, or figures not be written.
fn run(files: &Files, asked: &Asked<'_>, watcher: &dyn Watcher) -> Result<Computed, Error> {
    let published = tables::load(files)?;
    let Effort { samples, rounds, replay: replayed } = effort(asked.form);
    let phases = Phases(watcher);
    let nets = scenarios::nets()?;
    let mut all = Vec::new();
    for (application, (name, _)) in APPLICATIONS.iter().enumerate() {
        let program = scenarios::program(application)?;
        for (net, on) in nets.iter().enumerate() {
            for (mapping, (called, _)) in MAPPINGS.iter().enumerate() {
                phases.begin(format!("{name}.D.4096 on a {}, mapping {called}", on.name));
                all.push(scenarios::scenario(application, program.as_ref(), net, on, mapping, rounds)?);
            }
        }
    }
    phases.begin("windows of packets");
    let means = verify::means(samples)?;
    let progress = |s: &Scenario, protocol: Protocol| {
        phases.begin(format!("replay of {}, {}", title(s, &nets), protocol.name()));
    };
    let replays = replay::run(&published.runs, &all, &nets, &replayed, &progress)?;
    let mut lines = tables::shares(&published, &all, &nets, &replays);
    lines.extend(tables::counted(&published, &all, &nets));
    let cells = tables::timed(&published, &all, &nets, &means, &replays);
    let mut object = object(&all, &nets, samples);
    object["replays"] = tables::object(&all, &nets, &replays);
    phases.begin("fits of window times");
    let effort = match asked.form {
        Form::Smoke => figure2::Effort { steps: 10, samples: 100, error: 1.0 },
        Form::Quick => figure2::Effort { steps: 10, samples: 4_000, error: 0.003 },
        Form::Whole | Form::Full => figure2::Effort { steps: 10, samples: 50_000, error: 0.000_5 },
    };
    let figure2::Found { lines: more, fits, pictures } = figure2::run(&effort, asked.out.as_deref())?;
    lines.extend(more);
    object["fits"] = fits;
    if let Some(out) = &asked.out {
        draw(out, &pictures, &all, &nets)?;
    }
    let text = tables::text(&cells) + &tables::mappings(&all, &nets, &replays);
    Ok(Computed { lines, more: cells.iter().flat_map(tables::Cell::lines).collect(), text, object })
}

/// Figures 2 to 4.
fn draw(out: &Path, pictures: &[(String, Lines)], all: &[Scenario], nets: &[Net]) -> Result<(), Error> {
    fs::create_dir_all(out).map_err(|e| unwritable(out, &e))?;
    let write = |name: &str, svg: String| {
        let path = out.join(name);
        fs::write(&path, svg).map_err(|e| unwritable(&path, &e))
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

fn unwritable(path: &Path, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Output, format!("cannot write `{}`: {error}", path.display()))
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

/// Computes transfer times again by an independent implementation (`--verify`).
///
/// # Errors
/// If what is verified cannot be kept.
fn verify(asked: &Asked<'_>, watcher: &dyn Watcher) -> Result<Verified, Error> {
    let phases = Phases(watcher);
    phases.begin("windows of packets, mappings");
    let (nets, means) = (scenarios::nets()?, verify::means(effort(asked.form).samples.min(10_000))?);
    let verification = verify::Verification::new(&nets, &means)?;
    // Every so many ranks.
    let every = match asked.form {
        Form::Smoke => 1021,
        Form::Quick => 64,
        Form::Whole | Form::Full => 1,
    };
    let progress = |done: u32, of: u32| {
        phases.begin(format!("{done} of {of} blocks of ranks verified"));
        true
    };
    let verified = verification.run(0, every, asked.out.as_deref(), &progress)?;
    let object = json!({
        "study": NAME,
        "scenarios": 24,
        "ranks_of_each": NODES.div_ceil(every),
        "messages": verified.messages,
        "deviations": verified.deviations,
        "worst_ps": verified.worst_ps,
    });
    let text = format!(
        "{} messages of 24 scenarios ({} ranks of each) computed twice: {} deviations, the greatest {} ps\n",
        verified.messages,
        NODES.div_ceil(every),
        verified.deviations,
        verified.worst_ps
    );
    Ok(Verified { text, object, agrees: verified.deviations == 0 })
}
