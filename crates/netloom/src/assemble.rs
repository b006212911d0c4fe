//! From a resolved experiment to a [`Setup`]: builds fabric, routing, jobs and model parameters.
//!
//! What is built depends on what is sound: a mistake in one section does not hide those of another. Only an
//! experiment without mistakes becomes a setup.

use crate::{
    any::{AnySetup, DelayRun},
    error::Error,
    experiment::{
        reader::Section,
        sections::{Experiment, Job},
    },
    faults, limits, losses,
    models::{ModelEntry, ModelKind},
    network, schedule,
    watcher::Stages,
    wishes::Wishes,
};
use base::{
    diag::{Diagnostic, Diagnostics},
    param::{Problem, Value, Values},
    rate::Bandwidth,
    time::Ps,
    units::print_time,
};
use congestion::setup::{CongestionSetup, Statics};
use fabric::{graph::Fabric, planes, routing::Routing};
use flow::{FlowConfig, FlowSetup, changes};
use loggops::{DelayConfig, DelaySetup};
use model::setup::{Change, JobSetup, LinkParams, Measure, Rail, Scheduling, Until};
use packet::{
    PacketConfig,
    hybrid::{HybridSetup, direct::Frame},
    setup::Setup,
};
use std::sync::Arc;
use workload::{
    placement::PlacementContext,
    program::{collective::Chooser, lower},
    registry::{ArrivalChoice, JobContext, PlacementEntry, Takes, Work},
};

/// What all models are built from.
struct Parts {
    fabric: Option<Arc<Fabric>>,
    routing: Option<Arc<dyn Routing>>,
    change: Option<Change>,
    links: Vec<Option<LinkParams>>,
    jobs: Vec<JobSetup>,
    scheduling: Scheduling,
}

/// Where stages are told, and what refuses a thing that needs so many bytes.
pub type Watch<'a> = (&'a Stages<'a>, &'a dyn Fn(&str, u64) -> Result<(), Error>);

/// Builds what the experiment describes; `None` if it has mistakes.
///
/// # Errors
/// If the tables of the routing do not fit in memory.
pub fn assemble(
    experiment: &Experiment,
    wishes: &Wishes,
    (stages, room): Watch<'_>,
    diagnostics: &mut Diagnostics,
) -> Result<Option<AnySetup>, Error> {
    stages.tell("building the network");
    let (fabric, broken) = fabrics(experiment, diagnostics);
    if let (Some(fabric), Some(chosen)) = (&fabric, &experiment.routing) {
        room("the routing's tables alone", network::routing_bytes(fabric, chosen))?;
        let name = chosen.entry.about.name;
        stages.tell(format!("finding the ways of {name} on {} routers", fabric.routers()));
    }
    let change = broken.as_ref().and_then(|broken| {
        let bind = |left: &Arc<Fabric>, diagnostics: &mut Diagnostics| routing(experiment, left, diagnostics);
        faults::change(experiment, broken, bind, diagnostics)
    });
    // Ranks live on what is left.
    let left = broken.map(|b| b.fabric).or_else(|| fabric.clone()).map(|f| planes::nodes(&f));
    let routing = fabric.as_ref().and_then(|f| routing(experiment, f, diagnostics));
    let links = links(experiment, diagnostics);
    limits::check_transfers(experiment, &links, diagnostics);
    let bandwidth = terminal_bandwidth(experiment);
    let needs_fabric = experiment.model.as_ref().is_none_or(|m| m.entry.needs.fabric);
    let needs_time = experiment.model.as_ref().is_none_or(|m| m.entry.needs.time);
    let needs_links = needs_time && experiment.fabric.as_ref().is_some_and(|f| f.entry.required > 0);
    let unknown = if needs_fabric {
        fabric.is_none() || (needs_links && bandwidth.is_none())
    } else {
        fabric.is_none() && !diagnostics.is_empty()
    };
    // Without knowing the fabric nothing can be said about jobs.
    let jobs = if unknown { Vec::new() } else { jobs(experiment, left.as_deref(), bandwidth, diagnostics) };
    let scheduling = schedule::scheduling(experiment, wishes, diagnostics);
    let parts = Parts { fabric, routing, change, links, jobs, scheduling };
    if let Some(model) = &experiment.model {
        schedule::only_kept(experiment, model.entry, diagnostics);
        losses::only_packet(experiment, model.entry, diagnostics);
        one_rail(experiment, model.entry, parts.fabric.as_deref(), diagnostics);
        one_rank(experiment, model.entry, diagnostics);
    }
    Ok(experiment.model.as_ref().and_then(|model| match model.entry.kind {
        ModelKind::Packet | ModelKind::Hybrid => {
            packet_setup(experiment, parts, wishes.checkers, diagnostics).map(AnySetup::Packet)
        }
        ModelKind::Delay => delay_run(experiment, parts, diagnostics).map(AnySetup::Delay),
        ModelKind::Congestion => congestion_setup(experiment, parts, diagnostics).map(AnySetup::Congestion),
        ModelKind::Flow => flow_setup(experiment, parts, diagnostics).map(AnySetup::Flow),
    }))
}

