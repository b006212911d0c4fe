//! All that an experiment can name: the entries of the crates below, and a user's own.

use crate::models::MODELS;
use base::registry::Registered;
use fabric::{
    engines::{ENGINES, Engine},
    registry::{ROUTINGS, RoutingEntry, TOPOLOGIES, Topology},
};
use model::{
    ModelEntry,
    section::{List, Listed, SectionEntry},
};
use std::any::Any;
use workload::registry::{ARRIVALS, ArrivalEntry, PLACEMENTS, PlacementEntry, WORKLOADS, WorkloadEntry};

/// The entries that an experiment's names are looked up in. It is a value: who reads an experiment says what it may name.
///
/// ```
/// use netloom::{Experiment, Registry};
///
/// let mut registry = Registry::standard();
/// assert!(registry.topologies.iter().any(|topology| topology.about.name == "torus"));
/// // An experiment can name what its registry has, and nothing else.
/// registry.topologies.retain(|topology| topology.about.name != "torus");
/// let text = "[fabric]\ntopology = \"torus\"\n";
/// let error = Experiment::from_text(text).with_registry(registry).run().map(drop).unwrap_err();
/// assert!(error.to_string().contains("torus"), "{error}");
/// ```
#[derive(Clone)]
pub struct Registry {
    /// What `[fabric] topology` may name.
    pub topologies: Vec<&'static Topology>,
    /// What `[routing] algorithm` may name.
    pub routings: Vec<&'static RoutingEntry>,
    /// `[[job]] workload`: traffic patterns and programs.
    pub workloads: Vec<&'static WorkloadEntry>,
    /// What `[[job]] arrival` may name.
    pub arrivals: Vec<&'static ArrivalEntry>,
    /// What `[[job]] placement` may name.
    pub placements: Vec<&'static PlacementEntry>,
    /// What `[model] kind` may name.
    pub models: Vec<&'static ModelEntry>,
    /// Routing engines of clusters.
    pub engines: Vec<&'static Engine>,
    /// A user's own entries of lists that belong to models, by the list's name.
    own: Vec<(&'static str, &'static dyn Listed)>,
}

impl Registry {
    /// All that Netloom has.
    #[must_use]
    pub fn standard() -> Self {
        Self {
            topologies: TOPOLOGIES.iter().collect(),
            routings: ROUTINGS.iter().collect(),
            workloads: WORKLOADS.iter().collect(),
            arrivals: ARRIVALS.iter().collect(),
            placements: PLACEMENTS.iter().collect(),
            models: MODELS.iter().collect(),
            engines: ENGINES.iter().collect(),
            own: Vec::new(),
        }
    }

    /// With one topology more.
    ///
    /// # Panics
    /// If there is one of this name, as every method here.
    #[must_use]
    pub fn with_topology(mut self, entry: &'static Topology) -> Self {
        add(&mut self.topologies, entry);
        self
    }

    /// With one routing more.
    #[must_use]
    pub fn with_routing(mut self, entry: &'static RoutingEntry) -> Self {
        add(&mut self.routings, entry);
        self
    }

    /// With one workload more: a traffic pattern or a program.
    #[must_use]
    pub fn with_workload(mut self, entry: &'static WorkloadEntry) -> Self {
        add(&mut self.workloads, entry);
        self
    }

    /// With one arrival process more.
    #[must_use]
    pub fn with_arrival(mut self, entry: &'static ArrivalEntry) -> Self {
        add(&mut self.arrivals, entry);
        self
    }

    /// With one placement more.
    #[must_use]
    pub fn with_placement(mut self, entry: &'static PlacementEntry) -> Self {
        add(&mut self.placements, entry);
        self
    }

    /// With one model more, its sections and its keys of a job.
    ///
    /// # Panics
    /// Also if a job has one of its keys already.
    #[must_use]
    pub fn with_model(mut self, entry: &'static ModelEntry) -> Self {
        for param in entry.job_keys.params {
            let known = self.models.iter().flat_map(|m| m.job_keys.params).any(|p| p.name == param.name);
            assert!(!known, "a job has a key `{}` already", param.name);
        }
        add(&mut self.models, entry);
        self
    }

