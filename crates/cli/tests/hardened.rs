//! What must not harm: files called anything, counts of nothing, names of our own, disks without room.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use crate::common::netloom;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/dragonfly-72.toml");
const NETLOOM: &str = env!("CARGO_BIN_EXE_netloom");

/// A folder's name that forges lines and acts on terminals.
const FOLDER: &str = "a\n\tforged: line\u{1b}[2J\u{202e}";

/// Each command with a file of such a name, below `@`. What a command needs an earlier one has made; some files are missing, or of another kind.
const NAMED: &[&str] = &[
    "run @a.toml --out @run",
    "run @a.toml --out @run",
    "run @a.toml --out @again --verbose",
    "run @missing.toml",
    "run @wrong.toml",
    "run @pair.ranks",
    "check @a.toml",
    "check @wrong.toml",
    "check @bytes.toml",
    "check @program.toml",
    "resume @missing",
    "resume @run",
    "report @run --out @page.html",
    "report @run --out @page.html",
    "report @run @missing",
    "compare @run @again",
    "compare @run @missing",
    "compare --models @program.toml",
    "compare --alone @a.toml",
    "sweep @sweep.toml --out @sweep",
    "sweep @a.toml --out @none",
    "plot @sweep --out @figures",
    "plot @missing --out @figures",
    "init trace --out @start",
    "clean @.",
    "clean @missing",
    "explain @missing",
    "fabric metrics @a.toml",
    "fabric metrics @wrong.toml",
    "fabric export @a.toml --to dot --out @net.dot",
    "fabric export @a.toml --to dot --out @net.dot",
    "fabric import @net.txt --to net --out @copy.net",
    "fabric import @wrong.net",
    "fabric verify @net.txt",
    "fabric verify @missing",
    "fabric route @net.txt --engine minhop",
    "fabric route @net.txt --engine minhop --to lfts --out @missing/x",
    "congestion @net.txt --engine minhop --metric get_cable_cong",
    "congestion @net.txt --engine minhop --map @map.svg",
    "congestion @net.txt --engine minhop --map @map.none",
    "congestion @net.txt --engine minhop --pattern pairs:@missing",
    "congestion @net.txt --engine minhop --mapping @wrong.net",
    "flow scenarios @wrong.toml",
    "flow scenarios @missing",
    "trace info @pair.ranks",
    "trace info @wrong.ranks",
    "trace info @missing",
    "trace print @pair.ranks",
    "trace print @wrong.ranks",
    "trace convert @pair.ranks @pair.goal",
    "trace convert @pair.ranks @pair.goal",
    "trace convert @wrong.ranks @wrong.goal",
    "man --out @man",
    "study small --studies @missing",
];

fn named_files(folder: &Path) {
    let put = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    let text = fs::read_to_string(EXAMPLE).unwrap().replace("\"1 ms\"", "\"1 us\"");
    put("a.toml", &text);
    put("wrong.toml", &text.replace("groups = 9", "groups = 9\ngrops = 9"));
    fs::write(folder.join("bytes.toml"), b"[experiment]\n\xff").unwrap();
    let axis = "[[sweep.axis]]\nname = \"seed\"\npath = \"experiment.seed\"\nvalues = [1, 2]\n";
    put(
        "sweep.toml",
        &format!("{text}{axis}[[plot]]\nname = \"p\"\nx = \"seed\"\ny = \"latency_ps.mean\"\n"),
    );
    put("pair.ranks", "ranks 2\nrank 0 {\nsend 8 B to 1\n}\nrank 1 {\nrecv 8 B from 0\n}\n");
    put("wrong.ranks", "ranks 2\nrank 0 {\nsent 8 B to 1\n}\n");
    let program = "[experiment]\nuntil = \"workload-done\"\n[[job]]\nworkload = \"trace\"\nfile = \"wrong.ranks\"\n[model]\nkind = \"delay\"\n\
                   cost = \"loggops\"\nlatency = \"2 us\"\n";
    put("program.toml", program);
    // A name of a node with a tab in it: where a line ends it cannot hold more.
    let guid = |n: u32| format!("{n:016x}");
    let mut net = format!(
        "switchguid=0x{0}({0})\nSwitch\t4 \"S-{0}\"\t\t# \"the\tswitch\" enhanced port 0 lid 1 lmc 0\n",
        guid(1)
    );
    for n in 1..3 {
        net += &format!("[{n}]\t\"H-{0}\"[1]({0})\t\t# \"a\thost {n}\" lid {1} 4xEDR\n", guid(16 + n), n + 1);
    }
    for n in 1..3 {
        let (host, switch) = (guid(16 + n), guid(1));
        net += &format!("\ncaguid=0x{host}\nCa\t1 \"H-{host}\"\t\t# \"a\thost {n}\"\n");
        net += &format!(
            "[1]({host})\t\"S-{switch}\"[{n}]\t\t# lid {} lmc 0 \"the\tswitch\" lid 1 4xEDR\n",
            n + 1
        );
    }
    put("net.txt", &net);
    put("wrong.net", "Switch 4 \"S1\"\n[9] \"H1\"[1]\nword \"word\"\n");
}

