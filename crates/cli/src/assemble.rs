//! From a resolved experiment to a [`Setup`]: builds fabric, routing, jobs and model parameters.
//!
//! What is built depends on what is sound: a mistake in one section does not hide those of another. Only an
//! experiment without mistakes becomes a setup.

use crate::{
    experiment::{
        reader::{Chosen, Section},
        sections::{Experiment, Job},
    },
    faults,
};
use base::{
    diag::{Diagnostic, Diagnostics, Place},
    param::{Kind, Problem, Value, Values},
    rate::Bandwidth,
    time::{Ps, S},
    units::{print_bytes, print_time},
};
use fabric::{
    deadlock,
    graph::{Fabric, Port},
    registry::Topology,
    routing::Routing,
};
use model::{
    AnySetup,
    any::DelayRun,
    delay::{DelayConfig, DelaySetup},
    packet::PacketConfig,
    registry::{ModelEntry, ModelKind},
    setup::{Change, JobSetup, LinkParams, Measure, Scheduling, Setup, Until},
};
use std::sync::Arc;
use workload::{
    placement::PlacementContext,
    program::{collective::Chooser, lower},
    registry::{ArrivalChoice, JobContext, PlacementEntry, Takes, Work},
};

/// Largest delay of a link, router or adapter: sums of times then stay far from overflow.
const MAX_DELAY: Ps = 1_000 * S;

/// Longest time that a message or buffer may take on a link.
const MAX_TRANSFER: Ps = 1 << 60;

/// Bytes that a fabric's graph will take; `None` if it cannot be built.
#[must_use]
pub fn fabric_bytes(chosen: &Chosen<Topology>) -> Option<u64> {
    let sizes = chosen.section.complete.then(|| (chosen.entry.sizes)(&chosen.section.values).ok())??;
    Some(sizes.ports * size_of::<Port>() as u64 + sizes.routers * 4 + sizes.terminals * 8)
}

/// What all models are built from.
struct Parts {
    fabric: Option<Arc<Fabric>>,
    routing: Option<Arc<dyn Routing>>,
    change: Option<Change>,
    links: Vec<Option<LinkParams>>,
    jobs: Vec<JobSetup>,
    scheduling: Scheduling,
}

/// Builds what the experiment describes. `check` switches the checkers on.
pub fn assemble(experiment: &Experiment, check: bool, diagnostics: &mut Diagnostics) -> Option<AnySetup> {
    let (fabric, broken) = fabrics(experiment, diagnostics);
    let change = broken.as_ref().and_then(|broken| {
        let bind = |left: &Arc<Fabric>, diagnostics: &mut Diagnostics| routing(experiment, left, diagnostics);
        faults::change(experiment, broken, bind, diagnostics)
    });
    // Ranks live on what is left.
    let left = broken.map(|b| b.fabric).or_else(|| fabric.clone());
    let routing = fabric.as_ref().and_then(|f| routing(experiment, f, diagnostics));
    let links = links(experiment, diagnostics);
    check_transfers(experiment, &links, diagnostics);
    let bandwidth = terminal_bandwidth(experiment);
    let needs_fabric = experiment.model.as_ref().is_none_or(|m| m.entry.needs.fabric);
    let unknown = if needs_fabric {
        fabric.is_none() || bandwidth.is_none()
    } else {
        fabric.is_none() && !diagnostics.is_empty()
    };
    // Without knowing the fabric nothing can be said about jobs.
    let jobs = if unknown { Vec::new() } else { jobs(experiment, left.as_deref(), bandwidth, diagnostics) };
    let scheduling = scheduling(experiment, diagnostics);
    let parts = Parts { fabric, routing, change, links, jobs, scheduling };
    match experiment.model.as_ref()?.entry.kind {
        ModelKind::Packet => packet_setup(experiment, parts, check, diagnostics).map(AnySetup::Packet),
        ModelKind::Delay => delay_run(experiment, parts, diagnostics).map(AnySetup::Delay),
    }
}

