//! Static congestion as a model of experiments: `model.kind = "congestion"`.

use super::{
    count::Want,
    metrics::{Outcome, histogram},
    routes::FabricRoutes,
    run::{Plan, Sends, Task, simulate_over},
};
use base::{
    hash::Fingerprint,
    index::LinkId,
    param::{Kind, Param, Value, Values},
    registry::About,
    world::World,
};
use fabric::{
    graph::{Fabric, Peer},
    routing::Routing,
};
use model::{
    failure::Failure,
    names::of_links,
    run::{Finished, Progress},
    setup::JobSetup,
};
use results::{
    summary::{Congestion, Counted, Counts, Job, Performance, Summary, Verdict},
    table::{Column, Table, TextColumn},
};
use serde_json::Number;
use std::{sync::Arc, time::Instant};

/// Documentation and keys of the model.
pub const ABOUT: About = About {
    name: "congestion",
    summary: "Messages per link without time: where routes collide, effective bisection bandwidth",
    doc: "All messages of a level are sent at once; a message gets one part in the highest number of messages on any directed link of its \
          way, injection and ejection links included. Levels follow each other and do not meet. Jobs send level by level at the same \
          time. A job's `runs` are mappings of its ranks to its terminals (`mapping = \"shuffle\"` deals them anew for each, by the \
          seed); the job with most decides. Patterns with levels (`bisect`, `bruck`, `pattern` ..) give all levels; of other \
          open-loop traffic the k-th message of every rank is the one level of the k-th mapping. The routing must be oblivious; one that \
          chooses at random does so for every message. `message`, `load`, link parameters and `duration` count for nothing: they may be there, and must where the workload \
          asks for them. Not modelled: sizes of messages, unequal links, time.",
    source: "Schneider, Hoefler, Lumsdaine: ORCS: An Oblivious Routing Congestion Simulator, Indiana University TR-675, 2009; \
             ORCS 2.0 where the program says more",
    params: &[
        Param {
            name: "link_sums",
            kind: Kind::Bool,
            default: Some("true"),
            doc: "Sum up the congestion of every link over levels and mappings.",
        },
        Param {
            name: "delays",
            kind: Kind::Bool,
            default: Some("true"),
            doc: "Follow chains of dependent messages (dep_max_delay).",
        },
    ],
};

/// How a job is mapped and which of its levels count, for static congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statics {
    /// Number of mappings of ranks that are counted.
    pub runs: u32,
    /// Deal ranks to the placement's terminals anew for each mapping.
    pub shuffle: bool,
    /// Only this level.
    pub level: Option<u32>,
}

impl Default for Statics {
    fn default() -> Self {
        Self { runs: 1, shuffle: true, level: None }
    }
}

impl Statics {
    /// Reads checked values of a job.
    #[must_use]
    pub fn from_values(values: &Values) -> Self {
        let level = match values.0.get("level") {
            Some(Value::Int(level)) => u32::try_from(*level).ok(),
            _ => None,
        };
        Self { runs: values.u32("runs"), shuffle: values.text("mapping") == "shuffle", level }
    }
}

/// A run of the congestion model.
#[derive(Clone)]
pub struct CongestionSetup {
    /// The network on which all of it runs.
    pub fabric: Arc<Fabric>,
    /// An oblivious routing.
    pub routing: Arc<dyn Routing>,
    /// The jobs, all of them open-loop traffic.
    pub jobs: Vec<JobSetup>,
    /// Mappings and levels of each job, in their order.
    pub statics: Vec<Statics>,
    /// What is counted.
    pub want: Want,
    /// Seed of mappings, of patterns and of what a routing draws.
    pub seed: u64,
}

/// What the model's own keys ask for.
#[must_use]
pub fn want(values: &Values) -> Want {
    Want { edges: values.bool("link_sums"), partial: false, delays: values.bool("delays") }
}

