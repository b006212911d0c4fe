//! The resolved experiment as JSON: every key with its value, defaults included, in the order of declaration.
//!
//! This is the `experiment` block of `summary.json`. Read back as an experiment file it gives the same experiment.

use super::{jobs::Job, sections::Experiment, value};
use model::{contract::Parameter, section::Section};
use serde_json::{Map, Value as Json, json};
use std::path::Path;
use workload::registry::{OUTSTANDING, Takes};

type Object = Map<String, Json>;

/// The whole experiment.
#[must_use]
pub fn json(experiment: &Experiment) -> Json {
    let mut root = Object::new();
    root.insert("experiment".to_owned(), Json::Object(keys(&experiment.experiment)));
    if let Some(mut object) = fabric(experiment) {
        let links =
            experiment.links.iter().map(|(class, link)| ((*class).to_owned(), Json::Object(keys(link))));
        object.insert("link".to_owned(), Json::Object(links.collect()));
        root.insert("fabric".to_owned(), Json::Object(object));
    }
    if let Some(faults) = &experiment.faults {
        root.insert("faults".to_owned(), Json::Object(keys(faults)));
    }
    if let Some(object) = routing(experiment) {
        root.insert("routing".to_owned(), Json::Object(object));
    }
    root.insert("job".to_owned(), experiment.jobs.iter().map(job).collect());
    if let Some(model) = &experiment.model {
        let mut object = named("kind", model.entry.about.name);
        object.append(&mut keys(&model.section));
        root.insert("model".to_owned(), Json::Object(object));
    }
    for own in &experiment.own {
        let chosen = own.entry.choices.iter().zip(&own.chosen);
        let names = chosen.filter_map(|(choice, chosen)| Some((choice.key, (*chosen)?.about().name)));
        let mut object: Object = names.map(|(key, name)| (key.to_owned(), json!(name))).collect();
        object.append(&mut keys(&own.section));
        root.insert(own.entry.about.name.to_owned(), Json::Object(object));
    }
    if let Some(portals) = &experiment.portals {
        let mut object = keys(portals);
        if !experiment.portals_nodes.is_empty() {
            let nodes = experiment.portals_nodes.iter().map(|n| Json::Object(keys(n)));
            object.insert("node".to_owned(), nodes.collect());
        }
        root.insert("portals".to_owned(), Json::Object(object));
    }
    let mut engine = keys(&experiment.engine);
    engine.insert("partitions".to_owned(), experiment.partitions.map_or(json!("auto"), |n| json!(n)));
    root.insert("engine".to_owned(), Json::Object(engine));
    root.insert("output".to_owned(), Json::Object(keys(&experiment.output)));
    Json::Object(root)
}

/// The network without the parameters of its links: its fabric, failures and routing.
#[must_use]
pub fn network(experiment: &Experiment) -> Json {
    json!([fabric(experiment), experiment.faults.as_ref().map(keys), routing(experiment)])
}

fn fabric(experiment: &Experiment) -> Option<Object> {
    let fabric = experiment.fabric.as_ref()?;
    let mut object = named("topology", fabric.entry.about.name);
    object.append(&mut keys(&fabric.section));
    Some(object)
}

fn routing(experiment: &Experiment) -> Option<Object> {
    let routing = experiment.routing.as_ref()?;
    let mut object = named("algorithm", routing.entry.about.name);
    object.append(&mut keys(&routing.section));
    Some(object)
}

/// What a run goes by instead of declared defaults stands in `model.derived`: it follows from other sections, so the experiment reads back the same
/// without it.
#[must_use]
pub fn with_parameters(mut experiment: Json, parameters: &[Parameter]) -> Json {
    if let (Some(model), true) = (experiment["model"].as_object_mut(), parameters.iter().any(|p| p.derived)) {
        let mut derived = Object::new();
        for parameter in parameters.iter().filter(|p| p.derived) {
            model.shift_remove(parameter.key);
            let [least, mean, most] = &parameter.values;
            let from = &parameter.from;
            let value = if least == most {
                json!({"value": mean, "from": from})
            } else {
                json!({"least": least, "mean": mean, "most": most, "from": from})
            };
            derived.insert(parameter.key.to_owned(), value);
        }
        model.insert(super::keys::DERIVED.to_owned(), Json::Object(derived));
    }
    experiment
}

/// The experiment with the paths that its `file` gives, which are relative to it, as they stand there: where a run was started from changes no
/// byte of its results.
#[must_use]
pub fn as_written(experiment: &Json, file: &Path) -> Json {
    let mut experiment = experiment.clone();
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        shorten(&mut experiment, folder);
    }
    experiment
}

/// Takes the folder off every path below it. Names are no paths.
fn shorten(value: &mut Json, folder: &Path) {
    match value {
        Json::String(text) => {
            let below = Path::new(text.as_str()).strip_prefix(folder).ok().and_then(Path::to_str);
            if let Some(below) = below.filter(|below| !below.is_empty()) {
                *text = below.to_owned();
            }
        }
        Json::Array(items) => items.iter_mut().for_each(|item| shorten(item, folder)),
        Json::Object(entries) => {
            let paths = entries.iter_mut().filter(|(key, _)| *key != "name");
            paths.for_each(|(_, entry)| shorten(entry, folder));
        }
        _ => {}
    }
}

fn job(job: &Job) -> Json {
    let mut object = Object::new();
    if let Some(workload) = job.workload {
        object.insert("workload".to_owned(), json!(workload.about.name));
    }
    let loaded = job.workload.is_some_and(|w| w.takes == Takes::List) && job.section.get("load").is_some();
    let closed = job.section.get(OUTSTANDING.name).is_some();
    let open = (loaded || job.workload.is_some_and(|w| w.takes.arrivals())) && !closed;
    if let Some(arrival) = job.arrival.filter(|_| open) {
        object.insert("arrival".to_owned(), json!(arrival.about.name));
    }
    if let Some(placement) = job.placement {
        object.insert("placement".to_owned(), json!(placement.about.name));
    }
    object.append(&mut keys(&job.section));
    Json::Object(object)
}

fn named(key: &str, name: &str) -> Object {
    Object::from_iter([(key.to_owned(), json!(name))])
}

fn keys(section: &Section) -> Object {
    let given = section.params.iter().filter_map(|param| {
        let value = section.get(param.name)?;
        Some((param.name.to_owned(), value::json(param.kind, value)))
    });
    given.collect()
}
