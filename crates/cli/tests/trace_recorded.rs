//! Traces that real runs left are written with their recorded times: as OTF2 archives, which are read again, and as Paraver's files.

use crate::{common::netloom, trace_formats::unpacked};
use serde_json::Value as Json;
use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

fn convert(from: &Path, to: &Path) -> String {
    let run = netloom(&["trace", "convert", &from.display().to_string(), &to.display().to_string()]);
    assert_eq!(run.status, 0, "{} to {}: {}", from.display(), to.display(), run.err);
    run.err
}

/// What conversions must keep: ranks, messages by size, collectives, and what each rank computes.
fn kept(file: &Path) -> Json {
    let run = netloom(&["trace", "info", &file.display().to_string(), "--format", "json"]);
    assert_eq!(run.status, 0, "{}: {}", file.display(), run.err);
    let info: Json = serde_json::from_str(&run.out).expect("one JSON value");
    let keys = ["ranks", "messages", "collectives", "compute_ps", "matching"];
    keys.map(|key| (key.to_owned(), info[key].clone())).into_iter().collect::<serde_json::Map<_, _>>().into()
}

/// Lines of the official reader, if it is here, of events of these kinds.
fn printed(anchor: &Path, kinds: &[&str]) -> Option<usize> {
    let run = Command::new("otf2-print").arg(anchor).stderr(Stdio::null()).output();
    let Ok(run) = run else {
        eprintln!("SKIPPED: otf2-print is missing: archives are read here alone");
        return None;
    };
    assert!(run.status.success(), "{}", anchor.display());
    let text = String::from_utf8_lossy(&run.stdout);
    Some(text.lines().filter(|line| kinds.iter().any(|kind| line.starts_with(&format!("{kind} ")))).count())
}

/// Two ranks whose clock counts from 1970, by liballprof: 10 us of computation, a message each way, a barrier.
fn recorded(folder: &Path) -> std::path::PathBuf {
    let second = 1_237_666_046u64;
    for rank in [0u32, 1] {
        let (peer, at) = (1 - rank, |us: f64| format!("{second}{:09.2}", 100_000.0 + us));
        let lines = [
            format!("MPI_Init:{}:1:2:{}", at(0.0), at(1.0)),
            format!("MPI_Irecv:{}:9:32:1,1:{peer}:5:8,{rank},2:800:{}", at(11.0), at(12.0)),
            format!("MPI_Send:{}:1:32:1,1:{peer}:5:8,{rank},2:{}", at(12.0), at(14.5)),
            format!("MPI_Wait:{}:800:1:{}", at(20.0), at(21.0 + f64::from(rank))),
            format!("MPI_Barrier:{}:8,{rank},2:{}", at(30.0), at(31.0)),
        ];
        fs::write(folder.join(format!("t-{rank}.txt")), lines.join("\n") + "\n").expect("it can be written");
    }
    folder.join("t-0.txt")
}

