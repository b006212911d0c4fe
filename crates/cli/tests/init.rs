//! Starting files run as they are written.

use crate::common::netloom;

fn init(kind: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().to_str().expect("text");
    let run = netloom(&["init", kind, "--out", out]);
    assert_eq!((run.status, run.err.as_str()), (0, ""), "{kind}");
    assert!(run.out.contains("experiment.toml") && run.out.contains("  netloom "), "{kind}: {}", run.out);
    directory
}

/// Every one is checked and run; sweeps draw their figures. Each is explained: a fifth of its lines are comments at least.
#[test]
fn every_starting_file_runs_as_written() {
    for start in netloom::starts::STARTS {
        let directory = init(start.name);
        let path = |name: &str| directory.path().join(name).to_str().expect("text").to_owned();
        let file = path("experiment.toml");
        let check = netloom(&["check", &file]);
        assert_eq!((check.status, check.err.as_str()), (0, ""), "{}", start.name);
        let text = start.files[0].1;
        let commented = text.lines().filter(|line| line.contains('#')).count();
        assert!(commented * 5 >= text.lines().count(), "{}", start.name);
        if text.contains("[[sweep.axis]]") {
            let sweep = netloom(&["sweep", &file, "--out", &path("results")]);
            assert_eq!(sweep.status, 0, "{}: {}{}", start.name, sweep.out, sweep.err);
            let plot = netloom(&["plot", &path("results"), "--out", &path("figures")]);
            assert_eq!((plot.status, plot.err.as_str()), (0, ""), "{}", start.name);
        } else {
            let run = netloom(&["run", &file]);
            assert!(
                run.status == 0 && run.out.starts_with("verdict        ok"),
                "{}: {}{}",
                start.name,
                run.out,
                run.err
            );
        }
    }
}

#[test]
fn kinds_are_listed_and_nothing_is_replaced() {
    let list = netloom(&["init"]);
    assert_eq!(list.out.lines().count(), netloom::starts::STARTS.len());
    let wrong = netloom(&["init", "topolgy"]);
    assert!(wrong.status == 2 && wrong.err.contains("did you mean `topology`?"), "{}", wrong.err);
    let directory = init("topology");
    std::fs::remove_file(directory.path().join("experiment.toml")).expect("it is there");
    let again = netloom(&["init", "topology", "--out", directory.path().to_str().expect("text")]);
    assert!(again.status == 7 && again.err.contains("network.edges"), "{}", again.err);
    assert!(!directory.path().join("experiment.toml").exists(), "all files or none");
}
