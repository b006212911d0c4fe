//! What a model is built from: an experiment whose network and jobs are there already.

use crate::{
    energy::{self, Energy},
    section::{Chosen, Listed, OwnSection, Section},
    setup::{Change, JobSetup, LinkParams, Measure, Rail, Scheduling, Until},
};
use base::{
    diag::{Diagnostic, Diagnostics},
    index::RankId,
    param::{Unread, Value},
    time::Ps,
};
use fabric::{
    graph::Fabric,
    registry::{RoutingEntry, Topology},
    routing::Routing,
};
use std::{any::Any, sync::Arc};
use workload::pattern::multicast;

/// What every model is built from. What is missing though the model needs it was refused before: then there are diagnostics.
pub struct Parts<'a> {
    /// Name of the model.
    pub name: &'static str,
    /// The network on which all of it runs.
    pub fabric: Option<Arc<Fabric>>,
    /// The routing that packets follow through it.
    pub routing: Option<Arc<dyn Routing>>,
    /// Which rail messages take, if there are several.
    pub rail: Rail,
    /// What fails while the run is under way.
    pub change: Option<Change>,
    /// Parameters by link class, in the order of the fabric's classes; none for a class with mistakes.
    pub links: Vec<Option<LinkParams>>,
    /// The jobs, in the order of the experiment.
    pub jobs: Vec<JobSetup>,
    /// How the partitions are run: scheduler and threads.
    pub scheduling: Scheduling,
    /// Seed of every random stream.
    pub seed: u64,
    /// End of the run; none if the experiment has mistakes there, or the model needs none.
    pub until: Option<Until>,
    /// What is created before it does not count.
    pub warmup: Ps,
    /// Tables and series.
    pub measure: Measure,
    /// Run the checkers.
    pub check: bool,
    /// The file's sections, for values that only the model reads, and for the places of what it refuses.
    pub written: Written<'a>,
}

/// Sections of the file, as read.
pub struct Written<'a> {
    /// `[model]`: keys of the model that its `kind` names.
    pub model: &'a Section,
    /// What its keys chose, by key.
    pub choices: &'a [(&'static str, &'static dyn Listed)],
    /// `[fabric]` with the topology that it chose, if it could be read.
    pub fabric: Option<&'a Chosen<Topology>>,
    /// Its links by class.
    pub links: &'a [(&'static str, Section)],
    /// `[faults]`, if it could be read: what fails from the start or at a time.
    pub faults: Option<&'a Section>,
    /// `[routing]` with the routing that it chose, if it could be read.
    pub routing: Option<&'a Chosen<RoutingEntry>>,
    /// Each `[[job]]`, in the order of the experiment.
    pub jobs: Vec<&'a Section>,
    /// Sections that models declare.
    pub own: &'a [OwnSection],
}

impl Written<'_> {
    /// A section that models declare, if it is in the file.
    #[must_use]
    pub fn own(&self, name: &str) -> Option<&OwnSection> {
        self.own.iter().find(|s| s.entry.about.name == name)
    }

    /// The entry that a key of `[model]` chose; none if its name was wrong, or the key chooses something of another type.
    #[must_use]
    pub fn choice<E: Listed>(&self, key: &str) -> Option<&'static E> {
        let (_, chosen) = self.choices.iter().find(|(k, _)| *k == key)?;
        let chosen: &'static dyn Any = *chosen;
        chosen.downcast_ref()
    }
}

impl Parts<'_> {
    /// True if the network's routes are given one by one.
    #[must_use]
    pub fn is_platform(&self) -> bool {
        let platform = fabric::topology::platform::TOPOLOGY.about.name;
        self.written.fabric.is_some_and(|f| f.entry.about.name == platform)
    }

    /// Keys that only programs read, if there are none.
    #[must_use]
    pub fn unread_by_patterns(&self, keys: &[&'static str]) -> Vec<Unread> {
        let programs = self.jobs.iter().any(|job| job.work.program().is_some());
        if programs { Vec::new() } else { Unread::all("model", keys, "only programs read it") }
    }

    /// Keys of `[energy]` that have no effect where no link ever sleeps.
    #[must_use]
    pub fn unread_without_sleep(&self, keys: &[&'static str]) -> Vec<Unread> {
        let Some(own) = self.written.own(energy::ABOUT.name) else { return Vec::new() };
        let never = own.section.get("sleep_after") == Some(&Value::Time(0))
            && own.section.get("start_asleep") == Some(&Value::Bool(false));
        let why = "links sleep with `sleep_after` or `start_asleep` only";
        if never { Unread::all(energy::ABOUT.name, keys, why) } else { Vec::new() }
    }

    /// Refuses a platform, whose routes a model with routers cannot follow; `help` is the way out.
    pub fn refuse_platform(&self, help: &str, diagnostics: &mut Diagnostics) {
        if let (true, Some(chosen)) = (self.is_platform(), self.written.fabric) {
            let message = format!("model \"{}\" cannot follow the routes of a platform", self.name);
            let diagnostic = Diagnostic::new(chosen.section.place("topology"), message);
            diagnostics.push(diagnostic.help(help));
        }
    }

    /// Refuses several rails, for a model that knows one path between two nodes; `help` is the way out.
    pub fn refuse_rails(&self, help: &str, diagnostics: &mut Diagnostics) {
        let planes = self.fabric.as_ref().map(|f| f.planes());
        if let (Some(planes @ 2..), Some(chosen)) = (planes, self.written.fabric) {
            let message = format!("model \"{}\" knows one rail per node, and there are {planes}", self.name);
            let diagnostic = Diagnostic::new(chosen.section.place("rails"), message);
            diagnostics.push(diagnostic.help(help));
        }
    }

    /// Refuses jobs whose messages routers copy, where nothing does; `why` says so and `help` is the way out.
    pub fn refuse_multicast(&self, why: &str, help: &str, diagnostics: &mut Diagnostics) {
        let copied = |job: &JobSetup| job.work.traffic().is_some_and(|t| t.members(RankId::new(0)).is_some());
        if let Some(n) = self.jobs.iter().position(copied) {
            debug_assert!(self.jobs.len() == self.written.jobs.len(), "each job has its section");
            let place = self.written.jobs[n].place(multicast::REPLICATION);
            let message =
                format!("job \"{}\" has its messages copied by routers, and {why}", self.jobs[n].name);
            diagnostics.push(Diagnostic::new(place, message).help(help));
        }
    }

    /// What parts of the network take, if `[energy]` says so.
    pub fn energy(&self, diagnostics: &mut Diagnostics) -> Option<Energy> {
        let section = &self.written.own(energy::ABOUT.name).filter(|s| s.section.complete)?.section;
        Energy::from_values(&section.values, self.fabric.as_ref()?.classes())
            .map_err(|problems| section.report(problems, diagnostics))
            .ok()
    }

    /// The links, if none has mistakes.
    #[must_use]
    pub fn sound_links(&self) -> Option<Vec<LinkParams>> {
        self.links.iter().copied().collect()
    }
}