fn delay_run(experiment: &Experiment, parts: Parts, diagnostics: &mut Diagnostics) -> Option<DelayRun> {
    let chosen = experiment.model.as_ref().filter(|m| m.section.complete)?;
    check_delays(chosen, diagnostics);
    let config = DelayConfig::from_values(&chosen.section.values);
    let config = config.map_err(|problems| chosen.section.tell(problems, diagnostics)).ok();
    if let Some(change) = &parts.change {
        let message = "model \"delay\" has no links that could fail during the run";
        let place = experiment.faults.as_ref().map(|f| f.place("at"));
        diagnostics.push(Diagnostic::new(place, message).label(print_time(change.at)));
    }
    if !diagnostics.is_empty() {
        return None;
    }
    let Scheduling::Sequential { partitions } = parts.scheduling;
    let setup = DelaySetup {
        jobs: Vec::new(),
        config: config?,
        fabric: parts.fabric,
        seed: seed(experiment),
        partitions,
        limit: match until(&experiment.experiment) {
            Until::Time(end) | Until::WorkloadDone { limit: end } => end,
        },
        measure: model::delay::observe::Measure::default(),
    };
    let run = DelayRun::new(setup, parts.jobs, measure(&experiment.output.values));
    let run = run.map_err(|index| {
        let section = &experiment.jobs[index].section;
        let message = "model \"delay\" carries rank programs, and this workload is traffic by rule";
        let help = "use model \"packet\", or a program such as \"trace\"";
        diagnostics.push(Diagnostic::new(section.place("workload"), message).help(help));
    });
    run.ok().filter(|_| diagnostics.is_empty())
}

fn packet_setup(
    experiment: &Experiment,
    parts: Parts,
    check: bool,
    diagnostics: &mut Diagnostics,
) -> Option<Setup> {
    let packet = packet(experiment, diagnostics);
    if let Some(packet) = &packet {
        check_vcs(experiment, packet, &parts, diagnostics);
        check_buffers(experiment, packet, &parts.links, diagnostics);
    }
    if !diagnostics.is_empty() {
        return None;
    }
    Some(Setup {
        fabric: parts.fabric?,
        routing: parts.routing?,
        change: parts.change,
        links: parts.links.into_iter().collect::<Option<Vec<_>>>()?,
        jobs: parts.jobs,
        packet: packet?,
        seed: seed(experiment),
        until: until(&experiment.experiment),
        warmup: experiment.experiment.values.time("warmup"),
        scheduling: parts.scheduling,
        check,
        measure: measure(&experiment.output.values),
    })
}

fn fabric(experiment: &Experiment, diagnostics: &mut Diagnostics) -> Option<Arc<Fabric>> {
    let chosen = experiment.fabric.as_ref().filter(|f| f.section.complete)?;
    let values = &chosen.section.values;
    let built = (chosen.entry.sizes)(values).and_then(|_| (chosen.entry.build)(values));
    built.map(Arc::new).map_err(|problems| chosen.section.tell(problems, diagnostics)).ok()
}

/// The fabric as the run begins with it, and what is left of it if links fail later.
fn fabrics(
    experiment: &Experiment,
    diagnostics: &mut Diagnostics,
) -> (Option<Arc<Fabric>>, Option<faults::Broken>) {
    let Some(whole) = fabric(experiment, diagnostics) else { return (None, None) };
    match faults::broken(experiment, &whole, diagnostics) {
        None => (Some(whole), None),
        Some(broken) if broken.at == 0 => (Some(broken.fabric), None),
        Some(broken) => (Some(whole), Some(broken)),
    }
}

fn routing(
    experiment: &Experiment,
    fabric: &Arc<Fabric>,
    diagnostics: &mut Diagnostics,
) -> Option<Arc<dyn Routing>> {
    let chosen = experiment.routing.as_ref().filter(|r| r.section.complete)?;
    let built = (chosen.entry.build)(Arc::clone(fabric), &chosen.section.values);
    built.map(Arc::from).map_err(|problems| chosen.section.tell(problems, diagnostics)).ok()
}

/// Parameters by class; `None` for a class with mistakes.
fn links(experiment: &Experiment, diagnostics: &mut Diagnostics) -> Vec<Option<LinkParams>> {
    let mut links = Vec::with_capacity(experiment.links.len());
    for (_, section) in &experiment.links {
        let before = diagnostics.len();
        for key in ["latency", "credit_delay"] {
            check_delay(section, key, diagnostics);
        }
        let sound = section.complete && diagnostics.len() == before;
        let values = &section.values;
        links.push(sound.then(|| LinkParams {
            bandwidth: values.bandwidth("bandwidth"),
            latency: values.time("latency"),
            credit_delay: values.time("credit_delay"),
            vc_buffer: values.int("vc_buffer"),
        }));
    }
    links
}

/// Bandwidth of the terminal links, of which loads are fractions.
fn terminal_bandwidth(experiment: &Experiment) -> Option<Bandwidth> {
    let terminal = experiment.fabric.as_ref()?.entry.classes.first()?;
    let (_, link) = experiment.links.iter().find(|(class, _)| class == terminal)?;
    match link.get("bandwidth") {
        Some(Value::Bandwidth(bandwidth)) => Some(*bandwidth),
        _ => None,
    }
}