#[test]
fn recorded_times_are_kept() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = |name: &str| folder.path().join(name);
    let trace = recorded(folder.path());
    let (once, twice) = (path("once/traces.otf2"), path("twice/traces.otf2"));
    convert(&trace, &once);
    assert_eq!(kept(&once), kept(&trace));
    convert(&once, &twice);
    for file in ["traces/0.evt", "traces/1.evt"] {
        let read = |folder: &str| fs::read(path(folder).join(file)).expect("it is there");
        assert_eq!(read("once").len(), read("twice").len(), "{file}");
    }
    assert_eq!(printed(&once, &["MPI_SEND", "MPI_IRECV"]).unwrap_or(4), 4);
    let notes = convert(&trace, &path("a.prv"));
    assert!(notes.contains("collectives and tags are not in Paraver's files"), "{notes}");
    convert(&twice, &path("b.prv"));
    let prv = fs::read_to_string(path("a.prv")).expect("it is there");
    assert_eq!(prv.replace("a rank", "b rank"), fs::read_to_string(path("b.prv")).expect("it is there"));
    // An archive begins where computation does, at 1 us: messages left at 12 us and were received at 22 and 21.
    for line in
        ["3:1:1:1:1:11000:11000:2:1:2:1:21000:21000:32:0", "3:2:1:2:1:11000:11000:1:1:1:1:20000:20000:32:0"]
    {
        assert!(prv.lines().any(|found| found == line), "{line}: {prv}");
    }
    assert!(
        fs::read_to_string(path("a.row")).expect("it is there").contains("a rank 1")
            && path("a.pcf").is_file()
    );
    let convert = |from: &Path, to: &str, more: &[&str]| {
        let (from, to) = (from.display().to_string(), path(to).display().to_string());
        let run = netloom(&[&["trace", "convert", &from, &to], more].concat());
        (run.status, run.err)
    };
    for (from, to, more, status, reported) in [
        (&trace, "once/traces.otf2", &[][..], 7, "exists already"),
        (&trace, "a.prv", &[], 7, "exists already"),
        (&trace, "x.otf2", &[], 2, "its anchor is `traces.otf2` in a folder of its own"),
        (&trace, "x.prv", &["--after", "1"], 2, "a part of a trace, or more ranks, has no recorded times"),
        (&trace, "x.prv.gz", &[], 2, "neither packed nor by rank"),
    ] {
        let run = convert(from, to, more);
        assert!(run.0 == status && run.1.contains(reported), "{to}: {run:?}");
    }
    for file in ["tests/traces/small.ranks", "tests/traces/small.goal"] {
        let run = convert(Path::new(file), "y/traces.otf2", &[]);
        let format = file.rsplit('.').next().expect("an end");
        assert!(run.0 == 2 && run.1.contains(&format!("{format} has no recorded times")), "{run:?}");
        assert!(run.1.contains("netloom run"), "{run:?}");
    }
    let left = fs::read_dir(folder.path()).expect("a directory").flatten();
    let left: Vec<String> = left.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    assert!(left.iter().all(|name| !name.contains("part") && name != "y"), "{left:?}");
}

/// What other tools recorded: the same messages, collectives and computations in the archive, and as many messages for Paraver.
#[test]
fn traces_of_other_tools_keep_what_they_hold() {
    for (packed, file) in [
        ("tracer-stencil4d-otf2.tar.gz", "traces.otf2"),
        ("pipit-pingpong-otf2.tar.gz", "traces.otf2"),
        ("sst-dumpi-testtraces.tar.gz", "*.meta"),
        ("atlahs-liballprof-sweep3d-2x2.tar.gz", "pmpi-trace-rank-0.txt"),
    ] {
        let Some(folder) = unpacked(packed) else { continue };
        for trace in found(folder.path(), file) {
            let (anchor, prv) = (folder.path().join("out/traces.otf2"), folder.path().join("out.prv"));
            convert(&trace, &anchor);
            let (before, after) = (kept(&trace), kept(&anchor));
            assert_eq!(before, after, "{}", trace.display());
            let messages = before["messages"]["count"].as_u64().expect("a number");
            if let Some(lines) = printed(&anchor, &["MPI_SEND", "MPI_ISEND"]) {
                assert_eq!(lines as u64, messages, "{}", trace.display());
            }
            convert(&anchor, &prv);
            let text = fs::read_to_string(&prv).expect("it is there");
            assert_eq!(text.lines().filter(|line| line.starts_with("3:")).count() as u64, messages);
            fs::remove_dir_all(folder.path().join("out")).expect("it is ours");
            for end in ["prv", "pcf", "row"] {
                fs::remove_file(prv.with_extension(end)).expect("it is ours");
            }
        }
    }
}

/// Files of a name, or with an end if it begins with `*`, in a folder and those below.
fn found(folder: &Path, name: &str) -> Vec<std::path::PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            all.extend(found(&path, name));
        } else {
            let this = entry.file_name().to_string_lossy().into_owned();
            if name.strip_prefix('*').map_or(this == name, |end| this.ends_with(end)) {
                all.push(path);
            }
        }
    }
    all.sort();
    all
}
