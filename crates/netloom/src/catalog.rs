//! All that an experiment can name, shelf by shelf: the registries and the file's own sections.

use crate::{
    experiment::{keys::Choices, reader::Choice},
    registry::Registry,
};
use base::{
    param::Param,
    registry::{About, Registered},
};
use congestion::METRICS;
use workload::{
    program::collective::{ALGORITHMS, TABLES},
    registry::SIZE_DISTRIBUTIONS,
};

/// One registry: what its entries are called, where a file names them, and the entries.
pub struct Shelf {
    /// What `netloom list` calls its entries: `topologies`.
    pub plural: &'static str,
    /// What one of its entries is called: `topology`.
    pub singular: &'static str,
    /// Where the file names an entry: `[fabric] topology`.
    pub key: String,
    /// Documentation of the entries, in the registry's order.
    pub entries: Vec<&'static About>,
    /// Keys of an entry, if they are more than it declares itself: those of models in a section that is not theirs.
    keys: Vec<Vec<Param>>,
    /// What each entry is for, if that is not the same for all; else empty.
    pub uses: Vec<String>,
}

impl Shelf {
    fn new(
        plural: &'static str,
        singular: &'static str,
        key: impl Into<String>,
        entries: Vec<&'static About>,
    ) -> Self {
        Self { plural, singular, key: key.into(), entries, keys: Vec::new(), uses: Vec::new() }
    }

    /// Keys of the entry number `index`.
    #[must_use]
    pub fn keys(&self, index: usize) -> &[Param] {
        self.keys.get(index).map_or(self.entries[index].params, |keys| keys)
    }

    /// What the entry number `index` is for, in parentheses behind a space; empty if that is the same for all.
    #[must_use]
    pub fn usage(&self, index: usize) -> String {
        self.uses.get(index).map_or_else(String::new, |uses| format!(" ({uses})"))
    }
}

/// All shelves, in the order of the file; its sections come last.
#[must_use]
pub fn shelves(registry: &Registry) -> Vec<Shelf> {
    let choices = Choices::of(registry);
    let engines = registry.engines.iter().map(|e| e.about()).collect();
    let algorithms = ALGORITHMS.iter().map(Registered::about).collect();
    let kinds = ALGORITHMS.iter().map(|a| a.kinds.iter().map(|k| k.key()).collect::<Vec<_>>().join(", "));
    let distributions = SIZE_DISTRIBUTIONS.iter().map(Registered::about).collect();
    let (sections, keys): (Vec<_>, Vec<_>) = choices.documented().into_iter().unzip();
    let mut shelves = vec![
        shelf(&choices.topology),
        shelf(&choices.routing),
        shelf(&choices.workload),
        shelf(&choices.arrival),
        shelf(&choices.placement),
        shelf(&choices.model),
    ];
    shelves.extend(registry.lists().into_iter().map(|list| {
        let entries = registry.listed(list).into_iter().map(|e| e.about()).collect();
        Shelf::new(list.plural, list.singular, list.key, entries)
    }));
    shelves.extend([
        Shelf::new("engines", "engine", "netloom fabric route --engine", engines),
        Shelf::new("metrics", "metric", "netloom congestion --metric", METRICS.iter().collect()),
        Shelf {
            uses: kinds.collect(),
            ..Shelf::new("collectives", "algorithm", "[[job]] collectives", algorithms)
        },
        Shelf::new("libraries", "library", "[[job]] library", TABLES.iter().map(Registered::about).collect()),
        Shelf::new("distributions", "distribution", "[[job]] size_distribution", distributions),
        Shelf { keys, ..Shelf::new("sections", "section", "of the experiment file", sections) },
    ]);
    shelves
}

fn shelf<E: Registered>(choice: &Choice<E>) -> Shelf {
    let entries = choice.entries.iter().map(|e| e.about()).collect();
    Shelf::new(choice.plural, choice.noun, format!("{} {}", choice.title, choice.key), entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::value;

    #[test]
    fn every_default_fits_its_declaration() {
        for shelf in &shelves(&Registry::standard()) {
            for (index, about) in shelf.entries.iter().enumerate() {
                for param in shelf.keys(index) {
                    if let Some(read) = param.default_value() {
                        assert!(!value::json(param.kind, &read).is_null(), "{} {}", about.name, param.name);
                    }
                }
            }
        }
    }

    /// A job holds keys of three registries and its own, [hybrid] of two: a key must not mean two things at once.
    #[test]
    fn keys_of_a_section_do_not_collide() {
        let shelves = shelves(&Registry::standard());
        let of = |name: &str| -> Vec<&Param> {
            let shelf = shelves.iter().find(|s| s.plural == name).expect("a shelf");
            shelf.entries.iter().flat_map(|a| a.params).collect()
        };
        let sections = shelves.last().expect("sections");
        let own = |name: &str| -> Vec<&Param> {
            let at = sections.entries.iter().position(|a| a.name == name).expect("a section");
            sections.keys(at).iter().collect()
        };
        apart(&[own("job"), of("workloads"), of("arrivals"), of("placements")]);
        apart(&[own("hybrid"), of("predictors"), of("directors")]);
    }

    fn apart(groups: &[Vec<&Param>]) {
        for (i, a) in groups.iter().enumerate() {
            for b in &groups[i + 1..] {
                for param in a {
                    assert!(b.iter().all(|p| p.name != param.name), "`{}` is declared twice", param.name);
                }
            }
        }
    }
}
