//! Inputs from strangers: names that act on terminals, tens of thousands of mistakes, files that have no end.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use crate::common::netloom;
use std::fs;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/dragonfly-72.toml");

/// Names from strangers act on no terminal: neither in text nor in JSON, results, reports of mistakes and notes alike.
#[test]
fn hostile_names_are_shown_and_do_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hostile.toml");
    let text = fs::read_to_string(EXAMPLE).unwrap();
    let name = r#"name = "\u001B[2J\u009B1mjob\u202E\nforged: line\u0007""#;
    fs::write(&file, text.replace("[[job]]", &format!("[[job]]\n{name}"))).unwrap();
    let file = file.to_str().unwrap();
    let short = ["--set", "experiment.duration=1 us"];
    for command in [
        &["run", file][..],
        &["run", file, "--format", "json"],
        &["check", file],
        &["check", file, "--format", "json"],
        &["run", file, "--set", "job.0.workload=\u{1b}]0;title\u{7}"],
        &["run", "\u{9b}2J.toml"],
    ] {
        let run =
            netloom(&[command, if command.len() > 1 && command[1] == file { &short } else { &[] }].concat());
        for shown in [&run.out, &run.err] {
            let acts = |c: char| c != '\n' && c != '\t' && base::visible::acts(c);
            assert!(!shown.contains(acts), "{command:?}: {shown:?}");
            assert!(!shown.lines().any(|line| line.starts_with("forged")), "{command:?}: {shown}");
        }
        if command.contains(&"json") {
            let parsed: serde_json::Value = serde_json::from_str(&run.out).expect("still JSON");
            assert!(parsed.to_string().contains("forged"));
        }
    }
}

/// A cluster of three hosts and a switch, each with this in its name.
fn cluster(name: &str) -> String {
    let guid = |n: usize| format!("{n:016x}");
    let mut text = format!(
        "switchguid=0x{0}({0})\nSwitch\t4 \"S-{0}\"\t\t# \"switch {name}\" enhanced port 0 lid 1 lmc 0\n",
        guid(1)
    );
    for n in 1..4 {
        text +=
            &format!("[{n}]\t\"H-{0}\"[1]({0})\t\t# \"node{n} {name}\" lid {1} 4xEDR\n", guid(16 + n), n + 1);
    }
    for n in 1..4 {
        text += &format!("\ncaguid=0x{0}\nCa\t1 \"H-{0}\"\t\t# \"node{n} {name}\"\n", guid(16 + n));
        text += &format!(
            "[1]({})\t\"S-{}\"[{n}]\t\t# lid {} lmc 0 \"switch {name}\" lid 1 4xEDR\n",
            guid(16 + n),
            guid(1),
            n + 1
        );
    }
    text
}

/// A name that would act on whatever shows it: titles, colours that conceal, cleared screens, scripts, forged lines, ends of texts in other forms.
const HOSTILE: &str = "\u{1b}]0;title\u{7}\u{1b}[8m</script><script>alert(1)</script>\u{202e}\u{9b}2J\nforged: line\u{2028}\u{ad}\u{e0041}\" ]; evil [x=1]; // %s";

/// As a text of TOML.
fn toml(name: &str) -> String {
    name.chars()
        .map(|c| {
            if c == '"' || base::visible::acts(c) {
                format!("\\U{:08x}", u32::from(c))
            } else {
                c.to_string()
            }
        })
        .collect()
}

