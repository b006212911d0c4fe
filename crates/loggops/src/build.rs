//! From an experiment to a run of the delay model: the model as registered, and what it refuses.

use crate::{
    config::{self, DelayConfig},
    derived::{self, Costs},
    interfaces::Interfaces,
    observe,
    resilient::{MOST_CLASSES, MOST_LOSS},
    run,
    setup::{DelayJob, DelaySetup},
    unread,
};
use base::{
    diag::{Diagnostic, Diagnostics},
    param::{Problem, Value, class_values},
    units::print_time,
};
use fabric::graph::Fabric;
use model::{
    Failure, Finished, ModelEntry, Parts, Run, Watch,
    contract::Parameter,
    energy::{self, Energy},
    entry::{JobKeys, Needs},
    memory::Prediction,
    messages::MessageNetwork,
    section::Refusal,
    setup::{JobSetup, Measure, Scheduling, Until},
};
use ranks::{
    node::{self, Node},
    params::RANKS_PER_TERMINAL,
};
use std::sync::Arc;

/// Model `delay`: messages of ranks take a time by formula; the network has no queues.
pub const DELAY: ModelEntry = ModelEntry {
    needs: Needs { fabric: false, routing: false, time: true },
    saved: true,
    sections: &[&energy::SECTION, &node::SECTION],
    refuses: &[(
        "resilience",
        Refusal {
            why: "its links lose nothing",
            help: "use model \"packet\", or `cost = \"resilient\"`, which has `loss` among its keys",
        },
    )],
    job_keys: JobKeys {
        after: "compute",
        params: &[RANKS_PER_TERMINAL],
        sharing: Some(RANKS_PER_TERMINAL.name),
    },
    least: |known| {
        let graph = model::memory::graph(known.sizes.ports, known.sizes.terminals);
        graph.saturating_add(ranks::memory::least(known.jobs))
    },
    unread: unread::of,
    ..ModelEntry::new(config::ABOUT, build)
};

fn build(parts: Parts<'_>, diagnostics: &mut Diagnostics) -> Option<Box<dyn Run>> {
    let section = Some(parts.written.model).filter(|s| s.complete)?;
    parts.refuse_platform("use model \"flow\", or a topology with routers", diagnostics);
    let config = DelayConfig::from_values(&section.values);
    let mut config = config.map_err(|problems| section.report(problems, diagnostics)).ok();
    if let Some(config) = &mut config {
        class_loss(config, &parts, diagnostics);
    }
    if let Some(change) = &parts.change {
        let message = "model \"delay\" has no links that could fail during the run";
        let place = parts.written.faults.map(|f| f.place("at"));
        diagnostics.push(Diagnostic::new(place, message).label(print_time(change.at)));
    }
    let energy = energy(&parts, diagnostics);
    let node = node(&parts, diagnostics);
    if !diagnostics.is_empty() {
        return None;
    }
    let mut config = config?;
    let Costs { derived, parameters, flags } = derived::costs(&mut config, &parts);
    let until = parts.until?;
    let (Until::Time(limit) | Until::WorkloadDone { limit }) = until;
    let setup = DelaySetup {
        jobs: Vec::new(),
        config,
        fabric: parts.fabric,
        derived: derived.map(Arc::new),
        seed: parts.seed,
        scheduling: parts.scheduling,
        limit,
        timed: matches!(until, Until::Time(_)),
        measure: observe::Measure::default(),
        check: parts.check,
        energy,
        node,
    };
    match DelayRun::new(setup, parts.jobs, parts.measure) {
        Ok(run) => Some(Box::new(DelayRun { parameters, flags, ..run })),
        Err(index) => {
            let message = "model \"delay\" carries rank programs, and this workload is traffic by rule";
            let help = "use model \"packet\", or a program such as \"trace\"";
            let place = parts.written.jobs[index].place("workload");
            diagnostics.push(Diagnostic::new(place, message).help(help));
            None
        }
    }
}

