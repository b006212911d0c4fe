//! No silent key: whoever changes a key of a file sees another result, a note, or a refusal. Each key of the shipped examples, those left to their
//! defaults included, is changed; what then stays the same must stand in [`ALIKE`] with its reason.
//!
//! A fifteenth of the keys is tried each time; all of them with `NETLOOM_ALL_KEYS=1`, which takes long: some changed keys make long runs.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use base::{
    diag::Diagnostics,
    param::{Kind, Value},
    units::{print_bandwidth, print_bytes, print_time},
};
use model::section::Section;
use netloom::{Error, Experiment, Registry, RunOptions, Watcher, book, experiment};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Mutex,
};
use workload::registry::Takes;

/// Keys that are read though a change of theirs may not show, by file (or `*`) and path (`#` is any job or link class), and why.
const ALIKE: &[(&str, &str, &str)] = &[
    ("*", "experiment.name", "a name"),
    ("*", "job.#.name", "a name"),
    ("*", "experiment.limit", "a bound that the run does not reach"),
    ("*", "experiment.seed", "nothing is drawn where everything follows from rules"),
    (
        "*",
        "fabric.link.#.vc_buffer",
        "a buffer that does not fill in a short run, or none: files change their model by one word",
    ),
    ("*", "fabric.link.#.credit_delay", "credits that nobody waits for in a short run, or none"),
    ("*", "routing.max_vcs", "a bound that the routing does not reach"),
    ("*", "model.max_flows", "a bound that the run does not reach"),
    ("*", "routing.select", "there is one shortest path between two routers"),
    ("*", "model.route_per", "there is one path, or a packet is one chunk"),
    ("*", "job.#.library", "the program calls no collective, or its algorithms are chosen by name"),
    ("*", "job.#.combine", "the program reduces nothing"),
    ("*", "job.#.unit", "the program says no numbers without units"),
    ("*", "job.#.effort", "the placement found its best at once"),
    ("*", "job.#.fill_router", "ranks fill all routers"),
    ("*", "model.ties", "no two messages come at the same time"),
    ("*", "routing.global_k_picks", "one global link leads to each group"),
    ("*", "routing.intermediate", "no packet takes a detour in a short run"),
    ("*", "routing.threshold", "no packet takes a detour in a short run"),
    ("*", "routing.candidates", "no packet takes a detour in a short run"),
    ("*", "faults.router_fraction", "shares are rounded to whole routers"),
    ("*", "faults.link_fraction", "shares are rounded to whole cables"),
    ("*", "energy.link_bit", "every class of links has its own"),
    ("*", "job.#.slot", "the other slot is the message itself"),
    ("*", "model.packet", "no message is larger than a packet"),
    ("resilient.toml", "fabric.dims", "a torus of another size has the same distance between the two ranks"),
    ("resilient.toml", "fabric.link.#.#", "resilient protocols have times of links of their own"),
    ("resilient-allreduce.toml", "fabric.link.#.#", "resilient protocols have times of links of their own"),
    ("resilient-allreduce.toml", "job.0.compute", "the program computes nothing"),
    ("resilient-allreduce.toml", "model.window", "messages have one packet"),
    ("resilient-allreduce.toml", "model.occupancy", "messages have one packet"),
    ("resilient-allreduce.toml", "model.timeout", "messages have one packet"),
    ("faults.toml", "model.vcs", "both routings and the detour need fewer"),
    ("rails.toml", "routing.deadlock", "layers and hops need as many channels here"),
    (
        "faults.toml",
        "routing.deadlock",
        "layers need more channels than there are, so `auto` counts hops too",
    ),
    ("service-classes.toml", "routing.deadlock", "layers and hops need as many channels here"),
    ("*", "routing.weights", "all shortest paths stay the shortest"),
    ("lossy-links.toml", "resilience.bit_errors", "no bit fails in a short run"),
    ("lossy-links.toml", "resilience.ack_delay", "no acknowledgement waits that long in a short run"),
    ("lossy-links.toml", "resilience.messages", "a bound that the run does not reach"),
    ("congestion-control.toml", "congestion_control.packet_size", "all packets are larger"),
    ("congestion-control.toml", "congestion_control.messages", "every terminal sends to one other"),
    (
        "datacentre.toml",
        "congestion_control.increase_bytes",
        "timers raise rates before so many bytes are sent",
    ),
    ("flow-platform.toml", "fabric.simgrid_dragonfly", "the platform has no dragonfly"),
    ("nodes.toml", "node.kernel", "no operation is longer than a time slice"),
];

