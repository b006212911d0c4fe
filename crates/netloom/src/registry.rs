//! All that an experiment can name: the entries of the crates below, and a user's own.

use crate::models::{MODELS, ModelEntry};
use base::registry::Registered;
use fabric::{
    engines::{ENGINES, Engine},
    registry::{ROUTINGS, RoutingEntry, TOPOLOGIES, Topology},
};
use packet::hybrid::{
    direct::{DIRECTORS, DirectorEntry},
    predict::{PREDICTORS, PredictorEntry},
};
use workload::registry::{ARRIVALS, ArrivalEntry, PLACEMENTS, PlacementEntry, WORKLOADS, WorkloadEntry};

/// The entries that an experiment's names are looked up in. It is a value: who reads an experiment says what it may name.
#[derive(Clone)]
pub struct Registry {
    /// `[fabric] topology`.
    pub topologies: Vec<&'static Topology>,
    /// `[routing] algorithm`.
    pub routings: Vec<&'static RoutingEntry>,
    /// `[[job]] workload`: traffic patterns and programs.
    pub workloads: Vec<&'static WorkloadEntry>,
    /// `[[job]] arrival`.
    pub arrivals: Vec<&'static ArrivalEntry>,
    /// `[[job]] placement`.
    pub placements: Vec<&'static PlacementEntry>,
    /// `[model] kind`.
    pub models: Vec<&'static ModelEntry>,
    /// `[hybrid] predictor`.
    pub predictors: Vec<&'static PredictorEntry>,
    /// `[hybrid] director`.
    pub directors: Vec<&'static DirectorEntry>,
    /// Routing engines of clusters.
    pub engines: Vec<&'static Engine>,
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
            predictors: PREDICTORS.iter().collect(),
            directors: DIRECTORS.iter().collect(),
            engines: ENGINES.iter().collect(),
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

    /// With one predictor of hybrid runs more.
    #[must_use]
    pub fn with_predictor(mut self, entry: &'static PredictorEntry) -> Self {
        add(&mut self.predictors, entry);
        self
    }

    /// With one director of hybrid runs more.
    #[must_use]
    pub fn with_director(mut self, entry: &'static DirectorEntry) -> Self {
        add(&mut self.directors, entry);
        self
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
    #[should_panic(expected = "registered already")]
    fn a_name_means_one_thing() {
        let _ = Registry::standard().with_topology(&MINE).with_topology(&MINE);
    }
}
