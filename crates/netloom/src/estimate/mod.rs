//! How far a run of model `flow` is from `packet`: a part of its messages is played there.
//!
//! Where the whole run costs no more than the share that is allowed, or little, it is played whole: the errors are those of two runs side by side.
//! Else spans of time are drawn. In a span every message under way is sent with those of its bytes that flowed there, so that all meet that met in the
//! run. The same pieces are played on `flow`, and times of both are compared: what a span cuts off is cut off of both.
//!
//! It is no bound. Queues are empty when a span begins, so that long congestion is underestimated. Who waits for a late message sends as early as in the
//! run. What happens between the spans is not seen.

mod windows;

use crate::{
    assemble,
    compare_models::variant::variants,
    error::{Error, ErrorKind},
    execute::execute,
    experiment,
    input::Input,
    memory::{fits, limit_in_bytes},
    network,
    options::RunOptions,
    prepare::{Prepared, prepare_text},
    registry::Registry,
    watcher::{Phases, Silent, Watcher},
};
use base::{
    diag::Diagnostics,
    sorted::SortedMap,
    units::{parse_bytes, percent},
};
use model::{
    Finished,
    run::Watch,
    setup::{JobSetup, Measure},
};
use results::{
    compare::{Side, Tolerances, compare},
    summary::{EstimatedError, State, Summary},
    table::Table,
};
use windows::{Flowed, Piece};

/// Part of the run's bytes that is played if nothing else is said.
pub const SHARE: f64 = 0.1;

/// A run of so many chunks over links, on `packet`, is played whole whatever its share: about half a second.
const SMALL: f64 = (1u64 << 20) as f64;

/// The model that errors are relative to.
const REFERENCE: &str = "packet";

/// Reads a part of a run: above 0 % and up to 100 %.
///
/// ```
/// assert_eq!(netloom::estimate::share("5 %"), Ok(0.05));
/// assert!(netloom::estimate::share("0 %").is_err() && netloom::estimate::share("5").is_err());
/// ```
///
/// # Errors
/// What is wrong with it, in words.
pub fn share(text: &str) -> Result<f64, String> {
    let share = percent(text).filter(|&share| share > 0.0 && share <= 1.0);
    share.ok_or_else(|| "it is a percentage above 0 and up to 100, such as \"10 %\"".to_owned())
}

/// Refuses runs of which no error can be estimated, before they are run, if that is asked for.
///
/// # Errors
/// If it is not a run of model `flow` on a network that `packet` has, in one process.
pub fn refuse(asked: Option<f64>, prepared: &Prepared) -> Result<(), Error> {
    if asked.is_none() {
        return Ok(());
    }
    let e = &prepared.experiment;
    let listed = |section: &str, key: &str| e[section][key].as_array().is_some_and(|all| !all.is_empty());
    let why = if prepared.model.about.name != "flow" {
        format!("model \"{}\" has none; it is for model \"flow\"", prepared.model.about.name)
    } else if e["fabric"]["topology"] == "platform" {
        format!("a platform has no routers, so that model \"{REFERENCE}\" cannot play its messages")
    } else if listed("model", "changes") {
        format!("model \"{REFERENCE}\" knows no `changes` of bandwidth")
    } else if !prepared.world.is_alone() {
        "the run has several processes".to_owned()
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorKind::Experiment, format!("no error can be estimated: {why}"))
        .with_help("leave `--estimate-error` out"))
}

/// Estimates how far a finished run is from model `packet`, of which so large a part of the run is played at most. The run must have kept its messages.
///
/// # Errors
/// If the run did not finish, `packet` refuses the experiment, or too little is left to be played.
pub fn estimate(
    registry: &Registry,
    prepared: &Prepared,
    finished: &Finished,
    share: f64,
    watcher: &dyn Watcher,
) -> Result<EstimatedError, Error> {
    let closed = !prepared.experiment["experiment"]["until"].is_null();
    if closed && finished.summary.verdict.state >= State::Incomplete {
        return Err(cannot("the run did not finish"));
    }
    let table = finished.tables.iter().find(|t| t.name() == "messages");
    let all = table.and_then(windows::flowed).filter(|all| !all.is_empty());
    let (Some(table), Some(all)) = (table, all) else { return Err(cannot("no message crossed the network")) };
    let reference = reference(registry, prepared, &[])?;
    let chunk = reference.experiment["model"]["chunk"].as_str().and_then(|text| parse_bytes(text).ok());
    let bytes = all.iter().map(|m| m.bytes as f64).sum::<f64>();
    let hops = bytes / chunk.unwrap_or(1).max(1) as f64 * (finished.summary.hops_mean.unwrap_or(0.0) + 1.0);
    if share >= 1.0 || hops <= SMALL {
        watcher.phase("playing the run on model \"packet\"");
        let played = execute(&reference, &Quiet(watcher))?;
        return whole(&played, finished, table, closed);
    }
    sampled(registry, prepared, &all, share, closed, watcher)
}