/// Refuses several rails in models that know one way between two nodes.
fn one_rail(
    experiment: &Experiment,
    model: &ModelEntry,
    fabric: Option<&Fabric>,
    diagnostics: &mut Diagnostics,
) {
    let one = matches!(model.kind, ModelKind::Congestion | ModelKind::Flow);
    if let (true, Some(planes @ 2..), Some(chosen)) = (one, fabric.map(Fabric::planes), &experiment.fabric) {
        let message =
            format!("model \"{}\" knows one rail per node, and there are {planes}", model.about.name);
        let diagnostic = Diagnostic::new(chosen.section.place("rails"), message);
        diagnostics.push(diagnostic.help("use model \"packet\" or \"delay\", or one rail"));
    }
}

/// Refuses several ranks on a terminal where they are not known, or without terminals.
fn one_rank(experiment: &Experiment, model: &ModelEntry, diagnostics: &mut Diagnostics) {
    for job in experiment.jobs.iter().filter(|j| shared(&j.section) > 1) {
        let program = job.workload.is_some_and(|w| w.takes == Takes::Program);
        let (message, help) = if model.kind != ModelKind::Delay || !program {
            let name = model.about.name;
            let message = format!("model \"{name}\" puts one rank of this workload on a terminal");
            (message, "use model \"delay\" and a program, or leave it out")
        } else if experiment.fabric.is_none() {
            ("ranks can share a terminal only of a network".to_owned(), "add a [fabric]")
        } else {
            continue;
        };
        diagnostics.push(Diagnostic::new(job.section.place("ranks_per_terminal"), message).help(help));
    }
}

/// Ranks of a job that share a terminal.
fn shared(section: &Section) -> u32 {
    match section.get("ranks_per_terminal") {
        Some(Value::Int(n)) => u32::try_from(*n).unwrap_or(1).max(1),
        _ => 1,
    }
}

fn flow_setup(experiment: &Experiment, parts: Parts, diagnostics: &mut Diagnostics) -> Option<FlowSetup> {
    let chosen = experiment.model.as_ref().filter(|m| m.section.complete)?;
    limits::check_delays(chosen, diagnostics);
    let platform = is_platform(experiment);
    if !platform && experiment.routing.is_none() && parts.fabric.is_some() {
        let message = "model \"flow\" needs a [routing] on this topology";
        let help = "add [routing] with an `algorithm`; only platforms bring their own routes";
        diagnostics.push(Diagnostic::new(chosen.section.home, message).help(help));
    }
    if let (true, Some(faults)) = (platform, &experiment.faults) {
        let message = "a platform takes no [faults]: its `events` tell how bandwidths change";
        diagnostics.push(Diagnostic::new(faults.home, message));
    }
    let mut config = FlowConfig::from_values(&chosen.section.values);
    let texts = chosen.section.values.texts(changes::KEY);
    if platform && !texts.is_empty() {
        let message = "a platform takes no `changes`: its file has `events`";
        diagnostics.push(Diagnostic::new(chosen.section.place(changes::KEY), message));
    } else if let Some(fabric) = &parts.fabric {
        let read = changes::read(&texts, fabric);
        config.changes =
            read.map_err(|problems| chosen.section.tell(problems, diagnostics)).unwrap_or_default();
    }
    let energy = losses::flow_energy(experiment, platform, parts.fabric.as_deref(), diagnostics);
    if !diagnostics.is_empty() {
        return None;
    }
    Some(FlowSetup {
        fabric: parts.fabric?,
        routing: parts.routing.filter(|_| !platform),
        change: parts.change,
        links: parts.links.into_iter().collect::<Option<Vec<_>>>()?,
        jobs: parts.jobs,
        config,
        seed: seed(experiment),
        until: until(&experiment.experiment),
        warmup: experiment.experiment.values.time("warmup"),
        measure: measure(&experiment.output.values),
        energy,
    })
}

/// True if the network's routes are told one by one.
fn is_platform(experiment: &Experiment) -> bool {
    experiment
        .fabric
        .as_ref()
        .is_some_and(|f| f.entry.about.name == fabric::topology::platform::TOPOLOGY.about.name)
}