fn check_delay(section: &Section, key: &str, diagnostics: &mut Diagnostics) {
    if let Some(Value::Time(t)) = section.get(key)
        && *t > MAX_DELAY
    {
        let message = format!("`{key}` is longer than 1000 s");
        diagnostics.push(Diagnostic::new(section.place(key), message).label("too long"));
    }
}

/// Refuses delays of a model that are too long.
fn check_delays(chosen: &Chosen<ModelEntry>, diagnostics: &mut Diagnostics) {
    for param in chosen.section.params.iter().filter(|p| p.kind == Kind::Time) {
        check_delay(&chosen.section, param.name, diagnostics);
    }
}

fn packet(experiment: &Experiment, diagnostics: &mut Diagnostics) -> Option<PacketConfig> {
    let chosen = experiment.model.as_ref().filter(|m| m.section.complete)?;
    check_delays(chosen, diagnostics);
    let config = PacketConfig::from_values(&chosen.section.values);
    config.map_err(|problems| chosen.section.tell(problems, diagnostics)).ok()
}

fn check_vcs(experiment: &Experiment, packet: &PacketConfig, parts: &Parts, diagnostics: &mut Diagnostics) {
    let (Some(routing), Some(chosen), Some(model)) = (&parts.routing, &experiment.routing, &experiment.model)
    else {
        return;
    };
    let before = routing.vcs();
    let after = parts.change.as_ref().map(|c| (c.routing.vcs(), c.detour.vcs()));
    let needed = after.map_or(before, |(after, detour)| before + after + detour);
    if packet.vcs < needed {
        let name = chosen.entry.about.name;
        let mut message = format!("routing \"{name}\" needs {needed} virtual channels on this fabric");
        if let Some((after, detour)) = after {
            message += &format!(": {before} before links fail, {after} after it and {detour} for detours");
        }
        let label = format!("only {}", packet.vcs);
        let help = format!("set `vcs = {needed}` or more");
        diagnostics.push(Diagnostic::new(model.section.place("vcs"), message).label(label).help(help));
    }
}

fn check_buffers(
    experiment: &Experiment,
    packet: &PacketConfig,
    links: &[Option<LinkParams>],
    diagnostics: &mut Diagnostics,
) {
    let chunk = u64::from(packet.chunk);
    for ((class, section), link) in experiment.links.iter().zip(links) {
        if let Some(link) = link
            && link.vc_buffer < chunk
        {
            let message =
                format!("a chunk of {} does not fit into the buffers of link.{class}", print_bytes(chunk));
            let label = format!("holds {}", print_bytes(link.vc_buffer));
            let help = "enlarge `vc_buffer`, or make `chunk` of [model] smaller";
            diagnostics.push(Diagnostic::new(section.place("vc_buffer"), message).label(label).help(help));
        }
    }
}

/// Refuses links so slow that a message or a full buffer would take longer than virtual time can tell.
fn check_transfers(experiment: &Experiment, links: &[Option<LinkParams>], diagnostics: &mut Diagnostics) {
    let messages = experiment.jobs.iter().filter_map(|j| match j.section.get("message") {
        Some(Value::Int(bytes)) => Some(*bytes),
        _ => None,
    });
    let message = messages.max().unwrap_or(0);
    for ((class, section), link) in experiment.links.iter().zip(links) {
        let Some(link) = link else { continue };
        let bytes = message.max(link.vc_buffer);
        if link.bandwidth.time_rounded(bytes).is_none_or(|t| t > MAX_TRANSFER) {
            let message = format!("{} would take more than 13 days on link.{class}", print_bytes(bytes));
            let help = "use a faster link, smaller messages or smaller buffers";
            diagnostics
                .push(Diagnostic::new(section.place("bandwidth"), message).label("too slow").help(help));
        }
    }
}

