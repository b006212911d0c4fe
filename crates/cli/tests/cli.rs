//! Commands, their results and their exit status, from the outside.

use crate::common::netloom;
use insta::assert_snapshot;
use serde_json::Value as Json;

const GOOD: &str = "tests/good.toml";

fn json(arguments: &[&str]) -> Json {
    let run = netloom(arguments);
    assert_eq!(run.status, 0, "{arguments:?}: {}", run.err);
    serde_json::from_str(&run.out).expect("one JSON object")
}

/// Its tables hold all of the registry, and its example of a diagnostic is what is printed.
#[test]
fn the_book_names_what_can_be_named() {
    let page = std::fs::read_to_string("../../docs/experiment-file.md").expect("it is in the tree");
    let registry = netloom::Registry::standard();
    let topologies = registry.topologies.iter().map(|e| e.about.name);
    let routings = registry.routings.iter().map(|e| e.about.name);
    let arrivals = registry.arrivals.iter().map(|e| e.about.name);
    let placements = registry.placements.iter().map(|e| e.about.name);
    let models = registry.models.iter().map(|e| e.about.name);
    let all = topologies.chain(routings.clone()).chain(arrivals).chain(placements).chain(models);
    let missing: Vec<&str> = all.filter(|name| !page.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "docs/experiment-file.md does not name {missing:?}");
    let quoted: Vec<String> = routings.map(|name| format!("\"{name}\"")).collect();
    let known = format!("= help: known are {} (see `netloom list routings`)", quoted.join(", "));
    assert!(page.contains(&known), "docs/experiment-file.md should show\n{known}");
}

/// A cycle of channels that was asked for is noted; one that was not is refused (`bad/cyclic-routing.toml`).
#[test]
fn a_cycle_that_was_asked_for_is_noted() {
    let noted = |channels: u32| {
        let routing = format!("routing={{ algorithm = \"dragonfly-ugal\", channels = {channels} }}");
        let run = netloom(&["check", GOOD, "--set", &routing]);
        assert_eq!(run.status, 0, "{}", run.err);
        run.err.contains("note: the routing's virtual channels can deadlock, as it was asked to")
    };
    assert!(noted(3) && !noted(4));
}

#[test]
fn help_and_version() {
    for arguments in [&["--help"][..], &["run", "--help"], &["study", "--help"]] {
        let run = netloom(arguments);
        assert_eq!((run.status, run.err.as_str()), (0, ""));
        assert_snapshot!(format!("help-{}", arguments.join("").replace("--help", "")), run.out);
    }
    let run = netloom(&["--version"]);
    assert!(
        run.status == 0 && run.out.starts_with(concat!("netloom ", env!("CARGO_PKG_VERSION"))),
        "{}",
        run.out
    );
}

#[test]
fn a_wrong_command_line_is_reported_on_standard_error() {
    for (arguments, reported) in [
        (&[][..], "Usage"),
        (&["chek"], "tip: some similar subcommands exist"),
        (&["run"], "<FILE>"),
        (&["run", GOOD, "--set", "load"], "write PATH=VALUE"),
        (&["run", GOOD, "--force"], "--out <DIR>"),
        (&["run", GOOD, "--threads", "0"], "0 is not in 1.."),
        (&["run", GOOD, "--threads", "1025"], "1025 is not in 1..=1024"),
        (&["run", GOOD, "--format", "yaml"], "possible values: text, json"),
        (&["run", GOOD, "--memory-limit", "8"], "no unit"),
        (&["list", "topologys"], "did you mean `topologies`?"),
        (&["explain"], "try `netloom explain ugal-l`"),
        (&["explain", "dragonfyl"], "did you mean `dragonfly`?"),
        (&["explain", "qqqqqq"], "`netloom list` shows all names"),
        (&["study", "nothing", "--studies", "tests/bad"], "`tests/bad` holds no study"),
    ] {
        let run = netloom(arguments);
        assert_eq!((run.status, run.out.as_str()), (2, ""), "{arguments:?}");
        assert!(run.err.contains(reported), "{arguments:?}: {}", run.err);
    }
}

