//! The pages: a contents page, one for each list of names and one for each entry.

use super::{
    examples::{Example, example, slug},
    figures::{Drawn, ran},
};
use crate::{
    catalog::{Shelf, shelves},
    error::{Error, ErrorKind},
    ours::COMMENT,
    reference::{capitalised, classes, form, sentence, verdicts},
    registry::Registry,
};
use base::{param::Param, scratch::Scratch, units::Family};
use std::{fs, io, path::Path};

/// A file of the reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Its name below the book's folder: `reference/topologies/torus.md`.
    pub name: String,
    /// All of it.
    pub text: String,
    /// What contents call it, and how deep it stands there; none of figures and of the contents page itself.
    pub entry: Option<(String, usize)>,
}

pub(super) const HEAD: &str = "# Every name and key

Written by `netloom reference --out docs`, from the declarations that the reader of experiments itself uses. An example of `netloom run` was run when its page was made; a test runs the others.
`netloom explain NAME` shows one entry, `netloom schema` the JSON schema for editors.

An experiment file is TOML. Unknown keys are errors. Quantities are text with a unit:

";

/// All files of the reference, in the order of its contents.
///
/// # Errors
/// If an example cannot be run.
pub fn pages(registry: &Registry) -> Result<Vec<Page>, Error> {
    let mut shelves = shelves(registry);
    // The file's own sections first.
    shelves.rotate_right(1);
    let mut all = vec![contents(&shelves)];
    for shelf in &shelves {
        all.push(list(registry, shelf));
        for index in 0..shelf.entries.len() {
            all.extend(entry(registry, shelf, index)?);
        }
    }
    let text = format!("# Verdicts\n{}", verdicts().split_once("\n\n").map_or("", |(_, rest)| rest));
    let name = "reference/verdicts.md".to_owned();
    all.push(Page { name, text, entry: Some(("Verdicts".to_owned(), 1)) });
    all.iter_mut().for_each(|page| page.text += &format!("\n{COMMENT}"));
    Ok(all)
}

fn contents(shelves: &[Shelf]) -> Page {
    let mut text = HEAD.to_owned();
    for (name, family) in UNITS {
        text += &format!("- {name}: {}\n", family.unit_list());
    }
    text += "\n| list | named by | entries |\n| --- | --- | --- |\n";
    for shelf in shelves {
        let name = capitalised(shelf.plural);
        text += &format!(
            "| [{name}](reference/{}.md) | {} | {} |\n",
            shelf.plural,
            named_by(shelf),
            shelf.entries.len()
        );
    }
    text += "| [Verdicts](reference/verdicts.md) | `verdict` of summary.json | |\n";
    Page { name: "reference.md".to_owned(), text, entry: None }
}

const UNITS: [(&str, Family); 3] =
    [("Time", Family::Time), ("Bytes", Family::Bytes), ("Bandwidth", Family::Bandwidth)];

/// Where a file or a command names an entry.
fn named_by(shelf: &Shelf) -> String {
    match shelf.key.strip_prefix("of ") {
        Some(_) => "`[NAME]` in the experiment file".to_owned(),
        None => format!("`{}`", shelf.key),
    }
}

/// The page of a list: what its entries are called and what they do, in a line each.
fn list(registry: &Registry, shelf: &Shelf) -> Page {
    let title = capitalised(shelf.plural);
    let mut text =
        format!("# {title}\n\nNamed by: {}.\n\n| name | what it is |\n| --- | --- |\n", named_by(shelf));
    for (index, about) in shelf.entries.iter().enumerate() {
        let page = slug(registry, shelf, index);
        let summary = cell(sentence(about.summary));
        text +=
            &format!("| [{}]({}/{page}.md) | {summary}{} |\n", about.name, shelf.plural, shelf.usage(index));
    }
    text += "\n[All lists](../reference.md)\n";
    Page { name: format!("reference/{}.md", shelf.plural), text, entry: Some((title, 1)) }
}

/// The page of an entry, with its figure.
fn entry(registry: &Registry, shelf: &Shelf, index: usize) -> Result<Vec<Page>, Error> {
    let about = shelf.entries[index];
    let page = slug(registry, shelf, index);
    let folder = format!("reference/{}", shelf.plural);
    let mut text = format!("# {page}\n\n{}{}.\n", capitalised(sentence(about.summary)), shelf.usage(index));
    if !about.doc.is_empty() {
        text += &format!("\n{}\n", about.doc);
    }
    text += &keys(shelf.keys(index));
    let classes = classes(registry, about, shelf);
    if !classes.is_empty() {
        text += &format!("\nLink classes: {classes}.\n");
    }
    let mut pages = Vec::new();
    if let Some(example) = example(registry, shelf, index) {
        let shown = shown(&example, about.name).map_err(|e| {
            Error::new(e.kind(), format!("the example of {}/{page} fails: {e}", shelf.plural))
        })?;
        text += &shown.text;
        if let Some(Drawn { svg, caption }) = shown.figure {
            text += &format!("\n![{page}]({page}.svg)\n\n{caption}\n");
            pages.push(Page { name: format!("{folder}/{page}.svg"), text: svg, entry: None });
        }
    }
    if !about.source.is_empty() {
        text += &format!("\n## Source\n\n{}.\n", capitalised(sentence(about.source)));
    }
    text += &format!("\n[All {}](../{}.md)\n", shelf.plural, shelf.plural);
    pages.insert(0, Page { name: format!("{folder}/{page}.md"), text, entry: Some((page, 2)) });
    Ok(pages)
}

/// A table of keys; nothing if there are none.
fn keys(params: &[Param]) -> String {
    if params.is_empty() {
        return String::new();
    }
    let row = |p: &Param| format!("| `{}` | {} | {} |\n", p.name, cell(&form(p)), cell(sentence(p.doc)));
    let rows: String = params.iter().map(row).collect();
    format!("\n## Keys\n\n| key | value | meaning |\n| --- | --- | --- |\n{rows}")
}

/// Text within a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

struct Shown {
    text: String,
    figure: Option<Drawn>,
}

/// An example with what it prints.
fn shown(example: &Example, name: &str) -> Result<Shown, Error> {
    // For the files of one example.
    let folder = Scratch::new("example").map_err(|e| failed(&std::env::temp_dir(), &e))?;
    let mut text = "\n## Example\n".to_owned();
    let experiment = [("example.toml".to_owned(), example.text.clone())];
    for (file, content) in experiment.iter().chain(&example.files) {
        let language = if file.ends_with(".toml") { "toml" } else { "text" };
        let named = if file == "example.toml" { String::new() } else { format!("\n`{file}`:\n") };
        text += &format!("{named}\n<!-- file: {file} -->\n```{language}\n{content}```\n");
        let path = folder.path().join(file);
        fs::write(&path, content).map_err(|e| failed(&path, &e))?;
    }
    text += &format!("\n```console\n$ {}\n", example.command);
    let ran = ran(example, name, folder.path())?;
    let (printed, figure) = ran.map_or((Vec::new(), None), |ran| (ran.printed, ran.figure));
    for line in &printed {
        text += &format!("{line}\n");
    }
    text += if printed.is_empty() { "```\n" } else { "...\n```\n" };
    Ok(Shown { text, figure })
}

fn failed(path: &Path, e: &io::Error) -> Error {
    Error::new(ErrorKind::Output, format!("cannot write `{}`: {e}", path.display()))
}
