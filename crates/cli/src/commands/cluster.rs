//! `netloom fabric import|verify|route`: clusters read, checked, routed and written.

use super::{
    forms::{put, written},
    network,
};
use crate::{
    args::Form,
    args::Format,
    args::cluster::{EngineArgs, ImportArgs, RouteArgs, VerifyArgs},
    console::Console,
    exit::{Exit, Outcome},
};
use fabric::{deadlock, export::routes, graph::Fabric, routing::Routing, subnet::Subnet, verify};
use netloom::{
    Error, ErrorKind,
    cluster::{self, Failing, engine},
    inventory, verified,
};
use serde_json::json;
use std::time::Instant;

/// Reads a cluster and says what it holds, or writes it.
///
/// # Errors
/// If it cannot be read or written.
pub fn import(args: &ImportArgs, console: &mut Console<'_>) -> Outcome {
    let network = network::load(&args.network)?;
    if let Some(form) = args.write.to {
        let bytes = written(&network.subnet, form)?;
        return put(args.write.out.as_deref(), &bytes, args.write.force, console);
    }
    match args.format {
        Format::Text => console.print(&inventory::text(&network.subnet))?,
        Format::Json => console.print_json(&inventory::object(&network.subnet))?,
    }
    Ok(Exit::Done)
}

/// Tables of the files, or of an engine.
fn routed(subnet: Subnet, name: Option<&str>, args: &EngineArgs) -> Result<Subnet, Error> {
    match name {
        Some(name) => cluster::route(&subnet, name, &network::options(args, &subnet)?),
        None if subnet.tables.is_some() => Ok(subnet),
        None => {
            let help = "give a file with tables (--tables FILE), or compute them with --engine";
            Err(Error::new(ErrorKind::Usage, "the network has no forwarding tables").with_help(help))
        }
    }
}

/// Checks that the tables of a network connect all its hosts without a deadlock.
///
/// # Errors
/// If the network cannot be read or routed. Unsound tables are a result with exit status 5. Without tables the network alone is
/// checked, or the routing of an experiment.
pub fn verify(args: &VerifyArgs, console: &mut Console<'_>) -> Outcome {
    let network = network::load(&args.network)?;
    if args.engine.is_none() {
        network::without_engine(&args.routing)?;
    }
    if args.engine.is_none() && network.subnet.tables.is_none() {
        return match &network.closed {
            Some((fabric, Some(routing))) => closed(fabric, routing.as_ref(), args.format, console),
            _ => bare(&network.subnet, args.format, console),
        };
    }
    let subnet = routed(network.subnet, args.engine.as_deref(), &args.routing)?;
    report(&subnet, &[], args.format, console)
}

/// The deadlock check of an experiment's routing: every choice from every source to every destination.
fn closed(fabric: &Fabric, routing: &dyn Routing, format: Format, console: &mut Console<'_>) -> Outcome {
    let report = deadlock::check(fabric, routing, u64::MAX);
    match format {
        Format::Text => console.print(&format!("routing     {report}\n"))?,
        Format::Json => {
            console.print_json(&json!({"sound": report.is_free(), "routing": report.to_string()}))?
        }
    }
    Ok(if report.is_free() { Exit::Done } else { Exit::Deadlock })
}

/// A network without tables: can all hosts reach each other, and which cables are slower than most of their kind?
fn bare(subnet: &Subnet, format: Format, console: &mut Console<'_>) -> Outcome {
    let lost = subnet.apart();
    let slow: Vec<String> = subnet
        .slow()
        .into_iter()
        .map(|(edge, usual)| {
            let e = subnet.edges[edge as usize];
            let (from, to) = (subnet.label(e.from), subnet.label(e.to));
            format!("{from}[{}] to {to}[{}]: {}, others {usual}", e.port, e.to_port, e.speed)
        })
        .collect();
    let names: Vec<String> = lost.iter().take(10).map(|&h| subnet.label(subnet.hosts[h as usize])).collect();
    match format {
        Format::Text => {
            let verdict = if lost.is_empty() { "connected" } else { "NOT CONNECTED" };
            let mut text = format!("verdict     {verdict}; there are no tables to be verified\n")
                + &inventory::text(subnet);
            for name in &names {
                text += &format!("{:12}{name} cannot reach the first host\n", "");
            }
            for line in &slow {
                text += &format!("slow cable  {line}\n");
            }
            console.print(&text)?;
        }
        Format::Json => {
            let mut result = inventory::object(subnet);
            (result["connected"], result["apart"], result["slow_cables"]) =
                (json!(lost.is_empty()), json!(names), json!(slow));
            console.print_json(&result)?;
        }
    }
    Ok(if lost.is_empty() { Exit::Done } else { Exit::Deadlock })
}

