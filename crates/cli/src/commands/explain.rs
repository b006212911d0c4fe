//! `netloom explain NAME`: what something does, its keys and where it comes from.

use crate::{
    args::{ExplainArgs, Format},
    console::Console,
    exit::{Exit, Outcome},
};
use base::{
    param::{Kind, Param},
    registry::nearest,
    units::Family,
};
use netloom::{
    Error, ErrorKind, Registry,
    catalog::{Shelf, shelves},
    reference::form,
};
use serde_json::{Value as Json, json};

/// Width of the text.
const COLUMNS: usize = 100;

/// Prints every entry of that name: `uniform` may be on several shelves.
///
/// # Errors
/// If there is none, or nothing can be written.
pub fn explain(args: &ExplainArgs, console: &mut Console<'_>) -> Outcome {
    let shelves = shelves(&Registry::standard());
    let found: Vec<(&Shelf, usize)> = shelves
        .iter()
        .flat_map(|shelf| (0..shelf.entries.len()).map(move |index| (shelf, index)))
        .filter(|(shelf, index)| shelf.entries[*index].name == args.name)
        .collect();
    if found.is_empty() {
        let names = shelves.iter().flat_map(|s| s.entries.iter().map(|a| a.name));
        let help = match nearest(&args.name, names).first() {
            Some(near) => format!("did you mean `{near}`? `netloom list` shows all names"),
            None => "`netloom list` shows all names".to_owned(),
        };
        return Err(
            Error::new(ErrorKind::Usage, format!("nothing is called `{}`", args.name)).with_help(help)
        );
    }
    match args.format {
        Format::Text => {
            let parts: Vec<String> = found.iter().map(|(shelf, index)| text(shelf, *index)).collect();
            console.print(&parts.join("\n"))?;
        }
        Format::Json => {
            let entries: Json = found.iter().map(|(shelf, index)| object(shelf, *index)).collect();
            console.print_json(&json!({"name": args.name, "entries": entries}))?;
        }
    }
    Ok(Exit::Done)
}

fn text(shelf: &Shelf, index: usize) -> String {
    let about = shelf.entries[index];
    let mut text = format!("{}{} ({}, {})\n\n", about.name, shelf.usage(index), shelf.singular, shelf.key);
    text += &wrap(about.summary, 2);
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

fn object(shelf: &Shelf, index: usize) -> Json {
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

/// Words in lines of at most [`COLUMNS`], indented.
fn wrap(text: &str, indent: usize) -> String {
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
