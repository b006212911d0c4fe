//! Reads one section of the file against declared parameters.
//!
//! Every rule that is the same for all sections lives here: types, units and ranges, defaults, mandatory keys,
//! unknown keys with the nearest names, and choices from a registry.

use super::{
    overrides::SOURCE,
    tree::{Data, Table},
    value,
};
use base::{
    diag::{Diagnostic, Diagnostics, Place},
    param::{Kind, Param, Value, Values},
    registry::{Registered, nearest},
    sorted::SortedMap,
};
use model::section::Section;
use std::{fmt, path::Path, sync::Arc};

/// Default of a key that may be left out and then has no value (text: the empty one).
pub const OPTIONAL: Option<&str> = Some("");

/// What a section may contain.
pub struct Spec<'a> {
    /// How messages call it: `[fabric]`.
    pub title: &'a str,
    /// Keys with declared values.
    pub params: Arc<[Param]>,
    /// Keys that somebody else reads.
    pub also: &'a [&'a str],
    /// Keys that other choices in this section would take: a key and what it belongs to. Asked only of a key that nobody knows.
    pub elsewhere: &'a dyn Fn() -> Vec<(&'static str, Owner)>,
    /// True if it is not known which keys are valid: unknown ones are then not reported.
    pub lenient: bool,
}

/// What a key belongs to.
#[derive(Clone, Copy, Debug)]
pub enum Owner {
    /// An entry of a registry.
    Entry {
        /// What an entry is called: `topology`.
        noun: &'static str,
        /// Its name in the registry.
        name: &'static str,
    },
    /// A section, by its title.
    Section(&'static str),
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entry { noun, name } => write!(f, "{noun} \"{name}\""),
            Self::Section(title) => f.write_str(title),
        }
    }
}

/// Reads a section; every mistake in it is reported.
pub fn read(spec: &Spec<'_>, table: &Table, home: Place, diagnostics: &mut Diagnostics) -> Section {
    let before = diagnostics.len();
    let mut section = Section {
        params: Arc::clone(&spec.params),
        values: Values::default(),
        places: SortedMap::new(),
        home,
        complete: true,
    };
    let mut meant = Vec::new();
    for entry in &table.entries {
        section.places.insert(entry.key.clone(), entry.node.place);
        if spec.also.contains(&entry.key.as_str()) {
            continue;
        }
        match spec.params.iter().find(|p| p.name == entry.key) {
            Some(param) => match value::read(param.name, param.kind, &entry.node) {
                Ok(value) => {
                    let value =
                        located(value, param.kind, &diagnostics.sources[entry.node.place.source].name);
                    section.values.0.insert(entry.key.clone(), value);
                }
                Err(mistake) => diagnostics.push(*mistake),
            },
            None if spec.lenient => {}
            None => {
                meant.extend(nearest_key(spec, &entry.key).map(str::to_owned));
                diagnostics.push(unknown_key(spec, &entry.key, entry.key_place));
            }
        }
    }
    for param in spec.params.iter() {
        // A misspelt key was reported already; that the right one is missing is no news.
        if table.get(param.name).is_none() && !meant.iter().any(|m| m == param.name) {
            fill(spec, param, &mut section, diagnostics);
        }
    }
    section.complete = diagnostics.len() == before;
    section
}

/// Paths in a file are relative to the file, those of the command line to the working directory.
fn located(value: Value, kind: Kind, source: &str) -> Value {
    match (value, Path::new(source).parent()) {
        (Value::Text(path), Some(folder)) if kind == Kind::File && source != SOURCE => {
            Value::Text(folder.join(path).to_string_lossy().into_owned())
        }
        (value, _) => value,
    }
}

/// The default of a key that was left out; a mandatory one is reported.
fn fill(spec: &Spec<'_>, param: &Param, section: &mut Section, diagnostics: &mut Diagnostics) {
    match param.default_value() {
        Some(value) => drop(section.values.0.insert(param.name.to_owned(), value)),
        None if param.is_optional() => {}
        None => {
            let message = format!("{} lacks `{}`", spec.title, param.name);
            let add = format!("add `{} = ..`, {}: {}", param.name, value::wanted(param.kind), param.doc);
            diagnostics.push(Diagnostic::new(section.home, message).label("incomplete").help(add));
        }
    }
}