/// Adds the estimate to the summary of a finished run, if a share is asked for. The table of messages stays only if the experiment asks for it.
///
/// # Errors
/// As [`estimate`].
pub fn add(
    asked: Option<f64>,
    registry: &Registry,
    prepared: &Prepared,
    mut finished: Finished,
    watcher: &dyn Watcher,
) -> Result<Finished, Error> {
    let Some(share) = asked else { return Ok(finished) };
    let error = estimate(registry, prepared, &finished, share, watcher);
    watcher.ended();
    finished.summary.estimated_error = Some(error?);
    if !measure(prepared).messages {
        finished.tables.retain(|table| table.name() != "messages");
    }
    Ok(finished)
}

/// What the experiment has measured beside the summary, without what is kept for an estimate.
#[must_use]
pub fn measure(prepared: &Prepared) -> Measure {
    let messages = prepared.experiment["output"]["messages"] == true;
    Measure { messages, ..prepared.run.measure() }
}

fn cannot(why: &str) -> Error {
    Error::new(ErrorKind::Experiment, format!("no error can be estimated: {why}"))
}

/// The input with which a model is built instead of the file's.
fn input(registry: &Registry, prepared: &Prepared, model: &str, more: &[&str]) -> Result<Input, Error> {
    let text = &prepared.file.1;
    let variant =
        variants(registry, &prepared.input, text)?.into_iter().find(|v| v.model.about.name == model);
    let Some(variant) = variant else { return Err(cannot(&format!("there is no model \"{model}\""))) };
    let more: Vec<String> = more.iter().map(|&set| set.to_owned()).collect();
    let set = [&prepared.input.set[..], &variant.set, &more].concat();
    Ok(Input { set, ..prepared.input.clone() })
}

/// The experiment on `packet`.
fn reference(registry: &Registry, prepared: &Prepared, more: &[&str]) -> Result<Prepared, Error> {
    let input = input(registry, prepared, REFERENCE, more)?;
    prepare_text(registry, &input, prepared.file.1.clone(), &options(prepared), &Silent)
}

fn options(prepared: &Prepared) -> RunOptions {
    RunOptions { messages: true, memory: prepared.options.memory, ..RunOptions::default() }
}

/// Both runs as a whole.
fn whole(
    reference: &Finished,
    finished: &Finished,
    table: &Table,
    closed: bool,
) -> Result<EstimatedError, Error> {
    let theirs = reference.tables.iter().find(|t| t.name() == "messages");
    let theirs = Side { summary: &reference.summary, messages: theirs };
    let ours = Side { summary: &finished.summary, messages: Some(table) };
    let both = compare(theirs, ours, &Tolerances::default());
    let messages = both.messages.filter(|m| m.matched > 0);
    let Some(messages) = messages else { return Err(cannot("the models have no message in common")) };
    let done = closed && reference.summary.verdict.state < State::Incomplete;
    let spans = [reference, finished].map(|run| makespan(&run.summary));
    Ok(EstimatedError {
        against: REFERENCE.to_owned(),
        windows: 0,
        share: 1.0,
        messages: messages.matched,
        makespan: done.then(|| spans[1] / spans[0] - 1.0).filter(|error| error.is_finite()),
        completion_mean: messages.mean_signed,
        completion_mean_absolute: messages.mean,
        completion_p50_absolute: messages.p50,
        completion_p95_absolute: messages.p95,
    })
}

/// The longest of the jobs, or the run where jobs have none.
fn makespan(summary: &Summary) -> f64 {
    let jobs = summary.jobs.iter().filter_map(|job| job.makespan_ps).max();
    jobs.unwrap_or(summary.simulated_ps) as f64
}

/// What came of the pieces of a span on a model: how long they took together, and each by its source and number.
struct Played {
    span: f64,
    times: SortedMap<(u32, u32), f64>,
}

