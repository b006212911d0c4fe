//! From resolved jobs to what their ranks do and where they live.

use crate::experiment::{jobs::Job, keys::COPIES, sections::Experiment};
use base::{
    diag::{Diagnostic, Diagnostics},
    index::TerminalId,
    param::{Problem, Value},
    rate::Bandwidth,
    sorted::SortedMap,
    time::Ps,
    units::print_time,
};
use fabric::graph::Fabric;
use model::{names, section::Section, setup::JobSetup};
use std::sync::Arc;
use workload::{
    placement::PlacementContext,
    program::{collective::Chooser, lower, noise::Noise},
    registry::{ArrivalChoice, JobContext, PlacementEntry, Shape, Takes, Work},
};

/// The jobs on the nodes of a network. Loads are fractions of `bandwidth`;
///
/// Without knowing the nodes nothing can be said about jobs, if the model needs a network.
pub fn build(
    experiment: &Experiment,
    fabric: Option<&Fabric>,
    bandwidth: Option<Bandwidth>,
    diagnostics: &mut Diagnostics,
) -> Vec<JobSetup> {
    if unknown(experiment, fabric, bandwidth, diagnostics) {
        return Vec::new();
    }
    let end = experiment.general.duration.filter(|&end| end > 0).unwrap_or(Ps::MAX);
    let mut free: Vec<TerminalId> = fabric.map_or_else(Vec::new, |f| f.reachable().collect());
    let mut unplaced = 0;
    let mut setups = Vec::new();
    for (index, job) in experiment.jobs.iter().enumerate() {
        let site = Site { index, fabric, bandwidth, seed: experiment.general.seed };
        if let Some(mut setup) = build_job(job, &site, &free, diagnostics) {
            if setup.start >= end {
                let message = format!("the job would start when the run is over, at {}", print_time(end));
                let place = job.section.place("start");
                diagnostics.push(Diagnostic::new(place, message).label(print_time(setup.start)));
            }
            if fabric.is_none() {
                // Without a fabric every job has terminals of its own, numbered on.
                setup.placement.iter_mut().for_each(|t| *t = t.plus(unplaced));
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

/// True if the network that jobs need has mistakes.
fn unknown(
    experiment: &Experiment,
    fabric: Option<&Fabric>,
    bandwidth: Option<Bandwidth>,
    diagnostics: &Diagnostics,
) -> bool {
    let needs = experiment.model.as_ref().map(|m| m.entry.needs);
    if needs.is_some_and(|needs| !needs.fabric) {
        return fabric.is_none() && !diagnostics.is_empty();
    }
    let has_links = experiment.fabric.as_ref().is_some_and(|f| f.entry.required > 0);
    let needs_links = has_links && needs.is_none_or(|needs| needs.time);
    fabric.is_none() || (needs_links && bandwidth.is_none())
}

/// What a job is built on.
struct Site<'a> {
    index: usize,
    fabric: Option<&'a Fabric>,
    bandwidth: Option<Bandwidth>,
    seed: u64,
}

fn build_job(
    job: &Job,
    site: &Site<'_>,
    free: &[TerminalId],
    diagnostics: &mut Diagnostics,
) -> Option<JobSetup> {
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
    let each = job.sharing.map_or(1, |sharing| sharing.ranks);
    let ranks = asked.unwrap_or((free.len() as u32).saturating_mul(each));
    if ranks == 0 && workload.takes != Takes::Program {
        let message = "no terminal is left for this job";
        let help = match section.places.contains_key(COPIES) {
            true => "give this job `ranks`: its first copy takes all terminals that are left",
            false => "give the jobs before it a number of `ranks`",
        };
        diagnostics.push(Diagnostic::new(section.home, message).help(help));
        return None;
    }
    let index = u32::try_from(site.index).ok()?;
    let loaded = matches!(section.get("load"), Some(Value::Real(_)));
    let timed = workload.takes.arrivals() || workload.takes == Takes::List;
    if timed && loaded && site.bandwidth.is_none() && site.fabric.is_some() {
        let message =
            "a load is a fraction of the bandwidth of terminals' links, which [fabric] does not give";
        let help = "give [fabric] a `link.terminal`";
        diagnostics.push(Diagnostic::new(section.place("load"), message).help(help));
        return None;
    }
    let arrival = match (timed, site.bandwidth) {
        (true, Some(bandwidth)) if loaded => Some(ArrivalChoice {
            entry: arrival,
            values: values.clone(),
            load: values.real("load"),
            bandwidth,
        }),
        _ => None,
    };
    let lowering = lowering(section, diagnostics)?;
    let follows = |key: &str| workload.about.params.iter().any(|p| p.name == key);
    let shape =
        site.fabric.filter(|_| follows("group") || follows("leaf")).map(Shape::of).unwrap_or_default();
    // A list of messages may name hosts, so that it must be known who is where before it is read.
    let listed = (workload.takes == Takes::List).then(|| {
        let to_place = JobToPlace { ranks: ranks.div_ceil(each), each, index, program: None };
        place(placement, section, site, &to_place, free, diagnostics)
    });
    let names = listed.iter().flatten().flat_map(|at| hosts(site.fabric, at)).collect();
    let context = JobContext {
        names: Arc::new(names),
        lowering,
        ranks,
        asked: asked.is_some(),
        seed: site.seed,
        job: index,
        message: job.message.unwrap_or(0),
        arrival,
        shape,
    };
    let work =
        (workload.build)(&context, values).map_err(|problems| section.report(problems, diagnostics)).ok();
    let (work, compute_ppb) = noisy(work, section, site.seed, index, diagnostics)?;
    let ranks = work.as_ref().and_then(Work::ranks).unwrap_or(ranks);
    let program = work.as_ref().and_then(Work::program).map(|program| &**program);
    let to_place = JobToPlace { ranks: ranks.div_ceil(each), each, index, program };
    let groups = listed.unwrap_or_else(|| place(placement, section, site, &to_place, free, diagnostics));
    let placement = groups.map(|at| (0..ranks).map(|rank| at[(rank / each) as usize]).collect());
    let (name, start) = (values.text("name"), values.time("start"));
    Some(JobSetup { name, work: work?, placement: placement?, start, message: job.message, compute_ppb })
}

/// A program with the noise that its job asks for, and the factor that is left to apply to its computations: noise comes behind the job's own.
fn noisy(
    work: Option<Work>,
    section: &Section,
    seed: u64,
    job: u32,
    diagnostics: &mut Diagnostics,
) -> Option<(Option<Work>, u64)> {
    let factor = match section.get("compute") {
        Some(Value::Real(factor)) => (factor * JobSetup::COMPUTE_AS_IS as f64).round() as u64,
        _ => JobSetup::COMPUTE_AS_IS,
    };
    let report = |problems| section.report(problems, diagnostics);
    let noise = Noise::read(&section.values, factor, seed, job).map_err(report).ok()?;
    Some(match (work, noise) {
        (Some(Work::Program(program)), Some(noise)) => {
            (Some(Work::Program(noise.on(program))), JobSetup::COMPUTE_AS_IS)
        }
        (work, _) => (work, factor),
    })
}

/// The names of the hosts on which the ranks are, with these; none where a network has no names, or a name is there twice.
fn hosts(fabric: Option<&Fabric>, at: &[TerminalId]) -> SortedMap<String, u32> {
    let (mut names, mut twice) = (SortedMap::new(), Vec::new());
    let named = |(rank, &terminal)| Some((names::of_terminal(fabric?, terminal)?, rank));
    for (name, rank) in (0u32..).zip(at).filter_map(named) {
        if names.insert(name.clone(), rank).is_some() {
            twice.push(name);
        }
    }
    names.retain(|name, _| !twice.contains(name));
    names
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
    let report = |problems: Vec<Problem>| {
        let at = |p: Problem| Problem { key: "collectives".to_owned(), ..p };
        section.report(problems.into_iter().map(at).collect(), diagnostics);
    };
    let chooser = Chooser::read(library, pairs).map_err(report).ok()?;
    Some(lower::Options { chooser, reduce_ps_per_byte: *combine })
}

/// Terminals of a job's ranks; without a fabric, as many as there are ranks.
fn place(
    entry: &PlacementEntry,
    section: &Section,
    site: &Site<'_>,
    job: &JobToPlace<'_>,
    free: &[TerminalId],
    diagnostics: &mut Diagnostics,
) -> Option<Vec<TerminalId>> {
    let Some(fabric) = site.fabric else {
        if section.places.contains_key("placement") {
            let diagnostic = Diagnostic::new(section.place("placement"), "a placement needs a [fabric]");
            diagnostics.push(diagnostic.help("remove it, or describe the network"));
        }
        return Some(TerminalId::first(job.ranks).collect());
    };
    let JobToPlace { ranks, each, index, program } = *job;
    let context = PlacementContext { ranks, each, fabric, free, seed: site.seed, job: index, program };
    let room = fabric.terminals() as usize - free.len() + ranks as usize;
    let larger = |mut p: Problem| {
        if p.key == "ranks" {
            let more =
                format!("; enlarge the network, as `--set fabric.terminals={room}` does a single switch");
            p.help.get_or_insert_default().push_str(&more);
        }
        p
    };
    let report =
        |problems: Vec<Problem>| section.report(problems.into_iter().map(larger).collect(), diagnostics);
    (entry.build)(&context, &section.values).map_err(report).ok()
}