#[test]
fn list_names_everything_once() {
    let text = netloom(&["list"]);
    assert_eq!((text.status, text.err.as_str()), (0, ""));
    assert_snapshot!("list", text.out);
    let all = json(&["list", "--format", "json"]);
    let shelves = all.as_object().expect("an object");
    assert_eq!(
        shelves.keys().collect::<Vec<_>>(),
        [
            "topologies",
            "routings",
            "workloads",
            "arrivals",
            "placements",
            "models",
            "routers",
            "allocators",
            "arbiters",
            "presets",
            "predictors",
            "directors",
            "congestion-controls",
            "engines",
            "metrics",
            "collectives",
            "libraries",
            "distributions",
            "sections"
        ]
    );
    let one = json(&["list", "topologies", "--format", "json"]);
    assert_eq!(one["topologies"], all["topologies"]);
    assert_eq!(one.as_object().map(|o| o.len()), Some(1));
}

/// What is explained is what the command takes.
#[test]
fn metrics_are_those_of_the_command() {
    let listed = json(&["list", "metrics", "--format", "json"]);
    let names: Vec<&str> =
        listed["metrics"].as_array().expect("a list").iter().filter_map(|m| m["name"].as_str()).collect();
    let refused = netloom(&["congestion", "x", "--pattern", "bisect", "--metric", "none"]).err;
    assert!(refused.contains(&format!("[possible values: {}]", names.join(", "))), "{refused}");
}

#[test]
fn everything_listed_can_be_explained() {
    let all = json(&["list", "--format", "json"]);
    for entry in all.as_object().expect("an object").values().flat_map(|s| s.as_array().expect("a list")) {
        let name = entry["name"].as_str().expect("a name");
        let text = netloom(&["explain", name]);
        assert_eq!((text.status, text.err.as_str()), (0, ""));
        assert!(
            text.out.starts_with(name)
                && text.out.lines().all(|l| l.chars().count() <= 100 && l == l.trim_end())
        );
        let object = json(&["explain", name, "--format", "json"]);
        // Algorithms of several collectives may share a name.
        let entries = object["entries"].as_array().expect("a list");
        assert!(
            entries.iter().any(|e| e["summary"] == entry["summary"] && e["for"] == entry["for"]),
            "{name}"
        );
    }
    for (name, one) in [
        ("fabric.topology", "slim-fly"),
        ("routing.algorithm", "ugal-l"),
        ("job.0.workload", "uniform"),
        ("job.arrival", "poisson"),
        ("placement", "linear"),
        ("model.kind", "flow"),
        ("model.router", "window"),
    ] {
        let run = netloom(&["explain", name]);
        assert!(run.status == 0 && run.out.contains(one), "{name}: {}{}", run.out, run.err);
    }
    assert_snapshot!("explain-link", netloom(&["explain", "fabric.link"]).out);
    assert_snapshot!("explain-link-json", netloom(&["explain", "fabric.link", "--format", "json"]).out);
}

#[test]
fn the_reference_has_every_name() {
    let run = netloom(&["reference"]);
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    for entry in netloom(&["list"]).out.lines().filter_map(|l| l.strip_prefix("  ")) {
        let name = entry.split_whitespace().next().expect("a name");
        assert!(run.out.contains(&format!("\n### {name}\n")), "{name}");
    }
}

#[test]
fn colour_is_where_it_is_asked_for() {
    let run = |more: &[&str]| netloom(&[&["run", "tests/bad/duplicate-key.toml"], more].concat()).err;
    let escape = "\u{1b}[";
    assert!(!run(&[]).contains(escape), "nobody watches");
    assert!(run(&["--color", "always"]).contains(escape));
    assert!(!run(&["--color", "never"]).contains(escape));
    let summary = netloom(&["run", "tests/good.toml", "--color", "always"]).out;
    assert!(summary.contains(escape), "{summary}");
}

#[test]
fn notes_are_for_those_who_want_them() {
    let asked = ["run", "tests/good.toml", "--set", "output.pairs=true"];
    let run = |more: &[&str]| netloom(&[&asked, more].concat());
    let usual = run(&[]);
    assert!(usual.err.contains("note: the tables"), "{}", usual.err);
    let quiet = run(&["-q"]);
    let verdict = |out: &str| out.lines().next().map(str::to_owned);
    assert_eq!((quiet.err.as_str(), verdict(&quiet.out)), ("", verdict(&usual.out)));
    let verbose = run(&["--verbose"]).err;
    assert!(verbose.contains(" s  building the network"), "{verbose}");
    assert_eq!(run(&["-q", "-v"]).status, 2);
}

#[test]
fn manual_pages_name_the_commands() {
    let page = netloom(&["man"]);
    assert_eq!(page.status, 0);
    assert!(page.out.contains(".TH netloom 1") && page.out.contains("netloom\\-run"), "{}", page.out);
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("pages");
    assert_eq!(netloom(&["man", "--out", out.to_str().unwrap()]).status, 0);
    let run = std::fs::read_to_string(out.join("netloom-run.1")).unwrap();
    assert!(run.contains("checkers"), "{run}");
    let blocked = dir.path().join("file");
    std::fs::write(&blocked, "").unwrap();
    assert_eq!(netloom(&["man", "--out", blocked.to_str().unwrap()]).status, 7);
}

