//! Figures of the page on validation are those that the studies draw: of the studies that take a second, on every run.

use crate::page::{Page, ROOT};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Studies that take a second, their figure, and its name on the page.
const QUICK: &[(&str, &str, &str)] = &[
    ("loggopsim", "beside", "loggopsim"),
    ("simgrid", "completion-times", "simgrid"),
    ("orcs", "figure-3", "orcs"),
];

/// What a study prints, and where it has drawn.
fn study(name: &str) -> (String, PathBuf) {
    let folder = std::env::temp_dir().join(format!("netloom-study-{name}-{}", std::process::id()));
    let run =
        Command::new(env!("CARGO_BIN_EXE_netloom")).args(["study", name, "--out"]).arg(&folder).output();
    let run = run.expect("it starts");
    assert!(run.status.success(), "{name}: {}", String::from_utf8_lossy(&run.stderr));
    (String::from_utf8_lossy(&run.stdout).into_owned(), folder)
}

/// Rows of a study whose two numbers are not the same.
fn unequal(printed: &str, key: &str) -> Vec<String> {
    let numbers = |line: &str| {
        line.split(key).nth(1).map(|rest| rest.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    };
    let rows = printed.lines().filter_map(|line| Some((line, numbers(line)?)));
    rows.filter(|(_, n)| n.len() < 2 || n[0] != n[1]).map(|(line, _)| line.to_owned()).collect()
}

#[test]
fn figures_are_those_that_studies_draw() {
    for (name, figure, stored) in QUICK {
        let (printed, folder) = study(name);
        let drawn = fs::read_to_string(folder.join(format!("{figure}.svg"))).expect("a figure");
        fs::remove_dir_all(&folder).expect("it was made");
        let path = Path::new(ROOT).join(format!("docs/validation/{stored}.svg"));
        let stored = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(drawn == stored, "{}: draw it anew: netloom study {name} --out DIR", path.display());
        match *name {
            "loggopsim" => {
                assert_eq!(printed.matches("makespan_ps").count(), 15);
                assert!(unequal(&printed, "makespan_ps").is_empty(), "{printed}");
            }
            "simgrid" => assert!(printed.contains("60 of 60 within what is allowed"), "{printed}"),
            _ => {}
        }
    }
}

/// Each section that shows a figure says which study draws it.
#[test]
fn figures_have_their_command() {
    assert_eq!(without_command(&Page::read("docs/validation.md").text), [""; 0]);
}

/// Sections with a picture and no study.
fn without_command(text: &str) -> Vec<String> {
    let sections = text.split("\n## ").skip(1);
    let bare = sections.filter(|s| s.contains("](validation/") && !s.contains("`netloom study "));
    bare.map(|s| s.lines().next().unwrap_or("").to_owned()).collect()
}

/// Planted: a row that differs and a picture without its command are found.
#[test]
fn rows_and_figures_that_are_wrong_are_found() {
    let rows = "a  key  10  10\nb  key  10  11\nc  other  1  2\nd  key  3\n";
    assert_eq!(unequal(rows, "key"), ["b  key  10  11", "d  key  3"]);
    let page =
        "# x\n\n## One\n\n![a](validation/a.svg)\n\n## Two\n\n![b](validation/b.svg) by `netloom study b`\n";
    assert_eq!(without_command(page), ["One"]);
}
