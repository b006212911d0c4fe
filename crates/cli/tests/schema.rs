//! The schema of the experiment file, as a validator that is not ours reads it.

use crate::common::netloom;
use base::diag::Diagnostics;
use jsonschema::Validator;
use netloom::experiment::tree::{self, Data, Table};
use serde_json::{Value as Json, json};
use std::path::PathBuf;

fn validator() -> Validator {
    let run = netloom(&["schema"]);
    let schema: Json = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!(schema, netloom::schema::schema(&netloom::Registry::standard()));
    jsonschema::meta::validate(&schema).expect("it is a schema of the draft that it names");
    jsonschema::draft7::new(&schema).expect("it can be compiled")
}

/// A TOML file as JSON; none if it is no TOML.
fn value(text: &str) -> Option<Json> {
    let mut diagnostics = Diagnostics::default();
    let source = diagnostics.add_source("file".to_owned(), text.to_owned());
    tree::parse(source, &mut diagnostics).map(|table| object(&table))
}

fn object(table: &Table) -> Json {
    table.entries.iter().map(|entry| (entry.key.clone(), of(&entry.node.data))).collect()
}

fn of(data: &Data) -> Json {
    match data {
        Data::Text(text) => json!(text),
        Data::Integer(value) => {
            value.and_then(serde_json::Number::from_i128).map_or(Json::Null, Json::Number)
        }
        Data::Real(value) => json!(value),
        Data::Bool(value) => json!(value),
        Data::Date => json!("a date"),
        Data::List(items) => items.iter().map(|item| of(&item.data)).collect(),
        Data::Table(table) => object(table),
    }
}

/// What the validator says, a line for each mistake.
fn mistakes(validator: &Validator, value: &Json) -> String {
    let mut lines: Vec<String> =
        validator.iter_errors(value).map(|e| format!("{}: {e}", e.instance_path())).collect();
    lines.sort();
    lines.join("\n")
}

