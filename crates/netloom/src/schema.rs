//! The JSON schema of the experiment file, for editors and checkers.
//!
//! It is made from the registries. It knows types, ranges and names; what only a strategy can judge (does this
//! dragonfly exist?) `netloom check` says.

use crate::{
    experiment::{
        keys::{
            Choices, ENGINE, EXPERIMENT, FABRIC, FAULTS, JOB, LINK, MAX_PARTITIONS, OUTPUT, PORTALS,
            SectionChoices,
        },
        plot::PLOT,
        reader::Choice,
        sweep::{AXIS, SKIP, SWEEP},
        value,
    },
    registry::Registry,
};
use base::{
    param::{Kind, Param},
    registry::{About, Registered},
    units::Family,
};
use fabric::registry::Topology;
use model::ModelEntry;
use portals::nic;
use serde_json::{Map, Value as Json, json};

type Object = Map<String, Json>;

/// The JSON schema of experiment files that use this registry.
#[must_use]
pub fn schema(registry: &Registry) -> Json {
    let choices = &Choices::of(registry);
    let topologies: Json = choices.topology.entries.iter().map(|t| topology(choices, t)).collect();
    let mut engine = object(&ENGINE, properties(ENGINE.params));
    let partitions = json!({
        "description": "Number of partitions.", "default": "auto",
        "anyOf": [{"const": "auto"}, {"type": "integer", "minimum": 1, "maximum": MAX_PARTITIONS}],
    });
    engine["properties"]["partitions"] = partitions;
    let mut experiment = object(&EXPERIMENT, properties(EXPERIMENT.params));
    experiment["oneOf"] = json!([{"required": ["duration"]}, {"required": ["until"]}]);
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Netloom experiment",
        "type": "object",
        "required": ["experiment", "model"],
        "anyOf": [{"required": ["job"]}, {"required": ["portals"]}],
        "allOf": choices.model.entries.iter().map(|m| needed(m)).collect::<Json>(),
        "additionalProperties": false,
        "properties": {
            "experiment": experiment,
            "fabric": {"oneOf": topologies},
            "faults": object(&FAULTS, properties(FAULTS.params)),
            "routing": {"oneOf": choices.routing.entries.iter().map(|e| named(&choices.routing, e.about())).collect::<Json>()},
            "job": {"type": "array", "minItems": 1, "items": job(choices)},
            "model": {"oneOf": choices.model.entries.iter().map(|m| model(choices, m)).collect::<Json>()},
        },
        "$defs": {"link": object(&LINK, properties(LINK.params))},
    });
    let sections = schema["properties"].as_object_mut().expect("properties are an object");
    for own in &choices.sections {
        sections.insert(own.entry.about.name.to_owned(), declared(own));
    }
    sections.insert("portals".to_owned(), interfaces());
    sections.insert("engine".to_owned(), engine);
    sections.insert("output".to_owned(), object(&OUTPUT, properties(OUTPUT.params)));
    sections.insert("sweep".to_owned(), sweep());
    let mut plot = object(&PLOT, properties(PLOT.params));
    plot["properties"]["only"] = json!({"type": "object", "description": "Values of axes that are drawn."});
    sections.insert("plot".to_owned(), json!({"type": "array", "minItems": 1, "items": plot}));
    schema
}

/// A section that models declare.
fn declared(section: &SectionChoices) -> Json {
    let about = &section.entry.about;
    let choices: Vec<_> = section.choices.iter().map(of).collect();
    if choices.is_empty() {
        object(about, properties(about.params))
    } else {
        united((about, about.params), &choices)
    }
}

/// `[portals]` with its tables `[[portals.node]]`.
fn interfaces() -> Json {
    let own: Vec<Param> = PORTALS.params.iter().filter(|p| !nic::GLOBAL.contains(&p.name)).copied().collect();
    let mut node = properties(&own);
    node.append(&mut properties(&[nic::NODES]));
    let node = json!({
        "description": "Nodes with values of their own.", "type": "object", "properties": node,
        "required": ["nodes"], "additionalProperties": false,
    });
    let mut keys = properties(PORTALS.params);
    keys.insert("node".to_owned(), json!({"type": "array", "items": node}));
    object(&PORTALS, keys)
}

/// `[sweep]` with its axes and conditions. What stands on an axis may be wrong or missing in the file's other sections; that only
/// `netloom check` knows.
fn sweep() -> Json {
    let mut axis = properties(AXIS.params);
    let end = || json!({"description": "End of a range.", "type": ["number", "string"]});
    axis.insert("values".to_owned(), json!({"description": "The values.", "type": "array", "minItems": 1}));
    axis.insert("from".to_owned(), end());
    axis.insert("to".to_owned(), end());
    let mut axis = object(&AXIS, axis);
    axis["oneOf"] = json!([{"required": ["values"]}, {"required": ["from", "to", "count"]}]);
    let mut keys = properties(SWEEP.params);
    keys.insert("axis".to_owned(), json!({"type": "array", "minItems": 1, "items": axis}));
    let skip = json!({"type": "object", "minProperties": 1, "description": SKIP.summary});
    keys.insert("skip".to_owned(), json!({"type": "array", "minItems": 1, "items": skip}));
    object(&SWEEP, keys)
}

/// A section with exactly these keys.
fn object(about: &About, properties: Object) -> Json {
    let required: Vec<&str> = mandatory(about.params).collect();
    json!({
        "description": about.summary, "type": "object", "properties": properties, "required": required,
        "additionalProperties": false,
    })
}

fn mandatory(params: &[Param]) -> impl Iterator<Item = &'static str> {
    params.iter().filter(|p| p.default.is_none()).map(|p| p.name)
}