impl CongestionSetup {
    /// Refuses, before a run, what the model cannot do.
    ///
    /// # Errors
    /// [`Failure::Setup`] with the reason.
    pub fn validate(&self) -> Result<(), Failure> {
        if !self.routing.facts().oblivious {
            let message =
                "static congestion needs an oblivious routing: this one looks at queues, and there are none";
            return Err(Failure::Setup(message.to_owned()));
        }
        for (n, job) in self.jobs.iter().enumerate() {
            let Some(traffic) = job.work.traffic() else {
                let message = format!(
                    "job {} is a rank program, and static congestion counts traffic by rule; use a pattern with levels",
                    job.name
                );
                return Err(Failure::Setup(message));
            };
            if let Some(level) = self.level_of(n) {
                let ranks = job.placement.len() as u32;
                let levels = traffic.levels().map_or(1, |pattern| pattern.levels(ranks));
                if level >= levels {
                    let message =
                        format!("job {} has {levels} level(s), from 0: there is no level {level}", job.name);
                    return Err(Failure::Setup(message));
                }
            }
            if traffic.closed_loop() {
                let message = format!(
                    "job {} answers what it receives; static congestion has no time to do so",
                    job.name
                );
                return Err(Failure::Setup(message));
            }
        }
        Ok(())
    }

    /// The one level of a job that counts, if not all do.
    fn level_of(&self, job: usize) -> Option<u32> {
        self.statics.get(job)?.level
    }

    /// Mappings that are counted.
    #[must_use]
    pub fn runs(&self) -> u32 {
        self.statics.iter().map(|s| s.runs).max().unwrap_or(1)
    }

    fn plan(&self) -> Plan {
        debug_assert_eq!(self.jobs.len(), self.statics.len(), "every job has its mappings");
        let task = |(job, statics): (&JobSetup, &Statics)| {
            let traffic = job.work.traffic().cloned()?;
            let sends = match traffic.levels() {
                Some(levels) => Sends::Levels(levels.clone()),
                None => Sends::Traffic(traffic),
            };
            let hosts = job.placement.iter().map(|terminal| terminal.number()).collect();
            Some(Task { sends, hosts, fixed: 0, part: 0, shuffle: statics.shuffle, level: statics.level })
        };
        Plan {
            tasks: self.jobs.iter().zip(&self.statics).filter_map(task).collect(),
            runs: self.runs(),
            seed: self.seed,
            want: self.want,
            watched: self.jobs.first().and_then(|j| watched(j.work.traffic()?.levels()?)),
            threads: threads(),
        }
    }

    /// Counts the messages on every link, mapping by mapping.
    ///
    /// # Errors
    /// A setup that [`CongestionSetup::validate`] refuses, or a stop by `progress`.
    pub fn simulate(&self, progress: &mut dyn FnMut(Progress) -> bool) -> Result<Finished, Failure> {
        self.simulate_over(&World::ALONE, progress)
    }

