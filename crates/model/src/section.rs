//! Sections of an experiment as they were read: checked values, and where in the file each stands.
//!
//! The reader of experiments makes a [`Section`] of each section of the file. A model that has sections of its own declares them as
//! [`SectionEntry`] and gets them as [`OwnSection`].

use base::{
    diag::{Diagnostic, Diagnostics, Place},
    param::{Param, Problem, Value, Values},
    registry::{About, Registered},
    sorted::SortedMap,
};
use std::{any::Any, path::Path, sync::Arc};

/// A section that was read.
#[derive(Clone, Debug)]
pub struct Section {
    /// Its declared keys. Sections of one kind share them.
    pub params: Arc<[Param]>,
    /// Values by key, defaults included.
    pub values: Values,
    /// Where the given values stand.
    pub places: SortedMap<String, Place>,
    /// Where the section itself stands.
    pub home: Place,
    /// False if a value is missing or was refused.
    pub complete: bool,
}

/// A section together with the registered strategy that it chose.
pub struct Chosen<E: 'static> {
    /// The entry that the section names.
    pub entry: &'static E,
    /// The section as read, with the keys of the entry.
    pub section: Section,
}

/// How the system says that there is no such file.
const MISSING: &str = "(os error 2)";

impl Section {
    /// Where the value of a key stands, or the section if it was left out.
    #[must_use]
    pub fn place(&self, key: &str) -> Place {
        self.places.get(key).copied().unwrap_or(self.home)
    }

    /// Adds a strategy's problems to the diagnostics, at the places of their keys.
    pub fn report(&self, problems: Vec<Problem>, diagnostics: &mut Diagnostics) {
        for problem in problems {
            let mut diagnostic = Diagnostic::new(self.place(&problem.key), problem.message);
            diagnostic.count = problem.count;
            if let Some(input) = problem.input {
                diagnostic.input = true;
                if input.line > 0 {
                    let (start, end) = (input.start, input.end);
                    let source = diagnostics.add_excerpt(input.file, input.text, input.line);
                    diagnostic.place = Some(Place { source, start, end });
                }
            }
            let folder =
                self.folder(&problem.key, diagnostics).filter(|_| diagnostic.message.contains(MISSING));
            diagnostic.help.extend(problem.help.into_iter().chain(folder));
            diagnostics.push(diagnostic);
        }
    }

    /// Where a relative path of a key is looked for.
    fn folder(&self, key: &str, diagnostics: &Diagnostics) -> Option<String> {
        let Some(Value::Text(path)) = self.get(key) else { return None };
        let source = diagnostics.sources.get(self.place(key).source)?;
        if source.name != "--set" || Path::new(path).is_absolute() {
            return None;
        }
        let here =
            std::env::current_dir().map_or_else(|_| String::new(), |here| format!(", {}", here.display()));
        Some(format!(
            "a path after `--set` is relative to the working directory{here}; one in the file to the file"
        ))
    }

    /// The value of a key, if it has one.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.values.0.get(key)
    }
}

/// An entry of a list that belongs to a model: a predictor, a router architecture. What it is beside its name only its model knows.
pub trait Listed: Registered + Any + Sync {}

/// A list of named things that belongs to a model.
pub struct List {
    /// Noun for one of its entries, in messages and documents: `predictor`.
    pub singular: &'static str,
    /// `predictors`, its name in `netloom list`.
    pub plural: &'static str,
    /// Where the file names an entry: `[hybrid] predictor`.
    pub key: &'static str,
    /// What the model's crate has of them.
    pub entries: fn() -> Vec<&'static dyn Listed>,
}

/// A key of a section that chooses from a list. Keys of the chosen entry then stand in the section too.
pub struct ChoiceEntry {
    /// The key, as it stands in the file.
    pub key: &'static str,
    /// Entry that is chosen if the key is left out.
    pub default: &'static str,
    /// What it chooses from.
    pub list: List,
}

/// Why a section is refused, and what to do.
#[derive(Clone, Copy, Debug)]
pub struct Refusal {
    /// What stands against it: the end of the message, or all of it.
    pub why: &'static str,
    /// The way out.
    pub help: &'static str,
}

/// A section that models declare.
pub struct SectionEntry {
    /// Name, documentation and keys.
    pub about: About,
    /// Keys that choose from lists.
    pub choices: &'static [ChoiceEntry],
    /// What models that do not declare it say to it; without it they leave it alone.
    pub elsewhere: Option<Refusal>,
    /// What machines of Portals programs say to it (the reason is the whole message); without it they leave it alone.
    pub on_portals: Option<Refusal>,
}

/// A section of models as it was read.
pub struct OwnSection {
    /// Which one of its kind it is.
    pub entry: &'static SectionEntry,
    /// All its keys.
    pub section: Section,
    /// What was chosen by each of [`SectionEntry::choices`].
    pub chosen: Vec<Option<&'static dyn Listed>>,
}

impl OwnSection {
    /// All its keys: parameters, and those that choose from lists.
    #[must_use]
    pub fn keys(&self) -> Vec<&'static str> {
        let choices = self.entry.choices.iter().map(|choice| choice.key);
        self.section.params.iter().map(|param| param.name).chain(choices).collect()
    }

    /// The entry that a key chose; none if its name was wrong, or the key chooses something of another type.
    #[must_use]
    pub fn choice<E: Listed>(&self, key: &str) -> Option<&'static E> {
        let at = self.entry.choices.iter().position(|c| c.key == key)?;
        let chosen: &'static dyn Any = (*self.chosen.get(at)?)?;
        chosen.downcast_ref()
    }
}
