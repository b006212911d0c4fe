//! Sections that models declare: keys of their own, and those of what they choose.

use super::{
    file::File,
    keys::SectionChoices,
    reader::{self, Spec},
    tree::Table,
};
use base::{
    diag::{Diagnostics, Place},
    param::Param,
};
use model::{ModelEntry, section::OwnSection};

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
        params,
        also: &also,
        elsewhere: both().flat_map(|(choice, chosen)| choice.elsewhere(*chosen)).collect(),
        lenient,
    };
    let mut section = reader::read(&spec, table, home, diagnostics);
    section.complete &= !lenient;
    OwnSection { entry, section, chosen }
}
