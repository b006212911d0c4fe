//! The same experiment for each model: its kind is replaced, and what the model does not declare is taken out.
//!
//! A variant is the file with overrides, as `--set` gives them, so that anybody can repeat its run.

use crate::{
    error::Error,
    experiment::{
        self,
        keys::DERIVED,
        tree::{Data, Table},
    },
    input::Input,
    prepare::no_series,
    registry::Registry,
};
use base::{diag::Diagnostics, param::Param};
use model::ModelEntry;
use std::cmp::Reverse;

/// Keys of `[engine]` that save runs. These runs are not saved, and models that cannot be would refuse them.
const SAVING: &[&str] = &["checkpoint", "checkpoint_wall"];

/// An experiment with another model.
#[derive(Clone)]
pub struct Variant {
    /// The model that it is for.
    pub model: &'static ModelEntry,
    /// True if the file names it.
    pub own: bool,
    /// Overrides that make it of the file, after those of the user.
    pub set: Vec<String>,
    /// What the file has and the model does not read: `[model] chunk`, `[hybrid]`.
    pub left_out: Vec<String>,
}

/// The experiment for every model of the registry, the dearest first.
///
/// # Errors
/// If the file is no experiment, or describes a series of them.
pub fn variants(registry: &Registry, input: &Input, text: &str) -> Result<Vec<Variant>, Error> {
    let name = input.file.display().to_string();
    let mut diagnostics = Diagnostics::default();
    let read = experiment::read(registry, &name, text, &input.set, &mut diagnostics);
    if let Some(experiment) = &read {
        no_series(experiment, &name, &diagnostics)?;
    }
    let own = read.and_then(|e| e.model).map(|m| m.entry).filter(|_| diagnostics.is_empty());
    let tree = experiment::parsed(&name, text, &input.set, &mut Diagnostics::default());
    let (Some(own), Some((root, _))) = (own, tree) else {
        return Err(Error::experiment(diagnostics));
    };
    let mut models = registry.models.clone();
    models.sort_by_key(|m| Reverse(m.fidelity()));
    Ok(models.iter().map(|model| variant(registry, &root, own, model)).collect())
}

fn variant(
    registry: &Registry,
    root: &Table,
    own: &'static ModelEntry,
    model: &'static ModelEntry,
) -> Variant {
    let mut made =
        Variant { model, own: model.about.name == own.about.name, set: Vec::new(), left_out: Vec::new() };
    if !made.own {
        made.set.push(format!("model.kind={}", model.about.name));
    }
    let given = keys(root, "model");
    let unread =
        given.iter().filter(|key| !["kind", DERIVED].contains(*key) && declared(model, key).is_none());
    made.left_out.extend(unread.map(|key| format!("[model] {key}")));
    for section in registry.sections().iter().map(|s| s.about.name) {
        let refused = model.refuses.iter().any(|(name, _)| *name == section);
        let reads = model.sections.iter().any(|s| s.about.name == section);
        if root.get(section).is_some() && (refused || !reads) {
            made.set.push(format!("{section}="));
            made.left_out.push(format!("[{section}]"));
        }
    }
    // Tables cost time and change no result.
    made.set.extend(root.get("output").map(|_| "output=".to_owned()));
    let saving = keys(root, "engine").into_iter().filter(|key| SAVING.contains(key));
    made.set.extend(saving.map(|key| format!("engine.{key}=")));
    made
}

/// Keys of a section of the file.
fn keys<'a>(root: &'a Table, section: &str) -> Vec<&'a str> {
    match root.get(section).map(|entry| &entry.node.data) {
        Some(Data::Table(table)) => table.entries.iter().map(|e| e.key.as_str()).collect(),
        _ => Vec::new(),
    }
}

fn declared(model: &ModelEntry, key: &str) -> Option<&'static Param> {
    model.about.params.iter().find(|p| p.name == key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, set: &[&str]) -> Vec<Variant> {
        let set = set.iter().map(|s| (*s).to_owned()).collect();
        let input = Input { file: "x.toml".into(), set };
        variants(&Registry::standard(), &input, text).expect("an experiment")
    }

    const FILE: &str = r#"
        experiment = { duration = "20 us" }
        routing = { algorithm = "shortest-path" }
        job = [{ workload = "uniform", message = "512 B", load = 0.3 }]
        model = { kind = "packet", packet = "512 B", chunk = "64 B" }
        output = { messages = true }
        [fabric]
        topology = "single-switch"
        terminals = 4
        link.terminal = { bandwidth = "12.5 GB/s", latency = "10 ns", credit_delay = "10 ns", vc_buffer = "8 KiB" }
        [resilience]
        protocol = "dor"
    "#;

    #[test]
    fn the_dearest_comes_first_and_all_are_there() {
        let all = of(FILE, &["resilience="]);
        let names: Vec<&str> = all.iter().map(|v| v.model.about.name).collect();
        assert_eq!(names, ["packet", "hybrid", "flow", "delay", "congestion"]);
        assert_eq!(all.len(), Registry::standard().models.len());
    }

    #[test]
    fn only_what_a_model_does_not_declare_is_left_out() {
        let all = of(FILE, &["resilience="]);
        assert_eq!(all[0].set, ["output="]);
        assert!(all[0].own && all[0].left_out.is_empty());
        assert_eq!(all[2].left_out, ["[model] chunk", "[model] packet"]);
        assert_eq!(all[2].set, ["model.kind=flow", "output="]);
    }

    /// Also those that it declares and refuses.
    #[test]
    fn sections_that_a_model_refuses_are_left_out() {
        let all = of(FILE, &[]);
        let without: Vec<bool> = all.iter().map(|v| v.left_out.iter().any(|l| l == "[resilience]")).collect();
        assert_eq!(without, [false, true, true, true, true]);
        assert!(all[1..].iter().all(|v| v.set.iter().any(|set| set == "resilience=")));
    }

    /// One machine for every model: what a file leaves open is the same in all that have the key, but for what follows from the rest of the file.
    /// Model `delay` has `LogGOPSim`'s costs where the file describes no network.
    #[test]
    fn models_share_the_defaults_of_what_they_share() {
        let models = Registry::standard().models;
        let every = models.iter().flat_map(|m| m.about.params.iter().map(move |p| (m.about.name, p)));
        let mut seen: Vec<(&str, &Param)> = Vec::new();
        let mut apart = Vec::new();
        let fixed = every.filter(|(_, p)| p.default.is_some_and(|text| !text.is_empty()));
        for (model, key) in fixed.filter(|(m, p)| *m != "delay" || !["overhead", "eager"].contains(&p.name)) {
            match seen.iter().find(|(_, p)| p.name == key.name) {
                Some((first, p)) if p.default != key.default => {
                    apart.push(format!(
                        "{}: {:?} on {first}, {:?} on {model}",
                        key.name, p.default, key.default
                    ));
                }
                Some(_) => {}
                None => seen.push((model, key)),
            }
        }
        assert!(apart.is_empty(), "{apart:#?}");
    }
}