/// Collects the notes of a run.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Watcher for Notes {
    fn remark(&self, text: &str) {
        self.0.lock().unwrap().push(text.to_owned());
    }
}

/// What a user sees of a run.
#[derive(PartialEq)]
enum Seen {
    Refused,
    Result { numbers: serde_json::Value, notes: Vec<String> },
}

fn run(file: &Path, text: &str, sets: &[String]) -> Seen {
    let notes = Notes::default();
    let input = netloom::Input { file: file.to_owned(), set: sets.to_vec() };
    let options = RunOptions::default();
    let prepared =
        netloom::prepare::prepare_text(&Registry::standard(), &input, text.to_owned(), &options, &notes);
    let finished = prepared.and_then(|p| netloom::execute::execute(&p, &notes));
    let summary = match finished {
        Ok(finished) => finished.summary,
        Err(Error::Experiment(_)) => return Seen::Refused,
        Err(e) => return Seen::Result { numbers: e.to_string().into(), notes: Vec::new() },
    };
    let mut numbers = serde_json::to_value(&summary).unwrap();
    let all = numbers.as_object_mut().unwrap();
    all.retain(|key, _| key != "experiment" && key != "performance");
    if let Some(phases) = numbers.pointer_mut("/hybrid/phases").and_then(|p| p.as_array_mut()) {
        for phase in phases {
            phase.as_object_mut().unwrap().retain(|key, _| !key.ends_with("_s"));
        }
    }
    Seen::Result { numbers, notes: notes.0.into_inner().unwrap() }
}

/// Other values of a key, as they are written in a file.
fn others(kind: Kind, value: &Value) -> Vec<String> {
    let quoted = |texts: Vec<String>| texts.into_iter().map(|t| format!("\"{t}\"")).collect();
    match (kind, value) {
        (Kind::Int { min, max }, Value::Int(n)) => {
            let near = [n.saturating_mul(2).saturating_add(1), n.saturating_sub(1), n.saturating_add(1)];
            near.into_iter().filter(|m| m != n && (min..=max).contains(m)).map(|m| m.to_string()).collect()
        }
        (Kind::Real { min, max }, Value::Real(x)) => {
            let near = [x * 0.5, x + 0.01, x + 0.25, x * 0.9];
            near.into_iter()
                .filter(|y| (y - x).abs() > 0.0 && (min..=max).contains(y))
                .map(|y| format!("{y:?}"))
                .collect()
        }
        (Kind::Time, Value::Time(t)) => {
            quoted([t * 2, t / 2, 1_000_000].iter().filter(|o| *o != t).map(|&o| print_time(o)).collect())
        }
        (Kind::Bytes, Value::Int(n)) => {
            quoted([n * 2, n / 2, 64].iter().filter(|o| *o != n).map(|&o| print_bytes(o)).collect())
        }
        (Kind::Bandwidth, Value::Bandwidth(b)) => {
            let now = print_bandwidth(*b);
            quoted(["1 GB/s", "3 GB/s"].iter().filter(|o| **o != now).map(|o| (*o).to_owned()).collect())
        }
        (Kind::Bool, Value::Bool(b)) => vec![(!b).to_string()],
        (Kind::Choice(words), Value::Text(now)) => {
            quoted(words.iter().filter(|w| *w != now).map(|w| (*w).to_owned()).collect())
        }
        (Kind::Ints { min, max }, Value::Ints(all)) if !all.is_empty() => {
            let more: Vec<u64> = all.iter().map(|n| (n + 1).clamp(min, max)).collect();
            let back: Vec<u64> = all.iter().rev().copied().collect();
            vec![format!("{more:?}"), format!("{back:?}")]
        }
        // Texts and names of files: what another one would be, nobody can say.
        _ => Vec::new(),
    }
}

