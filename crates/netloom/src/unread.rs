//! Keys of a file that its run does not read, with the reason: a user who wrote them is to know.
//!
//! Nothing is refused here: an experiment changes its model, routing or router by one word, and keeps the keys of the others. What a key means
//! only its owner knows, so models ([`model::ModelEntry::unread`]) and routings ([`fabric::routing::Routing::unread`]) say which of theirs have no
//! effect; what follows from sections alone is here. That no key is forgotten is tested by changing each (`tests/keys.rs`).

use crate::experiment::{jobs::Job, sections::Experiment};
use base::param::Unread;
use fabric::topology::imported::TABLES;
use model::{ModelEntry, Parts, section::OwnSection, setup::JobSetup};
use workload::registry::Takes;

/// What stands in every such line.
pub const NO_EFFECT: &str = " no effect: ";

/// What to tell of an experiment: a line for each section and reason.
pub fn notes(experiment: &Experiment, model: &ModelEntry, parts: &Parts<'_>) -> Vec<String> {
    let mut all = experiment.elsewhere.clone();
    all.extend(of_sections(experiment, parts));
    let read = |own: &&OwnSection| model.sections.iter().any(|s| s.about.name == own.entry.about.name);
    for own in experiment.own.iter().filter(|own| !read(own)) {
        let why = format!("model \"{}\" leaves this section alone", model.about.name);
        all.extend(Unread::all(own.entry.about.name, &own.keys(), why));
    }
    all.extend((model.unread)(parts));
    all.extend(parts.routing.as_ref().map_or_else(Vec::new, |r| r.unread()));
    // Keys of other topologies have such names too: `levels` of a fat tree.
    let imported = experiment.fabric.as_ref().is_some_and(|f| f.entry.about.name == "imported");
    all.retain(|unread| imported || unread.section != "fabric" || !TABLES.contains(&unread.key));
    all.retain(|unread| is_written(experiment, unread));
    lines(&all)
}

/// What follows from sections alone.
fn of_sections(experiment: &Experiment, parts: &Parts<'_>) -> Vec<Unread> {
    let mut all = Vec::new();
    if parts.fabric.as_ref().is_some_and(|f| f.planes() == 1) {
        all.extend(Unread::all("fabric", &["rail"], "there is one rail"));
    }
    if experiment.fabric.is_none() {
        let why = "without [fabric] there is nothing to route on";
        all.extend(experiment.routing.iter().flat_map(|_| Unread::all("routing", &["algorithm"], why)));
    }
    if let Some(routing) = experiment.routing.as_ref().filter(|r| r.entry.about.name != "forwarding") {
        let why = format!(
            "routing \"{}\" finds paths of its own; \"forwarding\" follows tables",
            routing.entry.about.name
        );
        all.extend(Unread::all("fabric", &TABLES, why));
    }
    let finally = parts.change.as_ref().map(|change| &change.fabric).or(parts.fabric.as_ref());
    if finally.is_some_and(|fabric| fabric.intact()) && !parts.is_platform() {
        let keys = ["link_fraction", "router_fraction", "classes", "links", "routers", "at"];
        all.extend(Unread::all("faults", &keys, "nothing of the network fails"));
    }
    let programs = experiment.jobs.iter().any(|j| j.workload.is_some_and(|w| w.takes == Takes::Program));
    if !programs {
        all.extend(Unread::all("output", &["operations"], "there are no programs"));
    }
    if experiment.jobs.iter().all(|j| j.workload.is_some_and(|w| w.takes == Takes::Program)) {
        all.extend(Unread::all("output", &["slow_down"], "there are no patterns"));
    }
    all.extend(experiment.jobs.iter().zip(&parts.jobs).flat_map(|(job, setup)| of_program(job, setup)));
    all
}

/// What a job's program has no use for, of what that job says.
fn of_program(job: &Job, setup: &JobSetup) -> Vec<Unread> {
    let mut unread = setup.work.program().map_or_else(Vec::new, |program| program.unread());
    unread.retain(|unread| job.section.places.contains_key(unread.key));
    unread
}

/// True if the file has the key; what stands in one of several sections of a name counts.
fn is_written(experiment: &Experiment, unread: &Unread) -> bool {
    let within = |section: &model::section::Section| section.places.contains_key(unread.key);
    match unread.section {
        "experiment" => within(&experiment.experiment),
        "fabric" => experiment.fabric.as_ref().is_some_and(|f| within(&f.section)),
        "routing" => experiment.routing.as_ref().is_some_and(|r| within(&r.section)),
        "job" => experiment.jobs.iter().any(|job| within(&job.section)),
        // Keys of other models stand in the file, since they were found there.
        "model" => {
            experiment.elsewhere.contains(unread)
                || experiment.model.as_ref().is_some_and(|m| within(&m.section))
        }
        "output" => within(&experiment.output),
        "faults" => experiment.faults.as_ref().is_some_and(within),
        name => experiment.own.iter().any(|own| own.entry.about.name == name && within(&own.section)),
    }
}

/// One line for all keys of a section that have no effect for the same reason.
fn lines(all: &[Unread]) -> Vec<String> {
    let mut groups: Vec<(&'static str, &str, Vec<&'static str>)> = Vec::new();
    for Unread { section, key, why } in all {
        match groups.iter_mut().find(|g| (g.0, g.1) == (*section, why.as_str())) {
            Some(group) if group.2.contains(key) => {}
            Some(group) => group.2.push(key),
            None => groups.push((section, why, vec![key])),
        }
    }
    let line = |(section, why, keys): &(&str, &str, Vec<&str>)| {
        let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
        let verb = if keys.len() == 1 { "has" } else { "have" };
        let section = if *section == "job" { "[[job]]".to_owned() } else { format!("[{section}]") };
        format!("{} of {section} {verb}{NO_EFFECT}{why}", keys.join(", "))
    };
    groups.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_one_reason_share_a_line() {
        let mut all = Unread::all("model", &["eager", "control"], "only programs read it");
        all.extend(Unread::all("job", &["runs"], "it is a key of model \"congestion\""));
        all.extend(Unread::all("model", &["eager"], "only programs read it"));
        let expected = [
            "`eager`, `control` of [model] have no effect: only programs read it",
            "`runs` of [[job]] has no effect: it is a key of model \"congestion\"",
        ];
        assert_eq!(lines(&all), expected);
    }
}
