//! The JSON schema of the experiment file, for editors and checkers.
//!
//! It is made from the registries. It knows types, ranges and names; what only a strategy can judge (does this
//! dragonfly exist?) `netloom check` says.
//!
//! Each section has a shape: all keys that it may have, with their types, so that editors can offer them. What a model, topology or workload
//! demands or does not take stands in conditions of its own, so that a mistake is answered by one line at its place. A file with `[sweep]` is
//! held to the shapes only: its axes may set what the rest of the file leaves out.

use crate::{
    experiment::{
        buffers::{KEY as BUFFER, PRESET},
        jobs,
        keys::{
            Choices, DERIVED, ENGINE, EXPERIMENT, FABRIC, FAULTS, JOB, LINK, MAX_PARTITIONS, MODEL, OUTPUT,
            PORTALS, ROUTING,
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
use packet::pipeline::ABOUT as ROUTER;
use portals::nic;
use serde_json::{Map, Value as Json, json};
use workload::registry::{OUTSTANDING, SIZE_DISTRIBUTION, SIZE_FILE, SIZES, Takes};

/// Name of the schema. It stays as long as files that were valid stay so.
const ID: &str = "urn:netloom:experiment:1";

type Object = Map<String, Json>;

/// A section: what may stand in it, and what must hold besides.
struct Part {
    shape: Json,
    rules: Vec<Json>,
}

/// The JSON schema of experiment files that use this registry.
///
/// Its dialect is draft 7, which editors of TOML know.
#[must_use]
pub fn schema(registry: &Registry) -> Json {
    let choices = &Choices::of(registry);
    let mut parts = vec![
        (EXPERIMENT.name, experiment()),
        (FABRIC.name, fabric(choices)),
        (FAULTS.name, plain(&FAULTS)),
        ("routing", chosen(&ROUTING, &[], &[of(&choices.routing)])),
        ("model", model(choices)),
    ];
    for own in &choices.sections {
        let about = &own.entry.about;
        let lists: Vec<_> = own.choices.iter().map(of).collect();
        parts.push((about.name, chosen(about, about.params, &lists)));
    }
    parts.extend([(PORTALS.name, interfaces()), (ENGINE.name, engine()), (OUTPUT.name, plain(&OUTPUT))]);
    let job = job(choices);
    let mut shapes: Object =
        parts.iter().map(|(name, part)| ((*name).to_owned(), part.shape.clone())).collect();
    shapes.insert(
        "job".to_owned(),
        json!({"description": JOB.summary, "type": "array", "minItems": 1, "items": job.shape}),
    );
    shapes.insert("sweep".to_owned(), sweep());
    shapes.insert(
        "plot".to_owned(),
        json!({"description": PLOT.summary, "type": "array", "minItems": 1, "items": plot()}),
    );
    let ruled = parts.into_iter().filter(|(_, part)| !part.rules.is_empty());
    let mut rules: Object =
        ruled.map(|(name, part)| (name.to_owned(), json!({"allOf": part.rules}))).collect();
    rules.insert("job".to_owned(), json!({"items": {"allOf": job.rules}}));
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": ID,
        "title": "Netloom experiment",
        "description": "An experiment of Netloom, a simulator of interconnects. `netloom explain NAME` says more of each name.",
        "type": "object",
        "properties": shapes,
        "additionalProperties": false,
        "if": {"not": {"required": [SWEEP.name]}},
        "then": {
            "required": [EXPERIMENT.name, "model"],
            "properties": rules,
            "allOf": choices.model.entries.iter().map(|m| needed(m)).chain([
                json!({"if": {"not": {"required": [PORTALS.name]}}, "then": {"required": ["job"]}}),
                buffered(),
            ]).collect::<Json>(),
        },
        "definitions": {
            "link": closed(LINK.summary, properties(LINK.params)),
            "timed-fabric": {"allOf": choices.topology.entries.iter().filter(|t| t.required > 0).map(|t| linked(t)).collect::<Json>()},
            "timed-job": {"allOf": timed_job(choices)},
        },
    })
}

/// What an experiment with a model must have.
fn needed(entry: &ModelEntry) -> Json {
    let needs = [(FABRIC.name, entry.needs.fabric), ("routing", entry.needs.routing)];
    let names: Vec<&str> = needs.iter().filter(|(_, needed)| *needed).map(|(name, _)| *name).collect();
    let mut then = json!({"required": names});
    if entry.needs.time {
        then["properties"] = json!({
            EXPERIMENT.name: {"if": {"not": {"required": ["until"]}}, "then": {"required": ["duration"]}},
            FABRIC.name: {"$ref": "#/definitions/timed-fabric"},
            "job": {"items": {"$ref": "#/definitions/timed-job"}},
        });
    }
    json!({"if": {"required": ["model"], "properties": {"model": named("kind", entry.about.name)}}, "then": then})
}

/// Links have buffers, unless a preset of the router gives them.
fn buffered() -> Json {
    let preset = json!({"required": [ROUTER.name], "properties": {ROUTER.name: {"required": [PRESET]}}});
    let links = json!({"additionalProperties": {"required": [BUFFER]}});
    json!({"if": {"not": preset}, "then": {"properties": {FABRIC.name: {"properties": {"link": links}}}}})
}

/// Links that a topology needs where there is time.
fn linked(entry: &Topology) -> Json {
    let classes = json!({"required": entry.classes[..entry.required]});
    json!({"if": named("topology", entry.about.name), "then": {"required": ["link"], "properties": {"link": classes}}})
}

/// Loads and sizes that workloads need where there is time.
fn timed_job(choices: &Choices) -> Json {
    let names = |takes: fn(Takes) -> bool| -> Json {
        let takers = choices.workload.entries.iter().filter(|w| takes(w.takes));
        takers.map(|w| w.about.name).collect()
    };
    let unless = |workloads: Json, keys: &[&str], needed: &str| {
        let given: Vec<Json> = keys.iter().map(|key| json!({"required": [key]})).collect();
        json!({
            "if": {"required": ["workload"], "properties": {"workload": {"enum": workloads}}, "not": {"anyOf": given}},
            "then": {"required": [needed]},
        })
    };
    let open = |takes: Takes| takes.arrivals();
    let sized = |takes: Takes| takes.arrivals() || takes == Takes::Message;
    let sizes = [SIZES.name, SIZE_DISTRIBUTION.name, SIZE_FILE.name];
    json!([unless(names(open), &[OUTSTANDING.name], "load"), unless(names(sized), &sizes, "message")])
}

/// `[experiment]`: one end, and a limit only beside `until`.
fn experiment() -> Part {
    let mut part = plain(&EXPERIMENT);
    part.rules.push(json!({
        "if": {"required": ["until"]},
        "then": {"properties": {"duration": false}},
        "else": {"properties": {"limit": false}},
    }));
    part
}

/// `[fabric]`: the keys of one topology, and links of its classes.
fn fabric(choices: &Choices) -> Part {
    let mut part = chosen(&FABRIC, FABRIC.params, &[of(&choices.topology)]);
    let entries = &choices.topology.entries;
    let all: Vec<&str> = entries.iter().flat_map(|t| t.classes).copied().collect();
    let links: Object =
        all.iter().map(|class| ((*class).to_owned(), json!({"$ref": "#/definitions/link"}))).collect();
    part.shape["properties"]["link"] = closed(LINK.summary, links);
    let keys: Vec<&str> = mandatory(LINK.params).collect();
    part.rules.push(json!({"properties": {"link": {"additionalProperties": {"required": keys}}}}));
    for topology in entries {
        let foreign = all.iter().filter(|class| !topology.classes.contains(class));
        let none: Object = foreign.map(|class| ((*class).to_owned(), json!(false))).collect();
        if !none.is_empty() {
            let then = json!({"properties": {"link": {"properties": none}}});
            part.rules.push(json!({"if": named("topology", topology.about.name), "then": then}));
        }
    }
    part
}

/// `[model]`; keys of other models may stand beside its own.
fn model(choices: &Choices) -> Part {
    let mut part = chosen(&MODEL, &[], &[of(&choices.model)]);
    let keys = part.shape["properties"].as_object_mut().expect("properties are an object");
    keys.insert(
        DERIVED.to_owned(),
        json!({"type": "object", "description": "What a run derived; it is left alone."}),
    );
    part.rules = vec![json!({"required": [choices.model.key]})];
    for entry in &choices.model.entries {
        let mut own = properties(entry.about.params);
        for choice in choices.of_model(entry) {
            let Offer { key, entries, .. } = of(choice);
            let words: Json = entries.iter().map(|about| about.name).collect();
            own[key]["enum"] = words.clone();
            keys[key]["enum"] = words;
        }
        own.retain(|name, property| keys[name] != *property);
        let required: Vec<&str> = mandatory(entry.about.params).collect();
        if !required.is_empty() || !own.is_empty() {
            let then = json!({"required": required, "properties": own});
            part.rules.push(json!({"if": named("kind", entry.about.name), "then": then}));
        }
    }
    part
}

/// `[[job]]`: keys of one workload, one arrival and one placement, and of those that workloads share what this one takes.
fn job(choices: &Choices) -> Part {
    let registries = [of(&choices.workload), of(&choices.arrival), of(&choices.placement)];
    let mut part = chosen(&JOB, &choices.job, &registries);
    for workload in &choices.workload.entries {
        let none: Object = jobs::refused(workload).map(|key| (key.to_owned(), json!(false))).collect();
        let then = json!({"properties": none});
        part.rules.push(json!({"if": named(choices.workload.key, workload.about.name), "then": then}));
    }
    part
}

/// `[engine]`, whose partitions are read apart.
fn engine() -> Part {
    let mut part = plain(&ENGINE);
    part.shape["properties"]["partitions"] = json!({
        "description": "Number of partitions.", "default": "auto",
        "anyOf": [{"const": "auto"}, {"type": "integer", "minimum": 1, "maximum": MAX_PARTITIONS}],
    });
    part
}

/// `[portals]` with its tables `[[portals.node]]`.
fn interfaces() -> Part {
    let own: Vec<Param> = PORTALS.params.iter().filter(|p| !nic::GLOBAL.contains(&p.name)).copied().collect();
    let mut node = properties(&own);
    node.append(&mut properties(&[nic::NODES]));
    let mut node = closed("Nodes with values of their own.", node);
    node["required"] = json!(["nodes"]);
    let mut part = plain(&PORTALS);
    part.shape["properties"]["node"] = json!({"type": "array", "items": node});
    part
}

/// `[sweep]` with its axes and conditions. What stands on an axis may be wrong; that only `netloom check` knows.
fn sweep() -> Json {
    let mut axis = properties(AXIS.params);
    let end = || json!({"description": "End of a range.", "type": ["number", "string"]});
    axis.insert("values".to_owned(), json!({"description": "The values.", "type": "array", "minItems": 1}));
    axis.insert("from".to_owned(), end());
    axis.insert("to".to_owned(), end());
    let mut axis = closed(AXIS.summary, axis);
    axis["if"] = json!({"required": ["values"]});
    axis["then"] = json!({"properties": {"from": false, "to": false, "count": false}});
    axis["else"] = json!({"required": ["from", "to", "count"]});
    let mut keys = properties(SWEEP.params);
    keys.insert("axis".to_owned(), json!({"type": "array", "minItems": 1, "items": axis}));
    let skip = json!({"type": "object", "minProperties": 1, "description": SKIP.summary});
    keys.insert("skip".to_owned(), json!({"type": "array", "minItems": 1, "items": skip}));
    closed(SWEEP.summary, keys)
}

/// A figure of a sweep.
fn plot() -> Json {
    let mut keys = properties(PLOT.params);
    keys.insert(
        "only".to_owned(),
        json!({"type": "object", "description": "Values of axes that are drawn."}),
    );
    let mut plot = closed(PLOT.summary, keys);
    plot["required"] = mandatory(PLOT.params).collect();
    plot
}

/// A section with these keys at most.
fn closed(summary: &str, keys: Object) -> Json {
    json!({"description": summary, "type": "object", "properties": keys, "additionalProperties": false})
}

/// A section that chooses nothing.
fn plain(about: &About) -> Part {
    chosen(about, about.params, &[])
}

/// Keys of a section: its own, and those of the entries that these keys of it choose from lists.
fn chosen(about: &About, own: &[Param], lists: &[Offer]) -> Part {
    let keys = Keys { own, lists };
    let mut shape = Object::new();
    for param in keys.all() {
        let forms = keys.forms(param.name);
        let form = match &forms[..] {
            [only] => only.clone(),
            // What it means depends on the entry, whose rule has its type.
            _ if !keys.is_own(param.name) => json!({"description": forms[0]["description"]}),
            _ => json!({"description": forms[0]["description"], "anyOf": forms}),
        };
        shape.insert(param.name.to_owned(), form);
    }
    let mut rules = Vec::new();
    let needed = lists.iter().filter(|offer| offer.default.is_none()).map(|offer| offer.key);
    let required: Vec<&str> = needed.chain(mandatory(own)).collect();
    if !required.is_empty() {
        rules.push(json!({"required": required}));
    }
    for (index, Offer { key, default, entries }) in lists.iter().enumerate() {
        let names: Vec<&str> = entries.iter().map(|a| a.name).collect();
        let mut form =
            json!({"description": "A name; `netloom explain NAME` says what it is.", "enum": names});
        if let Some(default) = default {
            form["default"] = json!(default);
        }
        shape.insert((*key).to_owned(), form);
        rules.extend(entries.iter().filter_map(|entry| keys.rule(index, entry)));
    }
    Part { shape: closed(about.summary, shape), rules }
}

/// A list that a key of a section chooses from.
struct Offer {
    key: &'static str,
    /// What is chosen if the key is left out; none if it must be there.
    default: Option<&'static str>,
    entries: Vec<&'static About>,
}

/// The keys of a section: its own, and those of the entries that it may choose.
struct Keys<'a> {
    own: &'a [Param],
    lists: &'a [Offer],
}

