//! Whatever the file holds, reading it reports mistakes and never panics.

use base::diag::Diagnostics;
use netloom::{experiment, render};
use proptest::prelude::*;

fn examples() -> Vec<String> {
    let mut texts: Vec<String> = ["../../examples", "tests/bad"]
        .iter()
        .flat_map(|dir| std::fs::read_dir(dir).expect("a directory"))
        .filter_map(|entry| std::fs::read_to_string(entry.expect("an entry").path()).ok())
        .collect();
    texts.sort();
    texts
}

/// A change of a text: at a position given in thousandths, of a length, to something.
#[derive(Clone, Debug)]
struct Change {
    at: usize,
    length: usize,
    to: String,
}

fn change() -> impl Strategy<Value = Change> {
    let words = prop::sample::select(vec![
        "",
        "\n",
        "\"",
        "'''",
        "[",
        "]",
        "[[",
        "{",
        "}",
        "=",
        ".",
        ",",
        "#",
        "-1",
        "0",
        "1e999",
        "nan",
        "true",
        "\"0 s\"",
        "99999999999999999999",
        "\"1 GiB\"",
        "[[job]]",
        "[job]",
        "link",
        "topology = \"torus\"\n",
        "\u{feff}",
        "\u{0}",
        "1979-05-27",
        "\"\\uD800\"",
        "\r\n",
        "dims = [0]",
    ]);
    let to = prop_oneof![4 => words.prop_map(str::to_owned), 1 => "\\PC{0,6}"];
    (0usize..1000, 0usize..12, to).prop_map(|(at, length, to)| Change { at, length, to })
}

fn apply(text: &str, changes: &[Change]) -> String {
    let mut text = text.to_owned();
    for change in changes {
        let start = text.floor_char_boundary(text.len() * change.at / 1000);
        let end = text.ceil_char_boundary((start + change.length).min(text.len()));
        text.replace_range(start..end, &change.to);
    }
    text
}

fn read(text: &str, options: &[String]) {
    let mut diagnostics = Diagnostics::default();
    let experiment =
        experiment::read(&netloom::Registry::standard(), "x.toml", text, options, &mut diagnostics);
    if !diagnostics.is_empty() {
        let reported = render::render(&diagnostics, false);
        assert!(reported.contains("error: ") && reported.contains("found\n"));
    }
    match experiment {
        Some(experiment) => drop(experiment::resolved::json(&experiment).to_string()),
        None => assert!(!diagnostics.is_empty(), "nothing was read and nothing told"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn changed_examples(which in any::<prop::sample::Index>(), changes in prop::collection::vec(change(), 0..6)) {
        let examples = examples();
        read(&apply(&examples[which.index(examples.len())], &changes), &[]);
    }

    #[test]
    fn odd_options(path in "[a-z.0-9]{0,12}|job\\.[0-9]\\.[a-z]{1,8}", value in "\\PC{0,12}") {
        read(&examples()[0], &[format!("{path}={value}"), path]);
    }

    #[test]
    fn any_text(text in "\\PC{0,200}") {
        read(&text, &[]);
    }
}