fn report(subnet: &Subnet, head: &[(&str, String)], format: Format, console: &mut Console<'_>) -> Outcome {
    let tables = subnet.tables.as_ref().expect("tables are there, from a file or an engine");
    let report = verify::verify(subnet, tables);
    match format {
        Format::Text => {
            let head: String = head.iter().map(|(name, text)| format!("{name:12}{text}\n")).collect();
            console.print(&(head + &verified::text(subnet, &report)))?;
        }
        Format::Json => {
            let mut object = verified::object(subnet, &report);
            for (name, text) in head {
                object[*name] = json!(text);
            }
            console.print_json(&object)?;
        }
    }
    Ok(if report.sound() { Exit::Done } else { Exit::Deadlock })
}

/// Writes the ways of an experiment's routing.
fn paths(network: &cluster::Network, args: &RouteArgs, console: &mut Console<'_>) -> Outcome {
    let usage = |message: &str, help: &str| Error::new(ErrorKind::Usage, message).with_help(help);
    let write = match args.write.to {
        Some(Form::Table) => routes::table,
        Some(Form::SourceRoutes) => routes::source_routes,
        _ => {
            let message = "without an engine the paths of an experiment's routing are written";
            return Err(usage(message, "choose --to table or --to source-routes, or give an --engine"));
        }
    };
    if args.failures.fail_links != Failing::Number(0) || !args.failures.fail.is_empty() {
        let message = "what fails is of engines; a routing goes by [faults] of its experiment";
        return Err(usage(message, "write it there"));
    }
    let Some((fabric, Some(routing))) = &network.closed else {
        let message = "there is no routing whose paths could be written";
        return Err(usage(message, "give an experiment with [fabric] and [routing]"));
    };
    let written = write(fabric, routing.as_ref())?;
    if written.drawn {
        console.remark("note: packets draw their way; all are written, and who reads them draws evenly at the first router");
    }
    put(args.write.out.as_deref(), written.text.as_bytes(), args.write.force, console)
}

/// Computes tables, also around failures, and says how good they are.
///
/// # Errors
/// If the engine cannot route the network.
pub fn route(args: &RouteArgs, console: &mut Console<'_>) -> Outcome {
    let network = network::load(&args.network)?;
    let Some(name) = &args.engine else {
        network::without_engine(&args.routing)?;
        return paths(&network, args, console);
    };
    let engine = engine(name)?;
    let mut subnet = network.subnet;
    let mut head = vec![("engine", engine.about.name.to_owned())];
    if let Some((left, text)) = network::failed(&args.failures, &subnet, args.routing.seed)? {
        head.push(("failed", text));
        subnet = left;
    }
    if engine.by_source && args.write.to.is_some() {
        let message = format!(
            "the paths of `{}` depend on the source: forwarding tables cannot hold them",
            engine.about.name
        );
        return Err(Error::new(ErrorKind::Experiment, message)
            .with_help("`netloom congestion --engine` can count them"));
    }
    let options = network::options(&args.routing, &subnet)?;
    let begun = Instant::now();
    let routed = cluster::route(&subnet, name, &options)?;
    console.remark(&format!("note: routed in {:.3} s", begun.elapsed().as_secs_f64()));
    if let Some(form) = args.write.to {
        verified::warning(&routed).iter().for_each(|warning| console.remark(warning));
        return put(args.write.out.as_deref(), &written(&routed, form)?, args.write.force, console);
    }
    report(&routed, &head, args.format, console)
}
