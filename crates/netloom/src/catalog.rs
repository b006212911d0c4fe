//! All that an experiment can name, shelf by shelf: the registries and the file's own sections.

use crate::{
    experiment::{
        keys::{Choices, SECTIONS},
        reader::Choice,
    },
    registry::Registry,
};
use base::registry::{About, Registered};
use workload::program::collective::{ALGORITHMS, TABLES};

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
    /// What each entry is for, if that is not the same for all; else empty.
    pub uses: Vec<String>,
}

impl Shelf {
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
    vec![
        shelf(&choices.topology),
        shelf(&choices.routing),
        shelf(&choices.workload),
        shelf(&choices.arrival),
        shelf(&choices.placement),
        shelf(&choices.model),
        Shelf {
            plural: "routers",
            singular: "router",
            key: "[model] router".to_owned(),
            entries: packet::router::registry::ROUTERS.iter().map(Registered::about).collect(),
            uses: Vec::new(),
        },
        shelf(&choices.predictor),
        shelf(&choices.director),
        Shelf {
            plural: "engines",
            singular: "engine",
            key: "netloom fabric route --engine".to_owned(),
            entries: registry.engines.iter().map(|e| e.about()).collect(),
            uses: Vec::new(),
        },
        Shelf {
            plural: "collectives",
            singular: "algorithm",
            key: "[[job]] collectives".to_owned(),
            entries: ALGORITHMS.iter().map(Registered::about).collect(),
            uses: ALGORITHMS
                .iter()
                .map(|a| a.kinds.iter().map(|k| k.key()).collect::<Vec<_>>().join(", "))
                .collect(),
        },
        Shelf {
            plural: "libraries",
            singular: "library",
            key: "[[job]] library".to_owned(),
            entries: TABLES.iter().map(Registered::about).collect(),
            uses: Vec::new(),
        },
        Shelf {
            plural: "sections",
            singular: "section",
            key: "of the experiment file".to_owned(),
            entries: SECTIONS.iter().collect(),
            uses: Vec::new(),
        },
    ]
}

fn shelf<E: Registered>(choice: &Choice<'_, E>) -> Shelf {
    Shelf {
        plural: choice.plural,
        singular: choice.noun,
        key: format!("{} {}", choice.title, choice.key),
        entries: choice.entries.iter().map(|e| e.about()).collect(),
        uses: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{keys::JOB, value};
    use base::param::Param;

    #[test]
    fn every_default_fits_its_declaration() {
        for about in shelves(&Registry::standard()).iter().flat_map(|s| &s.entries) {
            for param in about.params {
                if let Some(read) = param.default_value() {
                    assert!(!value::json(param.kind, &read).is_null(), "{} {}", about.name, param.name);
                }
            }
        }
    }

    /// A job holds keys of three registries and its own, [hybrid] of two: a key must not mean two things at once.
    #[test]
    fn keys_of_a_section_do_not_collide() {
        let own: Vec<&Param> = JOB.params.iter().collect();
        let of = |name: &str| -> Vec<&Param> {
            let shelf =
                shelves(&Registry::standard()).into_iter().find(|s| s.plural == name).expect("a shelf");
            shelf.entries.iter().flat_map(|a| a.params).collect()
        };
        let hybrid: Vec<&Param> = packet::hybrid::ABOUT.params.iter().collect();
        apart(&[own, of("workloads"), of("arrivals"), of("placements")]);
        apart(&[hybrid, of("predictors"), of("directors")]);
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