/// True if a note names a key: an example may have it, and its note, from the start.
fn names(seen: &Seen, path: &str) -> bool {
    let key = path.rsplit('.').next().unwrap();
    let Seen::Result { notes, .. } = seen else { return false };
    notes.iter().any(|note| note.contains("no effect") && note.contains(&format!("`{key}`")))
}

/// Every key with its place in the file and other values.
fn keys(file: &Path, text: &str, sets: &[String]) -> Vec<(String, Vec<String>)> {
    let mut diagnostics = Diagnostics::default();
    let name = file.display().to_string();
    let e = experiment::read(&Registry::standard(), &name, text, sets, &mut diagnostics).unwrap();
    assert!(diagnostics.is_empty(), "{name}: {diagnostics:?}");
    let mut all = Vec::new();
    let mut add = |at: String, section: &Section| {
        for param in section.params.iter() {
            if let Some(value) = section.get(param.name) {
                all.push((format!("{at}.{}", param.name), others(param.kind, value)));
            }
        }
    };
    add("experiment".to_owned(), &e.experiment);
    e.fabric.iter().for_each(|f| add("fabric".to_owned(), &f.section));
    e.links.iter().for_each(|(class, section)| add(format!("fabric.link.{class}"), section));
    e.faults.iter().for_each(|section| add("faults".to_owned(), section));
    e.routing.iter().for_each(|r| add("routing".to_owned(), &r.section));
    (0..).zip(&e.jobs).for_each(|(n, job)| add(format!("job.{n}"), &job.section));
    e.model.iter().for_each(|m| add("model".to_owned(), &m.section));
    e.own.iter().for_each(|own| add(own.entry.about.name.to_owned(), &own.section));
    all
}

/// True if a key is excused.
fn is_alike(file: &str, path: &str) -> bool {
    ALIKE.iter().any(|(of, pattern, _)| {
        let parts = pattern.split('.').count() == path.split('.').count();
        let same = pattern.split('.').zip(path.split('.')).all(|(a, b)| a == "#" || a == b);
        (*of == "*" || *of == file) && parts && same
    })
}

/// An example in a short form; none for those that take long or are series.
fn short(file: &str, text: &str) -> Option<Vec<String>> {
    let set = |pairs: &[(&str, &str)]| Some(pairs.iter().map(|(k, v)| format!("{k}={v}")).collect());
    match file {
        "gups-65536.toml"
        | "machine-524288.toml"
        | "dragonfly-8448.toml"
        | "dragonfly-1056.toml"
        | "hybrid-auto.toml" => None,
        "hybrid-72.toml" => set(&[
            ("experiment.duration", "60 us"),
            ("hybrid.switch", "[\"20 us\", \"40 us\"]"),
            ("hybrid.window", "10 us"),
        ]),
        // Rates move when notifications are there, and timers end.
        "congestion-control.toml" | "datacentre.toml" => {
            set(&[("experiment.duration", "300 us"), ("experiment.warmup", "0 s")])
        }
        "zero-load.toml" => set(&[("experiment.duration", "100 us")]),
        _ if text.contains("[[sweep") || text.contains("[sweep") => None,
        // What a change keeps from its end is cut soon.
        _ if text.lines().any(|l| l.starts_with("until")) && text.contains("kind = \"packet\"") => {
            set(&[("experiment.limit", "2 ms")])
        }
        _ if text.lines().any(|l| l.starts_with("until")) => set(&[]),
        _ => set(&[("experiment.duration", "2 us"), ("experiment.warmup", "0 s")]),
    }
}