/// Files of an experiment whose every name is hostile: cluster, job, marks of its program, axis of a sweep, labels of a figure.
fn hostile_files(folder: &std::path::Path) {
    let put = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    // Where the form ends a name, a name cannot hold its end.
    let line = HOSTILE.replace(['\n', '\u{2028}'], " ").replace('"', "'");
    put("net.txt", &cluster(&line));
    put(
        "marks.ranks",
        &format!(
            "ranks 3\nall {{\n mark \"{line}\"\n enter \"{line}\"\n compute 1 us\n send 8 B to (rank + 1) % 3\n recv 8 B from (rank + 2) % 3\n leave\n}}\n"
        ),
    );
    let link =
        r#"{ bandwidth = "10 GB/s", latency = "100 ns", credit_delay = "100 ns", vc_buffer = "32 KiB" }"#;
    let name = toml(HOSTILE);
    let job = "workload = \"trace\"\nfile = \"marks.ranks\"";
    let text = format!(
        "[experiment]\nname = \"{name}\"\nuntil = \"workload-done\"\n[fabric]\ntopology = \"imported\"\nfile = \"net.txt\"\n\
         link.terminal = {link}\nlink.link = {link}\n[routing]\nalgorithm = \"shortest-path\"\n[[job]]\nname = \"{name}\"\n{job}\n\
         [model]\nkind = \"packet\"\n[output]\noperations = true\ncsv = true\nmessages = true\npackets = true\npairs = true\nwindow = \"1 us\"\n"
    );
    for model in ["packet", "delay", "flow"] {
        put(&format!("{model}.toml"), &text.replace("\"packet\"", &format!("\"{model}\"")));
    }
    let sweep = format!(
        "[[sweep.axis]]\nname = \"{name}\"\npath = \"job.0.name\"\nvalues = [\"{name}a\", \"{name}b\"]\n[[plot]]\nname = \"figure\"\nx = \"{name}\"\n\
         x_label = \"{name}\"\ny = \"latency_ps.mean\"\ny_label = \"{name}\"\n"
    );
    put("sweep.toml", &(text.replace(job, "workload = \"ring\"") + &sweep));
}

/// Each command that shows such names; paths are below `@`.
const SHOWING: &[&str] = &[
    "run @packet.toml --out @packet",
    "run @delay.toml --out @delay",
    "run @flow.toml --out @flow",
    "run @packet.toml --format json",
    "check @packet.toml",
    "check @packet.toml --format json",
    "sweep @sweep.toml --out @sweep",
    "plot @sweep --out @figures",
    "report @packet @delay --out @pages.html",
    "report @packet --svg @net.svg",
    "compare @packet @delay",
    "compare @packet @delay --format json",
    "compare --models @packet.toml",
    "compare --models @packet.toml --format json",
    "fabric import @net.txt --format json",
    "fabric verify @net.txt",
    "fabric metrics @packet.toml --format json",
    "fabric export @packet.toml --to dot",
    "fabric export @packet.toml --to json",
    "fabric export @packet.toml --to edge-list",
    "fabric export @packet.toml --to net",
    "fabric import @net.txt --to ibnetdiscover",
    "fabric route @net.txt --engine minhop --to orcs",
    "fabric route @net.txt --engine minhop --to lfts",
    "fabric route @packet.toml --to table",
    "congestion @net.txt --engine minhop",
    "congestion @net.txt --engine minhop --format json",
    "congestion @net.txt --engine minhop --print-hosts",
    "congestion @net.txt --engine minhop --print-pattern",
    "congestion @net.txt --engine minhop --metric get_cable_cong",
    "trace info @marks.ranks",
    "trace print @marks.ranks",
    "trace print @packet/otf2/traces.otf2 --format json",
    "trace convert @marks.ranks @written.ranks",
    "trace convert @packet/otf2/traces.otf2 @read.ranks",
];

/// Ends of files that nobody looks at as text, and that hold no names or hold them as they are.
const BINARY: &[&str] = &[".parquet", ".pdf", ".evt", ".otf2"];

/// What a form lets out of its quotes: the rest of a DOT file without its texts.
fn unquoted(text: &str) -> String {
    let (mut rest, mut inside, mut escaped) = (String::new(), false, false);
    for c in text.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if inside => escaped = true,
            '"' => inside = !inside,
            _ if !inside => rest.push(c),
            _ => {}
        }
    }
    rest
}

/// What is wrong with a text that somebody looks at.
fn acting(from: &str, text: &str) -> Vec<String> {
    let mut wrong: Vec<String> = text
        .chars()
        .filter(|&c| c != '\n' && c != '\t' && base::visible::acts(c))
        .map(|c| format!("{c:?} acts"))
        .collect();
    let is_page = from.ends_with("html") || from.ends_with("svg");
    if text.lines().any(|line| line.trim_start_matches(['"', '#', ' ']).starts_with("forged") && !is_page) {
        wrong.push("a line is forged".to_owned());
    }
    if is_page && text.contains("<script>alert") {
        wrong.push("a script is in the page".to_owned());
    }
    if (from.ends_with("dot") || from.ends_with("orcs")) && unquoted(text).contains("evil") {
        wrong.push("a name leaves its quotes".to_owned());
    }
    wrong.dedup();
    wrong
}

