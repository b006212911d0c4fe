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

/// Keys of `[model]` that mean the same in every model that has them, though their defaults differ. What the file leaves open is for all what it
/// is for the file's own model. All else that differs tells how a model sees hosts and links.
const ALIKE: &[&str] = &["router_delay"];

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
    /// What the file leaves open and was settled as in another model: `router_delay = 100 ns, as of packet`.
    pub filled: Vec<String>,
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
    Ok(models.iter().map(|model| variant(registry, &root, own, &models, model)).collect())
}

fn variant(
    registry: &Registry,
    root: &Table,
    own: &'static ModelEntry,
    models: &[&'static ModelEntry],
    model: &'static ModelEntry,
) -> Variant {
    let mut made = Variant {
        model,
        own: model.about.name == own.about.name,
        set: Vec::new(),
        left_out: Vec::new(),
        filled: Vec::new(),
    };
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
    for key in ALIKE.iter().filter(|key| !made.own && !given.contains(*key)) {
        let from = [own].into_iter().chain(models.iter().copied());
        let settled = from.filter_map(|m| Some((m, default(m, key)?))).next();
        if let Some((from, value)) =
            settled.filter(|s| declared(model, key).is_some() && default(model, key) != Some(s.1))
        {
            made.set.push(format!("model.{key}={value}"));
            made.filled.push(format!("{key} = {value}, as of {}", from.about.name));
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

/// What a model takes for a key that is left out; none if it has no fixed value for it.
fn default(model: &ModelEntry, key: &str) -> Option<&'static str> {
    declared(model, key)?.default.filter(|text| !text.is_empty())
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
        assert_eq!(all[2].set, ["model.kind=flow", "model.router_delay=100 ns", "output="]);
        assert_eq!(all[2].filled, ["router_delay = 100 ns, as of packet"]);
    }

    /// Also those that it declares and refuses.
    #[test]
    fn sections_that_a_model_refuses_are_left_out() {
        let all = of(FILE, &[]);
        let without: Vec<bool> = all.iter().map(|v| v.left_out.iter().any(|l| l == "[resilience]")).collect();
        assert_eq!(without, [false, true, true, true, true]);
        assert!(all[1..].iter().all(|v| v.set.iter().any(|set| set == "resilience=")));
    }

    /// The file's own model says what is left open, whichever is dearer.
    #[test]
    fn what_is_open_is_as_in_the_own_model() {
        let all = of(FILE, &["resilience=", "model.kind=flow"]);
        assert!(all[0].filled == ["router_delay = 0 s, as of flow"] && all[2].filled.is_empty());
        let all = of(FILE, &["resilience=", "model.router_delay=5 ns"]);
        assert!(all.iter().all(|v| v.filled.is_empty()));
    }
}
