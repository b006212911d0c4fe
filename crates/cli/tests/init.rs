//! Starting files run as they are written.

use crate::{common::netloom, program::compile};

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
        if text.contains("[portals]") {
            let named = |word: &str| start.commands().iter().any(|command| command.starts_with(word));
            assert!(named("netloom portals cc") && named("netloom portals run"), "{}", start.name);
        } else if text.contains("[[sweep.axis]]") {
            let sweep = netloom(&["sweep", &file, "--out", &path("results")]);
            assert_eq!(sweep.status, 0, "{}: {}{}", start.name, sweep.out, sweep.err);
            let plot = netloom(&["plot", &path("results"), "--out", &path("figures")]);
            let noted = plot.err.lines().all(|line| line.contains("not drawn, above `y_max = \"3 us\"`"));
            assert!(plot.status == 0 && noted, "{}: {}", start.name, plot.err);
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

/// The machine of the starting files takes their program, which is the example too.
#[test]
fn the_portals_program_runs_on_its_machine() {
    let directory = init("portals");
    let Some(program) = compile("examples/portals/pingpong.c") else { return };
    let machine = directory.path().join("experiment.toml");
    let mut command = crate::program::netloom();
    command.args(["portals", "run", "-n", "2", "--fabric"]).arg(machine).arg(&program.path);
    let run = command.output().expect("it runs");
    assert!(run.status.success() && String::from_utf8_lossy(&run.stdout).contains("put (us)"), "{run:?}");
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
