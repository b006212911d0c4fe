//! What models declare: `[model]`, and sections of their own with their keys and those of what they choose from lists.

use super::{
    file::File,
    keys::{Choices, DERIVED, SectionChoices},
    reader::{self, Spec},
    tree::Table,
};
use base::{
    diag::{Diagnostics, Place},
    param::{Param, Value},
};
use model::{
    ModelEntry,
    section::{Chosen, Listed, OwnSection},
};

/// What keys of `[model]` chose, by key.
type Picked = Vec<(&'static str, &'static dyn Listed)>;

/// All keys of `[model]` with a model, those of entries that it can choose included.
pub(super) fn keys_of_model(model: &ModelEntry, choices: &Choices) -> Vec<&'static str> {
    let entries = choices.of_model(model).iter().flat_map(|choice| &choice.entries);
    let brought = entries.flat_map(|entry| entry.about().params);
    model.about.params.iter().chain(brought).map(|p| p.name).collect()
}

/// `[model]` with what its keys chose. Keys of other models may be there as well and are left alone: an experiment changes its model by
/// one word.
pub(super) fn read_model(
    table: &Table,
    home: Place,
    choices: &Choices,
    diagnostics: &mut Diagnostics,
) -> Option<(Chosen<ModelEntry>, Picked)> {
    let model = choices.model.choose(table, home, diagnostics)?;
    let lists = choices.of_model(model);
    let chosen: Vec<_> = lists.iter().map(|c| c.choose(table, home, diagnostics)).collect();
    let own = keys_of_model(model, choices);
    let others = choices.model.entries.iter().flat_map(|other| keys_of_model(other, choices));
    let others = others.filter(|key| !own.contains(key));
    let picks = lists.iter().map(|c| c.key);
    let also: Vec<&str> = [choices.model.key, DERIVED].into_iter().chain(others).chain(picks).collect();
    let brought: Vec<Param> = chosen.iter().flatten().flat_map(|c| c.about().params).copied().collect();
    let params = model.about.params.iter().filter(|p| lists.iter().all(|c| c.key != p.name));
    let spec = Spec {
        title: &choices.model.title,
        params: params.chain(&brought).copied().collect(),
        also: &also,
        elsewhere: &|| {
            lists.iter().zip(&chosen).flat_map(|(choice, chosen)| choice.elsewhere(*chosen)).collect()
        },
        lenient: false,
    };
    let mut section = reader::read(&spec, table, home, diagnostics);
    section.complete &= chosen.iter().all(Option::is_some);
    let picked: Picked =
        lists.iter().zip(chosen).filter_map(|(choice, chosen)| Some((choice.key, chosen?))).collect();
    // The file is written out again from the section: the names stand at their keys' places.
    section.params = model.about.params.iter().chain(&brought).copied().collect();
    let names =
        picked.iter().map(|(key, entry)| ((*key).to_owned(), Value::Text(entry.about().name.to_owned())));
    section.values.0.extend(names);
    Some((Chosen { entry: model, section }, picked))
}

/// All that are in the file, and those that the model reads with their defaults.
pub(super) fn read_own(
    file: &File<'_>,
    model: Option<&ModelEntry>,
    diagnostics: &mut Diagnostics,
) -> Vec<OwnSection> {
    let empty = Table::default();
    let mut sections = Vec::new();
    for choices in &file.choices.sections {
        let name = choices.entry.about.name;
        let implied = model.is_some_and(|m| m.implied.contains(&name));
        let part = file.part(name, false, diagnostics);
        if let Some((table, home)) = part.or(implied.then_some((&empty, file.end))) {
            sections.push(read_one(choices, table, home, diagnostics));
        }
    }
    sections
}

fn read_one(
    choices: &SectionChoices,
    table: &Table,
    home: Place,
    diagnostics: &mut Diagnostics,
) -> OwnSection {
    let entry = choices.entry;
    let chosen: Vec<_> = choices.choices.iter().map(|c| c.choose(table, home, diagnostics)).collect();
    let mut params: Vec<Param> = entry.about.params.to_vec();
    params.extend(chosen.iter().flatten().flat_map(|c| c.about().params));
    let both = || choices.choices.iter().zip(&chosen);
    let lenient = chosen.iter().any(Option::is_none);
    let also: Vec<&str> = choices.choices.iter().map(|c| c.key).collect();
    let spec = Spec {
        title: &format!("[{}]", entry.about.name),
        params: params.into(),
        also: &also,
        elsewhere: &|| both().flat_map(|(choice, chosen)| choice.elsewhere(*chosen)).collect(),
        lenient,
    };
    let mut section = reader::read(&spec, table, home, diagnostics);
    section.complete &= !lenient;
    OwnSection { entry, section, chosen }
}
