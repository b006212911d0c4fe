//! The sections of a file as tables: which are there, and reading one against its declaration.

use super::{
    keys::Choices,
    reader::{self, Choice, Spec},
    tree::{Data, Entry, Node, Table},
};
use base::{
    diag::{Diagnostic, Diagnostics, Place},
    param::Param,
    registry::{About, Registered, nearest},
};
use model::section::{Chosen, Section};

/// A file's tree, and what its names may mean.
pub(super) struct File<'a> {
    /// Everything in the file.
    pub root: &'a Table,
    /// Where missing sections are reported: the end of the file.
    pub end: Place,
    /// What it may name.
    pub choices: &'a Choices,
}

impl<'a> File<'a> {
    /// The section that a wrong name most likely means.
    fn nearest(&self, name: &str) -> Option<&'static str> {
        nearest(name, self.choices.root.iter().copied()).first().copied().filter(|near| *near != name)
    }

    /// True if a wrong name in the file most likely means this section; that was reported already.
    pub fn is_misspelt(&self, name: &str) -> bool {
        self.root.entries.iter().any(|e| self.nearest(&e.key) == Some(name))
    }

    /// Reports sections that no experiment has.
    pub fn refuse_unknown(&self, diagnostics: &mut Diagnostics) {
        for entry in self.root.entries.iter().filter(|e| !self.choices.root.contains(&e.key.as_str())) {
            diagnostics.push(self.unknown(entry));
        }
    }

    fn unknown(&self, entry: &Entry) -> Diagnostic {
        let message = format!("an experiment has no section `{}`", entry.key);
        let mut diagnostic = Diagnostic::new(entry.key_place, message).label("unknown section");
        let holds = |params: &[Param]| params.iter().any(|p| p.name == entry.key);
        if let Some(near) = self.nearest(&entry.key) {
            diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
        } else if let Some((about, _)) = self.choices.documented().iter().find(|(_, params)| holds(params)) {
            diagnostic = diagnostic.help(format!("`{}` belongs to [{}]", entry.key, about.name));
        }
        diagnostic.help(format!("its sections are {}", self.choices.root.join(", ")))
    }

    /// A section's table and place; one that is needed and missing, or no table, is reported.
    pub fn part(
        &self,
        name: &str,
        needed: bool,
        diagnostics: &mut Diagnostics,
    ) -> Option<(&'a Table, Place)> {
        match self.root.get(name) {
            Some(Entry { node: Node { data: Data::Table(table), .. }, key_place, .. }) => {
                Some((table, *key_place))
            }
            Some(entry) => {
                let message = format!("`{name}` must be a section, not {}", entry.node.data.noun());
                let help = format!("write it as [{name}] with its keys below");
                diagnostics.push(Diagnostic::new(entry.key_place, message).help(help));
                None
            }
            None if needed && !self.is_misspelt(name) => {
                let message = format!("the section [{name}] is missing");
                let all = self.choices.documented();
                let summary = all.iter().find(|(about, _)| about.name == name).map_or("", |(a, _)| a.summary);
                diagnostics.push(
                    Diagnostic::new(self.end, message)
                        .label("expected before the end")
                        .help(format!("[{name}] holds: {summary}")),
                );
                None
            }
            None => None,
        }
    }
}

/// Reads a section whose keys are all its own, but for `also`, which somebody else reads.
pub(super) fn plain(
    about: &About,
    title: &str,
    also: &[&str],
    table: &Table,
    home: Place,
    diagnostics: &mut Diagnostics,
) -> Section {
    let params = about.params.into();
    let spec = Spec { title, params, also, elsewhere: &Vec::new, lenient: false };
    reader::read(&spec, table, home, diagnostics)
}

/// A section whose keys belong to the strategy that one of them names, but for `common` ones.
pub(super) fn chosen<E: Registered>(
    choice: &Choice<E>,
    common: &[Param],
    table: &Table,
    home: Place,
    also: &[&str],
    diagnostics: &mut Diagnostics,
) -> Option<Chosen<E>> {
    let entry = choice.choose(table, home, diagnostics)?;
    let keys: Vec<&str> = [choice.key].into_iter().chain(also.iter().copied()).collect();
    let spec = Spec {
        title: &choice.title,
        params: entry.about().params.iter().chain(common).copied().collect(),
        also: &keys,
        elsewhere: &|| choice.elsewhere(Some(entry)),
        lenient: false,
    };
    Some(Chosen { entry, section: reader::read(&spec, table, home, diagnostics) })
}
