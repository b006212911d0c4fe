//! The reference: every section, key and name of the experiment file, as Markdown.
//!
//! It is made from the same declarations as `list`, `explain` and the schema. [`crate::book`] makes a page of each entry, with an example.

use crate::{
    catalog::{Shelf, shelves},
    registry::Registry,
};
use base::{
    param::{Kind, Param},
    registry::About,
    units::Family,
};

const HEAD: &str = "# Reference of the experiment file

Printed by `netloom reference` from the declarations that the reader itself uses. `netloom explain NAME` shows one entry,
`netloom schema` the JSON schema for editors.

An experiment file is TOML. Unknown keys are errors. Quantities are text with a unit:
";

/// The reference as Markdown, of everything in this registry.
#[must_use]
pub fn reference(registry: &Registry) -> String {
    let mut shelves = shelves(registry);
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
            text += &entry(about, shelf.keys(index), &shelf.usage(index), &classes(registry, about, shelf));
        }
    }
    text + &verdicts()
}

/// States and flags of verdicts.
pub(crate) fn verdicts() -> String {
    let head = "\n## Verdicts (`verdict` of summary.json)\n\nThe first five are states, gravest first: the gravest one found is `state`. All that were found \
                are `flags`, and `detail` has the facts.\n\n| flag | meaning |\n| --- | --- |\n";
    let rows = results::flags::FLAGS.iter().map(|(name, meaning)| format!("| `{name}` | {meaning} |\n"));
    head.to_owned() + &rows.collect::<String>()
}

/// Link classes of a topology; empty for anything else.
pub(crate) fn classes(registry: &Registry, about: &About, shelf: &Shelf) -> String {
    let topology = registry.topologies.iter().find(|t| t.about.name == about.name);
    topology.filter(|_| shelf.plural == "topologies").map_or_else(String::new, |t| {
        let (needed, free) = t.classes.split_at(t.required);
        match free {
            [] => needed.join(", "),
            _ if needed.is_empty() => format!("may be left out: {}", free.join(", ")),
            _ => format!("{}; may be left out: {}", needed.join(", "), free.join(", ")),
        }
    })
}

fn entry(about: &About, params: &[Param], usage: &str, classes: &str) -> String {
    let mut text = format!("\n### {}\n\n{}{usage}.\n", about.name, capitalised(sentence(about.summary)));
    if !about.doc.is_empty() {
        text += &format!("\n{}\n", about.doc);
    }
    if !params.is_empty() {
        text += "\n";
    }
    for param in params {
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
pub(crate) fn sentence(text: &str) -> &str {
    text.trim_end_matches('.')
}

pub(crate) fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Type, range and default of a key: `integer from 1 to 16, default 4`.
#[must_use]
pub fn form(param: &Param) -> String {
    let kind = match param.kind {
        Kind::Int { min, max: u64::MAX } => format!("integer, at least {min}"),
        Kind::Int { min, max } => format!("integer from {min} to {max}"),
        Kind::Ints { min, max } => format!("list of integers from {min} to {max}"),
        Kind::Real { min, max } => format!("number from {min} to {max}"),
        Kind::Time => "time".to_owned(),
        Kind::Bytes => "bytes".to_owned(),
        Kind::Bandwidth => "bandwidth".to_owned(),
        Kind::Bool => "true or false".to_owned(),
        Kind::Text => "text".to_owned(),
        Kind::Texts => "list of texts".to_owned(),
        Kind::File => "path".to_owned(),
        Kind::Choice(words) => words.join(" | "),
    };
    match param.default {
        None => format!("{kind}; mandatory"),
        Some("") => format!("{kind}; optional"),
        Some(default) => format!("{kind}; default {default}"),
    }
}
