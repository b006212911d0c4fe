//! The house rules that no compiler checks, read from the sources. ARCHITECTURE.md names each invariant's guard; that the
//! guards exist is checked here too.

use base::sorted::{SortedMap, SortedSet};
use std::{
    fs,
    path::{Path, PathBuf},
};

const ROOT: &str = "../..";

/// Files longer than this are split.
const MAX_LINES: usize = 600;

/// What each crate may use of ours.
const EDGES: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("engine", &["base"]),
    ("fabric", &["base"]),
    ("results", &["base", "otf2"]),
    ("otf2", &[]),
    ("workload", &["base", "fabric", "otf2"]),
    ("model", &["base", "fabric", "results", "workload"]),
    ("resilience", &["base"]),
    ("mpi", &["base"]),
    ("ranks", &["base", "engine", "model", "results", "workload"]),
    ("loggops", &["base", "engine", "fabric", "model", "ranks", "resilience", "results", "workload"]),
    ("flow", &["base", "engine", "fabric", "model", "ranks", "results", "workload"]),
    ("packet", &["base", "engine", "fabric", "model", "ranks", "resilience", "results", "workload"]),
    ("congestion", &["base", "fabric", "model", "results", "workload"]),
    ("portals", &["base", "model"]),
    ("report", &["base", "results"]),
    (
        "netloom",
        &[
            "base",
            "congestion",
            "engine",
            "fabric",
            "flow",
            "loggops",
            "model",
            "packet",
            "portals",
            "ranks",
            "report",
            "results",
            "workload",
        ],
    ),
    (
        "studies",
        &["base", "fabric", "loggops", "model", "netloom", "report", "resilience", "results", "workload"],
    ),
    (
        "cli",
        &[
            "base",
            "congestion",
            "fabric",
            "flow",
            "model",
            "mpi",
            "netloom",
            "otf2",
            "portals",
            "resilience",
            "results",
            "studies",
            "workload",
        ],
    ),
    ("python", &["netloom"]),
    ("inputs", &["base", "congestion", "fabric", "flow", "netloom", "otf2", "portals", "workload"]),
];

/// Words that do not say what they name. The field, or the thing itself, has better ones: path, route, report, instant.
const PUZZLING: &[&str] = &[
    "told", "tell", "ways", "vain", "moment", "aside", "lone", "live", "draft", "untold", "telling",
    "keeper", "outlook",
];

/// Folders and files whose algorithms are not obvious, and how many explaining comments each has per 1,000 lines of code at least.
/// These numbers only grow.
const EXPLAINED: &[(&str, usize)] = &[
    ("crates/engine/src", 30),
    ("crates/engine/src/state", 30),
    ("crates/engine/src/warp", 30),
    ("crates/flow/src/sharing.rs", 29),
    ("crates/flow/src/solver", 30),
    ("crates/flow/src/solver.rs", 30),
    ("crates/flow/src/solver/isolated.rs", 30),
    ("crates/flow/src/solver/read.rs", 30),
    ("crates/flow/src/solver/rows.rs", 30),
    ("crates/flow/src/solver/whole.rs", 30),
    ("crates/loggops/src/engineless", 24),
    ("crates/packet/src/hybrid", 29),
    ("crates/packet/src/net", 30),
    ("crates/packet/src/router", 30),
    ("crates/packet/src/surrogate", 30),
    ("crates/packet/src/transport", 28),
    ("crates/ranks/src/matching.rs", 30),
    ("crates/ranks/src/operations.rs", 30),
    ("crates/ranks/src/stuck.rs", 30),
];

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn architecture() -> String {
    read(&Path::new(ROOT).join("ARCHITECTURE.md"))
}

/// Every Rust file below `folder` of the repository, sorted.
fn sources(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![Path::new(ROOT).join(folder)];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() && !path.ends_with("target") {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "{folder} holds no sources");
    found
}