/// A section whose keys belong to the entry that it names.
fn named<E: Registered>(choice: &Choice<E>, about: &About) -> Json {
    let mut keys = Object::from_iter([(choice.key.to_owned(), json!({"const": about.name}))]);
    keys.append(&mut properties(about.params));
    let mut section = object(about, keys);
    section["required"].as_array_mut().expect("required is a list").insert(0, json!(choice.key));
    section
}

/// What an experiment with a model must have.
fn needed(entry: &ModelEntry) -> Json {
    let needs = [("fabric", entry.needs.fabric), ("routing", entry.needs.routing)];
    let names: Vec<&str> = needs.iter().filter(|(_, needed)| *needed).map(|(name, _)| *name).collect();
    let kind = json!({"properties": {"kind": {"const": entry.about.name}}});
    json!({"if": {"properties": {"model": kind}}, "then": {"required": names}})
}

/// A model; keys of other models may stand beside its own.
fn model(choices: &Choices, entry: &ModelEntry) -> Json {
    let mut section = named(&choices.model, &entry.about);
    for choice in choices.of_model(entry) {
        let (key, entries) = of(choice);
        section["properties"][key]["enum"] = entries.iter().map(|about| about.name).collect();
    }
    let others = choices.model.entries.iter().flat_map(|other| properties(other.about.params));
    for (name, property) in others {
        let known = section["properties"].as_object_mut().expect("properties are an object");
        known.entry(name).or_insert_with(|| json!({"description": property["description"]}));
    }
    section
}

fn topology(choices: &Choices, entry: &Topology) -> Json {
    let mut section = named(&choices.topology, &entry.about);
    let keys = section["properties"].as_object_mut().expect("properties are an object");
    keys.append(&mut properties(FABRIC.params));
    let classes = entry.classes.iter().map(|c| ((*c).to_owned(), json!({"$ref": "#/$defs/link"})));
    section["properties"]["link"] = json!({
        "type": "object", "properties": classes.collect::<Object>(), "required": entry.classes[..entry.required],
        "additionalProperties": false,
    });
    section["required"].as_array_mut().expect("required is a list").push(json!("link"));
    section
}

/// A job takes the keys of one workload, one arrival and one placement: the schema allows the union.
fn job(choices: &Choices) -> Json {
    let mut section =
        united((&JOB, &choices.job), &[of(&choices.workload), of(&choices.arrival), of(&choices.placement)]);
    section["required"].as_array_mut().expect("required is a list").insert(0, json!(choices.workload.key));
    section
}

/// The key of a choice with what it may name.
fn of<E: Registered + ?Sized>(choice: &Choice<E>) -> (&'static str, Vec<&'static About>) {
    (choice.key, choice.entries.iter().map(|e| e.about()).collect())
}

/// A section that takes the keys of one entry of each registry.
fn united((own, params): (&About, &[Param]), registries: &[(&str, Vec<&About>)]) -> Json {
    let mut keys = Object::new();
    let mut conditions = Vec::new();
    for (key, abouts) in registries {
        let names: Vec<&str> = abouts.iter().map(|a| a.name).collect();
        keys.insert((*key).to_owned(), json!({"enum": names}));
        for about in abouts {
            for (name, property) in properties(about.params) {
                unite(&mut keys, name, property);
            }
            let required: Vec<&str> = mandatory(about.params).collect();
            if !required.is_empty() {
                let chosen = json!({"properties": {*key: {"const": about.name}}, "required": [key]});
                conditions.push(json!({"if": chosen, "then": {"required": required}}));
            }
        }
    }
    keys.append(&mut properties(params));
    let mut section = object(own, keys);
    if !conditions.is_empty() {
        section["allOf"] = Json::Array(conditions);
    }
    section
}

/// Adds a key that may already mean something else for another entry.
fn unite(keys: &mut Object, name: String, property: Json) {
    match keys.get_mut(&name) {
        None => drop(keys.insert(name, property)),
        Some(known) if *known == property => {}
        Some(known) => match known.get_mut("anyOf").and_then(Json::as_array_mut) {
            Some(forms) if forms.contains(&property) => {}
            Some(forms) => forms.push(property),
            None => *known = json!({"anyOf": [known.clone(), property]}),
        },
    }
}

fn properties(params: &[Param]) -> Object {
    params.iter().map(|p| (p.name.to_owned(), property(p))).collect()
}

fn property(param: &Param) -> Json {
    let mut property = match param.kind {
        Kind::Int { min, max: u64::MAX } => json!({"type": "integer", "minimum": min}),
        Kind::Int { min, max } => json!({"type": "integer", "minimum": min, "maximum": max}),
        Kind::Ints { min, max } => {
            json!({"type": "array", "items": {"type": "integer", "minimum": min, "maximum": max}})
        }
        Kind::Real { min, max } => json!({"type": "number", "minimum": min, "maximum": max}),
        Kind::Time => quantity(Family::Time),
        Kind::Bytes => quantity(Family::Bytes),
        Kind::Bandwidth => quantity(Family::Bandwidth),
        Kind::Bool => json!({"type": "boolean"}),
        Kind::Text | Kind::File => json!({"type": "string"}),
        Kind::Texts => json!({"type": "array", "items": {"type": "string"}}),
        Kind::Choice(words) => json!({"enum": words}),
    };
    property["description"] = json!(param.doc);
    if let Some(default) = param.default_value().filter(|_| param.default != Some("")) {
        property["default"] = value::json(param.kind, &default);
    }
    property
}

fn quantity(family: Family) -> Json {
    let units = family.unit_list().replace(", ", "|");
    json!({"type": "string", "pattern": format!("^ *[0-9]+(\\.[0-9]+)?([eE][+-]?[0-9]+)? *({units}) *$")})
}