fn known_keys<'a>(spec: &'a Spec<'_>) -> Vec<&'a str> {
    spec.also.iter().copied().chain(spec.params.iter().map(|p| p.name)).collect()
}

fn nearest_key<'a>(spec: &'a Spec<'_>, key: &str) -> Option<&'a str> {
    nearest(key, known_keys(spec)).first().copied()
}

fn unknown_key(spec: &Spec<'_>, key: &str, place: Place) -> Diagnostic {
    let mut diagnostic =
        Diagnostic::new(place, format!("{} has no key `{key}`", spec.title)).label("unknown key");
    if let Some(near) = nearest_key(spec, key) {
        diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
    }
    let owners: Vec<String> =
        (spec.elsewhere)().iter().filter(|(k, _)| *k == key).map(|(_, owner)| owner.to_string()).collect();
    if !owners.is_empty() {
        diagnostic = diagnostic.help(format!("`{key}` belongs to {}", owners.join(", ")));
    }
    diagnostic.help(format!("its keys are {}", known_keys(spec).join(", ")))
}

/// A choice from a registry: which key chooses, and what is chosen.
pub struct Choice<E: ?Sized + 'static> {
    /// Title of the section.
    pub title: String,
    /// The key, as it stands in the file.
    pub key: &'static str,
    /// What an entry is called: `topology`.
    pub noun: &'static str,
    /// What `netloom list` calls them: `topologies`.
    pub plural: &'static str,
    /// What may be chosen, in the registry's order.
    pub entries: Vec<&'static E>,
    /// Entry chosen when the key is left out.
    pub default: Option<&'static str>,
}

impl<E: Registered + ?Sized> Choice<E> {
    /// The entry of this name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&'static E> {
        self.entries.iter().copied().find(|e| e.about().name == name)
    }

    /// The chosen entry; a missing or unknown name is reported.
    pub fn choose(&self, table: &Table, home: Place, diagnostics: &mut Diagnostics) -> Option<&'static E> {
        let Some(entry) = table.get(self.key) else {
            if let Some(name) = self.default {
                return Some(self.named(name).expect("the default is registered"));
            }
            let message = format!("{} lacks `{}`", self.title, self.key);
            let help = format!("add `{} = ..`, one of {}", self.key, self.names());
            diagnostics.push(Diagnostic::new(home, message).label("incomplete").help(help));
            return None;
        };
        let Data::Text(name) = &entry.node.data else {
            let message = format!("`{}` must be text in quotes, not {}", self.key, entry.node.data.noun());
            let help = format!("it is one of {}", self.names());
            diagnostics.push(Diagnostic::new(entry.node.place, message).help(help));
            return None;
        };
        let found = self.named(name);
        if found.is_none() {
            let message = format!("there is no {} \"{name}\"", self.noun);
            let mut diagnostic =
                Diagnostic::new(entry.node.place, message).label(format!("unknown {}", self.noun));
            if let Some(near) = nearest(name, self.entries.iter().map(|e| e.about().name)).first() {
                diagnostic = diagnostic.help(format!("did you mean \"{near}\"?"));
            }
            let list = format!("known are {} (see `netloom list {}`)", self.names(), self.plural);
            diagnostics.push(diagnostic.help(list));
        }
        found
    }

    /// Keys of the entries that were not chosen, each with its owner.
    #[must_use]
    pub fn elsewhere(&self, chosen: Option<&E>) -> Vec<(&'static str, Owner)> {
        let mut keys = Vec::new();
        for entry in &self.entries {
            let about = entry.about();
            if chosen.is_none_or(|c| c.about().name != about.name) {
                let owner = Owner::Entry { noun: self.noun, name: about.name };
                keys.extend(about.params.iter().map(|p| (p.name, owner)));
            }
        }
        keys
    }

    fn names(&self) -> String {
        value::quoted(self.entries.iter().map(|e| e.about().name))
    }
}