/// A file, or all of a folder, without its unit tests.
fn sources_of(place: &str) -> Vec<PathBuf> {
    if place.ends_with(".rs") {
        return vec![Path::new(ROOT).join(place)];
    }
    let tests = |p: &PathBuf| p.to_string_lossy().contains("/tests/") || p.ends_with("tests.rs");
    sources(place).into_iter().filter(|p| !tests(p)).collect()
}

/// A source's lines without comments; its unit tests, which stand at the end, are left out.
fn code(path: &Path) -> String {
    let text = read(path);
    let code = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or("");
    code.lines().map(|l| l.split("//").next().unwrap_or("")).collect::<Vec<_>>().join("\n")
}

/// Places below `folders` whose code contains one of `words`, upper and lower case alike if `words` are lower case.
fn places(folders: &[&str], words: &[&str], of: fn(&Path) -> String) -> Vec<String> {
    let mut found = Vec::new();
    for path in folders.iter().flat_map(|f| sources(f)) {
        for (number, line) in of(&path).lines().enumerate() {
            let lower = line.to_lowercase();
            if words.iter().any(|w| line.contains(w) || lower.contains(w)) {
                found.push(format!("{}:{}: {}", path.display(), number + 1, line.trim()));
            }
        }
    }
    found
}

#[test]
fn crates_know_only_the_rooms_below() {
    for (name, allowed) in EDGES {
        let manifest = read(&Path::new(ROOT).join("crates").join(name).join("Cargo.toml"));
        let section = manifest.split("\n[dependencies]\n").nth(1).expect("dependencies");
        let uses =
            section.lines().take_while(|l| !l.starts_with('[')).filter_map(|l| l.split([' ', '.']).next());
        let ours: Vec<&str> = uses.filter(|name| EDGES.iter().any(|e| e.0 == *name)).collect();
        assert_eq!(ours, *allowed, "dependencies of {name}");
        let listed = if allowed.is_empty() { "none".to_owned() } else { allowed.join(", ") };
        let row = format!("| `{name}` | {listed} | ");
        assert!(architecture().contains(&row), "ARCHITECTURE.md lacks the row {row}");
    }
    let here = fs::read_dir(Path::new(ROOT).join("crates")).expect("crates").count();
    assert_eq!(here, EDGES.len(), "a crate is missing in the list of edges");
}

#[test]
fn the_engine_knows_no_network_and_the_fabric_no_clock() {
    let network = ["router", "terminal", "packet", "chunk", "credit", "flit", "topology", "latency"];
    assert_eq!(places(&["crates/engine/src"], &network, code), [""; 0]);
    let clock = ["base::time", "time::", "Ps)", ": Ps", "Instant", "SystemTime", "picosecond"];
    assert_eq!(places(&["crates/fabric/src"], &clock, code), [""; 0]);
}

/// The packet model knows the trait of routers and their registry alone; section `[router]` is `pipeline.rs`, which a setup carries. Architectures are looked for
/// by their folders, so that one within a group of imports is found as well.
#[test]
fn routers_and_the_rest_keep_apart() {
    let folders: Vec<String> = fs::read_dir("../packet/src/router")
        .expect("routers are there")
        .filter_map(|entry| entry.expect("an entry").path().file_stem()?.to_str().map(str::to_owned))
        .filter(|name| {
            !["allocator", "arbiter", "clock", "mod", "registry", "ROUTER"].contains(&name.as_str())
        })
        .collect();
    assert!(folders.len() > 3, "{folders:?}");
    let mut words: Vec<String> = folders.iter().map(|name| format!("{name}::")).collect();
    words.extend(folders.iter().map(|name| format!("router::{name}")));
    words.extend(["WindowRouter", "InputQueued", "OutputQueued", "Pipelined"].map(str::to_owned));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut named = places(&["crates/packet/src"], &words, code);
    let samples = |place: &str| place.contains("/samples/") || place.contains("testing");
    // Upper and lower case are apart here: `Window::of` is no router's.
    let names_one = |line: &str| words.iter().any(|word| line.contains(word));
    named.retain(|p| !p.contains("packet/src/router/") && !samples(p) && names_one(p));
    assert_eq!(named, [""; 0]);
    assert!(names_one("        pipelined::{config::Speculation, presets},") && !names_one("Window::of(b)"));
    let edge = [
        "crate::host",
        "crate::transport",
        "crate::surrogate",
        "crate::hybrid",
        "crate::terminal",
        "ranks::",
    ];
    assert_eq!(places(&["crates/packet/src/router"], &edge, code), [""; 0]);
}