/// Keys of an example that can be changed without a word.
fn silent(path: &Path, share: usize) -> Vec<String> {
    let file = path.file_name().unwrap().to_string_lossy().into_owned();
    let text = fs::read_to_string(path).unwrap();
    let Some(sets) = short(&file, &text) else { return Vec::new() };
    let before = run(path, &text, &sets);
    assert!(before != Seen::Refused, "{file} is refused in its short form");
    let mut silent = Vec::new();
    let tried = keys(path, &text, &sets)
        .into_iter()
        .enumerate()
        .filter(|(n, _)| (n + file.len()).is_multiple_of(share));
    for (_, (key, others)) in tried.filter(|(_, (key, _))| !is_alike(&file, key)) {
        let seen = others.iter().map(|other| {
            let with: Vec<String> = sets.iter().cloned().chain([format!("{key}={other}")]).collect();
            run(path, &text, &with)
        });
        let (mut noticed, mut same) = (others.is_empty(), 0);
        for seen in seen {
            match seen {
                Seen::Refused => {}
                seen if seen == before && !names(&seen, &key) => same += 1,
                _ => noticed = true,
            }
            if noticed {
                break;
            }
        }
        if !noticed && same > 0 {
            silent.push(format!("{file}: {key} -> {}", others.join(", ")));
        }
    }
    silent
}

#[test]
fn no_key_is_silent() {
    let share = if std::env::var_os("NETLOOM_ALL_KEYS").is_some() { 1 } else { 15 };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "toml"));
    files.sort();
    assert!(files.len() > 20, "{files:?}");
    let next = Mutex::new(files.iter());
    let found = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(file) = next.lock().unwrap().next() else { return };
                    let silent = silent(file, share);
                    found.lock().unwrap().extend(silent);
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap();
    found.sort();
    assert!(found.is_empty(), "keys that change without a word:\n{}", found.join("\n"));
}

/// Four terminals at a switch.
const SMALL: &str = r#"
experiment = { duration = "5 us" }
routing = { algorithm = "minimal" }
job = [{ workload = "uniform", message = "512 B", load = 0.3 }]
model = { kind = "packet", router = "window", packet = "512 B", chunk = "64 B" }
[fabric]
topology = "single-switch"
terminals = 4
link.terminal = { bandwidth = "12.5 GB/s", latency = "10 ns", credit_delay = "10 ns", vc_buffer = "8 KiB" }
"#;

/// Notes of its run with these settings.
fn notes_of(set: &[&str]) -> Vec<String> {
    let set: Vec<String> = set.iter().map(|&s| s.to_owned()).collect();
    match run(Path::new("x.toml"), SMALL, &set) {
        Seen::Result { notes, .. } => notes,
        Seen::Refused => panic!("{set:?} is refused"),
    }
}

/// On a router that has no use for `arbiter`, a change of it is known only from the note: without that, the results are the same.
#[test]
fn a_key_without_effect_is_known_only_from_its_note() {
    let of = |set: &str| match run(Path::new("x.toml"), SMALL, &[set.to_owned()]) {
        Seen::Result { numbers, notes } => (numbers, notes),
        Seen::Refused => panic!("{set} is refused"),
    };
    let (before, after) = (of("model.vcs=4"), of("model.arbiter=fixed"));
    assert_eq!(before.0, after.0);
    assert!(after.1.iter().any(|n| n.contains("`arbiter` of [model] has no effect")), "{:?}", after.1);
    // A rate of the adapter that its link does not reach, and the next smaller one, which is read.
    for (set, noted) in [("12.5 GB/s", true), ("12.4 GB/s", false)] {
        let rated = of(&format!("adapter.injection_rate=\"{set}\"")).1;
        assert_eq!(rated.iter().any(|n| n.contains("`injection_rate`")), noted, "{set}: {rated:?}");
    }
    // Keys of another treatment, and of links that never sleep.
    let hybrid = [
        "model.kind=hybrid",
        "hybrid.director=times",
        "hybrid.switch=[\"1 us\", \"3 us\"]",
        "hybrid.window=500 ns",
    ];
    let reheats = [&hybrid[..], &["hybrid.reheat=500 ns"]].concat();
    let in_phase = [&hybrid[..], &["hybrid.in_phase=false", "hybrid.treatment=lite"]].concat();
    for (set, key, noted) in [
        (&reheats[..], "`reheat` of [hybrid]", true),
        (&[&reheats[..], &["hybrid.treatment=reheat"]].concat(), "`reheat` of [hybrid]", false),
        (&in_phase, "`in_phase` of [hybrid]", true),
        (&in_phase[..5], "`in_phase` of [hybrid]", false),
        (&["energy.sleep_share=0.9"], "`sleep_share` of [energy]", true),
        (&["energy.sleep_share=0.9", "energy.sleep_after=1 us"], "`sleep_share` of [energy]", false),
    ] {
        let notes = notes_of(set);
        assert_eq!(notes.iter().any(|n| n.contains(key)), noted, "{set:?}: {notes:?}");
    }
    let finished = Experiment::from_text(SMALL).run().unwrap();
    assert!(finished.summary.bytes_delivered > 0);
}