/// Experiment files below a directory.
fn experiments(directory: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).expect(directory) {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(experiments(path.to_str().expect("text")));
        } else if path.extension().is_some_and(|e| e == "toml") {
            let text = std::fs::read_to_string(&path).expect("text");
            let is_experiment = text.contains("\n[experiment]\n") || text.starts_with("[experiment]");
            // A crate with a routing of its own has an experiment that names it.
            if is_experiment && !text.contains("\"always-up\"") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn every_shipped_experiment_is_valid() {
    let validator = validator();
    let directories = ["../../examples", "../studies/studies", "../netloom/starts"];
    let files: Vec<PathBuf> = directories.iter().flat_map(|d| experiments(d)).collect();
    assert!(files.len() > 50, "{files:?}");
    for file in files {
        let text = std::fs::read_to_string(&file).expect("text");
        let value = value(&text).expect("TOML");
        assert_eq!(mistakes(&validator, &value), "", "{}", file.display());
    }
}

/// The experiment with all defaults, as results hold it, is a valid file too.
#[test]
fn resolved_experiments_are_valid() {
    let validator = validator();
    for file in experiments("../../examples") {
        let text = std::fs::read_to_string(&file).expect("text");
        // Large networks have no keys of their own.
        if text.contains("racks = 512") && std::env::var_os("NETLOOM_LONG").is_none() {
            continue;
        }
        // A machine for Portals programs has no job, which its results say by an empty list.
        if text.contains("\n[portals]") {
            continue;
        }
        let whole: &[&str] =
            if text.contains("[[sweep") { &["--set", "sweep=", "--set", "plot="] } else { &[] };
        let run = netloom(&[&["check", file.to_str().expect("text"), "--format", "json"], whole].concat());
        let object: Json = serde_json::from_str(&run.out).expect("JSON");
        assert_eq!(mistakes(&validator, &object["experiment"]), "", "{}", file.display());
    }
}

/// The example of the book, and the ends of what a file must have: a sweep's axes may set what the rest leaves out.
#[test]
fn what_is_needed_depends_on_what_is_there() {
    let validator = validator();
    let page = std::fs::read_to_string("../../docs/experiment-file.md").expect("it is in the tree");
    let shown = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    assert_eq!(mistakes(&validator, &value(shown).expect("TOML")), "");
    let axis = "[[sweep.axis]]\npath = \"job.0.load\"\nvalues = [0.1]\n";
    let file = std::fs::read_to_string("tests/good.toml").expect("text").replace("load = 0.5\n", "");
    assert_eq!(mistakes(&validator, &value(&file).expect("TOML")), "/job/0: \"load\" is a required property");
    assert_eq!(mistakes(&validator, &value(&(file.clone() + axis)).expect("TOML")), "");
    let wrong = file.replace("groups = 9", "gruops = 9") + axis;
    assert!(mistakes(&validator, &value(&wrong).expect("TOML")).contains("'gruops' was unexpected"));
}

/// A link of a class that no topology has.
const GLOBE: &str = concat!(
    "link.globe = ",
    r#"{ bandwidth = "1 GB/s", latency = "1 ns", credit_delay = "1 ns", vc_buffer = "1 KiB" }"#,
    "\n[routing]"
);

/// A link of a class that another topology has.
const TREE: &str = concat!(
    "link.tree = ",
    r#"{ bandwidth = "1 GB/s", latency = "1 ns", credit_delay = "1 ns", vc_buffer = "1 KiB" }"#,
    "\n[routing]"
);

/// Each change of a good file: what stood there, what stands there now, where the one mistake is, and what it is called.
const PLANTED: &[(&str, &str, &str, &str)] = &[
    ("groups = 9", "groups = 9\ngruops = 9", "/fabric", "'gruops' was unexpected"),
    ("groups = 9", "groups = \"9\"", "/fabric/groups", "not of type \"integer\""),
    ("groups = 9", "groups = 0", "/fabric/groups", "less than the minimum"),
    ("groups = 9\n", "", "/fabric", "\"groups\" is a required property"),
    ("groups = 9", "groups = 9\ndims = [2]", "/fabric/dims", "False schema"),
    ("\"dragonfly\"", "\"dragonfyl\"", "/fabric/topology", "\"dragonfyl\" is not one of"),
    ("topology = \"dragonfly\"\n", "", "/fabric", "\"topology\" is a required property"),
    ("\n[routing]", GLOBE, "/fabric/link", "'globe' was unexpected"),
    ("\n[routing]", TREE, "/fabric/link/tree", "False schema"),
    (
        "\"30 ns\", credit_delay = \"4 ns\", vc_buffer = \"32",
        "30, credit_delay = \"4 ns\", vc_buffer = \"32",
        "/fabric/link/terminal/latency",
        "not of type \"string\"",
    ),
    (
        "\"4 ns\", vc_buffer = \"32 KiB\"",
        "\"4 KiB\", vc_buffer = \"32 KiB\"",
        "/fabric/link/terminal/credit_delay",
        "does not match",
    ),
    (", credit_delay = \"4 ns\"", "", "/fabric/link/terminal", "\"credit_delay\" is a required property"),
    (", vc_buffer = \"32 KiB\"", "", "/fabric/link/terminal", "\"vc_buffer\" is a required property"),
    ("\"minimal\"", "\"minimul\"", "/routing/algorithm", "is not one of"),
    ("\"minimal\"", "\"minimal\"\nup = \"random\"", "/routing/up", "False schema"),
    ("\"uniform\"", "\"unifrom\"", "/job/0/workload", "is not one of"),
    ("\"uniform\"", "\"uniform\"\niterations = 3", "/job/0/iterations", "False schema"),
    ("\"uniform\"", "\"uniform\"\ncompute = 3.0", "/job/0/compute", "False schema"),
    ("\"uniform\"", "\"uniform\"\narrival = \"poison\"", "/job/0/arrival", "is not one of"),
    ("message = \"1024 B\"\n", "", "/job/0", "\"message\" is a required property"),
    ("kind = \"packet\"", "kind = \"pakcet\"", "/model/kind", "is not one of"),
    ("kind = \"packet\"\n", "", "/model", "\"kind\" is a required property"),
    ("kind = \"packet\"", "kind = \"packet\"\nrooter = \"window\"", "/model", "'rooter' was unexpected"),
    ("kind = \"packet\"", "kind = \"packet\"\nrouter = \"windows\"", "/model/router", "is not one of"),
    ("duration = \"1 us\"\n", "", "/experiment", "\"duration\" is a required property"),
    (
        "duration = \"1 us\"",
        "duration = \"1 us\"\nuntil = \"workload-done\"",
        "/experiment/duration",
        "False schema",
    ),
    ("duration = \"1 us\"", "duration = \"1 us\"\nlimit = \"1 s\"", "/experiment/limit", "False schema"),
    ("[routing]", "[rooting]\nx = 1\n\n[routing]", "", "'rooting' was unexpected"),
    ("[routing]\nalgorithm = \"minimal\"\n", "", "", "\"routing\" is a required property"),
];

/// A mistake has one answer, at its place.
#[test]
fn each_mistake_is_one_line() {
    let validator = validator();
    let good = std::fs::read_to_string("tests/good.toml").expect("text");
    assert_eq!(mistakes(&validator, &value(&good).expect("TOML")), "");
    for (old, new, place, words) in PLANTED {
        let changed = good.replacen(old, new, 1);
        assert_ne!(changed, good, "{old}");
        let found = mistakes(&validator, &value(&changed).unwrap_or_else(|| panic!("{changed}")));
        assert!(found.starts_with(&format!("{place}: ")) && found.contains(words), "{new}: {found}");
        assert_eq!(found.lines().count(), 1, "{new}: {found}");
    }
}

/// Bad files that the schema finds nothing wrong with: what depends on more than one value, or is judged by building.
const ONLY_CHECK: &[&str] = &[
    "bubble-shared-buffers",
    "bubble-small-buffers",
    "bubble-uneven-packets",
    "bubble-without-router",
    "bubble-without-routing",
    "buffer-below-chunk",
    "chunk-above-packet",
    "cyclic-routing",
    "endless-delay",
    "energy-of-another-model",
    "faults-after-the-end",
    "faults-after-the-limit",
    "faults-class",
    "faults-everywhere",
    "faults-link-unreadable",
    "faults-no-room",
    "faults-no-such-link",
    "faults-of-every-kind",
    "faults-routing-cannot-avoid",
    "faults-too-few-vcs",
    "faults-too-many-vcs",
    "hybrid-late",
    "impossible-dragonfly",
    "job-after-the-end",
    "lossy-time",
    "multicast-by-clocked-routers",
    "multicast-on-flow",
    "no-terminal-left",
    "node-on-delay",
    "node-shared-by-traffic",
    "one-rank",
    "overflowing-time",
    "portals-and-losses",
    "preset-with-larger-buffers",
    "rails-too-many-links",
    "resilience-and-failures",
    "resilience-classes",
    "resilience-of-another-model",
    "routing-of-another-topology",
    "slow-link",
    "sweep-label-twice",
    "sweep-skip-fits-nothing",
    "sweep-unknown-path",
    "sweep-unknown-value",
    "sweep-until-texts",
    "sweep-zip-length",
    "too-few-vcs",
    "too-many-links",
    "too-many-ranks",
    "warmup-too-long",
    "zero-bandwidth",
    "zero-buffer",
    "zero-credit-delay",
    "zero-duration",
    "zero-message",
];

#[test]
fn bad_files_are_found_where_a_schema_can() {
    let validator = validator();
    let mut passed = Vec::new();
    for entry in std::fs::read_dir("tests/bad").expect("bad files") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        if let Some(value) = value(&text).filter(|v| mistakes(&validator, v).is_empty()) {
            let name = path.file_stem().and_then(|n| n.to_str()).expect("text");
            passed.push((name.to_owned(), value));
        }
    }
    passed.sort_by(|a, b| a.0.cmp(&b.0));
    let names: Vec<&str> = passed.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ONLY_CHECK);
}

/// What editors show of a key is a line.
#[test]
fn descriptions_are_lines() {
    fn walk(value: &Json, longest: &mut usize) {
        match value {
            Json::Object(keys) => keys.iter().for_each(|(key, value)| match value.as_str() {
                Some(text) if key == "description" => {
                    assert!(!text.contains('\n') && !text.is_empty(), "{text}");
                    *longest = (*longest).max(text.chars().count());
                }
                _ => walk(value, longest),
            }),
            Json::Array(items) => items.iter().for_each(|item| walk(item, longest)),
            _ => {}
        }
    }
    let mut longest = 0;
    walk(&netloom::schema::schema(&netloom::Registry::standard()), &mut longest);
    assert!(longest <= 190, "{longest} characters");
}