#[test]
fn the_engine_orders_by_integers_and_calls_no_trait_object_per_event() {
    // serde's interface has methods for every type, which `words.rs` names to move or refuse bits.
    let methods = |place: &str| place.contains("engine/src/words.rs") && place.contains("serialize_f64: ");
    let floats = places(&["crates/engine/src"], &["f64", "f32"], code);
    let ordering: Vec<_> = floats.iter().filter(|place| !methods(place)).collect();
    assert!(ordering.is_empty(), "{ordering:?}");
    let objects = places(&["crates/engine/src"], &["dyn "], code);
    let per_event: Vec<_> = objects.iter().filter(|l| !l.contains("dyn Journal")).collect();
    assert!(per_event.is_empty(), "{per_event:?}");
}

#[test]
fn reading_an_experiment_touches_no_machine() {
    let machine =
        ["std::fs", "std::env", "std::io", "std::net", "std::process", "std::time", "jiff", "File::"];
    assert_eq!(places(&["crates/netloom/src/experiment"], &machine, code), [""; 0]);
}

/// What the library and the studies find out, whoever called them reports: no terminal, no exit status, no command line, nothing global.
#[test]
fn the_library_knows_no_terminal_and_no_global_state() {
    let rooms = ["crates/netloom/src", "crates/studies/src", "crates/engine/src"];
    let terminal = [
        "clap",
        "indicatif",
        "std::process::exit",
        "exitcode",
        "stdout",
        "stderr",
        "set_hook",
        "signal_hook",
    ];
    let mut terminal_words = places(&rooms, &terminal, code);
    // Streams of the programs that it starts, which go to files.
    terminal_words
        .retain(|place| !place.contains("netloom/src/opensm.rs") || !place.contains(".stdin(Stdio::null())"));
    // Handlers that ran ahead may panic without a fault of theirs: nobody is to read of it.
    let quiet = "engine/src/warp/panics.rs";
    terminal_words.retain(|place| !place.contains(quiet));
    assert_eq!(terminal_words, [""; 0]);
    let global =
        places(&rooms, &["static ", "thread_local", "oncelock", "lazylock", "set_current_dir"], code);
    // Live programs are a feature of their own: it numbers the directories of this process.
    let allowed = ["&'static ", "+ 'static ", "netloom/src/programs.rs", "tatic congestion", quiet];
    let elsewhere: Vec<_> = global.iter().filter(|l| !allowed.iter().any(|a| l.contains(a))).collect();
    assert!(elsewhere.is_empty(), "{elsewhere:?}");
}

#[test]
fn the_command_line_is_small() {
    let lines: usize = sources("crates/cli/src").iter().map(|p| read(p).lines().count()).sum();
    assert!(lines <= 5000, "{lines} lines: what is no printing belongs into the library");
}

#[test]
fn nothing_hashes_in_random_order_and_libraries_do_not_print() {
    // Written in two parts so that this file is not found.
    let maps = [
        concat!("Hash", "Map<"),
        concat!("Hash", "Set<"),
        concat!("Hash", "Map::"),
        concat!("Hash", "Set::"),
    ];
    assert_eq!(places(&["crates", "fuzz/fuzz_targets"], &maps, read), [""; 0]);
    let prints = [concat!("print", "!("), concat!("print", "ln!("), concat!("dbg", "!(")];
    let printing = places(&["crates"], &prints, code);
    let elsewhere = ["/tests/", "/benches/", "/examples/", "cli/src/main.rs", "build.rs", "cli/build/"];
    let libraries: Vec<_> = printing.iter().filter(|l| !elsewhere.iter().any(|e| l.contains(e))).collect();
    assert!(libraries.is_empty(), "{libraries:?}");
}

