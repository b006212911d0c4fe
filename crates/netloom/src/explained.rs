//! What something that an experiment can name does, as text in lines and as JSON.

use crate::{catalog::Shelf, reference::form};
use base::{
    param::{Kind, Param},
    units::Family,
};
use results::flags::FLAGS;
use serde_json::{Value as Json, json};

/// Width of the text.
pub const COLUMNS: usize = 100;

/// An entry for people: what it does, its keys with their forms and units, where it comes from.
#[must_use]
pub fn text(shelf: &Shelf, index: usize) -> String {
    let about = shelf.entries[index];
    let heading = format!("{}{} ({}, {})", about.name, shelf.usage(index), shelf.singular, shelf.key);
    let mut text = wrap(&heading, 0) + "\n" + &wrap(about.summary, 2);
    if !about.doc.is_empty() {
        text += "\n";
        text += &wrap(about.doc, 2);
    }
    let params = shelf.keys(index);
    if !params.is_empty() {
        text += "\nKeys\n";
        for param in params {
            text += &wrap(&format!("{} = {}", param.name, form(param)), 2);
            text += &wrap(param.doc, 6);
        }
        text += &units(params);
    }
    if !about.source.is_empty() {
        text += "\nSource\n";
        text += &wrap(about.source, 2);
    }
    text
}

/// The units of the quantities among the keys.
fn units(params: &[Param]) -> String {
    let mut text = String::new();
    for (kind, name, family) in [
        (Kind::Time, "time", Family::Time),
        (Kind::Bytes, "bytes", Family::Bytes),
        (Kind::Bandwidth, "bandwidth", Family::Bandwidth),
    ] {
        if params.iter().any(|p| p.kind == kind) {
            text += &wrap(&format!("{name}: {}", family.unit_list()), 2);
        }
    }
    if text.is_empty() { text } else { format!("\nUnits\n{text}") }
}

/// The same for programs.
#[must_use]
pub fn object(shelf: &Shelf, index: usize) -> Json {
    let about = shelf.entries[index];
    let params = shelf.keys(index).iter().map(|p| {
        let default = p.default.filter(|d| !d.is_empty());
        json!({"name": p.name, "form": form(p), "default": default, "mandatory": p.default.is_none(), "doc": p.doc})
    });
    let mut object = json!({
        "kind": shelf.singular, "key": shelf.key, "summary": about.summary, "doc": about.doc,
        "source": about.source, "params": params.collect::<Json>(),
    });
    if let Some(uses) = shelf.uses.get(index) {
        object["for"] = json!(uses);
    }
    object
}

/// What is no entry of its own and called so: keys (`load`, `job.load`), and states and flags of results. As text, and as objects for programs.
#[must_use]
pub fn within(shelves: &[Shelf], name: &str) -> (Vec<String>, Vec<Json>) {
    let words: Vec<&str> = name.split('.').filter(|word| word.parse::<u32>().is_err()).collect();
    let (mut texts, mut objects) = (Vec::new(), Vec::new());
    let Some((key, of)) = words.split_last() else { return (texts, objects) };
    let of = of.join(".");
    let entries = shelves.iter().flat_map(|shelf| (0..shelf.entries.len()).map(move |index| (shelf, index)));
    for (shelf, index) in entries {
        let owner = shelf.entries[index].name;
        let meant = of.is_empty() || of == owner || shelf.key.contains(&format!("[{of}]"));
        for param in shelf.keys(index).iter().filter(|param| meant && param.name == *key) {
            let heading = format!("{key} (key of {} {owner}) = {}", shelf.singular, form(param));
            texts.push(wrap(&heading, 0) + &wrap(param.doc, 2));
            objects.push(json!({"kind": "key", "of": owner, "form": form(param), "doc": param.doc}));
        }
    }
    for shelf in shelves.iter().filter(|shelf| chooses(shelf, &of, key)) {
        let names: Vec<&str> = shelf.entries.iter().map(|about| about.name).collect();
        let (heading, all) =
            (format!("{key} ({}): a {}, one of", shelf.key, shelf.singular), names.join(", "));
        texts.push(wrap(&heading, 0) + &wrap(&all, 2) + "`netloom explain` explains each by its name.\n");
        objects.push(json!({"kind": "choice", "key": shelf.key, "of": shelf.singular, "names": names}));
    }
    for (flag, doc) in FLAGS.iter().filter(|(flag, _)| *flag == name) {
        texts.push(wrap(&format!("{flag} (verdict of a run)"), 0) + &wrap(doc, 2));
        objects.push(json!({"kind": "verdict", "doc": doc}));
    }
    (texts, objects)
}

/// True if a key, of a section or of any if that is empty, names an entry of this shelf: `[fabric] topology`, `[[job]] workload`.
fn chooses(shelf: &Shelf, section: &str, key: &str) -> bool {
    let Some((place, named)) = shelf.key.rsplit_once(' ') else { return false };
    let place = place.trim_matches(['[', ']']);
    named == key && shelf.key.starts_with('[') && (section.is_empty() || section == place)
}

/// Words in lines of at most [`COLUMNS`], indented.
#[must_use]
pub fn wrap(text: &str, indent: usize) -> String {
    let mut lines = String::new();
    for paragraph in text.split('\n') {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            if !line.is_empty() && indent + line.len() + 1 + word.len() > COLUMNS {
                lines += &format!("{:indent$}{line}\n", "");
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line += word;
        }
        lines += format!("{:indent$}{line}", "").trim_end();
        lines.push('\n');
    }
    lines
}
