//! `netloom fabric`: the network of an experiment without a simulation, measured or written for other programs.
//!
//! Only `[fabric]`, `[faults]` and the seed are read, so that a file with nothing but a topology will do. Faults count
//! as if they had all happened.

use super::{cluster, opensm};
use crate::{
    args::{ExportArgs, FabricCommand, Form, Format, Input, MetricsArgs},
    console::Console,
    exit::Exit,
    experiment::{self, sections::FabricOnly},
    failure::{Failure, Outcome},
    faults,
    network::{fabric_bytes, planes_of},
    prepare::{fits, limit_in_bytes, read_file},
    stages::Stages,
};
use base::diag::Diagnostics;
use fabric::{
    engines::Options,
    export,
    graph::Fabric,
    metrics::{Metrics, measure_telling},
    planes,
    subnet::Subnet,
};
use serde_json::{Map, Value as Json, json};
use std::{fs::OpenOptions, io::Write, path::Path};

/// Runs one of the commands about fabrics.
///
/// # Errors
/// If the fabric cannot be read, built or written.
pub fn fabric(command: &FabricCommand, console: &mut Console<'_>) -> Outcome {
    match command {
        FabricCommand::Metrics(args) => metrics(args, console),
        FabricCommand::Export(args) => export(args, console),
        FabricCommand::Import(args) => cluster::import(args, console),
        FabricCommand::Verify(args) => cluster::verify(args, console),
        FabricCommand::Route(args) => cluster::route(args, console),
        FabricCommand::Opensm(args) => opensm::opensm(args, console),
    }
}

/// Router ports of the largest network that is measured: larger ones would take hours.
const MOST_MEASURED: u64 = 1 << 27;

