//! The table of contents and the links.

use crate::page::{Page, Piece, ROOT};
use base::sorted::SortedSet;
use std::{path::Path, process::Command};

/// Names that links may have within a page: a heading's words, as GitHub and mdBook write them.
fn anchors(page: &Page) -> SortedSet<String> {
    let slug = |heading: String| {
        let kept = heading.to_lowercase();
        let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    let headings =
        page.pieces().into_iter().filter_map(|p| if let Piece::Heading(h) = p { Some(h) } else { None });
    headings.map(slug).collect()
}

/// Targets of links and pictures, outside of blocks and of code.
fn targets(page: &Page) -> Vec<String> {
    let text = page.without_blocks();
    let prose: String = text.split('`').step_by(2).collect::<Vec<_>>().join("`");
    let links = prose.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let images = prose.split("src=\"").skip(1).filter_map(|rest| rest.split('"').next());
    links.chain(images).map(str::to_owned).collect()
}

/// The file that a link of a page leads to, from the root of the repository; `None` if it leaves that.
fn resolved(page: &str, file: &str) -> Option<String> {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in file.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// What is wrong with the links of a page.
fn broken(page: &Page) -> Vec<String> {
    let inside = page.name.starts_with("docs/");
    let mut found = Vec::new();
    for target in targets(page).iter().filter(|t| !t.starts_with("http") && !t.starts_with("mailto:")) {
        let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
        let name = if file.is_empty() { Some(page.name.clone()) } else { resolved(&page.name, file) };
        let name = name.unwrap_or_default();
        // What is not in the book is not beside it where it is read.
        let leaves = name.is_empty() || (inside && !name.starts_with("docs/"));
        if leaves || !Path::new(ROOT).join(&name).exists() {
            found.push(format!("{}: {target}", page.name));
        } else if !anchor.is_empty() && !anchors(&Page::read(&name)).contains(anchor) {
            found.push(format!("{}: {target} (no such heading)", page.name));
        }
    }
    found
}

#[test]
fn every_page_is_in_the_table_of_contents_once() {
    let there: Vec<String> =
        Page::book().into_iter().map(|p| p.name).filter(|n| n != "docs/SUMMARY.md").collect();
    let found = misplaced(&Page::read("docs/SUMMARY.md"), &there);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Pages that the contents list twice, lack, or list though they are not there.
fn misplaced(summary: &Page, there: &[String]) -> Vec<String> {
    let listed: Vec<String> = targets(summary).iter().map(|t| format!("docs/{t}")).collect();
    let once: SortedSet<&String> = listed.iter().collect();
    let twice = once.iter().filter(|name| listed.iter().filter(|other| other == *name).count() > 1);
    let mut found: Vec<String> = twice.map(|name| format!("{name} is listed twice")).collect();
    found
        .extend(there.iter().filter(|name| !once.contains(name)).map(|name| format!("{name} is not listed")));
    found.extend(once.iter().filter(|name| !there.contains(name)).map(|name| format!("{name} is not there")));
    found
}

/// Planted: a page listed twice, one not listed and one that is not there are found.
#[test]
fn misplaced_pages_are_found() {
    let text = "# Summary\n\n- [A](a.md)\n  - [B](b/b.md)\n- [A again](a.md)\n- [Gone](gone.md)\n".to_owned();
    let summary = Page { name: "docs/SUMMARY.md".to_owned(), text };
    let there = ["docs/a.md", "docs/b/b.md", "docs/c.md"].map(str::to_owned);
    let expected = ["docs/a.md is listed twice", "docs/c.md is not listed", "docs/gone.md is not there"];
    assert_eq!(misplaced(&summary, &there), expected);
}

#[test]
fn links_lead_somewhere() {
    let found: Vec<String> = Page::all().iter().flat_map(broken).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// A link to nothing, to no heading and out of the book are found; one that is code is none.
#[test]
fn broken_links_are_found() {
    let text = "[a](none.md) [b](flow.md#no-such) [c](../README.md) [d](flow.md) `[e](f.md)`".to_owned();
    let found = broken(&Page { name: "docs/x.md".to_owned(), text });
    let expected =
        ["docs/x.md: none.md", "docs/x.md: flow.md#no-such (no such heading)", "docs/x.md: ../README.md"];
    assert_eq!(found, expected);
    let text = "[a](../flow.md) [b](flow.md) [c](../../README.md) [d](../../../etc)".to_owned();
    let found = broken(&Page { name: "docs/reference/x.md".to_owned(), text });
    assert_eq!(
        found,
        ["flow.md", "../../README.md", "../../../etc"].map(|t| format!("docs/reference/x.md: {t}"))
    );
}

/// mdBook builds the book without a warning, where it is installed.
#[test]
fn mdbook_builds_it() {
    let folder = std::env::temp_dir().join(format!("netloom-book-{}", std::process::id()));
    let build =
        Command::new("mdbook").arg("build").arg(Path::new(ROOT).join("docs")).arg("-d").arg(&folder).output();
    let Ok(run) = build else {
        eprintln!(
            "SKIPPED: mdbook is not installed (cargo install mdbook); links and contents are looked at without it"
        );
        return;
    };
    let log = String::from_utf8_lossy(&run.stderr).into_owned();
    let whole = folder.join("index.html").exists() && folder.join("print.html").exists();
    std::fs::remove_dir_all(&folder).expect("mdbook wrote it");
    assert!(run.status.success() && whole, "{log}");
    assert!(!log.contains("WARN") && !log.contains("ERROR"), "{log}");
}
