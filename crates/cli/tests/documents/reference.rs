//! The pages of the reference are those that the program makes.

use crate::page::{ROOT, files};
use base::sorted::SortedMap;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Bytes of a figure, and of all of them together, at most.
const FIGURE: usize = 40_000;
const FIGURES: usize = 2_000_000;

/// Contents of files by name.
type Files = SortedMap<String, String>;

/// What is not the same in both: what is stored, and what was made.
fn differences(stored: &Files, made: &Files) -> Vec<String> {
    let mut found: Vec<String> = stored
        .keys()
        .filter(|name| !made.contains_key(*name))
        .map(|name| format!("{name} is not made"))
        .collect();
    for (name, text) in made {
        match stored.get(name) {
            None => found.push(format!("{name} is missing")),
            Some(other) if other == text => {}
            Some(other) => {
                let same = other.lines().zip(text.lines()).take_while(|(a, b)| a == b).count();
                let line = |text: &str| text.lines().nth(same).unwrap_or("").to_owned();
                found.push(format!("{name}:{}: `{}` is now `{}`", same + 1, line(other), line(text)));
            }
        }
    }
    found
}

/// The reference of a book in this folder, and its table of contents.
fn reference(book: &Path, names: &[String]) -> Files {
    let read = |name: &String| {
        let text = fs::read_to_string(book.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        (name.clone(), text)
    };
    names.iter().map(read).collect()
}

fn names(folder: &Path, prefix: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = format!("{prefix}{}", path.file_name().expect("a name").to_string_lossy());
        if path.is_dir() {
            names(&path, &format!("{name}/"), found);
        } else {
            found.push(name);
        }
    }
}

/// All pages and figures are made anew, which runs every example: some seconds.
#[test]
fn the_reference_is_what_the_program_writes() {
    let folder: PathBuf = std::env::temp_dir().join(format!("netloom-reference-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let docs = Path::new(ROOT).join("docs");
    fs::copy(docs.join("SUMMARY.md"), folder.join("SUMMARY.md")).expect("a copy");
    let run = Command::new(env!("CARGO_BIN_EXE_netloom")).args(["reference", "--out"]).arg(&folder).output();
    let run = run.expect("it starts");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let mut made = Vec::new();
    names(&folder, "", &mut made);
    let made = reference(&folder, &made);
    fs::remove_dir_all(&folder).expect("it was made");
    let stored: Vec<String> =
        files("docs").into_iter().map(|name| name["docs/".len()..].to_owned()).collect();
    let own = |name: &String| name.starts_with("reference") || name == "SUMMARY.md";
    let stored = reference(&docs, &stored.into_iter().filter(own).collect::<Vec<_>>());
    let found = differences(&stored, &made);
    let first = found.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
    assert!(
        found.is_empty(),
        "write them anew: netloom reference --out docs\n{} files:\n{first}",
        found.len()
    );
    let figures = made.iter().filter(|(name, _)| name.ends_with(".svg"));
    let large: Vec<&String> =
        figures.clone().filter(|(_, svg)| svg.len() > FIGURE).map(|(name, _)| name).collect();
    assert!(large.is_empty(), "figures of more than {FIGURE} bytes: {large:?}");
    let sum: usize = figures.clone().map(|(_, svg)| svg.len()).sum();
    assert!(sum < FIGURES && figures.count() > 100, "{sum} bytes of figures");
}

/// Planted: a page more, a page less and another line are found.
#[test]
fn pages_that_differ_are_found() {
    let files =
        |all: &[(&str, &str)]| all.iter().map(|(n, t)| ((*n).to_owned(), (*t).to_owned())).collect::<Files>();
    let stored = files(&[("a", "1\n2\n3"), ("b", "x"), ("c", "old")]);
    let made = files(&[("a", "1\n7\n3"), ("b", "x"), ("d", "new")]);
    assert_eq!(differences(&stored, &made), ["c is not made", "a:2: `2` is now `7`", "d is missing"]);
    assert!(differences(&stored, &stored).is_empty());
}
