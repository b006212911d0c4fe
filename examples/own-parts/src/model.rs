//! A network model: every message arrives after a time that a section of the experiment tells, whatever else is under way.

use netloom::{
    base::{
        diag::{Diagnostic, Diagnostics},
        hash::Fingerprint,
        index::RankId,
        param::{Kind, Param},
        registry::About,
        time::Ps,
    },
    fabric::graph::Fabric,
    model::{
        Failure, Finished, ModelEntry, Parts, Run, Watch,
        entry::{JobKeys, Needs},
        memory::Prediction,
        section::{Refusal, SectionEntry},
        setup::{JobSetup, Until},
    },
    results::summary::{Counts, Summary, Verdict},
};

/// The entry.
pub static WIRES: ModelEntry = ModelEntry {
    needs: Needs { fabric: true, routing: false, time: true },
    sections: &[&SECTION],
    implied: &["wires"],
    job_keys: JobKeys { after: "start", params: &[URGENT], sharing: None },
    ..ModelEntry::new(ABOUT, build)
};

const ABOUT: About = About {
    name: "wires",
    summary: "a wire of its own for every pair",
    doc: "A message arrives after `delay` of [wires], an urgent one at once. Open-loop traffic alone.",
    source: "an example",
    params: &[],
};

/// `[wires]`.
const SECTION: SectionEntry = SectionEntry {
    about: About {
        name: "wires",
        summary: "what messages of model `wires` take",
        doc: "",
        source: "",
        params: &[Param {
            name: "delay",
            kind: Kind::Time,
            default: Some("1 us"),
            doc: "Time of a message.",
        }],
    },
    choices: &[],
    elsewhere: Some(Refusal { why: "its links have parameters of their own", help: "remove the section" }),
    on_portals: None,
};

const URGENT: Param = Param {
    name: "urgent",
    kind: Kind::Bool,
    default: Some("false"),
    doc: "Model `wires`: messages take no time.",
};

/// A run.
struct Wires {
    fabric: std::sync::Arc<Fabric>,
    jobs: Vec<JobSetup>,
    /// Of each job.
    delays: Vec<Ps>,
    end: Ps,
    seed: u64,
}

fn build(parts: Parts<'_>, diagnostics: &mut Diagnostics) -> Option<Box<dyn Run>> {
    for (job, written) in parts.jobs.iter().zip(&parts.written.jobs) {
        if job.work.traffic().is_none() {
            let message = "model \"wires\" carries traffic by rule, and this is a program";
            diagnostics.push(Diagnostic::new(written.place("workload"), message));
        }
    }
    if !diagnostics.is_empty() {
        return None;
    }
    let delay = parts.written.own("wires")?.section.values.time("delay");
    let delays = parts.written.jobs.iter().map(|job| if job.values.bool("urgent") { 0 } else { delay });
    let (Until::Time(end) | Until::WorkloadDone { limit: end }) = parts.until?;
    Some(Box::new(Wires {
        delays: delays.collect(),
        fabric: parts.fabric?,
        jobs: parts.jobs,
        end,
        seed: parts.seed,
    }))
}

impl Run for Wires {
    fn watch(&self, _: Watch<'_>) -> Result<Finished, Failure> {
        let mut counts = Counts { injected: 0, delivered: 0, in_flight: 0 };
        let mut all = Fingerprint::default();
        for (job, delay) in self.jobs.iter().zip(&self.delays) {
            let Some(traffic) = job.work.traffic() else { continue };
            for rank in RankId::first(job.placement.len() as u32) {
                let (mut index, mut previous) = (0, 0);
                while let Some(message) = traffic.message(rank, index, previous)
                    && job.start + message.time < self.end
                {
                    (index, previous) = (index + 1, message.time);
                    counts.injected += 1;
                    let arrival = job.start + message.time + delay;
                    if arrival < self.end {
                        counts.delivered += 1;
                        all.add(arrival, u64::from(rank), u64::from(message.destination), message.bytes);
                    }
                }
            }
        }
        counts.in_flight = counts.injected - counts.delivered;
        let mut summary = Summary::new(all, Verdict::ok(), Default::default());
        summary.messages = Some(counts);
        Ok(Finished { summary, tables: Vec::new() })
    }

    fn validate(&self) -> Result<(), Failure> {
        Ok(())
    }

    fn memory(&self) -> Prediction {
        Prediction { bytes: 0, parts: Vec::new() }
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
}