/// Two ranks on each of four terminals, as a program.
const PROGRAM: &[&str] = &[
    "experiment.duration=",
    "experiment.until=workload-done",
    "job.0.workload=stencil",
    "job.0.load=",
    "job.0.message=",
    "job.0.dims=[4, 2]",
    "job.0.ranks_per_terminal=2",
    "job.0.face_bytes=2 KiB",
    "job.0.iterations=2",
];

/// Keys that a program has no use for, each beside the same key where it has one.
#[test]
fn keys_that_a_program_does_not_need_are_noted() {
    const COMPUTES: &str = "job.0.compute_time=1 us";
    const QUEUED: &str = "model.router=output-queued";
    for (set, key, noted) in [
        (&["job.0.compute=0.5", "job.0.compute_time=0 s"][..], "`compute` of [[job]]", true),
        (&["job.0.compute=0.5", COMPUTES], "`compute` of [[job]]", false),
        (&["job.0.noise=0.5", "job.0.compute_time=0 s"], "`noise` of [[job]]", true),
        (&["job.0.noise=0.5", COMPUTES], "`noise` of [[job]]", false),
        (&["model.control=64 B"], "`control` of [model]", true),
        (&["model.control=64 B", "model.eager=2 KiB"], "`control` of [model]", true),
        (&["model.control=64 B", "model.eager=2047 B"], "`control` of [model]", false),
        (
            &["node.memory_latency=1 us", "job.0.dims=[1, 8]", "job.0.ranks_per_terminal="],
            "`memory_latency`",
            true,
        ),
        (&["node.memory_latency=1 us"], "`memory_latency`", false),
        (&["job.0.corner_bytes=1 KiB"], "`corner_bytes` of [[job]]", true),
        (&["job.0.corner_bytes=1 KiB", "job.0.neighbours=all"], "`corner_bytes` of [[job]]", false),
        (&[QUEUED, "router.switch_allocator=wavefront"], "`switch_allocator` of [router]", true),
        (
            &["model.router=combined", "router.switch_allocator=wavefront"],
            "`switch_allocator` of [router]",
            false,
        ),
        (
            &[QUEUED, "router.switch_allocator=wavefront", "model.route_per=chunk"],
            "`route_per` of [model]",
            true,
        ),
        (&[QUEUED, "model.route_per=chunk"], "`route_per` of [model]", false),
    ] {
        // Eight ranks of one a terminal need eight terminals.
        let all = [PROGRAM, &["fabric.terminals=8"], set].concat();
        let notes = notes_of(&all);
        assert_eq!(notes.iter().any(|n| n.contains(key)), noted, "{set:?}: {notes:?}");
    }
}

/// A list of messages of which one would be created when the run is over, and one has a rate that models of packets know nothing of.
#[test]
fn lists_that_are_not_heeded_whole_are_noted() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("list");
    std::fs::write(&list, "0s 0 3 1kB\n1us 1 2 1kB 5MB/s\n6us 2 0 1kB\n").unwrap();
    let file = format!("job.0.file={}", list.display());
    let pairs = ["job.0.workload=pairs", &file, "job.0.load=", "job.0.message="];
    let (late, rated) =
        ("1 of its messages would be created after 5.000 us", "1 of its messages have a rate");
    let packet_keys = ["model.packet=", "model.chunk=", "model.router="];
    for (set, is_late, is_rated) in [
        (&[][..], true, true),
        (&[&packet_keys[..], &["model.kind=flow"]].concat(), true, false),
        (&["experiment.duration=7 us"], false, true),
        (&["experiment.duration=7 us", "job.0.start=2 us"], true, true),
    ] {
        let notes = notes_of(&[&pairs[..], set].concat()).join("\n").replace("7.000 us", "5.000 us");
        assert_eq!((notes.contains(late), notes.contains(rated)), (is_late, is_rated), "{set:?}: {notes}");
    }
}