    /// The same over ranks, each of which counts some of the mappings and gets the whole result.
    ///
    /// # Errors
    /// As [`CongestionSetup::simulate`]; a stop in one rank stops all.
    pub fn simulate_over(
        &self,
        world: &World,
        progress: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<Finished, Failure> {
        self.validate()?;
        let begun = Instant::now();
        let plan = self.plan();
        let routes = FabricRoutes { fabric: &self.fabric, routing: self.routing.as_ref(), seed: self.seed };
        let mut report = |done: u32| {
            progress(Progress {
                now: u64::from(done),
                end: u64::from(plan.runs),
                events: u64::from(done),
                partitions: 1,
                ..Progress::default()
            })
        };
        let outcome = simulate_over(world, &routes, &plan, &mut report)
            .map_err(|done| Failure::Stopped(u64::from(done)))?;
        let fabric = &*self.fabric;
        let plugged =
            fabric.ports().iter().filter(|p| p.peer != Peer::None).count() as u32 + fabric.terminals();
        let mut block = block(&outcome, &|edge| label(fabric, edge));
        block.edges = plugged;
        let mut summary = Summary::new(fingerprint(&outcome), Verdict::ok(), serde_json::Value::Null);
        if outcome.totals.unreachable > 0 {
            summary.verdict.flag("unreachable");
            summary.verdict.detail.push(format!("{} messages have no path", outcome.totals.unreachable));
        }
        if routes.spreads() {
            summary.verdict.flag("single-path");
            let why = "the routing spreads traffic over several paths; here each message takes one of them as a whole";
            summary.verdict.detail.push(why.to_owned());
        }
        debug_assert!(outcome.totals.unreachable <= outcome.totals.messages, "what does not arrive was sent");
        let delivered = outcome.totals.messages - outcome.totals.unreachable;
        summary.messages = Some(Counts {
            injected: outcome.totals.messages,
            delivered,
            in_flight: outcome.totals.unreachable,
        });
        for job in &self.jobs {
            let (name, ranks) = (job.name.clone(), job.placement.len() as u32);
            summary.jobs.push(Job {
                name,
                ranks,
                messages: None,
                makespan_ps: None,
                compute_fraction: None,
                critical_path: None,
            });
        }
        summary.congestion = Some(block);
        summary.performance = Some(performance(begun, plan.threads.min(plan.runs), world.ranks(), &outcome));
        Ok(Finished { summary, tables: tables(&outcome, fabric) })
    }
}

/// Ranks whose delays count: those of the first of two merged patterns.
#[must_use]
pub fn watched(pattern: &workload::levels::LevelPattern) -> Option<u32> {
    match pattern {
        workload::levels::LevelPattern::Versus(_, _, part) => Some(*part),
        _ => None,
    }
}

/// Threads that the machine offers.
#[must_use]
pub fn threads() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| n.get() as u32)
}

/// Names a link of a fabric: `12:R3->R4`, terminals as `T`.
fn label(fabric: &Fabric, edge: u32) -> String {
    let link = LinkId::new(edge);
    if let Some(terminal) = fabric.injected_by(link) {
        return format!("{edge}:T{terminal}->R{}", fabric.router_at(terminal));
    }
    let from = fabric.router_of(link);
    match fabric.port(link).peer {
        Peer::Router { router, .. } => format!("{edge}:R{from}->R{router}"),
        Peer::Terminal(terminal) => format!("{edge}:R{from}->T{terminal}"),
        Peer::None => format!("{edge}:R{from}"),
    }
}

fn performance(begun: Instant, threads: u32, ranks: u32, outcome: &Outcome) -> Performance {
    let wall_s = begun.elapsed().as_secs_f64();
    let events = u64::from(outcome.runs);
    Performance {
        wall_s,
        cpu_s: None,
        events,
        events_per_s: events as f64 / wall_s.max(1e-9),
        chunk_hops: None,
        chunk_hops_per_s: None,
        peak_rss_bytes: model::performance::peak_rss(),
        scheduler: "data-parallel".to_owned(),
        partitions: 1,
        threads,
        speculation: None,
        windows: None,
        ranks,
        chosen: None,
    }
}

/// A row per mapping, and one per link that was used, if links were asked for. The number before the colon is the link's.
fn tables(outcome: &Outcome, fabric: &Fabric) -> Vec<Table> {
    let totals = &outcome.totals;
    let delays = |which: usize| Column::U64(totals.delays.iter().map(|d| d[which]).collect());
    let mappings = Table::new("mappings")
        .with("run", Column::U32((0..outcome.runs).collect()))
        .with("sum_max_cong", Column::U64(totals.sum_max.clone()))
        .with("bandwidth_fraction", Column::F64(totals.fractions.clone()))
        .with("dep_max_delay_orcs2", delays(0))
        .with("dep_max_delay_all_deps", delays(1));
    if totals.edges.is_empty() {
        return vec![mappings];
    }
    let used: Vec<(u32, u64)> =
        (0u32..).zip(&totals.edges).filter(|(_, s)| **s > 0).map(|(e, &s)| (e, s)).collect();
    let mut names = TextColumn::default();
    used.iter().for_each(|&(edge, _)| names.push(&label(fabric, edge)));
    let numbers: Vec<LinkId> = used.iter().map(|&(edge, _)| LinkId::new(edge)).collect();
    let links = Table::new("link_congestion")
        .with("link", Column::Text(names))
        .with("congestion", Column::U64(used.iter().map(|u| u.1).collect()));
    vec![mappings, of_links(links, fabric, &numbers)]
}