#[test]
fn files_are_short_and_finished() {
    let long = sources("crates").into_iter().filter(|p| read(p).lines().count() > MAX_LINES);
    assert_eq!(long.collect::<Vec<_>>(), Vec::<PathBuf>::new());
    let stubs = [concat!("todo", "!("), concat!("unimplemented", "!("), concat!("#[ig", "nore")];
    assert_eq!(places(&["crates", "fuzz/fuzz_targets"], &stubs, read), [""; 0]);
}

/// Names in the code of a file: not in comments, nor in texts.
fn identifiers(text: &str) -> Vec<String> {
    let (mut code, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(['"', '/']) {
        code += &rest[..at];
        let skipped = match &rest[at..] {
            text if text.starts_with("//") => text.find('\n').unwrap_or(text.len()),
            // `r#"` ends with as many marks as it begins with.
            text if text.starts_with('"') && rest[..at].ends_with('#') => {
                let end = if rest[..at].ends_with("##") { "\"##" } else { "\"#" };
                text.find(end).map_or(text.len(), |at| at + end.len())
            }
            // A character, not the beginning of a text.
            text if text.starts_with('"') && rest[..at].ends_with('\'') => 1,
            text if text.starts_with('"') => end_of_text(text),
            _ => 1,
        };
        code.push(' ');
        rest = &rest[at + skipped..];
    }
    code += rest;
    let names = code.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| !w.is_empty());
    names.map(str::to_owned).collect()
}

/// Bytes of a text with its quotes.
fn end_of_text(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '"' if !escaped => return at + 1,
            _ => escaped = c == '\\' && !escaped,
        }
    }
    text.len()
}

/// The words of a name: `OneTwo` and `one_two` have two.
fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for c in name.chars() {
        if c == '_' || c.is_uppercase() {
            words.push(String::new());
        }
        words.last_mut().expect("there is one").extend(c.to_lowercase().filter(|c| *c != '_'));
    }
    words
}

/// What is named says what it is: no word of [`PUZZLING`], alone or as a part, be it a field, a variant or a binding.
#[test]
fn names_say_what_they_name() {
    let kinds = ["fn", "struct", "enum", "mod", "trait", "type", "const", "static", "let", "mut"];
    let mut found = Vec::new();
    for path in sources("crates") {
        let stem = path.file_stem().map(|s| s.to_string_lossy().into_owned());
        let names = identifiers(&read(&path));
        // What is defined is not called a way: the field says path.
        let defined = names.windows(2).filter(|pair| kinds.contains(&pair[0].as_str()) && pair[1] == "way");
        found.extend(defined.map(|_| format!("{}: way", path.display())));
        let names = names.into_iter().chain(stem);
        let puzzling = |name: &String| words_of(name).iter().any(|word| PUZZLING.contains(&word.as_str()));
        found.extend(names.filter(puzzling).map(|name| format!("{}: {name}", path.display())));
    }
    assert_eq!(found, [""; 0]);
    // A field, a variant and a binding are found; comments and texts are not looked at.
    let planted =
        "struct A { aside: u8 } enum B { Untold } |ways| {} // told\n let x = \"the moment \\\" vain\";";
    let planted = identifiers(planted);
    let puzzling =
        planted.iter().filter(|name| words_of(name).iter().any(|w| PUZZLING.contains(&w.as_str())));
    assert_eq!(puzzling.collect::<Vec<_>>(), ["aside", "Untold", "ways"]);
}

