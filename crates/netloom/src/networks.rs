//! Networks that several runs of a process share: the graph and the tables of its routing are read only.

use crate::{
    experiment::{resolved, sections::Experiment},
    network::Network,
};
use serde_json::json;
use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

/// The networks that were built last, by what describes them.
pub struct Networks {
    kept: Mutex<VecDeque<(String, Network)>>,
    most: usize,
}

impl Networks {
    /// Keeps so many at most.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { kept: Mutex::default(), most: most.max(1) }
    }

    /// What a network depends on: topology, routing, and failures with the seed that draws them and the end of the run that they must
    /// precede. Not the parameters of links, which are no part of it.
    pub(crate) fn key(experiment: &Experiment) -> String {
        let general = &experiment.general;
        let drawn = experiment.faults.as_ref().map(|_| (general.seed, general.end()));
        json!([resolved::network(experiment), drawn]).to_string()
    }

    /// The network of this key, if it is still there.
    pub(crate) fn get(&self, key: &str) -> Option<Network> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|(known, _)| known == key).map(|(_, network)| network.clone())
    }

    /// Keeps a network instead of the oldest.
    pub(crate) fn keep(&self, key: String, network: &Network) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == self.most {
            kept.pop_front();
        }
        kept.push_back((key, network.clone()));
    }
}
