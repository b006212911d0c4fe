//! `netloom check FILE`: everything short of the simulation.

use crate::{
    args::{CheckArgs, Format},
    console::Console,
    exit::{Exit, Outcome},
    terminal::Terminal,
};
use netloom::{
    Error, Prepared, Registry, RunOptions, cost, faults,
    input::read_experiment,
    memory::rounded,
    model::contract::Parameter,
    prepare::prepare_text,
    scaling::scaling,
    sweep::plan::plan_text,
    untimed::Programs,
    volume::{Volume, volumes},
};
use serde_json::{Map, Value as Json, json};

/// Checks an experiment and prints a short report.
///
/// # Errors
/// If the experiment cannot be read or run.
pub fn check(args: &CheckArgs, console: &mut Console<'_>) -> Outcome {
    let options = RunOptions { machine: true, ..RunOptions::default() };
    let (registry, input) = (Registry::standard(), args.input.input());
    let content = read_experiment(&input.file)?;
    let (prepared, series) = match plan_text(&registry, &input, content.clone())? {
        None => (prepare_text(&registry, &input, content, &options, &Terminal::new(console))?, None),
        Some(plan) => {
            let checked = plan.check(&options, &Terminal::new(console))?;
            let line =
                format!("{}; on {} networks, each checked at its first point", plan.line(), checked.networks);
            (checked.first, Some((line, plan.points(), checked.networks, checked.bytes)))
        }
    };
    let head = series.as_ref().map_or_else(String::new, |(line, ..)| lined(&[("sweep", line.clone())]));
    let scaled = if args.scaling { Some(gains(&prepared)?) } else { None };
    let programs = Programs::of(&*prepared.run);
    let mut json = object(&prepared);
    json["programs"] = programs.json();
    if let Some((_, points, networks, bytes)) = &series {
        json["sweep"] = json!({"points": points, "networks": networks, "memory_bytes": bytes});
    }
    let mut tail = String::new();
    if let Some((lines, gained)) = scaled {
        let names = std::iter::once("scaling").chain(std::iter::repeat(""));
        tail = lined(&names.zip(lines).collect::<Vec<_>>());
        json["scaling"] = gained;
    }
    match args.format {
        Format::Text => console.print(&(head + &text(&prepared, &programs) + &tail))?,
        Format::Json => console.print_json(&json)?,
    }
    Ok(match (programs.damaged(), programs.stop()) {
        (true, _) => Exit::Experiment,
        (false, true) => Exit::Deadlock,
        (false, false) => Exit::Done,
    })
}

/// What threads could gain, in lines and as an object.
fn gains(prepared: &Prepared) -> Result<(Vec<String>, Json), Error> {
    Ok(match scaling(prepared).map_err(|failure| Error::from(&failure))? {
        Some(scaling) => (scaling.lines(), scaling.json()),
        None => (
            vec!["this run is one partition, or over too soon: more threads give it nothing".to_owned()],
            Json::Null,
        ),
    })
}

