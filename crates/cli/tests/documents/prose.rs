//! Plain English: how long sentences are, and which words no page has.

use crate::page::{Page, Piece};
use std::process::Command;

/// Words per sentence, at most.
const LONGEST: usize = 35;
/// Words per sentence, in the mean of a page.
const MEAN: f64 = 20.0;

/// Words that only this project would use so, or that do not say what they mean, and what the field says.
const FORBIDDEN: &[(&str, &str)] = &[
    ("told", "reported, stated, given"),
    ("tell", "report, show, distinguish"),
    ("tells", "reports, shows"),
    ("telling", "reporting"),
    ("untold", "not reported"),
    ("mistake", "error"),
    ("mistakes", "errors"),
    ("the house", "the project"),
    ("house rules", "coding rules"),
    ("whoever", "who, users who"),
    ("believed", "trusted, checked"),
    ("in vain", "without success"),
    ("lone", "single"),
    ("for ever", "forever, without end"),
    ("ways", "paths; or methods"),
    ("the way", "the path; or how"),
    ("way round", "path around the ring"),
    ("on their way", "in flight"),
    ("on the way", "along the path"),
    ("no way", "no path"),
    ("minimal way", "minimal path"),
];

/// Words that count: symbols of a formula do not.
fn counted(words: &[&str]) -> usize {
    let letters = |word: &str| word.chars().filter(|c| c.is_alphabetic()).count();
    words.iter().filter(|word| letters(word) > 1 || matches!(**word, "a" | "A" | "I")).count()
}

/// Sentences of a text, with their words counted. Code counts as one word.
fn sentences(text: &str) -> Vec<(usize, String)> {
    let plain: String =
        text.split('`').enumerate().map(|(i, part)| if i % 2 == 0 { part } else { "code" }).collect();
    let mut found = Vec::new();
    let mut words: Vec<&str> = Vec::new();
    for word in plain.split_whitespace() {
        words.push(word);
        let bare = word.trim_end_matches([')', '"', '*', '\'', '_']);
        // Abbreviations and dots between numbers end no sentence.
        let short = ["e.g.", "i.e.", "et", "al.", "vs.", "W.", "E.", "J.", "P.", "Y.", ".."];
        if bare.ends_with(['.', '!', '?', ':', ';']) && !short.contains(&bare) {
            let count = counted(&words);
            found.push((count, words.join(" ")));
            words.clear();
        }
    }
    let count = counted(&words);
    found.push((count, words.join(" ")));
    found.retain(|(count, _)| *count > 0);
    found
}

/// A link is its text, an address no word.
fn without_targets(text: &str) -> String {
    let mut plain = String::new();
    for (i, part) in text.split("](").enumerate() {
        plain.push_str(if i == 0 { part } else { part.split_once(')').map_or("", |(_, rest)| rest) });
        plain.push(' ');
    }
    plain
}

/// What is wrong with sentences of a place.
fn too_long(place: &str, texts: &[String], mean: f64) -> Vec<String> {
    let all: Vec<(usize, String)> = texts.iter().flat_map(|t| sentences(&without_targets(t))).collect();
    let mut found: Vec<String> = all
        .iter()
        .filter(|(count, _)| *count > LONGEST)
        .map(|(count, s)| format!("{place}: {count} words: {s}"))
        .collect();
    let words: usize = all.iter().map(|(count, _)| count).sum();
    if !all.is_empty() && words as f64 / all.len() as f64 > mean {
        found.push(format!("{place}: {:.1} words a sentence in the mean", words as f64 / all.len() as f64));
    }
    found
}

/// Forbidden words in a text, outside of code.
fn forbidden(place: &str, text: &str) -> Vec<String> {
    let prose: String = text.split('`').step_by(2).collect::<Vec<_>>().join(" code ");
    let lower = without_targets(&prose).to_lowercase();
    let spaced: String =
        lower.chars().map(|c| if c.is_alphanumeric() || c == '-' { c } else { ' ' }).collect();
    let words = format!(" {} ", spaced.split_whitespace().collect::<Vec<_>>().join(" "));
    let here = FORBIDDEN.iter().filter(|(word, _)| words.contains(&format!(" {word} ")));
    here.map(|(word, better)| {
        let at = words.find(&format!(" {word} ")).unwrap_or(0);
        let around: String =
            words[..at].chars().rev().take(40).collect::<Vec<_>>().into_iter().rev().collect();
        format!("{place}: \"{word}\" (say: {better}): ..{around} {word}..")
    })
    .collect()
}