impl Keys<'_> {
    fn all(&self) -> impl Iterator<Item = &Param> {
        self.own.iter().chain(self.lists.iter().flat_map(Offer::params))
    }

    fn is_own(&self, name: &str) -> bool {
        self.own.iter().any(|p| p.name == name)
    }

    /// All that a key can be, its own meaning first.
    fn forms(&self, name: &str) -> Vec<Json> {
        let mut forms = Vec::new();
        for form in self.all().filter(|p| p.name == name).map(property) {
            if !forms.contains(&form) {
                forms.push(form);
            }
        }
        forms
    }

    /// What must hold if an entry of a list is chosen: its mandatory keys, none of the others', and types that are its own.
    fn rule(&self, list: usize, entry: &About) -> Option<Json> {
        let Offer { key, entries, .. } = &self.lists[list];
        let elsewhere = self.lists.iter().enumerate().filter(|(other, _)| *other != list);
        let elsewhere: Vec<&Param> = elsewhere.flat_map(|(_, offer)| offer.params()).collect();
        let mut keys = Object::new();
        for param in entries.iter().flat_map(|a| a.params) {
            let name = param.name;
            match entry.params.iter().find(|p| p.name == name) {
                Some(_) if self.is_own(name) || self.forms(name).len() == 1 => {}
                Some(own) => drop(keys.insert(name.to_owned(), property(own))),
                None if self.is_own(name) || elsewhere.iter().any(|p| p.name == name) => {}
                None => drop(keys.insert(name.to_owned(), json!(false))),
            }
        }
        let required: Vec<&str> = mandatory(entry.params).collect();
        let then = json!({"required": required, "properties": keys});
        (!required.is_empty() || then["properties"] != json!({}))
            .then(|| json!({"if": named(key, entry.name), "then": then}))
    }
}