/// Nodes, if they are described and the model can carry them.
fn node(parts: &Parts<'_>, diagnostics: &mut Diagnostics) -> Option<Node> {
    let node = Node::of(parts, diagnostics)?;
    let section = &parts.written.own(node::ABOUT.name)?.section;
    let several = |job: &JobSetup| job.work.program().is_some_and(|p| p.cpus() > 1);
    if node.cores.is_some() && parts.jobs.iter().any(several) {
        let message =
            "model \"delay\" binds ranks of one processor to cores, and those of a program have several";
        let help = "leave out `cores`, or use model \"packet\" or \"flow\"";
        diagnostics.push(Diagnostic::new(section.place("cores"), message).help(help));
    }
    if parts.measure.messages {
        let message = "model \"delay\" does not know the times of messages by size where nodes are described";
        let help = "leave out `messages` of [output], or [node]";
        diagnostics.push(Diagnostic::new(section.home, message).help(help));
    }
    Some(node)
}

/// Losses by link class of resilient messages.
fn class_loss(config: &mut DelayConfig, parts: &Parts<'_>, diagnostics: &mut Diagnostics) {
    const KEY: &str = "class_loss";
    let section = parts.written.model;
    let texts = section.values.texts(KEY);
    let (Some(resilient), Some(fabric), false) = (&mut config.resilient, &parts.fabric, texts.is_empty())
    else {
        return;
    };
    let classes = fabric.classes();
    let read = class_values(KEY, &texts, classes, MOST_LOSS).and_then(|all| {
        if classes.len() > MOST_CLASSES {
            return Err(Problem::new(KEY, format!("losses by class are for {MOST_CLASSES} classes at most")));
        }
        if all.iter().any(|(class, _)| *class == 0) {
            let message =
                format!("links of class `{}` are no part of a message's way in this model", classes[0]);
            return Err(Problem::new(KEY, message).help("use model \"packet\" with [resilience]"));
        }
        Ok(all)
    });
    match read {
        Ok(all) => {
            let mut losses = [resilient.parameters.loss; MOST_CLASSES];
            all.into_iter().for_each(|(class, loss)| losses[class] = loss);
            resilient.class_loss = Some(losses);
        }
        Err(problem) => section.report(vec![problem], diagnostics),
    }
}

/// What parts of the network take. The model knows expected bits of resilient protocols and nothing of single links.
fn energy(parts: &Parts<'_>, diagnostics: &mut Diagnostics) -> Option<Energy> {
    let section = &parts.written.own(energy::ABOUT.name)?.section;
    let model = parts.written.model;
    if model.values.text("cost") != "resilient" {
        let message = "model \"delay\" knows the bits on links with `cost = \"resilient\"` alone";
        diagnostics.push(Diagnostic::new(section.home, message).help("use that, or model \"packet\""));
        return None;
    }
    if !model.values.texts("class_loss").is_empty() {
        let message = "expected bits are counted by hops, not by classes: [energy] and `class_loss` do not go together here";
        diagnostics.push(Diagnostic::new(model.place("class_loss"), message).help("use model \"packet\""));
    }
    for key in ["class_link_bit", "class_link_power", "sleep_after", "start_asleep", "packets_wait"] {
        // What says no asks for nothing: one file may run on all models.
        let asks = section.get(key).is_some_and(|value| *value != Value::Bool(false));
        if section.places.contains_key(key) && asks {
            let message =
                format!("`{key}` needs to know what each link does, which model \"delay\" does not");
            diagnostics.push(Diagnostic::new(section.place(key), message).help("use model \"packet\""));
        }
    }
    let energy = parts.energy(diagnostics)?;
    // All links between routers are one class here.
    Some(Energy { links: energy.links.last().copied().into_iter().collect(), ..energy })
}

