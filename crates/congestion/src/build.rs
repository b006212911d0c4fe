//! From an experiment to a run of static congestion: the model as registered, and what it refuses.

use crate::{
    memory,
    setup::{self, CongestionSetup, Statics},
};
use base::{
    diag::{Diagnostic, Diagnostics},
    param::{Kind, Param, Unread},
    units::print_time,
};
use fabric::graph::Fabric;
use model::{
    Failure, Finished, ModelEntry, Parts, Run, Watch,
    entry::{Contention, JobKeys, Needs},
    memory::Prediction,
    messages::MessageNetwork,
    setup::JobSetup,
};

/// Model `congestion`: messages per link are counted over mappings; there is no time.
pub const CONGESTION: ModelEntry = ModelEntry {
    needs: Needs { fabric: true, routing: true, time: false },
    contention: Contention::Counted,
    job_keys: JobKeys { after: "start", params: JOB, sharing: None },
    unread,
    ranks: true,
    least: memory::least,
    ..ModelEntry::new(setup::ABOUT, build)
};

/// Keys of a job, read by [`Statics::from_values`].
const JOB: &[Param] = &[
    Param {
        name: "runs",
        kind: Kind::Int { min: 1, max: 1 << 30 },
        default: Some("1"),
        doc: "Static congestion: mappings of ranks to terminals.",
    },
    Param {
        name: "mapping",
        kind: Kind::Choice(&["shuffle", "placement"]),
        default: Some("shuffle"),
        doc: "Static congestion: deal ranks anew to the placement's terminals for each mapping, or leave them as placed.",
    },
    Param {
        name: "level",
        kind: Kind::Int { min: 0, max: u32::MAX as u64 },
        default: Some(""),
        doc: "Static congestion: only this level of the pattern, from 0; all if left out.",
    },
];

/// Keys without effect: all that need time. Links' parameters are not among them: they stand in every file for other models.
fn unread(_: &Parts<'_>) -> Vec<Unread> {
    let why = "static congestion has no time";
    let mut all = Unread::all("experiment", &["duration", "until", "limit", "warmup"], why);
    all.extend(Unread::all("routing", &["dateline"], "static congestion has no virtual channels"));
    let tables = &["window", "per_port", "packets", "messages", "slow_down", "pairs", "operations", "engine"];
    all.extend(Unread::all("output", tables, why));
    all.extend(Unread::all(
        "job",
        &[
            "load",
            "arrival",
            "start",
            "count",
            "compute",
            "noise",
            "noise_file",
            "combine",
            "reply",
            "outstanding",
        ],
        why,
    ));
    all.extend(Unread::all(
        "routing",
        &["deadlock", "max_vcs"],
        "static congestion has no buffers to wait for",
    ));
    all
}

fn build(parts: Parts<'_>, diagnostics: &mut Diagnostics) -> Option<Box<dyn Run>> {
    parts.refuse_rails("use model \"packet\" or \"delay\", or one rail", diagnostics);
    let copied = "use model \"packet\", or set `replication = \"source\"`";
    parts.refuse_multicast("messages have one path each", copied, diagnostics);
    let section = Some(parts.written.model).filter(|s| s.complete)?;
    if let Some(change) = &parts.change {
        let message = "model \"congestion\" has no time at which links could fail";
        let place = parts.written.faults.map(|f| f.place("at"));
        diagnostics.push(Diagnostic::new(place, message).label(print_time(change.at)).help("remove `at`"));
    }
    if !diagnostics.is_empty() {
        return None;
    }
    debug_assert!(parts.jobs.len() == parts.written.jobs.len(), "each job has its section");
    Some(Box::new(CongestionSetup {
        fabric: parts.fabric?,
        routing: parts.routing?,
        jobs: parts.jobs,
        statics: parts.written.jobs.iter().map(|job| Statics::from_values(&job.values)).collect(),
        want: setup::want(&section.values),
        seed: parts.seed,
    }))
}

impl Run for CongestionSetup {
    fn watch(&self, watch: Watch<'_>) -> Result<Finished, Failure> {
        self.simulate_over(&watch.world, &mut |at| (watch.pause)(at, &mut Vec::new))
    }

    fn validate(&self) -> Result<(), Failure> {
        Self::validate(self)
    }

    fn most_ranks(&self) -> u32 {
        self.runs()
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

    fn message_network(&self) -> Result<Box<dyn MessageNetwork>, Failure> {
        let why =
            "model \"congestion\" has no time: Portals programs run on \"flow\", \"packet\" and \"delay\"";
        Err(Failure::Setup(why.into()))
    }
}