/// One hostile experiment, every form of output: no file that a person opens acts on the terminal, the page or the program that shows it.
#[test]
fn hostile_names_are_harmless_in_every_output() {
    let folder = tempfile::tempdir().unwrap();
    hostile_files(folder.path());
    let root = format!("{}/", folder.path().display());
    let mut shown = Vec::new();
    for command in SHOWING {
        let arguments: Vec<String> = command.split(' ').map(|word| word.replace('@', &root)).collect();
        let run = netloom(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(matches!(run.status, 0 | 10), "{command}: {} {}", run.status, run.err);
        shown.extend([((*command).to_owned(), run.out), ((*command).to_owned(), run.err)]);
    }
    let given = ["net.txt", "marks.ranks", "packet.toml", "delay.toml", "flow.toml", "sweep.toml"];
    let mut folders = vec![folder.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()) {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                folders.push(path);
            } else if !given.contains(&name.as_str()) && !BINARY.iter().any(|e| name.ends_with(e)) {
                // Definitions and markers of OTF2 are bytes: only what stands in their strings is of interest, and the job's name and the marks are there.
                let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
                let strings = text.replace(|c: char| c.is_control() && c != '\u{1b}', "");
                shown.push((
                    path.display().to_string(),
                    if [".def", ".marker"].iter().any(|e| name.ends_with(e)) { strings } else { text },
                ));
            }
        }
    }
    let named = shown.iter().filter(|(_, text)| text.contains("alert(1)")).count();
    assert!(shown.len() > 130 && named > 60, "{named} of {} outputs show such a name", shown.len());
    let wrong: Vec<String> = shown
        .iter()
        .flat_map(|(from, text)| acting(from, text).into_iter().map(move |w| format!("{from}: {w}")))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    // What is looked for would be found.
    for (form, text) in [
        ("out", HOSTILE),
        ("html", "<script>alert"),
        ("dot", "a [label=\"\\\\\" ]; evil [x=1]"),
        ("out", "a\n  forged: b"),
    ] {
        assert!(!acting(form, text).is_empty(), "{text}");
    }
}

/// Tens of thousands of mistakes are counted at once, and the first hundred shown.
#[test]
fn many_mistakes_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys.toml");
    let unknown: String = (0..50_000).map(|n| format!("unknown{n} = 1\n")).collect();
    let text = fs::read_to_string(EXAMPLE).unwrap();
    // Keys that nobody knows, and what is no TOML: lines without a key, and a key that is there again.
    for (mistakes, count) in
        [(unknown, 50_000), ("= = =\n".repeat(50_000), 50_000), ("key = 1\n".repeat(50_001), 50_000)]
    {
        fs::write(&file, text.replace("[model]\n", &format!("[model]\n{mistakes}"))).unwrap();
        let run = netloom(&["check", file.to_str().unwrap()]);
        assert_eq!(run.status, 3);
        assert!(
            run.err.ends_with(&format!("{count} errors found; the first 100 are shown\n")),
            "{}",
            &run.err[run.err.len() - 200..]
        );
        assert_eq!(run.err.lines().filter(|line| line.starts_with("error")).count(), 100);
    }
}