/// Where an algorithm is not obvious, comments say why. Documentation does not count: it says what.
#[test]
fn algorithms_are_explained_where_they_stand() {
    for (place, least) in EXPLAINED {
        let (mut lines, mut comments) = (0, 0);
        for path in sources_of(place) {
            let text = read(&path);
            let body = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or("");
            for line in body.lines().map(str::trim).filter(|l| !l.is_empty()) {
                match (line.starts_with("//"), line.starts_with("///") || line.starts_with("//!")) {
                    (true, false) => comments += 1,
                    (true, true) => {}
                    _ => lines += 1,
                }
            }
        }
        assert!(comments * 1000 >= least * lines, "{place}: {comments} comments in {lines} lines of code");
    }
}

/// Crates whose functions say what they rely on: the engine, and what the models stand on.
const ASSERTED: &[&str] =
    &["engine", "model", "ranks", "resilience", "packet", "flow", "loggops", "congestion", "portals"];

/// Functions with a body in a source's code, and assertions.
fn functions_and_assertions(code: &str) -> (usize, usize) {
    let has_body = |signature: &&str| {
        let mut depth = 0;
        let end = signature.chars().find(|c| {
            depth += i32::from(matches!(c, '(' | '[')) - i32::from(matches!(c, ')' | ']'));
            depth == 0 && matches!(c, '{' | ';')
        });
        end == Some('{')
    };
    let functions = code.split("fn ").skip(1).filter(has_body).count();
    let kinds = ["assert!(", "assert_eq!(", "assert_ne!("];
    (functions, kinds.iter().map(|kind| code.matches(kind).count()).sum())
}

#[test]
fn functions_say_what_they_rely_on() {
    assert_eq!(functions_and_assertions("fn a(x: [u8; 2]);\nfn b() { assert!(c); }\n"), (1, 1));
    for krate in ASSERTED {
        let each = sources_of(&format!("crates/{krate}/src"))
            .into_iter()
            .map(|path| functions_and_assertions(&code(&path)));
        let (functions, assertions) = each.fold((0, 0), |(f, a), (more, asserted)| (f + more, a + asserted));
        assert!(
            assertions * 5 >= functions,
            "{krate}: {assertions} assertions in {functions} functions, of which every fifth is to have one"
        );
    }
}

/// A line of documentation that only repeats the name is no help.
#[test]
fn documentation_says_more_than_the_name() {
    let mut short = Vec::new();
    for path in sources("crates") {
        let text = read(&path);
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let doc = |i: usize| lines.get(i).and_then(|l| l.strip_prefix("/// "));
        let alone = |i: usize| (i == 0 || doc(i - 1).is_none()) && doc(i + 1).is_none();
        short.extend(
            (0..lines.len())
                .filter(|&i| alone(i) && doc(i).is_some_and(|d| d.split_whitespace().count() <= 2))
                .map(|i| format!("{}:{}: {}", path.display(), i + 1, lines[i])),
        );
    }
    assert!(short.is_empty(), "two words or fewer:\n{}", short.join("\n"));
}

#[test]
fn unsafe_code_is_where_the_architecture_says() {
    let word = [concat!("uns", "afe {"), concat!("uns", "afe fn"), concat!("uns", "afe impl")];
    let hits = places(&["crates", "fuzz/fuzz_targets"], &word, read);
    let found: SortedSet<&str> =
        hits.iter().map(|h| h.split(':').next().unwrap_or("").trim_start_matches("../../")).collect();
    let text = architecture();
    let section =
        text.split("\n## ").find(|s| s.starts_with("Unsafe code")).expect("a section on unsafe code");
    let listed: SortedSet<&str> =
        section.lines().filter_map(|l| l.strip_prefix("- `")?.split('`').next()).collect();
    assert_eq!(found, listed);
}

/// A room has a paragraph, of 80 words at most.
#[test]
fn rooms_have_a_short_paragraph() {
    let text = architecture();
    let rooms = text.split("\n## ").find(|s| s.starts_with("Rooms")).expect("a section on rooms");
    let paragraphs: Vec<&str> = rooms.split("\n\n").filter(|p| p.trim_start().starts_with("**")).collect();
    assert!(paragraphs.len() > 15, "{} paragraphs", paragraphs.len());
    let long: Vec<String> = paragraphs
        .iter()
        .map(|p| (p.split_whitespace().count(), p))
        .filter(|(words, _)| *words > 80)
        .map(|(words, p)| format!("{words} words: {}", p.lines().next().unwrap_or_default()))
        .collect();
    assert!(long.is_empty(), "{}", long.join("\n"));
}