/// A run, with what is reported about it beforehand.
pub struct DelayRun {
    setup: DelaySetup,
    jobs: Vec<JobSetup>,
    measure: Measure,
    parameters: Vec<Parameter>,
    /// What the verdict says of the network beforehand.
    flags: Vec<(&'static str, String)>,
}

impl DelayRun {
    /// A run of these jobs; [`DelaySetup::jobs`] and [`DelaySetup::measure`] are made from them.
    ///
    /// # Errors
    /// The index of the first job that is no rank program.
    pub fn new(mut setup: DelaySetup, jobs: Vec<JobSetup>, measure: Measure) -> Result<Self, usize> {
        setup.jobs.clear();
        for (index, job) in jobs.iter().enumerate() {
            setup.jobs.push(DelayJob {
                name: job.name.clone(),
                program: job.work.program().cloned().ok_or(index)?,
                start: job.start,
                placement: job.placement.clone(),
                compute_ppb: job.compute_ppb,
            });
        }
        setup.measure = observe::Measure {
            messages: measure.messages,
            pairs: measure.pairs,
            operations: measure.operations,
            window: measure.window,
        };
        Ok(Self { setup, jobs, measure, parameters: Vec::new(), flags: Vec::new() })
    }
}

impl Run for DelayRun {
    fn watch(&self, watch: Watch<'_>) -> Result<Finished, Failure> {
        // A run that is watched under another scheduler stays as it is.
        let mut done = match watch.scheduling {
            Some(scheduling) => run::watch(&DelaySetup { scheduling, ..self.setup.clone() }, watch),
            None => run::watch(&self.setup, watch),
        }?;
        for warning in self.parameters.iter().filter_map(|p| p.warning.clone()) {
            done.summary.verdict.flag("contradicts-fabric");
            done.summary.verdict.detail.push(warning);
        }
        for (flag, line) in &self.flags {
            done.summary.verdict.flag(flag);
            done.summary.verdict.detail.push(line.clone());
        }
        Ok(Finished { summary: done.summary, tables: done.tables })
    }

    fn validate(&self) -> Result<(), Failure> {
        run::context(&self.setup).map(drop)
    }

    fn partitions(&self, scheduling: Scheduling) -> u32 {
        let setup = DelaySetup { scheduling, ..self.setup.clone() };
        run::context(&setup).map_or(1, |cx| cx.partitions())
    }

    fn memory(&self) -> Prediction {
        let mut memory = ranks::memory::predict(&self.jobs, run::kept(&self.setup));
        let operations = ranks::memory::sent::recorded(&self.jobs, self.measure.operations);
        // A row per size of message, of which there are few.
        let asked = Measure { messages: false, ..self.measure };
        let rows = ranks::memory::sent::listed(&self.jobs, self.setup.limit, &asked);
        for (part, bytes) in [("tables of operations", operations), ("rows of tables", rows)] {
            if bytes > 0 {
                memory.add(part, bytes);
            }
        }
        if let Some(fabric) = &self.setup.fabric {
            let graph = model::memory::graph(fabric.ports().len() as u64, fabric.terminals().into());
            memory.add("graph", graph);
        }
        if let Some(derived) = &self.setup.derived {
            memory.add("paths", derived.delays.bytes());
        }
        if let Some(bytes) = model::memory::history(self.setup.scheduling) {
            memory.add("history", bytes);
        }
        memory
    }

    fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    fn jobs(&self) -> &[JobSetup] {
        &self.jobs
    }

    fn seed(&self) -> u64 {
        self.setup.seed
    }

    fn schedule(&mut self, scheduling: Scheduling) {
        self.setup.scheduling = scheduling;
    }

    fn fabric(&self) -> Option<&Fabric> {
        self.setup.fabric.as_deref()
    }

    fn measure(&self) -> Measure {
        self.measure
    }

    fn message_network(&self) -> Result<Box<dyn MessageNetwork>, Failure> {
        Ok(Box::new(Interfaces::new(&self.setup)?))
    }
}