/// Files with 50,000 mistakes, by the keys that name them: `@` is the file.
fn broken() -> Vec<(&'static str, String)> {
    let lines = |line: &str| format!("{line}\n").repeat(MISTAKES);
    let list = |element: &str| vec![element; MISTAKES].join(",\n");
    let graph = "{\"format\": \"netloom-graph\", \"version\": 1, \"routers\": 3, \"terminals\": [[0, 1]], \"links\": [\n";
    let platform = "{\"format\": \"netloom-platform\", \"version\": 1, \"hosts\": [\"a\", \"b\"], \"routes\": [], \"links\": [\n";
    let xml = "<?xml version=\"1.0\"?>\n<platform version=\"4.1\">\n<zone id=\"z\" routing=\"Full\">\n";
    vec![
        ("job.0.workload=pairs job.0.file=@", lines("word word")),
        (
            "job.0.workload=pairs job.0.file=@ job.0.format=csv",
            "source,destination,bytes\n".to_owned() + &lines("0,x,1"),
        ),
        ("job.0.workload=pairs job.0.file=@ job.0.format=htsim", lines("0->x start 0 size 8")),
        ("job.0.workload=matrix job.0.load=0.1 job.0.message=8B job.0.file=@", lines("0,1,x")),
        ("job.0.workload=ring job.0.placement=explicit job.0.placement_file=@", lines("word")),
        ("job.0.workload=uniform job.0.load=0.1 job.0.size_file=@", lines("word word")),
        ("job.0.workload=ring job.0.noise_file=@", lines("word word")),
        ("job.0.workload=trace job.0.file=@", "num_ranks 2\nrank 0 {\n".to_owned() + &lines("word") + "}\n"),
        ("job.0.workload=ring routing.algorithm=table routing.file=@", lines("0 1")),
        ("job.0.workload=ring routing.algorithm=source-routes routing.file=@", lines("word word")),
        (r#"fabric={topology="graph",file="@"}"#, lines("word word")),
        (r#"fabric={topology="graph",file="@"}"#, "0 1\n".to_owned() + &lines("1 1")),
        (r#"fabric={topology="graph",file="@"}"#, graph.to_owned() + &list("[0]") + "]}\n"),
        (r#"fabric={topology="platform",file="@"}"#, platform.to_owned() + &list("{\"name\": 1}") + "]}\n"),
        (
            r#"fabric={topology="platform",file="@"}"#,
            xml.to_owned() + &lines("<link id=\"l\"/>") + "</zone>\n</platform>\n",
        ),
    ]
}

/// Mistakes of each of them.
const MISTAKES: usize = 50_000;

/// Whatever reads a file shows the first mistakes of it, and counts the others.
#[test]
fn broken_lines_of_files_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("broken");
    let file = file.to_str().unwrap();
    for (keys, text) in broken() {
        fs::write(file, text).unwrap();
        let keys = keys.replace('@', file);
        let bare = ["job.0.load=", "job.0.arrival=", "job.0.message="];
        let set: Vec<&str> =
            bare.into_iter().chain(keys.split(' ')).flat_map(|value| ["--set", value]).collect();
        let run = netloom(&[&["check", EXAMPLE], &set[..]].concat());
        assert!(matches!(run.status, 3 | 4), "{keys}: {}", run.err);
        assert_eq!(run.err.matches("49900 more errors").count(), 1, "{keys}: {}", run.err);
        assert!(run.err.ends_with("errors found; the first 100 are shown\n"), "{keys}: {}", run.err);
        assert!(found(&run.err) >= MISTAKES, "{keys}: {}", found(&run.err));
        assert_eq!(run.err.lines().filter(|line| line.starts_with("error")).count(), 100, "{keys}");
    }
}

/// How many mistakes the last line says.
fn found(text: &str) -> usize {
    let last = text.lines().last().unwrap_or_default();
    last.split_once(" errors found").and_then(|(number, _)| number.parse().ok()).unwrap_or(0)
}

/// So do lists that options of `netloom congestion` name.
#[test]
fn broken_lists_of_options_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("broken");
    let file = file.to_str().unwrap();
    let dragonfly = ["congestion", EXAMPLE, "--runs", "1"];
    let pairs = format!("pairs:{file}");
    let (pairs, mapping) = (["--pattern", &pairs], ["--mapping", file]);
    let lines = |line: &str| format!("{line}\n").repeat(MISTAKES);
    let list = |element: &str| format!("[{}]", vec![element; MISTAKES].join(", "));
    for (options, text) in [
        (&pairs[..], lines("word")),
        (&pairs, lines("word other")),
        (&pairs, lines("0 72")),
        (&mapping, lines("word")),
        (&mapping, lines("0") + "0\n"),
        (&mapping, list("72")),
        (&mapping, format!("{{\"mapping\": {{\"rank_to_host_index\": {}}}}}", list("\"word\""))),
        (&["--hosts", file], lines("word")),
        (&["fabric", "import", file], "Switch 4 \"S\"\n".to_owned() + &lines("[1] word")),
    ] {
        fs::write(file, &text).unwrap();
        let command = if options[0] == "fabric" { &[][..] } else { &dragonfly };
        let run = netloom(&[command, options].concat());
        assert_eq!(run.status, 4, "{options:?} {}: {}", &text[..9], run.err);
        assert_eq!(run.err.matches("49900 more errors").count(), 1, "{options:?}: {}", run.err);
        assert_eq!(run.err.lines().filter(|line| line.starts_with("error")).count(), 100, "{options:?}");
    }
}

#[cfg(unix)]
/// What a file cannot mean, or asks too much, is refused by the words of the file, before anything large is built.
#[test]
fn impossible_values_are_refused_at_once() {
    let refused = |set: &[&str], status: u8, words: &str| {
        let set: Vec<&str> = set.iter().flat_map(|value| ["--set", value]).collect();
        let check = netloom(&[&["check", EXAMPLE], &set[..]].concat());
        assert_eq!(check.status, status, "{set:?}: {}", check.err);
        assert!(check.err.contains(words), "{set:?}: {}", check.err);
    };
    let job = "workload = \"uniform\", ranks = 2, message = \"64 B\", load = 0.1, arrival = \"poisson\", copies = 4096";
    let jobs = format!("job=[{}]", vec![format!("{{{job}}}"); 5].join(","));
    refused(&[&jobs], 3, "more than 16384 jobs");
    let hybrid =
        ["model.kind=hybrid", "hybrid.director=times", "hybrid.switch=[\"50 us\"]", "hybrid.window=0 s"];
    refused(&hybrid, 3, "it cannot be 0 s");
    refused(&[&hybrid[..], &["hybrid.director=automatic", "hybrid.switch="]].concat(), 3, "sixteen periods");
    let large = ["fabric.topology=mesh", "fabric.dims=[4,4]", "fabric.terminals_per_router=1048576"];
    let fabric = [
        "fabric.groups=",
        "fabric.arrangement=",
        "fabric.routers_per_group=",
        "fabric.global_ports_per_router=",
        "fabric.link.global=",
    ];
    let mesh = [&large[..], &fabric, &["routing.algorithm=dimension-order"]].concat();
    refused(&mesh, 3, "ports with");
    // Its rows alone would take more than is allowed: the network was not built to find that out, nor its memory predicted.
    let wide: Vec<&str> =
        mesh.iter().chain(&["fabric.dims=[8,8]"]).flat_map(|value| ["--set", value]).collect();
    let run = netloom(&[&["run", EXAMPLE, "--memory-limit", "4 GiB"], &wide[..]].concat());
    assert!(run.status == 3 && run.err.contains("ports with"), "{}", run.err);
    // A mistake elsewhere is reported without the network, which would take gigabytes.
    let wide = [
        "fabric.dims=[300,300]",
        "fabric.terminals_per_router=1",
        "routing.algorithm=up-down",
        "model.vcs=17",
    ];
    refused(&[&mesh[..], &wide].concat(), 3, "from 1 to 16");
    let congestion =
        ["model.kind=congestion", "job.0.workload=bruck", "job.0.level=9", "job.0.load=", "job.0.arrival="];
    refused(&congestion, 3, "there is no level 9");
}

/// A run that its workload ends has as many windows as it needs, and ends where a million of them are full.
#[test]
fn windows_without_end_end_the_run() {
    let set = ["experiment.duration=", "experiment.until=workload-done", "output.window=1 ps"];
    let set = [&set[..], &["job.0.count=2", "job.0.ranks=4", "job.0.message=16 KiB"]].concat();
    let set: Vec<&str> = set.iter().flat_map(|value| ["--set", value]).collect();
    let program = ["job.0.workload=ring", "job.0.count=", "job.0.load=", "job.0.arrival=", "job.0.message="];
    let program: Vec<&str> = program.iter().flat_map(|value| ["--set", value]).collect();
    for (model, more) in [("packet", &[][..]), ("flow", &[]), ("delay", &program)] {
        let kind = format!("model.kind={model}");
        let run = netloom(&[&["run", EXAMPLE, "--set", &kind, "--format", "json"], &set[..], more].concat());
        assert!(run.err.contains("the run ends at 1 us at the latest"), "{model}: {}", run.err);
        assert!(run.out.contains("\"incomplete\""), "{model}: {}", run.err);
        let fact = "a series holds at most 1000000 windows of 1 ps: the run ends there";
        assert!(run.out.contains(fact), "{model}: {}", run.out);
        // A run that ends before is not ended by its windows.
        let longer = [&["--set", "output.window=1 us"][..], more].concat();
        let run =
            netloom(&[&["run", EXAMPLE, "--set", &kind, "--format", "json"], &set[..], &longer].concat());
        assert!(!run.out.contains("a series holds"), "{model}: {}", run.out);
    }
}

/// Loops without end are multiplied, or their files refused; nothing runs through them.
#[test]
fn loops_without_end_are_no_work() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("loop.ranks");
    let file = file.to_str().unwrap();
    let begun = std::time::Instant::now();
    for (body, counted) in [
        ("sendrecv 1 KiB to 1 - rank recv 1 KiB from 1 - rank", "2000000000000"),
        ("repeat 1000000000000 {\n compute 1 s\n barrier\n }", "2^64 - 1"),
    ] {
        fs::write(file, format!("ranks 2\nall {{\nrepeat 1000000000000 {{ {body} }}\n}}\n")).unwrap();
        let info = netloom(&["trace", "info", file]);
        assert!(info.status == 0 && info.out.contains(counted), "{}", info.out);
        assert!(info.out.contains("not looked at: the program has more than"), "{}", info.out);
        let job = format!("job=[{{workload='trace',file='{file}'}}]");
        let ends = ["--set", "experiment.duration=", "--set", "experiment.until=workload-done"];
        let check = netloom(&[&["check", EXAMPLE, "--set", &job][..], &ends].concat());
        assert!(check.status == 0 && check.out.contains("not looked at"), "{}{}", check.out, check.err);
    }
    // Generous: one by one they would take years.
    assert!(begun.elapsed() < std::time::Duration::from_mins(5), "{:?}", begun.elapsed());
}

#[test]
fn a_fifo_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let fifo = fifo.to_str().unwrap();
    for command in [&["run", fifo][..], &["trace", "info", fifo], &["congestion", fifo]] {
        let run = netloom(command);
        assert_ne!(run.status, 0);
        assert!(run.err.contains("FIFO") || run.err.contains("regular file"), "{command:?}: {}", run.err);
    }
}

