//! From network, links and jobs to a run: what the chosen model cannot have is refused, and the model builds the rest.

use crate::{
    bursts,
    ends::{last_window, until},
    experiment::{jobs::Job, sections::Experiment},
    limits,
    links::Links,
    network::Network,
    options::RunOptions,
    schedule, unread,
};
use base::{
    diag::{Diagnostic, Diagnostics},
    param::Value,
    time::NS,
    units::print_time,
};
use model::{
    ModelEntry, Parts, Run,
    parts::Written,
    section::{Chosen, Section},
    setup::{JobSetup, Measure, Rail, Until},
};
use ranks::memory::sent::is_unknown;
use workload::registry::{SIZE_DISTRIBUTION, SIZE_FILE, Takes};

/// The run of the model that an experiment names; `None` if there are mistakes.
pub fn build(
    experiment: &Experiment,
    network: Network,
    links: Links,
    jobs: Vec<JobSetup>,
    options: &RunOptions,
    diagnostics: &mut Diagnostics,
) -> Option<Box<dyn Run>> {
    let scheduling = schedule::scheduling(experiment, options, diagnostics);
    let model = experiment.model.as_ref()?;
    refuse_saving(experiment, model.entry, diagnostics);
    refuse_ranks(options, experiment, model.entry, diagnostics);
    refuse_sections(experiment, model.entry, diagnostics);
    experiment.jobs.iter().for_each(|job| refuse_sharing(experiment, model.entry, job, diagnostics));
    if model.section.complete {
        limits::check_delays(&model.section, diagnostics);
    }
    let general = &experiment.general;
    note_windows(experiment, diagnostics);
    let measure = measure(experiment, options);
    let sections = sections_of(experiment, &jobs);
    let parts = Parts {
        name: model.entry.about.name,
        fabric: network.fabric,
        routing: network.routing,
        rail: rail(experiment),
        change: network.change,
        links: links.params,
        jobs,
        scheduling,
        seed: general.seed,
        until: until(experiment),
        warmup: general.warmup,
        measure,
        check: options.checkers,
        written: Written { jobs: sections, ..written(experiment, model) },
    };
    // Sections with mistakes lack values.
    let sound = diagnostics.is_empty();
    if sound {
        diagnostics.notes.extend(unread::notes(experiment, model.entry, &parts));
    }
    if sound && model.entry.needs.time {
        diagnostics.notes.extend(bursts::notes(&parts, model.entry.heeds_rates));
    }
    (model.entry.build)(parts, diagnostics)
}

/// A run that its workload ends has an unknown number of windows: it ends where a million of them are full.
fn note_windows(experiment: &Experiment, diagnostics: &mut Diagnostics) {
    if last_window(experiment).is_none_or(|window| window >= NS) {
        return;
    }
    if let Some(Until::WorkloadDone { limit }) = until(experiment) {
        let limit = print_time(limit);
        diagnostics
            .notes
            .push(format!("the run ends at {limit} at the latest: its series then has a million windows"));
    }
}

/// Sections of these jobs, one for each: those of jobs with mistakes are left out, as their jobs are.
fn sections_of<'a>(experiment: &'a Experiment, jobs: &[JobSetup]) -> Vec<&'a Section> {
    let all = experiment.jobs.iter().map(|job| &job.section);
    let mut known = jobs.iter().peekable();
    let named =
        |section: &Section, job: &JobSetup| section.get("name") == Some(&Value::Text(job.name.clone()));
    let is_next = |section: &&Section| known.next_if(|job| named(section, job)).is_some();
    let found: Vec<&Section> = all.clone().filter(is_next).collect();
    // Jobs that are none of the experiment's have no sections of their own.
    if found.len() == jobs.len() { found } else { all.collect() }
}

/// The file's sections for the model.
fn written<'a>(experiment: &'a Experiment, model: &'a Chosen<ModelEntry>) -> Written<'a> {
    Written {
        model: &model.section,
        choices: &experiment.choices,
        fabric: experiment.fabric.as_ref(),
        links: &experiment.links,
        faults: experiment.faults.as_ref(),
        routing: experiment.routing.as_ref(),
        jobs: experiment.jobs.iter().map(|job| &job.section).collect(),
        own: &experiment.own,
    }
}

