//! `netloom explain NAME`: what something does, its keys and where it comes from.

use crate::{
    args::{ExplainArgs, Format},
    console::Console,
    exit::{Exit, Outcome},
};
use base::registry::nearest;
use netloom::{
    Error, ErrorKind, Registry,
    catalog::{Shelf, shelves},
    explained::{object, text, within},
};
use serde_json::{Value as Json, json};

/// Prints every entry of that name: `uniform` may be on several shelves. If there is none, keys and flags of that name.
///
/// # Errors
/// If there is none, or nothing can be written.
pub fn explain(args: &ExplainArgs, console: &mut Console<'_>) -> Outcome {
    let Some(name) = &args.name else {
        let help = "try `netloom explain ugal-l`; `netloom list` shows all names";
        return Err(Error::new(ErrorKind::Usage, "which name is to be explained?").with_help(help));
    };
    let shelves = shelves(&Registry::standard());
    let found: Vec<(&Shelf, usize)> = shelves
        .iter()
        .flat_map(|shelf| (0..shelf.entries.len()).map(move |index| (shelf, index)))
        .filter(|(shelf, index)| shelf.entries[*index].name == name)
        .collect();
    let (keys, key_objects) = if found.is_empty() { within(&shelves, name) } else { Default::default() };
    if found.is_empty() && keys.is_empty() {
        let names = shelves.iter().flat_map(|s| s.entries.iter().map(|a| a.name));
        let help = match nearest(name, names).first() {
            Some(near) => format!("did you mean `{near}`? `netloom list` shows all names"),
            None => "`netloom list` shows all names".to_owned(),
        };
        return Err(Error::new(ErrorKind::Usage, format!("nothing is called `{name}`")).with_help(help));
    }
    match args.format {
        Format::Text => {
            let parts: Vec<String> =
                found.iter().map(|(shelf, index)| text(shelf, *index)).chain(keys).collect();
            console.print(&parts.join("\n"))?;
        }
        Format::Json => {
            let entries: Json =
                found.iter().map(|(shelf, index)| object(shelf, *index)).chain(key_objects).collect();
            console.print_json(&json!({"name": name, "entries": entries}))?;
        }
    }
    Ok(Exit::Done)
}
