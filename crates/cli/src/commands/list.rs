//! `netloom list [KIND]`: names and what they are.

use crate::{
    args::{Format, ListArgs},
    console::Console,
    exit::{Exit, Outcome},
};
use base::registry::nearest;
use netloom::{
    Error, ErrorKind, Registry,
    catalog::{Shelf, shelves},
};
use serde_json::{Map, Value as Json, json};

/// Prints one shelf or all.
///
/// # Errors
/// If there is no such kind, or nothing can be written.
pub fn list(args: &ListArgs, console: &mut Console<'_>) -> Outcome {
    let mut chosen = shelves(&Registry::standard());
    if let Some(kind) = &args.kind {
        let plurals: Vec<&str> = chosen.iter().map(|s| s.plural).collect();
        if !plurals.contains(&kind.as_str()) {
            let help = match nearest(kind, plurals.iter().copied()).first() {
                Some(near) => format!("did you mean `{near}`? there are {}", plurals.join(", ")),
                None => format!("there are {}", plurals.join(", ")),
            };
            return Err(Error::new(ErrorKind::Usage, format!("there is no list of `{kind}`")).with_help(help));
        }
        chosen.retain(|shelf| shelf.plural == kind);
    }
    match args.format {
        Format::Text => console.print(&text(&chosen))?,
        Format::Json => console.print_json(&object(&chosen))?,
    }
    Ok(Exit::Done)
}

fn text(shelves: &[Shelf]) -> String {
    let width = shelves.iter().flat_map(|s| s.entries.iter().map(|a| a.name.len())).max().unwrap_or(0);
    let parts = shelves.iter().map(|shelf| {
        let lines = shelf.entries.iter().enumerate();
        let lines = lines.map(|(i, a)| format!("  {:width$}  {}{}\n", a.name, a.summary, shelf.usage(i)));
        format!("{} ({})\n{}", shelf.plural, shelf.key, lines.collect::<String>())
    });
    parts.collect::<Vec<_>>().join("\n")
}

fn object(shelves: &[Shelf]) -> Json {
    let parts = shelves.iter().map(|shelf| {
        let entries = shelf.entries.iter().enumerate().map(|(i, a)| match shelf.uses.get(i) {
            Some(uses) => json!({"name": a.name, "summary": a.summary, "for": uses}),
            None => json!({"name": a.name, "summary": a.summary}),
        });
        (shelf.plural.to_owned(), entries.collect::<Json>())
    });
    Json::Object(parts.collect::<Map<_, _>>())
}