/// Identifies an outcome.
#[must_use]
pub fn fingerprint(outcome: &Outcome) -> Fingerprint {
    let mut sum = Fingerprint::default();
    let totals = &outcome.totals;
    sum.add(0, totals.messages, totals.unreachable, u64::from(outcome.ranks));
    let mut all = |kind: u64, values: &mut dyn Iterator<Item = u64>| {
        (0u64..).zip(values).filter(|(_, v)| *v > 0).for_each(|(i, v)| sum.add(kind, i, v, 0));
    };
    all(1, &mut totals.weights.iter().copied());
    all(2, &mut totals.sum_max.iter().copied());
    all(3, &mut totals.edges.iter().copied());
    all(4, &mut totals.delays.iter().map(|d| d[0]));
    all(5, &mut totals.delays.iter().map(|d| d[1]));
    sum
}

/// The mean as an integer if there is one value.
fn mean(values: &[u64]) -> Number {
    match values {
        [] => Number::from(0),
        [one] => Number::from(*one),
        _ => {
            let mean = values.iter().sum::<u64>() as f64 / values.len() as f64;
            Number::from_f64(mean).unwrap_or_else(|| Number::from(0))
        }
    }
}

fn counted(values: impl IntoIterator<Item = u64>) -> Counted {
    Counted(histogram(values).into_iter().map(|(value, count)| (value.to_string(), count)).collect())
}

/// The summary's block. `name` names a link.
#[must_use]
pub fn block(outcome: &Outcome, name: &dyn Fn(u32) -> String) -> Congestion {
    let totals = &outcome.totals;
    let by_weight = (0u64..).zip(&totals.weights).filter(|(_, n)| **n > 0);
    let bins = (0..).zip(totals.bins()).filter(|(_, n)| *n > 0);
    let used = || (0u32..).zip(&totals.edges).filter(|(_, sum)| **sum > 0);
    let asked = !totals.edges.is_empty();
    let delays = |which: usize| -> Vec<u64> { totals.delays.iter().map(|d| d[which]).collect() };
    let delayed = totals.delays.iter().any(|d| d[1] > 0);
    let effective = totals.effective();
    Congestion {
        pattern: outcome.pattern.clone(),
        ranks: outcome.ranks,
        runs: outcome.runs,
        levels: totals.level_max.len() as u32,
        messages: totals.messages,
        unreachable: totals.unreachable,
        sum_max_cong: mean(&totals.sum_max),
        hist_sum_max_cong: counted(totals.sum_max.iter().copied()),
        max_cong_per_level: totals.level_max.clone(),
        hist_max_cong: Counted(by_weight.map(|(w, &n)| (w.to_string(), n)).collect()),
        bandwidth_fraction: totals.bandwidth(),
        effective_bandwidth: effective.map(|e| e.0),
        effective_bandwidth_half_width: effective.and_then(|e| e.1),
        hist_acc_band: Counted(bins.map(|(i, n)| (format!("{:.2}", f64::from(i) * 0.05), n)).collect()),
        dep_max_delay_orcs2: delayed.then(|| mean(&delays(0))),
        dep_max_delay_all_deps: delayed.then(|| mean(&delays(1))),
        hist_dep_max_delay: if delayed { counted(delays(0)) } else { Counted::default() },
        hist_dep_max_delay_all_deps: if delayed { counted(delays(1)) } else { Counted::default() },
        edges: outcome.edges,
        edges_used: asked.then(|| used().count() as u32),
        edge_cong_sum_total: asked.then(|| totals.edges.iter().sum()),
        edge_cong_sum_max: asked.then(|| totals.edges.iter().copied().max().unwrap_or(0)),
        edge_cong_hist: counted(used().map(|(_, &sum)| sum)),
        edge_cong_sum: Counted(used().map(|(edge, &sum)| (name(edge), sum)).collect()),
    }
}