/// The smallest experiment of every workload that is a program, from the reference, on each model that knows `eager`: below all messages it changes the result, above
/// all of them a note says that it has no effect. Elsewhere than in `[model]` it is refused, and twice too.
#[test]
fn the_threshold_of_every_program_is_seen_on_every_model() {
    let registry = Registry::standard();
    let shelves = netloom::catalog::shelves(&registry);
    let shelf = shelves.iter().find(|shelf| shelf.plural == "workloads").unwrap();
    let models: [(&str, &[&str]); 6] = [
        ("packet", &[]),
        ("flow", &[]),
        ("flow", &["model.preset=\"smpi\""]),
        ("delay", &["model.cost=\"loggops\""]),
        ("delay", &["model.cost=\"loggops\"", "model.latency=\"1 us\""]),
        (
            "hybrid",
            &["hybrid.director=\"times\"", "hybrid.switch=[\"5 us\", \"20 us\"]", "hybrid.window=\"2 us\""],
        ),
    ];
    let folder = tempfile::tempdir().unwrap();
    let (mut tried, mut silent) = (0, Vec::new());
    for (index, about) in shelf.entries.iter().enumerate() {
        let entry = registry.workloads.iter().find(|entry| entry.about.name == about.name).unwrap();
        if entry.takes != Takes::Program {
            continue;
        }
        let example = book::examples::example(&registry, shelf, index).unwrap();
        for (name, text) in &example.files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let file = folder.path().join("example.toml");
        for (model, more) in models {
            let of = |eager: &str| {
                let own = [format!("model.kind=\"{model}\""), format!("model.eager=\"{eager}\"")];
                let sets: Vec<String> =
                    own.into_iter().chain(more.iter().map(|&set| set.to_owned())).collect();
                run(&file, &example.text, &sets)
            };
            let (all, none) = (of("0 B"), of("1 GiB"));
            let own = [format!("model.kind=\"{model}\"")];
            let sets: Vec<String> = own.into_iter().chain(more.iter().map(|&set| set.to_owned())).collect();
            let without = run(&file, &example.text, &sets);
            assert!(all != Seen::Refused && none != Seen::Refused, "{} on {model} {more:?}", about.name);
            tried += 1;
            let numbers = |seen: &Seen| match seen {
                Seen::Result { numbers, .. } => numbers.clone(),
                Seen::Refused => unreachable!("looked at before"),
            };
            let noted = [&all, &none].map(|seen| names(seen, "model.eager"));
            // It has an effect if the same file without it has other results.
            let idle = numbers(&without) == numbers(&none);
            if numbers(&all) == numbers(&none) || noted != [false, idle] {
                silent.push(format!("{} on {model} {more:?}: {noted:?}", about.name));
            }
        }
        for place in ["job.0", "adapter", "node", "fabric", "routing", "experiment", "output"] {
            let set = format!("{place}.eager=\"1 KiB\"");
            assert!(run(&file, &example.text, &[set]) == Seen::Refused, "{place} has no threshold");
        }
        let twice = example.text.replace("[model]\n", "[model]\neager = \"1 KiB\"\neager = \"2 KiB\"\n");
        assert!(twice != example.text && run(&file, &twice, &[]) == Seen::Refused, "{twice}");
    }
    assert!(tried >= 6 * 13, "{tried}");
    assert!(silent.is_empty(), "thresholds that change without a word:\n{}", silent.join("\n"));
}