/// The condition that a key is there and names an entry.
fn named(key: &str, name: &str) -> Json {
    json!({"required": [key], "properties": {key: {"const": name}}})
}

impl Offer {
    fn params(&self) -> impl Iterator<Item = &Param> {
        self.entries.iter().flat_map(|about| about.params)
    }
}

fn of<E: Registered + ?Sized>(choice: &Choice<E>) -> Offer {
    let entries = choice.entries.iter().map(|e| e.about()).collect();
    Offer { key: choice.key, default: choice.default, entries }
}

fn mandatory(params: &[Param]) -> impl Iterator<Item = &'static str> {
    params.iter().filter(|p| p.default.is_none()).map(|p| p.name)
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
    property["description"] = json!(first_sentence(param.doc));
    if let Some(default) = param.default_value().filter(|_| param.default != Some("")) {
        property["default"] = value::json(param.kind, &default);
    }
    property
}

fn quantity(family: Family) -> Json {
    let units = family.unit_list().replace(", ", "|");
    json!({"type": "string", "pattern": format!("^ *[0-9]+(\\.[0-9]+)?([eE][+-]?[0-9]+)? *({units}) *$")})
}

/// Longest description of a key, in bytes.
const LINE: usize = 140;

/// What fits on a line of an editor: the first sentence, or its first part; `netloom explain` has the rest.
fn first_sentence(doc: &str) -> &str {
    let first = doc.find(". ").map_or(doc, |end| &doc[..=end]);
    let part = |text: &'static str| first.find(text).map(|end| &first[..end]);
    if first.len() <= LINE { first } else { part("; ").or(part(": ")).unwrap_or(first) }
}
