//! Traces as one archive of the files of their ranks: packed by the system's tar, they are read as from their folder.

use crate::common::netloom;
use serde_json::Value as Json;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

const PROGRAM: &str = "ranks 4\nall {\n  repeat 3 {\n    compute 5 us\n    send 4 KiB to (rank + 1) % 4 tag 7\n    \
                       recv 4 KiB from (rank + 3) % 4 tag 7\n    allreduce 64 B\n  }\n}\n";

/// Packs files of a folder as tar does with these options.
fn packed(folder: &Path, options: &[&str], files: &[&str]) -> PathBuf {
    let archive = folder.join("packed.archive");
    let status =
        Command::new("tar").arg("-cf").arg(&archive).args(options).arg("-C").arg(folder).args(files).status();
    assert!(status.expect("tar runs").success(), "{options:?}");
    archive
}

/// What a file holds, without its name.
fn info(file: &Path) -> Json {
    let run =
        netloom(&["trace", "info", &file.display().to_string(), "--expand", "openmpi", "--format", "json"]);
    assert_eq!(run.status, 0, "{}: {}", file.display(), run.err);
    let mut info: Json = serde_json::from_str(&run.out).expect("one JSON value");
    info.as_object_mut().expect("an object").remove("file");
    // Whom a rank waits for is said with the name of its file.
    info["replay"].as_object_mut().expect("an object").remove("found").expect("it is said");
    info
}

/// A run of a file: what identifies its results.
fn fingerprint(folder: &Path, file: &Path) -> Json {
    let experiment = format!(
        "[experiment]\nname = \"trace\"\nuntil = \"workload-done\"\n[[job]]\nworkload = \"trace\"\nfile = \"{}\"\n\
         [model]\nkind = \"delay\"\ncost = \"loggops\"\n",
        file.display()
    );
    let toml = folder.join("run.toml");
    fs::write(&toml, experiment).expect("it can be written");
    let run = netloom(&["run", &toml.display().to_string(), "--format", "json"]);
    assert_eq!(run.status, 0, "{}", run.err);
    let summary: Json = serde_json::from_str(&run.out).expect("one JSON value");
    summary["fingerprint"].clone()
}

fn folder(copies: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a directory");
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("program.ranks"), PROGRAM).expect("it can be written");
    let arguments = [
        "trace",
        "convert",
        &path("program.ranks"),
        &path("t.txt"),
        "--to",
        "simgrid-ti",
        "--per-rank",
        "--ranks",
        copies,
    ];
    let run = netloom(&arguments);
    assert_eq!(run.status, 0, "{}", run.err);
    folder
}

#[test]
fn an_archive_reads_as_its_folder() {
    let folder = folder("4");
    let (list, ranks) = (folder.path().join("t.txt"), ["t-0.txt", "t-1.txt", "t-2.txt", "t-3.txt"]);
    let (expected, ran) = (info(&list), fingerprint(folder.path(), &list));
    for (options, files) in [
        (&["--format=ustar"][..], &["t.txt", "t-0.txt", "t-1.txt", "t-2.txt", "t-3.txt"][..]),
        (&["--format=pax", "-z"], &["."]),
        // Without their list they are those whose names differ in a number.
        (&["--format=gnu", "-z"], &ranks),
        (&["--format=v7"], &ranks),
    ] {
        // What is no file of the trace is passed over; an archive of the folder must not hold itself.
        let _ = fs::remove_file(folder.path().join("run.toml"));
        let _ = fs::remove_file(folder.path().join("program.ranks"));
        let options = [options, &["--exclude=packed.archive"]].concat();
        let archive = packed(folder.path(), &options, files);
        assert_eq!(info(&archive), expected, "{options:?}");
        assert_eq!(fingerprint(folder.path(), &archive), ran, "{options:?}");
    }
    // Packed and unpacked, its calls are written in the same bytes.
    let converted = |from: &Path, to: &str| {
        let to = folder.path().join(to);
        let run = netloom(&["trace", "convert", &from.display().to_string(), &to.display().to_string()]);
        assert_eq!(run.status, 0, "{}", run.err);
        fs::read(to).expect("it is written")
    };
    assert_eq!(converted(&folder.path().join("packed.archive"), "a.goal"), converted(&list, "b.goal"));
}

#[test]
fn what_is_no_trace_of_ranks_is_refused() {
    let folder = folder("4");
    let write =
        |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("it can be written");
    write("read.me", "An explanation.\n");
    write("u-0.txt", "0 init\n0 finalize\n");
    write("g.goal", "num_ranks 1\nrank 0 {\n}\n");
    fs::create_dir(folder.path().join("links")).expect("a directory");
    std::os::unix::fs::symlink("/etc/passwd", folder.path().join("links/t-0.txt")).expect("a link");
    fs::copy(packed(folder.path(), &[], &["t-0.txt"]), folder.path().join("inner.tar")).expect("a copy");
    let cases: [(&[&str], &str); 8] = [
        (&["read.me"], "holds no trace"),
        (&["t-0.txt", "t-1.txt", "t-3.txt"], "the file of rank 2"),
        (&["t.txt", "t-0.txt", "t-1.txt", "t-2.txt"], "the file `t-3.txt` is missing"),
        (
            &["t.txt", "t-0.txt", "t-1.txt", "t-2.txt", "t-3.txt", "u-0.txt"],
            "holds 5 files of ranks, but the trace has 4",
        ),
        (&["t-0.txt", "t-0.txt"], "holds `t-0.txt` twice"),
        (&["g.goal"], "is of the format goal"),
        (&["links"], "`links/t-0.txt` is a symbolic link"),
        (&["inner.tar"], "`inner.tar` is an archive in an archive"),
    ];
    for (files, part) in cases {
        let options: &[&str] =
            if files[0] == files[files.len() - 1] && files.len() > 1 { &["--hard-dereference"] } else { &[] };
        let archive = packed(folder.path(), options, files);
        let run = netloom(&["trace", "info", &archive.display().to_string()]);
        assert_eq!(run.status, 4, "{files:?}: {}{}", run.out, run.err);
        let shown = run.err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.contains(part) && shown.contains("packed.archive"), "{files:?}: {}", run.err);
    }
}

/// Many ranks need few open files, packed or not.
#[test]
fn an_archive_of_many_ranks_is_one_open_file() {
    let folder = folder("400");
    let _ = fs::remove_file(folder.path().join("program.ranks"));
    for options in [&["--exclude=packed.archive"][..], &["-z", "--exclude=packed.archive"]] {
        let archive = packed(folder.path(), options, &["."]);
        let run = Command::new("sh")
            .args([
                "-c",
                "ulimit -n 16; exec \"$0\" trace info \"$1\" --format json",
                env!("CARGO_BIN_EXE_netloom"),
            ])
            .arg(&archive)
            .output()
            .expect("a shell");
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        let info: Json = serde_json::from_slice(&run.stdout).expect("one JSON value");
        assert_eq!((&info["ranks"], &info["messages"]["count"]), (&400.into(), &1200.into()));
    }
}