fn text(prepared: &Prepared, programs: &Programs) -> String {
    let run = &*prepared.run;
    let mut lines = vec![("experiment", base::visible::name(&prepared.file.0).into_owned())];
    if let Some(fabric) = run.fabric() {
        let (terminals, routers, ports) = (fabric.terminals(), fabric.routers(), fabric.ports().len());
        let sizes = format!("{terminals} terminals, {routers} routers, {ports} router ports");
        lines.push(("fabric", format!("{}: {sizes}", fabric.topology())));
        if fabric.planes() > 1 {
            lines.push(("rails", format!("{} planes, {} nodes", fabric.planes(), fabric.nodes())));
        }
    }
    if let Some(faults) = faults::text(run) {
        lines.push(("faults", faults));
    }
    if let Some(report) = &prepared.routing {
        let name = prepared.experiment["routing"]["algorithm"].as_str().unwrap_or("");
        lines.push(("routing", format!("{name}; {report}")));
    }
    for job in run.jobs() {
        lines.push(("job", format!("{}: {} ranks", base::visible::name(&job.name), job.placement.len())));
    }
    let mut name = "costs";
    for parameter in run.parameters() {
        lines.push((std::mem::take(&mut name), parameter_line(parameter)));
    }
    let warnings = run.parameters().iter().filter_map(|p| p.warning.clone());
    lines.extend(warnings.map(|warning| ("warning", warning)));
    for volume in volumes(run) {
        lines.push(("will send", volume.line()));
    }
    let names = std::iter::once("would take").chain(std::iter::repeat(""));
    lines.extend(names.zip(cost::lines(&cost::costs(prepared))));
    if let Some(ranks) = prepared.machine {
        let many = if ranks == 1 { "1 rank".to_owned() } else { format!("{ranks} ranks") };
        lines.push(("portals", format!("{many} on each node")));
        lines.push(("verdict", "Portals programs can run on this machine".to_owned()));
        return lined(&lines);
    }
    let beside = if prepared.has_unknown_rows { ", and tables of as many rows as will come" } else { "" };
    lines.push(("memory", format!("at most {}{beside}", rounded(prepared.memory.bytes))));
    for (part, bytes) in &prepared.memory.parts {
        lines.push(("", format!("{} {part}", rounded(*bytes))));
    }
    lines.extend(programs.lines());
    lined(&lines)
}

/// A cost and where it is from: "latency 250 ns (140 ns to 330 ns), from ..".
fn parameter_line(parameter: &Parameter) -> String {
    let [least, mean, most] = &parameter.values;
    let span = if least == most { String::new() } else { format!(" ({least} to {most})") };
    format!("{} {mean}{span}, from {}", parameter.key, parameter.from)
}

fn lined(lines: &[(&str, String)]) -> String {
    lines.iter().map(|(name, text)| format!("{name:12}{text}\n")).collect()
}

fn object(prepared: &Prepared) -> Json {
    let run = &*prepared.run;
    let jobs: Json = run.jobs().iter().map(|j| json!({"name": j.name, "ranks": j.placement.len()})).collect();
    let parts: Map<String, Json> =
        prepared.memory.parts.iter().map(|(part, bytes)| (part.to_string(), json!(bytes))).collect();
    let mut object = json!({"valid": true, "experiment": prepared.experiment});
    if let Some(fabric) = run.fabric() {
        object["fabric"] = json!({
            "topology": fabric.topology(), "terminals": fabric.terminals(), "routers": fabric.routers(),
            "router_ports": fabric.ports().len(),
        });
        if fabric.planes() > 1 {
            object["fabric"]["rails"] = json!(fabric.planes());
            object["fabric"]["nodes"] = json!(fabric.nodes());
        }
    }
    if let Some(faults) = faults::object(run) {
        object["faults"] = faults;
    }
    if let Some(report) = &prepared.routing {
        object["routing"] = json!(report.to_string());
    }
    if !run.parameters().is_empty() {
        let all = run.parameters().iter().map(|p| {
            let [least, mean, most] = &p.values;
            let value =
                json!({"least": least, "mean": mean, "most": most, "from": p.from, "warning": p.warning});
            (p.key.to_owned(), value)
        });
        object["costs"] = Json::Object(all.collect());
    }
    if let Some(ranks) = prepared.machine {
        object["portals"] = json!({"ranks_per_node": ranks});
        return object;
    }
    object["jobs"] = jobs;
    let known: Vec<Json> = volumes(run).iter().map(Volume::json).collect();
    if !known.is_empty() {
        object["will_send"] = Json::Array(known);
    }
    object["would_take"] = cost::json(&cost::costs(prepared));
    let unknown = prepared.has_unknown_rows;
    object["memory"] = json!({"bytes": prepared.memory.bytes, "parts": parts, "unknown_rows": unknown});
    object
}
