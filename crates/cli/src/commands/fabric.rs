//! `netloom fabric`: the network of an experiment without a simulation, measured or written for other programs.
//!
//! Only `[fabric]`, `[faults]` and the seed are read, so that a file with nothing but a topology will do. Faults count
//! as if they had all happened.

use super::{
    cluster,
    forms::{drawn, put, written},
};
use crate::{
    args::{ExportArgs, FabricCommand, Form, Format, MetricsArgs},
    console::Console,
    exit::Exit,
    exit::Outcome,
    terminal::Terminal,
};
use fabric::{
    engines::Options,
    graph::Fabric,
    metrics::{Metrics, measure_with_progress},
    planes,
    topology::imported,
};
use netloom::{
    Error, ErrorKind, Registry, Watcher,
    cluster::{EXPORT, MEASURE, load, route},
    metrics::{object, planes_text, text},
};
use serde_json::{Value as Json, json};

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
        #[cfg(feature = "opensm")]
        FabricCommand::Opensm(args) => super::opensm::opensm(args, console),
    }
}

fn metrics(args: &MetricsArgs, console: &mut Console<'_>) -> Outcome {
    let terminal = Terminal::new(console);
    let fabric = load(&Registry::standard(), &args.input.input(), MEASURE, &terminal)?;
    // Planes of which nothing failed are alike.
    let different = if fabric.intact() { 1 } else { fabric.planes() };
    let measured: Vec<(Fabric, Metrics)> = (0..different)
        .map(|p| planes::plane(&fabric, p))
        .map(|plane| {
            let measured = measure_with_progress(&plane, &mut |what| terminal.phase(what));
            (plane, measured)
        })
        .collect();
    drop(terminal);
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

fn export(args: &ExportArgs, console: &mut Console<'_>) -> Outcome {
    let mut fabric = load(&Registry::standard(), &args.input.input(), EXPORT, &Terminal::new(console))?;
    let planes = fabric.planes();
    match args.plane {
        Some(plane) if plane >= planes => {
            let message = format!("the network has no plane {plane}");
            let help = format!("its planes are numbered 0 to {}", planes - 1);
            return Err(Error::new(ErrorKind::Usage, message).with_help(help));
        }
        Some(plane) => fabric = planes::plane(&fabric, plane),
        None if planes > 1 && args.to != Form::Dot => {
            let message = format!("the network has {planes} planes, and this form holds one");
            let help = "choose one with --plane, or write all of them with --to dot";
            return Err(Error::new(ErrorKind::Usage, message).with_help(help));
        }
        None => {}
    }
    let subnet = |engine: Option<&str>| {
        let subnet = imported::network(&fabric);
        engine.map_or_else(|| Ok(subnet.clone()), |name| route(&subnet, name, &Options::default()))
    };
    let bytes = match args.to {
        Form::Dot | Form::Json | Form::EdgeList => drawn(&fabric, args.to)?,
        form => written(&subnet(args.engine.as_deref())?, form)?,
    };
    put(args.out.as_deref(), &bytes, args.force, console)
}