    /// With one entry more of a list that belongs to a model, such as "predictors".
    ///
    /// # Panics
    /// Also if no model has such a list, its entries are of another type, or a key that it brings to `[model]` is there already.
    #[must_use]
    pub fn with_listed(mut self, plural: &str, entry: &'static dyn Listed) -> Self {
        let list = self.lists().into_iter().find(|list| list.plural == plural);
        let list = list.unwrap_or_else(|| panic!("no model has a list of {plural}"));
        let all = self.listed(list);
        let kind = |entry: &'static dyn Listed| (entry as &dyn Any).type_id();
        assert!(all.iter().all(|e| kind(*e) == kind(entry)), "entries of {plural} are of another type");
        let name = entry.about().name;
        assert!(all.iter().all(|e| e.about().name != name), "`{name}` is registered already");
        let models = self.models.iter().filter(|m| m.choices.iter().any(|c| c.list.plural == plural));
        let mut known = models.flat_map(|m| m.about.params);
        let taken = known.find(|p| entry.about().params.iter().any(|own| own.name == p.name));
        assert!(taken.is_none(), "`{name}` has a key that [model] has already: {taken:?}");
        self.own.push((list.plural, entry));
        self
    }

    /// Sections that models declare, each once.
    #[must_use]
    pub fn sections(&self) -> Vec<&'static SectionEntry> {
        let mut sections: Vec<&SectionEntry> = Vec::new();
        for section in self.models.iter().flat_map(|m| m.sections) {
            if sections.iter().all(|s| s.about.name != section.about.name) {
                sections.push(section);
            }
        }
        sections
    }

    /// Lists that belong to models, each once.
    #[must_use]
    pub fn lists(&self) -> Vec<&'static List> {
        let keys =
            self.models.iter().flat_map(|m| m.choices.iter().map(|c| &c.list).chain(m.lists.iter().copied()));
        let sections = self.sections().into_iter().flat_map(|s| s.choices.iter().map(|c| &c.list));
        let mut lists: Vec<&List> = Vec::new();
        for list in keys.chain(sections) {
            if lists.iter().all(|l| l.plural != list.plural) {
                lists.push(list);
            }
        }
        lists
    }

    /// All entries of such a list.
    #[must_use]
    pub fn listed(&self, list: &List) -> Vec<&'static dyn Listed> {
        let own = self.own.iter().filter(|(plural, _)| *plural == list.plural).map(|(_, entry)| *entry);
        (list.entries)().into_iter().chain(own).collect()
    }
}

impl Default for Registry {
    fn default() -> Self {
        Self::standard()
    }
}

fn add<E: Registered>(entries: &mut Vec<&'static E>, entry: &'static E) {
    let name = entry.about().name;
    assert!(entries.iter().all(|e| e.about().name != name), "`{name}` is registered already");
    entries.push(entry);
}

#[cfg(test)]
mod tests {
    use super::*;

    static MINE: Topology =
        Topology { about: base::registry::About { name: "mine", ..TOPOLOGIES[0].about }, ..TOPOLOGIES[0] };

    #[test]
    fn own_entries_come_last() {
        let registry = Registry::standard().with_topology(&MINE);
        assert_eq!(registry.topologies.last().map(|t| t.about.name), Some("mine"));
        assert_eq!(registry.topologies.len(), TOPOLOGIES.len() + 1);
    }

    #[test]
    #[should_panic(expected = "has a key that [model] has already")]
    fn a_key_of_a_router_means_one_thing() {
        let first = &packet::router::registry::ROUTERS[0];
        let about =
            base::registry::About { name: "mine", params: packet::section::ABOUT.params, ..first.about };
        let mine = Box::leak(Box::new(packet::router::registry::RouterEntry { about, ..*first }));
        let _ = Registry::standard().with_listed("routers", mine);
    }

    #[test]
    #[should_panic(expected = "registered already")]
    fn a_name_means_one_thing() {
        let _ = Registry::standard().with_topology(&MINE).with_topology(&MINE);
    }
}