/// Refuses what only model `flow` can do.
fn only_flow(experiment: &Experiment, jobs: &[JobSetup], diagnostics: &mut Diagnostics) {
    let Some(model) = experiment.model.as_ref() else { return };
    let name = model.entry.about.name;
    if let (true, Some(chosen)) = (is_platform(experiment), &experiment.fabric) {
        let message = format!("model \"{name}\" cannot follow the routes of a platform");
        let diagnostic = Diagnostic::new(chosen.section.place("topology"), message);
        diagnostics.push(diagnostic.help("use model \"flow\", or a topology with routers"));
    }
    for (job, written) in jobs.iter().zip(&experiment.jobs) {
        if let Some(rank) = job.work.traffic().and_then(|t| t.to_itself()) {
            let message =
                format!("rank {rank} sends a message to itself, for which model \"{name}\" has no way");
            diagnostics.push(Diagnostic::new(written.section.place("file"), message));
        }
    }
}

fn delay_run(experiment: &Experiment, parts: Parts, diagnostics: &mut Diagnostics) -> Option<DelayRun> {
    let chosen = experiment.model.as_ref().filter(|m| m.section.complete)?;
    limits::check_delays(chosen, diagnostics);
    only_flow(experiment, &[], diagnostics);
    let config = DelayConfig::from_values(&chosen.section.values);
    let mut config = config.map_err(|problems| chosen.section.tell(problems, diagnostics)).ok();
    if let Some(config) = &mut config {
        losses::class_loss(config, chosen, parts.fabric.as_deref(), diagnostics);
    }
    if let Some(change) = &parts.change {
        let message = "model \"delay\" has no links that could fail during the run";
        let place = experiment.faults.as_ref().map(|f| f.place("at"));
        diagnostics.push(Diagnostic::new(place, message).label(print_time(change.at)));
    }
    let energy = losses::delay_energy(experiment, chosen, parts.fabric.as_deref(), diagnostics);
    if !diagnostics.is_empty() {
        return None;
    }
    let setup = DelaySetup {
        jobs: Vec::new(),
        config: config?,
        fabric: parts.fabric,
        seed: seed(experiment),
        scheduling: parts.scheduling,
        limit: match until(&experiment.experiment) {
            Until::Time(end) | Until::WorkloadDone { limit: end } => end,
        },
        measure: loggops::observe::Measure::default(),
        energy,
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

fn congestion_setup(
    experiment: &Experiment,
    parts: Parts,
    diagnostics: &mut Diagnostics,
) -> Option<CongestionSetup> {
    let chosen = experiment.model.as_ref().filter(|m| m.section.complete)?;
    if let Some(change) = &parts.change {
        let message = "model \"congestion\" has no time at which links could fail";
        let place = experiment.faults.as_ref().map(|f| f.place("at"));
        diagnostics.push(Diagnostic::new(place, message).label(print_time(change.at)).help("remove `at`"));
    }
    if !diagnostics.is_empty() {
        return None;
    }
    Some(CongestionSetup {
        fabric: parts.fabric?,
        routing: parts.routing?,
        jobs: parts.jobs,
        statics: experiment.jobs.iter().map(|job| Statics::from_values(&job.section.values)).collect(),
        want: congestion::setup::want(&chosen.section.values),
        seed: seed(experiment),
    })
}

fn packet_setup(
    experiment: &Experiment,
    parts: Parts,
    check: bool,
    diagnostics: &mut Diagnostics,
) -> Option<Setup> {
    let packet = packet(experiment, diagnostics);
    let hybrid = hybrid(experiment, diagnostics);
    let resilience = packet.as_ref().and_then(|p| {
        losses::resilience(experiment, p, parts.fabric.as_deref(), parts.change.as_ref(), diagnostics)
    });
    let energy = losses::energy(experiment, parts.fabric.as_deref(), diagnostics);
    only_flow(experiment, &parts.jobs, diagnostics);
    if let Some(packet) = &packet {
        limits::check_vcs(experiment, packet, (parts.routing.as_deref(), parts.change.as_ref()), diagnostics);
        limits::check_buffers(experiment, packet, &parts.links, diagnostics);
    }
    if !diagnostics.is_empty() {
        return None;
    }
    Some(Setup {
        fabric: parts.fabric?,
        routing: parts.routing?,
        rail: rail(experiment),
        change: parts.change,
        links: parts.links.into_iter().collect::<Option<Vec<_>>>()?,
        jobs: parts.jobs,
        packet: packet?,
        seed: seed(experiment),
        ties: 0,
        until: until(&experiment.experiment),
        warmup: experiment.experiment.values.time("warmup"),
        scheduling: parts.scheduling,
        check,
        measure: measure(&experiment.output.values),
        resilience,
        energy,
        hybrid,
    })
}

/// What replaces the network, if the model is hybrid.
fn hybrid(experiment: &Experiment, diagnostics: &mut Diagnostics) -> Option<HybridSetup> {
    let model = experiment.model.as_ref()?;
    let written = experiment.hybrid.as_ref()?;
    if model.entry.kind != ModelKind::Hybrid || !written.section.complete || !experiment.experiment.complete {
        return None;
    }
    let (predictor, director) = (written.predictor?, written.director?);
    let section = &written.section;
    let recipe = (predictor.build)(&section.values).map_err(|p| section.tell(p, diagnostics)).ok()?;
    let setup = HybridSetup::from_values(recipe, director, &section.values);
    let end = match until(&experiment.experiment) {
        Until::Time(end) | Until::WorkloadDone { limit: end } => end,
    };
    (director.build)(&setup, &Frame { end, period: None }).map_err(|p| section.tell(p, diagnostics)).ok()?;
    Some(setup)
}

fn fabric(experiment: &Experiment, diagnostics: &mut Diagnostics) -> Option<Arc<Fabric>> {
    let chosen = experiment.fabric.as_ref().filter(|f| f.section.complete)?;
    network::planes_of(chosen)
        .map(Arc::new)
        .map_err(|problems| chosen.section.tell(problems, diagnostics))
        .ok()
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
    let built = planes::bind(fabric, |plane| (chosen.entry.build)(plane, &chosen.section.values));
    built.map(Arc::from).map_err(|problems| chosen.section.tell(problems, diagnostics)).ok()
}

/// Parameters by class; `None` for a class with mistakes.
fn links(experiment: &Experiment, diagnostics: &mut Diagnostics) -> Vec<Option<LinkParams>> {
    let mut links = Vec::with_capacity(experiment.links.len());
    for (_, section) in &experiment.links {
        let before = diagnostics.len();
        for key in ["latency", "credit_delay"] {
            limits::check_delay(section, key, diagnostics);
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

/// Bandwidth of a node's terminal links, all rails together, of which loads are fractions.
fn terminal_bandwidth(experiment: &Experiment) -> Option<Bandwidth> {
    let fabric = experiment.fabric.as_ref()?;
    let rails = match fabric.section.get("rails") {
        Some(Value::Int(rails)) => *rails,
        _ => 1,
    };
    let terminal = fabric.entry.classes.first()?;
    let (_, link) = experiment.links.iter().find(|(class, _)| class == terminal)?;
    match link.get("bandwidth") {
        Some(Value::Bandwidth(bandwidth)) => bandwidth.times(rails),
        _ => None,
    }
}

/// Which rail messages take.
fn rail(experiment: &Experiment) -> Rail {
    match experiment.fabric.as_ref().and_then(|f| f.section.get("rail")) {
        Some(Value::Text(name)) => Rail::named(name),
        _ => Rail::default(),
    }
}

fn packet(experiment: &Experiment, diagnostics: &mut Diagnostics) -> Option<PacketConfig> {
    let chosen = experiment.model.as_ref().filter(|m| m.section.complete)?;
    limits::check_delays(chosen, diagnostics);
    let config = PacketConfig::from_values(&chosen.section.values);
    config.map_err(|problems| chosen.section.tell(problems, diagnostics)).ok()
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
    let each = shared(section);
    let ranks = asked.unwrap_or((free.len() as u32).saturating_mul(each));
    if ranks == 0 && workload.takes != Takes::Program {
        let message = "no terminal is left for this job";
        let help = "give the jobs before it a number of `ranks`";
        diagnostics.push(Diagnostic::new(section.home, message).help(help));
        return None;
    }
    let index = u32::try_from(site.index).ok()?;
    let loaded = matches!(section.get("load"), Some(Value::Real(_)));
    if workload.takes == Takes::Arrivals && loaded && site.bandwidth.is_none() && site.fabric.is_some() {
        let message =
            "a load is a fraction of the bandwidth of terminals' links, which [fabric] does not tell";
        let help = "give [fabric] a `link.terminal`";
        diagnostics.push(Diagnostic::new(section.place("load"), message).help(help));
        return None;
    }
    let arrival = match (workload.takes, site.bandwidth) {
        (Takes::Arrivals, Some(bandwidth)) if loaded => Some(ArrivalChoice {
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
    let job = JobToPlace { ranks: ranks.div_ceil(each), each, index, program };
    let groups = place(placement, section, site, &job, free, diagnostics);
    let placement = groups.map(|at| (0..ranks).map(|rank| at[(rank / each) as usize]).collect());
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
    each: u32,
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
    let JobToPlace { ranks, each, index, program } = *job;
    let context = PlacementContext { ranks, each, fabric, free, seed: site.seed, job: index, program };
    (entry.build)(&context, &section.values).map_err(|problems| section.tell(problems, diagnostics)).ok()
}

fn until(section: &Section) -> Until {
    match (section.get("duration"), section.get("limit")) {
        (Some(Value::Time(t)), _) => Until::Time(*t),
        (_, Some(Value::Time(limit))) => Until::WorkloadDone { limit: *limit },
        _ => unreachable!("an experiment without mistakes says when it ends"),
    }
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
