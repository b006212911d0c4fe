//! All that an experiment can name, shelf by shelf: the registries and the file's own sections.

use crate::experiment::{
    reader::Choice,
    sections::{ALGORITHM, ARRIVAL, KIND, PLACEMENT, SECTIONS, TOPOLOGY, WORKLOAD},
};
use base::registry::{About, Registered};

/// One registry.
pub struct Shelf {
    /// `topologies`.
    pub plural: &'static str,
    /// `topology`.
    pub singular: &'static str,
    /// Where the file names an entry: `[fabric] topology`.
    pub key: String,
    /// The entries.
    pub entries: Vec<&'static About>,
}

/// All shelves, in the order of the file; its sections come last.
#[must_use]
pub fn shelves() -> Vec<Shelf> {
    vec![
        shelf(&TOPOLOGY),
        shelf(&ALGORITHM),
        shelf(&WORKLOAD),
        shelf(&ARRIVAL),
        shelf(&PLACEMENT),
        shelf(&KIND),
        Shelf {
            plural: "sections",
            singular: "section",
            key: "of the experiment file".to_owned(),
            entries: SECTIONS.iter().collect(),
        },
    ]
}

fn shelf<E: Registered>(choice: &Choice<'static, E>) -> Shelf {
    Shelf {
        plural: choice.plural,
        singular: choice.noun,
        key: format!("{} {}", choice.title, choice.key),
        entries: choice.entries.iter().map(Registered::about).collect(),
    }
}
