//! From an experiment to a run of the flow model: the model as registered, and what it refuses.

use crate::{
    changes,
    config::{self, FlowConfig},
    context::{FlowSetup, context},
    finish::PLATFORM_LINKS,
    interfaces::Interfaces,
    memory, run,
};
use base::{
    diag::{Diagnostic, Diagnostics},
    param::{Unread, Value},
};
use fabric::graph::Fabric;
use model::{
    Failure, Finished, ModelEntry, Parts, Run, Watch,
    energy::{self, Energy},
    entry::{Contention, JobKeys, Needs},
    memory::Prediction,
    messages::MessageNetwork,
    setup::{Change, JobSetup, Measure},
};
use ranks::{
    node::{self, Node},
    params::RANKS_PER_TERMINAL,
};

/// Model `flow`. A platform brings its routes; on other topologies the model itself asks for a routing.
pub const FLOW: ModelEntry = ModelEntry {
    needs: Needs { fabric: true, routing: false, time: true },
    contention: Contention::Shared,
    heeds_rates: true,
    sections: &[&energy::SECTION, &node::SECTION],
    job_keys: JobKeys {
        after: "compute",
        params: &[RANKS_PER_TERMINAL],
        sharing: Some(RANKS_PER_TERMINAL.name),
    },
    least: memory::least,
    unread,
    ..ModelEntry::new(config::ABOUT, build)
};

/// Keys without effect.
fn unread(parts: &Parts<'_>) -> Vec<Unread> {
    let mut all = parts.unread_by_patterns(&["eager", "control", "overhead"]);
    all.extend(Unread::all("routing", &["dateline"], "model \"flow\" has no virtual channels"));
    let values = &parts.written.model.values;
    let smpi = values.0.contains_key("preset") && values.text("preset") == "smpi";
    all.extend(ranks::unread::of(parts, smpi, ranks::unread::usual()));
    all.extend(node::unread(parts));
    let wakes = "links that carry something do not sleep on model \"flow\", so none wakes up";
    all.extend(Unread::all(energy::ABOUT.name, &["wake_time"], wakes));
    all.extend(parts.unread_without_sleep(&["sleep_share"]));
    let why = "model \"flow\" has no packets, buffers or partitions";
    all.extend(Unread::all("output", &["per_port", "packets", "engine"], why));
    if parts.is_platform() {
        all.extend(Unread::all("model", &["duplex", "router_delay"], "a platform's file says so itself"));
        all.extend(Unread::all("routing", &["algorithm"], "a platform brings its own routes"));
        all.extend(Unread::all("model", &["paths"], "a platform's routes are single paths"));
        all.extend(Unread::all(energy::ABOUT.name, &["router"], "a platform has no routers"));
    }
    if values.0.contains_key("preset") && values.text("preset") == "max-min" {
        all.extend(Unread::all("model", &["cross_traffic"], "preset \"max-min\" has no cross-traffic"));
    }
    let programs = parts.jobs.iter().any(|job| job.work.program().is_some());
    if programs && smpi {
        all.extend(Unread::all("model", &["control"], "with preset \"smpi\" no message asks"));
    }
    all
}

fn build(parts: Parts<'_>, diagnostics: &mut Diagnostics) -> Option<Box<dyn Run>> {
    parts.refuse_rails("use model \"packet\" or \"delay\", or one rail", diagnostics);
    let copied = "use model \"packet\", or set `replication = \"source\"`";
    parts.refuse_multicast("messages have one path each", copied, diagnostics);
    let platform = parts.is_platform();
    let config = config(&parts, platform, diagnostics)?;
    let energy = energy(&parts, platform, diagnostics);
    let node = Node::of(&parts, diagnostics);
    if !diagnostics.is_empty() {
        return None;
    }
    Some(Box::new(FlowSetup {
        links: parts.sound_links()?,
        fabric: parts.fabric?,
        routing: parts.routing.filter(|_| !platform),
        change: parts.change,
        jobs: parts.jobs,
        config,
        seed: parts.seed,
        until: parts.until?,
        warmup: parts.warmup,
        measure: parts.measure,
        check: parts.check,
        energy,
        node,
    }))
}

/// Parameters, and what does not go together with a platform or its absence.
fn config(parts: &Parts<'_>, platform: bool, diagnostics: &mut Diagnostics) -> Option<FlowConfig> {
    let section = Some(parts.written.model).filter(|s| s.complete)?;
    if !platform && parts.written.routing.is_none() && parts.fabric.is_some() {
        let message = "model \"flow\" needs a [routing] on this topology";
        let help = "add [routing] with an `algorithm`; only platforms bring their own routes";
        diagnostics.push(Diagnostic::new(section.home, message).help(help));
    }
    let key = "accuracy";
    if config::accuracy(&section.values.text(key)).is_none() {
        let message = format!("`{key}` is \"auto\", \"exact\" or a percentage up to 50, such as \"1 %\"");
        diagnostics.push(Diagnostic::new(section.place(key), message));
    }
    let mut config = FlowConfig::from_values(&section.values);
    if platform {
        config.router_delay = 0;
    }
    let texts = section.values.texts(changes::KEY);
    if platform && !texts.is_empty() {
        let message = "a platform takes no `changes`: its file has `events`";
        diagnostics.push(Diagnostic::new(section.place(changes::KEY), message));
    } else if let Some(fabric) = &parts.fabric {
        let read = changes::read(&texts, fabric);
        config.changes = read.map_err(|problems| section.report(problems, diagnostics)).unwrap_or_default();
    }
    Some(config)
}

/// What parts of the network take. The model knows what each link carried, but not when.
fn energy(parts: &Parts<'_>, platform: bool, diagnostics: &mut Diagnostics) -> Option<Energy> {
    let section = &parts.written.own(energy::ABOUT.name)?.section;
    for key in ["sleep_after", "packets_wait"] {
        // What says no asks for nothing: one file may run on all models.
        let asks = section.get(key).is_some_and(|value| *value != Value::Bool(false));
        if section.places.contains_key(key) && asks {
            let message =
                format!("`{key}` needs to know when each link is idle, which model \"flow\" does not know");
            diagnostics.push(Diagnostic::new(section.place(key), message).help("use model \"packet\""));
        }
    }
    if !platform {
        return parts.energy(diagnostics);
    }
    if !section.complete {
        return None;
    }
    // A platform has no routers, and its links are of one kind.
    let energy = Energy::from_values(&section.values, &[PLATFORM_LINKS]);
    energy.map_err(|problems| section.report(problems, diagnostics)).ok()
}

impl Run for FlowSetup {
    fn watch(&self, watch: Watch<'_>) -> Result<Finished, Failure> {
        run::simulate(self, &mut |at| (watch.pause)(at, &mut Vec::new))
    }

    fn validate(&self) -> Result<(), Failure> {
        context(self).map(drop)
    }

    fn memory(&self) -> Prediction {
        memory::predict(self)
    }

    fn jobs(&self) -> &[JobSetup] {
        &self.jobs
    }

    fn seed(&self) -> u64 {
        self.seed
    }

    fn fabric(&self) -> Option<&Fabric> {
        Some(&self.fabric)
    }

    fn change(&self) -> Option<&Change> {
        self.change.as_ref()
    }

    fn measure(&self) -> Measure {
        self.measure
    }

    fn message_network(&self) -> Result<Box<dyn MessageNetwork>, Failure> {
        Ok(Box::new(Interfaces::new(self)?))
    }
}