#[test]
fn completions_name_the_commands() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let run = netloom(&["completions", shell]);
        assert!(run.status == 0 && run.out.contains("netloom") && run.out.contains("explain"), "{shell}");
    }
}

#[test]
fn check_reports_without_simulating() {
    let text = netloom(&["check", GOOD]);
    assert_eq!((text.status, text.err.as_str()), (0, ""));
    for part in ["72 terminals, 36 routers", "minimal; free of deadlock", "job-0: 72 ranks", "at most"] {
        assert!(text.out.contains(part), "{part}: {}", text.out);
    }
    let object = json(&["check", GOOD, "--format", "json"]);
    assert_eq!(object["valid"], true);
    assert_eq!(object["fabric"]["terminals"], 72);
    assert!(object["memory"]["bytes"].as_u64().is_some_and(|b| b > 0));
    assert_snapshot!("resolved-experiment", format!("{:#}", object["experiment"]));
}

/// JSON as a TOML value.
fn toml(value: &Json) -> String {
    match value {
        Json::Object(o) => {
            let fields: Vec<String> = o.iter().map(|(k, v)| format!("{k} = {}", toml(v))).collect();
            format!("{{ {} }}", fields.join(", "))
        }
        Json::Array(a) => format!("[{}]", a.iter().map(toml).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

/// Paths of the examples.
fn examples() -> Vec<String> {
    let entries = std::fs::read_dir("../../examples").expect("examples");
    let paths = entries.map(|e| e.expect("an entry").path().to_str().expect("our names are text").to_owned());
    paths.filter(|p| p.ends_with(".toml")).collect()
}

#[test]
fn a_resolved_experiment_read_again_is_itself() {
    let directory = tempfile::tempdir().expect("a directory");
    // Large networks are built twice here, and have no keys of their own.
    let large = |path: &String| path.contains("65536") || path.contains("524288");
    for path in
        examples().into_iter().filter(|path| !large(path) || std::env::var_os("NETLOOM_LONG").is_some())
    {
        let first = json(&["check", &path, "--format", "json"])["experiment"].clone();
        // Paths in a resolved experiment are relative to the working directory, in a file to the file.
        if first["job"][0].get("file").is_some() {
            continue;
        }
        let sections = first.as_object().expect("sections");
        let text: String = sections.iter().map(|(k, v)| format!("{k} = {}\n", toml(v))).collect();
        let again = directory.path().join("again.toml");
        std::fs::write(&again, text).expect("written");
        let second =
            json(&["check", again.to_str().expect("text"), "--format", "json"])["experiment"].clone();
        assert_eq!(first, second, "{path}");
    }
}

/// Commands with a result of their own print it as JSON too.
#[test]
fn every_result_can_be_json() {
    fn without(command: &clap::Command, name: &str, into: &mut Vec<String>) {
        let (mut groups, own) = (command.get_subcommands().peekable(), command.get_arguments());
        let formats = own.into_iter().any(|argument| argument.get_long() == Some("format"));
        if groups.peek().is_none() && !formats {
            into.push(name.to_owned());
        }
        groups.for_each(|sub| without(sub, format!("{name} {}", sub.get_name()).trim(), into));
    }
    let mut found = Vec::new();
    without(&<netloom_cli::args::Arguments as clap::CommandFactory>::command(), "", &mut found);
    // Documents, a file in a form of its own, a compiler, and a folder to build with.
    let mut documents = vec!["fabric export", "schema", "reference", "man", "completions"];
    if found.iter().any(|name| name == "portals cc") {
        documents.extend(["portals cc", "portals sdk"]);
    }
    assert_eq!(found, documents);
    let swarm = json(&["swarm", "--count", "1", "--print", "--format", "json"]);
    assert!(
        swarm["runs"].as_u64() > Some(1)
            && swarm["printed"][0].as_str().is_some_and(|t| t.contains("[fabric]")),
        "{swarm:#}"
    );
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("a.goal");
    let out = out.to_str().expect("text");
    let converted =
        json(&["trace", "convert", "../netloom/starts/trace/program.ranks", out, "--format", "json"]);
    assert_eq!((&converted["file"], &converted["form"]), (&out.into(), &"goal".into()));
}
