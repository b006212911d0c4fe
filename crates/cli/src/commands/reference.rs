//! `netloom reference`: every section, key and name of the experiment file, as Markdown.
//!
//! It is made from the same declarations as `list`, `explain` and the schema; `docs/reference.md` is its output.

use super::explain::form;
use crate::{
    catalog::{Shelf, shelves},
    console::Console,
    exit::Exit,
    experiment::keys::TOPOLOGY,
    failure::Outcome,
};
use base::{
    registry::{About, find},
    units::Family,
};

const HEAD: &str = "# Reference of the experiment file

Printed by `netloom reference` from the declarations that the reader itself uses. `netloom explain NAME` shows one entry,
`netloom schema` the JSON schema for editors.

An experiment file is TOML. Unknown keys are errors. Quantities are text with a unit:
";

/// Prints the reference.
///
/// # Errors
/// If nothing can be written.
pub fn print(console: &mut Console<'_>) -> Outcome {
    console.print(&reference())?;
    Ok(Exit::Done)
}

/// The reference.
#[must_use]
pub fn reference() -> String {
    let mut shelves = shelves();
    // The file's own sections first.
    shelves.rotate_right(1);
    let mut text = HEAD.to_owned();
    for (name, family) in [("Time", Family::Time), ("Bytes", Family::Bytes), ("Bandwidth", Family::Bandwidth)]
    {
        text += &format!("\n- {name}: {}", family.unit_list());
    }
    text += "\n";
    for shelf in &shelves {
        text += &format!("\n## {} ({})\n", capitalised(shelf.plural), shelf.key);
        for (index, about) in shelf.entries.iter().enumerate() {
            text += &entry(about, &shelf.usage(index), &classes(shelf, about));
        }
    }
    text
}

/// Link classes of a topology; empty for anything else.
fn classes(shelf: &Shelf, about: &About) -> String {
    let topologies = if shelf.plural == TOPOLOGY.plural { TOPOLOGY.entries } else { &[] };
    find(topologies, about.name).map_or_else(String::new, |t| {
        let (needed, free) = t.classes.split_at(t.required);
        match free {
            [] => needed.join(", "),
            _ => format!("{}; may be left out: {}", needed.join(", "), free.join(", ")),
        }
    })
}

fn entry(about: &About, usage: &str, classes: &str) -> String {
    let mut text = format!("\n### {}\n\n{}{usage}.\n", about.name, capitalised(sentence(about.summary)));
    if !about.doc.is_empty() {
        text += &format!("\n{}\n", about.doc);
    }
    if !about.params.is_empty() {
        text += "\n";
    }
    for param in about.params {
        text += &format!("- `{}` ({}): {}.\n", param.name, form(param), sentence(param.doc));
    }
    if !classes.is_empty() {
        text += &format!("\nLink classes: {classes}.\n");
    }
    if !about.source.is_empty() {
        text += &format!("\nSource: {}.\n", sentence(about.source));
    }
    text
}

/// Without its full stop, which the reference sets itself.
fn sentence(text: &str) -> &str {
    text.trim_end_matches('.')
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