fn jobs(
    experiment: &Experiment,
    fabric: Option<&Fabric>,
    bandwidth: Option<Bandwidth>,
    diagnostics: &mut Diagnostics,
) -> Vec<JobSetup> {
    let mut free: Vec<u32> = fabric.map_or_else(Vec::new, |f| f.reachable().collect());
    let mut unplaced = 0;
    let mut setups = Vec::new();
    for (index, job) in experiment.jobs.iter().enumerate() {
        let site = Site { index, fabric, bandwidth, seed: seed(experiment) };
        if let Some(mut setup) = build_job(job, &site, &free, diagnostics) {
            let end = match experiment.experiment.get("duration") {
                Some(Value::Time(end)) if *end > 0 => *end,
                _ => Ps::MAX,
            };
            if setup.start >= end {
                let message = format!("the job would start when the run is over, at {}", print_time(end));
                let place = job.section.place("start");
                diagnostics.push(Diagnostic::new(place, message).label(print_time(setup.start)));
            }
            if fabric.is_none() {
                // Without a fabric every job has terminals of its own, numbered on.
                setup.placement.iter_mut().for_each(|t| *t += unplaced);
                unplaced += setup.placement.len() as u32;
            }
            let mut used = setup.placement.clone();
            used.sort_unstable();
            free.retain(|t| used.binary_search(t).is_err());
            setups.push(setup);
        }
    }
    setups
}

fn seed(experiment: &Experiment) -> u64 {
    match experiment.experiment.get("seed") {
        Some(Value::Int(seed)) => *seed,
        _ => 0,
    }
}

/// What a job is built on.
struct Site<'a> {
    index: usize,
    fabric: Option<&'a Fabric>,
    bandwidth: Option<Bandwidth>,
    seed: u64,
}

fn build_job(job: &Job, site: &Site<'_>, free: &[u32], diagnostics: &mut Diagnostics) -> Option<JobSetup> {
    let section = &job.section;
    let (workload, arrival, placement) = match (job.workload, job.arrival, job.placement) {
        (Some(w), Some(a), Some(p)) if section.complete => (w, a, p),
        _ => return None,
    };
    let values = &section.values;
    let asked = match section.get("ranks") {
        Some(Value::Int(n)) => Some(u32::try_from(*n).expect("the declared range fits 32 bits")),
        _ => None,
    };
    let ranks = asked.unwrap_or(free.len() as u32);
    if ranks == 0 && workload.takes != Takes::Program {
        let message = "no terminal is left for this job";
        let help = "give the jobs before it a number of `ranks`";
        diagnostics.push(Diagnostic::new(section.home, message).help(help));
        return None;
    }
    let index = u32::try_from(site.index).ok()?;
    let arrival = match (workload.takes, site.bandwidth) {
        (Takes::Arrivals, Some(bandwidth)) => Some(ArrivalChoice {
            entry: arrival,
            values: values.clone(),
            load: values.real("load"),
            bandwidth,
        }),
        _ => None,
    };
    let message = match section.get("message") {
        Some(Value::Int(bytes)) => Some(*bytes),
        _ => None,
    };
    let lowering = lowering(section, diagnostics)?;
    let context = JobContext {
        lowering,
        ranks,
        asked: asked.is_some(),
        seed: site.seed,
        job: index,
        message: message.unwrap_or(0),
        arrival,
    };
    let work =
        (workload.build)(&context, values).map_err(|problems| section.tell(problems, diagnostics)).ok();
    let ranks = work.as_ref().and_then(Work::ranks).unwrap_or(ranks);
    let program = work.as_ref().and_then(Work::program).map(|program| &**program);
    let job = JobToPlace { ranks, index, program };
    let placement = place(placement, section, site, &job, free, diagnostics);
    let (name, start) = (values.text("name"), values.time("start"));
    let compute_ppb = match section.get("compute") {
        Some(Value::Real(factor)) => (factor * JobSetup::COMPUTE_AS_IS as f64).round() as u64,
        _ => JobSetup::COMPUTE_AS_IS,
    };
    Some(JobSetup { name, work: work?, placement: placement?, start, message, compute_ppb })
}

/// What a placement asks about a job.
struct JobToPlace<'a> {
    ranks: u32,
    index: u32,
    program: Option<&'a dyn workload::program::Program>,
}

/// How a job's MPI calls become operations.
fn lowering(section: &Section, diagnostics: &mut Diagnostics) -> Option<lower::Options> {
    let (Some(Value::Text(library)), Some(Value::Texts(fixed)), Some(Value::Time(combine))) =
        (section.get("library"), section.get("collectives"), section.get("combine"))
    else {
        return Some(lower::Options::default());
    };
    let pairs = fixed
        .iter()
        .map(|text| text.split_once('=').map_or((text.trim(), ""), |(a, b)| (a.trim(), b.trim())));
    let told = |problems: Vec<Problem>| {
        let at = |p: Problem| Problem { key: "collectives".to_owned(), ..p };
        section.tell(problems.into_iter().map(at).collect(), diagnostics);
    };
    let chooser = Chooser::read(library, pairs).map_err(told).ok()?;
    Some(lower::Options { chooser, reduce_ps_per_byte: *combine })
}