/// A key of `[output]` changes the tables, or a note says why it does not: on every model.
#[test]
fn no_key_of_output_is_silent() {
    let short = ["experiment.duration=\"5 us\"", "experiment.warmup=\"0 s\""];
    let hybrid =
        ["experiment.duration=\"60 us\"", "hybrid.switch=[\"20 us\", \"40 us\"]", "hybrid.window=\"10 us\""];
    // With a window that a run has many of, and not a million.
    let cases: [(&str, &str, &[&str]); 7] = [
        ("dragonfly-72", "1 us", &short),
        ("hybrid-72", "1 us", &hybrid),
        ("halo-64", "1 us", &[]),
        ("sweep3d-loggops", "1 us", &[]),
        ("flow-fat-tree", "1 us", &[]),
        ("flow-platform", "1 ms", &[]),
        ("congestion-16", "1 us", &["job.0.runs=3"]),
    ];
    let switches = ["per_port", "packets", "messages", "slow_down", "pairs", "operations", "engine"];
    let known: Vec<&str> = experiment::keys::OUTPUT.params.iter().map(|p| p.name).collect();
    let tried: Vec<&str> = ["window"].iter().chain(&switches).chain(&["report", "csv"]).copied().collect();
    assert_eq!(known, tried, "a new key belongs here");
    for (name, window, sets) in cases {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../examples/{name}.toml"));
        let text = fs::read_to_string(&file).unwrap();
        // With a series, which `per_port` adds to.
        let of = |window: &str, on: Option<&str>| {
            let notes = Notes::default();
            let mut set: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
            set.push(format!("output.window=\"{window}\""));
            set.extend(switches.iter().map(|key| format!("output.{key}={}", on == Some(key))));
            let input = netloom::Input { file: file.clone(), set };
            let registry = Registry::standard();
            let options = RunOptions::default();
            let prepared =
                netloom::prepare::prepare_text(&registry, &input, text.clone(), &options, &notes).unwrap();
            let tables = netloom::execute::execute(&prepared, &notes).unwrap().tables;
            (tables, notes.0.into_inner().unwrap().join("\n"))
        };
        let (plain, notes) = of(window, None);
        let named =
            |key: &str| notes.lines().any(|l| l.contains(&format!("`{key}`")) && l.contains("no effect"));
        for key in switches {
            assert_ne!(of(window, Some(key)).0 != plain, named(key), "{name}: output.{key}: {notes}");
        }
        assert_ne!(of("0 s", None).0 != plain, named("window"), "{name}: output.window: {notes}");
    }
}

/// A file of a program has no use for some keys of its job, by its format.
#[test]
fn keys_that_a_format_of_traces_has_no_use_for_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let goal =
        "num_ranks 2\nrank 0 {\na: calc 500\nb: send 8b to 1\nb requires a\n}\nrank 1 {\nrecv 8b from 0\n}\n";
    let calls = "ranks 2\nrank 0 {\ncompute 5 us\nallreduce 1 MB\n}\nrank 1 {\nallreduce 1 MB\n}\n";
    let counted = "0 init\n1 init\n0 compute 50000\n0 allReduce 100000 5000\n1 allReduce 100000 5000\n";
    let formats = [
        ("x.goal", goal, &["job.0.unit=\"2 ns\""][..]),
        ("x.ranks", calls, &["job.0.library=simple", "job.0.combine=\"1 ns\""]),
        ("x.ti", counted, &["job.0.speed=5e8", "job.0.library=simple", "job.0.combine=\"1 ns\""]),
    ];
    let keys = ["job.0.unit=\"2 ns\"", "job.0.speed=5e8", "job.0.library=simple", "job.0.combine=\"1 ns\""];
    for (name, content, read) in formats {
        let file = folder.path().join(name);
        fs::write(&file, content).unwrap();
        let text = format!(
            "experiment = {{ until = \"workload-done\" }}\njob = [{{ workload = \"trace\", file = {file:?} }}]\n[model]\nkind = \"delay\"\ncost = \"loggops\"\n"
        );
        let of = |set: &[String]| match run(Path::new("x.toml"), &text, set) {
            Seen::Result { numbers, notes } => (numbers, notes),
            Seen::Refused => panic!("{name}: {set:?} is refused"),
        };
        let before = of(&[]).0;
        for set in keys {
            let (after, notes) = of(&[set.to_owned()]);
            let key = &set["job.0.".len()..set.find('=').unwrap()];
            let noted = notes.iter().any(|n| n.contains(&format!("`{key}`")) && n.contains("no effect"));
            if read.contains(&set) {
                assert!(after != before && !noted, "{name}: {set} is read");
            } else {
                assert!(noted && after == before, "{name}: {set}: {notes:?}");
            }
        }
    }
}