/// What is to be done with a network, and how many times its own memory that takes at most, itself included.
pub type Purpose = (&'static str, u64);

const MEASURE: Purpose = ("the network with its metrics", 3);
/// Writing in another form.
pub const EXPORT: Purpose = ("the network and its export", 4);

/// Reads and builds what `[fabric]` describes and `[faults]` leaves.
///
/// # Errors
/// If the file cannot be read or has mistakes, or the fabric does not fit in memory.
pub fn load(input: &Input, purpose: Purpose, stages: &Stages) -> Result<Fabric, Failure> {
    let text = read_file(&input.file)?;
    let mut diagnostics = Diagnostics::default();
    let name = input.file.display().to_string();
    let read = experiment::read_fabric(&name, &text, &input.set, &mut diagnostics);
    stages.tell("building the network");
    let built = read.and_then(|only| build(&only, purpose, &mut diagnostics).transpose());
    match built {
        Some(fabric) if diagnostics.is_empty() => fabric,
        _ => Err(Failure::Experiment(Box::new(diagnostics))),
    }
}

/// The fabric; `None` if it has mistakes, a failure if it does not fit in memory.
fn build(
    only: &FabricOnly,
    (what, times): Purpose,
    diagnostics: &mut Diagnostics,
) -> Result<Option<Fabric>, Failure> {
    let Some(chosen) = only.fabric.as_ref().filter(|f| f.section.complete) else { return Ok(None) };
    let ports = (chosen.entry.sizes)(&chosen.section.values).map_or(0, |sizes| sizes.ports);
    if what == MEASURE.0 && ports > MOST_MEASURED {
        let message =
            format!("a plane of the network has {ports} router ports: measuring it would take hours");
        let help = format!("measure a smaller one of its kind, of up to {MOST_MEASURED} ports");
        return Err(Failure::new(Exit::Limit, message).with_help(help));
    }
    if let Some(bytes) = fabric_bytes(chosen) {
        fits(what, bytes.saturating_mul(times), limit_in_bytes(None))?;
    }
    match planes_of(chosen) {
        Ok(whole) if only.faults.is_none() => Ok(Some(whole)),
        Ok(whole) => Ok(only.faults.as_ref().and_then(|f| faults::left(f, only.seed, &whole, diagnostics))),
        Err(problems) => {
            chosen.section.tell(problems, diagnostics);
            Ok(None)
        }
    }
}

fn metrics(args: &MetricsArgs, console: &mut Console<'_>) -> Outcome {
    let stages = Stages::new(console.err_terminal);
    let fabric = load(&args.input, MEASURE, &stages)?;
    // Planes of which nothing failed are alike.
    let different = if fabric.intact() { 1 } else { fabric.planes() };
    let measured: Vec<(Fabric, Metrics)> = (0..different)
        .map(|p| planes::plane(&fabric, p))
        .map(|plane| {
            let measured = measure_telling(&plane, &mut |what| stages.tell(what));
            (plane, measured)
        })
        .collect();
    drop(stages);
    match (args.format, fabric.planes()) {
        (Format::Text, 1) => console.print(&text(&measured[0].0, &measured[0].1))?,
        (Format::Json, 1) => console.print_json(&object(&measured[0].0, &measured[0].1))?,
        (Format::Text, _) => console.print(&planes_text(&fabric, &measured))?,
        (Format::Json, count) => {
            let each = measured.iter().map(|(plane, m)| object(plane, m)).collect::<Json>();
            let all =
                json!({"rails": count, "nodes": fabric.nodes(), "alike": different == 1, "planes": each});
            console.print_json(&all)?;
        }
    }
    Ok(Exit::Done)
}

/// Every plane by itself, or one for all that are alike.
fn planes_text(fabric: &Fabric, measured: &[(Fabric, Metrics)]) -> String {
    let (count, nodes) = (fabric.planes(), fabric.nodes());
    let mut all = format!("{:12}{count}: each node has a link to each plane; {nodes} nodes\n", "rails");
    for (p, (plane, m)) in measured.iter().enumerate() {
        let what = if measured.len() == 1 { "each, all alike".to_owned() } else { p.to_string() };
        all += &format!("\n{:12}{what}\n{}", "plane", text(plane, m));
    }
    all
}

/// Distances of which the pairs are listed.
const DISTANCES_SHOWN: usize = 24;

/// A mean number of ways; those on large grids have hundreds of digits.
fn ways(mean: f64) -> String {
    if mean < 1e9 { format!("{mean:.3}") } else { format!("{mean:.3e}") }
}

/// `12 local, 8 global`, without what there is none of.
fn by_class(counts: &[(&'static str, u64)]) -> String {
    let there = counts.iter().filter(|(_, n)| *n > 0);
    let parts: Vec<String> = there.map(|(class, n)| format!("{n} {class}")).collect();
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}

fn each(count: u64, terminals: u32) -> f64 {
    count as f64 / f64::from(terminals.max(1))
}

fn text(fabric: &Fabric, m: &Metrics) -> String {
    let mut lines = vec![("topology", fabric.topology.to_owned())];
    lines.push(("terminals", m.terminals.to_string()));
    let routers =
        format!("{} with up to {} ports; {} ports without a cable", m.routers, m.radix, m.unplugged);
    lines.push(("routers", routers));
    lines.push(("cables", by_class(&m.cables)));
    if let Some(failed) = faults::left_text(fabric) {
        lines.push(("faults", failed));
    }
    let all: u64 = m.cables.iter().map(|(_, n)| n).sum();
    let (routers, cables) = (each(m.routers.into(), m.terminals), each(all, m.terminals));
    lines.push(("cost", format!("{routers:.3} routers and {cables:.3} cables per terminal")));
    let d = &m.distances;
    let sample = if d.sources < d.routers {
        format!(" (a sample: from {} of {} routers)", d.sources, d.routers)
    } else {
        String::new()
    };
    let diameter = d.diameter.map_or_else(|| "none: some pairs have no way".to_owned(), |d| d.to_string());
    lines.push(("diameter", format!("{diameter}{sample}")));
    lines.push(("distance", format!("{:.3} links between routers in the mean{sample}", d.mean)));
    let rows: Vec<(usize, u64)> = d.histogram.iter().copied().enumerate().filter(|(_, n)| *n > 0).collect();
    let shown = rows.iter().take(DISTANCES_SHOWN).map(|(d, n)| format!("{d}: {n}"));
    let more = if rows.len() > DISTANCES_SHOWN { ", .. (all with --format json)" } else { "" };
    lines.push(("", format!("{} pairs{more}", shown.collect::<Vec<_>>().join(", "))));
    if let Some(b) = &m.bisection {
        let half = b.halves[0].min(b.halves[1]).max(1);
        let share = b.cables as f64 / half as f64;
        let cut = format!(
            "{} cables at most ({}), {share:.3} per terminal of a half{}",
            b.cables,
            by_class(&b.classes),
            if b.improved { "" } else { "; a coarse bound, for the network is large" }
        );
        lines.push(("bisection", cut));
    }
    if let Some(s) = &m.shortest {
        let sources = format!("from {} of {} routers", s.sources, d.routers);
        lines.push((
            "shortest",
            format!("{} ways in the mean, {} at least, {sources}", ways(s.mean), s.least),
        ));
    }
    if let Some(p) = &m.disjoint {
        let pairs = format!("over {} pairs of routers", p.pairs);
        lines.push(("disjoint", format!("{:.3} ways in the mean, {} at least, {pairs}", p.mean, p.least)));
    }
    lines.iter().map(|(name, text)| format!("{name:12}{text}\n")).collect()
}

fn counts(counts: &[(&'static str, u64)]) -> Json {
    Json::Object(counts.iter().map(|(class, n)| ((*class).to_owned(), json!(n))).collect::<Map<_, _>>())
}

fn object(fabric: &Fabric, m: &Metrics) -> Json {
    let d = &m.distances;
    let all: u64 = m.cables.iter().map(|(_, n)| n).sum();
    let mut object = json!({
        "topology": fabric.topology,
        "terminals": m.terminals,
        "routers": m.routers,
        "radix": m.radix,
        "ports_without_cable": m.unplugged,
        "cables": counts(&m.cables),
        "cost": {
            "routers_per_terminal": each(m.routers.into(), m.terminals),
            "cables_per_terminal": each(all, m.terminals),
        },
        "distances": {
            "diameter": d.diameter, "mean": d.mean, "pairs_by_distance": d.histogram,
            "sources": d.sources, "routers": d.routers,
        },
    });
    if !fabric.intact() {
        object["faults"] = faults::left_object(fabric);
    }
    if let Some(b) = &m.bisection {
        object["bisection"] = json!({
            "cables_at_most": b.cables, "classes": counts(&b.classes), "halves": b.halves, "start": b.start,
            "improved": b.improved,
        });
    }
    if let Some(s) = &m.shortest {
        object["shortest_paths"] = json!({"mean": s.mean, "least": s.least, "sources": s.sources});
    }
    if let Some(p) = &m.disjoint {
        object["disjoint_paths"] = json!({"mean": p.mean, "least": p.least, "pairs": p.pairs});
    }
    object
}

fn export(args: &ExportArgs, console: &mut Console<'_>) -> Outcome {
    let mut fabric = load(&args.input, EXPORT, &Stages::new(console.err_terminal))?;
    let planes = fabric.planes();
    match args.plane {
        Some(plane) if plane >= planes => {
            let message = format!("the network has no plane {plane}");
            let help = format!("its planes are numbered 0 to {}", planes - 1);
            return Err(Failure::new(Exit::Usage, message).with_help(help));
        }
        Some(plane) => fabric = planes::plane(&fabric, plane),
        None if planes > 1 && args.to != Form::Dot => {
            let message = format!("the network has {planes} planes, and this form holds one");
            let help = "choose one with --plane, or write all of them with --to dot";
            return Err(Failure::new(Exit::Usage, message).with_help(help));
        }
        None => {}
    }
    let subnet = |engine: Option<&str>| {
        let subnet = Subnet::from_fabric(&fabric);
        engine.map_or_else(
            || Ok(subnet.clone()),
            |name| crate::cluster::route(&subnet, name, &Options::default()),
        )
    };
    let bytes = match args.to {
        Form::Dot | Form::Json | Form::EdgeList => drawn(&fabric, args.to)?,
        form => cluster::written(&subnet(args.engine.as_deref())?, form)?,
    };
    put(args.out.as_deref(), &bytes, args.force, console)
}

/// A fabric in one of the forms for people and for topology `graph`.
///
/// # Errors
/// If writing fails.
pub fn drawn(fabric: &Fabric, form: Form) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let written = match form {
        Form::Json => export::json(fabric, &mut bytes),
        Form::EdgeList => export::edge_list(fabric, &mut bytes),
        _ => export::dot(fabric, &mut bytes),
    };
    written.map_err(|e| Failure::new(Exit::Internal, format!("cannot write the fabric: {e}")))?;
    Ok(bytes)
}

/// Writes to a file, or to standard output.
///
/// # Errors
/// If the file cannot be written, or exists and is not to be replaced.
pub fn put(out: Option<&Path>, bytes: &[u8], force: bool, console: &mut Console<'_>) -> Outcome {
    match out {
        Some(path) => write_file(path, bytes, force)?,
        None => console.print(&String::from_utf8_lossy(bytes))?,
    }
    Ok(Exit::Done)
}

fn write_file(path: &Path, bytes: &[u8], force: bool) -> Result<(), Failure> {
    let failed = |e: std::io::Error| {
        let failure = Failure::new(Exit::Output, format!("cannot write `{}`: {e}", path.display()));
        if e.kind() == std::io::ErrorKind::AlreadyExists {
            return failure.with_help("choose another --out, or replace it with --force");
        }
        failure
    };
    let mut options = OpenOptions::new();
    let options = options.write(true).truncate(force).create(force).create_new(!force);
    options.open(path).and_then(|mut file| file.write_all(bytes)).map_err(failed)
}