/// Results are the same bytes from wherever a run was started: paths stand in them as the file gives them.
#[test]
fn the_present_directory_is_not_in_the_results() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("inner");
    fs::create_dir(&inner).unwrap();
    fs::write(
        inner.join("ring.goal"),
        "num_ranks 2\nrank 0 {\na: send 8b to 1\n}\nrank 1 {\na: recv 8b from 0\n}\n",
    )
    .unwrap();
    let text = "[experiment]\nuntil = \"workload-done\"\n[[job]]\nworkload = \"trace\"\nfile = \"ring.goal\"\n[model]\nkind = \"delay\"\n\
                cost = \"loggops\"\n";
    fs::write(inner.join("ring.toml"), text).unwrap();
    let from = |directory: &std::path::Path, file: &str, out: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_netloom"));
        let done = command.args(["run", file, "--out", out]).current_dir(directory).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let summary = fs::read_to_string(directory.join(out).join("summary.json")).unwrap();
        let mut summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
        summary.as_object_mut().unwrap().remove("performance");
        summary.to_string()
    };
    let inside = from(&inner, "ring.toml", "a");
    assert!(inside.contains(r#""file":"ring.goal""#), "{inside}");
    assert_eq!(inside, from(folder.path(), "inner/ring.toml", "b"));
    let absolute = inner.join("ring.toml");
    assert_eq!(inside, from(folder.path(), absolute.to_str().unwrap(), "c"));
}

/// Counts in small files are answered with a mistake, not with memory: each command has 1.5 GB of addresses or less.
#[cfg(target_os = "linux")]
#[test]
fn counts_in_files_take_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(at("many.goal"), "num_ranks 4000000000\nrank 0 {\na: calc 1\n}\n").unwrap();
    fs::write(at("many.graph"), "terminals 4000000000\n0 1\n").unwrap();
    fs::write(at("many.toml"), "[fabric]\ntopology = \"graph\"\nfile = \"many.graph\"\n").unwrap();
    fs::write(at("large.toml"), "[fabric]\ntopology = \"torus\"\ndims = [65535, 65535]\n").unwrap();
    let mut checkpoint = b"netloom checkpoint 1\n".to_vec();
    checkpoint.extend(u64::MAX.to_le_bytes());
    checkpoint.extend([0; 64]);
    fs::write(at("run.checkpoint"), checkpoint).unwrap();
    // As many jobs and elements as fit an experiment, more bytes than may, and a group that all of 2,000 ranks name sixty times (960 MB).
    let good = fs::read_to_string("tests/good.toml").unwrap();
    let room = (2 << 20) - good.len();
    fs::write(at("jobs.toml"), good.clone() + &"[[job]]\n".repeat(room / 8)).unwrap();
    fs::write(at("list.toml"), good.clone() + "[output]\nx = [" + &"1,".repeat(room / 2 - 10) + "]\n")
        .unwrap();
    fs::write(at("long.toml"), good + &"\n".repeat(room + 1)).unwrap();
    let named = "ranks 2000\nall { repeat 60 { define [0 to (size-1)] as D\n free_comm D } }\n";
    fs::write(at("groups.ranks"), named).unwrap();
    let ones = vec!["1"; 100_000].join(",");
    let torus = format!(
        "<platform version=\"4.1\"><cluster id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-15\" speed=\"1Gf\" bw=\"1Bps\" lat=\"1us\" \
         topology=\"TORUS\" topo_parameters=\"16,{ones}\"/></platform>"
    );
    fs::write(at("torus.xml"), torus).unwrap();
    let torus = format!("fabric={{topology='platform',file='{}'}}", at("torus.xml"));
    let mesh = "fabric={topology='mesh',dims=[1000,1000],terminals_per_router=1,link={terminal={bandwidth='1 GB/s',latency='1 ns',\
                credit_delay='1 ns',vc_buffer='1 KiB'},local={bandwidth='1 GB/s',latency='1 ns',credit_delay='1 ns',vc_buffer='1 KiB'}}}";
    let mesh = ["check", EXAMPLE, "--set", mesh, "--set", "routing.algorithm=dimension-order", "--set"];
    let places = ["job.0.placement=explicit", "--set", "job.0.placement_file=/nowhere"];
    for (kilobytes, arguments) in [
        (1_500_000, &["trace", "info", &at("many.goal")][..]),
        (1_500_000, &["fabric", "metrics", &at("many.toml")]),
        (1_500_000, &["fabric", "metrics", &at("large.toml")]),
        (1_500_000, &["resume", &at("run")]),
        (400_000, &["check", EXAMPLE, "--set", &torus]),
        (400_000, &[&mesh[..], &places[..]].concat()),
        (400_000, &["check", &at("jobs.toml")]),
        (400_000, &["check", &at("list.toml")]),
        (400_000, &["check", &at("long.toml")]),
        (
            400_000,
            &[
                "check",
                "tests/good.toml",
                "--set",
                &format!("job=[{{workload='trace',file='{}'}}]", at("groups.ranks")),
            ],
        ),
    ] {
        let mut command = std::process::Command::new("sh");
        let limited = format!("ulimit -v {kilobytes}; exec \"$0\" \"$@\"");
        command.args(["-c", &limited, env!("CARGO_BIN_EXE_netloom")]);
        let output = command.args(arguments).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(3 | 4 | 6)), "{arguments:?}: {} {text}", output.status);
        assert!(text.starts_with("error"), "{arguments:?}: {text}");
    }
}
