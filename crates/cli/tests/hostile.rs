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

/// One hostile experiment, every form of output: no file that a person opens acts on the terminal, the page or the program that shows it.
#[test]
fn hostile_names_are_harmless_in_every_output() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(at("net.txt"), cluster("<script>alert(1)</script>\u{1b}[2J\u{202e}\u{9b}1m\"x&y")).unwrap();
    let link =
        r#"{ bandwidth = "10 GB/s", latency = "100 ns", credit_delay = "100 ns", vc_buffer = "32 KiB" }"#;
    let hostile = r"\u001B]0;title\u0007</script><script>alert(1)</script>\u202E";
    let text = format!(
        "[experiment]\nname = \"{hostile}\"\nuntil = \"workload-done\"\n[fabric]\ntopology = \"imported\"\nfile = \"net.txt\"\n\
         link.terminal = {link}\nlink.link = {link}\n[routing]\nalgorithm = \"shortest-path\"\n[[job]]\nname = \"{hostile}\"\n\
         workload = \"ring\"\n[model]\nkind = \"packet\"\n[output]\noperations = true\n"
    );
    fs::write(at("hostile.toml"), &text).unwrap();
    fs::write(at("delay.toml"), text.replace("\"packet\"", "\"delay\"")).unwrap();
    let file = at("hostile.toml");
    let mut shown = Vec::new();
    for arguments in [
        &["run", &file, "--out", &at("packet")][..],
        &["run", &at("delay.toml"), "--out", &at("delay")],
        &["report", &at("packet"), "--svg", &at("net.svg")],
        &["fabric", "import", &at("net.txt"), "--format", "json"],
        &["fabric", "verify", &at("net.txt")],
        &["fabric", "metrics", &file],
        &["compare", &at("packet"), &at("packet")],
    ] {
        let run = netloom(arguments);
        shown.extend([(arguments.join(" "), run.out), (arguments.join(" "), run.err)]);
    }
    for form in ["dot", "json", "edge-list", "orcs", "net", "ibnetdiscover"] {
        let run = netloom(&["fabric", "export", &file, "--to", form]);
        assert_eq!(run.status, 0, "{form}: {}", run.err);
        shown.push((form.to_owned(), run.out));
    }
    let written =
        ["packet", "delay"].iter().flat_map(|dir| fs::read_dir(at(dir)).unwrap()).map(|e| e.unwrap().path());
    let tables = |path: &std::path::Path| path.extension().is_none_or(|e| e == "parquet");
    for path in
        written.filter(|path| !tables(path)).chain([at("net.svg").into(), at("delay/otf2/traces.def").into()])
    {
        // Definitions of OTF2 are bytes: only what stands in its strings is of interest.
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        let is_binary = path.extension().is_some_and(|e| e == "def");
        assert!(!is_binary || text.contains("title"), "the job's name is in the archive");
        shown.push((
            path.display().to_string(),
            if is_binary { text.replace(|c: char| c.is_ascii_control() && c != '\u{1b}', "") } else { text },
        ));
    }
    assert!(shown.len() > 25, "{} outputs", shown.len());
    for (from, text) in shown {
        let acting: Vec<char> =
            text.chars().filter(|&c| c != '\n' && c != '\t' && base::visible::acts(c)).collect();
        assert!(acting.is_empty(), "{from}: {acting:?}");
        assert!(
            !(from.ends_with("html") || from.ends_with("svg")) || !text.contains("<script>alert"),
            "{from}"
        );
    }
}

/// Tens of thousands of mistakes are counted at once, and the first hundred shown.
#[test]
fn many_mistakes_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys.toml");
    let unknown: String = (0..50_000).map(|n| format!("unknown{n} = 1\n")).collect();
    let text = fs::read_to_string(EXAMPLE).unwrap();
    fs::write(&file, text.replace("[model]\n", &format!("[model]\n{unknown}"))).unwrap();
    let run = netloom(&["check", file.to_str().unwrap()]);
    assert_eq!(run.status, 3);
    assert!(
        run.err.ends_with("50000 mistakes found; the first 100 are shown\n"),
        "{}",
        &run.err[run.err.len() - 200..]
    );
    assert_eq!(run.err.lines().filter(|line| line.starts_with("error")).count(), 100);
}

#[cfg(unix)]
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

/// Counts in small files are answered with a mistake, not with memory: each command has 1.5 GB of addresses.
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
    for arguments in [
        &["trace", "info", &at("many.goal")][..],
        &["fabric", "metrics", &at("many.toml")],
        &["fabric", "metrics", &at("large.toml")],
        &["resume", &at("run")],
    ] {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "ulimit -v 1500000; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_netloom")]);
        let output = command.args(arguments).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(3 | 4 | 6)), "{arguments:?}: {} {text}", output.status);
        assert!(text.starts_with("error"), "{arguments:?}: {text}");
    }
}
