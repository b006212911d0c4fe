//! Every file of `tests/bad` holds one mistake (named by the file) and has a golden diagnostic and exit status.

use crate::common::netloom;
use insta::{assert_snapshot, glob, with_settings};
use std::fs;

#[test]
fn each_bad_file_has_its_diagnostic_and_exit_status() {
    let mut count = 0;
    glob!("bad/*.toml", |path| {
        let name = path.file_name().and_then(|n| n.to_str()).expect("our names are text");
        let run = netloom(&["check", &format!("tests/bad/{name}")]);
        assert_eq!(run.out, "", "{name} wrote a result");
        assert!(matches!(run.status, 3 | 4), "{name} ended with {}: {}", run.status, run.err);
        assert!(run.err.contains(name), "{name} is not named: {}", run.err);
        with_settings!({omit_expression => true, prepend_module_to_snapshot => false}, {
            assert_snapshot!(format!("exit {}\n{}", run.status, run.err));
        });
        count += 1;
    });
    assert!(count >= 30, "only {count} bad files");
}

/// A job with a mistake has no part in the rest: what is wrong with others is still reported in their place.
#[test]
fn mistakes_are_reported_beside_a_job_with_another_one() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("two.toml");
    let wrong = "[[job]]\nname = \"wrong\"\nworkload = \"transpose\"\nmessage = \"64 B\"\nload = 0.1\nranks = 3\n\n[[job]]";
    let mut marked = 0;
    for entry in fs::read_dir("tests/bad").expect("a directory") {
        let path = entry.expect("an entry").path();
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let Some((before, after)) = text.split_once("[[job]]") else { continue };
        fs::write(&file, format!("{before}{wrong}{after}")).expect("writes");
        let run = netloom(&["check", file.to_str().expect("a path")]);
        assert!(matches!(run.status, 3 | 4), "{}: {}: {}", path.display(), run.status, run.err);
        if path.ends_with("multicast-by-clocked-routers.toml") {
            assert!(run.err.contains("| replication = \"routers\""), "{}", run.err);
            marked += 1;
        }
    }
    assert_eq!(marked, 1);
}

#[test]
fn a_missing_file_is_unreadable_input() {
    let run = netloom(&["run", "tests/bad/no-such-file.toml"]);
    assert_eq!((run.status, run.out.as_str()), (4, ""));
    assert!(run.err.contains("cannot read `tests/bad/no-such-file.toml`"), "{}", run.err);
    let run = netloom(&["run", "tests"]);
    assert_eq!((run.status, run.out.as_str()), (4, ""));
}

#[test]
fn run_and_json_report_the_same() {
    for arguments in [
        ["check", "tests/bad/unknown-key.toml", "--format", "json"],
        ["run", "tests/bad/unknown-key.toml", "--format", "json"],
        ["run", "tests/bad/unknown-key.toml", "--format", "text"],
    ] {
        let run = netloom(&arguments);
        assert_eq!((run.status, run.out.as_str()), (3, ""));
        assert!(run.err.contains("did you mean `groups`?"), "{}", run.err);
    }
}

#[test]
fn a_mistake_in_an_override_points_at_the_option() {
    let run = netloom(&[
        "check",
        "tests/good.toml",
        "--set",
        "job.0.load=fast",
        "--set",
        "fabric.groups=-1",
        "--set",
        "job.7.load=1",
        "--set",
        "experiment.sede=2",
    ]);
    assert_eq!(run.status, 3);
    assert_snapshot!(run.err);
}

#[test]
fn overrides_replace_values_of_the_file() {
    let run = netloom(&[
        "check",
        "tests/good.toml",
        "--format",
        "json",
        "--set",
        "job.0.load=0.25",
        "--set",
        "experiment.duration=10 us",
        "--set",
        "engine.partitions=2",
        "--set",
        "output.pairs=true",
    ]);
    assert_eq!(run.status, 0, "{}", run.err);
    let json: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    let experiment = &json["experiment"];
    assert_eq!(experiment["job"][0]["load"], 0.25);
    assert_eq!(experiment["experiment"]["duration"], "10 us");
    assert_eq!(experiment["engine"]["partitions"], 2);
    assert_eq!(experiment["output"]["pairs"], true);
}