/// Terminals of a job's ranks; without a fabric, as many as there are ranks.
fn place(
    entry: &PlacementEntry,
    section: &Section,
    site: &Site<'_>,
    job: &JobToPlace<'_>,
    free: &[u32],
    diagnostics: &mut Diagnostics,
) -> Option<Vec<u32>> {
    let Some(fabric) = site.fabric else {
        if section.places.contains_key("placement") {
            let diagnostic = Diagnostic::new(section.place("placement"), "a placement needs a [fabric]");
            diagnostics.push(diagnostic.help("remove it, or describe the network"));
        }
        return Some((0..job.ranks).collect());
    };
    let (ranks, index, program) = (job.ranks, job.index, job.program);
    let context = PlacementContext { ranks, fabric, free, seed: site.seed, job: index, program };
    (entry.build)(&context, &section.values).map_err(|problems| section.tell(problems, diagnostics)).ok()
}

fn until(section: &Section) -> Until {
    match (section.get("duration"), section.get("limit")) {
        (Some(Value::Time(t)), _) => Until::Time(*t),
        (_, Some(Value::Time(limit))) => Until::WorkloadDone { limit: *limit },
        _ => unreachable!("an experiment without mistakes says when it ends"),
    }
}

fn scheduling(experiment: &Experiment, diagnostics: &mut Diagnostics) -> Scheduling {
    let engine = &experiment.engine;
    if let Some(Value::Text(name)) = engine.get("scheduler")
        && name != "sequential"
    {
        let message = format!("this build has no {name} scheduler");
        let diagnostic = Diagnostic::new(engine.place("scheduler"), message).label("not in this build");
        diagnostics.push(diagnostic.help("results do not depend on the scheduler: use \"sequential\""));
    }
    Scheduling::Sequential { partitions: experiment.partitions.unwrap_or(1) }
}

fn measure(values: &Values) -> Measure {
    Measure {
        window: values.time("window"),
        per_port: values.bool("per_port"),
        packets: values.bool("packets"),
        messages: values.bool("messages"),
        pairs: values.bool("pairs"),
        operations: values.bool("operations"),
    }
}

/// Runs the deadlock check; a routing that can deadlock or go astray is told at its name.
pub fn check_deadlock(
    experiment: &Experiment,
    setup: &AnySetup,
    diagnostics: &mut Diagnostics,
) -> Option<deadlock::Report> {
    let check = |fabric, routing| deadlock::check(fabric, routing, deadlock::DEFAULT_BUDGET);
    let report = check(setup.fabric()?, setup.routing()?);
    tell_deadlock(experiment, &report, diagnostics);
    let Some(change) = setup.change() else { return Some(report) };
    let after = check(&change.fabric, change.routing.as_ref());
    tell_deadlock(experiment, &after, diagnostics);
    // The weaker of the two answers is told.
    let sample = matches!(after, deadlock::Report::Free { exhaustive: false, .. });
    Some(if sample { after } else { report })
}

fn tell_deadlock(experiment: &Experiment, report: &deadlock::Report, diagnostics: &mut Diagnostics) {
    let chosen = experiment.routing.as_ref().expect("a setup has a routing");
    let name = chosen.entry.about.name;
    let place = chosen.section.place("algorithm");
    match report {
        deadlock::Report::Free { .. } => {}
        deadlock::Report::Cycle(channels) => diagnostics.push(cycle(name, place, channels)),
        deadlock::Report::Astray(astray) => {
            let message = format!("routing \"{name}\" goes astray on this fabric: {astray}");
            diagnostics.push(Diagnostic::new(place, message));
        }
    }
}

/// Channels shown of a long cycle.
const CHANNELS_SHOWN: usize = 12;

fn cycle(name: &str, place: Place, channels: &[deadlock::Channel]) -> Diagnostic {
    let message = format!("routing \"{name}\" can deadlock: {} channels wait for each other", channels.len());
    let mut shown: Vec<String> = channels.iter().take(CHANNELS_SHOWN).map(ToString::to_string).collect();
    if channels.len() > CHANNELS_SHOWN {
        shown.push(format!("{} more", channels.len() - CHANNELS_SHOWN));
    }
    let list = format!("the cycle: {}, and again the first", shown.join(" -> "));
    Diagnostic::new(place, message).label("cyclic channel dependencies").help(list)
}