/// What a text does that it must not do.
fn acts(text: &str) -> Option<String> {
    let acting = text.chars().find(|&c| c != '\n' && base::visible::acts(c));
    let forged = text.lines().find(|line| line.trim_start().starts_with("forged"));
    acting
        .map(|c| format!("{c:?} in {text:?}"))
        .or(forged.map(|line| format!("the line {line:?} of {text:?}")))
}

/// Whatever a file is called, no command prints more than its name: neither what it found, nor what is wrong with it.
#[test]
fn files_may_be_called_anything() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join(FOLDER);
    fs::create_dir(&folder).unwrap();
    named_files(&folder);
    let at = format!("{}/", folder.display());
    let (mut wrong, mut shown) = (Vec::new(), 0);
    for command in NAMED {
        let arguments: Vec<String> = command.split(' ').map(|word| word.replace('@', &at)).collect();
        let run = netloom(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(run.status != 1, "{command}: {}", run.err);
        shown += usize::from(format!("{}{}", run.out, run.err).contains(r"a\u000a\u0009forged"));
        let found = [acts(&run.out), acts(&run.err)].into_iter().flatten();
        wrong.extend(found.map(|what| format!("{command}: {what}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(shown > NAMED.len() * 2 / 3, "{shown} of {} show the name", NAMED.len());
    // What is looked for would be found.
    assert!(acts("a\tb").is_some() && acts("a\n forged: b").is_some() && acts("a\nb").is_none());
}

/// Runs the program where it can have so many KiB of addresses.
fn within(kib: u32, arguments: &[&str]) -> Output {
    let script = format!("ulimit -v {kib}; exec \"$0\" \"$@\"");
    Command::new("sh").args(["-c", &script, NETLOOM]).args(arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A file in a folder, by its path.
fn put(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A few words that speak of millions take no memory for them: they are refused, and nothing is aborted.
#[test]
fn counts_of_a_file_take_no_memory() {
    let root = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| put(root.path(), name, text);
    let program =
        |ranks: u32| file(&format!("{ranks}.ranks"), &format!("ranks {ranks}\nall {{\n  barrier\n}}\n"));
    let delay = file(
        "delay.toml",
        "[experiment]\nuntil = \"workload-done\"\n[[job]]\nworkload = \"trace\"\n[model]\nkind = \"delay\"\ncost = \"loggops\"\nlatency = \"2 us\"\n",
    );
    let named = |ranks: u32| format!("job.0.file={}", program(ranks));
    for command in ["run", "check"] {
        let output = within(400_000, &[command, &delay, "--set", &named(60_000_000)]);
        assert_eq!(output.status.code(), Some(6), "{command}: {}", said(&output));
        assert!(said(&output).contains("of memory, but only"), "{}", said(&output));
    }
    // Points of a sweep share networks, and a job that is left out is a mistake of each, not a smaller run.
    let swept = fs::read_to_string(&delay).unwrap()
        + "[[sweep.axis]]\npath = \"model.latency\"\nvalues = [\"1 us\", \"2 us\"]\n";
    let swept = swept.replace(
        "[model]",
        &format!(
            "file = \"{}\"\n[[job]]\nworkload = \"trace\"\nfile = \"{}\"\n[model]",
            program(60_000_000),
            program(4)
        ),
    );
    let (swept, out) = (file("swept.toml", &swept), root.path().join("points").display().to_string());
    let output = within(400_000, &["sweep", &swept, "--out", &out]);
    let table = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{table}");
    assert_eq!(table.matches("of memory, but only").count(), 2, "{table}");
    // A near miss: what fits is run.
    let output = within(400_000, &["run", &delay, "--set", &named(1_000)]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let graph = |routers: u64, count: u64| {
        let text = format!(
            "{{\"format\": \"netloom-graph\", \"version\": 1, \"routers\": {routers}, \"terminals\": [0, 1],\n\
             \"links\": [{{\"a\": 0, \"b\": 1, \"count\": {count}}}]}}"
        );
        format!("fabric={{topology=\"graph\",file=\"{}\"}}", file(&format!("{routers}-{count}.json"), &text))
    };
    let set = |key: &str, name: &str, text: &str| format!("job.0.{key}={}", file(name, text));
    let cases = [
        vec![graph(4_000_000_000, 1)],
        vec![graph(2, 4_000_000_000)],
        vec![graph(2, 60_000_000)],
        vec![format!("fabric={{topology=\"graph\",file=\"{}\"}}", file("e.txt", "0 60000000\n"))],
        vec!["job.0.workload=matrix".to_owned(), set("file", "m.csv", "4000000000,1,5\n0,60000000,5\n")],
        vec![
            "job.0.placement=explicit".to_owned(),
            set("placement_file", "p.txt", "0 4000000000\n60000000\n"),
        ],
        vec![
            "job.0.workload=pairs".to_owned(),
            "job.0.load=".to_owned(),
            "job.0.arrival=".to_owned(),
            "job.0.message=".to_owned(),
            set("file", "pairs.txt", "0 4000000000 8 B\n"),
        ],
    ];
    for case in cases {
        let arguments: Vec<&str> =
            ["check", EXAMPLE].into_iter().chain(case.iter().flat_map(|set| ["--set", set])).collect();
        let output = within(400_000, &arguments);
        assert!(
            matches!(output.status.code(), Some(3 | 4 | 6)),
            "{case:?}: {:?} {}",
            output.status,
            said(&output)
        );
    }
    let mut binary = 4223u64.to_le_bytes().to_vec();
    binary.extend(60_000_000u64.to_le_bytes());
    let goal = root.path().join("a.goal");
    fs::write(&goal, binary).unwrap();
    assert_eq!(within(400_000, &["trace", "info", goal.to_str().unwrap()]).status.code(), Some(4));
}

/// What goes through all ranks refuses more of them than a few words may have.
#[test]
fn ranks_of_few_words_are_not_counted_one_by_one() {
    let root = tempfile::tempdir().unwrap();
    let program = |ranks: u32| {
        let path = root.path().join(format!("{ranks}.ranks"));
        fs::write(&path, format!("ranks {ranks}\nall {{\n  barrier\n}}\n")).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (huge, fits) = (program(60_000_000), program(1_000));
    for form in ["goal", "goal-binary", "ranks", "simgrid-ti"] {
        let out = root.path().join(form).to_str().unwrap().to_owned();
        let convert = |file: &str| within(400_000, &["trace", "convert", file, &out, "--to", form]);
        let output = convert(&huge);
        assert_eq!(output.status.code(), Some(6), "{form}: {}", said(&output));
        assert!(said(&output).contains("60000000 ranks in 33 bytes"), "{form}: {}", said(&output));
        assert!(!Path::new(&out).exists() && convert(&fits).status.code() == Some(0), "{form}");
    }
    for more in [&[][..], &["--expand", "openmpi"]] {
        let info = |file: &str| within(400_000, &[&["trace", "info", file][..], more].concat()).status.code();
        assert_eq!([info(&huge), info(&fits)], [Some(6), Some(0)], "{more:?}");
    }
}

/// A limit holds what the program itself takes: a file that outgrows it is read no further, and nothing is built of it.
#[test]
#[cfg(target_os = "linux")]
fn a_limit_holds_the_program_itself() {
    let root = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| put(root.path(), name, text);
    let calls = |call: &str| (0..380_000).map(|n| format!("l{n}: {call} tag {n}\n")).collect::<String>();
    let (sends, receives) = (calls("send 8b to 1"), calls("recv 8b from 0"));
    put("a.goal", &format!("num_ranks 2\nrank 0 {{\n{sends}}}\nrank 1 {{\n{receives}}}\n"));
    let text = "[experiment]\nuntil = \"workload-done\"\n[[job]]\nworkload = \"trace\"\nfile = \"a.goal\"\n[model]\nkind = \"delay\"\n\
                cost = \"loggops\"\nlatency = \"2 us\"\n";
    let run = put("a.toml", text);
    // In a process of its own: this one has more.
    let limited = |limit: &str| within(4_000_000, &["run", &run, "--memory-limit", limit]);
    for limit in [45u64, 50, 55] {
        let output = limited(&format!("{limit} MB"));
        assert_eq!(output.status.code(), Some(6), "{}", said(&output));
        let all = said(&output);
        // Not the run was refused, once all was read.
        let said = all.split_once(" may be used").map_or("", |(said, _)| said);
        let begins = ["what was read so far takes", "what the file describes takes"];
        assert!(begins.iter().any(|begin| said.contains(begin)), "{limit}: {all}");
        let left: Vec<&str> = said.split("only ").last().unwrap().split(' ').collect();
        assert!(left[1] == "KiB" || left[0].parse::<f64>().unwrap() < limit as f64, "{limit}: {all}");
    }
    assert_eq!(limited("1 GB").status.code(), Some(0));
}

/// Tables that do not fit are refused before they are computed, and so is a text that outgrows what is left.
#[test]
fn tables_that_do_not_fit_are_refused() {
    let groups = |groups: u32| {
        let set = [
            format!("fabric.groups={groups}"),
            "fabric.routers_per_group=16".to_owned(),
            "fabric.terminals_per_router=16".to_owned(),
        ];
        set.iter().flat_map(|set| ["--set".to_owned(), set.clone()]).collect::<Vec<String>>()
    };
    let route = |kib: u32, size: u32, form: &str| {
        let set = groups(size);
        let ends = ["--to", form, "--engine", "minhop"];
        let ends = &ends[..if form == "table" { 2 } else { 4 }];
        let set = set.iter().map(String::as_str);
        within(
            kib,
            &["fabric", "route", EXAMPLE]
                .into_iter()
                .chain(set)
                .chain(ends.iter().copied())
                .collect::<Vec<_>>(),
        )
    };
    for (kib, size) in [(200_000, 33), (75_000, 9)] {
        let output = route(kib, size, "lfts");
        assert_eq!(output.status.code(), Some(6), "{kib} {size}: {}", said(&output));
        assert!(output.stdout.is_empty());
    }
    // The paths of all pairs are gathered before they are written.
    let output = route(200_000, 33, "table");
    assert_eq!(output.status.code(), Some(6), "{}", said(&output));
    assert!(said(&output).contains("the paths of all pairs do not fit"), "{}", said(&output));
    let output = route(200_000, 9, "lfts");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
}

/// The directory in which a run was started goes away while it simulates: its results have a place of their own.
#[test]
fn results_do_not_need_the_present_directory() {
    let root = tempfile::tempdir().unwrap();
    let (present, out) = (root.path().join("present"), root.path().join("run"));
    fs::create_dir(&present).unwrap();
    let mut command = Command::new(NETLOOM);
    command
        .args(["run", EXAMPLE, "--set", "experiment.duration=2 ms", "--out"])
        .arg(&out)
        .current_dir(&present);
    let mut run = command.stdout(std::process::Stdio::null()).spawn().unwrap();
    // It simulates once it has its lock, for seconds.
    let lock = root.path().join(".run.lock");
    while !lock.exists() && run.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    std::thread::sleep(std::time::Duration::from_millis(300));
    fs::remove_dir(&present).unwrap();
    assert!(run.try_wait().unwrap().is_none(), "it was to be under way");
    assert_eq!(run.wait().unwrap().code(), Some(0));
    assert!(out.join("summary.json").is_file() && out.join("manifest.json").is_file());
}

/// What lies beside output directories has names that no output may have.
#[test]
fn names_of_our_own_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name).to_str().unwrap().to_owned();
    let short = ["--set", "experiment.duration=1 us"];
    for name in ["b.checkpoint", ".b.lock", ".b.partial-12-0", ".b.old-12.345-1"] {
        let out = at(name);
        for command in [
            &["run", EXAMPLE, "--out", &out][..],
            &["fabric", "export", EXAMPLE, "--to", "dot", "--out", &out],
            &["init", "trace", "--out", &out],
            &["study", "orcs", "--smoke", "--out", &out],
            &[
                "sweep",
                EXAMPLE,
                "--set",
                "sweep={axis=[{path=\"experiment.seed\",name=\"s\",values=[1]}]}",
                "--shard",
                "1/2",
                "--out",
                &out,
            ],
        ] {
            let run = netloom(command);
            assert_eq!(run.status, 7, "{command:?}: {}", run.err);
            assert!(run.err.contains("this is how"), "{}", run.err);
        }
    }
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    let run = netloom(&[&["run", EXAMPLE, "--out", &at("b.lock")], &short[..]].concat());
    assert_eq!(run.status, 0, "{}", run.err);
}

/// What killed studies left where temporary files go is removed by `netloom clean`, and nothing else is.
#[cfg(target_os = "linux")]
#[test]
fn temporary_files_of_killed_processes_are_removed() {
    let root = tempfile::tempdir().unwrap();
    let (temporary, runs) = (root.path().join("tmp"), root.path().join("runs"));
    let made = |name: &str| {
        fs::create_dir_all(temporary.join(name)).unwrap();
        fs::write(temporary.join(name).join("a.toml"), "").unwrap();
        fs::write(temporary.join(name).join(".netloom-scratch"), "").unwrap();
    };
    fs::create_dir(&runs).unwrap();
    let own = std::process::id();
    for name in ["netloom-scenarios-4194305-0", "netloom-mars-4194305-0", &format!("netloom-mars-{own}.1-0")]
    {
        made(name);
    }
    for name in [&format!("netloom-mars-{own}-0"), "netloom-thesis-4194305-0"] {
        made(name);
    }
    // Of somebody who has such names.
    fs::create_dir(temporary.join("netloom-files-2026-1")).unwrap();
    let clean = || {
        let mut command = Command::new(NETLOOM);
        command.arg("clean").arg(&runs).env("TMPDIR", &temporary);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let said = clean();
    assert_eq!(said.matches("of a killed process, removed").count(), 3, "{said}");
    let mut left: Vec<PathBuf> = fs::read_dir(&temporary).unwrap().map(|e| e.unwrap().path()).collect();
    left.sort();
    assert_eq!(left.len(), 3, "{left:?}");
    assert!(!clean().contains("netloom-"));
}

/// Neither the results nor their copy elsewhere fit (here: no file may be as large as the time line). What they are made of fits, and is kept.
#[test]
fn results_that_fit_nowhere_are_kept_as_they_are() {
    let root = tempfile::tempdir().unwrap();
    let program = root.path().join("ring.ranks");
    let ring = "sendrecv 8 kB to (rank + 1) % size recv 8 kB from (rank + 15) % size";
    fs::write(&program, format!("ranks 16\nall {{\nrepeat 500 {{\n{ring}\n}}\n}}\n")).unwrap();
    let out = root.path().join("run");
    let limited = |blocks: u64| {
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &script, NETLOOM, "run", "examples/sweep3d-loggops.toml", "--out"]).arg(&out);
        command
            .args(["--set", "output.operations=true", "--set", "output.report=false", "--set"])
            .arg(format!("job.0.file={}", program.display()));
        command.current_dir(ROOT).env("TMPDIR", root.path()).output().unwrap()
    };
    let whole = limited(1 << 20);
    assert!(whole.status.success(), "{}", said(&whole));
    let timeline = fs::metadata(out.join("timeline.json")).unwrap().len();
    let wanted = crate::resume::results(&out);
    fs::remove_dir_all(&out).unwrap();
    let output = limited(timeline / 512 - 1);
    let text = said(&output);
    assert_eq!(output.status.code(), Some(7), "{text}");
    assert!(
        text.contains("nor can the results be kept elsewhere") && text.contains("they are kept in"),
        "{text}"
    );
    let mut names: Vec<_> = fs::read_dir(root.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["ring.ranks", "run.checkpoint"]);
    let resumed = Command::new(NETLOOM).arg("resume").arg(&out).current_dir(ROOT).output().unwrap();
    assert!(resumed.status.success(), "{}", said(&resumed));
    assert_eq!(crate::resume::results(&out), wanted);
    // Where not even that fits, it is said.
    fs::remove_dir_all(&out).unwrap();
    let text = said(&limited(16));
    assert!(
        text.contains("the summary above is what is left") && !text.contains("they are kept in"),
        "{text}"
    );
}