fn prose(page: &Page) -> Vec<String> {
    page.pieces()
        .into_iter()
        .filter_map(|p| if let Piece::Prose(text) = p { Some(text) } else { None })
        .collect()
}

#[test]
fn sentences_are_short() {
    // A page of the reference may have a sentence or two: all of them together are one text.
    let (made, written): (Vec<Page>, Vec<Page>) = pages().into_iter().partition(Page::is_made);
    let mut found: Vec<String> =
        written.iter().flat_map(|page| too_long(&page.name, &prose(page), MEAN)).collect();
    let made: Vec<String> = made.iter().flat_map(prose).collect();
    found.extend(too_long("docs/reference", &made, MEAN));
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn no_page_has_private_words() {
    let mut pages = Page::all();
    pages.retain(|page| page.name != "docs/SUMMARY.md");
    let found: Vec<String> =
        pages.iter().flat_map(|page| forbidden(&page.name, &page.without_blocks())).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Help of a command and of all below it.
fn helps(path: &[&str], found: &mut Vec<(String, String)>) {
    let run = Command::new(env!("CARGO_BIN_EXE_netloom")).args(path).arg("--help").output();
    let text = String::from_utf8_lossy(&run.expect("it starts").stdout).into_owned();
    let below = text.split("\nCommands:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap_or("");
    let names =
        below.lines().filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
    for name in names {
        helps(&[path, &[name]].concat(), found);
    }
    found.push((format!("netloom {} --help", path.join(" ")), text));
}

#[test]
fn help_has_no_private_words() {
    let mut all = Vec::new();
    helps(&[], &mut all);
    assert!(all.len() > 30, "{} commands", all.len());
    let found: Vec<String> = all.iter().flat_map(|(place, text)| forbidden(place, text)).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Messages that tests hold: each snapshot of a diagnostic.
#[test]
fn messages_are_plain() {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("tests/snapshots").expect("snapshots") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if !name.contains("@") {
            continue;
        }
        found.extend(in_messages(&name, &std::fs::read_to_string(&path).expect("text")));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// What is wrong with the messages of a snapshot.
fn in_messages(name: &str, text: &str) -> Vec<String> {
    // Lines of the file that is shown, and the expression that the snapshot is of, are not ours.
    let ours = |line: &&str| {
        line.starts_with("error:")
            || line.contains("= help:")
            || line.contains("= note:")
            || line.ends_with(" found")
    };
    // A cycle of channels is a list.
    let messages = text.lines().filter(ours).filter(|line| !line.contains(" -> router "));
    let mut found = Vec::new();
    for message in messages.map(str::to_owned) {
        found.extend(forbidden(name, &message));
        // Lists of names are no sentences.
        if !message.contains("known are") && !message.contains("known keys") {
            found.extend(too_long(name, &[message], LONGEST as f64));
        }
    }
    found
}

/// Planted: a private word in an error, in a help and a long note are found; one in the user's file is none of ours.
#[test]
fn bad_messages_are_found() {
    let long = vec!["word"; 36].join(" ");
    let text = format!(
        "error: no key is told\n3 | told = 1\n   = help: whoever reads\n   = note: {long}.\n2 mistakes found\n"
    );
    assert_eq!(in_messages("x", &text).len(), 4);
    assert_eq!(in_messages("x", "3 | told = 1\nerror: `told` is no key\n"), [""; 0]);
}

/// The summary is a list of links.
fn pages() -> Vec<Page> {
    let mut pages = Page::all();
    pages.retain(|page| page.name != "docs/SUMMARY.md");
    pages
}

/// Planted: a sentence of 36 words, a page of sentences with 21, and a private word are found; the same in code are not.
#[test]
fn bad_prose_is_found() {
    let words = |n: usize| format!("{}.", vec!["word"; n].join(" "));
    assert_eq!(too_long("x", &[words(36) + " " + &words(1)], MEAN).len(), 1);
    assert_eq!(too_long("x", &[words(35) + " " + &words(1)], MEAN).len(), 0);
    assert_eq!(too_long("x", &[words(21)], MEAN).len(), 1);
    assert_eq!(too_long("x", &[format!("`{}` is [code]({}).", words(40), words(40))], MEAN).len(), 0);
    assert_eq!(forbidden("x", "It is told\nby the way.").len(), 2);
    assert_eq!(forbidden("x", "`told` [a](told.md) retold always").len(), 0);
}