/// Spans of the run, on both models.
fn sampled(
    registry: &Registry,
    prepared: &Prepared,
    all: &[Flowed],
    share: f64,
    closed: bool,
    watcher: &dyn Watcher,
) -> Result<EstimatedError, Error> {
    if !prepared.experiment["faults"]["at"].is_null() {
        let why = "links fail during the run, which a part of it cannot show: give a share of 100 %";
        return Err(cannot(why));
    }
    let seed = prepared.experiment["experiment"]["seed"].as_u64().unwrap_or(0);
    let spans = windows::draw(all, share, seed);
    let whole: f64 = all.iter().map(|m| m.bytes as f64).sum();
    let (mut played, mut took, mut errors) = (0.0, [0.0; 2], Vec::new());
    for (n, &span) in spans.iter().enumerate() {
        watcher.phase(&format!("playing window {} of {} on model \"{REFERENCE}\"", n + 1, spans.len()));
        let pieces = windows::pieces(all, span);
        if pieces.is_empty() {
            continue;
        }
        played += windows::bytes(&pieces) as f64;
        let [reference, flow] =
            [REFERENCE, "flow"].map(|model| play(registry, prepared, model, &pieces, watcher));
        let (reference, flow) = (reference?, flow?);
        took = [took[0] + reference.span, took[1] + flow.span];
        for (key, &theirs) in &reference.times {
            errors.extend(flow.times.get(key).map(|&time| (time - theirs) / theirs.max(1.0)));
        }
    }
    if errors.is_empty() {
        return Err(cannot("nothing flowed in the windows that were drawn: give a larger share"));
    }
    let count = errors.len() as f64;
    let completion_mean = errors.iter().sum::<f64>() / count;
    let mut sizes: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let quantile = |q: f64| sizes[((q * count).ceil() as usize).clamp(1, sizes.len()) - 1];
    Ok(EstimatedError {
        against: REFERENCE.to_owned(),
        windows: spans.len() as u32,
        share: played / whole,
        messages: errors.len() as u64,
        makespan: closed.then(|| took[1] / took[0] - 1.0).filter(|error| error.is_finite()),
        completion_mean,
        completion_mean_absolute: sizes.iter().sum::<f64>() / count,
        completion_p50_absolute: quantile(0.5),
        completion_p95_absolute: quantile(0.95),
    })
}

/// Plays pieces on a model, until all are there.
fn play(
    registry: &Registry,
    prepared: &Prepared,
    model: &str,
    pieces: &[Piece],
    watcher: &dyn Watcher,
) -> Result<Played, Error> {
    let lasts = !prepared.experiment["experiment"]["duration"].is_null();
    let mut set = vec!["experiment.warmup=0 s", "experiment.until=workload-done"];
    // Only what is there can be taken out.
    set.extend(lasts.then_some("experiment.duration="));
    let input = input(registry, prepared, model, &set)?;
    let (name, options) = (&prepared.file.0, options(prepared));
    let mut diagnostics = Diagnostics::default();
    let read = experiment::read(registry, name, &prepared.file.1, &input.set, &mut diagnostics);
    let Some(experiment) = read else { return Err(Error::experiment(diagnostics)) };
    let limit = limit_in_bytes(options.memory);
    let room = |what: &str, bytes| fits(what, bytes, limit);
    let jobs: Vec<JobSetup> = vec![windows::job(pieces)];
    let run =
        assemble::assemble_jobs(&experiment, jobs, &options, &Phases(&Silent), &room, &mut diagnostics)?;
    let Some(run) = run.filter(|_| diagnostics.is_empty()) else {
        return Err(Error::experiment(diagnostics));
    };
    room("the sample", network::predicted(&experiment, &*run).bytes)?;
    let mut left = false;
    let mut pause = |_, _: &mut dyn FnMut() -> Vec<u8>| {
        left |= watcher.leaves();
        !left
    };
    let finished = run.watch(Watch::new(&mut pause));
    if left {
        return Err(Error::new(ErrorKind::Interrupted, "interrupted while the error was estimated"));
    }
    let finished = finished.map_err(|e| Error::from(&e))?;
    if finished.summary.verdict.state >= State::Incomplete {
        return Err(cannot(&format!("a window did not finish on model \"{model}\"")));
    }
    let table = finished.tables.iter().find(|t| t.name() == "messages");
    let columns = table
        .and_then(|t| Some((t.u32_column("source")?, t.u32_column("number")?, t.u64_column("latency_ps")?)));
    let Some((sources, numbers, latencies)) = columns else { return Err(cannot("no messages were kept")) };
    let keys = sources.iter().copied().zip(numbers.iter().copied());
    let times = keys.zip(latencies.iter().map(|&latency| latency as f64)).collect();
    Ok(Played { span: finished.summary.simulated_ps as f64, times })
}

/// Hears whether somebody leaves, and passes nothing else on.
struct Quiet<'a>(&'a dyn Watcher);

impl Watcher for Quiet<'_> {
    fn leaves(&self) -> bool {
        self.0.leaves()
    }
}
