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
    placement::{PlacementContext, room},
    program::{collective::Chooser, lower, noise::Noise},
    registry::{ArrivalChoice, JobContext, PlacementEntry, Shape, Takes, Work, WorkloadEntry},
};

/// The jobs on the nodes of a network, what is known of them already included. Loads are fractions of `bandwidth`.
///
/// Without knowing the nodes nothing can be said about jobs, if the model needs a network.
pub fn build(
    experiment: &Experiment,
    fabric: Option<&Fabric>,
    bandwidth: Option<Bandwidth>,
    early: Vec<Option<Early>>,
    diagnostics: &mut Diagnostics,
) -> Vec<JobSetup> {
    if unknown(experiment, fabric.is_some(), bandwidth, diagnostics) {
        return Vec::new();
    }
    let mut free: Vec<TerminalId> = fabric.map_or_else(Vec::new, |f| f.reachable().collect());
    let mut unplaced = 0;
    let mut setups = Vec::new();
    let mut early = early.into_iter();
    for (index, job) in experiment.jobs.iter().enumerate() {
        let seed = experiment.general.seed;
        let site = Site { index, fabric, has_network: fabric.is_some(), bandwidth, seed };
        if let Some(mut setup) = build_job(job, &site, &free, early.next().flatten(), diagnostics) {
            check_start(experiment, job, &setup, diagnostics);
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

/// Refuses a job that begins when all is over.
fn check_start(experiment: &Experiment, job: &Job, setup: &JobSetup, diagnostics: &mut Diagnostics) {
    let end = experiment.general.duration.filter(|&end| end > 0).unwrap_or(Ps::MAX);
    if setup.start >= end {
        let message = format!("the job would start when the run is over, at {}", print_time(end));
        let place = job.section.place("start");
        diagnostics.push(Diagnostic::new(place, message).label(print_time(setup.start)));
    }
}

/// A job of which all but the places of its ranks is known.
pub struct Early {
    /// Ranks that its work was asked for.
    asked: u32,
    /// Its ranks stand on the first terminals.
    pub setup: JobSetup,
}

/// The jobs as far as the number of terminals tells what they are, before there is a network: none for those of which a network says more, and for those with mistakes.
pub fn early(
    experiment: &Experiment,
    terminals: u32,
    bandwidth: Option<Bandwidth>,
    diagnostics: &mut Diagnostics,
) -> Vec<Option<Early>> {
    if unknown(experiment, true, bandwidth, diagnostics) {
        return Vec::new();
    }
    // Which terminals faults leave is not known.
    let mut free = experiment.faults.is_none().then_some(terminals);
    let known = |(index, job): (usize, &Job)| {
        let site = Site { index, fabric: None, has_network: true, bandwidth, seed: experiment.general.seed };
        let asked = matches!(job.section.get("ranks"), Some(Value::Int(_)));
        let left = free.or(asked.then_some(terminals))?;
        let (early, ranks) = work_early(job, &site, left, diagnostics);
        let groups = ranks.map(|ranks| ranks.div_ceil(each(job)));
        match groups.map(|groups| (groups, room(groups, each(job), left, terminals))) {
            Some((groups, Err(problem))) => {
                let most = u64::from(terminals - left) + u64::from(groups);
                job.section.report(vec![larger(problem, most)], diagnostics);
            }
            // Faults may cut terminals off, which then have no part in what a list says.
            Some((groups, Ok(()))) if experiment.faults.is_none() => {
                let mistakes =
                    |p: &'static PlacementEntry| (p.mistakes)(groups, terminals, &job.section.values);
                job.section.report(job.placement.map(mistakes).unwrap_or_default(), diagnostics);
            }
            _ => {}
        }
        if let Some(early) = &early {
            check_start(experiment, job, &early.setup, diagnostics);
        }
        free = free.zip(groups).and_then(|(free, groups)| free.checked_sub(groups));
        early
    };
    experiment.jobs.iter().enumerate().map(known).collect()
}

/// A job without its places, if that hangs on no network; and how many ranks it has, if that is known.
fn work_early(
    job: &Job,
    site: &Site<'_>,
    free: u32,
    diagnostics: &mut Diagnostics,
) -> (Option<Early>, Option<u32>) {
    let Some((workload, context)) = job.workload.zip(context(job, site, free, diagnostics)) else {
        return (None, None);
    };
    if has_shape(workload) || workload.takes == Takes::List {
        return (None, context.asked.then_some(context.ranks));
    }
    let asked = context.ranks;
    if are_too_many(job, workload, asked, free) {
        return (None, Some(asked));
    }
    let Some((Some(work), compute_ppb)) = worked(job, workload, &context, diagnostics) else {
        return (None, None);
    };
    if !has_room(job, Some(&work), diagnostics) {
        return (None, None);
    }
    let ranks = work.ranks().unwrap_or(asked);
    let placement = TerminalId::first(ranks.div_ceil(each(job)));
    let placement = placement.flat_map(|at| std::iter::repeat_n(at, each(job) as usize));
    let setup = setup(job, work, placement.take(ranks as usize).collect(), compute_ppb);
    (Some(Early { asked, setup }), Some(ranks))
}

/// True if the network that jobs need has mistakes.
fn unknown(
    experiment: &Experiment,
    has_network: bool,
    bandwidth: Option<Bandwidth>,
    diagnostics: &Diagnostics,
) -> bool {
    let needs = experiment.model.as_ref().map(|m| m.entry.needs);
    if needs.is_some_and(|needs| !needs.fabric) {
        return !has_network && !diagnostics.is_empty();
    }
    let has_links = experiment.fabric.as_ref().is_some_and(|f| f.entry.required > 0);
    let needs_links = has_links && needs.is_none_or(|needs| needs.time);
    !has_network || (needs_links && bandwidth.is_none())
}

/// What a job is built on.
struct Site<'a> {
    index: usize,
    fabric: Option<&'a Fabric>,
    /// There will be a fabric, if there is none yet.
    has_network: bool,
    bandwidth: Option<Bandwidth>,
    seed: u64,
}

/// True if so many ranks do not fit, whatever the workload makes of them. It is not built then: patterns look at each rank.
fn are_too_many(job: &Job, workload: &WorkloadEntry, ranks: u32, free: u32) -> bool {
    workload.takes != Takes::Program && ranks.div_ceil(each(job)) > free
}

/// Ranks that share a terminal.
fn each(job: &Job) -> u32 {
    job.sharing.map_or(1, |sharing| sharing.ranks)
}

/// True if a workload follows groups or leaves of the network.
fn has_shape(workload: &WorkloadEntry) -> bool {
    workload.about.params.iter().any(|p| ["group", "leaf"].contains(&p.name))
}

/// What a job's workload is built from, with so many terminals free: names of hosts and the network's shape are left out.
fn context(job: &Job, site: &Site<'_>, free: u32, diagnostics: &mut Diagnostics) -> Option<JobContext> {
    let section = &job.section;
    let (workload, arrival) = match (job.workload, job.arrival, job.placement) {
        (Some(w), Some(a), Some(_)) if section.complete => (w, a),
        _ => return None,
    };
    let values = &section.values;
    let asked = match section.get("ranks") {
        Some(Value::Int(n)) => Some(u32::try_from(*n).expect("the declared range fits 32 bits")),
        _ => None,
    };
    let ranks = asked.unwrap_or(free.saturating_mul(each(job)));
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
    if timed && loaded && site.bandwidth.is_none() && site.has_network {
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
    Some(JobContext {
        names: Arc::default(),
        lowering: lowering(section, diagnostics)?,
        ranks,
        asked: asked.is_some(),
        seed: site.seed,
        job: index,
        message: job.message.unwrap_or(0),
        arrival,
        shape: Shape::default(),
    })
}

/// What a job's ranks do, and the factor that is left to apply to its computations.
fn worked(
    job: &Job,
    workload: &WorkloadEntry,
    context: &JobContext,
    diagnostics: &mut Diagnostics,
) -> Option<(Option<Work>, u64)> {
    let section = &job.section;
    let report = |problems| section.report(problems, diagnostics);
    let work = (workload.build)(context, &section.values).map_err(report).ok();
    noisy(work, section, context.seed, context.job, diagnostics)
}

fn setup(job: &Job, work: Work, placement: Vec<TerminalId>, compute_ppb: u64) -> JobSetup {
    let values = &job.section.values;
    let (name, start) = (values.text("name"), values.time("start"));
    JobSetup { name, work, placement, start, message: job.message, compute_ppb }
}

fn build_job(
    job: &Job,
    site: &Site<'_>,
    free: &[TerminalId],
    early: Option<Early>,
    diagnostics: &mut Diagnostics,
) -> Option<JobSetup> {
    let section = &job.section;
    let mut context = context(job, site, free.len() as u32, diagnostics)?;
    let (workload, placement) = job.workload.zip(job.placement)?;
    let (ranks, each, index) = (context.ranks, each(job), context.job);
    if has_shape(workload) {
        context.shape = site.fabric.map(Shape::of).unwrap_or_default();
    }
    // A list of messages may name hosts, so that it must be known who is where before it is read.
    let listed = (workload.takes == Takes::List).then(|| {
        let to_place = JobToPlace { ranks: ranks.div_ceil(each), each, index, program: None };
        place(placement, section, site, &to_place, free, diagnostics)
    });
    context.names = Arc::new(listed.iter().flatten().flat_map(|at| hosts(site.fabric, at)).collect());
    let (work, compute_ppb) = match early.filter(|early| early.asked == ranks) {
        Some(Early { setup, .. }) => (Some(setup.work), setup.compute_ppb),
        // The placement says so.
        None if are_too_many(job, workload, ranks, free.len() as u32) => (None, JobSetup::COMPUTE_AS_IS),
        None => worked(job, workload, &context, diagnostics)?,
    };
    if !has_room(job, work.as_ref(), diagnostics) {
        return None;
    }
    let ranks = work.as_ref().and_then(Work::ranks).unwrap_or(ranks);
    let program = work.as_ref().and_then(Work::program).map(|program| &**program);
    let to_place = JobToPlace { ranks: ranks.div_ceil(each), each, index, program };
    let groups = listed.unwrap_or_else(|| place(placement, section, site, &to_place, free, diagnostics));
    let placement = groups.map(|at| (0..ranks).map(|rank| at[(rank / each) as usize]).collect());
    Some(setup(job, work?, placement?, compute_ppb))
}

/// False for a program of a few words that speaks of more ranks than the memory that is left can hold.
fn has_room(job: &Job, work: Option<&Work>, diagnostics: &mut Diagnostics) -> bool {
    let ranks = work.and_then(Work::program).map_or(0, |program| u64::from(program.ranks()));
    let taken = base::memory::takes(ranks * ranks::memory::RANK);
    if let Err(message) = &taken {
        diagnostics.push(Diagnostic::new(job.section.home, format!("{ranks} ranks: {message}")));
    }
    taken.is_ok()
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
    let larger = |p: Problem| if p.key == "ranks" { larger(p, room as u64) } else { p };
    let report =
        |problems: Vec<Problem>| section.report(problems.into_iter().map(larger).collect(), diagnostics);
    (entry.build)(&context, &section.values).map_err(report).ok()
}

/// Says also how many terminals would do.
fn larger(mut problem: Problem, room: u64) -> Problem {
    let more = format!("; enlarge the network, as `--set fabric.terminals={room}` does a single switch");
    problem.help.get_or_insert_default().push_str(&more);
    problem
}

#[cfg(test)]
mod tests {
    use crate::{Experiment, Silent, samples::TEXT};

    /// The pattern takes powers of two: it is not asked.
    #[test]
    fn ranks_that_do_not_fit_are_refused_before_their_pattern_is_built() {
        let text = TEXT.replace(r#"workload = "uniform""#, r#"workload = "bit-complement", ranks = 9"#);
        let why = Experiment::from_text(text).prepare(&Silent).err().map(|e| e.to_string());
        assert!(why.is_some_and(|why| why.contains("9 ranks do not fit on 4 free terminals")));
    }
}