/// `path/file.rs::test` anywhere in ARCHITECTURE.md is a test in that file.
#[test]
fn the_guards_that_the_architecture_names_exist() {
    let text = architecture();
    let mut cited = SortedMap::<&str, Vec<&str>>::new();
    for word in text.split('`') {
        if let Some((file, test)) = word.split_once(".rs::") {
            cited.entry(file).or_default().push(test);
        }
    }
    assert!(cited.values().map(Vec::len).sum::<usize>() > 20, "{cited:?}");
    for (file, tests) in cited {
        let source = read(&Path::new(ROOT).join(format!("{file}.rs")));
        for test in tests {
            assert!(source.contains(&format!("fn {test}(")), "{file}.rs has no test `{test}`");
        }
    }
}

/// The invariants' table has a row for each of the nine, with a guard.
#[test]
fn every_invariant_has_a_guard() {
    let text = architecture();
    let rows: Vec<&str> = text
        .lines()
        .filter(|l| l.strip_prefix("| ").is_some_and(|r| r.starts_with(|c: char| c.is_ascii_digit())))
        .collect();
    assert_eq!(rows.len(), 9);
    assert!(rows.iter().all(|r| r.contains(".rs::")), "{rows:?}");
}

/// Relative links of the documents lead somewhere.
#[test]
fn links_between_documents_lead_somewhere() {
    for document in ["README.md", "ARCHITECTURE.md", "BENCHMARKS.md", "CHANGELOG.md"] {
        let text = read(&Path::new(ROOT).join(document));
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = target.split('#').next().unwrap_or("");
            let outside = target.starts_with("http") || file.is_empty();
            assert!(outside || Path::new(ROOT).join(file).exists(), "{document} links to {target}");
        }
    }
}

/// Where tests are modules of one program, no file of them is forgotten: cargo would not find it by itself.
#[test]
fn no_file_of_tests_is_left_out() {
    let mut seen = 0;
    for folder in fs::read_dir(Path::new(ROOT).join("crates")).expect("crates") {
        let folder = folder.expect("an entry").path();
        let manifest = read(&folder.join("Cargo.toml"));
        if !manifest.contains("autotests = false") {
            continue;
        }
        let main = read(&folder.join("tests/main.rs"));
        for entry in fs::read_dir(folder.join("tests")).expect("tests") {
            let path = entry.expect("an entry").path();
            let Some(name) = path.to_str().and_then(|p| p.rsplit('/').next()?.strip_suffix(".rs")) else {
                continue;
            };
            let module = main.lines().any(|line| line == format!("mod {name};"));
            let own = manifest.contains(&format!("[[test]]\nname = \"{name}\"\n"));
            assert!(name == "main" || module || own, "no program has {}", path.display());
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen} files");
}

/// A crate that says it has no examples in its documentation has none, else they would not be run.
#[test]
fn no_example_of_the_documentation_is_left_out() {
    for folder in fs::read_dir(Path::new(ROOT).join("crates")).expect("crates") {
        let folder = folder.expect("an entry").path();
        if !read(&folder.join("Cargo.toml")).contains("doctest = false") {
            continue;
        }
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        for path in sources(&format!("crates/{name}/src")) {
            let text = read(&path);
            let fences = text.lines().filter_map(|line| {
                line.trim_start()
                    .strip_prefix("///")
                    .or(line.trim_start().strip_prefix("//!"))?
                    .trim()
                    .strip_prefix("```")
            });
            // Every other one opens.
            for kind in fences.step_by(2) {
                assert!(["text", "json", "toml"].contains(&kind), "{}: ```{kind}", path.display());
            }
        }
    }
}