/// Refuses checkpoints of models that cannot be saved.
fn refuse_saving(experiment: &Experiment, model: &ModelEntry, diagnostics: &mut Diagnostics) {
    if model.saved {
        return;
    }
    for key in ["checkpoint", "checkpoint_wall"] {
        if matches!(experiment.engine.get(key), Some(Value::Time(1..))) {
            let message = format!("a run of model \"{}\" cannot be saved", model.about.name);
            let place = experiment.engine.place(key);
            diagnostics.push(Diagnostic::new(place, message).help(format!("remove `{key}`")));
        }
    }
}

/// Refuses several processes for models that run in one.
fn refuse_ranks(
    options: &RunOptions,
    experiment: &Experiment,
    model: &ModelEntry,
    diagnostics: &mut Diagnostics,
) {
    if options.ranks == 1 || model.ranks {
        return;
    }
    let (name, ranks) = (model.about.name, options.ranks);
    let message = format!("model \"{name}\" runs in one process, and {ranks} MPI ranks were started");
    let place = experiment.model.as_ref().map(|m| m.section.place("kind"));
    let help = "start it without the launcher of MPI; `--threads` uses several processors";
    diagnostics.push(Diagnostic::new(place, message).label("one process").help(help));
}

/// Refuses sections that the model does not take, in its words or the section's.
fn refuse_sections(experiment: &Experiment, model: &ModelEntry, diagnostics: &mut Diagnostics) {
    for own in &experiment.own {
        let name = own.entry.about.name;
        let refused = model.refuses.iter().find(|(section, _)| *section == name).map(|(_, refusal)| *refusal);
        let declared = model.sections.iter().any(|s| s.about.name == name);
        if let Some(refusal) = refused.or(own.entry.elsewhere.filter(|_| !declared)) {
            let message = format!("model \"{}\" takes no [{name}]: {}", model.about.name, refusal.why);
            diagnostics.push(Diagnostic::new(own.section.home, message).help(refusal.help));
        }
    }
}

/// Refuses several ranks on a terminal where they are not known, or without terminals.
fn refuse_sharing(experiment: &Experiment, model: &ModelEntry, job: &Job, diagnostics: &mut Diagnostics) {
    let Some(sharing) = job.sharing else { return };
    let name = model.about.name;
    let program = job.workload.is_some_and(|w| w.takes == Takes::Program);
    let (message, help) = if model.job_keys.sharing != Some(sharing.key) {
        let message = format!("model \"{name}\" puts one rank on a terminal");
        (message, "use another model, such as \"delay\", or leave it out".to_owned())
    } else if !program {
        let message = "this workload puts one rank on a terminal".to_owned();
        (message, "use a program, or leave it out".to_owned())
    } else if experiment.fabric.is_none() {
        ("ranks can share a terminal only of a network".to_owned(), "add a [fabric]".to_owned())
    } else {
        return;
    };
    diagnostics.push(Diagnostic::new(job.section.place(sharing.key), message).help(help));
}

/// Which rail messages take.
fn rail(experiment: &Experiment) -> Rail {
    match experiment.fabric.as_ref().and_then(|f| f.section.get("rail")) {
        Some(Value::Text(name)) => Rail::named(name),
        _ => Rail::default(),
    }
}

/// The sizes of a job's messages are drawn from a distribution.
fn draws_sizes(job: &Job) -> bool {
    [SIZE_DISTRIBUTION, SIZE_FILE].iter().any(|key| job.section.get(key.name).is_some())
}

/// True if tables are asked for that have rows of an unknown number of messages, operations or windows.
pub fn has_unknown_rows(experiment: &Experiment, options: &RunOptions, jobs: &[JobSetup]) -> bool {
    until(experiment).is_some_and(|until| is_unknown(jobs, until, &measure(experiment, options)))
}

/// What `[output]` asks for; nothing if it has mistakes.
fn measure(experiment: &Experiment, options: &RunOptions) -> Measure {
    let output = &experiment.output;
    if !output.complete {
        return Measure::default();
    }
    let RunOptions { page, messages, .. } = *options;
    let values = &output.values;
    Measure {
        window: values.time("window"),
        per_port: values.bool("per_port"),
        loads: page && values.bool("report"),
        packets: values.bool("packets"),
        messages: messages || values.bool("messages"),
        slow_down: match output.get("slow_down") {
            Some(&Value::Bool(asked)) => asked,
            _ => experiment.jobs.iter().any(draws_sizes),
        },
        pairs: values.bool("pairs"),
        operations: values.bool("operations"),
        engine: values.bool("engine"),
    }
}
